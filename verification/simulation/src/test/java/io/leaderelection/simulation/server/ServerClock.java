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

package io.leaderelection.simulation.server;

/**
 * The wall clock of a simulated server: it has a rate of its own and may be set. The
 * timers of PostgreSQL compare against it.
 */
public final class ServerClock {

	private final EventQueue events;

	private final double rate;

	private final long origin;

	private long offset;

	/**
	 * Create a new {@code ServerClock} instance.
	 * @param events the true time
	 * @param rate how many seconds of this clock pass in a true second
	 * @param start what it shows now, in nanoseconds since the epoch
	 */
	public ServerClock(EventQueue events, double rate, long start) {
		this.events = events;
		this.rate = rate;
		this.origin = events.time();
		this.offset = start;
	}

	/**
	 * Return the nanoseconds since the epoch.
	 */
	public long now() {
		long elapsed = this.events.time() - this.origin;
		return this.offset + ((this.rate != 1) ? Math.round(elapsed * this.rate) : elapsed);
	}

	/**
	 * Return the true time, in nanoseconds.
	 */
	public long trueTime() {
		return this.events.time();
	}

	/**
	 * Set the clock. Timers of the server are not told: one that is already due on the
	 * new time runs with the next alarm, and one whose alarm comes too early waits on.
	 * @param nanos how far to set it forward, or back if negative
	 */
	public void step(long nanos) {
		this.offset += nanos;
	}

	/**
	 * Return how long a duration of this clock truly takes.
	 */
	long trueDuration(long nanos) {
		return (this.rate != 1) ? (long) Math.ceil(nanos / this.rate) : nanos;
	}

}
