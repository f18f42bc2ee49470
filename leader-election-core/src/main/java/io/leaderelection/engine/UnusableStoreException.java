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

import org.jspecify.annotations.Nullable;

/**
 * Thrown when the store was reached but cannot hold elections until an operator changes
 * its configuration or that of the application. At start, the application does not start;
 * later, the node remains a follower.
 */
public class UnusableStoreException extends SessionException {

	private final String action;

	/**
	 * Create a new {@code UnusableStoreException} instance.
	 * @param message the description of the problem
	 * @param action the action that solves it
	 * @param cause the cause, if any
	 */
	public UnusableStoreException(String message, String action, @Nullable Throwable cause) {
		super(message, cause);
		this.action = action;
	}

	/**
	 * Return the action that solves the problem.
	 * @return the action
	 */
	public String getAction() {
		return this.action;
	}

}
