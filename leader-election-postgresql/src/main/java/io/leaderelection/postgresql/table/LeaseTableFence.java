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

package io.leaderelection.postgresql.table;

import java.sql.Connection;
import java.sql.DatabaseMetaData;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;

import io.leaderelection.Term;
import io.leaderelection.engine.Platform;
import io.leaderelection.engine.TransactionFence;
import io.leaderelection.postgresql.DatabaseIdentity;
import io.leaderelection.postgresql.Jdbc;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;
import org.postgresql.util.PSQLException;

/**
 * The fence of an election in the lease table: a transaction shares a lock on the row of
 * the election if that still has its term.
 * <p>
 * A takeover changes that row. So a transaction either locks it before, and the takeover
 * waits for its end, or does not find its term any longer. A transaction that reads an
 * older snapshot still finds its term: before the row changes it locks it, too, and after
 * that its lock fails with a serialization failure.
 */
final class LeaseTableFence implements TransactionFence {

	private static final Log logger = LogFactory.getLog(LeaseTableFence.class);

	private static final Duration READ_MARGIN = Duration.ofSeconds(2);

	private static final long FIRST_PAUSE = TimeUnit.MILLISECONDS.toNanos(1);

	private static final long LONGEST_PAUSE = TimeUnit.MILLISECONDS.toNanos(32);

	/** The term of no node. */
	private static final Elected NONE = new Elected(new Term(0, 1, 1), new UUID(0, 0));

	private static final int EXPLAIN_SECONDS = 10;

	private static final String SERIALIZATION_FAILURE = "40001";

	/**
	 * The routine of PostgreSQL that finds that a row has changed which it is to lock.
	 */
	private static final String LOCK_ROWS = "ExecLockRows";

	private final String key;

	private final String longestIdle;

	private final int timeoutMillis;

	private final Supplier<@Nullable Home> home;

	private final Platform platform;

	/**
	 * Where the database of the elections was found: a statement on a missing table would
	 * fail the transaction. A database elsewhere may have moved before the next
	 * transaction.
	 */
	private final Set<Covered> covered = ConcurrentHashMap.newKeySet();

	private volatile @Nullable Elected elected;

	/**
	 * Create a new {@code LeaseTableFence} instance.
	 * @param key the key of the row
	 * @param lease the length of the lease
	 * @param home provides the database of the elections, if it has been reached
	 * @param platform the platform
	 */
	LeaseTableFence(String key, Duration lease, Supplier<@Nullable Home> home, Platform platform) {
		this.key = key;
		this.longestIdle = lease.toMillis() + "ms";
		this.timeoutMillis = (int) lease.plus(READ_MARGIN).toMillis();
		this.home = home;
		this.platform = platform;
	}

	/**
	 * Set the last term of this node.
	 */
	void elected(Term term, UUID token) {
		this.elected = new Elected(term, token);
	}

	/**
	 * Let no transaction of a term of this node pass any longer.
	 */
	void ended(Term term) {
		Elected current = this.elected;
		if (current != null && current.term().equals(term)) {
			this.elected = null;
		}
	}

	@Override
	public Outcome pass(Connection connection, Term term) throws SQLException {
		Home known = this.home.get();
		if (known == null || !Boolean.TRUE.equals(covers(connection))) {
			return Outcome.ELSEWHERE;
		}
		Elected current = this.elected;
		if (current == null || !current.term().equals(term)) {
			return Outcome.REFUSED;
		}
		int networkTimeout = connection.getNetworkTimeout();
		boolean shorten = networkTimeout == 0 || networkTimeout > this.timeoutMillis;
		if (shorten) {
			connection.setNetworkTimeout(Runnable::run, this.timeoutMillis);
		}
		try {
			return verify(connection, known.sql(), current);
		}
		catch (SQLException ex) {
			if (isChanged(ex)) {
				logger.debug("The term of the fence has changed since the transaction began", ex);
				return Outcome.REFUSED;
			}
			throw ex;
		}
		finally {
			if (shorten && !connection.isClosed()) {
				connection.setNetworkTimeout(Runnable::run, networkTimeout);
			}
		}
	}

	/**
	 * Return whether the row has changed since a transaction with an older snapshot
	 * began. Other serialization failures say nothing about the term: the application may
	 * repeat such a transaction.
	 */
	private static boolean isChanged(SQLException failure) {
		return SERIALIZATION_FAILURE.equals(failure.getSQLState()) && failure instanceof PSQLException reported
				&& reported.getServerErrorMessage() != null
				&& LOCK_ROWS.equals(reported.getServerErrorMessage().getRoutine());
	}

	/**
	 * A takeover locks the row for the length of its own transaction, so a locked row is
	 * tried again for a moment.
	 */
	private Outcome verify(Connection connection, LeaseTableSql sql, Elected current) throws SQLException {
		for (long pause = FIRST_PAUSE;; pause *= 2) {
			if (lock(connection, sql, current)) {
				return Outcome.PASSED;
			}
			if (!isHeld(connection, sql, current)) {
				return Outcome.REFUSED;
			}
			if (pause > LONGEST_PAUSE) {
				return Outcome.blockedBy("session that has locked its row");
			}
			this.platform.park(this, pause);
		}
	}

	private boolean lock(Connection connection, LeaseTableSql sql, Elected current) throws SQLException {
		try (PreparedStatement fence = prepare(connection, sql.fence(), current);
				ResultSet row = fence.executeQuery()) {
			row.next();
			return row.getBoolean("passed");
		}
	}

	private PreparedStatement prepare(Connection connection, String sql, Elected elected) throws SQLException {
		PreparedStatement fence = connection.prepareStatement(sql);
		fence.setString(1, this.longestIdle);
		fence.setString(2, this.key);
		fence.setLong(3, elected.term().transactionId());
		fence.setLong(4, elected.term().timeline());
		fence.setString(5, elected.token().toString());
		return fence;
	}

	/**
	 * Determine whether the term has ended or another session has locked the row. The
	 * transaction must not commit in either case.
	 */
	private boolean isHeld(Connection connection, LeaseTableSql sql, Elected current) throws SQLException {
		try (Statement statement = connection.createStatement();
				ResultSet row = statement.executeQuery(sql.isHeld(this.key, current.term(), current.token()))) {
			row.next();
			return row.getLong("held") > 0;
		}
	}

	@Override
	public @Nullable Boolean covers(Connection connection) throws SQLException {
		Home known = this.home.get();
		if (known == null) {
			return null;
		}
		if (!Jdbc.isPostgreSql(connection)) {
			return false;
		}
		DatabaseMetaData metaData = connection.getMetaData();
		Covered place = new Covered(metaData.getURL(), metaData.getUserName(), known.identity());
		if (!this.covered.contains(place) && known.identity().matches(DatabaseIdentity.of(connection))) {
			explain(connection, known.sql());
			this.covered.add(place);
		}
		return this.covered.contains(place);
	}

	/**
	 * Fails if the role lacks a privilege for the fence. Locks no row, so that it is
	 * possible in a transaction that is read-only, too.
	 */
	private void explain(Connection connection, LeaseTableSql sql) throws SQLException {
		try (PreparedStatement fence = prepare(connection, "EXPLAIN " + sql.fence(), NONE)) {
			fence.setQueryTimeout(EXPLAIN_SECONDS);
			fence.execute();
		}
	}

	/**
	 * The database of the elections.
	 *
	 * @param identity identifies it
	 * @param sql the statements
	 */
	record Home(DatabaseIdentity identity, LeaseTableSql sql) {
	}

	/**
	 * Connections that lead to the database of the elections.
	 *
	 * @param url their URL
	 * @param user their role
	 * @param identity the database
	 */
	private record Covered(String url, String user, DatabaseIdentity identity) {
	}

	/**
	 * A term of this node.
	 *
	 * @param term the term
	 * @param token the token of its session
	 */
	private record Elected(Term term, UUID token) {
	}

}
