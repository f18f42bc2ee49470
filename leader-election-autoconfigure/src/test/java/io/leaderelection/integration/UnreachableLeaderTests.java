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

package io.leaderelection.integration;

import java.time.Duration;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

import io.leaderelection.engine.DefaultLeaderElector;
import io.leaderelection.testsupport.PostgreSqlServer;
import io.leaderelection.testsupport.TcpProxy;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for a leader that resigns or stops while its server does not answer.
 */
@Timeout(120)
@Tag("ring2")
class UnreachableLeaderTests {

	private static final Duration LIMIT = Duration.ofSeconds(30);

	private final PostgreSqlServer server = PostgreSqlServer.shared();

	private final String group = "leader-election.group=" + UUID.randomUUID();

	@Test
	void resignationOfALeaderThatIsCutOffDoesNotClaimAHandOver() throws Exception {
		try (TcpProxy proxy = new TcpProxy(this.server);
				LocalNode node = LocalNode.startAt(this.server, proxy.port(), this.group,
						"leader-election.lease-duration=4s")) {
			CountDownLatch started = new CountDownLatch(1);
			CompletableFuture.runAsync(() -> node.elector().runIfLeader(() -> workUntilInterrupted(started)));
			assertThat(started.await(10, TimeUnit.SECONDS)).isTrue();
			proxy.blackHole();
			CompletableFuture<List<String>> locks = new CompletableFuture<>();
			CompletableFuture<Boolean> resignation = node.elector().resign();
			resignation.whenComplete((result, failure) -> locks.complete(locks()));
			boolean handedOver = resignation.get(LIMIT.toSeconds(), TimeUnit.SECONDS);
			assertThat(handedOver).as("locks held at that moment: %s", locks.get(10, TimeUnit.SECONDS)).isFalse();
			proxy.heal();
		}
	}

	private static void workUntilInterrupted(CountDownLatch started) {
		started.countDown();
		try {
			Thread.sleep(LIMIT.toMillis());
		}
		catch (InterruptedException ex) {
			Thread.currentThread().interrupt();
		}
	}

	/**
	 * Return which advisory locks sessions of elections hold.
	 */
	private List<String> locks() {
		return this.server.query("SELECT l.mode || ' ' || l.objid FROM pg_locks l JOIN pg_stat_activity a USING (pid) "
				+ "WHERE l.locktype = 'advisory' AND l.granted AND a.application_name LIKE 'leader-election %'");
	}

	@Test
	void stopOnAFrozenServerTakesNoLongerThanDrainAndGrace() throws Exception {
		try (PostgreSqlServer own = PostgreSqlServer.start();
				LocalNode node = LocalNode.start(own, this.group, "leader-election.lease-duration=30s",
						"leader-election.drain-timeout=1s")) {
			assertThat(node.leads()).isTrue();
			own.freeze();
			try {
				long start = System.nanoTime();
				((DefaultLeaderElector) node.elector()).stop().get(LIMIT.toSeconds(), TimeUnit.SECONDS);
				// Drain timeout, grace, and two seconds
				assertThat(Duration.ofNanos(System.nanoTime() - start)).isLessThan(Duration.ofSeconds(5));
			}
			finally {
				own.thaw();
			}
		}
	}

}
