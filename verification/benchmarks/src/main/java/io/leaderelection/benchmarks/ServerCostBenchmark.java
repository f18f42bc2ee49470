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
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import java.util.function.ToLongFunction;

import io.leaderelection.engine.ElectionSettings;

import org.springframework.core.env.SimpleCommandLinePropertySource;
import org.springframework.jdbc.core.JdbcTemplate;

/**
 * What elections cost the server while nothing happens, by the store, the number of nodes
 * and of elections: processor time of all processes of the server, sessions and their
 * memory, statements, readings of {@code pg_locks}, text that is sent, and WAL. New terms
 * show that the cluster was not idle all the time. The nodes are in this JVM, without an
 * application, and the first one leads the elections. Needs {@code /proc}. Run it from
 * the root of the project:
 *
 * <pre>
 * mvn -q -Pbenchmarks -pl verification/benchmarks -am compile exec:exec -Dbenchmark=ServerCostBenchmark
 * </pre>
 *
 * Options go into {@code -Dbenchmark.args="…"}: {@code --stores=advisory-lock,table},
 * {@code --nodes=4}, {@code --elections=1,64,200}, {@code --seconds=60} and
 * {@code --forms=10}, the number of the most frequent statements to print.
 */
public final class ServerCostBenchmark {

	private static final long LIMIT = TimeUnit.MINUTES.toNanos(5);

	/** Without the full pages of the first change after a checkpoint. */
	private static final String WAL = "SELECT wal_bytes - 8192 * wal_fpi FROM pg_stat_wal";

	/** The sessions of elections, but not those of the pools. */
	private static final String NODES = "WHERE application_name LIKE 'leader-election %'";

	private static final String STATEMENTS = "FROM pg_stat_statements WHERE userid = 'node'::regrole";

	/** The text of a block contains those of its statements, which are counted too. */
	private static final String READS_LOCKS = " AND query LIKE '%pg_locks%' AND ltrim(query, E' \\n\\t') NOT LIKE 'DO %'";

	private final BenchmarkServer server;

	private final JdbcTemplate jdbc;

	private final int seconds;

	private final int forms;

	private ServerCostBenchmark(BenchmarkServer server, int seconds, int forms) {
		this.server = server;
		this.jdbc = server.jdbc();
		this.seconds = seconds;
		this.forms = forms;
	}

	public static void main(String[] args) throws Exception {
		SimpleCommandLinePropertySource options = new SimpleCommandLinePropertySource(args);
		List<Store> stores = Store.parse(get(options, "stores", "advisory-lock,table"));
		List<Integer> nodes = numbers(get(options, "nodes", "4"));
		List<Integer> elections = numbers(get(options, "elections", "1,64,200"));
		int seconds = Integer.parseInt(get(options, "seconds", "60"));
		int forms = Integer.parseInt(get(options, "forms", "0"));
		int sessions = Math.min(nodes.stream().max(Integer::compare).orElseThrow(), ElectionSettings.STANDBYS + 1)
				* elections.stream().max(Integer::compare).orElseThrow();
		List<String> rows = new ArrayList<>();
		// The counting of statements costs time, and is off while time is measured
		try (BenchmarkServer server = new BenchmarkServer("shared_preload_libraries=pg_stat_statements",
				"pg_stat_statements.max=20000", "max_connections=" + (sessions + 50), "checkpoint_timeout=1d",
				"max_wal_size=4GB")) {
			System.out.println(Machine.describe(server.jdbc()) + ", load " + Machine.load());
			server.createNodeRole();
			ServerCostBenchmark benchmark = new ServerCostBenchmark(server, seconds, forms);
			benchmark.track("none");
			for (Store store : stores) {
				for (int nodeCount : nodes) {
					for (int electionCount : elections) {
						String row = "| %s | %d | %d |".formatted(store, nodeCount, electionCount)
								+ benchmark.measure(store, nodeCount, electionCount).cells(electionCount);
						System.out.println(row + " load " + Machine.load());
						rows.add(row);
					}
				}
			}
		}
		System.out.println("""

				| store | nodes | elections | processor, ms/s | of one election | sessions | MB each | \
				statements/s of one | readings of locks/s of one | kB/s of text of one | WAL, MB/h | new terms |
				|---|---|---|---|---|---|---|---|---|---|---|---|""");
		rows.forEach(System.out::println);
	}

	private static String get(SimpleCommandLinePropertySource options, String name, String otherwise) {
		return Objects.requireNonNullElse(options.getProperty(name), otherwise);
	}

	private static List<Integer> numbers(String list) {
		return Arrays.stream(list.split(",")).map(Integer::valueOf).toList();
	}

	private Cost measure(Store store, int nodeCount, int electionCount) throws Exception {
		String group = store + "-" + nodeCount + "-" + electionCount;
		this.jdbc.execute("DROP TABLE IF EXISTS leader_election, leader_election_node, leader_election_candidate");
		List<LightNode> nodes = new ArrayList<>();
		try {
			for (int number = 1; number <= nodeCount; number++) {
				nodes.add(new LightNode(this.server.url("node"), store, group, "node-" + number, electionCount));
				// If the start of many sessions takes longer than a lease, another node
				// leads
				await(() -> sum(nodes, LightNode::leaderships) == electionCount, "Not all elections have a leader");
			}
			int sessions = Math.min(nodeCount, 1 + ElectionSettings.STANDBYS);
			awaitConnections((store == Store.TABLE) ? nodeCount : sessions * electionCount);
			// What a start has begun ends soon
			TimeUnit.SECONDS.sleep(20);
			return measure(nodes);
		}
		finally {
			// Followers first: few take over
			for (int number = nodes.size() - 1; number >= 0; number--) {
				nodes.get(number).close();
			}
			awaitConnections(0);
		}
	}

	private Cost measure(List<LightNode> nodes) throws Exception {
		long grants = sum(nodes, LightNode::grants);
		double wal = number(WAL);
		Rate processor = new Rate(this.server.processorTime());
		TimeUnit.SECONDS.sleep(this.seconds);
		double time = processor.until(this.server.processorTime());
		double memory = memory();
		track("all");
		this.jdbc.queryForList("SELECT pg_stat_statements_reset()");
		Rate characters = new Rate(sum(nodes, LightNode::characters));
		Rate statements = new Rate(0);
		Rate readings = new Rate(0);
		TimeUnit.SECONDS.sleep(this.seconds);
		double text = characters.until(sum(nodes, LightNode::characters));
		Cost cost = new Cost(time, connections(), memory,
				statements.until(number("SELECT sum(calls) " + STATEMENTS + " AND toplevel")),
				readings.until(number("SELECT sum(calls) " + STATEMENTS + READS_LOCKS)), text, number(WAL) - wal,
				2 * this.seconds, sum(nodes, LightNode::grants) - grants);
		print();
		track("none");
		return cost;
	}

	private void track(String what) {
		this.jdbc.execute("ALTER SYSTEM SET pg_stat_statements.track = '" + what + "'");
		this.jdbc.execute("ALTER SYSTEM SET compute_query_id = " + ("none".equals(what) ? "off" : "on"));
		this.jdbc.queryForList("SELECT pg_reload_conf()");
	}

	private void print() {
		this.jdbc.query(
				"SELECT calls, mean_exec_time, toplevel, left(regexp_replace(query, '\\s+', ' ', 'g'), 150) "
						+ STATEMENTS + " ORDER BY calls DESC LIMIT " + this.forms,
				(row, number) -> String.format(Locale.ROOT, "%8.2f/s %7.3f ms %s %s", row.getDouble(1) / this.seconds,
						row.getDouble(2), row.getBoolean(3) ? " " : "within", row.getString(4)))
			.forEach(System.out::println);
	}

	private static long sum(List<LightNode> nodes, ToLongFunction<LightNode> figure) {
		return nodes.stream().mapToLong(figure).sum();
	}

	/**
	 * Return the memory of the sessions of nodes in megabytes, on average, without what
	 * they share.
	 */
	private double memory() {
		return this.jdbc.queryForList("SELECT pid FROM pg_stat_activity " + NODES, Long.class)
			.stream()
			.mapToLong((pid) -> Machine.read(pid, "smaps_rollup")
				.lines()
				.filter((line) -> line.startsWith("Private_"))
				.mapToLong((line) -> Long.parseLong(line.replaceAll("\\D", "")))
				.sum())
			.average()
			.orElse(0) / 1024;
	}

	private int connections() {
		return (int) number("SELECT count(*) FROM pg_stat_activity " + NODES);
	}

	private double number(String sql) {
		return Objects.requireNonNullElse(this.jdbc.queryForObject(sql, Double.class), 0.0);
	}

	private void awaitConnections(int count) throws InterruptedException {
		await(() -> connections() == count, "There are not " + count + " connections");
	}

	private static void await(BooleanSupplier condition, String otherwise) throws InterruptedException {
		long start = System.nanoTime();
		while (!condition.getAsBoolean()) {
			if (System.nanoTime() - start > LIMIT) {
				throw new IllegalStateException(otherwise);
			}
			Thread.sleep(50);
		}
	}

	/**
	 * What a figure grows by in a second.
	 */
	private static final class Rate {

		private final double begin;

		private final long start = System.nanoTime();

		Rate(double begin) {
			this.begin = begin;
		}

		double until(double end) {
			return (end - this.begin) / ((System.nanoTime() - this.start) / 1e9);
		}

	}

	/**
	 * What idle elections cost.
	 *
	 * @param time the processor time in milliseconds in a second
	 * @param sessions the sessions of the nodes
	 * @param memory the memory of one in megabytes
	 * @param statements the statements in a second
	 * @param readings how often {@code pg_locks} is read in a second
	 * @param text the characters that are sent in a second
	 * @param wal the bytes of WAL
	 * @param seconds for how long WAL was counted
	 * @param grants how often a node was granted leadership
	 */
	private record Cost(double time, int sessions, double memory, double statements, double readings, double text,
			double wal, int seconds, long grants) {

		String cells(int elections) {
			return String.format(Locale.ROOT, " %.1f | %.2f | %d | %.1f | %.2f | %.2f | %.1f | %.1f | %d |", this.time,
					this.time / elections, this.sessions, this.memory, this.statements / elections,
					this.readings / elections, this.text / elections / 1000, this.wal / this.seconds * 3600 / 1e6,
					this.grants);
		}

	}

}
