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

import java.sql.SQLException;
import java.util.Properties;

import io.leaderelection.simulation.ComparedServer;
import io.leaderelection.simulation.ComparedSessions;

/**
 * Named sessions on a server, and what happens to them over time.
 */
final class Scene implements AutoCloseable {

	private final ComparedServer server;

	private final ComparedSessions<String> sessions;

	private final long base;

	Scene(ComparedServer server) throws SQLException {
		this.server = server;
		this.sessions = new ComparedSessions<>(server);
		this.base = server.nextTransactionId() - WriteAheadLog.FIRST;
	}

	ComparedServer server() {
		return this.server;
	}

	void connect(String... names) throws Exception {
		for (String session : names) {
			this.sessions.open(session, () -> {
				this.sessions.opened(session, this.server.connect(new Properties()));
				return "connected";
			});
			answer(session);
		}
	}

	/**
	 * Begin a statement.
	 */
	void start(String session, Operation operation) {
		this.sessions.start(session, false,
				() -> operation.execute(this.server, this.sessions.connection(session), this.base));
	}

	/**
	 * Return what a statement says: its result, {@code done}, an SQLSTATE or
	 * {@code ended}.
	 */
	String answer(String session) throws Exception {
		return this.sessions.answer(session);
	}

	String run(String session, Operation operation) throws Exception {
		start(session, operation);
		return answer(session);
	}

	/**
	 * Set a timeout of the session.
	 */
	void set(String session, Timeout timeout, long millis) throws Exception {
		this.sessions.start(session, false, () -> {
			Operation.set(this.server, this.sessions.connection(session), timeout, millis);
			return "set";
		});
		answer(session);
	}

	/**
	 * Wait until a session waits for a lock.
	 * @throws TooSlowException if it does no longer
	 */
	void awaitWaiting(String session) throws Exception {
		int pid = this.sessions.pid(session);
		this.sessions.await(() -> !this.sessions.isBusy(session) || this.server.waiting().contains(pid));
		if (!this.sessions.isBusy(session)) {
			throw new TooSlowException();
		}
	}

	void awaitLocks(String session, int count) throws Exception {
		this.sessions.await(() -> {
			int[] held = new int[1];
			this.server.visitLocks(
					(key, mode, pid, granted) -> held[0] += (granted && pid == this.sessions.pid(session)) ? 1 : 0);
			return held[0] == count;
		});
	}

	/**
	 * Close the connection without waiting for anything.
	 */
	void abandon(String session) throws SQLException {
		this.sessions.connection(session).abort(Runnable::run);
	}

	/**
	 * Wait until the process of a session is gone.
	 */
	void awaitGone(String session) throws Exception {
		this.sessions.await(() -> !this.server.present().contains(this.sessions.pid(session)));
	}

	/**
	 * End a session, as {@code pg_terminate_backend}.
	 */
	void terminate(String session) throws SQLException {
		this.server.terminate(this.sessions.pid(session));
	}

	/**
	 * Stop the process of a session.
	 */
	void freeze(String session) {
		this.server.signal(this.sessions.pid(session), true);
	}

	void thaw(String session) {
		this.server.signal(this.sessions.pid(session), false);
	}

	/**
	 * Let some time pass.
	 */
	void elapse(long millis) throws InterruptedException {
		this.server.elapse(millis, this.sessions.busy());
	}

	@Override
	public void close() throws Exception {
		this.sessions.close();
	}

	/**
	 * The time was over too early for what was to happen. Says nothing about the servers.
	 */
	static final class TooSlowException extends Exception {

	}

}
