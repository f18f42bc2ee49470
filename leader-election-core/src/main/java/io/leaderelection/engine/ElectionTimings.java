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

import java.time.Duration;

/**
 * Timings of the engine that are not derived from the settings of an election. Tests
 * shorten them.
 *
 * @param lockWait how long one wait for the lock lasts at most
 * @param observeInterval the time between two observations of a node that is not a
 * candidate
 * @param maxBackoff the longest pause between two attempts to open a session
 * @param unusableRetry the pause after a store was found to be unusable
 * @param openLimit how long the opening of a session may take
 * @param minCallLimit the minimum limit for a call to the store, for short leases
 * @param maxCallLimit the maximum limit for a call to the store while this node does not
 * lead, for long leases
 * @param maxYield the maximum time for which a node that resigned lets other candidates
 * go first, for long leases
 * @param stopMargin how long a stop may take longer than work and listeners
 * @param watchInterval the longest time between two observations of a node that is no
 * standby. Each time is random, two fifths of this at least
 */
public record ElectionTimings(Duration lockWait, Duration observeInterval, Duration maxBackoff, Duration unusableRetry,
		Duration openLimit, Duration minCallLimit, Duration maxCallLimit, Duration maxYield, Duration stopMargin,
		Duration watchInterval) {

	/** The default timings. */
	public static final ElectionTimings DEFAULTS = new ElectionTimings(Duration.ofMillis(800), Duration.ofMillis(1500),
			Duration.ofSeconds(5), Duration.ofSeconds(30), Duration.ofSeconds(15), Duration.ofSeconds(2),
			Duration.ofSeconds(10), Duration.ofSeconds(5), Duration.ofSeconds(1), Duration.ofMillis(7500));

}
