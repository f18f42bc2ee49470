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

package io.leaderelection.transaction;

import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.sql.Savepoint;
import java.sql.Statement;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;

import io.leaderelection.LeaderElector;
import io.leaderelection.Leadership;
import io.leaderelection.LeadershipLostException;
import io.leaderelection.testsupport.TcpProxy;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.postgresql.PGConnection;

import org.springframework.context.ConfigurableApplicationContext;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

/**
 * {@link Leadership#fence(Connection)} for transactions that Spring does not manage.
 */
@Tag("ring1")
class ExplicitFenceTests extends AbstractFencedTests {

	private Connection connection;

	@BeforeAll
	static void start() {
		start(FencedApplication.Application.class);
	}

	@BeforeEach
	void begin() throws Exception {
		this.connection = server.connect();
		this.connection.setAutoCommit(false);
		insert();
	}

	@AfterEach
	void end() throws SQLException {
		this.connection.close();
	}

	@Test
	void isRefusedAfterTheTerm() throws SQLException {
		Leadership leadership = leadership();
		loseTerm();
		assertThatExceptionOfType(LeadershipLostException.class).isThrownBy(() -> leadership.fence(this.connection))
			.withMessageContaining(leadership.getTerm().toString())
			.satisfies((ex) -> assertThat(ex.getElection()).isEqualTo("default"));
		this.connection.rollback();
		assertThat(rows()).isZero();
	}

	@Test
	void isRefusedForTheTermThatCameBefore() throws Exception {
		Leadership leadership = leadership();
		loseTerm();
		awaitLeadership();
		assertThatExceptionOfType(LeadershipLostException.class).isThrownBy(() -> leadership.fence(this.connection));
		this.connection.rollback();
		leadership().fence(this.connection);
	}

	@Test
	void holdsUpTheNextTermUntilTheTransactionHasEnded() throws Exception {
		Leadership before = leadership();
		before.fence(this.connection);
		loseTerm();
		Awaitility.await().until(() -> blockedBy() != null && blockedBy().contains(pid(this.connection)));
		assertThat(this.elector.isLeader()).isFalse();
		this.connection.commit();
		awaitLeadership();
		assertThat(leadership().getTerm()).isGreaterThan(before.getTerm());
		assertThat(rows()).isOne();
	}

	@Test
	@Tag("ring2")
	void clientThatStopsDoesNotHoldUpTheNextTermForLongerThanTheLease() throws Exception {
		leadership().fence(this.connection);
		loseTerm();
		assertThat(this.elector.awaitLeadership(FencedApplication.LEASE.plusSeconds(10))).isTrue();
		assertThatExceptionOfType(SQLException.class).isThrownBy(() -> this.connection.commit());
		assertThat(rows()).isZero();
	}

	@Test
	void isUndoneByTheRollBackToAnEarlierSavepoint() throws Exception {
		Savepoint savepoint = this.connection.setSavepoint();
		leadership().fence(this.connection);
		this.connection.rollback(savepoint);
		loseTerm();
		assertThat(this.elector.awaitLeadership(Duration.ofSeconds(30)))
			.as("the documented limit: nothing delays the next term from here on")
			.isTrue();
	}

	@Test
	void needsATransaction() throws SQLException {
		this.connection.rollback();
		this.connection.setAutoCommit(true);
		assertThatIllegalStateException().isThrownBy(() -> leadership().fence(this.connection))
			.withMessageContaining("auto-commit")
			.withMessageContaining("setAutoCommit(false)");
	}

	@Test
	@Tag("ring2")
	void answerThatDoesNotComeIsNotAwaitedForLong() throws SQLException {
		try (TcpProxy proxy = new TcpProxy(server);
				Connection cut = DriverManager.getConnection(server.jdbcUrl(proxy.port()), server.username(),
						server.password())) {
			cut.setAutoCommit(false);
			leadership().fence(cut);
			proxy.blackHole();
			Leadership leadership = leadership();
			CompletableFuture<?> fence = CompletableFuture
				.runAsync(() -> assertThatExceptionOfType(SQLException.class).isThrownBy(() -> leadership.fence(cut)));
			assertThat(fence).succeedsWithin(FencedApplication.LEASE.plusSeconds(20));
		}
	}

	@Test
	void networkTimeoutOfTheConnectionIsItsOwn() throws SQLException {
		for (int timeout : new int[] { 0, 1000, 3_600_000 }) {
			this.connection.setNetworkTimeout(Runnable::run, timeout);
			leadership().fence(this.connection);
			assertThat(this.connection.getNetworkTimeout()).isEqualTo(timeout);
		}
	}

	@Test
	void anotherDatabaseIsAnError() throws SQLException {
		server.execute("DROP DATABASE IF EXISTS elsewhere");
		server.execute("CREATE DATABASE elsewhere");
		String url = server.jdbcUrl().replaceFirst("/" + server.database() + "$", "/elsewhere");
		try (Connection elsewhere = DriverManager.getConnection(url, server.username(), server.password())) {
			elsewhere.setAutoCommit(false);
			assertThatIllegalStateException().isThrownBy(() -> leadership().fence(elsewhere))
				.withMessageContaining("is not to the database of election")
				.withMessageContaining("'default'");
		}
	}

	@Test
	void doesNothingWithoutADatabase() throws SQLException {
		try (ConfigurableApplicationContext local = FencedApplication.start(server, FencedApplication.Application.class,
				"leader-election.mode=always")) {
			local.getBean(LeaderElector.class).getLeadership().fence(this.connection);
			this.connection.commit();
		}
		assertThat(rows()).isOne();
	}

	private Leadership leadership() {
		Leadership leadership = this.elector.getLeadership();
		assertThat(leadership).isNotNull();
		return leadership;
	}

	private String blockedBy() {
		return FencedApplication.status(context).blockedBy();
	}

	private static String pid(Connection connection) throws SQLException {
		return String.valueOf(connection.unwrap(PGConnection.class).getBackendPID());
	}

	private void insert() throws SQLException {
		try (Statement statement = this.connection.createStatement()) {
			statement.execute("INSERT INTO fenced_note VALUES (1)");
		}
	}

}
