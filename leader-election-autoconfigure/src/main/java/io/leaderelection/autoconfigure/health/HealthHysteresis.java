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

package io.leaderelection.autoconfigure.health;

import java.time.Duration;
import java.util.concurrent.TimeUnit;

/**
 * Decides by the results of health checks, and by their absence, whether this node may be
 * a candidate. Candidacy is suspended when the application has been unhealthy for some
 * time, and resumed when it has been healthy for the same time; otherwise flapping health
 * would move leadership with each check. Times are those of {@link System#nanoTime()}.
 * Not thread-safe.
 */
final class HealthHysteresis {

	/**
	 * A shorter time is too short for a check to answer and for health to be considered
	 * stable.
	 */
	private static final long SHORTEST_LIMIT = TimeUnit.SECONDS.toNanos(1);

	private static final long SHORTEST_INTERVAL = TimeUnit.MILLISECONDS.toNanos(100);

	private static final long LONGEST_INTERVAL = TimeUnit.SECONDS.toNanos(5);

	private final long begun;

	private final long after;

	private final long limit;

	private boolean healthy = true;

	private long since;

	private boolean silent;

	private boolean candidacyPermitted = true;

	HealthHysteresis(Duration after, long begun) {
		this.begun = begun;
		this.since = begun;
		this.after = after.toNanos();
		this.limit = Math.max(this.after, SHORTEST_LIMIT);
	}

	/**
	 * Return the time between two checks, in nanoseconds.
	 */
	long interval() {
		return Math.min(Math.max(this.after / 4, SHORTEST_INTERVAL), LONGEST_INTERVAL);
	}

	/**
	 * Record the answer of a check. Ignored if the check began before this object was
	 * created.
	 */
	void answered(boolean healthy, long asked, long now) {
		this.silent = false;
		if (asked - this.begun >= 0) {
			// The application may have been unhealthy until it answered
			record(healthy, healthy ? now : asked, now);
		}
	}

	/**
	 * Record that a check has not answered yet.
	 */
	void unanswered(long asked, long now) {
		boolean late = now - asked >= this.limit;
		this.silent = this.silent || late;
		if (late || !this.healthy) {
			record(false, asked, now);
		}
	}

	private void record(boolean healthy, long since, long now) {
		this.since = (healthy == this.healthy) ? this.since : since;
		this.healthy = healthy;
		if (now - this.since >= (healthy ? this.limit : this.after)) {
			this.candidacyPermitted = healthy;
		}
	}

	/**
	 * Return whether checks do not answer.
	 */
	boolean isSilent() {
		return this.silent;
	}

	/**
	 * Return whether this node may be a candidate.
	 */
	boolean isCandidacyPermitted() {
		return this.candidacyPermitted;
	}

}
