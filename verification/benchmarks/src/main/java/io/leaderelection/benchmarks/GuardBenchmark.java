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
import java.util.concurrent.TimeUnit;

import io.leaderelection.LeaderElector;
import io.leaderelection.annotation.LeaderOnly;
import org.aopalliance.aop.Advice;
import org.aopalliance.intercept.MethodInterceptor;
import org.aopalliance.intercept.MethodInvocation;
import org.jspecify.annotations.Nullable;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;
import org.openjdk.jmh.annotations.Warmup;

import org.springframework.aop.framework.ProxyFactory;
import org.springframework.boot.WebApplicationType;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.boot.jdbc.autoconfigure.DataSourceAutoConfiguration;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;

/**
 * What it costs an application to ask whether it leads, and to have a method guarded.
 * Each benchmark runs in an application of its own; unless its name says PostgreSQL,
 * without a database.
 */
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Fork(2)
@Warmup(iterations = 2, time = 500, timeUnit = TimeUnit.MILLISECONDS)
@Measurement(iterations = 5, time = 500, timeUnit = TimeUnit.MILLISECONDS)
public class GuardBenchmark {

	/**
	 * The first seconds of a proxy are those of the compiler.
	 */
	private static final int PROXY_WARMUP = 4;

	@Benchmark
	public boolean isLeaderOnLeader(Leader node) {
		return node.elector.isLeader();
	}

	@Benchmark
	@Fork(1)
	public boolean isLeaderOnPostgreSqlLeader(PostgreSqlLeader node) {
		return node.elector.isLeader();
	}

	@Benchmark
	public boolean isLeaderOnFollower(Follower node) {
		return node.elector.isLeader();
	}

	@Benchmark
	@Warmup(iterations = PROXY_WARMUP, time = 1)
	public @Nullable String leaderOnlyCallThatRuns(Leader node) {
		return node.guardedJob.call();
	}

	@Benchmark
	@Warmup(iterations = PROXY_WARMUP, time = 1)
	public @Nullable String leaderOnlyCallThatIsSkipped(Follower node) {
		return node.guardedJob.call();
	}

	// What remains of a guarded call without the guard: a proxy whose advice does nothing
	@Benchmark
	@Warmup(iterations = PROXY_WARMUP, time = 1)
	public String proxiedCallWithoutGuard(Leader node) {
		return node.plainJob.call();
	}

	// The clock, which a leader has to ask each time
	@Benchmark
	@Fork(1)
	public long nanoTime() {
		return System.nanoTime();
	}

	/**
	 * An application that always leads.
	 */
	public static class Leader extends Node {

		public Leader() {
			super(true, "--leader-election.mode=always");
		}

	}

	/**
	 * An application that never leads.
	 */
	public static class Follower extends Node {

		public Follower() {
			super(false, "--leader-election.mode=always", "--leader-election.candidate=false");
		}

	}

	/**
	 * An application that leads on a PostgreSQL server.
	 */
	public static class PostgreSqlLeader extends Node {

		private final BenchmarkServer server;

		public PostgreSqlLeader() {
			this(new BenchmarkServer());
		}

		private PostgreSqlLeader(BenchmarkServer server) {
			super(true, "--leader-election.mode=postgresql", "--leader-election.datasource.url=" + server.url());
			this.server = server;
		}

		@Override
		public void close() {
			super.close();
			this.server.close();
		}

	}

	/**
	 * An application in the role that a benchmark needs.
	 */
	@State(Scope.Benchmark)
	public abstract static class Node {

		private static final Duration ELECTION_TIMEOUT = Duration.ofSeconds(30);

		private final ConfigurableApplicationContext context;

		final LeaderElector elector;

		final GuardedJob guardedJob;

		final PlainJob plainJob;

		Node(boolean leads, String... arguments) {
			this.context = new SpringApplicationBuilder(Application.class).web(WebApplicationType.NONE)
				.properties("spring.main.banner-mode=off", "spring.application.name=benchmarks")
				.run(arguments);
			this.elector = this.context.getBean(LeaderElector.class);
			this.guardedJob = this.context.getBean(GuardedJob.class);
			this.plainJob = this.context.getBean(PlainJob.class);
			check(leads);
		}

		private void check(boolean leads) {
			try {
				boolean leading = (leads) ? this.elector.awaitLeadership(ELECTION_TIMEOUT) : this.elector.isLeader();
				if (leading != leads || (this.guardedJob.call() != null) != leads) {
					throw new IllegalStateException("This node should " + (leads ? "" : "not ") + "lead");
				}
			}
			catch (InterruptedException ex) {
				throw new IllegalStateException(ex);
			}
		}

		@TearDown
		public void close() {
			this.context.close();
		}

	}

	/**
	 * The application.
	 */
	@Configuration(proxyBeanMethods = false)
	@EnableAutoConfiguration(exclude = DataSourceAutoConfiguration.class)
	static class Application {

		@Bean
		GuardedJob guardedJob() {
			return new GuardedJob();
		}

		@Bean
		PlainJob plainJob() {
			Advice nothing = (MethodInterceptor) MethodInvocation::proceed;
			ProxyFactory factory = new ProxyFactory(new PlainJob());
			factory.setProxyTargetClass(true);
			factory.addAdvice(nothing);
			return (PlainJob) factory.getProxy();
		}

	}

	/**
	 * A job that runs on the leader only.
	 */
	static class GuardedJob {

		private final String result = "done";

		@LeaderOnly
		@Nullable String call() {
			return this.result;
		}

	}

	/**
	 * The same job on every node.
	 */
	static class PlainJob {

		private final String result = "done";

		String call() {
			return this.result;
		}

	}

}
