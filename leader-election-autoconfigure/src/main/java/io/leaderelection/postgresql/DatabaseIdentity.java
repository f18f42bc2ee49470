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

import org.jspecify.annotations.Nullable;

/**
 * Which database of which cluster is at the other end of a connection. Advisory locks are
 * local to a database (PostgreSQL manual, section "pg_locks").
 *
 * @param database the object id of the database
 * @param cluster the system identifier of the cluster, or {@code null} if the role may
 * not ask for it
 */
record DatabaseIdentity(long database, @Nullable Long cluster) {

	private static final int TIMEOUT_SECONDS = 10;

	static DatabaseIdentity of(Connection connection) throws SQLException {
		try (Statement statement = connection.createStatement()) {
			statement.setQueryTimeout(TIMEOUT_SECONDS);
			long database;
			boolean mayAskForCluster;
			try (ResultSet row = statement.executeQuery(AdvisoryLockSql.DATABASE)) {
				row.next();
				database = row.getLong("database");
				mayAskForCluster = row.getBoolean("may_ask_for_cluster");
			}
			return new DatabaseIdentity(database, mayAskForCluster ? cluster(statement) : null);
		}
	}

	private static Long cluster(Statement statement) throws SQLException {
		try (ResultSet row = statement.executeQuery(AdvisoryLockSql.CLUSTER)) {
			row.next();
			return row.getLong("system_identifier");
		}
	}

	/**
	 * Return whether this is the other database too, as far as it is known: a fence on
	 * the wrong database refuses all transactions, none lets all pass.
	 */
	boolean matches(DatabaseIdentity other) {
		return this.database == other.database
				&& (this.cluster == null || other.cluster == null || this.cluster.equals(other.cluster));
	}

}
