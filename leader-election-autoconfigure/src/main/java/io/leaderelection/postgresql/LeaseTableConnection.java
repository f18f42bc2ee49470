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
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;

import io.leaderelection.engine.ElectionSession.Candidate;
import io.leaderelection.postgresql.LeaseTableSql.Renewal;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;
import org.postgresql.PGConnection;
import org.postgresql.PGNotification;

/**
 * The connection of a node to its lease table. Confined to one thread, except for
 * {@link #connection()}, which may be aborted by any thread.
 */
final class LeaseTableConnection {

	private static final Log logger = LogFactory.getLog(LeaseTableConnection.class);

	private static final String STANDBY = "25006";

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

	boolean isClosed() throws SQLException {
		return this.connection.isClosed();
	}

	boolean isListening() {
		return this.listener != null;
	}

	/**
	 * Return whether another node has released a lease. Blocks for about a millisecond at
	 * most.
	 */
	boolean receivesNotice() throws SQLException {
		if (this.listener == null) {
			return false;
		}
		PGNotification[] notifications = this.listener.getNotifications(1);
		return notifications != null && notifications.length > 0;
	}

	Map<String, LeaseRow> round(Collection<String> elections, Collection<Renewal> renewals) throws SQLException {
		Map<String, LeaseRow> rows = new HashMap<>();
		for (LeaseRow row : Jdbc.rows(this.connection, this.sql.round(elections, renewals), (row) -> {
			if (row.getBoolean("in_recovery")) {
				throw new SQLException("The server is a standby now", STANDBY);
			}
			return LeaseRow.of(row);
		})) {
			rows.put(row.election(), row);
		}
		return rows;
	}

	void insert(Collection<String> elections) throws SQLException {
		Jdbc.last(this.connection, this.sql.insert(elections), (row) -> true);
	}

	Map<String, List<Candidate>> candidates(UUID id, String node, Collection<String> own, Collection<String> elections,
			long expiryMillis) throws SQLException {
		Map<String, List<Candidate>> candidates = new HashMap<>();
		Jdbc.rows(this.connection, this.sql.candidates(id, node, own, elections, expiryMillis),
				(row) -> candidates.computeIfAbsent(row.getString("election"), (election) -> new ArrayList<>())
					.add(new Candidate(row.getString("node"), row.getString("session"))));
		return candidates;
	}

	/**
	 * Close the connection.
	 * @param candidate removed from the candidates if the connection is alive
	 */
	void close(@Nullable UUID candidate) {
		try {
			if (candidate != null && !this.connection.isClosed()) {
				Jdbc.last(this.connection, this.sql.withdraw(candidate), (row) -> true);
			}
			this.connection.close();
		}
		catch (SQLException ex) {
			logger.debug("The connection ended before it was closed", ex);
			Jdbc.abort(this.connection);
		}
	}

}
