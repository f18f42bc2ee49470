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
import java.util.ArrayList;
import java.util.Comparator;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SplittableRandom;
import java.util.TreeMap;
import java.util.UUID;
import java.util.concurrent.Callable;
import java.util.stream.IntStream;
import java.util.stream.Stream;

import io.leaderelection.Term;
import io.leaderelection.faults.CommitOrder.Violation;
import io.leaderelection.faults.Entry.Kind;
import io.leaderelection.postgresql.ElectionKeys;
import io.leaderelection.testsupport.PgBouncer;
import io.leaderelection.testsupport.PostgreSqlServer;
import org.awaitility.Awaitility;
import org.awaitility.core.ConditionTimeoutException;

/**
 * Nodes that write, each a JVM of its own, on a server of their own; leadership that is
 * taken from one after the other; and what was committed meanwhile.
 */
final class FencedWriters implements AutoCloseable {

	/** Short, so that pauses and frozen nodes outlast it often. */
	private static final Duration LEASE = Duration.ofMillis(600);

	private static final int NODES = 3;

	private static final int WRITERS_PER_NODE = 8;

	private static final long DRAIN_INTERVAL = Duration.ofSeconds(1).toNanos();

	private static final Duration LIMIT = Duration.ofSeconds(60);

	private final PostgreSqlServer server = PostgreSqlServer.start("wal_level=logical", "synchronous_commit=on");

	private final String group = "writers-" + UUID.randomUUID();

	private final long seed = System.currentTimeMillis();

	private final SplittableRandom random = new SplittableRandom(this.seed);

	private final String fencing;

	private final String store;

	/** Between the nodes and the server, or {@code null}. */
	private final PgBouncer pooler;

	private final CommitLog log;

	private final CommitOrder order = new CommitOrder("public.writes", "public.grants");

	private final List<NodeProcess> nodes = new ArrayList<>();

	private final Map<Blow, Integer> blows = new EnumMap<>(Blow.class);

	private final long started = System.nanoTime();

	private long drained = this.started;

	FencedWriters(String fencing, String store) {
		this(fencing, store, false);
	}

	/**
	 * Create a new {@code FencedWriters} instance.
	 * @param fencing how transactions are fenced
	 * @param store what the nodes are elected with
	 * @param pooled whether elections and transactions are behind a pooler in transaction
	 * mode
	 */
	FencedWriters(String fencing, String store, boolean pooled) {
		this.fencing = fencing;
		this.store = store;
		// Transactions that pause keep their connections
		this.pooler = pooled ? PgBouncer.start(this.server, "transaction", "default_pool_size=60") : null;
		this.server.execute(WriterApplication.TABLES);
		this.log = new CommitLog(this.server);
		Stream.generate(this::launch).limit(NODES).toList().forEach(NodeProcess::awaitStarted);
	}

	private NodeProcess launch() {
		String name = "node-" + (this.nodes.size() + 1);
		List<String> properties = List.of("spring.application.name=fenced-writers",
				"leader-election.group=" + this.group, "leader-election.node-id=" + name,
				"leader-election.lease-duration=" + LEASE.toMillis() + "ms", "leader-election.takeover-delay=0",
				"leader-election.store=" + this.store, "leader-election.initialize-schema=always",
				"leader-election.drain-timeout=500ms", "leader-election.fencing=" + this.fencing,
				"faults.writers=" + WRITERS_PER_NODE, "spring.datasource.url=" + url(),
				"spring.datasource.username=" + this.server.username(),
				"spring.datasource.password=" + this.server.password(),
				"spring.datasource.hikari.maximum-pool-size=" + (WRITERS_PER_NODE + 1),
				"spring.datasource.hikari.minimum-idle=0", "spring.main.banner-mode=off",
				"spring.main.lazy-initialization=true");
		NodeProcess node = new NodeProcess(name, WriterApplication.class,
				properties.stream().map((property) -> "--" + property).toList());
		this.nodes.add(node);
		return node;
	}

	private String url() {
		return (this.pooler != null) ? this.server.jdbcUrl(this.pooler.port()) + "?prepareThreshold=0"
				: this.server.jdbcUrl();
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
			Term before = newestTerm();
			strike(Blow.at(i));
			if (this.random.nextInt(5) > 0) {
				awaitTermAfter(before);
			}
			Thread.sleep(this.random.nextInt(150, 600));
			drainNowAndThen();
		}
		awaitWrites();
		this.nodes.stream().filter(NodeProcess::isAlive).forEach((node) -> node.command("stop"));
		this.nodes.forEach(NodeProcess::awaitEnd);
		this.log.drain().forEach(this.order::add);
	}

	private void strike(Blow blow) throws InterruptedException {
		NodeProcess leader = awaitHolder();
		switch (blow) {
			case TERMINATE_SESSION -> takeLeadershipAway();
			case RESIGN -> leader.command("resign");
			case FREEZE -> {
				leader.signal("STOP");
				Thread.sleep(LEASE.toMillis() + this.random.nextLong(2 * LEASE.toMillis()));
				leader.signal("CONT");
			}
			case KILL -> {
				leader.signal("KILL");
				launch();
			}
		}
		this.blows.merge(blow, 1, Integer::sum);
	}

	private boolean isTable() {
		return this.store.equals("table");
	}

	/**
	 * End the term without the knowledge of its node.
	 */
	private void takeLeadershipAway() {
		if (isTable()) {
			this.server.execute("UPDATE leader_election SET owner = NULL, clean = false");
		}
		else {
			this.server.query(holder("pg_terminate_backend(pid)"));
		}
	}

	/**
	 * Wait until a node holds the lock, whether it is granted or still waits for fenced
	 * transactions.
	 */
	private NodeProcess awaitHolder() {
		return await("a leader", () -> this.server
			.query(isTable() ? "SELECT ' ' || node FROM leader_election JOIN leader_election_node ON token = owner"
					: holder("application_name"))
			.stream()
			.flatMap((name) -> this.nodes.stream().filter((node) -> name.endsWith(" " + node.name())))
			// A row outlives the node that holds it
			.filter((node) -> !isTable() || node.isAlive())
			.findFirst());
	}

	private String holder(String columns) {
		long main = ElectionKeys.derive(this.group, "default").main();
		return """
				SELECT %s FROM pg_locks JOIN pg_stat_activity USING (pid)
				WHERE locktype = 'advisory' AND granted AND mode = 'ExclusiveLock'
				  AND objsubid = 1 AND classid = %d AND objid = %d
				""".formatted(columns, main >>> 32, main & 0xFFFFFFFFL);
	}

	private Term newestTerm() {
		return this.nodes.stream()
			.flatMap((node) -> node.last(Kind.GRANTED).stream())
			.map(Entry::requiredTerm)
			.max(Comparator.naturalOrder())
			.orElse(new Term(0, 0, 0));
	}

	/**
	 * Return how many terms were granted to another node than the term before.
	 */
	private int handOvers() {
		List<String> leaders = entries(Kind.GRANTED).sorted(Comparator.comparing(Entry::requiredTerm))
			.map(Entry::node)
			.toList();
		return (int) IntStream.range(1, leaders.size())
			.filter((i) -> !leaders.get(i).equals(leaders.get(i - 1)))
			.count();
	}

	private void awaitTermAfter(Term before) {
		await("a grant after " + before, () -> Optional.of(newestTerm()).filter((term) -> term.compareTo(before) > 0));
	}

	private void awaitWrites() {
		long before = drain();
		await("writes after all blows", () -> Optional.of(drain()).filter((written) -> written > before + 100));
	}

	private void drainNowAndThen() {
		if (System.nanoTime() - this.drained > DRAIN_INTERVAL) {
			drain();
		}
	}

	private long drain() {
		this.log.drain().forEach(this.order::add);
		this.drained = System.nanoTime();
		return this.order.written();
	}

	private <T> T await(String what, Callable<Optional<T>> condition) {
		try {
			return Awaitility.await().until(condition, Optional::isPresent).orElseThrow();
		}
		catch (ConditionTimeoutException ex) {
			throw new AssertionError("Not within " + LIMIT + ": " + what + "; " + this + "\n"
					+ String.join("\n", this.nodes.stream().map(NodeProcess::describe).toList()), ex);
		}
	}

	CommitOrder order() {
		return this.order;
	}

	/**
	 * Return the ids of all rows that are there.
	 */
	List<String> visible() {
		return this.server.query("SELECT id FROM writes");
	}

	/**
	 * Return the ids of the rows whose transactions were refused.
	 */
	List<String> refused() {
		return entries(Kind.REFUSED).map(Entry::details).toList();
	}

	/**
	 * Return what has ended threads that write.
	 */
	List<Entry> deaths() {
		return entries(Kind.DIED).toList();
	}

	/**
	 * Return the nodes that have not shut down cleanly, but for those that were killed.
	 */
	List<NodeProcess> unfinished() {
		return this.nodes.stream()
			.filter((node) -> node.last(Kind.STOPPED).isEmpty() && node.last(Kind.KILLED).isEmpty())
			.toList();
	}

	private Stream<Entry> entries(Kind kind) {
		return this.nodes.stream().flatMap((node) -> node.history().stream()).filter((entry) -> entry.kind() == kind);
	}

	/**
	 * Return how transactions ended, as their clients saw it.
	 */
	Map<String, Integer> outcomes() {
		Map<String, Integer> outcomes = new TreeMap<>();
		this.nodes.stream()
			.flatMap((node) -> node.last(Kind.COUNTS).stream())
			.flatMap((entry) -> Stream.of(entry.details().split(" ")))
			.filter((count) -> !count.isEmpty())
			.map((count) -> count.split("="))
			.forEach((count) -> outcomes.merge(count[0], Integer.valueOf(count[1]), Integer::sum));
		return outcomes;
	}

	@Override
	public String toString() {
		List<Violation> violations = this.order.violations();
		Duration worst = violations.stream()
			.map(Violation::lateness)
			.max(Comparator.naturalOrder())
			.orElse(Duration.ZERO);
		return """
				Writers with leader-election.store=%s, leader-election.fencing=%s%s on PostgreSQL %s, seed %d, %d s:
				%d commits in %d terms with %d hand-overs to another node; late: %d, the worst by %d ms
				blows %s, outcomes %s, idle transactions that the server has ended: %d
				""".formatted(this.store, this.fencing, (this.pooler != null) ? " behind PgBouncer" : "",
				this.server.query("SHOW server_version").get(0), this.seed,
				Duration.ofNanos(System.nanoTime() - this.started).toSeconds(), this.order.written(),
				this.order.terms(), handOvers(), violations.size(), worst.toMillis(), this.blows, outcomes(), ended());
	}

	private long ended() {
		return this.server.log().lines().filter((line) -> line.contains("due to idle-in-transaction timeout")).count();
	}

	@Override
	public void close() {
		this.nodes.forEach(NodeProcess::close);
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
