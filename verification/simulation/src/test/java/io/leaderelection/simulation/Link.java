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

import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;

/**
 * The network between one node and the server. Messages of one connection arrive in the
 * order in which they were sent. A cut holds messages back, since TCP sends them again.
 */
public final class Link {

	private final Scheduler scheduler;

	private final SplittableRandom random;

	private final long distance;

	private final Way toServer = new Way();

	private final Way toClient = new Way();

	/**
	 * Create a link.
	 * @param distance how long a message takes at least, in nanoseconds
	 */
	Link(Scheduler scheduler, SplittableRandom random, long distance) {
		this.scheduler = scheduler;
		this.random = random;
		this.distance = distance;
	}

	Way toServer() {
		return this.toServer;
	}

	Way toClient() {
		return this.toClient;
	}

	/**
	 * One direction.
	 */
	final class Way {

		private final List<Message> held = new ArrayList<>();

		private boolean cut;

		private long cutSince;

		private long delay;

		private long delayOfNext;

		void cut() {
			if (!this.cut) {
				this.cut = true;
				this.cutSince = Link.this.scheduler.now();
			}
		}

		void heal() {
			if (!this.cut) {
				return;
			}
			this.cut = false;
			// The sender waits longer and longer before it tries again
			long again = Link.this.random.nextLong(Link.this.scheduler.now() - this.cutSince + 1) / 2;
			List<Message> sent = List.copyOf(this.held);
			this.held.clear();
			sent.forEach((message) -> send(message.lane(), again, message.arrival()));
		}

		boolean isCut() {
			return this.cut;
		}

		void setDelay(long nanos) {
			this.delay = nanos;
		}

		/**
		 * Delay the next message only.
		 */
		void delayNext(long nanos) {
			this.delayOfNext = nanos;
		}

		/**
		 * Send a message.
		 */
		void send(Lane lane, Runnable arrival) {
			if (this.cut) {
				this.held.add(new Message(lane, arrival));
				return;
			}
			long extra = this.delayOfNext;
			this.delayOfNext = 0;
			send(lane, extra, arrival);
		}

		private void send(Lane lane, long extra, Runnable arrival) {
			SplittableRandom random = Link.this.random;
			// Mostly fast, now and then slow
			long latency = 20_000L << random.nextInt((random.nextInt(16) == 0) ? 10 : 5);
			long base = Link.this.scheduler.now() + extra + Link.this.distance + latency + this.delay;
			lane.last = Math.max(lane.last + 1, base + random.nextLong(latency));
			Link.this.scheduler.at(lane.last, arrival);
		}

	}

	/** One direction of one connection. */
	static final class Lane {

		private long last;

	}

	private record Message(Lane lane, Runnable arrival) {
	}

}
