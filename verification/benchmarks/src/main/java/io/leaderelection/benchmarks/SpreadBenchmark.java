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
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;

import org.springframework.boot.convert.DurationStyle;
import org.springframework.core.env.SimpleCommandLinePropertySource;
import org.springframework.jdbc.core.JdbcTemplate;

/**
 * How long it takes until elections are spread evenly over the nodes after a change, with
 * how many hand-overs, and what the cluster sends to the server when they are. Run it
 * from the root of the project:
 *
 * <pre>
 * mvn -q -Pbenchmarks -pl verification/benchmarks -am compile exec:exec -Dbenchmark=SpreadBenchmark
 * </pre>
 *
 * Options go into {@code -Dbenchmark.args="…"}: {@code --store=advisory-lock} or
 * {@code table}, {@code --nodes=4}, {@code --elections=16}, {@code --hold=5s},
 * {@code --phases=ADDED,STOPPED,FROZEN,ROLLING}, or {@code NONE}, after the first node
 * has led all, {@code --freeze=20s}, {@code --limit=15m} for each of them, and
 * {@code --seconds=30} for each measurement of the cost, or 0.
 */
public final class SpreadBenchmark {

	private final BenchmarkServer server;

	private final Store store;

	private final int nodes;

	private final int elections;

	private final String hold;

	private final Duration freeze;

	private final Duration limit;

	private final SpreadCluster cluster;

	private final List<String> rows = new ArrayList<>();

	private boolean spread = true;

	private SpreadBenchmark(BenchmarkServer server, Store store, int nodes, int elections, String hold, Duration freeze,
			Duration limit) {
		this.server = server;
		this.store = store;
		this.nodes = nodes;
		this.elections = elections;
		this.hold = hold;
		this.freeze = freeze;
		this.limit = limit;
		this.cluster = new SpreadCluster(elections);
	}

	public static void main(String[] args) throws Exception {
		SimpleCommandLinePropertySource options = new SimpleCommandLinePropertySource(args);
		Store store = Store.parse(get(options, "store", "advisory-lock")).get(0);
		int nodes = Integer.parseInt(get(options, "nodes", "4"));
		int elections = Integer.parseInt(get(options, "elections", "16"));
		int seconds = Integer.parseInt(get(options, "seconds", "30"));
		String hold = get(options, "hold", "5s");
		Duration freeze = DurationStyle.detectAndParse(get(options, "freeze", "20s"));
		Duration limit = DurationStyle.detectAndParse(get(options, "limit", "15m"));
		String phases = get(options, "phases", "ADDED,STOPPED,FROZEN,ROLLING");
		// A session per election for the advisory lock, and the pools of the nodes
		int connections = 50 + (nodes + 1) * (10 + ((store == Store.ADVISORY_LOCK) ? elections : 0));
		try (BenchmarkServer server = new BenchmarkServer("shared_preload_libraries=pg_stat_statements",
				"max_connections=" + connections)) {
			server.createNodeRole();
			SpreadBenchmark benchmark = new SpreadBenchmark(server, store, nodes, elections, hold, freeze, limit);
			String load = Machine.load();
			benchmark.run("NONE".equals(phases) ? new String[0] : phases.split(","), seconds);
			System.out.printf("%n%s, load %s to %s; %s, %d nodes, %d elections, priority-hold %s, frozen for %d s%n%n",
					Machine.describe(server.jdbc()), load, Machine.load(), store, nodes, elections, hold,
					freeze.toSeconds());
			benchmark.rows.forEach(System.out::println);
		}
	}

	private static String get(SimpleCommandLinePropertySource options, String name, String otherwise) {
		return Objects.requireNonNullElse(options.getProperty(name), otherwise);
	}

	private void run(String[] phases, int seconds) throws Exception {
		try {
			this.rows.add(
					"| phase | s until even | necessary moves | grants | handed over | lost | interrupted by a hand-over |");
			this.rows.add("|---|---|---|---|---|---|---|");
			startFirst();
			start(this.nodes);
			measure("first leads all");
			for (String name : phases) {
				Phase phase = Phase.valueOf(name);
				change(phase);
				measure(phase.description);
			}
			if (seconds > 0) {
				this.rows.addAll(List.of("", "| spread | statements/s | handed over |", "|---|---|---|"));
				measureCost(seconds);
				this.cluster.close();
				this.spread = false;
				startFirst();
				start(this.nodes);
				this.cluster.awaitEven(this.limit);
				measureCost(seconds);
			}
		}
		finally {
			this.cluster.close();
		}
	}

	private void startFirst() throws Exception {
		start(1);
		this.cluster.awaitLed(this.limit);
	}

	private void start(int nodes) throws Exception {
		while (this.cluster.nodes().size() < nodes) {
			start("node-" + (this.cluster.nodes().size() + 1));
		}
	}

	/** One at a time, since the start of many JVMs leaves no processor to the leaders. */
	private void start(String id) throws Exception {
		List<String> arguments = new ArrayList<>(List.of("--leader-election.node-id=" + id,
				"--spring.application.name=spread", "--spring.datasource.url=" + this.server.url("node"),
				"--spring.datasource.hikari.maximum-pool-size=2", "--logging.level.root=WARN",
				"--leader-election.store=" + this.store, "--leader-election.initialize-schema=always",
				"--leader-election.spread=" + this.spread, "--leader-election.priority-hold=" + this.hold,
				"--leader-election.drain-timeout=5s"));
		if (this.spread) {
			arguments.add("--leader-election.partitions.part=" + (this.elections - 1));
		}
		else {
			arguments.addAll(priorities(id));
		}
		if (this.store == Store.ADVISORY_LOCK) {
			// An election can only move to a node that waits for its lock
			arguments.add("--leader-election.standbys=50");
		}
		SpreadNode node = new SpreadNode(id, arguments, this.cluster);
		this.cluster.add(node);
		node.awaitStarted();
	}

	/** Spread the elections without {@code spread}, by a priority for one node each. */
	private List<String> priorities(String id) {
		return IntStream.range(1, this.elections)
			.mapToObj((election) -> "--leader-election.elections.part-%d.priority=%d".formatted(election,
					id.equals("node-" + (1 + election % this.nodes)) ? 1 : 0))
			.toList();
	}

	private void stop(SpreadNode node) throws Exception {
		this.cluster.remove(node);
		node.stop();
	}

	private void change(Phase phase) throws Exception {
		List<SpreadNode> nodes = this.cluster.nodes();
		switch (phase) {
			case ADDED -> start(nodes.size() + 1);
			case STOPPED -> stop(nodes.get(nodes.size() - 1));
			case FROZEN -> {
				nodes.get(0).jvm().signal("STOP");
				TimeUnit.NANOSECONDS.sleep(this.freeze.toNanos());
				nodes.get(0).jvm().signal("CONT");
			}
			case ROLLING -> {
				for (SpreadNode node : nodes) {
					stop(node);
					start(node.toString());
				}
			}
		}
	}

	private void measure(String phase) throws InterruptedException {
		long start = System.nanoTime();
		this.cluster.awaitLed(this.limit);
		SpreadCluster.Counts before = this.cluster.counts();
		System.out.println(phase + ": " + before.moves() + " moves are necessary");
		Long even = this.cluster.awaitEven(this.limit);
		SpreadCluster.Counts after = this.cluster.counts();
		String seconds = (even != null) ? String.format(Locale.ROOT, "%.1f", Math.max(0, even - start) / 1e9)
				: "not within " + this.limit.toSeconds();
		this.rows.add("| %s | %s | %d | %d | %d | %d | %d |".formatted(phase, seconds, before.moves(),
				after.grants() - before.grants(), after.resigned() - before.resigned(), after.lost() - before.lost(),
				after.interrupted() - before.interrupted()));
		System.out.println(this.rows.get(this.rows.size() - 1));
	}

	private void measureCost(int seconds) throws InterruptedException {
		// What the start of a node has begun, such as its first observations, ends soon
		TimeUnit.SECONDS.sleep(10);
		JdbcTemplate jdbc = this.server.jdbc();
		SpreadCluster.Counts before = this.cluster.counts();
		jdbc.queryForList("SELECT pg_stat_statements_reset()");
		long start = System.nanoTime();
		TimeUnit.SECONDS.sleep(seconds);
		double elapsed = (System.nanoTime() - start) / 1e9;
		long statements = Objects.requireNonNullElse(jdbc.queryForObject(
				"SELECT sum(calls) FROM pg_stat_statements WHERE userid = 'node'::regrole AND toplevel", Long.class),
				0L);
		this.rows.add(String.format(Locale.ROOT, "| %s | %.1f | %d |", this.spread, statements / elapsed,
				this.cluster.counts().resigned() - before.resigned()));
		System.out.println(this.rows.get(this.rows.size() - 1));
	}

	/**
	 * What happens to the cluster.
	 */
	private enum Phase {

		ADDED("a node added"), STOPPED("a node stopped"), FROZEN("a node frozen"),

		ROLLING("rolling restart");

		private final String description;

		Phase(String description) {
			this.description = description;
		}

	}

}
