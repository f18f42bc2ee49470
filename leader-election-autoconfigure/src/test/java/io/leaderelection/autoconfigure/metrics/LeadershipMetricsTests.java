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
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.Stream;

import io.leaderelection.Term;
import io.leaderelection.engine.DefaultLeaderElector;
import io.leaderelection.engine.DefaultLeaderElectors;
import io.leaderelection.engine.ElectionSettings;
import io.leaderelection.engine.ElectionStore;
import io.leaderelection.engine.ElectionStore.Watch;
import io.leaderelection.engine.InvocationCounts;
import io.leaderelection.engine.LocalStore;
import io.leaderelection.engine.StoreSession;
import io.leaderelection.engine.StoreSession.Acquisition;
import io.leaderelection.engine.StoreSession.Confirmation;
import io.leaderelection.engine.StoreSession.View;
import io.leaderelection.engine.Work;
import io.leaderelection.spread.ElectionSpread.SpreadStatus;
import io.micrometer.core.instrument.Meter;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;
import static org.mockito.ArgumentMatchers.any;
import static org.mockito.ArgumentMatchers.anyBoolean;
import static org.mockito.BDDMockito.given;
import static org.mockito.BDDMockito.willReturn;
import static org.mockito.Mockito.CALLS_REAL_METHODS;
import static org.mockito.Mockito.mock;

/**
 * Tests for {@link LeadershipMetrics}.
 */
@Tag("ring1")
class LeadershipMetricsTests {

	private final SimpleMeterRegistry registry = new SimpleMeterRegistry();

	private final List<DefaultLeaderElector> bound = new ArrayList<>();

	private DefaultLeaderElectors electors;

	@BeforeEach
	void bind() {
		this.electors = bind(Map.of("default", LocalStore.always(), "reports", LocalStore.manual(false)));
	}

	private DefaultLeaderElectors bind(Map<String, ElectionStore> stores) {
		DefaultLeaderElectors electors = new DefaultLeaderElectors(stores.keySet()
			.stream()
			.sorted()
			.map((election) -> new ElectionSettings(election, "node-1", Duration.ofSeconds(5), Duration.ZERO,
					Duration.ofSeconds(1), true))
			.toList(), (settings) -> stores.get(settings.election()), (event) -> {
			});
		new LeadershipMetrics(electors, () -> null).bindTo(this.registry);
		this.bound.addAll(electors.all());
		return electors;
	}

	@AfterEach
	void stop() {
		this.bound.forEach((elector) -> assertThat(elector.stop()).succeedsWithin(Duration.ofSeconds(5)));
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
		assertThat(value("leader", "default")).isOne();
		assertThat(value("term", "default"))
			.isEqualTo(this.electors.getDefault().getLeadership().getTerm().transactionId());
		assertThat(value("lease.remaining", "default")).isBetween(1.0, 3.75);
		assertThat(value("confirmation.age", "default")).isBetween(0.0, 2.0);
	}

	@Test
	void followerHasNeither() {
		this.electors.all().forEach(DefaultLeaderElector::start);
		await().until(() -> this.electors.get("reports").status().lastConfirmation() != null);
		assertThat(value("leader", "reports")).isZero();
		assertThat(value("term", "reports")).isZero();
		assertThat(value("lease.remaining", "reports")).isZero();
		assertThat(value("confirmation.age", "reports")).isBetween(0.0, 2.0);
	}

	@Test
	void nodeWithoutASessionWatches() throws Exception {
		ElectionStore store = mock(ElectionStore.class, CALLS_REAL_METHODS);
		willReturn(true).given(store).canWatch();
		willReturn(new Watch(View.NONE, false)).given(store).watch(anyBoolean());
		DefaultLeaderElector watching = bind(Map.of("watched", store)).getDefault();
		assertThat(value("watching", "watched")).isZero();
		watching.start();
		await().until(() -> value("watching", "watched") == 1);
		assertThat(value("watching", "default")).isZero();
		watching.stop().get(5, TimeUnit.SECONDS);
		assertThat(value("watching", "watched")).isZero();
	}

	@Test
	void leaderThatStoppedIsNoLeader() throws Exception {
		this.electors.getDefault().start();
		await().until(this.electors.getDefault()::isLeader);
		this.electors.getDefault().stop().get(5, TimeUnit.SECONDS);
		assertThat(value("leader", "default")).isZero();
		assertThat(value("term", "default")).isZero();
		assertThat(value("lease.remaining", "default")).isZero();
		assertThat(value("confirmation.age", "default")).isNaN();
	}

	@Test
	void transactionsOfTheFenceAreCounted() throws Exception {
		this.electors.getDefault().start();
		await().until(this.electors.getDefault()::isLeader);
		this.electors.getDefault().getLeadership().fence(mock(Connection.class));
		assertThat(value("fence", "default", "result", "passed")).isOne();
		assertThat(value("fence", "default", "result", "refused")).isZero();
	}

	@Test
	void transitionsAreCountedByReason() throws Exception {
		lead();
		this.electors.getDefault().resign().get(5, TimeUnit.SECONDS);
		await().until(this.electors.getDefault()::isLeader);
		this.electors.getDefault().stop().get(5, TimeUnit.SECONDS);
		assertThat(value("transitions", "default", "kind", "granted", "reason", "none")).isEqualTo(2);
		assertThat(value("transitions", "default", "kind", "revoked", "reason", "resigned")).isOne();
		assertThat(value("transitions", "default", "kind", "revoked", "reason", "stopped")).isOne();
		assertThat(value("transitions", "default", "kind", "revoked", "reason", "lease_expired")).isZero();
		assertThat(value("transitions", "default", "kind", "revoked", "reason", "session_lost")).isZero();
		assertThat(value("transitions", "reports", "kind", "granted", "reason", "none")).isZero();
	}

	@Test
	void acquisitionsConfirmationsAndDrainsAreTimed() throws Exception {
		lead();
		assertThat(value("acquire", "default")).isOne();
		assertThat(value("confirm", "default")).isPositive();
		assertThat(value("drain", "default")).isZero();
		Work work = this.electors.getDefault().gate().enter("job");
		CompletableFuture<Boolean> handOver = this.electors.getDefault().resign();
		await().pollDelay(Duration.ofMillis(100)).until(() -> !handOver.isDone());
		work.close();
		handOver.get(5, TimeUnit.SECONDS);
		assertThat(value("drain", "default")).isOne();
		assertThat(this.registry.get("leader.election.drain")
			.tag("election", "default")
			.timer()
			.totalTime(TimeUnit.MILLISECONDS)).isBetween(100.0, 5000.0);
		assertThat(value("acquire", "reports")).isZero();
		assertThat(value("confirm", "reports")).isZero();
	}

	@Test
	void timeLedGrowsWhileThisNodeLeads() throws Exception {
		assertThat(value("time", "default")).isZero();
		this.electors.all().forEach(DefaultLeaderElector::start);
		await().until(() -> value("time", "default") > 0.2);
		this.electors.getDefault().stop().get(5, TimeUnit.SECONDS);
		double led = value("time", "default");
		assertThat(led).isGreaterThan(0.2);
		assertThat(value("time", "default")).isEqualTo(led);
		assertThat(value("time", "reports")).isZero();
	}

	@Test
	void invocationsAreCountedOfMethodsKnownBeforeAndAfter() {
		SimpleMeterRegistry later = new SimpleMeterRegistry();
		InvocationCounts counts = this.electors.getDefault().statistics().invocations("Jobs.job");
		new LeadershipMetrics(this.electors, () -> null).bindTo(later);
		counts.refused(false);
		for (SimpleMeterRegistry registry : List.of(this.registry, later)) {
			assertThat(value(registry, "invocations", "default", "method", "Jobs.job", "outcome", "skipped")).isOne();
			for (String outcome : List.of("run", "rejected", "interrupted")) {
				assertThat(value(registry, "invocations", "default", "method", "Jobs.job", "outcome", outcome))
					.isZero();
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
		given(session.confirm(true)).willAnswer((invocation) -> new Confirmation(predecessor.get(), false, null));
		DefaultLeaderElectors blocked = bind(Map.of("blocked", () -> session));
		assertThat(value("blocked", "blocked")).isZero();
		blocked.getDefault().start();
		await().until(() -> value("blocked", "blocked") == 1);
		assertThat(value("leader", "blocked")).isZero();
		predecessor.set(null);
		await().until(() -> value("leader", "blocked") == 1);
		assertThat(value("blocked", "blocked")).isZero();
	}

	@Test
	void leaseIsThatOfTheConfiguration() {
		assertThat(value("lease.duration", "default")).isEqualTo(5);
	}

	@Test
	void infoHasStoreProtocolAndVersion() {
		assertThat(value("info", "default")).isOne();
		assertThat(id("info").getTag("store")).isEqualTo(this.electors.getDefault().describeStore().store());
		assertThat(id("info").getTag("protocol")).isEqualTo("3");
		// Classes of tests are not in a jar
		assertThat(id("info").getTag("version")).isEqualTo("unknown");
	}

	private void lead() {
		this.electors.all().forEach(DefaultLeaderElector::start);
		await().until(this.electors.getDefault()::isLeader);
		await().until(() -> value("acquire", "default") == 1);
	}

	@Test
	void timesAreInSecondsAndEverythingIsDescribed() {
		assertThat(Stream.of("lease.remaining", "confirmation.age", "lease.duration"))
			.allSatisfy((name) -> assertThat(id(name).getBaseUnit()).isEqualTo("seconds"));
		assertThat(this.registry.getMeters()).hasSize(2 * 19)
			.allSatisfy((meter) -> assertThat(meter.getId().getDescription()).isNotBlank());
	}

	/**
	 * Return the value of a gauge, or the count of another meter.
	 */
	private double value(String name, String election, String... tags) {
		return value(this.registry, name, election, tags);
	}

	private static double value(MeterRegistry registry, String name, String election, String... tags) {
		return registry.get("leader.election." + name)
			.tag("election", election)
			.tags(tags)
			.meter()
			.measure()
			.iterator()
			.next()
			.getValue();
	}

	private Meter.Id id(String name) {
		return this.registry.get("leader.election." + name).tag("election", "default").meter().getId();
	}

}
