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
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.CompletableFuture;

import io.leaderelection.LeadershipRevokedEvent.Reason;
import io.leaderelection.Term;
import io.leaderelection.engine.ElectionState.Suspension;
import io.leaderelection.engine.FakeStore.Call;
import io.leaderelection.engine.StoreSession.Acquisition.Ending;
import io.leaderelection.engine.StoreSession.Candidate;
import io.leaderelection.engine.StoreSession.Holder;
import io.leaderelection.engine.Transition.Kind;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.tuple;

/**
 * The request that the leader resigns, made on any node, and what nodes know of each
 * other.
 */
@ExtendWith(OutputCaptureExtension.class)
@Tag("ring1")
class ElectionRequestTests extends ElectionFixture {

	private @Nullable ResignationAnswer answer;

	@Test
	void followerAsksThroughTheStoreAside() {
		Deque<Runnable> background = new ArrayDeque<>();
		letOtherLead();
		at(Duration.ofMillis(1200), () -> {
			this.other = background::add;
			for (int i = 0; i < 2; i++) {
				this.answer = this.election.requestResignation(null, "test");
				assertThat(this.answer).isEqualTo(ResignationAnswer.requested(TERM));
			}
			assertThat(this.election.state().request()).isEqualTo(TERM);
			assertThat(background).as("one request at a time").hasSize(1);
			background.remove().run();
			assertThat(this.election.state().request()).isNull();
			this.election.requestResignation(null, "test again");
			background.remove().run();
		}).stopAt(Duration.ofSeconds(6)).run();
		assertThat(this.trace).containsSubsequence("request 0:1:775 test", "request 0:1:775 test again");
	}

	@Test
	void requestThatDoesNotEndLetsNoOtherWaitForIt() {
		CompletableFuture<@Nullable Void> begun = new CompletableFuture<>();
		CompletableFuture<@Nullable Void> end = new CompletableFuture<>();
		letOtherLead();
		this.store.next(Call.REQUEST, () -> {
			begun.complete(null);
			end.join();
		});
		List<CompletableFuture<Void>> requests = new ArrayList<>();
		this.other = (request) -> requests.add(CompletableFuture.runAsync(request));
		at(Duration.ofSeconds(1), () -> {
			this.election.requestResignation(null, "test");
			begun.join();
		});
		at(Duration.ofSeconds(10),
				() -> assertThat(this.election.requestResignation(null, "test").isRequested()).isTrue());
		at(Duration.ofSeconds(12), () -> {
			assertThat(this.election.requestResignation(null, "test").refusal()).contains("an earlier request");
			end.complete(null);
			requests.get(0).join();
			assertThat(this.election.requestResignation(null, "test").isRequested()).isTrue();
		}).stopAt(Duration.ofSeconds(20)).run();
	}

	@Test
	void requestThatFailsIsLoggedAndMayBeRepeated(CapturedOutput output) {
		letOtherLead();
		this.store.fail(Call.REQUEST);
		at(Duration.ofMillis(1200), () -> {
			this.election.requestResignation(null, "test");
			assertThat(this.election.state().request()).isNull();
		}).stopAt(Duration.ofSeconds(2)).run();
		assertThat(output)
			.contains("Could not request the end of term " + TERM + ": The connection broke (election 'default'");
	}

	@Test
	void leaderThatWasNotMeantIsNotAsked() {
		letOtherLead();
		at(Duration.ofMillis(1200), () -> {
			assertThat(this.election.requestResignation(new Term(0, 1, 774), "test").refusal())
				.contains("another term");
			assertThat(this.election.requestResignation(TERM, "test")).isEqualTo(ResignationAnswer.requested(TERM));
		}).stopAt(Duration.ofSeconds(3)).run();
		assertThat(this.trace).containsOnlyOnce("request 0:1:775 test");
	}

	@Test
	void nodeThatIsNoCandidateAsksTooAndSaysSo(CapturedOutput output) {
		ElectionFixture observer = new ElectionFixture(settings(Duration.ZERO, false));
		observer.store.leader = OTHER;
		observer.store.candidates = List.of(BOTH.get(1), new Candidate("node-3", "pid 3"));
		observer.at(Duration.ofMillis(1200), () -> observer.election.requestResignation(null, "test"));
		observer.at(Duration.ofMillis(1300), () -> assertThat(observer.trace).contains("request 0:1:775 test"));
		observer.at(Duration.ofMillis(1400), () -> {
			String reason = "is not a candidate: it is configured with candidate=false";
			assertThat(output).contains("leader 'node-2'). This node " + reason);
			assertThat(ElectionStatus.of(observer.election).problem()).isEqualTo(reason);
			observer.election.suspendCandidacy(Suspension.UNHEALTHY);
			assertThat(ElectionStatus.of(observer.election).problem())
				.isEqualTo(reason + ", and the application is unhealthy");
		});
		observer.stopAt(Duration.ofSeconds(8)).run();
	}

	@Test
	void leaderIsAskedOnItsOwnNode() {
		this.store.candidates = BOTH;
		at(Duration.ofSeconds(2), () -> {
			this.answer = this.election.requestResignation(null, "test");
			assertThat(this.answer).isEqualTo(ResignationAnswer.requested(new Term(0, 1, 1)));
			assertThat(isLeader()).isFalse();
		}).stopAt(Duration.ofSeconds(6)).run();
		assertThat(tracedEvents()).startsWith("granted 1", "revoked 1 " + Reason.RESIGNED);
	}

	@Test
	void noLeaderIsAskedToResignWithoutASuccessor() {
		this.store.candidates = BOTH.subList(0, 1);
		at(Duration.ofSeconds(2), () -> {
			this.answer = this.election.requestResignation(null, "test");
			assertThat(this.answer.isRequested()).isFalse();
			assertThat(this.answer.refusal()).isEqualTo("there is no other candidate");
			assertThat(isLeader()).isTrue();
		}).stopAt(Duration.ofSeconds(3)).run();
	}

	@Test
	void leaderThatIsNoCandidateAnyLongerIsAskedIfThereIsASuccessor() {
		this.store.leader = OTHER;
		this.store.candidates = BOTH.stream()
			.filter((candidate) -> !candidate.nodeId().equals(OTHER.nodeId()))
			.toList();
		at(Duration.ofSeconds(2), () -> this.answer = this.election.requestResignation(null, "test"));
		stopAt(Duration.ofSeconds(3)).run();
		assertThat(this.answer).isEqualTo(ResignationAnswer.requested(OTHER.term()));
	}

	@Test
	void nobodyIsAskedThroughADatabaseThatIsOutOfReach() {
		letOtherLead();
		at(Duration.ofSeconds(1), () -> {
			this.store.fail(Call.ACQUIRE);
			this.store.fail(Call.OPEN, 10);
		});
		at(Duration.ofSeconds(3), () -> {
			this.answer = this.election.requestResignation(null, "test");
			assertThat(this.answer.refusal()).startsWith("this node has no session: ");
		}).stopAt(Duration.ofSeconds(4)).run();
	}

	@Test
	void nobodyIsAskedByANodeThatTakesNoPart() {
		assertThat(this.election.requestResignation(null, "test").refusal()).contains("does not participate");
	}

	@Test
	void leaderKnowsTheCandidates() {
		this.store.candidates = BOTH;
		at(Duration.ofSeconds(2), () -> {
			ElectionStatus status = status();
			assertThat(status.leader()).isEqualTo("node-1");
			assertThat(status.leaderTerm()).isEqualTo(new Term(0, 1, 1));
			assertThat(status.candidates()).containsExactly("node-1", "node-2");
			this.store.candidates = BOTH.subList(0, 1);
		});
		at(Duration.ofSeconds(4), () -> assertThat(status().candidates()).containsExactly("node-1"));
		stopAt(Duration.ofSeconds(5)).run();
	}

	@Test
	void followerRemembersWhoAskedTheLeaderOnce() {
		letOtherLead();
		at(Duration.ofMillis(1200), () -> {
			this.other = (task) -> {
			};
			this.election.requestResignation(null, "endpoint, user 'alice'");
			this.election.requestResignation(null, "endpoint, user 'bob'");
		}).stopAt(Duration.ofSeconds(4)).run();
		assertThat(status().history())
			.extracting(Transition::kind, Transition::node, Transition::term, Transition::cause)
			.containsExactly(tuple(Kind.FOLLOWED, "node-2", TERM, null),
					tuple(Kind.REQUESTED, "node-2", TERM, "endpoint, user 'alice'"));
	}

	@Test
	void leaderSaysWhoAsked(CapturedOutput output) {
		at(Duration.ofSeconds(2), () -> this.store.requester = "node 'node-2'");
		at(Duration.ofSeconds(3), () -> this.store.requester = null);
		stopAt(Duration.ofSeconds(4)).run();
		assertThat(status().history()).element(1).satisfies((transition) -> {
			assertThat(transition.kind()).isEqualTo(Kind.REVOKED);
			assertThat(transition.reason()).isEqualTo(Reason.RESIGNED);
			assertThat(transition.cause()).isEqualTo("node 'node-2'");
		});
		assertThat(output)
			.contains("A resignation of this node was requested through the database by node 'node-2' (election")
			.contains("in term 0:1:1 (RESIGNED, requested by: node 'node-2')");
	}

	@Test
	void suspensionIsACause(CapturedOutput output) {
		at(Duration.ofSeconds(2), () -> this.election.suspendCandidacy(Suspension.UNHEALTHY));
		stopAt(Duration.ofSeconds(4)).run();
		assertThat(output).contains("in term 0:1:1 (RESIGNED, requested by: unhealthy)");
	}

	@Test
	void firstTermHasNoFormerLeaderAndAStopNoCause(CapturedOutput output) {
		stopAt(Duration.ofSeconds(2)).run();
		assertThat(output)
			.contains("Acquired leadership, starting schedulers (election 'default', node 'node-1', term 0:1:1)")
			.contains("in term 0:1:1 (STOPPED)");
	}

	@Test
	void winnerNamesTheFormerLeader(CapturedOutput output) {
		this.store.leader = OTHER;
		this.store.ending = Ending.UNKNOWN;
		at(Duration.ofMillis(1200), () -> this.store.leader = null);
		stopAt(Duration.ofSeconds(4)).run();
		assertThat(output).contains("Not leader, skipping scheduler startup")
			.contains("Acquired leadership (election 'default', node 'node-1', term 0:1:1, after node 'node-2' in term "
					+ TERM
					+ ", whose session was last observed 900ms ago, and at least 100ms, possibly a lease longer, without"
					+ " a leader)");
	}

	@Test
	void sameLeaderIsRememberedOnceAcrossSessions() {
		this.store.leader = new Holder("node-2", "pid 2");
		at(Duration.ofMillis(1500), () -> this.store.leader = OTHER);
		at(Duration.ofSeconds(3), () -> this.store.fail(Call.ACQUIRE));
		stopAt(Duration.ofSeconds(6)).run();
		assertThat(status().history()).hasSize(1).last().satisfies((transition) -> {
			assertThat(transition.kind()).isEqualTo(Kind.FOLLOWED);
			assertThat(transition.term()).isEqualTo(TERM);
		});
	}

	@Test
	void suspendedNodeKnowsTheCandidates() {
		this.store.candidates = BOTH;
		at(Duration.ofSeconds(2), () -> this.election.resign("application"));
		at(Duration.ofSeconds(4), () -> {
			assertThat(isLeader()).isFalse();
			assertThat(status().candidates()).containsExactly("node-1", "node-2");
		}).stopAt(Duration.ofSeconds(5)).run();
	}

	@Test
	void nobodyIsAskedThroughADatabaseThatHasFallenSilent() {
		letOtherLead();
		at(Duration.ofSeconds(1), () -> this.store.next(Call.ACQUIRE, () -> {
			hang(Duration.ofSeconds(4));
			this.answer = this.election.requestResignation(null, "test");
		}));
		stopAt(Duration.ofSeconds(8)).run();
		assertThat(this.answer).isEqualTo(ResignationAnswer.refused("the database does not answer"));
	}

	@Test
	void noMoreThanTwentyChangesAreRemembered() {
		for (int i = 1; i < 30; i++) {
			Holder leader = new Holder("node-" + i, "pid " + i, new Term(0, 1, i), Instant.EPOCH, NodeProfile.DEFAULT,
					null);
			at(Duration.ofSeconds(i), () -> this.store.leader = leader);
		}
		this.store.leader = OTHER;
		stopAt(Duration.ofSeconds(31)).run();
		assertThat(status().history()).hasSize(20).last().extracting(Transition::node).isEqualTo("node-29");
	}

}
