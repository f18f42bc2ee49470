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
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;

import org.jspecify.annotations.Nullable;
import tools.jackson.databind.node.ObjectNode;

/**
 * Asks a node, again and again, what any monitoring could ask: the endpoint
 * {@code leadership}, metrics and health.
 */
class NodeProbe {

	private static final int INTERVAL = 100;

	private final NodeProcess node;

	private final Terms terms;

	private final NodeClient client;

	private final Deque<DemoState.Tick> ticks = new ArrayDeque<>();

	private volatile NodeView view = NodeView.NONE;

	private volatile @Nullable String health;

	private volatile boolean closed;

	NodeProbe(NodeProcess node, Terms terms) {
		this.node = node;
		this.terms = terms;
		this.client = new NodeClient(node);
	}

	NodeProbe start() {
		Background.start("demo-probe-" + this.node.name(), () -> repeat(this::poll, INTERVAL));
		Background.start("demo-health-" + this.node.name(), () -> repeat(this::pollHealth, 5 * INTERVAL));
		return this;
	}

	private void repeat(Runnable task, int interval) {
		while (!this.closed) {
			task.run();
			Background.pause(interval);
		}
	}

	NodeView view() {
		return this.view;
	}

	/**
	 * The status of its health endpoint, {@code null} if it does not answer.
	 */
	@Nullable String health() {
		return this.view.stale() ? null : this.health;
	}

	NodeClient client() {
		return this.client;
	}

	/**
	 * When the job of all nodes ran here in the last two minutes, to the interval at
	 * which its counter is read.
	 */
	List<DemoState.Tick> allTicks() {
		synchronized (this.ticks) {
			long first = Instant.now().minus(DemoState.SHOWN).toEpochMilli();
			while (!this.ticks.isEmpty() && this.ticks.getFirst().at() < first) {
				this.ticks.removeFirst();
			}
			return List.copyOf(this.ticks);
		}
	}

	private void poll() {
		long pid = this.node.pid();
		try {
			this.node.findPort();
			Instant asked = Instant.now();
			ObjectNode leadership = this.client.leadership();
			Instant answered = Instant.now();
			NodeMetrics metrics = this.client.metrics();
			NodeObservation observation = new NodeObservation(asked, leadership, answered, metrics, Instant.now());
			if (pid == this.node.pid()) {
				seen(pid, observation);
			}
		}
		catch (IOException | RuntimeException ex) {
			// It does not answer, or not with what can be read
			this.view = this.view.asStale();
		}
	}

	private void seen(long pid, NodeObservation observation) {
		NodeView last = this.view;
		this.node.answered();
		this.terms.seen(this.node.name(), pid, observation);
		this.view = new NodeView(pid, observation, false);
		if (last.pid() == pid) {
			tick(last.metrics().allTicks(), observation);
		}
	}

	private void tick(long before, NodeObservation observation) {
		synchronized (this.ticks) {
			for (long number = before + 1; number <= observation.metrics().allTicks(); number++) {
				this.ticks.addLast(new DemoState.Tick(this.node.name(), "all", null,
						observation.answered().toEpochMilli(), number));
			}
		}
	}

	private void pollHealth() {
		try {
			this.health = this.client.health();
		}
		catch (IOException | RuntimeException ex) {
			this.health = null;
		}
	}

	/**
	 * Stop asking.
	 */
	void close() {
		this.closed = true;
	}

}
