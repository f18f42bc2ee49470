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
import java.sql.Statement;

/**
 * A schema for the tables of elections, which is dropped in the end.
 */
final class TemporarySchema implements AutoCloseable {

	private final Target target;

	private final Options options;

	private final Report report;

	/**
	 * Create the schema.
	 * @param target the database
	 * @param options how to verify it
	 * @param report receives the results
	 */
	TemporarySchema(Target target, Options options, Report report) throws VerificationException {
		this.target = target;
		this.options = options;
		this.report = report;
		try {
			execute("CREATE SCHEMA " + options.schema());
		}
		catch (SQLException ex) {
			throw VerificationException.of("schema", "A schema for the tables cannot be created: " + ex.getMessage(),
					". Use a role with the privilege CREATE on the database; the role of the application may have fewer.",
					ex);
		}
		report.ok("schema", "created; it is dropped in the end");
	}

	private void execute(String sql) throws SQLException {
		try (Connection connection = this.target.connect(this.options.sessionNames());
				Statement statement = connection.createStatement()) {
			connection.setAutoCommit(false);
			// Despite a preset of the role, and without an effect on later users of a
			// pooled session
			statement.execute("SET TRANSACTION READ WRITE");
			statement.execute(sql);
			connection.commit();
		}
	}

	@Override
	public void close() {
		// An interrupted thread opens no connection
		boolean interrupted = Thread.interrupted();
		try {
			execute("DROP SCHEMA IF EXISTS " + this.options.schema() + " CASCADE");
		}
		catch (SQLException ex) {
			this.report.note("schema",
					"Drop the schema " + this.options.schema() + ", which is left: " + ex.getMessage());
		}
		finally {
			if (interrupted) {
				Thread.currentThread().interrupt();
			}
		}
	}

}
