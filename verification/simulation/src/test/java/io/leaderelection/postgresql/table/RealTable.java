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
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.UUID;

import io.leaderelection.Term;
import io.leaderelection.postgresql.Jdbc;
import io.leaderelection.postgresql.LeaseTableShape;
import io.leaderelection.postgresql.LeaseTableShape.Tables;
import io.leaderelection.postgresql.ServerInspection;
import io.leaderelection.testsupport.PostgreSqlServer;
import org.jspecify.annotations.Nullable;
import org.postgresql.PGConnection;

/**
 * Sessions that use a lease table on PostgreSQL, with the statements of the library.
 */
final class RealTable extends ComparedTable {

	private final Tables tables;

	private final List<Connection> sessions = new ArrayList<>();

	private final ServerInspection inspection;

	private final LeaseTableSql sql;

	RealTable(String name, PostgreSqlServer server) throws SQLException {
		for (int session = 0; session < TableCourse.SESSIONS; session++) {
			this.sessions.add(connect(server));
		}
		// Of several sessions that have locked a row, the one with the lowest id is named
		this.sessions.sort(Comparator.comparing(RealTable::pid));
		this.tables = Tables.named("public." + name);
		execute(0, LeaseTableShape.script(this.tables.elections()));
		this.inspection = ServerInspection.inspect(this.sessions.get(0));
		this.sql = new LeaseTableSql(this.tables, this.inspection, TIMEOUT_MILLIS);
	}

	private static Connection connect(PostgreSqlServer server) throws SQLException {
		Properties settings = new Properties();
		settings.setProperty("preferQueryMode", "simple");
		return server.connect(settings);
	}

	private static int pid(Connection session) {
		try {
			return session.unwrap(PGConnection.class).getBackendPID();
		}
		catch (SQLException ex) {
			throw new IllegalStateException(ex);
		}
	}

	ServerInspection inspection() {
		return this.inspection;
	}

	@Override
	LeaseTableSql sql(int session) {
		return this.sql;
	}

	@Override
	List<Map<String, @Nullable Object>> rows(int session, String text) throws SQLException {
		return Jdbc.rows(this.sessions.get(session), text, RealTable::row);
	}

	@Override
	List<Map<String, @Nullable Object>> fence(int session, String election, Term term, UUID token) throws SQLException {
		try (PreparedStatement fence = this.sessions.get(session).prepareStatement(this.sql.fence())) {
			fence.setString(1, LEASE_MILLIS + "ms");
			fence.setString(2, election);
			fence.setLong(3, term.transactionId());
			fence.setLong(4, term.timeline());
			fence.setString(5, token.toString());
			List<Map<String, @Nullable Object>> rows = new ArrayList<>();
			try (ResultSet result = fence.executeQuery()) {
				while (result.next()) {
					rows.add(row(result));
				}
			}
			return rows;
		}
	}

	private static Map<String, @Nullable Object> row(ResultSet result) throws SQLException {
		Map<String, @Nullable Object> row = new LinkedHashMap<>();
		for (int column = 1; column <= result.getMetaData().getColumnCount(); column++) {
			row.put(result.getMetaData().getColumnLabel(column), result.getObject(column));
		}
		return row;
	}

	@Override
	void run(int session, Control control) throws SQLException {
		execute(session, switch (control) {
			case BEGIN -> "BEGIN ISOLATION LEVEL READ COMMITTED";
			case BEGIN_REPEATABLE_READ -> "BEGIN ISOLATION LEVEL REPEATABLE READ";
			case TRANSACTION_ID -> "SELECT pg_current_xact_id()";
			case COMMIT -> "COMMIT";
			case ROLLBACK -> "ROLLBACK";
		});
	}

	private void execute(int session, String text) throws SQLException {
		try (Statement statement = this.sessions.get(session).createStatement()) {
			statement.execute(text);
		}
	}

	@Override
	@Nullable Integer session(int pid) {
		for (int session = 0; session < TableCourse.SESSIONS; session++) {
			if (pid(this.sessions.get(session)) == pid) {
				return session;
			}
		}
		return null;
	}

	@Override
	public void close() throws SQLException {
		for (int session = TableCourse.SESSIONS - 1; session > 0; session--) {
			execute(session, "ROLLBACK");
			this.sessions.get(session).close();
		}
		execute(0, "ROLLBACK");
		execute(0,
				"DROP TABLE " + this.tables.elections() + ", " + this.tables.nodes() + ", " + this.tables.candidates());
		this.sessions.get(0).close();
	}

}
