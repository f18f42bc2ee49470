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

package io.leaderelection.faults;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.TreeMap;

import io.leaderelection.faults.Entry.Kind;
import io.leaderelection.faults.Invariants.Violation;
import io.leaderelection.testsupport.PostgreSqlServer;
import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Random faults, one after the other, for as long as {@code -Dsoak.duration=PT20M} says.
 * Runs in rounds, each with a cluster of its own and a seed that it prints. Half of the
 * rounds are without fast takeover; only in these, a proxy resets connections.
 * {@code -Dsoak.seed} begins with the round of that seed, {@code -Dsoak.duration=PT0S}
 * ends after it. {@code -Dsuite.store=table} uses the other store.
 */
class Soak {

	private static final Duration DURATION = Duration.parse(System.getProperty("soak.duration", "PT20M"));

	private static final long SEED = Long.getLong("soak.seed", System.currentTimeMillis());

	private static final int FAULTS_PER_ROUND = Integer.getInteger("soak.faults", 20);

	private static final int MOST_NODES = 4;

	/** What a node may need to find the server again, on a machine with too few cores. */
	private static final Duration SLACK = Duration.ofSeconds(20);

	private static final Path FOLDER = Path.of("target", "soak");

	private final Map<String, Integer> faults = new TreeMap<>();

	private final List<String> violations = new ArrayList<>();

	private final List<String> excused = new ArrayList<>();

	private long grants;

	private long samples;

	private long lockSamples;

	private long works;

	private long commits;

	private long held;

	private int rounds;

	@Test
	void survives() throws IOException {
		Files.createDirectories(FOLDER);
		long end = System.nanoTime() + DURATION.toNanos();
		try (PostgreSqlServer server = PostgreSqlServer.start("max_connections=200")) {
			System.out.println("Soak on " + server.query("SELECT version()") + ", store "
					+ System.getProperty(Cluster.STORE, "advisory-lock"));
			do {
				round(server, SEED + this.rounds++);
			}
			while (System.nanoTime() - end < 0);
		}
		String summary = summary();
		Files.writeString(FOLDER.resolve("summary-" + SEED + ".txt"), summary);
		System.out.println(summary);
		assertThat(this.violations).isEmpty();
	}

	private void round(PostgreSqlServer server, long seed) throws IOException {
		SplittableRandom random = new SplittableRandom(seed);
		Duration lease = Duration.ofMillis(List.of(1000, 1500, 2000, 4000).get(random.nextInt(4)));
		Duration takeoverDelay = List.of(Duration.ofMillis(100), Duration.ofMillis(100), Duration.ofMillis(250), lease)
			.get(random.nextInt(4));
		boolean priorities = random.nextBoolean();
		// Nodes with a priority would be more than there are standbys
		int standbys = priorities ? MOST_NODES : 1 + random.nextInt(3);
		boolean fastTakeover = random.nextBoolean();
		Cluster cluster = new Cluster(server, lease, takeoverDelay, "leader-election.standbys=" + standbys,
				"leader-election.priority=" + (priorities ? "${random.int[0,3]}" : "0"),
				"leader-election.priority-hold=2s", "leader-election.fast-takeover=" + fastTakeover,
				"faults.work=" + (10 + random.nextInt(400)) + "ms", "faults.writes.interval=20ms",
				"faults.writes.longest-pause=" + lease.toMillis() / 2 + "ms");
		if (random.nextBoolean()) {
			cluster.withWritesThroughProxies();
		}
		List<Fault> faults = FaultTable.all()
			.stream()
			.filter((fault) -> fault.inSoak && !(fastTakeover && fault.resets))
			.toList();
		List<String> done = new ArrayList<>();
		List<Violation> found = new ArrayList<>();
		try (cluster) {
			int size = MOST_NODES - random.nextInt(2);
			cluster.start(size);
			for (int i = 0; i < FAULTS_PER_ROUND; i++) {
				Fault fault = faults.get(random.nextInt(faults.size()));
				FaultScene scene = new FaultScene(cluster, random);
				String began = System.nanoTime() + " " + fault.name;
				try {
					scene.play(fault);
				}
				finally {
					// Some faults choose their target
					done.add(began + " on " + scene.target() + (scene.hitsLeader() ? ", the leader" : ""));
				}
				this.faults.merge(fault.name, 1, Integer::sum);
				settle(cluster, size);
			}
			cluster.awaitSessions(cluster.isTable() ? size : Math.min(size, standbys + 1)).stopAndVerify();
		}
		catch (AssertionError | RuntimeException | InterruptedException ex) {
			found.add(new Violation("Round", ex.toString()));
		}
		History history = cluster.historyWithRows();
		Invariants invariants = cluster.check(history);
		found.addAll(invariants.violations());
		count(history);
		found.forEach((violation) -> this.violations.add("seed " + seed + ": " + violation));
		invariants.excused().forEach((violation) -> this.excused.add("seed " + seed + ": " + violation));
		System.out.printf(
				"round %d, seed %d, lease %d ms, takeover delay %d ms%s, %d standbys%s: %d faults, %d grants, "
						+ "%d violations, %d excused%n",
				this.rounds, seed, lease.toMillis(), takeoverDelay.toMillis(), fastTakeover ? " or fast" : "", standbys,
				priorities ? ", priorities" : "", done.size(), history.reigns().size(), found.size(),
				invariants.excused().size());
		if (!found.isEmpty() || !invariants.excused().isEmpty()) {
			write(seed, done, found, invariants.excused(), history);
		}
	}

	/**
	 * Wait until one node leads and none is missing.
	 */
	private static void settle(Cluster cluster, int size) {
		cluster.awaitLeader();
		cluster.nodes().stream().filter((node) -> !node.isAlive()).forEach(cluster::remove);
		cluster.start(size - cluster.nodes().size());
		cluster.awaitSingleLeader(cluster.lease().plus(cluster.takeoverDelay()).multipliedBy(2).plus(SLACK));
	}

	private void count(History history) {
		this.grants += history.reigns().size();
		this.works += history.of(Kind.WORK).size();
		this.commits += history.rows().stream().filter(TermRow::fenced).count();
		this.held += history.of(Kind.HELD).size();
		this.lockSamples += history.samples().size();
		for (String node : history.nodes()) {
			this.samples += history.of(node, Kind.SAMPLES)
				.stream()
				.mapToLong((entry) -> Long.parseLong(entry.details()))
				.max()
				.orElse(0);
		}
	}

	private String summary() {
		return """
				Soak of %s from seed %d: %d rounds, %d faults, %d grants, %d samples of isLeader(), \
				%d samples of pg_locks, %d guarded invocations, %d fenced commits, %d transactions held on the way
				faults: %s
				violations: %d %s
				excused: %d %s
				""".formatted(DURATION, SEED, this.rounds,
				this.faults.values().stream().mapToInt(Integer::intValue).sum(), this.grants, this.samples,
				this.lockSamples, this.works, this.commits, this.held, this.faults, this.violations.size(),
				String.join("\n", this.violations), this.excused.size(), String.join("\n", this.excused));
	}

	private static void write(long seed, List<String> done, List<Violation> found, List<Violation> excused,
			History history) throws IOException {
		List<String> lines = new ArrayList<>();
		found.forEach((violation) -> lines.add(violation.toString()));
		excused.forEach((violation) -> lines.add("excused: " + violation));
		lines.addAll(done);
		history.nodes()
			.stream()
			.flatMap((node) -> history.of(node).stream())
			.filter((entry) -> entry.kind() != Kind.SAMPLES)
			.sorted((first, second) -> Long.compare(first.time(), second.time()))
			.forEach((entry) -> lines.add(entry.node() + " " + entry.format()));
		history.rows().forEach((row) -> lines.add(row.toString()));
		history.samples().forEach((sample) -> lines.add(sample.toString()));
		Files.write(FOLDER.resolve("seed-" + seed + ".txt"), lines);
	}

}
