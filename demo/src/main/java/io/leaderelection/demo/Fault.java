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
 * An action of a visitor on a node, and its outcome.
 */
final class Fault {

	private final int id;

	private final Action action;

	private final NodeProcess node;

	private final Instant at;

	private final @Nullable ObservedTerm led;

	private final @Nullable ObservedTerm before;

	private final Expectation expectation;

	private volatile DemoState.@Nullable Outcome outcome;

	private volatile @Nullable Integer overtakenBy;

	private volatile boolean disturbed;

	/**
	 * Create a new {@code Fault} instance.
	 * @param led the term that it may end, if it was done to the leader; for a recovery,
	 * the term that the fault before it may have ended
	 * @param before the term at that time
	 */
	Fault(int id, Action action, NodeProcess node, Instant at, @Nullable ObservedTerm led,
			@Nullable ObservedTerm before, Expectation expectation) {
		this.id = id;
		this.action = action;
		this.node = node;
		this.at = at;
		this.led = led;
		this.before = before;
		this.expectation = expectation;
	}

	Action action() {
		return this.action;
	}

	NodeProcess node() {
		return this.node;
	}

	Instant at() {
		return this.at;
	}

	@Nullable ObservedTerm led() {
		return this.led;
	}

	@Nullable ObservedTerm before() {
		return this.before;
	}

	/**
	 * Whether it was done to the leader, and no other node could lead.
	 */
	boolean leavesNoCandidate() {
		return this.led != null && this.expectation.bound() == null;
	}

	/**
	 * Whether its outcome cannot change any more.
	 */
	boolean isSettled() {
		DemoState.Outcome outcome = this.outcome;
		return this.overtakenBy != null || (outcome != null && outcome.complete());
	}

	/**
	 * Record that another action was done before this one had an outcome. If that
	 * concerns the same node or leader, the outcome of this one can no longer be
	 * determined. A fault of another node, which may be the next leader, only delays it.
	 */
	void overtake(Fault by) {
		if (this.outcome != null || isSettled()) {
			return;
		}
		if (this.node == by.node || (this.led != null && this.led == by.led)) {
			this.overtakenBy = by.id;
		}
		this.disturbed |= !by.action.isRecovery();
	}

	void become(DemoState.Outcome outcome) {
		if (this.overtakenBy == null) {
			this.outcome = outcome;
		}
	}

	DemoState.FaultView view() {
		Duration bound = this.disturbed ? null : this.expectation.bound();
		return new DemoState.FaultView(this.id, this.action.toString(), this.node.name(), this.at.toEpochMilli(),
				this.expectation.text(), (bound != null) ? bound.toMillis() : null, this.overtakenBy,
				bound != null && this.overtakenBy == null, this.outcome);
	}

}
