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

import java.time.Duration;
import java.util.Comparator;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SplittableRandom;
import java.util.TreeMap;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

import io.leaderelection.Term;
import io.leaderelection.faults.CommitOrder.Violation;
import io.leaderelection.faults.Entry.Kind;
import io.leaderelection.faults.LockSample.Lock;
import io.leaderelection.testsupport.PgBouncer;
import io.leaderelection.testsupport.PostgreSqlServer;
import org.awaitility.Awaitility;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Nodes that write, each a JVM of its own, on a server of their own; leadership that is
 * taken from one after the other; and what was committed meanwhile.
 */
final class FencedWriters implements AutoCloseable {

	/** Short, so that pauses and frozen nodes outlast it often. */
	private static final Duration LEASE = Duration.ofMillis(600);

	private static final int NODES = 3;

	private final PostgreSqlServer server = PostgreSqlServer.start("wal_level=logical", "synchronous_commit=on");

	private final long seed = System.currentTimeMillis();

	private final SplittableRandom random = new SplittableRandom(this.seed);

	private final String description;

	/** Between the nodes and the server, or {@code null}. */
	private final PgBouncer pooler;

	private final Cluster cluster;

	private final CommitLog log;

	private final CommitOrder order = new CommitOrder();

	private final Map<Blow, Integer> blows = new EnumMap<>(Blow.class);

	private final long started = System.nanoTime();

	/**
	 * Create a new {@code FencedWriters} instance.
	 * @param fencing how transactions are fenced
	 * @param store what the nodes are elected with
	 * @param pooled whether elections and transactions are behind a pooler in transaction
	 * mode
	 */
	FencedWriters(String fencing, String store, boolean pooled) {
		this.description = "leader-election.store=%s, leader-election.fencing=%s%s".formatted(store, fencing,
				pooled ? " behind PgBouncer" : "");
		// Transactions that pause keep their connections
		this.pooler = pooled ? PgBouncer.start(this.server, "transaction", "default_pool_size=60") : null;
		this.cluster = new Cluster(this.server, LEASE, Duration.ZERO, "leader-election.store=" + store,
				"leader-election.initialize-schema=always", "leader-election.drain-timeout=500ms",
				"leader-election.fencing=" + fencing, "faults.writes.threads=8", "faults.writes.interval=5ms",
				"faults.writes.longest-pause=1s");
		if (pooled) {
			this.cluster.withPooler(this.pooler)
				.withWritesTo(this.server.jdbcUrl(this.pooler.port()) + "?prepareThreshold=0", this.server);
		}
		this.log = new CommitLog(this.server);
		this.cluster.start(NODES).awaitLeader();
	}

	/**
	 * Take leadership from one node after the other until enough was committed in enough
	 * terms, let what has survived go on undisturbed for a moment, and stop it.
	 * @param commits how many transactions are enough
	 * @param handOvers how many times a term of another node is to follow
	 * @param limit how long that may take at most
	 */
	void run(int commits, int handOvers, Duration limit) throws InterruptedException {
		long end = System.nanoTime() + limit.toNanos();
		for (int i = 0; this.order.written() < commits || handOvers() < handOvers; i++) {
			if (System.nanoTime() - end > 0) {
				throw new AssertionError("Not enough within " + limit + ": " + this);
			}
			Term before = this.cluster.newestTerm();
			strike(Blow.at(i));
			if (this.random.nextInt(5) > 0) {
				this.cluster.awaitNext(before);
			}
			Thread.sleep(this.random.nextInt(150, 600));
			drain();
		}
		long before = drain();
		Awaitility.await().until(() -> drain() > before + 100);
		this.cluster.nodes().stream().filter(NodeProcess::isAlive).forEach((node) -> node.command("stop"));
		this.cluster.nodes().forEach(NodeProcess::awaitEnd);
		// The server may still be about to commit what a node has sent at its end
		Awaitility.await().untilAsserted(() -> assertThat(visible()).hasSize((int) drain()));
	}

	private void strike(Blow blow) throws InterruptedException {
		NodeProcess leader = awaitHolder();
		switch (blow) {
			case TERMINATE_SESSION -> this.cluster.takeLeadershipAway(leader);
			case RESIGN -> leader.command("resign");
			case FREEZE -> {
				leader.signal("STOP");
				Thread.sleep(LEASE.toMillis() + this.random.nextLong(2 * LEASE.toMillis()));
				leader.signal("CONT");
			}
			case KILL -> {
				leader.signal("KILL");
				this.cluster.launch();
			}
		}
		this.blows.merge(blow, 1, Integer::sum);
	}

	/**
	 * Wait until a node holds the lock, whether it is granted or still waits for fenced
	 * transactions.
	 */
	private NodeProcess awaitHolder() {
		if (!this.cluster.isTable()) {
			return this.cluster.awaitLocks((sample) -> sample.main().map(Lock::node));
		}
		// A row outlives the node that holds it
		return Awaitility.await()
			.until(() -> this.server
				.query("SELECT node FROM leader_election JOIN leader_election_node ON token = owner")
				.stream()
				.map(this.cluster::node)
				.filter(NodeProcess::isAlive)
				.findFirst(), Optional::isPresent)
			.orElseThrow();
	}

	/**
	 * Return how many terms were granted to another node than the term before.
	 */
	private int handOvers() {
		List<String> leaders = this.cluster.history()
			.of(Kind.GRANTED)
			.stream()
			.sorted(Comparator.comparing(Entry::requiredTerm))
			.map(Entry::node)
			.toList();
		return (int) IntStream.range(1, leaders.size())
			.filter((i) -> !leaders.get(i).equals(leaders.get(i - 1)))
			.count();
	}

	private long drain() {
		this.log.drain().forEach(this.order::add);
		return this.order.written();
	}

	CommitOrder order() {
		return this.order;
	}

	/**
	 * Return the fenced transactions whose rows are there.
	 */
	List<String> visible() {
		return this.cluster.historyWithRows()
			.rows()
			.stream()
			.filter(TermRow::fenced)
			.map((row) -> row.node() + " " + row.number())
			.toList();
	}

	/**
	 * Return the transactions that were refused.
	 */
	List<String> refused() {
		return this.cluster.history()
			.of(Kind.OUTCOME)
			.stream()
			.filter((entry) -> entry.details().endsWith(" LeadershipLostException"))
			.map((entry) -> entry.node() + " " + entry.details().split(" ")[0])
			.toList();
	}

	/**
	 * Return what has ended threads that write.
	 */
	List<Entry> deaths() {
		return this.cluster.history().of(Kind.DIED);
	}

	/**
	 * Return the nodes that have not shut down cleanly, but for those that were killed.
	 */
	List<NodeProcess> unfinished() {
		return this.cluster.nodes()
			.stream()
			.filter((node) -> node.last(Kind.STOPPED).isEmpty() && node.last(Kind.KILLED).isEmpty())
			.toList();
	}

	/**
	 * Return how transactions ended, as their clients saw it.
	 */
	Map<String, Long> outcomes() {
		return this.cluster.history()
			.of(Kind.OUTCOME)
			.stream()
			.collect(Collectors.groupingBy((entry) -> entry.details().split(" ", 2)[1], TreeMap::new,
					Collectors.counting()));
	}

	@Override
	public String toString() {
		List<Violation> violations = this.order.violations();
		Duration worst = violations.stream()
			.map(Violation::lateness)
			.max(Comparator.naturalOrder())
			.orElse(Duration.ZERO);
		return """
				Writers with %s on PostgreSQL %s, seed %d, %d s:
				%d commits in %d terms with %d hand-overs to another node; late: %d, the worst by %d ms
				blows %s, outcomes %s, idle transactions that the server has ended: %d
				""".formatted(this.description, this.server.query("SHOW server_version").get(0), this.seed,
				Duration.ofNanos(System.nanoTime() - this.started).toSeconds(), this.order.written(),
				this.order.terms(), handOvers(), violations.size(), worst.toMillis(), this.blows, outcomes(), ended());
	}

	private long ended() {
		return this.server.log().lines().filter((line) -> line.contains("due to idle-in-transaction timeout")).count();
	}

	@Override
	public void close() {
		this.cluster.close();
		if (this.pooler != null) {
			this.pooler.close();
		}
		this.server.close();
	}

	/**
	 * What takes leadership from a node.
	 */
	private enum Blow {

		TERMINATE_SESSION, RESIGN, FREEZE, KILL;

		/**
		 * Return a mix in which each comes early.
		 */
		static Blow at(int number) {
			if (number % 25 == 12) {
				return KILL;
			}
			if (number % 8 == 5) {
				return FREEZE;
			}
			return (number % 7 == 3) ? RESIGN : TERMINATE_SESSION;
		}

	}

}
