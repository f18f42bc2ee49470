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

	/** The expiry counts from the request that first showed the row. */
	EXPIRY_FROM_REQUEST(List.of("G2 exclusion", "G3 terms", "G6 loss"), "LeaseTableRound", """
			Map<String, LeaseRow> rows = open.round(all, renewals);
			this.elections.observe(all, rows, this.platform.nanoTime());
			""", """
			long sent = this.platform.nanoTime();
			Map<String, LeaseRow> rows = open.round(all, renewals);
			this.elections.observe(all, rows, sent);
			"""),

	/** A row that is the same after a promotion does not restart the wait. */
	TIMELINE_NOT_COMPARED(List.of("G2 exclusion", "G3 terms"), "LeaseRow",
			"this.timeline == other.timeline && this.serverTimeline == other.serverTimeline",
			"this.timeline == other.timeline"),

	/** The lease of an own former session is free even after a promotion. */
	FORMER_TOKEN_ALWAYS_FREE(List.of("G2 exclusion", "G3 terms"), "LeaseExpiry",
			"known.isHeld() && !known.isOutdated() && Objects", "known.isHeld() && Objects"),

	/** A row that was never taken over is free even after a promotion. */
	FIRST_TERM_NEVER_OUTDATED(List.of("G2 exclusion", "G3 terms"), "LeaseRow",
			"(this.term != 0) ? this.timeline != this.serverTimeline : this.serverTimeline > 1",
			"this.term != 0 && this.timeline != this.serverTimeline"),

	/** A lease that was seen for the first time is free at once. */
	FIRST_SIGHT_IS_FREE(List.of("G2 exclusion", "G3 terms"), "LeaseExpiry",
			"if (observed.isHeld() || observed.isOutdated() || wentBack) {",
			"if ((known != null && observed.isHeld()) || observed.isOutdated() || wentBack) {");

	private final List<String> guarantees;

	private final SourceChange change;

	TableMistake(List<String> guarantees, String type, String original, String replacement) {
		this.guarantees = guarantees;
		this.change = new SourceChange("postgresql", type, original, replacement);
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
