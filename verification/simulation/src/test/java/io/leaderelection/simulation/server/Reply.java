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

package io.leaderelection.simulation.server;

import org.jspecify.annotations.Nullable;

/**
 * The answer to a statement.
 *
 * @param <T> the type of the result
 * @param result the result, {@code null} if there is an error
 * @param error the error, if any
 */
public record Reply<T>(@Nullable T result, @Nullable SqlError error) {

	/**
	 * Return the result.
	 * @throws SqlError if there is none
	 */
	public T get() throws SqlError {
		if (this.error != null) {
			throw this.error;
		}
		return this.result;
	}

}
