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

import io.leaderelection.LeadershipRevokedEvent.Reason;
import io.leaderelection.engine.ElectionState.HandOver;
import io.leaderelection.engine.ElectionState.Suspension;
import io.leaderelection.engine.Position.Draining;
import io.leaderelection.engine.Position.Granted;
import io.leaderelection.engine.Position.Notified;
import io.leaderelection.engine.StoreSession.Acquisition;
import io.leaderelection.engine.StoreSession.Candidate;
import io.leaderelection.engine.StoreSession.Confirmation;
import io.leaderelection.engine.StoreSession.ForeignHolder;
import io.leaderelection.engine.StoreSession.View;
import io.leaderelection.engine.TermLeadership.Loss;
import org.jspecify.annotations.Nullable;

/**
 * The actions of the election thread from winning the lock until the lock is free: it
 * awaits the grant, confirms leadership and hands over.
 */
final class LeadingTerm {

	/**
	 * A leader reads nearly all the time. If a network device resets the connection, the
	 * successor waits for 5 ms only.
	 */
	private static final Duration LONGEST_PROBE = Duration.ofMillis(9);

	/**
	 * How long before the end of the takeover delay the last confirmation begins, so that
	 * the grant does not have to wait for its reply. What it finds remains so while this
	 * session holds the lock.
	 */
	private static final long CONFIRM_AHEAD = TimeUnit.MILLISECONDS.toNanos(5);

	private static final long RETRY_INTERVAL = TimeUnit.MILLISECONDS.toNanos(1);

	private static final long LONG_RETRY_INTERVAL = TimeUnit.MILLISECONDS.toNanos(25);

	private static final long OVERDUE_INTERVAL = TimeUnit.MILLISECONDS.toNanos(10);

	private static final long SHORT_WAIT = TimeUnit.MILLISECONDS.toNanos(100);

	private static final long REPORT_BLOCKED_AFTER = TimeUnit.SECONDS.toNanos(1);

	/** When listeners are notified although work continues after its interrupt. */
	private static final long LAST_CALL = ElectionSettings.GRACE.toNanos() / 2;

	/** When listeners that were notified that late are interrupted. */
	private static final long LAST_INTERRUPT = ElectionSettings.GRACE.toNanos() / 4 * 3;

	private final Election election;

	private final ElectionSettings settings;

	private final ElectionLog log;

	private final SupervisedSession session;

	private final Acquisition.Won won;

	private final ProblemLog problems;

	/** When the answer was read that the lock was won. */
	private final long reply;

	/** What was last known of the leader before. */
	private final @Nullable Transition former;

	/** The start of the last confirmation before the grant. */
	private long confirmed;

	private @Nullable TermLeadership leadership;

	private @Nullable String residue;

	private boolean announced;

	/** Whether this node has logged what a hand-over waits for. */
	private boolean waiting;

	private boolean interruptedLast;

	private boolean graceSpent;

	LeadingTerm(Election election, SupervisedSession session, Acquisition.Won won, ProblemLog problems) {
		this.election = election;
		this.settings = election.settings();
		this.log = election.log();
		this.session = session;
		this.won = won;
		this.problems = problems;
		this.reply = election.nanoTime();
		this.former = election.state().lastTransition();
	}

	/**
	 * Run until the lock is free.
	 * @throws SessionException if the session has ended before
	 */
	void run() throws SessionException {
		try {
			this.election.elect(this.won.term());
			TermLeadership granted = awaitGrant();
			boolean clean = granted != null && serve(granted);
			free(granted, clean);
		}
		catch (Throwable ex) {
			if (this.leadership != null) {
				lose(this.leadership);
			}
			throw ex;
		}
	}

	/**
	 * Return whether the deadlines of work and listeners have passed.
	 */
	boolean isGraceSpent() {
		return this.graceSpent;
	}

	/**
	 * Wait until nothing of an earlier term is left, with confirmations like those of a
	 * leader.
	 * @return the leadership, or {@code null} if this node is to hand over
	 */
	private @Nullable TermLeadership awaitGrant() throws SessionException {
		long notBefore = this.reply + this.settings.takeoverDelay(this.won.ending()).toNanos();
		long confirmAt = notBefore - CONFIRM_AHEAD;
		long next = this.reply + this.settings.confirmNanos();
		boolean clear = this.won.clear();
		boolean reported = false;
		while (!this.election.mustNotLead()) {
			long start = this.election.nanoTime();
			boolean last = confirmAt - start <= 0;
			String blockedBy = null;
			String foreign = null;
			if (!clear || last || next - start <= 0) {
				// The marker of a predecessor must be removed before its successor leads:
				// the term after that must not mistake it for the marker of its own
				// predecessor
				Confirmation confirmation = confirm();
				blockedBy = confirmation.predecessor();
				foreign = confirmation.foreign();
				next = start + this.settings.confirmNanos();
			}
			if (clear && last && blockedBy == null) {
				awaitUntil(notBefore, Duration.ZERO, this.election::mustNotLead);
				TermLeadership granted = new TermLeadership(this.election, this.won.term(),
						this.election.platform().now());
				this.leadership = granted;
				this.confirmed = start;
				if (notBefore - this.election.nanoTime() <= 0 && this.election.grant(granted, start)) {
					acquired();
					return granted;
				}
				continue;
			}
			if (!clear && blockedBy == null) {
				blockedBy = this.session.passBarrier(this.settings.confirmInterval());
				clear = blockedBy == null;
			}
			if (blockedBy != null && this.election.nanoTime() - this.reply > SHORT_WAIT) {
				observe(foreign);
			}
			reported = report(blockedBy, reported);
			awaitUntil((blockedBy != null) ? retryAt() : earlier(confirmAt, next), Duration.ZERO,
					this.election::mustNotLead);
		}
		return null;
	}

	private static long earlier(long first, long second) {
		return (first - second < 0) ? first : second;
	}

	private long retryAt() {
		long now = this.election.nanoTime();
		return now + ((now - this.reply < SHORT_WAIT) ? RETRY_INTERVAL : LONG_RETRY_INTERVAL);
	}

	private boolean report(@Nullable String blockedBy, boolean reported) {
		this.election.block(blockedBy);
		if (blockedBy == null || reported || this.election.nanoTime() - this.reply <= REPORT_BLOCKED_AFTER) {
			return reported;
		}
		this.log.warn("Won term " + this.won.term() + " but an earlier term has not ended, waiting for " + blockedBy
				+ " (" + this.election + ")");
		return true;
	}

	private void acquired() {
		long vacant = this.election.nanoTime() - this.reply;
		this.election.statistics().acquired(vacant);
		this.election.decide(null);
		String before = (this.former == null || this.former.term() == null) ? ""
				: ", after node '%s' in term %s and at least %dms without a leader".formatted(this.former.node(),
						this.former.term(), TimeUnit.NANOSECONDS.toMillis(vacant));
		this.log.info("Acquired leadership" + (this.election.announce() ? ", starting schedulers" : "") + " ("
				+ this.election + ", term " + this.won.term() + before + ")");
	}

	/**
	 * Confirm until the hand-over is complete.
	 * @return whether everything of the term has ended
	 */
	private boolean serve(TermLeadership granted) throws SessionException {
		long next = this.confirmed + this.settings.confirmNanos();
		if (next - this.election.nanoTime() > 0) {
			// Otherwise the next confirmation must not wait for this answer
			observe(null);
		}
		while (true) {
			ElectionState state = this.election.state();
			Granted position = state.granted();
			if (position == null || position.leadership() != granted) {
				throw lapsed();
			}
			HandOver handOver = state.handOver();
			if (handOver != null) {
				announce(granted, handOver);
				if (position instanceof Draining && this.election.isDrained()) {
					this.election.notifyListeners(granted);
					continue;
				}
				if (position instanceof Notified && this.election.hasEnded()) {
					return isClean(granted);
				}
				if (isOverdue(granted, position, handOver)) {
					return false;
				}
			}
			long now = this.election.nanoTime();
			if (next - now > 0) {
				// A hand-over has its own deadlines
				awaitUntil((handOver != null) ? earlier(next, now + OVERDUE_INTERVAL) : next,
						(handOver != null) ? Duration.ZERO : LONGEST_PROBE, () -> isOutdated(state));
			}
			else {
				Confirmation confirmation = confirm();
				if (!this.election.extend(granted, now)) {
					throw lapsed();
				}
				next = now + this.settings.confirmNanos();
				observe(confirmation.foreign());
			}
		}
	}

	/**
	 * Return whether there is something to do that was not to be done in a given state.
	 */
	private boolean isOutdated(ElectionState state) {
		return this.election.state() != state || (state.position() instanceof Draining && this.election.isDrained())
				|| (state.position() instanceof Notified && this.election.hasEnded());
	}

	private void announce(TermLeadership granted, HandOver handOver) {
		long waited = this.election.nanoTime() - handOver.interruptAt() + this.settings.drainTimeout().toNanos();
		if (!this.announced) {
			this.announced = true;
			this.log.info("Handing over " + granted + " (" + handOver.reason()
					+ ((handOver.cause() != null) ? ", requested by: " + handOver.cause() : "") + ")");
		}
		else if (!this.waiting && waited >= REPORT_BLOCKED_AFTER) {
			this.waiting = true;
			this.log.info("Handing over " + granted + " waits for listeners, services or work: "
					+ this.election.gate().describe(Work::name).replace("\n", ", "));
		}
	}

	/**
	 * Interrupt work and listeners whose deadline has passed.
	 * @return whether to free the lock although some of them have not ended
	 */
	private boolean isOverdue(TermLeadership granted, Position position, HandOver handOver) {
		long overdue = this.election.nanoTime() - handOver.interruptAt();
		this.election.interruptOverdue();
		if (overdue >= LAST_CALL && position instanceof Draining) {
			// Listeners must have some time too, even if work does not end
			this.election.notifyListeners(granted);
		}
		if (overdue >= LAST_INTERRUPT && !this.interruptedLast) {
			this.interruptedLast = true;
			this.election.relay().interrupt();
		}
		if (overdue < ElectionSettings.GRACE.toNanos()) {
			return false;
		}
		this.log.warn("Freeing the lock although work or listeners of " + granted
				+ " are still running after drain-timeout and an interrupt: "
				+ this.election.gate().describe(Work::describe));
		this.residue = "leader work or a listener";
		this.graceSpent = true;
		return true;
	}

	private boolean isClean(TermLeadership granted) {
		this.residue = !this.election.gate().isEmpty() ? "leader work"
				: !this.election.relay().isIdle() ? "a listener" : granted.residue(this.election.nanoTime());
		return this.residue == null;
	}

	private void free(@Nullable TermLeadership granted, boolean clean) throws SessionException {
		HandOver handOver = this.election.state().handOver();
		if (granted != null && !this.election.completeHandOver(granted)) {
			throw lapsed();
		}
		boolean succeeded = this.session.release(clean);
		if (granted != null && handOver != null) {
			long shut = handOver.interruptAt() - this.settings.drainTimeout().toNanos();
			this.election.statistics().drained(this.election.nanoTime() - shut);
			this.log.info(
					"Released " + granted + (clean ? "" : ", not cleanly: " + this.residue + " may still be running"));
		}
		this.election.followAgain(true);
		if (succeeded) {
			this.election.resumeCandidacy(Suspension.RESIGNED);
		}
	}

	private void lose(TermLeadership granted) {
		this.election.lose(granted, granted.isCurrent() ? Reason.SESSION_LOST : Reason.LEASE_EXPIRED,
				this.session::abort);
		Loss loss = granted.loss();
		if (loss != null) {
			this.log.warn("Lost " + granted + " (" + loss.reason() + ", last confirmed "
					+ TimeUnit.NANOSECONDS.toMillis(loss.silence()) + "ms ago)");
		}
	}

	private static SessionException lapsed() {
		return new SessionException("The lease has expired", null);
	}

	private Confirmation confirm() throws SessionException {
		long start = this.election.nanoTime();
		Confirmation confirmation = this.session.confirm();
		this.election.statistics().confirmed(this.election.nanoTime() - start);
		if (confirmation.requester() != null && !this.election.mustNotLead()) {
			this.log.info("A resignation of this node was requested through the database by " + confirmation.requester()
					+ " (" + this.election + ")");
			this.election.resign(confirmation.requester());
		}
		return confirmation;
	}

	private void observe(@Nullable String session) throws SessionException {
		ForeignHolder foreign = (session != null) ? new ForeignHolder(session, false, false) : null;
		if (foreign != null && !foreign.equals(this.election.state().view().foreign())) {
			this.log.warn("The " + foreign + " (" + this.election + ")");
		}
		List<Candidate> candidates = this.session.candidates();
		this.problems.observed(new View(null, candidates, null));
		this.election.observe(candidates, foreign);
	}

	/**
	 * Wait until a deadline or a change, or fail as soon as the session has been found to
	 * have ended.
	 * @param probe how long a change may go unnoticed, so that an end is noticed at once
	 */
	private void awaitUntil(long deadline, Duration probe, BooleanSupplier enough) throws SessionException {
		while (deadline - this.election.nanoTime() > 0 && !enough.getAsBoolean()) {
			long interval = this.session.probe(probe).toNanos();
			this.election.await(Math.min(deadline - this.election.nanoTime(), interval), enough);
		}
	}

}
