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
import java.util.TreeSet;

import io.leaderelection.Term;
import io.leaderelection.spread.Overview.Move;
import org.jspecify.annotations.Nullable;

/**
 * Decides which election a node hands over, and which it leaves to others. No node asks
 * another one: all observe the same leaders and candidates, find the same move, and do
 * their part of it.
 * <p>
 * A period begins when neither a term nor the move has changed for some time. In it,
 * nodes that lead more than the receiver suspend their candidacy in the election of the
 * move. Its leader resigns when it no longer observes them as candidates. The next term
 * ends the period for all nodes. A period without a change is followed by a pause and
 * another period, both twice as long as before. Periods of nodes that have observed the
 * last change at different times overlap in this way. Not final, since seeded mistakes
 * extend it. Confined to one thread.
 */
class SpreadPolicy {

	/**
	 * The time within which nodes observe a change of the leader, act on it, and are
	 * observed by the others: nodes that watch observe every 7.5 s, candidates every 1.5
	 * s. What is observed later, such as other candidates by a node that does not lead,
	 * delays a move.
	 */
	static final Duration SETTLING = Duration.ofSeconds(15);

	/**
	 * The time within which a candidate wins an election without a leader: it tries to
	 * every 0.8 s, or waits for the lock.
	 */
	static final Duration WINNING = Duration.ofSeconds(3);

	private static final int MOST_DOUBLINGS = 6;

	private final String node;

	private final ElectionSpread.Settings settings;

	/** The last part of a period, in which no hand-over begins. */
	private final long lastPart;

	private final Map<String, Long> leaderless = new HashMap<>();

	private @Nullable Known known;

	/** When that has last changed. */
	private long since;

	private Set<String> suspended = Set.of();

	/** When this node was last within its limit, or resigned since it was not. */
	private long limited;

	/** The term that this node has resigned from last since it was above its limit. */
	private @Nullable Term limitedTerm;

	private int ledAtLimit;

	private int limitDoublings;

	private @Nullable Move resigned;

	/**
	 * The number of the first period in which this node may resign: a later one with each
	 * resignation, until one has helped.
	 */
	private int firstPeriod;

	SpreadPolicy(String node, ElectionSpread.Settings settings, Duration drainTimeout, long now) {
		this.node = node;
		this.settings = settings;
		this.lastPart = drainTimeout.plus(SETTLING).toNanos();
		this.since = now;
		this.limited = now;
	}

	/**
	 * Decide what this node does now.
	 * @param now the time in nanoseconds
	 * @param seen what this node observes now
	 */
	Decision decide(long now, Overview seen) {
		Move move = (this.settings.enabled() && seen.unknown() == null) ? move(seen) : null;
		observe(now, seen, move);
		int period = period(now - this.since);
		this.suspended = suspended(now, seen, (period >= 0) ? move : null);
		SpreadStatus status = new SpreadStatus(seen.led(this.node), seen.share(), waiting(now, seen, move, period));
		String election = aboveLimit(now, seen);
		HandOver handOver = (election != null) ? new HandOver(election, "max-led") : null;
		if (handOver == null && move != null && isEarly(now, period) && isToResign(seen, move, period)) {
			this.resigned = move;
			this.firstPeriod = Math.min(period, MOST_DOUBLINGS) + 1;
			handOver = new HandOver(move.election(), "spread");
		}
		return new Decision(this.suspended, handOver, status);
	}

	/**
	 * Without a known leader, an election neither moves nor counts as changed: the store
	 * may only be unreachable from this node.
	 */
	private void observe(long now, Overview seen, @Nullable Move move) {
		this.leaderless.keySet().removeAll(seen.leaders().keySet());
		seen.elections()
			.stream()
			.filter((election) -> !seen.leaders().containsKey(election))
			.forEach((election) -> this.leaderless.putIfAbsent(election, now));
		if (seen.unknown() != null) {
			return;
		}
		// A leader may be missed, a term is not: every later one differs from it
		Known state = new Known(seen.terms(), move);
		if (!state.equals(this.known)) {
			this.known = state;
			this.since = now;
		}
		if (move == null) {
			this.firstPeriod = 0;
		}
		Move last = this.resigned;
		String winner = (last != null) ? seen.leaders().get(last.election()) : null;
		if (last != null && winner != null && !winner.equals(this.node) && period(now - this.since) >= 0) {
			this.resigned = null;
			this.firstPeriod = (seen.led(winner) <= last.receiverLed() + 1) ? 0 : this.firstPeriod;
		}
	}

	/**
	 * Return the elections in which this node suspends its candidacy. It does not resume
	 * it as soon as an election has no leader, but when other candidates have had the
	 * time to win: a limit must not prevent a leader, and neither must a move.
	 */
	private Set<String> suspended(long now, Overview seen, @Nullable Move move) {
		Set<String> suspended = new TreeSet<>(this.suspended);
		suspended.retainAll(this.leaderless.keySet());
		if (seen.led(this.node) >= this.settings.maxLed()) {
			suspended.addAll(seen.elections());
		}
		if (move != null && isToSuspend(seen, move)) {
			suspended.add(move.election());
		}
		this.leaderless.forEach((election, since) -> {
			if (!isToBeWon(now - since)) {
				suspended.remove(election);
			}
		});
		return suspended;
	}

	boolean isToBeWon(long leaderless) {
		return leaderless < WINNING.toNanos();
	}

	/**
	 * Return the election to hand over because of the limit, if it is time: after the
	 * last hand-over, and when other nodes have reached their own limit meanwhile. The
	 * time doubles while this does not help.
	 */
	private @Nullable String aboveLimit(long now, Overview seen) {
		int led = seen.led(this.node);
		if (led <= this.settings.maxLed()) {
			this.limited = now;
		}
		Term term = this.limitedTerm;
		// A resignation may also have been refused
		boolean handsOver = term != null && seen.isLed(this.node, term) && now - this.limited < this.lastPart;
		String election = seen.removable(this.node);
		if (handsOver || election == null || now - this.limited < SETTLING.toNanos() << this.limitDoublings) {
			return null;
		}
		this.limitDoublings = (led >= this.ledAtLimit && this.limitedTerm != null)
				? Math.min(this.limitDoublings + 1, MOST_DOUBLINGS) : 0;
		this.ledAtLimit = led;
		this.limitedTerm = seen.terms().get(election);
		this.limited = now;
		return election;
	}

	@Nullable Move move(Overview seen) {
		return seen.move();
	}

	boolean isToSuspend(Overview seen, Move move) {
		return !move.from().equals(this.node) && seen.led(this.node) > move.receiverLed();
	}

	boolean isToResign(Overview seen, Move move, int period) {
		return move.from().equals(this.node) && period >= this.firstPeriod && seen.isReady(move);
	}

	/**
	 * Return the number of the period at some time after the last change, or -1 between
	 * two periods.
	 */
	int period(long calm) {
		long pause = this.settings.hold().toNanos();
		long length = this.lastPart + SETTLING.toNanos();
		long remaining = calm;
		for (int period = 0;; period++) {
			int doublings = Math.min(period, MOST_DOUBLINGS);
			remaining -= pause << doublings;
			if (remaining < length << doublings) {
				return (remaining >= 0) ? period : -1;
			}
			remaining -= length << doublings;
		}
	}

	/**
	 * Return whether a hand-over that begins now ends within this period.
	 */
	private boolean isEarly(long now, int period) {
		return period >= 0 && period == period(now - this.since + this.lastPart);
	}

	private @Nullable String waiting(long now, Overview seen, @Nullable Move move, int period) {
		String unknown = seen.unknown();
		if (unknown != null) {
			return "no leader of '" + unknown + "' is known";
		}
		if (seen.led(this.node) > this.settings.maxLed()) {
			return "this node leads more than max-led";
		}
		if (move == null) {
			return null;
		}
		String election = "'" + move.election() + "' ";
		if (period >= 0) {
			return election + "is to be handed over";
		}
		return (now - this.since < this.settings.hold().toNanos())
				? "leaders or nodes have changed within priority-hold"
				: election + "has not moved, and is tried again later";
	}

	/**
	 * What a node does.
	 *
	 * @param suspended the elections in which it suspends its candidacy, unless it leads
	 * them
	 * @param handOver what it hands over, or {@code null}
	 * @param status the status
	 */
	record Decision(Set<String> suspended, @Nullable HandOver handOver, SpreadStatus status) {

	}

	/**
	 * What a node hands over.
	 *
	 * @param election the election
	 * @param cause why
	 */
	record HandOver(String election, String cause) {

	}

	private record Known(Map<String, Term> terms, @Nullable Move move) {

	}

}
