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
import java.util.Collections;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.Callable;
import java.util.function.Function;
import java.util.stream.Stream;

import io.leaderelection.Term;
import io.leaderelection.faults.Entry.Kind;
import io.leaderelection.faults.FencedWriter.Place;
import io.leaderelection.faults.Invariants.Reign;
import io.leaderelection.faults.LockSample.Lock;
import io.leaderelection.testsupport.PgBouncer;
import io.leaderelection.testsupport.PostgreSqlServer;
import io.leaderelection.testsupport.TcpProxy;
import org.awaitility.Awaitility;
import org.awaitility.core.ConditionTimeoutException;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Several nodes, each a JVM behind a proxy of its own, on one server; and all that was
 * recorded of them.
 */
final class Cluster implements AutoCloseable {

	/**
	 * The lease of clusters that need no other, in milliseconds.
	 */
	static final Duration LEASE = Duration.ofMillis(Long.getLong("suite.lease", 2000));

	/** The system property with the store of clusters that need no other. */
	static final String STORE = "suite.store";

	static final String TABLE = "table";

	static final String[] TABLE_PROPERTIES = { "leader-election.store=table",
			"leader-election.initialize-schema=always" };

	static final Duration TAKEOVER_DELAY = Duration.ofMillis(100);

	/** For clusters in which the server ends the session of a leader. */
	static final Duration DEFAULT_TAKEOVER_DELAY = Duration.ofMillis(250);

	/**
	 * The property of clusters in which a proxy resets the connection of a living leader,
	 * as the documentation demands: the server takes this for an end by the leader, so
	 * that the next one would not wait for the takeover delay.
	 */
	static final String NO_FAST_TAKEOVER = "leader-election.fast-takeover=false";

	private static final String FAST_TAKEOVER = "leader-election.fast-takeover=";

	private static final Duration LIMIT = Duration.ofSeconds(60);

	private final PostgreSqlServer server;

	private final Duration lease;

	private final Duration takeoverDelay;

	private final List<String> properties;

	private final boolean table;

	private final String group = "faults-" + UUID.randomUUID();

	private final LockObserver observer;

	/** What its nodes have written in the database. */
	private PostgreSqlServer rows;

	private String writes;

	private boolean writesThroughProxies;

	private final Map<NodeProcess, TcpProxy> nodes = new LinkedHashMap<>();

	private final Map<String, List<Entry>> ended = new LinkedHashMap<>();

	private boolean serverFaults;

	private boolean logged;

	/** Between the nodes and the server, or {@code null}. */
	private PgBouncer pooler;

	/** How many of the nodes have a session that can be told from others. */
	private int sessions = Integer.MAX_VALUE;

	private int started;

	Cluster(PostgreSqlServer server, Duration lease, Duration takeoverDelay, String... properties) {
		this.server = server;
		this.lease = lease;
		this.takeoverDelay = takeoverDelay;
		this.properties = List.of(properties);
		this.table = TABLE.equals(System.getProperty(STORE))
				|| this.properties.contains("leader-election.store=" + TABLE);
		this.observer = new LockObserver(server, this.group);
		this.rows = server;
		TermRows.create(server);
	}

	PostgreSqlServer server() {
		return this.server;
	}

	String group() {
		return this.group;
	}

	Duration lease() {
		return this.lease;
	}

	Duration takeoverDelay() {
		return this.takeoverDelay;
	}

	/**
	 * Declare that the server itself is made to hang, so that ages of sessions are not
	 * checked.
	 */
	Cluster withServerFaults() {
		this.serverFaults = true;
		return this;
	}

	/**
	 * Let the network faults of a node hit what it writes, too, instead of its sessions
	 * for the election only.
	 */
	Cluster withWritesThroughProxies() {
		this.writesThroughProxies = true;
		return this;
	}

	/**
	 * Let the nodes write to whichever of several servers is there.
	 * @param url where they write
	 * @param last where all that is to be found in the end
	 */
	Cluster withWritesTo(String url, PostgreSqlServer last) {
		this.writes = url;
		this.rows = last;
		return this;
	}

	/**
	 * Read the log of the server, which must be silent but for faults.
	 */
	Cluster withLog() {
		this.logged = true;
		return this;
	}

	/**
	 * Let the nodes be elected behind a pooler.
	 */
	Cluster withPooler(PgBouncer pooler) {
		this.pooler = pooler;
		return this;
	}

	/**
	 * Expect no more sessions than that.
	 */
	Cluster withSessions(int most) {
		this.sessions = most;
		return this;
	}

	boolean isLogged() {
		return this.logged;
	}

	PgBouncer pooler() {
		return this.pooler;
	}

	List<NodeProcess> nodes() {
		return List.copyOf(this.nodes.keySet());
	}

	NodeProcess node(String name) {
		return this.nodes.keySet().stream().filter((node) -> node.name().equals(name)).findFirst().orElseThrow();
	}

	TcpProxy proxy(NodeProcess node) {
		return this.nodes.get(node);
	}

	/**
	 * Start further nodes and wait until they run.
	 */
	Cluster start(int count, String... more) {
		List<NodeProcess> starting = Stream.generate(() -> launch(more)).limit(count).toList();
		try {
			starting.forEach(NodeProcess::awaitStarted);
		}
		catch (AssertionError ex) {
			close();
			throw ex;
		}
		return this;
	}

	/**
	 * Start nodes without Spring and with a mistake.
	 */
	Cluster startWithMistake(Mistake mistake, Duration work, boolean writes, int count) {
		for (int i = 0; i < count; i++) {
			TcpProxy proxy = new TcpProxy(this.server);
			String name = "node-" + ++this.started;
			this.nodes.put(
					new NodeProcess(name, MistakenNode.class,
							MistakenNode.arguments(mistake, name, this.server, proxy.port(), this, work, writes)),
					proxy);
		}
		nodes().forEach(NodeProcess::awaitStarted);
		return this;
	}

	/**
	 * Start a further node without waiting for it.
	 */
	NodeProcess launch(String... more) {
		int port = (this.pooler != null) ? this.pooler.port() : this.server.port();
		TcpProxy proxy = new TcpProxy(this.server.host(), port);
		NodeProcess node = new NodeProcess("node-" + ++this.started, NodeApplication.class,
				arguments("node-" + this.started, this.server.jdbcUrl(proxy.port()), more));
		this.nodes.put(node, proxy);
		return node;
	}

	private List<String> arguments(String name, String url, String... more) {
		List<String> arguments = new ArrayList<>(List.of("--spring.application.name=fault-test",
				"--leader-election.group=" + this.group, "--leader-election.node-id=" + name,
				"--leader-election.lease-duration=" + this.lease.toMillis() + "ms",
				"--leader-election.takeover-delay=" + this.takeoverDelay.toMillis() + "ms",
				"--spring.datasource.url=" + url, "--spring.datasource.username=" + this.server.username(),
				"--spring.datasource.password=" + this.server.password(), "--spring.datasource.hikari.minimum-idle=0",
				"--spring.main.banner-mode=off", "--spring.main.lazy-initialization=true",
				"--faults.writes.url=" + writesUrl(url), "--faults.writes.username=" + this.server.username(),
				"--faults.writes.password=" + this.server.password()));
		if (this.table && !this.properties.contains("leader-election.store=" + TABLE)) {
			Stream.of(TABLE_PROPERTIES).forEach((property) -> arguments.add("--" + property));
		}
		else if (!this.table && this.properties.stream().noneMatch((property) -> property.startsWith(FAST_TAKEOVER))) {
			// The nodes see the proxies, which end a session only when its node does
			arguments.add("--" + FAST_TAKEOVER + "true");
		}
		Stream.concat(this.properties.stream(), Stream.of(more)).forEach((property) -> arguments.add("--" + property));
		// A test may set what the store requires, too
		return arguments.stream().distinct().toList();
	}

	private String writesUrl(String proxyUrl) {
		if (this.writes != null) {
			return this.writes;
		}
		return this.writesThroughProxies ? proxyUrl : this.server.jdbcUrl();
	}

	/**
	 * Remove a node, in any state.
	 */
	void remove(NodeProcess node) {
		TcpProxy proxy = this.nodes.get(node);
		node.close();
		this.nodes.remove(node);
		proxy.close();
		this.ended.put(node.name(), node.history());
	}

	/**
	 * Replace nodes by new ones.
	 */
	void replace(NodeProcess... replaced) {
		Stream.of(replaced).forEach(this::remove);
		start(replaced.length);
	}

	/**
	 * After a failure, heal, thaw or replace what it has left behind, so that it does not
	 * spread to the next test.
	 */
	void repair() {
		this.nodes.values().forEach((proxy) -> {
			proxy.delay(Duration.ZERO, Duration.ZERO);
			proxy.heal();
		});
		List<NodeProcess> dead = nodes().stream().filter((node) -> !node.isAlive()).toList();
		nodes().stream().filter(NodeProcess::isAlive).forEach((node) -> node.signal("CONT"));
		replace(dead.toArray(NodeProcess[]::new));
	}

	/**
	 * Wait until one node leads, and return it.
	 */
	NodeProcess awaitLeader() {
		return await(() -> this.nodes.keySet().stream().filter(NodeProcess::leads).findFirst());
	}

	/**
	 * Wait until one node leads and the others have known this for the takeover delay, so
	 * that each would examine how its session ends, and return it.
	 */
	NodeProcess awaitExaminableLeader() {
		NodeProcess leader = awaitSessions().awaitLeader();
		followers().forEach((follower) -> follower.awaitObserved(leader));
		leader.await(Kind.TRUE_AT, System.nanoTime() + this.takeoverDelay.multipliedBy(2).toNanos());
		return leader;
	}

	/**
	 * Wait until a node has recorded that it leads, later than the given time.
	 */
	void awaitSampleOfLeader(long time) {
		await(() -> this.nodes.keySet()
			.stream()
			.flatMap((node) -> node.lastTrue().stream())
			.filter((entry) -> entry.time() > time)
			.findFirst());
	}

	/**
	 * Wait until one node leads and no other, and the server agrees.
	 */
	void awaitSingleLeader(Duration limit) {
		try {
			Awaitility.await().atMost(limit).pollInterval(Duration.ofMillis(10)).until(() -> {
				List<NodeProcess> leaders = this.nodes.keySet().stream().filter(NodeProcess::leads).toList();
				long recently = System.nanoTime() - Duration.ofMillis(500).toNanos();
				return leaders.size() == 1 && leaders.get(0).lastTrue().orElseThrow().time() > recently;
			});
		}
		catch (ConditionTimeoutException ex) {
			throw new AssertionError("No single leader within " + limit + ":\n" + describe(), ex);
		}
	}

	/**
	 * Let the leader resign, and return the next one.
	 */
	NodeProcess awaitSuccessor() {
		NodeProcess leader = awaitSessions().awaitLeader();
		Term term = newestTerm();
		leader.command("resign");
		return node(awaitNext(term).node());
	}

	/**
	 * The longest that it takes a node without a session to notice that a session is
	 * free, and to open one.
	 */
	Duration longestWatch() {
		return this.lease.plus(FaultRuns.LONGEST_WATCH).plusSeconds(1);
	}

	/**
	 * Return the nodes that do not lead.
	 */
	List<NodeProcess> followers() {
		NodeProcess leader = awaitLeader();
		return this.nodes.keySet().stream().filter((node) -> node != leader).toList();
	}

	/**
	 * Return the follower that is first in the queue of the lock, and will be for a
	 * while: it has begun its wait not long ago.
	 */
	NodeProcess awaitHeadOfQueue() {
		return await(() -> {
			List<String> head = this.server.query("""
					SELECT application_name FROM (
					  SELECT application_name, waitstart FROM pg_locks JOIN pg_stat_activity USING (pid)
					  WHERE locktype = 'advisory' AND objsubid = 1 AND NOT granted
					    AND application_name LIKE 'leader-election %'
					  ORDER BY waitstart LIMIT 1) AS head
					WHERE clock_timestamp() - waitstart < '500ms'
					""");
			return this.nodes.keySet()
				.stream()
				.filter((node) -> head.stream().anyMatch((name) -> name.endsWith(" " + node.name())))
				.findFirst();
		});
	}

	/**
	 * Wait for the next sample of locks and sessions.
	 */
	LockSample awaitSample() {
		long from = System.nanoTime();
		return await(() -> this.observer.last().filter((sample) -> sample.before() > from));
	}

	/**
	 * Wait until a sample shows some fact, and return the node it is about. A session
	 * that ends may have no name any longer.
	 * @param fact returns the name of that node if the sample shows it
	 */
	NodeProcess awaitLocks(Function<LockSample, Optional<String>> fact) {
		return node(await(() -> fact.apply(awaitSample()).filter((name) -> !name.isEmpty())));
	}

	/**
	 * Wait until the session of a node other than the given one holds the lock, whether
	 * it is granted or not.
	 */
	NodeProcess awaitHolder(NodeProcess other) {
		return awaitLocks((sample) -> sample.main().map(Lock::node).filter((name) -> !name.equals(other.name())));
	}

	/**
	 * Wait until the next fenced transaction of a node is held, and return its entry.
	 */
	Entry hold(NodeProcess node, Place place) {
		long from = System.nanoTime();
		node.command("hold " + place);
		return node.await(Kind.HELD, from);
	}

	/**
	 * Return whether what a held transaction wrote can be seen.
	 */
	boolean isCommitted(Entry held) {
		return TermRows.read(this.rows, this.group)
			.stream()
			.anyMatch((row) -> row.node().equals(held.node()) && row.number() == numberOf(held));
	}

	private static long numberOf(Entry held) {
		return Long.parseLong(held.details().split(" ")[0]);
	}

	/**
	 * Return whether the nodes use the store {@code table}.
	 */
	boolean isTable() {
		return this.table;
	}

	/**
	 * Let the server end the session of a node, which must have one.
	 */
	void terminateSession(NodeProcess node) {
		assertThat(terminateSessions(node)).as("sessions of %s", node).isNotEmpty();
	}

	/**
	 * Let the server end the sessions of a node, if there are any, and return which.
	 */
	List<Integer> terminateSessions(NodeProcess node) {
		List<Integer> pids = pids(node);
		pids.forEach((pid) -> this.server.query("SELECT pg_terminate_backend(" + pid + ")"));
		return pids;
	}

	/**
	 * End the term of a leader without its knowledge.
	 */
	void takeLeadershipAway(NodeProcess leader) {
		if (isTable()) {
			this.server.execute("UPDATE leader_election SET owner = NULL, clean = false");
		}
		else {
			terminateSessions(leader);
		}
	}

	/**
	 * Return the process ids of a node's sessions for the election.
	 */
	List<Integer> pids(NodeProcess node) {
		return this.server
			.query("SELECT pid FROM pg_stat_activity WHERE application_name = 'leader-election "
					+ (isTable() ? "table " : "default ") + node.name() + "'")
			.stream()
			.map(Integer::valueOf)
			.toList();
	}

	/**
	 * Wait until every node has a session that is to have one, so that each of them can
	 * take over.
	 */
	Cluster awaitSessions() {
		return (this.sessions > 0) ? awaitSessions(Math.min(this.sessions, this.nodes.size())) : this;
	}

	/**
	 * Wait until that many nodes have a session, each one only, and the others have none.
	 */
	Cluster awaitSessions(int count) {
		Awaitility.await().until(() -> {
			List<Integer> sessions = this.nodes.keySet().stream().map((node) -> pids(node).size()).toList();
			return Collections.max(sessions) == 1 && Collections.frequency(sessions, 1) == count;
		});
		return this;
	}

	/**
	 * Return the latest term in which any node was seen to lead.
	 */
	Term newestTerm() {
		return history().reigns().stream().map(Reign::term).max(Comparator.naturalOrder()).orElseThrow();
	}

	/**
	 * Wait until a node leads in a later term than the given one. It may be the same node
	 * again.
	 */
	Entry awaitNext(Term term) {
		return await(() -> this.nodes.keySet()
			.stream()
			.flatMap((node) -> node.last(Kind.TRUE_FROM).stream())
			.filter((entry) -> entry.requiredTerm().compareTo(term) > 0)
			.min(Comparator.comparingLong(Entry::time)));
	}

	private <T> T await(Callable<Optional<T>> condition) {
		try {
			return Awaitility.await().until(condition, Optional::isPresent).orElseThrow();
		}
		catch (ConditionTimeoutException ex) {
			throw new AssertionError("Not within " + LIMIT + ":\n" + describe(), ex);
		}
	}

	/**
	 * Describe the state of nodes and server, for the message of a timeout.
	 */
	String describe() {
		List<String> lines = new ArrayList<>(this.server.query("""
				SELECT concat_ws(' ', pid, application_name, state, wait_event, now() - state_change, left(query, 40))
				FROM pg_stat_activity WHERE backend_type = 'client backend'
				"""));
		this.nodes.keySet().forEach((node) -> lines.add(node.describe()));
		return String.join("\n", lines);
	}

	/**
	 * Return everything recorded so far by nodes and observer, from memory.
	 */
	History history() {
		Map<String, List<Entry>> entries = new LinkedHashMap<>(this.ended);
		this.nodes.keySet().forEach((node) -> entries.put(node.name(), node.history()));
		return new History(entries, this.observer.samples(), this.serverFaults);
	}

	/**
	 * Return everything recorded so far, also in the database.
	 */
	History historyWithRows() {
		History history = history();
		return history.with(TermRows.read(this.rows, this.group));
	}

	Invariants check() {
		return check(historyWithRows());
	}

	/**
	 * Check a history of these nodes.
	 */
	Invariants check(History history) {
		Invariants invariants = new Invariants(history, this.lease, this.takeoverDelay);
		return isTable() ? invariants.withoutLocks().check() : invariants.check();
	}

	/**
	 * Fail if anything recorded so far violates a guarantee.
	 */
	void verify() {
		History history = historyWithRows();
		assertThat(history.reigns()).isNotEmpty();
		assertThat(history.samples()).anyMatch((sample) -> !sample.sessions().isEmpty());
		Invariants checked = check(history);
		// What is excused passes, but not in silence
		checked.excused().forEach((violation) -> System.out.println("excused: " + violation));
		assertThat(checked.violations()).isEmpty();
	}

	/**
	 * Shut all nodes down cleanly, and fail if they leave a lock or a session, or if
	 * anything recorded violates a guarantee.
	 */
	void stopAndVerify() {
		nodes().forEach((node) -> node.command("stop"));
		nodes().forEach((node) -> {
			node.await(Kind.STOPPED, Long.MIN_VALUE);
			node.awaitEnd();
		});
		verify();
		Awaitility.await()
			.atMost(this.lease.plus(LIMIT))
			.untilAsserted(() -> assertThat(this.server.sessions("leader-election %")).isEmpty());
	}

	@Override
	public void close() {
		nodes().forEach(this::remove);
		this.observer.close();
	}

	@Override
	public String toString() {
		return "PostgreSQL %s, lease %s, takeover delay %s, %s".formatted(
				this.server.query("SHOW server_version").get(0), this.lease, this.takeoverDelay, this.properties);
	}

}
