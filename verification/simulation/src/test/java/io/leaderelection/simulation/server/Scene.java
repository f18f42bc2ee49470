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

/**
 * Named sessions on a server, simulated or real, and what happens to them over time.
 */
interface Scene extends AutoCloseable {

	/** What a session says that has ended during its statement. */
	String ENDED = "ended";

	void connect(String session) throws SQLException;

	/**
	 * Begin a statement.
	 */
	void start(String session, Operation operation);

	/**
	 * Return what a statement says: its result, {@code done}, an SQLSTATE or
	 * {@code ended}.
	 */
	String answer(String session) throws Exception;

	default String run(String session, Operation operation) throws Exception {
		start(session, operation);
		return answer(session);
	}

	/**
	 * Set a timeout of the session.
	 */
	void set(String session, Timeout timeout, long millis) throws Exception;

	/**
	 * Wait until a session waits for a lock.
	 * @throws TooSlowException if it does no longer
	 */
	void awaitWaiting(String session) throws Exception;

	void awaitLocks(String session, int count) throws Exception;

	/**
	 * Close the connection without waiting for anything.
	 */
	void abandon(String session) throws Exception;

	/**
	 * Wait until the process of a session is gone.
	 */
	void awaitGone(String session) throws Exception;

	/**
	 * Have the server count the ends of sessions from zero.
	 */
	void resetStatistics() throws Exception;

	/**
	 * End a session, as {@code pg_terminate_backend}.
	 */
	void terminate(String session) throws Exception;

	static String endings(long killed, long fatal) {
		return killed + " killed, " + fatal + " fatal";
	}

	/**
	 * Stop the process of a session.
	 */
	void freeze(String session);

	void thaw(String session);

	/**
	 * Let some time pass.
	 */
	void elapse(long millis) throws Exception;

	/**
	 * Crash and start again, with no sessions.
	 */
	void crash() throws Exception;

	@Override
	void close() throws Exception;

	/**
	 * The time was over too early for what was to happen. Says nothing about the servers.
	 */
	final class TooSlowException extends Exception {

	}

}
