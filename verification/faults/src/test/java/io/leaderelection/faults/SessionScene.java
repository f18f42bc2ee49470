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
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;

import io.leaderelection.engine.ElectionSettings;
import io.leaderelection.engine.SessionException;
import io.leaderelection.engine.StoreSession;
import io.leaderelection.engine.StoreSession.Acquisition;
import io.leaderelection.engine.StoreSession.Acquisition.Held;
import io.leaderelection.engine.StoreSession.Acquisition.Won;
import io.leaderelection.postgresql.ElectionKeys;
import io.leaderelection.postgresql.advisory.AdvisoryLockStore;
import io.leaderelection.testsupport.FrozenBackend;
import io.leaderelection.testsupport.PostgreSqlServer;
import org.awaitility.Awaitility;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Sessions of one election.
 */
final class SessionScene implements AutoCloseable {

	static final Duration NO_WAIT = Duration.ofMillis(1);

	private static final Duration WAIT = Duration.ofMillis(800);

	private static final Duration LEASE = Duration.ofSeconds(10);

	private final ElectionKeys keys = ElectionKeys.derive("test", "election-" + UUID.randomUUID());

	private final Map<String, StoreSession> sessions = new HashMap<>();

	private final Map<String, Connection> connections = new HashMap<>();

	private final Map<String, Integer> pids = new HashMap<>();

	private final PostgreSqlServer server;

	private final Duration takeoverDelay;

	SessionScene(PostgreSqlServer server, Duration takeoverDelay) {
		this.server = server;
		this.takeoverDelay = takeoverDelay;
	}

	ElectionSettings settings(String node) {
		return new ElectionSettings("scene", node, LEASE, this.takeoverDelay, Duration.ofSeconds(1), true);
	}

	AdvisoryLockStore store(String node) {
		return new AdvisoryLockStore(settings(node), this.keys, 0, false, (properties) -> {
			Connection connection = this.server.connect(properties);
			this.connections.putIfAbsent(node, connection);
			return connection;
		}, null);
	}

	StoreSession open(String node) throws SessionException, SQLException {
		StoreSession session = store(node).open();
		this.sessions.put(node, session);
		this.pids.put(node, PostgreSqlServer.pid(this.connections.get(node)));
		session.becomeCandidate();
		return session;
	}

	Won lead(String node) throws SessionException, SQLException {
		return (Won) open(node).acquire(NO_WAIT);
	}

	/**
	 * Open a session that knows the leader for the takeover delay.
	 */
	void settle(String node) throws SessionException, SQLException {
		StoreSession session = open(node);
		assertThat(session.acquire(NO_WAIT)).isInstanceOf(Held.class);
		assertThat(session.acquire(this.takeoverDelay.multipliedBy(2))).isInstanceOf(Held.class);
	}

	/**
	 * Have a session wait. It may be over when it is looked for.
	 * @param waiting how many sessions wait then
	 */
	CompletableFuture<Acquisition> acquire(String node, int waiting) {
		CompletableFuture<Acquisition> acquisition = acquire(node);
		String waits = "NOT granted AND ((%s) OR (%s))".formatted(PostgreSqlServer.key(this.keys.main()),
				PostgreSqlServer.keys(this.keys.requestClass()));
		Awaitility.await().until(() -> acquisition.isDone() || this.server.advisoryLocks(waits).size() == waiting);
		return acquisition;
	}

	CompletableFuture<Acquisition> acquire(String node) {
		StoreSession session = session(node);
		return CompletableFuture.supplyAsync(() -> {
			try {
				return session.acquire(WAIT);
			}
			catch (SessionException ex) {
				throw new IllegalStateException(ex);
			}
		});
	}

	/**
	 * Have a session that ends free its locks as far as the main key.
	 */
	void releaseMain(String node, FrozenBackend backend) {
		while (holds(node, PostgreSqlServer.key(this.keys.main()))) {
			backend.releasePartition();
		}
	}

	/**
	 * Whether a session still holds the key of a term.
	 */
	boolean holdsTerm(String node) {
		return holds(node, PostgreSqlServer.keys(this.keys.termClass()));
	}

	private boolean holds(String node, String key) {
		return !this.server.advisoryLocks("granted AND mode = 'ExclusiveLock' AND pid = " + pid(node) + " AND " + key)
			.isEmpty();
	}

	/**
	 * Let the server end a session, without waiting for the end.
	 */
	void terminate(String node) {
		this.server.execute("SELECT pg_terminate_backend(" + pid(node) + ")");
	}

	void execute(String node, String sql) throws SQLException {
		try (Statement statement = this.connections.get(node).createStatement()) {
			statement.execute(sql);
		}
	}

	int pid(String node) {
		return this.pids.get(node);
	}

	StoreSession session(String node) {
		return this.sessions.get(node);
	}

	void awaitEnd(int pid) {
		Awaitility.await().until(() -> !this.server.isPresent(pid));
	}

	/**
	 * Wait for the end of all sessions: another scene must not count it.
	 */
	@Override
	public void close() {
		this.sessions.values().forEach(StoreSession::abort);
		this.pids.values().forEach(this::awaitEnd);
	}

}
