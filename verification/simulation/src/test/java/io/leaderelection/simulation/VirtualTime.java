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

package io.leaderelection.simulation;

import io.leaderelection.simulation.Timers.Timer;
import io.leaderelection.simulation.server.EventQueue;

/**
 * An {@link EventQueue} that runs when it is told to.
 */
public final class VirtualTime implements EventQueue {

	private final Timers timers = new Timers();

	private long time;

	@Override
	public long time() {
		return this.time;
	}

	@Override
	public Event schedule(long delay, Runnable action) {
		Timer timer = this.timers.add(this.time + delay, action);
		return () -> this.timers.remove(timer);
	}

	/**
	 * Run the next action, to whose time this moves.
	 * @return whether there was one
	 */
	public boolean runNext() {
		long next = this.timers.next();
		if (next == Long.MAX_VALUE) {
			return false;
		}
		this.time = next;
		this.timers.removeNext().run();
		return true;
	}

	/**
	 * Run all actions up to a time, to which this moves.
	 * @param delay nanoseconds from now
	 */
	public void advance(long delay) {
		long until = this.time + delay;
		while (this.timers.next() <= until) {
			runNext();
		}
		this.time = until;
	}

}
