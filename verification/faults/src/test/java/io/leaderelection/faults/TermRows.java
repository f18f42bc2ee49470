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

package io.leaderelection.faults;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;

import io.leaderelection.faults.TermRow.Snapshot;
import io.leaderelection.testsupport.PostgreSqlServer;

/**
 * The table of {@link TermRow}s. Each row carries the snapshot of the statement that
 * wrote it, so that any two of them show their order after any fault of the server: a
 * transaction that the snapshot does not see has committed later, if at all. That needs
 * neither a setting nor a replication slot, and survives crashes and promotions.
 */
final class TermRows {

	/**
	 * Binds election, node, term and number, and returns the process id of the session.
	 */
	static final String INSERT = "INSERT INTO term_rows (election, node, term, number) VALUES (?, ?, ?, ?) "
			+ "RETURNING pg_backend_pid()";

	/** Survives a crash right after it, on servers that commit asynchronously, too. */
	private static final String CREATE = """
			SET synchronous_commit = local;
			CREATE TABLE IF NOT EXISTS term_rows (election text, node text, term text, number bigint,
			  transaction text DEFAULT pg_current_xact_id()::text, snapshot text DEFAULT pg_current_snapshot()::text)
			""";

	private TermRows() {
	}

	static void create(PostgreSqlServer server) {
		server.execute(CREATE);
	}

	static List<TermRow> read(PostgreSqlServer server, String election) {
		try (Connection connection = server.connect();
				PreparedStatement select = connection
					.prepareStatement("SELECT node, term, number, transaction, snapshot FROM term_rows "
							+ "WHERE election = ? ORDER BY transaction::bigint")) {
			select.setString(1, election);
			List<TermRow> rows = new ArrayList<>();
			try (ResultSet row = select.executeQuery()) {
				while (row.next()) {
					rows.add(new TermRow(row.getString("node"), Entry.term(row.getString("term")).orElseThrow(),
							row.getLong("number"), row.getLong("transaction"),
							Snapshot.parse(row.getString("snapshot"))));
				}
			}
			return rows;
		}
		catch (SQLException ex) {
			throw new IllegalStateException(ex);
		}
	}

}
