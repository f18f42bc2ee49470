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
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;

/**
 * Sees to it that deadlines are met even when an election thread hangs. One thread for
 * all elections, which exists while there is one; it never waits for anything but time.
 */
final class Watchdog {

	private static final Log logger = LogFactory.getLog(Watchdog.class);

	private static final long LONGEST_SLEEP = TimeUnit.HOURS.toNanos(1);

	private static final long SLEEP_AFTER_FAILURE = TimeUnit.MILLISECONDS.toNanos(100);

	private final ThreadFactory threadFactory;

	private final Set<Election> watched = new CopyOnWriteArraySet<>();

	private volatile @Nullable Thread thread;

	private volatile long wakeAt;

	private volatile boolean requested;

	Watchdog(ThreadFactory threadFactory) {
		this.threadFactory = threadFactory;
	}

	synchronized void watch(Election election) {
		this.watched.add(election);
		Thread running = this.thread;
		if (running == null) {
			this.wakeAt = System.nanoTime() + LONGEST_SLEEP;
			running = this.threadFactory.newThread(this::run);
			running.start();
			this.thread = running;
		}
	}

	synchronized void unwatch(Election election) {
		this.watched.remove(election);
		this.requested = true;
		LockSupport.unpark(this.thread);
	}

	/**
	 * Make sure that deadlines are looked at again within the given time. Call after the
	 * deadline was written.
	 */
	void lookWithin(long nanos) {
		if (this.wakeAt - (System.nanoTime() + nanos) > 0) {
			// The permit alone could be used up by a lock that the thread waits for
			this.requested = true;
			LockSupport.unpark(this.thread);
		}
	}

	private void run() {
		while (isNeeded()) {
			// From here on until the new time is set, every request wakes this thread
			this.requested = false;
			this.wakeAt = System.nanoTime() + LONGEST_SLEEP;
			long sleep = LONGEST_SLEEP;
			for (Election election : this.watched) {
				sleep = Math.min(sleep, check(election));
			}
			this.wakeAt = System.nanoTime() + sleep;
			if (!this.requested) {
				LockSupport.parkNanos(this, sleep);
			}
			Thread.interrupted();
		}
	}

	private synchronized boolean isNeeded() {
		if (this.watched.isEmpty()) {
			this.thread = null;
			return false;
		}
		return true;
	}

	private long check(Election election) {
		try {
			return election.checkDeadlines();
		}
		catch (Throwable ex) {
			logger.error("Unexpected failure while checking deadlines", ex);
			return SLEEP_AFTER_FAILURE;
		}
	}

}
