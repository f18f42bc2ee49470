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
import java.util.concurrent.CompletableFuture;

import io.leaderelection.LeadershipRevokedEvent;
import io.leaderelection.LeadershipRevokedEvent.Reason;
import io.leaderelection.engine.ElectionState.Problem;
import io.leaderelection.engine.FakeStore.Call;
import io.leaderelection.engine.StoreSession.Acquisition.Ending;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for {@link Election}: the first decision, the grant, the lease.
 */
@Timeout(60)
@Tag("ring1")
class ElectionTests extends ElectionFixture {

	// The first decision

	@Test
	void firstDecisionIsToLeadIfTheLockIsFree() {
		CompletableFuture<@Nullable Void> decision = start();
		at(Duration.ofMillis(1), () -> {
			assertThat(decision).isCompleted();
			assertThat(isLeader()).isTrue();
		}).stopAt(Duration.ofSeconds(1)).run();
		assertThat(this.trace).startsWith("open", "won 1", "barrier", "granted 1");
	}

	@Test
	void firstDecisionIsToFollowIfAnotherLeads() {
		this.store.leader = OTHER;
		CompletableFuture<@Nullable Void> decision = start();
		at(Duration.ofMillis(2), () -> {
			assertThat(decision).isCompleted();
			assertThat(isLeader()).isFalse();
			assertThat(this.election.state().position()).isInstanceOf(Position.Following.class);
			assertThat(this.election.state().view().leader()).isEqualTo(OTHER);
		}).stopAt(Duration.ofSeconds(3)).run();
		assertThat(this.store.waits).startsWith(Duration.ofMillis(1), Duration.ofMillis(800), Duration.ofMillis(800));
		assertThat(this.events).isEmpty();
	}

	@Test
	void firstDecisionFailsIfTheStoreIsOutOfReachAndTheNodeIsACandidateLater() {
		this.store.fail(Call.OPEN, new SessionException("Connection refused", null));
		CompletableFuture<@Nullable Void> decision = start();
		at(Duration.ofMillis(1), () -> {
			assertThat(decision).isCompletedExceptionally();
			assertThat(failureOf(decision)).isExactlyInstanceOf(SessionException.class);
			assertThat(this.election.state().position()).isInstanceOf(Position.Following.class);
			assertThat(this.election.state().contact().ever()).isFalse();
			assertThat(this.election.state().contact().problem()).isEqualTo(new Problem("Connection refused", false));
		});
		at(Duration.ofSeconds(1), () -> {
			assertThat(isLeader()).isTrue();
			assertThat(this.election.state().contact().problem()).isNull();
		}).stopAt(Duration.ofSeconds(2)).run();
	}

	@Test
	void firstDecisionFailsIfTheStoreIsUnusableAndTheNodeRetriesAfterHalfAMinute() {
		this.store.fail(Call.OPEN, new UnusableStoreException("PostgreSQL is too old", "Upgrade", null));
		CompletableFuture<@Nullable Void> decision = start();
		at(Duration.ofSeconds(29), () -> {
			assertThat(failureOf(decision)).isInstanceOf(UnusableStoreException.class);
			assertThat(this.election.state().contact().problem()).isEqualTo(new Problem("PostgreSQL is too old", true));
		}).stopAt(Duration.ofSeconds(31)).run();
		assertThat(this.store.openings).containsExactly(Duration.ZERO, Duration.ofSeconds(30));
	}

	@Test
	@ExtendWith(OutputCaptureExtension.class)
	void unusableStoreIsLoggedOnceWithAction(CapturedOutput output) {
		for (int i = 0; i < 3; i++) {
			this.store.fail(Call.OPEN, new UnusableStoreException("PostgreSQL is too old", "Upgrade it.", null));
		}
		start();
		stopAt(Duration.ofSeconds(61)).run();
		assertThat(this.store.openings).hasSize(3);
		assertThat(output.getAll().lines().filter((line) -> line.contains("too old"))).singleElement()
			.asString()
			.contains("WARN")
			.contains("Following without a session: PostgreSQL is too old. Upgrade it. (");
	}

	@Test
	void firstDecisionWaitsForTheGrantIfTheLockWasWon() {
		this.store.ending = Ending.UNKNOWN;
		CompletableFuture<@Nullable Void> decision = start();
		at(Duration.ofMillis(99), () -> {
			assertThat(decision).isNotDone();
			assertThat(this.election.state().position()).isInstanceOf(Position.Elected.class);
		});
		at(Duration.ofMillis(101), () -> assertThat(decision).isCompleted());
		stopAt(Duration.ofSeconds(1)).run();
	}

	@Test
	void nodeThatIsNoCandidateOnlyObserves() {
		ElectionFixture observer = new ElectionFixture(settings(Duration.ZERO, false));
		observer.store.leader = OTHER;
		CompletableFuture<@Nullable Void> decision = observer.start();
		observer.at(Duration.ofMillis(1), () -> {
			assertThat(decision).isCompleted();
			assertThat(observer.election.state().view().leader()).isEqualTo(OTHER);
		});
		observer.at(Duration.ofSeconds(2), () -> observer.store.leader = null);
		observer.stopAt(Duration.ofSeconds(4)).run();
		assertThat(observer.store.observations).containsExactly(Duration.ZERO, Duration.ofMillis(1500),
				Duration.ofSeconds(3));
		assertThat(observer.trace).containsExactly("open", "close");
	}

	// Before the grant

	@Test
	void grantWaitsUntilNoSessionHoldsALockOfAnEarlierTermAndOnlyThenPassesTheBarrier() {
		this.store.predecessor = "backend 7";
		at(Duration.ofMillis(300), () -> {
			assertThat(isLeader()).isFalse();
			assertThat(status().blockedBy()).isEqualTo("backend 7");
			assertThat(this.trace).doesNotContain("barrier");
			this.store.predecessor = null;
		});
		at(Duration.ofMillis(310), () -> {
			assertThat(isLeader()).isTrue();
			assertThat(status().blockedBy()).isNull();
		}).stopAt(Duration.ofSeconds(1)).run();
		assertThat(this.trace).startsWith("open", "won 1", "barrier", "granted 1");
	}

	@Test
	void grantWaitsUntilTheBarrierIsPassedAndConfirmsMeanwhile() {
		this.store.barrier = "backend 8";
		at(Duration.ofMillis(6500), () -> {
			assertThat(this.election.state().position()).isInstanceOf(Position.Elected.class);
			assertThat(status().blockedBy()).isEqualTo("backend 8");
			assertThat(this.store.confirmations).hasSizeGreaterThanOrEqualTo(6);
			this.store.barrier = null;
		});
		at(Duration.ofSeconds(8), () -> assertThat(isLeader()).isTrue());
		stopAt(Duration.ofSeconds(9)).run();
	}

	@Test
	void winnerThatResignsHoldsTheLockUntilItIsFree() {
		this.store.barrier = "backend 8";
		at(Duration.ofMillis(1500), () -> {
			this.election.resign("test");
			ElectionStatus status = status();
			assertThat(status.role()).isEqualTo(ElectionStatus.Role.ELECTED);
			assertThat(status.blockedBy()).isEqualTo("backend 8");
			assertThat(this.election.requestResignation(null, "test again").isRequested()).isTrue();
			this.store.barrier = null;
		}).stopAt(Duration.ofSeconds(3)).run();
		assertThat(this.trace).startsWith("open", "won 1", "barrier", "barrier", "release");
	}

	@Test
	void winnerConfirmsEveryFifthOfTheLeaseWhileTheTakeoverDelayRuns() {
		ElectionFixture patient = new ElectionFixture(settings(LEASE, true));
		patient.store.ending = Ending.UNKNOWN;
		patient.stopAt(Duration.ofSeconds(5).plusMillis(1)).run();
		assertThat(patient.tracedEvents()).containsExactly("granted 1", "revoked 1 STOPPED");
		assertThat(patient.store.confirmations).contains(Duration.ZERO, Duration.ofSeconds(1), Duration.ofSeconds(2),
				Duration.ofSeconds(3), Duration.ofSeconds(4), Duration.ofMillis(4995));
	}

	/**
	 * It runs from the reply of the acquisition on, beside the last confirmation.
	 */
	@ParameterizedTest
	@CsvSource({ "UNKNOWN, ACQUIRE, 70, 170", "ABANDONED, ACQUIRE, 0, 5", "ABANDONED, CONFIRM, 3, 5",
			"CLEAN, ACQUIRE, 0, 0" })
	void takeoverDelayDependsOnHowThePredecessorHasEnded(Ending ending, Call slow, long millis, long granted) {
		this.store.ending = ending;
		this.store.next(slow, () -> this.time.advance(Duration.ofMillis(millis)));
		this.listener = (event) -> this.trace.add("at " + this.time.elapsed().toMillis());
		stopAt(Duration.ofSeconds(1)).run();
		assertThat(traceFrom("granted 1")).startsWith("granted 1", "at " + granted);
	}

	@Test
	void takeoverDelayRunsBesideTheOtherWaits() {
		this.store.ending = Ending.UNKNOWN;
		this.store.predecessor = "backend 7";
		at(Duration.ofMillis(90), () -> this.store.predecessor = null);
		at(Duration.ofMillis(99), () -> assertThat(isLeader()).isFalse());
		at(Duration.ofMillis(101), () -> assertThat(isLeader()).isTrue());
		stopAt(Duration.ofSeconds(1)).run();
	}

	@Test
	void nodeThatIsToLeaveAfterTheLastConfirmationIsNotGrantedLeadership() {
		this.store.ending = Ending.UNKNOWN;
		this.store.next(Call.RELEASE, () -> this.trace.add("at " + this.time.elapsed().toMillis()));
		stopAt(Duration.ofMillis(97)).run();
		assertThat(this.store.confirmations).contains(Duration.ofMillis(95));
		assertThat(tracedEvents()).isEmpty();
		assertThat(this.trace).endsWith("release", "at 97", "close");
	}

	@Test
	void winnerWhoseSessionHasEndedAfterTheLastConfirmationIsNotGrantedLeadership() {
		this.store.ending = Ending.UNKNOWN;
		this.store.skip(Call.CONFIRM);
		this.store.next(Call.CONFIRM, () -> loseSession());
		stopAt(Duration.ofSeconds(1)).run();
		assertThat(this.store.confirmations).contains(Duration.ofMillis(95));
		assertThat(tracedEvents()).containsExactly("granted 2", "revoked 2 STOPPED");
	}

	@Test
	void trustOfTheGrantIsAnchoredAtTheStartOfTheLastConfirmationBeforeIt() {
		this.store.skip(Call.CONFIRM);
		this.store.next(Call.CONFIRM, () -> this.time.advance(Duration.ofSeconds(2)));
		this.store.next(Call.CONFIRM, () -> hang(Duration.ofSeconds(60)));
		at(TRUST.minusNanos(1), () -> assertThat(isLeader()).isTrue());
		at(TRUST, () -> assertThat(isLeader()).isFalse());
		stopAt(Duration.ofSeconds(4)).run();
		assertThat(traceFrom("granted 1")).startsWith("granted 1", "revoked 1 LEASE_EXPIRED", "abort");
	}

	@ParameterizedTest
	@ValueSource(longs = { 1000, 2750, 3000, 3700 })
	void slowConfirmationBeforeTheGrantDoesNotEndTheTerm(long millis) {
		this.store.skip(Call.CONFIRM);
		this.store.next(Call.CONFIRM, () -> this.time.advance(Duration.ofMillis(millis)));
		stopAt(Duration.ofSeconds(8)).run();
		assertThat(tracedEvents()).containsExactly("granted 1", "revoked 1 STOPPED");
		assertThat(this.store.confirmations).startsWith(Duration.ZERO, Duration.ZERO, Duration.ofMillis(millis));
	}

	@Test
	void candidatesAreReadAfterTheConfirmationThatIsDueAtTheGrant() {
		this.store.skip(Call.CONFIRM);
		this.store.next(Call.CONFIRM, () -> this.time.advance(Duration.ofSeconds(3)));
		this.store.next(Call.CANDIDATES, () -> this.time.advance(Duration.ofSeconds(1)));
		stopAt(Duration.ofSeconds(8)).run();
		assertThat(tracedEvents()).containsExactly("granted 1", "revoked 1 STOPPED");
	}

	@Test
	void confirmationThatReturnsAfterItsTrustHasRunOutGrantsNothing() {
		this.store.skip(Call.CONFIRM);
		this.store.next(Call.CONFIRM, () -> {
			this.time.advance(TRUST);
			assertThat(this.trace).doesNotContain("granted 1");
		});
		at(TRUST.plusMillis(1), () -> assertThat(isLeader()).isTrue());
		stopAt(Duration.ofSeconds(6)).run();
		assertThat(this.store.confirmations).startsWith(Duration.ZERO, Duration.ZERO, TRUST);
		assertThat(tracedEvents()).containsExactly("granted 1", "revoked 1 STOPPED");
	}

	@Test
	void lossBeforeTheGrantIsSilentAndTheNextTermIsANewOne() {
		this.store.skip(Call.CONFIRM);
		this.store.fail(Call.CONFIRM);
		stopAt(Duration.ofSeconds(1)).run();
		assertThat(this.trace).startsWith("open", "won 1", "barrier", "abort", "open", "won 2", "barrier", "granted 2");
	}

	// Leading

	@Test
	void leaderConfirmsEveryFifthOfTheLease() {
		stopAt(Duration.ofMillis(3500)).run();
		assertThat(this.store.confirmations).containsExactly(Duration.ZERO, Duration.ZERO, Duration.ofSeconds(1),
				Duration.ofSeconds(2), Duration.ofSeconds(3));
	}

	@Test
	void leaderStopsTrustingItselfThreeQuartersOfTheLeaseAfterTheStartOfTheLastConfirmation() {
		this.store.skip(Call.CONFIRM, 3);
		this.store.next(Call.CONFIRM, () -> this.time.advance(Duration.ofMillis(900)));
		this.store.next(Call.CONFIRM, () -> this.time.advance(Duration.ofSeconds(10)));
		Duration end = Duration.ofSeconds(2).plus(TRUST);
		at(end.minusNanos(1), () -> {
			assertThat(isLeader()).isTrue();
			assertThat(this.election.gate().enter("job")).isNotNull().satisfies(Work::close);
		});
		at(end, () -> {
			assertThat(isLeader()).isFalse();
			assertThat(this.election.gate().enter("job")).isNull();
		}).stopAt(Duration.ofSeconds(7)).run();
	}

	@Test
	void leaderRenewsItsLeaseBeforeItReadsTheCandidates() {
		this.store.skip(Call.CANDIDATES);
		this.store.next(Call.CANDIDATES, () -> {
			assertThat(this.time.elapsed()).isEqualTo(Duration.ofSeconds(1));
			this.time.advanceTo(TRUST);
			assertThat(isLeader()).isTrue();
		});
		stopAt(Duration.ofSeconds(6)).run();
		assertThat(tracedEvents()).containsExactly("granted 1", "revoked 1 STOPPED");
	}

	@Test
	void lateConfirmationDoesNotReviveTheTermEvenBeforeTheWatchdogHasRun() {
		this.store.skip(Call.CONFIRM, 2);
		this.store.next(Call.CONFIRM, () -> this.time.advance(TRUST));
		stopAt(Duration.ofSeconds(6)).run();
		assertThat(traceFrom("granted 1")).startsWith("granted 1", "revoked 1 LEASE_EXPIRED", "abort", "open", "won 2",
				"barrier", "granted 2");
	}

	@Test
	void watchdogRevokesOnTimeAndAbortsTheSessionWhileTheElectionThreadHangs() {
		this.store.skip(Call.CONFIRM, 2);
		this.store.next(Call.CONFIRM, () -> {
			hang(Duration.ofSeconds(60));
			assertThat(this.time.elapsed()).isEqualTo(TRUST);
		});
		stopAt(Duration.ofSeconds(6)).run();
		assertThat(traceFrom("granted 1")).startsWith("granted 1", "revoked 1 LEASE_EXPIRED", "abort", "open");
	}

	@Test
	void watchdogRunsAgainWhenTrustExpires() {
		at(Duration.ofMillis(1500), () -> {
			assertThat(checkDeadlines()).isEqualTo(Duration.ofSeconds(1).plus(TRUST).minusMillis(1500).toNanos());
			assertThat(isLeader()).isTrue();
		}).stopAt(Duration.ofSeconds(2)).run();
	}

	@Test
	void watchdogAbortsAFollowerWhoseWaitTakesTooLong() {
		this.store.leader = OTHER;
		this.store.skip(Call.ACQUIRE);
		this.store.next(Call.ACQUIRE, () -> {
			hang(Duration.ofSeconds(60));
			assertThat(this.time.elapsed()).isEqualTo(Duration.ofMillis(1).plusMillis(800).plus(LEASE));
		});
		stopAt(Duration.ofSeconds(7)).run();
		assertThat(this.trace).startsWith("open", "abort", "open");
	}

	@Test
	void watchdogInterruptsAnOpeningThatTakesTooLong() {
		this.store.next(Call.OPEN, () -> {
			hang(Duration.ofSeconds(14));
			assertThat(Thread.currentThread().isInterrupted()).isFalse();
			hang(Duration.ofSeconds(2));
			assertThat(Thread.interrupted()).isTrue();
			// It may have begun to wait just after that
			hang(Duration.ofSeconds(1));
			assertThat(Thread.interrupted()).isTrue();
			throw FakeStore.failure();
		});
		stopAt(Duration.ofSeconds(20)).run();
		assertThat(this.trace).startsWith("open", "open", "won 1");
	}

	@Test
	void lossOfTheSessionIsReportedAtOnceWithItsReason() {
		at(Duration.ofSeconds(2), () -> loseSession());
		stopAt(Duration.ofSeconds(3)).run();
		assertThat(tracedEvents()).containsExactly("granted 1", "revoked 1 SESSION_LOST", "granted 2",
				"revoked 2 STOPPED");
		assertThat(this.events.get(1)).isInstanceOfSatisfying(LeadershipRevokedEvent.class, (revoked) -> {
			assertThat(revoked.getReason()).isEqualTo(Reason.SESSION_LOST);
			assertThat(revoked.getLeadership()).isSameAs(this.events.get(0).getLeadership());
			assertThat(revoked.getLeadership().isCurrent()).isFalse();
		});
	}

	@Test
	void winnerForWhomNothingIsLeftPassesNoBarrierAgain() {
		this.store.clear = true;
		this.store.ending = Ending.UNKNOWN;
		at(Duration.ofMillis(99), () -> assertThat(isLeader()).isFalse());
		at(Duration.ofMillis(101), () -> assertThat(isLeader()).isTrue());
		stopAt(Duration.ofSeconds(1)).run();
		assertThat(this.trace).startsWith("open", "won 1", "granted 1");
		assertThat(this.store.confirmations).first().isEqualTo(Duration.ofMillis(95));
	}

	@Test
	void grantWaitsForTheEndOfTheMarkerOfThePredecessor() {
		this.store.clear = true;
		this.store.predecessor = "backend 7";
		at(Duration.ofMillis(500), () -> {
			assertThat(isLeader()).isFalse();
			assertThat(status().blockedBy()).isEqualTo("backend 7");
			this.store.predecessor = null;
		});
		at(Duration.ofMillis(600), () -> assertThat(isLeader()).isTrue());
		stopAt(Duration.ofSeconds(1)).run();
	}

	@Test
	void leadershipIsAwaitedForAsLongAsIsAsked() throws InterruptedException {
		stopAt(Duration.ofSeconds(2)).run();
		assertThat(this.election.awaitLeadership(DRAIN_TIMEOUT)).isFalse();
		assertThat(this.time.elapsed()).isEqualTo(Duration.ofSeconds(2).plus(DRAIN_TIMEOUT));
	}

	private static Throwable failureOf(CompletableFuture<?> future) {
		return future.<Throwable>handle((result, failure) -> failure).join();
	}

}
