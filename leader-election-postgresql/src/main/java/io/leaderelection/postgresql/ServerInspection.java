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
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;

import io.leaderelection.engine.SessionException;
import io.leaderelection.engine.UnusableStoreException;

/**
 * The properties of the server behind a connection.
 *
 * @param version the version as text
 * @param versionNumber the version as a number, for instance 180006
 * @param pid the process id of the session
 * @param inRecovery whether the server is a standby
 * @param role the role of the session
 * @param login the role that has logged in
 * @param database the id of the database
 * @param plpgsql whether the role may use PL/pgSQL
 * @param denied the functions that the role may not execute, of those that elections use
 * @param timelines whether the server provides its timeline
 * @param longestWaitMillis the longest wait for a lock that neither triggers the deadlock
 * detection of the server nor is logged as a slow statement
 */
public record ServerInspection(String version, int versionNumber, int pid, boolean inRecovery, String role,
		String login, long database, boolean plpgsql, List<String> denied, boolean timelines, long longestWaitMillis) {

	private static final int OLDEST_VERSION = 14;

	/**
	 * Earlier ones report the end of a session to another process, which counts it later.
	 */
	private static final int OLDEST_VERSION_WITH_ENDINGS = 15;

	private static final Set<String> ENDINGS = Set.of("pg_stat_get_db_sessions_killed", "pg_stat_get_db_sessions_fatal",
			"pg_stat_get_db_stat_reset_time", "pg_stat_get_activity", "pg_stat_clear_snapshot", "pg_sleep", "host",
			"inet_client_addr", "inet_client_port", "inet_server_addr", "inet_server_port");

	/** Returns the version as text. */
	public static final String VERSION = "SELECT pg_catalog.version()";

	/**
	 * The number of seconds from which on the server logs a statement, or checks a wait
	 * for a deadlock.
	 */
	public static final String THRESHOLD = """
			(SELECT pg_catalog.min(extract(epoch FROM duration)) FROM (
			    SELECT pg_catalog.current_setting(name)::pg_catalog.interval FROM (VALUES ('deadlock_timeout'),
			      ('log_min_duration_statement'), ('log_min_duration_sample')) AS settings (name)) AS settings (duration)
			    WHERE pg_catalog.interval_gt(duration, '0'))
			""";

	/**
	 * Reads the version and the configuration of the server from catalogues that every
	 * role may read. The session still has the search path of its role, so operators and
	 * types are schema-qualified here, as functions and tables always are.
	 */
	private static final String QUERY = """
			SELECT pg_catalog.version() AS version,
			  pg_catalog.current_setting('server_version_num')::int AS version_number,
			  pg_catalog.pg_backend_pid() AS pid,
			  pg_catalog.pg_is_in_recovery() AS in_recovery,
			  CURRENT_USER::pg_catalog.text AS role, SESSION_USER::pg_catalog.text AS login,
			  (SELECT oid::bigint FROM pg_catalog.pg_database
			    WHERE datname OPERATOR(pg_catalog.=) pg_catalog.current_database()) AS database,
			  (SELECT pg_catalog.has_language_privilege(oid, 'USAGE') FROM pg_catalog.pg_language
			    WHERE lanname OPERATOR(pg_catalog.=) 'plpgsql') AS plpgsql,
			  pg_catalog.array_to_string(ARRAY(
			    SELECT pg_catalog.string_agg(oid::pg_catalog.regprocedure::pg_catalog.text, ', ') FROM pg_catalog.pg_proc
			    WHERE pronamespace OPERATOR(pg_catalog.=) 'pg_catalog'::pg_catalog.regnamespace
			      AND proname OPERATOR(pg_catalog.=) ANY ('{%s}'::pg_catalog.name[]) GROUP BY proname
			    HAVING NOT pg_catalog.bool_or(pg_catalog.has_function_privilege(oid, 'EXECUTE')) ORDER BY proname), ';') AS denied,
			  """
			+ THRESHOLD + " AS threshold";

	/**
	 * The functions of the statements of the store {@code advisory-lock} that are more
	 * than operators, casts and the like. A failure for lack of another one has the same
	 * consequence, but only when it occurs.
	 */
	private static final Set<String> ADVISORY_LOCK_FUNCTIONS = Set.of("clock_timestamp", "pg_advisory_lock",
			"pg_advisory_unlock", "pg_advisory_unlock_shared", "pg_advisory_xact_lock", "pg_current_wal_lsn",
			"pg_current_xact_id", "pg_lock_status", "pg_logical_emit_message", "pg_postmaster_start_time",
			"pg_try_advisory_lock", "pg_try_advisory_lock_shared", "pg_try_advisory_xact_lock",
			"pg_try_advisory_xact_lock_shared", "pg_walfile_name", "set_config", "statement_timestamp");

	/** Those of the statements of the store {@code table}. */
	private static final Set<String> TABLE_FUNCTIONS = Set.of("clock_timestamp", "has_schema_privilege",
			"has_table_privilege", "pg_current_wal_lsn", "pg_current_xact_id", "pg_lock_status", "pg_notify",
			"pg_walfile_name", "set_config", "to_regclass");

	/** The timeline of a primary, which each promotion raises. */
	public static final String TIMELINE = """
			('x' OPERATOR(pg_catalog.||) pg_catalog.substr(
			      pg_catalog.pg_walfile_name(pg_catalog.pg_current_wal_lsn()), 1, 8))::bit(32)::bigint""";

	private static final String READABLE = "leader_election.timelines";

	/**
	 * Determines whether the server provides its timeline. Services that replace the
	 * storage of PostgreSQL do not, and report this in one of two ways. A standby does
	 * not either.
	 */
	public static final String TIMELINES = """
			DO $timelines$
			BEGIN
			  PERFORM %2$s;
			  PERFORM pg_catalog.set_config('%1$s', 'true', true);
			EXCEPTION WHEN feature_not_supported OR object_not_in_prerequisite_state THEN
			  IF pg_catalog.pg_is_in_recovery() THEN
			    RAISE;
			  END IF;
			  PERFORM pg_catalog.set_config('%1$s', 'false', true);
			END $timelines$;
			SELECT pg_catalog.current_setting('%1$s')::boolean AS timelines
			""".formatted(READABLE, TIMELINE);

	/** Returns what is to be known of a server. */
	public static final String INSPECT = QUERY
		.formatted(Stream.of(ADVISORY_LOCK_FUNCTIONS, TABLE_FUNCTIONS, ENDINGS, Set.of("pg_control_system"))
			.flatMap(Set::stream)
			.collect(Collectors.joining(",")));

	/** The longest wait of a statement on the server, in milliseconds. */
	public static final long LONGEST_WAIT = 800;

	/**
	 * Waits are not shortened further: a server with a lower logging threshold may log
	 * them.
	 */
	private static final long SHORTEST_WAIT = 20;

	/**
	 * Inspect the server behind a connection.
	 * @param connection the connection
	 * @return its properties
	 * @throws SQLException if they cannot be read
	 */
	public static ServerInspection inspect(Connection connection) throws SQLException {
		return inspect(connection, TIMELINES);
	}

	/**
	 * Inspect the server behind a connection.
	 * @param connection the connection
	 * @param timelines the statement that determines whether it provides its timeline
	 */
	public static ServerInspection inspect(Connection connection, String timelines) throws SQLException {
		String version = Jdbc.query(connection, VERSION, (row) -> row.getString(1));
		if (isImitation(version)) {
			// Its catalogues may lack the columns and functions of the next query
			return new ServerInspection(version, 0, 0, false, "", "", 0, false, List.of(), false, 0);
		}
		ServerInspection server = Jdbc.query(connection, INSPECT, ServerInspection::of);
		boolean readable = server.isPrimary()
				&& Jdbc.query(connection, timelines, (row) -> row.getBoolean("timelines"));
		return new ServerInspection(version, server.versionNumber, server.pid, server.inRecovery, server.role,
				server.login, server.database, server.plpgsql, server.denied, readable, server.longestWaitMillis);
	}

	/**
	 * Return whether the timeline of the server can be read.
	 */
	private boolean isPrimary() {
		return isSupported() && !this.inRecovery && this.plpgsql && mayExecute("pg_walfile_name")
				&& mayExecute("pg_current_wal_lsn");
	}

	private boolean isSupported() {
		return this.versionNumber / 10_000 >= OLDEST_VERSION;
	}

	/**
	 * Return whether the role may execute a function, of those that elections use.
	 * @param function its name
	 * @return whether it may
	 */
	public boolean mayExecute(String function) {
		return this.denied.stream().noneMatch((signature) -> signature.startsWith(function + "("));
	}

	/**
	 * Return whether the role may read why sessions have ended and how it is connected,
	 * and the server has counted a session before it shows that the session has ended.
	 * @return whether both is the case
	 */
	public boolean endings() {
		return this.versionNumber / 10_000 >= OLDEST_VERSION_WITH_ENDINGS
				&& ENDINGS.stream().allMatch(this::mayExecute);
	}

	private static boolean isImitation(String version) {
		return version.contains("CockroachDB");
	}

	private static ServerInspection of(ResultSet row) throws SQLException {
		return new ServerInspection(row.getString("version"), row.getInt("version_number"), row.getInt("pid"),
				row.getBoolean("in_recovery"), row.getString("role"), row.getString("login"), row.getLong("database"),
				row.getBoolean("plpgsql"), List.of(row.getString("denied").replace("pg_catalog.", "").split(";")),
				false, longestWaitMillis(row));
	}

	/**
	 * Return the longest wait for the settings that were read with a row.
	 */
	public static long longestWaitMillis(ResultSet row) throws SQLException {
		long threshold = Math.round(row.getDouble("threshold") * 1000);
		return Math.max(SHORTEST_WAIT, Math.min(LONGEST_WAIT, threshold * 4 / 5));
	}

	/**
	 * Check that this server can hold elections.
	 * @param connectionPid the process id that the driver received at login
	 * @param allowSessionPooler whether another process may answer
	 * @param table whether for the store {@code table}, which works with every pooler
	 * @throws UnusableStoreException if operator action is required
	 * @throws SessionException if the server may become usable without operator action
	 */
	public void check(int connectionPid, boolean allowSessionPooler, boolean table) throws SessionException {
		if (isImitation(this.version)) {
			throw new UnusableStoreException(
					"CockroachDB accepts advisory locks without locking anything: every node would lead.",
					"Point leader-election.datasource.url at a PostgreSQL server.", null);
		}
		if (!isSupported()) {
			throw new UnusableStoreException(
					"Leader election needs PostgreSQL " + OLDEST_VERSION
							+ " or later (for idle_session_timeout), but the server is " + this.version,
					"Upgrade the server, or point leader-election.datasource.url at a later one.", null);
		}
		if (connectionPid != this.pid && !allowSessionPooler && !table) {
			throw new UnusableStoreException(
					"A connection pooler is between this application and PostgreSQL. In transaction mode, two nodes "
							+ "would hold the same lock.",
					"Point leader-election.datasource.url at the server itself, and set "
							+ "leader-election.datasource.username and password. If the pooler runs in session mode, "
							+ "set leader-election.allow-session-pooler=true. If it runs in transaction mode, "
							+ "leader-election.store=table works with it.",
					null);
		}
		if (this.inRecovery) {
			throw new SessionException("The server is a standby, on which no node can lead; searching for the primary",
					null);
		}
		if (!this.plpgsql) {
			throw new UnusableStoreException(
					"The role \"" + this.role + "\" may not use the language plpgsql, in which the lock is taken.",
					"Run, as a superuser in that database: GRANT USAGE ON LANGUAGE plpgsql TO \"" + this.role + "\"",
					null);
		}
		Set<String> functions = table ? TABLE_FUNCTIONS : ADVISORY_LOCK_FUNCTIONS;
		String missing = this.denied.stream()
			.filter((signature) -> functions.contains(signature.split("\\(")[0]))
			.collect(Collectors.joining(", "));
		if (!missing.isEmpty()) {
			throw new UnusableStoreException(
					"The role \"" + this.role + "\" may not execute functions that leader election needs: " + missing
							+ ".",
					"Run, as a superuser in that database: GRANT EXECUTE ON FUNCTION " + missing + " TO \"" + this.role
							+ "\"",
					null);
		}
	}

}
