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

import java.nio.charset.StandardCharsets;
import java.sql.SQLException;
import java.time.Instant;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;

import io.leaderelection.annotation.InvalidUsageException;
import io.leaderelection.schedule.Claim;
import io.leaderelection.testsupport.PgBouncer;
import io.leaderelection.testsupport.PostgreSqlServer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

import org.springframework.core.io.ClassPathResource;
import org.springframework.jdbc.core.simple.JdbcClient;
import org.springframework.jdbc.datasource.DataSourceTransactionManager;
import org.springframework.jdbc.datasource.DriverManagerDataSource;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatException;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

/**
 * Tests for the table of durable schedules, and for the database and the role with which
 * fires are claimed.
 */
@Timeout(120)
@Tag("ring2")
class DurableScheduleDatabaseTests extends AbstractDurableScheduleTests {

	private static final String OTHER = "durable_other";

	@AfterEach
	void dropSchemasAndDatabase() {
		this.server.execute("DROP SCHEMA IF EXISTS durable_schema, \"durable-schema\" CASCADE");
		this.server.execute("DROP DATABASE IF EXISTS %s WITH (FORCE)".formatted(OTHER));
	}

	@Test
	void missingTableIsRefused() {
		assertRefused(() -> start(InTransaction.class, "leader-election.initialize-schema=never"))
			.hasMessageContaining("The table durable_nodes_schedule")
			.hasMessageContaining("schema-schedule-postgresql.sql");
	}

	@Test
	void missingTableIsCreatedWithoutAnErrorInTheLogOfTheServer() {
		String table = "\"durable-schema\".created_" + UUID.randomUUID().toString().replace('-', '_');
		this.server.execute("CREATE SCHEMA \"durable-schema\"");
		start(InTransaction.class, "leader-election.table-name=" + table);
		assertThat(this.server.query("SELECT to_regclass('%s_schedule')".formatted(table))).doesNotContainNull();
		assertThat(this.server.log().lines()).noneMatch((line) -> line.contains(table) && line.contains("ERROR"));
	}

	@Test
	void roleThatMayNotCreateTheMissingTableIsRefused() {
		this.server.execute("CREATE SCHEMA durable_schema");
		String role = role("USAGE ON SCHEMA durable_schema");
		assertRefused(() -> start(InTransaction.class,
				withOwnConnection("leader-election.table-name=durable_schema." + TABLE,
						"spring.datasource.username=" + role, "spring.datasource.password=right")))
			.hasMessageContaining("could not be created: ERROR: permission denied for schema durable_schema");
	}

	@Test
	void tableWithOtherColumnsIsRefused() {
		this.server.execute("CREATE TABLE %s_schedule (job text)".formatted(TABLE));
		assertRefused(() -> start(InTransaction.class)).hasMessageContaining("cannot record the fires");
	}

	@Test
	void unfencedTransactionsAreRefused() {
		assertRefused(() -> start(InTransaction.class, "leader-election.fencing=off"))
			.hasMessageContaining("leader-election.fencing=off");
	}

	@ParameterizedTest
	@ValueSource(strings = { "PostgreSQL", "H2" })
	void otherDatabaseIsRefusedAndNotChanged(String product) {
		String other = createOther();
		assertRefused(() -> start(InTransaction.class,
				withOwnConnection("faulty=" + product, "spring.datasource.url=" + other)))
			.hasMessageContaining("not on the election database");
		assertThat(JdbcClient.create(new DriverManagerDataSource(other, this.server.username(), this.server.password()))
			.sql("SELECT relname FROM pg_class WHERE relname = '%s_schedule'".formatted(TABLE))
			.query(String.class)
			.list()).isEmpty();
	}

	/**
	 * As after a change of the DNS: the pool leads to another database than at start.
	 */
	@ParameterizedTest
	@ValueSource(strings = { "advisory-lock", "table" })
	void claimOnAnotherDatabaseThanAtStartIsRefused(String store) throws Exception {
		LocalNode node = begin(InTransaction.class, withOwnConnection("faulty=true", "leader-election.store=" + store));
		FaultyDataSource dataSource = node.bean(FaultyDataSource.class);
		DriverManagerDataSource target = (DriverManagerDataSource) dataSource.getTargetDataSource();
		String url = target.getUrl();
		String other = createOther();
		target.setUrl(other);
		JdbcClient jdbc = JdbcClient.create(target);
		jdbc.sql("CREATE TABLE durable_run (id bigserial, fire text, late boolean)").update();
		jdbc.sql(new ClassPathResource("io/leaderelection/schedule/schema-schedule-postgresql.sql")
			.getContentAsString(StandardCharsets.UTF_8)
			.replace("leader_election_schedule (", TABLE + "_schedule (")).update();
		jdbc.sql("INSERT INTO %s_schedule (election, job, last_fire, cron, zone) VALUES (?, ?, ?, ?, ?)"
			.formatted(TABLE))
			.params(this.group + ":default", JOB, clock.instant().atOffset(ZoneOffset.UTC), "0 0 2 * * *", "UTC")
			.update();
		clock.set(DUE);
		assertThatIllegalStateException().isThrownBy(() -> run(node))
			.withMessageContaining("must be fenced (@DurableSchedule)")
			.withMessageContaining("not on the election database");
		assertThat(jdbc.sql("SELECT fire FROM durable_run").query(String.class).list()).isEmpty();
		target.setUrl(url);
		run(node);
		assertThat(fires()).containsExactly(DUE + " late");
	}

	private String createOther() {
		this.server.execute("CREATE DATABASE " + OTHER);
		String url = this.server.jdbcUrl();
		int end = url.contains("?") ? url.indexOf('?') : url.length();
		return url.substring(0, url.lastIndexOf('/', end) + 1) + OTHER + url.substring(end);
	}

	/**
	 * The outcome of the commit is not known to the node.
	 */
	@ParameterizedTest
	@EnumSource(Claim.class)
	void fireOfAConnectionThatIsCutAfterItsCommitRunsOnce(Claim claim) {
		LocalNode node = due(job(claim), withOwnConnection("faulty=true"));
		node.bean(FaultyDataSource.class).cut.set(true);
		if (claim != Claim.AFTER) {
			assertThatException().isThrownBy(() -> run(node)).withRootCauseInstanceOf(SQLException.class);
		}
		run(node);
		run(node);
		assertThat(fires())
			.containsExactly((claim != Claim.BEFORE) ? "2026-05-02T02:00:00Z" : "2026-05-02T02:00:00Z late");
		assertThat(record()).containsExactly("2026-05-02 02:00:00+00 0 0 2 * * * UTC completed");
		assertThat(status(node).failed()).isZero();
		clock.set("2026-05-03T02:00:00Z");
		run(node);
		assertThat(fires()).last().asString().isEqualTo("2026-05-03T02:00:00Z");
	}

	@Test
	void claimBeforeTheWorkSurvivesACrashOfTheServerWithoutSynchronousCommit() {
		List<Instant> runs = new ArrayList<>();
		PostgreSqlServer crashing = this.nodes
			.register(PostgreSqlServer.start("synchronous_commit=off", "wal_writer_delay=10s"));
		crashing.execute("CREATE TABLE durable_run (id bigserial, fire text, late boolean)");
		Nodes there = this.nodes.on(crashing).with(job(Claim.BEFORE));
		LocalNode node = there.start().awaitLeader();
		run(node);
		crashing.execute("CHECKPOINT");
		hooks.add((fire) -> {
			if (runs.isEmpty()) {
				// The loss of leadership interrupts the job
				CompletableFuture.runAsync(() -> crashing.stop("immediate")).join();
			}
			runs.add(fire);
		});
		clock.set(DUE);
		run(node);
		node.close();
		crashing.startAgain();
		run(there.start().awaitLeader());
		assertThat(runs).containsExactly(Instant.parse(DUE));
	}

	@Test
	void electionThatIsTooLongToBeRecordedIsRefused() {
		assertRefused(() -> start(InTransaction.class, "leader-election.group=" + "g".repeat(250)))
			.hasMessageContaining("longer than 255 characters")
			.hasMessageContaining("leader-election.group");
	}

	@ParameterizedTest
	@ValueSource(strings = { TABLE, "durable_schema." + TABLE })
	void missingPrivilegeIsRefusedUntilItIsGranted(String table) {
		this.server.execute("CREATE SCHEMA durable_schema");
		String name = "leader-election.table-name=" + table;
		start(InTransaction.class, name).close();
		String role = role("SELECT, INSERT ON durable_run", "USAGE ON SEQUENCE durable_run_id_seq",
				"SELECT, INSERT ON " + table + "_schedule");
		String[] properties = withOwnConnection(name, "spring.datasource.username=" + role,
				"spring.datasource.password=right");
		assertRefused(() -> start(InTransaction.class, properties))
			.hasMessageContaining("The role \"" + role + "\" lacks privileges on the table " + table + "_schedule")
			.isInstanceOfSatisfying(InvalidUsageException.class, this::grant);
		LocalNode node = due(InTransaction.class, properties);
		run(node);
		assertThat(fires()).containsExactly(DUE);
	}

	@Test
	void claimWithoutPrivilegesFailsUntilTheyAreGranted() {
		start(InTransaction.class).close();
		String role = role("SELECT, INSERT ON durable_run", "USAGE ON SEQUENCE durable_run_id_seq");
		LocalNode node = start(InTransaction.class, withOwnConnection("faulty=unreachable",
				"spring.datasource.username=" + role, "spring.datasource.password=right"))
			.awaitLeader();
		node.bean(FaultyDataSource.class).reachable = true;
		assertThatExceptionOfType(InvalidUsageException.class).isThrownBy(() -> run(node))
			.withMessageContaining("lacks privileges on the table")
			.satisfies(this::grant);
		run(node);
		clock.set(DUE);
		run(node);
		assertThat(fires()).containsExactly(DUE);
	}

	/**
	 * As in the page on security.
	 */
	@Test
	void electionAndApplicationMayHaveSeparateRoles() {
		start(InTransaction.class, "leader-election.store=table").close();
		String electionRole = role("SELECT, INSERT, UPDATE ON " + TABLE,
				"SELECT, INSERT, UPDATE, DELETE ON %1$s_node, %1$s_candidate".formatted(TABLE));
		String role = role("SELECT, UPDATE (since) ON " + TABLE, "SELECT ON %s_node".formatted(TABLE),
				"SELECT, INSERT, UPDATE ON %s_schedule".formatted(TABLE), "SELECT, INSERT ON durable_run",
				"USAGE ON SEQUENCE durable_run_id_seq");
		LocalNode node = due(InTransaction.class,
				withOwnConnection("leader-election.store=table", "leader-election.initialize-schema=never",
						"leader-election.datasource.username=" + electionRole,
						"leader-election.datasource.password=right", "spring.datasource.username=" + role,
						"spring.datasource.password=right"));
		run(node);
		assertThat(fires()).containsExactly(DUE);
	}

	private String role(String... privileges) {
		String role = this.nodes.createRole();
		for (String privilege : privileges) {
			this.server.execute("GRANT " + privilege + " TO " + role);
		}
		return role;
	}

	private void grant(InvalidUsageException ex) {
		this.server.execute(ex.getAction().substring(ex.getAction().indexOf("GRANT")));
	}

	@ParameterizedTest
	@Tag("ring3")
	@ValueSource(strings = { "advisory-lock", "table" })
	void firesAreClaimedThroughAPoolerInTransactionMode(String store) {
		try (PgBouncer pooler = PgBouncer.start(this.server, "transaction", "default_pool_size=2")) {
			for (Claim claim : Claim.values()) {
				clock.set("2026-05-01T12:00:00Z");
				this.server.execute("TRUNCATE durable_run; DROP TABLE IF EXISTS %s_schedule".formatted(TABLE));
				LocalNode node = begin(job(claim), withOwnConnection("leader-election.store=" + store,
						"spring.datasource.url=" + this.server.jdbcUrl(pooler.port()) + "?prepareThreshold=0"));
				for (int day = 2; day < 12; day++) {
					clock.set("2026-05-%02dT02:00:00Z".formatted(day));
					run(node);
					run(node);
				}
				assertThat(fires()).as(claim.name()).hasSize(10).doesNotHaveDuplicates();
				assertThat(record()).singleElement().asString().endsWith("completed");
				node.close();
			}
		}
	}

	@Test
	void dataSourceOfTheTransactionManagerMayBeReplaced() {
		LocalNode node = begin(InTransaction.class, withOwnConnection("faulty=true"));
		FaultyDataSource replaced = node.bean(FaultyDataSource.class);
		node.bean(DataSourceTransactionManager.class).setDataSource(replaced.getTargetDataSource());
		clock.set(DUE);
		run(node);
		assertThat(record()).containsExactly("2026-05-02 02:00:00+00 0 0 2 * * * UTC completed");
	}

	@Test
	void tableIsCreatedByAClaimIfTheDatabaseWasNotReachableAtStart() {
		LocalNode node = start(InTransaction.class, withOwnConnection("faulty=unreachable")).awaitLeader();
		assertThatException().isThrownBy(() -> run(node)).withStackTraceContaining("not reachable");
		node.bean(FaultyDataSource.class).reachable = true;
		run(node);
		clock.set(DUE);
		run(node);
		assertThat(fires()).containsExactly(DUE);
	}

}
