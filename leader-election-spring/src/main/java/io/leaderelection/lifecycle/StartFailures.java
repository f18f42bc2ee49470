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

package io.leaderelection.lifecycle;

import java.time.Duration;

/**
 * Determines for how long a node that could not start its services suspends its
 * candidacy. The time grows with each failure; otherwise leadership would move
 * continuously between nodes none of which can start its services.
 */
final class StartFailures {

	private static final Duration FIRST_PAUSE = Duration.ofSeconds(5);

	private static final int MOST_DOUBLINGS = 4;

	private int failures;

	/**
	 * Count a failure.
	 * @return how long to pause
	 */
	synchronized Duration next() {
		return FIRST_PAUSE.multipliedBy(1L << Math.min(this.failures++, MOST_DOUBLINGS));
	}

	synchronized void clear() {
		this.failures = 0;
	}

}
