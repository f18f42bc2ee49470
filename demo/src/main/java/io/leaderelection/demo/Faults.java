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

import java.time.Instant;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;

import org.jspecify.annotations.Nullable;

/**
 * The faults that visitors injected, and their outcomes.
 */
class Faults {

	private static final int KEPT = 50;

	private final List<Fault> faults = new ArrayList<>();

	private final Outcomes outcomes;

	private int count;

	Faults(Outcomes outcomes) {
		this.outcomes = outcomes;
	}

	synchronized void add(Action action, NodeProcess node, Instant at, @Nullable ObservedTerm led,
			@Nullable ObservedTerm before, Expectation expectation) {
		this.count++;
		Fault fault = new Fault(this.count, action, node, at, led, before, expectation);
		this.faults.forEach((earlier) -> earlier.overtake(fault));
		this.faults.add(fault);
		if (this.faults.size() > KEPT) {
			this.faults.remove(0);
		}
	}

	synchronized List<DemoState.FaultView> views() {
		List<DemoState.FaultView> views = new ArrayList<>(this.faults.stream().map(Fault::view).toList());
		Collections.reverse(views);
		return views;
	}

	/**
	 * Return the term in which the process of a node led when it was last frozen or cut
	 * off, if it led.
	 */
	synchronized @Nullable ObservedTerm ledWhenFaulted(Action action, NodeProcess node) {
		ObservedTerm led = null;
		for (Fault fault : this.faults) {
			led = (fault.node() == node && fault.action() == action) ? fault.led() : led;
		}
		return (led != null && led.pid == node.pid()) ? led : null;
	}

	/**
	 * Update the outcomes that are not complete yet.
	 */
	void update(Map<NodeProcess, NodeView> views, Instant now) {
		List<Fault> open;
		synchronized (this) {
			open = this.faults.stream().filter((fault) -> !fault.isSettled()).toList();
		}
		for (Fault fault : open) {
			DemoState.Outcome outcome = this.outcomes.of(fault, views.getOrDefault(fault.node(), NodeView.NONE), now);
			if (outcome != null) {
				become(fault, outcome);
			}
		}
	}

	private synchronized void become(Fault fault, DemoState.Outcome outcome) {
		fault.become(outcome);
	}

}
