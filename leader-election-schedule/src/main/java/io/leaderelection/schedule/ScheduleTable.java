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
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

import javax.sql.DataSource;

import io.leaderelection.annotation.InvalidUsageException;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;

import org.springframework.core.io.ClassPathResource;
import org.springframework.jdbc.core.JdbcTemplate;

/**
 * The table that records the fires of durable schedules.
 */
final class ScheduleTable {

	private static final Log logger = LogFactory.getLog(DurableSchedule.class);

	private static final String SCRIPT = "io/leaderelection/schedule/schema-schedule-postgresql.sql";

	private static final String SUFFIX = "_schedule";

	private static final String DEFAULT_NAME = "leader_election_schedule";

	/** Names are resolved with the search path of the role, as those in a script are. */
	private static final String FIND = """
			SELECT pg_catalog.concat(pg_catalog.quote_ident(n.nspname), '.', pg_catalog.quote_ident(c.relname)) AS name,
			  c.relkind OPERATOR(pg_catalog.=) 'r' AND c.relpersistence OPERATOR(pg_catalog.=) 'p' AS permanent,
			  pg_catalog.has_table_privilege(c.oid, 'SELECT') AND pg_catalog.has_table_privilege(c.oid, 'INSERT')
			    AND pg_catalog.has_table_privilege(c.oid, 'UPDATE') AS privileges, current_user AS role
			FROM pg_catalog.pg_class AS c JOIN pg_catalog.pg_namespace AS n ON n.oid OPERATOR(pg_catalog.=) c.relnamespace
			WHERE c.oid OPERATOR(pg_catalog.=) pg_catalog.to_regclass('%s')::pg_catalog.oid
			""";

	/**
	 * Returns the tables of the same name in all schemas, but for that which the search
	 * path of the role finds. Finds them in the catalog: to resolve a name in a schema
	 * that the role may not use is an error.
	 */
	private static final String FIND_OTHERS = """
			SELECT coalesce(pg_catalog.string_agg(name, ', ') FILTER (WHERE usable), '') AS usable,
			  coalesce(pg_catalog.string_agg(name, ', ') FILTER (WHERE usable IS FALSE), '') AS denied,
			  pg_catalog.quote_ident(current_schema) AS schema
			FROM (SELECT pg_catalog.concat(pg_catalog.quote_ident(n.nspname), '.', pg_catalog.quote_ident(c.relname)) AS name,
			    pg_catalog.has_schema_privilege(n.oid, 'USAGE') AND pg_catalog.has_table_privilege(c.oid, 'UPDATE') AS usable
			  FROM pg_catalog.pg_class AS c JOIN pg_catalog.pg_namespace AS n ON n.oid OPERATOR(pg_catalog.=) c.relnamespace
			  WHERE c.relname OPERATOR(pg_catalog.=) '%1$s' AND c.relkind OPERATOR(pg_catalog.=) 'r'
			    AND (c.oid OPERATOR(pg_catalog.=) pg_catalog.to_regclass('%1$s')::pg_catalog.oid) IS NOT TRUE
			  ORDER BY usable DESC, n.nspname LIMIT 20) AS found
			""";

	/** Also requires the functions of a claim, although it returns no row. */
	private static final String COLUMNS = """
			SELECT election, job, last_fire, cron, zone, term, node, started, finished, outcome,
			  pg_catalog.clock_timestamp(), pg_catalog.pg_current_xact_id(), pg_catalog.pg_xact_status(pg_catalog.pg_current_xact_id()),
			  pg_catalog.set_config('leader_election.lock_timeout', NULL, true) FROM %s LIMIT 0
			""";

	/** No schema, no privilege or no writes. */
	private static final Set<String> DENIED = Set.of("3F000", "42501", "25006");

	private static final int TIMEOUT_SECONDS = 10;

	private final String name;

	private final boolean create;

	private final Map<DataSource, String> resolved = new ConcurrentHashMap<>();

	ScheduleTable(String leaseTable, boolean create) {
		this.name = leaseTable + SUFFIX;
		this.create = create;
	}

	/**
	 * Check and create the table once, and return its qualified name: the search path may
	 * change. The first claim does it if the database cannot be reached at start.
	 * @throws InvalidUsageException if it cannot be used
	 */
	String resolve(DataSource dataSource) {
		String known = this.resolved.get(dataSource);
		if (known == null) {
			known = Objects.requireNonNull(new JdbcTemplate(dataSource).execute(this::findOrCreate));
			this.resolved.put(dataSource, known);
		}
		return known;
	}

	private String findOrCreate(Connection connection) throws SQLException {
		boolean autoCommit = connection.getAutoCommit();
		connection.setAutoCommit(true);
		try {
			String found = find(connection);
			String elsewhere = compare(connection, found);
			if (found == null && this.create) {
				create(connection);
				found = find(connection);
				compare(connection, found);
			}
			if (found == null) {
				throw new InvalidUsageException(
						"The table " + this.name + ", which records the fires of durable schedules, is missing in the "
								+ "search path of the role, or in the schema that is set." + elsewhere,
						"Run the script " + SCRIPT + ", which is in the jar of leader-election-schedule, for "
								+ "instance as a migration of Flyway or Liquibase, or set "
								+ "leader-election.initialize-schema=always. The name of the table is that in "
								+ "leader-election.table-name and the suffix _schedule.");
			}
			return found;
		}
		catch (SQLException ex) {
			switch (String.valueOf(ex.getSQLState())) {
				case "42703" -> throw unsuitable(words(ex));
				case "42501" -> throw privileges(connection.getMetaData().getUserName(),
						", or on a function (docs/operations/security.md): " + words(ex));
				default -> throw ex;
			}
		}
		finally {
			connection.setAutoCommit(autoCommit);
		}
	}

	/**
	 * Compare the table with those of the same name in other schemas. Called before the
	 * creation, which is refused if other nodes may use another, and with the table that
	 * was found: of two nodes that create it in two schemas at the same time, one finds
	 * that of the other.
	 * @return where the others are, as sentences for a message
	 */
	private String compare(Connection connection, @Nullable String found) throws SQLException {
		try (Statement statement = statement(connection);
				// None if the name has a schema
				ResultSet row = statement.executeQuery(FIND_OTHERS.formatted(this.name.toLowerCase(Locale.ROOT)))) {
			row.next();
			String usable = row.getString("usable");
			String denied = row.getString("denied");
			if (found != null) {
				logger.info("Durable schedules are recorded in the table " + found
						+ (denied.isEmpty() ? "" : ", not in " + denied + ", which this role may not use"));
			}
			if (!usable.isEmpty() && found != null) {
				logger.warn("Tables of durable schedules also exist in " + usable
						+ ". Nodes whose search path finds those, and not " + found
						+ ", run the same fires once more. Set leader-election.table-name=" + leaseTable(found)
						+ " on all nodes");
			}
			else if (!usable.isEmpty() && this.create && row.getString("schema") != null) {
				String own = row.getString("schema") + "." + this.name;
				throw new InvalidUsageException(
						"The table " + own + ", which records the fires of durable schedules, is not created, since "
								+ "this role may also use " + usable
								+ ". Nodes with that table would run the same fires once more.",
						"If that table belongs to another environment or service, set leader-election.table-name="
								+ leaseTable(own) + " or create the table with the script " + SCRIPT
								+ ". Otherwise set leader-election.table-name to that of the other nodes: "
								+ leaseTable(usable) + ". Set the same on all nodes.");
			}
			return (usable.isEmpty() ? "" : " Elsewhere, there is " + usable + ".")
					+ (denied.isEmpty() ? "" : " The role may not use " + denied + ".");
		}
	}

	private static String leaseTable(String name) {
		return name.replaceAll(SUFFIX + "(?=,|$)", "");
	}

	/**
	 * Find and check the table, without an error in the log of the server if there is
	 * none.
	 */
	private @Nullable String find(Connection connection) throws SQLException {
		try (Statement statement = statement(connection);
				ResultSet row = statement.executeQuery(FIND.formatted(this.name))) {
			if (!row.next()) {
				return null;
			}
			String found = row.getString("name");
			if (!row.getBoolean("permanent")) {
				throw unsuitable("it is not a permanent table");
			}
			if (!row.getBoolean("privileges")) {
				throw privileges(row.getString("role"), "");
			}
			statement.executeQuery(COLUMNS.formatted(found)).close();
			return found;
		}
	}

	private static String words(SQLException ex) {
		return String.valueOf(ex.getMessage()).lines().findFirst().orElse("");
	}

	private static Statement statement(Connection connection) throws SQLException {
		Statement statement = connection.createStatement();
		statement.setQueryTimeout(TIMEOUT_SECONDS);
		return statement;
	}

	private InvalidUsageException unsuitable(String reason) {
		return new InvalidUsageException(
				"The table " + this.name + " cannot record the fires of durable schedules: " + reason + ".",
				"Create it with the script " + SCRIPT + ", which is in the jar of leader-election-schedule, "
						+ "or set leader-election.table-name to another name.");
	}

	private InvalidUsageException privileges(String role, String words) {
		int schema = this.name.indexOf('.');
		return new InvalidUsageException(
				"The role \"" + role + "\" lacks privileges on the table " + this.name
						+ ", which records the fires of durable schedules" + words + ".",
				"Run as its owner: GRANT SELECT, INSERT, UPDATE ON " + this.name + " TO \"" + role + "\""
						+ ((schema < 0) ? "" : "; GRANT USAGE ON SCHEMA " + this.name.substring(0, schema) + " TO \""
								+ role + "\""));
	}

	/**
	 * Nodes that start at the same time may create the table at the same time, of which
	 * all but one may fail.
	 */
	private void create(Connection connection) throws SQLException {
		try (Statement statement = statement(connection)) {
			statement.execute(new ClassPathResource(SCRIPT, ScheduleTable.class.getClassLoader())
				.getContentAsString(StandardCharsets.UTF_8)
				.replace(DEFAULT_NAME + " (", this.name + " ("));
		}
		catch (IOException ex) {
			throw new IllegalStateException("The script " + SCRIPT + " cannot be read", ex);
		}
		catch (SQLException ex) {
			if (find(connection) != null) {
				return;
			}
			if (DENIED.contains(String.valueOf(ex.getSQLState()))) {
				throw new InvalidUsageException("The table " + this.name
						+ ", which records the fires of durable schedules, could not be created: " + words(ex) + ".",
						"Create it with the script " + SCRIPT + " as a role that may do so, or grant CREATE on the "
								+ "schema, which must exist.");
			}
			throw ex;
		}
	}

}
