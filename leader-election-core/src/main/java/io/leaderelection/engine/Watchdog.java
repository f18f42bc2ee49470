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

import java.util.Set;
import java.util.concurrent.CopyOnWriteArraySet;
import java.util.concurrent.TimeUnit;

import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;

/**
 * Checks deadlines in time, even when an election thread hangs. One thread serves all
 * elections and runs while there is one. It waits only for the time of the next check;
 * therefore it logs nothing and runs no code of the application.
 */
final class Watchdog {

	static final long NO_DEADLINE = TimeUnit.HOURS.toNanos(1);

	private static final ElectionLog log = new ElectionLog(LogFactory.getLog(Watchdog.class));

	private final Platform platform;

	private final Interrupter interrupter;

	private final Set<Supervised> supervised = new CopyOnWriteArraySet<>();

	private volatile @Nullable Thread thread;

	private volatile long wakeAt;

	private volatile boolean requested;

	private volatile @Nullable Throwable failure;

	Watchdog(Platform platform) {
		this.platform = platform;
		this.interrupter = new Interrupter(platform, this::checkSoon, this::failed);
	}

	Watchdog(Platform platform, Interrupter interrupter) {
		this.platform = platform;
		this.interrupter = interrupter;
	}

	/**
	 * Return what interrupts threads of the application.
	 */
	Interrupter interrupter() {
		return this.interrupter;
	}

	private void checkSoon() {
		checkWithin(Platform.PAUSE_AFTER_FAILURE);
	}

	/**
	 * Add an object whose deadlines are checked from now on.
	 */
	synchronized void add(Supervised added) {
		this.supervised.add(added);
		if (this.thread != null) {
			return;
		}
		try {
			this.requested = true;
			this.interrupter.start();
			Thread started = this.platform.newThread("watchdog", this::run);
			started.start();
			this.thread = started;
		}
		catch (Throwable ex) {
			this.supervised.remove(added);
			this.interrupter.stop();
			throw ex;
		}
	}

	synchronized void remove(Supervised removed) {
		this.supervised.remove(removed);
		this.requested = true;
		Thread running = this.thread;
		if (running != null) {
			this.platform.unpark(running);
		}
	}

	/**
	 * Ensure that deadlines are checked again within the given time. Must be called after
	 * the deadline was written.
	 */
	void checkWithin(long nanos) {
		Thread running = this.thread;
		long time = this.platform.nanoTime() + nanos;
		if (running == null || this.wakeAt - time <= 0) {
			return;
		}
		if (running == Thread.currentThread()) {
			// A check that asks for the next one must not cause it at once
			this.wakeAt = time;
			return;
		}
		// The permit alone could be consumed by a lock that the thread waits for
		this.requested = true;
		this.platform.unpark(running);
	}

	/**
	 * Record a failure that cannot be logged now. Allocates nothing.
	 */
	void failed(Throwable ex) {
		this.failure = ex;
	}

	/**
	 * Log the failure that was recorded last, if possible. Called by threads that may
	 * wait for an appender.
	 */
	void report() {
		Throwable last = this.failure;
		if (last != null) {
			this.failure = null;
			log.error("Unexpected failure in a thread of leader election", last);
		}
	}

	private void run() {
		while (isNeeded()) {
			try {
				round();
			}
			catch (Throwable ex) {
				// Neither allocates nor logs, since there may be no memory
				this.failure = ex;
				this.platform.park(this, Platform.PAUSE_AFTER_FAILURE);
			}
		}
	}

	private void round() {
		// From here on until the new time is set, every request wakes this thread
		this.requested = false;
		this.wakeAt = this.platform.nanoTime() + NO_DEADLINE;
		long sleep = NO_DEADLINE;
		for (Supervised each : this.supervised) {
			sleep = Math.min(sleep, check(each));
		}
		sleep = Math.min(sleep, check(this.interrupter));
		long now = this.platform.nanoTime();
		sleep = Math.min(sleep, this.wakeAt - now);
		this.wakeAt = now + sleep;
		if (!this.requested) {
			this.platform.park(this, sleep);
		}
		Thread.interrupted();
	}

	private long check(Supervised each) {
		try {
			return each.checkDeadlines();
		}
		catch (Throwable ex) {
			this.failure = ex;
			return Platform.PAUSE_AFTER_FAILURE;
		}
	}

	private synchronized boolean isNeeded() {
		if (this.supervised.isEmpty()) {
			this.thread = null;
			this.interrupter.stop();
			return false;
		}
		return true;
	}

	/** An object with deadlines. */
	interface Supervised {

		/**
		 * Act on each deadline that has passed. Never waits and runs no code of the
		 * application.
		 * @return the time until the next check, in nanoseconds
		 */
		long checkDeadlines();

	}

}
