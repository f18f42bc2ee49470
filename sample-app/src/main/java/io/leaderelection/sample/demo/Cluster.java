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

import java.io.IOException;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Properties;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.Stream;

import org.jspecify.annotations.Nullable;

import org.springframework.dao.DataAccessException;

/**
 * The nodes of the demo, and what can be done to them.
 */
class Cluster implements AutoCloseable {

	static final Duration TAKEOVER_DELAY = Duration.ofMillis(100);

	private static final int STOP_SECONDS = 4;

	private static final Duration COUNT_INTERVAL = Duration.ofSeconds(1);

	private final RunDirectory directory;

	private final NodeCommand command;

	private final Expectations expectations;

	private final Terms terms = new Terms();

	private final DemoDatabase database;

	private final Faults faults;

	private final List<Member> members = new CopyOnWriteArrayList<>();

	private volatile List<DemoState.Tick> leaderTicks = List.of();

	private volatile DemoState.Rows rows = new DemoState.Rows(0, 0, 0, 0);

	/** Of the thread that watches. */
	private Instant nextCount = Instant.MIN;

	private volatile boolean closed;

	Cluster(RunDirectory directory, Properties connection, DemoDatabase database, Duration lease) {
		this.directory = directory;
		this.command = new NodeCommand(directory, connection, lease);
		this.database = database;
		this.expectations = new Expectations(lease, TAKEOVER_DELAY);
		this.faults = new Faults(this.terms, database, lease.plus(TAKEOVER_DELAY));
		Proxy.start("demo-cluster", this::watch);
	}

	private void watch() {
		while (!this.closed) {
			try {
				look();
			}
			catch (DataAccessException ex) {
				if (!this.closed) {
					System.err.println("Could not read the database: " + ex.getMessage());
					this.database.reset();
				}
			}
			Pause.millis(250);
		}
	}

	private void look() {
		this.leaderTicks = this.database.ticksSince(Instant.now().minusSeconds(60));
		if (!Instant.now().isBefore(this.nextCount)) {
			count();
		}
		this.faults
			.update(this.members.stream().collect(Collectors.toMap(Member::node, (member) -> member.probe().view())));
	}

	// Takes longer the more there is, so that it is not done all the time
	private void count() {
		Instant begin = Instant.now();
		this.rows = this.database.rows();
		Duration pause = Duration.between(begin, Instant.now()).multipliedBy(10);
		this.nextCount = begin.plus((pause.compareTo(COUNT_INTERVAL) > 0) ? pause : COUNT_INTERVAL);
	}

	List<NodeProcess> nodes() {
		return this.members.stream().map(Member::node).toList();
	}

	/**
	 * Start a further node.
	 */
	synchronized NodeProcess add() throws IOException {
		if (this.closed || this.members.size() == DemoOptions.MAX_NODES) {
			throw new RefusedException(DemoOptions.MAX_NODES + " nodes are enough for one machine");
		}
		String name = "node-" + (this.members.size() + 1);
		NodeProcess node = new NodeProcess(name, this.directory, this.command);
		node.start(this::ended);
		this.members.add(new Member(node, new NodeProbe(node, this.terms)));
		return node;
	}

	private void ended(NodeProcess node, Instant lastRan, boolean frozen) {
		this.terms.ended(node.pid(), lastRan, frozen);
	}

	/**
	 * Start a further node at the wish of a visitor.
	 */
	synchronized String addFurther() throws IOException {
		Instant at = Instant.now();
		NodeProcess node = add();
		this.faults.add("start", node, at, null, this.expectations.of("start", false, true));
		return node.name() + " starts";
	}

	/**
	 * Do something to a node at the wish of a visitor.
	 * @return a message for the page
	 * @throws RefusedException if it makes no sense now
	 */
	synchronized String act(String name, String action) throws IOException, InterruptedException {
		Member member = this.members.stream()
			.filter((candidate) -> candidate.node().name().equals(name))
			.findFirst()
			.orElseThrow(() -> new RefusedException("There is no node '" + name + "'"));
		NodeProcess node = member.node();
		Terms.Led led = ledBy(node, action);
		Instant at = Instant.now();
		String expect = this.expectations.of(action, led != null, hasOthers(node));
		String message = member.act(action, this::ended);
		this.faults.add(action, node, at, led, expect);
		return message;
	}

	private Terms.@Nullable Led ledBy(NodeProcess node, String action) {
		if (action.equals("thaw") || action.equals("reconnect")) {
			return this.faults.ledWhenHit(node);
		}
		Terms.Led current = this.terms.current();
		return (current != null && current.pid == node.pid()) ? current : null;
	}

	private boolean hasOthers(NodeProcess node) {
		return nodes().stream()
			.anyMatch((other) -> other != node && other.state() == NodeProcess.State.RUNNING && !other.proxy().isCut());
	}

	DemoState state() {
		Stream<DemoState.Tick> allTicks = this.members.stream()
			.flatMap((member) -> member.probe()
				.allTicks()
				.stream()
				.map((at) -> new DemoState.Tick(member.node().name(), "all", null, at.toEpochMilli())));
		List<DemoState.Tick> ticks = new ArrayList<>(this.leaderTicks);
		allTicks.forEach(ticks::add);
		return new DemoState(this.command.lease().toString(), TAKEOVER_DELAY.toString(), System.currentTimeMillis(),
				this.members.stream().map(Member::state).toList(), ticks, this.terms.spans(), this.faults.views(),
				this.rows);
	}

	@Override
	public void close() throws IOException, InterruptedException {
		synchronized (this) {
			this.closed = true;
		}
		nodes().forEach(NodeProcess::stop);
		long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(STOP_SECONDS);
		for (NodeProcess node : nodes()) {
			node.awaitEnd(deadline);
		}
	}

}
