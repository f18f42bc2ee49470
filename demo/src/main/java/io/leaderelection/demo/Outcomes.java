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

package io.leaderelection.demo;

import java.time.Duration;
import java.time.Instant;

import org.jspecify.annotations.Nullable;

/**
 * Determines the outcomes of what visitors do.
 */
class Outcomes {

	private static final Duration MOMENT = Duration.ofSeconds(1);

	private final Terms terms;

	private final DemoDatabase database;

	private final Duration silence;

	/**
	 * Create a new {@code Outcomes} instance.
	 * @param silence after how much silence of the leader another node leads
	 */
	Outcomes(Terms terms, DemoDatabase database, Duration silence) {
		this.terms = terms;
		this.database = database;
		this.silence = silence;
	}

	/**
	 * Determine the outcome of a fault.
	 * @param view the last report of its node
	 * @return the outcome, {@code null} if it is not known yet
	 */
	DemoState.@Nullable Outcome of(Fault fault, NodeView view, Instant now) {
		if (fault.action().isRecovery()) {
			return ofRecovery(fault, view, now);
		}
		ObservedTerm led = fault.led();
		ObservedTerm next = (led != null) ? this.terms.after(led) : null;
		if (led != null && next != null && next.from.isAfter(fault.at())) {
			return ofFailover(fault, led, next);
		}
		// A leader that had been replaced already counts as a follower
		return isOver(fault, (next != null) ? null : led, view, now) ? ofNothing(fault, now) : null;
	}

	private DemoState.Outcome ofFailover(Fault fault, ObservedTerm led, ObservedTerm next) {
		// First whether it is complete, so that a figure that arrives in between is not
		// missed
		boolean complete = this.terms.isClosed(led);
		boolean nextIsOver = this.terms.after(next) != null;
		Long overlap = millis(this.terms.overlap(led, next));
		Duration gap = this.database.gap(led.term, next.term);
		return new DemoState.Outcome(next.node, false, next.from.toEpochMilli(),
				Duration.between(fault.at(), next.from).toMillis(), false, overlap,
				(gap != null) ? DemoWork.missed(gap) : null, complete && (gap != null || nextIsOver));
	}

	/**
	 * Whether a fault has no effect any more: not on the leader, or the leader survived.
	 */
	private boolean isOver(Fault fault, @Nullable ObservedTerm led, NodeView view, Instant now) {
		Instant end = fault.at().plus(fault.action().isEnd() ? MOMENT : this.silence.plus(MOMENT));
		ObservedTerm current = this.terms.current();
		if (led != null && fault.leavesNoCandidate()) {
			return end.isBefore(now);
		}
		if (led != null) {
			return end.isBefore(now) && led == current && view.isFresh(fault.node().pid(), fault.at());
		}
		// A leader that is silent may be frozen: it is not known yet whether it still
		// leads
		return end.isBefore(now) && (current == null || this.terms.hasReportedSince(current, end));
	}

	private DemoState.Outcome ofNothing(Fault fault, Instant now) {
		ObservedTerm leading = this.terms.leading(now);
		boolean sameTerm = leading != null && leading == fault.before();
		Long missed = sameTerm ? this.database.missingSince(fault.at().minus(MOMENT)) : null;
		return new DemoState.Outcome(node(leading), sameTerm, null, null, false,
				millis(this.terms.overlapSince(fault.at())), missed, true);
	}

	private DemoState.@Nullable Outcome ofRecovery(Fault fault, NodeView view, Instant now) {
		ObservedTerm led = fault.led();
		ObservedTerm next = (led != null) ? this.terms.after(led) : null;
		boolean complete = led == null || next == null || this.terms.isClosed(led);
		Instant done = view.lastConfirmation();
		boolean finds = false;
		if (led != null && next != null && fault.action() == Action.THAW) {
			done = this.terms.noticed(led);
			finds = true;
		}
		if (!view.isFresh(fault.node().pid(), fault.at()) || done == null || !done.isAfter(fault.at())) {
			return null;
		}
		ObservedTerm leading = this.terms.leading(now);
		Duration overlap = (led != null && next != null) ? this.terms.overlap(led, next)
				: this.terms.overlapSince(fault.at());
		return new DemoState.Outcome(node(leading), leading != null && leading == fault.before(), null,
				Duration.between(fault.at(), done).toMillis(), finds, millis(overlap), null, complete);
	}

	private static @Nullable String node(@Nullable ObservedTerm leading) {
		return (leading != null) ? leading.node : null;
	}

	// Rounded up: what is not zero must not be shown as zero
	private static @Nullable Long millis(@Nullable Duration duration) {
		return (duration != null) ? (duration.toNanos() + 999_999) / 1_000_000 : null;
	}

}
