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
import java.util.UUID;
import java.util.stream.Stream;

import io.leaderelection.testsupport.PgBouncer;
import io.leaderelection.testsupport.PostgreSqlServer;
import io.leaderelection.testsupport.Processes;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
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

	@Test
	void wrongPasswordRefusesTheStart(CapturedOutput output) {
		String role = role("LOGIN PASSWORD 'right'");
		refused("spring.datasource.username=" + role, "spring.datasource.password=wrong");
		assertThat(output).contains("APPLICATION FAILED TO START")
			.contains("The database rejected the login for leader election: FATAL: password authentication failed")
			.contains("Check leader-election.datasource.username and password");
	}

	@ParameterizedTest
	@ValueSource(strings = { "spring.datasource.password=", "leader-election.datasource.url=${url}",
			"leader-election.datasource.url=${url},leader-election.datasource.username=${role}",
			"leader-election.datasource.username=nobody", "leader-election.datasource.password=wrong",
			"spring.datasource.url=${url}?sslmode=require",
			"spring.datasource.url=${url}?socketFactory=missing.Factory",
			"spring.datasource.url=${url}?options=-c%20missing=1",
			"spring.datasource.hikari.connection-init-sql=SET ROLE missing" })
	void loginThatOnlyAnOperatorCanChangeRefusesTheStart(String properties, CapturedOutput output) {
		String role = role("LOGIN PASSWORD 'right'");
		refused(Stream
			.concat(Stream.of("spring.datasource.username=" + role, "spring.datasource.password=right"),
					Stream.of(properties.split(","))
						.map((property) -> property.replace("${role}", role).replace("${url}", this.server.jdbcUrl())))
			.toArray(String[]::new));
		assertRejected(output);
	}

	@ParameterizedTest
	@ValueSource(strings = { "REVOKE CONNECT ON DATABASE closed_database FROM PUBLIC",
			"ALTER DATABASE closed_database ALLOW_CONNECTIONS false" })
	void databaseThatIsClosedRefusesTheStart(String statement, CapturedOutput output) {
		String role = role("LOGIN PASSWORD 'right'");
		this.server.execute("DROP DATABASE IF EXISTS closed_database");
		this.server.execute("CREATE DATABASE closed_database");
		this.server.execute(statement);
		refused("spring.datasource.url=jdbc:postgresql://%s:%s/closed_database".formatted(this.server.host(),
				this.server.port()), "spring.datasource.username=" + role, "spring.datasource.password=right");
		assertRejected(output);
	}

	@ParameterizedTest
	@ValueSource(strings = { "spring.datasource.username=nobody", "spring.datasource.password=wrong",
			"spring.datasource.password=" })
	void loginThatAPoolerRejectsRefusesTheStart(String property, CapturedOutput output) {
		try (PgBouncer pooler = PgBouncer.start(this.server, "session", "auth_type=md5")) {
			refused(url(pooler, this.server.database()), property);
			assertRejected(output);
		}
	}

	@Test
	void serverThatAPoolerCannotReachLeavesAFollower(CapturedOutput output) throws Exception {
		try (PgBouncer pooler = PgBouncer.startAt(this.server, Processes.freePort(), "session", "query_wait_timeout=1");
				LocalNode node = LocalNode.start(this.server, url(pooler, this.server.database()))) {
			Awaitility.await()
				.untilAsserted(() -> assertThat(output).contains("The database for leader election cannot be reached"));
			assertThat(node.leads()).isFalse();
		}
	}

	@Test
	void roleWithoutFreeConnectionsLeavesAFollower(CapturedOutput output) {
		String role = role("LOGIN PASSWORD 'right' CONNECTION LIMIT 0");
		try (LocalNode node = LocalNode.start(this.server, "spring.datasource.username=" + role,
				"spring.datasource.password=right")) {
			Awaitility.await().untilAsserted(() -> assertThat(output).contains("has no free connection"));
			assertThat(node.leads()).isFalse();
		}
	}

	private static String url(PgBouncer pooler, String database) {
		return "spring.datasource.url=jdbc:postgresql://localhost:%s/%s".formatted(pooler.port(), database);
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
		try (PostgreSqlServer own = PostgreSqlServer.start()) {
			own.execute("CREATE ROLE restricted LOGIN PASSWORD 'right'");
			own.execute("REVOKE USAGE ON LANGUAGE plpgsql FROM PUBLIC");
			refused("spring.datasource.url=" + own.jdbcUrl(), "spring.datasource.username=restricted",
					"spring.datasource.password=right");
			assertThat(output).contains("GRANT USAGE ON LANGUAGE plpgsql TO \"restricted\"");
			assertThat(own.log()).doesNotContain("ERROR");
		}
	}

	@Test
	void unreachableDatabaseLeavesAFollower(CapturedOutput output) throws Exception {
		try (LocalNode node = LocalNode.startAt(this.server, Processes.freePort())) {
			assertThat(node.leads()).isFalse();
			// Logged after the decision, so that no start waits for a log
			Awaitility.await()
				.untilAsserted(() -> assertThat(output).contains("The database for leader election cannot be reached")
					.contains("Following without a session"));
		}
	}

	@Test
	void unreachableDatabaseRefusesTheStartWithFailFast(CapturedOutput output) throws Exception {
		String url = this.server.jdbcUrl(Processes.freePort());
		refused("spring.datasource.url=" + url, "leader-election.fail-fast=true");
		assertThat(output).contains("APPLICATION FAILED TO START").contains("leader-election.fail-fast");
	}

	@Test
	@Tag("ring2")
	void databaseThatAcceptsWithoutAnswerDoesNotHoldUpTheStart() throws Exception {
		try (ServerSocket silent = new ServerSocket(0)) {
			long start = System.nanoTime();
			try (LocalNode node = LocalNode.startAt(this.server, silent.getLocalPort(),
					"leader-election.drain-timeout=1s")) {
				assertThat(node.leads()).isFalse();
			}
			assertThat(Duration.ofNanos(System.nanoTime() - start)).isLessThan(Duration.ofSeconds(20));
		}
	}

	@Test
	void databaseThatIsNotPostgreSqlRefusesTheStart(CapturedOutput output) {
		refused("leader-election.datasource.url=jdbc:h2:mem:test");
		assertThat(output).contains("APPLICATION FAILED TO START").contains("elections are held on PostgreSQL only");
	}

	@Test
	void presetsOfTheRoleAndOfTheUrlDoNotMatter() {
		String role = role("LOGIN SUPERUSER PASSWORD 'right'");
		this.server.execute("ALTER ROLE " + role + " SET statement_timeout = '50ms'");
		this.server.execute("ALTER ROLE " + role + " SET lock_timeout = '50ms'");
		this.server.execute("ALTER ROLE " + role + " SET default_transaction_read_only = on");
		this.server.execute("ALTER ROLE " + role + " SET default_transaction_isolation = 'serializable'");
		this.server.execute("ALTER ROLE " + role + " SET synchronous_commit = off");
		try (LocalNode node = LocalNode.start(this.server, "leader-election.group=" + UUID.randomUUID(),
				"leader-election.datasource.url=" + this.server.jdbcUrl().replace("localhost", "localhost:1,localhost")
						+ "?maxResultBuffer=300&prepareThreshold=-1&"
						+ "preferQueryMode=extended&queryTimeout=1&readOnly=true&readOnlyMode=always",
				"leader-election.datasource.username=" + role, "leader-election.datasource.password=right")) {
			assertThat(node.awaitLeader().leads()).isTrue();
		}
	}

	private String role(String options) {
		String name = "role_" + UUID.randomUUID().toString().replace("-", "");
		this.server.execute("CREATE ROLE " + name + " " + options);
		return name;
	}

	private void refused(String... properties) {
		assertThatException().isThrownBy(() -> LocalNode.start(this.server, properties).close());
	}

}
