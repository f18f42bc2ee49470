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
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Collectors;

import io.leaderelection.Term;
import io.leaderelection.engine.ElectionStore.StandBack;
import io.leaderelection.engine.StoreSession.Candidate;
import io.leaderelection.spread.ElectionSpread.Settings;
import io.leaderelection.spread.ElectionSpread.SpreadStatus;
import io.leaderelection.spread.Overview.Move;
import org.jspecify.annotations.Nullable;

/**
 * Decides which elections a node hands over, and which it leaves to others. No node asks
 * another one: all observe the same leaders and candidates, and find the same plan.
 * <p>
 * When nothing has changed for the hold, each node makes a plan and keeps it for a
 * period, or until nodes have changed. In it, the candidates of an election that is to
 * move stand back, except for its receiver. Only the leader decides: it hands over when
 * it observes that nobody else can win. A plan is over with its last move, or after a
 * time. After one that has moved nothing, hold and period are twice as long, so that
 * those of all nodes overlap. Not final, since seeded mistakes extend it. Confined to one
 * thread.
 */
class SpreadPolicy {

	/** No node observes something later than another one by more. */
	static final Duration SKEW = Duration.ofSeconds(5);

	/** The time within which hand-overs begin that need not wait for others. */
	static final Duration MOVING = Duration.ofSeconds(10);

	/** How many elections a node hands over at once. */
	static final int BATCH = 16;

	private static final int MOST_DOUBLINGS = 6;

	static final int MOST_HOLDS = 6;

	private final Settings settings;

	/** The last known terms, and when they have changed. */
	private final Map<String, Term> terms = new HashMap<>();

	private final Map<String, Long> changed = new HashMap<>();

	/** Since when the sessions of nodes have shown themselves without a gap. */
	private final Map<String, Long> alive = new HashMap<>();

	/** When nodes have changed or a plan was over. */
	private long since;

	/** When nothing had changed for the hold, or a plan was over. */
	private long calm;

	private @Nullable Plan plan;

	/** How many plans have moved nothing in a row. */
	private int failures;

	/** What this node hands over, and since when. */
	private final Map<String, Long> begun = new HashMap<>();

	SpreadPolicy(Settings settings, long now) {
		this.settings = settings;
		this.since = now;
		this.calm = now;
	}

	/**
	 * Decide what this node does now.
	 * @param now the time in nanoseconds
	 * @param seen what this node observes now
	 * @param refuses whether this node is to receive nothing
	 */
	Decision decide(long now, Overview seen, boolean refuses) {
		observe(now, seen);
		endPlan(now, seen);
		long hold = this.settings.hold().toNanos();
		Set<String> counted = seen.alive()
			.values()
			.stream()
			.filter((candidate) -> now - this.alive.getOrDefault(candidate.session(), now) >= hold)
			.map(Candidate::nodeId)
			.collect(Collectors.toSet());
		if (isDue(now) && this.begun.isEmpty() && (this.plan == null || (!this.plan.calm() && this.calm == now))) {
			this.plan = plan(now, seen.plan(counted));
		}
		Map<String, StandBack> standBacks = new TreeMap<>();
		seen.elections().keySet().forEach((election) -> standBacks.put(election, standBack(seen, election, refuses)));
		return new Decision(standBacks, handOver(now, seen),
				new SpreadStatus(seen.led(this.settings.node()), seen.share(), waiting(seen, counted)));
	}

	/**
	 * Return whether this node hands elections over, so that the next ones may be due.
	 */
	boolean isHandingOver() {
		return !this.begun.isEmpty();
	}

	/**
	 * Note what has changed. While an election has no known leader, it goes on to change.
	 */
	private void observe(long now, Overview seen) {
		for (String election : seen.elections().keySet()) {
			Term term = seen.term(election);
			if (term == null || !term.equals(this.terms.put(election, term))) {
				this.changed.put(election, now);
			}
		}
		// A resignation may also have been refused
		this.begun.entrySet()
			.removeIf((open) -> !seen.isLeader(this.settings.node(), open.getKey())
					|| now - open.getValue() >= this.settings.drain().plus(SKEW).toNanos());
		Set<String> present = seen.alive().values().stream().map(Candidate::session).collect(Collectors.toSet());
		if (!present.equals(this.alive.keySet())) {
			this.since = now;
			this.failures = 0;
			this.plan = (this.plan != null && this.plan.calm()) ? null : this.plan;
		}
		this.alive.keySet().retainAll(present);
		present.forEach((session) -> this.alive.putIfAbsent(session, now));
	}

	private boolean isOver(Move move) {
		return !move.term().equals(this.terms.get(move.election()));
	}

	/**
	 * End a plan, which has failed if each election is led by the same node as before.
	 */
	private void endPlan(long now, Overview seen) {
		Plan present = this.plan;
		if (present != null && (present.moves().values().stream().allMatch(this::isOver)
				|| now - present.end() >= SKEW.toNanos())) {
			boolean failed = present.moves()
				.values()
				.stream()
				.allMatch((move) -> !isOver(move) || seen.isLeader(move.from(), move.election()));
			this.failures = failed ? Math.min(this.failures + 1, MOST_DOUBLINGS) : 0;
			this.plan = null;
			this.since = now;
			this.calm = now;
		}
	}

	/**
	 * Return whether nothing has changed for the hold, or something has again and again
	 * for {@value #MOST_HOLDS} times that. It then does not count.
	 */
	boolean isDue(long now) {
		long hold = this.settings.hold().toNanos() << this.failures;
		boolean changes = now - this.since < hold || this.changed.values().stream().anyMatch((at) -> now - at < hold);
		this.calm = changes ? this.calm : now;
		return !changes || now - this.calm >= MOST_HOLDS * hold;
	}

	private @Nullable Plan plan(long now, Map<String, Move> moves) {
		Duration time = MOVING.plus(this.settings.drain().multipliedBy((moves.size() + BATCH - 1) / BATCH))
			.multipliedBy(1L << this.failures);
		return moves.isEmpty() ? null : new Plan(now, now + time.toNanos(), this.calm == now, moves);
	}

	/** Begin to hand over elections of this node, when all nodes have the plan. */
	private Set<String> handOver(long now, Overview seen) {
		Plan present = this.plan;
		Set<String> next = new TreeSet<>();
		if (present != null && now - present.start() >= SKEW.toNanos()
				&& present.end() - now >= this.settings.drain().toNanos()) {
			present.moves().forEach((election, move) -> {
				if (move.from().equals(this.settings.node()) && !isOver(move) && this.begun.size() < BATCH
						&& !this.begun.containsKey(election) && seen.isReady(move, this.begun.size())) {
					this.begun.put(election, now);
					next.add(election);
				}
			});
		}
		return next;
	}

	/**
	 * Return how this node treats an election that it does not lead. Neither a move nor a
	 * limit must prevent a leader.
	 */
	private StandBack standBack(Overview seen, String election, boolean refuses) {
		Move move = (this.plan != null) ? this.plan.moves().get(election) : null;
		if (seen.isLeader(this.settings.node(), election)) {
			return StandBack.NOT;
		}
		if (move != null && !isOver(move) && !move.to().equals(this.settings.node())) {
			return StandBack.UNLISTED;
		}
		if (refuses || seen.led(this.settings.node()) >= Math.abs(this.settings.capacity())) {
			return (seen.term(election) != null) ? StandBack.UNLISTED : StandBack.WHEN_FREE;
		}
		return seen.hasLighterRival(election, this.settings.node()) ? StandBack.WHEN_FREE : StandBack.NOT;
	}

	private @Nullable String waiting(Overview seen, Set<String> counted) {
		for (String election : seen.elections().keySet()) {
			if (seen.term(election) == null) {
				return "no leader of '" + election + "' is known";
			}
		}
		if (this.plan != null) {
			return "'" + this.plan.moves().keySet().iterator().next() + "' is to be handed over";
		}
		if (seen.plan(seen.alive().keySet()).isEmpty()) {
			return (seen.led(this.settings.node()) > Math.abs(this.settings.capacity()))
					? "this node leads more than max-led"
					: (this.settings.capacity() > 0) ? seen.obstacle(counted) : null;
		}
		return (this.failures == 0) ? "leaders or nodes have changed within spread-hold"
				: "the last moves were not possible, and are tried again later";
	}

	// How a node treats each election, and which ones it hands over
	record Decision(Map<String, StandBack> standBacks, Set<String> handOvers, SpreadStatus status) {

	}

	/**
	 * Moves by the name of the election, of which the last one ends at the end. A calm
	 * plan was made when nothing had changed, and is dropped when nodes change. Another
	 * one is replaced when nothing has changed.
	 */
	private record Plan(long start, long end, boolean calm, Map<String, Move> moves) {

	}

}
