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

package io.leaderelection.autoconfigure.metrics;

import java.sql.Connection;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;

import io.leaderelection.Term;
import io.leaderelection.engine.DefaultLeaderElector;
import io.leaderelection.engine.DefaultLeaderElectors;
import io.leaderelection.engine.ElectionSettings;
import io.leaderelection.engine.ElectionStore;
import io.leaderelection.engine.InvocationCounts;
import io.leaderelection.engine.LocalStore;
import io.leaderelection.engine.StoreSession;
import io.leaderelection.engine.StoreSession.Acquisition;
import io.leaderelection.engine.StoreSession.Confirmation;
import io.leaderelection.engine.StoreSession.View;
import io.leaderelection.engine.Work;
import io.leaderelection.spread.SpreadStatus;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.Timer;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;
import static org.mockito.ArgumentMatchers.any;
import static org.mockito.BDDMockito.given;
import static org.mockito.Mockito.mock;

/**
 * Tests for {@link LeadershipMetrics}.
 */
@Tag("ring1")
class LeadershipMetricsTests {

	private final SimpleMeterRegistry registry = new SimpleMeterRegistry();

	private final DefaultLeaderElectors electors = new DefaultLeaderElectors(
			List.of(settings("default"), settings("reports")),
			(settings) -> settings.election().equals("default") ? LocalStore.always() : LocalStore.manual(false),
			(event) -> {
			});

	@BeforeEach
	void bind() {
		new LeadershipMetrics(this.electors, () -> null).bindTo(this.registry);
	}

	@AfterEach
	void stop() throws Exception {
		for (DefaultLeaderElector elector : this.electors.all()) {
			elector.stop().get(5, TimeUnit.SECONDS);
		}
	}

	@Test
	void electionsThatAreSpreadHaveGaugesWithoutElection() {
		assertThat(this.registry.find("leader.election.led").gauge()).isNull();
		SimpleMeterRegistry other = new SimpleMeterRegistry();
		AtomicReference<SpreadStatus> status = new AtomicReference<>(new SpreadStatus(5, 4, "problem"));
		new LeadershipMetrics(this.electors, status::get).bindTo(other);
		assertThat(other.get("leader.election.led").gauge().value()).isEqualTo(5);
		status.set(new SpreadStatus(3, 4, null));
		assertThat(other.get("leader.election.led").gauge().value()).isEqualTo(3);
		assertThat(other.get("leader.election.share").gauge().value()).isEqualTo(4);
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
	void nodeWithoutASessionWatches() throws Exception {
		ElectionStore store = new ElectionStore() {

			@Override
			public StoreSession open() {
				throw new UnsupportedOperationException();
			}

			@Override
			public boolean canWatch() {
				return true;
			}

			@Override
			public Watch watch(boolean candidate) {
				return new Watch(View.NONE, false);
			}

		};
		DefaultLeaderElectors watching = new DefaultLeaderElectors(List.of(settings("watched")), (settings) -> store,
				(event) -> {
				});
		new LeadershipMetrics(watching, () -> null).bindTo(this.registry);
		assertThat(value("leader.election.watching", "watched")).isZero();
		watching.get("watched").start();
		try {
			await().until(() -> value("leader.election.watching", "watched") == 1);
			assertThat(value("leader.election.watching", "default")).isZero();
		}
		finally {
			watching.get("watched").stop().get(5, TimeUnit.SECONDS);
		}
		assertThat(value("leader.election.watching", "watched")).isZero();
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

	@Test
	void transitionsAreCountedByReason() throws Exception {
		lead();
		this.electors.getDefault().resign().get(5, TimeUnit.SECONDS);
		await().until(this.electors.getDefault()::isLeader);
		this.electors.getDefault().stop().get(5, TimeUnit.SECONDS);
		assertThat(transitions("default", "granted", "none")).isEqualTo(2);
		assertThat(transitions("default", "revoked", "resigned")).isOne();
		assertThat(transitions("default", "revoked", "stopped")).isOne();
		assertThat(transitions("default", "revoked", "lease_expired")).isZero();
		assertThat(transitions("default", "revoked", "session_lost")).isZero();
		assertThat(transitions("reports", "granted", "none")).isZero();
	}

	@Test
	void acquisitionsConfirmationsAndDrainsAreTimed() throws Exception {
		lead();
		assertThat(timer("acquire", "default").count()).isOne();
		assertThat(timer("confirm", "default").count()).isPositive();
		assertThat(timer("drain", "default").count()).isZero();
		Work work = this.electors.getDefault().gate().enter("job");
		CompletableFuture<Boolean> handOver = this.electors.getDefault().resign();
		await().pollDelay(Duration.ofMillis(100)).until(() -> !handOver.isDone());
		work.close();
		handOver.get(5, TimeUnit.SECONDS);
		assertThat(timer("drain", "default").count()).isOne();
		assertThat(timer("drain", "default").totalTime(TimeUnit.MILLISECONDS)).isBetween(100.0, 5000.0);
		assertThat(timer("acquire", "reports").count()).isZero();
		assertThat(timer("confirm", "reports").count()).isZero();
	}

	@Test
	void timeLedGrowsWhileThisNodeLeads() throws Exception {
		assertThat(led("default")).isZero();
		this.electors.all().forEach(DefaultLeaderElector::start);
		await().until(() -> led("default") > 0.2);
		this.electors.getDefault().stop().get(5, TimeUnit.SECONDS);
		double led = led("default");
		assertThat(led).isGreaterThan(0.2);
		assertThat(led("default")).isEqualTo(led);
		assertThat(led("reports")).isZero();
	}

	@Test
	void invocationsAreCountedOfMethodsKnownBeforeAndAfter() {
		SimpleMeterRegistry later = new SimpleMeterRegistry();
		InvocationCounts counts = this.electors.getDefault().statistics().invocations("Jobs.job");
		new LeadershipMetrics(this.electors, () -> null).bindTo(later);
		counts.refused(false);
		for (SimpleMeterRegistry registry : List.of(this.registry, later)) {
			assertThat(invocations(registry, "Jobs.job", "skipped")).isOne();
			for (String outcome : List.of("run", "rejected", "interrupted")) {
				assertThat(invocations(registry, "Jobs.job", outcome)).isZero();
			}
		}
	}

	@Test
	void winnerThatWaitsIsBlocked() throws Exception {
		StoreSession session = mock(StoreSession.class);
		given(session.becomeCandidate()).willReturn(true);
		given(session.acquire(any()))
			.willReturn(new Acquisition.Won(new Term(0, 1, 7), Acquisition.Ending.CLEAN, true));
		AtomicReference<String> predecessor = new AtomicReference<>("backend 7");
		given(session.confirm()).willAnswer((invocation) -> new Confirmation(predecessor.get(), false, null));
		DefaultLeaderElectors blocked = new DefaultLeaderElectors(List.of(settings("blocked")),
				(settings) -> () -> session, (event) -> {
				});
		new LeadershipMetrics(blocked, () -> null).bindTo(this.registry);
		assertThat(value("leader.election.blocked", "blocked")).isZero();
		blocked.getDefault().start();
		try {
			await().until(() -> value("leader.election.blocked", "blocked") == 1);
			assertThat(value("leader.election.leader", "blocked")).isZero();
			predecessor.set(null);
			await().until(() -> value("leader.election.leader", "blocked") == 1);
			assertThat(value("leader.election.blocked", "blocked")).isZero();
		}
		finally {
			blocked.getDefault().stop().get(5, TimeUnit.SECONDS);
		}
	}

	@Test
	void leaseIsThatOfTheConfiguration() {
		assertThat(value("leader.election.lease.duration", "default")).isEqualTo(5);
	}

	@Test
	void infoHasStoreProtocolAndVersion() {
		Gauge info = gauge("leader.election.info", "default");
		assertThat(info.value()).isOne();
		assertThat(info.getId().getTag("store")).isEqualTo(this.electors.getDefault().storeName());
		assertThat(info.getId().getTag("protocol")).isEqualTo("2");
		// Classes of tests are not in a jar
		assertThat(info.getId().getTag("version")).isEqualTo("unknown");
	}

	private void lead() {
		this.electors.all().forEach(DefaultLeaderElector::start);
		await().until(this.electors.getDefault()::isLeader);
		await().until(() -> timer("acquire", "default").count() == 1);
	}

	private double transitions(String election, String kind, String reason) {
		return this.registry.get("leader.election.transitions")
			.tags("election", election, "kind", kind, "reason", reason)
			.functionCounter()
			.count();
	}

	private Timer timer(String name, String election) {
		return this.registry.get("leader.election." + name).tag("election", election).timer();
	}

	private double led(String election) {
		return this.registry.get("leader.election.time").tag("election", election).functionCounter().count();
	}

	private static double invocations(SimpleMeterRegistry registry, String method, String outcome) {
		return registry.get("leader.election.invocations")
			.tags("election", "default", "method", method, "outcome", outcome)
			.functionCounter()
			.count();
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
		assertThat(gauge("leader.election.lease.duration", "default").getId().getBaseUnit()).isEqualTo("seconds");
		assertThat(this.registry.getMeters()).hasSize(2 * 19)
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
