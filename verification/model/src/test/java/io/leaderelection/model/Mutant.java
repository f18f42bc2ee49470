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

/**
 * Seeded mistakes in the election with the advisory lock.
 */
enum Mutant implements SeededMistake {

	/** The winner does not wait until no session holds the key of an earlier term. */
	NO_WAIT_FOR_EARLIER_TERMS("G1_Fence", Instance.FENCE.with("MaxTerm", "2").with("MaxCrashes", "0")),

	/** The winner does not wait for transactions that have passed the fence. */
	NO_BARRIER("G1_Fence", Instance.FENCE.with("MaxTerm", "2").with("MaxCrashes", "0")),

	/** The winner tries the fence key before it looks for keys of earlier terms. */
	BARRIER_BEFORE_LOOK("G1_Fence", Instance.FENCE.with("MaxTerm", "2").with("MaxCrashes", "0")),

	/** A transaction looks for the key of its term before it shares the fence key. */
	LOOK_BEFORE_SHARE("G1_Fence", Instance.FENCE.with("MaxTerm", "2").with("MaxCrashes", "0")),

	/** The fence lets every transaction pass. */
	OPEN_FENCE("G1_Fence", Instance.FENCE.with("MaxTerm", "2").with("MaxCrashes", "0")),

	/** Trust counts from the reply of a confirmation instead of its start. */
	ANCHOR_AT_REPLY("G2_OneBeliever", Instance.SILENCE.with("MaxTerm", "2")),

	/** A confirmation is trusted for the lease instead of three quarters of it. */
	FULL_LEASE_TRUSTED("G2_OneBeliever", Instance.SILENCE.with("MaxTerm", "2")),

	/** The winner does not wait for the takeover delay. */
	NO_TAKEOVER_DELAY("G2_OneBeliever", Instance.LEASE.with("MaxTerm", "2")),

	/** The grant does not wait for a confirmation. */
	GRANT_WITHOUT_CONFIRMATION("G2_OneBeliever", Instance.SILENCE.with("MaxTerm", "2")),

	/** The grant does not wait until the marker of the predecessor is removed. */
	MARKER_NOT_AWAITED("G2_OneBeliever", Instance.LEASE.nodes(3).faults("ENDED").with("Lease", "1").with("Trust", "1")),

	/** A winner that leaves before its grant sets the marker. */
	MARKER_WITHOUT_GRANT("G2_OneBeliever",
			Instance.LEASE.nodes(3).faults("ENDED").with("Lease", "1").with("Trust", "1")),

	/** The counters are read although the pid of the predecessor is not gone. */
	COUNTED_TOO_EARLY("G2_OneBeliever", Instance.CAUSE.nodes(2).with("MaxTerm", "2")),

	/** The baseline is read after the look at the predecessor. */
	BASELINE_AFTER_LOOK("G2_OneBeliever", Instance.CAUSE.nodes(2).with("MaxTerm", "2")),

	/**
	 * A winner issues a term although another session holds the key of an earlier one.
	 */
	TERM_DESPITE_EARLIER_KEY("G2_OneBeliever", Instance.CAUSE),

	/** Several nodes wait for the main key. */
	NO_HEAD("G2_OneBeliever", Instance.CAUSE),

	/** Only sessions that were killed are compared. */
	FATAL_IGNORED("G2_OneBeliever", Instance.CAUSE.nodes(2).with("MaxTerm", "2")),

	/** The time of the last reset is not compared. */
	RESET_IGNORED("G2_OneBeliever", Instance.CAUSE.nodes(2).with("MaxTerm", "2")),

	/** The predecessor is passed although it was first observed just now. */
	RECENT_PREDECESSOR("G2_OneBeliever", Instance.CAUSE),

	/** Not a mistake: without the condition of G2, the guarantee does not hold. */
	LATE_NOTICE("G2_OneBeliever", Instance.LEASE.with("MaxTerm", "2").with("PromptNotice", "FALSE")),

	/** Not a mistake: without that condition, a grant may also come too late. */
	LATE_GRANT("G3_Order",
			Instance.of("Election", "G3_Order")
				.with("Work", "FALSE")
				.with("MaxTerm", "2")
				.with("PromptNotice", "FALSE")),

	/** A term is not made durable before it is used. */
	TERM_NOT_DURABLE("G3_Terms", Instance.FENCE),

	/** The transaction id is assigned before the wait for the lock. */
	TERM_BEFORE_LOCK("G3_Terms", Instance.FENCE),

	/** The lock is freed without waiting for work. */
	UNLOCK_BEFORE_DRAIN("G4_HandOver", Instance.HAND_OVER),

	/** Work does not look again whether the node leads after it is counted. */
	CHECK_BEFORE_COUNT("G4_HandOver", Instance.HAND_OVER),

	/** Work looks again whether the node leads, but not whether in the same term. */
	TERM_NOT_COMPARED("G4_WorkOfTerm", Instance.HAND_OVER),

	/** The marker is set at the end of the grace although work still runs. */
	MARKER_DESPITE_WORK("G4_HandOver", Instance.HAND_OVER),

	/** A hand-over does not look again for work after a late notification. */
	DRAIN_CHECKED_ONCE("G4_HandOver", Instance.HAND_OVER),

	/** The wait takes a lock of the session instead of one of the transaction. */
	SESSION_LOCK_IN_WAIT("G6_NoLeak", Instance.FENCE),

	/** The first confirmation of a leader is planned from the grant. */
	LATE_FIRST_CONFIRMATION("G6_CalmLeaderIsTrusted", Instance.LIVENESS.with("Work", "FALSE").with("MaxTerm", "1")),

	/** The server does not end silent sessions. */
	NO_IDLE_TIMEOUT("G6_SomebodyLeads", Instance.LIVENESS.with("Work", "FALSE").with("MaxTerm", "1")),

	/** The server does not end transactions that are idle behind the fence. */
	NO_LIMIT_IN_FENCE("G6_SomebodyLeads", Instance.LIVENESS.with("MaxFaults", "0")),

	/** The lock of the head of the queue stays taken when a node has won. */
	HEAD_KEPT("G6_SomebodyLeads", Instance.LIVENESS_WITH_CAUSE.with("MaxFaults", "0")),

	/** A winner keeps its seat. */
	SEAT_NOT_FREED("G6_Seats", Instance.SEATS.with("MaxFaults", "0")),

	/** Several sessions may have the same seat. */
	SEAT_SHARED("G7_Seats", Instance.SEATS.with("MaxFaults", "0")),

	/** The seat of a session that has ended remains taken. */
	SEAT_OUTLIVES_SESSION("G6_Seats", Instance.SEATS);

	private final String guarantee;

	private final Instance instance;

	Mutant(String guarantee, Instance instance) {
		this.guarantee = guarantee;
		this.instance = instance;
	}

	@Override
	public String guarantee() {
		return this.guarantee;
	}

	@Override
	public Instance instance() {
		return this.instance.mistake(name());
	}

	@Override
	public String file() {
		return name() + ".txt";
	}

}
