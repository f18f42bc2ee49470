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

import java.nio.channels.AsynchronousCloseException;
import java.nio.channels.ClosedByInterruptException;
import java.nio.channels.spi.AbstractInterruptibleChannel;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

import io.leaderelection.LeaderElector;
import io.leaderelection.LeadershipRevokedEvent;
import io.leaderelection.engine.DefaultLeaderElector;
import io.leaderelection.testsupport.PostgreSqlServer;
import io.leaderelection.testsupport.TcpProxy;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Tests for a leader that resigns or stops while its server does not answer.
 */
@Timeout(120)
@Tag("ring2")
class UnreachableLeaderTests {

	private static final Duration LIMIT = Duration.ofSeconds(30);

	private static final Duration LEASE = Duration.ofSeconds(2);

	private final PostgreSqlServer server = PostgreSqlServer.shared();

	@RegisterExtension
	final Nodes nodes = new Nodes("leader-election.lease-duration=" + LEASE);

	@Test
	void resignationOfALeaderThatIsCutOffDoesNotClaimAHandOver() throws Exception {
		TcpProxy proxy = this.nodes.register(new TcpProxy(this.server));
		LocalNode node = this.nodes.at(proxy.port()).start("leader-election.lease-duration=4s");
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

	/**
	 * To interrupt a thread closes its channel, on the thread that interrupts.
	 */
	@Test
	void interruptThatHangsDelaysOnlyItsWork() throws Exception {
		TcpProxy proxy = this.nodes.register(new TcpProxy(this.server));
		LocalNode node = this.nodes.at(proxy.port())
			.start("leader-election.drain-timeout=1s", "leader-election.elections.b.candidate=true");
		SlowChannel channel = new SlowChannel();
		this.nodes.register(channel.close::countDown);
		for (LeaderElector elector : node.electors()) {
			assertThat(elector.awaitLeadership(LIMIT)).isTrue();
		}
		CompletableFuture<Boolean> work = CompletableFuture
			.supplyAsync(() -> node.elector().runIfLeader(channel::block), (task) -> new Thread(task).start());
		assertThat(channel.begun.await(10, TimeUnit.SECONDS)).isTrue();
		long cut = System.nanoTime();
		proxy.blackHole();
		assertThat(channel.closing.await(10, TimeUnit.SECONDS)).isTrue();
		await().untilAsserted(() -> assertThat(node.seen())
			.filteredOn((seen) -> seen.event() instanceof LeadershipRevokedEvent && seen.time() - cut < LEASE.toNanos())
			.hasSize(2));
		assertThat(CompletableFuture
			.supplyAsync(() -> node.electors().all().stream().map(DefaultLeaderElector::status).toList()))
			.succeedsWithin(LIMIT);
		// Drain timeout, grace, and a second
		assertThat(node.elector().stop()).succeedsWithin(Duration.ofSeconds(4));
		assertThat(work).isNotDone();
		channel.close.countDown();
		assertThat(work).succeedsWithin(LIMIT);
		proxy.heal();
	}

	@Test
	void stopOnAFrozenServerTakesNoLongerThanDrainAndGrace() {
		PostgreSqlServer own = this.nodes.register(PostgreSqlServer.start());
		LocalNode node = this.nodes.on(own)
			.start("leader-election.lease-duration=30s", "leader-election.drain-timeout=1s");
		assertThat(node.leads()).isTrue();
		own.freeze();
		this.nodes.register(own::thaw);
		// Drain timeout, grace, and two seconds
		assertThat(node.elector().stop()).succeedsWithin(Duration.ofSeconds(5));
	}

	/**
	 * A channel whose close hangs.
	 */
	private static final class SlowChannel extends AbstractInterruptibleChannel {

		private final CountDownLatch begun = new CountDownLatch(1);

		private final CountDownLatch closing = new CountDownLatch(1);

		private final CountDownLatch close = new CountDownLatch(1);

		void block() {
			begin();
			this.begun.countDown();
			try {
				await().until(() -> !isOpen());
			}
			finally {
				try {
					end(true);
				}
				catch (AsynchronousCloseException ex) {
					assertThat(ex).isInstanceOf(ClosedByInterruptException.class);
				}
			}
		}

		@Override
		protected void implCloseChannel() {
			this.closing.countDown();
			await().until(() -> this.close.getCount() == 0);
		}

	}

}
