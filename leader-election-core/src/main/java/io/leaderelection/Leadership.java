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

package io.leaderelection;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Instant;

/**
 * One grant of leadership: which node leads which election in which term. The values
 * never change; {@link #isCurrent()} returns whether the grant is still valid.
 * <p>
 * Implementations are safe for use by multiple threads.
 *
 * @since 0.1.0
 */
public interface Leadership {

	/**
	 * Return the name of the election.
	 * @return the name of the election
	 */
	String getElection();

	/**
	 * Return the id of the node that was granted leadership.
	 * @return the node id
	 */
	String getNodeId();

	/**
	 * Return the term of this grant.
	 * @return the term
	 */
	Term getTerm();

	/**
	 * Return when leadership was granted, by the clock of the leader. For information
	 * only: the election does not depend on it.
	 * @return the instant of the grant
	 */
	Instant getSince();

	/**
	 * Return whether this term is still trusted: {@code true} from the grant until the
	 * lock is about to be freed or the lease has expired. This includes the time in which
	 * an orderly hand-over waits for work. In contrast to
	 * {@link LeaderElector#isLeader()}, it is {@code false} for an earlier term of a node
	 * that leads again. Performs no I/O and takes no lock.
	 * @return whether this term is trusted
	 */
	boolean isCurrent();

	/**
	 * Fence the transaction of a connection: it commits before any later term is granted,
	 * or is rolled back. Call this method directly before the commit, since a rollback to
	 * an earlier savepoint would undo it. Transactions that Spring manages in leader work
	 * on the election database are fenced automatically.
	 * <p>
	 * Takes one round trip and never waits for a lock. A fenced transaction blocks the
	 * grant of a later term until it has ended. After this call, the server ends the
	 * session if the transaction is idle for longer than the lease
	 * ({@code idle_in_transaction_session_timeout}, PostgreSQL manual, section "Client
	 * Connection Defaults"), so that a client that has stopped does not block the grant
	 * for longer. Does nothing in an election without a database.
	 * @param connection a connection to the election database, with a transaction (not in
	 * auto-commit mode); used on the calling thread
	 * @throws LeadershipLostException if the term has ended; the transaction must be
	 * rolled back
	 * @throws IllegalStateException if the connection is in auto-commit mode or is a
	 * connection to another database
	 * @throws SQLException if the database fails, or with SQL state {@code 55P03} if the
	 * term has not ended but a session that is not a node of the election holds the lock
	 * of the fence; the transaction must be rolled back
	 */
	void fence(Connection connection) throws SQLException;

}
