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

package io.leaderelection.autoconfigure;

import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

import io.leaderelection.annotation.InvalidUsageException;
import io.leaderelection.engine.DefaultLeaderElector;
import io.leaderelection.engine.DefaultLeaderElectors;
import io.leaderelection.engine.SessionException;
import io.leaderelection.engine.UnusableStoreException;
import io.leaderelection.lifecycle.LeaderServices;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;

import org.springframework.beans.factory.DisposableBean;
import org.springframework.context.ApplicationContext;
import org.springframework.context.ApplicationListener;
import org.springframework.context.SmartLifecycle;
import org.springframework.context.event.ContextClosedEvent;
import org.springframework.core.Ordered;
import org.springframework.core.annotation.Order;
import org.springframework.core.metrics.ApplicationStartup;
import org.springframework.core.metrics.StartupStep;

/**
 * Binds the elections to the lifecycle of the application context. They are started last,
 * when all beans that leader work needs have been started but before {@code @Scheduled}
 * methods run, and stopped first. No leader work starts once the context has begun to
 * close, and the lock is freed before the beans that the work needs are stopped.
 * <p>
 * May be stopped and started again any number of times, as by a pause of the context.
 */
@Order(Ordered.HIGHEST_PRECEDENCE)
final class LeaderElectionLifecycle implements SmartLifecycle, DisposableBean, ApplicationListener<ContextClosedEvent> {

	private static final Log logger = LogFactory.getLog(LeaderElectionLifecycle.class);

	private static final Duration LONGEST_START = Duration.ofSeconds(3);

	/** Added to the longest stop of an election. */
	private static final Duration STOP_MARGIN = Duration.ofSeconds(1);

	private final DefaultLeaderElectors electors;

	private final ElectionDefinitions definitions;

	private final ElectionStoreFactory storeFactory;

	private final LeaderServices services;

	private final boolean failFast;

	private final ApplicationContext context;

	private final ApplicationStartup applicationStartup;

	private volatile boolean running;

	/**
	 * Create a new {@code LeaderElectionLifecycle} instance.
	 * @param electors the elections
	 * @param definitions their configuration
	 * @param storeFactory the factory of their stores
	 * @param services the services that leadership starts and stops
	 * @param failFast whether the start fails while the store is unreachable
	 * @param context the application context
	 * @param applicationStartup records the wait for the first decisions
	 */
	LeaderElectionLifecycle(DefaultLeaderElectors electors, ElectionDefinitions definitions,
			ElectionStoreFactory storeFactory, LeaderServices services, boolean failFast, ApplicationContext context,
			ApplicationStartup applicationStartup) {
		this.electors = electors;
		this.definitions = definitions;
		this.storeFactory = storeFactory;
		this.services = services;
		this.failFast = failFast;
		this.context = context;
		this.applicationStartup = applicationStartup;
	}

	@Override
	public int getPhase() {
		return Integer.MAX_VALUE;
	}

	@Override
	public boolean isRunning() {
		return this.running;
	}

	/**
	 * Start all elections and wait for their first decisions, so that beans that are
	 * started later find a leader if there is one.
	 */
	@Override
	public void start() {
		if (this.running) {
			return;
		}
		this.storeFactory.check();
		this.running = true;
		StartupStep step = this.applicationStartup.start("leader.election.first-decision");
		try {
			awaitDecisions(step);
		}
		catch (SessionException ex) {
			await(stopAll());
			throw (ex instanceof UnusableStoreException unusable) ? new InvalidUsageException(
					"Elections cannot be held on the configured database. " + ex.getMessage(), unusable.getAction(), ex)
					: new InvalidUsageException(
							"Leader election could not be started, and the application does not start without it, since leader-election.fail-fast is set: "
									+ ex.getMessage(),
							"Make the database reachable, or set leader-election.fail-fast=false to start as a follower that keeps trying.",
							ex);
		}
	}

	private static String role(DefaultLeaderElector elector) {
		return elector.status().role().name().toLowerCase(Locale.ROOT);
	}

	private void awaitDecisions(StartupStep step) throws SessionException {
		try {
			awaitDecisions();
		}
		finally {
			this.electors.all().forEach((elector) -> step.tag(elector.getElection(), () -> role(elector)));
			step.end();
		}
	}

	private void awaitDecisions() throws SessionException {
		long deadline = System.nanoTime() + LONGEST_START.toNanos();
		List<CompletableFuture<?>> decisions = this.electors.all()
			.stream()
			.<CompletableFuture<?>>map(DefaultLeaderElector::start)
			.toList();
		SessionException failure = null;
		try {
			for (CompletableFuture<?> decision : decisions) {
				SessionException decided = await(decision, deadline);
				failure = (failure != null) ? failure : decided;
			}
		}
		catch (InterruptedException ex) {
			Thread.currentThread().interrupt();
			return;
		}
		if (this.failFast) {
			checkReached(failure);
		}
	}

	// Returns the failure that made this node a follower for now, if any
	private static @Nullable SessionException await(CompletableFuture<?> decision, long deadline)
			throws UnusableStoreException, InterruptedException {
		try {
			decision.get(Math.max(0, deadline - System.nanoTime()), TimeUnit.NANOSECONDS);
			return null;
		}
		catch (TimeoutException ex) {
			return null;
		}
		catch (ExecutionException ex) {
			if (ex.getCause() instanceof UnusableStoreException unusable) {
				throw unusable;
			}
			return (ex.getCause() instanceof SessionException session) ? session
					: new SessionException(ex.getMessage(), ex);
		}
	}

	private void checkReached(@Nullable SessionException failure) throws SessionException {
		if (failure != null) {
			throw failure;
		}
		for (DefaultLeaderElector elector : this.electors.all()) {
			if (elector.status().lastConfirmation() == null) {
				throw new SessionException("The database for leader election has not answered within "
						+ ElectionDefinitions.print(LONGEST_START), null);
			}
		}
	}

	/**
	 * Begins the hand-over before any bean is stopped. The container stops this bean
	 * later, and only then waits for the hand-over.
	 */
	@Override
	public void onApplicationEvent(ContextClosedEvent event) {
		if (this.running && event.getApplicationContext() == this.context) {
			// The caller that closes the context waits for the hand-over, even inside
			// leader work
			this.electors.all().forEach(DefaultLeaderElector::detachCurrentThread);
			this.electors.all().forEach(this::stop);
		}
	}

	/**
	 * A hand-over must not wait for the thread that closes the context, and begins before
	 * this thread stops beans.
	 */
	@Override
	public boolean supportsAsyncExecution() {
		return false;
	}

	private CompletableFuture<?> stop(DefaultLeaderElector elector) {
		CompletableFuture<?> stopped = elector.stop();
		this.services.handingOver(elector, stopped, longestStop());
		return stopped;
	}

	@Override
	public void stop(Runnable callback) {
		stopAll().whenComplete((result, ex) -> callback.run());
	}

	@Override
	public void stop() {
		await(stopAll());
	}

	@Override
	public void destroy() {
		if (this.running) {
			stop();
		}
	}

	private CompletableFuture<Void> stopAll() {
		this.running = false;
		return CompletableFuture
			.allOf(this.electors.all().stream().map(this::stop).toArray(CompletableFuture<?>[]::new));
	}

	private Duration longestStop() {
		return this.definitions.longestStop().plus(STOP_MARGIN);
	}

	private void await(CompletableFuture<Void> stopped) {
		Duration timeout = longestStop();
		try {
			stopped.get(timeout.toMillis(), TimeUnit.MILLISECONDS);
		}
		catch (InterruptedException ex) {
			Thread.currentThread().interrupt();
		}
		catch (ExecutionException | TimeoutException ex) {
			logger.warn("Leader election has not stopped within " + ElectionDefinitions.print(timeout));
		}
	}

}
