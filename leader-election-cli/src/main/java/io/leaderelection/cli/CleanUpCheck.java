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
import java.sql.SQLException;
import java.time.Duration;

/**
 * Checks that nothing is left in the database.
 */
final class CleanUpCheck {

	private static final Duration LIMIT = Duration.ofSeconds(5);

	private final Options options;

	private final Report report;

	/**
	 * Create a new {@code CleanUpCheck} instance.
	 * @param options how the database was verified
	 * @param report receives the results
	 */
	CleanUpCheck(Options options, Report report) {
		this.options = options;
		this.report = report;
	}

	/**
	 * Run the check.
	 * @param connection the only connection that may be left
	 * @param pooled whether a pooler is in between, which keeps sessions
	 */
	void run(Connection connection, boolean pooled) throws InterruptedException {
		String sessions = "SELECT pg_catalog.count(*) FROM pg_catalog.pg_stat_activity AS a WHERE pg_catalog.starts_with(application_name, '"
				+ this.options.sessionNames() + "') AND pid OPERATOR(pg_catalog.<>) pg_catalog.pg_backend_pid()"
				+ (pooled
						? " AND EXISTS (SELECT FROM pg_catalog.pg_locks AS l WHERE l.pid OPERATOR(pg_catalog.=) a.pid "
								+ "AND locktype OPERATOR(pg_catalog.=) 'advisory')"
						: "");
		try {
			checkSchema(connection);
			long deadline = System.nanoTime() + LIMIT.toNanos();
			while (Rows.number(connection, sessions) > 0) {
				if (System.nanoTime() > deadline) {
					this.report.note("clean-up",
							"sessions of this command are left; the server ends them after the lease");
					return;
				}
				Thread.sleep(20);
			}
			this.report.ok("clean-up", "no session and no lock is left");
		}
		catch (SQLException ex) {
			this.report.note("clean-up", "could not be checked: " + ex.getMessage());
		}
	}

	private void checkSchema(Connection connection) throws SQLException {
		if (Rows.number(connection,
				"SELECT pg_catalog.count(*) FROM pg_catalog.pg_namespace WHERE nspname OPERATOR(pg_catalog.=) '"
						+ this.options.schema() + "'") > 0) {
			this.report.note("clean-up", "the schema " + this.options.schema() + " is left: drop it");
		}
	}

}
