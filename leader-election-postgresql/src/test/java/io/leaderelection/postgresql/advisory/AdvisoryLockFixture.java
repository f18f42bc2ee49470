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

package io.leaderelection.postgresql.advisory;

import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.function.BiFunction;
import java.util.function.UnaryOperator;

import io.leaderelection.engine.ElectionSettings;
import io.leaderelection.engine.SessionException;
import io.leaderelection.engine.StoreSession;
import io.leaderelection.engine.StoreSession.Acquisition;
import io.leaderelection.engine.StoreSession.Acquisition.Held;
import io.leaderelection.engine.StoreSession.Acquisition.Won;
import io.leaderelection.postgresql.ConnectionSource;
import io.leaderelection.postgresql.ElectionKeys;
import io.leaderelection.postgresql.ServerInspection;
import io.leaderelection.testsupport.PostgreSqlServer;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;

import static org.awaitility.Awaitility.await;

/**
 * Sessions of an election with advisory locks of its own, on a real server.
 */
abstract class AdvisoryLockFixture {

	static final Duration NO_WAIT = Duration.ofMillis(1);

	static final Duration LONG = Duration.ofSeconds(10);

	final PostgreSqlServer server = PostgreSqlServer.shared();

	final String election = "election-" + UUID.randomUUID();

	final ElectionKeys keys = ElectionKeys.derive("test", this.election);

	final List<StoreSession> sessions = new ArrayList<>();

	@AfterEach
	void closeSessions() {
		this.sessions.forEach(StoreSession::abort);
	}

	ElectionSettings settings(String node) {
		return settings(node, Duration.ofSeconds(3), ElectionSettings.STANDBYS);
	}

	ElectionSettings settings(String node, Duration lease, int standbys) {
		return new ElectionSettings(this.election, node, lease, Duration.ZERO, Duration.ofSeconds(1), true, standbys);
	}

	ConnectionSource source() {
		return this.server::connect;
	}

	AdvisoryLockStore store(String node) {
		return new AdvisoryLockStore(settings(node), this.keys, 0, false, source(), null);
	}

	AdvisoryLockStore store(String node, BiFunction<ElectionKeys, ServerInspection, AdvisoryLockSql> statements) {
		return new StatementsStore(settings(node), this.keys, source(), statements);
	}

	/**
	 * Return a store that attempts to win with another statement.
	 */
	AdvisoryLockStore attempting(String node, UnaryOperator<String> statement) {
		return store(node, (keys, server) -> new AdvisoryLockSql(keys, server) {

			@Override
			String acquire(long waitMillis, boolean observe, int seat, int priority,
					@Nullable Predecessor predecessor) {
				return statement.apply(super.acquire(waitMillis, observe, seat, priority, predecessor));
			}

		});
	}

	StoreSession open(String node) throws SessionException {
		return open(store(node));
	}

	StoreSession open(AdvisoryLockStore store) throws SessionException {
		StoreSession session = store.open();
		this.sessions.add(session);
		return session;
	}

	StoreSession candidate(String node) throws SessionException {
		return candidate(store(node));
	}

	StoreSession candidate(AdvisoryLockStore store) throws SessionException {
		StoreSession session = open(store);
		session.becomeCandidate();
		return session;
	}

	StoreSession leader(String node) throws SessionException {
		StoreSession session = candidate(node);
		win(session);
		return session;
	}

	static Won win(StoreSession session) throws SessionException {
		return (Won) session.acquire(NO_WAIT);
	}

	/**
	 * Wait again if a wait has ended before the test has gone on.
	 */
	CompletableFuture<Acquisition> waitUntilWon(StoreSession session) {
		long limit = System.nanoTime() + LONG.toNanos();
		return awaitInQueue(() -> {
			Acquisition acquisition = session.acquire(Duration.ofMillis(800));
			while (acquisition instanceof Held && System.nanoTime() - limit < 0) {
				acquisition = session.acquire(Duration.ofMillis(800));
			}
			return acquisition;
		});
	}

	CompletableFuture<Acquisition> awaitInQueue(Callable<Acquisition> wait) {
		CompletableFuture<Acquisition> waiting = start(wait);
		await().until(() -> this.server
			.query("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted AND objid = "
					+ (this.keys.main() & 0xFFFFFFFFL))
			.equals(List.of("1")));
		return waiting;
	}

	/**
	 * Run a call on another thread.
	 */
	static <T> CompletableFuture<T> start(Callable<T> call) {
		return CompletableFuture.supplyAsync(() -> {
			try {
				return call.call();
			}
			catch (Exception ex) {
				throw new IllegalStateException(ex);
			}
		});
	}

	static void execute(Connection connection, String text) throws SQLException {
		try (Statement statement = connection.createStatement()) {
			statement.execute(text);
		}
	}

	/**
	 * Return the seats that are taken.
	 */
	List<String> seats() {
		return this.server
			.query("SELECT objid FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 2 AND classid = "
					+ Integer.toUnsignedLong(this.keys.observerClass()) + " AND mode = 'ExclusiveLock'");
	}

}
