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
import java.util.List;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;

import io.leaderelection.LeaderElector;
import org.openjdk.jmh.annotations.AuxCounters;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;
import org.openjdk.jmh.annotations.Threads;
import org.openjdk.jmh.annotations.Warmup;

import org.springframework.boot.WebApplicationType;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Configuration;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.transaction.TransactionExecution;
import org.springframework.transaction.TransactionExecutionListener;
import org.springframework.transaction.support.AbstractPlatformTransactionManager;
import org.springframework.transaction.support.TransactionTemplate;

/**
 * What the fence costs: the transactions of pgbench, less two of its tables, in leader
 * work and through a pool. An application with the fence and one without take turns on
 * one server, far more often than the speed of a disk or of a busy machine changes.
 */
@BenchmarkMode(Mode.Throughput)
@OutputTimeUnit(TimeUnit.SECONDS)
@Fork(1)
@Warmup(iterations = 3, time = 2)
@Measurement(iterations = 8, time = 4)
public class FenceBenchmark {

	private static final int ACCOUNTS = 100_000;

	private static final int MOST_THREADS = 8;

	private static final long TURN = TimeUnit.MILLISECONDS.toNanos(100);

	@Benchmark
	@Threads(1)
	public void transactionsOfOneThread(Applications applications, Throughput throughput) {
		transact(applications, throughput);
	}

	@Benchmark
	@Threads(MOST_THREADS)
	public void transactionsOfEightThreads(Applications applications, Throughput throughput) {
		transact(applications, throughput);
	}

	// Each has half of the time, so what it does in that counts twice
	private static void transact(Applications applications, Throughput throughput) {
		if (Math.floorMod(System.nanoTime() / TURN, 2) == 0) {
			applications.fenced.transact();
			throughput.fenced += 2;
		}
		else {
			applications.unfenced.transact();
			throughput.unfenced += 2;
		}
	}

	/**
	 * The transactions of one thread.
	 */
	@State(Scope.Thread)
	@AuxCounters
	public static class Throughput {

		/** Those of the application with the fence. */
		public long fenced;

		/** Those of the application without. */
		public long unfenced;

	}

	/**
	 * A server and the two applications on it.
	 */
	@State(Scope.Benchmark)
	@SuppressWarnings("NullAway.Init")
	public static class Applications {

		/** Whether a commit waits for the disk. */
		@Param({ "synchronous", "asynchronous" })
		public String commit;

		private BenchmarkServer server;

		Node fenced;

		Node unfenced;

		@Setup
		public void start() throws InterruptedException {
			this.server = new BenchmarkServer();
			JdbcTemplate jdbc = this.server.jdbc();
			jdbc.execute("CREATE TABLE account (id int PRIMARY KEY, balance int NOT NULL) WITH (fillfactor = 50)");
			jdbc.execute("CREATE TABLE history (account int, amount int, at timestamptz)");
			jdbc.update("INSERT INTO account SELECT id, 0 FROM generate_series(0, ?) AS id", ACCOUNTS - 1);
			jdbc.execute("VACUUM ANALYZE account");
			jdbc.execute("CHECKPOINT");
			String commits = this.commit.equals("synchronous") ? "on" : "off";
			this.fenced = new Node(this.server, "auto", commits);
			this.unfenced = new Node(this.server, "off", commits);
			if (!this.fenced.isFenced() || this.unfenced.isFenced()) {
				throw new IllegalStateException("One of the applications should be fenced");
			}
		}

		@TearDown
		public void stop() {
			this.fenced.context.close();
			this.unfenced.context.close();
			this.server.close();
		}

	}

	/**
	 * An application that leads, in an election of its own.
	 */
	static final class Node {

		private final ConfigurableApplicationContext context;

		private final LeaderElector elector;

		private final TransactionTemplate transactions;

		private final JdbcTemplate jdbc;

		Node(BenchmarkServer server, String fencing, String commits) throws InterruptedException {
			this.context = new SpringApplicationBuilder(Application.class).web(WebApplicationType.NONE)
				.properties("spring.main.banner-mode=off")
				.run("--spring.application.name=fencing-" + fencing, "--leader-election.fencing=" + fencing,
						"--spring.datasource.url=" + server.url(),
						"--spring.datasource.hikari.maximum-pool-size=" + MOST_THREADS,
						"--spring.datasource.hikari.connection-init-sql=SET synchronous_commit = " + commits);
			this.elector = this.context.getBean(LeaderElector.class);
			this.transactions = this.context.getBean(TransactionTemplate.class);
			this.jdbc = this.context.getBean(JdbcTemplate.class);
			if (!this.elector.awaitLeadership(Duration.ofSeconds(30))) {
				throw new IllegalStateException("This node should lead");
			}
		}

		void transact() {
			if (!this.elector.runIfLeader(() -> this.transactions.executeWithoutResult((status) -> transfer()))) {
				throw new IllegalStateException("This node should lead");
			}
		}

		private void transfer() {
			ThreadLocalRandom random = ThreadLocalRandom.current();
			int account = random.nextInt(ACCOUNTS);
			int amount = random.nextInt(-5000, 5000);
			this.jdbc.update("UPDATE account SET balance = balance + ? WHERE id = ?", amount, account);
			this.jdbc.queryForObject("SELECT balance FROM account WHERE id = ?", Integer.class, account);
			this.jdbc.update("INSERT INTO history VALUES (?, ?, now())", account, amount);
		}

		/**
		 * Whether a transaction of leader work holds a lock when it commits.
		 */
		boolean isFenced() {
			AbstractPlatformTransactionManager manager = this.context.getBean(AbstractPlatformTransactionManager.class);
			List<TransactionExecutionListener> listeners = List.copyOf(manager.getTransactionExecutionListeners());
			AtomicBoolean fenced = new AtomicBoolean();
			manager.addListener(new TransactionExecutionListener() {

				@Override
				public void beforeCommit(TransactionExecution transaction) {
					fenced.set(Boolean.TRUE.equals(Node.this.jdbc.queryForObject(
							"SELECT count(*) > 0 FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid()",
							Boolean.class)));
				}

			});
			transact();
			manager.setTransactionExecutionListeners(listeners);
			return fenced.get();
		}

	}

	/**
	 * The application.
	 */
	@Configuration(proxyBeanMethods = false)
	@EnableAutoConfiguration
	static class Application {

	}

}
