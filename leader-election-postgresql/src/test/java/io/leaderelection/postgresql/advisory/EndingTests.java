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
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.Properties;
import java.util.UUID;
import java.util.concurrent.Callable;
import java.util.concurrent.Future;

import io.leaderelection.engine.ElectionSettings.FastTakeover;
import io.leaderelection.engine.SessionException;
import io.leaderelection.engine.StoreSession;
import io.leaderelection.engine.StoreSession.Acquisition;
import io.leaderelection.engine.StoreSession.Acquisition.Ending;
import io.leaderelection.engine.StoreSession.Acquisition.Held;
import io.leaderelection.engine.StoreSession.Acquisition.Won;
import io.leaderelection.postgresql.ElectionKeys;
import io.leaderelection.testsupport.PgBouncer;
import io.leaderelection.testsupport.PostgreSqlServer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Tests for how a session that wins the lock judges the end of its predecessor, on a real
 * server. Each test has a database of its own, in which nothing else ends.
 */
@Tag("ring2")
class EndingTests extends AdvisoryLockFixture {

	private static final Duration WAIT = Duration.ofMillis(800);

	private static final Duration DELAY = Duration.ofMillis(30);

	private static final int MOST_TRIES = 10;

	private final String database = "ending_" + UUID.randomUUID().toString().replace('-', '_');

	private int elections;

	private int port = this.server.port();

	private String role = this.server.username();

	EndingTests() {
		this.allowSessionPooler = true;
		this.source = this::connect;
	}

	@BeforeEach
	void createDatabase() {
		this.server.execute("CREATE DATABASE " + this.database);
	}

	@AfterEach
	@Override
	protected void end() throws SQLException {
		super.end();
		this.server.execute("DROP DATABASE " + this.database + " WITH (FORCE)");
		this.server.execute("DROP ROLE IF EXISTS " + this.database);
	}

	@Test
	void connectionThatItsClientHasClosed() throws Exception {
		assertAbandoned((leader) -> leader.abort());
	}

	@Test
	void sessionThatItsClientHasTerminated() throws Exception {
		assertAbandoned((leader) -> leader.close());
	}

	@Test
	void cleanRelease() throws Exception {
		assertThat(ending((leader) -> leader.release(true))).isEqualTo(Ending.CLEAN);
	}

	@Test
	void releaseThatIsNotCleanByASessionThatLives() throws Exception {
		assertThat(ending((leader) -> leader.release(false))).isEqualTo(Ending.UNKNOWN);
	}

	@Test
	void sessionThatWasTerminated() throws Exception {
		assertThat(ending(this::terminate)).isEqualTo(Ending.UNKNOWN);
	}

	@ParameterizedTest
	@CsvSource({ "idle_session_timeout, SELECT 1", "idle_in_transaction_session_timeout, BEGIN" })
	void sessionThatWasIdleForTooLong(String timeout, String last) throws Exception {
		assertThat(ending((leader) -> execute(connection(leader), "SET " + timeout + " = 1; " + last)))
			.isEqualTo(Ending.UNKNOWN);
	}

	@ParameterizedTest
	@ValueSource(strings = { "track_counts = off", "track_activities = off", "stats_fetch_consistency = snapshot",
			"stats_fetch_consistency = none" })
	void sessionThatWasTerminatedWithOtherSettingsOfStatistics(String setting) throws Exception {
		Assumptions.assumeTrue(this.server.countsEndings(), "Endings are not distinguished");
		this.server.execute("ALTER DATABASE " + this.database + " SET " + setting);
		assertThat(ending(this::terminate)).isEqualTo(Ending.UNKNOWN);
		assertThat(ending((leader) -> execute(connection(leader), "SET idle_session_timeout = 1")))
			.isEqualTo(Ending.UNKNOWN);
	}

	@Test
	void statisticsThatWereResetMeanwhile() throws Exception {
		assertThat(ending((leader) -> {
			execute("SELECT pg_stat_reset()");
			leader.abort();
		})).isEqualTo(Ending.UNKNOWN);
	}

	@Test
	void anotherSessionThatWasTerminatedMeanwhile() throws Exception {
		assertThat(ending((leader) -> {
			try (Connection other = connect(new Properties())) {
				this.server.terminate(PostgreSqlServer.pid(other));
			}
			leader.abort();
		})).isEqualTo(Ending.UNKNOWN);
	}

	@Test
	void leaderThatHasNotBeenKnownForTheTakeoverDelay() throws Exception {
		assertThat(ending(this::lead, () -> candidate("node-b", this.lease.dividedBy(2), FastTakeover.AUTO),
				(follower) -> {
				}, StoreSession::abort))
			.isEqualTo(Ending.UNKNOWN);
	}

	@ParameterizedTest
	@CsvSource({ "30, FALSE", "10000, TRUE", "5, TRUE", "0, AUTO" })
	void settingsThatDoNotDistinguishEndings(int delay, FastTakeover fastTakeover) throws Exception {
		assertThat(ending(this::lead, () -> candidate("node-b", Duration.ofMillis(delay), fastTakeover),
				EndingTests::settle, StoreSession::abort))
			.isEqualTo(Ending.UNKNOWN);
	}

	@ParameterizedTest
	@ValueSource(strings = { "pg_stat_get_db_sessions_killed(oid)", "pg_stat_get_db_sessions_fatal(oid)",
			"pg_stat_get_db_stat_reset_time(oid)", "pg_stat_get_activity(int)" })
	void roleThatMayNotReadHowSessionsHaveEnded(String function) throws Exception {
		this.server.createRole(this.database);
		this.role = this.database;
		assertAbandoned(StoreSession::abort);
		execute("REVOKE EXECUTE ON FUNCTION " + function + " FROM PUBLIC");
		assertThat(ending(StoreSession::abort)).isEqualTo(Ending.UNKNOWN);
	}

	@Test
	void sessionsBehindAPooler() throws Exception {
		try (PgBouncer pooler = PgBouncer.start(this.server, "session")) {
			this.port = pooler.port();
			assertThat(ending(StoreSession::abort)).isEqualTo(Ending.UNKNOWN);
		}
	}

	/**
	 * The connection that the pooler closes is not that of the leader, which may live.
	 */
	@Test
	void poolerInFrontOfTheLeaderOnly() throws Exception {
		Deque<PgBouncer> poolers = new ArrayDeque<>();
		assertThat(ending(() -> {
			poolers.push(PgBouncer.start(this.server, "session"));
			this.port = poolers.element().port();
			StoreSession leader = lead();
			this.port = this.server.port();
			return leader;
		}, this::follow, EndingTests::settle, (leader) -> poolers.pop().close())).isEqualTo(Ending.UNKNOWN);
	}

	@Test
	void leaderThatHasDisabledFastTakeover() throws Exception {
		assertThat(ending(() -> lead(FastTakeover.FALSE), this::follow, EndingTests::settle, StoreSession::abort))
			.isEqualTo(Ending.UNKNOWN);
	}

	@Test
	void onlyTheHeadOfTheQueueWaitsForTheMainKey() throws Exception {
		StoreSession leader = lead();
		StoreSession second = follow();
		StoreSession third = candidate("node-c", DELAY, FastTakeover.AUTO);
		boolean queued = false;
		for (int tries = 0; tries < MOST_TRIES && !queued; tries++) {
			leader.confirm(true);
			List<Future<Acquisition>> waiting = List.of(acquire(second, WAIT), acquire(third, WAIT));
			while (!queued && waiting.stream().noneMatch(Future::isDone)) {
				assertThat(count("NOT granted AND " + main())).isLessThanOrEqualTo(1);
				queued = count("NOT granted AND (" + main() + " OR " + head() + ")") == 2;
			}
			for (Future<Acquisition> each : waiting) {
				assertThat(get(each)).isInstanceOf(Held.class);
			}
		}
		assertThat(queued).isTrue();
		assertThat(count(head())).isZero();
	}

	@Test
	void waitIsNotLongerIfItIsSpentInBothQueues() throws Exception {
		lead();
		StoreSession follower = follow();
		for (int tries = 1;; tries++) {
			long start = System.nanoTime();
			Future<Acquisition> waiting;
			try (Connection other = connect(new Properties())) {
				execute(other,
						"SELECT pg_advisory_lock(%d, %d)".formatted(this.keys.requestClass(), ElectionKeys.HEAD));
				waiting = acquire(follower, WAIT);
				awaitWait(waiting, head());
				await().until(() -> System.nanoTime() - start > WAIT.toNanos() * 5 / 8);
			}
			assertThat(get(waiting)).isInstanceOf(Held.class);
			Duration elapsed = Duration.ofNanos(System.nanoTime() - start);
			assertThat(elapsed).isGreaterThanOrEqualTo(WAIT);
			if (elapsed.compareTo(WAIT.multipliedBy(5).dividedBy(4)) < 0) {
				return;
			}
			assertThat(tries).as(elapsed::toString).isLessThan(MOST_TRIES);
		}
	}

	@Test
	void cancelAndTimeoutInEitherQueueLeaveNoLock() throws Exception {
		StoreSession leader = lead();
		StoreSession second = follow();
		StoreSession third = candidate("node-c", DELAY, FastTakeover.AUTO);
		for (StoreSession cancelled : List.of(second, third)) {
			leader.confirm(true);
			Future<Acquisition> first = acquire(second, WAIT);
			awaitWait(first, main());
			Future<Acquisition> next = acquire(third, WAIT);
			awaitWait(next, head());
			this.server.cancel(pid(cancelled));
			assertThat(get(first)).isInstanceOf(Held.class);
			assertThat(get(next)).isInstanceOf(Held.class);
			assertThat(count("pid <> " + pid(leader) + " AND (" + head() + " OR " + main() + ")")).isZero();
		}
	}

	/**
	 * Assert that the end is recognized. The process may be visible for too long on a
	 * busy machine, which costs the winner time only.
	 */
	private void assertAbandoned(End end) throws Exception {
		Ending expected = this.server.countsEndings() ? Ending.ABANDONED : Ending.UNKNOWN;
		Ending ending = null;
		for (int tries = 0; tries < MOST_TRIES && ending != expected; tries++) {
			ending = ending(end);
		}
		assertThat(ending).isEqualTo(expected);
	}

	private Ending ending(End end) throws Exception {
		return ending(this::lead, this::follow, EndingTests::settle, end);
	}

	/**
	 * Return how a follower that waits in the queue judges the end of the leader.
	 * @param preparation what the follower does before
	 * @param end ends the leadership
	 */
	private Ending ending(Callable<StoreSession> lead, Callable<StoreSession> follow, End preparation, End end)
			throws Exception {
		for (int tries = 0; tries < MOST_TRIES; tries++) {
			// The sessions of the election before may still be ending
			this.keys = ElectionKeys.derive("test", this.database + ++this.elections);
			abortSessions();
			StoreSession leader = lead.call();
			StoreSession follower = follow.call();
			hold(follower);
			preparation.apply(follower);
			Future<Acquisition> waiting = acquire(follower, WAIT);
			awaitWait(waiting, main());
			end.apply(leader);
			if (get(waiting) instanceof Won won) {
				return won.ending();
			}
			// The wait has ended before the leadership
		}
		throw new IllegalStateException("The follower has not won");
	}

	/**
	 * Wait for longer than the takeover delay.
	 */
	private static void settle(StoreSession follower) throws SessionException {
		assertThat(follower.acquire(DELAY.multipliedBy(2))).isInstanceOf(Held.class);
	}

	private StoreSession lead() throws SessionException {
		return lead(FastTakeover.AUTO);
	}

	private StoreSession lead(FastTakeover fast) throws SessionException {
		StoreSession leader = candidate("node-a", DELAY, fast);
		win(leader);
		return leader;
	}

	private StoreSession follow() throws SessionException {
		return candidate("node-b", DELAY, FastTakeover.AUTO);
	}

	private StoreSession candidate(String node, Duration delay, FastTakeover fast) throws SessionException {
		this.takeoverDelay = delay;
		this.fastTakeover = fast;
		return candidate(node);
	}

	private static Future<Acquisition> acquire(StoreSession session, Duration wait) {
		return start(() -> session.acquire(wait));
	}

	private Connection connect(Properties settings) throws SQLException {
		return this.server.connect(this.server.jdbcUrl(this.port, this.database), this.role, settings);
	}

	/**
	 * Run a statement as a superuser, in a session of the database that ends in order.
	 */
	private void execute(String sql) throws SQLException {
		try (Connection connection = this.server.connectTo(this.database)) {
			execute(connection, sql);
		}
	}

	private void terminate(StoreSession session) throws SQLException {
		this.server.terminate(pid(session));
	}

	private static int pid(StoreSession session) throws SQLException {
		return PostgreSqlServer.pid(connection(session));
	}

	/**
	 * Wait until a session waits for a key, or no longer does.
	 */
	private void awaitWait(Future<Acquisition> waiting, String key) {
		await().until(() -> waiting.isDone() || count("NOT granted AND " + key) == 1);
	}

	private int count(String condition) {
		return this.server.advisoryLocks(condition).size();
	}

	private String head() {
		return PostgreSqlServer.key(this.keys.requestClass(), ElectionKeys.HEAD);
	}

	/**
	 * Does something with a session.
	 */
	@FunctionalInterface
	private interface End {

		void apply(StoreSession session) throws Exception;

	}

}
