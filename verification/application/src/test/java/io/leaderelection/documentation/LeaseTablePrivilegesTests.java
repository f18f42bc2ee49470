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

package io.leaderelection.documentation;

import java.nio.file.Path;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.List;
import java.util.Properties;
import java.util.UUID;
import java.util.stream.Stream;

import io.leaderelection.postgresql.ElectionKeys;
import io.leaderelection.testsupport.PostgreSqlServer;
import io.leaderelection.transaction.TransactionFencing;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

import org.springframework.context.ApplicationContextException;
import org.springframework.core.io.ClassPathResource;
import org.springframework.dao.PermissionDeniedDataAccessException;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.jdbc.datasource.init.ScriptUtils;
import org.springframework.util.StringUtils;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatException;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

/**
 * Tests that the roles in "Security" with the privileges that it lists can hold elections
 * with {@code leader-election.store=table} and run fenced transactions, and no more than
 * it says.
 */
@Tag("ring3")
class LeaseTablePrivilegesTests {

	private static final String DENIED = "42501";

	private static final String INSERT = "INSERT INTO work VALUES (1)";

	private final PostgreSqlServer server = PostgreSqlServer.shared();

	private final String suffix = "_" + UUID.randomUUID().toString().replace("-", "");

	private final String database = "shop" + this.suffix;

	private final String application = "shop" + this.suffix;

	private final String election = "shop_election" + this.suffix;

	private final String stranger = "stranger" + this.suffix;

	private final String url = this.server.jdbcUrl(this.server.port(), this.database);

	@BeforeEach
	void createRolesAndTables() throws SQLException {
		for (String role : List.of(this.application, this.election, this.stranger)) {
			this.server.createRole(role);
		}
		this.server.execute("CREATE DATABASE " + this.database);
		this.server.execute("REVOKE ALL ON DATABASE " + this.database + " FROM PUBLIC");
		this.server.execute("GRANT CONNECT ON DATABASE " + this.database + " TO " + this.stranger);
		try (Connection owner = connect(this.server.username())) {
			ScriptUtils.executeSqlScript(owner,
					new ClassPathResource("io/leaderelection/postgresql/schema-postgresql.sql"));
			try (Statement statement = owner.createStatement()) {
				statement.execute("REVOKE ALL ON SCHEMA public FROM PUBLIC");
				statement.execute("CREATE TABLE work (id int)");
				statement.execute("GRANT SELECT, INSERT ON work TO " + this.application);
				for (String grant : grants()) {
					statement.execute(named(grant));
				}
			}
		}
	}

	@AfterEach
	void dropRolesAndTables() {
		this.server.execute("DROP DATABASE " + this.database + " WITH (FORCE)");
		this.server.execute("DROP ROLE " + String.join(", ", this.application, this.election, this.stranger));
	}

	/**
	 * The documented statements.
	 */
	private static List<String> grants() {
		String code = Markdown.of(Path.of("docs", "operations", "security.md"))
			.code("sql", "leader_election_candidate");
		return Stream.of(code.split(";")).map(String::trim).filter((statement) -> !statement.isEmpty()).toList();
	}

	private String named(String grant) {
		return grant.replaceAll("\\bshop\\b", "shop" + this.suffix)
			.replaceAll("\\bshop_election\\b", "shop_election" + this.suffix);
	}

	@Test
	void rolesSufficeForElectionsAndFencedTransactions() throws SQLException {
		try (LeaseTableNode first = start().awaitLeader(); LeaseTableNode second = start()) {
			Awaitility.await().until(() -> second.leader() != null);
			assertThat(first.runInTransaction(INSERT)).isTrue();
			assertThat(first.elector().statistics().passedFence()).isOne();
			first.elector().resign();
			second.awaitLeader();
			assertThat(second.runInTransaction(INSERT)).isTrue();
			assertThat(second.bean(JdbcTemplate.class).queryForObject("SELECT count(*) FROM work", Integer.class))
				.isEqualTo(2);
		}
	}

	@ParameterizedTest
	@MethodSource
	void noneOfThemIsSuperfluous(String privilege) throws SQLException {
		execute("REVOKE " + privilege + " FROM " + this.election);
		assertThatException().isThrownBy(() -> start().close()).withStackTraceContaining("UnusableStoreException");
	}

	static Stream<String> noneOfThemIsSuperfluous() {
		return Stream
			.of(Stream.of("USAGE ON SCHEMA public"), on("leader_election", "SELECT", "INSERT", "UPDATE"),
					on("leader_election_node", "SELECT", "INSERT", "UPDATE", "DELETE"),
					on("leader_election_candidate", "SELECT", "INSERT", "UPDATE", "DELETE"))
			.flatMap((privileges) -> privileges);
	}

	private static Stream<String> on(String table, String... privileges) {
		return Stream.of(privileges).map((privilege) -> privilege + " ON " + table);
	}

	@ParameterizedTest
	@ValueSource(strings = { "SELECT ON leader_election", "UPDATE (since) ON leader_election",
			"SELECT ON leader_election_node" })
	void transactionsAreRefusedUntilTheirRoleHasEachPrivilege(String privilege) throws SQLException {
		execute("REVOKE " + privilege + " FROM " + this.application);
		assertThatExceptionOfType(ApplicationContextException.class)
			.isThrownBy(() -> start("leader-election.fencing=required").close())
			.havingRootCause()
			.withMessageContaining("'transactionManager' are refused: their role lacks a privilege for the fence");
		try (LeaseTableNode node = start().awaitLeader()) {
			TransactionFencing fencing = node.bean(TransactionFencing.class);
			assertRefused(node, fencing);
			execute("GRANT " + privilege + " TO " + this.application);
			assertThat(fencing.inspect()).isTrue();
			assertThat(fencing.describe("transactionManager")).isEqualTo("fenced");
			assertThat(node.runInTransaction(INSERT)).isTrue();
			assertThat(node.elector().statistics().passedFence()).isOne();
			execute("REVOKE " + privilege + " FROM " + this.application);
			assertRefused(node, fencing);
		}
	}

	private static void assertRefused(LeaseTableNode node, TransactionFencing fencing) {
		long passed = node.elector().statistics().passedFence();
		assertThatExceptionOfType(PermissionDeniedDataAccessException.class)
			.isThrownBy(() -> node.runInTransaction(INSERT))
			.havingCause()
			.withMessageContaining("permission denied for");
		assertThat(node.elector().statistics().passedFence()).isEqualTo(passed);
		assertThat(fencing.describe("transactionManager")).startsWith("refused");
	}

	private void execute(String sql) throws SQLException {
		try (Connection owner = connect(this.server.username()); Statement statement = owner.createStatement()) {
			statement.execute(sql);
		}
	}

	@ParameterizedTest
	@ValueSource(strings = { "UPDATE leader_election SET owner = NULL", "UPDATE leader_election SET term = term + 1",
			"UPDATE leader_election SET timeline = 0", "UPDATE leader_election SET clean = true",
			"INSERT INTO leader_election SELECT", "DELETE FROM leader_election", "TRUNCATE leader_election",
			"DROP TABLE leader_election", "ALTER TABLE leader_election ADD COLUMN id int",
			"SELECT FROM leader_election_node FOR KEY SHARE", "UPDATE leader_election_node SET beat = beat + 1",
			"INSERT INTO leader_election_node SELECT", "DELETE FROM leader_election_node",
			"TRUNCATE leader_election_node", "SELECT FROM leader_election_candidate",
			"UPDATE leader_election_candidate SET resign_term = 0", "INSERT INTO leader_election_candidate SELECT",
			"DELETE FROM leader_election_candidate", "CREATE TABLE public.other (id int)" })
	void applicationMayNotChangeWhoLeads(String statement) {
		assertDenied(this.application, statement);
	}

	@ParameterizedTest
	@ValueSource(strings = { "DELETE FROM leader_election", "TRUNCATE leader_election", "TRUNCATE leader_election_node",
			"TRUNCATE leader_election_candidate", "DROP TABLE leader_election",
			"ALTER TABLE leader_election_node ADD COLUMN id int", "CREATE TABLE public.other (id int)",
			"SELECT FROM work" })
	void roleOfTheElectionsMayDoNoMoreThanItNeeds(String statement) {
		assertDenied(this.election, statement);
	}

	@Test
	void applicationMayLockTheRowOfAnElectionWhichDelaysTheNextGrant() throws SQLException {
		try (LeaseTableNode first = start().awaitLeader();
				LeaseTableNode second = start();
				Connection connection = connect(this.application);
				Statement statement = connection.createStatement()) {
			Awaitility.await().until(() -> second.leader() != null);
			connection.setAutoCommit(false);
			statement.execute("SELECT FROM leader_election FOR SHARE");
			first.close();
			Awaitility.await().until(() -> second.elector().status().blockedBy() != null);
			assertThat(second.elector().isLeader()).isFalse();
			connection.rollback();
			second.awaitLeader();
		}
	}

	@Test
	void roleThatMayConnectCanDelayTakeovers() throws SQLException {
		ElectionKeys keys = ElectionKeys.derive(this.database, "default");
		try (LeaseTableNode first = start().awaitLeader();
				LeaseTableNode second = start();
				Connection connection = connect(this.stranger);
				Statement statement = connection.createStatement()) {
			Awaitility.await().until(() -> second.leader() != null);
			statement.execute("SELECT pg_advisory_lock_shared(" + keys.candidate() + ")");
			first.close();
			Awaitility.await()
				.until(() -> String.valueOf(second.elector().status().problem())
					.contains("leader-election.store=advisory-lock"));
			assertThat(second.elector().isLeader()).isFalse();
			statement.execute("SELECT pg_advisory_unlock_all()");
			second.awaitLeader();
		}
	}

	private void assertDenied(String role, String sql) {
		assertThatExceptionOfType(SQLException.class).isThrownBy(() -> {
			try (Connection connection = connect(role); Statement statement = connection.createStatement()) {
				statement.execute(sql);
			}
		}).extracting(SQLException::getSQLState).isEqualTo(DENIED);
	}

	private Connection connect(String role) throws SQLException {
		return this.server.connect(this.url, role, new Properties());
	}

	private LeaseTableNode start(String... properties) {
		return new LeaseTableNode(StringUtils.concatenateStringArrays(properties,
				new String[] { "spring.datasource.url=" + this.url, "spring.datasource.username=" + this.application,
						"spring.datasource.password=" + this.server.password(),
						"leader-election.datasource.url=" + this.url,
						"leader-election.datasource.username=" + this.election,
						"leader-election.datasource.password=" + this.server.password(),
						"leader-election.group=" + this.database }));
	}

}
