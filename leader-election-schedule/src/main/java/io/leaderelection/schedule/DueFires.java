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

import java.time.Duration;
import java.time.Instant;
import java.util.List;

import org.jspecify.annotations.Nullable;

/**
 * What is due at a time.
 *
 * @param fire the fire that runs now, or {@code null} if none does
 * @param lastFire what is recorded as the last fire when it has run
 * @param missed the number of fires before it that do not run
 * @param more whether other fires run after it
 */
record DueFires(@Nullable Instant fire, Instant lastFire, int missed, boolean more) {

	/**
	 * Return what is due after the last fire that was claimed.
	 */
	static DueFires of(FireTimes times, Misfire misfire, Instant lastFire, Instant now) {
		if (!now.isAfter(lastFire)) {
			return new DueFires(null, lastFire, 0, false);
		}
		Instant after = lastFire;
		Duration within = misfire.within();
		if (within != null && within.compareTo(Duration.between(lastFire, now)) < 0) {
			after = now.minus(within).minusNanos(1);
		}
		int limit = (misfire.policy() == MisfirePolicy.RUN_ALL) ? misfire.limit() : 1;
		List<Instant> fires = times.newest(after, now, limit);
		if (!fires.isEmpty()) {
			Instant fire = fires.get(0);
			return new DueFires(fire, fire, times.count(lastFire, fire), fires.size() > 1);
		}
		List<Instant> dropped = (after != lastFire) ? times.newest(lastFire, now, 1) : fires;
		return dropped.isEmpty() ? new DueFires(null, lastFire, 0, false)
				: new DueFires(null, dropped.get(0), times.count(lastFire, dropped.get(0).plusNanos(1)), false);
	}

	/**
	 * How missed fires are treated.
	 *
	 * @param policy the policy
	 * @param within the greatest age of a fire, or {@code null} if it is unlimited
	 * @param limit how many fires run
	 */
	record Misfire(MisfirePolicy policy, @Nullable Duration within, int limit) {

	}

}
