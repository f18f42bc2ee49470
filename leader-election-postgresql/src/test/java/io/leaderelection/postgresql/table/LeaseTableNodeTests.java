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
import java.util.ArrayList;
import java.util.List;
import java.util.Properties;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;

import io.leaderelection.engine.SessionException;
import io.leaderelection.engine.StoreSession;
import io.leaderelection.engine.StoreSession.Acquisition;
import io.leaderelection.engine.StoreSession.Acquisition.Won;
import io.leaderelection.postgresql.ServerInspection;
import io.leaderelection.testsupport.Daemon;
import io.leaderelection.testsupport.PostgreSqlServer;
import io.leaderelection.testsupport.TcpProxy;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.mockito.stubbing.Answer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.awaitility.Awaitility.await;
import static org.mockito.ArgumentMatchers.any;
import static org.mockito.ArgumentMatchers.anyBoolean;
import static org.mockito.ArgumentMatchers.anyLong;
import static org.mockito.BDDMockito.willAnswer;

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
	void electionsOfANodeAreTakenOverTogether() throws Exception {
		AtomicInteger changes = new AtomicInteger();
		TestNode owner = node("node-b");
		TestNode node = node("node-a", (settings) -> connect(this.server.port(), settings), LEASE, (sql) -> {
			willAnswer(counting(changes)).given(sql).expire(any(), anyLong());
			willAnswer(counting(changes)).given(sql).takeOver(any(), anyLong(), any(), anyLong());
		});
		List<StoreSession> sessions = new ArrayList<>();
		for (int i = 0; i < 20; i++) {
			lead(owner.open("election-" + i));
			sessions.add(node.open("election-" + i));
		}
		List<Future<?>> waiting = acquire(sessions);
		node.clock.advance(LEASE);
		sessions.get(7).wake();
		for (Future<?> each : waiting) {
			assertThat(get(each)).isInstanceOf(Won.class);
		}
		assertThat(changes).hasValue(2);
	}

	@Test
	void lockedElectionOfADeadNodeDoesNotDelayTheOthers() throws Exception {
		TestNode owner = node("node-b");
		TestNode node = node();
		List<StoreSession> sessions = new ArrayList<>();
		for (int i = 0; i < 5; i++) {
			lead(owner.open("election-" + i));
			sessions.add(node.open("election-" + i));
		}
		Connection foreign = begin("SELECT FROM %s WHERE election = 'election-3' FOR SHARE".formatted(this.table));
		List<Future<?>> waiting = acquire(sessions);
		node.clock.advance(LEASE);
		sessions.get(0).wake();
		for (int i = 0; i < 5; i++) {
			assertThat(get(waiting.get(i)) instanceof Won).isEqualTo(i != 3);
		}
		StoreSession locked = sessions.get(3);
		assertThat(String.valueOf(hold(locked).view().foreign()))
			.contains("pid " + PostgreSqlServer.pid(foreign) + " ");
		foreign.rollback();
		awaitWon(locked);
	}

	@Test
	void nodeTakesWhatItWantsOfASessionThatAnotherNodeEndsFirst() throws Exception {
		TestNode owner = node("node-b");
		leader(owner);
		lead(owner.open("other"));
		StoreSession faster = follower("node-c");
		advance(faster, LEASE);
		AtomicInteger searches = new AtomicInteger();
		TestNode node = node("node-a", (sql) -> {
			willAnswer((call) -> {
				win(faster);
				return call.callRealMethod();
			}).given(sql).expire(any(), anyLong());
			willAnswer(counting(searches)).given(sql).lockers(any(), anyLong());
		});
		StoreSession slower = node.open("other");
		hold(slower);
		node.clock.advance(LEASE);
		hold(slower);
		win(slower);
		assertThat(searches).hasValue(0);
	}

	@ParameterizedTest
	@ValueSource(strings = { "SELECT 1 / 0", "SELECT pg_terminate_backend(pg_backend_pid())" })
	void failureAfterATakeoverDoesNotTakeItBack(String failure) throws Exception {
		AtomicReference<String> failing = new AtomicReference<>(failure);
		StoreSession session = node("node-a",
				(sql) -> willAnswer((call) -> (failing.get() != null) ? failing.get() : call.callRealMethod())
					.given(sql)
					.otherStore(any()))
			.open();
		Won won = win(session);
		assertThat(confirm(session).predecessor()).contains("advisory-lock, if there are any");
		failing.set(null);
		assertThat(confirm(session).predecessor()).isNull();
		assertThat(election("term")).isEqualTo(String.valueOf(won.term().transactionId()));
	}

	@Test
	void slowServerDoesNotKeepAnElectionFromBeingFreed() throws Exception {
		TestNode node = node();
		StoreSession leader = leader(node);
		StoreSession other = node.open("other");
		lead(other);
		this.beforeRound = () -> node.clock.advance(LEASE.dividedBy(4));
		other.release(true);
		this.beforeRound = NOTHING;
		assertThat(this.server.query("SELECT owner IS NULL FROM %s WHERE election = 'other'".formatted(this.table)))
			.containsExactly("t");
		leader.confirm(true);
	}

	@Test
	void lastElectionEndsAnAttemptToConnectThatHangs() throws Exception {
		AtomicBoolean hangs = new AtomicBoolean(true);
		CountDownLatch connecting = new CountDownLatch(1);
		TestNode node = node("node-a", (settings) -> {
			if (hangs.get()) {
				connecting.countDown();
				while (!Thread.interrupted()) {
					LockSupport.park();
				}
				throw new SQLException("interrupted");
			}
			return connect(this.server.port(), settings);
		}, LEASE, UNCHANGED);
		FutureTask<?> opening = new FutureTask<>(node::open);
		Thread thread = Daemon.start("opens", opening);
		awaitLatch(connecting);
		thread.interrupt();
		assertFails(opening, "The session has been aborted");
		await().until(() -> threads() == 0);
		hangs.set(false);
		node.open();
	}

	@Test
	void abortOfAnElectionEndsAnAttemptToConnectThatTakesTooLong() throws Exception {
		AtomicBoolean hangs = new AtomicBoolean();
		CountDownLatch connecting = new CountDownLatch(1);
		TestNode node = node("node-a", (settings) -> {
			while (hangs.get()) {
				connecting.countDown();
				LockSupport.park();
				if (Thread.interrupted()) {
					throw new SQLException("interrupted");
				}
			}
			return connect(this.server.port(), settings);
		}, LEASE, UNCHANGED);
		StoreSession first = node.open();
		StoreSession second = node.open("second");
		StoreSession third = node.open("third");
		hangs.set(true);
		terminate("node-a");
		Future<?> reading = start(() -> acquireOnAnotherConnection(second));
		awaitLatch(connecting);
		first.abort();
		awaitStill(() -> !reading.isDone());
		node.clock.advance(LEASE);
		hangs.set(false);
		third.abort();
		get(reading);
	}

	private static Acquisition acquireOnAnotherConnection(StoreSession session) {
		while (true) {
			try {
				return session.acquire(NO_WAIT);
			}
			catch (SessionException ex) {
				// The connection has ended, or could not be opened
				Thread.yield();
			}
		}
	}

	/**
	 * Its first takeover may have been lost in the promotion.
	 */
	@Test
	void missingRowOnAPromotedServerIsNotReadWithoutPause() throws Exception {
		TestNode node = node("node-a", (sql) -> willAnswer((call) -> {
			this.rounds.incrementAndGet();
			return String.valueOf(call.callRealMethod()).replace(ServerInspection.TIMELINE, "2::bigint");
		}).given(sql).round(any(), anyLong(), anyBoolean(), any(), anyBoolean()));
		StoreSession session = node.open();
		int before = this.rounds.get();
		hold(session);
		Future<?> waiting = start(() -> session.acquire(Duration.ofMinutes(1)));
		awaitStill(() -> !waiting.isDone());
		assertThat(this.rounds.get() - before).isLessThan(5);
	}

	/**
	 * Its settings would be those of a session that other clients use, too.
	 */
	@Test
	void connectionThatIsAnsweredByAnotherSessionOfTheServerIsThatOfAPooler() throws Exception {
		AtomicReference<LeaseTableSql> last = new AtomicReference<>();
		TestNode node = node("node-a", (sql) -> {
			last.set(sql);
			willAnswer((call) -> String.valueOf(call.callRealMethod()).replace("pg_backend_pid() AS pid", "0 AS pid"))
				.given(sql)
				.round(any(), anyLong(), anyBoolean(), any(), anyBoolean());
		});
		assertThatExceptionOfType(SessionException.class).isThrownBy(node::open)
			.withMessageContaining("there is a pooler");
		lead(node.open());
		assertThat(last.get().announce(List.of())).startsWith("SET TRANSACTION");
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
		// Registers the candidate
		other.observe();
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
	void errorInATurnFailsTheReadsOfThatTurnOnly() throws Exception {
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
	void electionLeavesAConnectionThatHangsToTheOthers() throws Exception {
		try (TcpProxy proxy = new TcpProxy(this.server)) {
			TestNode node = node(proxy.port());
			StoreSession leader = leader(node);
			StoreSession other = node.open("other");
			List<String> token = rows("node-a", "token");
			int before = this.connects.get();
			proxy.hold();
			Future<?> hanging = start(other::observe);
			Future<?> confirmation = start(() -> leader.confirm(true));
			awaitStill(() -> !hanging.isDone() && !confirmation.isDone());
			other.abort();
			assertFails(hanging, "The session has been aborted");
			awaitStill(() -> !confirmation.isDone());
			proxy.release();
			get(confirmation);
			assertThat(this.connects.get()).isEqualTo(before);
			assertThat(rows("node-a", "token")).isEqualTo(token);
		}
	}

	@Test
	void lastElectionEndsAConnectionThatHangs() throws Exception {
		try (TcpProxy proxy = new TcpProxy(this.server)) {
			TestNode node = node(proxy.port());
			StoreSession leader = leader(node);
			List<String> token = rows("node-a", "token");
			proxy.hold();
			Future<?> confirmation = start(() -> leader.confirm(true));
			awaitStill(() -> !confirmation.isDone());
			leader.abort();
			assertFails(confirmation, "The session has been aborted");
			proxy.heal();
			// The session of the node goes on, and frees what it does not lead
			win(node.open());
			assertThat(rows("node-a", "token")).isEqualTo(token);
		}
	}

	@Test
	void threadEndsWithTheLastElection() throws Exception {
		TestNode node = node();
		StoreSession first = node.open();
		StoreSession second = node.open("second");
		first.close();
		await().until(() -> threads() == 1);
		second.abort();
		await().until(() -> threads() == 0);
		node.open("third").close();
		await().until(() -> threads() == 0);
		assertThat(rows("node-a", "token")).isEmpty();
	}

	private static long threads() {
		return Thread.getAllStackTraces()
			.keySet()
			.stream()
			.filter((thread) -> thread.getName().equals("leader-election-table"))
			.count();
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
			StoreSession session = leader(node);
			proxy.hold();
			assertFails(start(session::observe), "The lease table could not be used");
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
		AtomicReference<Connection> connection = new AtomicReference<>();
		node("node-a", (settings) -> {
			connection.set(connect(this.server.port(), settings));
			return connection.get();
		}, LEASE, this::hook).open();
		assertThat(value(connection.get(), "SHOW idle_session_timeout")).isEqualTo("30s");
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
		await().until(() -> election("owner IS NULL AND NOT clean").equals("t"));
		other.release(true);
		other.close();
		assertThat(rows("node-a", "token")).isEmpty();
	}

	@Test
	void electionWhoseRowIsDeletedBeforeItIsFreedIsNotOwnedAnyLonger() throws Exception {
		AtomicBoolean owns = new AtomicBoolean();
		TestNode node = node("node-a", (sql) -> willAnswer((call) -> {
			owns.set(call.getArgument(2));
			return call.callRealMethod();
		}).given(sql).round(any(), anyLong(), anyBoolean(), any(), anyBoolean()));
		StoreSession first = leader(node);
		StoreSession other = node.open("other");
		Connection foreign = begin("DELETE FROM " + this.table);
		first.release(true);
		first.close();
		assertThat(owns).isTrue();
		foreign.commit();
		other.observe();
		other.observe();
		assertThat(owns).isFalse();
	}

	private static Answer<?> counting(AtomicInteger calls) {
		return (call) -> {
			calls.incrementAndGet();
			return call.callRealMethod();
		};
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

	/**
	 * Have a round call what a test wants to happen.
	 */
	private void hook(LeaseTableSql sql) {
		willAnswer((call) -> {
			this.rounds.incrementAndGet();
			this.beforeRound.run();
			return call.callRealMethod();
		}).given(sql).round(any(), anyLong(), anyBoolean(), any(), anyBoolean());
	}

}
