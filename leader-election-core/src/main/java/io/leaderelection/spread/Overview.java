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
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;

import io.leaderelection.Term;
import org.jspecify.annotations.Nullable;

/**
 * The leaders and candidates of all elections as one node observes them. Two nodes that
 * observe the same find the same {@link #move() move}.
 */
final class Overview {

	private final SortedMap<String, Observation> elections;

	private final Map<String, String> leaders = new HashMap<>();

	private final Map<String, Integer> led = new HashMap<>();

	private final Map<String, Term> terms = new HashMap<>();

	private final Set<String> nodes = new HashSet<>();

	/**
	 * Create a new {@code Overview} instance.
	 * @param elections what is observed of each election, by its name
	 */
	Overview(Map<String, Observation> elections) {
		this.elections = new TreeMap<>(elections);
		this.elections.forEach((election, observation) -> {
			this.nodes.addAll(observation.candidates().keySet());
			String leader = observation.leader();
			Term term = observation.term();
			if (leader != null && term != null) {
				this.nodes.add(leader);
				this.leaders.put(election, leader);
				this.terms.put(election, term);
				this.led.merge(leader, 1, Integer::sum);
			}
		});
	}

	Set<String> elections() {
		return this.elections.keySet();
	}

	/** Return the leaders by the name of the election. */
	Map<String, String> leaders() {
		return this.leaders;
	}

	/** Return the terms of the leaders by the name of the election. */
	Map<String, Term> terms() {
		return this.terms;
	}

	/**
	 * Return an election whose leader is not known, or {@code null} if there is none.
	 */
	@Nullable String unknown() {
		return elections().stream().filter((election) -> !this.leaders.containsKey(election)).findFirst().orElse(null);
	}

	private Map<String, Integer> candidates(String election) {
		Observation observation = this.elections.get(election);
		return (observation != null) ? observation.candidates() : Map.of();
	}

	/**
	 * Return how many elections a node leads.
	 */
	int led(String node) {
		return this.led.getOrDefault(node, 0);
	}

	/**
	 * Return how many elections a node leads at most when they are spread evenly.
	 */
	int share() {
		int nodes = Math.max(1, this.nodes.size());
		return (this.elections.size() + nodes - 1) / nodes;
	}

	/**
	 * Return the next move: from the leader of the most elections to the candidate of the
	 * fewest, ties by name. It reduces the difference between two nodes of the highest
	 * priority, or else is {@code null}.
	 */
	@Nullable Move move() {
		return elections().stream()
			.map(this::move)
			.filter((move) -> move != null && led(move.from()) - move.receiverLed() >= 2)
			.min(Comparator.<Move>comparingInt((move) -> -led(move.from()))
				.thenComparing(Move::from)
				.thenComparingInt(Move::receiverLed)
				.thenComparing(Move::election))
			.orElse(null);
	}

	private @Nullable Move move(String election) {
		String leader = this.leaders.get(election);
		Integer priority = (leader != null) ? candidates(election).get(leader) : null;
		if (leader == null || priority == null || Collections.max(candidates(election).values()) > priority) {
			return null;
		}
		return candidates(election).entrySet()
			.stream()
			.filter((candidate) -> candidate.getValue().equals(priority))
			.map((candidate) -> new Move(election, leader, led(candidate.getKey())))
			.min(Comparator.comparingInt(Move::receiverLed))
			.orElse(null);
	}

	/**
	 * Return whether every candidate that can win when the leader resigns leads few
	 * enough other elections.
	 */
	boolean isReady(Move move) {
		return candidates(move.election()).keySet()
			.stream()
			.allMatch((candidate) -> candidate.equals(move.from()) || led(candidate) <= move.receiverLed());
	}

	boolean isLed(String node, Term term) {
		return elections().stream()
			.anyMatch((election) -> term.equals(this.terms.get(election)) && node.equals(this.leaders.get(election)));
	}

	/**
	 * Return an election of a node that has another candidate, or {@code null}.
	 */
	@Nullable String removable(String node) {
		return elections().stream()
			.filter((election) -> node.equals(this.leaders.get(election)) && candidates(election).size() > 1)
			.findFirst()
			.orElse(null);
	}

	/**
	 * What is observed of one election.
	 *
	 * @param leader the leader, or {@code null} if none is known
	 * @param term its term, or {@code null} if it is not known
	 * @param candidates the priorities of the candidates, the leader included
	 */
	record Observation(@Nullable String leader, @Nullable Term term, Map<String, Integer> candidates) {

	}

	/**
	 * The move of one election to another node.
	 *
	 * @param election the election
	 * @param from the leader, which resigns
	 * @param receiverLed how many elections each node leads that should win
	 */
	record Move(String election, String from, int receiverLed) {

	}

}
