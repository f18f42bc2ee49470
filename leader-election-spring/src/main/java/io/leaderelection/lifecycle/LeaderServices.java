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
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;

import io.leaderelection.LeadershipGrantedEvent;
import io.leaderelection.LeadershipRevokedEvent;
import io.leaderelection.engine.DefaultLeaderElector;
import io.leaderelection.engine.SerialWorker;
import io.leaderelection.lifecycle.LeadershipSequence.Participant;
import org.jspecify.annotations.Nullable;

import org.springframework.beans.factory.DisposableBean;

/**
 * The beans of an application that leadership starts and stops.
 */
public final class LeaderServices implements DisposableBean {

	private final Map<String, ElectionServices> elections = new ConcurrentHashMap<>();

	private final SerialWorker keepAlive = new SerialWorker("keep-alive");

	/**
	 * Have an election start and stop a service from now on, also if the service is the
	 * only reason why the application should not end.
	 * @param election the name of the election, which exists
	 * @param service the service
	 */
	public void add(String election, LeaderService service) {
		this.keepAlive.retain(true);
		election(election).add(service);
	}

	@Override
	public void destroy() {
		this.keepAlive.retain(false);
	}

	/**
	 * Return the participant that starts and stops the services. They are started after
	 * the listeners of a grant have been called, and stopped before those of its end are
	 * called. An orderly hand-over frees the lock when all this is done.
	 * @param startAttempts how often a service may fail to start before this node resigns
	 * @param startTimeout how long a start may take before it is interrupted and counts
	 * as failed
	 * @return the participant
	 */
	public Participant participant(int startAttempts, Duration startTimeout) {
		StartPolicy policy = new StartPolicy(startAttempts, startTimeout);
		return new Participant() {

			@Override
			public void granted(DefaultLeaderElector elector, LeadershipGrantedEvent event) {
				election(event.getElection()).granted(elector, event.getLeadership(), policy);
			}

			@Override
			public void revoked(DefaultLeaderElector elector, LeadershipRevokedEvent event) {
				election(event.getElection()).revoked(elector, event);
			}

		};
	}

	/**
	 * Have leadership stop the services while an election stops, even if the container
	 * requests their stop earlier: they are stopped when leader work has ended.
	 * @param elector the election
	 * @param stopped completes when the election has stopped
	 * @param limit how long the container waits for leadership to stop the services
	 */
	public void handingOver(DefaultLeaderElector elector, CompletableFuture<?> stopped, Duration limit) {
		election(elector.getElection()).handingOver(elector, stopped, limit);
	}

	/**
	 * Return a future that completes when all services of an election that should start
	 * have been started or have finally failed to start.
	 * @param election the name of the election
	 * @return the future
	 */
	public CompletableFuture<@Nullable Void> started(String election) {
		return election(election).started();
	}

	private ElectionServices election(String election) {
		return this.elections.computeIfAbsent(election, (name) -> new ElectionServices());
	}

}
