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

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.List;
import java.util.regex.Matcher;

import io.leaderelection.engine.UnusableStoreException;
import io.leaderelection.postgresql.LeaseTableSql.Tables;
import org.jspecify.annotations.Nullable;

/**
 * The tables as a connection finds them.
 *
 * @param tables their qualified names
 * @param permanent whether they are tables that survive a crash of the server
 * @param missing the columns that are missing or have another type
 * @param keys whether the primary keys that the statements need exist
 * @param privileges whether the role has the necessary privileges
 * @param readable whether the role may read the lease table
 */
record LeaseTableShape(Tables tables, boolean permanent, String missing, boolean keys, boolean privileges,
		boolean readable) {

	/** The script that creates tables with the default names. */
	static final String SCHEMA = "/io/leaderelection/postgresql/schema-postgresql.sql";

	static LeaseTableShape of(ResultSet row) throws SQLException {
		return new LeaseTableShape(
				new Tables(row.getString("leases"), row.getString("fences"), row.getString("candidates")),
				row.getBoolean("permanent"), row.getString("missing"), row.getBoolean("keys"),
				row.getBoolean("privileges"), row.getBoolean("readable"));
	}

	/**
	 * Return the shape of the tables, or {@code null} if they do not exist.
	 * @param query the query for it
	 */
	static @Nullable LeaseTableShape find(Connection connection, String query) throws SQLException {
		List<LeaseTableShape> found = Jdbc.rows(connection, query, LeaseTableShape::of);
		return found.isEmpty() ? null : found.get(0);
	}

	/**
	 * Return the script that creates the tables with a name.
	 */
	static String script(String table) {
		try (InputStream script = LeaseTableShape.class.getResourceAsStream(SCHEMA)) {
			if (script == null) {
				throw new IllegalStateException("The resource " + SCHEMA + " is missing");
			}
			String text = new String(script.readAllBytes(), StandardCharsets.UTF_8);
			return text.replaceAll("\\b" + LeaseTableSql.DEFAULT_TABLE + "(_\\w+)? \\(",
					Matcher.quoteReplacement(table) + "$1 (");
		}
		catch (IOException ex) {
			throw new UncheckedIOException(ex);
		}
	}

	/**
	 * Return whether there is a table of leases that the role may read: another
	 * application may have a table with the same name.
	 */
	boolean isReadable() {
		return this.readable;
	}

	private @Nullable String mismatch() {
		if (!this.permanent) {
			return "one of them is not a permanent table, or not a table at all";
		}
		if (!this.missing.isEmpty()) {
			return "columns are missing or have another type: " + this.missing;
		}
		return this.keys ? null
				: "a primary key is missing, on (election) or, in the table of candidates, on (session)";
	}

	/**
	 * Check that the tables can hold elections.
	 * @throws UnusableStoreException if operator action is required
	 */
	void check(ServerInspection server) throws UnusableStoreException {
		String reason = mismatch();
		if (reason != null) {
			throw new UnusableStoreException("The tables " + this.tables + " cannot hold elections: " + reason + ".",
					"Create them with the script io/leaderelection/postgresql/schema-postgresql.sql, which is in the jar of leader-election-postgresql, add what an earlier "
							+ "version lacks (see docs/operations/rolling-upgrades.md), or set "
							+ "leader-election.table-name to another name.",
					null);
		}
		if (!this.privileges) {
			throw new UnusableStoreException(
					"The role \"" + server.role() + "\" lacks privileges on the tables of leader election.",
					"Run as their owner: GRANT SELECT, INSERT, UPDATE ON " + this.tables.leases() + ", "
							+ this.tables.fences() + " TO \"" + server.role()
							+ "\"; GRANT SELECT, INSERT, UPDATE, DELETE ON " + this.tables.candidates() + " TO \""
							+ server.role() + "\"",
					null);
		}
	}

}
