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
 * Something that a visitor did to a node, and what came of it.
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
	 * @param led the term that it may end, if it was done to the leader, or that the harm
	 * may have ended of which this is the end
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
	boolean isHopeless() {
		return this.led != null && this.expectation.bound() == null;
	}

	/**
	 * Whether all is known that can be known of what came of it.
	 */
	boolean isSettled() {
		DemoState.Outcome outcome = this.outcome;
		return this.overtakenBy != null || (outcome != null && outcome.complete());
	}

	/**
	 * Take note that something else was done, before anything came of this. If that
	 * concerns the same node or leader, nobody can tell any more what does. Harm to
	 * another node, which may be the one that would have led, only delays it.
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
