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

package io.leaderelection.postgresql.table;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;

import io.leaderelection.engine.ElectionSettings;
import io.leaderelection.engine.ElectionSettings.FastTakeover;
import io.leaderelection.engine.ElectionStore;
import io.leaderelection.engine.NodeProfile;
import io.leaderelection.engine.Platform;
import io.leaderelection.engine.SessionException;
import io.leaderelection.engine.StoreSession;
import io.leaderelection.engine.StoreSession.Acquisition;
import io.leaderelection.engine.StoreSession.Acquisition.Won;
import io.leaderelection.engine.StoreSession.Confirmation;
import io.leaderelection.engine.TransactionFence.Verdict;
import io.leaderelection.postgresql.ConnectionSource;
import io.leaderelection.postgresql.ElectionKeys;
import io.leaderelection.postgresql.LeaseTableShape.Tables;
import io.leaderelection.postgresql.ServerInspection;
import io.leaderelection.postgresql.StoreFixture;
import org.junit.jupiter.api.AfterEach;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;
import static org.mockito.Mockito.spy;

/**
 * Nodes with lease tables of their own, on a real server. Each node has a clock that a
 * test can advance, so that a lease may be long and yet expire at once.
 */
abstract class LeaseTableFixture extends StoreFixture {

	/** Longer than a busy machine delays anything, since nobody waits for its end. */
	static final Duration LEASE = Duration.ofSeconds(20);

	static final String ELECTION = "default";

	static final Consumer<LeaseTableSql> UNCHANGED = (sql) -> {
	};

	final String table = "lease_" + UUID.randomUUID().toString().substring(24);

	private final Map<ElectionStore, TestNode> nodes = new ConcurrentHashMap<>();

	private final Map<StoreSession, TestNode> owners = new ConcurrentHashMap<>();

	private final Map<StoreSession, Won> terms = new ConcurrentHashMap<>();

	@AfterEach
	@Override
	protected void end() throws SQLException {
		super.end();
		this.server.execute("DROP TABLE IF EXISTS %1$s, %1$s_node, %1$s_candidate CASCADE".formatted(this.table));
	}

	TestNode node(String id) {
		return node(id, UNCHANGED);
	}

	TestNode node(String id, int port) {
		return node(id, (settings) -> this.server.connect(port, settings), LEASE, UNCHANGED);
	}

	TestNode node(String id, Consumer<LeaseTableSql> changes) {
		return node(id, this.server::connect, LEASE, changes);
	}

	/**
	 * Return a node of a test.
	 * @param changes changes the statements of the node, on a spy
	 */
	TestNode node(String id, ConnectionSource source, Duration lease, Consumer<LeaseTableSql> changes) {
		return new TestNode(id, source, lease, changes);
	}

	@Override
	public ElectionStore store(String node) {
		return node(node).store;
	}

	@Override
	public StoreSession open(ElectionStore store) throws SessionException {
		StoreSession session = super.open(store);
		TestNode node = this.nodes.get(store);
		if (node != null) {
			this.owners.put(session, node);
		}
		return session;
	}

	Connection begin(int isolation) throws SQLException {
		Connection connection = begin();
		connection.setTransactionIsolation(isolation);
		return connection;
	}

	/**
	 * Return an expression for the row of the election.
	 */
	String election(String expression) {
		return this.server.query("SELECT %s FROM %s WHERE election = '%s'".formatted(expression, this.table, ELECTION))
			.get(0);
	}

	/**
	 * Return an expression for each row of a node.
	 */
	List<String> rows(String node, String expression) {
		return this.server.query("SELECT %s FROM %s_node WHERE node = '%s'".formatted(expression, this.table, node));
	}

	/**
	 * Change the rows of a node.
	 */
	void update(String node, String assignment) {
		this.server.execute("UPDATE %s_node SET %s WHERE node = '%s'".formatted(this.table, assignment, node));
	}

	void update(String assignment) {
		this.server.execute("UPDATE %s SET %s WHERE election = '%s'".formatted(this.table, assignment, ELECTION));
	}

	/**
	 * End the connection of a node.
	 */
	void terminate(String node) {
		this.server.terminate("leader-election table " + node);
	}

	String lockOfElection() {
		return "SELECT FROM %s WHERE election = '%s' FOR UPDATE".formatted(this.table, ELECTION);
	}

	String lockOf(String node) {
		return "SELECT FROM %s_node WHERE node = '%s' FOR UPDATE".formatted(this.table, node);
	}

	@Override
	public Won win(StoreSession session) throws SessionException {
		Acquisition acquisition = session.acquire(NO_WAIT);
		for (int i = 0; i < 5 && !(acquisition instanceof Won); i++) {
			acquisition = session.acquire(NO_WAIT);
		}
		assertThat(acquisition).isInstanceOf(Won.class);
		this.terms.put(session, (Won) acquisition);
		return (Won) acquisition;
	}

	/**
	 * Win, and confirm the term.
	 */
	Won lead(StoreSession session) throws SessionException {
		Won won = win(session);
		assertThat(session.confirm(true).predecessor()).isNull();
		return won;
	}

	static Won awaitWon(StoreSession session) {
		Won[] won = new Won[1];
		await().until(() -> {
			won[0] = (session.acquire(NO_WAIT) instanceof Won acquired) ? acquired : null;
			return won[0] != null;
		});
		return won[0];
	}

	StoreSession leader(String id) throws SessionException {
		return leader(node(id));
	}

	/**
	 * Open a session that leads.
	 */
	StoreSession leader(TestNode node) throws SessionException {
		StoreSession session = node.open();
		lead(session);
		return session;
	}

	StoreSession follower(String id) throws SessionException {
		return follower(node(id));
	}

	/**
	 * Open a session that finds another leader.
	 */
	StoreSession follower(TestNode node) throws SessionException {
		StoreSession session = node.open();
		hold(session);
		return session;
	}

	/**
	 * Confirm without the wait for the confirmations of other elections.
	 */
	Confirmation confirm(StoreSession session) throws SessionException {
		advance(session, Duration.ofSeconds(1));
		return session.confirm(true);
	}

	@Override
	public boolean isRequested() {
		return !this.server
			.query("SELECT election FROM %s_candidate WHERE resign_term IS NOT NULL".formatted(this.table))
			.isEmpty();
	}

	@Override
	public String requester(String node, String cause) {
		return node + ": " + cause;
	}

	@Override
	public Confirmation confirm(String node, StoreSession session) throws SessionException {
		advance(session, Duration.ofSeconds(3));
		return session.confirm(true);
	}

	/**
	 * Advance the clock of the node of a session.
	 */
	void advance(StoreSession session, Duration time) {
		this.owners.get(session).clock.advance(time);
	}

	/**
	 * Let a transaction pass the fence of the last term of a session.
	 */
	Verdict pass(StoreSession session, Connection transaction) throws SQLException {
		return pass(this.owners.get(session), transaction, this.terms.get(session));
	}

	static Verdict pass(TestNode node, Connection transaction, Won won) throws SQLException {
		return node.store.fence().pass(transaction, won.term()).verdict();
	}

	/**
	 * A node and its sessions.
	 */
	final class TestNode {

		final Clock clock = new Clock();

		private final Duration lease;

		private final LeaseTable leases;

		private final String id;

		private final ElectionStore store;

		private TestNode(String id, ConnectionSource source, Duration lease, Consumer<LeaseTableSql> changes) {
			this.id = id;
			this.lease = lease;
			this.leases = new LeaseTable(source, new LeaseTable.Node(id, "host-1", 4711), LeaseTableFixture.this.table,
					true, lease, this.clock) {

				@Override
				LeaseTableSql sql(Tables tables, ServerInspection inspected, boolean direct, long timeoutMillis) {
					LeaseTableSql sql = spy(super.sql(tables, inspected, direct, timeoutMillis));
					changes.accept(sql);
					return sql;
				}

			};
			this.store = store(ELECTION, 0, ElectionSettings.STANDBYS);
		}

		ElectionStore store(String election, int priority, int standbys) {
			ElectionSettings settings = new ElectionSettings(election, this.id, this.lease, Duration.ZERO,
					FastTakeover.AUTO, Duration.ofSeconds(1), true, standbys,
					new NodeProfile(NodeProfile.PROTOCOL, priority, NodeProfile.DEFAULT.metadata()),
					ElectionSettings.PRIORITY_HOLD);
			ElectionStore created = this.leases.store(settings, election,
					ElectionKeys.derive(LeaseTableFixture.this.table, election), 0);
			LeaseTableFixture.this.nodes.put(created, this);
			return created;
		}

		ElectionStore.Spreading spreading() {
			return Objects.requireNonNull(this.store.spreading());
		}

		StoreSession open() throws SessionException {
			return candidate(this.store);
		}

		StoreSession open(String election) throws SessionException {
			return candidate(store(election, 0, ElectionSettings.STANDBYS));
		}

	}

	/**
	 * The clock of a node.
	 */
	static class Clock implements Platform {

		private final AtomicLong offset = new AtomicLong();

		@Override
		public long nanoTime() {
			return System.nanoTime() + this.offset.get();
		}

		@Override
		public Thread newThread(String name, Runnable task) {
			return SYSTEM.newThread(name, task);
		}

		void advance(Duration time) {
			this.offset.addAndGet(time.toNanos());
		}

	}

}
