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

package io.leaderelection.integration;

import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.List;

import io.leaderelection.postgresql.ServerInspection;
import io.leaderelection.testsupport.HostileSchema;
import io.leaderelection.testsupport.PostgreSqlServer;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

/**
 * Tests that no statement uses what a search path puts in place of PostgreSQL's own
 * operators, functions, types and relations: it would run with the rights of the
 * application.
 */
@Timeout(120)
@Tag("ring2")
class SearchPathTests {

	private final PostgreSqlServer server = PostgreSqlServer.shared();

	@RegisterExtension
	final Nodes nodes = new Nodes();

	private final OwnDatabase database = this.nodes.register(new OwnDatabase(this.server));

	private int logged;

	@BeforeEach
	void createSchema() {
		this.database.execute(HostileSchema.SCRIPT,
				"ALTER ROLE " + this.database.name() + " SET search_path = " + HostileSchema.SEARCH_PATH);
		this.logged = this.server.log().length();
	}

	private List<String> traces() {
		return this.server.log()
			.substring(this.logged)
			.lines()
			.filter((line) -> line.contains(HostileSchema.TRACE))
			.toList();
	}

	@ParameterizedTest
	@ValueSource(strings = { "advisory-lock", "table" })
	void nothingOfTheSearchPathIsUsed(String store) throws SQLException {
		this.database.exercise(this.nodes, store);
		assertThat(traces()).isEmpty();
		try (Connection connection = this.database.connect()) {
			ServerInspection inspection = ServerInspection.inspect(connection);
			assertThat(inspection.timelines()).isTrue();
			assertThat(inspection.endings()).isEqualTo(this.server.countsEndings());
		}
	}

	/**
	 * Otherwise, the other test would find nothing.
	 */
	@ParameterizedTest
	@ValueSource(strings = { "SELECT 1 = 1", "SELECT 1 IN (1, 2)", "SELECT 1 BETWEEN 1 AND 2", "SELECT 'a' LIKE 'b'",
			"SELECT 'a' || 'b'", "SELECT CASE 1 WHEN 2 THEN 3 END", "SELECT 1 IS DISTINCT FROM 2",
			"SELECT nullif(1, 2)", "SELECT 1 = ANY (ARRAY[1])",
			"SELECT FROM (VALUES (1)) AS a (i) JOIN (VALUES (1)) AS b (i) USING (i)", "SELECT 1::text", "SELECT now()",
			"SELECT * FROM pg_locks", "DO $$ DECLARE i text := ''; BEGIN END $$",
			"DO $$ BEGIN PERFORM 1 = 1; EXCEPTION WHEN OTHERS THEN NULL; END $$" })
	void unqualifiedStatementLeavesATrace(String sql) throws SQLException {
		try (Connection connection = this.database.connect(); Statement statement = connection.createStatement()) {
			if (sql.contains("OTHERS")) {
				statement.execute(sql);
			}
			else {
				assertThatExceptionOfType(SQLException.class).isThrownBy(() -> statement.execute(sql))
					.withMessageContaining(HostileSchema.TRACE);
			}
		}
		assertThat(traces()).isNotEmpty();
	}

	@Test
	void functionOfAnyArgumentsFails() throws SQLException {
		try (Connection connection = this.database.connect(); Statement statement = connection.createStatement()) {
			assertThatExceptionOfType(SQLException.class).isThrownBy(() -> statement.execute("SELECT concat('a')"));
		}
	}

}
