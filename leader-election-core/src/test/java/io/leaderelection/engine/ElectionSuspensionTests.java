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
class ElectionSuspensionTests extends ElectionFixture {

	private static final List<Candidate> OTHERS = List.of(new Candidate("node-2", "pid 2"),
			new Candidate("node-3", "pid 3"));

	@Test
	void leaderHandsOverAndIsNoCandidateUntilResumed() {
		at(Duration.ofSeconds(2), () -> {
			assertThat(isLeader()).isTrue();
			this.election.suspendCandidacy(Suspension.UNHEALTHY);
			assertThat(isLeader()).isFalse();
		});
		at(Duration.ofSeconds(20), () -> {
			assertThat(tracedEvents()).containsExactly("granted 1", "revoked 1 " + Reason.RESIGNED);
			assertThat(this.store.observations).hasSizeGreaterThan(10);
			this.election.resumeCandidacy(Suspension.UNHEALTHY);
		});
		at(Duration.ofSeconds(27), () -> assertThat(isLeader()).isTrue());
		stopAt(Duration.ofSeconds(28)).run();
	}

	@Test
	void leaderDoesNotLeaveItsElectionToOthers() {
		at(Duration.ofSeconds(2), () -> {
			this.election.suspendForSpread(Duration.ofMinutes(1));
			assertThat(this.election.isSuspended()).isFalse();
			assertThat(isLeader()).isTrue();
		}).stopAt(Duration.ofSeconds(3)).run();
	}

	@Test
	void followerLeavesAnElectionToOthersUntilItResumes() {
		this.store.leader = OTHER;
		at(Duration.ofSeconds(2), () -> {
			this.election.suspendForSpread(Duration.ofMinutes(1));
			this.election.suspendForSpread(Duration.ofMinutes(1));
		});
		at(Duration.ofSeconds(5), () -> this.store.leader = null);
		at(Duration.ofSeconds(10), () -> {
			assertThat(isLeader()).isFalse();
			assertThat(status().problem())
				.contains("another candidate should lead, since this node leads other elections");
			this.election.resumeCandidacy(Suspension.SPREAD);
		});
		at(Duration.ofSeconds(17), () -> assertThat(isLeader()).isTrue());
		stopAt(Duration.ofSeconds(18)).run();
		assertThat(tracedEvents()).containsExactly("granted 1", "revoked 1 " + Reason.STOPPED);
	}

	@Test
	void electionIsNotLeftToOthersForEver() {
		this.store.leader = OTHER;
		at(Duration.ofSeconds(2), () -> this.election.suspendForSpread(Duration.ofSeconds(10)));
		at(Duration.ofSeconds(6), () -> {
			this.election.suspendForSpread(Duration.ofSeconds(10));
			this.store.leader = null;
		});
		at(Duration.ofSeconds(11), () -> assertThat(this.election.isSuspended()).isTrue());
		at(Duration.ofSeconds(13), () -> assertThat(this.election.isSuspended()).isFalse());
		stopAt(Duration.ofSeconds(20)).run();
		assertThat(tracedEvents()).containsExactly("granted 1", "revoked 1 " + Reason.STOPPED);
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
		at(Duration.ofSeconds(2), () -> this.election.suspendForSpread(LEASE));
		stopAt(Duration.ofSeconds(3)).run();
		assertThat(this.election.isSuspended()).isFalse();
	}

	@Test
	void leaderThatSuspendsItsCandidacyResumesByItself() {
		this.store.candidates = OTHERS;
		at(Duration.ofSeconds(2), () -> {
			this.election.suspendCandidacy(Suspension.SERVICES_FAILED, this.election.leadership(),
					Duration.ofSeconds(20));
			assertThat(isLeader()).isFalse();
			assertThat(this.election.isSuspended(Suspension.UNHEALTHY)).isFalse();
		});
		at(Duration.ofMillis(21_900), () -> {
			assertThat(tracedEvents()).containsExactly("granted 1", "revoked 1 " + Reason.RESIGNED);
			assertThat(this.election.isSuspended()).isTrue();
			assertThat(status().problem()).contains("services could not be started");
		});
		at(Duration.ofSeconds(29), () -> assertThat(isLeader()).isTrue());
		stopAt(Duration.ofSeconds(30)).run();
	}

	@Test
	void successorDoesNotEndTheSuspensionOfALeader() {
		this.store.candidates = OTHERS;
		this.store.succeeded = true;
		at(Duration.ofSeconds(2),
				() -> this.election.suspendCandidacy(Suspension.SERVICES_FAILED, this.election.leadership(), LEASE));
		at(Duration.ofMillis(2500), () -> {
			assertThat(this.election.isSuspended(Suspension.RESIGNED)).isFalse();
			assertThat(this.election.isSuspended(Suspension.SERVICES_FAILED)).isTrue();
			assertThat(isLeader()).isFalse();
		}).stopAt(Duration.ofSeconds(6)).run();
		assertThat(tracedEvents()).containsExactly("granted 1", "revoked 1 " + Reason.RESIGNED);
	}

	@Test
	void healthThatIsBackDoesNotEndAnotherPause() {
		this.store.candidates = OTHERS;
		at(Duration.ofSeconds(2), () -> {
			this.election.suspendCandidacy(Suspension.SERVICES_FAILED, this.election.leadership(),
					Duration.ofSeconds(20));
			this.election.suspendCandidacy(Suspension.UNHEALTHY);
			this.election.resumeCandidacy(Suspension.UNHEALTHY);
			assertThat(this.election.isSuspended(Suspension.SERVICES_FAILED)).isTrue();
		}).stopAt(Duration.ofSeconds(10)).run();
		assertThat(tracedEvents()).containsExactly("granted 1", "revoked 1 " + Reason.RESIGNED);
	}

	@Test
	void suspensionEndsWhenNoOtherNodeCanLead() {
		this.store.candidates = OTHERS;
		at(Duration.ofSeconds(2), () -> this.election.suspendCandidacy(Suspension.SERVICES_FAILED,
				this.election.leadership(), Duration.ofSeconds(20)));
		at(Duration.ofSeconds(9), () -> {
			assertThat(isLeader()).isFalse();
			this.store.candidates = List.of();
		});
		at(Duration.ofMillis(9900), () -> assertThat(isLeader()).isTrue());
		stopAt(Duration.ofSeconds(10)).run();
		assertThat(tracedEvents()).startsWith("granted 1", "revoked 1 " + Reason.RESIGNED, "granted 2");
	}

	@Test
	void formerSessionOfANodeThatHasResignedIsNoSuccessor() {
		this.store.candidates = OTHERS;
		this.store.next(Call.RELEASE, () -> {
			this.store.leader = new Holder("node-1", "pid 1", new Term(0, 1, 1), Instant.EPOCH, NodeProfile.DEFAULT,
					null);
			throw FakeStore.failure();
		});
		at(Duration.ofSeconds(2), () -> this.election.resign("application"));
		at(Duration.ofSeconds(3), () -> {
			assertThat(this.store.observations).isNotEmpty();
			assertThat(this.election.isSuspended(Suspension.RESIGNED)).isTrue();
			assertThat(this.election.state().history()).extracting(Transition::kind).doesNotContain(Kind.FOLLOWED);
			this.store.leader = OTHER;
		});
		at(Duration.ofMillis(3100), () -> assertThat(this.election.isSuspended(Suspension.RESIGNED)).isFalse());
		stopAt(Duration.ofSeconds(4)).run();
	}

	@Test
	void onlyTheGivenTermIsSuspended() {
		this.store.candidates = OTHERS;
		List<Leadership> first = new ArrayList<>();
		at(Duration.ofSeconds(1), () -> {
			first.add(this.election.leadership());
			this.election.resign("application");
		});
		at(Duration.ofSeconds(10), () -> {
			assertThat(isLeader()).isTrue();
			this.election.suspendCandidacy(Suspension.SERVICES_FAILED, first.get(0), Duration.ofSeconds(20));
			assertThat(isLeader()).isTrue();
			assertThat(this.election.isSuspended()).isFalse();
		}).stopAt(Duration.ofSeconds(11)).run();
	}

	@Test
	void winnerIsNotGranted() {
		this.store.predecessor = "backend 7";
		at(Duration.ofSeconds(1), () -> {
			assertThat(status().role()).isEqualTo(Role.ELECTED);
			this.election.suspendCandidacy(Suspension.UNHEALTHY);
			this.store.predecessor = null;
		}).stopAt(Duration.ofSeconds(10)).run();
		assertThat(tracedEvents()).isEmpty();
	}

	@Test
	void followerKnowsTheLeaderAndMayAskItToResign() {
		this.store.leader = OTHER;
		this.store.candidates = OTHERS;
		at(Duration.ofSeconds(1), () -> this.election.suspendCandidacy(Suspension.UNHEALTHY));
		at(Duration.ofSeconds(4), () -> {
			assertThat(status().leader()).isEqualTo("node-2");
			assertThat(this.election.requestResignation(null, "test").isRequested()).isTrue();
		});
		at(Duration.ofSeconds(6), () -> {
			assertThat(this.trace).contains("request 0:1:775 test");
			// The lock is free, for others
			this.store.leader = null;
		});
		at(Duration.ofSeconds(10), () -> assertThat(isLeader()).isFalse());
		stopAt(Duration.ofSeconds(11)).run();
		assertThat(tracedEvents()).isEmpty();
	}

}
