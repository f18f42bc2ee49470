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

import java.util.Collections;
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
import java.util.function.Predicate;
import java.util.function.ToIntFunction;
import java.util.stream.Collectors;
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
final class Overview {

	private final SortedMap<String, Sight> elections;

	private final Map<String, Term> terms = new HashMap<>();

	private final Map<String, Integer> led = new HashMap<>();

	private final Map<String, Candidate> alive = new HashMap<>();

	/** The priorities of the candidates that are alive. */
	private final Map<String, Map<String, Integer>> candidates = new HashMap<>();

	Overview(Map<String, Sight> elections) {
		this.elections = new TreeMap<>(elections);
		this.elections.forEach((election, sight) -> {
			// A node that was restarted has two sessions for some time
			sight.view()
				.candidates()
				.stream()
				.filter((candidate) -> sight.alive().contains(candidate.session()))
				.forEach((candidate) -> this.alive.merge(candidate.nodeId(), candidate,
						BinaryOperator.minBy(Comparator.comparing(Candidate::session))));
			Holder leader = sight.view().leader();
			if (leader != null && leader.term() != null) {
				this.terms.put(election, leader.term());
				this.led.merge(leader.nodeId(), 1, Integer::sum);
			}
		});
		this.elections.forEach((election, sight) -> this.candidates.put(election, sight.view()
			.candidates()
			.stream()
			.filter((candidate) -> this.alive.containsKey(candidate.nodeId()))
			.collect(Collectors.toMap(Candidate::nodeId, (candidate) -> candidate.profile().priority(), Math::max))));
	}

	Map<String, Sight> sights() {
		return this.elections;
	}

	Set<String> elections() {
		return this.elections.keySet();
	}

	/** Return the terms of the known leaders by the name of the election. */
	Map<String, Term> terms() {
		return this.terms;
	}

	/** Return the nodes that have shown themselves lately. */
	Set<String> alive() {
		return this.alive.keySet();
	}

	/** Return the session of a node that is alive. */
	String session(String node) {
		return Objects.requireNonNull(this.alive.get(node)).session();
	}

	int led(String node) {
		return this.led.getOrDefault(node, 0);
	}

	@Nullable String leader(String election) {
		Sight sight = this.elections.get(election);
		Holder leader = (sight != null) ? sight.view().leader() : null;
		return (leader != null) ? leader.nodeId() : null;
	}

	private int capacity(String node) {
		Candidate candidate = this.alive.get(node);
		return (candidate != null) ? candidate.profile().capacity() : 0;
	}

	private Map<String, Integer> candidates(String election) {
		return this.candidates.getOrDefault(election, Map.of());
	}

	/** Return how many elections each of some nodes leads at most if they are even. */
	int share(int nodes) {
		int number = Math.max(1, nodes);
		return (this.elections.size() + number - 1) / number;
	}

	/** Return who can win an election although a node of the election can, too. */
	private Stream<String> rivals(String election, String node) {
		int least = candidates(election).getOrDefault(node, 0);
		return candidates(election).entrySet()
			.stream()
			.filter((other) -> !other.getKey().equals(node) && other.getValue() >= least)
			.map(Map.Entry::getKey);
	}

	/**
	 * Return whether another candidate of an election leads at least two elections fewer
	 * than a node, and may lead more.
	 */
	boolean hasLighterRival(String election, String node) {
		return rivals(election, node).anyMatch((other) -> led(other) <= led(node) - 2 && led(other) < capacity(other));
	}

	/**
	 * Return the moves that make the elections even: each from the leader of the most
	 * elections to the candidate of the fewest, among those of the highest priority,
	 * while they differ by two at least. A hash resolves ties.
	 * @param movable which elections may move
	 * @param counted the nodes that count
	 * @param most how many moves to find at most
	 */
	Map<String, Move> plan(Predicate<String> movable, Set<String> counted, int most) {
		Map<String, Integer> numbers = new HashMap<>(this.led);
		Map<String, Move> moves = new LinkedHashMap<>();
		ToIntFunction<String> led = (node) -> numbers.getOrDefault(node, 0);
		Comparator<Move> order = Comparator.<Move>comparingInt((move) -> -led.applyAsInt(move.from()))
			.thenComparing(Move::from)
			.thenComparingInt((move) -> led.applyAsInt(move.to()))
			.thenComparingInt(Move::hash);
		List<Move> possible = elections().stream()
			.filter(movable)
			.flatMap((election) -> moves(election, counted))
			.toList();
		Optional<Move> next = Optional.empty();
		do {
			next = possible.stream()
				.filter((move) -> !moves.containsKey(move.election())
						&& led.applyAsInt(move.from()) - led.applyAsInt(move.to()) >= 2
						&& led.applyAsInt(move.to()) < capacity(move.to()))
				.min(order);
			next.ifPresent((move) -> {
				moves.put(move.election(), move);
				numbers.merge(move.from(), -1, Integer::sum);
				numbers.merge(move.to(), 1, Integer::sum);
			});
		}
		while (next.isPresent() && moves.size() < most);
		return moves;
	}

	private Stream<Move> moves(String election, Set<String> counted) {
		String from = leader(election);
		Term term = this.terms.get(election);
		Map<String, Integer> candidates = candidates(election);
		Integer priority = candidates.get(from);
		return (from == null || term == null || priority == null || capacity(from) == 0 || !counted.contains(from)
				|| candidates.values().stream().anyMatch((other) -> other > priority)) ? Stream.empty()
						: rivals(election, from).filter(counted::contains)
							.map((to) -> new Move(election, term, from, to));
	}

	/**
	 * Return whether the receiver can win an election and still leads fewer, and besides
	 * the leader nobody else can but nodes that do not take part, and would still lead
	 * fewer than the leader.
	 * @param begun how many the leader hands over, which such a node may win, too
	 */
	boolean isReady(Move move, int begun) {
		return led(move.to()) + 2 <= led(move.from())
				&& rivals(move.election(), move.from()).anyMatch(move.to()::equals)
				&& rivals(move.election(), move.to()).allMatch((other) -> other.equals(move.from())
						|| (capacity(other) == 0 && led(other) + begun + 1 < led(move.from()) - begun - 1));
	}

	/**
	 * Return why elections are uneven although none can move, or {@code null} if they are
	 * even.
	 */
	@Nullable String obstacle(Set<String> counted) {
		Comparator<String> order = Comparator.<String>comparingInt(this::led).thenComparing(Comparator.naturalOrder());
		String most = counted.isEmpty() ? "" : Collections.max(counted, order);
		String fewest = counted.isEmpty() ? "" : Collections.min(counted, order);
		if (led(most) - led(fewest) < 2) {
			return null;
		}
		String stranger = (capacity(most) == 0) ? most : fewest;
		if (capacity(stranger) == 0) {
			return "node '" + stranger + "' does not take part in spread";
		}
		return (led(fewest) < capacity(fewest))
				? "no election of node '" + most + "' has another candidate of the same priority"
				: "node '" + fewest + "' leads as many as its max-led";
	}

	/**
	 * Return an election of a node that another candidate may lead, or {@code null}.
	 */
	@Nullable String removable(String node) {
		return elections().stream()
			.filter((election) -> node.equals(leader(election)) && candidates(election).size() > 1
					&& rivals(election, node).anyMatch((other) -> capacity(other) == 0 || led(other) < capacity(other)))
			.findFirst()
			.orElse(null);
	}

	/**
	 * The move of an election.
	 *
	 * @param election the election
	 * @param term the term that is to end
	 * @param from the leader
	 * @param to the receiver
	 */
	record Move(String election, Term term, String from, String to) {

		private int hash() {
			return (31 * this.to.hashCode() + this.election.hashCode()) * 0x9E3779B1;
		}

	}

}
