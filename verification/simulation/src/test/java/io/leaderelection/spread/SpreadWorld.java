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

package io.leaderelection.spread;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;

import io.leaderelection.Term;
import io.leaderelection.spread.Overview.Observation;
import io.leaderelection.spread.SpreadPolicy.Decision;
import io.leaderelection.spread.SpreadPolicy.HandOver;
import org.jspecify.annotations.Nullable;

/**
 * Nodes and elections in virtual time, in steps of a quarter of a second. Each node
 * observes each election at random times, acts with a delay, and may fail. Whichever
 * candidate tries first wins an election that is free.
 */
final class SpreadWorld {

	static final Duration LEASE = Duration.ofSeconds(5);

	static final Duration DRAIN_TIMEOUT = Duration.ofSeconds(20);

	static final Duration HOLD = Duration.ofSeconds(60);

	/** The longest time between two observations. */
	static final Duration LONGEST_POLL = Duration.ofMillis(7500);

	/** The longest time between two attempts of a candidate to win. */
	private static final long LONGEST_ATTEMPT = TimeUnit.MILLISECONDS.toNanos(800);

	private static final Observation UNKNOWN = new Observation(null, null, Map.of());

	private static final long STEP = TimeUnit.MILLISECONDS.toNanos(250);

	private static final long SECOND = TimeUnit.SECONDS.toNanos(1);

	private final Random random;

	/** Whether nodes observe and act as fast without a candidacy as with it. */
	private final boolean table;

	private final SpreadMistake mistake;

	final List<Node> nodes = new ArrayList<>();

	final List<Election> elections = new ArrayList<>();

	/** The times at which nodes began to hand over in order to spread elections. */
	final List<Long> handOvers = new ArrayList<>();

	/** How often a node began to suspend its candidacy. */
	int suspensions;

	/** The longest time for which an election had no leader. */
	long longestVacancy;

	long now;

	/**
	 * Create a new {@code SpreadWorld} instance.
	 * @param seed the seed of all random decisions
	 * @param mistake the mistake of all nodes
	 * @param maxLed the limit of each node
	 * @param led how many elections each node leads at first
	 */
	SpreadWorld(long seed, SpreadMistake mistake, int maxLed, int... led) {
		this.random = new Random(seed);
		this.table = seed % 2 == 0;
		this.mistake = mistake;
		IntStream.range(0, Arrays.stream(led).sum()).forEach((number) -> this.elections.add(new Election(number)));
		int next = 0;
		for (int number : led) {
			Node node = add(maxLed);
			this.elections.subList(next, next + number).forEach((election) -> election.leader = node);
			next += number;
		}
	}

	Node add(int maxLed) {
		Node node = new Node(this.nodes.size(), maxLed);
		this.nodes.add(node);
		return node;
	}

	void run(Duration time) {
		long end = this.now + time.toNanos();
		while (this.now < end) {
			this.now += STEP;
			this.elections.forEach(Election::step);
			this.nodes.forEach(Node::step);
		}
	}

	/**
	 * Run until elections are spread evenly.
	 * @return whether this was so within a time
	 */
	boolean runUntilEven(Duration longest) {
		long end = this.now + longest.toNanos();
		while (necessary() > 0 && this.now < end) {
			run(Duration.ofNanos(STEP));
		}
		return necessary() == 0;
	}

	/**
	 * Return how many elections must move until they are spread evenly.
	 */
	int necessary() {
		List<Integer> led = this.nodes.stream()
			.filter((node) -> node.running)
			.map(Node::led)
			.sorted((first, second) -> second - first)
			.toList();
		int floor = this.elections.size() / led.size();
		int more = this.elections.size() % led.size();
		int necessary = 0;
		for (int i = 0; i < led.size(); i++) {
			necessary += Math.max(0, led.get(i) - floor - ((i < more) ? 1 : 0));
		}
		return necessary;
	}

	int mostLed() {
		return this.nodes.stream().mapToInt(Node::led).max().orElseThrow();
	}

	/**
	 * Return how many elections have a leader.
	 */
	int led() {
		return this.nodes.stream().mapToInt(Node::led).sum();
	}

	/**
	 * Let something fail at random, but not everything at once.
	 */
	void fail() {
		Node node = this.nodes.get(this.random.nextInt(this.nodes.size()));
		long others = this.nodes.stream().filter((other) -> other != node && other.isHealthy()).count();
		if (others == 0) {
			return;
		}
		switch (this.random.nextInt(5)) {
			case 0 -> node.stop(true);
			case 1 -> node.stop(false);
			case 2 -> node.frozenUntil = this.now + this.random.nextLong(30 * SECOND);
			case 3 -> node.cutUntil = this.now + this.random.nextLong(30 * SECOND);
			default -> this.nodes.stream().filter((stopped) -> !stopped.running).findFirst().ifPresent(Node::start);
		}
	}

	void heal() {
		this.nodes.forEach(Node::start);
	}

	private long random(long longest) {
		return this.random.nextLong(longest);
	}

	/**
	 * One election as the store knows it.
	 */
	final class Election {

		private final String name;

		private @Nullable Node leader;

		private long term = 1;

		/** When the hand-over is complete, or 0. */
		private long handedOverAt;

		/** The former leader, which lets other candidates go first. */
		private @Nullable Node resigned;

		private long freeSince;

		/** When each node that was a candidate at the release tries to win. */
		private final Map<Node, Long> attempts = new HashMap<>();

		private Election(int number) {
			this.name = "election-%03d".formatted(number);
		}

		private void step() {
			Node before = this.leader;
			if (before != null && !before.hasSession()) {
				free(null);
			}
			else if (before != null && this.handedOverAt != 0 && SpreadWorld.this.now >= this.handedOverAt
					&& !before.isFrozen()) {
				before.views.put(this.name, UNKNOWN);
				free(before);
			}
			if (this.leader == null) {
				elect();
			}
		}

		private void free(@Nullable Node former) {
			this.leader = null;
			this.handedOverAt = 0;
			this.resigned = former;
			this.freeSince = SpreadWorld.this.now;
			this.attempts.clear();
			SpreadWorld.this.nodes.stream()
				.filter((node) -> node.isCandidate(this))
				.forEach((node) -> this.attempts.put(node, this.freeSince + random(LONGEST_ATTEMPT)));
		}

		private void elect() {
			long vacancy = SpreadWorld.this.now - this.freeSince;
			List<Node> candidates = SpreadWorld.this.nodes.stream()
				.filter((node) -> node.isCandidate(this) && (node != this.resigned || vacancy >= LEASE.toNanos())
						&& SpreadWorld.this.now >= this.attempts.getOrDefault(node, 0L))
				.toList();
			SpreadWorld.this.longestVacancy = Math.max(SpreadWorld.this.longestVacancy, vacancy);
			if (!candidates.isEmpty()) {
				Node winner = candidates.get(SpreadWorld.this.random.nextInt(candidates.size()));
				this.leader = winner;
				this.term++;
				winner.won(this);
			}
		}

		private Observation observation() {
			Map<String, Integer> candidates = new HashMap<>();
			SpreadWorld.this.nodes.stream()
				.filter((node) -> node == this.leader || node.isCandidate(this))
				.forEach((node) -> candidates.put(node.id, 0));
			return new Observation((this.leader != null) ? this.leader.id : null, new Term(0, 1, this.term),
					candidates);
		}

	}

	/**
	 * One node.
	 */
	final class Node {

		private final String id;

		private final int maxLed;

		/** Whether this node can start its services as a leader. */
		boolean usable = true;

		/** Whether this node does its part. */
		boolean spreads = true;

		private boolean running;

		private long frozenUntil;

		private long cutUntil;

		/** When the store last received something from this node. */
		private long lastHeard;

		private SpreadPolicy policy;

		private long nextComparison;

		private Set<String> suspended = Set.of();

		/** When this node acts on {@link #suspended}. */
		private final Map<String, Long> actsAt = new HashMap<>();

		private final Map<String, Boolean> withdrawn = new HashMap<>();

		private final Map<String, Long> suspendedUntil = new HashMap<>();

		private final Map<String, Observation> views = new HashMap<>();

		private final Map<String, Long> nextPolls = new HashMap<>();

		private Node(int number, int maxLed) {
			this.id = "node-%02d".formatted(number);
			this.maxLed = maxLed;
			start();
		}

		void start() {
			if (this.running) {
				return;
			}
			this.running = true;
			this.frozenUntil = 0;
			this.cutUntil = 0;
			this.lastHeard = SpreadWorld.this.now;
			this.suspended = Set.of();
			this.withdrawn.clear();
			this.actsAt.clear();
			this.views.clear();
			this.nextPolls.clear();
			this.policy = SpreadWorld.this.mistake.policy(this.id, new ElectionSpread.Settings(true, this.maxLed, HOLD),
					SpreadWorld.this.now);
			this.nextComparison = SpreadWorld.this.now + random(SECOND);
		}

		void stop(boolean orderly) {
			this.running = false;
			if (orderly) {
				this.lastHeard = SpreadWorld.this.now - LEASE.toNanos();
			}
		}

		boolean isHealthy() {
			return this.running && !isFrozen() && !isCut() && hasSession();
		}

		private boolean isFrozen() {
			return SpreadWorld.this.now < this.frozenUntil;
		}

		private boolean isCut() {
			return SpreadWorld.this.now < this.cutUntil;
		}

		private boolean hasSession() {
			return SpreadWorld.this.now - this.lastHeard < LEASE.toNanos();
		}

		private boolean isCandidate(Election election) {
			return hasSession() && !this.withdrawn.getOrDefault(election.name, false)
					&& SpreadWorld.this.now >= this.suspendedUntil.getOrDefault(election.name, 0L);
		}

		int led() {
			return (int) SpreadWorld.this.elections.stream().filter((election) -> election.leader == this).count();
		}

		private void won(Election election) {
			Observation before = this.views.getOrDefault(election.name, UNKNOWN);
			this.views.put(election.name, new Observation(this.id, new Term(0, 1, election.term), before.candidates()));
			this.nextPolls.remove(election.name);
			if (!this.usable) {
				election.handedOverAt = SpreadWorld.this.now + 3 * SECOND;
				this.suspendedUntil.put(election.name, SpreadWorld.this.now + 30 * SECOND);
			}
		}

		private void step() {
			if (!this.running || isFrozen()) {
				return;
			}
			if (!isCut()) {
				this.lastHeard = SpreadWorld.this.now;
			}
			SpreadWorld.this.elections.forEach(this::observe);
			if (this.spreads && SpreadWorld.this.now >= this.nextComparison) {
				this.nextComparison = SpreadWorld.this.now + SECOND;
				compare();
			}
			SpreadWorld.this.elections.forEach((election) -> {
				if (SpreadWorld.this.now >= this.actsAt.getOrDefault(election.name, Long.MAX_VALUE)) {
					this.actsAt.remove(election.name);
					this.withdrawn.put(election.name,
							this.suspended.contains(election.name) && election.leader != this);
				}
			});
		}

		private void observe(Election election) {
			if (isCut()) {
				this.views.put(election.name, UNKNOWN);
			}
			else if (SpreadWorld.this.now >= this.nextPolls.getOrDefault(election.name, 0L)) {
				this.views.put(election.name, election.observation());
				long longest = (SpreadWorld.this.table || election.leader == this) ? 3 * SECOND / 2
						: LONGEST_POLL.toNanos();
				this.nextPolls.put(election.name, SpreadWorld.this.now + longest / 5 * 2 + random(longest / 5 * 3));
			}
		}

		private void compare() {
			Decision decision = this.policy.decide(SpreadWorld.this.now, new Overview(this.views));
			HandOver handOver = decision.handOver();
			for (Election election : SpreadWorld.this.elections) {
				if (decision.suspended().contains(election.name) != this.suspended.contains(election.name)) {
					SpreadWorld.this.suspensions += decision.suspended().contains(election.name) ? 1 : 0;
					this.actsAt.put(election.name,
							SpreadWorld.this.now + random((SpreadWorld.this.table ? 1 : 8) * STEP));
				}
				if (handOver != null && election.name.equals(handOver.election()) && election.leader == this
						&& election.handedOverAt == 0) {
					election.handedOverAt = SpreadWorld.this.now + random(DRAIN_TIMEOUT.toNanos());
					SpreadWorld.this.handOvers.add(SpreadWorld.this.now);
				}
			}
			this.suspended = Set.copyOf(decision.suspended());
		}

	}

}
