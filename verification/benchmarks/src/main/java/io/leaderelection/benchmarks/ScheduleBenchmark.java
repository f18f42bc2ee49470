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

package io.leaderelection.benchmarks;

import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.time.ZoneOffset;
import java.util.concurrent.TimeUnit;

import io.leaderelection.LeaderElector;
import io.leaderelection.annotation.LeaderOnly;
import io.leaderelection.schedule.Claim;
import io.leaderelection.schedule.DurableSchedule;
import io.leaderelection.schedule.DurableSchedules;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;
import org.openjdk.jmh.annotations.Warmup;

import org.springframework.boot.WebApplicationType;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.scheduling.annotation.Scheduled;
import org.springframework.transaction.annotation.Transactional;

/**
 * What the claim of a fire costs: a method with one statement, at each call of which a
 * fire is due, beside the same method with a fenced transaction only. Commits do not wait
 * for the disk. The median (p0.50) says most.
 */
@BenchmarkMode(Mode.SampleTime)
@OutputTimeUnit(TimeUnit.MICROSECONDS)
@Fork(1)
@Warmup(iterations = 2, time = 3)
@Measurement(iterations = 1, time = 5)
public class ScheduleBenchmark {

	@Benchmark
	public void transactionWithoutClaim(Node node) {
		node.jobs.transactional();
	}

	@Benchmark
	public void inTransaction(Node node) {
		node.nextSecond();
		node.jobs.inTransaction();
	}

	@Benchmark
	public void before(Node node) {
		node.nextSecond();
		node.jobs.before();
	}

	@Benchmark
	public void after(Node node) {
		node.nextSecond();
		node.jobs.after();
	}

	@Benchmark
	public void nothingDue(Node node) {
		node.jobs.inTransaction();
	}

	/**
	 * An application that leads, whose clock is set.
	 */
	@State(Scope.Benchmark)
	@SuppressWarnings("NullAway.Init")
	public static class Node {

		private BenchmarkServer server;

		private ConfigurableApplicationContext context;

		private volatile Instant now = Instant.parse("2026-05-01T00:00:00Z");

		Jobs jobs;

		@Setup
		public void start() throws InterruptedException {
			this.server = new BenchmarkServer();
			this.server.jdbc().execute("CREATE TABLE run (id int PRIMARY KEY, count bigint) WITH (fillfactor = 50)");
			this.server.jdbc().execute("INSERT INTO run VALUES (1, 0)");
			this.context = new SpringApplicationBuilder(Application.class).web(WebApplicationType.NONE)
				.properties("spring.main.banner-mode=off")
				.run("--spring.application.name=schedules", "--spring.datasource.url=" + this.server.url(),
						"--leader-election.initialize-schema=always",
						"--leader-election.schedules.max-clock-skew=36500d",
						"--spring.datasource.hikari.connection-init-sql=SET synchronous_commit = off");
			InstantSource source = () -> this.now;
			this.context.getBean(DurableSchedules.class).setClock(source.withZone(ZoneOffset.UTC));
			this.jobs = this.context.getBean(Jobs.class);
			if (!this.context.getBean(LeaderElector.class).awaitLeadership(Duration.ofSeconds(30))) {
				throw new IllegalStateException("This node should lead");
			}
		}

		void nextSecond() {
			this.now = this.now.plusSeconds(1);
		}

		@TearDown
		public void stop() {
			this.context.close();
			this.server.close();
		}

	}

	/**
	 * The jobs, which only the benchmark calls.
	 */
	public static class Jobs {

		private final JdbcTemplate jdbc;

		Jobs(JdbcTemplate jdbc) {
			this.jdbc = jdbc;
		}

		@LeaderOnly
		@Transactional
		public void transactional() {
			work();
		}

		@LeaderOnly
		@Transactional
		@DurableSchedule
		@Scheduled(cron = "* * * * * *", zone = "UTC")
		public void inTransaction() {
			work();
		}

		@LeaderOnly
		@DurableSchedule(claim = Claim.BEFORE)
		@Scheduled(cron = "* * * * * *", zone = "UTC")
		public void before() {
			work();
		}

		@LeaderOnly
		@DurableSchedule(claim = Claim.AFTER)
		@Scheduled(cron = "* * * * * *", zone = "UTC")
		public void after() {
			work();
		}

		private void work() {
			this.jdbc.update("UPDATE run SET count = count + 1 WHERE id = 1");
		}

	}

	/**
	 * The application.
	 */
	@Configuration(proxyBeanMethods = false)
	@EnableAutoConfiguration
	static class Application {

		@Bean
		Jobs jobs(JdbcTemplate jdbc) {
			return new Jobs(jdbc);
		}

	}

}
