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
 * Keeps this node from leading while the application is not well. Looks from the moment
 * when the application is ready, each time on a thread of its own: a check that hangs
 * holds up nothing. There is never more than one, also after a restart: while one has not
 * answered, there is no other look.
 */
public final class HealthWatch implements SmartLifecycle, ApplicationListener<ApplicationReadyEvent> {

	private static final Log logger = LogFactory.getLog(HealthWatch.class);

	private final DefaultLeaderElectors electors;

	private final BooleanSupplier well;

	private final String description;

	private final Duration after;

	/** Kinds of failures that were logged; few, as none is expected. */
	private final Set<Class<?>> reported = new HashSet<>();

	private boolean ready;

	private @Nullable Thread thread;

	private @Nullable HealthProbe look;

	/**
	 * Create a new {@code HealthWatch} instance.
	 * @param electors the elections
	 * @param well whether the application is well
	 * @param description what is looked at
	 * @param after how long the application must not have been well, or well again
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
		HealthHysteresis verdict = new HealthHysteresis(this.after, System.nanoTime());
		while (pause(verdict.interval())) {
			try {
				look(verdict);
			}
			catch (Throwable ex) {
				report(ex);
			}
		}
	}

	private synchronized void look(HealthHysteresis verdict) {
		HealthProbe last = this.look;
		if (!isCurrent()) {
			return;
		}
		if (last == null) {
			HealthProbe next = new HealthProbe(this.well, this::wakeUp);
			this.look = next;
			next.start();
			return;
		}
		HealthProbe.Answer answer = last.answer();
		if (answer != null) {
			this.look = null;
			verdict.answered(answer.well(), last.asked(), answer.time());
		}
		else {
			verdict.unanswered(last.asked(), System.nanoTime());
		}
		for (DefaultLeaderElector elector : this.electors.all()) {
			try {
				react(elector, verdict);
			}
			catch (Throwable ex) {
				report(ex);
			}
		}
	}

	// What logs comes last: it may fail, and the node must have reacted all the same
	private void react(DefaultLeaderElector elector, HealthHysteresis verdict) {
		if (verdict.isStanding() && elector.isUntilResumed()) {
			elector.resumeCandidacy();
			logger.info("Standing again, since " + this.description + " is well (" + name(elector) + ")");
		}
		else if (!verdict.isStanding() && !elector.isUntilResumed()) {
			elector.suspendCandidacy();
			logger.warn("Not standing until " + this.description + " is well again"
					+ (verdict.isSilent() ? ": it does not answer" : "") + " (" + name(elector) + ")");
		}
	}

	private static String name(DefaultLeaderElector elector) {
		return "election '" + elector.getElection() + "', node '" + elector.getNodeId() + "'";
	}

	private synchronized void report(Throwable failure) {
		try {
			if (this.reported.add(failure.getClass())) {
				logger.error("Could not react to " + this.description + ", trying again", failure);
			}
		}
		catch (Throwable ex) {
			// Nowhere left to tell it, but the next round is to come
		}
	}

	private synchronized void wakeUp() {
		notifyAll();
	}

	/**
	 * Wait until the application is ready, and then until there is an answer or it is
	 * time to look again.
	 */
	private synchronized boolean pause(long nanos) {
		try {
			while (!this.ready && isCurrent()) {
				wait();
			}
			long deadline = System.nanoTime() + nanos;
			long remaining = nanos;
			while (isCurrent() && remaining > 0 && (this.look == null || this.look.answer() == null)) {
				TimeUnit.NANOSECONDS.timedWait(this, remaining);
				remaining = deadline - System.nanoTime();
			}
			return isCurrent();
		}
		catch (InterruptedException ex) {
			// Nobody does that, and it would be no reason to end
			return isCurrent();
		}
	}

	private boolean isCurrent() {
		return this.thread == Thread.currentThread();
	}

}
