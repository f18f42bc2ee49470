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

import io.leaderelection.postgresql.Jdbc.RowMapper;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;

/**
 * The database and the cluster to which a connection leads. Advisory locks are local to a
 * database (PostgreSQL manual, section "pg_locks").
 *
 * @param database the object id of the database
 * @param cluster the system identifier of the cluster, or {@code null} if the role may
 * not read it
 */
public record DatabaseIdentity(long database, @Nullable Long cluster) {

	private static final Log logger = LogFactory.getLog(DatabaseIdentity.class);

	/**
	 * Identifies the database. Runs in a session of the application, so that everything
	 * is schema-qualified here too.
	 */
	public static final String DATABASE = """
			SELECT oid::pg_catalog.int8 AS database,
			  pg_catalog.has_function_privilege('pg_catalog.pg_control_system()', 'EXECUTE') AS control_system
			FROM pg_catalog.pg_database WHERE datname OPERATOR(pg_catalog.=) pg_catalog.current_database()
			""";

	/** Returns the identifier of the cluster. */
	public static final String CLUSTER = "SELECT system_identifier FROM pg_catalog.pg_control_system()";

	private static final int TIMEOUT_SECONDS = 10;

	/**
	 * Return the database of a connection of the application.
	 */
	public static DatabaseIdentity of(Connection connection) throws SQLException {
		record Answer(long database, boolean controlSystem) {
		}
		Answer answer = query(connection, DATABASE,
				(row) -> new Answer(row.getLong("database"), row.getBoolean("control_system")));
		return new DatabaseIdentity(answer.database(), answer.controlSystem() ? cluster(connection) : null);
	}

	/**
	 * Return the database of a session of an election. The cluster is left out if it
	 * cannot be determined for any reason: this must not prevent a node from leading.
	 */
	public static DatabaseIdentity of(Connection connection, ServerInspection server) throws SQLException {
		try {
			return new DatabaseIdentity(server.database(),
					server.mayExecute("pg_control_system") ? cluster(connection) : null);
		}
		catch (SQLException ex) {
			if (!connection.isValid(TIMEOUT_SECONDS)) {
				throw ex;
			}
			logger.debug("Could not determine the system identifier of the cluster", ex);
			return new DatabaseIdentity(server.database(), null);
		}
	}

	private static long cluster(Connection connection) throws SQLException {
		return query(connection, CLUSTER, (row) -> row.getLong("system_identifier"));
	}

	private static <T> T query(Connection connection, String sql, RowMapper<T> mapper) throws SQLException {
		try (Statement statement = connection.createStatement()) {
			statement.setQueryTimeout(TIMEOUT_SECONDS);
			try (ResultSet row = statement.executeQuery(sql)) {
				row.next();
				return mapper.map(row);
			}
		}
	}

	/**
	 * Return whether both are the same database. If one cluster is unknown, only the
	 * databases are compared: a fence on the wrong database refuses all transactions,
	 * whereas a missing fence lets all of them pass.
	 */
	public boolean matches(DatabaseIdentity other) {
		return this.database == other.database
				&& (this.cluster == null || other.cluster == null || this.cluster.equals(other.cluster));
	}

}
