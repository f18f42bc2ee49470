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

package io.leaderelection.postgresql.advisory;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;

import io.leaderelection.Term;
import io.leaderelection.engine.TransactionFence;
import io.leaderelection.postgresql.DatabaseIdentity;
import io.leaderelection.postgresql.ElectionKeys;
import io.leaderelection.postgresql.Jdbc;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;

/**
 * The fence of an election: a transaction takes a shared lock on the fence key, which it
 * holds until its end, and then checks whether the key of its term is still held.
 * <p>
 * Before a later term is granted, its winner has observed that no key of an earlier term
 * is held any longer, and has held the fence key exclusively after that. A transaction
 * that takes its share before the exclusive lock therefore blocks the grant until it has
 * ended, and a transaction that takes its share later finds the key of its term free.
 */
final class AdvisoryLockFence implements TransactionFence {

	private static final Log logger = LogFactory.getLog(AdvisoryLockFence.class);

	private static final Duration READ_MARGIN = Duration.ofSeconds(2);

	private final ElectionKeys keys;

	private final String longestIdle;

	private final int timeoutMillis;

	private volatile @Nullable DatabaseIdentity home;

	AdvisoryLockFence(ElectionKeys keys, Duration lease) {
		this.keys = keys;
		this.longestIdle = lease.toMillis() + "ms";
		this.timeoutMillis = (int) lease.plus(READ_MARGIN).toMillis();
	}

	/**
	 * Set the election database.
	 */
	void heldOn(DatabaseIdentity identity) {
		this.home = identity;
	}

	/**
	 * The answer is only useful within the lease. The time is bounded by the timeout of
	 * the socket: the statement has no wait that could be cancelled, and a timer per
	 * statement would cost as much as the statement.
	 */
	@Override
	public Outcome pass(Connection connection, Term term) throws SQLException {
		if (!Jdbc.isPostgreSql(connection)) {
			return Outcome.ELSEWHERE;
		}
		int networkTimeout = connection.getNetworkTimeout();
		if (networkTimeout != 0 && networkTimeout <= this.timeoutMillis) {
			return verify(connection, term);
		}
		connection.setNetworkTimeout(Runnable::run, this.timeoutMillis);
		try {
			return verify(connection, term);
		}
		finally {
			if (!connection.isClosed()) {
				connection.setNetworkTimeout(Runnable::run, networkTimeout);
			}
		}
	}

	private Outcome verify(Connection connection, Term term) throws SQLException {
		long database;
		try (PreparedStatement fence = connection.prepareStatement(AdvisoryLockSql.FENCE)) {
			fence.setLong(1, this.keys.fence());
			fence.setInt(2, this.keys.termClass());
			fence.setInt(3, ElectionKeys.termObject(term.timeline(), term.transactionId()));
			fence.setString(4, this.longestIdle);
			try (ResultSet row = fence.executeQuery()) {
				row.next();
				if (row.getBoolean("held")) {
					return Outcome.PASSED;
				}
				database = row.getLong("database");
				DatabaseIdentity known = this.home;
				if (known != null && known.database() != database) {
					return Outcome.ELSEWHERE;
				}
			}
		}
		return Boolean.FALSE.equals(covers(connection)) ? Outcome.ELSEWHERE : refusal(connection, database, term);
	}

	/**
	 * Determine whether the term has ended or a foreign session holds the fence. The
	 * transaction must not commit in either case, so a failure here is treated as the end
	 * of the term.
	 */
	private Outcome refusal(Connection connection, long database, Term term) throws SQLException {
		try (Statement statement = connection.createStatement();
				ResultSet row = statement.executeQuery(AdvisoryLockSql.foreignFenceHolder(this.keys, database, term))) {
			return row.next() ? Outcome.blockedBy(Jdbc.describeSession(row)) : Outcome.REFUSED;
		}
		catch (SQLException ex) {
			Jdbc.throwIfInterrupted(connection, ex);
			logger.debug("Could not determine the holder of the fence", ex);
			return Outcome.REFUSED;
		}
	}

	@Override
	public @Nullable Boolean covers(Connection connection) throws SQLException {
		DatabaseIdentity known = this.home;
		if (known == null) {
			return null;
		}
		return Jdbc.isPostgreSql(connection) && known.matches(DatabaseIdentity.of(connection));
	}

}
