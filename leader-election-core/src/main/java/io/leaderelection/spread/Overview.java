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

import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.function.BinaryOperator;
import java.util.function.ToIntFunction;
import java.util.stream.Stream;

import io.leaderelection.Term;
import io.leaderelection.engine.ElectionStore.Sight;
import io.leaderelection.engine.StoreSession.Candidate;
import io.leaderelection.engine.StoreSession.Holder;
import org.jspecify.annotations.Nullable;

/**
 * The leaders and candidates of all elections as one node observes them. Two nodes that
 * observe the same find the same {@link #plan plan}.
 */
class Overview {

	private final SortedMap<String, Sight> elections;

	/** The leaders whose term is known. */
	private final Map<String, Holder> leaders = new HashMap<>();

	private final Map<String, Integer> led = new HashMap<>();

	/** The nodes that have shown themselves lately. */
	private final Map<String, Candidate> alive = new HashMap<>();

	Overview(Map<String, Sight> elections) {
		this.elections = new TreeMap<>(elections);
		this.elections.forEach((election, sight) -> {
			// A node that was restarted has two sessions for some time
			candidates(election).forEach((candidate) -> this.alive.merge(candidate.nodeId(), candidate,
					BinaryOperator.minBy(Comparator.comparing(Candidate::session))));
			Holder leader = sight.view().leader();
			if (leader != null && leader.term() != null) {
				this.leaders.put(election, leader);
				this.led.merge(leader.nodeId(), 1, Integer::sum);
			}
		});
	}

	SortedMap<String, Sight> elections() {
		return this.elections;
	}

	@Nullable Term term(String election) {
		Holder leader = this.leaders.get(election);
		return (leader != null) ? leader.term() : null;
	}

	Map<String, Candidate> alive() {
		return this.alive;
	}

	boolean isLeader(String node, String election) {
		Holder leader = this.leaders.get(election);
		return leader != null && leader.nodeId().equals(node);
	}

	int led(String node) {
		return this.led.getOrDefault(node, 0);
	}

	/** Return how many elections each node leads at most if they are even. */
	int share() {
		int nodes = Math.max(1, this.alive.size());
		return (this.elections.size() + nodes - 1) / nodes;
	}

	private int capacity(String node) {
		Candidate candidate = this.alive.get(node);
		return (candidate != null) ? candidate.profile().capacity() : 0;
	}

	private boolean takesPart(String node) {
		return capacity(node) > 0;
	}

	private boolean isFull(String node, int led) {
		return capacity(node) != 0 && led >= Math.abs(capacity(node));
	}

	private Stream<Candidate> candidates(String election) {
		Sight sight = Objects.requireNonNull(this.elections.get(election));
		return sight.view().candidates().stream().filter((candidate) -> sight.alive().contains(candidate.session()));
	}

	/** Return who can win an election: the candidates of the highest priority. */
	private List<String> electable(String election) {
		int highest = candidates(election).mapToInt((candidate) -> candidate.profile().priority()).max().orElse(0);
		return candidates(election).filter((candidate) -> candidate.profile().priority() == highest)
			.map(Candidate::nodeId)
			.distinct()
			.toList();
	}

	/**
	 * Return whether an election is to move between nodes that lead so many: if the giver
	 * is above its limit, or they differ by two at least.
	 */
	private boolean isToMove(String from, String to, ToIntFunction<String> led) {
		boolean uneven = takesPart(from) && takesPart(to) && led.applyAsInt(from) - led.applyAsInt(to) >= 2;
		return (uneven || isFull(from, led.applyAsInt(from) - 1)) && !isFull(to, led.applyAsInt(to));
	}

	/** Return whether another node that can win an election is to do so. */
	boolean hasLighterRival(String election, String node) {
		return electable(election).stream().anyMatch((other) -> isToMove(node, other, this::led));
	}

	/**
	 * Return the moves that make the elections even: each from the leader of the most
	 * elections to the candidate of the fewest. A hash resolves ties.
	 * @param counted the nodes that count
	 */
	Map<String, Move> plan(Set<String> counted) {
		Map<String, Integer> numbers = new HashMap<>(this.led);
		ToIntFunction<String> led = (node) -> numbers.getOrDefault(node, 0);
		Comparator<Move> order = Comparator.<Move>comparingInt((move) -> -led.applyAsInt(move.from()))
			.thenComparing(Move::from)
			.thenComparingInt((move) -> led.applyAsInt(move.to()))
			.thenComparingInt(Move::hash)
			.thenComparing(Move::election)
			.thenComparing(Move::to);
		List<Move> possible = new ArrayList<>();
		this.leaders.forEach((election, leader) -> {
			List<String> electable = electable(election).stream().filter(counted::contains).toList();
			if (leader.term() != null && electable.contains(leader.nodeId())) {
				electable.forEach((to) -> possible.add(new Move(election, leader.term(), leader.nodeId(), to)));
			}
		});
		Map<String, Move> plan = new LinkedHashMap<>();
		while (true) {
			Optional<Move> next = possible.stream().filter((move) -> isToMove(move.from(), move.to(), led)).min(order);
			if (next.isEmpty()) {
				return plan;
			}
			Move move = next.get();
			plan.put(move.election(), move);
			possible.removeIf((other) -> other.election().equals(move.election()));
			numbers.merge(move.from(), -1, Integer::sum);
			numbers.merge(move.to(), 1, Integer::sum);
		}
	}

	/**
	 * Return whether the receiver can win an election and still leads fewer, and besides
	 * the leader nobody else can but nodes that do not take part, and would still lead
	 * fewer than the leader, even if they win all those whose hand-over has begun.
	 */
	boolean isReady(Move move, int begun) {
		List<String> electable = electable(move.election());
		int left = led(move.from()) - begun - 1;
		return electable.contains(move.to()) && isToMove(move.from(), move.to(), this::led)
				&& electable.stream()
					.allMatch((other) -> other.equals(move.from()) || other.equals(move.to())
							|| (!takesPart(other) && (isFull(move.from(), left) || led(other) + begun + 1 < left)));
	}

	/** Return why elections are uneven although none can move, if they are. */
	@Nullable String obstacle(Set<String> counted) {
		Comparator<String> order = Comparator.comparingInt(this::led).thenComparing(Comparator.naturalOrder());
		String most = counted.stream().max(order).orElse("");
		String fewest = counted.stream().min(order).orElse("");
		if (led(most) - led(fewest) < 2) {
			return null;
		}
		if (!takesPart(most) || !takesPart(fewest)) {
			return "node '" + (takesPart(most) ? fewest : most) + "' does not take part in spread";
		}
		return isFull(fewest, led(fewest)) ? "node '" + fewest + "' leads as many as its max-led"
				: "no election of node '" + most + "' has another candidate of the same priority";
	}

	// The move of an election from the leader of this term to a receiver
	record Move(String election, Term term, String from, String to) {

		private int hash() {
			return (31 * this.to.hashCode() + this.election.hashCode()) * 0x9E3779B1;
		}

	}

}
