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
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;

import io.leaderelection.Term;
import io.leaderelection.engine.ElectionStore.Watch;
import io.leaderelection.engine.Platform;
import io.leaderelection.engine.SessionException;
import io.leaderelection.engine.SessionNames;
import io.leaderelection.postgresql.ConnectionSource;
import io.leaderelection.postgresql.DatabaseIdentity;
import io.leaderelection.postgresql.Jdbc;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;

/**
 * Observes an election without a session: by one statement that leaves nothing behind, on
 * a connection that is borrowed from the application's pool, or else on one that is
 * opened for it. The pool may be behind a pooler in transaction mode, or lead to another
 * database or a standby; such a connection is not used. While the same node leads and no
 * seat is free, the candidates are read less often. Confined to one thread.
 */
final class Watcher {

	private static final Log logger = LogFactory.getLog(Watcher.class);

	private static final Duration BORROW_TIMEOUT = Duration.ofSeconds(1);

	private static final int READ_TIMEOUT_MILLIS = 5000;

	private static final long LONGEST_AGE = TimeUnit.SECONDS.toNanos(30);

	/** In observations, about five minutes. */
	private static final int PAUSE = 60;

	private final ConnectionSource source;

	private final AdvisoryLockSql sql;

	private final Platform platform;

	private final DatabaseIdentity home;

	private final List<Integer> seats;

	private final Peers peers;

	private @Nullable String started;

	private volatile @Nullable Connection borrowed;

	private boolean poolVerified;

	private boolean failed;

	/** When the candidates are to be read again. */
	private long readAt;

	/** How many observations do without the pool, which led elsewhere. */
	private int pause;

	/**
	 * Create a new {@code Watcher} instance.
	 * @param source lends connections
	 * @param sql the statements for the election database
	 * @param home the election database
	 * @param names the names of sessions
	 * @param termEpoch the epoch of terms
	 * @param seats the seats that this node may take
	 * @param platform the clock
	 */
	Watcher(ConnectionSource source, AdvisoryLockSql sql, DatabaseIdentity home, SessionNames names, int termEpoch,
			List<Integer> seats, Platform platform) {
		this.platform = platform;
		this.source = source;
		this.sql = sql;
		this.home = home;
		this.seats = seats;
		this.peers = new Peers(sql, names, termEpoch, platform);
		this.readAt = platform.nanoTime();
	}

	/**
	 * Watch on a connection of the pool.
	 * @return the observation, or {@code null} if this is not possible now
	 */
	@Nullable Watch watchByPool() throws SessionException {
		this.failed = false;
		if (this.pause > 0) {
			this.pause--;
			return null;
		}
		Connection lent = borrow();
		if (lent == null) {
			return null;
		}
		try (lent) {
			this.borrowed = lent;
			return watchAndRestore(lent);
		}
		catch (SQLException | RuntimeException ex) {
			logger.debug("The connection of the pool could not be used to observe the election", ex);
			this.pause = Jdbc.isDenied(ex) ? PAUSE : this.pause;
			this.failed = true;
			return null;
		}
		finally {
			this.borrowed = null;
		}
	}

	/**
	 * Return whether the last observation has failed on a connection that the pool lent.
	 */
	boolean hasFailed() {
		return this.failed;
	}

	/**
	 * End an observation on a connection of the pool. May be called by any thread.
	 */
	void abandon() {
		Connection used = this.borrowed;
		if (used != null) {
			Jdbc.abort(used);
		}
	}

	private @Nullable Connection borrow() throws SessionException {
		try {
			return this.source.borrow(BORROW_TIMEOUT);
		}
		catch (InterruptedException ex) {
			throw new SessionException("Interrupted while waiting for a connection of the pool", ex);
		}
	}

	private @Nullable Watch watchAndRestore(Connection borrowed) throws SQLException {
		int networkTimeout = borrowed.getNetworkTimeout();
		boolean autoCommit = borrowed.getAutoCommit();
		try {
			borrowed.setNetworkTimeout(Runnable::run,
					(networkTimeout != 0) ? Math.min(networkTimeout, READ_TIMEOUT_MILLIS) : READ_TIMEOUT_MILLIS);
			// Locks end with their statement, even if this process stops
			borrowed.setAutoCommit(true);
			return isElectionDatabase(borrowed) ? watch(borrowed) : null;
		}
		finally {
			if (!borrowed.isClosed()) {
				borrowed.setAutoCommit(autoCommit);
				borrowed.setNetworkTimeout(Runnable::run, networkTimeout);
			}
		}
	}

	private boolean isElectionDatabase(Connection borrowed) throws SQLException {
		if (!this.poolVerified) {
			this.poolVerified = Jdbc.isPostgreSql(borrowed) && this.home.matches(DatabaseIdentity.of(borrowed));
			this.pause = this.poolVerified ? 0 : PAUSE;
			logger.debug("The pool of the application is " + (this.poolVerified ? "" : "not ")
					+ "used to observe the election");
		}
		return this.poolVerified;
	}

	/**
	 * Watch on a connection.
	 * @return the observation, or {@code null} if the connection leads to another
	 * database, to a standby or to a server that was started again: its sessions may have
	 * the process ids of those before
	 */
	@Nullable Watch watch(Connection connection) throws SQLException {
		Term term = (this.platform.nanoTime() - this.readAt < 0) ? this.peers.settledTerm() : null;
		if (term != null && isUnchanged(connection, term)) {
			return new Watch(this.peers.known(), false);
		}
		Answer answer = Jdbc.query(connection, this.sql.watch(this.seats), Answer::of);
		String known = (this.started != null) ? this.started : answer.started();
		if (answer.inRecovery() || answer.database() != this.home.database() || !known.equals(answer.started())) {
			return null;
		}
		this.started = known;
		boolean open = answer.taken() < this.seats.size();
		this.readAt = this.platform.nanoTime() + (open ? 0 : LONGEST_AGE);
		return new Watch(this.peers.view(connection, answer.holder(), answer.term(), answer.seats(), answer.nodes()),
				open);
	}

	private boolean isUnchanged(Connection connection, Term term) throws SQLException {
		try {
			return Jdbc.query(connection, this.sql.isUnchanged(this.seats, term), (row) -> row.getBoolean(1));
		}
		catch (SQLException ex) {
			Jdbc.throwIfInterrupted(connection, ex);
			logger.debug("The server may have no space for the locks", ex);
			return false;
		}
	}

	/**
	 * The answer of the server.
	 */
	private record Answer(boolean inRecovery, long database, String started, int holder, long term, Nodes nodes,
			List<Integer> seats, int taken) {

		static Answer of(ResultSet row) throws SQLException {
			return new Answer(row.getBoolean("in_recovery"), row.getLong("database"), row.getString("started"),
					row.getInt("holder"), row.getLong("term"), Nodes.of(row), Nodes.pids(row.getString("seats")),
					row.getInt("taken"));
		}

	}

}
