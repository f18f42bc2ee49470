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

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.sql.Connection;
import java.sql.DatabaseMetaData;
import java.sql.SQLException;
import java.time.Clock;
import java.time.Duration;
import java.time.Instant;
import java.util.Collection;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;
import java.util.stream.Stream;

import javax.sql.DataSource;

import io.leaderelection.annotation.GeneratedJob;
import io.leaderelection.annotation.InvalidUsageException;
import io.leaderelection.annotation.LeaderOnly;
import io.leaderelection.schedule.Claim;
import io.leaderelection.schedule.DurableJob;
import io.leaderelection.schedule.DurableJob.Status;
import io.leaderelection.schedule.DurableSchedule;
import io.leaderelection.schedule.DurableSchedules;
import io.leaderelection.schedule.FireTime;
import io.leaderelection.testsupport.PostgreSqlServer;
import io.leaderelection.testsupport.TestClock;
import net.bytebuddy.description.annotation.AnnotationDescription;
import org.assertj.core.api.AbstractThrowableAssert;
import org.assertj.core.api.Assertions;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.awaitility.Awaitility;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.mockito.Mockito;

import org.springframework.beans.factory.InitializingBean;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.core.NestedExceptionUtils;
import org.springframework.jdbc.core.simple.JdbcClient;
import org.springframework.jdbc.datasource.DelegatingDataSource;
import org.springframework.jdbc.datasource.DriverManagerDataSource;
import org.springframework.scheduling.annotation.EnableScheduling;
import org.springframework.scheduling.annotation.Scheduled;
import org.springframework.transaction.annotation.Transactional;
import org.springframework.util.Assert;

import static org.assertj.core.api.Assertions.assertThat;
import static org.mockito.Mockito.mock;

/**
 * Nodes with a durable schedule that writes its fires.
 */
abstract class AbstractDurableScheduleTests {

	static final Duration LIMIT = Duration.ofSeconds(30);

	static final String TABLE = "durable_nodes";

	static final String JOB = "report";

	static final String NIGHTLY = "0 0 2 * * *";

	static final String DUE = "2026-05-02T02:00:00Z";

	static final TestClock clock = new TestClock("2026-05-01T12:00:00Z");

	/** The clock that a test sets is far from that of the database. */
	private static final String CLOCK_OF_THE_TEST = "leader-election.schedules.max-clock-skew=36500d";

	/** What runs inside a job, after it has written. */
	static final List<Consumer<Instant>> hooks = new CopyOnWriteArrayList<>();

	final PostgreSqlServer server = PostgreSqlServer.shared();

	final String group = "durable-" + UUID.randomUUID();

	@RegisterExtension
	final Nodes nodes = new Nodes("leader-election.group=" + this.group, "leader-election.table-name=" + TABLE,
			"leader-election.initialize-schema=always", "leader-election.takeover-delay=0",
			"leader-election.drain-timeout=1s", CLOCK_OF_THE_TEST)
		.with(ClockConfiguration.class);

	AbstractDurableScheduleTests() {
		clock.set("2026-05-01T12:00:00Z");
		hooks.clear();
		this.server.execute(
				"DROP TABLE IF EXISTS durable_run; CREATE TABLE durable_run (id bigserial, fire text, late boolean)");
	}

	@AfterEach
	void dropTables() {
		this.server.execute(
				"DROP TABLE IF EXISTS %1$s, %1$s_node, %1$s_candidate, %1$s_schedule, durable_run".formatted(TABLE));
	}

	static AbstractThrowableAssert<?, ?> assertRefused(ThrowingCallable start) {
		return assertThat(NestedExceptionUtils.getMostSpecificCause(Assertions.catchThrowable(start)))
			.isInstanceOf(InvalidUsageException.class);
	}

	LocalNode start(Class<?> job, String... properties) {
		return this.nodes.start(job, properties);
	}

	/**
	 * Start a leader whose job has begun.
	 */
	LocalNode begin(Class<?> job, String... properties) {
		LocalNode node = start(job, properties).awaitLeader();
		run(node);
		return node;
	}

	/**
	 * Start a leader whose job has begun and is due.
	 */
	LocalNode due(Class<?> job, String... properties) {
		LocalNode node = begin(job, properties);
		clock.set(DUE);
		return node;
	}

	/**
	 * Wait until the job has run for these fires.
	 */
	void awaitFires(String... fires) {
		Awaitility.await().untilAsserted(() -> assertThat(fires()).containsExactly(fires));
	}

	/**
	 * Return properties with which the elections do not use the data source.
	 */
	String[] withOwnConnection(String... properties) {
		return Stream
			.concat(Stream.of("leader-election.datasource.url=" + this.server.jdbcUrl(),
					"leader-election.datasource.username=" + this.server.username(),
					"leader-election.datasource.password=" + this.server.password()), Stream.of(properties))
			.toArray(String[]::new);
	}

	static void run(LocalNode node) {
		node.bean(Job.class).run();
	}

	static Status status(LocalNode node) {
		Collection<DurableJob> jobs = node.bean(DurableSchedules.class).jobs();
		return jobs.iterator().next().status();
	}

	List<String> fires() {
		return this.server.query("SELECT fire || CASE WHEN late THEN ' late' ELSE '' END FROM durable_run ORDER BY id");
	}

	List<String> record() {
		return this.server
			.query("SELECT concat_ws(' ', last_fire AT TIME ZONE 'UTC' || '+00', cron, zone, outcome) FROM %s_schedule"
				.formatted(TABLE));
	}

	static Class<?> job(Claim claim) {
		return switch (claim) {
			case IN_TRANSACTION -> InTransaction.class;
			case BEFORE, AFTER -> job(NIGHTLY, durable().define("claim", claim));
		};
	}

	static Class<?> job(String cron, AnnotationDescription.Builder... annotations) {
		return job(new GeneratedJob().overriding(Job.class, "run"), cron, annotations);
	}

	static Class<?> job(GeneratedJob job, String cron, AnnotationDescription.Builder... annotations) {
		return job.with(GeneratedJob.annotation(Scheduled.class).define("cron", cron).define("zone", "UTC"),
				annotations);
	}

	static AnnotationDescription.Builder durable() {
		return GeneratedJob.annotation(DurableSchedule.class).define("name", JOB);
	}

	/**
	 * A job that writes its fire.
	 */
	public static class Job {

		@Autowired
		private JdbcClient jdbc;

		public void run() {
			FireTime fire = FireTime.current();
			this.jdbc.sql("INSERT INTO durable_run (fire, late) VALUES (?, ?)")
				.params(fire.getNominalTime().toString(), fire.isCatchUp())
				.update();
			hooks.forEach((hook) -> hook.accept(fire.getNominalTime()));
		}

	}

	@Configuration(proxyBeanMethods = false)
	static class ClockConfiguration {

		@Bean
		InitializingBean clock(DurableSchedules schedules, @Value("${skew:0}") long skew,
				@Value("${real:false}") boolean real) {
			return () -> schedules.setClock(Clock.offset(real ? Clock.systemUTC() : clock, Duration.ofSeconds(skew)));
		}

		@Bean
		@ConditionalOnProperty("faulty")
		FaultyDataSource dataSource(@Value("${spring.datasource.url}") String url,
				@Value("${spring.datasource.username}") String username,
				@Value("${spring.datasource.password}") String password, @Value("${faulty}") String fault) {
			FaultyDataSource dataSource = new FaultyDataSource(new DriverManagerDataSource(url, username, password));
			dataSource.reachable = !fault.equals("unreachable");
			dataSource.product = fault.startsWith("H2") ? fault : null;
			return dataSource;
		}

	}

	static class InTransaction extends Job {

		@Override
		@LeaderOnly
		@Transactional
		@DurableSchedule(name = JOB)
		@Scheduled(cron = "${report.cron:0 0 2 * * *}", zone = "UTC")
		public void run() {
			super.run();
		}

	}

	@EnableScheduling
	static class Ticking extends InTransaction {

	}

	/**
	 * A data source whose connections fail, or lead to another database.
	 */
	static final class FaultyDataSource extends DelegatingDataSource {

		volatile boolean reachable;

		/** The name of another database, which takes no statement of PostgreSQL. */
		@Nullable String product;

		/** Whether the next connection that commits is cut before it has the answer. */
		final AtomicBoolean cut = new AtomicBoolean();

		FaultyDataSource(DataSource target) {
			super(target);
		}

		@Override
		public Connection getConnection() throws SQLException {
			if (!this.reachable) {
				throw new SQLException("The database is not reachable");
			}
			Connection target = super.getConnection();
			return (Connection) Proxy.newProxyInstance(getClass().getClassLoader(), new Class<?>[] { Connection.class },
					(proxy, method, arguments) -> {
						try {
							Assert.state(this.product == null || !method.getName().endsWith("Statement"),
									"Syntax error");
							Object result = method.invoke(target, arguments);
							if (this.product != null && result instanceof DatabaseMetaData) {
								return Mockito.when(mock(DatabaseMetaData.class).getDatabaseProductName())
									.thenReturn(this.product)
									.getMock();
							}
							if (method.getName().equals("commit") && this.cut.getAndSet(false)) {
								target.close();
								throw new SQLException("An I/O error occurred while sending to the backend.", "08006");
							}
							return result;
						}
						catch (InvocationTargetException ex) {
							throw ex.getTargetException();
						}
					});
		}

	}

}
