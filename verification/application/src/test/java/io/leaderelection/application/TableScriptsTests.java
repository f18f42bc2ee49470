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

package io.leaderelection.application;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.util.List;
import java.util.UUID;

import io.leaderelection.testsupport.PostgreSqlServer;
import liquibase.Scope;
import liquibase.command.CommandScope;
import liquibase.database.DatabaseFactory;
import liquibase.database.jvm.JdbcConnection;
import org.flywaydb.core.Flyway;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

import org.springframework.core.io.ClassPathResource;
import org.springframework.jdbc.core.simple.JdbcClient;
import org.springframework.jdbc.datasource.SingleConnectionDataSource;
import org.springframework.jdbc.datasource.init.ScriptUtils;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests that the migrations of Flyway and of Liquibase in the jars create the tables of
 * the scripts.
 */
@Tag("ring1")
class TableScriptsTests {

	private final PostgreSqlServer server = PostgreSqlServer.shared();

	private final String database = "scripts_" + UUID.randomUUID().toString().replace("-", "");

	private final String url = this.server.jdbcUrl(this.server.port(), this.database);

	@BeforeEach
	void createDatabase() {
		this.server.execute("CREATE DATABASE " + this.database);
	}

	@AfterEach
	void dropDatabase() {
		this.server.execute("DROP DATABASE " + this.database + " WITH (FORCE)");
	}

	@ParameterizedTest
	@EnumSource(Table.class)
	void migrationOfFlywayIsTheScript(Table table) throws IOException {
		assertThat(new ClassPathResource(table.flyway).getContentAsString(StandardCharsets.UTF_8))
			.isEqualTo(new ClassPathResource(table.script).getContentAsString(StandardCharsets.UTF_8));
	}

	@Test
	void flywayCreatesTheTables() throws SQLException {
		List<String> expected = tablesOfTheScripts();
		Flyway flyway = Flyway.configure()
			.dataSource(this.url, this.server.username(), this.server.password())
			.schemas("migrated")
			.locations("classpath:io/leaderelection/postgresql/flyway", "classpath:io/leaderelection/schedule/flyway")
			.load();
		assertThat(flyway.migrate().migrationsExecuted).isEqualTo(Table.values().length);
		assertThat(flyway.migrate().migrationsExecuted).isZero();
		assertThat(tables("migrated")).isEqualTo(expected);
	}

	@Test
	void liquibaseCreatesTheTables() throws Exception {
		List<String> expected = tablesOfTheScripts();
		try (Connection connection = connect()) {
			execute(connection, "CREATE SCHEMA migrated");
			execute(connection, "SET search_path = migrated");
			for (Table table : Table.values()) {
				// Without a report to its makers
				Scope.child("liquibase.analytics.enabled", false,
						() -> new CommandScope("update").addArgumentValue("changelogFile", table.liquibase)
							.addArgumentValue("database",
									DatabaseFactory.getInstance()
										.findCorrectDatabaseImplementation(new JdbcConnection(connect("migrated"))))
							.execute());
			}
		}
		assertThat(tables("migrated")).isEqualTo(expected);
	}

	@ParameterizedTest
	@CsvSource({ "h2, false", "postgresql, true" })
	void liquibaseSkipsOtherDatabases(String database, boolean created, @TempDir Path directory) throws Exception {
		ByteArrayOutputStream sql = new ByteArrayOutputStream();
		for (Table table : Table.values()) {
			Scope.child("liquibase.analytics.enabled", false,
					() -> new CommandScope("updateSql").addArgumentValue("changelogFile", table.liquibase)
						.addArgumentValue("url",
								"offline:%s?changeLogFile=%s/%s.csv".formatted(database, directory, table))
						.setOutput(sql)
						.execute());
		}
		assertThat(sql.toString(StandardCharsets.UTF_8).contains("CREATE TABLE IF NOT EXISTS leader_election"))
			.isEqualTo(created);
	}

	private List<String> tablesOfTheScripts() throws SQLException {
		try (Connection connection = connect()) {
			for (Table table : Table.values()) {
				ScriptUtils.executeSqlScript(connection, new ClassPathResource(table.script));
			}
		}
		List<String> tables = tables("public");
		assertThat(tables).anyMatch((column) -> column.startsWith("leader_election_candidate"))
			.anyMatch((column) -> column.startsWith("leader_election_schedule"));
		return tables;
	}

	private List<String> tables(String schema) throws SQLException {
		try (Connection connection = connect()) {
			return JdbcClient.create(new SingleConnectionDataSource(connection, true))
				.sql("""
						SELECT relname || ' ' || attname || ' ' || format_type(atttypid, atttypmod) || ' ' || attnotnull
						    || ' ' || coalesce(reloptions::text, '') || ' ' || coalesce((
						      SELECT string_agg(conkey::text, ' ') FROM pg_constraint WHERE conrelid = c.oid AND contype = 'p'), '')
						FROM pg_class AS c JOIN pg_attribute ON attrelid = c.oid AND attnum > 0
						WHERE relnamespace = ?::regnamespace AND relkind = 'r' AND relname LIKE 'leader%' ORDER BY 1
						""")
				.param(schema)
				.query(String.class)
				.list();
		}
	}

	private Connection connect(String... searchPath) throws SQLException {
		Connection connection = DriverManager.getConnection(this.url, this.server.username(), this.server.password());
		for (String schema : searchPath) {
			execute(connection, "SET search_path = " + schema);
		}
		return connection;
	}

	private static void execute(Connection connection, String statement) throws SQLException {
		connection.createStatement().execute(statement);
	}

	private enum Table {

		ELECTIONS("postgresql", "schema-postgresql.sql", "R__leader_election.sql"),

		SCHEDULES("schedule", "schema-schedule-postgresql.sql", "R__leader_election_schedule.sql");

		private final String script;

		private final String flyway;

		private final String liquibase;

		Table(String directory, String script, String flyway) {
			String path = "io/leaderelection/" + directory + "/";
			this.script = path + script;
			this.flyway = path + "flyway/" + flyway;
			this.liquibase = path + "changelog.yaml";
		}

	}

}
