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
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.Callable;
import java.util.concurrent.Future;
import java.util.function.Consumer;
import java.util.function.UnaryOperator;

import io.leaderelection.engine.ElectionSettings;
import io.leaderelection.engine.ElectionSettings.FastTakeover;
import io.leaderelection.engine.NodeProfile;
import io.leaderelection.engine.SessionException;
import io.leaderelection.engine.StoreSession;
import io.leaderelection.engine.StoreSession.Acquisition;
import io.leaderelection.engine.StoreSession.Acquisition.Held;
import io.leaderelection.engine.StoreSession.Acquisition.Won;
import io.leaderelection.engine.StoreSession.Confirmation;
import io.leaderelection.postgresql.ConnectionSource;
import io.leaderelection.postgresql.ElectionKeys;
import io.leaderelection.postgresql.ServerInspection;
import io.leaderelection.postgresql.StoreFixture;
import io.leaderelection.testsupport.PostgreSqlServer;

import static org.awaitility.Awaitility.await;
import static org.mockito.ArgumentMatchers.any;
import static org.mockito.ArgumentMatchers.anyInt;
import static org.mockito.ArgumentMatchers.anyLong;
import static org.mockito.BDDMockito.willAnswer;
import static org.mockito.Mockito.spy;

/**
 * Sessions of an election with advisory locks of its own.
 */
abstract class AdvisoryLockFixture extends StoreFixture {

	static final Duration LONG = Duration.ofSeconds(10);

	/** A statement that is cancelled. */
	static final String CANCELLED = "SELECT pg_cancel_backend(pg_backend_pid()), pg_sleep(10)";

	final String election = "election-" + UUID.randomUUID();

	ElectionKeys keys = ElectionKeys.derive("test", this.election);

	Duration lease = LONG;

	Duration takeoverDelay = Duration.ZERO;

	FastTakeover fastTakeover = FastTakeover.AUTO;

	int standbys = ElectionSettings.STANDBYS;

	boolean allowSessionPooler;

	ConnectionSource source = this.server::connect;

	ElectionSettings settings(String node, NodeProfile profile) {
		return new ElectionSettings(this.election, node, this.lease, this.takeoverDelay, this.fastTakeover,
				Duration.ofSeconds(1), true, this.standbys, profile, ElectionSettings.PRIORITY_HOLD);
	}

	@Override
	public AdvisoryLockStore store(String node) {
		return store(node, NodeProfile.DEFAULT);
	}

	AdvisoryLockStore store(String node, NodeProfile profile) {
		return new AdvisoryLockStore(settings(node, profile), this.keys, 0, this.allowSessionPooler, this.source, null);
	}

	/**
	 * Return a store with statements that a test changes.
	 */
	AdvisoryLockStore store(String node, Consumer<AdvisoryLockSql> changes) {
		return new AdvisoryLockStore(settings(node, NodeProfile.DEFAULT), this.keys, 0, this.allowSessionPooler,
				this.source, null) {

			@Override
			AdvisoryLockSql sql(ServerInspection inspected) {
				AdvisoryLockSql sql = spy(super.sql(inspected));
				changes.accept(sql);
				return sql;
			}

		};
	}

	/**
	 * Return a store that attempts to win with another statement.
	 */
	AdvisoryLockStore attempting(String node, UnaryOperator<String> change) {
		return store(node, (sql) -> attempting(sql, change));
	}

	static void attempting(AdvisoryLockSql sql, UnaryOperator<String> change) {
		willAnswer(changed(change)).given(sql).acquire(anyLong(), anyInt(), anyInt(), any(), anyInt());
	}

	/**
	 * Change what follows a wait.
	 */
	static void winning(AdvisoryLockSql sql, UnaryOperator<String> change) {
		willAnswer((call) -> {
			Map<String, String> settings = new HashMap<>(sqlSettings(call.callRealMethod()));
			settings.computeIfPresent(AcquiringStatement.WIN, (name, text) -> change.apply(text));
			return settings;
		}).given(sql).acquiring();
	}

	@SuppressWarnings("unchecked")
	private static Map<String, String> sqlSettings(Object settings) {
		return (Map<String, String>) settings;
	}

	StoreSession open(String node) throws SessionException {
		return open(store(node));
	}

	StoreSession leader(String node) throws SessionException {
		StoreSession session = candidate(node);
		win(session);
		return session;
	}

	@Override
	public Won win(StoreSession session) throws SessionException {
		return (Won) session.acquire(NO_WAIT);
	}

	@Override
	public Confirmation confirm(String node, StoreSession session) throws SessionException {
		return session.confirm(true);
	}

	/**
	 * The leader shares this key, too.
	 */
	@Override
	public boolean isRequested() {
		return this.server.advisoryLocks(PostgreSqlServer.keys(this.keys.requestClass()) + " AND mode = 'ShareLock'")
			.size() > 1;
	}

	@Override
	public String requester(String node, String cause) {
		return "node '" + node + "' (" + cause + ")";
	}

	/**
	 * Wait again if a wait has ended before the test has gone on.
	 */
	Future<Acquisition> waitUntilWon(StoreSession session) {
		long limit = System.nanoTime() + LONG.toNanos();
		return awaitInQueue(() -> {
			Acquisition acquisition = session.acquire(Duration.ofMillis(800));
			while (acquisition instanceof Held && System.nanoTime() - limit < 0) {
				acquisition = session.acquire(Duration.ofMillis(800));
			}
			return acquisition;
		});
	}

	Future<Acquisition> awaitInQueue(Callable<Acquisition> wait) {
		Future<Acquisition> waiting = start(wait);
		await().until(() -> this.server.advisoryLocks("NOT granted AND " + main()).size() == 1);
		return waiting;
	}

	String main() {
		return PostgreSqlServer.key(this.keys.main());
	}

	static Connection connection(StoreSession session) {
		return ((AdvisoryLockSession) session).connection();
	}

	/**
	 * Return the sessions with a seat.
	 */
	List<Integer> seats() {
		return this.server
			.advisoryLocks(PostgreSqlServer.keys(this.keys.observerClass()) + " AND mode = 'ExclusiveLock'");
	}

}
