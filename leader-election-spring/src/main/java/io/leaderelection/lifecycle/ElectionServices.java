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
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.stream.Collectors;

import io.leaderelection.Leadership;
import io.leaderelection.LeadershipRevokedEvent;
import io.leaderelection.engine.DefaultLeaderElector;
import io.leaderelection.engine.ElectionSettings;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;

/**
 * The services of one election. When leadership is granted, they are started one after
 * the other, in the order of their phases. When it is revoked, they are stopped in the
 * reverse order of their phases; services of the same phase are stopped concurrently.
 */
final class ElectionServices {

	private static final Log logger = LogFactory.getLog(ElectionServices.class);

	private final List<LeaderService> services = new ArrayList<>();

	private final StartFailures failures = new StartFailures();

	private @Nullable ServiceStarter starter;

	private volatile @Nullable HandOver handOver;

	private CompletableFuture<@Nullable Void> started = CompletableFuture.<@Nullable Void>completedFuture(null);

	synchronized void add(LeaderService service) {
		this.services.removeIf(LeaderService::forget);
		this.services.add(service);
		// A stable sort: within a phase in the order of creation, that is of dependencies
		this.services.sort(Comparator.comparingInt(LeaderService::phase));
		service.joined(this);
		if (service.isAutoStartup()) {
			startAgain(service);
		}
	}

	synchronized void startAgain(LeaderService service) {
		if (this.starter != null) {
			this.starter.start(List.of(service));
		}
	}

	synchronized void granted(DefaultLeaderElector elector, Leadership leadership, StartPolicy policy) {
		ServiceStarter next = new ServiceStarter(elector, leadership, policy, this.failures);
		this.starter = next;
		List<LeaderService> starting = this.services.stream().filter(LeaderService::isAutoStartup).toList();
		if (!starting.isEmpty()) {
			this.started = next.start(starting);
		}
	}

	/**
	 * Stop a service that something else has started, unless a grant is in force.
	 */
	synchronized void stopUnlessLeading(LeaderService service) {
		if (this.starter == null) {
			stop(service, new HashSet<>());
		}
	}

	/**
	 * Return a future that completes when all services that should start have been
	 * started or have finally failed to start.
	 */
	synchronized CompletableFuture<@Nullable Void> started() {
		return this.started;
	}

	/**
	 * Have leadership stop the services while the election stops.
	 */
	synchronized void handingOver(DefaultLeaderElector elector, CompletableFuture<?> electionStopped, Duration limit) {
		HandOver known = this.handOver;
		if (known == null || !known.isOf(electionStopped)) {
			this.handOver = new HandOver(elector, electionStopped, limit);
		}
	}

	/**
	 * Return the hand-over that stops the services, if there is one in progress.
	 */
	@Nullable HandOver handOver() {
		HandOver known = this.handOver;
		return (known != null && known.isInProgress()) ? known : null;
	}

	/**
	 * Stop all services and wait until they have stopped. An orderly hand-over waits for
	 * a start in progress. If the calling thread is interrupted, all starts and stops are
	 * interrupted.
	 * @param elector the elector of the election
	 * @param event the event that revokes leadership
	 */
	void revoked(DefaultLeaderElector elector, LeadershipRevokedEvent event) {
		try {
			stopAll(elector, event);
		}
		finally {
			HandOver known = this.handOver;
			if (known != null) {
				known.servicesStopped();
			}
		}
	}

	private void stopAll(DefaultLeaderElector elector, LeadershipRevokedEvent event) {
		List<LeaderService> stopping = end();
		if (stopping.isEmpty()) {
			return;
		}
		boolean orderly = switch (event.getReason()) {
			case RESIGNED, STOPPED -> true;
			case LEASE_EXPIRED, SESSION_LOST -> false;
		};
		Duration limit = orderly ? elector.drainTimeout().plus(ElectionSettings.GRACE) : ElectionSettings.GRACE;
		if (!orderly) {
			stopping.forEach(LeaderService::interrupt);
		}
		Set<LeaderService> failed = ConcurrentHashMap.newKeySet();
		List<LeaderService> left = stopAll(stopping, System.nanoTime() + limit.toNanos(), failed);
		if (!left.isEmpty() || !failed.isEmpty()) {
			elector.serviceLeftRunning(event.getLeadership());
		}
		if (!left.isEmpty()) {
			left.forEach(LeaderService::interrupt);
			logger.warn("Services not stopped in time: " + left + " (" + event.getLeadership() + ", "
					+ event.getReason() + ")");
		}
		else if (failed.isEmpty()) {
			logger.info("Stopped " + stopping + " (" + event.getLeadership() + ")");
		}
	}

	private synchronized List<LeaderService> end() {
		if (this.starter != null) {
			this.starter.end();
			this.starter = null;
		}
		return List.copyOf(this.services);
	}

	private static List<LeaderService> stopAll(List<LeaderService> services, long latest, Set<LeaderService> failed) {
		long deadline = latest;
		List<LeaderService> left = new ArrayList<>();
		for (List<LeaderService> phase : phases(services)) {
			List<CompletableFuture<Boolean>> stops = phase.stream().map((service) -> stop(service, failed)).toList();
			if (!await(stops, deadline)) {
				// The drain timeout is over: services of lower phases are interrupted too
				services.forEach(LeaderService::interrupt);
				deadline = Math.min(deadline, System.nanoTime() + ElectionSettings.GRACE.toNanos());
				await(stops, deadline);
			}
			for (int i = 0; i < stops.size(); i++) {
				if (!stops.get(i).getNow(false)) {
					left.add(phase.get(i));
				}
			}
		}
		return left;
	}

	/**
	 * Stop a service.
	 * @return whether the stop has ended, with or without a failure
	 */
	private static CompletableFuture<Boolean> stop(LeaderService service, Set<LeaderService> failed) {
		return service.submitStop().handle((stopped, failure) -> {
			boolean interrupted = failure instanceof InterruptedException;
			if (failure != null && !interrupted) {
				logger.warn("Service " + service + " has failed to stop", failure);
				failed.add(service);
			}
			return !interrupted;
		});
	}

	private static List<List<LeaderService>> phases(List<LeaderService> services) {
		return services.stream()
			.collect(Collectors.groupingBy(LeaderService::phase, () -> new TreeMap<>(Comparator.reverseOrder()),
					Collectors.toList()))
			.values()
			.stream()
			.toList();
	}

	/**
	 * Wait until all stops have ended or the deadline is reached.
	 * @return {@code false} if the wait was interrupted
	 */
	private static boolean await(List<CompletableFuture<Boolean>> stops, long deadline) {
		for (CompletableFuture<Boolean> stop : stops) {
			try {
				stop.get(Math.max(0, deadline - System.nanoTime()), TimeUnit.NANOSECONDS);
			}
			catch (InterruptedException ex) {
				return false;
			}
			catch (ExecutionException ex) {
				throw new IllegalStateException(ex);
			}
			catch (TimeoutException ex) {
				return true;
			}
		}
		return true;
	}

}
