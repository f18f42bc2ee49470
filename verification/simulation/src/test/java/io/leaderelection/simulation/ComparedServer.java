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

package io.leaderelection.simulation;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.Properties;
import java.util.Set;
import java.util.function.Supplier;

import io.leaderelection.simulation.server.LockVisitor;
import io.leaderelection.simulation.server.Statement;

/**
 * A server, simulated or real, on which the same is done. Connections are used by other
 * threads than the one that calls the other methods.
 */
public interface ComparedServer extends AutoCloseable {

	/**
	 * Connect with the settings of a driver.
	 */
	Connection connect(Properties driverSettings) throws SQLException;

	/**
	 * Return the text of a statement that runs once.
	 * @param sql the statement
	 * @param program what it does
	 */
	String text(String sql, Supplier<Statement<?>> program);

	/**
	 * Let some time pass, or other threads run.
	 * @param busy how many threads are busy, or wait for an answer
	 */
	void proceed(int busy) throws InterruptedException;

	void terminate(int pid) throws SQLException;

	void cancel(int pid) throws SQLException;

	/**
	 * Have a session end soon, since its client is silent.
	 */
	void expire(Connection connection) throws SQLException;

	void resetStatistics() throws SQLException;

	/**
	 * Return the sessions that wait for a lock.
	 */
	Set<Integer> waiting() throws SQLException;

	/**
	 * Return the sessions that exist.
	 */
	Set<Integer> present() throws SQLException;

	/**
	 * Visit the advisory locks.
	 */
	void visitLocks(LockVisitor visitor) throws SQLException;

	/**
	 * Return how many sessions this server has ended.
	 */
	String endings() throws SQLException;

	/**
	 * Return the words for such numbers, as a session reads them.
	 */
	String endings(long killed, long fatal);

	/**
	 * Stop the process of a session, or let it go on.
	 */
	void signal(int pid, boolean stop);

	/**
	 * Let a time pass.
	 * @param busy as above
	 */
	void elapse(long millis, int busy) throws InterruptedException;

	/**
	 * Crash and start again, with no sessions.
	 */
	void crash() throws SQLException;

	/**
	 * Return the next transaction id.
	 */
	long nextTransactionId() throws SQLException;

	@Override
	default void close() throws SQLException {
	}

}
