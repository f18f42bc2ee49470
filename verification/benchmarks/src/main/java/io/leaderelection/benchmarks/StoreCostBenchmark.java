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

import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Objects;
import java.util.concurrent.TimeUnit;

import io.leaderelection.engine.ElectionSettings;

import org.springframework.core.env.SimpleCommandLinePropertySource;
import org.springframework.jdbc.core.JdbcTemplate;

/**
 * What the stores cost while nothing happens, side by side, by the number of nodes and of
 * elections: connections, requests and statements, WAL, dead rows and updates that were
 * not HOT. New terms show that the cluster was not idle all the time. The nodes are in
 * this JVM, without an application, and the first one leads all elections. Run it from
 * the root of the project:
 *
 * <pre>
 * mvn -q -Pbenchmarks -pl verification/benchmarks -am compile exec:exec -Dbenchmark=StoreCostBenchmark
 * </pre>
 *
 * Options go into {@code -Dbenchmark.args="…"}: {@code --stores=advisory-lock,table},
 * {@code --nodes=3,20}, {@code --elections=1,20,50} and {@code --seconds=20}. With
 * {@code --old-snapshot=3600}, each row of a node has so many versions that a transaction
 * keeps, as after so many rounds of a leader.
 */
public final class StoreCostBenchmark {

	private static final String WAL = "SELECT pg_current_wal_insert_lsn() - '0/0'";

	/**
	 * In one query, since the counters of a table are of one moment only then. Sessions
	 * report theirs about once a second.
	 */
	private static final String ROWS = """
			SELECT coalesce(sum(n_tup_upd), 0) AS updates, coalesce(sum(n_tup_hot_upd), 0) AS hot_updates,
				coalesce(sum(n_dead_tup), 0) AS dead
			FROM pg_stat_user_tables WHERE relname LIKE 'leader\\_election%'""";

	private final JdbcTemplate jdbc;

	private final BenchmarkServer server;

	private final int seconds;

	private final int versions;

	private StoreCostBenchmark(BenchmarkServer server, int seconds, int versions) {
		this.server = server;
		this.jdbc = server.jdbc();
		this.seconds = seconds;
		this.versions = versions;
	}

	public static void main(String[] args) throws Exception {
		SimpleCommandLinePropertySource options = new SimpleCommandLinePropertySource(args);
		List<Store> stores = Store.parse(get(options, "stores", "advisory-lock,table"));
		List<Integer> nodes = numbers(get(options, "nodes", "3,20"));
		List<Integer> elections = numbers(get(options, "elections", "1,20,50"));
		int seconds = Integer.parseInt(get(options, "seconds", "20"));
		int versions = Integer.parseInt(get(options, "old-snapshot", "0"));
		int connections = nodes.stream().max(Integer::compare).orElse(0)
				* elections.stream().max(Integer::compare).orElse(0) + 50;
		List<String> rows = new ArrayList<>();
		// A checkpoint would add full pages to the WAL of one measurement
		try (BenchmarkServer server = new BenchmarkServer("shared_preload_libraries=pg_stat_statements",
				"pg_stat_statements.max=20000", "max_connections=" + connections, "checkpoint_timeout=1d",
				"max_wal_size=4GB")) {
			System.out.println(Machine.describe(server.jdbc()) + ", load " + Machine.load());
			server.createNodeRole();
			StoreCostBenchmark benchmark = new StoreCostBenchmark(server, seconds, versions);
			for (int nodeCount : nodes) {
				for (int electionCount : elections) {
					StringBuilder row = new StringBuilder("| %d | %d |".formatted(nodeCount, electionCount));
					for (Store store : stores) {
						Cost cost = benchmark.measure(store, nodeCount, electionCount);
						System.out
							.println(store + ", " + nodeCount + " nodes, " + electionCount + " elections: " + cost);
						row.append(cost.cells());
					}
					rows.add(row.toString());
				}
			}
		}
		System.out.println("\nLoad " + Machine.load() + "\n");
		String cells = stores.stream()
			.map((store) -> " " + store
					+ ": connections | requests/s | statements/s | ms/request | WAL, MB/h | dead rows | not HOT | new terms |")
			.reduce("", String::concat);
		System.out.println("| nodes | elections |" + cells);
		System.out.println("|---|---|" + "---|---|---|---|---|---|---|---|".repeat(stores.size()));
		rows.forEach(System.out::println);
	}

	private static String get(SimpleCommandLinePropertySource options, String name, String otherwise) {
		return Objects.requireNonNullElse(options.getProperty(name), otherwise);
	}

	private static List<Integer> numbers(String list) {
		return Arrays.stream(list.split(",")).map(Integer::valueOf).toList();
	}

	private Cost measure(Store store, int nodeCount, int electionCount) throws Exception {
		// Elections of their own, as the statistics of the table are
		String group = store + "-" + nodeCount + "-" + electionCount;
		this.jdbc.execute("DROP TABLE IF EXISTS leader_election, leader_election_node, leader_election_candidate");
		List<LightNode> nodes = new ArrayList<>();
		try {
			for (int number = 1; number <= nodeCount; number++) {
				nodes.add(new LightNode(this.server.url("node"), store, group, "node-" + number, electionCount));
				BenchmarkServer.await().until(nodes.get(0)::leadsAll);
			}
			int sessions = Math.min(nodeCount, 1 + ElectionSettings.STANDBYS);
			int expected = (store == Store.TABLE) ? nodeCount : sessions * electionCount;
			awaitConnections(expected);
			TimeUnit.SECONDS.sleep(5);
			if (this.versions == 0 || store != Store.TABLE) {
				return measure(nodes);
			}
			try (Connection snapshot = DriverManager.getConnection(this.server.url("postgres"))) {
				addVersions(snapshot);
				return measure(nodes);
			}
		}
		finally {
			// Followers first: nobody takes over
			for (int number = nodes.size() - 1; number >= 0; number--) {
				nodes.get(number).close();
			}
			awaitConnections(0);
		}
	}

	private void addVersions(Connection snapshot) throws SQLException {
		snapshot.setAutoCommit(false);
		snapshot.setTransactionIsolation(Connection.TRANSACTION_REPEATABLE_READ);
		try (Statement statement = snapshot.createStatement()) {
			statement.execute("SELECT FROM leader_election_node");
		}
		for (int number = 0; number < this.versions; number++) {
			this.jdbc.execute("SET LOCAL synchronous_commit = off; UPDATE leader_election_node SET since = since");
		}
	}

	private Cost measure(List<LightNode> nodes) throws InterruptedException {
		this.jdbc.queryForList("SELECT pg_stat_statements_reset()");
		long requests = requests(nodes);
		long grants = grants(nodes);
		Rows before = rows();
		long wal = number(WAL);
		long start = System.nanoTime();
		TimeUnit.SECONDS.sleep(this.seconds);
		double elapsed = (System.nanoTime() - start) / 1e9;
		requests = requests(nodes) - requests;
		wal = number(WAL) - wal;
		long statements = number(sumOfStatements("calls"));
		double time = number(sumOfStatements("1000 * total_exec_time")) / 1e3;
		return new Cost(connections(), requests / elapsed, statements / elapsed, time / requests,
				wal / elapsed * 3600 / 1e6, rows().since(before), grants(nodes) - grants);
	}

	private static String sumOfStatements(String column) {
		return "SELECT sum(" + column + ") FROM pg_stat_statements WHERE userid = 'node'::regrole AND toplevel";
	}

	private static long requests(List<LightNode> nodes) {
		return nodes.stream().mapToLong(LightNode::requests).sum();
	}

	private static long grants(List<LightNode> nodes) {
		return nodes.stream().mapToLong(LightNode::grants).sum();
	}

	private Rows rows() {
		return this.jdbc
			.query(ROWS,
					(row, number) -> new Rows(row.getLong("updates"), row.getLong("hot_updates"), row.getLong("dead")))
			.get(0);
	}

	private int connections() {
		return (int) number("SELECT count(*) FROM pg_stat_activity WHERE usename = 'node'");
	}

	private long number(String sql) {
		return Objects.requireNonNullElse(this.jdbc.queryForObject(sql, Long.class), 0L);
	}

	private void awaitConnections(int count) {
		BenchmarkServer.await().until(() -> connections() == count);
	}

	/**
	 * What an idle cluster costs.
	 *
	 * @param connections how many it holds
	 * @param requests how many messages it sends in a second
	 * @param statements how many statements are in them
	 * @param time how long the server takes for a message, in milliseconds
	 * @param wal how many megabytes of WAL it causes in an hour, apart from full pages
	 * after a checkpoint
	 * @param rows what happened to the rows of the lease table
	 * @param grants how often a node was granted leadership
	 */
	private record Cost(int connections, double requests, double statements, double time, double wal, Rows rows,
			long grants) {

		String cells() {
			return String.format(Locale.ROOT, " %d | %.1f | %.1f | %.2f | %.1f | %d | %d | %d |", this.connections,
					this.requests, this.statements, this.time, this.wal, this.rows.dead(), this.rows.notHot(),
					this.grants);
		}

		@Override
		public String toString() {
			return String.format(Locale.ROOT,
					"%d connections, %.1f requests/s, %.1f statements/s, %.2f ms/request, %.1f MB/h of WAL, %d updates, %d of them not HOT, "
							+ "%d dead rows, %d new terms",
					this.connections, this.requests, this.statements, this.time, this.wal, this.rows.updates(),
					this.rows.notHot(), this.rows.dead(), this.grants);
		}

	}

	/**
	 * What happened to the rows of all tables of the election.
	 *
	 * @param updates how many were updated
	 * @param hotUpdates how many of them did not touch an index
	 * @param dead how many are dead at the end
	 */
	private record Rows(long updates, long hotUpdates, long dead) {

		Rows since(Rows before) {
			return new Rows(this.updates - before.updates, this.hotUpdates - before.hotUpdates, this.dead);
		}

		long notHot() {
			return this.updates - this.hotUpdates;
		}

	}

}
