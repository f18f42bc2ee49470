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

package io.leaderelection.comparison;

import java.net.InetAddress;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.logging.Level;
import java.util.logging.Logger;

import io.fabric8.kubernetes.client.Config;
import io.fabric8.kubernetes.client.ConfigBuilder;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.KubernetesClientBuilder;
import io.fabric8.kubernetes.client.extended.leaderelection.LeaderCallbacks;
import io.fabric8.kubernetes.client.extended.leaderelection.LeaderElectionConfig;
import io.fabric8.kubernetes.client.extended.leaderelection.LeaderElectionConfigBuilder;
import io.fabric8.kubernetes.client.extended.leaderelection.resourcelock.LeaseLock;
import io.fabric8.kubernetes.client.server.mock.KubernetesCrudDispatcher;
import io.fabric8.kubernetes.client.server.mock.KubernetesMockServer;
import io.fabric8.mockwebserver.Context;
import io.fabric8.mockwebserver.MockWebServer;

import org.springframework.core.env.Environment;

/**
 * A Kubernetes lease with fabric8's elector. An election ends with leadership, and is
 * started anew then.
 */
final class KubernetesLease implements Adapter, AutoCloseable {

	private final KubernetesClient client;

	private final LeaderElectionConfig config;

	private CompletableFuture<?> election = CompletableFuture.completedFuture(null);

	private volatile boolean leader;

	private boolean closed;

	KubernetesLease(Environment options) {
		int timeout = (int) options.getRequiredProperty("request-timeout", Duration.class).toMillis();
		Config address = new ConfigBuilder(Config.empty())
			.withMasterUrl("http://" + options.getRequiredProperty("address"))
			.withRequestTimeout(timeout)
			.withConnectionTimeout(timeout)
			.withRequestRetryBackoffLimit(options.getRequiredProperty("request-retries", Integer.class))
			.build();
		this.client = new KubernetesClientBuilder().withConfig(address).build();
		String name = options.getRequiredProperty("election");
		this.config = new LeaderElectionConfigBuilder().withName(name)
			.withLock(new LeaseLock("default", name, options.getRequiredProperty("node")))
			.withLeaseDuration(options.getRequiredProperty("lease-duration", Duration.class))
			.withRenewDeadline(options.getRequiredProperty("renew-deadline", Duration.class))
			.withRetryPeriod(options.getRequiredProperty("retry-period", Duration.class))
			.withReleaseOnCancel(options.getRequiredProperty("release-on-cancel", Boolean.class))
			.withLeaderCallbacks(
					new LeaderCallbacks(() -> this.leader = true, () -> this.leader = false, (identity) -> {
					}))
			.build();
		start();
	}

	private synchronized void start() {
		if (!this.closed) {
			this.election = this.client.leaderElector().withConfig(this.config).build().start();
			this.election.whenCompleteAsync((result, failure) -> start());
		}
	}

	@Override
	public boolean isLeader() {
		return this.leader;
	}

	@Override
	public synchronized void close() {
		this.closed = true;
		// Release on cancel requires that the work has ended before
		this.leader = false;
		this.election.cancel(true);
		this.client.close();
	}

	/**
	 * The API server of fabric8's tests.
	 */
	static final class Server implements Backend {

		/** Logs each request otherwise. */
		private static final Logger LOGGER = Logger.getLogger(MockWebServer.class.getName());

		private final KubernetesMockServer server;

		Server() {
			LOGGER.setLevel(Level.WARNING);
			this.server = new KubernetesMockServer(new Context(), new MockWebServer(), new HashMap<>(),
					new KubernetesCrudDispatcher(), false);
			this.server.init(InetAddress.getLoopbackAddress(), 0);
		}

		@Override
		public int port() {
			return this.server.getPort();
		}

		@Override
		public Map<String, Double> counters() {
			return Map.of("requests", (double) this.server.getRequestCount());
		}

		@Override
		public void close() {
			this.server.destroy();
		}

	}

}
