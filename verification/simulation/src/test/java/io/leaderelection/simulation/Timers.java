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

import java.util.Arrays;

import org.jspecify.annotations.Nullable;

/**
 * The events of the future, as a binary heap. Events of the same time are in the order in
 * which they were added.
 */
final class Timers {

	private Timer[] heap = new Timer[64];

	private int size;

	private long sequence;

	Timer add(long time, Runnable action) {
		if (this.size == this.heap.length) {
			this.heap = Arrays.copyOf(this.heap, this.size * 2);
		}
		Timer added = new Timer(time, this.sequence++, action);
		up(this.size++, added);
		return added;
	}

	/**
	 * Return the time of the next event, or a time that never comes if there is none.
	 */
	long next() {
		return (this.size > 0) ? this.heap[0].time : Long.MAX_VALUE;
	}

	Runnable removeNext() {
		Timer first = this.heap[0];
		remove(first);
		return first.action;
	}

	/**
	 * Remove an event, unless it has been removed.
	 */
	void remove(@Nullable Timer removed) {
		if (removed == null || removed.index < 0) {
			return;
		}
		int hole = removed.index;
		removed.index = -1;
		Timer last = this.heap[--this.size];
		if (last != removed) {
			down(hole, last);
			if (this.heap[hole] == last) {
				up(hole, last);
			}
		}
	}

	private void up(int start, Timer moved) {
		int index = start;
		while (index > 0) {
			int parent = (index - 1) / 2;
			if (!moved.isBefore(this.heap[parent])) {
				break;
			}
			put(index, this.heap[parent]);
			index = parent;
		}
		put(index, moved);
	}

	private void down(int start, Timer moved) {
		int index = start;
		while (2 * index + 1 < this.size) {
			int child = 2 * index + 1;
			if (child + 1 < this.size && this.heap[child + 1].isBefore(this.heap[child])) {
				child++;
			}
			if (!this.heap[child].isBefore(moved)) {
				break;
			}
			put(index, this.heap[child]);
			index = child;
		}
		put(index, moved);
	}

	private void put(int index, Timer timer) {
		this.heap[index] = timer;
		timer.index = index;
	}

	/** An event. */
	static final class Timer {

		private final long time;

		private final long sequence;

		private final Runnable action;

		private int index;

		Timer(long time, long sequence, Runnable action) {
			this.time = time;
			this.sequence = sequence;
			this.action = action;
		}

		boolean isBefore(Timer other) {
			return (this.time != other.time) ? this.time < other.time : this.sequence < other.sequence;
		}

	}

}
