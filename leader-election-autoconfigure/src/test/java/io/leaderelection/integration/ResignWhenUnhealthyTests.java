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
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.stream.Stream;

import io.leaderelection.engine.DefaultLeaderElector;
import io.leaderelection.testsupport.PostgreSqlServer;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

import org.springframework.boot.availability.AvailabilityChangeEvent;
import org.springframework.boot.availability.ReadinessState;
import org.springframework.boot.health.contributor.Health;
import org.springframework.boot.health.contributor.HealthIndicator;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatException;

/**
 * Nodes that lead only while they are healthy, on one server.
 */
@Tag("ring2")
class ResignWhenUnhealthyTests {

	private static PostgreSqlServer server;

	private final List<LocalNode> nodes = new ArrayList<>();

	@BeforeAll
	static void startServer() {
		server = PostgreSqlServer.start();
	}

	@AfterAll
	static void stopServer() {
		server.close();
	}

	@AfterEach
	void stopNodes() {
		this.nodes.forEach(LocalNode::close);
	}

	@Test
	void unhealthyLeaderHandsOverAndIsACandidateAgainWhenHealthy() {
		LocalNode first = start("first", "work").awaitLeader();
		LocalNode second = start("second", "work");
		health(first).healthy = false;
		Awaitility.await().until(second::leads);
		Awaitility.await().until(() -> candidates(second).equals(List.of("second")));
		Awaitility.await().until(() -> "second".equals(elector(first).status().leader()));
		assertThat(elector(first).isSuspendedUntilResumed()).isTrue();
		assertThat(elector(second).requestResignation(null, "test").refusal()).isEqualTo("there is no other candidate");
		assertThat(first.events().get(1)).startsWith("revoked");

		health(first).healthy = true;
		Awaitility.await().until(() -> candidates(second).size() == 2);
		assertThat(second.leads()).isTrue();
		second.close();
		Awaitility.await().until(first::leads);
	}

	@Test
	void unhealthyNodeDoesNotLeadAlthoughThereIsNoOtherCandidate() {
		LocalNode only = start("only", "work").awaitLeader();
		health(only).healthy = false;
		Awaitility.await().until(() -> !only.leads());
		Awaitility.await().during(Duration.ofSeconds(2)).atMost(Duration.ofSeconds(10)).until(() -> !only.leads());
		health(only).healthy = true;
		Awaitility.await().until(only::leads);
	}

	@Test
	@Tag("ring3")
	void slowCheckHoldsUpNothing() {
		LocalNode node = start("slow", "work", Duration.ofSeconds(20)).awaitLeader();
		FakeHealth health = health(node);
		CountDownLatch answer = new CountDownLatch(1);
		health.answer = answer;
		Awaitility.await().until(() -> health.asked);
		// Twice the lease
		Awaitility.await().during(Duration.ofSeconds(10)).atMost(Duration.ofSeconds(18)).until(node::leads);
		assertThat(node.events()).hasSize(1);
		answer.countDown();
	}

	@Test
	void leaderWhoseCheckHangsHandsOverAndIsACandidateAgainWhenItAnswers() {
		LocalNode first = start("first", "work").awaitLeader();
		LocalNode second = start("second", "work");
		CountDownLatch answer = new CountDownLatch(1);
		health(first).answer = answer;
		Awaitility.await().until(second::leads);
		Awaitility.await().until(() -> candidates(second).equals(List.of("second")));
		assertThat(first.events()).hasSize(2);
		answer.countDown();
		Awaitility.await().until(() -> candidates(second).size() == 2);
		assertThat(second.leads()).isTrue();
	}

	@Test
	void readinessIsAskedFor() {
		LocalNode node = start("ready", "readiness").awaitLeader();
		AvailabilityChangeEvent.publish(node.context(), ReadinessState.REFUSING_TRAFFIC);
		Awaitility.await().until(() -> !node.leads());
		AvailabilityChangeEvent.publish(node.context(), ReadinessState.ACCEPTING_TRAFFIC);
		Awaitility.await().until(node::leads);
	}

	@Test
	void unknownGroupIsRefused() {
		assertThatException().isThrownBy(() -> start("unknown", "unknown"))
			.havingRootCause()
			.withMessageContaining("leader-election.resign-when-unhealthy.group")
			.withMessageContaining("There is no health group with this name");
	}

	private LocalNode start(String id, String healthGroup) {
		return start(id, healthGroup, Duration.ofMillis(300));
	}

	private LocalNode start(String id, String healthGroup, Duration after) {
		LocalNode node = LocalNode.start(server, Application.class,
				Stream
					.of("spring.application.name=" + getClass().getSimpleName(), "leader-election.node-id=" + id,
							"management.endpoint.health.group.work.include=fake,leadership",
							"leader-election.resign-when-unhealthy.group=" + healthGroup,
							"leader-election.resign-when-unhealthy.after=" + after.toMillis() + "ms")
					.toArray(String[]::new));
		this.nodes.add(node);
		return node;
	}

	private static FakeHealth health(LocalNode node) {
		return node.context().getBean(FakeHealth.class);
	}

	private static DefaultLeaderElector elector(LocalNode node) {
		return node.context().getBean(DefaultLeaderElector.class);
	}

	private static List<String> candidates(LocalNode node) {
		return elector(node).status().candidates();
	}

	/**
	 * Health that a test sets.
	 */
	static final class FakeHealth implements HealthIndicator {

		private volatile boolean healthy = true;

		private volatile boolean asked;

		private volatile CountDownLatch answer = new CountDownLatch(0);

		@Override
		public Health health() {
			if (this.answer.getCount() > 0) {
				this.asked = true;
			}
			try {
				this.answer.await();
			}
			catch (InterruptedException ex) {
				Thread.currentThread().interrupt();
			}
			return (this.healthy ? Health.up() : Health.down()).build();
		}

	}

	@Configuration(proxyBeanMethods = false)
	static class Application {

		@Bean
		FakeHealth fakeHealthIndicator() {
			return new FakeHealth();
		}

		/**
		 * Would keep every node from leading if it counted.
		 */
		@Bean
		HealthIndicator leadershipHealthIndicator() {
			return () -> Health.down().build();
		}

	}

}
