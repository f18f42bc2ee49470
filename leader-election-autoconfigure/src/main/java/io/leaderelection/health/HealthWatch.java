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
import java.util.function.BooleanSupplier;

import io.leaderelection.engine.DefaultLeaderElector;
import io.leaderelection.engine.DefaultLeaderElectors;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;

import org.springframework.boot.context.event.ApplicationReadyEvent;
import org.springframework.context.ApplicationListener;
import org.springframework.context.SmartLifecycle;

/**
 * Keeps this node from leading while the application is not well. Looks from the moment
 * when the application is ready, on a thread of its own: a check may take as long as it
 * likes, it holds up no election. Until it answers, what it said before holds.
 */
public final class HealthWatch implements SmartLifecycle, ApplicationListener<ApplicationReadyEvent> {

	private static final Log logger = LogFactory.getLog(HealthWatch.class);

	private static final long SHORTEST_INTERVAL = TimeUnit.MILLISECONDS.toNanos(100);

	private static final long LONGEST_INTERVAL = TimeUnit.SECONDS.toNanos(5);

	private final DefaultLeaderElectors electors;

	private final BooleanSupplier well;

	private final String description;

	private final Duration after;

	private boolean ready;

	private @Nullable Thread thread;

	/**
	 * Create a new {@code HealthWatch} instance.
	 * @param electors the elections
	 * @param well whether the application is well
	 * @param description what is looked at
	 * @param after how long the application must not have been well
	 */
	public HealthWatch(DefaultLeaderElectors electors, BooleanSupplier well, String description, Duration after) {
		this.electors = electors;
		this.well = well;
		this.description = description;
		this.after = after;
	}

	@Override
	public int getPhase() {
		return Integer.MAX_VALUE;
	}

	@Override
	public synchronized boolean isRunning() {
		return this.thread != null;
	}

	@Override
	public synchronized void start() {
		if (this.thread == null) {
			this.electors.all().forEach(DefaultLeaderElector::standAgain);
			this.thread = new Thread(this::watch, "leader-election-health");
			this.thread.setDaemon(true);
			this.thread.start();
		}
	}

	@Override
	public synchronized void stop() {
		this.thread = null;
		notifyAll();
	}

	@Override
	public synchronized void onApplicationEvent(ApplicationReadyEvent event) {
		this.ready = true;
		notifyAll();
	}

	private void watch() {
		long interval = Math.min(Math.max(this.after.toNanos() / 4, SHORTEST_INTERVAL), LONGEST_INTERVAL);
		boolean bad = false;
		long badSince = 0;
		while (pause(interval)) {
			long start = System.nanoTime();
			boolean answer = isWell();
			if (!answer && !bad) {
				badSince = start;
			}
			bad = !answer;
			react(bad, System.nanoTime() - badSince);
		}
	}

	private boolean isWell() {
		try {
			return this.well.getAsBoolean();
		}
		catch (Throwable ex) {
			logger.warn("Health could not be looked at, which counts as not well", ex);
			return false;
		}
	}

	private synchronized void react(boolean bad, long nanos) {
		if (!isCurrent()) {
			return;
		}
		for (DefaultLeaderElector elector : this.electors.all()) {
			if (!bad && elector.isWithheld()) {
				logger.info("Standing again, since " + this.description + " is well (" + elector + ")");
				elector.standAgain();
			}
			else if (bad && nanos >= this.after.toNanos() && !elector.isWithheld()) {
				logger.warn("Not standing until " + this.description + " is well again (" + elector + ")");
				elector.withhold();
			}
		}
	}

	/**
	 * Wait until the application is ready, and then until it is time to look again.
	 */
	private synchronized boolean pause(long nanos) {
		try {
			while (!this.ready && isCurrent()) {
				wait();
			}
			long deadline = System.nanoTime() + nanos;
			long remaining = nanos;
			while (isCurrent() && remaining > 0) {
				TimeUnit.NANOSECONDS.timedWait(this, remaining);
				remaining = deadline - System.nanoTime();
			}
			return isCurrent();
		}
		catch (InterruptedException ex) {
			// Only by a health check that has left its interrupt behind
			return isCurrent();
		}
	}

	private boolean isCurrent() {
		return this.thread == Thread.currentThread();
	}

}
