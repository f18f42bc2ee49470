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

import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.LongAdder;
import java.util.concurrent.locks.LockSupport;
import java.util.function.IntPredicate;
import java.util.stream.IntStream;

import javax.sql.DataSource;

import io.leaderelection.ElectionEvent;
import io.leaderelection.Leadership;
import io.leaderelection.LeadershipEvent;
import io.leaderelection.Term;
import io.leaderelection.engine.DefaultLeaderElector;
import io.leaderelection.engine.DefaultLeaderElectors;
import io.leaderelection.engine.ElectionSettings;
import io.leaderelection.engine.ElectionStore;
import io.leaderelection.faults.Entry.Kind;
import io.leaderelection.postgresql.ConnectionSource;
import io.leaderelection.postgresql.ElectionKeys;
import io.leaderelection.postgresql.advisory.AdvisoryLockStore;
import io.leaderelection.postgresql.table.LeaseTable;
import io.leaderelection.testsupport.CountedConnection;
import io.leaderelection.testsupport.Daemon;
import io.leaderelection.testsupport.PostgreSqlServer;
import org.awaitility.Awaitility;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Many nodes in this JVM, each with a session and a watchdog of its own but without an
 * application, and all that was recorded of them.
 */
final class LightNodes implements AutoCloseable {

	/** A table instead of locks. */
	static final Stores TABLE = (settings, keys, source) -> new LeaseTable(source,
			new LeaseTable.Node(settings.nodeId(), "host", 1), "leader_election", true, settings.lease())
		.store(settings, "nodes:default", keys, 0);

	private static final Duration LIMIT = Duration.ofSeconds(60);

	private final PostgreSqlServer server;

	private final Duration lease;

	private final Duration takeoverDelay;

	private final String group = "faults-" + UUID.randomUUID();

	private final List<DefaultLeaderElector> electors = new ArrayList<>();

	private final Map<String, List<Entry>> entries = new LinkedHashMap<>();

	private final LongAdder statements = new LongAdder();

	private final LongAdder connections = new LongAdder();

	private final NodeOptions options;

	private final Set<String> killed = ConcurrentHashMap.newKeySet();

	private final LockObserver observer;

	private final Thread sampler = Daemon.create("sampler", this::sample);

	private volatile Term sampled;

	private volatile boolean closed;

	/**
	 * Start nodes that all have a session.
	 */
	LightNodes(PostgreSqlServer server, int count, Duration lease, Duration takeoverDelay) {
		this(server, count, lease, takeoverDelay, new NodeOptions(count, server.username(), null));
	}

	LightNodes(PostgreSqlServer server, int count, Duration lease, Duration takeoverDelay, NodeOptions options) {
		this.server = server;
		this.lease = lease;
		this.takeoverDelay = takeoverDelay;
		this.options = options;
		this.observer = new LockObserver(server, this.group);
		IntStream.rangeClosed(1, count).forEach((number) -> this.electors.add(create(number)));
		this.sampler.start();
		this.electors.forEach(DefaultLeaderElector::start);
	}

	private DefaultLeaderElector create(int number) {
		String node = "node-" + number;
		ElectionSettings settings = new ElectionSettings("default", node, this.lease, this.takeoverDelay,
				Duration.ofSeconds(20), this.options.candidates().test(number), this.options.standbys());
		this.entries.put(node, new ArrayList<>());
		ElectionKeys keys = ElectionKeys.derive(this.group, "default");
		ElectionStore store = this.options.store().create(settings, keys, new Source(node));
		return new DefaultLeaderElectors(List.of(settings), (any) -> store, this::listen).getDefault();
	}

	private void listen(ElectionEvent published) {
		if (published instanceof LeadershipEvent event) {
			Recorder.listen(event, () -> {
			}, this::add);
		}
	}

	private void sample() {
		List<Sampler> samplers = this.electors.stream().map((elector) -> new Sampler(elector, this::add)).toList();
		while (!this.closed) {
			samplers.forEach(Sampler::sample);
			LockSupport.parkNanos(Sampler.INTERVAL);
		}
	}

	private void add(Entry entry) {
		synchronized (this.entries) {
			this.entries.get(entry.node()).add(entry);
		}
		if (entry.kind() == Kind.TRUE_FROM || entry.kind() == Kind.TRUE_AT) {
			this.sampled = entry.requiredTerm();
		}
	}

	/**
	 * Wait until all nodes have a session.
	 */
	LightNodes awaitSessions() {
		Awaitility.await().until(() -> sessions() == this.electors.size());
		return this;
	}

	List<DefaultLeaderElector> electors() {
		return List.copyOf(this.electors);
	}

	/**
	 * Return the nodes that watch, without a session of their own.
	 */
	List<DefaultLeaderElector> watchers() {
		return this.electors.stream().filter((elector) -> elector.status().watching()).toList();
	}

	/**
	 * Return the leader and its standbys.
	 */
	List<DefaultLeaderElector> standbys() {
		return this.electors.stream().filter((elector) -> !elector.status().watching()).toList();
	}

	/**
	 * Return how many rounds of nodes with a table the server has logged.
	 */
	static long requests(PostgreSqlServer server) {
		return server.log().lines().filter((line) -> line.contains("AS server_timeline")).count();
	}

	int sessions() {
		return this.server.sessions("leader-election %").size();
	}

	/**
	 * Wait until a node leads and was sampled, so that no reign is too short to be
	 * checked.
	 */
	DefaultLeaderElector awaitLeader() {
		return Awaitility.await()
			.until(() -> this.electors.stream().filter(this::isSampled).findFirst(), Optional::isPresent)
			.orElseThrow();
	}

	private boolean isSampled(DefaultLeaderElector elector) {
		Leadership leadership = elector.getLeadership();
		return leadership != null && elector.isLeader() && leadership.getTerm().equals(this.sampled);
	}

	/**
	 * Let the server end the session of a node.
	 */
	void terminateSession(DefaultLeaderElector elector) {
		this.server.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
				+ "WHERE application_name LIKE 'leader-election % " + elector.getNodeId() + "'");
	}

	/**
	 * Let a node die, as far as the server can tell: its session ends, and it never
	 * connects again.
	 */
	void kill(DefaultLeaderElector elector) {
		this.killed.add(elector.getNodeId());
		terminateSession(elector);
	}

	/**
	 * Kill nodes, among them the leader, and verify that another one leads in time.
	 */
	void verifyTakeover(List<DefaultLeaderElector> dead, Duration bound) {
		dead.forEach(this::kill);
		Awaitility.await()
			.atMost(bound)
			.until(() -> this.electors.stream().anyMatch((elector) -> !dead.contains(elector) && elector.isLeader()));
	}

	/**
	 * Return how many connections all nodes have opened, besides those of a pool.
	 */
	long connections() {
		return this.connections.sum();
	}

	/**
	 * Return how many statements all nodes have sent. Counted here, since the server does
	 * not report the transactions of sessions that touch no table (PostgreSQL 15 on).
	 */
	long statements() {
		return this.statements.sum();
	}

	private Connection counted(Connection connection) {
		return CountedConnection.of(connection, this.statements, new LongAdder());
	}

	History history() {
		synchronized (this.entries) {
			Map<String, List<Entry>> copy = new LinkedHashMap<>();
			this.entries.forEach((node, all) -> copy.put(node, List.copyOf(all)));
			return new History(copy, this.observer.samples(), false);
		}
	}

	void verify() {
		Invariants invariants = new Invariants(history(), this.lease, this.takeoverDelay);
		Invariants checked = (this.options.store() == TABLE) ? invariants.withoutLocks().check() : invariants.check();
		assertThat(checked.violations()).isEmpty();
		// Excused overlaps pass, but not in silence
		checked.excused().forEach((overlap) -> System.out.println("excused: " + overlap));
	}

	/**
	 * Stop all nodes, and fail if they leave a session.
	 */
	void stop() throws Exception {
		CompletableFuture
			.allOf(this.electors.stream().map(DefaultLeaderElector::stop).toArray(CompletableFuture<?>[]::new))
			.get(LIMIT.toSeconds(), TimeUnit.SECONDS);
		Awaitility.await().until(() -> sessions() == 0);
	}

	@Override
	public void close() throws Exception {
		stop();
		this.closed = true;
		this.sampler.join();
		this.observer.close();
	}

	/**
	 * How the nodes take part.
	 *
	 * @param standbys how many of them wait for the lock
	 * @param candidates which of them may lead
	 * @param user the role as which they connect
	 * @param pool the pool of the application
	 * @param store creates what they are elected with
	 */
	record NodeOptions(int standbys, IntPredicate candidates, String user, DataSource pool, Stores store) {

		NodeOptions(int standbys, String user, DataSource pool) {
			this(standbys, (number) -> true, user, pool,
					(settings, keys, source) -> new AdvisoryLockStore(settings, keys, 0, false, source, null));
		}

		NodeOptions withCandidates(IntPredicate candidates) {
			return new NodeOptions(this.standbys, candidates, this.user, this.pool, this.store);
		}

		NodeOptions withStore(Stores store) {
			return new NodeOptions(this.standbys, this.candidates, this.user, this.pool, store);
		}

	}

	/**
	 * Creates a store.
	 */
	@FunctionalInterface
	interface Stores {

		ElectionStore create(ElectionSettings settings, ElectionKeys keys, ConnectionSource source);

	}

	/**
	 * Opens connections until its node is killed.
	 */
	private final class Source implements ConnectionSource {

		private final String node;

		Source(String node) {
			this.node = node;
		}

		@Override
		public Connection connect(Properties properties) throws SQLException {
			checkAlive();
			properties.setProperty("user", LightNodes.this.options.user());
			properties.setProperty("password", LightNodes.this.server.password());
			LightNodes.this.connections.increment();
			return counted(DriverManager.getConnection(LightNodes.this.server.jdbcUrl(), properties));
		}

		@Override
		public Connection borrow(Duration timeout) {
			DataSource pool = LightNodes.this.options.pool();
			try {
				checkAlive();
				return (pool != null) ? counted(pool.getConnection()) : null;
			}
			catch (SQLException ex) {
				return null;
			}
		}

		private void checkAlive() throws SQLException {
			if (LightNodes.this.killed.contains(this.node)) {
				throw new SQLException("The node is dead", "08001");
			}
		}

	}

}
