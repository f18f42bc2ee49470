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

package io.leaderelection.simulation;

import java.util.List;

import io.leaderelection.testsupport.SourceChange;

/**
 * A mistake in the code of the lease table outside of its statements, and the guarantees
 * as which the simulation finds it.
 */
enum TableMistake {

	/** The expiry counts from the request that first showed the beat. */
	EXPIRY_FROM_REQUEST(List.of("G2 exclusion", "G3 terms", "G4 delay"), "NodeSession",
			"new LeaseRound(own, started, this.platform.nanoTime(), raise,",
			"new LeaseRound(own, started, started, raise,"),

	/** A session that is seen for the first time has expired. */
	FIRST_SIGHT_IS_EXPIRED("LeaseExpiry", "new Sight(session.beat(), reply, lease, false)",
			"new Sight(session.beat(), (known != null) ? reply : reply - lease, lease, false)"),

	/** An owner without a row has expired. */
	MISSING_ROW_IS_EXPIRED("LeaseExpiry", "if (owner == null || this.ended.contains(owner)) {",
			"if (owner == null || this.ended.contains(owner) || (this.sights.get(owner) != null && this.sights.get(owner).gone)) {"),

	/** The wait for an owner without a row counts from the last sight of its row. */
	MISSING_SINCE_LAST_SIGHT("LeaseExpiry", "new Sight(known.beat, reply, known.lease, true)",
			"new Sight(known.beat, known.first, known.lease, true)"),

	/** An election whose row has another timeline is free even after a promotion. */
	FREE_AFTER_PROMOTION("LeaseExpiry", "return row.isOutdated(this.timeline) ?",
			"return (row.isOutdated(this.timeline) && row.owner() != null) ?"),

	/** A row that was never taken over is free even after a promotion. */
	FIRST_TERM_NEVER_OUTDATED("LeaseRow", "(this.term != 0) ? this.timeline != serverTimeline : serverTimeline > 1",
			"this.term != 0 && this.timeline != serverTimeline"),

	/** Observations go on after a promotion. */
	PROMOTION_NOT_OBSERVED("LeaseExpiry", "(round.timeline() != this.timeline || wentBack(round))", "wentBack(round)"),

	/** A promotion does not end terms. */
	TERM_OUTLIVES_PROMOTION(List.of("G2 exclusion", "G3 terms", "G6 loss"), "NodeSession",
			"if (this.expiry.observe(round)) {", "if (this.expiry.observe(round) && this.beat < 0) {"),

	/** A session goes on although its row was deleted. */
	SESSION_OUTLIVES_ROW(List.of("G2 exclusion", "G6 liveness"), "NodeSession",
			"if (!reply.joined() || (raise && !reply.raised())) {",
			"if (reply.joined() && raise && !reply.raised()) {"),

	/** A session is renewed after trust in it is over. */
	LAPSED_SESSION_RENEWED("NodeSession", "if (this.token != null && leads && now",
			"if (this.token != null && this.beat < 0 && now"),

	/** An election accepts a round that began before its call. */
	STALE_ROUND_ACCEPTED(List.of("G2 exclusion", "G3 terms", "G6 loss", "G6 liveness"), "LeaseTableNode",
			"if (attempt == null || attempt.started() - this.called < 0) {", "if (attempt == null) {"),

	/** What a session owns without leading is kept. */
	UNLED_KEPT(List.of("G6 loss", "G6 liveness"), "NodeSession",
			"open.release(row.election(), new Term(0, row.timeline(), row.term()), round.token(), false);",
			"this.unled.size();"),

	/** What a session owns without leading is freed as clean. */
	UNLED_FREED_CLEAN(List.of("G4 clean"), "NodeSession", "round.token(), false);", "round.token(), true);"),

	/** A release lets transactions of its term pass. */
	RELEASING_PASSES(List.of("G1 token", "G6 liveness"), "LeaseTableSession", """
			this.fence.ended(held.term());
			Function<""", "Function<"),

	/** A takeover does not wait after a release that was not clean. */
	UNCLEAN_TAKEN_AT_ONCE(List.of("G4 delay"), "LeaseTableSession", "row.owner() != null || row.clean();", "true;"),

	/** Opening a connection that hangs is not given up. */
	OPENING_NOT_ABANDONED(List.of("G6 liveness"), "LeaseTable", "if (current != null) {",
			"if (current != null && current.isOpen()) {");

	private final List<String> guarantees;

	private final SourceChange change;

	TableMistake(String type, String original, String replacement) {
		this(List.of("G2 exclusion", "G3 terms"), type, original, replacement);
	}

	TableMistake(List<String> guarantees, String type, String original, String replacement) {
		this.guarantees = guarantees;
		this.change = new SourceChange("postgresql/table", type, original, replacement);
	}

	/**
	 * The guarantees that it violates, whichever is noticed first.
	 */
	List<String> guarantees() {
		return this.guarantees;
	}

	SourceChange change() {
		return this.change;
	}

}
