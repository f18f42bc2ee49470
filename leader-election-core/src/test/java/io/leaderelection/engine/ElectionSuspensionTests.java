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

import io.leaderelection.Leadership;
import io.leaderelection.LeadershipRevokedEvent.Reason;
import io.leaderelection.Term;
import io.leaderelection.engine.ElectionState.Suspension;
import io.leaderelection.engine.ElectionStatus.Role;
import io.leaderelection.engine.FakeStore.Call;
import io.leaderelection.engine.StoreSession.Candidate;
import io.leaderelection.engine.StoreSession.Holder;
import io.leaderelection.engine.Transition.Kind;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for a node that suspends its candidacy.
 */
@Tag("ring1")
class ElectionSuspensionTests {

	private static final Holder OTHER = new Holder("node-2", "pid 2", new Term(0, 1, 775), Instant.EPOCH,
			NodeProfile.DEFAULT, null);

	private static final List<Candidate> BOTH = List.of(new Candidate("node-2", "pid 2"),
			new Candidate("node-3", "pid 3"));

	private final ElectionFixture fixture = new ElectionFixture();

	private final FakeStore store = this.fixture.store;

	private final Election election = this.fixture.election;

	@Test
	void leaderHandsOverAndIsNoCandidateUntilResumed() {
		this.fixture.at(Duration.ofSeconds(2), () -> {
			assertThat(this.fixture.isLeader()).isTrue();
			this.election.suspendCandidacy(Suspension.UNHEALTHY);
			assertThat(this.fixture.isLeader()).isFalse();
		});
		this.fixture.at(Duration.ofSeconds(20), () -> {
			assertThat(this.fixture.tracedEvents()).containsExactly("granted 1", "revoked 1 " + Reason.RESIGNED);
			assertThat(this.store.observations).hasSizeGreaterThan(10);
			this.election.resumeCandidacy(Suspension.UNHEALTHY);
		});
		this.fixture.at(Duration.ofSeconds(27), () -> assertThat(this.fixture.isLeader()).isTrue());
		this.fixture.stopAt(Duration.ofSeconds(28)).run();
	}

	@Test
	void leaderDoesNotLeaveItsElectionToOthers() {
		this.fixture.at(Duration.ofSeconds(2), () -> {
			this.election.suspendForSpread(Duration.ofMinutes(1));
			assertThat(this.election.isSuspended()).isFalse();
			assertThat(this.fixture.isLeader()).isTrue();
		});
		this.fixture.stopAt(Duration.ofSeconds(3)).run();
	}

	@Test
	void followerLeavesAnElectionToOthersUntilItResumes() {
		this.store.leader = OTHER;
		this.fixture.at(Duration.ofSeconds(2), () -> {
			this.election.suspendForSpread(Duration.ofMinutes(1));
			this.election.suspendForSpread(Duration.ofMinutes(1));
		});
		this.fixture.at(Duration.ofSeconds(5), () -> this.store.leader = null);
		this.fixture.at(Duration.ofSeconds(10), () -> {
			assertThat(this.fixture.isLeader()).isFalse();
			assertThat(ElectionStatus.of(this.election).problem())
				.contains("another candidate should lead, since this node leads other elections");
			this.election.resumeCandidacy(Suspension.SPREAD);
		});
		this.fixture.at(Duration.ofSeconds(17), () -> assertThat(this.fixture.isLeader()).isTrue());
		this.fixture.stopAt(Duration.ofSeconds(18)).run();
		assertThat(this.fixture.tracedEvents()).containsExactly("granted 1", "revoked 1 " + Reason.STOPPED);
	}

	@Test
	void electionIsNotLeftToOthersForEver() {
		this.store.leader = OTHER;
		this.fixture.at(Duration.ofSeconds(2), () -> this.election.suspendForSpread(Duration.ofSeconds(10)));
		this.fixture.at(Duration.ofSeconds(6), () -> {
			this.election.suspendForSpread(Duration.ofSeconds(10));
			this.store.leader = null;
		});
		this.fixture.at(Duration.ofSeconds(11), () -> assertThat(this.election.isSuspended()).isTrue());
		this.fixture.at(Duration.ofSeconds(13), () -> assertThat(this.election.isSuspended()).isFalse());
		this.fixture.stopAt(Duration.ofSeconds(20)).run();
		assertThat(this.fixture.tracedEvents()).containsExactly("granted 1", "revoked 1 " + Reason.STOPPED);
	}

	@Test
	void winnerDoesNotLeaveItsElectionToOthers() {
		ElectionState left = ElectionState.stopped(0).suspended(Suspension.SPREAD, 10);
		assertThat(Transitions.mustNotLead(left, 0)).isTrue();
		assertThat(Transitions.mustNotLead(this.election.transitions().elect(left, new Term(0, 1, 2)), 0)).isFalse();
	}

	@Test
	void stopEndsWhatWasLeftToOthers() {
		this.store.leader = OTHER;
		this.fixture.at(Duration.ofSeconds(2), () -> this.election.suspendForSpread(ElectionFixture.LEASE));
		this.fixture.stopAt(Duration.ofSeconds(3)).run();
		assertThat(this.election.isSuspended()).isFalse();
	}

	@Test
	void leaderThatSuspendsItsCandidacyResumesByItself() {
		this.store.candidates = BOTH;
		this.fixture.at(Duration.ofSeconds(2), () -> {
			this.election.suspendCandidacy(Suspension.SERVICES_FAILED, this.election.leadership(),
					Duration.ofSeconds(20));
			assertThat(this.fixture.isLeader()).isFalse();
			assertThat(this.election.isSuspended(Suspension.UNHEALTHY)).isFalse();
		});
		this.fixture.at(Duration.ofMillis(21_900), () -> {
			assertThat(this.fixture.tracedEvents()).containsExactly("granted 1", "revoked 1 " + Reason.RESIGNED);
			assertThat(this.election.isSuspended()).isTrue();
			assertThat(ElectionStatus.of(this.election).problem()).contains("services could not be started");
		});
		this.fixture.at(Duration.ofSeconds(29), () -> assertThat(this.fixture.isLeader()).isTrue());
		this.fixture.stopAt(Duration.ofSeconds(30)).run();
	}

	@Test
	void successorDoesNotEndTheSuspensionOfALeader() {
		this.store.candidates = BOTH;
		this.store.succeeded = true;
		this.fixture.at(Duration.ofSeconds(2), () -> this.election.suspendCandidacy(Suspension.SERVICES_FAILED,
				this.election.leadership(), ElectionFixture.LEASE));
		this.fixture.at(Duration.ofMillis(2500), () -> {
			assertThat(this.election.isSuspended(Suspension.RESIGNED)).isFalse();
			assertThat(this.election.isSuspended(Suspension.SERVICES_FAILED)).isTrue();
			assertThat(this.fixture.isLeader()).isFalse();
		});
		this.fixture.stopAt(Duration.ofSeconds(6)).run();
		assertThat(this.fixture.tracedEvents()).containsExactly("granted 1", "revoked 1 " + Reason.RESIGNED);
	}

	@Test
	void healthThatIsBackDoesNotEndAnotherPause() {
		this.store.candidates = BOTH;
		this.fixture.at(Duration.ofSeconds(2), () -> {
			this.election.suspendCandidacy(Suspension.SERVICES_FAILED, this.election.leadership(),
					Duration.ofSeconds(20));
			this.election.suspendCandidacy(Suspension.UNHEALTHY);
			this.election.resumeCandidacy(Suspension.UNHEALTHY);
			assertThat(this.election.isSuspended(Suspension.SERVICES_FAILED)).isTrue();
		});
		this.fixture.stopAt(Duration.ofSeconds(10)).run();
		assertThat(this.fixture.tracedEvents()).containsExactly("granted 1", "revoked 1 " + Reason.RESIGNED);
	}

	@Test
	void suspendedLeaderWithoutOthersIsACandidateOnlyBehindOthers() {
		this.fixture.at(Duration.ofSeconds(2), () -> this.election.suspendCandidacy(Suspension.SERVICES_FAILED,
				this.election.leadership(), Duration.ofSeconds(20)));
		this.fixture.at(Duration.ofSeconds(9), () -> assertThat(this.fixture.isLeader()).isTrue());
		this.fixture.stopAt(Duration.ofSeconds(10)).run();
		assertThat(this.fixture.tracedEvents()).startsWith("granted 1", "revoked 1 " + Reason.RESIGNED, "granted 2");
	}

	@Test
	void formerSessionOfANodeThatHasResignedIsNoSuccessor() {
		this.store.candidates = BOTH;
		this.store.next(Call.RELEASE, () -> {
			this.store.leader = new Holder("node-1", "pid 1", new Term(0, 1, 1), Instant.EPOCH, NodeProfile.DEFAULT,
					null);
			throw FakeStore.failure();
		});
		this.fixture.at(Duration.ofSeconds(2), () -> this.election.resign("application"));
		this.fixture.at(Duration.ofSeconds(3), () -> {
			assertThat(this.store.observations).isNotEmpty();
			assertThat(this.election.isSuspended(Suspension.RESIGNED)).isTrue();
			assertThat(this.election.state().history()).extracting(Transition::kind).doesNotContain(Kind.FOLLOWED);
			this.store.leader = OTHER;
		});
		this.fixture.at(Duration.ofMillis(3100),
				() -> assertThat(this.election.isSuspended(Suspension.RESIGNED)).isFalse());
		this.fixture.stopAt(Duration.ofSeconds(4)).run();
	}

	@Test
	void onlyTheGivenTermIsSuspended() {
		this.store.candidates = BOTH;
		List<Leadership> first = new ArrayList<>();
		this.fixture.at(Duration.ofSeconds(1), () -> {
			first.add(this.election.leadership());
			this.election.resign("application");
		});
		this.fixture.at(Duration.ofSeconds(10), () -> {
			assertThat(this.fixture.isLeader()).isTrue();
			this.election.suspendCandidacy(Suspension.SERVICES_FAILED, first.get(0), Duration.ofSeconds(20));
			assertThat(this.fixture.isLeader()).isTrue();
			assertThat(this.election.isSuspended()).isFalse();
		});
		this.fixture.stopAt(Duration.ofSeconds(11)).run();
	}

	@Test
	void winnerIsNotGranted() {
		this.store.predecessor = "backend 7";
		this.fixture.at(Duration.ofSeconds(1), () -> {
			assertThat(ElectionStatus.of(this.election).role()).isEqualTo(Role.ELECTED);
			this.election.suspendCandidacy(Suspension.UNHEALTHY);
			this.store.predecessor = null;
		});
		this.fixture.stopAt(Duration.ofSeconds(10)).run();
		assertThat(this.fixture.tracedEvents()).isEmpty();
	}

	@Test
	void followerKnowsTheLeaderAndMayAskItToResign() {
		this.store.leader = OTHER;
		this.store.candidates = BOTH;
		this.fixture.at(Duration.ofSeconds(1), () -> this.election.suspendCandidacy(Suspension.UNHEALTHY));
		this.fixture.at(Duration.ofSeconds(4), () -> {
			assertThat(ElectionStatus.of(this.election).leader()).isEqualTo("node-2");
			assertThat(this.election.requestResignation(null, "test").isRequested()).isTrue();
		});
		this.fixture.at(Duration.ofSeconds(6), () -> {
			assertThat(this.fixture.trace).contains("request 0:1:775 test");
			// The lock is free, for others
			this.store.leader = null;
		});
		this.fixture.at(Duration.ofSeconds(10), () -> assertThat(this.fixture.isLeader()).isFalse());
		this.fixture.stopAt(Duration.ofSeconds(11)).run();
		assertThat(this.fixture.tracedEvents()).isEmpty();
	}

}
