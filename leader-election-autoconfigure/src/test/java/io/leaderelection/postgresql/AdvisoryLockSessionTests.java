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

package io.leaderelection.postgresql;

import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashSet;
import java.util.Iterator;
import java.util.List;
import java.util.Properties;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;

import io.leaderelection.Term;
import io.leaderelection.engine.ElectionSession;
import io.leaderelection.engine.ElectionSession.Acquisition;
import io.leaderelection.engine.ElectionSession.Acquisition.Held;
import io.leaderelection.engine.ElectionSession.Acquisition.Won;
import io.leaderelection.engine.ElectionSession.Candidate;
import io.leaderelection.engine.ElectionSession.Leader;
import io.leaderelection.engine.ElectionSettings;
import io.leaderelection.engine.SessionException;
import io.leaderelection.testsupport.PostgreSqlServer;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.within;
import static org.awaitility.Awaitility.await;

/**
 * Tests for {@link AdvisoryLockSession} on a real server.
 */
class AdvisoryLockSessionTests {

	private static final Duration NO_WAIT = Duration.ofMillis(1);

	private static final Duration LONG = Duration.ofSeconds(10);

	private final PostgreSqlServer server = PostgreSqlServer.shared();

	private final String election = "election-" + UUID.randomUUID();

	private final ElectionKeys keys = ElectionKeys.derive("test", this.election);

	private final List<ElectionSession> sessions = new ArrayList<>();

	@AfterEach
	void closeSessions() {
		this.sessions.forEach(ElectionSession::abort);
	}

	@Test
	void firstSessionWinsAndSecondIsToldWho() throws SessionException {
		ElectionSession first = open("node-a");
		ElectionSession second = open("node-b");
		Won won = win(first);
		assertThat(won.clean()).isFalse();
		assertThat(won.term().timeline()).isOne();
		Held held = (Held) second.acquire(NO_WAIT);
		Leader leader = held.view().leader();
		assertThat(leader).isNotNull();
		assertThat(leader.nodeId()).isEqualTo("node-a");
		assertThat(leader.term()).isEqualTo(won.term());
		assertThat(leader.since()).isCloseTo(Instant.now(), within(1, ChronoUnit.MINUTES));
		assertThat(held.view().candidates()).extracting(Candidate::nodeId)
			.containsExactlyInAnyOrder("node-a", "node-b");
		assertThat(second.observe()).isEqualTo(held.view());
		first.confirm();
		assertThat(first.candidates()).isEqualTo(held.view().candidates());
		assertThat(leader.session()).isEqualTo(first.name());
		assertThat(this.server.query("SELECT application_name FROM pg_stat_activity")).contains(first.name());
	}

	@Test
	void termOfALongLivedServerIsSeenInFull() throws SessionException {
		PostgreSqlSessions late = new PostgreSqlSessions(settings("node-a"), this.keys, 0, false, source(this.server),
				(keys, database) -> new AdvisoryLockSql(keys, database) {

					@Override
					String acquire(long waitMillis) {
						String acquire = super.acquire(waitMillis);
						String id = "pg_catalog.pg_current_xact_id()::text::bigint";
						assertThat(acquire).contains(id);
						return acquire.replace(id, id + " + (131071::bigint << 31)");
					}

				});
		ElectionSession first = late.open();
		this.sessions.add(first);
		Won won = win(first);
		assertThat(won.term().transactionId()).isGreaterThan(131071L << 31);
		assertThat(first.confirm().predecessor()).isNull();
		assertThat(open("node-b").observe().leader()).isNotNull().extracting(Leader::term).isEqualTo(won.term());
	}

	@Test
	void newcomersAndLeaversAreSeenAtOnce() throws SessionException {
		ElectionSession first = open("node-a");
		win(first);
		ElectionSession second = open("node-b");
		first.confirm();
		assertThat(first.candidates()).hasSize(2);
		second.close();
		await().untilAsserted(() -> {
			first.confirm();
			assertThat(first.candidates()).extracting(Candidate::nodeId).containsExactly("node-a");
		});
	}

	@Test
	void leaderIsAskedToResignAsLongAsAnotherAsks() throws SessionException {
		ElectionSession first = open("node-a");
		Won won = win(first);
		ElectionSession second = open("node-b");
		assertThat(first.confirm().resignationRequested()).isFalse();
		second.requestResignation(won.term());
		assertThat(first.confirm().resignationRequested()).isTrue();
		second.withdrawRequest();
		assertThat(first.confirm().resignationRequested()).isFalse();
		second.requestResignation(new Term(0, won.term().timeline(), won.term().transactionId() - 1));
		assertThat(first.confirm().resignationRequested()).as("asked for an earlier term").isFalse();
	}

	@Test
	void confirmationHoldsOnlyForTheWinner() throws SessionException {
		ElectionSession winner = open("node-a");
		win(winner);
		assertThat(winner.confirm().predecessor()).isNull();
		ElectionSession other = open("node-b");
		assertThatExceptionOfType(SessionException.class).isThrownBy(other::confirm).withMessageContaining("both keys");
	}

	@Test
	void cancelledConfirmationIsMadeOnceMore() throws SessionException {
		Iterator<String> cancelled = List.of("SELECT pg_cancel_backend(pg_backend_pid()), pg_sleep(10)").iterator();
		PostgreSqlSessions cancelling = new PostgreSqlSessions(settings("node-a"), this.keys, 0, false,
				source(this.server), (keys, database) -> new AdvisoryLockSql(keys, database) {

					@Override
					String confirm(Term term) {
						return cancelled.hasNext() ? cancelled.next() : super.confirm(term);
					}

				});
		ElectionSession winner = cancelling.open();
		this.sessions.add(winner);
		win(winner);
		assertThat(winner.confirm().predecessor()).isNull();
		assertThat(cancelled.hasNext()).isFalse();
	}

	@Test
	void cancelThatComesLateDoesNotEndTheSession() throws SessionException {
		Set<String> cancelled = new HashSet<>();
		PostgreSqlSessions cancelling = new PostgreSqlSessions(settings("node-a"), this.keys, 0, false,
				source(this.server), (keys, database) -> new AdvisoryLockSql(keys, database) {

					@Override
					String observe() {
						return cancelledAtFirst(super.observe());
					}

					@Override
					String requestResignation(Term term) {
						return cancelledAtFirst(super.requestResignation(term));
					}

					@Override
					String withdrawRequest(Term term) {
						return cancelledAtFirst(super.withdrawRequest(term));
					}

					@Override
					String withdraw() {
						return cancelledAtFirst(super.withdraw());
					}

					private String cancelledAtFirst(String statement) {
						return cancelled.add(statement)
								? "WITH c AS MATERIALIZED (SELECT pg_cancel_backend(pg_backend_pid()), pg_sleep(10)) "
										+ "SELECT true FROM c"
								: statement;
					}

				});
		ElectionSession holder = open("node-b");
		Term term = win(holder).term();
		ElectionSession session = cancelling.open();
		this.sessions.add(session);
		assertThat(session.observe().candidates()).hasSize(2);
		session.requestResignation(term);
		assertThat(holder.confirm().resignationRequested()).isTrue();
		session.withdrawRequest();
		assertThat(holder.confirm().resignationRequested()).isFalse();
		session.withdraw();
		assertThat(session.observe().candidates()).hasSize(1);
		assertThat(cancelled).hasSize(4);
	}

	@ParameterizedTest
	@CsvSource({ "53200, true", "42501, false" })
	void whoStandsIsNotKnownWhenThatCannotBeLookedUpButNothingIsLost(String state, boolean again) throws Exception {
		AtomicInteger failures = new AtomicInteger();
		PostgreSqlSessions failing = new PostgreSqlSessions(settings("node-a"), this.keys, 0, false,
				source(this.server), (keys, database) -> new AdvisoryLockSql(keys, database) {

					@Override
					String describe(Collection<Integer> pids) {
						return (failures.incrementAndGet() == 1)
								? "DO $$ BEGIN RAISE EXCEPTION SQLSTATE '" + state + "'; END $$" : super.describe(pids);
					}

				});
		ElectionSession winner = failing.open();
		this.sessions.add(winner);
		win(winner);
		for (int i = 0; i < 11; i++) {
			winner.confirm();
			assertThat(winner.candidates()).isEmpty();
		}
		winner.confirm();
		assertThat(winner.candidates()).hasSize(again ? 1 : 0);
		assertThat(failures).hasValue(again ? 2 : 1);
	}

	@ParameterizedTest
	@ValueSource(booleans = { true, false })
	void attemptThatIsCancelledAroundItsWaitEndsTheSessionOnlyIfItHasLeftALock(boolean lock) throws SessionException {
		AtomicBoolean cancelled = new AtomicBoolean();
		PostgreSqlSessions cancelling = new PostgreSqlSessions(settings("node-a"), this.keys, 0, false,
				source(this.server), (keys, database) -> new AdvisoryLockSql(keys, database) {

					@Override
					String acquire(long waitMillis) {
						String left = lock ? "pg_advisory_lock(" + keys.main() + "), " : "";
						return cancelled.getAndSet(true) ? super.acquire(waitMillis)
								: "SELECT " + left + "pg_cancel_backend(pg_backend_pid()), pg_sleep(10)";
					}

				});
		ElectionSession session = cancelling.open();
		this.sessions.add(session);
		if (lock) {
			assertThatExceptionOfType(SessionException.class).isThrownBy(() -> session.acquire(NO_WAIT));
		}
		else {
			assertThat(session.acquire(NO_WAIT)).isInstanceOf(Held.class);
			win(session);
		}
	}

	@Test
	void confirmationFailsWhenSomebodyChangesTheLease() throws Exception {
		AdvisoryLockSession winner = (AdvisoryLockSession) open("node-a");
		win(winner);
		try (Statement statement = winner.connection().createStatement()) {
			statement.execute("SET idle_session_timeout = 0");
		}
		assertThatExceptionOfType(SessionException.class).isThrownBy(winner::confirm).withMessageContaining("timeouts");
	}

	@Test
	void waiterWinsWhenTheHolderDies() throws Exception {
		ElectionSession first = open("node-a");
		Won won = win(first);
		ElectionSession second = open("node-b");
		CompletableFuture<Acquisition> waiting = waitInQueue(second);
		first.abort();
		assertThat(waiting.get(10, TimeUnit.SECONDS)).isInstanceOfSatisfying(Won.class, (next) -> {
			assertThat(next.term()).isGreaterThan(won.term());
			assertThat(next.clean()).isFalse();
		});
	}

	@Test
	void cancelEndsTheWaitWithoutEndingTheSession() throws Exception {
		ElectionSession holder = open("node-a");
		win(holder);
		ElectionSession waiter = open("node-b");
		for (int i = 0; i < 20; i++) {
			// Or its lease would end
			holder.confirm();
			CompletableFuture<Acquisition> waiting = waitInQueue(waiter);
			waiter.cancel();
			assertThat(waiting.get(10, TimeUnit.SECONDS)).isInstanceOf(Held.class);
			assertThat(waiter.acquire(NO_WAIT)).isInstanceOf(Held.class);
		}
	}

	@Test
	void successorSeesTheMarkOfACleanReleaseAndWaitsUntilItIsGone() throws Exception {
		ElectionSession first = open("node-a");
		win(first);
		ElectionSession second = open("node-b");
		CompletableFuture<Acquisition> waiting = waitInQueue(second);
		first.release(true);
		assertThat(waiting.get(10, TimeUnit.SECONDS)).isInstanceOfSatisfying(Won.class,
				(won) -> assertThat(won.clean()).isTrue());
		assertThat(second.confirm().predecessor()).startsWith("the session with pid");
		first.close();
		Awaitility.await().atMost(LONG).until(() -> second.confirm().predecessor() == null);
	}

	@Test
	void releaseThatIsNotCleanLeavesNoMark() throws Exception {
		ElectionSession first = open("node-a");
		win(first);
		ElectionSession second = open("node-b");
		CompletableFuture<Acquisition> waiting = waitInQueue(second);
		first.release(false);
		assertThat(waiting.get(10, TimeUnit.SECONDS)).isInstanceOfSatisfying(Won.class,
				(won) -> assertThat(won.clean()).isFalse());
		assertThat(second.confirm().predecessor()).isNull();
	}

	@Test
	void closeWithoutCandidatesDoesNotLinger() throws Exception {
		ElectionSession only = open("node-a");
		win(only);
		only.release(true);
		long start = System.nanoTime();
		only.close();
		assertThat(Duration.ofNanos(System.nanoTime() - start)).isLessThan(Duration.ofMillis(150));
	}

	@Test
	void predecessorIsWhoeverHoldsAKeyOfAnotherTermButNotAShare() throws Exception {
		ElectionSession winner = open("node-a");
		win(winner);
		try (Connection connection = this.server.connect(); Statement statement = connection.createStatement()) {
			statement.execute("SELECT pg_advisory_lock_shared(%d, 12345)".formatted(this.keys.termClass()));
			assertThat(winner.confirm().predecessor()).isNull();
			statement.execute("SELECT pg_advisory_lock(%d, 12346)".formatted(this.keys.termClass()));
			assertThat(winner.confirm().predecessor()).isNotNull();
		}
	}

	@Test
	void barrierWaitsForFencedTransactions() throws Exception {
		ElectionSession winner = open("node-a");
		win(winner);
		try (Connection connection = this.server.connect(); Statement statement = connection.createStatement()) {
			connection.setAutoCommit(false);
			statement.execute("SELECT pg_advisory_xact_lock_shared(%d)".formatted(this.keys.fence()));
			assertThat(winner.passBarrier(Duration.ofMillis(50))).startsWith("the transaction of the session with pid");
			connection.commit();
		}
		assertThat(winner.passBarrier(Duration.ofMillis(500))).isNull();
		assertThat(winner.confirm().predecessor()).isNull();
	}

	@Test
	void parkingEndsWhenTheServerEndsTheSession() throws Exception {
		AdvisoryLockSession winner = (AdvisoryLockSession) open("node-a");
		win(winner);
		CompletableFuture<Void> parked = CompletableFuture.runAsync(() -> {
			try {
				winner.park(LONG);
			}
			catch (SessionException ex) {
				throw new IllegalStateException(ex);
			}
		});
		this.server.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = '"
				+ new ApplicationName(this.election, "node-a") + "'");
		assertThat(parked).failsWithin(Duration.ofSeconds(5));
	}

	@Test
	void silentSessionIsEndedByTheServerAfterTheLease() throws Exception {
		ElectionSession silent = open("node-a");
		win(silent);
		ElectionSession second = open("node-b");
		Awaitility.await().atMost(LONG).until(() -> second.acquire(Duration.ofMillis(500)) instanceof Won);
	}

	@Test
	void settingsOfTheSessionAreMadeBeforeItStands() throws Exception {
		Connection connection = ((AdvisoryLockSession) open("node-a")).connection();
		assertThat(show(connection, "idle_session_timeout")).isEqualTo("3s");
		assertThat(show(connection, "idle_in_transaction_session_timeout")).isEqualTo("3s");
		assertThat(show(connection, "synchronous_commit")).isEqualTo("local");
		assertThat(show(connection, "default_transaction_read_only")).isEqualTo("off");
		assertThat(show(connection, "client_connection_check_interval")).isEqualTo("600ms");
		assertThat(show(connection, "application_name")).startsWith("leader-election electi~").endsWith(" node-a");
	}

	@Test
	void termsIncreaseAcrossACrashOfTheServer() throws Exception {
		try (PostgreSqlServer own = PostgreSqlServer.start()) {
			Won before = win(sessions(own, "node-a").open());
			for (int i = 0; i < 5; i++) {
				before = win(new PostgreSqlSessions(settings("node-" + i), ElectionKeys.derive("test", "other-" + i), 0,
						false, source(own))
					.open());
			}
			own.stop("immediate");
			own.startAgain();
			Won after = win(sessions(own, "node-b").open());
			assertThat(after.term()).isGreaterThan(before.term());
		}
	}

	private CompletableFuture<Acquisition> waitInQueue(ElectionSession session) {
		CompletableFuture<Acquisition> waiting = CompletableFuture.supplyAsync(() -> {
			try {
				return session.acquire(Duration.ofMillis(800));
			}
			catch (SessionException ex) {
				throw new IllegalStateException(ex);
			}
		});
		Awaitility.await()
			.atMost(LONG)
			.pollInterval(Duration.ofMillis(5))
			.until(() -> this.server
				.query("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted AND objid = "
						+ (this.keys.main() & 0xFFFFFFFFL))
				.equals(List.of("1")));
		return waiting;
	}

	private static String show(Connection connection, String setting) throws SQLException {
		return AdvisoryLockSession.query(connection, "SHOW " + setting, (row) -> row.getString(1));
	}

	private static Won win(ElectionSession session) throws SessionException {
		return (Won) session.acquire(NO_WAIT);
	}

	private ElectionSession open(String node) throws SessionException {
		ElectionSession session = sessions(this.server, node).open();
		this.sessions.add(session);
		return session;
	}

	private PostgreSqlSessions sessions(PostgreSqlServer on, String node) {
		return new PostgreSqlSessions(settings(node), this.keys, 0, false, source(on));
	}

	private ElectionSettings settings(String node) {
		return new ElectionSettings(this.election, node, Duration.ofSeconds(3), Duration.ZERO, Duration.ofSeconds(1),
				true);
	}

	private static ConnectionSource source(PostgreSqlServer server) {
		return (driverSettings) -> {
			Properties properties = new Properties();
			properties.putAll(driverSettings);
			properties.setProperty("user", server.username());
			properties.setProperty("password", server.password());
			return DriverManager.getConnection(server.jdbcUrl(), properties);
		};
	}

}
