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

import java.time.Instant;
import java.util.List;

import javax.sql.DataSource;

import io.leaderelection.LeaderElector;
import io.leaderelection.annotation.LeaderOnly;
import io.leaderelection.schedule.DurableSchedule;
import io.leaderelection.schedule.DurableSchedules;
import io.leaderelection.schedule.FireTime;
import io.leaderelection.testsupport.PostgreSqlServer;
import io.leaderelection.testsupport.TestClock;
import io.leaderelection.transaction.FencedJpaTransactionTests.JpaConfiguration;
import io.leaderelection.transaction.FencedJpaTransactionTests.Note;
import jakarta.persistence.EntityManager;
import jakarta.persistence.EntityManagerFactory;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

import org.springframework.beans.factory.InitializingBean;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.dao.DataIntegrityViolationException;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.jdbc.datasource.ConnectionHandle;
import org.springframework.jdbc.datasource.DataSourceTransactionManager;
import org.springframework.orm.jpa.LocalContainerEntityManagerFactoryBean;
import org.springframework.orm.jpa.SharedEntityManagerCreator;
import org.springframework.orm.jpa.vendor.HibernateJpaDialect;
import org.springframework.scheduling.annotation.Scheduled;
import org.springframework.transaction.support.TransactionTemplate;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

/**
 * Durable schedules whose work is written by Hibernate when the transaction commits.
 */
@Tag("ring1")
class DurableScheduleJpaTests {

	private static final TestClock clock = new TestClock("2026-05-01T12:00:00Z");

	private static final PostgreSqlServer server = PostgreSqlServer.shared();

	@BeforeEach
	void createTable() {
		clock.set("2026-05-01T12:00:00Z");
		server.execute("DROP TABLE IF EXISTS fenced_note; CREATE TABLE fenced_note (id int PRIMARY KEY, body text)");
	}

	@AfterEach
	void dropTables() {
		server.execute("DROP TABLE IF EXISTS durable_jpa_schedule, fenced_note");
	}

	@Test
	void claimAndFlushCommitTogether() throws Exception {
		try (ConfigurableApplicationContext context = start(ClockConfiguration.class, Job.class)) {
			Job job = context.getBean(Job.class);
			job.run();
			clock.set("2026-05-02T02:00:00Z");
			job.run();
			job.run();
			assertThat(server.query("SELECT body FROM fenced_note")).containsExactly("2026-05-02T02:00:00Z");
			clock.set("2026-05-03T02:00:00Z");
			assertThatExceptionOfType(DataIntegrityViolationException.class).isThrownBy(job::run);
			assertThat(outcomes())
				.containsExactly("2026-05-02 02:00:00 failed: " + DataIntegrityViolationException.class.getName());
		}
	}

	/**
	 * The second transaction manager commits on the connection of the first one.
	 */
	@Test
	void secondTransactionManagerOnTheSameDataSourceFailsTheRun() throws Exception {
		try (ConfigurableApplicationContext context = start(ClockConfiguration.class, TwoManagersJob.class)) {
			TwoManagersJob job = context.getBean(TwoManagersJob.class);
			job.run();
			clock.set("2026-05-02T02:00:00Z");
			assertThatIllegalStateException().isThrownBy(job::run)
				.withMessageContaining("run()' has not been recorded in public.durable_jpa_schedule")
				.withMessageContaining("was committed in the middle")
				.withMessageContaining("a second transaction manager on the same data source");
			assertThat(outcomes()).singleElement().asString().startsWith("2026-05-02 02:00:00 failed: ");
		}
	}

	/**
	 * Otherwise the claim would commit without the work, and without a fence.
	 */
	@Test
	void transactionWithoutAJdbcConnectionIsRefused() throws Exception {
		try (ConfigurableApplicationContext context = start(WithoutConnection.class, Job.class)) {
			assertThatIllegalStateException().isThrownBy(context.getBean(Job.class)::run)
				.withMessageContaining("have no JDBC connection");
			assertThat(server.query("SELECT job FROM durable_jpa_schedule")).isEmpty();
		}
	}

	private static ConfigurableApplicationContext start(Class<?>... sources) throws InterruptedException {
		ConfigurableApplicationContext context = FencedApplication.start(server,
				(application) -> application.sources(sources), "leader-election.table-name=durable_jpa",
				"leader-election.initialize-schema=always", "leader-election.schedules.max-clock-skew=36500d");
		assertThat(context.getBean(LeaderElector.class).awaitLeadership(FencedApplication.LEASE.multipliedBy(10)))
			.isTrue();
		return context;
	}

	private static List<String> outcomes() {
		return server.query("SELECT last_fire AT TIME ZONE 'UTC' || ' ' || outcome FROM durable_jpa_schedule");
	}

	static class Job {

		private final EntityManager entities;

		Job(EntityManagerFactory factory) {
			this.entities = SharedEntityManagerCreator.createSharedEntityManager(factory);
		}

		/**
		 * The second row violates the primary key, which is found by the flush at the
		 * commit.
		 */
		@LeaderOnly
		@DurableSchedule
		@Scheduled(cron = "0 0 2 * * *", zone = "UTC")
		void run() {
			Instant fire = FireTime.current().getNominalTime();
			this.entities.persist(new Note(1, fire.toString()));
		}

	}

	static class TwoManagersJob {

		private final JdbcTemplate jdbc;

		private final TransactionTemplate second;

		TwoManagersJob(DataSource dataSource) {
			this.jdbc = new JdbcTemplate(dataSource);
			this.second = new TransactionTemplate(new DataSourceTransactionManager(dataSource));
		}

		@LeaderOnly
		@DurableSchedule
		@Scheduled(cron = "0 0 2 * * *", zone = "UTC")
		void run() {
			this.jdbc.update("INSERT INTO fenced_note VALUES (1, 'first')");
			this.second
				.executeWithoutResult((status) -> this.jdbc.update("INSERT INTO fenced_note VALUES (2, 'second')"));
		}

	}

	@Configuration(proxyBeanMethods = false)
	static class ClockConfiguration extends JpaConfiguration {

		@Bean
		InitializingBean clock(DurableSchedules schedules) {
			return () -> schedules.setClock(clock);
		}

	}

	@Configuration(proxyBeanMethods = false)
	static class WithoutConnection extends ClockConfiguration {

		@Bean
		@Override
		LocalContainerEntityManagerFactoryBean entityManagerFactory(DataSource dataSource) {
			LocalContainerEntityManagerFactoryBean factory = super.entityManagerFactory(dataSource);
			factory.setJpaDialect(new HibernateJpaDialect() {

				@Override
				public @Nullable ConnectionHandle getJdbcConnection(EntityManager entityManager, boolean readOnly) {
					return null;
				}

			});
			return factory;
		}

	}

}
