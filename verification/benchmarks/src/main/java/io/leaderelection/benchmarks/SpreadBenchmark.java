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
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Objects;
import java.util.concurrent.TimeUnit;

import org.springframework.boot.convert.DurationStyle;
import org.springframework.core.env.SimpleCommandLinePropertySource;

/**
 * How long it takes until elections are spread evenly over the nodes after a change, with
 * how many hand-overs, and how long an election has no leader meanwhile. Run it from the
 * root of the project:
 *
 * <pre>
 * mvn -q -Pbenchmarks -pl verification/benchmarks -am compile exec:exec -Dbenchmark=SpreadBenchmark
 * </pre>
 *
 * Options go into {@code -Dbenchmark.args="…"}: {@code --nodes=4},
 * {@code --elections=16}, {@code --hold=10s}, {@code --work=200ms}, how long leader work
 * takes, which a hand-over waits for, {@code --limit=10m} for each phase, and
 * {@code --phases=}, some of those of {@link Phase}, after the first node has led all.
 */
public final class SpreadBenchmark {

	private static final Duration LONGER_THAN_LEASE = Duration.ofSeconds(20);

	private final BenchmarkServer server;

	private final int nodes;

	private final int elections;

	private final String hold;

	private final String work;

	private final Duration limit;

	private final SpreadCluster cluster;

	private final List<String> rows = new ArrayList<>();

	private SpreadBenchmark(BenchmarkServer server, int nodes, int elections, String hold, String work,
			Duration limit) {
		this.server = server;
		this.nodes = nodes;
		this.elections = elections;
		this.hold = hold;
		this.work = work;
		this.limit = limit;
		this.cluster = new SpreadCluster(elections);
	}

	public static void main(String[] args) throws Exception {
		SimpleCommandLinePropertySource options = new SimpleCommandLinePropertySource(args);
		int nodes = Integer.parseInt(get(options, "nodes", "4"));
		int elections = Integer.parseInt(get(options, "elections", "16"));
		String hold = get(options, "hold", "10s");
		String work = get(options, "work", "200ms");
		Duration limit = DurationStyle.detectAndParse(get(options, "limit", "10m"));
		List<Phase> phases = Arrays.stream(get(options, "phases", "ADDED,KILLED,STOPPED,TWO_BACK").split(","))
			.filter((phase) -> !phase.isEmpty())
			.map(Phase::valueOf)
			.toList();
		try (BenchmarkServer server = new BenchmarkServer("max_connections=" + (50 + nodes * 10))) {
			server.createNodeRole();
			SpreadBenchmark benchmark = new SpreadBenchmark(server, nodes, elections, hold, work, limit);
			String load = Machine.load();
			benchmark.run(phases);
			System.out.printf("%n%s, load %s to %s; %d nodes, %d elections, spread-hold %s, work of %s%n%n",
					Machine.describe(server.jdbc()), load, Machine.load(), nodes, elections, hold, work);
			benchmark.rows.forEach(System.out::println);
		}
	}

	private static String get(SimpleCommandLinePropertySource options, String name, String otherwise) {
		return Objects.requireNonNullElse(options.getProperty(name), otherwise);
	}

	private void run(List<Phase> phases) throws Exception {
		try {
			this.rows
				.add("| phase | s until even | necessary hand-overs | made | interrupted | longest s without leader |");
			this.rows.add("|---|---|---|---|---|---|");
			start("node-1");
			this.cluster.awaitLed(this.limit);
			startMissing(this.nodes);
			measure("first leads all");
			for (Phase phase : phases) {
				change(phase);
				measure(phase.toString());
			}
		}
		finally {
			this.cluster.close();
		}
	}

	private void startMissing(int number) throws Exception {
		while (this.cluster.nodes().size() < number) {
			start("node-" + (this.cluster.nodes().size() + 1));
		}
	}

	/** One at a time, since the start of many JVMs leaves no processor to the leaders. */
	private void start(String id) throws Exception {
		start(id, true);
	}

	private SpreadNode start(String id, boolean spreads) throws Exception {
		List<String> arguments = List.of("--leader-election.node-id=" + id, "--spring.application.name=spread",
				"--spring.datasource.url=" + this.server.url("node"), "--spring.datasource.hikari.maximum-pool-size=2",
				"--logging.level.root=WARN", "--leader-election.store=table",
				"--leader-election.initialize-schema=always", "--leader-election.spread=" + spreads,
				"--leader-election.spread-hold=" + this.hold, "--leader-election.drain-timeout=25s",
				"--leader-election.partitions.part=" + (this.elections - 1), "--work=" + this.work);
		SpreadNode node = new SpreadNode(id, arguments, this.cluster);
		this.cluster.add(node);
		node.awaitStarted();
		return node;
	}

	private void stop(SpreadNode node) throws Exception {
		this.cluster.remove(node);
		node.stop();
	}

	private void kill(SpreadNode node) {
		node.jvm().kill();
		this.cluster.lose(node);
	}

	private void change(Phase phase) throws Exception {
		List<SpreadNode> nodes = this.cluster.nodes();
		SpreadNode last = nodes.get(nodes.size() - 1);
		switch (phase) {
			case ADDED -> start("node-" + (nodes.size() + 1));
			case KILLED -> kill(last);
			case STOPPED -> stop(last);
			case TWO_BACK -> {
				kill(last);
				stop(nodes.get(nodes.size() - 2));
				TimeUnit.NANOSECONDS.sleep(LONGER_THAN_LEASE.toNanos());
				startMissing(nodes.size());
			}
			case KILLED_EARLY -> {
				SpreadNode added = start("node-early", true);
				TimeUnit.NANOSECONDS.sleep(LONGER_THAN_LEASE.toNanos());
				kill(added);
			}
			case CRASH_LOOP -> {
				for (int i = 0; i < 5; i++) {
					kill(start("node-loop", true));
				}
			}
			case WITHOUT_SPREAD -> start("node-stranger", false);
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
		Long even = this.cluster.awaitEven(this.limit);
		SpreadCluster.Counts after = this.cluster.counts();
		String seconds = (even != null) ? String.format(Locale.ROOT, "%.1f", Math.max(0, even - start) / 1e9)
				: "not within " + this.limit.toSeconds();
		this.rows.add(String.format(Locale.ROOT, "| %s | %s | %d | %d | %d | %.1f |", phase, seconds, before.moves(),
				after.resigned() - before.resigned(), after.interrupted() - before.interrupted(),
				after.vacancy() / 1e9));
		System.out.println(this.rows.get(this.rows.size() - 1));
	}

	/**
	 * What happens to the cluster.
	 */
	private enum Phase {

		/** A further node starts. */
		ADDED,

		/** The last node is killed. */
		KILLED,

		/** The last node ends in good order. */
		STOPPED,

		/** Two nodes end, one of them killed, and start again. */
		TWO_BACK,

		/** A node is killed 20 s after its start. */
		KILLED_EARLY,

		/** A node is killed as soon as it has started, five times. */
		CRASH_LOOP,

		/** A further node does not take part. */
		WITHOUT_SPREAD,

		/** All nodes end and start, one after the other. */
		ROLLING

	}

}
