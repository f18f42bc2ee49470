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
import java.time.Clock;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.List;

import io.leaderelection.annotation.InvalidUsageException;
import io.leaderelection.annotation.LeaderOnly;
import io.leaderelection.schedule.Claim;
import io.leaderelection.schedule.DurableSchedule;
import io.leaderelection.schedule.DurableSchedules;
import io.leaderelection.testsupport.PostgreSqlServer;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;
import org.springframework.context.annotation.Bean;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.jdbc.datasource.DriverManagerDataSource;
import org.springframework.jdbc.support.JdbcTransactionManager;
import org.springframework.scheduling.annotation.Scheduled;
import org.springframework.transaction.annotation.Transactional;
import org.springframework.transaction.support.AbstractPlatformTransactionManager;
import org.springframework.transaction.support.TransactionTemplate;
import org.springframework.util.StringUtils;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

/**
 * Tests for the record of a {@link DurableSchedule}: where, in which transaction and by
 * which clock it is written.
 */
@ExtendWith(OutputCaptureExtension.class)
@Timeout(60)
@Tag("ring1")
class DurableScheduleRecordTests extends AbstractDurableScheduleTests {

	private static final String RECORD = TABLE + "_schedule";

	@AfterEach
	void dropSchema() {
		this.server
			.execute("DROP SCHEMA IF EXISTS durable_schema CASCADE; DROP FUNCTION IF EXISTS durable_trigger CASCADE");
	}

	/**
	 * As with a schema per tenant, each of which a migration has given all tables.
	 */
	@Test
	void searchPathOfTheMethodDoesNotMoveTheRecord() {
		LocalNode node = begin(InTransaction.class);
		this.server.execute("CREATE SCHEMA durable_schema");
		createInSchema();
		this.server.execute(
				"CREATE FUNCTION durable_schema.never(varchar, varchar) RETURNS boolean LANGUAGE sql AS 'SELECT false'");
		this.server.execute(
				"CREATE OPERATOR durable_schema.= (FUNCTION = durable_schema.never, LEFTARG = varchar, RIGHTARG = varchar)");
		int day = 2;
		for (String path : List.of("SET LOCAL search_path = durable_schema, public",
				"SET LOCAL search_path = durable_schema, pg_catalog, public",
				"SET search_path = durable_schema, public")) {
			hooks.clear();
			hooks.add((fire) -> node.bean(JdbcTemplate.class).execute(path));
			clock.set("2026-05-0%dT02:00:00Z".formatted(day++));
			run(node);
			run(node);
		}
		clock.set("2026-05-05T02:00:00Z");
		run(node);
		assertThat(fires()).containsExactly("2026-05-02T02:00:00Z", "2026-05-03T02:00:00Z", "2026-05-04T02:00:00Z",
				"2026-05-05T02:00:00Z");
		assertThat(record()).containsExactly("2026-05-05 02:00:00+00 0 0 2 * * * UTC completed");
		assertThat(this.server.query("SELECT job FROM durable_schema." + RECORD)).isEmpty();
	}

	/**
	 * As with a schema for each role.
	 */
	@Test
	void tableThatExistsInAnotherSchemaIsNotCreated(CapturedOutput output) {
		start(InTransaction.class).close();
		this.server.execute("CREATE SCHEMA durable_schema");
		String[] properties = withOwnConnection(
				"spring.datasource.url=" + this.server.jdbcUrl() + "?currentSchema=durable_schema");
		assertRefused(() -> start(InTransaction.class, properties))
			.hasMessageContaining("The table durable_schema.%s, which", RECORD)
			.hasMessageContaining("may also use public.%s. Nodes", RECORD)
			.isInstanceOfSatisfying(InvalidUsageException.class,
					(ex) -> assertThat(ex.getAction()).containsSubsequence("table-name=durable_schema." + TABLE + " or",
							"other nodes: public." + TABLE + "."));
		assertThat(this.server.query("SELECT to_regclass('durable_schema." + RECORD + "')")).containsOnlyNulls();
		assertRefused(() -> start(InTransaction.class,
				StringUtils.addStringToArray(properties, "leader-election.initialize-schema=never")))
			.hasMessageContaining("that is set. Elsewhere, there is public.%s.", RECORD);
		createInSchema();
		LocalNode node = start(InTransaction.class, properties);
		assertThat(output).contains("Durable schedules are recorded in the table durable_schema." + RECORD)
			.contains("Tables of durable schedules also exist in public.%s. Nodes".formatted(RECORD));
	}

	private void createInSchema() {
		this.server.execute("CREATE TABLE durable_schema.%1$s (LIKE public.%1$s INCLUDING ALL)".formatted(RECORD));
	}

	@Test
	void nameIsResolvedForEachDataSource() {
		start(InTransaction.class).close();
		this.server.execute("CREATE SCHEMA durable_schema");
		createInSchema();
		LocalNode node = start(TwoDataSources.class, withOwnConnection()).awaitLeader();
		node.bean(TwoDataSources.class).first();
		node.bean(TwoDataSources.class).second();
		assertThat(this.server.query("SELECT job FROM public." + RECORD)).containsExactly("first");
		assertThat(this.server.query("SELECT job FROM durable_schema." + RECORD)).containsExactly("second");
	}

	@Test
	void tableThatDoesNotSurviveACrashOfTheServerIsRefused() {
		start(InTransaction.class).close();
		this.server.execute("ALTER TABLE %s SET UNLOGGED".formatted(RECORD));
		assertRefused(() -> start(InTransaction.class)).hasMessageContaining("not a permanent table");
	}

	@Test
	void tableThatDoesNotTakeTheChangeFailsTheRun(CapturedOutput output) {
		LocalNode node = start(InTransaction.class).awaitLeader();
		trigger("INSERT", "RETURN NULL");
		assertThatIllegalStateException().isThrownBy(() -> run(node))
			.withMessageContaining("has no record in public." + RECORD + ", and none could be inserted");
		dropTrigger();
		run(node);
		clock.set(DUE);
		for (String body : List.of("RETURN NULL", "NEW.last_fire := OLD.last_fire; RETURN NEW")) {
			trigger("UPDATE", body);
			assertThatIllegalStateException().isThrownBy(() -> run(node))
				.withMessageContaining("has not been recorded in public." + RECORD)
				.withMessageContaining("although the transaction is the same: look for row-level security, triggers");
			dropTrigger();
		}
		assertThat(output).contains("WARN").contains("run()' has not been recorded in");
		this.server.execute("CREATE RULE durable_rule AS ON UPDATE TO %s DO INSTEAD NOTHING".formatted(RECORD));
		assertThatException().isThrownBy(() -> run(node)).withStackTraceContaining("INSERT or UPDATE rules");
		this.server.execute("DROP RULE durable_rule ON " + RECORD);
		assertThat(fires()).isEmpty();
		assertThat(record()).singleElement().asString().startsWith("2026-05-01 12:00:00+00");
		run(node);
		run(node);
		assertThat(fires()).containsExactly(DUE + " late");
	}

	private void trigger(String event, String body) {
		this.server.execute("CREATE FUNCTION durable_trigger() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN %s; END'"
			.formatted(body));
		this.server
			.execute("CREATE TRIGGER durable_trigger BEFORE %s ON %s FOR EACH ROW EXECUTE FUNCTION durable_trigger()"
				.formatted(event, RECORD));
	}

	private void dropTrigger() {
		this.server.execute("DROP FUNCTION durable_trigger CASCADE");
	}

	/**
	 * A policy for the tenant that the method has set.
	 */
	@Test
	void rowLevelSecurityThatHidesTheUpdateFailsTheRun() {
		start(InTransaction.class).close();
		String role = this.nodes.createRole();
		for (String statement : List.of("GRANT SELECT, INSERT ON durable_run TO %1$s",
				"GRANT USAGE ON SEQUENCE durable_run_id_seq TO %1$s", "GRANT SELECT, INSERT, UPDATE ON %2$s TO %1$s",
				"ALTER TABLE %2$s ENABLE ROW LEVEL SECURITY",
				"CREATE POLICY all_rows ON %2$s USING (coalesce(current_setting('app.tenant', true), '') = '')")) {
			this.server.execute(statement.formatted(role, RECORD));
		}
		LocalNode node = due(InTransaction.class,
				withOwnConnection("spring.datasource.username=" + role, "spring.datasource.password=right"));
		hooks.add((fire) -> node.bean(JdbcTemplate.class).execute("SELECT set_config('app.tenant', 'first', true)"));
		assertThatIllegalStateException().isThrownBy(() -> run(node))
			.withMessageContaining("although the transaction is the same: look for row-level security");
		assertThat(fires()).isEmpty();
		hooks.clear();
		run(node);
		run(node);
		assertThat(fires()).containsExactly(DUE + " late");
	}

	@Test
	void transactionThatEndsInTheMiddleFailsTheRun(CapturedOutput output) {
		LocalNode node = begin(InTransaction.class);
		int day = 2;
		for (End end : End.values()) {
			this.server.execute("TRUNCATE durable_run");
			List<String> before = record();
			clock.set("2026-05-0%dT02:00:00Z".formatted(day++));
			hooks.add((fire) -> end(node, end));
			String message = (end == End.ROLLBACK) ? "its transaction was ended in the middle"
					: "its transaction was committed in the middle";
			assertThatIllegalStateException().as(end.name()).isThrownBy(() -> run(node)).withMessageContaining(message);
			assertThat(output).contains("WARN")
				.contains("run()' has not been recorded in public." + RECORD + ": " + message);
			assertThat(output.toString().lines().filter((line) -> line.contains(message)).reduce((a, b) -> b)).get()
				.asString()
				.contains((end == End.ROLLBACK) ? "Attempt 1 of 10" : "Attempt 1 of 1: the fire is dropped");
			assertThat(fires()).as(end.name()).hasSize((end == End.ROLLBACK) ? 0 : 1);
			String started = before.get(0).replaceFirst("UTC.*", "UTC failed: ");
			assertThat(record()).as("the fire is still due only after a rollback: " + end)
				.singleElement()
				.asString()
				.startsWith((end == End.ROLLBACK) ? started : "2026-05-0%d 02:00:00+00".formatted(day - 1))
				.contains(" failed: ");
			hooks.clear();
			run(node);
			run(node);
			assertThat(fires()).as(end.name()).hasSize(1);
		}
	}

	@ParameterizedTest
	@EnumSource(End.class)
	void runThatFailsAfterItsTransactionHasEndedInTheMiddle(End end) {
		LocalNode node = due(InTransaction.class);
		hooks.add((fire) -> {
			end(node, end);
			throw new UnsupportedOperationException("after the end");
		});
		if (end == End.ROLLBACK) {
			assertThatException().isThrownBy(() -> run(node)).isInstanceOf(UnsupportedOperationException.class);
		}
		else {
			assertThatIllegalStateException().isThrownBy(() -> run(node))
				.withMessageContaining("its transaction was committed in the middle")
				.withCauseInstanceOf(UnsupportedOperationException.class);
		}
		hooks.clear();
		run(node);
		clock.set("2026-05-02T03:00:00Z");
		run(node);
		assertThat(fires()).as("repeated only after a rollback")
			.containsExactly((end == End.ROLLBACK) ? "2026-05-02T02:00:00Z late" : "2026-05-02T02:00:00Z");
	}

	@Test
	void lastFireThatIsSetBackDuringARunIsKept() {
		LocalNode node = due(job(Claim.AFTER));
		hooks.add((fire) -> {
			hooks.clear();
			this.server.execute("UPDATE %s SET last_fire = '2026-04-30T03:00:00Z'".formatted(RECORD));
		});
		run(node);
		assertThat(record()).containsExactly("2026-04-30 03:00:00+00 0 0 2 * * * UTC completed");
		run(node);
		run(node);
		assertThat(fires()).containsExactly("2026-05-02T02:00:00Z", "2026-05-02T02:00:00Z late");
	}

	/**
	 * As by the timeout of a transaction, and by a pooler or a firewall.
	 */
	@ParameterizedTest
	@CsvSource(delimiter = ';', textBlock = """
			SELECT pg_sleep(3); transaction times out after 1 s: set a longer timeout of @Transactional
			SELECT pg_terminate_backend(pg_backend_pid()); connection was ended after PT30S: set a longer limit
			""")
	void longRunThatIsAlwaysEndedByALimitIsRepeatedOnlyOnce(String statement, String reason, CapturedOutput output) {
		LocalNode node = due(InTransaction.class, withOwnConnection(
				"spring.transaction.default-timeout=" + (statement.contains("sleep") ? "1s" : "60s")));
		hooks.add((fire) -> {
			clock.advance(Duration.ofSeconds(30));
			node.bean(JdbcTemplate.class).execute(statement);
		});
		assertThatException().isThrownBy(() -> run(node));
		assertThatException().isThrownBy(() -> run(node));
		run(node);
		assertThat(status(node).failed()).isEqualTo(2);
		assertThat(output).contains(reason).contains("or use claim = AFTER. Attempt 2 of 2");
	}

	@ParameterizedTest
	@ValueSource(strings = { "off", "remote_write" })
	void claimIsOnDiskWithItsCommit(String setting) {
		LocalNode node = due(InTransaction.class, withOwnConnection(
				"spring.datasource.hikari.data-source-properties.options=-c synchronous_commit=" + setting));
		List<String> settings = new ArrayList<>();
		hooks.add((fire) -> settings
			.add(node.bean(JdbcTemplate.class).queryForObject("SHOW synchronous_commit", String.class)));
		run(node);
		assertThat(settings).containsExactly(setting.equals("off") ? "local" : setting);
	}

	@Test
	void runInATransactionOfTheCallerIsRefusedWithoutSynchronizations() {
		LocalNode node = due(InTransaction.class);
		AbstractPlatformTransactionManager manager = node.bean(AbstractPlatformTransactionManager.class);
		manager.setTransactionSynchronization(AbstractPlatformTransactionManager.SYNCHRONIZATION_NEVER);
		assertThatIllegalStateException()
			.isThrownBy(() -> new TransactionTemplate(manager).executeWithoutResult((status) -> run(node)))
			.withMessageContaining("must not be called in a transaction");
		assertThat(fires()).isEmpty();
	}

	private static void end(LocalNode node, End end) {
		node.bean(JdbcTemplate.class).execute((Connection connection) -> {
			switch (end) {
				case COMMIT -> connection.commit();
				case ROLLBACK -> connection.rollback();
				case AUTO_COMMIT -> connection.setAutoCommit(true);
				case STATEMENT -> connection.createStatement().execute("COMMIT; BEGIN");
			}
			return null;
		});
	}

	@Test
	void scheduleWithTheSameFiresIsNoChange(CapturedOutput output) {
		LocalNode node = begin(InTransaction.class);
		this.server.execute("UPDATE %s SET cron = '0 0 2 ? * *', zone = 'Etc/UTC'".formatted(RECORD));
		clock.set("2026-05-02T09:00:00Z");
		hooks.add((fire) -> node.bean(JdbcTemplate.class).execute((Connection connection) -> {
			connection.rollback(connection.setSavepoint());
			return null;
		}));
		run(node);
		assertThat(fires()).containsExactly(DUE);
		assertThat(record()).singleElement().asString().endsWith("completed");
		assertThat(output).doesNotContain("begins now");
	}

	@Test
	void changedScheduleWarnsOfTheFiresThatItDrops(CapturedOutput output) {
		LocalNode node = begin(InTransaction.class);
		this.server.execute("UPDATE %s SET cron = '0 0 3 * * *', last_fire = '2026-04-28T03:00:00Z'".formatted(RECORD));
		clock.set(DUE);
		run(node);
		assertThat(fires()).containsExactly(DUE);
		assertThat(output.toString().lines()).filteredOn((line) -> line.contains("begins now"))
			.singleElement()
			.asString()
			.contains("WARN")
			.endsWith("from '0 0 3 * * *' (UTC) to '0 0 2 * * *' (UTC), and drops 3 fires that were due");
	}

	@Test
	void nodeWhoseClockIsFarFromThatOfTheDatabaseClaimsNoFireUntilItIsSet(CapturedOutput output) {
		LocalNode node = start(Ticking.class, "real=true", "skew=90", "leader-election.schedules.max-clock-skew=1m");
		DurableSchedules schedules = node.bean(DurableSchedules.class);
		awaitRefusal(output, "ahead of");
		schedules.setClock(Clock.offset(Clock.systemUTC(), Duration.ofSeconds(-90)));
		awaitRefusal(output, "behind");
		assertThat(record()).isEmpty();
		schedules.setClock(Clock.systemUTC());
		Awaitility.await().until(() -> !record().isEmpty());
	}

	@Test
	void scheduleThatHasChangedDoesNotBeginByAWrongClock(CapturedOutput output) {
		LocalNode node = begin(InTransaction.class);
		this.server.execute("UPDATE %s SET cron = '0 0 3 * * *'".formatted(RECORD));
		LocalNode wrong = start(Ticking.class, "real=true", "skew=90", "leader-election.schedules.max-clock-skew=1m");
		node.close();
		wrong.awaitLeader();
		awaitRefusal(output, "ahead of");
		assertThat(output).doesNotContain("begins now");
	}

	private static void awaitRefusal(CapturedOutput output, String direction) {
		Awaitility.await()
			.until(() -> output.toString()
				.lines()
				.anyMatch((line) -> line.contains("run()' claims no fire, since the clock of this node is PT1M")
						&& line.endsWith(direction
								+ " that of the database, more than leader-election.schedules.max-clock-skew (PT1M)")));
	}

	@Test
	void lastFireThatIsAheadIsReportedOnceWithTheStatementThatCorrectsIt(CapturedOutput output) {
		Instant now = Instant.now().truncatedTo(ChronoUnit.MILLIS);
		clock.set(now.toString());
		LocalNode node = begin(InTransaction.class, "leader-election.schedules.max-clock-skew=3d");
		assertThat(status(node).lag()).isZero();
		Instant later = now.plus(Duration.ofDays(1));
		clock.set(later.toString());
		Instant ahead = now.plus(Duration.ofDays(5)).truncatedTo(ChronoUnit.SECONDS);
		this.server.execute("UPDATE %s SET last_fire = '%s'".formatted(RECORD, ahead));
		run(node);
		run(node);
		assertThat(status(node).lag()).isEqualTo(Duration.between(ahead, later));
		List<String> warnings = output.toString()
			.lines()
			.filter((line) -> line.contains("runs no fire before"))
			.toList();
		assertThat(warnings).singleElement().asString().contains("WARN").contains(ahead.toString());
		this.server.execute(warnings.get(0).substring(warnings.get(0).indexOf("UPDATE")));
		run(node);
		assertThat(status(node).lag()).isZero();
		clock.set(now.plus(Duration.ofDays(2)).toString());
		run(node);
		assertThat(fires()).hasSize(2);
	}

	@Test
	void lastFireMayBeInfinite() {
		LocalNode node = begin(InTransaction.class);
		this.server.execute("UPDATE %s SET last_fire = 'infinity'".formatted(RECORD));
		clock.set(DUE);
		run(node);
		assertThat(status(node).lag()).isNegative();
		assertThat(status(node).nextFire()).isAfter("9000-01-01T00:00:00Z");
		this.server.execute("UPDATE %s SET last_fire = '-infinity'".formatted(RECORD));
		run(node);
		assertThat(fires()).containsExactly(DUE + " late");
	}

	/**
	 * How a method ends its transaction.
	 */
	enum End {

		COMMIT, ROLLBACK, AUTO_COMMIT, STATEMENT

	}

	static class TwoDataSources {

		@Bean
		static JdbcTransactionManager firstManager() {
			return manager("public");
		}

		@Bean
		static JdbcTransactionManager secondManager() {
			return manager("durable_schema");
		}

		private static JdbcTransactionManager manager(String schema) {
			PostgreSqlServer server = PostgreSqlServer.shared();
			DriverManagerDataSource dataSource = new DriverManagerDataSource(server.jdbcUrl(), server.username(),
					server.password());
			dataSource.setSchema(schema);
			return new JdbcTransactionManager(dataSource);
		}

		@LeaderOnly
		@Transactional("firstManager")
		@DurableSchedule(name = "first")
		@Scheduled(cron = "0 0 2 * * *", zone = "UTC")
		void first() {
		}

		@LeaderOnly
		@Transactional("secondManager")
		@DurableSchedule(name = "second")
		@Scheduled(cron = "0 0 2 * * *", zone = "UTC")
		void second() {
		}

	}

}
