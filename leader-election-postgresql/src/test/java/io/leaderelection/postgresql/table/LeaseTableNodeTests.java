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
import java.time.Clock;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Properties;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;

import io.leaderelection.engine.ElectionSettings;
import io.leaderelection.engine.Platform;
import io.leaderelection.engine.SessionException;
import io.leaderelection.engine.StoreSession;
import io.leaderelection.engine.StoreSession.Acquisition;
import io.leaderelection.engine.StoreSession.Acquisition.Won;
import io.leaderelection.postgresql.ConnectionSource;
import io.leaderelection.postgresql.ElectionKeys;
import io.leaderelection.postgresql.Jdbc;
import io.leaderelection.testsupport.Daemon;
import io.leaderelection.testsupport.TcpProxy;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.mockito.AdditionalAnswers;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.awaitility.Awaitility.await;
import static org.mockito.ArgumentMatchers.any;
import static org.mockito.ArgumentMatchers.anyLong;
import static org.mockito.BDDMockito.willAnswer;
import static org.mockito.Mockito.mock;

/**
 * Tests for {@link LeaseTableNode}: the elections of a node share one connection, and do
 * not disturb each other.
 */
@Tag("ring1")
class LeaseTableNodeTests extends LeaseTableFixture {

	private static final Runnable NOTHING = () -> {
	};

	private final AtomicInteger rounds = new AtomicInteger();

	private final AtomicInteger connects = new AtomicInteger();

	/** Called before a round is sent. */
	private volatile Runnable beforeRound = NOTHING;

	private volatile boolean refused;

	@Test
	void electionsThatWaitNeedOneRound() throws Exception {
		List<StoreSession> sessions = openFollowers(node());
		List<Future<?>> waiting = acquire(sessions);
		int before = this.rounds.get();
		sessions.get(7).wake();
		for (Future<?> each : waiting) {
			get(each);
		}
		assertThat(this.rounds.get() - before).isOne();
	}

	@Test
	void oneAttemptToConnectFailsAllReads() throws Exception {
		TestNode node = node();
		List<StoreSession> sessions = openFollowers(node);
		List<Future<?>> waiting = acquire(sessions);
		int before = this.connects.get();
		this.refused = true;
		terminate("node-a");
		sessions.get(7).wake();
		for (Future<?> each : waiting) {
			assertFails(each, "refused");
		}
		assertThat(this.connects.get() - before).isOne();
		this.refused = false;
		node.open("later");
	}

	/**
	 * Open sessions of elections that have an owner.
	 */
	private List<StoreSession> openFollowers(TestNode node) throws SessionException {
		List<StoreSession> sessions = new ArrayList<>();
		for (int i = 0; i < 20; i++) {
			sessions.add(node.open("election-" + i));
		}
		this.server
			.execute("INSERT INTO " + this.table + " SELECT 'election-' || i, 1, 1, gen_random_uuid(), false, now()"
					+ " FROM generate_series(0, 19) AS i");
		return sessions;
	}

	private static List<Future<?>> acquire(List<StoreSession> sessions) throws SessionException {
		List<Future<?>> waiting = new ArrayList<>();
		for (StoreSession session : sessions) {
			hold(session);
		}
		for (StoreSession session : sessions) {
			waiting.add(start(() -> session.acquire(Duration.ofMinutes(1))));
		}
		awaitStill(() -> waiting.stream().noneMatch(Future::isDone));
		return waiting;
	}

	@Test
	void confirmationNeedsARoundThatBeginsAfterItsCall() throws Exception {
		TestNode node = node();
		StoreSession leader = leader(node);
		StoreSession other = node.open("other");
		CountDownLatch sent = new CountDownLatch(1);
		CountDownLatch goOn = new CountDownLatch(1);
		int before = this.rounds.get();
		this.beforeRound = () -> {
			sent.countDown();
			awaitLatch(goOn);
		};
		Future<?> read = start(other::observe);
		awaitLatch(sent);
		Future<?> confirmation = start(() -> leader.confirm(true));
		awaitStill(() -> !confirmation.isDone());
		this.beforeRound = NOTHING;
		goOn.countDown();
		get(read);
		get(confirmation);
		assertThat(this.rounds.get() - before).isEqualTo(2);
	}

	@Test
	void confirmationsAreRepeatedWithPausesUntilARoundSucceeds() throws Exception {
		TestNode node = node();
		StoreSession leader = leader(node);
		node.clock.advance(Duration.ofSeconds(1));
		int before = this.rounds.get();
		this.beforeRound = () -> {
			throw new IllegalStateException("seeded");
		};
		Future<?> confirmation = start(() -> leader.confirm(true));
		await().until(() -> this.rounds.get() - before >= 3);
		int soon = this.rounds.get();
		awaitStill(() -> !confirmation.isDone());
		// After pauses of 200 ms and more
		assertThat(this.rounds.get() - soon).isLessThan(10);
		this.beforeRound = NOTHING;
		get(confirmation);
	}

	@Test
	void errorOfAThreadThatUsesTheConnectionLeavesItToTheOthers() throws Exception {
		TestNode node = node();
		StoreSession leader = leader(node);
		StoreSession other = node.open("other");
		this.beforeRound = () -> {
			throw new OutOfMemoryError("seeded");
		};
		Future<?> read = start(other::observe);
		Future<?> confirmation = start(() -> leader.confirm(true));
		assertFails(read, "Unexpected failure: java.lang.OutOfMemoryError: seeded");
		this.beforeRound = NOTHING;
		get(confirmation);
		win(other);
	}

	@Test
	void abortEndsTheWaitOfItsElectionOnly() throws Exception {
		TestNode node = node();
		List<StoreSession> sessions = openFollowers(node);
		List<Future<?>> waiting = acquire(sessions);
		sessions.get(3).abort();
		assertFails(waiting.get(3), "The session has been aborted");
		awaitStill(() -> waiting.stream().filter(Future::isDone).count() == 1);
		assertThatExceptionOfType(SessionException.class).isThrownBy(() -> sessions.get(3).observe());
	}

	@Test
	void abortEndsTheConnectionOnlyIfItsElectionUsesIt() throws Exception {
		try (TcpProxy proxy = new TcpProxy(this.server)) {
			TestNode node = node(proxy.port());
			StoreSession leader = leader(node);
			StoreSession waits = node.open("waits");
			StoreSession uses = node.open("uses");
			List<String> token = rows("node-a", "token");
			int before = this.connects.get();
			proxy.hold();
			Future<?> hanging = start(uses::observe);
			awaitStill(() -> !hanging.isDone());
			Future<?> waiting = start(waits::observe);
			awaitStill(() -> !waiting.isDone());
			Future<?> confirmation = start(() -> leader.confirm(true));
			waits.abort();
			assertFails(waiting, "The session has been aborted");
			awaitStill(() -> !hanging.isDone() && !confirmation.isDone());
			assertThat(this.connects.get()).isEqualTo(before);
			uses.abort();
			assertFails(hanging, "");
			proxy.release();
			get(confirmation);
			assertThat(this.connects.get()).isEqualTo(before + 1);
			assertThat(rows("node-a", "token")).isEqualTo(token);
		}
	}

	@Test
	void interruptEndsTheWaitForTheConnectionOfASessionThatIsOpened() throws Exception {
		try (TcpProxy proxy = new TcpProxy(this.server)) {
			TestNode node = node(proxy.port());
			proxy.hold();
			Future<?> uses = start(() -> node.open("uses"));
			await().until(() -> this.connects.get() == 1);
			FutureTask<?> waits = new FutureTask<>(() -> node.open("waits"));
			Thread thread = Daemon.start("waits", waits);
			awaitStill(() -> !waits.isDone());
			thread.interrupt();
			assertFails(waits, "The session has been aborted");
			proxy.release();
			get(uses);
		}
	}

	@Test
	void onlyTheElectionThatMustBeInterruptedFailsWithoutAThreadForIt() {
		CountDownLatch connecting = new CountDownLatch(1);
		CountDownLatch hangs = new CountDownLatch(1);
		LeaseTableNode node = leaseTableNode((settings) -> {
			connecting.countDown();
			awaitLatch(hangs);
			throw new SQLException("refused", "08001");
		}, new Clock() {

			@Override
			public Thread newThread(String name, Runnable task) {
				throw new OutOfMemoryError("unable to create native thread");
			}

		});
		LeaseTableSession uses = session(node, "uses");
		Future<?> opens = start(() -> {
			uses.open();
			return true;
		});
		awaitLatch(connecting);
		assertThatExceptionOfType(OutOfMemoryError.class).isThrownBy(uses::abort);
		session(node, "other").abort();
		hangs.countDown();
		assertFails(opens, "");
	}

	/**
	 * The abort finds no connection, and the answers to a connection that is lost may
	 * never come.
	 */
	@Test
	void connectionIsNotUsedAfterAnAbort() throws Exception {
		AtomicReference<StoreSession> aborted = new AtomicReference<>();
		TestNode node = node("node-a", (settings) -> {
			Connection connection = connect(this.server.port(), settings);
			if (aborted.get() == null) {
				return connection;
			}
			aborted.get().abort();
			Connection silent = mock(Connection.class, AdditionalAnswers.delegatesTo(connection));
			willAnswer((call) -> {
				while (true) {
					// An interrupt does not end the read of a socket either
					Thread.interrupted();
					LockSupport.park();
				}
			}).given(silent).createStatement();
			return silent;
		}, LEASE, this::hook);
		StoreSession uses = node.open("uses");
		aborted.set(uses);
		terminate("node-a");
		assertFails(start(() -> {
			try {
				return uses.observe();
			}
			catch (SessionException ex) {
				// The connection had ended
				return uses.observe();
			}
		}), "The session has been aborted");
	}

	@Test
	void interruptThatHangsDoesNotHoldTheConnection() throws Exception {
		CountDownLatch connecting = new CountDownLatch(1);
		CountDownLatch hangs = new CountDownLatch(1);
		TestNode node = node("node-a", (settings) -> {
			if (Thread.currentThread().getName().equals("uses")) {
				connecting.countDown();
				LockSupport.parkNanos(LIMIT.toNanos());
				throw new SQLException("interrupted", "08001");
			}
			return connect(this.server.port(), settings);
		}, LEASE, this::hook);
		StoreSession leader = leader(node);
		StoreSession uses = node.open("uses");
		terminate("node-a");
		FutureTask<?> connects = new FutureTask<>(() -> {
			// The first one finds that the connection has ended
			assertThatExceptionOfType(SessionException.class).isThrownBy(uses::observe);
			return uses.observe();
		});
		Thread thread = new Thread(connects, "uses") {

			@Override
			public void interrupt() {
				super.interrupt();
				awaitLatch(hangs);
			}

		};
		thread.start();
		awaitLatch(connecting);
		uses.abort();
		leader.confirm(true);
		leader.confirm(true);
		leader.release(true);
		assertThat(connects.isDone()).isFalse();
		hangs.countDown();
		assertFails(connects, "The session has been aborted");
	}

	@Test
	void strayInterruptDoesNotEndATermOrAWait() throws Exception {
		TestNode node = node();
		StoreSession leader = leader(node);
		Thread.currentThread().interrupt();
		leader.confirm(true);
		assertThat(Thread.interrupted()).isFalse();
		StoreSession follower = openFollowers(node).get(0);
		hold(follower);
		FutureTask<?> waiting = new FutureTask<>(() -> follower.acquire(Duration.ofMinutes(1)));
		Thread thread = Daemon.start("waits", waiting);
		awaitStill(() -> !waiting.isDone());
		thread.interrupt();
		awaitStill(() -> !waiting.isDone());
		confirm(leader);
	}

	@Test
	void roundWithoutAnAnswerIsEndedAfterALimit() throws Exception {
		try (TcpProxy proxy = new TcpProxy(this.server)) {
			TestNode node = node("node-a", (settings) -> this.server.connect(proxy.port(), settings),
					Duration.ofSeconds(1), UNCHANGED);
			StoreSession session = node.open();
			proxy.hold();
			assertFails(start(session::observe), "The lease table could not be used");
		}
	}

	@Test
	void taskThatFailsNeitherFailsAnotherNorEndsTheConnection() throws Exception {
		LeaseTableNode node = leaseTableNode();
		LeaseTableSession first = open(node, "first");
		LeaseTableSession second = open(node, "second");
		CountDownLatch latch = new CountDownLatch(1);
		Future<Connection> busy = submit(() -> node.run(first, (open) -> {
			awaitLatch(latch);
			return open.connection();
		}));
		Future<Boolean> failing = submit(() -> node.run(first, (open) -> {
			throw new SQLException("seeded", "22012");
		}));
		Future<Connection> other = submit(() -> node.run(second, LeaseTableConnection::connection));
		latch.countDown();
		assertThat(get(other)).isSameAs(get(busy));
		assertFails(failing, "seeded");
	}

	@Test
	void manyTasksDoNotDelayARenewal() throws Exception {
		LeaseTableNode node = leaseTableNode();
		LeaseTableSession leader = open(node, "first");
		win(leader);
		LeaseTableSession other = open(node, "second");
		CountDownLatch latch = new CountDownLatch(1);
		submit(() -> node.run(other, (open) -> awaitLatch(latch)));
		String before = rows("node-a", "beat").get(0);
		List<Future<String>> beats = new ArrayList<>();
		for (int i = 0; i < 10; i++) {
			beats.add(submit(() -> node.run(other, (open) -> {
				// Longer than the time for which the renewal waits for others
				Jdbc.query(open.connection(), "SELECT true FROM pg_sleep(0.02)", (row) -> true);
				return value(open.connection(), "SELECT beat FROM " + this.table + "_node");
			})));
		}
		Future<?> renewal = submit(() -> leader.confirm(true));
		awaitStill(() -> !renewal.isDone());
		latch.countDown();
		get(renewal);
		List<String> seen = new ArrayList<>();
		for (Future<String> beat : beats) {
			seen.add(get(beat));
		}
		assertThat(seen).filteredOn(before::equals).hasSizeLessThan(2);
	}

	@Test
	void manyRoundsDoNotDelayATask() throws Exception {
		LeaseTableNode node = leaseTableNode();
		List<Future<Boolean>> readers = new ArrayList<>();
		CountDownLatch end = new CountDownLatch(1);
		for (int i = 0; i < 8; i++) {
			LeaseTableSession session = open(node, "reader-" + i);
			readers.add(start(() -> {
				while (end.getCount() > 0) {
					node.read(session, 0);
				}
				return true;
			}));
		}
		LeaseTableSession session = open(node, "first");
		for (int i = 0; i < 20; i++) {
			Future<Boolean> task = start(() -> node.run(session, (open) -> true));
			assertThat(get(task)).isTrue();
		}
		end.countDown();
		for (Future<Boolean> reader : readers) {
			assertThat(get(reader)).isTrue();
		}
	}

	@Test
	@Tag("ring2")
	void fiftyElectionsThatChangeDoNotEndTheTermOfAnother() throws Exception {
		TestNode node = node();
		StoreSession leader = node.open();
		Won won = lead(leader);
		List<Future<Boolean>> changes = new ArrayList<>();
		for (int i = 0; i < 50; i++) {
			StoreSession session = node.open("election-" + i);
			changes.add(start(() -> {
				for (int term = 0; term < 3; term++) {
					lead(session);
					session.release(true);
				}
				session.close();
				return true;
			}));
		}
		while (changes.stream().anyMatch((change) -> !change.isDone())) {
			assertThat(leader.confirm(true).predecessor()).isNull();
		}
		for (Future<Boolean> change : changes) {
			assertThat(get(change)).isTrue();
		}
		assertThat(election("term")).isEqualTo(String.valueOf(won.term().transactionId()));
	}

	@Test
	void noticeHurriesOnlyTheElectionThatItNames() throws Exception {
		TestNode node = node();
		Future<?> waiting = acquire(openFollowers(node).subList(0, 1)).get(0);
		String notice = "SELECT pg_notify('leader_election', 'public.%s election-%d')";
		this.server.execute(notice.formatted(this.table, 1));
		awaitStill(() -> !waiting.isDone());
		this.server.execute(notice.formatted(this.table, 0));
		get(waiting);
	}

	@Test
	void nodeThatLeadsAnElectionReceivesTheNoticesOfOthers() throws Exception {
		TestNode node = node();
		lead(node.open("led"));
		Future<?> waiting = acquire(openFollowers(node).subList(0, 1)).get(0);
		awaitStill(() -> !waiting.isDone());
		this.server.execute("SELECT pg_notify('leader_election', 'public.%s election-0')".formatted(this.table));
		get(waiting);
	}

	@Test
	void electionsThatWaitForNoticesDoNotDelayOneThatHasReceivedOne() throws Exception {
		StoreSession leader = leader("node-b");
		TestNode node = node();
		StoreSession follower = follower(node);
		acquire(openFollowers(node));
		Future<Won> takeover = start(() -> {
			Acquisition acquisition = follower.acquire(Duration.ofMinutes(1));
			return (acquisition instanceof Won won) ? won : awaitWon(follower);
		});
		awaitStill(() -> !takeover.isDone());
		leader.release(true);
		assertThat(get(takeover).term()).isNotNull();
	}

	@Test
	void idleTimeOfASessionOnTheServerIsLimited() throws Exception {
		LeaseTableNode node = leaseTableNode();
		LeaseTableSession session = open(node, "first");
		assertThat(node.<String>run(session, (open) -> value(open.connection(), "SHOW idle_session_timeout")))
			.isEqualTo("30s");
	}

	/**
	 * Its election is not among those of the next rounds any longer.
	 */
	@Test
	void electionWhoseReleaseWasSkippedIsFreedAfterItsSessionWasClosed() throws Exception {
		TestNode node = node();
		StoreSession first = leader(node);
		StoreSession other = node.open("other");
		lead(other);
		Connection foreign = begin(lockOfElection());
		first.release(true);
		first.close();
		foreign.rollback();
		confirm(other);
		assertThat(election("owner IS NULL AND NOT clean")).isEqualTo("t");
		other.release(true);
		other.close();
		assertThat(rows("node-a", "token")).isEmpty();
	}

	/**
	 * Start a thread, and return when it waits.
	 */
	private static <T> Future<T> submit(Callable<T> callable) {
		FutureTask<T> task = new FutureTask<>(callable);
		Thread thread = Daemon.start("test", task);
		await().until(() -> task.isDone() || thread.getState() == Thread.State.TIMED_WAITING);
		return task;
	}

	private static void assertFails(Future<?> task, String message) {
		assertThatExceptionOfType(ExecutionException.class).isThrownBy(() -> get(task))
			.havingCause()
			.isInstanceOf(SessionException.class)
			.withMessageContaining(message);
	}

	private static boolean awaitLatch(CountDownLatch latch) {
		try {
			assertThat(latch.await(LIMIT.toSeconds(), TimeUnit.SECONDS)).isTrue();
			return true;
		}
		catch (InterruptedException ex) {
			throw new IllegalStateException(ex);
		}
	}

	private TestNode node() {
		return node(this.server.port());
	}

	private TestNode node(int port) {
		return node("node-a", (settings) -> connect(port, settings), LEASE, this::hook);
	}

	private Connection connect(int port, Properties settings) throws SQLException {
		this.connects.incrementAndGet();
		if (this.refused) {
			throw new SQLException("refused", "08001");
		}
		return this.server.connect(port, settings);
	}

	private LeaseTableNode leaseTableNode() {
		return leaseTableNode((settings) -> tracked(this.server.connect(settings)), Platform.SYSTEM);
	}

	private LeaseTableNode leaseTableNode(ConnectionSource source, Platform platform) {
		return new LeaseTableNode(new LeaseTableConnector(source, this.table, true, "node-a", Duration.ofSeconds(5),
				(tables, server) -> new LeaseTableSql(tables, server, 5000), (identity, sql) -> {
				}), new LeaseTable.Node("node-a", "host-1", 4711), LEASE, platform);
	}

	private LeaseTableSession open(LeaseTableNode node, String election) throws SessionException {
		LeaseTableSession session = session(node, election);
		session.open();
		return session;
	}

	private LeaseTableSession session(LeaseTableNode node, String election) {
		return new LeaseTableSession(node, new LeaseTableFence(election, LEASE, () -> null, Platform.SYSTEM),
				new ElectionSettings(election, "node-a", LEASE, Duration.ZERO, Duration.ofSeconds(1), true), election,
				ElectionKeys.derive(this.table, election), 0);
	}

	/**
	 * Have a round call what a test wants to happen.
	 */
	private void hook(LeaseTableSql sql) {
		willAnswer((call) -> {
			this.rounds.incrementAndGet();
			this.beforeRound.run();
			return call.callRealMethod();
		}).given(sql).round(any(), anyLong(), any());
	}

}
