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

import java.time.Duration;
import java.util.concurrent.CompletableFuture;

import io.fabric8.kubernetes.client.Config;
import io.fabric8.kubernetes.client.ConfigBuilder;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.KubernetesClientBuilder;
import io.fabric8.kubernetes.client.extended.leaderelection.LeaderCallbacks;
import io.fabric8.kubernetes.client.extended.leaderelection.LeaderElectionConfig;
import io.fabric8.kubernetes.client.extended.leaderelection.LeaderElectionConfigBuilder;
import io.fabric8.kubernetes.client.extended.leaderelection.resourcelock.LeaseLock;
import org.jspecify.annotations.Nullable;

import org.springframework.beans.factory.annotation.Value;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;

/**
 * A Kubernetes lease with fabric8's elector.
 *
 * @see <a href=
 * "https://github.com/fabric8io/kubernetes-client/blob/main/kubernetes-examples/src/main/java/io/fabric8/kubernetes/examples/LeaderElectionExamples.java">LeaderElectionExamples</a>
 */
@Configuration(proxyBeanMethods = false)
class KubernetesLease {

	@Bean
	KubernetesClient client(@Value("${address}") String address, @Value("${request-timeout}") Duration timeout,
			@Value("${request-retries}") int retries) {
		Config config = new ConfigBuilder(Config.empty()).withMasterUrl("http://" + address)
			.withRequestTimeout((int) timeout.toMillis())
			.withConnectionTimeout((int) timeout.toMillis())
			.withRequestRetryBackoffLimit(retries)
			.build();
		return new KubernetesClientBuilder().withConfig(config).build();
	}

	@Bean(initMethod = "start")
	Elector adapter(KubernetesClient client, @Value("${election}") String election, @Value("${node}") String node,
			@Value("${lease-duration}") Duration lease, @Value("${renew-deadline}") Duration renewDeadline,
			@Value("${retry-period}") Duration retryPeriod, @Value("${release-on-cancel}") boolean releaseOnCancel) {
		return new Elector(client,
				new LeaderElectionConfigBuilder().withName(election)
					.withLock(new LeaseLock("default", election, node))
					.withLeaseDuration(lease)
					.withRenewDeadline(renewDeadline)
					.withRetryPeriod(retryPeriod)
					.withReleaseOnCancel(releaseOnCancel));
	}

	/**
	 * Starts the election anew when it has ended, since it ends with leadership.
	 */
	static final class Elector implements Adapter, AutoCloseable {

		private final KubernetesClient client;

		private final LeaderElectionConfig config;

		private volatile boolean leader;

		private @Nullable CompletableFuture<?> election;

		private boolean closed;

		Elector(KubernetesClient client, LeaderElectionConfigBuilder config) {
			this.client = client;
			this.config = config.withLeaderCallbacks(
					new LeaderCallbacks(() -> this.leader = true, () -> this.leader = false, (identity) -> {
					}))
				.build();
		}

		synchronized void start() {
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
			if (this.election != null) {
				this.election.cancel(true);
			}
		}

	}

}
