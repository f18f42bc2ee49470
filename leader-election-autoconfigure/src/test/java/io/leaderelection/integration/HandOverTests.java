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
import java.util.concurrent.atomic.AtomicLong;

import io.leaderelection.LeadershipRevokedEvent;
import io.leaderelection.LeadershipRevokedEvent.Reason;
import io.leaderelection.annotation.LeaderOnly;
import io.leaderelection.integration.LocalNode.NodeConfiguration;
import io.leaderelection.testsupport.Daemon;
import io.leaderelection.testsupport.PostgreSqlServer;
import io.leaderelection.testsupport.TcpProxy;
import io.leaderelection.transaction.TransactionFencing;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import org.springframework.beans.factory.BeanFactory;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.event.SimpleApplicationEventMulticaster;
import org.springframework.core.task.SimpleAsyncTaskExecutor;
import org.springframework.scheduling.annotation.EnableScheduling;
import org.springframework.scheduling.annotation.Scheduled;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for what happens to leadership between several application contexts on one
 * server.
 */
@Tag("ring2")
class HandOverTests {

	private final PostgreSqlServer server = PostgreSqlServer.shared();

	private final String group = "leader-election.group=" + UUID.randomUUID();

	@Test
	void exactlyOneNodeLeads() {
		try (LocalNode first = start(); LocalNode second = start(); LocalNode third = start()) {
			assertThat(first.leads()).isTrue();
			assertThat(second.leads()).isFalse();
			assertThat(third.leads()).isFalse();
			assertThat(second.events()).isEmpty();
		}
	}

	@Test
	void decisionIsMadeBeforeTheContextHasStarted() {
		try (LocalNode only = start()) {
			assertThat(only.leads()).isTrue();
			assertThat(only.elector().getLeadership()).isNotNull();
		}
	}

	@Test
	void closingTheLeaderHandsOver() {
		LocalNode first = start();
		try (LocalNode second = start()) {
			first.close();
			second.awaitLeader();
			assertThat(first.events()).hasSize(2);
			LocalNode.Seen revoked = first.seen().get(1);
			assertThat(((LeadershipRevokedEvent) revoked.event()).getReason()).isEqualTo(Reason.STOPPED);
			Awaitility.await().until(() -> second.seen().size() == 1);
			assertThat(revoked.time()).isLessThan(second.seen().get(0).time());
			assertThat(second.seen().get(0).event().getLeadership().getTerm())
				.isGreaterThan(revoked.event().getLeadership().getTerm());
		}
	}

	@Test
	void resigningNodeLetsOthersGoFirst() throws Exception {
		try (LocalNode first = start(); LocalNode second = start()) {
			assertThat(first.elector().resign().get(10, TimeUnit.SECONDS)).isTrue();
			second.awaitLeader();
			assertThat(first.leads()).isFalse();
			// Otherwise both would let the other go first
			awaitFollowerInQueue();
			assertThat(second.elector().resign().get(10, TimeUnit.SECONDS)).isTrue();
			first.awaitLeader();
			Awaitility.await().until(() -> first.seen().size() == 3);
			assertThat(first.events()).satisfiesExactly((event) -> assertThat(event).startsWith("granted"),
					(event) -> assertThat(event).startsWith("revoked"),
					(event) -> assertThat(event).startsWith("granted"));
		}
	}

	@Test
	void onlyNodeIsACandidateAgainAfterItResigned() throws Exception {
		try (LocalNode only = start()) {
			assertThat(only.elector().resign().get(10, TimeUnit.SECONDS)).isTrue();
			only.awaitLeader();
			Awaitility.await().until(() -> only.seen().size() == 3);
		}
	}

	@Test
	void terminatedSessionIsLostAndWonAgain() {
		try (LocalNode only = start()) {
			terminateSessions();
			Awaitility.await().until(() -> only.seen().size() == 3);
			assertThat(only.events()).satisfiesExactly((event) -> assertThat(event).startsWith("granted"),
					(event) -> assertThat(event).startsWith("revoked"),
					(event) -> assertThat(event).startsWith("granted"));
			assertThat(only.events().get(1).substring(8)).isEqualTo(only.events().get(0).substring(8));
			LeadershipRevokedEvent revoked = (LeadershipRevokedEvent) only.seen().get(1).event();
			assertThat(revoked.getReason()).isEqualTo(Reason.SESSION_LOST);
			assertThat(only.seen().get(2).event().getLeadership().getTerm())
				.isGreaterThan(revoked.getLeadership().getTerm());
		}
	}

	@Test
	void terminatedLeaderStepsDownBeforeTheNextIsGranted() throws Exception {
		try (LocalNode first = start(); LocalNode second = start()) {
			OverlapWatch watch = new OverlapWatch(first, second);
			terminateSessions();
			Awaitility.await().until(() -> first.seen().size() >= 2);
			Awaitility.await().until(() -> first.leads() || second.leads());
			assertThat(watch.overlaps()).isZero();
		}
	}

	@Test
	void leaderThatIsCutOffStepsDownBeforeTheNextIsGranted() throws Exception {
		try (TcpProxy proxy = new TcpProxy(this.server);
				LocalNode first = LocalNode.startAt(this.server, proxy.port(), this.group);
				LocalNode second = start()) {
			assertThat(first.leads()).isTrue();
			OverlapWatch watch = new OverlapWatch(first, second);
			proxy.blackHole();
			second.awaitLeader();
			assertThat(first.leads()).isFalse();
			Awaitility.await().until(() -> first.seen().size() == 2);
			Awaitility.await().until(() -> second.seen().size() == 1);
			LocalNode.Seen revoked = first.seen().get(1);
			assertThat(((LeadershipRevokedEvent) revoked.event()).getReason()).isEqualTo(Reason.LEASE_EXPIRED);
			assertThat(revoked.time()).isLessThan(second.seen().get(0).time());
			assertThat(watch.overlaps()).isZero();
			proxy.heal();
			second.close();
			first.awaitLeader();
		}
	}

	@ParameterizedTest
	@ValueSource(strings = { "", "spring.task.scheduling.shutdown.await-termination=true",
			"spring.threads.virtual.enabled=true" })
	void workInFlightIsDrainedBeforeTheLockIsFree(String property) throws Exception {
		Jobs.reset();
		LocalNode first = LocalNode.start(this.server, Jobs.class, this.group,
				property.isEmpty() ? "spring.main.lazy-initialization=false" : property);
		try (LocalNode second = start()) {
			assertThat(Jobs.started.await(10, TimeUnit.SECONDS)).isTrue();
			CompletableFuture<Void> closing = CompletableFuture.runAsync(first::close);
			Awaitility.await().until(() -> !first.leads());
			assertThat(second.leads()).isFalse();
			Jobs.mayEnd.countDown();
			second.awaitLeader();
			Awaitility.await().until(() -> second.seen().size() == 1);
			closing.get(30, TimeUnit.SECONDS);
			assertThat(Jobs.endedAt.get()).isNotZero().isLessThan(first.seen().get(1).time());
			assertThat(first.seen().get(1).time()).isLessThan(second.seen().get(0).time());
		}
	}

	@Test
	void workIsInterruptedWhenLeadershipIsLost() throws Exception {
		Jobs.reset();
		try (LocalNode only = LocalNode.start(this.server, Jobs.class, this.group)) {
			assertThat(Jobs.started.await(10, TimeUnit.SECONDS)).isTrue();
			terminateSessions();
			assertThat(Jobs.interrupted.await(10, TimeUnit.SECONDS)).isTrue();
			only.awaitLeader();
			// The run of the next term, or the end of the node would drain it
			Jobs.mayEnd.countDown();
		}
	}

	@Test
	@Tag("ring3")
	void stopOfANodeThatIsCutOffDoesNotTakeALongLease() throws Exception {
		for (boolean leads : List.of(true, false)) {
			try (TcpProxy proxy = new TcpProxy(this.server); LocalNode other = leads ? null : start()) {
				LocalNode node = LocalNode.startAt(this.server, proxy.port(), this.group,
						"leader-election.lease-duration=60s", "leader-election.drain-timeout=1s");
				assertThat(node.leads()).isEqualTo(leads);
				// A pool that is cut off while it opens takes its own time to close
				Awaitility.await()
					.until(() -> node.context().getBean(TransactionFencing.class).describe().containsValue("fenced"));
				proxy.blackHole();
				CompletableFuture<Void> closing = CompletableFuture.runAsync(node::close);
				closing.get(20, TimeUnit.SECONDS);
				assertThat(node.events()).hasSize(leads ? 2 : 0);
			}
		}
	}

	@ParameterizedTest
	@ValueSource(classes = { NodeConfiguration.class, AsynchronousEvents.class })
	void contextMayBeClosedFromInsideLeaderWork(Class<?> configuration) {
		LocalNode node = LocalNode.start(this.server, configuration, this.group);
		try (LocalNode next = start()) {
			long start = System.nanoTime();
			assertThat(node.elector().runIfLeader(node::close)).isTrue();
			assertThat(Duration.ofNanos(System.nanoTime() - start)).isLessThan(Duration.ofSeconds(10));
			assertThat(Thread.interrupted()).isFalse();
			next.awaitLeader();
		}
	}

	@Test
	@Tag("ring3")
	void restartedServerElectsAgain() {
		try (PostgreSqlServer own = PostgreSqlServer.start();
				LocalNode first = LocalNode.start(own, this.group);
				LocalNode second = LocalNode.start(own, this.group)) {
			for (String mode : List.of("fast", "immediate")) {
				LocalNode leader = first.leads() ? first : second;
				int before = leader.seen().size();
				own.stop(mode);
				Awaitility.await().until(() -> leader.seen().size() > before);
				assertThat(leader.leads()).isFalse();
				own.startAgain();
				Awaitility.await().until(() -> first.leads() != second.leads());
			}
		}
	}

	@Test
	@Tag("ring3")
	void databaseThatComesLaterIsUsed() {
		try (PostgreSqlServer own = PostgreSqlServer.start()) {
			own.stop("fast");
			try (LocalNode only = LocalNode.start(own, this.group)) {
				assertThat(only.leads()).isFalse();
				own.startAgain();
				only.awaitLeader();
			}
		}
	}

	@Test
	void pausedContextHandsOverAndIsACandidateAgain() {
		try (LocalNode first = start(); LocalNode second = start()) {
			first.context().pause();
			second.awaitLeader();
			first.context().restart();
			assertThat(first.leads()).isFalse();
			second.context().stop();
			first.awaitLeader();
		}
	}

	private LocalNode start() {
		return LocalNode.start(this.server, this.group);
	}

	private void awaitFollowerInQueue() {
		Awaitility.await().until(() -> !this.server.query("""
				SELECT pid FROM pg_stat_activity
				WHERE application_name LIKE 'leader-election %' AND wait_event = 'advisory'
				""").isEmpty());
	}

	private void terminateSessions() {
		this.server.execute("""
				SELECT pg_terminate_backend(l.pid) FROM pg_locks l JOIN pg_stat_activity a ON a.pid = l.pid
				WHERE l.locktype = 'advisory' AND l.granted AND l.mode = 'ExclusiveLock' AND l.objsubid = 1
				  AND a.application_name LIKE 'leader-election default %'
				""");
	}

	@Configuration(proxyBeanMethods = false)
	static class AsynchronousEvents {

		@Bean
		SimpleApplicationEventMulticaster applicationEventMulticaster(BeanFactory beanFactory) {
			SimpleApplicationEventMulticaster multicaster = new SimpleApplicationEventMulticaster(beanFactory);
			multicaster.setTaskExecutor(new SimpleAsyncTaskExecutor());
			return multicaster;
		}

	}

	/**
	 * Asks two nodes in turn, as fast as it can, whether they lead.
	 */
	private static final class OverlapWatch {

		private final AtomicLong overlaps = new AtomicLong();

		private final Thread thread;

		private volatile boolean ended;

		OverlapWatch(LocalNode first, LocalNode second) {
			var firstElector = first.elector();
			var secondElector = second.elector();
			this.thread = Daemon.start("overlap watch", () -> {
				while (!this.ended) {
					// Twice the first: the answers about both hold at one moment
					if (firstElector.isLeader() && secondElector.isLeader() && firstElector.isLeader()) {
						this.overlaps.incrementAndGet();
					}
					Thread.onSpinWait();
				}
			});
		}

		long overlaps() throws InterruptedException {
			this.ended = true;
			this.thread.join();
			return this.overlaps.get();
		}

	}

	/**
	 * A job that runs until the test ends it.
	 */
	@Configuration(proxyBeanMethods = false)
	@EnableScheduling
	static class Jobs {

		static CountDownLatch started;

		static CountDownLatch mayEnd;

		static CountDownLatch interrupted;

		static final AtomicLong endedAt = new AtomicLong();

		static void reset() {
			started = new CountDownLatch(1);
			mayEnd = new CountDownLatch(1);
			interrupted = new CountDownLatch(1);
			endedAt.set(0);
		}

		@Bean
		Job job() {
			return new Job();
		}

		/**
		 * The job.
		 */
		static class Job {

			@LeaderOnly
			@Scheduled(fixedRate = 10)
			void run() {
				started.countDown();
				try {
					mayEnd.await(20, TimeUnit.SECONDS);
					endedAt.compareAndSet(0, System.nanoTime());
				}
				catch (InterruptedException ex) {
					interrupted.countDown();
				}
			}

		}

	}

}
