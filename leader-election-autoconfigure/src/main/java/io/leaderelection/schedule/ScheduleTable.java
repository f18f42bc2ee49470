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

package io.leaderelection.schedule;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

import javax.sql.DataSource;

import org.springframework.core.io.ClassPathResource;
import org.springframework.jdbc.core.ConnectionCallback;
import org.springframework.jdbc.core.JdbcTemplate;

/**
 * The table that records the fires of durable schedules.
 */
final class ScheduleTable {

	private static final String SCRIPT = "io/leaderelection/schema-schedule-postgresql.sql";

	private static final String DEFAULT_NAME = "leader_election_schedule";

	private static final String INSPECT = """
			SELECT has_table_privilege('%1$s', 'SELECT') AND has_table_privilege('%1$s', 'INSERT')
			  AND has_table_privilege('%1$s', 'UPDATE') AS privileges, current_user AS role
			FROM (SELECT election, job, last_fire, cron, zone, term, node, started, finished, outcome FROM %1$s LIMIT 0) AS t
			  RIGHT JOIN (SELECT 1) AS one ON true
			""";

	/** No schema, no privilege or no writes. */
	private static final Set<String> DENIED = Set.of("3F000", "42501", "25006");

	private final String name;

	private final boolean create;

	private final Set<DataSource> checked = ConcurrentHashMap.newKeySet();

	/**
	 * Create a new {@code ScheduleTable} instance.
	 * @param name the name of the table, with or without a schema
	 * @param create whether to create a missing table
	 */
	ScheduleTable(String name, boolean create) {
		this.name = name;
		this.create = create;
	}

	String name() {
		return this.name;
	}

	/**
	 * Check and create the table once. The first claim does it if the database cannot be
	 * reached at start.
	 * @throws InvalidDurableScheduleException if it cannot be used
	 */
	void check(DataSource dataSource) {
		if (!this.checked.contains(dataSource)) {
			new JdbcTemplate(dataSource).execute((ConnectionCallback<Boolean>) (connection) -> {
				check(connection);
				return this.checked.add(dataSource);
			});
		}
	}

	private void check(Connection connection) throws SQLException {
		boolean autoCommit = connection.getAutoCommit();
		connection.setAutoCommit(true);
		try {
			if (inspect(connection)) {
				return;
			}
			if (this.create) {
				create(connection);
			}
			if (!this.create || !inspect(connection)) {
				throw new InvalidDurableScheduleException(
						"The table " + this.name
								+ ", which records the fires of durable schedules, does not exist in a "
								+ "schema that the application can use.",
						"Run the script " + SCRIPT + ", which is in the jar, for "
								+ "instance as a migration of Flyway or Liquibase, or set "
								+ "leader-election.initialize-schema=always. The name of the table is that in "
								+ "leader-election.table-name and the suffix _schedule.");
			}
		}
		finally {
			connection.setAutoCommit(autoCommit);
		}
	}

	private boolean inspect(Connection connection) throws SQLException {
		try (Statement statement = connection.createStatement()) {
			return exists(statement) && inspect(statement);
		}
		catch (SQLException ex) {
			switch (String.valueOf(ex.getSQLState())) {
				case "42703" -> throw new InvalidDurableScheduleException(
						"The table " + this.name + " cannot record the fires of durable schedules: "
								+ String.valueOf(ex.getMessage()).lines().findFirst().orElse("") + ".",
						"Create it with the script " + SCRIPT + ", which is in the jar, "
								+ "or set leader-election.table-name to another name.");
				case "42501" -> throw privileges(connection.getMetaData().getUserName());
				default -> throw ex;
			}
		}
	}

	/**
	 * Return whether there is such a table, without an error in the log of the server.
	 */
	private boolean exists(Statement statement) throws SQLException {
		try (ResultSet row = statement.executeQuery("SELECT to_regclass('" + this.name + "') IS NOT NULL")) {
			row.next();
			return row.getBoolean(1);
		}
	}

	private boolean inspect(Statement statement) throws SQLException {
		try (ResultSet row = statement.executeQuery(INSPECT.formatted(this.name))) {
			row.next();
			if (!row.getBoolean("privileges")) {
				throw privileges(row.getString("role"));
			}
			return true;
		}
	}

	private InvalidDurableScheduleException privileges(String role) {
		int schema = this.name.indexOf('.');
		return new InvalidDurableScheduleException(
				"The role \"" + role + "\" lacks privileges on the table " + this.name
						+ ", which records the fires of durable schedules.",
				"Run as its owner: GRANT SELECT, INSERT, UPDATE ON " + this.name + " TO \"" + role + "\""
						+ ((schema < 0) ? "" : "; GRANT USAGE ON SCHEMA " + this.name.substring(0, schema) + " TO \""
								+ role + "\""));
	}

	/**
	 * Nodes that start at the same time may create the table at the same time, of which
	 * all but one may fail.
	 */
	private void create(Connection connection) throws SQLException {
		try (Statement statement = connection.createStatement()) {
			statement.execute(new ClassPathResource(SCRIPT, ScheduleTable.class.getClassLoader())
				.getContentAsString(StandardCharsets.UTF_8)
				.replace(DEFAULT_NAME + " (", this.name + " ("));
		}
		catch (IOException ex) {
			throw new IllegalStateException("The script " + SCRIPT + " cannot be read", ex);
		}
		catch (SQLException ex) {
			if (inspect(connection)) {
				return;
			}
			if (DENIED.contains(String.valueOf(ex.getSQLState()))) {
				throw new InvalidDurableScheduleException(
						"The table " + this.name
								+ ", which records the fires of durable schedules, could not be created: "
								+ String.valueOf(ex.getMessage()).lines().findFirst().orElse("") + ".",
						"Create it with the script " + SCRIPT + " as a role that may do so, or grant CREATE on the "
								+ "schema, which must exist.");
			}
			throw ex;
		}
	}

}
