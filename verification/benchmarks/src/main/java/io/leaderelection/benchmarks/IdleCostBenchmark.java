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

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Objects;
import java.util.concurrent.TimeUnit;

import org.springframework.boot.WebApplicationType;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Configuration;
import org.springframework.core.env.SimpleCommandLinePropertySource;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.jdbc.datasource.SingleConnectionDataSource;

/**
 * What a cluster sends to the server while nothing happens, and what one read of
 * {@code pg_locks} costs there. The nodes are applications in this JVM, with a role of
 * their own, whose statements the server counts. Run it from the root of the project:
 *
 * <pre>
 * mvn -q -Pbenchmarks -pl verification/benchmarks -am compile exec:exec -Dbenchmark=IdleCostBenchmark
 * </pre>
 *
 * Options go into {@code -Dbenchmark.args="…"}: {@code --nodes=20}, {@code --seconds=30}
 * and {@code --locks=10000}.
 */
public final class IdleCostBenchmark {

	private static final String NODES_OWN = "FROM pg_stat_statements WHERE userid = 'node'::regrole";

	private static final String READS_LOCKS = " AND query LIKE '%pg_locks%' AND ltrim(query, E' \\n\\t') NOT LIKE 'DO %'";

	private static final int READS = 300;

	/** As by default. */
	private static final int STANDBYS = 3;

	private final BenchmarkServer server;

	private final JdbcTemplate jdbc;

	private final List<ConfigurableApplicationContext> nodes = new ArrayList<>();

	private IdleCostBenchmark(BenchmarkServer server) {
		this.server = server;
		this.jdbc = server.jdbc();
	}

	public static void main(String[] args) throws Exception {
		SimpleCommandLinePropertySource options = new SimpleCommandLinePropertySource(args);
		int nodes = Integer.parseInt(Objects.requireNonNullElse(options.getProperty("nodes"), "20"));
		int seconds = Integer.parseInt(Objects.requireNonNullElse(options.getProperty("seconds"), "30"));
		int locks = Integer.parseInt(Objects.requireNonNullElse(options.getProperty("locks"), "10000"));
		// What is measured with all statements counted is the number of statements, not
		// their time
		try (BenchmarkServer server = new BenchmarkServer("shared_preload_libraries=pg_stat_statements",
				"pg_stat_statements.track=all", "max_connections=200",
				"max_locks_per_transaction=" + (64 + locks / 100))) {
			IdleCostBenchmark benchmark = new IdleCostBenchmark(server);
			System.out.println(Machine.describe(server.jdbc()) + ", load " + Machine.load());
			server.createNodeRole();
			try {
				benchmark.measure(nodes, seconds);
			}
			finally {
				benchmark.nodes.forEach(ConfigurableApplicationContext::close);
			}
			benchmark.readLocks(locks);
			System.out.println("Load " + Machine.load());
		}
	}

	private void measure(int count, int seconds) throws InterruptedException {
		start(1);
		Idle alone = idle(seconds);
		start(count);
		Idle all = idle(seconds);
		System.out.println();
		System.out.println("| nodes | connections | statements/s | reads of pg_locks/s |");
		System.out.println("|---|---|---|---|");
		System.out.printf(Locale.ROOT, "| 1 | %d | %.2f | %.2f |%n", alone.connections, alone.statements, alone.reads);
		System.out.printf(Locale.ROOT, "| %d | %d | %.2f | %.2f |%n", count, all.connections, all.statements,
				all.reads);
		System.out.printf(Locale.ROOT, "%nEach further node: %.2f statements/s, %.2f reads of pg_locks/s%n%n",
				(all.statements - alone.statements) / (count - 1), (all.reads - alone.reads) / (count - 1));
		System.out.println("| calls/s of all nodes | mean ms | within a block | statement |");
		System.out.println("|---|---|---|---|");
		all.forms.forEach(System.out::println);
	}

	private void start(int count) throws InterruptedException {
		while (this.nodes.size() < count) {
			this.nodes.add(new SpringApplicationBuilder(Application.class).web(WebApplicationType.NONE)
				.properties("spring.main.banner-mode=off", "spring.jmx.enabled=false")
				.run("--spring.application.name=idle", "--spring.datasource.url=" + this.server.url("node"),
						"--spring.datasource.hikari.maximum-pool-size=1", "--spring.datasource.hikari.minimum-idle=0",
						"--leader-election.node-id=node-" + this.nodes.size()));
		}
		if (count > 1) {
			this.server.awaitCandidates(Math.min(count - 1, STANDBYS));
		}
		// What the start has begun, such as the first connection of a pool and the first
		// observation through it, ends soon
		TimeUnit.SECONDS.sleep(10);
	}

	private Idle idle(int seconds) throws InterruptedException {
		this.jdbc.queryForList("SELECT pg_stat_statements_reset()");
		long start = System.nanoTime();
		TimeUnit.SECONDS.sleep(seconds);
		double elapsed = (System.nanoTime() - start) / 1e9;
		double statements = count("SELECT sum(calls) " + NODES_OWN + " AND toplevel") / elapsed;
		double reads = count("SELECT sum(calls) " + NODES_OWN + READS_LOCKS) / elapsed;
		List<String> forms = this.jdbc.query(
				"SELECT calls, mean_exec_time, toplevel, left(regexp_replace(query, '\\s+', ' ', 'g'), 100) AS form "
						+ NODES_OWN + " ORDER BY calls DESC LIMIT 10",
				(row, number) -> String.format(Locale.ROOT, "| %.2f | %.3f | %s | %s |", row.getLong(1) / elapsed,
						row.getDouble(2), row.getBoolean(3) ? "" : "yes", row.getString(4)));
		int connections = count(
				"SELECT count(*) FROM pg_stat_activity WHERE application_name LIKE 'leader-election %'");
		return new Idle(connections, statements, reads, forms);
	}

	private int count(String sql) {
		return Objects.requireNonNullElse(this.jdbc.queryForObject(sql, Integer.class), 0);
	}

	/**
	 * Reads {@code pg_locks} as a node does, without other locks and with many.
	 */
	private void readLocks(int locks) {
		System.out.println();
		System.out.println("| statement | advisory locks | runs | median | p90 | max |");
		System.out.println("|---|---|---|---|---|---|");
		String read = "SELECT count(*) FILTER (WHERE mode = 'ExclusiveLock') FROM pg_locks "
				+ "WHERE locktype = 'advisory' AND granted AND objsubid = 1 AND classid = 1";
		print("`SELECT 1`", 0, time("SELECT 1"));
		print("`pg_locks`", 0, time(read));
		// Not in the session that is timed, where each transaction would go through them
		SingleConnectionDataSource other = new SingleConnectionDataSource(this.server.url(), true);
		try {
			new JdbcTemplate(other).queryForObject(
					"SELECT count(pg_advisory_lock(2, number)) FROM generate_series(1, ?) AS number", Integer.class,
					locks);
			print("`SELECT 1`", locks, time("SELECT 1"));
			print("`pg_locks`", locks, time(read));
		}
		finally {
			other.destroy();
		}
	}

	private Milliseconds time(String sql) {
		List<Long> times = new ArrayList<>();
		for (int run = 0; run < 2 * READS; run++) {
			long start = System.nanoTime();
			this.jdbc.queryForObject(sql, Long.class);
			if (run >= READS) {
				times.add(System.nanoTime() - start);
			}
		}
		return Milliseconds.ofNanos(times);
	}

	private static void print(String statement, int locks, Milliseconds time) {
		System.out.printf(Locale.ROOT, "| %s | %d | %s |%n", statement, locks, time.cells());
	}

	/**
	 * What an idle cluster costs.
	 *
	 * @param connections how many it holds
	 * @param statements how many it sends in a second
	 * @param reads how often it reads {@code pg_locks} in a second
	 * @param forms the most frequent statements, as rows of a table
	 */
	private record Idle(int connections, double statements, double reads, List<String> forms) {

	}

	/**
	 * The application.
	 */
	@Configuration(proxyBeanMethods = false)
	@EnableAutoConfiguration
	static class Application {

	}

}
