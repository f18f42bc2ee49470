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
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;

import io.leaderelection.engine.ElectionSettings;
import io.leaderelection.engine.Platform;
import io.leaderelection.engine.SessionException;
import io.leaderelection.engine.StoreSession.Acquisition.Won;
import io.leaderelection.postgresql.LeaseTableSql.Identity;
import io.leaderelection.postgresql.LeaseTableSql.Renewal;
import io.leaderelection.testsupport.PostgreSqlServer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.awaitility.Awaitility.await;

/**
 * Tests for {@link LeaseTableRequests} and {@link LeaseTableThread}: elections that share
 * a connection do not disturb each other.
 */
@Tag("ring1")
class LeaseTableRequestsTests {

	private static final Duration LEASE = Duration.ofSeconds(1);

	private static final Duration LIMIT = Duration.ofSeconds(20);

	private final PostgreSqlServer server = PostgreSqlServer.shared();

	private final String id = UUID.randomUUID().toString();

	private final List<LeaseTableSession> sessions = new ArrayList<>();

	private final List<Connection> connections = new ArrayList<>();

	@AfterEach
	void closeAll() throws SQLException {
		this.sessions.forEach(LeaseTableSession::abort);
		for (Connection connection : this.connections) {
			connection.close();
		}
	}

	@Test
	void renewalIsAnsweredBeforeCandidatesAreRegistered() throws Exception {
		LeaseTableRequests requests = requests(Duration.ofSeconds(5));
		LeaseTableSession session = win(requests, "first");
		Statement foreign = lock("LOCK TABLE leader_election_candidate IN ACCESS EXCLUSIVE MODE");
		await().atMost(LIMIT).until(() -> {
			requests.elections().candidacyChanged();
			session.confirm();
			return isTrue(foreign, "SELECT count(*) > 0 FROM pg_locks WHERE NOT granted "
					+ "AND relation = 'leader_election_candidate'::regclass");
		});
	}

	@Test
	void taskThatFailsNeitherFailsAnotherNorEndsTheConnection() throws Exception {
		LeaseTableRequests requests = requests(Duration.ofSeconds(5));
		LeaseTableSession first = join(requests, "first");
		LeaseTableSession second = join(requests, "second");
		CountDownLatch latch = new CountDownLatch(1);
		FutureTask<Connection> busy = submit(() -> requests.run(first, (connection, sql) -> wait(connection, latch)));
		FutureTask<Boolean> failing = submit(() -> requests.run(first, (connection, sql) -> {
			throw new SQLException("failed", "22012");
		}));
		FutureTask<Connection> other = submit(() -> requests.run(second, (connection, sql) -> connection));
		latch.countDown();
		assertThat(get(other)).isSameAs(get(busy));
		assertThatExceptionOfType(ExecutionException.class).isThrownBy(() -> get(failing))
			.withMessageContaining("failed");
	}

	@Test
	void manyTasksDoNotDelayARenewal() throws Exception {
		LeaseTableRequests requests = requests(Duration.ofSeconds(5));
		LeaseTableSession leader = win(requests, "first");
		LeaseTableSession other = join(requests, "second");
		CountDownLatch latch = new CountDownLatch(1);
		submit(() -> requests.run(other, (connection, sql) -> wait(connection, latch)));
		List<FutureTask<Long>> beats = new ArrayList<>();
		for (int i = 0; i < 10; i++) {
			beats.add(submit(() -> requests.run(other, (connection, sql) -> {
				// Longer than the time for which the renewal waits for others
				Jdbc.query(connection, "SELECT true AS done FROM pg_sleep(0.02)", (row) -> row.getBoolean("done"));
				return beat(connection, leader.key());
			})));
		}
		FutureTask<Boolean> renewal = submit(() -> leader.confirm().requested());
		latch.countDown();
		get(renewal);
		List<Long> seen = new ArrayList<>();
		for (FutureTask<Long> beat : beats) {
			seen.add(get(beat));
		}
		assertThat(seen).filteredOn((beat) -> beat == 0).hasSizeLessThan(2);
	}

	@Test
	void manyRoundsDoNotDelayATask() throws Exception {
		LeaseTableRequests requests = requests(Duration.ofSeconds(5));
		List<FutureTask<Boolean>> readers = new ArrayList<>();
		CountDownLatch end = new CountDownLatch(1);
		for (int i = 0; i < 8; i++) {
			LeaseTableSession session = join(requests, "reader-" + i);
			readers.add(submit(() -> {
				while (end.getCount() > 0) {
					requests.read(session, 0);
				}
				return true;
			}));
		}
		LeaseTableSession session = join(requests, "first");
		for (int i = 0; i < 20; i++) {
			assertThat(submit(() -> requests.run(session, (connection, sql) -> true)).get(5, TimeUnit.SECONDS))
				.isTrue();
		}
		end.countDown();
		for (FutureTask<Boolean> reader : readers) {
			assertThat(get(reader)).isTrue();
		}
	}

	@Test
	void statementThatTakesTooLongIsEndedAfterTheLimit() throws Exception {
		LeaseTableRequests requests = requests(Duration.ofSeconds(1));
		LeaseTableSession session = join(requests, "first");
		Duration elapsed = requests.run(session, (connection, sql) -> {
			long start = System.nanoTime();
			await().atMost(LIMIT).pollInterval(Duration.ofMillis(10)).until(connection::isClosed);
			return Duration.ofNanos(System.nanoTime() - start);
		});
		assertThat(elapsed).isBetween(Duration.ofMillis(900), Duration.ofSeconds(10));
	}

	@Test
	void pauseBeforeTheNextAttemptOnALockedRowGrows() {
		LeaseTableSession session = session(requests(LEASE), "first", Duration.ofSeconds(30));
		Renewal renewal = new Renewal(session.key(), 7, session.token(), 3);
		LeaseTableRequest<LeaseRow> request = LeaseTableRequest.renewal(session, System.nanoTime(), renewal);
		for (int millis : new int[] { 25, 50, 100, 200, 375, 375 }) {
			long before = System.nanoTime();
			request.completeRenewal(row(session, 2));
			assertThat(request.isDone()).isFalse();
			assertThat(request.due() - TimeUnit.MILLISECONDS.toNanos(millis)).isBetween(before, System.nanoTime());
		}
		request.completeRenewal(row(session, 4));
		assertThat(request.isDone()).isTrue();
	}

	@Test
	void noticeHurriesOnlyTheElectionThatItNames() throws Exception {
		LeaseTableRequests requests = requests(Duration.ofSeconds(5));
		LeaseTableSession session = join(requests, "first");
		FutureTask<Boolean> read = submit(() -> {
			requests.read(session, Duration.ofSeconds(20).toNanos());
			return true;
		});
		this.server.execute("SELECT pg_notify('leader_election', 'public.leader_election another')");
		await().during(Duration.ofMillis(300)).atMost(LIMIT).until(() -> !read.isDone());
		this.server
			.execute("SELECT pg_notify('leader_election', 'public.leader_election %s')".formatted(session.key()));
		assertThat(read.get(10, TimeUnit.SECONDS)).isTrue();
	}

	@Test
	void wakeWithoutAWaitEndsTheNextOne() throws Exception {
		LeaseTableRequests requests = requests(Duration.ofSeconds(5));
		LeaseTableSession session = join(requests, "first");
		session.wake();
		for (boolean woken : new boolean[] { true, false }) {
			FutureTask<Boolean> read = submit(() -> {
				requests.read(session, Duration.ofMinutes(1).toNanos());
				return true;
			});
			if (woken) {
				assertThat(get(read)).isTrue();
			}
			else {
				await().during(Duration.ofMillis(300)).atMost(LIMIT).until(() -> !read.isDone());
			}
		}
	}

	/**
	 * The number of a set of transactions may be that of a transaction that has nothing
	 * to do with the table.
	 */
	@Test
	@Tag("ring2")
	void foreignTransactionIsNotMistakenForOneThatHasLockedTheRow() throws Exception {
		try (PostgreSqlServer own = PostgreSqlServer.start(); Connection foreign = own.connect()) {
			LeaseTableConnection opened = connector(own, Duration.ofSeconds(5)).connect();
			this.connections.add(opened.connection());
			own.execute("INSERT INTO leader_election_fence (election, term) VALUES ('first', 0)");
			own.execute("CREATE TABLE members AS SELECT id FROM generate_series(0, 2047) AS id");
			takeNumbersOfSets(own);
			List<Integer> lockers = new ArrayList<>();
			for (int i = 0; i < 2; i++) {
				// The driver ends a connection that nothing refers to
				this.connections.add(own.connect());
				Statement statement = begin(this.connections.get(this.connections.size() - 1));
				lockers.add((int) number(statement, "SELECT pg_backend_pid()"));
				statement.execute("SELECT FROM leader_election_fence WHERE election = 'first' FOR SHARE");
			}
			Statement transaction = begin(foreign);
			try (Connection connection = own.connect(); Statement statement = connection.createStatement()) {
				long set = number(statement, "SELECT xmax::text::bigint FROM leader_election_fence");
				await().atMost(LIMIT)
					.pollInterval(Duration.ofNanos(1))
					.until(() -> number(statement, "SELECT pg_current_xact_id()::text::bigint") == set - 1);
				assertThat(number(transaction, "SELECT pg_current_xact_id()::text::bigint")).isEqualTo(set);
			}
			int locker = opened.run((connection, sql) -> Jdbc.query(connection, sql.lockers("first", 60_000),
					(row) -> row.getInt("pid")));
			assertThat(lockers).contains(locker);
		}
	}

	/**
	 * Have several transactions lock the same rows in many combinations.
	 */
	private static void takeNumbersOfSets(PostgreSqlServer server) throws SQLException {
		List<Statement> statements = new ArrayList<>();
		for (int bit : IntStream.range(0, 11).toArray()) {
			Statement statement = begin(server.connect());
			statements.add(statement);
			statement.execute("SELECT FROM members WHERE (id >> %d) & 1 = 1 FOR KEY SHARE".formatted(bit));
		}
		for (Statement statement : statements) {
			statement.getConnection().close();
		}
	}

	private static Statement begin(Connection connection) throws SQLException {
		connection.setAutoCommit(false);
		return connection.createStatement();
	}

	private Statement lock(String sql) throws SQLException {
		Connection connection = this.server.connect();
		this.connections.add(connection);
		Statement statement = begin(connection);
		statement.execute(sql);
		return statement;
	}

	private static boolean isTrue(Statement statement, String sql) throws SQLException {
		try (ResultSet row = statement.executeQuery(sql)) {
			row.next();
			return row.getBoolean(1);
		}
	}

	private static long number(Statement statement, String sql) throws SQLException {
		try (ResultSet row = statement.executeQuery(sql)) {
			row.next();
			return row.getLong(1);
		}
	}

	private static long beat(Connection connection, String election) throws SQLException {
		return Jdbc.query(connection, "SELECT beat FROM leader_election WHERE election = '" + election + "'",
				(row) -> row.getLong("beat"));
	}

	private static Connection wait(Connection connection, CountDownLatch latch) {
		try {
			if (!latch.await(LIMIT.toSeconds(), TimeUnit.SECONDS)) {
				throw new IllegalStateException("The connection was not let through");
			}
			return connection;
		}
		catch (InterruptedException ex) {
			throw new IllegalStateException(ex);
		}
	}

	/**
	 * Start a thread and wait until it waits for its answer.
	 */
	private static <T> FutureTask<T> submit(Callable<T> callable) {
		FutureTask<T> task = new FutureTask<>(callable);
		Thread thread = new Thread(task);
		thread.setDaemon(true);
		thread.start();
		await().atMost(LIMIT)
			.pollInterval(Duration.ofMillis(1))
			.until(() -> task.isDone() || thread.getState() == Thread.State.TIMED_WAITING);
		return task;
	}

	private static <T> T get(FutureTask<T> task) throws Exception {
		return task.get(LIMIT.toSeconds(), TimeUnit.SECONDS);
	}

	private static LeaseRow row(LeaseTableSession session, long beat) {
		return new LeaseRow(session.key(), 7, 1, 1, beat, 30_000, "node", session.token().toString(), null, 0, false);
	}

	private LeaseTableSession win(LeaseTableRequests requests, String election) throws SessionException {
		LeaseTableSession session = join(requests, election);
		assertThat(session.acquire(Duration.ofMillis(1))).isInstanceOf(Won.class);
		return session;
	}

	private LeaseTableSession join(LeaseTableRequests requests, String election) throws SessionException {
		LeaseTableSession session = session(requests, election, LEASE);
		requests.join(session);
		session.becomeCandidate();
		return session;
	}

	private LeaseTableSession session(LeaseTableRequests requests, String election, Duration lease) {
		String key = this.id + ":" + election;
		LeaseTableSession session = new LeaseTableSession(requests,
				new LeaseTableFence(key, lease, () -> null, Platform.SYSTEM),
				new ElectionSettings(election, "node", lease, Duration.ZERO, Duration.ofSeconds(1), true), key,
				ElectionKeys.derive(this.id, election),
				new Identity("node", UUID.randomUUID(), lease.toMillis(), "host-1", 4711), 0);
		this.sessions.add(session);
		return session;
	}

	private LeaseTableRequests requests(Duration timeout) {
		return new LeaseTableRequests(connector(this.server, timeout), "node", Platform.SYSTEM);
	}

	private static LeaseTableConnector connector(PostgreSqlServer server, Duration timeout) {
		return new LeaseTableConnector(server::connect, LeaseTableSql.DEFAULT_TABLE, true, "node", timeout,
				(tables, inspected) -> new LeaseTableSql(tables, inspected, timeout.toMillis()), (identity, sql) -> {
				}, Platform.SYSTEM);
	}

}
