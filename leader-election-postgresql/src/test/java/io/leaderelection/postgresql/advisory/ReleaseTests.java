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
import java.util.Collections;
import java.util.List;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;

import io.leaderelection.engine.StoreSession;
import io.leaderelection.engine.StoreSession.Acquisition;
import io.leaderelection.engine.StoreSession.Acquisition.Ending;
import io.leaderelection.engine.StoreSession.Acquisition.Won;
import io.leaderelection.testsupport.PostgreSqlServer;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;
import static org.mockito.AdditionalMatchers.lt;
import static org.mockito.ArgumentMatchers.any;
import static org.mockito.ArgumentMatchers.anyBoolean;
import static org.mockito.ArgumentMatchers.anyLong;
import static org.mockito.BDDMockito.willAnswer;

/**
 * Tests for what a session leaves and finds at the end of a term, on a real server.
 */
@Tag("ring1")
class ReleaseTests extends AdvisoryLockFixture {

	/** Ten times as long as releases wait otherwise, in milliseconds. */
	private static final long PATIENCE = 2000;

	@Test
	void winnerIsClearOfEarlierTermsBehindAMarker() throws Exception {
		StoreSession first = candidate("node-a");
		Won newest = win(first);
		assertThat(newest.ending()).isNotEqualTo(Ending.CLEAN);
		assertThat(newest.clear()).isTrue();
		StoreSession second = candidate("node-b");
		first.release(true);
		Won won = win(second);
		assertThat(won.ending()).isEqualTo(Ending.CLEAN);
		assertThat(won.clear()).isTrue();
		assertThat(second.confirm(true).predecessor()).as("the marker").startsWith("the session with pid");
		first.close();
		await().until(() -> second.confirm(true).predecessor() == null);
	}

	@Test
	void winnerIsNotClearWhileATransactionOfAnEarlierTermIsLeft() throws Exception {
		StoreSession winner = candidate("node-a");
		Connection transaction = begin("SELECT pg_advisory_xact_lock_shared(" + this.keys.fence() + ")");
		assertThat(win(winner).clear()).isFalse();
		transaction.close();
		assertThat(winner.passBarrier(LONG)).isNull();
	}

	@Test
	void barrierIsFreeAgainAfterTheAcquisition() throws Exception {
		assertThat(win(candidate("node-a")).clear()).isTrue();
		assertThat(this.server.query("SELECT pg_try_advisory_xact_lock(" + this.keys.fence() + ")"))
			.containsExactly("t");
	}

	@Test
	void releaseLeavesNoMarkWithoutTheLock() throws Exception {
		StoreSession first = leader("node-a");
		execute(connection(first), "SELECT pg_advisory_unlock(" + this.keys.main() + ")");
		// A mark remains while a successor is expected
		candidate("node-b").becomeCandidate();
		first.release(true);
		assertThat(
				this.server.advisoryLocks(PostgreSqlServer.keys(this.keys.termClass()) + " AND mode = 'ExclusiveLock'"))
			.isEmpty();
		assertThat(this.server.log().lines()).noneMatch((line) -> line.contains(first.name() + ",WARNING"));
	}

	@ParameterizedTest
	@ValueSource(booleans = { true, false })
	void releaseReturnsWhetherThereIsASuccessor(boolean clean) throws Exception {
		StoreSession first = leader("node-a");
		StoreSession second = candidate("node-b");
		Future<Acquisition> waiting = waitUntilWon(second);
		assertThat(first.release(clean)).isTrue();
		assertThat(get(waiting)).isInstanceOf(Won.class);
		assertThat(second.release(clean)).as("with a candidate that does not wait").isFalse();
	}

	@Test
	void markerOfAnotherIsNoSuccessor() throws Exception {
		StoreSession first = candidate("node-a");
		candidate("node-b");
		win(first);
		connect("SELECT pg_advisory_lock(%d, -1)".formatted(this.keys.termClass()));
		assertThat(first.release(false)).isFalse();
	}

	@Test
	void releaseDoesNotWaitLongForACandidateThatDoesNotCome() throws Exception {
		StoreSession first = leader("node-a");
		candidate("node-b");
		long start = System.nanoTime();
		assertThat(first.release(true)).isFalse();
		assertThat(Duration.ofNanos(System.nanoTime() - start)).isLessThan(Duration.ofSeconds(3));
	}

	/**
	 * A second cancel may arrive when the first has ended the wait: the statement is then
	 * run again.
	 */
	@ParameterizedTest
	@ValueSource(ints = { 1, 2 })
	void cancelWhileAReleaseWaitsForASuccessorIsNoFailure(int cancels) throws Exception {
		StoreSession first = candidate(patient("node-a"));
		win(first);
		candidate("node-b");
		Future<Boolean> release = releaseInterruptedBy(
				String.join(", ", Collections.nCopies(cancels, "pg_cancel_backend(pid)")), first);
		assertThat(release).succeedsWithin(LONG).isEqualTo(false);
		first.close();
		await().untilAsserted(() -> assertThat(heldAlone()).isEmpty());
		assertThat(this.server.log().lines().filter((line) -> line.contains(first.name() + ",ERROR")))
			.hasSizeLessThan(cancels);
	}

	@Test
	void releaseThatIsRunAgainRemovesItsMark() throws Exception {
		AtomicInteger releases = new AtomicInteger();
		StoreSession session = candidate(store("node-a", (sql) -> willAnswer(changed((text) -> {
			assertThat(text).contains("until :=");
			return (releases.getAndIncrement() > 0) ? text
					: text.replace("until :=", CANCELLED.replace("SELECT", "PERFORM") + "; until :=");
		})).given(sql).release(any(), anyBoolean(), anyLong(), anyLong())));
		win(session);
		session.release(true);
		assertThat(releases).hasValue(2);
		assertThat(heldAlone()).isEmpty();
	}

	@Test
	void endOfTheSessionWhileAReleaseWaitsForASuccessorLeavesNoLock() throws Exception {
		StoreSession first = candidate(patient("node-a"));
		win(first);
		candidate("node-b");
		Future<Boolean> release = releaseInterruptedBy("pg_terminate_backend(pid)", first);
		assertThat(release).failsWithin(LONG);
		await().untilAsserted(() -> assertThat(heldAlone()).isEmpty());
	}

	@Test
	void releaseWithoutCandidatesDoesNotWait() throws Exception {
		StoreSession only = candidate(patient("node-a"));
		win(only);
		long start = System.nanoTime();
		only.release(true);
		assertThat(Duration.ofNanos(System.nanoTime() - start)).isLessThan(Duration.ofMillis(1900));
	}

	@Test
	void predecessorIsTheHolderOfAKeyOfAnotherTermButNotOfAShare() throws Exception {
		StoreSession winner = leader("node-a");
		connect("SELECT pg_advisory_lock_shared(%d, 12345)".formatted(this.keys.termClass()));
		assertThat(winner.confirm(true).predecessor()).isNull();
		connect("SELECT pg_advisory_lock(%d, 12346)".formatted(this.keys.termClass()));
		assertThat(winner.confirm(true).predecessor()).isNotNull();
	}

	@Test
	void barrierWaitsForFencedTransactions() throws Exception {
		StoreSession winner = leader("node-a");
		Connection transaction = begin("SELECT pg_advisory_xact_lock_shared(%d)".formatted(this.keys.fence()));
		assertThat(winner.passBarrier(Duration.ofMillis(50))).startsWith("the transaction of the session with pid");
		transaction.commit();
		assertThat(winner.passBarrier(Duration.ofMillis(500))).isNull();
		assertThat(winner.confirm(true).predecessor()).isNull();
	}

	/**
	 * Start a release and signal its session while it waits. The statement that finds the
	 * wait also signals, since the wait is a sequence of short sleeps.
	 */
	private Future<Boolean> releaseInterruptedBy(String signal, StoreSession session) throws SQLException {
		try (Connection connection = this.server.connect(); Statement observer = connection.createStatement()) {
			Future<Boolean> release = start(() -> session.release(true));
			await().until(
					() -> observer
						.executeQuery("SELECT " + signal
								+ " FROM pg_stat_activity WHERE wait_event = 'PgSleep' AND application_name = '"
								+ session.name() + "'")
						.next());
			return release;
		}
	}

	private List<Integer> heldAlone() {
		return this.server.advisoryLocks("mode = 'ExclusiveLock' AND classid IN (%d, %d)"
			.formatted(this.keys.termClass() & 0xFFFFFFFFL, this.keys.main() >>> 32));
	}

	/**
	 * Sessions whose releases wait so long that a test on a busy machine can tell whether
	 * they do. The answer calls the method again, with a time that it leaves alone.
	 */
	private AdvisoryLockStore patient(String node) {
		return store(node,
				(sql) -> willAnswer(
						(call) -> sql.release(call.getArgument(0), call.getArgument(1), call.getArgument(2), PATIENCE))
					.given(sql)
					.release(any(), anyBoolean(), anyLong(), lt(PATIENCE)));
	}

}
