/*
 * Copyright 2026-present the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License");
 * you may not use this file except in compliance with the License.
 * You may obtain a copy of the License at
 *
 *      https://www.apache.org/licenses/LICENSE-2.0
 *
 * Unless required by applicable law or agreed to in writing, software
 * distributed under the License is distributed on an "AS IS" BASIS,
 * WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
 * See the License for the specific language governing permissions and
 * limitations under the License.
 */

package io.leaderelection.engine;

import io.leaderelection.Term;
import org.jspecify.annotations.Nullable;

/**
 * The answer to a request that the leader of an election resigns.
 *
 * @param term the term whose end was requested, or {@code null} if there is none
 * @param refusal why the request was refused, or {@code null}
 */
public record ResignationAnswer(@Nullable Term term, @Nullable String refusal) {

	static ResignationAnswer requested(Term term) {
		return new ResignationAnswer(term, null);
	}

	static ResignationAnswer refused(String reason) {
		return new ResignationAnswer(null, reason);
	}

	/**
	 * Return whether the leader was asked.
	 * @return whether it was
	 */
	public boolean isRequested() {
		return this.term != null;
	}

}
