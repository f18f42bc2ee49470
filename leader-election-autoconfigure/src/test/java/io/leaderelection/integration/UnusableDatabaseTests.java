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

import java.time.Duration;
import java.util.List;
import java.util.stream.Stream;

import io.leaderelection.autoconfigure.health.LeadershipHealthIndicator;
import io.leaderelection.engine.ElectionTimings;
import io.leaderelection.testsupport.PostgreSqlServer;
import io.leaderelection.testsupport.TcpProxy;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

import org.springframework.boot.health.contributor.Health;
import org.springframework.boot.health.contributor.Status;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;
import org.springframework.context.annotation.Bean;

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

	@RegisterExtension
	final Nodes nodes = new Nodes();

	@ParameterizedTest
	@MethodSource
	void unusableDatabaseRefusesTheStart(String[] functions, boolean candidate, List<String> texts,
			CapturedOutput output) {
		assertRefused(database(functions), "leader-election.candidate=" + candidate);
		assertThat(output).contains("APPLICATION FAILED TO START").contains(texts);
	}

	static Stream<Arguments> unusableDatabaseRefusesTheStart() {
		return Stream.of(Arguments.of(OLD, true, List.of(OLD_TEXT, OLD_ACTION)),
				Arguments.of(COCKROACH, true,
						List.of("CockroachDB accepts advisory locks without locking anything: every node would lead.",
								"Point leader-election.datasource.url at a PostgreSQL server.")),
				Arguments.of(POOLER, true,
						List.of("A connection pooler is between this application and PostgreSQL.",
								"set leader-election.allow-session-pooler=true")),
				Arguments.of(OLD, false, List.of(OLD_TEXT)),
				Arguments.of(POOLER, false, List.of("A connection pooler is between")),
				Arguments.of(new String[] { function("has_function_privilege(oid, text)", "boolean", "false") }, false,
						List.of("may not execute functions that leader election needs: clock_timestamp()")));
	}

	@Test
	void standbyRefusesTheStartOfANodeThatIsNoCandidateOnlyIfItIsToFailFast(CapturedOutput output) {
		OwnDatabase database = database(function("pg_is_in_recovery()", "boolean", "true"));
		LocalNode node = on(database).start("leader-election.candidate=false").awaitProblem("The server is a standby");
		Awaitility.await()
			.untilAsserted(() -> assertThat(output).contains("Following without a session: The server is a standby"));
		assertThat(node.leads()).isFalse();
		node.close();
		assertRefused(database, "leader-election.candidate=false", "leader-election.fail-fast=true");
	}

	@Test
	void roleThatMayNotReadTheTimelineNamesTheMissingGrant(CapturedOutput output) {
		OwnDatabase database = database("REVOKE EXECUTE ON FUNCTION pg_walfile_name(pg_lsn) FROM PUBLIC",
				"REVOKE EXECUTE ON FUNCTION pg_current_wal_lsn() FROM PUBLIC");
		assertRefused(database);
		String grant = "GRANT EXECUTE ON FUNCTION pg_current_wal_lsn(), pg_walfile_name(pg_lsn) TO \"" + database.name()
				+ "\"";
		assertThat(output).contains("APPLICATION FAILED TO START")
			.contains("The role \"" + database.name()
					+ "\" may not execute functions that leader election needs: pg_current_wal_lsn(), "
					+ "pg_walfile_name(pg_lsn).")
			.contains("Run, as a superuser in that database: " + grant);
		database.execute(grant);
		on(database).start().awaitLeader();
	}

	static Stream<Arguments> problemThatIsFoundLaterIsSaidOnceAndInHealth() {
		return Stream.of(Arguments.argumentSet("older server", OLD, "right", OLD_TEXT, "on x86_64. " + OLD_ACTION),
				Arguments.argumentSet("pooler", POOLER, "right",
						"A connection pooler is between this application and PostgreSQL.",
						"leader-election.allow-session-pooler=true"),
				Arguments.argumentSet("wrong password", new String[0], "wrong",
						"The database rejected the login for leader election: FATAL: password authentication failed",
						"Check leader-election.datasource.username and password"));
	}

	@ParameterizedTest
	@MethodSource
	void problemThatIsFoundLaterIsSaidOnceAndInHealth(String[] statements, String password, String text, String action,
			CapturedOutput output) {
		OwnDatabase database = database(statements);
		TcpProxy proxy = this.nodes.register(new TcpProxy(this.server));
		proxy.refuse();
		LocalNode node = on(database).start(SoonAgain.class, "spring.datasource.url=" + database.url(proxy.port()),
				"spring.datasource.password=" + password);
		LeadershipHealthIndicator indicator = node.bean(LeadershipHealthIndicator.class);
		assertThat(indicator.health().getStatus()).isEqualTo(Status.UP);
		node.awaitProblem("The database for leader election cannot be reached");
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

	private void assertRefused(OwnDatabase database, String... properties) {
		// The start waits for the first decision a second longer than that
		assertThatException()
			.isThrownBy(() -> on(database).with(properties).start("leader-election.takeover-delay=2s"));
		Awaitility.await()
			.untilAsserted(() -> assertThat(this.server
				.query("SELECT application_name FROM pg_stat_activity WHERE datname = '" + database.name() + "'"))
				.isEmpty());
	}

	private Nodes on(OwnDatabase database) {
		return this.nodes.as(database.name()).with("spring.datasource.url=" + database.url(this.server.port()));
	}

	private OwnDatabase database(String... statements) {
		OwnDatabase database = this.nodes.register(new OwnDatabase(this.server));
		database.execute(statements);
		return database;
	}

	/**
	 * A function that the planner puts in place of PostgreSQL's own. If it were strict it
	 * would not, and the server would call its own.
	 */
	private static String function(String signature, String type, String result) {
		return "CREATE OR REPLACE FUNCTION pg_catalog.%s RETURNS %s STABLE LANGUAGE sql AS $$ SELECT %s::%s $$"
			.formatted(signature, type, result, type);
	}

	/**
	 * Tries an unusable database again after a second, where the product waits for 30.
	 */
	static class SoonAgain {

		@Bean
		static ElectionTimings timings() {
			ElectionTimings defaults = ElectionTimings.DEFAULTS;
			return new ElectionTimings(defaults.lockWait(), defaults.observeInterval(), defaults.maxBackoff(),
					Duration.ofSeconds(1), defaults.openLimit(), defaults.minCallLimit(), defaults.maxCallLimit(),
					defaults.maxYield(), defaults.stopMargin(), defaults.watchInterval());
		}

	}

}
