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
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import java.util.Collection;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.Stream;

import io.leaderelection.engine.StoreSession.Candidate;
import io.leaderelection.postgresql.ElectionKeys;
import io.leaderelection.postgresql.Jdbc;
import io.leaderelection.postgresql.Jdbc.RowMapper;
import io.leaderelection.postgresql.Profiles;
import io.leaderelection.postgresql.table.LeaseTableSql.Identity;
import io.leaderelection.postgresql.table.LeaseTableSql.Part;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;
import org.postgresql.PGConnection;
import org.postgresql.PGNotification;

/**
 * The connection of a node to its lease table. Confined to its user.
 */
final class LeaseTableConnection {

	private static final Log logger = LogFactory.getLog(LeaseTableConnection.class);

	private static final String STANDBY = "25006";

	private static final String LOCK_NOT_AVAILABLE = "55P03";

	/**
	 * The server is read-only, or the table has been dropped or changed, or privileges
	 * have.
	 */
	private static final Set<String> CHANGED = Set.of(STANDBY, "0A000", "3F000", "42501", "42703", "42P01");

	private final Connection connection;

	private final LeaseTableSql sql;

	private final @Nullable PGConnection listener;

	private final Runnable onPooled;

	/**
	 * Create a new {@code LeaseTableConnection} instance.
	 * @param connection the connection
	 * @param sql the statements
	 * @param listener the same connection if it receives notices of releases, since there
	 * is no pooler
	 * @param onPooled called if there is one after all
	 */
	LeaseTableConnection(Connection connection, LeaseTableSql sql, @Nullable PGConnection listener, Runnable onPooled) {
		this.connection = connection;
		this.sql = sql;
		this.listener = listener;
		this.onPooled = onPooled;
	}

	Connection connection() {
		return this.connection;
	}

	LeaseTableSql sql() {
		return this.sql;
	}

	boolean isListening() {
		return this.listener != null;
	}

	/**
	 * Return the notices of releases by other nodes. Waits for the rest of a notice that
	 * has begun to arrive.
	 * @param nanos how long to wait for notices, or 0 to return those that have arrived
	 */
	Set<String> receiveNotices(long nanos) throws SQLException {
		PGConnection source = this.listener;
		if (source == null) {
			return Set.of();
		}
		int millis = (int) Math.max(1, TimeUnit.NANOSECONDS.toMillis(nanos));
		PGNotification[] received = (nanos > 0) ? source.getNotifications(millis) : source.getNotifications();
		return (received != null) ? Stream.of(received).map(PGNotification::getParameter).collect(Collectors.toSet())
				: Set.of();
	}

	void join(Identity identity) throws SQLException {
		rows(this.sql.join(identity), (row) -> true);
	}

	/**
	 * Run a round.
	 * @param beat the new beat of the session, or 0 to only read
	 * @param owns whether the session may own something
	 * @param candidates whether to read the candidates too
	 */
	Reply round(UUID token, long beat, boolean owns, Collection<String> elections, boolean candidates)
			throws SQLException {
		Map<String, LeaseRow> found = new HashMap<>();
		Map<String, Map<Candidate, Long>> listed = new HashMap<>();
		return rows(this.sql.round(token, beat, owns, elections, candidates), (row) -> {
			if (row.getBoolean("in_recovery")) {
				throw new SQLException("The server is a standby now", STANDBY);
			}
			if (this.listener != null && row.getInt("pid") != this.listener.getBackendPID()) {
				this.onPooled.run();
				throw new SQLException("Another session of the server has answered: there is a pooler");
			}
			if (row.getBoolean("listed")) {
				listed.computeIfAbsent(row.getString("election"), (election) -> new LinkedHashMap<>())
					.put(candidate(row), row.getLong("beat"));
			}
			else if (row.getObject("term") != null) {
				found.put(row.getString("election"), LeaseRow.of(row));
			}
			return new Reply(row.getBoolean("joined"), row.getBoolean("raised"), row.getLong("server_timeline"), found,
					candidates ? listed : null);
		}).get(0);
	}

	private static Candidate candidate(ResultSet row) throws SQLException {
		return new Candidate(row.getString("node"), row.getString("owner"), Profiles.ofText(row.getString("profile")));
	}

	void insert(Collection<String> elections) throws SQLException {
		rows(this.sql.insert(elections), (row) -> true);
	}

	/**
	 * Register how a session takes part in elections.
	 * @param elections all of them
	 * @param changed its parts in those that have changed
	 */
	void register(UUID token, Collection<String> elections, Map<String, Part> changed) throws SQLException {
		rows(this.sql.register(token, elections, changed), (row) -> true);
	}

	/**
	 * End sessions that have expired.
	 * @return those that this node has ended
	 */
	List<UUID> expire(Map<UUID, Long> beats, long serverTimeline) throws SQLException {
		return rows(this.sql.expire(beats, serverTimeline), (row) -> row.getObject("token", UUID.class));
	}

	/**
	 * Try to take elections over.
	 * @return the outcome of each
	 */
	Map<String, Takeover> takeOver(Map<LeaseRow, ElectionKeys> rows, LeaseRound round, long beat) throws SQLException {
		Map<String, Takeover> outcomes = new HashMap<>();
		rows(this.sql.takeOver(rows, round.timeline(), round.token(), beat),
				(row) -> outcomes.put(row.getString("election"),
						new Takeover(row.getLong("term"), row.getLong("timeline"), row.getInt("other"))));
		return outcomes;
	}

	/**
	 * Return the process ids of sessions with the other store, if there are any.
	 */
	Map<String, Integer> otherStore(Map<String, ElectionKeys> keys) throws SQLException {
		Map<String, Integer> found = new HashMap<>();
		rows(this.sql.otherStore(keys), (row) -> found.put(row.getString("election"), row.getInt("pid")));
		return found;
	}

	/**
	 * Free elections.
	 * @return those that were freed
	 */
	List<String> release(Map<LeaseRow, Boolean> rows, UUID token) throws SQLException {
		return rows(this.sql.release(rows, token), (row) -> row.getString("election"));
	}

	void announce(Collection<String> elections) throws SQLException {
		rows(this.sql.announce(elections), (row) -> true);
	}

	/**
	 * Return a description of what has locked the row of an election or of its owner, if
	 * there is such a transaction: mostly, one that has passed the fence of an earlier
	 * term.
	 */
	@Nullable String locker(String election, Duration lease) throws SQLException {
		try {
			String found = Jdbc.query(this.connection, this.sql.lockers(election, lease.toMillis()),
					LeaseTableConnection::describe);
			return found.isEmpty() ? null : found;
		}
		catch (SQLException ex) {
			if (LOCK_NOT_AVAILABLE.equals(ex.getSQLState())) {
				return "session that has locked the table";
			}
			throw ex;
		}
	}

	private static String describe(ResultSet row) throws SQLException {
		String prepared = row.getString("prepared");
		return (prepared != null) ? "prepared transaction '" + prepared + "'"
				: (row.getString("pid") != null) ? Jdbc.describeSession(row) : "";
	}

	/**
	 * End sessions that own nothing.
	 * @param beats their last beats
	 */
	void leave(Map<UUID, Long> beats) throws SQLException {
		rows(this.sql.leave(beats), (row) -> true);
	}

	private <T> List<T> rows(String text, RowMapper<T> mapper) throws SQLException {
		return Jdbc.rows(this.connection, text, mapper);
	}

	/**
	 * Return whether a new connection is necessary: the session has ended, the server may
	 * be another one, the table must be inspected again, or the cause is not known.
	 */
	boolean mustBeReplaced(SQLException ex) {
		String state = String.valueOf(ex.getSQLState());
		return state.length() != 5 || Jdbc.isBroken(this.connection, ex) || CHANGED.contains(state);
	}

	/**
	 * Close the connection.
	 * @param token the session to end, if there is one
	 * @param beat its last beat
	 */
	void close(@Nullable UUID token, long beat) {
		try {
			if (token != null) {
				leave(Map.of(token, beat));
			}
			this.connection.close();
		}
		catch (SQLException ex) {
			logger.debug("The connection ended before it was closed", ex);
			Jdbc.abort(this.connection);
		}
	}

	/**
	 * The answer to a round.
	 *
	 * @param joined whether the session has a row
	 * @param raised whether its beat was raised
	 * @param timeline the timeline of the server
	 * @param rows the rows of the elections
	 * @param candidates the candidates of the elections with the beats of their sessions,
	 * or {@code null} if they were not read
	 */
	record Reply(boolean joined, boolean raised, long timeline, Map<String, LeaseRow> rows,
			@Nullable Map<String, Map<Candidate, Long>> candidates) {
	}

	/**
	 * The outcome of an attempt to take over.
	 *
	 * @param term the transaction id of the term, or 0
	 * @param timeline the timeline of the term
	 * @param otherStore the process id of a session of the other store, or 0
	 */
	record Takeover(long term, long timeline, int otherStore) {

		static final Takeover NONE = new Takeover(0, 0, 0);

	}

}
