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

package io.leaderelection.autoconfigure;

import org.jspecify.annotations.Nullable;

/**
 * Thrown when no connection to PostgreSQL can be configured.
 */
class ElectionDataSourceException extends IllegalStateException {

	private final String action;

	/**
	 * Create a new {@code ElectionDataSourceException} instance.
	 * @param message what is wrong, one or more sentences
	 * @param action what to do about it, one or more sentences
	 * @param cause the cause, if any
	 */
	ElectionDataSourceException(String message, String action, @Nullable Throwable cause) {
		super(message, cause);
		this.action = action;
	}

	String getAction() {
		return this.action;
	}

}
