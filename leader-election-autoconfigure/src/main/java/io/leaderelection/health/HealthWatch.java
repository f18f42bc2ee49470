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
import java.util.HashSet;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;

import io.leaderelection.engine.DaemonThreads;
import io.leaderelection.engine.DefaultLeaderElector;
import io.leaderelection.engine.DefaultLeaderElectors;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;

import org.springframework.boot.context.event.ApplicationReadyEvent;
import org.springframework.context.ApplicationListener;
import org.springframework.context.SmartLifecycle;

/**
 * Prevents this node from leading while the application is unhealthy. Checks begin when
 * the application is ready. Each check runs on a separate thread, so that a check that
 * hangs blocks nothing else. There is never more than one check at a time, also after a
 * restart: the next check begins only when the current one has answered.
 */
public final class HealthWatch implements SmartLifecycle, ApplicationListener<ApplicationReadyEvent> {

	private static final Log logger = LogFactory.getLog(HealthWatch.class);

	private final DefaultLeaderElectors electors;

	private final BooleanSupplier healthCheck;

	private final String description;

	private final Duration after;

	/** Types of failures that have been logged, to log each type once. */
	private final Set<Class<?>> reported = new HashSet<>();

	private boolean ready;

	private @Nullable Thread thread;

	private @Nullable HealthProbe probe;

	/**
	 * Create a new {@code HealthWatch} instance.
	 * @param electors the elections
	 * @param healthCheck returns whether the application is healthy
	 * @param description the subject of the check, for log messages
	 * @param after how long the application must have been unhealthy before candidacy is
	 * suspended, or healthy before it is resumed
	 */
	public HealthWatch(DefaultLeaderElectors electors, BooleanSupplier healthCheck, String description,
			Duration after) {
		this.electors = electors;
		this.healthCheck = healthCheck;
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
			this.electors.all().forEach(DefaultLeaderElector::resumeCandidacy);
			this.thread = DaemonThreads.create("health", this::watch);
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
		HealthHysteresis hysteresis = new HealthHysteresis(this.after, System.nanoTime());
		while (pause(hysteresis.interval())) {
			try {
				check(hysteresis);
			}
			catch (Throwable ex) {
				report(ex);
			}
		}
	}

	private synchronized void check(HealthHysteresis hysteresis) {
		HealthProbe last = this.probe;
		if (!isCurrent()) {
			return;
		}
		if (last == null) {
			HealthProbe next = new HealthProbe(this.healthCheck, this::wakeUp);
			this.probe = next;
			next.start();
			return;
		}
		HealthProbe.Answer answer = last.answer();
		if (answer != null) {
			this.probe = null;
			hysteresis.answered(answer.healthy(), last.asked(), answer.time());
		}
		else {
			hysteresis.unanswered(last.asked(), System.nanoTime());
		}
		for (DefaultLeaderElector elector : this.electors.all()) {
			try {
				react(elector, hysteresis);
			}
			catch (Throwable ex) {
				report(ex);
			}
		}
	}

	// Logging comes last: it may fail, and the node must have reacted before
	private void react(DefaultLeaderElector elector, HealthHysteresis hysteresis) {
		if (hysteresis.isCandidacyPermitted() && elector.isSuspendedUntilResumed()) {
			elector.resumeCandidacy();
			logger.info("Resuming candidacy, since " + this.description + " is healthy (" + name(elector) + ")");
		}
		else if (!hysteresis.isCandidacyPermitted() && !elector.isSuspendedUntilResumed()) {
			elector.suspendCandidacy();
			logger.warn("Suspending candidacy until " + this.description + " is healthy"
					+ (hysteresis.isSilent() ? ": it does not answer" : "") + " (" + name(elector) + ")");
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

	private synchronized void wakeUp() {
		notifyAll();
	}

	/**
	 * Wait until the application is ready, and then until there is an answer or it is
	 * time for the next check.
	 */
	private synchronized boolean pause(long nanos) {
		try {
			while (!this.ready && isCurrent()) {
				wait();
			}
			long deadline = System.nanoTime() + nanos;
			long remaining = nanos;
			while (isCurrent() && remaining > 0 && (this.probe == null || this.probe.answer() == null)) {
				TimeUnit.NANOSECONDS.timedWait(this, remaining);
				remaining = deadline - System.nanoTime();
			}
			return isCurrent();
		}
		catch (InterruptedException ex) {
			// Not expected, and no reason to end
			return isCurrent();
		}
	}

	private boolean isCurrent() {
		return this.thread == Thread.currentThread();
	}

}
