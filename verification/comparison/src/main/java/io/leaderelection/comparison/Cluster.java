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

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.Predicate;

import io.leaderelection.comparison.History.Event;
import io.leaderelection.comparison.History.Kind;
import io.leaderelection.comparison.Result.Measurement;
import io.leaderelection.testsupport.NodeJvm;
import io.leaderelection.testsupport.TcpProxy;
import org.jspecify.annotations.Nullable;

/**
 * The nodes of one run, and all that they report. Each run has an election of its own, so
 * that nothing is left in it from an earlier one.
 */
final class Cluster implements AutoCloseable {

	private final Run run;

	private final String election;

	private final List<NodeJvm> nodes = new ArrayList<>();

	private final List<TcpProxy> proxies = new ArrayList<>();

	private final List<Event> events = new ArrayList<>();

	/** A node that is stopped does not notice the end of the driver. */
	private final Thread hook = new Thread(() -> this.nodes.forEach(NodeJvm::kill));

	Cluster(Run run, String election) {
		this.run = run;
		this.election = election;
		Runtime.getRuntime().addShutdownHook(this.hook);
	}

	void start(Measurement measurement) throws Exception {
		for (int number = 0; number < measurement.nodes(); number++) {
			List<String> arguments = new ArrayList<>(
					List.of(this.run.candidate().adapter().getName(), String.valueOf(!measurement.isIdle())));
			options(number, measurement == Measurement.CUT || measurement == Measurement.KILL_PROXIED)
				.forEach((option) -> arguments.add("--" + option));
			int node = number;
			NodeJvm jvm = new NodeJvm("node-" + node, Node.class, arguments, Node.PREFIX,
					(report) -> accept(Event.parse(node, report)));
			this.nodes.add(jvm);
			jvm.ended().thenRun(() -> accept(new Event(node, Kind.ENDED, System.nanoTime())));
		}
		for (int number = 0; number < this.nodes.size(); number++) {
			int node = number;
			Event event = await(
					(each) -> each.node() == node && (each.kind() == Kind.STARTED || each.kind() == Kind.ENDED),
					Duration.ofSeconds(120));
			if (event == null || event.kind() == Kind.ENDED) {
				throw this.nodes.get(node).failure();
			}
		}
	}

	private List<String> options(int number, boolean proxied) {
		List<String> settings = this.run.candidate().options(this.run.variant());
		int port = this.run.backend().port();
		if (proxied) {
			this.proxies.add(new TcpProxy("127.0.0.1", port));
			port = this.proxies.get(number).port();
		}
		List<String> all = new ArrayList<>(List.of("spring.main.banner-mode=off", "logging.level.root=WARN",
				"logging.level.io.leaderelection=WARN", "spring.application.name=" + this.election,
				"leader-election.node-id=node-" + number, "leader-election.initialize-schema=always",
				"election=" + this.election, "node=node-" + number,
				this.run.backend().address(number, port, Candidate.withPrefix(settings, "url:"))));
		settings.stream()
			.filter((option) -> !option.matches("(url|server):.*"))
			.map((option) -> option.startsWith("hikari.") ? "spring.datasource." + option : option)
			.forEach(all::add);
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
		for (int next = 0;; next++) {
			while (next == this.events.size()) {
				long left = limit.toNanos() - (System.nanoTime() - start);
				if (left <= 0) {
					return null;
				}
				TimeUnit.NANOSECONDS.timedWait(this, left);
			}
			if (condition.test(this.events.get(next))) {
				return this.events.get(next);
			}
		}
	}

	synchronized History history() {
		return new History(List.copyOf(this.events));
	}

	double cpuMillis() {
		return this.nodes.stream()
			.mapToDouble((node) -> node.process().info().totalCpuDuration().orElseThrow().toNanos() / 1e6)
			.sum();
	}

	/**
	 * Waits until a node leads, or has run last.
	 */
	synchronized int awaitLeader(Duration limit) throws InterruptedException {
		boolean runs = this.run.candidate() == Candidate.SHEDLOCK;
		await((event) -> history().leader(runs) >= 0, limit);
		int leader = history().leader(runs);
		if (leader < 0) {
			throw new IllegalStateException("No node leads: " + this.nodes.stream().map(NodeJvm::output).toList());
		}
		return leader;
	}

	void apply(Measurement fault, int leader) throws Exception {
		switch (fault) {
			case KILL, KILL_PROXIED -> this.nodes.get(leader).kill();
			case STOP -> this.nodes.get(leader).terminate();
			case FREEZE -> this.nodes.get(leader).signal("STOP");
			case CUT -> this.proxies.get(leader).blackHole();
			case SESSION -> this.run.backend().endSessions(leader, this.election);
			default -> throw new IllegalArgumentException(fault + " is no fault");
		}
	}

	void restore(Measurement fault, int leader) {
		if (fault == Measurement.FREEZE) {
			this.nodes.get(leader).signal("CONT");
		}
		if (fault == Measurement.CUT) {
			this.proxies.get(leader).heal();
		}
	}

	@Override
	public void close() {
		this.hook.run();
		this.nodes.forEach(NodeJvm::close);
		this.proxies.forEach(TcpProxy::close);
		Runtime.getRuntime().removeShutdownHook(this.hook);
	}

}
