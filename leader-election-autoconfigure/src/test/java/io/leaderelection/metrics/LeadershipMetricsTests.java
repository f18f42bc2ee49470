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

package io.leaderelection.metrics;

import java.sql.Connection;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;

import io.leaderelection.engine.DefaultLeaderElector;
import io.leaderelection.engine.DefaultLeaderElectors;
import io.leaderelection.engine.ElectionSettings;
import io.leaderelection.engine.LocalSessions;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;
import static org.mockito.Mockito.mock;

/**
 * Tests for {@link LeadershipMetrics}.
 */
class LeadershipMetricsTests {

	private final SimpleMeterRegistry registry = new SimpleMeterRegistry();

	private final DefaultLeaderElectors electors = new DefaultLeaderElectors(
			List.of(settings("default"), settings("reports")),
			(settings) -> settings.election().equals("default") ? LocalSessions.always() : LocalSessions.never(),
			(event) -> {
			});

	@BeforeEach
	void bind() {
		new LeadershipMetrics(this.electors).bindTo(this.registry);
	}

	@AfterEach
	void stop() throws Exception {
		for (DefaultLeaderElector elector : this.electors.all()) {
			elector.stop().get(5, TimeUnit.SECONDS);
		}
	}

	@Test
	void leaderHasTermAndLease() {
		this.electors.all().forEach(DefaultLeaderElector::start);
		await().until(this.electors.getDefault()::isLeader);
		assertThat(value("leader.election.leader", "default")).isOne();
		assertThat(value("leader.election.term", "default"))
			.isEqualTo(this.electors.getDefault().getLeadership().getTerm().transactionId());
		assertThat(value("leader.election.lease.remaining", "default")).isBetween(1.0, 3.75);
		assertThat(value("leader.election.confirmation.age", "default")).isBetween(0.0, 2.0);
	}

	@Test
	void followerHasNeither() {
		this.electors.all().forEach(DefaultLeaderElector::start);
		await().until(() -> this.electors.get("reports").status().lastConfirmation() != null);
		assertThat(value("leader.election.leader", "reports")).isZero();
		assertThat(value("leader.election.term", "reports")).isZero();
		assertThat(value("leader.election.lease.remaining", "reports")).isZero();
		assertThat(value("leader.election.confirmation.age", "reports")).isBetween(0.0, 2.0);
	}

	@Test
	void leaderThatStoppedIsNoLeader() throws Exception {
		this.electors.getDefault().start();
		await().until(this.electors.getDefault()::isLeader);
		this.electors.getDefault().stop().get(5, TimeUnit.SECONDS);
		assertThat(value("leader.election.leader", "default")).isZero();
		assertThat(value("leader.election.term", "default")).isZero();
		assertThat(value("leader.election.lease.remaining", "default")).isZero();
		assertThat(value("leader.election.confirmation.age", "default")).isNaN();
	}

	@Test
	void transactionsOfTheFenceAreCounted() throws Exception {
		this.electors.getDefault().start();
		await().until(this.electors.getDefault()::isLeader);
		this.electors.getDefault().getLeadership().fence(mock(Connection.class));
		assertThat(fenced("passed")).isOne();
		assertThat(fenced("refused")).isZero();
	}

	private double fenced(String result) {
		return this.registry.get("leader.election.fence")
			.tags("election", "default", "result", result)
			.functionCounter()
			.count();
	}

	@Test
	void timesAreInSecondsAndEverythingIsDescribed() {
		assertThat(gauge("leader.election.lease.remaining", "default").getId().getBaseUnit()).isEqualTo("seconds");
		assertThat(gauge("leader.election.confirmation.age", "default").getId().getBaseUnit()).isEqualTo("seconds");
		assertThat(this.registry.getMeters()).hasSize(12)
			.allSatisfy((meter) -> assertThat(meter.getId().getDescription()).isNotBlank());
	}

	private double value(String name, String election) {
		return gauge(name, election).value();
	}

	private Gauge gauge(String name, String election) {
		return this.registry.get(name).tag("election", election).gauge();
	}

	private static ElectionSettings settings(String election) {
		return new ElectionSettings(election, "node-1", Duration.ofSeconds(5), Duration.ZERO, Duration.ofSeconds(1),
				true);
	}

}
