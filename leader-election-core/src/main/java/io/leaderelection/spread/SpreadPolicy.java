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
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Stream;

import io.leaderelection.Term;
import io.leaderelection.engine.ElectionStore.StandBack;
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

	/** The least time between two hand-overs because of a limit. */
	static final Duration SETTLING = Duration.ofSeconds(15);

	private static final int MOST_DOUBLINGS = 6;

	private static final int MOST_HOLDS = 6;

	private final String node;

	private final ElectionSpread.Settings settings;

	private final Duration drainTimeout;

	/** The last known terms, and when they have changed. */
	private final Map<String, Term> terms = new HashMap<>();

	private final Map<String, Long> changed = new HashMap<>();

	/** Since when the sessions of nodes have shown themselves without a gap. */
	private final Map<String, Long> alive = new HashMap<>();

	/** When a node that counted has left, or a plan was over. */
	private long since;

	/** When nothing had changed for the hold. */
	private long calm;

	private @Nullable Plan plan;

	/** How many plans have moved nothing in a row. */
	private int failures;

	/** What this node hands over, and since when. */
	private final Map<String, Long> begun = new HashMap<>();

	/** When this node was last within its limit, or resigned since it was not. */
	private long limited;

	private int ledAtLimit = Integer.MAX_VALUE;

	private int limitDoublings;

	SpreadPolicy(String node, ElectionSpread.Settings settings, Duration drainTimeout, long now) {
		this.node = node;
		this.settings = settings;
		this.drainTimeout = drainTimeout;
		this.since = now;
		this.calm = now;
		this.limited = now;
	}

	/**
	 * Decide what this node does now.
	 * @param now the time in nanoseconds
	 * @param seen what this node observes now
	 * @param refuses whether this node is to receive nothing
	 */
	Decision decide(long now, Overview seen, boolean refuses) {
		observe(now, seen);
		endPlan(now);
		Set<String> counted = new HashSet<>(seen.alive());
		counted.removeIf((present) -> isNew(now, this.alive.get(seen.session(present))));
		boolean due = this.settings.enabled() && isDue(now) && this.begun.isEmpty();
		if (due && (this.plan == null || (!this.plan.calm() && this.calm == now))) {
			this.plan = plan(now, seen, counted);
		}
		Map<String, StandBack> standBacks = new TreeMap<>();
		seen.elections().forEach((election) -> standBacks.put(election, standBack(seen, election, refuses)));
		Map<String, String> handOvers = new TreeMap<>();
		begin(now, seen).forEach((election) -> handOvers.put(election, "spread"));
		String removed = aboveLimit(now, seen);
		if (removed != null) {
			handOvers.put(removed, "max-led");
		}
		handOvers.keySet().forEach((election) -> this.begun.put(election, now));
		return new Decision(standBacks, handOvers,
				new SpreadStatus(seen.led(this.node), seen.share(seen.alive().size()), waiting(seen, counted)));
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
		for (String election : seen.elections()) {
			Term term = seen.terms().get(election);
			if (term == null) {
				this.changed.put(election, now);
			}
			else if (!term.equals(this.terms.put(election, term))) {
				this.changed.put(election, now);
				boolean planned = this.plan != null && this.plan.moves().containsKey(election);
				this.failures = planned ? this.failures : 0;
			}
		}
		// A resignation may also have been refused
		this.begun.entrySet()
			.removeIf((open) -> !this.node.equals(seen.leader(open.getKey()))
					|| now - open.getValue() >= this.drainTimeout.plus(SKEW).toNanos());
		List<String> present = seen.alive().stream().map(seen::session).toList();
		boolean left = this.alive.entrySet()
			.stream()
			.anyMatch((session) -> !present.contains(session.getKey()) && !isNew(now, session.getValue()));
		this.since = left ? now : this.since;
		if (left || !this.alive.keySet().containsAll(present)) {
			this.failures = 0;
			this.plan = (this.plan != null && this.plan.calm()) ? null : this.plan;
		}
		this.alive.keySet().retainAll(present);
		present.forEach((session) -> this.alive.putIfAbsent(session, now));
	}

	private boolean isNew(long now, @Nullable Long at) {
		return at != null && now - at < this.settings.hold().toNanos();
	}

	private boolean isOver(Move move) {
		return !move.term().equals(this.terms.get(move.election()));
	}

	private void endPlan(long now) {
		Plan present = this.plan;
		if (present == null) {
			return;
		}
		long over = present.moves().values().stream().filter(this::isOver).count();
		if (over == present.moves().size() || now - present.end() >= SKEW.toNanos()) {
			this.plan = null;
			this.since = now;
			this.failures = (over > 0) ? 0 : Math.min(this.failures + 1, MOST_DOUBLINGS);
		}
	}

	/**
	 * Return whether nothing has changed for the hold, or something has again and again
	 * for {@value #MOST_HOLDS} times that. It then does not count.
	 */
	boolean isDue(long now) {
		long hold = this.settings.hold().toNanos() << this.failures;
		boolean changes = Stream.concat(this.changed.values().stream(), this.alive.values().stream())
			.anyMatch((at) -> now - at < hold);
		this.calm = changes ? this.calm : now;
		return now - this.since >= hold && (!changes || now - this.calm >= MOST_HOLDS * hold);
	}

	private @Nullable Plan plan(long now, Overview seen, Set<String> counted) {
		Map<String, Move> moves = moves(now, seen, counted);
		Map<String, Integer> given = new HashMap<>();
		moves.values().forEach((move) -> given.merge(move.from(), 1, Integer::sum));
		int most = given.values().stream().max(Integer::compare).orElse(0);
		Duration time = MOVING.plus(this.drainTimeout.multipliedBy((most + BATCH - 1) / BATCH))
			.multipliedBy(1L << this.failures);
		return moves.isEmpty() ? null : new Plan(now, now + time.toNanos(), this.calm == now, moves);
	}

	Map<String, Move> moves(long now, Overview seen, Set<String> counted) {
		return seen.plan((election) -> !isNew(now, this.changed.get(election)), counted, Integer.MAX_VALUE);
	}

	/**
	 * Return the elections of this node to hand over, when all nodes have the plan.
	 */
	private Set<String> begin(long now, Overview seen) {
		Plan present = this.plan;
		Set<String> open = new HashSet<>(this.begun.keySet());
		Set<String> ready = new TreeSet<>();
		if (present != null && now - present.start() >= SKEW.toNanos()
				&& present.end() - now >= this.drainTimeout.toNanos()) {
			present.moves().forEach((election, move) -> {
				if (move.from().equals(this.node) && !isOver(move) && open.size() < BATCH && !open.contains(election)
						&& isReady(seen, move, open)) {
					open.add(election);
					ready.add(election);
				}
			});
		}
		return ready;
	}

	boolean isReady(Overview seen, Move move, Set<String> open) {
		return seen.isReady(move, open.size());
	}

	/**
	 * Return how this node treats an election that it does not lead. Neither a move nor a
	 * limit must prevent a leader.
	 */
	private StandBack standBack(Overview seen, String election, boolean refuses) {
		Move move = (this.plan != null) ? this.plan.moves().get(election) : null;
		if (this.node.equals(seen.leader(election))) {
			return StandBack.NOT;
		}
		if (move != null && !isOver(move) && isToStandBack(move)) {
			return StandBack.UNLISTED;
		}
		if (refuses || seen.led(this.node) >= this.settings.maxLed()) {
			return seen.terms().containsKey(election) ? StandBack.UNLISTED : StandBack.WHEN_FREE;
		}
		return (this.settings.enabled() && seen.hasLighterRival(election, this.node)) ? StandBack.WHEN_FREE
				: StandBack.NOT;
	}

	boolean isToStandBack(Move move) {
		return !move.to().equals(this.node);
	}

	/**
	 * Return an election to hand over because of the limit, if it is time: after the last
	 * hand-over, and when other nodes have reached their own limit meanwhile. The time
	 * doubles while this does not help.
	 */
	private @Nullable String aboveLimit(long now, Overview seen) {
		int led = seen.led(this.node);
		if (led <= this.settings.maxLed()) {
			this.limited = now;
		}
		String election = seen.removable(this.node);
		if (election == null || !this.begun.isEmpty()
				|| now - this.limited < SETTLING.toNanos() << this.limitDoublings) {
			return null;
		}
		this.limitDoublings = (led >= this.ledAtLimit) ? Math.min(this.limitDoublings + 1, MOST_DOUBLINGS) : 0;
		this.ledAtLimit = led;
		this.limited = now;
		return election;
	}

	private @Nullable String waiting(Overview seen, Set<String> counted) {
		for (String election : seen.elections()) {
			if (!seen.terms().containsKey(election)) {
				return "no leader of '" + election + "' is known";
			}
		}
		if (seen.led(this.node) > this.settings.maxLed()) {
			return "this node leads more than max-led";
		}
		if (this.plan != null) {
			return "'" + this.plan.moves().keySet().iterator().next() + "' is to be handed over";
		}
		if (!this.settings.enabled()) {
			return null;
		}
		if (seen.plan((election) -> true, seen.alive(), 1).isEmpty()) {
			return seen.obstacle(counted);
		}
		return (this.failures == 0) ? "leaders or nodes have changed within spread-hold"
				: "the last moves were not possible, and are tried again later";
	}

	/**
	 * What a node does.
	 *
	 * @param standBacks how it treats each election
	 * @param handOvers the elections that it hands over, and why
	 * @param status the status
	 */
	record Decision(Map<String, StandBack> standBacks, Map<String, String> handOvers, SpreadStatus status) {

	}

	/**
	 * A plan.
	 *
	 * @param start when it was made
	 * @param end when its last hand-over ends
	 * @param calm whether nothing had changed. It then ends when nodes change, and
	 * otherwise when nothing has changed
	 * @param moves the moves by the name of the election
	 */
	private record Plan(long start, long end, boolean calm, Map<String, Move> moves) {

	}

}
