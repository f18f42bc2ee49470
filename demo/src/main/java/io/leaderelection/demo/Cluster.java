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

import java.io.IOException;
import java.time.Instant;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;

import org.jspecify.annotations.Nullable;

/**
 * The nodes of the demo, and what can be done to them.
 */
class Cluster implements ProcessListener, AutoCloseable {

	private static final int STOP_SECONDS = 4;

	private final RunDirectory directory;

	private final NodeCommand command;

	private final Terms terms = new Terms();

	private final Faults faults;

	private final ClusterMonitor monitor;

	private final List<Member> members = new CopyOnWriteArrayList<>();

	private volatile boolean closed;

	Cluster(RunDirectory directory, NodeCommand command, DemoDatabase database, RowCounter counter) {
		this.directory = directory;
		this.command = command;
		this.faults = new Faults(new Outcomes(this.terms, database, command.settings().silence()));
		this.monitor = new ClusterMonitor(this.members, command.settings(), this.terms, this.faults, database, counter);
	}

	Cluster start() {
		this.monitor.start();
		return this;
	}

	List<NodeProcess> nodes() {
		return this.members.stream().map(Member::node).toList();
	}

	/**
	 * Start a further node.
	 */
	synchronized NodeProcess add() throws IOException {
		refuseIfClosed();
		if (this.members.size() == DemoCluster.MAX_NODES) {
			throw new RefusedException(DemoCluster.MAX_NODES + " nodes are enough for one machine");
		}
		NodeProcess node = new NodeProcess("node-" + (this.members.size() + 1), this.directory, this.command, this);
		node.start();
		this.members.add(new Member(node, new NodeProbe(node, this.terms).start()));
		return node;
	}

	private void refuseIfClosed() {
		if (this.closed) {
			throw new RefusedException("The demo is being stopped");
		}
	}

	@Override
	public void started(NodeProcess node) {
		this.terms.started(node.pid());
	}

	@Override
	public void ended(NodeProcess node, End end) {
		if (!end.killed() && !this.closed) {
			ObservedTerm before = this.terms.current();
			ObservedTerm led = ledBy(node, Action.END, before);
			this.faults.add(Action.END, node, end.lastRan(), led, before, expect(Action.END, node, led));
		}
		this.terms.ended(node.pid(), end.lastRan(), end.frozen());
	}

	/**
	 * Start a further node on request of a visitor.
	 */
	synchronized String addFurther() throws IOException {
		Instant at = Instant.now();
		ObservedTerm before = this.terms.current();
		NodeProcess node = add();
		this.faults.add(Action.START, node, at, null, before, expect(Action.START, node, null));
		return node.name() + " starts";
	}

	/**
	 * Do something to a node on request of a visitor.
	 * @return a message for the page
	 * @throws RefusedException if it is not possible now
	 */
	synchronized String act(String name, Action action) throws IOException, InterruptedException {
		refuseIfClosed();
		Member member = this.members.stream()
			.filter((candidate) -> candidate.node().name().equals(name))
			.findFirst()
			.orElseThrow(() -> new RefusedException("There is no node '" + name + "'"));
		NodeProcess node = member.node();
		ObservedTerm before = this.terms.current();
		ObservedTerm led = ledBy(node, action, before);
		Expectation expectation = expect(action, node, led);
		Instant at = Instant.now();
		String message = member.act(action);
		this.faults.add(action, node, at, led, before, expectation);
		return message;
	}

	private @Nullable ObservedTerm ledBy(NodeProcess node, Action action, @Nullable ObservedTerm current) {
		if (action.isRecovery()) {
			return this.faults.ledWhenFaulted(action.undone(), node);
		}
		return (current != null && current.pid == node.pid()) ? current : null;
	}

	private Expectation expect(Action action, NodeProcess node, @Nullable ObservedTerm led) {
		List<NodeProcess> others = nodes().stream()
			.filter((other) -> other != node && other.state() != ProcessState.DEAD)
			.toList();
		Expectation.Others able = others.stream().noneMatch(NodeProcess::canLead) ? Expectation.Others.NONE
				: others.stream().anyMatch(NodeProcess::isHindered) ? Expectation.Others.HINDERED
						: Expectation.Others.READY;
		return Expectation.of(action, this.command.settings(), led != null, able, node.isCut());
	}

	DemoState state() {
		return this.monitor.state();
	}

	@Override
	public void close() throws InterruptedException {
		synchronized (this) {
			this.closed = true;
		}
		this.monitor.close();
		this.members.forEach((member) -> member.probe().close());
		nodes().forEach(NodeProcess::stop);
		long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(STOP_SECONDS);
		for (NodeProcess node : nodes()) {
			node.awaitEnd(deadline);
		}
	}

}
