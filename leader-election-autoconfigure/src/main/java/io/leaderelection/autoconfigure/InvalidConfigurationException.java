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

import io.leaderelection.InvalidUsageException;
import org.jspecify.annotations.Nullable;

/**
 * Thrown when a property of leader election is unknown or has a value that cannot be
 * used, or when elections cannot be held on the configured database.
 */
class InvalidConfigurationException extends InvalidUsageException {

	InvalidConfigurationException(String description, String action, @Nullable Throwable cause) {
		super(description, action, cause);
	}

	/**
	 * Create a new {@code InvalidConfigurationException} instance.
	 * @param property the name of the property
	 * @param value the effective value
	 * @param reason why it cannot be used, a sentence
	 * @param action what to do about it, a sentence
	 */
	InvalidConfigurationException(String property, Object value, String reason, String action) {
		this("Leader election cannot use the value of a property:%n%n    Property: %s%n    Value: %s%n    Reason: %s"
			.formatted(property, value, reason), action, null);
	}

}
