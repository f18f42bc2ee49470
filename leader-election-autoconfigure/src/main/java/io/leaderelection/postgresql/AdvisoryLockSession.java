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
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Supplier;

import io.leaderelection.Term;
import io.leaderelection.engine.ElectionSession;
import io.leaderelection.engine.SessionException;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;
import org.postgresql.PGConnection;

/**
 * A session of PostgreSQL that stands for an advisory lock.
 */
final class AdvisoryLockSession implements ElectionSession {

	private static final Log logger = LogFactory.getLog(AdvisoryLockSession.class);

	private static final long LINGER = TimeUnit.MILLISECONDS.toNanos(200);

	private static final long LINGER_PAUSE = TimeUnit.MILLISECONDS.toNanos(2);

	private static final long LAST_IDLE_MILLIS = 1000;

	private static final String QUERY_CANCELED = "57014";

	private static final int MOST_TRIES = 5;

	/** No term has this transaction id. */
	private static final Term NONE = new Term(0, 0, 0);

	private final Connection connection;

	private final PGConnection pgConnection;

	private final SessionIdentity identity;

	private final AdvisoryLockSql sql;

	private final String name;

	private final Peers peers;

	private final int termEpoch;

	private final long longestWaitMillis;

	private final long leaseMillis;

	private final String guard;

	private Term term = NONE;

	private boolean marked;

	private @Nullable String candidates;

	private @Nullable Term requested;

	AdvisoryLockSession(Connection connection, PGConnection pgConnection, SessionIdentity identity, AdvisoryLockSql sql,
			ApplicationName applicationName, int termEpoch, long longestWaitMillis, long leaseMillis, boolean pooled) {
		this.connection = connection;
		this.pgConnection = pgConnection;
		this.identity = identity;
		this.sql = sql;
		this.name = applicationName.toString();
		this.peers = new Peers(sql, applicationName, termEpoch);
		this.termEpoch = termEpoch;
		this.longestWaitMillis = longestWaitMillis;
		this.leaseMillis = leaseMillis;
		this.guard = pooled ? AdvisoryLockSql.requireToken(identity.token()) : "";
	}

	/**
	 * Become a candidate for the life of the session.
	 */
	void stand() throws SessionException {
		query(this.sql.stand(), (row) -> row.getBoolean(1));
	}

	@Override
	public void withdraw() throws SessionException {
		queryAgain(this.sql::withdraw, (row) -> row.getBoolean(1));
	}

	@Override
	public Acquisition acquire(Duration timeout) throws SessionException {
		long wait = Math.max(1, Math.min(timeout.toMillis(), this.longestWaitMillis));
		Attempt attempt = attempt(this.sql.acquire(wait));
		if (attempt == null) {
			return new Acquisition.Held(this.peers.known());
		}
		if (attempt.outcome().isEmpty()) {
			return new Acquisition.Held(view(attempt.holder(), attempt.candidates()));
		}
		String[] parts = attempt.outcome().split(":");
		this.term = new Term(this.termEpoch, Long.parseLong(parts[0]), Long.parseLong(parts[1]));
		return new Acquisition.Won(this.term, Boolean.parseBoolean(parts[2]));
	}

	/**
	 * Try to win. What is cancelled just before or after its wait has failed, but may
	 * have left locks behind, of which the session must be rid then.
	 * @return what came of it, or {@code null} if it was cancelled and has left nothing
	 */
	private @Nullable Attempt attempt(String text) throws SessionException {
		try {
			return query(this.connection, this.guard + text,
					(row) -> new Attempt(row.getString("outcome"), row.getInt("holder"), row.getString("candidates")));
		}
		catch (SQLException ex) {
			if (!QUERY_CANCELED.equals(ex.getSQLState())
					|| queryAgain(this.sql::holdsAny, (row) -> row.getBoolean("holds"))) {
				throw lost(ex);
			}
			return null;
		}
	}

	@Override
	public View observe() throws SessionException {
		record Outcome(int holder, @Nullable String candidates) {
		}
		Outcome outcome = queryAgain(this.sql::observe,
				(row) -> new Outcome(row.getInt("holder"), row.getString("candidates")));
		return view(outcome.holder(), outcome.candidates());
	}

	private View view(int holder, @Nullable String candidates) throws SessionException {
		return unlessCancelled(() -> this.peers.view(this.connection, holder, candidates));
	}

	@Override
	public void requestResignation(Term term) throws SessionException {
		withdrawRequest();
		queryAgain(() -> this.sql.requestResignation(term), (row) -> row.getBoolean(1));
		this.requested = term;
	}

	@Override
	public void withdrawRequest() throws SessionException {
		Term request = this.requested;
		if (request != null) {
			queryAgain(() -> this.sql.withdrawRequest(request), (row) -> row.getBoolean(1));
			this.requested = null;
		}
	}

	@Override
	public Confirmation confirm() throws SessionException {
		return unlessCancelled(this::confirmOnce);
	}

	private Confirmation confirmOnce() throws SQLException {
		return query(this.connection, this.sql.confirm(this.term), (row) -> {
			this.identity.check(row);
			if (row.getInt("held") != 2) {
				throw new SQLException("The session no longer holds both keys of its term");
			}
			this.candidates = row.getString("candidates");
			int predecessor = row.getInt("predecessor");
			return new Confirmation((predecessor != 0) ? "the session with pid " + predecessor : null,
					row.getBoolean("resignation_requested"));
		});
	}

	@Override
	public List<Candidate> candidates() throws SessionException {
		return view(0, this.candidates).candidates();
	}

	@Override
	public String name() {
		return this.name;
	}

	/**
	 * Ask, and ask again if somebody has cancelled the statement: it has changed nothing
	 * that must not be changed again, so the session is as it was. The server signals a
	 * session and its process group, so a cancel may arrive twice.
	 */
	private static <T> T unlessCancelled(Question<T> question) throws SessionException {
		for (int tries = 1;; tries++) {
			try {
				return question.ask();
			}
			catch (SQLException ex) {
				if (!QUERY_CANCELED.equals(ex.getSQLState()) || tries == MOST_TRIES) {
					throw lost(ex);
				}
				logger.debug("Asking again, since the statement was cancelled", ex);
			}
		}
	}

	@Override
	public @Nullable String passBarrier(Duration timeout) throws SessionException {
		long wait = Math.max(1, Math.min(timeout.toMillis(), this.longestWaitMillis));
		String blockedBy = queryAgain(() -> this.sql.passBarrier(wait, this.leaseMillis), (row) -> {
			if ("passed".equals(row.getString("outcome"))) {
				return "";
			}
			int holder = row.getInt("holder");
			return (holder != 0) ? "the transaction of the session with pid " + holder
					: "a transaction that has just ended or was prepared";
		});
		return blockedBy.isEmpty() ? null : blockedBy;
	}

	@Override
	public void park(Duration timeout) throws SessionException {
		try {
			this.pgConnection.getNotifications((int) Math.max(1, timeout.toMillis()));
		}
		catch (SQLException ex) {
			throw lost(ex);
		}
	}

	@Override
	public void release(boolean clean) throws SessionException {
		long idle = Math.min(this.leaseMillis, LAST_IDLE_MILLIS);
		this.marked = query(this.sql.release(this.term, clean, idle), (row) -> row.getBoolean("marked"));
	}

	@Override
	public void close() {
		try {
			if (this.marked) {
				linger();
			}
			this.connection.close();
		}
		catch (SessionException | SQLException ex) {
			logger.debug("The session ended before it was closed", ex);
			abort();
		}
	}

	/**
	 * Keep the marker up until the successor has seen it.
	 */
	private void linger() throws SessionException {
		long deadline = System.nanoTime() + LINGER;
		while (!query(this.sql.succeeded(), (row) -> row.getBoolean("succeeded"))) {
			long remaining = deadline - System.nanoTime();
			if (remaining <= 0) {
				return;
			}
			LockSupport.parkNanos(LINGER_PAUSE);
		}
	}

	@Override
	public void cancel() {
		try {
			this.pgConnection.cancelQuery();
		}
		catch (SQLException ex) {
			logger.debug("The wait could not be cancelled and ends by itself", ex);
		}
	}

	@Override
	public void abort() {
		abort(this.connection);
	}

	static void abort(Connection connection) {
		try {
			connection.abort(AdvisoryLockSession::runAside);
		}
		catch (SQLException ex) {
			logger.debug("The connection could not be aborted; the server ends it after the lease", ex);
		}
	}

	Connection connection() {
		return this.connection;
	}

	private static void runAside(Runnable command) {
		Thread thread = new Thread(command, "leader-election-abort");
		thread.setDaemon(true);
		try {
			thread.start();
		}
		catch (OutOfMemoryError ex) {
			// No thread to be had: better a moment late than never
			command.run();
		}
	}

	/**
	 * Run statements that may take or free locks. Behind a pooler they first make sure
	 * that the session is this one, in the same transaction, during which it stays: in
	 * transaction mode, two nodes could hold the same lock in one session otherwise.
	 */
	private <T> T query(String text, RowMapper<T> mapper) throws SessionException {
		try {
			return query(this.connection, this.guard + text, mapper);
		}
		catch (SQLException ex) {
			throw lost(ex);
		}
	}

	/**
	 * The same for statements that may run twice. A cancel that was meant for the wait
	 * before them may come late.
	 */
	private <T> T queryAgain(Supplier<String> text, RowMapper<T> mapper) throws SessionException {
		return unlessCancelled(() -> query(this.connection, this.guard + text.get(), mapper));
	}

	/**
	 * Run one or more statements of which the last gives one row.
	 */
	static <T> T query(Connection connection, String text, RowMapper<T> mapper) throws SQLException {
		try (Statement statement = connection.createStatement()) {
			boolean rows = statement.execute(text);
			while (!rows && statement.getUpdateCount() != -1) {
				rows = statement.getMoreResults();
			}
			try (ResultSet result = statement.getResultSet()) {
				if (result == null || !result.next()) {
					throw new SQLException("The statement gave no row");
				}
				return mapper.map(result);
			}
		}
	}

	private static SessionException lost(SQLException ex) {
		return new SessionException("The session on the database has ended: " + summary(ex), ex);
	}

	/**
	 * Return the message without the lines that say where in which statement.
	 */
	static String summary(SQLException ex) {
		return String.valueOf(ex.getMessage()).lines().findFirst().orElse("");
	}

	private record Attempt(String outcome, int holder, @Nullable String candidates) {

	}

	@FunctionalInterface
	private interface Question<T> {

		T ask() throws SQLException;

	}

	@FunctionalInterface
	interface RowMapper<T> {

		T map(ResultSet row) throws SQLException;

	}

}
