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

import java.time.Instant;

import org.jspecify.annotations.Nullable;

/**
 * The fire for which a method with {@link DurableSchedule @DurableSchedule} runs.
 *
 * @since 0.1.0
 */
public final class FireTime {

	private static final ThreadLocal<@Nullable FireTime> current = new ThreadLocal<>();

	private final Instant nominal;

	private final boolean catchUp;

	private final int missed;

	FireTime(Instant nominal, boolean catchUp, int missed) {
		this.nominal = nominal;
		this.catchUp = catchUp;
		this.missed = missed;
	}

	/**
	 * Return the fire of the run on the current thread. If a method returns a publisher,
	 * the fire is also in the context of Reactor, by this class as the key, and only
	 * there once the publisher has moved to another thread. The same applies to
	 * {@code suspend} functions.
	 * @return the fire
	 * @throws IllegalStateException if there is no such run on the current thread
	 */
	public static FireTime current() {
		FireTime fireTime = current.get();
		if (fireTime == null) {
			throw new IllegalStateException("There is no run of a @DurableSchedule method on the current thread");
		}
		return fireTime;
	}

	/**
	 * Bind a fire to the current thread.
	 * @param fireTime the fire, or {@code null} for none
	 * @return the one that was bound before
	 */
	static @Nullable FireTime bind(@Nullable FireTime fireTime) {
		FireTime previous = current.get();
		if (fireTime != null) {
			current.set(fireTime);
		}
		else {
			current.remove();
		}
		return previous;
	}

	/**
	 * Return the time that the cron expression yields for this fire.
	 * @return the nominal time
	 */
	public Instant getNominalTime() {
		return this.nominal;
	}

	/**
	 * Return whether this run catches up: its fire was due already when the run was
	 * submitted, or other fires were missed before it or are due after it.
	 * @return whether the run catches up
	 */
	public boolean isCatchUp() {
		return this.catchUp;
	}

	/**
	 * Return how many fires before this one have not run and will not: this run stands
	 * for them, or they were dropped. At most 10000, even if there are more.
	 * @return the number of fires
	 */
	public int getMissed() {
		return this.missed;
	}

	@Override
	public String toString() {
		return this.nominal + ((this.missed > 0) ? " (" + this.missed + " missed)" : "");
	}

}
