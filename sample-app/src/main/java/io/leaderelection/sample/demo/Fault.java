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

package io.leaderelection.sample.demo;

import java.time.Instant;

import org.jspecify.annotations.Nullable;

/**
 * What a visitor did to a node.
 */
class Fault {

	private final int id;

	private final String action;

	private final NodeProcess node;

	private final Instant at;

	private final Terms.@Nullable Led led;

	private final String expect;

	private volatile DemoState.@Nullable Outcome outcome;

	private volatile boolean settled;

	/**
	 * Create a new {@code Fault} instance.
	 * @param led the term that it may end, if it was done to the leader
	 */
	Fault(int id, String action, NodeProcess node, Instant at, Terms.@Nullable Led led, String expect) {
		this.id = id;
		this.action = action;
		this.node = node;
		this.at = at;
		this.led = led;
		this.expect = expect;
	}

	String action() {
		return this.action;
	}

	NodeProcess node() {
		return this.node;
	}

	Instant at() {
		return this.at;
	}

	Terms.@Nullable Led led() {
		return this.led;
	}

	boolean isSettled() {
		return this.settled;
	}

	/**
	 * Take note of what came of it.
	 * @param settled whether that is all there is to know
	 */
	void become(DemoState.Outcome outcome, boolean settled) {
		this.outcome = outcome;
		this.settled = settled;
	}

	DemoState.FaultView view() {
		return new DemoState.FaultView(this.id, this.action, this.node.name(), this.at.toEpochMilli(), this.expect,
				this.outcome);
	}

}
