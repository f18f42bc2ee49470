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
import java.util.Collection;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

import io.leaderelection.Term;
import io.leaderelection.engine.ElectionStore.Sight;
import io.leaderelection.engine.ElectionStore.StandBack;
import io.leaderelection.engine.NodeProfile;
import io.leaderelection.engine.StoreSession.Candidate;
import io.leaderelection.engine.StoreSession.Holder;
import io.leaderelection.engine.StoreSession.View;
import io.leaderelection.spread.SpreadPolicy.Decision;
import org.jspecify.annotations.Nullable;

/**
 * Nodes and elections of a lease table in virtual time, in steps of a tenth of a second.
 * Each node reads leaders and candidates at times of its own, and acts on what it has
 * read. The session of a dead node remains in the table for some time.
 */
final class SpreadWorld {

	static final Duration LEASE = Duration.ofSeconds(5);

	static final Duration HOLD = Duration.ofSeconds(10);

	private static final long SECOND = TimeUnit.SECONDS.toNanos(1);

	private static final long STEP = SECOND / 10;

	private static final long STAND_BACK = SECOND / 2;

	/**
	 * The longest times between two beats, and between two readings of the candidates.
	 */
	private static final long BEAT = SECOND * 5 / 2;

	private static final long OLDEST = SpreadPolicy.SKEW.toNanos();

	private static final long LISTED = SECOND * 30;

	/** After this time without a beat, a node has been read twice without one. */
	private static final long KNOWN_DEAD = SECOND * 9;

	private final Random random;

	private final SpreadMistake mistake;

	final Duration drain;

	final List<Node> nodes = new ArrayList<>();

	final List<Election> elections;

	private final List<Session> sessions = new ArrayList<>();

	int handOvers;

	/** How many of them began when nobody else could win. */
	int futileHandOvers;

	long longestVacancy;

	long now;

	SpreadWorld(long seed, SpreadMistake mistake, Duration drain, int elections, int nodes) {
		this.random = new Random(seed);
		this.mistake = mistake;
		this.drain = drain;
		this.elections = IntStream.range(0, elections).mapToObj((number) -> new Election("e" + number)).toList();
		for (int number = 0; number < nodes; number++) {
			add().start();
			run(Duration.ofMillis(this.random.nextInt(2000)));
		}
	}

	/** Add a node, which is not started. */
	Node add() {
		Node node = new Node("node-" + this.nodes.size());
		this.nodes.add(node);
		return node;
	}

	void run(Duration time) {
		long end = this.now + time.toNanos();
		while (this.now < end) {
			this.now += STEP;
			this.nodes.forEach(Node::step);
			this.elections.forEach(Election::step);
			this.sessions.removeIf((session) -> this.now - session.beatAt >= LISTED);
		}
	}

	/**
	 * Run until elections are even, and return the time, or a long time if they are not.
	 */
	Duration runUntilEven(Duration longest) {
		long start = this.now;
		while ((necessary() > 0 || !isLed()) && this.now - start < longest.toNanos()) {
			run(Duration.ofNanos(STEP));
		}
		return Duration.ofNanos(this.now - start);
	}

	/** Run until all elections have a leader. */
	void runUntilLed() {
		while (!isLed()) {
			run(Duration.ofNanos(STEP));
		}
	}

	private boolean isLed() {
		return this.elections.stream().allMatch((election) -> election.leader != null && election.leader.isValid());
	}

	/** Return how many elections must move until they are even. */
	int necessary() {
		List<Integer> led = this.nodes.stream().filter((node) -> node.session != null).map(Node::led).toList();
		int floor = this.elections.size() / led.size();
		int more = this.elections.size() % led.size();
		List<Integer> sorted = led.stream().sorted(Comparator.reverseOrder()).toList();
		return IntStream.range(0, sorted.size())
			.map((i) -> Math.max(0, sorted.get(i) - floor - ((i < more) ? 1 : 0)))
			.sum();
	}

	List<Integer> led() {
		return this.nodes.stream().map(Node::led).toList();
	}

	private long random(long longest) {
		return this.random.nextLong(longest) + 1;
	}

	/**
	 * One election as the table has it.
	 */
	final class Election {

		private final String name;

		@Nullable Session leader;

		private long term;

		/** When the hand-over is complete, or 0. */
		private long handedOverAt;

		/** The former leader, which lets other candidates go first. */
		private @Nullable Node resigned;

		private long freeSince;

		private final Map<Node, Long> attempts = new HashMap<>();

		private Election(String name) {
			this.name = name;
		}

		private void step() {
			Session owner = this.leader;
			if (owner != null && !owner.isValid()) {
				free(null);
			}
			else if (owner != null && this.handedOverAt != 0 && SpreadWorld.this.now >= this.handedOverAt
					&& owner.node.isHealthy()) {
				free(owner.node);
				// A turn frees it, and the next one shows that
				owner.node.nextRead = SpreadWorld.this.now + STEP;
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
		}

		private void elect() {
			long vacancy = SpreadWorld.this.now - this.freeSince;
			List<Node> winners = SpreadWorld.this.nodes.stream()
				.filter((node) -> node.isHealthy()
						&& SpreadWorld.this.now >= this.attempts.computeIfAbsent(node, (each) -> attempt(each)))
				.toList();
			if (this.term > 0) {
				SpreadWorld.this.longestVacancy = Math.max(SpreadWorld.this.longestVacancy, vacancy);
			}
			if (!winners.isEmpty()) {
				Node winner = winners.get(SpreadWorld.this.random.nextInt(winners.size()));
				this.leader = winner.session;
				this.term++;
				winner.won(this);
			}
		}

		private long attempt(Node node) {
			boolean others = listed().stream().anyMatch((other) -> other.node != node && other.node != this.resigned);
			long wait = (node == this.resigned && others) ? LEASE.toNanos()
					: (node.standBack(this) != StandBack.NOT && others) ? STAND_BACK : 0;
			return SpreadWorld.this.now + wait + random(STEP * 2)
					+ Math.max(0, node.unusableUntil - SpreadWorld.this.now);
		}

		private Collection<Session> listed() {
			return SpreadWorld.this.sessions.stream()
				.filter((session) -> !session.unlisted.contains(this.name)
						&& session.node.unusableUntil <= SpreadWorld.this.now)
				.toList();
		}

	}

	/**
	 * A row of the table.
	 */
	final class Session {

		private final Node node;

		private final long number = random(Long.MAX_VALUE - 1);

		private long beat;

		private long beatAt = SpreadWorld.this.now;

		private final Set<String> unlisted = new HashSet<>();

		private boolean ended;

		private Session(Node node) {
			this.node = node;
		}

		private String name() {
			return this.node.id + "/" + this.number;
		}

		boolean isValid() {
			return !this.ended && SpreadWorld.this.now - this.beatAt < LEASE.toNanos();
		}

	}

	/**
	 * What a node knows of another one.
	 *
	 * @param beat its last beat
	 * @param first when that was first read
	 */
	private record Sighting(long beat, long first) {

	}

	/**
	 * One node.
	 */
	final class Node {

		final String id;

		/** Whether this node can start its services as a leader. */
		boolean usable = true;

		/** As nodes publish it: 0 if this node does not take part. */
		int capacity = NodeProfile.UNLIMITED;

		@Nullable Session session;

		private long frozenUntil;

		private long killedAt;

		private long unusableUntil;

		private long refusedUntil;

		private int refusals;

		private @Nullable SpreadPolicy policy;

		private Map<String, StandBack> standBacks = Map.of();

		@Nullable String waiting;

		private Map<String, Sight> read = Map.of();

		private Map<String, List<Candidate>> candidates = Map.of();

		private Set<String> alive = Set.of();

		private Map<Session, Sighting> sightings = new HashMap<>();

		private long readAt;

		private long listedAt;

		private long nextRead;

		private long nextList;

		private long nextComparison;

		private Node(String id) {
			this.id = id;
		}

		void start() {
			Session begun = new Session(this);
			SpreadWorld.this.sessions.add(begun);
			this.session = begun;
			this.policy = SpreadWorld.this.mistake.policy(new ElectionSpread.Settings(this.id, this.capacity, HOLD,
					Duration.ofMinutes(1), SpreadWorld.this.drain), SpreadWorld.this.now);
			this.standBacks = Map.of();
			this.read = Map.of();
			this.sightings = new HashMap<>();
			this.nextRead = 0;
			this.nextList = 0;
			this.nextComparison = SpreadWorld.this.now + random(SECOND);
		}

		void kill() {
			this.session = null;
			this.killedAt = SpreadWorld.this.now;
		}

		/** Return whether others must know that this node can win nothing. */
		private boolean isDead() {
			return !isHealthy() && SpreadWorld.this.now - this.killedAt >= KNOWN_DEAD;
		}

		/** Stop in good order, which takes no time. */
		void stop() {
			Session running = this.session;
			if (running != null) {
				running.ended = true;
				SpreadWorld.this.sessions.remove(running);
				this.session = null;
			}
		}

		void freeze(Duration time) {
			this.frozenUntil = SpreadWorld.this.now + time.toNanos();
		}

		private boolean isHealthy() {
			return this.session != null && SpreadWorld.this.now >= this.frozenUntil;
		}

		int led() {
			return (int) SpreadWorld.this.elections.stream()
				.filter((election) -> election.leader != null && election.leader == this.session)
				.count();
		}

		private StandBack standBack(Election election) {
			return this.standBacks.getOrDefault(election.name, StandBack.NOT);
		}

		private void won(Election election) {
			if (!this.usable) {
				this.unusableUntil = SpreadWorld.this.now + 30 * SECOND;
				this.refusedUntil = SpreadWorld.this.now + (60 * SECOND << Math.min(6, this.refusals++));
				election.handedOverAt = SpreadWorld.this.now + 3 * SECOND;
			}
		}

		private void step() {
			Session own = this.session;
			if (own == null || !isHealthy()) {
				return;
			}
			if (!own.isValid()) {
				// Frozen for longer than the lease
				stop();
				start();
				return;
			}
			read(own);
			SpreadPolicy present = this.policy;
			if (present != null && this.capacity != 0 && SpreadWorld.this.now >= this.nextComparison) {
				compare(present);
				this.nextComparison = SpreadWorld.this.now + (present.isHandingOver() ? 2 * STEP : SECOND);
			}
		}

		private void read(Session own) {
			long time = SpreadWorld.this.now;
			if (time < this.nextRead) {
				return;
			}
			this.nextRead = time + ((led() > 0) ? SECOND : BEAT) + random(3 * STEP);
			own.beat++;
			own.beatAt = time;
			own.unlisted.clear();
			this.standBacks.forEach((election, how) -> {
				if (how == StandBack.UNLISTED) {
					own.unlisted.add(election);
				}
			});
			this.readAt = time;
			if (time >= this.nextList) {
				this.nextList = time + BEAT;
				list(time);
			}
			Map<String, Sight> rows = new HashMap<>();
			SpreadWorld.this.elections.forEach((election) -> {
				Session owner = election.leader;
				Holder leader = (owner != null && owner.isValid()) ? new Holder(owner.node.id, owner.name(),
						new Term(0, 1, election.term), null, NodeProfile.UNKNOWN, null) : null;
				rows.put(election.name,
						new Sight(new View(leader, this.candidates.getOrDefault(election.name, List.of()), null),
								this.alive, Duration.ZERO));
			});
			this.read = rows;
		}

		private void list(long time) {
			this.listedAt = time;
			Map<Session, Sighting> present = new HashMap<>();
			SpreadWorld.this.sessions.forEach((other) -> {
				Sighting known = this.sightings.get(other);
				present.put(other,
						(known != null && known.beat() == other.beat) ? known : new Sighting(other.beat, time));
			});
			this.sightings = present;
			this.alive = present.keySet()
				.stream()
				.filter((other) -> time - present.get(other).first() < OLDEST)
				.map(Session::name)
				.collect(Collectors.toSet());
			Map<String, List<Candidate>> listed = new HashMap<>();
			SpreadWorld.this.elections.forEach((election) -> listed.put(election.name,
					election.listed().stream().map((other) -> other.node.candidate(other)).toList()));
			this.candidates = listed;
		}

		private Candidate candidate(Session own) {
			return new Candidate(this.id, own.name(),
					new NodeProfile(NodeProfile.PROTOCOL, 0, this.capacity, Map.of()));
		}

		private void compare(SpreadPolicy present) {
			long time = SpreadWorld.this.now;
			if (time - Math.min(this.readAt, this.listedAt) > OLDEST) {
				return;
			}
			Decision decision = present.decide(time, new Overview(this.read), time < this.refusedUntil);
			decision.standBacks().forEach((election, how) -> {
				if (how == StandBack.UNLISTED && this.standBacks.get(election) != how) {
					// A turn begins at once
					this.nextRead = time + random(3 * STEP);
				}
			});
			this.standBacks = decision.standBacks();
			this.waiting = decision.status().waiting();
			for (Election election : SpreadWorld.this.elections) {
				if (decision.handOvers().contains(election.name) && election.leader == this.session
						&& election.handedOverAt == 0) {
					election.handedOverAt = time + random(Math.max(1, SpreadWorld.this.drain.toNanos()));
					SpreadWorld.this.handOvers++;
					SpreadWorld.this.futileHandOvers += SpreadWorld.this.sessions.stream()
						.anyMatch((other) -> other.node != this && !other.unlisted.contains(election.name)
								&& !other.node.isDead()) ? 0 : 1;
				}
			}
		}

	}

}
