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

import java.sql.ResultSet;
import java.sql.SQLException;

import io.leaderelection.engine.UnusableStoreException;

/**
 * The tables as a connection finds them.
 *
 * @param name the qualified name of the lease table
 * @param candidates the qualified name of the table of candidates
 * @param permanent whether they are tables that survive a crash of the server
 * @param missing the columns that are missing or have another type
 * @param keys whether the lease table has its two keys
 * @param privileges whether the role has the necessary privileges
 */
record LeaseTableShape(String name, String candidates, boolean permanent, String missing, boolean keys,
		boolean privileges) {

	static LeaseTableShape of(ResultSet row) throws SQLException {
		return new LeaseTableShape(row.getString("name"), row.getString("candidates"), row.getBoolean("permanent"),
				row.getString("missing"), row.getBoolean("keys"), row.getBoolean("privileges"));
	}

	/**
	 * Check that the tables can hold elections.
	 * @throws UnusableStoreException if operator action is required
	 */
	void check(ServerInspection server) throws UnusableStoreException {
		String reason = !this.permanent ? "it is not a permanent table, or not a table at all" : !this.missing
			.isEmpty() ? "columns are missing or have another type: " + this.missing : !this.keys
					? "it lacks the primary key on (election) or the unique key on (election, barrier), on which the "
							+ "fence rests"
					: null;
		if (reason != null) {
			throw new UnusableStoreException("The table " + this.name + " cannot hold elections: " + reason + ".",
					"Create it with the script io/leaderelection/schema-postgresql.sql, which is in the jar, or set "
							+ "leader-election.table-name to another name.",
					null);
		}
		if (!this.privileges) {
			throw new UnusableStoreException(
					"The role \"" + server.role() + "\" lacks privileges on the tables of leader election.",
					"Run as their owner: GRANT SELECT, INSERT, UPDATE ON " + this.name + " TO \"" + server.role()
							+ "\"; GRANT SELECT, INSERT, UPDATE, DELETE ON " + this.candidates + " TO \""
							+ server.role() + "\"",
					null);
		}
	}

}
