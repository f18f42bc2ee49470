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

package io.leaderelection.simulation;

import java.util.HashMap;
import java.util.HashSet;
import java.util.IdentityHashMap;
import java.util.Map;
import java.util.NavigableSet;
import java.util.Set;
import java.util.TreeSet;

import io.leaderelection.Leadership;
import io.leaderelection.LeadershipEvent;
import io.leaderelection.LeadershipGrantedEvent;
import io.leaderelection.LeadershipRevokedEvent;
import io.leaderelection.LeadershipRevokedEvent.Reason;
import io.leaderelection.Term;
import io.leaderelection.engine.ElectionSettings;
import io.leaderelection.engine.ElectionTimings;
import io.leaderelection.engine.SimulatedElector.GrantedTerm;
import io.leaderelection.postgresql.ElectionKeys;
import io.leaderelection.postgresql.advisory.AdvisoryLockPrograms;
import io.leaderelection.postgresql.table.SimulatedLeaseTable;
import io.leaderelection.simulation.server.Activity;
import io.leaderelection.simulation.server.ElectionRow;
import io.leaderelection.simulation.server.LockKey;
import io.leaderelection.simulation.server.LockMode;
import io.leaderelection.simulation.server.LockRow;
import io.leaderelection.simulation.server.SimTable;
import io.leaderelection.simulation.server.SimTable.NodeRow;
import org.jspecify.annotations.Nullable;

/**
 * The guarantees as code: checked by an omniscient observer after each step that changes
 * the state of a node, and on each event of listeners, work and transactions.
 */
final class Invariants {

	/**
	 * How long a node that runs may need to notice that its session or its trust has
	 * ended.
	 */
	static final long SLACK = 60 * World.MILLIS;

	/** The time between two looks for what has not happened in time. */
	static final long PATROL = 50 * World.MILLIS;

	/** What all nodes need between two patrols, and some more. */
	private static final int MOST_STEPS = 10_000;

	/** For how long a fault may have consequences after its end. */
	private static final long AFTERMATH = 200 * World.MILLIS;

	private static final long LATE = 500 * World.MILLIS;

	private static final long LONGEST_REQUEST = 11 * World.SECONDS;

	/** What a winner waits at least if it takes its predecessor for gone. */
	private static final long SHORTEST_DELAY = 5 * World.MILLIS;

	/** The longest time between a decision of a task and its next step. */
	private static final long MOMENT = 1000;

	private static final LockKey MAIN = LockKey.of(World.keys().main());

	private static final LockKey FENCE = LockKey.of(World.keys().fence());

	private final World world;

	private final Scheduler scheduler;

	private final Map<Node, Seen> nodes = new HashMap<>();

	private @Nullable Violation violation;

	private final NavigableSet<Term> terms = new TreeSet<>();

	private @Nullable Term newest;

	private @Nullable Node newestNode;

	private long steps;

	private long seatFreeSince;

	private int grants;

	private int commits;

	private int refusals;

	private int excused;

	private int lossesByLease;

	private int handOvers;

	Invariants(World world) {
		this.world = world;
		this.scheduler = world.scheduler();
	}

	@Nullable Violation violation() {
		return this.violation;
	}

	int grants() {
		return this.grants;
	}

	int commits() {
		return this.commits;
	}

	int refusals() {
		return this.refusals;
	}

	int excused() {
		return this.excused;
	}

	int lossesByLease() {
		return this.lossesByLease;
	}

	int handOvers() {
		return this.handOvers;
	}

	void violated(Check check, String text) {
		if (this.violation == null) {
			this.violation = new Violation(check, text);
			this.world.record("VIOLATION of " + check + ": " + text);
			this.scheduler.stop();
		}
	}

	private Seen seen(Node node) {
		return this.nodes.computeIfAbsent(node, (key) -> new Seen(this.scheduler.now()));
	}

	// The state of a node

	/**
	 * Look at a node after a step of one of its tasks.
	 */
	void observe(Node node) {
		if (!node.elector().hasChanged()) {
			return;
		}
		Seen seen = seen(node);
		if (node.elector().isHandingOver() && seen.handOverAt == 0) {
			seen.handOverAt = this.scheduler.now();
			seen.interruptAt = node.elector().interruptAt();
		}
		GrantedTerm granted = node.elector().granted();
		Leadership leadership = (granted != null) ? granted.leadership() : null;
		if (leadership != seen.leadership) {
			if (seen.leadership != null) {
				ended(node, seen);
			}
			seen.leadership = leadership;
			if (leadership != null) {
				granted(node, seen, leadership);
			}
		}
		else if (granted != null) {
			checkTrust(node, seen, granted);
		}
		seen.trustedUntil = (granted != null) ? granted.trustedUntil() : 0;
		if (node.elector().isTrusted()) {
			this.excused += checkExclusion(node);
		}
	}

	/**
	 * G2: a late confirmation does not revive a term.
	 */
	private void checkTrust(Node node, Seen seen, GrantedTerm granted) {
		long now = node.process().clock();
		long late = now - seen.trustedUntil;
		if (late > MOMENT && granted.trustedUntil() - now > 0) {
			violated(Check.G2_TRUST, node + " trusts term " + granted.leadership().getTerm() + " again, " + late
					+ " ns after its trust had expired");
		}
	}

	private void granted(Node node, Seen seen, Leadership leadership) {
		checkEarlierWork(node, seen, leadership);
		this.grants++;
		seen.last = leadership;
		seen.granted++;
		seen.handOverAt = 0;
		seen.lost = false;
		Term term = leadership.getTerm();
		this.world.record(node, "GRANTED term " + term);
		if (this.newest != null && term.compareTo(this.newest) <= 0 && !isExcused(node)) {
			violated(Check.G3_TERMS, node + " was granted term " + term + " after " + this.newestNode
					+ " was granted term " + this.newest);
		}
		if (node.isSuspended()) {
			violated(Check.G4_CANDIDACY, node + " was granted term " + term + " although its candidacy is suspended");
		}
		checkPredecessors(node, term);
		checkFenced(node, term);
		checkDelay(node, term);
		this.terms.add(term);
		this.world.nodes().stream().filter((other) -> other != node && other.isUp()).forEach(this::checkHandOver);
		if (this.newest == null || term.compareTo(this.newest) > 0) {
			this.newest = term;
			this.newestNode = node;
		}
	}

	private void ended(Node node, Seen seen) {
		Leadership ended = seen.leadership;
		Reason loss = node.elector().loss(ended);
		this.world.record(node, "ENDED term " + ended.getTerm() + ((loss != null) ? " (" + loss + ")" : ""));
		seen.lost = loss != null;
		if (loss == Reason.LEASE_EXPIRED) {
			this.lossesByLease++;
		}
		if (loss != null) {
			checkLoss(node, seen, ended, loss);
		}
		if (loss == null) {
			this.handOvers++;
		}
		seen.ended++;
		seen.endedAt = node.process().clock();
		if (seen.listenerDetached) {
			seen.detached = ended;
		}
		if (node.elector().hasDeliveredAll() && seen.revoked != ended) {
			violated(Check.G5_EVENTS, node + " has ended term " + ended.getTerm() + " without an event");
		}
	}

	/**
	 * G6: a node that nothing disturbs does not lose its leadership.
	 */
	private void checkLoss(Node node, Seen seen, Leadership lost, Reason loss) {
		long begin = this.scheduler.now() - this.world.lease().toNanos() - AFTERMATH;
		if (node.calmSince() < begin && this.world.calmSince() < begin
				&& !isOverdue(seen, node.process().clock(), ElectionSettings.GRACE.toNanos())) {
			violated(Check.G6_LOSS, node + " has lost term " + lost.getTerm() + " (" + loss + ") undisturbed");
		}
	}

	/**
	 * A node is not granted leadership before the work of its earlier terms has ended, or
	 * the drain timeout has passed.
	 */
	private void checkEarlierWork(Node node, Seen seen, Leadership leadership) {
		long limit = Math.max(this.world.drainTimeout().toNanos(), ElectionSettings.GRACE.toNanos());
		if (seen.last != null && node.process().clock() - seen.endedAt < limit
				&& (!seen.works.isEmpty() || !seen.detachedWorks.isEmpty())) {
			violated(Check.G4_EARLIER_WORK, node + " was granted term " + leadership.getTerm()
					+ " while its work in an earlier term had not ended");
		}
	}

	/**
	 * G2: two nodes are never trusted at once.
	 * @return how many overlaps the guarantees leave open
	 */
	private int checkExclusion(Node node) {
		int excused = 0;
		for (Node other : this.world.nodes()) {
			if (other != node && other.isUp() && other.elector().isTrusted()) {
				GrantedTerm first = node.elector().granted();
				GrantedTerm second = other.elector().granted();
				boolean later = first.leadership().getTerm().compareTo(second.leadership().getTerm()) > 0;
				Node older = later ? other : node;
				if (isExcused(older)) {
					excused++;
					this.world.record(older, "is trusted beside a later term: excused");
				}
				else {
					violated(Check.G2_EXCLUSION, node + " (term " + first.leadership().getTerm() + ") and " + other
							+ " (term " + second.leadership().getTerm() + ") lead at once");
				}
			}
		}
		return excused;
	}

	/**
	 * What the guarantees leave open if the takeover delay is shorter than the lease: the
	 * server ended the session of a node that could not notice it in time: it was frozen,
	 * its network was slow, or its election thread was blocked by the log. Or the server
	 * took the node for gone, and the node has not confirmed its leadership since. A
	 * proxy that is seen is like the server.
	 */
	private boolean isExcused(Node older) {
		SimulatedConnection session = older.winner();
		if (this.world.takeoverDelay().compareTo(this.world.lease()) >= 0 || session == null
				|| !(session.isEndedByServer() || session.isTakenForGone() || session.isClosedByProxy())) {
			return false;
		}
		long ended = this.scheduler.now() - session.endedAt();
		long delay = session.isTakenForGone() ? SHORTEST_DELAY : this.world.takeoverDelay().toNanos();
		if (ended < delay / 11 * 10 || (session.isTakenForGone() && ended > longestUnnoticed(older, session))) {
			return false;
		}
		long awakeSince = Math.max(session.noticedAt(), seen(older).thawedAt);
		return session.noticedAt() == Long.MAX_VALUE || older.process().isFrozen() || older.isAppenderBlocked()
				|| this.scheduler.now() - awakeSince < SLACK;
	}

	/**
	 * Return for how long a node may not notice that the server has taken it for gone: if
	 * nothing else disturbs it, until its next confirmation, which begins a fifth of the
	 * lease after the last one. A reply that it awaits never comes.
	 */
	private long longestUnnoticed(Node node, SimulatedConnection session) {
		boolean calm = node.calmSince() <= session.endedAt() && this.world.calmSince() <= session.endedAt()
				&& !session.isReplyLost() && !session.isStuck();
		long interval = this.world.lease().toNanos() / 5;
		return calm ? interval / 9 * 10 + 4 * this.world.distance() + SLACK : Long.MAX_VALUE;
	}

	/**
	 * The server has ended the session in which a node has won.
	 */
	void sessionEnded(Node node) {
		Seen seen = seen(node);
		if (seen.leadership != null && seen.leadership.getTerm().equals(node.won())) {
			seen.sessionEndedAt = this.scheduler.now();
			seen.endedTerm = node.won();
		}
	}

	/**
	 * G2: a session that is opened while a node with the other store leads does not win.
	 */
	void won(Node node, Term won, SimulatedConnection session) {
		if (session.openedAt() > this.world.otherStoreSince()) {
			violated(Check.G2_STORES, node + " has won term " + won + " although a node with the other store leads");
		}
	}

	/**
	 * G2: a winner does not take its predecessor for gone if the server has ended the
	 * session of any earlier leader within the takeover delay: that leader may not have
	 * noticed. (A winner that was frozen may read its answer when a later leader has been
	 * there.)
	 */
	void wonFromAbandoned(Node node, Term won) {
		long since = this.scheduler.now() - this.world.takeoverDelay().toNanos() / 11 * 10;
		this.nodes.forEach((other, seen) -> {
			Term ended = seen.endedTerm;
			if (other != node && other.isUp() && seen.sessionEndedAt > since && ended != null
					&& ended.compareTo(won) < 0) {
				violated(Check.G2_CAUSE,
						node + " takes its predecessor for gone "
								+ (this.scheduler.now() - seen.sessionEndedAt) / World.MILLIS
								+ " ms after the server has ended the session of " + other);
			}
		});
	}

	/**
	 * G1: while the session of a leader lives, no other session holds the key of a term.
	 */
	private void checkPredecessors(Node node, Term term) {
		SimulatedConnection session = node.winner();
		int own = ElectionKeys.termObject(term.timeline(), term.transactionId());
		boolean lives = false;
		LockRow other = null;
		for (LockRow row : this.world.server().locks()) {
			LockKey key = row.key();
			if (session != null && session.hasSession() && row.granted() && row.mode() == LockMode.EXCLUSIVE
					&& isOfTerm(key)) {
				lives |= row.pid() == session.pid() && key.low() == own;
				other = (row.pid() != session.pid()) ? row : other;
			}
		}
		if (lives && other != null) {
			violated(Check.G1_PREDECESSORS, node + " was granted term " + term + " while session " + other.pid()
					+ " holds the key of a term, " + other.key().low());
		}
	}

	/**
	 * G1: no transaction of an earlier term has passed the fence and is open, unless a
	 * promotion has lost the takeover.
	 */
	private void checkFenced(Node node, Term term) {
		ElectionRow row = this.world.row();
		if (row != null && term.equals(termOf(row)) && !this.world.fenced().isEmpty()) {
			violated(Check.G1_TRANSACTIONS, node + " was granted term " + term + " while the transaction of session "
					+ this.world.fenced().get(0) + " has passed the fence");
		}
	}

	private static Term termOf(ElectionRow row) {
		return new Term(0, row.timeline(), row.term());
	}

	/**
	 * G4: after an orderly leave, work and listeners have ended before the next grant.
	 */
	private void checkHandOver(Node node) {
		Seen seen = seen(node);
		Leadership last = seen.last;
		if (last == null || seen.leadership != null || seen.lost
				|| isOverdue(seen, seen.endedAt, ElectionSettings.GRACE.toNanos())) {
			return;
		}
		if (seen.works.containsValue(last)) {
			violated(Check.G4_HAND_OVER,
					"another term was granted while work of " + node + " in term " + last.getTerm() + " had not ended");
		}
		if (seen.revokedEnded < seen.ended && seen.detached != last && !seen.listenerDetached) {
			violated(Check.G4_HAND_OVER, "another term was granted while listeners of " + node + " in term "
					+ last.getTerm() + " had not been notified");
		}
	}

	/**
	 * G4: only a term of which everything has ended is marked as clean.
	 */
	void releasesCleanly(Node node) {
		Seen seen = seen(node);
		Leadership last = seen.last;
		if (last != null && (seen.works.containsValue(last) || seen.detachedWorks.containsValue(last)
				|| seen.abandonedWorks.containsValue(last))) {
			violated(Check.G4_CLEAN,
					node + " frees its lock cleanly although work in term " + last.getTerm() + " has not ended");
		}
	}

	/**
	 * Return the row of the session that owns the election in the table.
	 */
	private @Nullable NodeRow owner() {
		ElectionRow row = (this.world.table() != null) ? this.world.row() : null;
		return (row != null && row.owner() != null) ? this.world.server().table().nodes().row(row.owner().toString())
				: null;
	}

	/**
	 * G4: in the table, no term is granted within the takeover delay after one was
	 * released of which work may still run.
	 */
	private void checkDelay(Node node, Term term) {
		long delay = Math.min(this.world.takeoverDelay().toNanos(), this.world.lease().toNanos() / 4) / 11 * 10;
		ElectionRow row = (this.world.table() != null) ? this.world.row() : null;
		if (row != null && term.equals(termOf(row)) && row.uncleanAt() != 0) {
			long passed = this.scheduler.now() - row.uncleanAt();
			if (passed < delay) {
				violated(Check.G4_DELAY, node + " was granted term " + term + " " + passed / World.MILLIS
						+ " ms after the release of a term whose work may still run");
			}
		}
	}

	/**
	 * G1: the winner passes the barrier when no session holds the key of an earlier term.
	 */
	void passedBarrier(Node node, SimulatedConnection session) {
		boolean holds = false;
		LockRow other = null;
		for (LockRow row : this.world.server().locks()) {
			if (session.hasSession() && row.granted() && row.mode() == LockMode.EXCLUSIVE) {
				LockKey key = row.key();
				holds |= row.pid() == session.pid() && key.equals(MAIN);
				other = (row.pid() != session.pid() && isOfTerm(key) && !AdvisoryLockPrograms.isMarker(key)) ? row
						: other;
			}
		}
		if (holds && other != null) {
			violated(Check.G1_BARRIER, node + " has passed the barrier while session " + other.pid()
					+ " holds the key of a term, " + other.key().low());
		}
	}

	/**
	 * Return whether a node had to wait no longer for the end of its work.
	 * @param time the time by the clock of the node
	 * @param grace how long after the interrupt of the work this is so
	 */
	private static boolean isOverdue(Seen seen, long time, long grace) {
		return seen.handOverAt != 0 && time - seen.interruptAt >= grace;
	}

	/**
	 * G6: no request is accepted that would wait for one which has no answer.
	 * @param since when that was sent, by the clock of the node
	 */
	void requested(Node node, long since) {
		long waited = node.process().clock() - since;
		if (waited > LONGEST_REQUEST) {
			violated(Check.G6_REQUEST,
					node + " accepts a request although another one has waited for " + waited / World.MILLIS + " ms");
		}
	}

	// Leaving

	/**
	 * G6: a stop ends, whatever happens.
	 * @param waited for how long, without the times in which it was frozen, short of
	 * memory or blocked by its log
	 */
	void stopping(Node node, long waited) {
		long limit = (this.world.drainTimeout().toNanos() + ElectionSettings.GRACE.toNanos()
				+ this.world.timings().stopMargin().toNanos()) / 9 * 10 + 2 * World.SECONDS;
		if (waited > limit) {
			violated(Check.G6_STOP,
					node + " has not stopped within " + waited / World.MILLIS + " ms: " + node.elector().describe());
		}
	}

	/**
	 * A node ends the session of its term. An undisturbed hand-over must not be cut.
	 */
	void aborted(Node node) {
		Seen seen = seen(node);
		long handOverAt = seen.handOverAt - AFTERMATH;
		boolean undisturbed = node.calmSince() < handOverAt && this.world.calmSince() < handOverAt;
		if (seen.handOverAt != 0 && undisturbed && node.elector().isHandingOver() && seen.last != null
				&& node.elector().loss(seen.last) != Reason.LEASE_EXPIRED
				&& !isOverdue(seen, node.process().clock(), ElectionSettings.GRACE.toNanos())) {
			violated(Check.G4_CUT, node + " has cut its own hand-over");
		}
	}

	void crashed(Node node) {
		this.nodes.remove(node);
	}

	void awakes(Node node) {
		Seen seen = seen(node);
		seen.thawedAt = this.scheduler.now();
		// The engine has waited for it, but its thread has not run
		seen.abandonedWorks.clear();
	}

	// Listeners

	/**
	 * G5: granted and revoked alternate, and each listener is told when it is true.
	 */
	void event(Node node, LeadershipEvent event) {
		Seen seen = seen(node);
		Leadership leadership = event.getLeadership();
		boolean grant = event instanceof LeadershipGrantedEvent;
		this.world.record(node, "listener " + (grant ? "granted" : "revoked") + " " + leadership.getTerm());
		if (seen.notified != (grant ? null : leadership) || seen.listening) {
			violated(Check.G5_EVENTS,
					node + " was told " + (grant ? "granted" : "revoked") + " in term " + leadership.getTerm()
							+ " after "
							+ ((seen.notified != null) ? "granted in term " + seen.notified.getTerm() : "revoked"));
		}
		seen.listening = true;
		seen.notified = grant ? leadership : null;
		if (grant) {
			seen.grantedTold++;
		}
		else {
			seen.revoked = leadership;
			checkRevoked(node, seen, (LeadershipRevokedEvent) event);
		}
	}

	private void checkRevoked(Node node, Seen seen, LeadershipRevokedEvent event) {
		GrantedTerm granted = node.elector().granted();
		if (granted != null && granted.leadership() == event.getLeadership() && granted.leading()) {
			violated(Check.G5_EVENTS,
					node + " was told revoked while it leads in term " + event.getLeadership().getTerm());
		}
		boolean orderly = event.getReason() == Reason.RESIGNED || event.getReason() == Reason.STOPPED;
		if (orderly && !isOverdue(seen, node.process().clock(), ElectionSettings.GRACE.toNanos() / 2)
				&& seen.works.containsValue(event.getLeadership())) {
			violated(Check.G4_DRAIN, node + " was told revoked while work in term " + event.getLeadership().getTerm()
					+ " had not ended");
		}
	}

	void eventEnded(Node node, LeadershipEvent event) {
		Seen seen = seen(node);
		seen.listening = false;
		seen.listenerDetached = false;
		this.world.record(node, "listener done");
		if (event instanceof LeadershipRevokedEvent) {
			seen.revokedEnded++;
		}
	}

	/**
	 * The listener that runs waits for a hand-over, so the hand-over does not wait for
	 * it.
	 */
	void listenerDetached(Node node) {
		Seen seen = seen(node);
		seen.listenerDetached = true;
		seen.detached = seen.last;
	}

	// Work

	Object workBegan(Node node, Leadership leadership) {
		Seen seen = seen(node);
		Object work = new Object();
		seen.works.put(work, leadership);
		boolean over = seen.leadership != leadership || seen.revoked == leadership;
		long overSince = (seen.leadership != leadership) ? seen.endedAt : node.process().clock();
		if (leadership == seen.last && over && !seen.lost && !isOverdue(seen, overSince, 0)) {
			violated(Check.G4_DRAIN,
					node + " begins work in term " + leadership.getTerm() + " after it has handed this term over");
		}
		return work;
	}

	/**
	 * G4: work of a term that was lost is interrupted.
	 * @param settled how long this may take
	 */
	void notInterrupted(Node node, Leadership leadership, long settled) {
		Seen seen = seen(node);
		if (leadership == seen.last && seen.lost && node.process().clock() - seen.endedAt > settled
				&& this.scheduler.now() - seen.thawedAt > settled && !node.process().wasShort(settled)) {
			violated(Check.G4_INTERRUPT,
					node + " has not interrupted work in term " + leadership.getTerm() + ", which was lost");
		}
	}

	/**
	 * Work waits for a hand-over, so the hand-over does not wait for it.
	 */
	void workDetached(Node node, Object work) {
		Seen seen = seen(node);
		seen.detachedWorks.put(work, seen.works.remove(work));
	}

	/**
	 * The result of work is not wanted any longer, so nothing waits for its end.
	 */
	void workAbandoned(Node node, Object work) {
		Seen seen = seen(node);
		seen.abandonedWorks.put(work, seen.works.remove(work));
	}

	void workEnded(Node node, Object work) {
		Seen seen = this.nodes.get(node);
		if (seen != null) {
			seen.works.remove(work);
			seen.detachedWorks.remove(work);
			seen.abandonedWorks.remove(work);
		}
	}

	// Transactions

	/**
	 * G1: a transaction commits before a later term is granted.
	 */
	void committed(Node node, Term term) {
		this.commits++;
		Term later = newestKnown();
		if (later != null && term.compareTo(later) < 0) {
			violated(Check.G1_FENCE, node + " has committed in term " + term + " after term " + later + " was granted");
		}
	}

	/**
	 * Return the newest term that was granted. A promotion that loses a takeover in the
	 * table also loses everything that was committed in its term.
	 */
	private @Nullable Term newestKnown() {
		ElectionRow row = this.world.row();
		return (row != null) ? this.terms.floor(termOf(row)) : this.newest;
	}

	void refused() {
		this.refusals++;
	}

	/**
	 * G6: a wait that was not successful leaves no lock behind.
	 */
	void waited(Node node, SimulatedConnection session) {
		for (LockRow row : this.world.server().locks()) {
			if (session.hasSession() && row.pid() == session.pid() && row.granted()
					&& (isAwaited(row.key()) || isOfTerm(row.key())) && row.mode() == LockMode.EXCLUSIVE) {
				violated(Check.G6_LEAK,
						"session " + row.pid() + " of " + node + " holds " + row.key() + " after its wait");
			}
		}
	}

	private static boolean isOfTerm(LockKey key) {
		return key.parts() == 2 && key.high() == World.keys().termClass();
	}

	/**
	 * Return whether candidates wait for a key: the first of them for the main key, the
	 * others to be the first.
	 */
	private boolean isAwaited(LockKey key) {
		return key.equals(MAIN) || this.world.programs().isHead(key);
	}

	// From time to time

	/**
	 * Look for what has not happened in time.
	 */
	void patrol() {
		for (Node node : this.world.nodes()) {
			Seen seen = seen(node);
			if (node.isUp() && node.elector().isTrusted()) {
				// An overlap that was excused must end in time
				checkExclusion(node);
			}
			if (!node.isUp() || node.process().isFrozen() || node.process().isShort()) {
				seen.lateSince = 0;
			}
			else if (isLate(node, seen)) {
				seen.lateSince = (seen.lateSince != 0) ? seen.lateSince : this.scheduler.now();
				if (this.scheduler.now() - seen.lateSince > LATE) {
					violated(Check.G2_REVOCATION,
							node + " has lost its trust, but has not ended its term and its session");
				}
			}
			else {
				seen.lateSince = 0;
			}
		}
		checkFence();
		if (this.world.table() == null) {
			checkSeats();
		}
		else {
			checkClean();
		}
		if (this.scheduler.steps() - this.steps > MOST_STEPS) {
			violated(Check.G7_LOAD,
					(this.scheduler.steps() - this.steps) + " steps within " + PATROL / World.MILLIS + " ms");
		}
		this.steps = this.scheduler.steps();
	}

	private boolean isLate(Node node, Seen seen) {
		SimulatedConnection session = node.winner();
		Leadership leadership = seen.leadership;
		if (leadership != null) {
			return !node.elector().isTrusted();
		}
		return seen.lost && session != null && !session.isBroken() && seen.last != null
				&& seen.last.getTerm().equals(node.won());
	}

	/**
	 * G4: an election in the table that is free and clean says that all work of its last
	 * term has ended.
	 */
	private void checkClean() {
		ElectionRow row = this.world.row();
		if (row == null || row.owner() != null || !row.clean()) {
			return;
		}
		for (Node node : this.world.nodes()) {
			Leadership last = seen(node).last;
			if (node.isUp() && last != null && last.getTerm().equals(termOf(row))) {
				releasesCleanly(node);
			}
		}
	}

	/**
	 * G6: a transaction that has locked the fence and is silent ends within a lease.
	 */
	private void checkFence() {
		long limit = this.world.lease().toNanos() / 8 * 9 + LATE;
		Set<Integer> fenced = new HashSet<>(this.world.fenceHolders());
		for (LockRow row : this.world.server().locks()) {
			if (row.granted() && row.key().equals(FENCE) && row.mode() == LockMode.SHARE) {
				fenced.add(row.pid());
			}
		}
		if (fenced.isEmpty()) {
			return;
		}
		for (Activity activity : this.world.server().activity()) {
			if (fenced.contains(activity.pid()) && !activity.active() && this.world.calmSince() != Long.MAX_VALUE
					&& this.world.server().clock().now() - activity.stateChange() > limit
					&& this.scheduler.now() - this.world.calmSince() > limit) {
				violated(Check.G6_FENCE, "the silent transaction of session " + activity.pid() + " holds the fence");
			}
		}
	}

	/**
	 * G6, G7: no more nodes wait for the lock than there are seats, and a node that
	 * observes the election without a session takes a seat soon after it has become free.
	 */
	private void checkSeats() {
		long waiting = this.world.server()
			.locks()
			.stream()
			.filter((row) -> !row.granted() && isAwaited(row.key()) && row.mode() == LockMode.EXCLUSIVE
					&& !this.world.isForeign(row.pid()))
			.count();
		if (waiting > this.world.standbys() + reservedSeats()) {
			violated(Check.G7_SEATS, waiting + " nodes wait for the lock: " + this.world.server().locks());
		}
		long now = this.scheduler.now();
		if (takenSeats() >= this.world.standbys() || this.world.calmSince() == Long.MAX_VALUE) {
			this.seatFreeSince = now;
		}
		// A session that was too late for a seat is followed by a pause. Each of two
		// connections takes up to half a second, with messages of 20 ms or more
		ElectionTimings timings = this.world.timings();
		long limit = Math.max(timings.watchInterval().toNanos(), timings.maxBackoff().toNanos()) / 9 * 10 + 2 * LATE;
		for (Node node : this.world.nodes()) {
			Seen seen = seen(node);
			boolean stuck = node.connections()
				.stream()
				.anyMatch((connection) -> (connection.isStuck() || connection.isReplyLost()) && !connection.isBroken());
			if (!node.isUp() || stuck || !node.elector().awaitsSeat() || node.calmSince() == Long.MAX_VALUE) {
				seen.watchingSince = now;
			}
			long since = Math.max(Math.max(this.seatFreeSince, seen.watchingSince),
					Math.max(this.world.calmSince(), node.calmSince()) + this.world.lease().toNanos() + AFTERMATH);
			if (now - since > limit) {
				violated(Check.G6_SEATS, node + " has not taken a seat that is free for " + limit / World.MILLIS
						+ " ms: " + this.world.server().locks());
			}
		}
	}

	/**
	 * Return how many seats there are for nodes of one priority only.
	 */
	private long reservedSeats() {
		return this.world.nodes()
			.stream()
			.mapToInt(Node::priority)
			.filter((priority) -> priority > 0)
			.distinct()
			.count();
	}

	/**
	 * Return how many seats sessions have that have not won a term. One whose client has
	 * gone, and that has failed after it was granted the lock, keeps both until it ends.
	 */
	private int takenSeats() {
		Set<Integer> sessions = new HashSet<>();
		Set<Integer> winners = new HashSet<>();
		for (LockRow row : this.world.server().locks()) {
			LockKey key = row.key();
			if (row.granted() && row.mode() == LockMode.EXCLUSIVE && isOfTerm(key)
					&& !AdvisoryLockPrograms.isMarker(key)) {
				winners.add(row.pid());
			}
			else if (row.granted() && this.world.programs().isSeat(key)) {
				sessions.add(row.pid());
			}
		}
		sessions.removeAll(winners);
		return sessions.size();
	}

	/**
	 * Return what is missing until one node leads, the seats are taken and all others
	 * follow, or {@code null}.
	 */
	@Nullable String unsettled() {
		int leaders = 0;
		for (Node node : this.world.nodes()) {
			Seen seen = seen(node);
			GrantedTerm granted = node.elector().granted();
			if (!node.isUp() || node.elector().isStopped()) {
				return node + " does not run";
			}
			if (node.elector().silence() > 3 * World.SECONDS) {
				return node + " has no contact: " + node.elector().describe();
			}
			if (seen.grantedTold != seen.granted || seen.revokedEnded != seen.ended || seen.listening) {
				return node + " has " + seen.granted + " grants, of which listeners know " + seen.grantedTold + ", and "
						+ seen.ended + " ends, of which they know " + seen.revokedEnded;
			}
			if (this.world.table() != null && node.isCandidate() && !node.isSuspended() && !isListed(node)) {
				return node + " is not in the list of candidates";
			}
			if (!node.hasHandedOver()) {
				return "a resignation of " + node + " has not completed: " + node.elector().describe();
			}
			if (granted != null && granted.leading() && node.elector().isTrusted()) {
				leaders++;
			}
		}
		long others = this.world.nodes().stream().filter(Node::isCandidate).count() - 1;
		long seats = Math.min(this.world.standbys(), others);
		int taken = takenSeats();
		if (this.world.table() == null
				&& (taken < seats || taken > Math.min(this.world.standbys() + reservedSeats(), others))) {
			return taken + " of " + seats + " seats are taken: " + this.world.server().locks();
		}
		return (leaders == 1) ? null
				: leaders + " nodes lead: " + this.world.server().locks() + ", row " + rowWithoutToken();
	}

	/**
	 * Return whether a node is among the candidates in the table.
	 */
	private boolean isListed(Node node) {
		SimTable table = this.world.server().table();
		return table.candidates().rows().stream().anyMatch((part) -> {
			NodeRow session = table.nodes().row(part.token().toString());
			return part.profile() != null && part.election().equals(SimulatedLeaseTable.ELECTION) && session != null
					&& session.node().equals(node.name());
		});
	}

	/**
	 * Tokens differ from run to run.
	 */
	private String rowWithoutToken() {
		ElectionRow row = this.world.row();
		return (row != null) ? termOf(row) + ((row.owner() != null) ? " of " + owner() : ", free") : "none";
	}

	/**
	 * A violation of a guarantee.
	 *
	 * @param check the check that has found it
	 * @param text what has happened
	 */
	record Violation(Check check, String text) {
	}

	/**
	 * What was seen of a process.
	 */
	private static final class Seen {

		private final Map<Object, Leadership> works = new IdentityHashMap<>();

		private final Map<Object, Leadership> detachedWorks = new IdentityHashMap<>();

		private final Map<Object, Leadership> abandonedWorks = new IdentityHashMap<>();

		private @Nullable Leadership leadership;

		private @Nullable Leadership last;

		private @Nullable Leadership notified;

		private @Nullable Leadership revoked;

		private @Nullable Leadership detached;

		private boolean listenerDetached;

		private boolean lost;

		private boolean listening;

		private long trustedUntil;

		private long endedAt;

		private long handOverAt;

		private long interruptAt;

		private long thawedAt;

		private long lateSince;

		private long watchingSince;

		private long sessionEndedAt = Long.MIN_VALUE;

		/** The term of the session that has ended then. */
		private @Nullable Term endedTerm;

		private int granted;

		private int ended;

		private int grantedTold;

		private int revokedEnded;

		Seen(long now) {
			this.watchingSince = now;
		}

	}

}
