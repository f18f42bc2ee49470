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
import java.sql.DriverManager;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.UUID;
import java.util.stream.Stream;

import io.leaderelection.autoconfigure.health.LeadershipHealthIndicator;
import io.leaderelection.engine.ElectionTimings;
import io.leaderelection.testsupport.PostgreSqlServer;
import io.leaderelection.testsupport.TcpProxy;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

import org.springframework.boot.health.contributor.Health;
import org.springframework.boot.health.contributor.Status;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.util.StringUtils;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatException;

/**
 * Tests for what is no PostgreSQL that elections can be held on, played by databases that
 * claim to be something else.
 */
@ExtendWith(OutputCaptureExtension.class)
@Tag("ring1")
class UnusableDatabaseTests {

	private static final String[] OLD = { function("version()", "text", "'PostgreSQL 13.21 on x86_64'"),
			function("current_setting(text)", "text", "'130021'") };

	private static final String[] COCKROACH = { function("version()", "text", "'CockroachDB CCL v25.1.0'") };

	private static final String[] POOLER = { function("pg_backend_pid()", "int", "4711") };

	private static final String OLD_TEXT = "Leader election needs PostgreSQL 14 or later (for idle_session_timeout), "
			+ "but the server is PostgreSQL 13.21";

	private static final String OLD_ACTION = "Upgrade the server, or point leader-election.datasource.url at a "
			+ "later one.";

	private final PostgreSqlServer server = PostgreSqlServer.shared();

	@Test
	void olderServerRefusesTheStart(CapturedOutput output) throws SQLException {
		assertRefused(OLD);
		assertThat(output).contains("APPLICATION FAILED TO START").contains(OLD_TEXT).contains(OLD_ACTION);
	}

	@Test
	void imitationRefusesTheStart(CapturedOutput output) throws SQLException {
		assertRefused(COCKROACH);
		assertThat(output).contains("APPLICATION FAILED TO START")
			.contains("CockroachDB accepts advisory locks without locking anything: every node would lead.")
			.contains("Point leader-election.datasource.url at a PostgreSQL server.");
	}

	@Test
	void poolerRefusesTheStart(CapturedOutput output) throws SQLException {
		assertRefused(POOLER);
		assertThat(output).contains("APPLICATION FAILED TO START")
			.contains("A connection pooler is between this application and PostgreSQL.")
			.contains("set leader-election.allow-session-pooler=true");
	}

	@ParameterizedTest
	@MethodSource
	void unusableDatabaseRefusesTheStartOfANodeThatIsNoCandidate(String[] functions, String text, CapturedOutput output)
			throws SQLException {
		String database = database(functions);
		assertRefused(database,
				new String[] { "spring.datasource.url=" + url(database), "leader-election.candidate=false" });
		assertThat(output).contains("APPLICATION FAILED TO START").contains(text);
	}

	static Stream<Arguments> unusableDatabaseRefusesTheStartOfANodeThatIsNoCandidate() {
		return Stream.of(Arguments.of(OLD, OLD_TEXT), Arguments.of(POOLER, "A connection pooler is between"),
				Arguments.of(new String[] { function("has_function_privilege(oid, text)", "boolean", "false") },
						"may not execute functions that leader election needs: clock_timestamp()"));
	}

	@Test
	void standbyRefusesTheStartOfANodeThatIsNoCandidateOnlyIfItIsToFailFast(CapturedOutput output) throws SQLException {
		String database = database(function("pg_is_in_recovery()", "boolean", "true"));
		String[] properties = { "spring.datasource.url=" + url(database), "leader-election.candidate=false" };
		try (LocalNode node = LocalNode.start(this.server, properties)) {
			Awaitility.await()
				.untilAsserted(
						() -> assertThat(output).contains("Following without a session: The server is a standby"));
			assertThat(node.leads()).isFalse();
		}
		assertRefused(database, StringUtils.addStringToArray(properties, "leader-election.fail-fast=true"));
	}

	@Test
	void unreachableDatabaseRefusesTheStartOfANodeThatIsNoCandidateAndIsToFailFast(CapturedOutput output) {
		try (TcpProxy proxy = new TcpProxy(this.server)) {
			proxy.refuse();
			assertThatException().isThrownBy(
					() -> LocalNode
						.start(this.server, "leader-election.candidate=false", "leader-election.fail-fast=true",
								"spring.datasource.url=jdbc:postgresql://localhost:" + proxy.port() + "/"
										+ this.server.database())
						.close());
		}
		assertThat(output).contains("The database for leader election cannot be reached")
			.contains("leader-election.fail-fast");
	}

	@Test
	void roleThatMayNotReadTheTimelineNamesTheMissingGrant(CapturedOutput output) throws SQLException {
		String role = role();
		String database = database("REVOKE EXECUTE ON FUNCTION pg_walfile_name(pg_lsn) FROM PUBLIC",
				"REVOKE EXECUTE ON FUNCTION pg_current_wal_lsn() FROM PUBLIC");
		String[] properties = { "spring.datasource.url=" + url(database), "spring.datasource.username=" + role,
				"spring.datasource.password=right" };
		assertRefused(database, properties);
		String grant = "GRANT EXECUTE ON FUNCTION pg_current_wal_lsn(), pg_walfile_name(pg_lsn) TO \"" + role + "\"";
		assertThat(output).contains("APPLICATION FAILED TO START")
			.contains("The role \"" + role
					+ "\" may not execute functions that leader election needs: pg_current_wal_lsn(), "
					+ "pg_walfile_name(pg_lsn).")
			.contains("Run, as a superuser in that database: " + grant);
		execute(database, grant);
		try (LocalNode node = LocalNode.start(this.server, properties)) {
			assertThat(node.leads()).isTrue();
		}
	}

	@Test
	void olderServerThatIsFoundLaterIsSaidOnceAndInHealth(CapturedOutput output) throws SQLException {
		foundLater(database(OLD), output, OLD_TEXT, "on x86_64. " + OLD_ACTION);
	}

	@Test
	void poolerThatIsFoundLaterIsSaidOnceAndInHealth(CapturedOutput output) throws SQLException {
		foundLater(database(POOLER), output, "A connection pooler is between this application and PostgreSQL.",
				"leader-election.allow-session-pooler=true");
	}

	@Test
	void wrongPasswordThatIsFoundLaterIsSaidOnceAndInHealth(CapturedOutput output) {
		String role = role();
		foundLater(this.server.database(), output,
				"The database rejected the login for leader election: FATAL: password authentication failed",
				"Check leader-election.datasource.username and password", "spring.datasource.username=" + role,
				"spring.datasource.password=wrong");
	}

	@Test
	void limitOfTheRoleIsNamedInTheWordsOfTheServer(CapturedOutput output) {
		String role = role();
		this.server.execute("ALTER ROLE " + role + " CONNECTION LIMIT 0");
		try (LocalNode node = LocalNode.start(this.server, "spring.datasource.username=" + role,
				"spring.datasource.password=right")) {
			String text = "has no free connection (SQLSTATE 53300): FATAL: too many connections for role \"" + role
					+ "\"";
			Awaitility.await()
				.untilAsserted(() -> assertThat(output).contains("Following without a session").contains(text));
			assertThat(node.context().getBean(LeadershipHealthIndicator.class).health().getDetails().toString())
				.contains(text);
		}
	}

	private void foundLater(String database, CapturedOutput output, String text, String action, String... further) {
		try (TcpProxy proxy = new TcpProxy(this.server)) {
			proxy.refuse();
			String url = "spring.datasource.url=jdbc:postgresql://localhost:" + proxy.port() + "/" + database;
			try (LocalNode node = LocalNode.start(this.server, SoonAgain.class,
					StringUtils.addStringToArray(further, url))) {
				LeadershipHealthIndicator indicator = node.context().getBean(LeadershipHealthIndicator.class);
				assertThat(indicator.health().getStatus()).isEqualTo(Status.UP);
				Awaitility.await()
					.untilAsserted(
							() -> assertThat(output).contains("The database for leader election cannot be reached"));
				assertThat(output).doesNotContain(text);
				proxy.heal();
				Awaitility.await().untilAsserted(() -> {
					Health health = indicator.health();
					assertThat(health.getStatus()).isEqualTo(Status.DOWN);
					assertThat(health.getDetails().toString()).contains(text);
					// Logged after the state of health has changed
					assertThat(output.getAll().lines().filter((line) -> line.contains("WARN") && line.contains(text)))
						.singleElement()
						.asString()
						.contains("Following without a session")
						.contains(action);
				});
				assertThat(node.leads()).isFalse();
			}
		}
	}

	private void assertRefused(String... functions) throws SQLException {
		String database = database(functions);
		assertRefused(database, new String[] { "spring.datasource.url=" + url(database) });
	}

	private void assertRefused(String database, String[] properties) {
		// The start waits for the first decision a second longer than that
		String[] patient = StringUtils.addStringToArray(properties, "leader-election.takeover-delay=2s");
		assertThatException().isThrownBy(() -> LocalNode.start(this.server, patient).close());
		Awaitility.await()
			.untilAsserted(() -> assertThat(this.server
				.query("SELECT application_name FROM pg_stat_activity WHERE datname = '" + database + "'")).isEmpty());
	}

	private String role() {
		String name = "role_" + suffix();
		this.server.execute("CREATE ROLE " + name + " LOGIN PASSWORD 'right'");
		return name;
	}

	private String database(String... statements) throws SQLException {
		String name = "database_" + suffix();
		this.server.execute("CREATE DATABASE " + name);
		execute(name, statements);
		return name;
	}

	private void execute(String database, String... statements) throws SQLException {
		try (Connection connection = DriverManager.getConnection(url(database), this.server.username(),
				this.server.password()); Statement statement = connection.createStatement()) {
			for (String sql : statements) {
				statement.execute(sql);
			}
		}
	}

	private static String suffix() {
		return UUID.randomUUID().toString().replace("-", "");
	}

	/**
	 * A function that the planner puts in place of PostgreSQL's own. If it were strict it
	 * would not, and the server would call its own.
	 */
	private static String function(String signature, String type, String result) {
		return "CREATE OR REPLACE FUNCTION pg_catalog.%s RETURNS %s STABLE LANGUAGE sql AS $$ SELECT %s::%s $$"
			.formatted(signature, type, result, type);
	}

	private String url(String database) {
		return "jdbc:postgresql://" + this.server.host() + ":" + this.server.port() + "/" + database;
	}

	/**
	 * Tries an unusable database again after a second, where the product waits for 30.
	 */
	@Configuration(proxyBeanMethods = false)
	static class SoonAgain {

		@Bean
		ElectionTimings timings() {
			ElectionTimings defaults = ElectionTimings.DEFAULTS;
			return new ElectionTimings(defaults.lockWait(), defaults.observeInterval(), defaults.maxBackoff(),
					Duration.ofSeconds(1), defaults.openLimit(), defaults.minCallLimit(), defaults.maxCallLimit(),
					defaults.maxYield(), defaults.stopMargin(), defaults.watchInterval());
		}

	}

}
