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

package io.leaderelection.schedule;

/**
 * Thrown when {@link DurableSchedule @DurableSchedule} is used where fires cannot be
 * claimed as declared. The application does not start, since otherwise fires would be
 * lost or repeated.
 *
 * @since 0.1.0
 */
public class InvalidDurableScheduleException extends IllegalStateException {

	private final String description;

	private final String action;

	InvalidDurableScheduleException(String description, String action) {
		super(description + " " + action);
		this.description = description;
		this.action = action;
	}

	/**
	 * Return what is wrong, and with which method.
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
