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

package io.leaderelection.health;

import java.time.Duration;
import java.util.concurrent.TimeUnit;

import org.jspecify.annotations.Nullable;

/**
 * What the answers of health, and their absence, mean for standing. Nobody may stand
 * while health has been bad for a while, and after that until it has been well for as
 * long; otherwise health that comes and goes would move leadership with each look. Times
 * are those of {@link System#nanoTime()}. For one thread.
 */
final class HealthHysteresis {

	/** A shorter time is no time to answer in, nor to see that health lasts. */
	private static final long SHORTEST_LIMIT = TimeUnit.SECONDS.toNanos(1);

	private static final long SHORTEST_INTERVAL = TimeUnit.MILLISECONDS.toNanos(100);

	private static final long LONGEST_INTERVAL = TimeUnit.SECONDS.toNanos(5);

	private final long begun;

	private final long after;

	private final long limit;

	private @Nullable Long badSince;

	private @Nullable Long wellSince;

	private boolean silent;

	private boolean standing = true;

	HealthHysteresis(Duration after, long begun) {
		this.begun = begun;
		this.after = after.toNanos();
		this.limit = Math.max(this.after, SHORTEST_LIMIT);
	}

	/**
	 * Return the time from one look to the next, in nanoseconds.
	 */
	long interval() {
		return Math.min(Math.max(this.after / 4, SHORTEST_INTERVAL), LONGEST_INTERVAL);
	}

	/**
	 * Health has answered. Does not count if it was asked before this verdict began.
	 */
	void answered(boolean well, long asked, long now) {
		this.silent = false;
		if (asked - this.begun < 0) {
			return;
		}
		if (!well) {
			bad(asked, now);
			return;
		}
		this.badSince = null;
		// From an answer on: who was silent until then may not have been well
		this.wellSince = (this.wellSince != null) ? this.wellSince : now;
		this.standing = this.standing || now - this.wellSince >= this.limit;
	}

	/**
	 * Health has not answered yet.
	 */
	void unanswered(long asked, long now) {
		boolean late = now - asked >= this.limit;
		this.silent = this.silent || late;
		if (late || this.badSince != null) {
			bad(asked, now);
		}
	}

	private void bad(long since, long now) {
		this.wellSince = null;
		this.badSince = (this.badSince != null) ? this.badSince : since;
		this.standing = this.standing && now - this.badSince < this.after;
	}

	/**
	 * Return whether health leaves its questions without an answer.
	 */
	boolean isSilent() {
		return this.silent;
	}

	/**
	 * Return whether this node may stand.
	 */
	boolean isStanding() {
		return this.standing;
	}

}
