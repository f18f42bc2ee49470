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

package io.leaderelection.lifecycle;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

import io.leaderelection.Leadership;
import io.leaderelection.engine.DefaultLeaderElector;
import io.leaderelection.engine.Platform;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;

/**
 * Starts services in one term. If one of them cannot be started, this node hands
 * leadership over, since another node may be able to start it.
 */
final class ServiceStarter {

	private static final Log logger = LogFactory.getLog(ServiceStarter.class);

	private static final Duration LONGEST_STOP = Duration.ofSeconds(5);

	private static final Duration FIRST_BACKOFF = Duration.ofMillis(500);

	private static final Duration LONGEST_BACKOFF = Duration.ofSeconds(5);

	private final DefaultLeaderElector elector;

	private final Leadership leadership;

	private final StartPolicy policy;

	private final StartFailures failures;

	private final CountDownLatch over = new CountDownLatch(1);

	ServiceStarter(DefaultLeaderElector elector, Leadership leadership, StartPolicy policy, StartFailures failures) {
		this.elector = elector;
		this.leadership = leadership;
		this.policy = policy;
		this.failures = failures;
	}

	/**
	 * Start services one after the other, on a separate thread.
	 * @param services the services in order
	 * @return a future that completes when they have been started or have finally failed
	 * to start
	 */
	CompletableFuture<@Nullable Void> start(List<LeaderService> services) {
		CompletableFuture<@Nullable Void> done = new CompletableFuture<>();
		try {
			services.forEach((service) -> service.interruptedBy(this.elector));
			Platform.SYSTEM.newThread(this.leadership.getElection() + "-services", () -> startAll(services, done))
				.start();
		}
		catch (OutOfMemoryError ex) {
			// No thread can be created, but another node may be able to
			try {
				giveUp(services, ex);
			}
			finally {
				done.complete(null);
			}
		}
		return done;
	}

	private void startAll(List<LeaderService> services, CompletableFuture<@Nullable Void> done) {
		try {
			for (LeaderService service : services) {
				if (!startWithRetries(service)) {
					return;
				}
			}
			this.failures.clear();
			logger.info("Started " + services + " (" + this.leadership + ")");
		}
		catch (InterruptedException ex) {
			Thread.currentThread().interrupt();
		}
		catch (Throwable ex) {
			giveUp(services, ex);
		}
		finally {
			done.complete(null);
		}
	}

	private void giveUp(List<LeaderService> services, Throwable failure) {
		String consequence = resign();
		logger.error("Unexpected failure while starting " + services + ", " + consequence, failure);
	}

	/**
	 * Resign before the failure is logged, since logging may fail for lack of memory.
	 */
	private String resign() {
		Duration pause = this.failures.next();
		this.elector.suspendCandidacy(this.leadership, pause);
		return "resigning so that another node can start it; suspending candidacy for " + pause.toSeconds()
				+ "s if there is another candidate (" + this.leadership + ")";
	}

	private boolean startWithRetries(LeaderService service) throws InterruptedException {
		Duration backoff = FIRST_BACKOFF;
		for (int attempt = 1; isWanted(); attempt++) {
			Throwable failure = startOnce(service);
			if (failure == null) {
				return isWanted();
			}
			if (!isWanted()) {
				logger.debug("Service " + service + " has failed to start, but is no longer wanted", failure);
				return false;
			}
			if (attempt >= this.policy.attempts()) {
				String consequence = resign();
				logger.warn("Service " + service + " has failed to start, giving up after attempt " + attempt + " and "
						+ consequence, failure);
				return false;
			}
			logger.warn("Service " + service + " has failed to start, retrying in " + backoff.toMillis()
					+ "ms (attempt " + attempt + " of " + this.policy.attempts() + ", " + this.leadership + ")",
					failure);
			this.over.await(backoff.toNanos(), TimeUnit.NANOSECONDS);
			backoff = backoff.multipliedBy(2);
			backoff = (backoff.compareTo(LONGEST_BACKOFF) < 0) ? backoff : LONGEST_BACKOFF;
		}
		return false;
	}

	private @Nullable Throwable startOnce(LeaderService service) throws InterruptedException {
		if (!service.awaitStop(LONGEST_STOP)) {
			return new IllegalStateException("Service " + service + " has not stopped since an earlier term");
		}
		CompletableFuture<?> started;
		synchronized (this) {
			if (!isWanted()) {
				return null;
			}
			// A start that is submitted from here on runs before the stop at the end of
			// the term
			started = service.submitStart(this::isWanted);
		}
		try {
			started.get(this.policy.timeout().toNanos(), TimeUnit.NANOSECONDS);
			return null;
		}
		catch (TimeoutException ex) {
			service.interrupt(started);
			return new IllegalStateException("Service " + service + " has not started within "
					+ this.policy.timeout().toMillis() + "ms (leader-election.services.start-timeout)");
		}
		catch (ExecutionException ex) {
			return ex.getCause();
		}
	}

	/**
	 * Return whether services should start: no longer once a hand-over has begun.
	 */
	private boolean isWanted() {
		return this.over.getCount() > 0 && this.elector.getLeadership() == this.leadership;
	}

	/**
	 * Request no further starts.
	 */
	synchronized void end() {
		this.over.countDown();
	}

}
