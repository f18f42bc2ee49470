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

package io.leaderelection.annotation;

import org.jspecify.annotations.Nullable;

/**
 * Thrown when an annotation or property of leader election is used where it cannot have
 * its effect, or when elections cannot be held on the configured database. The
 * application does not start, since otherwise leader work would run on every node, or
 * fires of durable schedules would be lost or repeated.
 *
 * @since 0.1.0
 */
public class InvalidUsageException extends IllegalStateException {

	private final String description;

	private final String action;

	/**
	 * Create a new {@code InvalidUsageException} instance.
	 * @param description what is wrong, and with which method, class or property
	 * @param action the required change
	 */
	public InvalidUsageException(String description, String action) {
		this(description, action, null);
	}

	/**
	 * Create a new {@code InvalidUsageException} instance for a property.
	 * @param property the name of the property
	 * @param value the effective value
	 * @param reason why it cannot be used, a sentence
	 * @param action the required change, a sentence
	 */
	public InvalidUsageException(String property, Object value, String reason, String action) {
		this("Leader election cannot use the value of a property:%n%n    Property: %s%n    Value: %s%n    Reason: %s"
			.formatted(property, value, reason), action, null);
	}

	/**
	 * Create a new {@code InvalidUsageException} instance.
	 * @param description what is wrong, and with which method, class or property
	 * @param action the required change
	 * @param cause the cause, or {@code null}
	 */
	public InvalidUsageException(String description, String action, @Nullable Throwable cause) {
		super(description + " " + action, cause);
		this.description = description;
		this.action = action;
	}

	/**
	 * Return what is wrong, and with which method, class or property.
	 * @return one or more sentences
	 */
	public String getDescription() {
		return this.description;
	}

	/**
	 * Return the required change.
	 * @return one or more sentences
	 */
	public String getAction() {
		return this.action;
	}

}
