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
import java.time.ZoneOffset;
import java.time.ZonedDateTime;
import java.util.List;
import java.util.concurrent.CompletableFuture;

import io.fabric8.kubernetes.client.ConfigBuilder;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.KubernetesClientBuilder;
import io.fabric8.kubernetes.client.KubernetesClientException;
import io.fabric8.kubernetes.client.extended.leaderelection.resourcelock.LeaderElectionRecord;
import io.fabric8.kubernetes.client.extended.leaderelection.resourcelock.LeaseLock;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests that the server which stands for Kubernetes compares versions. Without that, two
 * nodes could take a lease at once for a reason that Kubernetes does not have.
 */
@Tag("ring2")
class KubernetesBackendTests {

	private static final int ROUNDS = 200;

	@Test
	void oneOfTwoUpdatesOfTheSameVersionIsRefused() {
		try (KubernetesBackend backend = new KubernetesBackend();
				KubernetesClient client = new KubernetesClientBuilder()
					.withConfig(new ConfigBuilder().withMasterUrl("http://127.0.0.1:" + backend.port()).build())
					.build()) {
			LeaseLock first = new LeaseLock("default", "election", "first");
			LeaseLock second = new LeaseLock("default", "election", "second");
			first.create(client, record(first));
			for (int round = 0; round < ROUNDS; round++) {
				first.get(client);
				second.get(client);
				CompletableFuture<Boolean> other = CompletableFuture.supplyAsync(() -> update(client, second));
				assertThat(List.of(update(client, first), other.join())).containsExactlyInAnyOrder(true, false);
			}
		}
	}

	private static boolean update(KubernetesClient client, LeaseLock lock) {
		try {
			lock.update(client, record(lock));
			return true;
		}
		catch (KubernetesClientException ex) {
			assertThat(ex.getCode()).isEqualTo(409);
			return false;
		}
	}

	private static LeaderElectionRecord record(LeaseLock lock) {
		ZonedDateTime now = ZonedDateTime.now(ZoneOffset.UTC);
		return new LeaderElectionRecord(lock.identity(), Duration.ofSeconds(2), now, now, 0);
	}

}
