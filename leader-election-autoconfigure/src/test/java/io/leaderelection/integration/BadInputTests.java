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

import java.net.ServerSocket;
import java.time.Duration;
import java.util.List;

import io.leaderelection.autoconfigure.health.LeadershipHealthIndicator;
import io.leaderelection.testsupport.PgBouncer;
import io.leaderelection.testsupport.PostgreSqlServer;
import io.leaderelection.testsupport.Processes;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatException;

/**
 * Tests for what an application prints that cannot hold elections on its server.
 */
@ExtendWith(OutputCaptureExtension.class)
@Tag("ring1")
class BadInputTests {

	private final PostgreSqlServer server = PostgreSqlServer.shared();

	@RegisterExtension
	final Nodes nodes = new Nodes();

	@ParameterizedTest
	@ValueSource(strings = { "spring.datasource.password=", "spring.datasource.password=wrong",
			"leader-election.datasource.url=${url}",
			"leader-election.datasource.url=${url},leader-election.datasource.username=${role}",
			"leader-election.datasource.username=nobody", "leader-election.datasource.password=wrong",
			"spring.datasource.url=${url}?sslmode=require",
			"spring.datasource.url=${url}?socketFactory=missing.Factory",
			"spring.datasource.url=${url}?options=-c%20missing=1",
			"spring.datasource.hikari.connection-init-sql=SET ROLE missing" })
	void loginThatOnlyAnOperatorCanChangeRefusesTheStart(String properties, CapturedOutput output) {
		String role = this.nodes.createRole();
		refused(this.nodes.as(role)
			.with(properties.replace("${role}", role).replace("${url}", this.server.jdbcUrl()).split(",")));
		assertRejected(output);
	}

	@ParameterizedTest
	@ValueSource(strings = { "REVOKE CONNECT ON DATABASE closed_database FROM PUBLIC",
			"ALTER DATABASE closed_database ALLOW_CONNECTIONS false" })
	void databaseThatIsClosedRefusesTheStart(String statement, CapturedOutput output) {
		String role = this.nodes.createRole();
		this.server.execute("DROP DATABASE IF EXISTS closed_database");
		this.server.execute("CREATE DATABASE closed_database");
		this.server.execute(statement);
		refused(this.nodes.as(role)
			.with("spring.datasource.url="
					+ this.server.jdbcUrl().replace("/" + this.server.database(), "/closed_database")));
		assertRejected(output);
	}

	@ParameterizedTest
	@ValueSource(strings = { "spring.datasource.username=nobody", "spring.datasource.password=wrong",
			"spring.datasource.password=" })
	void loginThatAPoolerRejectsRefusesTheStart(String property, CapturedOutput output) {
		PgBouncer pooler = this.nodes.register(PgBouncer.start(this.server, "session", "auth_type=md5"));
		refused("spring.datasource.url=" + this.server.jdbcUrl(pooler.port()), property);
		assertRejected(output);
	}

	@Test
	void serverThatAPoolerCannotReachLeavesAFollower(CapturedOutput output) throws Exception {
		PgBouncer pooler = this.nodes
			.register(PgBouncer.startAt(this.server, Processes.freePort(), "session", "query_wait_timeout=1"));
		assertFollows(this.nodes.at(pooler.port()), output, "The database for leader election cannot be reached");
	}

	@Test
	void roleWithoutFreeConnectionsLeavesAFollower(CapturedOutput output) {
		String role = this.nodes.createRole("CONNECTION LIMIT 0");
		assertFollows(this.nodes.as(role), output,
				"has no free connection (SQLSTATE 53300): FATAL: too many connections for role \"" + role + "\"");
	}

	private static void assertFollows(Nodes nodes, CapturedOutput output, String problem) {
		LocalNode node = nodes.start();
		assertThat(node.awaitProblem(problem).leads()).isFalse();
		assertThat(node.bean(LeadershipHealthIndicator.class).health().getDetails().toString()).contains(problem);
		// Logged after the decision, so that no start waits for a log
		Awaitility.await()
			.untilAsserted(() -> assertThat(output).contains("Following without a session").contains(problem));
	}

	private static void assertRejected(CapturedOutput output) {
		assertThat(output).contains("APPLICATION FAILED TO START")
			.contains("The database rejected the login for leader election: ")
			.contains("Check leader-election.datasource.username and password")
			.contains("spring.datasource.username");
	}

	@Test
	void missingDatabaseRefusesTheStart(CapturedOutput output) {
		refused("spring.datasource.url=" + this.server.jdbcUrl() + "-missing");
		assertThat(output).contains("APPLICATION FAILED TO START")
			.contains("The database for leader election does not exist")
			.contains("Check leader-election.datasource.url");
	}

	@Test
	@Tag("ring2")
	void roleWithoutPlpgsqlRefusesTheStartAndNamesTheGrant(CapturedOutput output) {
		PostgreSqlServer own = this.nodes.register(PostgreSqlServer.start());
		own.execute("CREATE ROLE restricted LOGIN PASSWORD 'right'; REVOKE USAGE ON LANGUAGE plpgsql FROM PUBLIC");
		refused(this.nodes.on(own).as("restricted"));
		assertThat(output).contains("GRANT USAGE ON LANGUAGE plpgsql TO \"restricted\"");
		assertThat(own.log()).doesNotContain("ERROR");
	}

	@Test
	@Tag("ring2")
	void databaseThatAcceptsWithoutAnswerDoesNotHoldUpTheStart() throws Exception {
		try (ServerSocket silent = new ServerSocket(0)) {
			long start = System.nanoTime();
			LocalNode node = this.nodes.at(silent.getLocalPort()).start("leader-election.drain-timeout=1s");
			assertThat(node.leads()).isFalse();
			node.close();
			assertThat(Duration.ofNanos(System.nanoTime() - start)).isLessThan(Duration.ofSeconds(20));
		}
	}

	@Test
	void presetsOfTheRoleAndOfTheUrlDoNotMatter() {
		String role = this.nodes.createRole("SUPERUSER");
		for (String preset : List.of("statement_timeout = '50ms'", "lock_timeout = '50ms'",
				"default_transaction_read_only = on", "default_transaction_isolation = 'serializable'",
				"synchronous_commit = off")) {
			this.server.execute("ALTER ROLE " + role + " SET " + preset);
		}
		this.nodes.electingAs(role, "right")
			.start("leader-election.datasource.url="
					+ this.server.jdbcUrl().replace("localhost", "localhost:1,localhost")
					+ "?maxResultBuffer=300&prepareThreshold=-1&"
					+ "preferQueryMode=extended&queryTimeout=1&readOnly=true&readOnlyMode=always")
			.awaitLeader();
	}

	private void refused(String... properties) {
		refused(this.nodes.with(properties));
	}

	private static void refused(Nodes nodes) {
		assertThatException().isThrownBy(nodes::start);
	}

}
