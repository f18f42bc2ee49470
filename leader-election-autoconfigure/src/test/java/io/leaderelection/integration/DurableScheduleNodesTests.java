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

import java.sql.Connection;
import java.sql.Statement;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.Delayed;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;

import javax.sql.DataSource;

import io.leaderelection.LeadershipLostException;
import io.leaderelection.annotation.GeneratedJob;
import io.leaderelection.postgresql.ElectionKeys;
import io.leaderelection.schedule.Claim;
import io.leaderelection.schedule.DurableSchedule;
import io.leaderelection.schedule.MisfirePolicy;
import io.leaderelection.testsupport.RoundTrips;
import net.bytebuddy.description.annotation.AnnotationDescription;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

import org.springframework.beans.factory.annotation.Qualifier;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;
import org.springframework.context.annotation.Bean;
import org.springframework.jdbc.core.simple.JdbcClient;
import org.springframework.jdbc.datasource.DataSourceTransactionManager;
import org.springframework.jdbc.datasource.DriverManagerDataSource;
import org.springframework.scheduling.concurrent.ThreadPoolTaskScheduler;
import org.springframework.transaction.PlatformTransactionManager;
import org.springframework.transaction.annotation.Propagation;
import org.springframework.transaction.annotation.Transactional;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatException;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

/**
 * Tests for {@link DurableSchedule} on nodes with a database.
 */
@ExtendWith(OutputCaptureExtension.class)
@Timeout(120)
@Tag("ring2")
class DurableScheduleNodesTests extends AbstractDurableScheduleTests {

	@ParameterizedTest
	@ValueSource(strings = { "advisory-lock", "table" })
	void claimAndWorkCommitTogether(String store) {
		LocalNode node = begin(InTransaction.class, "leader-election.store=" + store);
		assertThat(fires()).isEmpty();
		clock.set("2026-05-02T02:00:00.010Z");
		hooks.add((fire) -> assertThat(this.server.query("SELECT outcome FROM %s_schedule".formatted(TABLE)))
			.as("not visible before the commit")
			.containsOnlyNulls());
		run(node);
		run(node);
		assertThat(fires()).containsExactly(DUE);
		assertThat(record()).containsExactly("2026-05-02 02:00:00+00 0 0 2 * * * UTC completed");
		assertThat(this.server.query("SELECT election || ' ' || job FROM %s_schedule".formatted(TABLE)))
			.containsExactly(this.group + ":default " + JOB);
	}

	@ParameterizedTest
	@ValueSource(strings = { "advisory-lock", "table" })
	void fireOfATermThatEndsInTheMiddleIsCaughtUpByTheNextLeader(String store) {
		LocalNode first = begin(InTransaction.class, "leader-election.store=" + store);
		LocalNode second = start(Ticking.class, "leader-election.store=" + store);
		clock.set(DUE);
		hooks.add((fire) -> {
			hooks.clear();
			first.elector().resign();
			Awaitility.await().until(() -> !first.leads());
			terminate();
		});
		assertThatException().isThrownBy(() -> run(first));
		second.awaitLeader();
		awaitFires(DUE + " late");
	}

	/**
	 * The session of the transaction ends, as in a crash of the node.
	 */
	private void terminate() {
		this.server
			.query("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE state LIKE 'idle in transaction%'");
	}

	@ParameterizedTest
	@EnumSource(Claim.class)
	void whatRunsAgainAfterAFailureDependsOnTheClaim(Claim claim) {
		LocalNode node = due(job(claim));
		List<Instant> calls = new CopyOnWriteArrayList<>();
		hooks.add((fire) -> {
			calls.add(fire);
			if (calls.size() == 1) {
				throw new IllegalStateException("no");
			}
		});
		assertThatIllegalStateException().isThrownBy(() -> run(node)).withMessage("no");
		run(node);
		run(node);
		assertThat(calls).hasSize((claim != Claim.BEFORE) ? 2 : 1);
		assertThat(fires()).hasSize((claim != Claim.AFTER) ? 1 : 2);
		assertThat(record()).singleElement()
			.asString()
			.startsWith("2026-05-02 02:00:00+00")
			.endsWith((claim != Claim.BEFORE) ? "completed" : "failed: java.lang.IllegalStateException");
	}

	@ParameterizedTest
	@EnumSource(Claim.class)
	void concurrentCallsClaimOnce(Claim claim) throws Exception {
		LocalNode node = due(job(claim));
		CompletableFuture<Void> begin = new CompletableFuture<>();
		CompletableFuture<?>[] calls = IntStream.range(0, 8)
			.mapToObj((i) -> begin.thenRunAsync(() -> run(node)))
			.toArray(CompletableFuture[]::new);
		begin.complete(null);
		CompletableFuture.allOf(calls).get(30, TimeUnit.SECONDS);
		assertThat(fires()).containsExactly(DUE);
	}

	@ParameterizedTest
	@ValueSource(strings = { "advisory-lock", "table" })
	void nodesWithClocksApartClaimEachFireOnce(String store) {
		clock.set(DUE);
		Class<?> everySecond = job("* * * * * *", durable().define("misfire", MisfirePolicy.RUN_ALL));
		LocalNode ahead = start(everySecond, "skew=2", "leader-election.store=" + store).awaitLeader();
		LocalNode behind = start(everySecond, "skew=-2", "leader-election.store=" + store);
		run(ahead);
		for (int i = 0; i < 5; i++) {
			clock.advance(Duration.ofSeconds(1));
			run(ahead);
		}
		assertThat(ahead.elector().resign()).succeedsWithin(LIMIT);
		behind.awaitLeader();
		for (int i = 0; i < 10; i++) {
			clock.advance(Duration.ofSeconds(1));
			run(behind);
		}
		clock.advance(Duration.ofSeconds(3));
		behind.close();
		ahead.awaitLeader();
		for (int i = 0; i < 20; i++) {
			run(ahead);
		}
		Instant begin = Instant.parse("2026-05-02T02:00:00Z");
		assertThat(fires().stream().map((fire) -> fire.replace(" late", ""))).containsExactlyElementsOf(
				IntStream.rangeClosed(3, 20).mapToObj((second) -> begin.plusSeconds(second).toString()).toList());
	}

	@Test
	void changedScheduleBeginsNow() {
		LocalNode first = begin(InTransaction.class);
		first.close();
		clock.set("2026-05-05T12:00:00Z");
		LocalNode second = begin(InTransaction.class, "report.cron=0 0 3 * * *");
		assertThat(fires()).isEmpty();
		assertThat(record()).singleElement().asString().startsWith("2026-05-05 12:00:00+00 0 0 3 * * * UTC");
		clock.set("2026-05-06T03:00:00Z");
		run(second);
		assertThat(fires()).containsExactly("2026-05-06T03:00:00Z");
	}

	@Test
	void lockedRecordIsWaitedForAndSettingsOfTheTransactionAreKept() throws Exception {
		LocalNode node = due(InTransaction.class, "leader-election.schedules.transaction-idle-timeout=7s");
		List<String> settings = new CopyOnWriteArrayList<>();
		hooks.add((fire) -> settings.addAll(node.bean(JdbcClient.class)
			.sql("SELECT current_setting('lock_timeout') || ' ' || current_setting('idle_in_transaction_session_timeout')")
			.query(String.class)
			.list()));
		try (Connection other = this.server.connect(); Statement statement = other.createStatement()) {
			other.setAutoCommit(false);
			statement.execute("SELECT FROM %s_schedule FOR UPDATE".formatted(TABLE));
			CompletableFuture<Void> run = CompletableFuture.runAsync(() -> run(node));
			awaitLockWait();
			assertThat(run).isNotDone();
			other.rollback();
			run.get(30, TimeUnit.SECONDS);
		}
		assertThat(settings).containsExactly("0 7s");
		assertThat(fires()).hasSize(1);
	}

	@Test
	void claimThatFailsIsRepeatedWithoutATick() throws Exception {
		LocalNode node = dueByItself();
		try (Connection other = this.server.connect(); Statement statement = other.createStatement()) {
			other.setAutoCommit(false);
			statement.execute("SELECT FROM %s_schedule FOR UPDATE".formatted(TABLE));
			assertThatException().isThrownBy(() -> run(node)).withMessageContaining("lock timeout");
			assertThat(fires()).isEmpty();
		}
		awaitFires(DUE + " late");
	}

	@Test
	void idleTransactionOfAClaimIsEndedAndRepeated() {
		LocalNode node = dueByItself("leader-election.schedules.transaction-idle-timeout=500ms");
		hooks.add((fire) -> {
			hooks.clear();
			awaitIdleTimeout();
		});
		assertThatException().isThrownBy(() -> run(node));
		assertThat(status(node).failed()).isOne();
		awaitFires(DUE + " late");
	}

	private void awaitIdleTimeout() {
		Awaitility.await()
			.until(() -> this.server.query("SELECT pid FROM pg_stat_activity WHERE state = 'idle in transaction'")
				.isEmpty());
	}

	@Test
	void runThatIsAlwaysIdleForTooLongIsRepeatedOnlyOnce(CapturedOutput output) {
		LocalNode node = dueByItself("leader-election.schedules.transaction-idle-timeout=500ms");
		List<Instant> calls = new CopyOnWriteArrayList<>();
		hooks.add((fire) -> {
			calls.add(fire);
			awaitIdleTimeout();
		});
		assertThatException().isThrownBy(() -> run(node));
		Awaitility.await().until(() -> status(node).failed() == 2);
		awaitBegin(node);
		assertThat(calls).hasSize(2);
		assertThat(node.bean(ThreadPoolTaskScheduler.class).getScheduledThreadPoolExecutor().getQueue())
			.filteredOn((task) -> !((Future<?>) task).isCancelled())
			.allSatisfy((task) -> assertThat(((Delayed) task).getDelay(TimeUnit.SECONDS)).isGreaterThan(10));
		assertThat(output).contains("idle for longer than 500ms")
			.contains("leader-election.schedules.transaction-idle-timeout, or use claim = AFTER")
			.doesNotContain("failed when run on grant");
	}

	@Test
	void runWhoseFenceIsBlockedIsRepeatedWithoutATick() throws Exception {
		LocalNode node = dueByItself();
		try (Connection other = this.server.connect(); Statement statement = other.createStatement()) {
			statement.execute("SELECT pg_advisory_lock(" + ElectionKeys.derive(this.group, "default").fence() + ")");
			assertThatException().isThrownBy(() -> run(node)).withStackTraceContaining("not a node of the election");
		}
		awaitFires(DUE + " late");
		assertThat(node.events()).as("the leader stays").hasSize(1);
	}

	@Test
	void runWhoseSessionEndsIsRepeatedWithoutATick() {
		LocalNode node = dueByItself();
		hooks.add((fire) -> {
			hooks.clear();
			terminate();
		});
		assertThatException().isThrownBy(() -> run(node));
		awaitFires(DUE + " late");
		assertThat(node.events()).as("the leader stays").hasSize(1);
	}

	@ParameterizedTest
	@EnumSource(Claim.class)
	void roundTripsOfAClaim(Claim claim) {
		LocalNode node = begin(job(claim), withOwnConnection("spring.datasource.hikari.maximum-pool-size=1",
				"spring.datasource.hikari.data-source-properties.socketFactory=" + RoundTrips.class.getName()));
		List<Integer> counts = new ArrayList<>();
		for (int day = 2; day < 20; day++) {
			clock.set("2026-05-%02dT02:00:00Z".formatted(day));
			int before = RoundTrips.count();
			run(node);
			counts.add(RoundTrips.count() - before);
		}
		// The pool may test its connection, and the driver prepares statements
		int typical = counts.stream().sorted().skip(counts.size() / 2).findFirst().orElseThrow();
		// With one insert of the job: in the transaction of the claim, or on its own
		assertThat(typical).as(counts.toString()).isEqualTo(switch (claim) {
			case IN_TRANSACTION -> 5;
			case BEFORE -> 9;
			case AFTER -> 7;
		});
		int before = RoundTrips.count();
		run(node);
		assertThat(RoundTrips.count() - before).as("not due").isZero();
	}

	@Test
	void severalTransactionManagersAreRefusedUnlessOneIsPrimaryOrNamed() {
		assertRefused(() -> start(TwoManagers.class)).hasMessageContaining("several transaction managers");
		AnnotationDescription.Builder transactional = GeneratedJob.annotation(Transactional.class)
			.define("transactionManager", "${report.manager}")
			.define("timeoutString", "${report.timeout}");
		LocalNode node = due(
				job(new GeneratedJob().overriding(TwoManagers.class, "run"), NIGHTLY, durable(), transactional),
				"report.manager=election", "report.timeout=20");
		run(node);
		assertThat(fires()).hasSize(1);
	}

	@ParameterizedTest
	@EnumSource(names = { "REQUIRES_NEW", "NESTED" })
	void transactionOfTheMethodMustJoin(Propagation propagation) {
		Class<?> job = job(NIGHTLY, durable(),
				GeneratedJob.annotation(Transactional.class).define("propagation", propagation));
		assertRefused(() -> start(job)).hasMessageContaining("does not join");
	}

	@Test
	void termThatIsOverCannotClaim() {
		LocalNode node = due(InTransaction.class);
		hooks.add((fire) -> {
			hooks.clear();
			this.server.query(
					"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE 'leader-election%'"
							+ " AND pid IN (SELECT pid FROM pg_locks WHERE locktype = 'advisory')");
			awaitRevocation(node);
		});
		assertThatExceptionOfType(LeadershipLostException.class).isThrownBy(() -> run(node));
		assertThat(fires()).isEmpty();
		assertThat(record()).singleElement().asString().startsWith("2026-05-01 12:00:00+00");
	}

	@Test
	void nextLeaderWaitsForTheClaimOfAFormerTerm() throws Exception {
		LocalNode first = begin(InTransaction.class);
		LocalNode second = start(InTransaction.class);
		clock.set(DUE);
		CompletableFuture<Boolean> proceed = new CompletableFuture<Boolean>().completeOnTimeout(false, 30,
				TimeUnit.SECONDS);
		hooks.add((fire) -> {
			hooks.clear();
			proceed.join();
			Thread.interrupted();
		});
		CompletableFuture<Void> former = CompletableFuture.runAsync(() -> run(first));
		Awaitility.await().until(hooks::isEmpty);
		first.elector().resign();
		second.awaitLeader();
		CompletableFuture<Void> next = CompletableFuture.runAsync(() -> run(second));
		awaitLockWait();
		proceed.complete(true);
		next.get(30, TimeUnit.SECONDS);
		assertThat(former).failsWithin(LIMIT).withThrowableThat().withCauseInstanceOf(LeadershipLostException.class);
		assertThat(fires()).containsExactly(DUE + " late");
	}

	private void awaitLockWait() {
		Awaitility.await()
			.until(() -> !this.server.query(
					"SELECT pid FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%durable_nodes%'")
				.isEmpty());
	}

	/**
	 * The work does not react to its interrupt, so that it reaches the fence.
	 */
	private static void awaitRevocation(LocalNode node) {
		CompletableFuture
			.runAsync(() -> Awaitility.await()
				.until(() -> node.events().stream().anyMatch((event) -> event.startsWith("revoked"))))
			.join();
		Thread.interrupted();
	}

	/**
	 * Otherwise a crash in the first run would move the begin of the job.
	 */
	@ParameterizedTest
	@EnumSource(Claim.class)
	void beginIsRecordedBeforeTheFirstRun(Claim claim) {
		LocalNode node = start(job(claim)).awaitLeader();
		Awaitility.await().until(() -> status(node).lag() != null);
		clock.set(DUE);
		List<String> records = new CopyOnWriteArrayList<>();
		hooks.add((fire) -> records.addAll(record()));
		run(node);
		assertThat(records).singleElement()
			.asString()
			.startsWith((claim != Claim.BEFORE) ? "2026-05-01 12:00:00+00" : "2026-05-02 02:00:00+00");
		assertThat(fires()).containsExactly(DUE);
	}

	/**
	 * Start a leader whose job is due, and that runs it by itself.
	 */
	private LocalNode dueByItself(String... properties) {
		LocalNode node = start(Ticking.class, properties).awaitLeader();
		awaitBegin(node);
		clock.set(DUE);
		return node;
	}

	/**
	 * Wait until the job has begun, and the run on grant has ended.
	 */
	private static void awaitBegin(LocalNode node) {
		Awaitility.await().until(() -> status(node).lastFire() != null);
		assertThat(node.bean(ThreadPoolTaskScheduler.class).submit(() -> {
		})).succeedsWithin(LIMIT);
	}

	public static class TwoManagers extends InTransaction {

		@Bean
		@Qualifier("election")
		static PlatformTransactionManager first(DataSource dataSource) {
			return new DataSourceTransactionManager(dataSource);
		}

		@Bean
		static PlatformTransactionManager second() {
			return new DataSourceTransactionManager(new DriverManagerDataSource("jdbc:postgresql://localhost:1/none"));
		}

	}

}
