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

package io.leaderelection.benchmarks;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;

import io.leaderelection.LeadershipRevokedEvent.Reason;
import org.jspecify.annotations.Nullable;

/**
 * The nodes of {@link SpreadBenchmark}, and which of them leads which election.
 */
final class SpreadCluster implements SpreadNode.Observer, AutoCloseable {

	private static final long STABLE = TimeUnit.SECONDS.toNanos(5);

	private final int elections;

	private final long start = System.nanoTime();

	private final List<SpreadNode> nodes = new ArrayList<>();

	private final Map<String, SpreadNode> leaders = new HashMap<>();

	private final Map<String, Long> terms = new HashMap<>();

	private int resigned;

	private final Map<String, Long> vacantSince = new HashMap<>();

	/** The longest time without a leader since it was last asked for. */
	private long vacancy;

	private int interrupted;

	/** Whose work was interrupted in its present or last term. */
	private final Map<String, Set<SpreadNode>> interruptions = new HashMap<>();

	private long changed;

	SpreadCluster(int elections) {
		this.elections = elections;
	}

	synchronized List<SpreadNode> nodes() {
		return List.copyOf(this.nodes);
	}

	synchronized void add(SpreadNode node) {
		this.nodes.add(node);
		this.changed = System.nanoTime();
	}

	/** Remove a node that is to end. */
	synchronized void remove(SpreadNode node) {
		this.nodes.remove(node);
		this.changed = System.nanoTime();
	}

	/** Remove a node that has been killed, and reports nothing any longer. */
	synchronized void lose(SpreadNode node) {
		remove(node);
		this.leaders.entrySet().removeIf((led) -> {
			boolean lost = led.getValue() == node;
			if (lost) {
				this.vacantSince.put(led.getKey(), this.changed);
			}
			return lost;
		});
	}

	@Override
	public synchronized void granted(SpreadNode node, String election, long term) {
		interruptions(election).remove(node);
		// A node that was frozen may report late
		if (term >= this.terms.merge(election, term, Math::max)) {
			this.leaders.put(election, node);
			Long since = this.vacantSince.remove(election);
			this.vacancy = (since != null) ? Math.max(this.vacancy, System.nanoTime() - since) : this.vacancy;
			this.changed = System.nanoTime();
			System.out.printf(Locale.ROOT, "%.1f s: %s to %s, which makes %s%n", (this.changed - this.start) / 1e9,
					election, node, led());
		}
	}

	@Override
	public synchronized void revoked(SpreadNode node, String election, Reason reason) {
		boolean handedOver = reason == Reason.RESIGNED || reason == Reason.STOPPED;
		this.resigned += (reason == Reason.RESIGNED) ? 1 : 0;
		// Reported before, since a hand-over waits for the work
		if (handedOver && interruptions(election).contains(node)) {
			this.interrupted++;
		}
		if (this.leaders.remove(election, node)) {
			this.vacantSince.put(election, System.nanoTime());
			this.changed = System.nanoTime();
		}
	}

	@Override
	public synchronized void interrupted(SpreadNode node, String election) {
		interruptions(election).add(node);
	}

	private Set<SpreadNode> interruptions(String election) {
		return this.interruptions.computeIfAbsent(election, (key) -> new HashSet<>());
	}

	synchronized Counts counts() {
		Counts counts = new Counts(moves(), this.resigned, this.interrupted, this.vacancy);
		this.vacancy = 0;
		return counts;
	}

	/** Return how many elections each node leads, the most first. */
	private synchronized List<Integer> led() {
		return this.nodes.stream()
			.map((node) -> Collections.frequency(this.leaders.values(), node))
			.sorted(Comparator.reverseOrder())
			.toList();
	}

	private synchronized boolean isLed() {
		return led().stream().mapToInt(Integer::intValue).sum() == this.elections;
	}

	/** Return how many moves make the elections even, at least. */
	private synchronized int moves() {
		List<Integer> led = led();
		int moves = 0;
		for (int node = 0; node < led.size(); node++) {
			int even = this.elections / led.size() + ((node < this.elections % led.size()) ? 1 : 0);
			moves += Math.max(0, led.get(node) - even);
		}
		return moves;
	}

	void awaitLed(Duration limit) throws InterruptedException {
		if (await(this::isLed, limit) == null) {
			throw new IllegalStateException("Not all elections have a leader: " + led());
		}
	}

	/** Wait until the elections have been even for some time, and return since when. */
	@Nullable Long awaitEven(Duration limit) throws InterruptedException {
		return await(() -> isLed() && moves() == 0 && System.nanoTime() - this.changed >= STABLE, limit);
	}

	private @Nullable Long await(BooleanSupplier condition, Duration limit) throws InterruptedException {
		long start = System.nanoTime();
		while (System.nanoTime() - start < limit.toNanos()) {
			synchronized (this) {
				if (condition.getAsBoolean()) {
					return this.changed;
				}
				this.nodes.stream().filter((node) -> node.jvm().ended().isDone()).findFirst().ifPresent((node) -> {
					throw node.jvm().failure();
				});
			}
			Thread.sleep(20);
		}
		return null;
	}

	@Override
	public void close() {
		List<SpreadNode> all = nodes();
		all.forEach(this::remove);
		// All at once, since each takes over from those that end before it
		all.forEach((node) -> node.jvm().kill());
		all.forEach(SpreadNode::close);
	}

	/**
	 * What has been counted so far.
	 *
	 * @param moves how many moves make the present elections even, at least
	 * @param resigned how often a node has handed leadership over without a stop
	 * @param interrupted in how many terms a hand-over has interrupted leader work
	 * @param vacancy the longest time for which an election had no leader, since the last
	 * counts, in nanoseconds
	 */
	record Counts(int moves, int resigned, int interrupted, long vacancy) {

	}

}
