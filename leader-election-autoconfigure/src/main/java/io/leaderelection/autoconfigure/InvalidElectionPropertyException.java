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

/**
 * Thrown when a property of leader election has a value that cannot be used.
 */
class InvalidElectionPropertyException extends IllegalStateException {

	private final String property;

	private final String value;

	private final String reason;

	private final String action;

	/**
	 * Create a new {@code InvalidElectionPropertyException} instance.
	 * @param property the name of the property
	 * @param value the effective value
	 * @param reason why it cannot be used, a sentence
	 * @param action what to do about it, a sentence
	 */
	InvalidElectionPropertyException(String property, Object value, String reason, String action) {
		super("Invalid value '" + value + "' of " + property + ": " + reason);
		this.property = property;
		this.value = value.toString();
		this.reason = reason;
		this.action = action;
	}

	String getProperty() {
		return this.property;
	}

	String getValue() {
		return this.value;
	}

	String getReason() {
		return this.reason;
	}

	String getAction() {
		return this.action;
	}

}
