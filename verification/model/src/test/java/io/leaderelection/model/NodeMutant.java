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
 * Seeded mistakes in the election with the lease table.
 */
enum NodeMutant implements SeededMistake {

	/** Trust counts from the reply of a round instead of its start. */
	ANCHOR_AT_REPLY("G2_OneBeliever", Instance.NODE_SHORT_LEASE),

	/** A round is trusted for the lease instead of three quarters of it. */
	FULL_LEASE_TRUSTED("G2_OneBeliever", Instance.NODE_SHORT_LEASE),

	/** A round that finds no row of its session confirms what that leads. */
	MISSING_ROW_CONFIRMS("G2_OneBeliever", Instance.NODE_SHORT_LEASE),

	/** The expiry counts from the request that showed the beat instead of its reply. */
	EXPIRY_FROM_REQUEST("G2_OneBeliever", Instance.NODE_SHORT_LEASE),

	/** Renewals are not flushed, so that a crash of the server may lose them. */
	RENEWAL_NOT_FLUSHED("G2_OneBeliever", Instance.NODE_SHORT_LEASE.with("MaxCrashes", "1")),

	/** The row of a session is deleted whatever its beat is. */
	BEAT_NOT_COMPARED("G2_OneBeliever", Instance.NODE_SHORT_LEASE),

	/** A round adds one to the beat that it finds. */
	BEAT_INCREMENTED("G2_OneBeliever", Instance.NODE_CLONE.faults("CLONE")),

	/** A session frees an election although it has not taken it. */
	CLONE_FREES("G2_OneBeliever", Instance.NODE_CLONE),

	/** A session frees an election again that it has released. */
	RELEASED_STILL_TAKEN("G2_OneBeliever", Instance.NODE_CLONE),

	/**
	 * A takeover only locks its own row, and is trusted from its start. Each of the two
	 * alone violates nothing.
	 */
	OWN_ROW_LOCKED_AND_GRANTED("G2_OneBeliever", Instance.NODE_SHORT_LEASE.faults("IDLE").with("MaxSessions", "1")),

	/** A session whose trust has lapsed is renewed, and its term goes on. */
	LAPSED_SESSION_RENEWED("G3_Order", Instance.NODE_SHORT_LEASE.with("MaxBeat", "4")),

	/** An election is taken from an expired session without deleting its row. */
	TAKEN_FROM_ROW("G2_OneBeliever", Instance.NODE_SHORT_LEASE),

	/** An owner without a row has expired. */
	MISSING_ROW_IS_EXPIRED("G2_OneBeliever", Instance.NODE_SHORT_LEASE.faults("MISSING")),

	/**
	 * A takeover leaves the mark of a clean release, so that an owner whose row is
	 * deleted by hand counts as ended after its lease.
	 */
	TAKEN_STAYS_CLEAN("G2_OneBeliever", Instance.NODE_SHORT_LEASE.faults("MISSING")),

	/** The wait for an owner without a row counts from the last sight of its row. */
	MISSING_SINCE_LAST_SIGHT("G2_OneBeliever", Instance.NODE_SHORT_LEASE.faults("MISSING")),

	/** A takeover does not compare the timeline of the server. */
	TAKEOVER_AFTER_PROMOTION("G2_OneBeliever", Instance.NODE_PROMOTION.with("MaxSessions", "2")),

	/** An election whose row has another timeline is free even after a promotion. */
	FREE_AFTER_PROMOTION("G2_OneBeliever", Instance.NODE_PROMOTION),

	/**
	 * A promotion does not end sessions, and the session that owns an election is ended a
	 * lease after it although its beat changes. Each of the two alone violates nothing.
	 */
	OUTDATED_OWNER_DELETED("G2_OneBeliever", Instance.NODE_PROMOTED_SESSION),

	/** A promotion does not end sessions, nor their terms. */
	TERM_OUTLIVES_PROMOTION("G2_OneBeliever", Instance.NODE_PROMOTION),

	/** The grant does not wait after a release that was not clean. */
	UNCLEAN_GRANTED_AT_ONCE("G4_TakeoverDelay", Instance.NODE_DELAY),

	/** A takeover does not compare the owner, so that it overlooks a release. */
	OWNER_NOT_COMPARED("G4_TakeoverDelay", Instance.NODE_DELAY),

	/** A node that leaves before its grant frees the election as clean. */
	UNGRANTED_FREED_CLEAN("G4_TakeoverDelay", Instance.NODE_DELAY_OF_THREE_TERMS),

	/** A takeover does not compare the term. */
	TERM_NOT_COMPARED("G3_Terms", Instance.NODE_FENCE.faults()),

	/** A transaction does not lock the row of the election. */
	OPEN_FENCE("G1_Fence", Instance.NODE_FENCE.faults()),

	/** The fence does not compare the transaction id of the term. */
	FENCE_WITHOUT_TERM("G1_Fence", Instance.NODE_FENCE.faults()),

	/** The fence does not compare the timeline of the term. */
	FENCE_WITHOUT_TIMELINE("G1_Fence",
			Instance.NODE_FENCE.faults().with("MaxPromotions", "1").with("MaxSessions", "1")),

	/** The election is freed as clean without waiting for work. */
	RELEASE_BEFORE_DRAIN("G4_HandOver", Instance.NODE_FENCE.faults()),

	/** An election that is not led is freed as clean although work runs. */
	UNLED_FREED_CLEAN("G4_HandOver", Instance.NODE_FENCE.faults("END").with("MaxBeat", "4").with("MaxSessions", "1")),

	/** A release does not compare the term, and takes effect in a later one. */
	RELEASE_WITHOUT_TERM("G4_HandOver", Instance.NODE_RELEASES),

	/** A takeover goes on although its session has no row. */
	ROW_COUNT_IGNORED("G4_OwnerHasRow", Instance.NODE_END),

	/** The row of a session is deleted although it owns an election. */
	ROW_DELETED_WHILE_OWNING("G4_OwnerHasRow", Instance.NODE_END),

	/** An election that is owned but not led is kept. */
	UNLED_KEPT("G6_SomebodyLeads", Instance.NODE_LIVENESS.faults("END").with("Leave", "FALSE")),

	/** A snapshot of a round that began before the takeover ends the term. */
	STALE_SNAPSHOT_ACCEPTED("G6_TermIsKept", Instance.NODE_TERM),

	/** The fence does not look for the row of the owner. */
	FENCE_WITHOUT_ROW("G6_SomebodyLeads", Instance.NODE_STARVATION),

	/** A node lets transactions of a term pass that it has begun to free. */
	RELEASING_PASSES("G6_SomebodyLeads", Instance.NODE_RELEASE);

	private final String guarantee;

	private final Instance instance;

	NodeMutant(String guarantee, Instance instance) {
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
		return "node/" + name() + ".txt";
	}

}
