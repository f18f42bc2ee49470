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
import java.sql.SQLException;
import java.util.HashMap;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

import io.leaderelection.simulation.ComparedServer;
import io.leaderelection.simulation.server.Operation.Kind;
import org.postgresql.PGConnection;

/**
 * Named sessions on a server, and what happens to them over time.
 */
final class Scene implements AutoCloseable {

	private static final long LIMIT_NANOS = 30_000_000_000L;

	private final ComparedServer server;

	private final ExecutorService threads = Executors.newCachedThreadPool();

	private final Map<String, Connection> connections = new HashMap<>();

	private final Map<String, Integer> pids = new HashMap<>();

	private final Map<String, Future<String>> answers = new HashMap<>();

	private final long base;

	Scene(ComparedServer server) throws SQLException {
		this.server = server;
		this.base = server.nextTransactionId() - WriteAheadLog.FIRST;
	}

	void connect(String session) throws Exception {
		this.answers.put(session, this.threads.submit(() -> {
			Connection connection = this.server.connect(new Properties());
			synchronized (this) {
				this.connections.put(session, connection);
				this.pids.put(session, connection.unwrap(PGConnection.class).getBackendPID());
			}
			return "connected";
		}));
		answer(session);
	}

	private synchronized Connection connection(String session) {
		return this.connections.get(session);
	}

	private synchronized int pid(String session) {
		return this.pids.get(session);
	}

	/**
	 * Begin a statement.
	 */
	void start(String session, Operation operation) {
		start(session, this.server.text(operation.sql(), operation::statement), operation);
	}

	private void start(String session, String text, Operation operation) {
		Connection connection = connection(session);
		this.answers.put(session, this.threads.submit(() -> execute(connection, text, operation)));
	}

	private String execute(Connection connection, String text, Operation operation) {
		try {
			return operation.execute(this.server, connection, text, this.base);
		}
		catch (SQLException ex) {
			String state = String.valueOf(ex.getSQLState());
			return (state.startsWith("08") || state.startsWith("57P") || state.equals("25P03")) ? "ended" : state;
		}
	}

	/**
	 * Return what a statement says: its result, {@code done}, an SQLSTATE or
	 * {@code ended}.
	 */
	String answer(String session) throws Exception {
		Future<String> answer = this.answers.get(session);
		await(answer::isDone);
		return answer.get();
	}

	String run(String session, Operation operation) throws Exception {
		start(session, operation);
		return answer(session);
	}

	/**
	 * Set a timeout of the session.
	 */
	void set(String session, Timeout timeout, long millis) throws Exception {
		String name = switch (timeout) {
			case LOCK -> "lock_timeout";
			case STATEMENT -> "statement_timeout";
			case IDLE_SESSION -> "idle_session_timeout";
			case IDLE_IN_TRANSACTION -> "idle_in_transaction_session_timeout";
			case CLIENT_CHECK -> "client_connection_check_interval";
		};
		start(session, this.server.text("SET " + name + " = " + millis, () -> Statements.set(timeout, millis, false)),
				Operation.of(Kind.BEGIN));
		answer(session);
	}

	/**
	 * Wait until a session waits for a lock.
	 * @throws TooSlowException if it does no longer
	 */
	void awaitWaiting(String session) throws Exception {
		Future<String> answer = this.answers.get(session);
		await(() -> answer.isDone() || this.server.waiting().contains(pid(session)));
		if (answer.isDone()) {
			throw new TooSlowException();
		}
	}

	void awaitLocks(String session, int count) throws Exception {
		await(() -> {
			int[] held = new int[1];
			this.server.visitLocks((key, mode, pid, granted) -> held[0] += (granted && pid == pid(session)) ? 1 : 0);
			return held[0] == count;
		});
	}

	private void await(Callable<Boolean> condition) throws Exception {
		long limit = System.nanoTime() + LIMIT_NANOS;
		while (!condition.call()) {
			if (System.nanoTime() > limit) {
				throw new AssertionError("Nothing happens any more");
			}
			this.server.proceed(busy());
		}
	}

	private int busy() {
		return (int) this.answers.values().stream().filter((answer) -> !answer.isDone()).count();
	}

	/**
	 * Close the connection without waiting for anything.
	 */
	void abandon(String session) throws SQLException {
		connection(session).abort(Runnable::run);
	}

	/**
	 * Wait until the process of a session is gone.
	 */
	void awaitGone(String session) throws Exception {
		await(() -> !this.server.present().contains(pid(session)));
	}

	/**
	 * Have the server count the ends of sessions from zero.
	 */
	void resetStatistics() throws SQLException {
		this.server.resetStatistics();
	}

	/**
	 * End a session, as {@code pg_terminate_backend}.
	 */
	void terminate(String session) throws SQLException {
		this.server.terminate(pid(session));
	}

	/**
	 * Stop the process of a session.
	 */
	void freeze(String session) {
		this.server.signal(pid(session), true);
	}

	void thaw(String session) {
		this.server.signal(pid(session), false);
	}

	/**
	 * Let some time pass.
	 */
	void elapse(long millis) throws InterruptedException {
		this.server.elapse(millis, busy());
	}

	/**
	 * Crash and start again, with no sessions.
	 */
	void crash() throws SQLException {
		this.server.crash();
	}

	@Override
	public void close() throws Exception {
		for (Connection connection : this.connections.values()) {
			connection.abort(Runnable::run);
		}
		await(() -> this.pids.values().stream().noneMatch(this.server.present()::contains));
		this.threads.shutdown();
		this.server.close();
	}

	/**
	 * The time was over too early for what was to happen. Says nothing about the servers.
	 */
	static final class TooSlowException extends Exception {

	}

}
