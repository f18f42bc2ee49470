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

package io.leaderelection.model;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * The election with the lease table: fence, terms and hand-over with everything at any
 * time, one leader at a time with leases, and somebody leads.
 */
@Tag("ring2")
class NodeLeaseModelTests {

	@Test
	void leaseHolds() {
		check("node-lease", Instance.NODE_SHORT_LEASE.with("MaxBeat", "4"));
	}

	@Test
	void termIsKeptWithoutFaults() {
		check("node-term", Instance.NODE_TERM);
	}

	@Test
	void fenceHolds() {
		check("node-fence", Instance.NODE_FENCE.faults("LOSS", "END").with("MaxBeat", "4").with("MaxSessions", "1"));
	}

	@Test
	void handOverHoldsWithLateMessages() {
		check("node-releases", Instance.NODE_RELEASES);
	}

	@Test
	void sessionThatOwnsHasRow() {
		check("node-end", Instance.NODE_END);
	}

	@Test
	void delayHolds() {
		check("node-delay", Instance.NODE_DELAY);
	}

	@Test
	@Tag("ring3")
	void delayHoldsInThreeTerms() {
		check("node-delay-3-terms", Instance.NODE_DELAY_OF_THREE_TERMS);
	}

	/** One session with two elections. */
	@Test
	void sessionOfTwoElectionsHolds() {
		check("node-elections",
				Instance.NODE_SHORT_LEASE.nodes(1)
					.elections(2)
					.faults("LOSS", "LATE", "END")
					.with("MaxTerm", "1")
					.with("MaxBeat", "4")
					.with("MaxSessions", "1"));
	}

	/** Two sessions with two elections each. */
	@Test
	@Tag("ring3")
	void leasesOfTwoElectionsHold() {
		check("node-two-elections", Instance.NODE_SHORT_LEASE.elections(2).with("MaxSessions", "1"));
	}

	@Test
	@Tag("ring3")
	void leaseHoldsWithLateMessages() {
		check("node-lease-late", Instance.NODE_SHORT_LEASE.faults("LOSS", "LATE"));
	}

	@Test
	@Tag("ring3")
	void leaseHoldsWithCrashes() {
		check("node-lease-crash", Instance.NODE_SHORT_LEASE.faults("CRASH").with("MaxCrashes", "1"));
	}

	@Test
	@Tag("ring3")
	void leaseHoldsWithoutRows() {
		check("node-lease-missing", Instance.NODE_SHORT_LEASE.faults("MISSING"));
	}

	@Test
	@Tag("ring3")
	void leaseHoldsAfterPromotion() {
		check("node-lease-promotion", Instance.NODE_PROMOTION.with("MaxSessions", "2"));
	}

	@Test
	@Tag("ring3")
	void leasesHoldAfterPromotion() {
		check("node-promoted", Instance.NODE_PROMOTED);
	}

	/**
	 * Each of these rules is enough for the row of an owner that goes on.
	 * {@code OUTDATED_OWNER_DELETED} has both of these mistakes.
	 */
	@Test
	@Tag("ring3")
	void changedBeatKeepsRowOfOwner() {
		check("node-promoted-TERM_OUTLIVES_PROMOTION",
				Instance.NODE_PROMOTED_SESSION.with("Mutant", "\"TERM_OUTLIVES_PROMOTION\""));
	}

	@Test
	@Tag("ring3")
	void ownerEndsAtPromotionAnyway() {
		check("node-promoted-OUTDATED_OWNER_EXPIRES",
				Instance.NODE_PROMOTED.with("MaxBeat", "3").with("Mutant", "\"OUTDATED_OWNER_EXPIRES\""));
	}

	@Test
	@Tag("ring3")
	void leaseHoldsWithCopies() {
		check("node-clone", Instance.NODE_CLONE);
	}

	@Test
	@Tag("ring3")
	void fenceHoldsAfterPromotion() {
		check("node-fence-promotion", Instance.NODE_FENCE.faults().with("MaxPromotions", "1").with("MaxSessions", "1"));
	}

	@Test
	void somebodyLeads() {
		check("node-liveness", Instance.NODE_LIVENESS.faults("END").with("Leave", "FALSE"));
	}

	@Test
	void nothingIsUnled() {
		check("node-unled", Instance.NODE_LIVENESS.faults("END").with("Leave", "FALSE").property("G6_NothingUnled"));
	}

	@Test
	@Tag("ring3")
	void somebodyLeadsAlthoughTransactionsGoOn() {
		check("node-starvation", Instance.NODE_STARVATION);
	}

	@Test
	@Tag("ring3")
	void electionIsFreedAlthoughTransactionsGoOn() {
		check("node-release", Instance.NODE_RELEASE);
	}

	/**
	 * Each of these rules has another one behind it. {@code OWN_ROW_LOCKED_AND_GRANTED}
	 * has two of these mistakes, which is one too many.
	 */
	@ParameterizedTest
	@ValueSource(strings = { "OWN_ROW_LOCKED_ONLY", "GRANT_ON_TAKEOVER" })
	@Tag("ring3")
	void eitherRuleOfTheTakeoverIsEnough(String mistake) {
		check("node-" + mistake,
				Instance.NODE_SHORT_LEASE.faults("IDLE").with("MaxSessions", "1").with("Mutant", '"' + mistake + '"'));
	}

	/**
	 * A row that exists when it is renewed has existed since the rows of the elections
	 * were read, so nobody has taken what its session owns.
	 */
	@Test
	@Tag("ring3")
	void orderOfTheStatementsOfARoundDoesNotMatter() {
		check("node-READ_BEFORE_RENEWAL", Instance.NODE_SHORT_LEASE.with("Mutant", "\"READ_BEFORE_RENEWAL\""));
	}

	/**
	 * A copy of a node that finds an election owned by its token, which it has not taken,
	 * ends its session anyway.
	 */
	@Test
	@Tag("ring3")
	void copyIsFoundByWhatItOwns() {
		check("node-GREATER_BEAT_CONFIRMS",
				Instance.NODE_CLONE.with("MaxTerm", "2")
					.with("MaxBeat", "8")
					.with("Mutant", "\"GREATER_BEAT_CONFIRMS\""));
	}

	/**
	 * An election whose row has another timeline than the server is not free for a lease
	 * anyway.
	 */
	@ParameterizedTest
	@ValueSource(strings = { "TIMELINE_NOT_COMPARED", "DELETE_AFTER_PROMOTION" })
	@Tag("ring3")
	void timelineOfElectionIsEnough(String mistake) {
		check("node-" + mistake, Instance.NODE_PROMOTION.with("Mutant", '"' + mistake + '"'));
	}

	private static void check(String name, Instance instance) {
		assertThat(ModelChecker.check(name, instance)).matches(ModelChecker.Outcome::holds);
	}

}
