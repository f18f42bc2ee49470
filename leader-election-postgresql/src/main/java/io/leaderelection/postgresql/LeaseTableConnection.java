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
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.stream.Collectors;
import java.util.stream.Stream;

import io.leaderelection.engine.NodeProfile;
import io.leaderelection.engine.Platform;
import io.leaderelection.engine.StoreSession.Candidate;
import io.leaderelection.postgresql.Jdbc.RowMapper;
import io.leaderelection.postgresql.LeaseTableRequest.Task;
import io.leaderelection.postgresql.LeaseTableSql.Renewal;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;
import org.postgresql.PGConnection;
import org.postgresql.PGNotification;

/**
 * The connection of a node to its lease table. Confined to one thread, except where
 * noted.
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

	private final long limit;

	private final Platform platform;

	private volatile @Nullable Long deadline;

	/**
	 * Create a new {@code LeaseTableConnection} instance.
	 * @param connection the connection
	 * @param sql the statements
	 * @param listener the same connection if it receives notices of releases
	 * @param limit how long a statement may take
	 * @param platform the platform
	 */
	LeaseTableConnection(Connection connection, LeaseTableSql sql, @Nullable PGConnection listener, Duration limit,
			Platform platform) {
		this.connection = connection;
		this.sql = sql;
		this.listener = listener;
		this.limit = limit.toNanos();
		this.platform = platform;
	}

	Connection connection() {
		return this.connection;
	}

	LeaseTableSql sql() {
		return this.sql;
	}

	boolean isClosed() throws SQLException {
		return this.connection.isClosed();
	}

	boolean isListening() {
		return this.listener != null;
	}

	/**
	 * Return the notices of releases by other nodes. Waits for about a millisecond, and
	 * for the rest of a notice that has begun to arrive.
	 */
	Set<String> receiveNotices() throws SQLException {
		PGConnection source = this.listener;
		PGNotification[] received = (source != null) ? limited(() -> source.getNotifications(1)) : null;
		return (received != null) ? Stream.of(received).map(PGNotification::getParameter).collect(Collectors.toSet())
				: Set.of();
	}

	Map<String, LeaseRow> round(Collection<String> elections, Collection<Renewal> renewals) throws SQLException {
		List<LeaseRow> rows = rows(this.sql.round(elections, renewals), (row) -> {
			if (row.getBoolean("in_recovery")) {
				throw new SQLException("The server is a standby now", STANDBY);
			}
			return LeaseRow.of(row);
		});
		return rows.stream().collect(Collectors.toMap(LeaseRow::election, (row) -> row));
	}

	void insert(Collection<String> elections) throws SQLException {
		rows(this.sql.insert(elections), (row) -> true);
	}

	Map<String, List<Candidate>> candidates(UUID id, String node, Map<String, NodeProfile> own,
			Collection<String> elections, long expiryMillis) throws SQLException {
		Map<String, List<Candidate>> candidates = new HashMap<>();
		rows(this.sql.candidates(id, node, own, elections, expiryMillis),
				(row) -> candidates.computeIfAbsent(row.getString("election"), (election) -> new ArrayList<>())
					.add(new Candidate(row.getString("node"), row.getString("session"),
							Profiles.ofText(row.getString("profile")))));
		return candidates;
	}

	private <T> List<T> rows(String text, RowMapper<T> mapper) throws SQLException {
		return limited(() -> Jdbc.rows(this.connection, text, mapper));
	}

	<T> T run(Task<T> task) throws SQLException {
		return limited(() -> task.run(this.connection, this.sql));
	}

	private <T extends @Nullable Object> T limited(Statement<T> statement) throws SQLException {
		this.deadline = this.platform.nanoTime() + this.limit;
		try {
			return statement.run();
		}
		finally {
			this.deadline = null;
		}
	}

	/**
	 * End the connection if a statement takes too long. May be called by any thread;
	 * never blocks.
	 */
	void endOverdue() {
		Long end = this.deadline;
		if (end != null && end - this.platform.nanoTime() <= 0) {
			Jdbc.abort(this.connection);
		}
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
	 * @param candidate removed from the candidates
	 */
	void close(UUID candidate) {
		try {
			rows(this.sql.withdraw(candidate), (row) -> true);
			this.connection.close();
		}
		catch (SQLException ex) {
			logger.debug("The connection ended before it was closed", ex);
			Jdbc.abort(this.connection);
		}
	}

	@FunctionalInterface
	private interface Statement<T extends @Nullable Object> {

		T run() throws SQLException;

	}

}
