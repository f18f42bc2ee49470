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

package io.leaderelection.comparison;

import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.Predicate;

import io.leaderelection.comparison.Candidate.Variant;
import io.leaderelection.testsupport.TcpProxy;
import org.jspecify.annotations.Nullable;

/**
 * The nodes of one run, and all that they report. Each run has an election of its own, so
 * that nothing is left in it from an earlier one.
 */
final class Cluster implements AutoCloseable {

	/** The number of nodes of {@link Measurement#IDLE_20}. */
	static final int LARGE = 20;

	private static final Duration START_LIMIT = Duration.ofSeconds(120);

	private final Candidate candidate;

	private final Backend backend;

	private final List<String> options;

	private final String election;

	private final boolean reported;

	private final boolean proxied;

	private final List<NodeProcess> nodes = new ArrayList<>();

	private final List<TcpProxy> proxies = new ArrayList<>();

	private final List<Event> events = new ArrayList<>();

	Cluster(Candidate candidate, Variant variant, Backend backend, String election, Measurement measurement) {
		this.candidate = candidate;
		this.backend = backend;
		this.options = candidate.options(variant);
		this.election = election;
		this.reported = measurement.isFault() || measurement == Measurement.START;
		// Only what is cut off has anything between it and the server
		this.proxied = measurement == Measurement.CUT;
	}

	void start(int count) throws Exception {
		for (int number = 0; number < count; number++) {
			int port = this.backend.port();
			if (this.proxied) {
				TcpProxy proxy = new TcpProxy("127.0.0.1", port);
				this.proxies.add(proxy);
				port = proxy.port();
			}
			this.nodes.add(new NodeProcess(number, this.candidate, this.reported, options(number, port), this::accept));
		}
		for (NodeProcess node : this.nodes) {
			Event event = await((each) -> each.node() == node.number()
					&& (each.kind() == Event.Kind.STARTED || each.kind() == Event.Kind.ENDED), START_LIMIT);
			if (event == null || event.kind() == Event.Kind.ENDED) {
				throw new IOException("Node " + node.number() + " does not start:\n" + node.output());
			}
		}
	}

	private List<String> options(int number, int port) {
		List<String> all = new ArrayList<>(List.of("spring.main.banner-mode=off",
				"spring.datasource.hikari.maximum-pool-size=2", "spring.datasource.hikari.minimum-idle=0",
				"spring.datasource.hikari.idle-timeout=10000", "spring.application.name=" + this.election,
				"leader-election.node-id=node-" + number, "leader-election.initialize-schema=always",
				"election=" + this.election, "node=node-" + number));
		all.addAll(this.backend.address(number, port, Candidate.withPrefix(this.options, "url:")));
		this.options.stream().filter((option) -> !option.matches("(url|server):.*")).forEach(all::add);
		return all;
	}

	private synchronized void accept(Event event) {
		this.events.add(event);
		notifyAll();
	}

	/**
	 * The first event that matches, {@code null} if there is none within the limit.
	 */
	synchronized @Nullable Event await(Predicate<Event> condition, Duration limit) throws InterruptedException {
		long start = System.nanoTime();
		int next = 0;
		while (true) {
			for (; next < this.events.size(); next++) {
				if (condition.test(this.events.get(next))) {
					return this.events.get(next);
				}
			}
			long left = limit.toNanos() - (System.nanoTime() - start);
			if (left <= 0) {
				return null;
			}
			TimeUnit.NANOSECONDS.timedWait(this, Math.min(left, TimeUnit.SECONDS.toNanos(1)));
		}
	}

	synchronized List<Event> events() {
		return List.copyOf(this.events);
	}

	/**
	 * Waits until a node leads.
	 */
	NodeProcess awaitLeader(Duration limit) throws Exception {
		Event leads = await((event) -> new History(events()).leader() >= 0, limit);
		int leader = new History(events()).leader();
		if (leads == null || leader < 0) {
			throw new IOException(
					"No node leads:\n" + String.join("\n", this.nodes.stream().map(NodeProcess::output).toList()));
		}
		return this.nodes.get(leader);
	}

	void apply(Measurement fault, NodeProcess leader) throws Exception {
		switch (fault) {
			case KILL -> leader.kill();
			case STOP -> leader.terminate();
			case FREEZE -> leader.signal("STOP");
			case CUT -> this.proxies.get(leader.number()).blackHole();
			case SESSION -> this.backend.endSessions(leader.number(), this.election);
			default -> throw new IllegalArgumentException(fault + " is no fault");
		}
	}

	void restore(Measurement fault, NodeProcess leader) {
		switch (fault) {
			case FREEZE -> leader.signal("CONT");
			case CUT -> this.proxies.get(leader.number()).heal();
			default -> {
				// Nothing is left of the others
			}
		}
	}

	@Override
	public void close() {
		this.nodes.forEach(NodeProcess::kill);
		this.nodes.forEach(NodeProcess::close);
		this.proxies.forEach(TcpProxy::close);
	}

}
