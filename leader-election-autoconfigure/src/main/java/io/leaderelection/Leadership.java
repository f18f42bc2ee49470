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
 * One grant of leadership to one node: who leads which election in which term. The values
 * never change; {@link #isCurrent()} tells whether the grant still stands.
 * <p>
 * Safe for use by any thread.
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
	 * Return when leadership was granted, by the clock of the node that leads. For
	 * people: nothing in the election depends on it.
	 * @return the instant of the grant
	 */
	Instant getSince();

	/**
	 * Return whether this very term is still trusted: {@code true} from the grant until
	 * the lock is about to be freed or the lease has lapsed, the drain of an orderly
	 * hand-over included. Unlike {@link LeaderElector#isLeader()} it is {@code false} for
	 * an earlier term of a node that leads again. Costs no I/O and takes no lock.
	 * @return whether this term is trusted
	 */
	boolean isCurrent();

	/**
	 * Fence the transaction of a connection: it commits before any later term is granted,
	 * or not at all. To be called last before the commit, since a roll-back to an earlier
	 * savepoint would undo it. Transactions that Spring manages in leader work on the
	 * database of the election need no call.
	 * <p>
	 * Takes one round trip and never waits for a lock. Until the transaction has ended it
	 * holds up the grant of a later term; so that a client that stops there does not do
	 * so for longer than the lease, the transaction may not be idle for longer from here
	 * on ({@code idle_in_transaction_session_timeout}, PostgreSQL manual, section "Client
	 * Connection Defaults"). Does nothing in an election without a database.
	 * @param connection a connection to the database of the election, with a transaction
	 * (not in auto-commit mode); used on the calling thread
	 * @throws LeadershipLostException if the term is over; the transaction must be rolled
	 * back
	 * @throws IllegalStateException if the connection is in auto-commit mode or leads to
	 * another database
	 * @throws SQLException if the database fails, or with SQL state {@code 55P03} if the
	 * term is not over but a session that is no node of the election holds the lock of
	 * the fence; the transaction must be rolled back
	 */
	void fence(Connection connection) throws SQLException;

}
