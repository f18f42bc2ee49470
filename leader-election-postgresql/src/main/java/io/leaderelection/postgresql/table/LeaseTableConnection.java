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
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import java.util.function.BiConsumer;
import java.util.stream.Collectors;
import java.util.stream.Stream;

import io.leaderelection.Term;
import io.leaderelection.engine.NodeProfile;
import io.leaderelection.engine.StoreSession.Candidate;
import io.leaderelection.postgresql.ElectionKeys;
import io.leaderelection.postgresql.Jdbc;
import io.leaderelection.postgresql.Jdbc.RowMapper;
import io.leaderelection.postgresql.Profiles;
import io.leaderelection.postgresql.table.LeaseTableSession.Takeover;
import io.leaderelection.postgresql.table.LeaseTableSql.Identity;
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

	/**
	 * The server is read-only, or the table has been dropped or changed, or privileges
	 * have.
	 */
	private static final Set<String> CHANGED = Set.of(STANDBY, "0A000", "3F000", "42501", "42703", "42P01");

	private final Connection connection;

	private final LeaseTableSql sql;

	private final @Nullable PGConnection listener;

	/**
	 * Create a new {@code LeaseTableConnection} instance.
	 * @param connection the connection
	 * @param sql the statements
	 * @param listener the same connection if it receives notices of releases
	 */
	LeaseTableConnection(Connection connection, LeaseTableSql sql, @Nullable PGConnection listener) {
		this.connection = connection;
		this.sql = sql;
		this.listener = listener;
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
	 */
	Reply round(UUID token, long beat, Collection<String> elections) throws SQLException {
		Map<String, LeaseRow> found = new HashMap<>();
		return rows(this.sql.round(token, beat, elections), (row) -> {
			if (row.getBoolean("in_recovery")) {
				throw new SQLException("The server is a standby now", STANDBY);
			}
			if (row.getObject("term") != null) {
				found.put(row.getString("election"), LeaseRow.of(row));
			}
			return new Reply(row.getBoolean("joined"), row.getBoolean("raised"), row.getLong("server_timeline"), found);
		}).get(0);
	}

	void register(UUID token, Map<String, NodeProfile> own) throws SQLException {
		rows(this.sql.register(token, own), (row) -> true);
	}

	/**
	 * Return the candidates of elections.
	 * @param beats receives the beat of each session
	 */
	Map<String, List<Candidate>> candidates(Collection<String> elections, BiConsumer<UUID, Long> beats)
			throws SQLException {
		Map<String, List<Candidate>> candidates = new HashMap<>();
		rows(this.sql.candidates(elections), (row) -> {
			UUID token = row.getObject("token", UUID.class);
			beats.accept(token, row.getLong("beat"));
			return candidates.computeIfAbsent(row.getString("election"), (election) -> new ArrayList<>())
				.add(new Candidate(row.getString("node"), token.toString(), Profiles.ofText(row.getString("profile"))));
		});
		return candidates;
	}

	Takeover takeOver(LeaseRow row, LeaseRound round, ElectionKeys keys, long beat) throws SQLException {
		return query(this.sql.takeOver(row, round.timeline(), keys, round.token(), beat), Takeover::of);
	}

	boolean expire(UUID token, long beat, long serverTimeline) throws SQLException {
		return query(this.sql.expire(token, beat, serverTimeline), (row) -> row.getBoolean("changed"));
	}

	void release(String election, Term term, UUID token, boolean clean) throws SQLException {
		rows(this.sql.release(election, term, token, clean), (row) -> true);
	}

	private <T> List<T> rows(String text, RowMapper<T> mapper) throws SQLException {
		return Jdbc.rows(this.connection, text, mapper);
	}

	<T> T query(String text, RowMapper<T> mapper) throws SQLException {
		return Jdbc.query(this.connection, text, mapper);
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
				rows(this.sql.leave(token, beat), (row) -> true);
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
	 */
	record Reply(boolean joined, boolean raised, long timeline, Map<String, LeaseRow> rows) {
	}

}
