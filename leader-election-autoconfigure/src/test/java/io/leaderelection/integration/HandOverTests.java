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
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;

import io.leaderelection.LeadershipRevokedEvent.Reason;
import io.leaderelection.annotation.GeneratedJob;
import io.leaderelection.annotation.LeaderOnly;
import io.leaderelection.integration.LocalNode.NodeConfiguration;
import io.leaderelection.testsupport.PostgreSqlServer;
import io.leaderelection.testsupport.TcpProxy;
import io.leaderelection.transaction.TransactionFencing;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import org.springframework.beans.factory.BeanFactory;
import org.springframework.context.annotation.Bean;
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

	@RegisterExtension
	final Nodes nodes = new Nodes();

	/**
	 * Nothing but a reading of the locks shows that, and a standby makes one every 30 s.
	 */
	@Test
	@Tag("ring3")
	void standbyLearnsOfALaterCandidate() {
		LocalNode first = this.nodes.start().awaitLeader();
		LocalNode second = this.nodes.start().awaitFollowing(first).awaitCandidates(2);
		this.nodes.start();
		second.awaitCandidates(3);
	}

	/**
	 * The lease is so long that no node can have waited for its end.
	 */
	@ParameterizedTest
	@ValueSource(strings = { "advisory-lock", "table" })
	void oneNodeLeadsAndHandsOverWhenItStops(String store) {
		Nodes both = this.nodes.with("leader-election.store=" + store, "leader-election.initialize-schema=always",
				"leader-election.lease-duration=40s");
		LocalNode first = both.start();
		assertThat(first.leads()).as("before the context has started").isTrue();
		LocalNode second = both.start().awaitFollowing(first);
		LocalNode third = both.start();
		assertThat(List.of(second, third)).noneMatch(LocalNode::leads);
		first.awaitCandidates(3);
		first.close();
		LocalNode next = this.nodes.awaitLeader();
		LocalNode.Seen revoked = first.awaitRevocation(1, Reason.STOPPED);
		LocalNode.Seen granted = next.awaitEvent(0);
		assertThat(granted.term()).isGreaterThan(revoked.term());
		assertThat(Duration.ofNanos(granted.time() - revoked.time())).isBetween(Duration.ZERO, Duration.ofSeconds(6));
	}

	@ParameterizedTest
	@ValueSource(strings = { "spring.main.lazy-initialization=false",
			"spring.task.scheduling.shutdown.await-termination=true", "spring.threads.virtual.enabled=true" })
	void workInFlightIsDrainedBeforeTheLockIsFree(String property) throws Exception {
		CountDownLatch started = new CountDownLatch(1);
		CountDownLatch mayEnd = new CountDownLatch(1);
		AtomicLong endedAt = new AtomicLong();
		Class<?> job = new GeneratedJob().inClassWith(EnableScheduling.class).doing(() -> {
			started.countDown();
			mayEnd.await(20, TimeUnit.SECONDS);
			return endedAt.compareAndSet(0, System.nanoTime());
		})
			.with(GeneratedJob.annotation(LeaderOnly.class),
					GeneratedJob.annotation(Scheduled.class).define("fixedRate", 10L));
		LocalNode first = this.nodes.start(job, property);
		LocalNode second = this.nodes.start();
		assertThat(started.await(10, TimeUnit.SECONDS)).isTrue();
		CompletableFuture<Void> closing = CompletableFuture.runAsync(first::close);
		Awaitility.await().until(() -> !first.leads());
		assertThat(second.leads()).isFalse();
		mayEnd.countDown();
		long granted = second.awaitLeader().awaitEvent(0).time();
		closing.get(30, TimeUnit.SECONDS);
		assertThat(endedAt.get()).isNotZero().isLessThan(first.seen().get(1).time());
		assertThat(first.seen().get(1).time()).isLessThan(granted);
	}

	@Test
	@Tag("ring3")
	void stopOfANodeThatIsCutOffDoesNotTakeALongLease() throws Exception {
		for (boolean leads : List.of(true, false)) {
			if (!leads) {
				this.nodes.start();
			}
			try (TcpProxy proxy = new TcpProxy(this.server)) {
				LocalNode node = this.nodes.at(proxy.port())
					.start("leader-election.lease-duration=60s", "leader-election.drain-timeout=1s");
				assertThat(node.leads()).isEqualTo(leads);
				// A pool that is cut off while it opens takes its own time to close
				Awaitility.await().until(() -> node.bean(TransactionFencing.class).describe().containsValue("fenced"));
				proxy.blackHole();
				CompletableFuture.runAsync(node::close).get(20, TimeUnit.SECONDS);
				assertThat(node.events()).hasSize(leads ? 2 : 0);
			}
		}
	}

	@ParameterizedTest
	@ValueSource(classes = { NodeConfiguration.class, AsynchronousEvents.class })
	void contextMayBeClosedFromInsideLeaderWork(Class<?> configuration) {
		LocalNode node = this.nodes.start(configuration);
		LocalNode next = this.nodes.start();
		long start = System.nanoTime();
		assertThat(node.elector().runIfLeader(node::close)).isTrue();
		assertThat(Duration.ofNanos(System.nanoTime() - start)).isLessThan(Duration.ofSeconds(10));
		assertThat(Thread.interrupted()).isFalse();
		next.awaitLeader();
	}

	@Test
	@Tag("ring3")
	void databaseThatComesLaterIsUsed() {
		PostgreSqlServer own = this.nodes.register(PostgreSqlServer.start());
		own.stop("fast");
		LocalNode only = this.nodes.on(own).start();
		assertThat(only.leads()).isFalse();
		own.startAgain();
		only.awaitLeader();
	}

	@Test
	void pausedContextHandsOverAndIsACandidateAgain() {
		LocalNode first = this.nodes.start();
		LocalNode second = this.nodes.start();
		first.context().pause();
		second.awaitLeader();
		first.context().restart();
		assertThat(first.leads()).isFalse();
		second.context().stop();
		first.awaitLeader();
	}

	static class AsynchronousEvents {

		@Bean
		static SimpleApplicationEventMulticaster applicationEventMulticaster(BeanFactory beanFactory) {
			SimpleApplicationEventMulticaster multicaster = new SimpleApplicationEventMulticaster(beanFactory);
			multicaster.setTaskExecutor(new SimpleAsyncTaskExecutor());
			return multicaster;
		}

	}

}
