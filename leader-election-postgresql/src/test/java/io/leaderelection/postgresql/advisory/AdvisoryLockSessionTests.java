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

package io.leaderelection.postgresql.advisory;

import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.HashSet;
import java.util.Iterator;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;

import io.leaderelection.Term;
import io.leaderelection.engine.ElectionSettings;
import io.leaderelection.engine.SessionException;
import io.leaderelection.engine.SessionNames;
import io.leaderelection.engine.StoreSession;
import io.leaderelection.engine.StoreSession.Acquisition;
import io.leaderelection.engine.StoreSession.Acquisition.Ending;
import io.leaderelection.engine.StoreSession.Acquisition.Held;
import io.leaderelection.engine.StoreSession.Acquisition.Won;
import io.leaderelection.engine.StoreSession.Candidate;
import io.leaderelection.engine.StoreSession.ForeignHolder;
import io.leaderelection.engine.StoreSession.Holder;
import io.leaderelection.postgresql.ConnectionSource;
import io.leaderelection.postgresql.ElectionKeys;
import io.leaderelection.postgresql.Jdbc;
import io.leaderelection.postgresql.ServerInspection;
import io.leaderelection.testsupport.Daemon;
import io.leaderelection.testsupport.PostgreSqlServer;
import org.awaitility.Awaitility;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.postgresql.PGConnection;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.within;
import static org.awaitility.Awaitility.await;

/**
 * Tests for {@link AdvisoryLockSession} on a real server.
 */
@Tag("ring1")
class AdvisoryLockSessionTests {

	private static final Duration NO_WAIT = Duration.ofMillis(1);

	private static final Duration LONG = Duration.ofSeconds(10);

	private static final int MOST_TRIES = 10;

	private final PostgreSqlServer server = PostgreSqlServer.shared();

	private final String election = "election-" + UUID.randomUUID();

	private final ElectionKeys keys = ElectionKeys.derive("test", this.election);

	private final List<StoreSession> sessions = new ArrayList<>();

	@AfterEach
	void closeSessions() {
		this.sessions.forEach(StoreSession::abort);
	}

	@Test
	void firstSessionWinsAndSecondReadsTheLeader() throws SessionException {
		StoreSession first = open("node-a");
		StoreSession second = open("node-b");
		Won won = win(first);
		assertThat(won.ending()).isNotEqualTo(Ending.CLEAN);
		assertThat(won.term().timeline()).isOne();
		Held held = (Held) second.acquire(NO_WAIT);
		Holder leader = held.view().leader();
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
	void termOfALongLivedServerIsReadInFull() throws SessionException {
		AdvisoryLockStore late = new StatementsStore(settings("node-a"), this.keys, source(this.server),
				(keys, server) -> new AdvisoryLockSql(keys, server) {

					@Override
					String acquire(long waitMillis, boolean observe, int seat, int priority,
							@Nullable Predecessor predecessor) {
						String acquire = super.acquire(waitMillis, observe, seat, priority, predecessor);
						String id = "pg_catalog.pg_current_xact_id()::text::bigint";
						assertThat(acquire).contains(id);
						return acquire.replace(id, id + " + (131071::bigint << 31)");
					}

				});
		StoreSession first = open(late);
		Won won = win(first);
		assertThat(won.term().transactionId()).isGreaterThan(131071L << 31);
		assertThat(first.confirm().predecessor()).isNull();
		assertThat(open("node-b").observe().leader()).isNotNull().extracting(Holder::term).isEqualTo(won.term());
	}

	@Test
	void observesThatASessionLeadsAgain() throws SessionException {
		StoreSession leader = open("node-a");
		StoreSession follower = open("node-b");
		leader.acquire(NO_WAIT);
		follower.observe();
		leader.release(true);
		Won again = (Won) leader.acquire(NO_WAIT);
		assertThat(follower.observe().leader()).isNotNull().extracting(Holder::term).isEqualTo(again.term());
	}

	@Test
	void newAndLeavingCandidatesAreObservedAtOnce() throws SessionException {
		StoreSession first = open("node-a");
		win(first);
		StoreSession second = open("node-b");
		first.confirm();
		assertThat(first.candidates()).hasSize(2);
		second.close();
		await().untilAsserted(() -> {
			first.confirm();
			assertThat(first.candidates()).extracting(Candidate::nodeId).containsExactly("node-a");
		});
	}

	@Test
	void leaderIsAskedToResignAsLongAsItsTermLasts() throws Exception {
		StoreSession first = open("node-a");
		Won won = win(first);
		assertThat(first.confirm().requested()).isFalse();
		FutureTask<Void> request = request("node-b", won.term(), "endpoint, user 'alice' */ (100 %)", LONG);
		await().until(() -> first.confirm().requested());
		assertThat(first.requester()).isEqualTo("node 'node-b' (endpoint, user 'alice' */ (100 %))");
		assertThat(first.confirm().foreign()).isNull();
		assertThat(first.candidates()).extracting(Candidate::nodeId).containsExactly("node-a");
		first.release(true);
		request.get(5, TimeUnit.SECONDS);
		assertThat(this.server.query("SELECT count(*) FROM pg_locks WHERE mode = 'ShareLock' AND classid = "
				+ Integer.toUnsignedString(this.keys.requestClass())))
			.containsExactly("0");
	}

	@Test
	void requestEndsOnlyTheTermThatItNamesAndNotForEver() throws Exception {
		StoreSession first = open("node-a");
		Won won = win(first);
		Term earlier = new Term(0, won.term().timeline(), won.term().transactionId() - 1);
		request("node-b", earlier, "test", LONG).get(5, TimeUnit.SECONDS);
		FutureTask<Void> request = request("node-b", won.term(), "test", Duration.ofSeconds(1));
		await().until(() -> first.confirm().requested());
		request.get(5, TimeUnit.SECONDS);
		await().until(() -> !first.confirm().requested());
	}

	private FutureTask<Void> request(String node, Term term, String cause, Duration limit) {
		FutureTask<Void> request = new FutureTask<>(() -> {
			sessions(this.server, node).requestResignation(term, cause, limit);
			return null;
		});
		Daemon.start("request", request);
		return request;
	}

	@Test
	void confirmationHoldsOnlyForTheWinner() throws SessionException {
		StoreSession winner = open("node-a");
		win(winner);
		assertThat(winner.confirm().predecessor()).isNull();
		StoreSession other = open("node-b");
		assertThatExceptionOfType(SessionException.class).isThrownBy(other::confirm).withMessageContaining("both keys");
	}

	@Test
	void cancelledConfirmationIsMadeOnceMore() throws SessionException {
		Iterator<String> cancelled = List.of("SELECT pg_cancel_backend(pg_backend_pid()), pg_sleep(10)").iterator();
		AdvisoryLockStore cancelling = new StatementsStore(settings("node-a"), this.keys, source(this.server),
				(keys, server) -> new AdvisoryLockSql(keys, server) {

					@Override
					String confirm(Term term, long number) {
						return cancelled.hasNext() ? cancelled.next() : super.confirm(term, number);
					}

				});
		StoreSession winner = open(cancelling);
		win(winner);
		assertThat(winner.confirm().predecessor()).isNull();
		assertThat(cancelled.hasNext()).isFalse();
	}

	@Test
	void cancelThatComesLateDoesNotEndTheSession() throws SessionException {
		Set<String> cancelled = new HashSet<>();
		AdvisoryLockStore cancelling = new StatementsStore(settings("node-a"), this.keys, source(this.server),
				(keys, server) -> new AdvisoryLockSql(keys, server) {

					@Override
					String observe() {
						return cancelledAtFirst(super.observe());
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
		win(open("node-b"));
		StoreSession session = open(cancelling);
		assertThat(session.observe().candidates()).hasSize(2);
		session.withdraw();
		assertThat(session.observe().candidates()).hasSize(1);
		assertThat(cancelled).hasSize(2);
	}

	@ParameterizedTest
	@CsvSource({ "53200, true", "42501, false" })
	void candidatesAreUnknownWhenTheyCannotBeReadButNothingIsLost(String state, boolean again) throws Exception {
		AtomicInteger failures = new AtomicInteger();
		AdvisoryLockStore failing = new StatementsStore(settings("node-a"), this.keys, source(this.server),
				(keys, server) -> new AdvisoryLockSql(keys, server) {

					@Override
					String describe(Collection<Integer> pids) {
						return (failures.incrementAndGet() == 1)
								? "DO $$ BEGIN RAISE EXCEPTION SQLSTATE '" + state + "'; END $$" : super.describe(pids);
					}

				});
		StoreSession winner = open(failing);
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
		AdvisoryLockStore cancelling = new StatementsStore(settings("node-a"), this.keys, source(this.server),
				(keys, server) -> new AdvisoryLockSql(keys, server) {

					@Override
					String acquire(long waitMillis, boolean observe, int seat, int priority,
							@Nullable Predecessor predecessor) {
						String left = lock ? "pg_advisory_lock(" + keys.main() + "), " : "";
						return cancelled.getAndSet(true)
								? super.acquire(waitMillis, observe, seat, priority, predecessor)
								: "SELECT " + left + "pg_cancel_backend(pg_backend_pid()), pg_sleep(10)";
					}

				});
		StoreSession session = open(cancelling);
		if (lock) {
			assertThatExceptionOfType(SessionException.class).isThrownBy(() -> session.acquire(NO_WAIT));
		}
		else {
			assertThat(session.acquire(NO_WAIT)).isInstanceOf(Held.class);
			win(session);
		}
	}

	@Test
	void confirmationFailsWhenTheLeaseIsChanged() throws Exception {
		AdvisoryLockSession winner = (AdvisoryLockSession) open("node-a");
		win(winner);
		try (Statement statement = winner.connection().createStatement()) {
			statement.execute("SET idle_session_timeout = 0");
		}
		assertThatExceptionOfType(SessionException.class).isThrownBy(winner::confirm).withMessageContaining("timeouts");
	}

	@Test
	void waiterWinsWhenTheHolderDies() throws Exception {
		StoreSession first = open("node-a");
		Won won = win(first);
		StoreSession second = open("node-b");
		CompletableFuture<Acquisition> waiting = waitUntilWon(second);
		first.abort();
		assertThat(waiting.get(10, TimeUnit.SECONDS)).isInstanceOfSatisfying(Won.class, (next) -> {
			assertThat(next.term()).isGreaterThan(won.term());
			assertThat(next.ending()).isNotEqualTo(Ending.CLEAN);
		});
	}

	@Test
	@Tag("ring2")
	void cancelByAnAdministratorEndsTheWaitWithoutEndingTheSession() throws Exception {
		StoreSession holder = open("node-a");
		win(holder);
		StoreSession waiter = open("node-b");
		for (int i = 0; i < 20; i++) {
			// Or its lease would end
			holder.confirm();
			CompletableFuture<Acquisition> waiting = waitInQueue(waiter);
			this.server.query("SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE application_name = '"
					+ waiter.name() + "'");
			assertThat(waiting.get(10, TimeUnit.SECONDS)).isInstanceOf(Held.class);
			assertThat(waiter.acquire(NO_WAIT)).isInstanceOf(Held.class);
		}
	}

	@Test
	void successorReadsTheMarkerOfACleanReleaseWhichIsGoneThen() throws Exception {
		StoreSession first = open("node-a");
		win(first);
		StoreSession second = open("node-b");
		CompletableFuture<Acquisition> waiting = waitUntilWon(second);
		assertThat(first.release(true)).isTrue();
		assertThat(waiting.get(10, TimeUnit.SECONDS)).isInstanceOfSatisfying(Won.class,
				(won) -> assertThat(won.ending()).isEqualTo(Ending.CLEAN));
		assertThat(second.confirm().predecessor()).isNull();
	}

	@Test
	void winnerIsClearOfEarlierTermsBehindAMarker() throws Exception {
		StoreSession first = open("node-a");
		assertThat(win(first).clear()).isTrue();
		StoreSession second = open("node-b");
		first.release(true);
		Won won = win(second);
		assertThat(won.ending()).isEqualTo(Ending.CLEAN);
		assertThat(won.clear()).isTrue();
		assertThat(second.confirm().predecessor()).as("the marker").startsWith("the session with pid");
		first.close();
		await().atMost(LONG).until(() -> second.confirm().predecessor() == null);
	}

	@ParameterizedTest
	@ValueSource(strings = { "SELECT pg_advisory_lock(%1$d, 12345)", "SELECT pg_advisory_xact_lock_shared(%2$d)",
			"SELECT pg_advisory_lock(%1$d, 12345), pg_advisory_lock(%1$d, -1)" })
	void winnerIsNotClearWhileSomethingOfAnEarlierTermIsLeft(String left) throws Exception {
		StoreSession winner = open("node-a");
		try (Connection connection = this.server.connect(); Statement statement = connection.createStatement()) {
			connection.setAutoCommit(false);
			statement.execute(left.formatted(this.keys.termClass(), this.keys.fence()));
			assertThat(win(winner).clear()).isFalse();
			connection.commit();
		}
		await().atMost(LONG).until(() -> winner.confirm().predecessor() == null);
		assertThat(winner.passBarrier(LONG)).isNull();
	}

	@Test
	void barrierIsFreeAgainAfterTheAcquisition() throws Exception {
		assertThat(win(open("node-a")).clear()).isTrue();
		assertThat(this.server.query("SELECT pg_try_advisory_xact_lock(" + this.keys.fence() + ")"))
			.containsExactly("t");
	}

	@Test
	void releaseLeavesNoMarkWithoutTheLock() throws Exception {
		AdvisoryLockSession first = (AdvisoryLockSession) open("node-a");
		win(first);
		try (Statement statement = first.connection().createStatement()) {
			statement.execute("SELECT pg_advisory_unlock(" + this.keys.main() + ")");
		}
		// A mark remains while a successor is expected
		open("node-b").becomeCandidate();
		first.release(true);
		assertThat(this.server.query("SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND mode = 'ExclusiveLock' "
				+ "AND (classid, objsubid) IN ((" + (this.keys.termClass() & 0xFFFFFFFFL) + ", 2))"))
			.isEmpty();
		assertThat(this.server.log().lines()).noneMatch((line) -> line.contains(first.name() + ",WARNING"));
	}

	@ParameterizedTest
	@ValueSource(booleans = { true, false })
	void releaseReturnsWhetherThereIsASuccessor(boolean clean) throws Exception {
		StoreSession first = open("node-a");
		win(first);
		StoreSession second = open("node-b");
		CompletableFuture<Acquisition> waiting = waitUntilWon(second);
		assertThat(first.release(clean)).isTrue();
		assertThat(waiting.get(10, TimeUnit.SECONDS)).isInstanceOf(Won.class);
		assertThat(second.release(clean)).as("with a candidate that does not wait").isFalse();
	}

	@Test
	void markerOfAnotherIsNoSuccessor() throws Exception {
		StoreSession first = open("node-a");
		open("node-b");
		win(first);
		try (Connection connection = this.server.connect(); Statement statement = connection.createStatement()) {
			statement.execute("SELECT pg_advisory_lock(%d, -1)".formatted(this.keys.termClass()));
			assertThat(first.release(false)).isFalse();
		}
	}

	@Test
	void answerToAnotherStatementIsNoConfirmation() throws SessionException {
		AdvisoryLockStore late = new StatementsStore(settings("node-a"), this.keys, source(this.server),
				(keys, server) -> new AdvisoryLockSql(keys, server) {

					@Override
					String confirm(Term term, long number) {
						return super.confirm(term, Math.min(number, 1));
					}

				});
		StoreSession winner = open(late);
		win(winner);
		winner.confirm();
		assertThatExceptionOfType(SessionException.class).isThrownBy(winner::confirm)
			.withMessageContaining("another statement");
	}

	@Test
	void followerReadsTheLocksOnlyNowAndThen() throws Exception {
		List<Boolean> readings = new ArrayList<>();
		AdvisoryLockStore counting = new StatementsStore(settings("node-b"), this.keys, source(this.server),
				(keys, server) -> new AdvisoryLockSql(keys, server) {

					@Override
					String acquire(long waitMillis, boolean observe, int seat, int priority,
							@Nullable Predecessor predecessor) {
						readings.add(observe);
						return super.acquire(waitMillis, observe, seat, priority, predecessor);
					}

				});
		StoreSession leader = open("node-a");
		win(leader);
		StoreSession follower = open(counting);
		Held first = (Held) follower.acquire(NO_WAIT);
		long read = System.nanoTime();
		while (System.nanoTime() - read < TimeUnit.SECONDS.toNanos(2)) {
			leader.confirm();
			assertThat(follower.acquire(Duration.ofMillis(100))).isEqualTo(first);
		}
		assertThat(readings).startsWith(true, false).filteredOn((reading) -> reading).hasSize(2);
	}

	@ParameterizedTest
	@ValueSource(strings = { "pg_advisory_lock", "pg_advisory_lock_shared" })
	void foreignSessionOnTheMainKeyIsNamedAndNoLeader(String function) throws Exception {
		StoreSession node = open("node-a");
		try (Foreign foreign = new Foreign("SELECT " + function + "(" + this.keys.main() + ")")) {
			Held first = (Held) node.acquire(NO_WAIT);
			assertThat(first.view().foreign()).as("by one reading").isNull();
			await().atMost(LONG)
				.until(() -> new ForeignHolder(foreign.description(), true, false).equals(node.observe().foreign()));
			Held second = (Held) node.acquire(NO_WAIT);
			assertThat(second.view().foreign()).isEqualTo(new ForeignHolder(foreign.description(), true, false));
			assertThat(second.view().leader()).isNull();
			assertThat(second.view().candidates()).extracting(Candidate::nodeId).containsExactly("node-a");
		}
		await().atMost(LONG).until(() -> node.observe().foreign() == null);
		win(node);
		StoreSession other = open("node-b");
		assertThat(other.observe().foreign()).isNull();
		assertThat(other.observe().leader()).isNotNull();
		assertThat(other.observe().foreign()).isNull();
	}

	@ParameterizedTest
	@ValueSource(strings = { "pg_advisory_lock", "pg_advisory_lock_shared" })
	void foreignSessionAtTheHeadOfTheQueueIsNamed(String function) throws Exception {
		StoreSession leader = open("leader");
		win(leader);
		StoreSession follower = open("follower");
		String head = "(" + this.keys.requestClass() + ", " + ElectionKeys.HEAD + ")";
		try (Foreign foreign = new Foreign("SELECT " + function + head)) {
			await().atMost(LONG)
				.until(() -> new ForeignHolder(foreign.description(), false, false)
					.equals(follower.observe().foreign()));
			leader.close();
			assertThat(follower.acquire(NO_WAIT)).isInstanceOf(Held.class);
		}
		await().atMost(LONG).until(() -> follower.acquire(NO_WAIT) instanceof Won);
	}

	@Test
	void foreignSessionOnTheFenceKeyAloneIsNamed() throws Exception {
		StoreSession leader = open("node-a");
		win(leader);
		try (Foreign foreign = new Foreign("SELECT pg_advisory_lock(" + this.keys.fence() + ")")) {
			assertThat(leader.confirm().foreign()).as("by one reading").isNull();
			await().atMost(LONG).until(() -> isNamed(leader, foreign));
			assertThat(leader.confirm().predecessor()).isNull();
		}
		await().atMost(LONG).until(() -> leader.confirm().foreign() == null);
		try (Foreign transaction = new Foreign("SELECT pg_advisory_lock_shared(" + this.keys.fence() + ")")) {
			leader.confirm();
			assertThat(leader.confirm().foreign()).as("a share, as transactions have").isNull();
		}
	}

	@Test
	void foreignSessionThatWaitsForTheFenceKeyIsNamed() throws Exception {
		StoreSession leader = open("node-a");
		win(leader);
		try (Foreign transaction = new Foreign("SELECT pg_advisory_lock_shared(" + this.keys.fence() + ")");
				Foreign foreign = new Foreign("SELECT 1")) {
			CompletableFuture<Void> waiting = foreign.runAside("SELECT pg_advisory_lock(" + this.keys.fence() + ")");
			await().atMost(LONG).until(() -> isNamed(leader, foreign));
			transaction.close();
			assertThat(waiting).succeedsWithin(LONG);
		}
	}

	@Test
	void foreignSessionWithAKeyOfATermIsNamedAsNoNode() throws Exception {
		StoreSession winner = open("node-a");
		try (Foreign foreign = new Foreign("SELECT pg_advisory_lock(" + this.keys.termClass() + ", 12345)")) {
			assertThat(win(winner).clear()).isFalse();
			assertThat(winner.confirm().predecessor()).isEqualTo("the session with pid " + foreign.pid());
			await().atMost(LONG).until(() -> isNamed(winner, foreign));
			assertThat(winner.confirm().predecessor()).startsWith("the " + foreign.description())
				.endsWith("a node of this election");
		}
		await().atMost(LONG).until(() -> winner.confirm().predecessor() == null);
	}

	private static boolean isNamed(StoreSession node, Foreign foreign) throws Exception {
		node.candidates();
		return foreign.description().equals(node.confirm().foreign());
	}

	@ParameterizedTest
	@ValueSource(strings = { "pg_advisory_lock", "pg_advisory_lock_shared" })
	void sessionThatHoldsUpTheBarrierIsNamed(String function) throws Exception {
		StoreSession winner = open("node-a");
		try (Foreign foreign = new Foreign("SELECT " + function + "(" + this.keys.fence() + ")")) {
			assertThat(win(winner).clear()).isFalse();
			assertThat(winner.passBarrier(Duration.ofMillis(20)))
				.isEqualTo("the transaction of the " + foreign.description());
		}
		await().atMost(LONG).until(() -> winner.passBarrier(NO_WAIT) == null);
	}

	@Test
	void waitFollowsTheSettingsOfTheServer() throws Exception {
		StoreSession leader = open("node-a");
		win(leader);
		AdvisoryLockSession waiter = (AdvisoryLockSession) open("node-b");
		for (String setting : List.of("deadlock_timeout = '250ms'", "log_min_duration_statement = '200ms'",
				"log_min_duration_sample = '150ms'")) {
			execute(waiter.connection(), "SET " + setting);
			await().atMost(LONG).until(() -> millisOfWait(leader, waiter) < 500);
			execute(waiter.connection(), "RESET " + setting.split(" ")[0]);
			await().atMost(LONG).until(() -> millisOfWait(leader, waiter) > 700);
		}
	}

	@Test
	void shortWaitsAreFewEnough() throws Exception {
		win(open("node-a"));
		AdvisoryLockSession waiter = (AdvisoryLockSession) open("node-b");
		execute(waiter.connection(), "SET log_min_duration_statement = '25ms'");
		waiter.observe();
		long start = System.nanoTime();
		for (int i = 0; i < 10; i++) {
			waiter.acquire(LONG);
		}
		assertThat(Duration.ofNanos(System.nanoTime() - start)).isGreaterThan(Duration.ofMillis(990));
	}

	@Test
	void leaderWaitsForAStandbyThatIsBetweenTwoShortWaits() throws Exception {
		AdvisoryLockSession leader = (AdvisoryLockSession) open("node-a");
		AdvisoryLockSession waiter = (AdvisoryLockSession) open("node-b");
		for (AdvisoryLockSession session : List.of(leader, waiter)) {
			execute(session.connection(), "SET log_min_duration_statement = '25ms'");
			session.observe();
		}
		int tries = 1;
		while (!isWaitedFor(leader, waiter)) {
			// One of their threads was not run for longer than the other waits
			assertThat(tries++).isLessThan(MOST_TRIES);
		}
	}

	private static boolean isWaitedFor(StoreSession leader, StoreSession waiter) throws Exception {
		win(leader);
		Thread standby = Thread.currentThread();
		CompletableFuture<Boolean> released = CompletableFuture.supplyAsync(() -> {
			try {
				long limit = System.nanoTime() + LONG.toNanos();
				while (standby.getState() != Thread.State.TIMED_WAITING && System.nanoTime() - limit < 0) {
					Thread.onSpinWait();
				}
				return leader.release(true);
			}
			catch (SessionException ex) {
				throw new IllegalStateException(ex);
			}
		});
		boolean won = waiter.acquire(LONG) instanceof Won;
		boolean succeeded = released.get(10, TimeUnit.SECONDS);
		if (won) {
			waiter.release(true);
		}
		return won && succeeded;
	}

	private static long millisOfWait(StoreSession leader, StoreSession waiter) throws SessionException {
		leader.confirm();
		long start = System.nanoTime();
		assertThat(waiter.acquire(LONG)).isInstanceOf(Held.class);
		return Duration.ofNanos(System.nanoTime() - start).toMillis();
	}

	private static void execute(Connection connection, String text) throws SQLException {
		try (Statement statement = connection.createStatement()) {
			statement.execute(text);
		}
	}

	@Test
	void requestOfAForeignSessionIsNamedAndDoesNotCount() throws Exception {
		StoreSession leader = open("node-a");
		Term term = win(leader).term();
		try (Foreign foreign = new Foreign("SELECT pg_advisory_lock_shared(%d, %d)".formatted(this.keys.requestClass(),
				ElectionKeys.termObject(term.timeline(), term.transactionId())))) {
			assertThat(leader.confirm().requested()).isFalse();
			await().atMost(LONG).until(() -> isNamed(leader, foreign));
			assertThat(leader.confirm().requested()).isFalse();
		}
	}

	@ParameterizedTest
	@CsvSource({ "55000, wal_level must be set to logical", "0A000, not supported" })
	void serverWithoutTimelinesHasNone(String state, String message) throws Exception {
		this.server.execute("""
				CREATE SCHEMA IF NOT EXISTS aurora;
				CREATE OR REPLACE FUNCTION aurora.pg_current_wal_lsn() RETURNS pg_lsn LANGUAGE plpgsql AS $$
				BEGIN RAISE EXCEPTION SQLSTATE '%s' USING MESSAGE = '%s'; END $$;
				""".formatted(state, message));
		AdvisoryLockStore without = aurora("pg_catalog.pg_is_in_recovery()");
		Won won = win(open(without));
		assertThat(won.term().timeline()).isZero();
		assertThat(won.clear()).isTrue();
		assertThat(open("node-b").observe().leader()).isNotNull().extracting(Holder::term).isEqualTo(won.term());
	}

	@Test
	void standbyIsNotTakenForAServerWithoutTimelines() {
		this.server.execute("""
				CREATE SCHEMA IF NOT EXISTS aurora;
				CREATE OR REPLACE FUNCTION aurora.pg_current_wal_lsn() RETURNS pg_lsn LANGUAGE plpgsql AS $$
				BEGIN RAISE EXCEPTION SQLSTATE '55000' USING MESSAGE = 'recovery is in progress'; END $$;
				""");
		AdvisoryLockStore standby = aurora("true");
		assertThatExceptionOfType(SessionException.class).isThrownBy(standby::open)
			.withMessageContaining("recovery is in progress");
	}

	/**
	 * A server that does not reveal its timeline.
	 */
	private AdvisoryLockStore aurora(String inRecovery) {
		return new StatementsStore(settings("node-a"), this.keys, source(this.server),
				(keys, server) -> new AdvisoryLockSql(keys, server) {

					@Override
					String acquire(long waitMillis, boolean observe, int seat, int priority,
							@Nullable Predecessor predecessor) {
						return auroraSql(super.acquire(waitMillis, observe, seat, priority, predecessor));
					}

				}) {

			@Override
			String timelines() {
				String text = auroraSql(ServerInspection.TIMELINES);
				assertThat(text).contains("aurora.").contains("pg_catalog.pg_is_in_recovery()");
				return text.replace("pg_catalog.pg_is_in_recovery()", inRecovery);
			}

		};
	}

	private static String auroraSql(String text) {
		return text.replace("pg_catalog.pg_current_wal_lsn()", "aurora.pg_current_wal_lsn()");
	}

	@Test
	void connectionIsNotLeakedWhenOpeningFails() throws Exception {
		List<Connection> opened = new ArrayList<>();
		AdvisoryLockStore failing = new StatementsStore(settings("node-a"), this.keys, (properties) -> {
			Connection connection = source(this.server).connect(properties);
			opened.add(connection);
			return connection;
		}, (keys, server) -> {
			throw new OutOfMemoryError("Seeded");
		});
		assertThatExceptionOfType(OutOfMemoryError.class).isThrownBy(failing::open);
		assertThat(opened).hasSize(1);
		await().atMost(LONG).until(opened.get(0)::isClosed);
	}

	@Test
	void nodeIsACandidateUntilItWithdrawsAlsoAfterRepeatedCalls() throws SessionException {
		StoreSession first = open("node-a");
		StoreSession second = sessions(this.server, "node-b").open();
		this.sessions.add(second);
		assertThat(first.observe().candidates()).hasSize(1);
		second.withdraw();
		second.becomeCandidate();
		second.becomeCandidate();
		assertThat(first.observe().candidates()).hasSize(2);
		second.withdraw();
		second.withdraw();
		assertThat(first.observe().candidates()).hasSize(1);
		assertThat(this.server.query("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND classid = "
				+ (this.keys.observerClass() & 0xFFFFFFFFL) + " AND mode = 'ShareLock' AND objid = "
				+ ElectionKeys.OBSERVER))
			.containsExactly("1");
	}

	@Test
	void releaseThatIsNotCleanLeavesNoMark() throws Exception {
		StoreSession first = open("node-a");
		win(first);
		StoreSession second = open("node-b");
		CompletableFuture<Acquisition> waiting = waitUntilWon(second);
		first.release(false);
		assertThat(waiting.get(10, TimeUnit.SECONDS)).isInstanceOfSatisfying(Won.class,
				(won) -> assertThat(won.ending()).isNotEqualTo(Ending.CLEAN));
		assertThat(second.confirm().predecessor()).isNull();
	}

	@Test
	void releaseDoesNotWaitLongForACandidateThatDoesNotCome() throws Exception {
		StoreSession first = open("node-a");
		win(first);
		open("node-b");
		long start = System.nanoTime();
		assertThat(first.release(true)).isFalse();
		assertThat(Duration.ofNanos(System.nanoTime() - start)).isLessThan(Duration.ofSeconds(3));
	}

	/**
	 * A second cancel may arrive when the first has ended the wait: the statement is then
	 * run again.
	 */
	@ParameterizedTest
	@ValueSource(ints = { 1, 2 })
	void cancelWhileAReleaseWaitsForASuccessorIsNoFailure(int cancels) throws Exception {
		StoreSession first = open(patient("node-a"));
		win(first);
		open("node-b");
		CompletableFuture<Boolean> release = releaseInterruptedBy(
				String.join(", ", Collections.nCopies(cancels, "pg_cancel_backend(pid)")), first);
		assertThat(release).succeedsWithin(LONG).isEqualTo(false);
		first.close();
		await().atMost(LONG).untilAsserted(() -> assertThat(heldAlone()).isEmpty());
		assertThat(this.server.log().lines().filter((line) -> line.contains(first.name() + ",ERROR")))
			.hasSizeLessThan(cancels);
	}

	@Test
	void releaseThatIsRunAgainRemovesItsMark() throws Exception {
		AtomicInteger releases = new AtomicInteger();
		AdvisoryLockStore cancelling = new StatementsStore(settings("node-a"), this.keys, source(this.server),
				(keys, server) -> new AdvisoryLockSql(keys, server) {

					@Override
					String release(Term term, boolean clean, long idleMillis, long waitMillis) {
						String text = super.release(term, clean, idleMillis, waitMillis);
						assertThat(text).contains("until :=");
						return (releases.getAndIncrement() > 0) ? text : text.replace("until :=",
								"PERFORM pg_cancel_backend(pg_backend_pid()), pg_sleep(10); until :=");
					}

				});
		StoreSession session = open(cancelling);
		win(session);
		session.release(true);
		assertThat(releases).hasValue(2);
		assertThat(heldAlone()).isEmpty();
	}

	@Test
	void endOfTheSessionWhileAReleaseWaitsForASuccessorLeavesNoLock() throws Exception {
		StoreSession first = open(patient("node-a"));
		win(first);
		open("node-b");
		CompletableFuture<Boolean> release = releaseInterruptedBy("pg_terminate_backend(pid)", first);
		assertThat(release).failsWithin(LONG);
		await().atMost(LONG).untilAsserted(() -> assertThat(heldAlone()).isEmpty());
	}

	/**
	 * Numbers in statements have the digits of no locale.
	 */
	@Test
	void localeWithOtherDigits() throws Exception {
		Locale before = Locale.getDefault();
		Locale.setDefault(Locale.forLanguageTag("ar-EG-u-nu-arab"));
		try {
			assertThat("%d".formatted(1)).isNotEqualTo("1");
			StoreSession session = open("node-a");
			Won won = win(session);
			assertThat(session.confirm().predecessor()).isNull();
			assertThat(session.passBarrier(Duration.ofMillis(100))).isNull();
			assertThat(session.observe().candidates()).hasSize(1);
			FutureTask<Void> request = request("node-b", won.term(), "test", LONG);
			await().until(() -> session.confirm().requested());
			session.release(true);
			request.get(5, TimeUnit.SECONDS);
			session.withdraw();
			assertThat(sessions(this.server, "node-b").watch(false).view().leader()).isNull();
		}
		finally {
			Locale.setDefault(before);
		}
	}

	/**
	 * Begin a release, which waits for two seconds. The observer has its connection
	 * before.
	 */
	/**
	 * Start a release and signal its session while it waits. The statement that finds the
	 * wait also signals, since the wait is a sequence of short sleeps.
	 */
	private CompletableFuture<Boolean> releaseInterruptedBy(String signal, StoreSession session) throws SQLException {
		try (Connection connection = this.server.connect(); Statement observer = connection.createStatement()) {
			CompletableFuture<Boolean> release = CompletableFuture.supplyAsync(() -> {
				try {
					return session.release(true);
				}
				catch (SessionException ex) {
					throw new IllegalStateException(ex);
				}
			});
			await().atMost(LONG)
				.pollDelay(Duration.ZERO)
				.pollInterval(Duration.ofMillis(5))
				.until(() -> observer
					.executeQuery("SELECT " + signal
							+ " FROM pg_stat_activity WHERE wait_event = 'PgSleep' AND application_name = '"
							+ session.name() + "'")
					.next());
			return release;
		}
	}

	private List<String> heldAlone() throws SQLException {
		return this.server.query("SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND mode = 'ExclusiveLock' "
				+ "AND classid IN (" + (this.keys.termClass() & 0xFFFFFFFFL) + ", " + (this.keys.main() >>> 32) + ")");
	}

	@Test
	void releaseWithoutCandidatesDoesNotWait() throws Exception {
		StoreSession only = open(patient("node-a"));
		win(only);
		long start = System.nanoTime();
		only.release(true);
		assertThat(Duration.ofNanos(System.nanoTime() - start)).isLessThan(Duration.ofMillis(1900));
	}

	/**
	 * Sessions whose releases wait ten times as long, so that a test on a busy machine
	 * can tell whether they do.
	 */
	private AdvisoryLockStore patient(String node) {
		return new StatementsStore(settings(node), this.keys, source(this.server),
				(keys, server) -> new AdvisoryLockSql(keys, server) {

					@Override
					String release(Term term, boolean clean, long idleMillis, long waitMillis) {
						return super.release(term, clean, idleMillis, 10 * waitMillis);
					}

				});
	}

	@Test
	void predecessorIsTheHolderOfAKeyOfAnotherTermButNotOfAShare() throws Exception {
		StoreSession winner = open("node-a");
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
		StoreSession winner = open("node-a");
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
	void probeFailsWhenTheServerHasEndedTheSession() throws Exception {
		StoreSession winner = open("node-a");
		win(winner);
		assertThat(winner.probe(Duration.ZERO)).isPositive();
		this.server.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = '"
				+ new SessionNames(this.election).of("node-a") + "'");
		Awaitility.await()
			.atMost(LONG)
			.untilAsserted(() -> assertThatExceptionOfType(SessionException.class)
				.isThrownBy(() -> winner.probe(Duration.ZERO)));
	}

	@Test
	void silentSessionIsEndedByTheServerAfterTheLease() throws Exception {
		StoreSession silent = open("node-a");
		win(silent);
		StoreSession second = open("node-b");
		Awaitility.await().atMost(LONG).until(() -> second.acquire(Duration.ofMillis(500)) instanceof Won);
	}

	@Test
	void settingsOfTheSessionAreMadeBeforeItIsACandidate() throws Exception {
		Connection connection = ((AdvisoryLockSession) open("node-a")).connection();
		assertThat(show(connection, "idle_session_timeout")).isEqualTo("3s");
		assertThat(show(connection, "idle_in_transaction_session_timeout")).isEqualTo("3s");
		assertThat(show(connection, "synchronous_commit")).isEqualTo("local");
		assertThat(show(connection, "default_transaction_read_only")).isEqualTo("off");
		assertThat(show(connection, "client_connection_check_interval")).isEqualTo("600ms");
		assertThat(show(connection, "application_name")).startsWith("leader-election electi~").endsWith(" node-a");
	}

	@Test
	@Tag("ring2")
	void termsIncreaseAcrossACrashOfTheServer() throws Exception {
		try (PostgreSqlServer own = PostgreSqlServer.start()) {
			Won before = win(open(sessions(own, "node-a")));
			for (int i = 0; i < 5; i++) {
				before = win(new AdvisoryLockStore(settings("node-" + i), ElectionKeys.derive("test", "other-" + i), 0,
						false, source(own), null)
					.open());
			}
			own.stop("immediate");
			own.startAgain();
			Won after = win(open(sessions(own, "node-b")));
			assertThat(after.term()).isGreaterThan(before.term());
		}
	}

	private CompletableFuture<Acquisition> waitInQueue(StoreSession session) {
		return awaitInQueue(() -> session.acquire(Duration.ofMillis(800)));
	}

	/**
	 * Wait again if a wait has ended before the test has gone on.
	 */
	private CompletableFuture<Acquisition> waitUntilWon(StoreSession session) {
		long limit = System.nanoTime() + LONG.toNanos();
		return awaitInQueue(() -> {
			Acquisition acquisition = session.acquire(Duration.ofMillis(800));
			while (acquisition instanceof Held && System.nanoTime() - limit < 0) {
				acquisition = session.acquire(Duration.ofMillis(800));
			}
			return acquisition;
		});
	}

	private CompletableFuture<Acquisition> awaitInQueue(Callable<Acquisition> wait) {
		CompletableFuture<Acquisition> waiting = CompletableFuture.supplyAsync(() -> {
			try {
				return wait.call();
			}
			catch (Exception ex) {
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
		return Jdbc.query(connection, "SHOW " + setting, (row) -> row.getString(1));
	}

	private static Won win(StoreSession session) throws SessionException {
		return (Won) session.acquire(NO_WAIT);
	}

	private StoreSession open(String node) throws SessionException {
		return open(sessions(this.server, node));
	}

	private StoreSession open(AdvisoryLockStore sessions) throws SessionException {
		StoreSession session = sessions.open();
		this.sessions.add(session);
		session.becomeCandidate();
		return session;
	}

	private AdvisoryLockStore sessions(PostgreSqlServer on, String node) {
		return new AdvisoryLockStore(settings(node), this.keys, 0, false, source(on), null);
	}

	private ElectionSettings settings(String node) {
		return new ElectionSettings(this.election, node, Duration.ofSeconds(3), Duration.ZERO, Duration.ofSeconds(1),
				true);
	}

	private static ConnectionSource source(PostgreSqlServer server) {
		return server::connect;
	}

	/**
	 * A session of an application without elections.
	 */
	private final class Foreign implements AutoCloseable {

		private final Connection connection;

		Foreign(String statement) throws SQLException {
			this.connection = AdvisoryLockSessionTests.this.server.connect();
			execute("SET application_name = 'psql'");
			execute(statement);
		}

		private void execute(String text) throws SQLException {
			try (Statement statement = this.connection.createStatement()) {
				statement.execute(text);
			}
		}

		CompletableFuture<Void> runAside(String text) {
			return CompletableFuture.runAsync(() -> {
				try {
					execute(text);
				}
				catch (SQLException ex) {
					throw new IllegalStateException(ex);
				}
			});
		}

		int pid() throws SQLException {
			return this.connection.unwrap(PGConnection.class).getBackendPID();
		}

		String description() throws SQLException {
			return "session with pid " + pid() + " ('psql', role '" + AdvisoryLockSessionTests.this.server.username()
					+ "')";
		}

		@Override
		public void close() throws SQLException {
			this.connection.close();
		}

	}

}
