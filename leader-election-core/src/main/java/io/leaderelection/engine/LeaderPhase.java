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

package io.leaderelection.engine;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;

import io.leaderelection.engine.ElectionState.Suspension;
import io.leaderelection.engine.Position.Granted;
import io.leaderelection.engine.Position.HandingOver;
import io.leaderelection.engine.Position.Leading;
import io.leaderelection.engine.StoreSession.Acquisition;
import io.leaderelection.engine.StoreSession.Acquisition.Ending;
import io.leaderelection.engine.StoreSession.Candidate;
import io.leaderelection.engine.StoreSession.Confirmation;
import io.leaderelection.engine.StoreSession.ForeignHolder;
import io.leaderelection.engine.StoreSession.ForeignHolder.Kind;
import io.leaderelection.engine.StoreSession.View;
import org.jspecify.annotations.Nullable;

/**
 * The actions of the election thread while this node holds the lock: it awaits the grant,
 * and confirms its leadership from then on.
 */
final class LeaderPhase {

	/**
	 * A leader reads nearly all the time. If a network device resets the connection, the
	 * successor waits for 5 ms only.
	 */
	private static final Duration LONGEST_PROBE = Duration.ofMillis(9);

	/**
	 * How long before the end of the takeover delay the last confirmation begins, so that
	 * the grant does not have to wait for its reply: at once in a fast takeover. What it
	 * finds remains so while this session holds the lock.
	 */
	private static final long CONFIRM_AHEAD = ElectionSettings.SHORTEST_DELAY.toNanos();

	private static final long RETRY_INTERVAL = TimeUnit.MILLISECONDS.toNanos(1);

	private static final long LONG_RETRY_INTERVAL = TimeUnit.MILLISECONDS.toNanos(25);

	private static final long SHORT_WAIT = TimeUnit.MILLISECONDS.toNanos(100);

	private static final long REPORT_BLOCKED_AFTER = TimeUnit.SECONDS.toNanos(1);

	private final Election election;

	private final ElectionSettings settings;

	private final ElectionLog log;

	private final Transitions transitions;

	private final SupervisedSession session;

	private final Acquisition.Won won;

	private final StoreContact contact;

	/** When the answer was read that the lock was won. */
	private final long reply;

	/** When the next confirmation is to begin. */
	private long next;

	LeaderPhase(Election election, SupervisedSession session, Acquisition.Won won, StoreContact contact) {
		this.election = election;
		this.settings = election.settings();
		this.log = election.log().of(won.term());
		this.transitions = election.transitions();
		this.session = session;
		this.won = won;
		this.contact = contact;
		this.reply = election.nanoTime();
		this.next = this.reply + this.settings.confirmNanos();
	}

	/**
	 * Wait until nothing of an earlier term is left, with confirmations like those of a
	 * leader.
	 * @param follower what this node has observed and logged before
	 * @return whether leadership was granted; if not, the lock is to be freed
	 */
	boolean awaitGrant(FollowerPhase follower) throws SessionException {
		Transition former = this.election.state().lastTransition();
		this.election.apply((state, now) -> this.transitions.elect(state, this.won.term()));
		long notBefore = this.reply + this.settings.takeoverDelay(this.won.ending()).toNanos();
		long confirmAt = notBefore - CONFIRM_AHEAD;
		boolean clear = this.won.clear();
		boolean reported = false;
		while (!this.election.mustNotLead()) {
			long start = this.election.nanoTime();
			boolean last = confirmAt - start <= 0;
			String blockedBy = null;
			String foreign = null;
			if (!clear || last || this.next - start <= 0) {
				// The marker of a predecessor must be removed before its successor leads:
				// the term after that must not mistake it for the marker of its own
				// predecessor
				Confirmation confirmation = confirm(start);
				obey(confirmation);
				blockedBy = confirmation.predecessor();
				foreign = confirmation.foreign();
			}
			if (clear && last && blockedBy == null) {
				awaitUntil(notBefore, Duration.ZERO, this.election::mustNotLead);
				TermLeadership granted = this.election.newLeadership(this.won.term());
				if (notBefore - this.election.nanoTime() <= 0 && grant(granted, start)) {
					acquired(former, follower);
					return true;
				}
				continue;
			}
			if (!clear && blockedBy == null) {
				blockedBy = this.session.<@Nullable String>ask(this.settings.confirmInterval(),
						(opened) -> opened.passBarrier(this.settings.confirmInterval()));
				clear = blockedBy == null;
			}
			if (blockedBy != null && this.election.nanoTime() - this.reply > SHORT_WAIT) {
				observe(foreign);
			}
			reported = report(blockedBy, reported);
			awaitUntil((blockedBy != null) ? retryAt() : earlier(confirmAt, this.next), Duration.ZERO,
					this.election::mustNotLead);
		}
		return false;
	}

	private boolean grant(TermLeadership leadership, long anchor) {
		return this.election.apply((state, now) -> this.transitions.grant(state, now, leadership, anchor))
			.granted() != null;
	}

	static long earlier(long first, long second) {
		return (first - second < 0) ? first : second;
	}

	private long retryAt() {
		long now = this.election.nanoTime();
		return now + ((now - this.reply < SHORT_WAIT) ? RETRY_INTERVAL : LONG_RETRY_INTERVAL);
	}

	private boolean report(@Nullable String blockedBy, boolean reported) {
		this.election.apply((state, now) -> this.transitions.block(state, blockedBy));
		if (blockedBy == null || reported || this.election.nanoTime() - this.reply <= REPORT_BLOCKED_AFTER) {
			return reported;
		}
		this.log.warn("Won term " + this.won.term() + " but an earlier term has not ended, waiting for " + blockedBy
				+ " (" + this.election + ")");
		return true;
	}

	private void acquired(@Nullable Transition former, FollowerPhase follower) {
		long vacant = this.election.nanoTime() - this.reply;
		this.election.statistics().acquired(vacant);
		this.election.decide(null);
		// A leader that was frozen or cut off has kept its session for a lease at most
		String before = (former == null || former.term() == null) ? ""
				: ", after node '%s' in term %s, whose session was last observed %dms ago, and at least %dms%s without a leader"
					.formatted(former.node(), former.term(), follower.unseen(former).toMillis(),
							TimeUnit.NANOSECONDS.toMillis(vacant),
							(this.won.ending() == Ending.UNKNOWN) ? ", possibly a lease longer," : "");
		this.log.info("Acquired leadership" + (follower.isFirst() ? ", starting schedulers" : "") + " (" + this.election
				+ ", term " + this.won.term() + before + ")");
	}

	/**
	 * Confirm until this node is to hand over.
	 */
	HandingOver serve() throws SessionException {
		if (this.next - this.election.nanoTime() > 0) {
			// Otherwise the next confirmation must not wait for this answer
			observe(null);
		}
		while (true) {
			if (this.election.state().position() instanceof HandingOver handingOver) {
				return handingOver;
			}
			keep(this.next, LONGEST_PROBE, () -> this.election.state().position() instanceof HandingOver);
		}
	}

	/**
	 * Confirm if this is due, or else wait, until a time or until a condition holds.
	 * @param probe how long a change may go unnoticed, so that an end is noticed at once
	 * @throws SessionException also if the leadership has been lost
	 */
	void keep(long until, Duration probe, BooleanSupplier enough) throws SessionException {
		Granted granted = this.election.state().granted();
		if (granted == null) {
			throw lapsed();
		}
		long start = this.election.nanoTime();
		if (this.next - start > 0) {
			awaitUntil(earlier(until, this.next), probe,
					() -> enough.getAsBoolean() || this.election.state().granted() == null);
		}
		else {
			Confirmation confirmation = confirm(start);
			if (!this.transitions.extend(granted.leadership(), this.election.nanoTime(), start)) {
				throw lapsed();
			}
			obey(confirmation);
			observe(confirmation.foreign());
		}
	}

	/**
	 * Free the lock.
	 * @param clean whether everything of the term has ended
	 * @return whether a successor was observed
	 */
	boolean release(boolean clean) throws SessionException {
		return this.session.ask((opened) -> opened.release(clean));
	}

	/**
	 * The lock was freed.
	 */
	void released(boolean succeeded) {
		this.election.handedOver(true);
		if (succeeded) {
			this.election.resumeCandidacy(Suspension.RESIGNED);
		}
	}

	static SessionException lapsed() {
		return new SessionException("The lease has expired", null);
	}

	private Confirmation confirm(long start) throws SessionException {
		// Before the grant, an earlier term may not have ended; a hand-over depends on
		// the candidates
		boolean whole = !(this.election.state().position() instanceof Leading);
		Confirmation confirmation = this.session.ask((opened) -> opened.confirm(whole));
		this.contact.answered(this.session, false);
		this.election.statistics().confirmed(this.election.nanoTime() - start);
		this.next = start + this.settings.confirmNanos();
		return confirmation;
	}

	/**
	 * Resign if another node requests this. Who does is a question of its own, on which
	 * trust must not depend.
	 */
	private void obey(Confirmation confirmation) throws SessionException {
		if (confirmation.requested() && !this.election.mustNotLead()) {
			String requester = this.session.ask(StoreSession::requester);
			this.log.info("A resignation of this node was requested through the database by " + requester + " ("
					+ this.election + ")");
			this.election.resign(requester);
		}
	}

	private void observe(@Nullable String session) throws SessionException {
		ForeignHolder foreign = (session != null) ? new ForeignHolder(session, Kind.OTHER) : null;
		List<Candidate> candidates = this.session.ask(StoreSession::candidates);
		ForeignHolder known = this.election.state().view().foreign();
		this.election.apply((state, now) -> this.transitions.observe(state, candidates, foreign));
		this.contact.observed(new View(null, candidates, foreign), known);
	}

	/**
	 * Wait until a deadline or a change, or fail as soon as the session has been found to
	 * have ended.
	 */
	private void awaitUntil(long deadline, Duration probe, BooleanSupplier enough) throws SessionException {
		while (deadline - this.election.nanoTime() > 0 && !enough.getAsBoolean()) {
			long interval = this.session.ask((opened) -> opened.probe(probe)).toNanos();
			this.election.pause(Math.min(deadline - this.election.nanoTime(), interval), enough);
		}
	}

}
