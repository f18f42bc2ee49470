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
import java.util.Comparator;
import java.util.List;
import java.util.UUID;
import java.util.stream.Collectors;

/**
 * Observes the nodes and the rows, and makes the state for the page of it.
 */
class ClusterMonitor implements AutoCloseable {

	private static final int INTERVAL = 250;

	private final String run = UUID.randomUUID().toString();

	private final List<Member> members;

	private final Expectation.Settings settings;

	private final Terms terms;

	private final Faults faults;

	private final DemoDatabase database;

	private final RowCounter counter;

	private volatile List<DemoState.Tick> leaderTicks = List.of();

	private volatile boolean closed;

	/**
	 * Create a new {@code ClusterMonitor} instance.
	 * @param members the nodes, to which further ones may come
	 */
	ClusterMonitor(List<Member> members, Expectation.Settings settings, Terms terms, Faults faults,
			DemoDatabase database, RowCounter counter) {
		this.members = members;
		this.settings = settings;
		this.terms = terms;
		this.faults = faults;
		this.database = database;
		this.counter = counter;
	}

	void start() {
		Background.start("demo-watch", this::repeat);
		this.counter.start();
	}

	private void repeat() {
		while (!this.closed) {
			try {
				update(Instant.now());
			}
			catch (RuntimeException ex) {
				if (!this.closed) {
					System.err.println("Could not update the outcomes: " + ex);
					this.database.reset();
				}
			}
			Background.pause(INTERVAL);
		}
	}

	private void update(Instant now) {
		this.leaderTicks = this.database.ticksSince(now.minus(DemoState.SHOWN));
		this.faults.update(
				this.members.stream().collect(Collectors.toMap(Member::node, (member) -> member.probe().view())), now);
	}

	DemoState state() {
		List<DemoState.Tick> ticks = new ArrayList<>(this.leaderTicks);
		this.members.forEach((member) -> ticks.addAll(member.probe().allTicks()));
		List<DemoState.Node> nodes = this.members.stream().map(Member::state).toList();
		String leader = nodes.stream()
			.filter(DemoState.Node::leads)
			.max(Comparator.comparing(DemoState.Node::since))
			.map(DemoState.Node::name)
			.orElse(null);
		return new DemoState(this.run, this.settings.store().toString(), this.settings.lease().toString(),
				this.settings.trust().toString(), this.settings.silence().toString(), System.currentTimeMillis(),
				leader, nodes, ticks, this.terms.spans(Instant.now()), this.faults.views(), this.counter.rows());
	}

	@Override
	public void close() {
		this.closed = true;
		this.counter.close();
	}

}
