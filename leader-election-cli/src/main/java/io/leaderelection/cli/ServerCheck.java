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

package io.leaderelection.cli;

import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;

import io.leaderelection.engine.SessionException;
import io.leaderelection.engine.UnusableStoreException;
import io.leaderelection.postgresql.ServerInspection;
import org.postgresql.PGConnection;

/**
 * Checks what the server says of itself: encryption, pooler, role in replication,
 * privileges and settings.
 */
final class ServerCheck {

	private static final String INSUFFICIENT_PRIVILEGE = "42501";

	private static final String ENCRYPTION = "SELECT version FROM pg_catalog.pg_stat_ssl WHERE pid OPERATOR(pg_catalog.=) pg_catalog.pg_backend_pid() AND ssl";

	private static final String PID = "SELECT pg_catalog.pg_backend_pid()";

	private static final String SETTINGS = """
			SELECT pg_catalog.concat(name, '=', CASE
			    WHEN name OPERATOR(pg_catalog.<>) 'synchronous_standby_names' THEN pg_catalog.current_setting(name)
			    WHEN pg_catalog.current_setting(name) OPERATOR(pg_catalog.=) '' THEN '(not set)'
			    ELSE '(set)' END) AS setting, preset
			FROM (SELECT name, source OPERATOR(pg_catalog.=) ANY ('{user,database,database user}'::pg_catalog.text[]) AS preset
			  FROM pg_catalog.pg_settings) AS settings
			WHERE preset AND name OPERATOR(pg_catalog.=) ANY ('{idle_session_timeout,idle_in_transaction_session_timeout,
			    statement_timeout,lock_timeout,transaction_timeout,default_transaction_read_only,default_transaction_isolation,
			    synchronous_commit,search_path,tcp_user_timeout,tcp_keepalives_idle}'::pg_catalog.text[])
			  OR name OPERATOR(pg_catalog.=) ANY ('{deadlock_timeout,log_min_duration_statement,log_lock_waits,
			    synchronous_standby_names,max_connections}'::pg_catalog.text[])
			ORDER BY name
			""";

	private static final String PUBLIC_CONNECT = "SELECT pg_catalog.has_database_privilege('public', pg_catalog.current_database(), 'CONNECT')";

	private final Target target;

	private final Options options;

	private final Report report;

	private boolean pooled;

	private boolean shared;

	/**
	 * Create a new {@code ServerCheck} instance.
	 * @param target the database
	 * @param options how to verify it
	 * @param report receives the results
	 */
	ServerCheck(Target target, Options options, Report report) {
		this.target = target;
		this.options = options;
		this.report = report;
	}

	/**
	 * Return whether a pooler is between this process and the server.
	 */
	boolean isPooled() {
		return this.pooled;
	}

	/**
	 * Run the check.
	 * @param connection a connection
	 * @param connected how long it took to open it, in nanoseconds
	 */
	void run(Connection connection, long connected) throws VerificationException {
		String check = "connection";
		try {
			int clientPid = connection.unwrap(PGConnection.class).getBackendPID();
			ServerInspection server = ServerInspection.inspect(connection);
			this.report.ok(check, "opened in " + Milliseconds.print(connected) + "; " + server.version());
			check = "encryption";
			encryption(check, connection);
			check = "pooler";
			pooler(check, connection, clientPid != server.pid());
			check = "server";
			check(server, clientPid);
			check = "privileges";
			privileges(check, server);
			check = "access";
			access(check, connection);
			check = "settings";
			settings(check, connection, server);
			keepIdle(connection);
		}
		catch (SQLException ex) {
			throw VerificationException.of(check, ex);
		}
	}

	/**
	 * This session is idle while nodes are awaited, which a preset of the role may not
	 * allow. A pool in transaction mode would give the setting to other users.
	 */
	private void keepIdle(Connection connection) throws SQLException {
		if (!this.shared) {
			try (Statement statement = connection.createStatement()) {
				statement.execute("SET idle_session_timeout = 0");
			}
		}
	}

	private void encryption(String check, Connection connection) throws SQLException {
		List<String> version;
		try {
			version = Rows.strings(connection, ENCRYPTION);
		}
		catch (SQLException ex) {
			if (!INSUFFICIENT_PRIVILEGE.equals(ex.getSQLState())) {
				throw ex;
			}
			this.report.note(check, "could not be read: " + ex.getMessage());
			return;
		}
		if (version.isEmpty()) {
			this.report.note(check, "none between PostgreSQL and its client, with sslmode=" + this.target.sslMode());
		}
		else {
			this.report.ok(check, version.get(0) + ", sslmode=" + this.target.sslMode());
		}
	}

	private void pooler(String check, Connection connection, boolean found) throws SQLException {
		this.pooled = found;
		if (!found) {
			this.report.ok(check, "none: the process id of the session is the one that was received at login");
			return;
		}
		this.shared = sharesSessions(connection);
		String mode = this.shared ? "transaction or statement mode" : "session mode";
		this.report.note(check, "the process id of the session is not the one that was received at login: a pooler, in "
				+ mode + " as far as can be seen");
	}

	/**
	 * Two connections that are open at the same time have different sessions in session
	 * mode. A pool in transaction mode gives the one that was used last to either.
	 */
	private boolean sharesSessions(Connection connection) throws SQLException {
		try (Connection other = this.target.connect(this.options.sessionNames())) {
			for (int i = 0; i < 5; i++) {
				if (Rows.strings(connection, PID).equals(Rows.strings(other, PID))) {
					return true;
				}
			}
		}
		return false;
	}

	private void check(ServerInspection server, int clientPid) throws VerificationException {
		if (this.shared && this.options.allowSessionPooler() && !this.options.isTable()) {
			// Before a session of an election is opened: its settings would stay in the
			// pool
			throw new VerificationException("server",
					"The connection pooler between this application and PostgreSQL gives one session of the server to several "
							+ "connections: it runs in transaction mode or in statement mode. Point "
							+ "leader-election.datasource.url at the server itself, or at a pool in session mode. "
							+ "Alternatively set leader-election.store=table, which works in transaction mode.",
					null);
		}
		try {
			server.check(clientPid, this.options.allowSessionPooler(), this.options.isTable());
		}
		catch (UnusableStoreException ex) {
			throw VerificationException.of("server", ex);
		}
		catch (SessionException ex) {
			throw new VerificationException("server",
					ex.getMessage() + ". Use the endpoint of the primary (writer), or name all hosts in the URL.", ex);
		}
		this.report.ok("server", "primary, version " + server.versionNumber() / 10_000
				+ (server.timelines() ? "" : ", does not provide its timeline: that of terms is 0"));
	}

	private void privileges(String check, ServerInspection server) {
		this.report.ok(check,
				"role \"" + server.role() + "\" may use the language plpgsql and the functions that elections need");
		if (!server.mayExecute("pg_control_system")) {
			this.report.note(check,
					"it may not execute pg_control_system: databases of different servers are told apart by their ids only");
		}
	}

	private void access(String check, Connection connection) throws SQLException {
		if ("t".equals(Rows.strings(connection, PUBLIC_CONNECT).get(0))) {
			this.report.note(check,
					"every role of the server can connect to this database (CONNECT of PUBLIC), and could then hold locks of "
							+ "an election");
		}
		else {
			this.report.ok(check, "only roles with the privilege CONNECT can connect to this database");
		}
	}

	private void settings(String check, Connection connection, ServerInspection server) throws SQLException {
		List<String> presets = new ArrayList<>();
		List<String> others = new ArrayList<>();
		try (Statement statement = connection.createStatement(); ResultSet row = statement.executeQuery(SETTINGS)) {
			while (row.next()) {
				(row.getBoolean("preset") ? presets : others).add(row.getString("setting"));
			}
		}
		this.report.ok(check, String.join(", ", others) + "; followers wait for the lock in steps of "
				+ server.longestWaitMillis() + " ms");
		if (!presets.isEmpty()) {
			this.report.note(check, "presets of the role or database: " + String.join(", ", presets)
					+ ". Sessions of elections set their own values; sessions of the application have these");
		}
	}

}
