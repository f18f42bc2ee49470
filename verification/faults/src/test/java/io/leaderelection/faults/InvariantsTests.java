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

package io.leaderelection.faults;

import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

import io.leaderelection.Term;
import io.leaderelection.faults.Entry.Kind;
import io.leaderelection.faults.Invariants.Violation;
import io.leaderelection.faults.LockSample.Key;
import io.leaderelection.faults.LockSample.Lock;
import io.leaderelection.faults.LockSample.Session;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for the checker with made-up histories. Times are in milliseconds.
 */
@Tag("ring1")
class InvariantsTests {

	private static final Duration LEASE = Duration.ofSeconds(2);

	private static final Duration TAKEOVER_DELAY = Duration.ofMillis(100);

	private final Map<String, List<Entry>> entries = new LinkedHashMap<>();

	private final List<LockSample> samples = new ArrayList<>();

	private final List<TermRow> rows = new ArrayList<>();

	@Test
	void orderlyHandOverViolatesNothing() {
		reign("a", 1, 1000, 2000, "RESIGNED");
		reign("b", 2, 2100, 5000, "SESSION_LOST");
		hold("a", 1, 1000, 2000);
		hold("b", 2, 2050, 5000);
		assertThat(check().violations()).isEmpty();
	}

	@Test
	void overlap() {
		reign("a", 1, 1000, 3000, "LEASE_EXPIRED");
		reign("b", 2, 2900, 5000, "RESIGNED");
		assertGuarantees("G2 exclusion");
	}

	@Test
	void overlapWithATermThatWasSkippedInBetween() {
		reign("a", 1, 1000, 6000, "LEASE_EXPIRED");
		reign("b", 2, 4000, 4500, "SESSION_LOST");
		reign("c", 3, 5000, 7000, "RESIGNED");
		assertGuarantees("G2 exclusion");
	}

	@Test
	void overlapOfANodeThatDidNotRunIsExcused() {
		reign("a", 1, 1000, 3000, "SESSION_LOST");
		add("a", 2800, Kind.STALL, 0, Long.toString(200_000_000));
		reign("b", 2, 2950, 5000, "RESIGNED");
		assertThat(check().violations()).isEmpty();
		assertThat(check().excused()).hasSize(1);
	}

	@Test
	void overlapOfANodeThatDidNotRunIsNotExcusedWithoutLocks() {
		reign("a", 1, 1000, 2020, "LEASE_EXPIRED");
		add("a", 1970, Kind.STALL, 0, Long.toString(40_000_000));
		reign("b", 2, 2000, 5000, "RESIGNED");
		assertThat(new Invariants(history(), LEASE, Duration.ZERO).check().violations()).isEmpty();
		assertThat(new Invariants(history(), LEASE, Duration.ZERO).withoutLocks().check().violations())
			.extracting(Violation::guarantee)
			.containsExactly("G2 exclusion");
	}

	@Test
	void overlapIsNotExcusedWhereTheDelayMustCoverIt() {
		reign("a", 1, 1000, 3000, "SESSION_LOST");
		add("a", 2800, Kind.STALL, 0, Long.toString(200_000_000));
		reign("b", 2, 2950, 5000, "RESIGNED");
		assertThat(new Invariants(history(), LEASE, LEASE).check().violations()).extracting(Violation::guarantee)
			.containsExactly("G2 exclusion");
	}

	@Test
	void overlapThatIsMuchLongerThanTheStallIsNotExcused() {
		reign("a", 1, 1000, 3500, "SESSION_LOST");
		add("a", 2800, Kind.STALL, 0, Long.toString(200_000_000));
		reign("b", 2, 2950, 5000, "RESIGNED");
		assertGuarantees("G2 exclusion");
	}

	@Test
	void overlapIsNotExcusedByAStallBehindIt() {
		reign("a", 1, 1000, 3000, "SESSION_LOST");
		add("a", 3000, Kind.STALL, 0, Long.toString(200_000_000));
		reign("b", 2, 2950, 5000, "RESIGNED");
		assertGuarantees("G2 exclusion");
	}

	@Test
	void overlapIsNotExcusedByAStallOfTheOtherNode() {
		reign("a", 1, 1000, 3000, "SESSION_LOST");
		reign("b", 2, 2950, 5000, "RESIGNED");
		add("b", 2800, Kind.STALL, 0, Long.toString(200_000_000));
		assertGuarantees("G2 exclusion");
	}

	@Test
	void repeatedTerm() {
		reign("a", 1, 1000, 2000, "SESSION_LOST");
		reign("b", 1, 3000, 4000, "SESSION_LOST");
		assertGuarantees("G3 terms");
	}

	@Test
	void smallerTerm() {
		reign("a", 2, 1000, 2000, "SESSION_LOST");
		reign("b", 1, 3000, 4000, "SESSION_LOST");
		assertThat(check().violations()).extracting(Violation::guarantee).contains("G3 terms");
	}

	@Test
	void eventsInTheWrongOrder() {
		add("a", 1000, Kind.REVOKED, 1, "SESSION_LOST");
		assertGuarantees("G5 events");
	}

	@Test
	void eventOfAnotherTerm() {
		reign("a", 1, 1000, 2000, "SESSION_LOST");
		add("a", 3000, Kind.GRANTED, 2, "");
		add("a", 3000, Kind.GRANTED_ENDED, 2, "");
		add("a", 3500, Kind.REVOKED, 3, "SESSION_LOST");
		assertGuarantees("G5 events");
	}

	@Test
	void listenersSideBySide() {
		add("a", 1000, Kind.GRANTED, 1, "");
		add("a", 1500, Kind.REVOKED, 1, "SESSION_LOST");
		assertGuarantees("G5 events");
	}

	@Test
	void missingRevokedEvent() {
		begin("a", 1, 1000);
		add("a", 2000, Kind.TRUE_UNTIL, 1, "");
		add("a", 4000, Kind.SAMPLES, 0, "4000");
		assertGuarantees("G5 events");
	}

	@Test
	void missingGrantedEvent() {
		add("a", 1000, Kind.TRUE_FROM, 1, "");
		add("a", 4000, Kind.TRUE_AT, 1, "");
		assertGuarantees("G5 events");
	}

	@Test
	void eventThatIsLateOnANodeThatDidNotRun() {
		begin("a", 1, 1000);
		add("a", 2000, Kind.TRUE_UNTIL, 1, "");
		add("a", 2000, Kind.STALL, 0, Long.toString(1_900_000_000));
		add("a", 4000, Kind.REVOKED, 1, "LEASE_EXPIRED");
		assertThat(check().violations()).isEmpty();
	}

	@Test
	void lateRevokedEvent() {
		revoked(4000);
		assertGuarantees("G5 events");
	}

	@Test
	void revokedEventWhoseThreadHadNoProcessorIsExcused() {
		add("a", 1800, Kind.DELAY, 0, 700_000_000 + " 1");
		add("a", 2600, Kind.STALL, 0, Long.toString(400_000_000));
		add("a", 2800, Kind.DELAY, 0, 900_000_000 + " 1");
		revoked(4000);
		assertThat(check().violations()).isEmpty();
		assertThat(check().excused()).extracting(Violation::guarantee).containsExactly("G5 events");
	}

	@Test
	void delaysAndStallsAtTheSameTimeAreCountedOnce() {
		add("a", 1900, Kind.DELAY, 0, 700_000_000 + " 1");
		add("a", 1800, Kind.DELAY, 0, 700_000_000 + " 1");
		add("a", 2100, Kind.STALL, 0, Long.toString(600_000_000));
		revoked(4000);
		assertGuarantees("G5 events");
	}

	@Test
	void delaysOfSeveralThreadsAreNotAdded() {
		add("a", 2100, Kind.DELAY, 0, 900_000_000 + " 1");
		add("a", 3000, Kind.DELAY, 0, 900_000_000 + " 2");
		revoked(4000);
		assertGuarantees("G5 events");
	}

	@Test
	void delayBeforeTheEndOfWorkDoesNotExcuseALateEvent() {
		add("a", 1900, Kind.WORK, 1, "1");
		add("a", 2100, Kind.DELAY, 0, 900_000_000 + " 1");
		add("a", 3000, Kind.WORK_ENDED, 1, "1");
		revoked(4000);
		assertGuarantees("G5 events");
	}

	private void revoked(int time) {
		begin("a", 1, 1000);
		add("a", 2000, Kind.TRUE_UNTIL, 1, "");
		add("a", time, Kind.REVOKED, 1, "LEASE_EXPIRED");
	}

	@Test
	void revokedEventOfATermThatWasLostWhileItsWorkEndedIsNotLate() {
		lateLoss("RESIGNING");
		assertThat(check().violations()).isEmpty();
	}

	@Test
	void revokedEventOfATermThatWasLostIsLateAlthoughItsWorkContinues() {
		lateLoss("FOLLOWER");
		assertGuarantees("G5 events");
	}

	private void lateLoss(String role) {
		begin("a", 1, 1000);
		add("a", 1900, Kind.WORK, 1, "1");
		add("a", 2000, Kind.TRUE_UNTIL, 1, role);
		add("a", 3400, Kind.REVOKED, 1, "LEASE_EXPIRED");
		add("a", 3400, Kind.REVOKED_ENDED, 1, "LEASE_EXPIRED");
		add("a", 3500, Kind.WORK_ENDED, 1, "1");
	}

	@Test
	void revokedEventBehindASlowListenerIsNotLate() {
		add("a", 1000, Kind.TRUE_FROM, 1, "");
		add("a", 1000, Kind.GRANTED, 1, "");
		add("a", 2000, Kind.TRUE_UNTIL, 1, "");
		add("a", 4000, Kind.GRANTED_ENDED, 1, "");
		add("a", 4001, Kind.REVOKED, 1, "LEASE_EXPIRED");
		assertThat(check().violations()).isEmpty();
	}

	@Test
	void workAfterTheNextGrant() {
		reign("a", 1, 1000, 2000, "SESSION_LOST");
		reign("b", 2, 2100, 5000, "SESSION_LOST");
		add("a", 2500, Kind.WORK, 1, "1");
		assertGuarantees("G2 work");
	}

	@Test
	void workOfANodeThatWasStoppedBehindTheCheckIsExcused() {
		reign("a", 1, 1000, 2000, "SESSION_LOST");
		reign("b", 2, 4100, 5000, "SESSION_LOST");
		add("a", 2000, Kind.STALL, 0, Long.toString(2_500_000_000L));
		add("a", 4500, Kind.WORK, 1, "1");
		assertThat(check().violations()).isEmpty();
	}

	@Test
	void workLongAfterTheStallIsNotExcused() {
		reign("a", 1, 1000, 2000, "SESSION_LOST");
		reign("b", 2, 2100, 5000, "SESSION_LOST");
		add("a", 2400, Kind.STALL, 0, Long.toString(40_000_000));
		add("a", 2500, Kind.WORK, 1, "1");
		assertGuarantees("G2 work");
	}

	@Test
	void workOfNoTerm() {
		add("a", 2500, Kind.WORK, 0, "1");
		assertGuarantees("G4 work");
	}

	@Test
	void grantBeforeTheWorkHasEnded() {
		add("a", 1500, Kind.WORK, 1, "1");
		reign("a", 1, 1000, 2000, "RESIGNED");
		reign("b", 2, 2100, 5000, "SESSION_LOST");
		add("a", 2200, Kind.WORK_ENDED, 1, "1");
		assertGuarantees("G4 drain", "G4 hand-over");
	}

	@Test
	void listenersNotifiedBeforeTheWorkHasEnded() {
		add("a", 1500, Kind.WORK, 1, "1");
		reign("a", 1, 1000, 2000, "RESIGNED");
		add("a", 2050, Kind.WORK_ENDED, 1, "1");
		reign("b", 2, 2100, 5000, "SESSION_LOST");
		assertGuarantees("G4 drain");
	}

	@Test
	void handOverOfANodeThatWasFrozenIsExcused() {
		resignWithASlowListener(4200);
		add("a", 2002, Kind.STALL, 0, Long.toString(2_100_000_000L));
		reign("b", 2, 4100, 5000, "SESSION_LOST");
		assertThat(check().violations()).isEmpty();
	}

	@Test
	void handOverOfANodeThatWasKilledIsExcused() {
		add("a", 2050, Kind.KILLED, 0, "");
		resignWithASlowListener(0);
		reign("b", 2, 2300, 5000, "SESSION_LOST");
		assertThat(check().violations()).isEmpty();
	}

	@Test
	void nodeThatEndsBeforeItsListenerHasEnded() {
		resignWithASlowListener(0);
		reign("b", 2, 2300, 5000, "SESSION_LOST");
		assertGuarantees("G4 hand-over");
	}

	@Test
	void handOverOfANodeThatStoppedShortlyAndOftenIsNotExcused() {
		for (int time = 500; time < 2000; time += 100) {
			add("a", time, Kind.STALL, 0, Long.toString(90_000_000));
		}
		add("a", 1500, Kind.WORK, 1, "1");
		reign("a", 1, 1000, 2000, "RESIGNED");
		reign("b", 2, 2100, 5000, "SESSION_LOST");
		add("a", 2200, Kind.WORK_ENDED, 1, "1");
		assertGuarantees("G4 drain", "G4 hand-over");
	}

	@Test
	void grantBeforeTheListenerHasEnded() {
		resignWithASlowListener(2200);
		reign("b", 2, 2100, 5000, "SESSION_LOST");
		assertGuarantees("G4 hand-over");
	}

	@Test
	void listenersNotifiedWhileTheNodeLeads() {
		begin("a", 1, 1000);
		add("a", 2000, Kind.REVOKED, 1, "SESSION_LOST");
		add("a", 2000, Kind.REVOKED_ENDED, 1, "SESSION_LOST");
		add("a", 2400, Kind.TRUE_UNTIL, 1, "");
		assertGuarantees("G5 events");
	}

	@Test
	void lockOfANodeThatIsSilentForLongerThanALease() {
		reign("a", 1, 1000, 2000, "SESSION_LOST");
		hold("a", 1, 1000, 9000);
		assertGuarantees("G6 leak");
	}

	@Test
	void lockThatIsHeldByAFollowerLongAfterAMarkerHasGone() {
		add("a", 10_000, Kind.SAMPLES, 0, "10000");
		sample(980, List.of(new Lock("a", 101, Key.MAIN, 0, true), new Lock("b", 7, Key.CLEAN, 0, true)), List.of());
		hold("a", 1, 1000, 9000);
		assertGuarantees("G6 leak");
	}

	@Test
	void waitForAnEarlierTermIsNoLeak() {
		add("b", 10_000, Kind.SAMPLES, 0, "10000");
		for (int time = 1000; time < 9000; time += 20) {
			sample(time, List.of(new Lock("b", 102, Key.MAIN, 0, true), new Lock("b", 102, Key.TERM, 2, true),
					new Lock("", 7, Key.TERM, 1, true)), List.of());
		}
		assertThat(check().violations()).isEmpty();
	}

	@Test
	void repeatedTermThatWasTooShortForASample() {
		reign("a", 1, 1000, 2000, "SESSION_LOST");
		add("b", 3000, Kind.GRANTED, 1, "");
		add("b", 3000, Kind.GRANTED_ENDED, 1, "");
		add("b", 3000, Kind.REVOKED, 1, "SESSION_LOST");
		add("b", 3000, Kind.REVOKED_ENDED, 1, "SESSION_LOST");
		assertGuarantees("G3 terms");
	}

	@Test
	void overlapOfANodeThatSleptThroughItsTrustIsNotExcused() {
		reign("a", 1, 1000, 6400, "LEASE_EXPIRED");
		add("a", 2000, Kind.STALL, 0, Long.toString(4_000_000_000L));
		reign("b", 2, 4100, 7000, "RESIGNED");
		assertGuarantees("G2 exclusion");
	}

	@Test
	void secondWorkAfterAStallIsNotExcused() {
		reign("a", 1, 1000, 2000, "LEASE_EXPIRED");
		add("a", 2000, Kind.STALL, 0, Long.toString(4_000_000_000L));
		reign("b", 2, 4100, 7000, "RESIGNED");
		add("a", 6001, Kind.WORK, 1, "1");
		add("a", 6020, Kind.WORK, 1, "2");
		assertGuarantees("G2 work");
	}

	private void resignWithASlowListener(int end) {
		begin("a", 1, 1000);
		add("a", 2000, Kind.TRUE_UNTIL, 1, "");
		add("a", 2001, Kind.REVOKED, 1, "RESIGNED");
		if (end > 0) {
			add("a", end, Kind.REVOKED_ENDED, 1, "RESIGNED");
		}
	}

	@Test
	void lockThatIsHeldByAFollower() {
		add("a", 10_000, Kind.SAMPLES, 0, "10000");
		hold("a", 1, 1000, 9000);
		assertGuarantees("G6 leak");
	}

	@Test
	void lockThatIsHeldWithoutATerm() {
		add("a", 10_000, Kind.SAMPLES, 0, "10000");
		Lock main = new Lock("a", 1, Key.MAIN, 0, true);
		for (int time = 1000; time < 1200; time += 20) {
			sample(time, List.of(main), List.of(new Session("a", 1, true, 0)));
		}
		assertGuarantees("G6 leak");
	}

	@Test
	void leaderBesideAnEarlierTerm() {
		reign("b", 2, 1000, 5000, "SESSION_LOST");
		sample(2000, List.of(new Lock("", 7, Key.TERM, 1, true), new Lock("b", 8, Key.TERM, 2, true)), List.of());
		assertGuarantees("G1 predecessors");
	}

	@Test
	void leaderWithoutItsSession() {
		reign("b", 2, 1000, 6000, "SESSION_LOST");
		sample(2000, List.of(), List.of());
		assertGuarantees("G2 lease");
	}

	@Test
	void fencedTransactionsOfOneTermAfterTheOther() {
		row("a", 1, 0, 10, "11:11:");
		row("a", 1, 1, 11, "11:12:");
		row("a", 1, 2, 13, "12:14:12");
		row("b", 2, 0, 15, "12:15:12");
		row("b", 2, 1, 16, "12:16:12");
		assertThat(check().violations()).isEmpty();
	}

	@Test
	void fencedTransactionThatBeganAfterAGrant() {
		row("b", 2, 0, 10, "10:10:");
		row("a", 1, 1, 11, "11:11:");
		assertGuarantees("G1 fence");
	}

	@Test
	void fencedTransactionThatHadNotEndedAtAGrant() {
		row("a", 1, 1, 10, "10:10:");
		row("b", 2, 0, 12, "10:12:10,11");
		assertGuarantees("G1 fence");
	}

	@Test
	void fencedTransactionThatHadNotEndedWhenTheNextTermWrote() {
		row("a", 1, 1, 10, "10:10:");
		row("b", 2, 1, 12, "10:12:10");
		assertGuarantees("G1 fence");
	}

	@Test
	void fencedTransactionOfATermThatWasSkippedInBetween() {
		row("a", 1, 1, 20, "20:20:");
		row("b", 2, 1, 12, "12:12:");
		row("c", 3, 1, 13, "13:13:");
		assertGuarantees("G1 fence", "G1 fence");
	}

	@Test
	void fencedTransactionsOfOneTermMayOverlap() {
		row("a", 1, 1, 10, "10:10:");
		row("a", 1, 2, 11, "10:11:10");
		row("a", 1, 3, 12, "9:10:9");
		assertThat(check().violations()).isEmpty();
	}

	@Test
	void rowOfAGrantMayBeLate() {
		row("b", 2, 1, 11, "11:11:");
		row("a", 1, 0, 12, "12:12:");
		assertThat(check().violations()).isEmpty();
	}

	@Test
	void transactionsThatAreNotFencedProveNothing() {
		row("b", 2, 1, 12, "8:12:8,9,11");
		row("a", 1, 1, 10, "10:10:");
		assertThat(check().violations()).isEmpty();
	}

	@Test
	void silentTransactionBehindTheFence() {
		fence(1000, 5100, true);
		assertGuarantees("G6 fence");
	}

	@Test
	void transactionsBehindTheFenceMayBeSilentForALease() {
		fence(1000, 4900, true);
		fence(4920, 4940, false);
		fence(4960, 8800, true);
		assertThat(check().violations()).isEmpty();
	}

	@Test
	void transactionsBehindTheFenceMayBeBusy() {
		fence(1000, 9000, false);
		assertThat(check().violations()).isEmpty();
	}

	@Test
	void transactionInASampleThatTakesLongIsNotOld() {
		this.samples.add(new LockSample(nanos(2000), nanos(4000), List.of(), List.of(new Session("a", 1, false, 2.5))));
		assertThat(check().violations()).isEmpty();
	}

	@Test
	void oldTransaction() {
		sample(2000, List.of(), List.of(new Session("a", 1, false, 2.5)));
		assertGuarantees("G7 snapshot");
	}

	@Test
	void twoSessions() {
		twoSessions(8000);
		assertThat(check().violations()).isNotEmpty()
			.allMatch((violation) -> violation.guarantee().equals("G7 sessions"));
	}

	@Test
	void sessionThatIsCutOffMayLingerForALease() {
		twoSessions(3000);
		assertThat(check().violations()).isEmpty();
	}

	@Test
	void sessionOfTheTableMayLingerForLonger() {
		twoSessions(32_000);
		assertThat(new Invariants(history(), LEASE, Duration.ZERO).withoutLocks().check().violations()).isEmpty();
		twoSessions(33_501);
		assertThat(new Invariants(history(), LEASE, Duration.ZERO).withoutLocks().check().violations())
			.extracting(Violation::guarantee)
			.containsExactly("G7 sessions");
	}

	private void twoSessions(int until) {
		for (int time = 1000; time < until; time += 500) {
			sample(time, List.of(), List.of(new Session("a", 1, true, 0), new Session("a", 2, true, 0)));
		}
	}

	private void assertGuarantees(String... guarantees) {
		assertThat(check().violations()).extracting(Violation::guarantee).containsExactly(guarantees);
	}

	private Invariants check() {
		return new Invariants(history(), LEASE, TAKEOVER_DELAY).check();
	}

	private History history() {
		return new History(this.entries, this.samples, false).with(this.rows);
	}

	private void reign(String node, int term, int from, int until, String reason) {
		begin(node, term, from);
		add(node, until, Kind.TRUE_UNTIL, term, "");
		add(node, until, Kind.REVOKED, term, reason);
		add(node, until, Kind.REVOKED_ENDED, term, reason);
	}

	private void begin(String node, int term, int from) {
		add(node, from, Kind.TRUE_FROM, term, "");
		add(node, from, Kind.GRANTED, term, "");
		add(node, from, Kind.GRANTED_ENDED, term, "");
	}

	private void hold(String node, int term, int from, int until) {
		int pid = 100 + term;
		for (int time = from; time < until; time += 20) {
			sample(time, List.of(new Lock(node, pid, Key.MAIN, 0, true), new Lock(node, pid, Key.TERM, term, true)),
					List.of(new Session(node, pid, true, 0)));
		}
	}

	private void row(String node, int term, int number, int transaction, String snapshot) {
		this.rows.add(new TermRow(node, new Term(0, 1, term), number, transaction, TermRow.Snapshot.parse(snapshot)));
	}

	private void fence(int from, int until, boolean idle) {
		for (int time = from; time <= until; time += 20) {
			sample(time, List.of(new Lock("", 7, Key.FENCE, 0, true, idle)), List.of());
		}
	}

	private void sample(int time, List<Lock> locks, List<Session> sessions) {
		this.samples.add(new LockSample(nanos(time), nanos(time) + 1, locks, sessions));
	}

	private void add(String node, int time, Kind kind, int term, String details) {
		this.entries.computeIfAbsent(node, (key) -> new ArrayList<>())
			.add(new Entry(node, nanos(time), kind, (term != 0) ? Optional.of(new Term(0, 1, term)) : Optional.empty(),
					details));
	}

	private static long nanos(int millis) {
		return Duration.ofMillis(millis).toNanos();
	}

}
