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

package io.leaderelection.simulation.server;

import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

import io.leaderelection.testsupport.PostgreSqlServer;
import org.awaitility.Awaitility;
import org.postgresql.PGConnection;

/**
 * A {@link Scene} on PostgreSQL.
 */
final class RealScene implements Scene {

	private static final Duration LIMIT = Duration.ofSeconds(30);

	private static final Duration PAUSE = Duration.ofMillis(2);

	private final PostgreSqlServer server;

	private final ExecutorService threads = Executors.newCachedThreadPool();

	private final Map<String, Connection> connections = new HashMap<>();

	private final Map<String, Integer> pids = new HashMap<>();

	private final Map<String, Future<String>> answers = new HashMap<>();

	private final long base;

	private Connection observer;

	private long killed;

	private long fatal;

	RealScene(PostgreSqlServer server) throws SQLException {
		this.server = server;
		this.observer = server.connect();
		this.base = Long.parseLong(query("SELECT pg_snapshot_xmax(pg_current_snapshot())")) - WriteAheadLog.FIRST;
		try (Statement statement = this.observer.createStatement();
				ResultSet row = statement.executeQuery(Operation.of(Operation.Kind.ENDINGS).sql())) {
			row.next();
			this.killed = row.getLong(1);
			this.fatal = row.getLong(2);
		}
	}

	@Override
	public void connect(String session) throws SQLException {
		Properties properties = new Properties();
		properties.setProperty("user", this.server.username());
		properties.setProperty("password", this.server.password());
		properties.setProperty("preferQueryMode", "simple");
		Connection connection = DriverManager.getConnection(this.server.jdbcUrl(), properties);
		this.connections.put(session, connection);
		this.pids.put(session, connection.unwrap(PGConnection.class).getBackendPID());
	}

	@Override
	public void start(String session, Operation operation) {
		start(session, operation.sql(), operation);
	}

	private void start(String session, String sql, Operation operation) {
		Connection connection = this.connections.get(session);
		this.answers.put(session, this.threads.submit(() -> execute(connection, sql, operation)));
	}

	private String execute(Connection connection, String sql, Operation operation) {
		try (Statement statement = connection.createStatement()) {
			statement.execute(sql);
			if (!operation.hasResult()) {
				return "done";
			}
			try (ResultSet row = statement.getResultSet()) {
				row.next();
				if (operation.kind() == Operation.Kind.ENDINGS) {
					return Scene.endings(row.getLong(1) - this.killed, row.getLong(2) - this.fatal);
				}
				return operation.isTransactionId() ? Long.toString(row.getLong(1) - this.base)
						: Boolean.toString(row.getBoolean(1));
			}
		}
		catch (SQLException ex) {
			String state = String.valueOf(ex.getSQLState());
			return (state.startsWith("08") || state.startsWith("57P") || state.equals("25P03")) ? ENDED : state;
		}
	}

	@Override
	public String answer(String session) throws Exception {
		return this.answers.get(session).get();
	}

	@Override
	public void set(String session, Timeout timeout, long millis) throws Exception {
		String name = switch (timeout) {
			case LOCK -> "lock_timeout";
			case STATEMENT -> "statement_timeout";
			case IDLE_SESSION -> "idle_session_timeout";
			case IDLE_IN_TRANSACTION -> "idle_in_transaction_session_timeout";
			case CLIENT_CHECK -> "client_connection_check_interval";
		};
		start(session, "SET " + name + " = " + millis, Operation.of(Operation.Kind.BEGIN));
		answer(session);
	}

	@Override
	public void awaitWaiting(String session) throws Exception {
		Future<String> answer = this.answers.get(session);
		String waiting = "SELECT count(*) FROM pg_locks WHERE NOT granted AND pid = " + this.pids.get(session);
		while (!query(waiting).equals("1")) {
			if (answer.isDone()) {
				throw new TooSlowException();
			}
		}
	}

	@Override
	public void awaitLocks(String session, int count) {
		awaitCount("SELECT count(*) FROM pg_locks WHERE granted AND locktype = 'advisory' AND pid = "
				+ this.pids.get(session), count);
	}

	private void awaitCount(String sql, int count) {
		Awaitility.await()
			.atMost(LIMIT)
			.pollDelay(Duration.ZERO)
			.pollInterval(PAUSE)
			.until(() -> query(sql).equals(Integer.toString(count)));
	}

	private String query(String sql) throws SQLException {
		try (Statement statement = this.observer.createStatement(); ResultSet row = statement.executeQuery(sql)) {
			row.next();
			return row.getString(1);
		}
	}

	@Override
	public void abandon(String session) throws SQLException {
		this.connections.get(session).abort(Runnable::run);
	}

	@Override
	public void awaitGone(String session) {
		awaitCount("SELECT count(*) FROM pg_stat_get_activity(NULL) WHERE pid = " + this.pids.get(session), 0);
	}

	@Override
	public void terminate(String session) throws SQLException {
		query("SELECT pg_terminate_backend(" + this.pids.get(session) + ")");
	}

	@Override
	public void resetStatistics() throws SQLException {
		query("SELECT pg_stat_reset()");
		this.killed = 0;
		this.fatal = 0;
	}

	@Override
	public void freeze(String session) {
		this.server.signalBackend(this.pids.get(session), "STOP");
	}

	@Override
	public void thaw(String session) {
		this.server.signalBackend(this.pids.get(session), "CONT");
	}

	@Override
	public void elapse(long millis) throws InterruptedException {
		Thread.sleep(millis);
	}

	@Override
	public void crash() throws SQLException {
		this.server.stop("immediate");
		this.server.startAgain();
		this.observer = this.server.connect();
	}

	@Override
	public void close() throws SQLException {
		for (Connection connection : this.connections.values()) {
			connection.abort(Runnable::run);
		}
		this.pids.values()
			.forEach((pid) -> awaitCount("SELECT count(*) FROM pg_stat_get_activity(NULL) WHERE pid = " + pid, 0));
		this.threads.shutdown();
		this.observer.close();
	}

}
