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
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.IntStream;

import io.leaderelection.Term;
import io.leaderelection.engine.ElectionSettings;
import io.leaderelection.engine.ElectionStore;
import io.leaderelection.engine.Platform;
import io.leaderelection.engine.SessionException;
import io.leaderelection.engine.StoreSession;
import io.leaderelection.engine.StoreSession.Acquisition;
import io.leaderelection.engine.StoreSession.Acquisition.Ending;
import io.leaderelection.engine.StoreSession.Acquisition.Held;
import io.leaderelection.engine.StoreSession.Acquisition.Won;
import io.leaderelection.engine.StoreSession.Candidate;
import io.leaderelection.engine.StoreSession.ForeignHolder;
import io.leaderelection.engine.StoreSession.Holder;
import io.leaderelection.engine.TransactionFence;
import io.leaderelection.engine.TransactionFence.Verdict;
import io.leaderelection.engine.UnusableStoreException;
import io.leaderelection.postgresql.LeaseTable.Node;
import io.leaderelection.postgresql.LeaseTableFence.Home;
import io.leaderelection.postgresql.LeaseTableSql.Identity;
import io.leaderelection.postgresql.LeaseTableSql.Renewal;
import io.leaderelection.testsupport.Daemon;
import io.leaderelection.testsupport.PostgreSqlServer;
import io.leaderelection.testsupport.TcpProxy;
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
 * Tests for {@link LeaseTable} and its sessions on a real server.
 */
@Tag("ring1")
class LeaseTableTests {

	private static final Duration NO_WAIT = Duration.ofMillis(1);

	private static final Duration LIMIT = Duration.ofSeconds(10);

	private static final Duration LEASE = Duration.ofSeconds(1);

	/** The server ends transactions that are idle behind the fence for that long. */
	private static final Duration LONG_LEASE = Duration.ofSeconds(3);

	private final PostgreSqlServer server = PostgreSqlServer.shared();

	private final String election = "election-" + UUID.randomUUID();

	private final String key = "test:" + this.election;

	private final ElectionKeys keys = ElectionKeys.derive("test", this.election);

	private final List<StoreSession> sessions = new ArrayList<>();

	private final List<Connection> connections = new ArrayList<>();

	@AfterEach
	void closeSessions() throws SQLException {
		for (Connection connection : this.connections) {
			connection.close();
		}
		this.sessions.forEach(StoreSession::abort);
		this.server.execute("DROP TABLE IF EXISTS shape, shape_fence, shape_candidate, doctor");
		this.server.execute("DROP SCHEMA IF EXISTS infra CASCADE");
	}

	@Test
	void firstSessionWinsAndSecondReadsTheLeader() throws SessionException {
		StoreSession first = open("node-a");
		Won won = win(first);
		assertThat(won.ending()).isEqualTo(Ending.CLEAN);
		assertThat(won.clear()).isTrue();
		assertThat(won.term().timeline()).isOne();
		assertThat(first.confirm().predecessor()).isNull();
		StoreSession second = open("node-b");
		Held held = (Held) second.acquire(NO_WAIT);
		Holder leader = held.view().leader();
		assertThat(leader).isNotNull();
		assertThat(leader.nodeId()).isEqualTo("node-a");
		assertThat(leader.term()).isEqualTo(won.term());
		assertThat(leader.since()).isCloseTo(Instant.now(), within(1, ChronoUnit.MINUTES));
		assertThat(leader.session()).isEqualTo(first.name());
		assertThat(held.view().candidates()).extracting(Candidate::nodeId).containsExactly("node-a", "node-b");
	}

	/**
	 * Numbers in statements have the digits of no locale.
	 */
	@Test
	void localeWithOtherDigits() throws SessionException {
		Locale before = Locale.getDefault();
		Locale.setDefault(Locale.forLanguageTag("ar-EG-u-nu-arab"));
		try {
			assertThat("%d".formatted(1)).isNotEqualTo("1");
			StoreSession first = open("node-a");
			Won won = win(first);
			assertThat(first.confirm().predecessor()).isNull();
			assertThat(first.passBarrier(NO_WAIT)).isNull();
			StoreSession second = open("node-b");
			assertThat(second.acquire(NO_WAIT)).isInstanceOf(Held.class);
			((LeaseTableSession) second).requestResignation(won.term(), NO_WAIT);
			first.release(true);
			await().until(() -> second.acquire(NO_WAIT) instanceof Won);
		}
		finally {
			Locale.setDefault(before);
		}
	}

	@Test
	void rowTellsWhoLeads() throws SessionException {
		StoreSession first = open("node-a");
		Won won = win(first);
		first.confirm();
		assertThat(row("concat_ws(' ', term, timeline, holder, host, pid, lease)"))
			.isEqualTo("%d 1 node-a host-1 4711 1000".formatted(won.term().transactionId()));
		assertThat(this.server.query("SELECT term FROM leader_election_fence WHERE election = '" + this.key + "'"))
			.containsExactly(String.valueOf(won.term().transactionId()));
		assertThat(row("heartbeat >= since AND heartbeat > now() - interval '1 minute'")).isEqualTo("t");
	}

	@Test
	void expiredLeaseIsTakenOverNoEarlierThanItExpires() throws SessionException {
		StoreSession first = open("node-a");
		Won won = win(first);
		long start = System.nanoTime();
		first.confirm();
		StoreSession second = open("node-b");
		Won takeover = awaitWon(second);
		assertThat(elapsed(start)).isBetween(LEASE, LEASE.plusSeconds(5));
		assertThat(takeover.term()).isGreaterThan(won.term());
		assertThat(takeover.clear()).isTrue();
		assertThatExceptionOfType(SessionException.class).isThrownBy(first::confirm)
			.withMessageContaining("The term has ended: node 'node-b' holds the lease in the term " + takeover.term());
		second.confirm();
	}

	@Test
	void renewedLeaseIsNotTakenOver() throws SessionException {
		StoreSession first = open("node-a", LONG_LEASE);
		win(first);
		StoreSession second = open("node-b", LONG_LEASE);
		long start = System.nanoTime();
		while (elapsed(start).compareTo(LONG_LEASE.multipliedBy(2)) < 0) {
			first.confirm();
			assertThat(second.acquire(Duration.ofMillis(100))).isInstanceOf(Held.class);
		}
	}

	@Test
	void beatIsCountedByTheHolderSoThatALostRenewalIsNoticed() throws SessionException {
		StoreSession first = open("node-a");
		win(first);
		first.confirm();
		first.confirm();
		// As if renewals had been lost
		this.server.execute("UPDATE leader_election SET beat = 0 WHERE election = '" + this.key + "'");
		first.confirm();
		assertThat(row("beat")).isEqualTo("3");
	}

	@Test
	void lateRenewalDoesNotTakeTheBeatBack() throws Exception {
		StoreSession first = open("node-a");
		Won won = win(first);
		first.confirm();
		first.confirm();
		LeaseTableConnection late = connector("node-a").connect();
		this.connections.add(late.connection());
		LeaseRow answer = late
			.round(List.of(this.key),
					List.of(new Renewal(this.key, won.term().transactionId(), ((LeaseTableSession) first).token(), 1)))
			.get(this.key);
		assertThat(answer.renewed()).isFalse();
		assertThat(row("beat")).isEqualTo("2");
	}

	@Test
	void beatThatAnotherSessionHasRaisedEndsTheTerm() throws SessionException {
		StoreSession first = open("node-a");
		win(first);
		first.confirm();
		this.server.execute("UPDATE leader_election SET beat = 1000 WHERE election = '" + this.key + "'");
		assertThatExceptionOfType(SessionException.class).isThrownBy(first::confirm)
			.withMessage("Another session has changed the beat of the row to 1000");
		assertThat(row("beat")).isEqualTo("1000");
	}

	@Test
	@Tag("ring2")
	void renewalSurvivesACrashOfTheServer() throws SessionException {
		// Nothing but a flush of its own brings it to the disk within this time
		try (PostgreSqlServer own = PostgreSqlServer.start("wal_writer_delay=10000ms", "synchronous_commit=off")) {
			LeaseTable table = new LeaseTable(own::connect, node("node-a"), LeaseTableSql.DEFAULT_TABLE, true, LEASE);
			StoreSession session = open(table, this.election, LEASE);
			win(session);
			for (int i = 0; i < 3; i++) {
				session.confirm();
			}
			own.stop("immediate");
			own.startAgain();
			assertThat(own.query("SELECT beat FROM leader_election")).containsExactly("3");
			session.abort();
		}
	}

	@Test
	void rowIsNotTakenOverOnAServerThatWasPromotedSinceItWasRead() throws Exception {
		StoreSession first = open("node-a");
		win(first);
		LeaseTableConnection opened = connector("node-b").connect();
		this.connections.add(opened.connection());
		LeaseRow read = opened.round(List.of(this.key), List.of()).get(this.key);
		LeaseRow before = new LeaseRow(read.election(), read.term(), read.timeline(), read.serverTimeline() - 1,
				read.beat(), read.leaseMillis(), read.holder(), read.token(), read.since(), 0, false);
		Identity identity = new Identity("node-b", UUID.randomUUID(), LEASE.toMillis(), "host-1", 4711);
		for (LeaseRow row : List.of(before, read)) {
			long term = Jdbc.query(opened.connection(), opened.sql().takeOver(row, this.keys, identity),
					(taken) -> taken.getLong("term"));
			assertThat(term != 0).isEqualTo(row == read);
		}
	}

	@Test
	void takeoverRequiresTheBeatThatWasObserved() throws Exception {
		StoreSession first = open("node-a");
		win(first);
		first.confirm();
		LeaseTableConnection opened = connector("node-b").connect();
		this.connections.add(opened.connection());
		LeaseRow observed = opened.round(List.of(this.key), List.of()).get(this.key);
		first.confirm();
		Identity identity = new Identity("node-b", UUID.randomUUID(), LEASE.toMillis(), "host-1", 4711);
		assertThat(Jdbc.<Long>query(opened.connection(), opened.sql().takeOver(observed, this.keys, identity),
				(taken) -> taken.getLong("term")))
			.isZero();
		first.confirm();
	}

	@Test
	void timeUntilATakeoverCountsFromTheReplyThatHasShownTheRow() throws SessionException {
		StoreSession first = open("node-a");
		win(first);
		first.confirm();
		try (TcpProxy proxy = new TcpProxy(this.server)) {
			LeaseTable table = table("node-b", proxy.port(), LEASE);
			StoreSession other = open(table, this.election + "-2", LEASE);
			Duration delay = LEASE.dividedBy(4);
			proxy.delay(Duration.ZERO, delay);
			long request = System.nanoTime();
			StoreSession second = open(table, this.election, LEASE);
			proxy.delay(Duration.ZERO, Duration.ZERO);
			awaitWon(second);
			assertThat(elapsed(request)).isGreaterThan(LEASE.plus(delay));
			other.abort();
		}
	}

	@Test
	@Tag("ring2")
	void lastRenewalOfAHolderWithALongerLeaseCounts() throws SessionException {
		StoreSession first = open("node-a", LEASE.multipliedBy(3));
		win(first);
		long start = System.nanoTime();
		first.confirm();
		awaitWon(open("node-b"));
		assertThat(elapsed(start)).isGreaterThan(LEASE.multipliedBy(3));
	}

	@Test
	void releasedLeaseIsTakenOverAtOnce() throws SessionException {
		StoreSession first = open("node-a", Duration.ofSeconds(30));
		Won won = win(first);
		first.confirm();
		StoreSession second = open("node-b", Duration.ofSeconds(30));
		// A notice ends this wait, since nothing is between
		CompletableFuture<Acquisition> takeover = CompletableFuture
			.supplyAsync(() -> acquireUnchecked(second, Duration.ofSeconds(25)));
		first.release(true);
		Acquisition next = takeover.orTimeout(10, TimeUnit.SECONDS).join();
		assertThat(next).isInstanceOf(Won.class);
		assertThat(((Won) next).term()).isGreaterThan(won.term());
		assertThatExceptionOfType(SessionException.class).isThrownBy(first::confirm);
	}

	@Test
	void leaseIsReleasedOnAnotherConnectionIfItsConnectionHasEnded() throws SessionException {
		StoreSession session = open("node-a", Duration.ofSeconds(30));
		win(session);
		session.confirm();
		assertThat(this.server.query("SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity "
				+ "WHERE application_name = 'leader-election table node-a'"))
			.isNotEmpty();
		session.release(true);
		assertThat(row("token IS NULL")).isEqualTo("t");
	}

	@Test
	void ownLeaseIsTakenOverAtOnceByTheNextSessionOfTheSameNode() throws SessionException {
		LeaseTable table = table("node-a", this.server.port(), Duration.ofSeconds(30));
		StoreSession other = open(table, "other", Duration.ofSeconds(30));
		StoreSession first = open(table, this.election, Duration.ofSeconds(30));
		win(first);
		first.abort();
		StoreSession second = open(table, this.election, Duration.ofSeconds(30));
		assertThat(win(second).term().transactionId()).isPositive();
		other.close();
	}

	@Test
	void requestEndsOnlyTheTermThatItNamesAndNotForEver() throws Exception {
		StoreSession first = open("node-a");
		Won won = win(first);
		first.confirm();
		StoreSession second = open("node-b");
		second.observe();
		((LeaseTableSession) second).requestResignation(new Term(0, 1, won.term().transactionId() - 1), LIMIT);
		assertThat(confirmTwice(first)).isFalse();
		FutureTask<Void> request = request(second, won.term(), Duration.ofSeconds(2));
		await().until(() -> confirmTwice(first));
		get(request);
		assertThat(confirmTwice(first)).isFalse();
	}

	@Test
	void requestLastsAsLongAsTheTerm() throws Exception {
		StoreSession first = open("node-a");
		Won won = win(first);
		first.confirm();
		StoreSession second = open("node-b");
		second.observe();
		FutureTask<Void> request = request(second, won.term(), LIMIT);
		await().until(() -> confirmTwice(first));
		first.release(true);
		second.observe();
		get(request);
	}

	private static FutureTask<Void> request(StoreSession session, Term term, Duration limit) {
		FutureTask<Void> request = new FutureTask<>(() -> {
			((LeaseTableSession) session).requestResignation(term, limit);
			return null;
		});
		Daemon.start("request", request);
		return request;
	}

	private static void get(FutureTask<Void> task) throws Exception {
		task.get(10, TimeUnit.SECONDS);
	}

	@Test
	void requestFailsWhileAnotherSessionLocksTheRow() throws Exception {
		StoreSession first = open("node-a");
		Won won = win(first);
		StoreSession second = open("node-b");
		Connection foreign = connect();
		foreign.setAutoCommit(false);
		execute(foreign, "SELECT FROM leader_election WHERE election = '" + this.key + "' FOR NO KEY UPDATE");
		assertThatExceptionOfType(SessionException.class)
			.isThrownBy(() -> ((LeaseTableSession) second).requestResignation(won.term(), LIMIT))
			.withMessage("The row of the election is locked by another session");
		foreign.rollback();
		FutureTask<Void> request = request(second, won.term(), LIMIT);
		await().until(() -> confirmTwice(first));
		first.release(true);
		second.observe();
		get(request);
	}

	// The answer to a renewal has the columns from before
	private static boolean confirmTwice(StoreSession session) throws SessionException {
		session.confirm();
		return session.confirm().requested();
	}

	@Test
	@Tag("ring2")
	void candidateThatLeavesDisappears() throws SessionException {
		StoreSession first = open("node-a");
		win(first);
		StoreSession second = open("node-b");
		second.acquire(NO_WAIT);
		await().atMost(Duration.ofSeconds(10)).until(() -> {
			first.confirm();
			return first.candidates().size() == 2;
		});
		second.close();
		await().atMost(Duration.ofSeconds(10)).until(() -> {
			first.confirm();
			return first.candidates().size() == 1;
		});
	}

	@Test
	void deadCandidateDisappears() throws SessionException {
		open("node-a").acquire(NO_WAIT);
		this.server.execute("INSERT INTO leader_election_candidate VALUES (gen_random_uuid(), 'dead', ARRAY['"
				+ this.key + "'], now() - interval '11s')");
		StoreSession second = open("node-b");
		await().atMost(Duration.ofSeconds(5))
			.untilAsserted(() -> assertThat(second.observe().candidates()).extracting(Candidate::nodeId)
				.containsExactly("node-a", "node-b"));
	}

	/**
	 * Nodes learn of the other candidates when they are registered again.
	 */
	@Test
	@Tag("ring2")
	void onlyTheFirstCandidatesBesidesTheLeaderAreStandbys() throws SessionException {
		List<StoreSession> opened = new ArrayList<>();
		for (String node : List.of("node-c", "node-a", "node-f", "node-e", "node-b", "node-d")) {
			StoreSession session = open(node, Duration.ofMinutes(1));
			assertThat(session.isStandby()).isTrue();
			opened.add(session);
			session.acquire(NO_WAIT);
		}
		StoreSession leader = opened.get(0);
		awaitStandbys(leader, opened, "node-a", "node-b", "node-c", "node-d");
		opened.get(1).close();
		opened.remove(1);
		awaitStandbys(leader, opened, "node-b", "node-c", "node-d", "node-e");
	}

	private static void awaitStandbys(StoreSession leader, List<StoreSession> opened, String... expected) {
		await().atMost(Duration.ofSeconds(30)).untilAsserted(() -> {
			leader.confirm();
			for (StoreSession session : opened) {
				if (session != leader) {
					assertThat(session.acquire(NO_WAIT)).isInstanceOf(Held.class);
				}
			}
			assertThat(opened.stream()
				.filter(StoreSession::isStandby)
				.map((session) -> session.name().substring(session.name().lastIndexOf(' ') + 1)))
				.containsExactlyInAnyOrder(expected);
		});
	}

	@Test
	void rowOfADeletedHolderIsNotTakenOverBeforeItsLeaseExpires() throws SessionException {
		StoreSession first = open("node-a");
		win(first);
		first.confirm();
		StoreSession second = open("node-b");
		assertThat(second.acquire(NO_WAIT)).isInstanceOf(Held.class);
		this.server.execute("DELETE FROM leader_election WHERE election = '" + this.key + "'");
		long start = System.nanoTime();
		assertThatExceptionOfType(SessionException.class).isThrownBy(first::confirm);
		awaitWon(second);
		assertThat(elapsed(start)).isGreaterThan(LEASE.minusMillis(10));
	}

	@Test
	void lockedRowDelaysItsOwnElectionOnly() throws Exception {
		LeaseTable table = table("node-a", this.server.port(), LONG_LEASE);
		StoreSession first = open(table, this.election, LONG_LEASE);
		win(first);
		first.confirm();
		StoreSession other = open(table, this.election + "-2", LONG_LEASE);
		win(other);
		other.confirm();
		Connection foreign = connect();
		foreign.setAutoCommit(false);
		execute(foreign, "SELECT FROM leader_election WHERE election = '" + this.key + "' FOR UPDATE");
		CompletableFuture<Void> confirmed = CompletableFuture.runAsync(() -> confirmUnchecked(first));
		long start = System.nanoTime();
		for (int i = 0; i < 5; i++) {
			other.confirm();
		}
		assertThat(elapsed(start)).isLessThan(LONG_LEASE);
		assertThat(confirmed).isNotDone();
		foreign.rollback();
		confirmed.get(10, TimeUnit.SECONDS);
	}

	@Test
	void endedConnectionDoesNotEndTheTerm() throws SessionException {
		StoreSession first = open("node-a");
		win(first);
		first.confirm();
		assertThat(this.server.query("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name "
				+ "LIKE 'leader-election table node-a%'"))
			.contains("t");
		first.confirm();
	}

	@Test
	void idleTimeOfASessionIsLimited() throws Exception {
		LeaseTableConnection opened = connector("node-a").connect();
		this.connections.add(opened.connection());
		assertThat(show(opened.connection(), "idle_session_timeout")).isEqualTo("30s");
	}

	@Test
	void allElectionsOfANodeShareOneConnection() throws SessionException {
		LeaseTable table = table("node-shared", this.server.port(), LEASE);
		List<StoreSession> all = new ArrayList<>();
		for (int i : IntStream.range(0, 50).toArray()) {
			all.add(open(table, this.election + "-" + i, LEASE));
		}
		for (StoreSession session : all) {
			win(session);
		}
		assertThat(connections("node-shared")).isOne();
		for (StoreSession session : all) {
			session.close();
		}
		await().atMost(Duration.ofSeconds(10)).until(() -> connections("node-shared") == 0);
		assertThat(this.server.query("SELECT count(*) FROM leader_election_candidate WHERE node = 'node-shared'"))
			.containsExactly("0");
	}

	private int connections(String node) {
		return Integer.parseInt(this.server
			.query("SELECT count(*) FROM pg_stat_activity WHERE application_name = 'leader-election table " + node
					+ "'")
			.get(0));
	}

	@Test
	void missingTableIsUnusable() {
		LeaseTable table = new LeaseTable(this.server::connect, node("node-a"), "no_such_table", false, LEASE);
		assertThatExceptionOfType(UnusableStoreException.class)
			.isThrownBy(() -> table.store(settings(this.election, LEASE), this.key, this.keys, 0).open())
			.withMessageContaining(
					"One of the tables no_such_table, no_such_table_fence and no_such_table_candidate, which "
							+ "leader-election.store=table needs, does not exist in a schema that the role can use")
			.satisfies((ex) -> assertThat(ex.getAction()).contains("schema-postgresql.sql",
					"leader-election.initialize-schema=always", "leader-election.table-name"));
	}

	@ParameterizedTest
	@CsvSource(delimiter = '|', value = {
			"ALTER TABLE shape DROP COLUMN beat | columns are missing or have another type: shape.beat",
			"ALTER TABLE shape ALTER token TYPE text | columns are missing or have another type: shape.token",
			"ALTER TABLE shape_fence DROP COLUMN term | columns are missing or have another type: shape_fence.term",
			"ALTER TABLE shape DROP CONSTRAINT shape_pkey | a primary key is missing, on (election)",
			"ALTER TABLE shape_fence DROP CONSTRAINT shape_fence_pkey | a primary key is missing, on (election)",
			"ALTER TABLE shape_candidate DROP CONSTRAINT shape_candidate_pkey | a primary key is missing",
			"ALTER TABLE shape SET UNLOGGED | not a permanent table",
			"ALTER TABLE shape_fence SET UNLOGGED | not a permanent table" })
	void tableOfAnotherShapeIsUnusable(String change, String message) throws SessionException {
		LeaseTable table = new LeaseTable(this.server::connect, node("node-a"), "shape", true, LEASE);
		ElectionStore opened = table.store(settings(this.election, LEASE), this.key, this.keys, 0);
		opened.open().close();
		this.server.execute(change);
		assertThatExceptionOfType(UnusableStoreException.class).isThrownBy(opened::open).withMessageContaining(message);
	}

	@Test
	void tableInASchemaIsCreatedAndUsed() throws SessionException {
		this.server.execute("CREATE SCHEMA infra");
		LeaseTable table = new LeaseTable(this.server::connect, node("node-a"), "infra.leases", true, LEASE);
		StoreSession session = table.store(settings(this.election, LEASE), this.key, this.keys, 0).open();
		this.sessions.add(session);
		session.becomeCandidate();
		win(session);
		assertThat(this.server.query("SELECT holder FROM infra.leases")).containsExactly("node-a");
	}

	@Test
	void fenceLetsRenewalsPassAndATakeoverWait() throws Exception {
		TransactionFence fence = fenceOf("node-a", LONG_LEASE);
		StoreSession first = this.sessions.get(0);
		Won won = win(first);
		first.confirm();
		Connection transaction = connect();
		transaction.setAutoCommit(false);
		assertThat(fence.pass(transaction, won.term()).verdict()).isEqualTo(Verdict.PASSED);
		first.confirm();
		StoreSession second = open("node-b");
		first.release(true);
		Won takeover = awaitWon(second);
		assertThat(takeover.clear()).isFalse();
		second.confirm();
		assertThat(second.passBarrier(Duration.ofMillis(100))).contains("the transaction of the session with pid");
		transaction.commit();
		assertThat(second.passBarrier(Duration.ofSeconds(5))).isNull();
		assertThat(fence.pass(transaction, won.term()).verdict()).isEqualTo(Verdict.REFUSED);
	}

	@ParameterizedTest
	@ValueSource(ints = { Connection.TRANSACTION_READ_COMMITTED, Connection.TRANSACTION_REPEATABLE_READ,
			Connection.TRANSACTION_SERIALIZABLE })
	void transactionThatBeganBeforeATakeoverIsRefusedAfterIt(int isolation) throws Exception {
		TransactionFence fence = fenceOf("node-a", LEASE);
		StoreSession first = this.sessions.get(0);
		Won won = win(first);
		first.confirm();
		Connection transaction = begin(isolation, "leader_election");
		StoreSession second = open("node-b");
		assertThat(awaitWon(second).clear()).isTrue();
		assertThat(fence.pass(transaction, won.term()).verdict()).isEqualTo(Verdict.REFUSED);
	}

	@ParameterizedTest
	@ValueSource(ints = { Connection.TRANSACTION_READ_COMMITTED, Connection.TRANSACTION_REPEATABLE_READ,
			Connection.TRANSACTION_SERIALIZABLE })
	void transactionPassesAfterRenewalsSinceItBegan(int isolation) throws Exception {
		TransactionFence fence = fenceOf("node-a", LONG_LEASE);
		StoreSession first = this.sessions.get(0);
		Won won = win(first);
		first.confirm();
		Connection transaction = begin(isolation, "leader_election");
		for (int i = 0; i < 3; i++) {
			first.confirm();
		}
		assertThat(fence.pass(transaction, won.term()).verdict()).isEqualTo(Verdict.PASSED);
		first.confirm();
		transaction.commit();
	}

	@ParameterizedTest
	@ValueSource(ints = { Connection.TRANSACTION_REPEATABLE_READ, Connection.TRANSACTION_SERIALIZABLE })
	void transactionWithAnOlderSnapshotHoldsTheBarrierUntilTheTermOfTheFenceChanges(int isolation) throws Exception {
		TransactionFence fence = fenceOf("node-a", LONG_LEASE);
		StoreSession first = this.sessions.get(0);
		Won won = win(first);
		first.confirm();
		Connection holder = connect();
		holder.setAutoCommit(false);
		assertThat(fence.pass(holder, won.term()).verdict()).isEqualTo(Verdict.PASSED);
		Connection transaction = begin(isolation, "leader_election");
		StoreSession second = open("node-b");
		first.release(true);
		assertThat(awaitWon(second).clear()).isFalse();
		// The term of the lease has changed, but not that of the fence
		assertThat(fence.pass(transaction, won.term()).verdict()).isEqualTo(Verdict.PASSED);
		holder.commit();
		assertThat(second.passBarrier(Duration.ofMillis(100))).isNotNull();
		transaction.rollback();
		assertThat(second.passBarrier(Duration.ofSeconds(5))).isNull();
	}

	@Test
	void serializationFailureBetweenOtherTransactionsIsNotMistakenForALostTerm() throws Exception {
		TransactionFence fence = fenceOf("node-a", LONG_LEASE);
		Won won = win(this.sessions.get(0));
		this.server.execute("CREATE TABLE doctor (name text)");
		Connection transaction = begin(Connection.TRANSACTION_SERIALIZABLE, "doctor");
		Connection other = begin(Connection.TRANSACTION_SERIALIZABLE, "doctor");
		execute(transaction, "INSERT INTO doctor VALUES ('alice')");
		execute(other, "INSERT INTO doctor VALUES ('bob')");
		other.commit();
		assertThatExceptionOfType(SQLException.class).isThrownBy(() -> fence.pass(transaction, won.term()))
			.extracting(SQLException::getSQLState)
			.isEqualTo("40001");
		transaction.rollback();
		assertThat(fence.pass(transaction, won.term()).verdict()).isEqualTo(Verdict.PASSED);
	}

	/**
	 * Begin a transaction that has taken its snapshot and read a table.
	 */
	private Connection begin(int isolation, String table) throws SQLException {
		Connection connection = connect();
		connection.setTransactionIsolation(isolation);
		connection.setAutoCommit(false);
		execute(connection, "SELECT count(*) FROM " + table);
		return connection;
	}

	@Test
	void transactionIsRefusedOnceTheLeaseIsFree() throws Exception {
		TransactionFence fence = fenceOf("node-a", LEASE);
		StoreSession first = this.sessions.get(0);
		Won won = win(first);
		first.release(true);
		Connection transaction = connect();
		transaction.setAutoCommit(false);
		assertThat(fence.pass(transaction, won.term()).verdict()).isEqualTo(Verdict.REFUSED);
	}

	@Test
	void fenceLimitsHowLongItsTransactionMayBeIdle() throws Exception {
		TransactionFence fence = fenceOf("node-a", LONG_LEASE);
		Won won = win(this.sessions.get(0));
		Connection transaction = connect();
		transaction.setAutoCommit(false);
		assertThat(fence.pass(transaction, won.term()).verdict()).isEqualTo(Verdict.PASSED);
		assertThat(show(transaction, "idle_in_transaction_session_timeout")).isEqualTo("3s");
		transaction.commit();
		assertThat(show(transaction, "idle_in_transaction_session_timeout")).isEqualTo("0");
		execute(transaction, "SET idle_in_transaction_session_timeout = '2s'");
		assertThat(fence.pass(transaction, won.term()).verdict()).isEqualTo(Verdict.PASSED);
		assertThat(show(transaction, "idle_in_transaction_session_timeout")).isEqualTo("2s");
	}

	private static String show(Connection connection, String setting) throws SQLException {
		try (Statement statement = connection.createStatement();
				ResultSet row = statement.executeQuery("SHOW " + setting)) {
			row.next();
			return row.getString(1);
		}
	}

	@Test
	void winnerWaitsForTheTakeoverDelayIfWorkMayStillBeRunning() throws SessionException {
		StoreSession first = open("node-a");
		win(first);
		first.release(false);
		StoreSession second = open("node-b");
		assertThat(second.observe().leader()).isNull();
		assertThat(win(second).ending()).isNotEqualTo(Ending.CLEAN);
		second.release(true);
		assertThat(win(open("node-d")).ending()).isEqualTo(Ending.CLEAN);
	}

	@ParameterizedTest
	@CsvSource({ "leader_election, PASSED", "leader_election_fence, BLOCKED" })
	void fenceIsBlockedWhileAForeignSessionHasLockedItsRow(String table, Verdict verdict) throws Exception {
		TransactionFence fence = fenceOf("node-a", LEASE);
		StoreSession first = this.sessions.get(0);
		Won won = win(first);
		Connection foreign = connect();
		foreign.setAutoCommit(false);
		execute(foreign, "SELECT FROM " + table + " WHERE election = '" + this.key + "' FOR UPDATE");
		Connection transaction = connect();
		transaction.setAutoCommit(false);
		assertThat(fence.pass(transaction, won.term()).verdict()).isEqualTo(verdict);
	}

	@ParameterizedTest
	@ValueSource(strings = { "UPDATE leader_election_fence SET locked = true", "DELETE FROM leader_election_fence",
			"SELECT FROM leader_election_fence" })
	void winnerNamesTheSessionThatHasLockedTheFence(String change) throws Exception {
		StoreSession first = open("node-a");
		win(first);
		first.release(true);
		Connection foreign = connect();
		foreign.setAutoCommit(false);
		execute(foreign,
				change + " WHERE election = '" + this.key + "'" + (change.startsWith("SELECT") ? " FOR UPDATE" : ""));
		StoreSession second = open("node-b");
		assertThat(win(second).clear()).isFalse();
		second.confirm();
		assertThat(second.passBarrier(Duration.ofMillis(100)))
			.contains("pid " + foreign.unwrap(PGConnection.class).getBackendPID());
		foreign.rollback();
		assertThat(second.passBarrier(Duration.ofSeconds(5))).isNull();
	}

	@Test
	void tableOfFencesThatIsLockedOnlyDelaysTakeovers() throws Exception {
		StoreSession first = open("node-a");
		win(first);
		StoreSession second = open("node-b");
		Connection foreign = connect();
		foreign.setAutoCommit(false);
		execute(foreign, "LOCK TABLE leader_election_fence");
		first.confirm();
		first.release(true);
		await().atMost(Duration.ofSeconds(10))
			.until(() -> second.acquire(NO_WAIT) instanceof Held held && held.view().leader() == null
					&& new ForeignHolder("session that has locked a table of the elections", true, false)
						.equals(held.view().foreign()));
		foreign.rollback();
		awaitWon(second);
	}

	@Test
	void ownLeaseThatIsTakenOverIsNotClean() throws SessionException {
		StoreSession first = open("node-a");
		win(first);
		first.release(false);
		LeaseTable table = table("node-b", this.server.port(), LEASE);
		StoreSession second = open(table, this.election, LEASE);
		assertThat(win(second).ending()).isNotEqualTo(Ending.CLEAN);
		second.confirm();
		second.abort();
		assertThat(awaitWon(open(table, this.election, LEASE)).ending()).isNotEqualTo(Ending.CLEAN);
	}

	@Test
	void termsIncreaseAcrossAChangeOfStoreInBothDirections() throws SessionException {
		List<Term> terms = new ArrayList<>();
		for (int i = 0; i < 3; i++) {
			StoreSession leased = open("node-a");
			terms.add(win(leased).term());
			assertThat(leased.confirm().predecessor()).isNull();
			leased.release(true);
			leased.close();
			StoreSession locked = openLock();
			terms.add(((Won) locked.acquire(NO_WAIT)).term());
			locked.release(true);
			locked.close();
		}
		assertThat(terms).isSorted().doesNotHaveDuplicates();
	}

	@Test
	void nodeDoesNotTakeOverBesideANodeWithTheOtherStore() throws SessionException {
		StoreSession locked = openLock();
		assertThat(locked.acquire(NO_WAIT)).isInstanceOf(Won.class);
		StoreSession leased = open("node-a");
		Held held = (Held) leased.acquire(NO_WAIT);
		assertThat(held.view().foreign()).asString()
			.contains("leader-election.store=advisory-lock; all nodes must use the same store");
		locked.release(true);
		locked.close();
		awaitWon(leased);
	}

	@ParameterizedTest
	@CsvSource({ "main, true", "candidate, true", "fence, true", "term, true", "marker, true", "request, false",
			"observer, false", "notice, false" })
	void keyOfTheOtherStoreKeepsNodesFromTakingOver(String name, boolean keeps) throws Exception {
		execute(connect(), "SELECT pg_advisory_lock_shared(" + key(name) + ")");
		assertThat(open("node-a").acquire(NO_WAIT) instanceof Held).isEqualTo(keeps);
	}

	private String key(String name) {
		return switch (name) {
			case "main" -> String.valueOf(this.keys.main());
			case "candidate" -> String.valueOf(this.keys.candidate());
			case "fence" -> String.valueOf(this.keys.fence());
			case "term" -> this.keys.termClass() + ", 1";
			case "marker" -> this.keys.termClass() + ", " + ElectionKeys.CLEAN;
			case "request" -> this.keys.requestClass() + ", 1";
			case "observer" -> this.keys.observerClass() + ", " + ElectionKeys.OBSERVER;
			case "notice" -> this.keys.noticeClass() + ", 1";
			default -> throw new IllegalArgumentException(name);
		};
	}

	@Test
	void keyOfTheOtherStoreDelaysAGrantButDoesNotEndLeadership() throws Exception {
		StoreSession session = open("node-a");
		win(session);
		Connection foreign = connect();
		execute(foreign, "SELECT pg_advisory_lock_shared(" + this.keys.candidate() + ")");
		assertThat(session.confirm().predecessor()).contains("leader-election.store=advisory-lock");
		execute(foreign, "SELECT pg_advisory_unlock_all()");
		assertThat(session.confirm().predecessor()).isNull();
		execute(foreign, "SELECT pg_advisory_lock_shared(" + this.keys.candidate() + ")");
		assertThat(session.confirm().predecessor()).isNull();
	}

	@Test
	void rowThatCannotBeInsertedIsReported() throws Exception {
		win(open(table("node-b", this.server.port(), LEASE), this.election + "-2", LEASE));
		this.server.execute("CREATE FUNCTION public.refuse() RETURNS trigger LANGUAGE plpgsql AS "
				+ "'BEGIN RAISE EXCEPTION ''no space left'' USING ERRCODE = ''disk_full''; END'");
		try {
			this.server
				.execute("CREATE TRIGGER refuse BEFORE INSERT ON leader_election FOR EACH ROW WHEN (NEW.election = '"
						+ this.key + "') EXECUTE FUNCTION public.refuse()");
			StoreSession session = open("node-a");
			assertThatExceptionOfType(SessionException.class).isThrownBy(() -> session.acquire(NO_WAIT))
				.withMessageContaining("no space left");
			this.server.execute("DROP TRIGGER refuse ON leader_election");
			win(session);
		}
		finally {
			this.server.execute("DROP FUNCTION public.refuse CASCADE");
		}
	}

	@Test
	void fenceCoversTheDatabaseToWhichTheElectionsMove() throws Exception {
		Connection transaction = connect();
		LeaseTableConnection opened = connector("node-a").connect();
		this.connections.add(opened.connection());
		DatabaseIdentity present = DatabaseIdentity.of(transaction);
		DatabaseIdentity former = new DatabaseIdentity(present.database() + 1, present.cluster());
		AtomicReference<Home> home = new AtomicReference<>(new Home(former, opened.sql()));
		LeaseTableFence fence = new LeaseTableFence(this.key, LEASE, home::get, Platform.SYSTEM);
		assertThat(fence.covers(transaction)).isFalse();
		home.set(new Home(present, opened.sql()));
		assertThat(fence.covers(transaction)).isTrue();
		home.set(new Home(former, opened.sql()));
		assertThat(fence.covers(transaction)).isFalse();
	}

	private StoreSession openLock() throws SessionException {
		StoreSession session = new AdvisoryLockStore(settings(this.election, LEASE), this.keys, 0, false,
				this.server::connect, null)
			.open();
		this.sessions.add(session);
		session.becomeCandidate();
		return session;
	}

	private String row(String expression) {
		return this.server.query("SELECT " + expression + " FROM leader_election WHERE election = '" + this.key + "'")
			.get(0);
	}

	private static Duration elapsed(long start) {
		return Duration.ofNanos(System.nanoTime() - start);
	}

	private static Won win(StoreSession session) throws SessionException {
		Acquisition acquisition = session.acquire(NO_WAIT);
		assertThat(acquisition).isInstanceOf(Won.class);
		return (Won) acquisition;
	}

	private static Won awaitWon(StoreSession session) throws SessionException {
		long start = System.nanoTime();
		while (elapsed(start).toSeconds() < 20) {
			if (session.acquire(Duration.ofMillis(800)) instanceof Won won) {
				return won;
			}
		}
		throw new AssertionError("Not won");
	}

	private static Acquisition acquireUnchecked(StoreSession session, Duration timeout) {
		try {
			return session.acquire(timeout);
		}
		catch (SessionException ex) {
			throw new IllegalStateException(ex);
		}
	}

	private static void confirmUnchecked(StoreSession session) {
		try {
			session.confirm();
		}
		catch (SessionException ex) {
			throw new IllegalStateException(ex);
		}
	}

	private Connection connect() throws SQLException {
		Connection connection = this.server.connect();
		this.connections.add(connection);
		return connection;
	}

	private static void execute(Connection connection, String sql) throws SQLException {
		try (Statement statement = connection.createStatement()) {
			statement.execute(sql);
		}
	}

	/**
	 * Open a session and return the fence of its election.
	 */
	private TransactionFence fenceOf(String node, Duration lease) throws SessionException {
		LeaseTable table = table(node, this.server.port(), lease);
		ElectionStore opened = table.store(settings(this.election, lease), this.key, this.keys, 0);
		StoreSession session = opened.open();
		this.sessions.add(session);
		session.becomeCandidate();
		return opened.fence();
	}

	private StoreSession open(String node) throws SessionException {
		return open(node, LEASE);
	}

	private StoreSession open(String node, Duration lease) throws SessionException {
		return open(table(node, this.server.port(), lease), this.election, lease);
	}

	private StoreSession open(LeaseTable table, String name, Duration lease) throws SessionException {
		StoreSession session = table.store(settings(name, lease), "test:" + name, ElectionKeys.derive("test", name), 0)
			.open();
		this.sessions.add(session);
		session.becomeCandidate();
		return session;
	}

	private LeaseTable table(String node, int port, Duration lease) {
		return new LeaseTable((settings) -> this.server.connect(port, settings), node(node),
				LeaseTableSql.DEFAULT_TABLE, true, lease);
	}

	private static Node node(String id) {
		return new Node(id, "host-1", 4711);
	}

	private static ElectionSettings settings(String election, Duration lease) {
		return new ElectionSettings(election, "node", lease, Duration.ZERO, Duration.ofSeconds(1), true);
	}

	private LeaseTableConnector connector(String node) {
		return new LeaseTableConnector(this.server::connect, LeaseTableSql.DEFAULT_TABLE, true, node,
				Duration.ofSeconds(5), (tables, inspected) -> new LeaseTableSql(tables, inspected, 5000),
				(identity, sql) -> {
				}, Platform.SYSTEM);
	}

}
