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
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.SortedMap;
import java.util.SortedSet;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

import io.leaderelection.testsupport.PostgreSqlServer;
import org.jspecify.annotations.Nullable;
import org.postgresql.PGConnection;

/**
 * Sessions on PostgreSQL. The driver's threads wait; what has come to rest is read from
 * {@code pg_locks}.
 */
final class RealSessions implements ComparedSessions {

	/** The session that has a lock timeout. */
	static final int IMPATIENT = 0;

	private static final long LIMIT_NANOS = 30_000_000_000L;

	private final PostgreSqlServer server;

	private final long lockTimeoutMillis;

	private final Connection observer;

	private final ExecutorService threads = Executors.newCachedThreadPool();

	private final Map<Integer, Session> sessions = new HashMap<>();

	private final Map<Integer, Integer> numbers = new HashMap<>();

	/**
	 * The processes that are to end, at once or when they have been granted their lock.
	 */
	private final Set<Integer> ended = new HashSet<>();

	private final Set<Integer> abandoned = new HashSet<>();

	/** The transaction id that counts as the first one of the simulated server. */
	private long base;

	private final long killed;

	private final long fatal;

	RealSessions(PostgreSqlServer server, long lockTimeoutMillis) throws SQLException {
		this.server = server;
		this.lockTimeoutMillis = lockTimeoutMillis;
		this.observer = server.connect();
		this.base = Long.parseLong(String.valueOf(query("SELECT pg_snapshot_xmax(pg_current_snapshot())")))
				- WriteAheadLog.FIRST;
		try (Statement statement = this.observer.createStatement();
				ResultSet row = statement.executeQuery(Operation.of(Operation.Kind.ENDINGS).sql())) {
			row.next();
			this.killed = row.getLong(1);
			this.fatal = row.getLong(2);
		}
	}

	@Override
	public SortedMap<Integer, String> run(Operation operation) throws Exception {
		Session session = this.sessions.get(operation.session());
		switch (operation.kind()) {
			case CONNECT -> connect(operation.session());
			case DISCONNECT -> {
				boolean waits = session.answer != null && operation.session() != IMPATIENT;
				(waits ? this.abandoned : this.ended).add(session.pid);
				session.answer = null;
				session.connection.abort(Runnable::run);
			}
			case TERMINATE -> {
				query("SELECT pg_terminate_backend(" + session.pid + ")");
				this.ended.add(session.pid);
			}
			case CANCEL -> {
				query("SELECT pg_cancel_backend(" + session.pid + ")");
				session.cancelled = true;
			}
			default -> {
				session.cancelled = false;
				session.answer = this.threads.submit(() -> execute(session.connection, operation));
			}
		}
		awaitRest();
		TreeMap<Integer, String> answers = new TreeMap<>();
		for (Map.Entry<Integer, Session> entry : this.sessions.entrySet()) {
			Future<String> answer = entry.getValue().answer;
			if (answer != null) {
				answers.put(entry.getKey(), answer.isDone() ? answer.get() : WAITS);
				if (answer.isDone()) {
					entry.getValue().answer = null;
				}
			}
		}
		return answers;
	}

	private void connect(int number) throws SQLException {
		Properties properties = new Properties();
		properties.setProperty("user", this.server.username());
		properties.setProperty("password", this.server.password());
		properties.setProperty("preferQueryMode", "simple");
		Connection connection = DriverManager.getConnection(this.server.jdbcUrl(), properties);
		if (number == IMPATIENT) {
			try (Statement statement = connection.createStatement()) {
				statement.execute("SET lock_timeout = " + this.lockTimeoutMillis);
			}
		}
		int pid = connection.unwrap(PGConnection.class).getBackendPID();
		this.sessions.put(number, new Session(connection, pid));
		this.numbers.put(pid, number);
	}

	private String execute(Connection connection, Operation operation) {
		try (Statement statement = connection.createStatement()) {
			statement.execute(operation.sql());
			if (!operation.hasResult()) {
				return "done";
			}
			try (ResultSet row = statement.getResultSet()) {
				row.next();
				return operation.isTransactionId() ? Long.toString(row.getLong(1) - this.base)
						: Boolean.toString(row.getBoolean(1));
			}
		}
		catch (SQLException ex) {
			String state = String.valueOf(ex.getSQLState());
			if (state.startsWith("08") || state.equals("57P01")) {
				return ENDED;
			}
			// The driver complains about a commit that rolls back
			return (operation.kind() == Operation.Kind.COMMIT && state.equals("25P02")) ? "done" : state;
		}
	}

	/**
	 * Wait until every session has answered or waits for a lock, and every session that
	 * was ended and does not wait has left.
	 */
	private void awaitRest() throws SQLException {
		long limit = System.nanoTime() + LIMIT_NANOS;
		while (!isAtRest()) {
			if (System.nanoTime() > limit) {
				throw new AssertionError("The sessions do not come to rest");
			}
		}
	}

	/**
	 * What is busy is read first: whatever has finished by then has its effect on what is
	 * read next.
	 */
	private boolean isAtRest() throws SQLException {
		Set<Integer> busy = new HashSet<>();
		Set<Integer> patient = new HashSet<>(this.abandoned);
		for (Map.Entry<Integer, Session> entry : this.sessions.entrySet()) {
			Session session = entry.getValue();
			if (session.answer != null && !session.answer.isDone()) {
				busy.add(session.pid);
				if (entry.getKey() != IMPATIENT && !session.cancelled) {
					patient.add(session.pid);
				}
			}
		}
		patient.removeAll(this.ended);
		busy.addAll(this.abandoned);
		busy.addAll(this.ended);
		if (busy.isEmpty()) {
			return true;
		}
		patient.retainAll(pids("SELECT pid FROM pg_locks WHERE NOT granted"));
		if (!patient.containsAll(busy)) {
			Set<Integer> present = pids("SELECT pid FROM pg_stat_get_activity(NULL)");
			this.abandoned.retainAll(present);
			this.ended.retainAll(present);
			return false;
		}
		return true;
	}

	private Set<Integer> pids(String sql) throws SQLException {
		Set<Integer> pids = new HashSet<>();
		try (Statement statement = this.observer.createStatement(); ResultSet rows = statement.executeQuery(sql)) {
			while (rows.next()) {
				pids.add(rows.getInt(1));
			}
		}
		return pids;
	}

	private @Nullable String query(String sql) throws SQLException {
		try (Statement statement = this.observer.createStatement(); ResultSet row = statement.executeQuery(sql)) {
			return row.next() ? row.getString(1) : null;
		}
	}

	@Override
	public SortedSet<String> locks() throws SQLException {
		TreeSet<String> locks = new TreeSet<>();
		try (Statement statement = this.observer.createStatement(); ResultSet row = statement.executeQuery("""
				SELECT pid, objsubid, classid::bigint, objid::bigint, mode, granted
				FROM pg_locks WHERE locktype = 'advisory'""")) {
			while (row.next()) {
				LockKey key = new LockKey(row.getInt(2), (int) row.getLong(3), (int) row.getLong(4));
				LockMode mode = row.getString(5).equals("ShareLock") ? LockMode.SHARE : LockMode.EXCLUSIVE;
				locks.add(describe(this.numbers.get(row.getInt(1)), key, mode, row.getBoolean(6)));
			}
		}
		return locks;
	}

	static String describe(@Nullable Integer session, LockKey key, LockMode mode, boolean granted) {
		return "session " + session + (granted ? " holds " : " awaits ") + key + " " + mode;
	}

	@Override
	public String endings() throws SQLException {
		try (Statement statement = this.observer.createStatement();
				ResultSet row = statement.executeQuery(Operation.of(Operation.Kind.ENDINGS).sql())) {
			row.next();
			return Scene.endings(row.getLong(1) - this.killed, row.getLong(2) - this.fatal);
		}
	}

	@Override
	public void close() throws SQLException {
		for (Session session : this.sessions.values()) {
			session.answer = null;
			session.connection.abort(Runnable::run);
		}
		for (int pid : this.numbers.keySet()) {
			query("SELECT pg_terminate_backend(" + pid + ") FROM pg_stat_get_activity(" + pid + ")");
			this.ended.add(pid);
		}
		this.abandoned.clear();
		awaitRest();
		this.threads.shutdown();
		this.observer.close();
	}

	/**
	 * A session and the answer to its statement.
	 */
	private static final class Session {

		private final Connection connection;

		private final int pid;

		private @Nullable Future<String> answer;

		private boolean cancelled;

		private Session(Connection connection, int pid) {
			this.connection = connection;
			this.pid = pid;
		}

	}

}
