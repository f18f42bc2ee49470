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
class ElectionProfileTests extends ElectionFixture {

	private static final Duration HOLD = Duration.ofSeconds(10);

	private static final Map<String, String> METADATA = Map.of("url", "http://node-1");

	ElectionProfileTests() {
		super(new ElectionSettings("default", "node-1", LEASE, Duration.ZERO, FastTakeover.AUTO, Duration.ofSeconds(1),
				true, ElectionSettings.STANDBYS, new NodeProfile(NodeProfile.PROTOCOL, 10, METADATA), HOLD));
	}

	// Who leads

	@Test
	void followerKnowsTheLeaderAndNotifiesListenersOfEachOne() {
		this.store.leader = leader(1, new NodeProfile(1, 20, Map.of("url", "http://node-2")));
		at(Duration.ofSeconds(2), () -> {
			assertThat(leader()).isEqualTo(visible(1, Map.of("url", "http://node-2")));
			assertThat(this.leaders).containsExactly(visible(1, Map.of("url", "http://node-2")));
			this.store.leader = leader(2, new NodeProfile(1, 20, Map.of()));
		}).stopAt(Duration.ofSeconds(5)).run();
		assertThat(this.leaders).containsExactly(visible(1, Map.of("url", "http://node-2")), visible(2, Map.of()));
		assertThat(leader()).isNull();
	}

	@Test
	void leaderKnowsItself() {
		at(Duration.ofSeconds(2), () -> assertThat(leader()).isEqualTo(new Leader("node-1",
				this.election.leadership().getTerm(), this.election.leadership().getSince(), METADATA, null)));
		stopAt(Duration.ofSeconds(3)).run();
		assertThat(this.leaders).isEmpty();
	}

	@Test
	void lostContactIsNoNewLeader() {
		this.store.leader = leader(1, new NodeProfile(1, 20, Map.of()));
		at(Duration.ofSeconds(2), () -> this.store.fail(Call.ACQUIRE));
		stopAt(Duration.ofSeconds(8)).run();
		assertThat(this.leaders).hasSize(1);
	}

	@Test
	void leaderWithoutATermIsNotPublished() {
		this.store.leader = new Holder("node-2", "pid 2");
		at(Duration.ofSeconds(2),
				() -> assertThat(leader()).isEqualTo(new Leader("node-2", null, null, Map.of(), null)))
			.stopAt(Duration.ofSeconds(3))
			.run();
		assertThat(this.leaders).isEmpty();
	}

	@Test
	void nodeThatStartsAgainIsNotifiedOfTheSameLeader() {
		this.store.leader = leader(1, new NodeProfile(1, 20, Map.of()));
		stopAt(Duration.ofSeconds(2)).run();
		stopAt(Duration.ofSeconds(4)).run();
		assertThat(this.leaders).hasSize(2);
	}

	@Test
	void formerSessionOfThisNodeIsNoLeader() {
		this.store.leader = new Holder("node-1", "pid 1", new Term(0, 1, 1), Instant.EPOCH, NodeProfile.DEFAULT, null);
		at(Duration.ofSeconds(2), () -> assertThat(this.election.leader()).isNull());
		stopAt(Duration.ofSeconds(3)).run();
		assertThat(this.leaders).isEmpty();
	}

	@Test
	void listenerOfAnotherLeaderIsInterruptedByAStop() {
		CountDownLatch interrupted = new CountDownLatch(1);
		ExecutorService relayThread = Executors.newSingleThreadExecutor((task) -> {
			Thread thread = new Thread(task);
			thread.setDaemon(true);
			return thread;
		});
		this.relay = relayThread;
		this.leaderListener = () -> {
			try {
				new CountDownLatch(1).await();
			}
			catch (InterruptedException ex) {
				interrupted.countDown();
			}
		};
		this.store.leader = leader(1, new NodeProfile(1, 20, Map.of()));
		at(Duration.ofSeconds(1), () -> await().until(() -> !this.leaders.isEmpty()));
		stopAt(Duration.ofSeconds(2)).run();
		await().untilAsserted(() -> assertThat(interrupted.getCount()).isZero());
		relayThread.shutdown();
	}

	@Test
	void newsOfAnotherLeaderAreDroppedWhenThisNodeLeads() {
		List<Runnable> deliveries = new ArrayList<>();
		this.relay = deliveries::add;
		this.store.leader = leader(1, new NodeProfile(1, 20, Map.of()));
		at(Duration.ofSeconds(2), () -> this.store.leader = null);
		at(Duration.ofSeconds(4), () -> {
			assertThat(isLeader()).isTrue();
			deliveries.forEach(Runnable::run);
			this.relay = Runnable::run;
		}).stopAt(Duration.ofSeconds(5)).run();
		assertThat(this.leaders).isEmpty();
		assertThat(tracedEvents()).startsWith("granted 1");
	}

	// Preference

	@Test
	void leaderOfLowerPriorityIsAskedAfterTheHold() {
		follow(leader(1, new NodeProfile(1, 9, Map.of())));
		at(HOLD, () -> assertThat(requests()).isZero());
		at(HOLD.plusSeconds(2), () -> assertThat(requests()).isEqualTo(1));
		stopAt(HOLD.plusSeconds(3)).run();
	}

	@Test
	void leaderOfTheSameOrHigherPriorityIsNotAsked() {
		follow(leader(1, new NodeProfile(1, 10, Map.of())));
		at(HOLD.multipliedBy(2), () -> this.store.leader = leader(2, new NodeProfile(1, 11, Map.of())));
		stopAt(HOLD.multipliedBy(5)).run();
		assertThat(requests()).isZero();
	}

	@Test
	void leaderOfUnknownPriorityIsNotAsked() {
		follow(leader(1, NodeProfile.UNKNOWN));
		stopAt(HOLD.multipliedBy(3)).run();
		assertThat(requests()).isZero();
	}

	@Test
	void suspendedNodeDoesNotAsk() {
		follow(leader(1, NodeProfile.DEFAULT));
		at(HOLD.minusSeconds(1), () -> this.election.suspendCandidacy(Suspension.UNHEALTHY));
		at(HOLD.multipliedBy(2), () -> this.election.resumeCandidacy(Suspension.UNHEALTHY));
		at(HOLD.multipliedBy(3).minusSeconds(1), () -> assertThat(requests()).isZero());
		at(HOLD.multipliedBy(3).plusSeconds(3), () -> assertThat(requests()).isEqualTo(1));
		stopAt(HOLD.multipliedBy(4)).run();
	}

	@Test
	void requestEndsWhenTheNodeNoLongerWaits() {
		follow(leader(1, NodeProfile.DEFAULT));
		at(HOLD.plusSeconds(3), () -> {
			assertThat(requests()).isEqualTo(1);
			this.store.fail(Call.ACQUIRE);
		});
		at(HOLD.plusSeconds(10), () -> assertThat(this.election.state().request()).isNull());
		stopAt(HOLD.plusSeconds(11)).run();
		assertThat(requests()).isEqualTo(1);
	}

	@Test
	void refusedRequestIsNotCounted() {
		this.store.leader = leader(1, NodeProfile.DEFAULT);
		this.store.candidates = List.of(new Candidate("node-2", "pid 2"));
		at(HOLD.multipliedBy(3), () -> this.store.candidates = BOTH);
		at(HOLD.multipliedBy(3).plusSeconds(3), () -> assertThat(requests()).isEqualTo(1));
		stopAt(HOLD.multipliedBy(4)).run();
	}

	@Test
	void newTermOrAnInterruptionBeginsTheHoldAgain() {
		follow(leader(1, NodeProfile.DEFAULT));
		Duration almost = HOLD.minusSeconds(1);
		at(almost, () -> this.store.leader = leader(2, NodeProfile.DEFAULT));
		at(almost.multipliedBy(2), () -> this.store.fail(Call.ACQUIRE));
		at(almost.multipliedBy(3), () -> assertThat(requests()).isZero());
		at(almost.multipliedBy(2).plus(HOLD).plusSeconds(3), () -> assertThat(requests()).isEqualTo(1));
		stopAt(HOLD.multipliedBy(4)).run();
	}

	@Test
	void slowHandOverIsOneRequest(CapturedOutput output) {
		follow(leader(1, NodeProfile.DEFAULT));
		at(HOLD.multipliedBy(6), () -> {
			assertThat(output).containsOnlyOnce("Requesting leadership");
			this.store.leader = leader(2, NodeProfile.DEFAULT);
		});
		at(HOLD.multipliedBy(8).minusSeconds(1), () -> assertThat(requests()).isEqualTo(1));
		at(HOLD.multipliedBy(8).plusSeconds(4), () -> assertThat(requests()).isEqualTo(2));
		stopAt(HOLD.multipliedBy(9)).run();
	}

	@Test
	void eachRequestDoublesTheHoldUntilThisNodeHasLedForTheLongestHold() {
		follow(leader(1, NodeProfile.DEFAULT));
		at(Duration.ofSeconds(15), () -> assertThat(requests()).isEqualTo(1));
		at(Duration.ofSeconds(20), () -> this.store.leader = leader(2, NodeProfile.DEFAULT));
		at(Duration.ofSeconds(39), () -> assertThat(requests()).isEqualTo(1));
		at(Duration.ofSeconds(44), () -> assertThat(requests()).isEqualTo(2));
		at(Duration.ofSeconds(50), () -> this.store.leader = leader(3, NodeProfile.DEFAULT));
		at(Duration.ofSeconds(89), () -> assertThat(requests()).isEqualTo(2));
		at(Duration.ofSeconds(94), () -> assertThat(requests()).isEqualTo(3));
		leadFrom(Duration.ofSeconds(100), Duration.ofSeconds(400));
		at(Duration.ofSeconds(578), () -> assertThat(requests()).isEqualTo(3));
		at(Duration.ofSeconds(586), () -> assertThat(requests()).isEqualTo(4));
		leadFrom(Duration.ofSeconds(590), HOLD.multipliedBy(64).plusSeconds(5));
		at(Duration.ofSeconds(1244), () -> assertThat(requests()).isEqualTo(4));
		at(Duration.ofSeconds(1252), () -> assertThat(requests()).isEqualTo(5));
		stopAt(Duration.ofSeconds(1253)).run();
		assertThat(tracedEvents()).containsExactly("granted 1", "revoked 1 " + Reason.SESSION_LOST, "granted 2",
				"revoked 2 " + Reason.SESSION_LOST);
	}

	private void leadFrom(Duration begin, Duration duration) {
		at(begin, () -> this.store.leader = null);
		at(begin.plus(duration), () -> {
			assertThat(isLeader()).isTrue();
			this.store.fail(Call.CONFIRM);
			this.store.leader = leader(begin.toSeconds(), NodeProfile.DEFAULT);
		});
	}

	// Protocols

	@Test
	void otherProtocolIsLoggedOnce(CapturedOutput output) {
		follow(leader(1, new NodeProfile(1, 20, Map.of())));
		at(Duration.ofSeconds(3), () -> this.store.leader = leader(2, new NodeProfile(1, 20, Map.of())));
		stopAt(Duration.ofSeconds(6)).run();
		assertThat(output).containsOnlyOnce("Node 'node-2' uses protocol 1 of leader election, but this node uses 3");
	}

	@Test
	void leaderLogsTheProtocolOfACandidate(CapturedOutput output) {
		this.store.candidates = List.of(new Candidate("node-1", "pid 1", NodeProfile.DEFAULT),
				new Candidate("node-3", "pid 3", new NodeProfile(4, 0, Map.of())));
		stopAt(Duration.ofSeconds(3)).run();
		assertThat(output).containsOnlyOnce("Node 'node-3' uses protocol 4 of leader election, but this node uses 3");
	}

	@Test
	void nodeThatPublishesNoProtocolIsNotLogged(CapturedOutput output) {
		this.store.leader = leader(1, NodeProfile.UNKNOWN);
		stopAt(Duration.ofSeconds(3)).run();
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

	private void follow(Holder leader) {
		this.store.leader = leader;
		this.store.candidates = BOTH;
	}

	/**
	 * Return in how many terms the resignation of the leader was requested.
	 */
	private long requests() {
		return this.trace.stream().filter((entry) -> entry.startsWith("request ")).distinct().count();
	}

}
