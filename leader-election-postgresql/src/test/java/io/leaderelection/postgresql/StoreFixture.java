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
import java.util.Properties;
import java.util.concurrent.Callable;
import java.util.concurrent.Future;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.function.UnaryOperator;

import io.leaderelection.engine.ElectionStore;
import io.leaderelection.engine.SessionException;
import io.leaderelection.engine.StoreSession;
import io.leaderelection.engine.StoreSession.Acquisition.Held;
import io.leaderelection.engine.StoreSession.Acquisition.Won;
import io.leaderelection.engine.StoreSession.Confirmation;
import io.leaderelection.testsupport.Daemon;
import io.leaderelection.testsupport.PostgreSqlServer;
import org.junit.jupiter.api.AfterEach;
import org.mockito.stubbing.Answer;

import static org.awaitility.Awaitility.await;

/**
 * Sessions of elections, and other connections to a real server, which end with the test.
 */
public abstract class StoreFixture {

	protected static final Duration NO_WAIT = Duration.ofMillis(1);

	protected static final Duration LIMIT = Duration.ofSeconds(15);

	/** Long enough to notice what must not happen. */
	protected static final Duration WHILE = Duration.ofMillis(300);

	protected final PostgreSqlServer server = PostgreSqlServer.shared();

	protected final List<StoreSession> sessions = new ArrayList<>();

	protected final List<Connection> connections = new ArrayList<>();

	@AfterEach
	protected void end() throws SQLException {
		abortSessions();
		for (Connection connection : this.connections) {
			connection.close();
		}
	}

	protected void abortSessions() {
		this.sessions.forEach(StoreSession::abort);
	}

	public abstract ElectionStore store(String node);

	public abstract Won win(StoreSession session) throws SessionException;

	public abstract Confirmation confirm(String node, StoreSession session) throws SessionException;

	public abstract boolean isRequested();

	public abstract String requester(String node, String cause);

	public StoreSession open(ElectionStore store) throws SessionException {
		StoreSession session = store.open();
		this.sessions.add(session);
		return session;
	}

	public StoreSession candidate(String node) throws SessionException {
		return candidate(store(node));
	}

	public StoreSession candidate(ElectionStore store) throws SessionException {
		StoreSession session = open(store);
		session.becomeCandidate();
		return session;
	}

	protected static Held hold(StoreSession session) throws SessionException {
		return (Held) session.acquire(NO_WAIT);
	}

	/**
	 * Open a connection with the settings of the driver that a store has as well, and run
	 * statements on it.
	 */
	protected Connection connect(String... statements) throws SQLException {
		Connection connection = tracked(this.server.connect(new Properties()));
		for (String statement : statements) {
			execute(connection, statement);
		}
		return connection;
	}

	/**
	 * Begin a transaction that runs a statement, such as one that locks something.
	 */
	protected Connection begin(String... statements) throws SQLException {
		Connection connection = connect();
		connection.setAutoCommit(false);
		for (String statement : statements) {
			execute(connection, statement);
		}
		return connection;
	}

	protected Connection tracked(Connection connection) {
		this.connections.add(connection);
		return connection;
	}

	protected static void execute(Connection connection, String sql) throws SQLException {
		try (Statement statement = connection.createStatement()) {
			statement.execute(sql);
		}
	}

	protected static String value(Connection connection, String sql) throws SQLException {
		try (Statement statement = connection.createStatement(); ResultSet row = statement.executeQuery(sql)) {
			row.next();
			return row.getString(1);
		}
	}

	/**
	 * Run a call on a thread of its own.
	 */
	protected static <T> Future<T> start(Callable<T> call) {
		FutureTask<T> task = new FutureTask<>(call);
		Daemon.start("test", task);
		return task;
	}

	protected static <T> T get(Future<T> task) throws Exception {
		return task.get(LIMIT.toSeconds(), TimeUnit.SECONDS);
	}

	protected static void awaitStill(Callable<Boolean> condition) {
		await().during(WHILE).atMost(LIMIT).pollDelay(Duration.ZERO).until(condition);
	}

	/**
	 * Change a statement of a spy.
	 */
	protected static Answer<String> changed(UnaryOperator<String> change) {
		return (call) -> change.apply((String) call.callRealMethod());
	}

}
