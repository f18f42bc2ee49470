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

import java.util.stream.Stream;

/**
 * Instances that hold and that TLC checks within minutes. Those named after a mistake
 * hold although it is made: another rule is behind the one that it breaks.
 */
enum LargeInstance {

	FENCE_WITH_THREE_TERMS(Instance.FENCE, 2),

	HAND_OVER_OF_TWO_NODES(Instance.HAND_OVER.nodes(2).with("MaxTerm", "2"), 2),

	CAUSE(Instance.CAUSE),

	/**
	 * Nodes resign and return. A confirmation is trusted for longer than the takeover
	 * delay here, so that it may also begin before the delay is over.
	 */
	CAUSE_WITH_HAND_OVER(Instance.CAUSE.nodes(2).with("HandOver", "TRUE").with("Reopen", "TRUE").with("Trust", "2")),

	/** Everything at once: a crash of the server, clocks and work. */
	EVERYTHING(new Instance("Election", 2, Instance.LEASE.constants(),
			Stream.concat(Instance.LEASE.invariants().stream(), Instance.FENCE.invariants().stream())
				.distinct()
				.toList(),
			Instance.LEASE.property())
		.with("Work", "TRUE")
		.with("MaxCrashes", "1")
		.with("MaxTerm", "2"), 2),

	LIVENESS_WITH_WORK(Instance.LIVENESS),

	LIVENESS_WITH_TWO_FAULTS(Instance.LIVENESS.with("MaxTerm", "3").with("MaxFaults", "2").with("Work", "FALSE"), 2),

	SEATS_OF_FOUR_NODES(Instance.SEATS.nodes(4).with("Standbys", "2").with("MaxFaults", "2"), 2),

	NODE_DELAY_OF_THREE_TERMS(Instance.NODE_DELAY_OF_THREE_TERMS),

	/** Two sessions with two elections each. */
	NODE_TWO_ELECTIONS(Instance.NODE_SHORT_LEASE.elections(2).with("MaxSessions", "1")),

	NODE_LATE_MESSAGES(Instance.NODE_SHORT_LEASE.faults("LOSS", "LATE")),

	NODE_CRASHES(Instance.NODE_SHORT_LEASE.faults("CRASH").with("MaxCrashes", "1")),

	NODE_MISSING_ROWS(Instance.NODE_SHORT_LEASE.faults("MISSING")),

	NODE_PROMOTION(Instance.NODE_PROMOTION.with("MaxSessions", "2")),

	NODE_PROMOTED(Instance.NODE_PROMOTED),

	NODE_FENCE_WITH_PROMOTION(Instance.NODE_FENCE.faults().with("MaxPromotions", "1").with("MaxSessions", "1")),

	NODE_CLONE(Instance.NODE_CLONE),

	/** Somebody leads although transactions follow each other. */
	NODE_STARVATION(Instance.NODE_STARVATION),

	/** An election is freed although transactions follow each other. */
	NODE_RELEASE(Instance.NODE_RELEASE),

	/** {@code OWN_ROW_LOCKED_AND_GRANTED} has this and the next mistake. */
	OWN_ROW_LOCKED_ONLY(
			Instance.NODE_SHORT_LEASE.faults("IDLE").with("MaxSessions", "1").mistake("OWN_ROW_LOCKED_ONLY")),

	GRANT_ON_TAKEOVER(OWN_ROW_LOCKED_ONLY.instance.mistake("GRANT_ON_TAKEOVER")),

	/**
	 * A row that exists when it is renewed has existed since the rows of the elections
	 * were read, so nobody has taken what its session owns.
	 */
	READ_BEFORE_RENEWAL(Instance.NODE_SHORT_LEASE.mistake("READ_BEFORE_RENEWAL")),

	/**
	 * A copy of a node that finds an election owned by its token, which it has not taken,
	 * ends its session anyway.
	 */
	GREATER_BEAT_CONFIRMS(
			Instance.NODE_CLONE.with("MaxTerm", "2").with("MaxBeat", "8").mistake("GREATER_BEAT_CONFIRMS")),

	/**
	 * The row of an owner that goes on is kept, since its beat changes.
	 * {@code OUTDATED_OWNER_DELETED} has this and the next mistake.
	 */
	TERM_OUTLIVES_PROMOTION(Instance.NODE_PROMOTED_SESSION.mistake("TERM_OUTLIVES_PROMOTION")),

	/** The owner ends at the promotion anyway. */
	OUTDATED_OWNER_EXPIRES(Instance.NODE_PROMOTED.with("MaxBeat", "3").mistake("OUTDATED_OWNER_EXPIRES")),

	/**
	 * An election whose row has another timeline than the server is not free for a lease
	 * anyway.
	 */
	TIMELINE_NOT_COMPARED(Instance.NODE_PROMOTION.mistake("TIMELINE_NOT_COMPARED")),

	DELETE_AFTER_PROMOTION(Instance.NODE_PROMOTION.mistake("DELETE_AFTER_PROMOTION"));

	private final Instance instance;

	private final int workers;

	LargeInstance(Instance instance) {
		this(instance, 1);
	}

	LargeInstance(Instance instance, int workers) {
		this.instance = instance;
		this.workers = workers;
	}

	Instance instance() {
		return this.instance;
	}

	int workers() {
		return this.workers;
	}

}
