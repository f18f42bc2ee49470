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
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Properties;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;

import io.leaderelection.engine.ElectionStore.Watch;
import io.leaderelection.engine.SessionException;
import io.leaderelection.engine.SessionNames;
import io.leaderelection.engine.StoreSession;
import io.leaderelection.engine.StoreSession.Acquisition.Won;
import io.leaderelection.engine.StoreSession.ForeignHolder.Kind;
import io.leaderelection.engine.StoreSession.Holder;
import io.leaderelection.engine.StoreSession.View;
import io.leaderelection.postgresql.ConnectionSource;
import io.leaderelection.postgresql.DatabaseIdentity;
import io.leaderelection.postgresql.ElectionKeys;
import io.leaderelection.testsupport.PostgreSqlServer;
import io.leaderelection.testsupport.TcpProxy;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.mockito.AdditionalAnswers;
import org.mockito.stubbing.Answer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;
import static org.mockito.ArgumentMatchers.any;
import static org.mockito.BDDMockito.willAnswer;
import static org.mockito.BDDMockito.willReturn;
import static org.mockito.Mockito.mock;
import static org.mockito.Mockito.spy;

/**
 * Tests for {@link Watcher} on a real server.
 */
@Tag("ring1")
class WatcherTests extends AdvisoryLockFixture {

	/** Longer than the shortest time for which a session is observed to be foreign. */
	private static final Duration FOREIGN_INTERVAL = Duration.ofMillis(250);

	private static final int STANDBYS = 2;

	private final AtomicInteger opened = new AtomicInteger();

	/** The connection of the pool, if there is one. */
	private @Nullable Connection pool;

	/** What a test has created on the server. */
	private final List<String> created = new ArrayList<>();

	WatcherTests() {
		this.lease = Duration.ofSeconds(30);
		this.standbys = STANDBYS;
		this.source = new ConnectionSource() {

			@Override
			public Connection connect(Properties driverSettings) throws SQLException {
				WatcherTests.this.opened.incrementAndGet();
				return WatcherTests.this.server.connect(driverSettings);
			}

			@Override
			public @Nullable Connection borrow(Duration timeout) {
				return (WatcherTests.this.pool != null) ? notClosing(WatcherTests.this.pool) : null;
			}

		};
	}

	private static Connection notClosing(Connection connection) {
		Answer<?> delegating = AdditionalAnswers.delegatesTo(connection);
		return mock(Connection.class,
				(call) -> call.getMethod().getName().equals("close") ? null : delegating.answer(call));
	}

	@AfterEach
	@Override
	protected void end() throws SQLException {
		super.end();
		this.created.forEach((object) -> this.server.execute("DROP " + object));
	}

	@Test
	void watchReadsTheElectionWithoutAPool() throws SessionException {
		AdvisoryLockStore watching = store("node-4");
		Watch watch = watching.watch(false);
		assertThat(watch.view().leader()).isNull();
		assertThat(watch.open()).isTrue();
		StoreSession first = candidate("node-1");
		Won won = win(first);
		candidate("node-2");
		assertThat(watching.watch(false).open()).isTrue();
		candidate("node-3");
		watch = watching.watch(false);
		assertThat(watch.open()).isFalse();
		assertThat(watch.view().leader()).isNotNull().extracting(Holder::term).isEqualTo(won.term());
		assertThat(watch.view().candidates()).hasSize(3);
		await().until(() -> this.server.sessions(new SessionNames(this.election).of("node-4")).isEmpty());
	}

	@Test
	void watchBorrowsFromThePoolAndLeavesNothing() throws Exception {
		this.created.add("SCHEMA misleading CASCADE");
		this.pool = connect("""
				CREATE SCHEMA misleading;
				CREATE FUNCTION misleading.never(bigint, bigint) RETURNS boolean LANGUAGE sql AS 'SELECT false';
				CREATE OPERATOR misleading.= (FUNCTION = misleading.never, LEFTARG = bigint, RIGHTARG = bigint);
				SET search_path = misleading, pg_catalog
				""");
		this.pool.setNetworkTimeout(Runnable::run, 60_000);
		AdvisoryLockStore watching = watching();
		StoreSession first = candidate("node-1");
		Won won = win(first);
		candidate("node-2");
		int before = this.opened.get();
		for (boolean autoCommit : new boolean[] { true, false }) {
			this.pool.setAutoCommit(autoCommit);
			Watch watch = watching.watch(false);
			assertThat(watch.open()).isTrue();
			assertThat(watch.view().leader()).isNotNull().extracting(Holder::term).isEqualTo(won.term());
			assertThat(this.pool.getAutoCommit()).isEqualTo(autoCommit);
			assertThat(this.pool.getNetworkTimeout()).isEqualTo(60_000);
			assertThat(this.server.query("SELECT state FROM pg_stat_activity WHERE query LIKE '%"
					+ this.keys.observerClass() + "%' AND state LIKE 'idle in%'"))
				.isEmpty();
		}
		assertThat(this.opened).hasValue(before);
	}

	@Test
	@Tag("ring2")
	void poolIsNotUsedWhileItLeadsToAnotherDatabase() throws Exception {
		String other = "other_" + UUID.randomUUID().toString().replace('-', '_');
		this.server.execute("CREATE DATABASE " + other);
		this.created.add("DATABASE " + other);
		this.pool = tracked(this.server.connectTo(other));
		AdvisoryLockStore watching = watching();
		candidate("node-1");
		candidate("node-2");
		assertThat(watching.watch(false).open()).isFalse();
		assertThat(watching.watch(false).view().candidates()).hasSize(2);
		this.pool.close();
		this.pool = connect();
		await().until(() -> {
			int before = this.opened.get();
			watching.watch(false);
			return this.opened.get() == before;
		});
	}

	@Test
	void brokenConnectionOfThePoolIsReplacedByAnOwnOne() throws Exception {
		AdvisoryLockStore watching = watchByPool(this.server.port());
		this.pool.close();
		int before = this.opened.get();
		assertThat(watching.watch(false)).as("the next one is awaited").isNull();
		assertThat(this.opened).hasValue(before);
		for (int i = 1; i <= 2; i++) {
			assertThat(watching.watch(false).open()).isTrue();
			assertThat(this.opened).hasValue(before + i);
		}
	}

	@Test
	void brokenConnectionOfThePoolIsReplacedAtOnceAfterASession() throws Exception {
		AdvisoryLockStore watching = watchByPool(this.server.port());
		watching.open().close();
		this.pool.close();
		assertThat(watching.watch(false)).isNotNull();
	}

	/**
	 * Return a store that has observed once, on a connection of its own.
	 */
	private AdvisoryLockStore watching() throws SessionException {
		AdvisoryLockStore watching = store("node-4");
		watching.watch(false);
		return watching;
	}

	private AdvisoryLockStore watchByPool(int port) throws Exception {
		this.pool = tracked(this.server.connect(port, new Properties()));
		AdvisoryLockStore watching = watching();
		assertThat(watching.watch(false).open()).isTrue();
		return watching;
	}

	/**
	 * A server that does not answer for a moment must not have to open a connection for
	 * each node then.
	 */
	@Test
	void slowServerCostsNoConnection() throws Exception {
		try (TcpProxy proxy = new TcpProxy(this.server)) {
			AdvisoryLockStore watching = watchByPool(proxy.port());
			int before = this.opened.get();
			proxy.hold();
			AtomicBoolean released = new AtomicBoolean();
			CompletableFuture.delayedExecutor(2, TimeUnit.SECONDS).execute(() -> {
				released.set(true);
				proxy.release();
			});
			assertThat(watching.watch(false)).isNotNull();
			assertThat(released).isTrue();
			assertThat(this.pool.isClosed()).isFalse();
			assertThat(this.opened).hasValue(before);
		}
	}

	@Test
	@Tag("ring2")
	void serverThatIsSilentForLongerIsObservedOneTimeLater() throws Exception {
		try (TcpProxy proxy = new TcpProxy(this.server)) {
			AdvisoryLockStore watching = watchByPool(proxy.port());
			int before = this.opened.get();
			proxy.hold();
			assertThat(watching.watch(false)).isNull();
			assertThat(this.opened).hasValue(before);
			assertThat(watching.watch(false)).isNotNull();
			assertThat(this.opened).hasValue(before + 1);
		}
	}

	/**
	 * As all its connections may be in use for long.
	 */
	@Test
	void poolThatHasNoConnectionAnyLongerCostsNoObservation() throws Exception {
		AdvisoryLockStore watching = watchByPool(this.server.port());
		int before = this.opened.get();
		Connection lent = this.pool;
		for (int i = 1; i <= 2; i++) {
			this.pool = null;
			assertThat(watching.watch(false)).isNotNull();
			assertThat(this.opened).hasValue(before + i);
			this.pool = lent;
			assertThat(watching.watch(false)).isNotNull();
			assertThat(this.opened).hasValue(before + i);
		}
	}

	@Test
	void locksAreNotReadWhileTheLeaderIsTheSameAndNoSeatIsFree() throws Exception {
		this.pool = connect();
		StoreSession leader = candidate("node-1");
		Won won = win(leader);
		StoreSession standby = candidate("node-2");
		StoreSession other = candidate("node-3");
		AdvisoryLockStore watching = watching();
		for (int i = 0; i < 3; i++) {
			Watch watch = watching.watch(false);
			assertThat(watch.open()).isFalse();
			assertThat(watch.view().leader()).isNotNull().extracting(Holder::term).isEqualTo(won.term());
			assertThat(watch.view().candidates()).hasSize(STANDBYS + 1);
			assertThat(lastStatementOfThePool()).doesNotContain("pg_locks")
				.contains("pg_try_advisory_xact_lock_shared");
		}
		other.close();
		await().until(() -> seats().size() < STANDBYS);
		assertThat(watching.watch(false).open()).isTrue();
		assertThat(lastStatementOfThePool()).contains("pg_locks");
		candidate("node-5");
		assertThat(watching.watch(false).view().candidates()).as("as soon as no seat is free").hasSize(STANDBYS + 1);
		watching.watch(false);
		assertThat(lastStatementOfThePool()).doesNotContain("pg_locks");
		leader.close();
		await().until(() -> standby.acquire(NO_WAIT) instanceof Won);
		candidate("node-6");
		assertThat(seats()).hasSize(STANDBYS);
		Watch watch = watching.watch(false);
		assertThat(watch.open()).isFalse();
		assertThat(watch.view().leader()).isNotNull().extracting(Holder::nodeId).isEqualTo("node-2");
	}

	@Test
	void locksAreReadIfTheServerHasNoSpaceForMore() throws Exception {
		AdvisoryLockStore watching = store("node-4",
				(sql) -> willReturn("DO $$ BEGIN RAISE SQLSTATE '53200'; END $$; SELECT false").given(sql)
					.isUnchanged(any(), any()));
		for (int i = 1; i <= STANDBYS + 1; i++) {
			StoreSession session = candidate("node-" + i);
			session.acquire(NO_WAIT);
		}
		for (boolean pooled : new boolean[] { false, true }) {
			this.pool = pooled ? connect() : null;
			for (int i = 0; i < 3; i++) {
				Watch watch = watching.watch(false);
				assertThat(watch).isNotNull();
				assertThat(watch.view().candidates()).hasSize(STANDBYS + 1);
			}
		}
	}

	/**
	 * A process that stops directly after the statement must not keep seats from others.
	 */
	@Test
	void lockThatTriesASeatEndsWithItsStatement() throws Exception {
		StoreSession leader = leader("node-1");
		StoreSession standby = candidate("node-2");
		candidate("node-3");
		List<String> left = new ArrayList<>();
		this.pool = spy(begin());
		int pid = PostgreSqlServer.pid(this.pool);
		Answer<?> count = (call) -> {
			left.addAll(this.server.query("SELECT count(*) FROM pg_locks WHERE pid = " + pid));
			return call.callRealMethod();
		};
		willAnswer(count).given(this.pool).rollback();
		willAnswer(count).given(this.pool).setAutoCommit(false);
		AdvisoryLockStore watching = watching();
		assertThat(watching.watch(false).open()).isFalse();
		standby.close();
		await().until(() -> seats().size() < STANDBYS);
		assertThat(watching.watch(false).open()).isTrue();
		assertThat(left).hasSize(2).containsOnly("0");
	}

	@Test
	void sessionThatTriesSeatsIsNotForeign() throws Exception {
		candidate("node-1");
		candidate("node-2");
		this.sessions.get(1).close();
		await().until(() -> seats().size() < STANDBYS);
		connect("SELECT pg_advisory_lock_shared(" + this.keys.observerClass() + ", number) FROM generate_series(1, "
				+ STANDBYS + ") AS number WHERE number <> " + ElectionKeys.FIRST_SEAT);
		AdvisoryLockStore watching = store("node-4");
		await().pollInterval(FOREIGN_INTERVAL)
			.during(FOREIGN_INTERVAL.multipliedBy(3))
			.until(() -> watching.watch(false).view().foreign() == null);
	}

	private String lastStatementOfThePool() throws SQLException {
		return this.server.query("SELECT query FROM pg_stat_activity WHERE pid = " + PostgreSqlServer.pid(this.pool))
			.get(0);
	}

	@Test
	@Tag("ring2")
	void poolOfAnotherClusterWithTheSameDatabaseIdIsNotUsed() throws Exception {
		try (PostgreSqlServer other = PostgreSqlServer.startOtherCluster()) {
			String databaseId = "SELECT oid FROM pg_database WHERE datname = current_database()";
			assertThat(other.query(databaseId)).isEqualTo(this.server.query(databaseId));
			assertThat(other.query(DatabaseIdentity.CLUSTER)).isNotEqualTo(this.server.query(DatabaseIdentity.CLUSTER));
			// Without this right, a role cannot distinguish the clusters by their
			// identifier
			for (boolean identifier : new boolean[] { true, false }) {
				if (!identifier) {
					other.createRole("lender");
					other.execute("REVOKE EXECUTE ON FUNCTION pg_catalog.pg_control_system() FROM PUBLIC");
				}
				this.pool = other.connectAs(identifier ? other.username() : "lender", new Properties());
				AdvisoryLockStore watching = watching();
				if (identifier) {
					candidate("node-1");
					candidate("node-2");
				}
				int before = this.opened.get();
				for (int i = 1; i <= 2; i++) {
					Watch watch = watching.watch(false);
					assertThat(watch.open()).isFalse();
					assertThat(watch.view().candidates()).hasSize(2);
					assertThat(this.opened).hasValue(before + i);
				}
				this.pool.close();
			}
		}
	}

	@Test
	void poolWithOtherSettingsIsUsed() throws Exception {
		this.pool = connect("SET TIME ZONE 'Asia/Kolkata'", "SET extra_float_digits = 0");
		assertPoolIsUsed();
	}

	@Test
	void poolWithADriverOfAnotherClassLoaderIsUsed() throws Exception {
		this.pool = tracked(this.server.withOtherClassLoader().getConnection());
		assertPoolIsUsed();
	}

	private void assertPoolIsUsed() throws Exception {
		AdvisoryLockStore watching = watching();
		int before = this.opened.get();
		assertThat(watching.watch(false).open()).isTrue();
		assertThat(this.opened).hasValue(before);
	}

	@Test
	@Tag("ring2")
	void foreignHolderOfASeatIsReportedByWatcherAndLeader() throws Exception {
		StoreSession leader = candidate("node-1");
		Won won = win(leader);
		candidate("node-2");
		AdvisoryLockStore watching = store("node-4");
		assertThat(watching.watch(false).view().foreign()).isNull();
		Connection foreign = connect("SET application_name = 'psql'",
				"SELECT pg_advisory_lock(" + this.keys.observerClass() + ", " + (STANDBYS + 1) + ")");
		await().pollInterval(FOREIGN_INTERVAL)
			.during(FOREIGN_INTERVAL.multipliedBy(2))
			.until(() -> watching.watch(false).view().foreign() == null);
		execute(foreign,
				"SELECT pg_advisory_lock(" + this.keys.observerClass() + ", number) " + "FROM generate_series(1, "
						+ STANDBYS + ") AS number WHERE pg_try_advisory_lock(" + this.keys.observerClass()
						+ ", number)");
		assertThat(seats()).hasSize(STANDBYS + 1);
		await().pollInterval(FOREIGN_INTERVAL).until(() -> watching.watch(false).view().foreign() != null);
		Watch watch = watching.watch(false);
		assertThat(watch.open()).isFalse();
		assertThat(watch.view().foreign()).matches((session) -> session != null && session.kind() == Kind.OTHER)
			.asString()
			.startsWith("session with pid")
			.contains("'psql'");
		assertThat(watch.view().leader()).isNotNull().extracting(Holder::term).isEqualTo(won.term());
		assertThat(watch.view().candidates()).hasSize(2);
		await().pollInterval(FOREIGN_INTERVAL).until(() -> {
			leader.candidates();
			return leader.confirm(true).foreign() != null;
		});
		assertThat(leader.confirm(true).foreign()).contains("'psql'");
		assertThat(leader.confirm(true).predecessor()).isNull();
		leader.release(true);
		View view = watching.watch(false).view();
		assertThat(view.leader()).isNull();
		assertThat(view.foreign()).as("a place only")
			.matches((session) -> session != null && session.kind() == Kind.OTHER);
		foreign.close();
		await().until(() -> watching.watch(false).view().foreign() == null);
		assertThat(watching.watch(false).open()).isTrue();
	}

}
