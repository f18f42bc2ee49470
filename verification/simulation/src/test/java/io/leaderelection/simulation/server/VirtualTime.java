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

import java.util.PriorityQueue;

/**
 * An {@link EventQueue} that runs when it is told to.
 */
public final class VirtualTime implements EventQueue {

	private final PriorityQueue<Entry> entries = new PriorityQueue<>();

	private long time;

	private long sequence;

	@Override
	public long time() {
		return this.time;
	}

	@Override
	public Event schedule(long delay, Runnable action) {
		Entry entry = new Entry(this.time + delay, this.sequence++, action);
		this.entries.add(entry);
		return entry;
	}

	/**
	 * Run the next action, to whose time this moves.
	 * @return whether there was one
	 */
	public boolean runNext() {
		Entry entry = this.entries.poll();
		while (entry != null && entry.cancelled) {
			entry = this.entries.poll();
		}
		if (entry == null) {
			return false;
		}
		this.time = entry.at;
		entry.action.run();
		return true;
	}

	/**
	 * Run all actions up to a time, to which this moves.
	 * @param delay nanoseconds from now
	 */
	public void advance(long delay) {
		long until = this.time + delay;
		while (!this.entries.isEmpty() && this.entries.peek().at <= until) {
			Entry entry = this.entries.poll();
			if (!entry.cancelled) {
				this.time = entry.at;
				entry.action.run();
			}
		}
		this.time = until;
	}

	private static final class Entry implements Event, Comparable<Entry> {

		private final long at;

		private final long sequence;

		private final Runnable action;

		private boolean cancelled;

		private Entry(long at, long sequence, Runnable action) {
			this.at = at;
			this.sequence = sequence;
			this.action = action;
		}

		@Override
		public void cancel() {
			this.cancelled = true;
		}

		@Override
		public int compareTo(Entry other) {
			int order = Long.compare(this.at, other.at);
			return (order != 0) ? order : Long.compare(this.sequence, other.sequence);
		}

	}

}
