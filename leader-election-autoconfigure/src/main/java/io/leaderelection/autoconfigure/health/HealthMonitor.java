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

package io.leaderelection.autoconfigure.health;

import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;

import io.leaderelection.engine.DefaultLeaderElector;
import io.leaderelection.engine.DefaultLeaderElectors;
import io.leaderelection.engine.Platform;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;

import org.springframework.boot.context.event.ApplicationReadyEvent;
import org.springframework.context.ApplicationListener;
import org.springframework.context.SmartLifecycle;

/**
 * Prevents this node from leading while the application is unhealthy. Checks begin when
 * the application is ready. Each check runs on a separate thread, so that a check that
 * hangs blocks nothing else. There is never more than one check at a time, even after a
 * restart: the next check begins only when the current one has answered.
 */
final class HealthMonitor implements SmartLifecycle, ApplicationListener<ApplicationReadyEvent> {

	private static final Log logger = LogFactory.getLog(HealthMonitor.class);

	private final DefaultLeaderElectors electors;

	private final BooleanSupplier healthCheck;

	private final String description;

	private final Duration after;

	/** Types of failures that have been logged, to log each type once. */
	private final Set<Class<?>> reported = new HashSet<>();

	private HealthHysteresis hysteresis;

	private @Nullable ScheduledExecutorService scheduler;

	private boolean ready;

	/** When the check in progress began. */
	private @Nullable Long asked;

	/**
	 * Create a new {@code HealthMonitor} instance.
	 * @param electors the elections
	 * @param healthCheck returns whether the application is healthy
	 * @param description the subject of the check, for log messages
	 * @param after how long the application must have been unhealthy before candidacy is
	 * suspended, or healthy before it is resumed
	 */
	HealthMonitor(DefaultLeaderElectors electors, BooleanSupplier healthCheck, String description, Duration after) {
		this.electors = electors;
		this.healthCheck = healthCheck;
		this.description = description;
		this.after = after;
		this.hysteresis = new HealthHysteresis(after, System.nanoTime());
	}

	@Override
	public synchronized boolean isRunning() {
		return this.scheduler != null;
	}

	@Override
	public synchronized void start() {
		if (this.scheduler == null) {
			this.electors.all().forEach(DefaultLeaderElector::resumeCandidacy);
			this.hysteresis = new HealthHysteresis(this.after, System.nanoTime());
			this.scheduler = Executors
				.newSingleThreadScheduledExecutor((task) -> Platform.SYSTEM.newThread("health", task));
			long interval = this.hysteresis.interval();
			this.scheduler.scheduleWithFixedDelay(this::tryCheck, interval, interval, TimeUnit.NANOSECONDS);
		}
	}

	@Override
	public synchronized void stop() {
		if (this.scheduler != null) {
			this.scheduler.shutdown();
			this.scheduler = null;
		}
	}

	@Override
	public synchronized void onApplicationEvent(ApplicationReadyEvent event) {
		this.ready = true;
	}

	// An exception would end the schedule
	private void tryCheck() {
		try {
			check();
		}
		catch (Throwable ex) {
			report(ex);
		}
	}

	private synchronized void check() {
		if (this.asked != null) {
			this.hysteresis.unanswered(this.asked, System.nanoTime());
			react();
		}
		else if (this.ready && isRunning()) {
			long now = System.nanoTime();
			this.asked = now;
			try {
				Platform.SYSTEM.newThread("health-check", () -> ask(now)).start();
			}
			catch (Throwable ex) {
				failed(ex, now);
			}
		}
	}

	private void ask(long asked) {
		boolean healthy;
		try {
			healthy = this.healthCheck.getAsBoolean();
		}
		catch (Throwable ex) {
			failed(ex, asked);
			return;
		}
		answered(healthy, asked);
	}

	private void failed(Throwable failure, long asked) {
		answered(false, asked);
		logger.warn("Health check failed, which counts as unhealthy", failure);
	}

	private synchronized void answered(boolean healthy, long asked) {
		this.asked = null;
		this.hysteresis.answered(healthy, asked, System.nanoTime());
		react();
	}

	private void react() {
		for (DefaultLeaderElector elector : isRunning() ? this.electors.all() : List.<DefaultLeaderElector>of()) {
			try {
				react(elector, this.hysteresis.isCandidacyPermitted());
			}
			catch (Throwable ex) {
				report(ex);
			}
		}
	}

	// Logging comes last: it may fail, and the node must have reacted before
	private void react(DefaultLeaderElector elector, boolean candidacyPermitted) {
		if (candidacyPermitted && elector.isSuspendedUntilResumed()) {
			elector.resumeCandidacy();
			logger.info("Resuming candidacy, since " + this.description + " is healthy (" + name(elector) + ")");
		}
		else if (!candidacyPermitted && !elector.isSuspendedUntilResumed()) {
			elector.suspendCandidacy();
			logger.warn("Suspending candidacy until " + this.description + " is healthy"
					+ (this.hysteresis.isSilent() ? ": it does not answer" : "") + " (" + name(elector) + ")");
		}
	}

	private static String name(DefaultLeaderElector elector) {
		return "election '" + elector.getElection() + "', node '" + elector.getNodeId() + "'";
	}

	private synchronized void report(Throwable failure) {
		try {
			if (this.reported.add(failure.getClass())) {
				logger.error("Could not react to " + this.description + ", retrying with the next check", failure);
			}
		}
		catch (Throwable ex) {
			// Logging has failed, but the next check must still run
		}
	}

}
