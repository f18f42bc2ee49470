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

package io.leaderelection.engine;

import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

import io.leaderelection.Leader;
import io.leaderelection.LeadershipRevokedEvent.Reason;
import io.leaderelection.Term;
import io.leaderelection.engine.ElectionSettings.FastTakeover;
import io.leaderelection.engine.ElectionState.Suspension;
import io.leaderelection.engine.FakeStore.Call;
import io.leaderelection.engine.StoreSession.Candidate;
import io.leaderelection.engine.StoreSession.Holder;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Tests for what a node makes of the profiles of others: who leads, a leader of lower
 * priority, and other protocols.
 */
@ExtendWith(OutputCaptureExtension.class)
@Tag("ring1")
class ElectionProfileTests {

	private static final Duration HOLD = Duration.ofSeconds(10);

	private static final Map<String, String> METADATA = Map.of("url", "http://node-1");

	private final ElectionFixture fixture = new ElectionFixture(new ElectionSettings("default", "node-1",
			ElectionFixture.LEASE, Duration.ZERO, FastTakeover.AUTO, Duration.ofSeconds(1), true,
			ElectionSettings.STANDBYS, new NodeProfile(NodeProfile.PROTOCOL, 10, METADATA), HOLD));

	private final FakeStore store = this.fixture.store;

	private final Election election = this.fixture.election;

	// Who leads

	@Test
	void followerKnowsTheLeaderAndNotifiesListenersOfEachOne() {
		this.store.leader = leader(1, new NodeProfile(1, 20, Map.of("url", "http://node-2")));
		this.fixture.at(Duration.ofSeconds(2), () -> {
			assertThat(leader()).isEqualTo(visible(1, Map.of("url", "http://node-2")));
			assertThat(this.fixture.leaders).containsExactly(visible(1, Map.of("url", "http://node-2")));
			this.store.leader = leader(2, new NodeProfile(1, 20, Map.of()));
		});
		this.fixture.stopAt(Duration.ofSeconds(5)).run();
		assertThat(this.fixture.leaders).containsExactly(visible(1, Map.of("url", "http://node-2")),
				visible(2, Map.of()));
		assertThat(leader()).isNull();
	}

	@Test
	void leaderKnowsItself() {
		this.fixture.at(Duration.ofSeconds(2), () -> assertThat(leader()).isEqualTo(new Leader("node-1",
				this.election.leadership().getTerm(), this.election.leadership().getSince(), METADATA, null)));
		this.fixture.stopAt(Duration.ofSeconds(3)).run();
		assertThat(this.fixture.leaders).isEmpty();
	}

	@Test
	void lostContactIsNoNewLeader() {
		this.store.leader = leader(1, new NodeProfile(1, 20, Map.of()));
		this.fixture.at(Duration.ofSeconds(2), () -> this.store.next(Call.ACQUIRE, () -> {
			throw FakeStore.failure();
		}));
		this.fixture.stopAt(Duration.ofSeconds(8)).run();
		assertThat(this.fixture.leaders).hasSize(1);
	}

	@Test
	void leaderWithoutATermIsNotPublished() {
		this.store.leader = new Holder("node-2", "pid 2");
		this.fixture
			.at(Duration.ofSeconds(2),
					() -> assertThat(leader()).isEqualTo(new Leader("node-2", null, null, Map.of(), null)))
			.stopAt(Duration.ofSeconds(3))
			.run();
		assertThat(this.fixture.leaders).isEmpty();
	}

	@Test
	void nodeThatStartsAgainIsNotifiedOfTheSameLeader() {
		this.store.leader = leader(1, new NodeProfile(1, 20, Map.of()));
		this.fixture.stopAt(Duration.ofSeconds(2)).run();
		this.fixture.stopAt(Duration.ofSeconds(4)).run();
		assertThat(this.fixture.leaders).hasSize(2);
	}

	@Test
	void formerSessionOfThisNodeIsNoLeader() {
		this.store.leader = new Holder("node-1", "pid 1", new Term(0, 1, 1), Instant.EPOCH, NodeProfile.DEFAULT, null);
		this.fixture.at(Duration.ofSeconds(2), () -> assertThat(this.election.leader()).isNull());
		this.fixture.stopAt(Duration.ofSeconds(3)).run();
		assertThat(this.fixture.leaders).isEmpty();
	}

	@Test
	void listenerOfAnotherLeaderIsInterruptedByAStop() {
		CountDownLatch interrupted = new CountDownLatch(1);
		ExecutorService relayThread = Executors.newSingleThreadExecutor((task) -> {
			Thread thread = new Thread(task);
			thread.setDaemon(true);
			return thread;
		});
		this.fixture.relay = relayThread;
		this.fixture.leaderListener = () -> {
			try {
				new CountDownLatch(1).await();
			}
			catch (InterruptedException ex) {
				interrupted.countDown();
			}
		};
		this.store.leader = leader(1, new NodeProfile(1, 20, Map.of()));
		this.fixture.at(Duration.ofSeconds(1), () -> await().until(() -> !this.fixture.leaders.isEmpty()));
		this.fixture.stopAt(Duration.ofSeconds(2)).run();
		await().untilAsserted(() -> assertThat(interrupted.getCount()).isZero());
		relayThread.shutdown();
	}

	@Test
	void newsOfAnotherLeaderAreDroppedWhenThisNodeLeads() {
		List<Runnable> deliveries = new ArrayList<>();
		this.fixture.relay = deliveries::add;
		this.store.leader = leader(1, new NodeProfile(1, 20, Map.of()));
		this.fixture.at(Duration.ofSeconds(2), () -> this.store.leader = null);
		this.fixture.at(Duration.ofSeconds(4), () -> {
			assertThat(this.fixture.isLeader()).isTrue();
			deliveries.forEach(Runnable::run);
			this.fixture.relay = Runnable::run;
		});
		this.fixture.stopAt(Duration.ofSeconds(5)).run();
		assertThat(this.fixture.leaders).isEmpty();
		assertThat(this.fixture.tracedEvents()).startsWith("granted 1");
	}

	// Preference

	@Test
	void leaderOfLowerPriorityIsAskedAfterTheHold() {
		this.store.leader = leader(1, new NodeProfile(1, 9, Map.of()));
		this.store.candidates = candidates();
		this.fixture.at(HOLD, () -> assertThat(requests()).isZero());
		this.fixture.at(HOLD.plusSeconds(2), () -> assertThat(requests()).isEqualTo(1));
		this.fixture.stopAt(HOLD.plusSeconds(3)).run();
	}

	@Test
	void leaderOfTheSameOrHigherPriorityIsNotAsked() {
		this.store.leader = leader(1, new NodeProfile(1, 10, Map.of()));
		this.store.candidates = candidates();
		this.fixture.at(HOLD.multipliedBy(2), () -> this.store.leader = leader(2, new NodeProfile(1, 11, Map.of())));
		this.fixture.stopAt(HOLD.multipliedBy(5)).run();
		assertThat(requests()).isZero();
	}

	@Test
	void leaderOfUnknownPriorityIsNotAsked() {
		this.store.leader = leader(1, NodeProfile.UNKNOWN);
		this.store.candidates = candidates();
		this.fixture.stopAt(HOLD.multipliedBy(3)).run();
		assertThat(requests()).isZero();
	}

	@Test
	void suspendedNodeDoesNotAsk() {
		this.store.leader = leader(1, NodeProfile.DEFAULT);
		this.store.candidates = candidates();
		this.fixture.at(HOLD.minusSeconds(1), () -> this.election.suspendCandidacy(Suspension.UNHEALTHY));
		this.fixture.at(HOLD.multipliedBy(2), () -> this.election.resumeCandidacy(Suspension.UNHEALTHY));
		this.fixture.at(HOLD.multipliedBy(3).minusSeconds(1), () -> assertThat(requests()).isZero());
		this.fixture.at(HOLD.multipliedBy(3).plusSeconds(3), () -> assertThat(requests()).isEqualTo(1));
		this.fixture.stopAt(HOLD.multipliedBy(4)).run();
	}

	@Test
	void requestEndsWhenTheNodeNoLongerWaits() {
		this.store.leader = leader(1, NodeProfile.DEFAULT);
		this.store.candidates = candidates();
		this.fixture.at(HOLD.plusSeconds(3), () -> {
			assertThat(requests()).isEqualTo(1);
			this.store.next(Call.ACQUIRE, () -> {
				throw FakeStore.failure();
			});
		});
		this.fixture.at(HOLD.plusSeconds(10), () -> assertThat(this.election.state().request()).isNull());
		this.fixture.stopAt(HOLD.plusSeconds(11)).run();
		assertThat(requests()).isEqualTo(1);
	}

	@Test
	void refusedRequestIsNotCounted() {
		this.store.leader = leader(1, NodeProfile.DEFAULT);
		this.store.candidates = List.of(new Candidate("node-2", "pid 2"));
		this.fixture.at(HOLD.multipliedBy(3), () -> this.store.candidates = candidates());
		this.fixture.at(HOLD.multipliedBy(3).plusSeconds(3), () -> assertThat(requests()).isEqualTo(1));
		this.fixture.stopAt(HOLD.multipliedBy(4)).run();
	}

	@Test
	void newTermOrAnInterruptionBeginsTheHoldAgain() {
		this.store.leader = leader(1, NodeProfile.DEFAULT);
		this.store.candidates = candidates();
		Duration almost = HOLD.minusSeconds(1);
		this.fixture.at(almost, () -> this.store.leader = leader(2, NodeProfile.DEFAULT));
		this.fixture.at(almost.multipliedBy(2), () -> this.store.next(Call.ACQUIRE, () -> {
			throw FakeStore.failure();
		}));
		this.fixture.at(almost.multipliedBy(3), () -> assertThat(requests()).isZero());
		this.fixture.at(almost.multipliedBy(2).plus(HOLD).plusSeconds(3), () -> assertThat(requests()).isEqualTo(1));
		this.fixture.stopAt(HOLD.multipliedBy(4)).run();
	}

	@Test
	void slowHandOverIsOneRequest(CapturedOutput output) {
		this.store.leader = leader(1, NodeProfile.DEFAULT);
		this.store.candidates = candidates();
		this.fixture.at(HOLD.multipliedBy(6), () -> {
			assertThat(output).containsOnlyOnce("Requesting leadership");
			this.store.leader = leader(2, NodeProfile.DEFAULT);
		});
		this.fixture.at(HOLD.multipliedBy(8).minusSeconds(1), () -> assertThat(requests()).isEqualTo(1));
		this.fixture.at(HOLD.multipliedBy(8).plusSeconds(4), () -> assertThat(requests()).isEqualTo(2));
		this.fixture.stopAt(HOLD.multipliedBy(9)).run();
	}

	@Test
	void eachRequestDoublesTheHoldUntilThisNodeHasLedForTheLongestHold() {
		this.store.leader = leader(1, NodeProfile.DEFAULT);
		this.store.candidates = candidates();
		this.fixture.at(Duration.ofSeconds(15), () -> assertThat(requests()).isEqualTo(1));
		this.fixture.at(Duration.ofSeconds(20), () -> this.store.leader = leader(2, NodeProfile.DEFAULT));
		this.fixture.at(Duration.ofSeconds(39), () -> assertThat(requests()).isEqualTo(1));
		this.fixture.at(Duration.ofSeconds(44), () -> assertThat(requests()).isEqualTo(2));
		this.fixture.at(Duration.ofSeconds(50), () -> this.store.leader = leader(3, NodeProfile.DEFAULT));
		this.fixture.at(Duration.ofSeconds(89), () -> assertThat(requests()).isEqualTo(2));
		this.fixture.at(Duration.ofSeconds(94), () -> assertThat(requests()).isEqualTo(3));
		leadFrom(Duration.ofSeconds(100), Duration.ofSeconds(400));
		this.fixture.at(Duration.ofSeconds(578), () -> assertThat(requests()).isEqualTo(3));
		this.fixture.at(Duration.ofSeconds(586), () -> assertThat(requests()).isEqualTo(4));
		leadFrom(Duration.ofSeconds(590), HOLD.multipliedBy(64).plusSeconds(5));
		this.fixture.at(Duration.ofSeconds(1244), () -> assertThat(requests()).isEqualTo(4));
		this.fixture.at(Duration.ofSeconds(1252), () -> assertThat(requests()).isEqualTo(5));
		this.fixture.stopAt(Duration.ofSeconds(1253)).run();
		assertThat(this.fixture.tracedEvents()).containsExactly("granted 1", "revoked 1 " + Reason.SESSION_LOST,
				"granted 2", "revoked 2 " + Reason.SESSION_LOST);
	}

	private void leadFrom(Duration begin, Duration duration) {
		this.fixture.at(begin, () -> this.store.leader = null);
		this.fixture.at(begin.plus(duration), () -> {
			assertThat(this.fixture.isLeader()).isTrue();
			this.store.next(Call.CONFIRM, () -> {
				throw FakeStore.failure();
			});
			this.store.leader = leader(begin.toSeconds(), NodeProfile.DEFAULT);
		});
	}

	// Protocols

	@Test
	void otherProtocolIsLoggedOnce(CapturedOutput output) {
		this.store.leader = leader(1, new NodeProfile(1, 20, Map.of()));
		this.store.candidates = candidates();
		this.fixture.at(Duration.ofSeconds(3), () -> this.store.leader = leader(2, new NodeProfile(1, 20, Map.of())));
		this.fixture.stopAt(Duration.ofSeconds(6)).run();
		assertThat(output).containsOnlyOnce("Node 'node-2' uses protocol 1 of leader election, but this node uses 2");
	}

	@Test
	void leaderLogsTheProtocolOfACandidate(CapturedOutput output) {
		this.store.candidates = List.of(new Candidate("node-1", "pid 1", NodeProfile.DEFAULT),
				new Candidate("node-3", "pid 3", new NodeProfile(3, 0, Map.of())));
		this.fixture.stopAt(Duration.ofSeconds(3)).run();
		assertThat(output).containsOnlyOnce("Node 'node-3' uses protocol 3 of leader election, but this node uses 2");
	}

	@Test
	void nodeThatPublishesNoProtocolIsNotLogged(CapturedOutput output) {
		this.store.leader = leader(1, NodeProfile.UNKNOWN);
		this.fixture.stopAt(Duration.ofSeconds(3)).run();
		assertThat(output).doesNotContain("protocol");
	}

	private @Nullable Leader leader() {
		Holder leader = this.election.leader();
		return (leader != null) ? leader.visible() : null;
	}

	private static Leader visible(long term, Map<String, String> metadata) {
		return new Leader("node-2", new Term(0, 1, term), Instant.EPOCH, metadata, null);
	}

	private static Holder leader(long term, NodeProfile profile) {
		return new Holder("node-2", "pid 2", new Term(0, 1, term), Instant.EPOCH, profile, null);
	}

	private static List<Candidate> candidates() {
		return List.of(new Candidate("node-1", "pid 1"), new Candidate("node-2", "pid 2"));
	}

	/**
	 * Return in how many terms the resignation of the leader was requested.
	 */
	private long requests() {
		return this.fixture.trace.stream().filter((entry) -> entry.startsWith("request ")).distinct().count();
	}

}
