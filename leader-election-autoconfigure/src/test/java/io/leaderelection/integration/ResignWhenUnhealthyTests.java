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
import java.util.concurrent.CountDownLatch;

import org.awaitility.Awaitility;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

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

	@RegisterExtension
	final Nodes nodes = new Nodes("management.endpoint.health.group.work.include=fake,leadership",
			"leader-election.resign-when-unhealthy.group=work", "leader-election.resign-when-unhealthy.after=300ms")
		.with(Application.class);

	@Test
	void unhealthyNodeDoesNotLeadAlthoughThereIsNoOtherCandidate() {
		LocalNode only = start("only").awaitLeader();
		health(only).healthy = false;
		Awaitility.await().until(() -> !only.leads());
		Awaitility.await().during(Duration.ofSeconds(2)).until(() -> !only.leads());
		health(only).healthy = true;
		only.awaitLeader();
	}

	@Test
	@Tag("ring3")
	void slowCheckHoldsUpNothing() {
		LocalNode node = start("slow", "leader-election.resign-when-unhealthy.after=20s").awaitLeader();
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
	void readinessIsAskedFor() {
		LocalNode node = start("ready", "leader-election.resign-when-unhealthy.group=readiness").awaitLeader();
		AvailabilityChangeEvent.publish(node.context(), ReadinessState.REFUSING_TRAFFIC);
		Awaitility.await().until(() -> !node.leads());
		AvailabilityChangeEvent.publish(node.context(), ReadinessState.ACCEPTING_TRAFFIC);
		node.awaitLeader();
	}

	@Test
	void unknownGroupIsRefused() {
		assertThatException().isThrownBy(() -> start("unknown", "leader-election.resign-when-unhealthy.group=unknown"))
			.havingRootCause()
			.withMessageContaining("leader-election.resign-when-unhealthy.group")
			.withMessageContaining("There is no health group with this name");
	}

	private LocalNode start(String id, String... properties) {
		return this.nodes.with("leader-election.node-id=" + id).start(properties);
	}

	private static FakeHealth health(LocalNode node) {
		return node.bean(FakeHealth.class);
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
