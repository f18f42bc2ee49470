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
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;

import io.leaderelection.engine.ElectionStore.Watch;
import io.leaderelection.engine.NodeProfile;
import io.leaderelection.engine.SessionException;
import io.leaderelection.engine.SessionNames;
import io.leaderelection.engine.StoreSession;
import io.leaderelection.engine.StoreSession.Acquisition.Held;
import io.leaderelection.engine.StoreSession.Acquisition.Won;
import io.leaderelection.engine.StoreSession.Candidate;
import io.leaderelection.engine.StoreSession.Holder;
import io.leaderelection.postgresql.ElectionKeys;
import io.leaderelection.testsupport.PostgreSqlServer;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Tests for the seats of {@link AdvisoryLockSession} on a real server.
 */
@Tag("ring1")
class SeatTests extends AdvisoryLockFixture {

	private static final int STANDBYS = 2;

	SeatTests() {
		this.lease = Duration.ofSeconds(30);
		this.standbys = STANDBYS;
	}

	@Test
	void thereIsOneSeatPerStandby() throws SessionException {
		StoreSession first = open("node-1");
		StoreSession second = open("node-2");
		StoreSession third = open("node-3");
		assertThat(first.becomeCandidate()).isTrue();
		assertThat(second.becomeCandidate()).isTrue();
		assertThat(third.becomeCandidate()).isFalse();
		assertThat(seats()).hasSize(STANDBYS);
		assertThat(first.observe().candidates()).extracting(Candidate::nodeId)
			.containsExactlyInAnyOrder("node-1", "node-2");
		second.close();
		await().until(third::becomeCandidate);
	}

	/**
	 * Nodes of a lower priority cannot take all places.
	 */
	@Test
	void eachPriorityHasOneMoreSeat() throws SessionException {
		for (int i = 0; i < STANDBYS; i++) {
			assertThat(open("node-" + i, 5).becomeCandidate()).isTrue();
		}
		assertThat(store("other", 5).watch(false).open()).isTrue();
		assertThat(open("node-5", 5).becomeCandidate()).isTrue();
		assertThat(store("other", 5).watch(false).open()).isFalse();
		assertThat(open("other", 5).becomeCandidate()).isFalse();
		assertThat(store("node-10", 10).watch(false).open()).isTrue();
		StoreSession preferred = open("node-10", 10);
		assertThat(preferred.becomeCandidate()).isTrue();
		assertThat(preferred.becomeCandidate()).isTrue();
		assertThat(seats()).hasSize(STANDBYS + 2);
		assertThat(store("other", 10).watch(false).open()).isFalse();
		assertThat(store("node-0").watch(false).open()).isFalse();
		assertThat(preferred.acquire(NO_WAIT)).isInstanceOf(Won.class);
		assertThat(preferred.confirm(true).foreign()).isNull();
		assertThat(seats()).hasSize(STANDBYS + 1);
	}

	@Test
	void sessionTakesOneSeatOnly() throws SessionException {
		StoreSession first = open("node-1");
		assertThat(first.becomeCandidate()).isTrue();
		assertThat(first.becomeCandidate()).isTrue();
		assertThat(seats()).hasSize(1);
		first.withdraw();
		assertThat(seats()).isEmpty();
		assertThat(this.server.advisoryLocks(
				PostgreSqlServer.key(this.keys.observerClass(), ElectionKeys.OBSERVER) + " AND mode = 'ShareLock'"))
			.hasSize(1);
		assertThat(first.becomeCandidate()).isTrue();
		assertThat(seats()).hasSize(1);
	}

	@Test
	void silentStandbyLosesItsSeatAfterTheLease() throws SessionException {
		this.lease = Duration.ofSeconds(2);
		assertThat(open("node-1").becomeCandidate()).isTrue();
		assertThat(seats()).hasSize(1);
		await().until(() -> seats().isEmpty());
	}

	@Test
	void winnerFreesItsSeatWithTheStatementThatWins() throws SessionException {
		StoreSession first = candidate("node-1");
		assertThat(first.acquire(NO_WAIT)).isInstanceOf(Won.class);
		assertThat(seats()).isEmpty();
		assertThat(first.confirm(true).predecessor()).isNull();
		assertThat(open("node-2").becomeCandidate()).isTrue();
		assertThat(open("node-3").becomeCandidate()).isTrue();
		assertThat(open("node-4").becomeCandidate()).isFalse();
		assertThat(first.confirm(true).foreign()).isNull();
	}

	@Test
	void standbyThatWaitsKeepsItsSeat() throws SessionException {
		StoreSession first = leader("node-1");
		StoreSession second = candidate("node-2");
		assertThat(second.acquire(NO_WAIT)).isInstanceOf(Held.class);
		assertThat(seats()).hasSize(1);
	}

	@Test
	void cancelledAttemptOfASessionWithASeatDoesNotEndIt() throws SessionException {
		AtomicInteger calls = new AtomicInteger();
		StoreSession first = open(
				attempting("node-1", (statement) -> (calls.getAndIncrement() > 0) ? statement : CANCELLED));
		first.becomeCandidate();
		assertThat(first.acquire(NO_WAIT)).isInstanceOf(Held.class);
		assertThat(first.acquire(NO_WAIT)).isInstanceOf(Won.class);
		assertThat(seats()).isEmpty();
	}

	@Test
	void sessionOfAnEarlierVersionNeedsNoSeat() throws Exception {
		StoreSession first = candidate("node-1");
		Won won = win(first);
		candidate("node-2");
		candidate("node-3");
		Connection earlier = connect("SET application_name = '" + new SessionNames(this.election).of("old") + "'",
				"SELECT pg_advisory_lock_shared(" + this.keys.candidate() + ")");
		Watch watch = store("node-4").watch(false);
		assertThat(watch.open()).isFalse();
		assertThat(watch.view().candidates()).extracting(Candidate::nodeId)
			.containsExactlyInAnyOrder("node-1", "node-2", "node-3", "old");
		assertThat(first.release(false)).isFalse();
		execute(earlier,
				"SELECT pg_advisory_lock(%d), pg_advisory_lock(%d, %d), pg_advisory_lock_shared(%d, 1)".formatted(
						this.keys.main(), this.keys.termClass(), won.term().transactionId() + 1,
						this.keys.noticeClass()));
		Holder leader = store("node-4").watch(false).view().leader();
		assertThat(leader).isNotNull().extracting(Holder::nodeId).isEqualTo("old");
	}

	@Test
	void firstWatchOfACandidateOpensItsSession() throws SessionException {
		AdvisoryLockStore watching = store("node-1");
		assertThat(watching.watch(false).session()).isNull();
		StoreSession session = watching.watch(true).session();
		assertThat(session).isNotNull();
		this.sessions.add(session);
		assertThat(session.becomeCandidate()).isTrue();
		assertThat(session.acquire(NO_WAIT)).isInstanceOf(Won.class);
		candidate("node-2");
		candidate("node-3");
		assertThat(store("node-4").watch(true)).matches((watch) -> !watch.open() && watch.session() == null);
	}

	private StoreSession open(String node, int priority) throws SessionException {
		return open(store(node, priority));
	}

	private AdvisoryLockStore store(String node, int priority) {
		return store(node, new NodeProfile(NodeProfile.PROTOCOL, priority, Map.of()));
	}

}
