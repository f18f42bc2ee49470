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
import java.time.Instant;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.BooleanSupplier;

import io.leaderelection.LeadershipRevokedEvent.Reason;
import io.leaderelection.Term;
import io.leaderelection.engine.ElectionSession.Acquisition;
import io.leaderelection.engine.ElectionSession.Confirmation;
import io.leaderelection.engine.ElectionSession.Leader;
import io.leaderelection.engine.ElectionSession.View;
import io.leaderelection.engine.ElectionState.Contact;
import io.leaderelection.engine.ElectionState.Departure;
import io.leaderelection.engine.ElectionState.Phase;
import io.leaderelection.engine.ElectionState.Problem;
import io.leaderelection.engine.SessionCalls.SessionCall;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;

/**
 * One run of the election thread, from start to stop: opens sessions, stands, leads,
 * leaves. Explained atop {@link Election}.
 */
final class Campaign {

	private static final Log logger = LogFactory.getLog(Election.class);

	private static final Duration FIRST_TRY = Duration.ofMillis(1);

	private static final Duration WAIT = Duration.ofMillis(800);

	private static final long OBSERVE_INTERVAL = TimeUnit.MILLISECONDS.toNanos(1500);

	private static final long UNUSABLE_RETRY = TimeUnit.SECONDS.toNanos(30);

	private static final long MIN_BACKOFF = TimeUnit.MILLISECONDS.toNanos(100);

	private static final long MAX_BACKOFF = TimeUnit.SECONDS.toNanos(5);

	private static final long SLICE = TimeUnit.MILLISECONDS.toNanos(25);

	private static final long DRAIN_SLICE = TimeUnit.MILLISECONDS.toNanos(5);

	private static final long SHORT_SLICE = TimeUnit.MILLISECONDS.toNanos(2);

	private static final long SHORT_WAIT = TimeUnit.MILLISECONDS.toNanos(100);

	private static final long REPORT_BLOCKED_AFTER = TimeUnit.SECONDS.toNanos(1);

	/**
	 * How long a stop waits for a store that does not answer.
	 */
	static final long STOP_LIMIT = TimeUnit.SECONDS.toNanos(3);

	private static final long LONGEST_HOLD_BACK = TimeUnit.SECONDS.toNanos(5);

	private static final long OPEN_LIMIT = TimeUnit.SECONDS.toNanos(15);

	private static final long MIN_CALL_LIMIT = TimeUnit.SECONDS.toNanos(2);

	private static final long LAST_CALL = ElectionSettings.GRACE.toNanos() / 2;

	private static final long LAST_INTERRUPT = ElectionSettings.GRACE.toNanos() / 4 * 3;

	private final Election election;

	private final ElectionSettings settings;

	private final ElectionSessions sessions;

	private final TimeSource time;

	private final CompletableFuture<?> predecessor;

	private final CompletableFuture<@Nullable Void> decision = new CompletableFuture<>();

	private final CompletableFuture<@Nullable Void> end = new CompletableFuture<>();

	private volatile boolean stopping;

	private volatile @Nullable Resignation<Boolean> resignation;

	private volatile @Nullable ElectionSession current;

	private volatile long stopBy;

	private volatile boolean cut;

	private final Object openingMonitor = new Object();

	private @Nullable Thread opening;

	private volatile boolean waiting;

	private final AtomicInteger cancels = new AtomicInteger();

	private final AtomicReference<@Nullable Term> request = new AtomicReference<>();

	private @Nullable Term requested;

	private boolean announced;

	private boolean graceSpent;

	private long holdBackUntil;

	private int failures;

	Campaign(Election election, ElectionSessions sessions, TimeSource time, CompletableFuture<?> predecessor) {
		this.election = election;
		this.settings = election.settings();
		this.sessions = sessions;
		this.time = time;
		this.predecessor = predecessor;
		this.holdBackUntil = time.nanoTime();
	}

	// Requests: any thread

	/**
	 * Completes at the first decision, see {@link Election#start()}.
	 */
	CompletableFuture<@Nullable Void> decision() {
		return this.decision;
	}

	/**
	 * Completes when the lock is free and the session has ended.
	 */
	CompletableFuture<@Nullable Void> end() {
		return this.end;
	}

	boolean isStopping() {
		return this.stopping;
	}

	boolean isLeaving() {
		return this.stopping || this.resignation != null || this.election.standsAside();
	}

	/**
	 * Ask this campaign to stop; under the lock of the election.
	 * @return whether it was not asked before
	 */
	boolean stop(long now) {
		boolean first = !this.stopping;
		if (first) {
			this.stopBy = now + STOP_LIMIT;
			this.stopping = true;
		}
		return first;
	}

	/**
	 * End the session if it holds up a stop: a call to a silent store may take as long as
	 * a lease, but work and listeners are waited for no longer than is configured.
	 * @return when to look again, in nanoseconds from now
	 */
	long checkStop(long now, @Nullable Departure departure) {
		if (!this.stopping || this.cut) {
			return SessionCalls.NO_DEADLINE;
		}
		long deadline = (departure != null) ? departure.interruptAt() + ElectionSettings.GRACE.toNanos() + STOP_LIMIT
				: this.stopBy;
		if (deadline - now > 0) {
			return deadline - now;
		}
		this.cut = true;
		interruptOpening();
		abort(this.current);
		return SessionCalls.NO_DEADLINE;
	}

	/**
	 * Ask this campaign to hand over; under the lock of the election.
	 * @param holds whether it has something to hand over
	 * @return the hand-over that was asked for now or before, or {@code null}
	 */
	@Nullable CompletableFuture<Boolean> resign(boolean holds) {
		Resignation<Boolean> asked = this.resignation;
		if (asked == null && holds) {
			asked = new Resignation<>(this.election);
			this.resignation = asked;
		}
		return asked;
	}

	/**
	 * Take what {@link #resign} has returned; under the lock of the election.
	 */
	@Nullable Resignation<Boolean> takeResignation() {
		Resignation<Boolean> asked = this.resignation;
		this.resignation = null;
		return asked;
	}

	/**
	 * Have this campaign ask a term of another node to end; under the lock of the
	 * election.
	 * @return whether it was not asked before
	 */
	boolean request(Term term) {
		return !term.equals(this.request.getAndSet(term));
	}

	/**
	 * End what this campaign may be waiting for, now that it is to stop. May block.
	 */
	void endWait() {
		endWaitForLock();
		interruptOpening();
	}

	/**
	 * End a wait for the lock, since there is something to do before the next. May block.
	 */
	void endWaitForLock() {
		this.cancels.incrementAndGet();
		try {
			ElectionSession session = this.current;
			if (this.waiting && session != null) {
				session.cancel();
			}
		}
		finally {
			this.cancels.decrementAndGet();
			this.election.wakeUp();
		}
	}

	private void interruptOpening() {
		synchronized (this.openingMonitor) {
			if (this.opening != null) {
				this.opening.interrupt();
				this.sessions.abandon();
			}
		}
	}

	@Nullable ElectionSession session() {
		return this.current;
	}

	void abort(@Nullable ElectionSession session) {
		try {
			if (session != null) {
				session.abort();
			}
		}
		catch (Throwable ex) {
			logger.error("Unexpected failure in " + this.election + " while aborting a session", ex);
		}
	}

	// The election thread

	void run() {
		try {
			awaitPredecessor();
			this.election.begin(this);
			while (!this.stopping) {
				attend();
			}
			if (!this.graceSpent) {
				awaitEndOfLostTerm();
			}
		}
		finally {
			try {
				this.election.end(this);
				this.election.completeResignation(this);
			}
			finally {
				this.decision.complete(null);
				this.end.complete(null);
				this.election.wakeUp();
			}
		}
	}

	/**
	 * One session from its opening to its end.
	 */
	private void attend() {
		ElectionSession session = null;
		try {
			awaitEndOfWork();
			if (this.stopping) {
				return;
			}
			session = open();
			this.current = session;
			if (this.settings.candidate() && this.election.standsAside()) {
				standAside(session);
			}
			else if (this.settings.candidate()) {
				holdBack(session);
				stand(session);
			}
			else {
				observe(session);
			}
			close(session);
		}
		catch (Throwable ex) {
			abort(session);
			if (!this.stopping) {
				failed(ex);
			}
		}
		finally {
			this.current = null;
			this.requested = null;
			this.election.completeResignation(this);
		}
	}

	private ElectionSession open() throws SessionException {
		synchronized (this.openingMonitor) {
			this.opening = Thread.currentThread();
		}
		try {
			if (this.stopping) {
				throw new SessionException("The election is to stop", null);
			}
			return this.election.calls().make(OPEN_LIMIT, this::interruptOpening, this.sessions::open);
		}
		finally {
			synchronized (this.openingMonitor) {
				this.opening = null;
				Thread.interrupted();
			}
		}
	}

	private void failed(Throwable failure) {
		boolean expected = failure instanceof SessionException;
		Contact contact = this.election.state().contact();
		Problem problem = new Problem(String.valueOf(failure.getMessage()), failure instanceof UnusableStoreException);
		this.election.follow(View.NONE);
		this.election.meet(new Contact(contact.last(), contact.ever(), problem));
		if (!expected) {
			logger.error("Unexpected failure in " + this.election + ", starting over with a new session", failure);
		}
		else if (!problem.equals(contact.problem())) {
			logger.warn("Following without a session: " + explain(problem, failure) + " (" + this.election + ")");
		}
		this.decision.completeExceptionally(expected ? failure : new SessionException(problem.message(), failure));
		pause(problem.unusable() ? UNUSABLE_RETRY : backoff());
	}

	private static String explain(Problem problem, Throwable failure) {
		if (failure instanceof UnusableStoreException unusable) {
			return problem.message() + (problem.message().endsWith(".") ? " " : ". ") + unusable.getAction();
		}
		return problem.message();
	}

	private long backoff() {
		long longest = Math.min(MAX_BACKOFF, MIN_BACKOFF << Math.min(this.failures++, 10));
		return longest / 2 + ThreadLocalRandom.current().nextLong(longest / 2 + 1);
	}

	private void observe(ElectionSession session) throws SessionException {
		while (!this.stopping) {
			follow(call(session, session::observe));
			request(session);
			pause(OBSERVE_INTERVAL, this::isRequestDue);
		}
	}

	/**
	 * Be no candidate for a while. The session is one whose silence the store ends.
	 */
	private void standAside(ElectionSession session) throws SessionException {
		this.<@Nullable Void>call(session, () -> {
			session.withdraw();
			return null;
		});
		while (!this.stopping && this.election.standsAside()) {
			follow(call(session, session::observe));
			request(session);
			pause(Math.min(OBSERVE_INTERVAL, this.settings.confirmNanos()),
					() -> isRequestDue() || !this.election.standsAside());
		}
	}

	/**
	 * After a resignation, let others go first.
	 */
	private void holdBack(ElectionSession session) throws SessionException {
		long until = this.holdBackUntil;
		while (!this.stopping && until - this.time.nanoTime() > 0) {
			View view = call(session, session::observe);
			if (view.leader() != null) {
				return;
			}
			this.election.see(view.candidates());
			pause(Math.min(MIN_BACKOFF, until - this.time.nanoTime()));
		}
	}

	private void stand(ElectionSession session) throws SessionException {
		Acquisition acquisition = acquire(session, FIRST_TRY);
		while (acquisition instanceof Acquisition.Held held && !this.stopping && !this.election.standsAside()) {
			follow(held.view());
			request(session);
			acquisition = acquire(session, WAIT);
		}
		if (acquisition instanceof Acquisition.Won won) {
			lead(session, won);
		}
	}

	private Acquisition acquire(ElectionSession session, Duration timeout) throws SessionException {
		this.waiting = true;
		try {
			// What ends the wait either sees that this thread waits, or is seen here
			return isWaitUnwanted() ? new Acquisition.Held(this.election.state().view())
					: call(session, () -> session.acquire(timeout));
		}
		finally {
			this.waiting = false;
			// One that is under way must not hit what comes next
			pause(callLimit(), () -> this.cancels.get() == 0);
		}
	}

	/**
	 * Ask the leader to resign if somebody has asked this node to do so, as long as that
	 * term lasts.
	 */
	private void request(ElectionSession session) throws SessionException {
		Term asked = this.request.get();
		Leader leader = this.election.state().view().leader();
		if (asked == null) {
			return;
		}
		if (leader != null && asked.equals(leader.term())) {
			if (!asked.equals(this.requested)) {
				this.requested = asked;
				this.<@Nullable Void>call(session, () -> {
					session.requestResignation(asked);
					return null;
				});
			}
		}
		else {
			this.request.compareAndSet(asked, null);
			this.requested = null;
			this.<@Nullable Void>call(session, () -> {
				session.withdrawRequest();
				return null;
			});
		}
	}

	private void follow(View view) {
		Leader leader = view.leader();
		Leader known = this.election.state().view().leader();
		this.election.follow(view);
		String who = "(" + this.election + ", leader " + ((leader != null) ? "'" + leader.nodeId() + "'" : "unknown")
				+ ")";
		this.decision.complete(null);
		if (announce()) {
			logger.info("Not leader, skipping scheduler startup " + who);
		}
		else if (leader != null && !leader.isSame(known)) {
			logger.info("Following " + who);
		}
	}

	/**
	 * Return whether this is the first time that this node says what it is.
	 */
	private boolean announce() {
		boolean first = !this.announced;
		this.announced = true;
		return first;
	}

	private void lead(ElectionSession session, Acquisition.Won won) throws SessionException {
		try {
			long reply = this.time.nanoTime();
			this.election.elect(won.term());
			TermLeadership leadership = awaitGrant(session, won, reply);
			boolean orderly = leadership != null && serve(session, leadership);
			Departure departure = this.election.state().departure();
			if (leadership != null && !this.election.relinquish(leadership)) {
				throw lapsed();
			}
			release(session, orderly);
			if (departure != null) {
				long shut = departure.interruptAt() - this.settings.drainTimeout().toNanos();
				this.election.statistics().drained(this.time.nanoTime() - shut);
			}
			if (this.resignation != null) {
				holdBack();
				this.election.completeResignation(this);
			}
			if (leadership != null) {
				logger.info("Gave up " + leadership + (orderly ? "" : ", not in good order"));
			}
		}
		catch (Throwable ex) {
			TermLeadership held = this.election.state().leadership();
			if (held != null) {
				this.election.lose(held, held.isCurrent() ? Reason.SESSION_LOST : Reason.LEASE_EXPIRED);
			}
			throw ex;
		}
		finally {
			this.election.abandon();
			if (this.resignation != null) {
				holdBack();
			}
		}
	}

	private void holdBack() {
		this.holdBackUntil = this.time.nanoTime() + Math.min(this.settings.lease().toNanos(), LONGEST_HOLD_BACK);
	}

	/**
	 * Wait until nothing of an earlier term is left, confirming as a leader does.
	 * @return the leadership, or {@code null} if this node is to leave
	 */
	private @Nullable TermLeadership awaitGrant(ElectionSession session, Acquisition.Won won, long reply)
			throws SessionException {
		long notBefore = reply + (won.clean() ? 0 : this.settings.takeoverDelay().toNanos());
		Duration barrierWait = Duration.ofNanos(this.settings.confirmNanos());
		boolean passed = false;
		boolean clear = false;
		boolean reported = false;
		while (!isLeaving()) {
			long start = this.time.nanoTime();
			Confirmation confirmation = confirm(session);
			if (clear) {
				TermLeadership leadership = new TermLeadership(this.election, won.term(), Instant.now());
				if (this.election.grant(this, leadership, start)) {
					this.election.statistics().acquired(this.time.nanoTime() - reply);
					this.decision.complete(null);
					logger.info("Acquired leadership" + (announce() ? ", starting schedulers" : "") + " ("
							+ this.election + ", term " + won.term() + ")");
					return leadership;
				}
				continue;
			}
			String blockedBy = confirmation.predecessor();
			if (blockedBy == null && !passed) {
				blockedBy = this.<@Nullable String>call(session, () -> session.passBarrier(barrierWait));
				passed = (blockedBy == null);
			}
			this.election.block(blockedBy);
			long now = this.time.nanoTime();
			if (blockedBy != null && !reported && now - reply > REPORT_BLOCKED_AFTER) {
				reported = true;
				logger.warn("Won term " + won.term() + " but an earlier term has not ended, waiting for " + blockedBy
						+ " (" + this.election + ")");
			}
			clear = passed && notBefore - now <= 0;
			if (!clear) {
				parkUntil(session, now + (passed ? Math.min(notBefore - now, this.settings.confirmNanos())
						: (now - reply < SHORT_WAIT) ? SHORT_SLICE : SLICE));
			}
		}
		return null;
	}

	/**
	 * Confirm until the hand-over is complete.
	 * @return whether everything of the term has ended
	 */
	private boolean serve(ElectionSession session, TermLeadership leadership) throws SessionException {
		long next = this.time.nanoTime() + this.settings.confirmNanos();
		boolean departing = false;
		boolean interrupted = false;
		boolean interruptedAgain = false;
		see(session);
		while (true) {
			ElectionState state = this.election.state();
			if (state.leadership() != leadership) {
				throw lapsed();
			}
			long now = this.time.nanoTime();
			Departure departure = state.departure();
			if (departure != null) {
				if (!departing) {
					departing = true;
					logger.info("Handing over " + leadership + " (" + departure.reason() + ")");
				}
				if (state.phase() == Phase.DRAINING && this.election.isDrained()) {
					this.election.tellListeners(leadership);
					continue;
				}
				if (state.phase() == Phase.LEAVING && this.election.hasEnded()) {
					return this.election.gate().isEmpty() && !this.election.gate().hasCancelled(leadership)
							&& this.election.relay().isIdle() && !leadership.hasLeftBehind();
				}
				long overdue = now - departure.interruptAt();
				if (overdue >= 0 && !interrupted) {
					interrupted = true;
					this.election.gate().interruptAll(leadership);
					this.election.relay().interrupt();
				}
				if (overdue >= LAST_CALL && state.phase() == Phase.DRAINING) {
					// Listeners must have a moment too, whatever the work does
					this.election.tellListeners(leadership);
				}
				if (overdue >= LAST_INTERRUPT && !interruptedAgain) {
					// Those who were told late were not there to be interrupted before
					interruptedAgain = true;
					this.election.relay().interrupt();
				}
				if (overdue >= ElectionSettings.GRACE.toNanos()) {
					logger.warn("Freeing the lock although not everything of " + leadership
							+ " has ended within drain-timeout and its interrupt: " + this.election.gate().describe());
					this.graceSpent = true;
					return false;
				}
			}
			if (next - now > 0) {
				park(session, Math.min(next - now, slice(state.phase())));
			}
			else {
				confirm(session);
				if (!this.election.extend(leadership, now)) {
					throw lapsed();
				}
				next = now + this.settings.confirmNanos();
				see(session);
			}
		}
	}

	private static long slice(Phase phase) {
		return switch (phase) {
			case LEAVING -> SHORT_SLICE;
			case DRAINING -> DRAIN_SLICE;
			default -> SLICE;
		};
	}

	private static SessionException lapsed() {
		return new SessionException("The lease has lapsed", null);
	}

	// Waits of the election thread

	private void awaitPredecessor() {
		while (!this.predecessor.isDone()) {
			this.election.await(MAX_BACKOFF, this.predecessor::isDone);
		}
	}

	/**
	 * Wait for the work of an earlier term, so that this node does not lead beside
	 * itself.
	 */
	private void awaitEndOfWork() {
		WorkGate gate = this.election.gate();
		long deadline = this.time.nanoTime()
				+ Math.max(this.settings.drainTimeout().toNanos(), ElectionSettings.GRACE.toNanos());
		while (!gate.isEmpty() && !this.stopping) {
			long remaining = deadline - this.time.nanoTime();
			if (remaining <= 0) {
				logger.warn("Standing again although work of an earlier term goes on after its interrupt ("
						+ this.election + "): " + gate.describe());
				return;
			}
			this.election.await(remaining, () -> gate.isEmpty() || this.stopping);
		}
	}

	/**
	 * After a loss shortly before or in the middle of a stop, give interrupted work and
	 * listeners a moment before what they need goes away.
	 */
	private void awaitEndOfLostTerm() {
		long deadline = this.time.nanoTime() + ElectionSettings.GRACE.toNanos();
		long remaining = deadline - this.time.nanoTime();
		while (!this.election.hasEnded() && remaining > 0) {
			this.election.await(remaining, this.election::hasEnded);
			remaining = deadline - this.time.nanoTime();
		}
	}

	private void pause(long nanos) {
		pause(nanos, this::isStopping);
	}

	private void pause(long nanos, BooleanSupplier enough) {
		long deadline = this.time.nanoTime() + nanos;
		long remaining = nanos;
		while (remaining > 0 && !enough.getAsBoolean()) {
			this.election.await(remaining, enough);
			remaining = deadline - this.time.nanoTime();
		}
	}

	private boolean isRequestDue() {
		Term asked = this.request.get();
		return this.stopping || (asked != null && !asked.equals(this.requested));
	}

	private boolean isWaitUnwanted() {
		return this.stopping || this.election.standsAside()
				|| (isRequestDue() && this.election.state().view().leader() != null);
	}

	private void parkUntil(ElectionSession session, long deadline) throws SessionException {
		long remaining = deadline - this.time.nanoTime();
		while (remaining > 0 && !isLeaving()) {
			park(session, Math.min(remaining, SLICE));
			remaining = deadline - this.time.nanoTime();
		}
	}

	// Calls of the election thread

	private <T extends @Nullable Object> T call(ElectionSession session, SessionCall<T> call) throws SessionException {
		T result = this.election.calls().make(WAIT.toNanos() + callLimit(), session::abort, call);
		this.failures = 0;
		met();
		return result;
	}

	private Confirmation confirm(ElectionSession session) throws SessionException {
		long start = this.time.nanoTime();
		Confirmation confirmation = call(session, session::confirm);
		this.election.statistics().confirmed(this.time.nanoTime() - start);
		if (confirmation.resignationRequested() && !isLeaving()) {
			logger.info("Another node asks this one to resign (" + this.election + ")");
			this.election.resign();
		}
		return confirmation;
	}

	private void see(ElectionSession session) throws SessionException {
		this.election.see(call(session, session::candidates));
	}

	private void park(ElectionSession session, long nanos) throws SessionException {
		this.election.calls().make(nanos + callLimit(), session::abort, () -> {
			session.park(Duration.ofNanos(nanos));
			return Boolean.TRUE;
		});
	}

	private void release(ElectionSession session, boolean clean) throws SessionException {
		this.election.calls().make(callLimit(), session::abort, () -> {
			session.release(clean);
			return Boolean.TRUE;
		});
	}

	private void close(ElectionSession session) throws SessionException {
		this.election.calls().make(callLimit(), session::abort, () -> {
			session.close();
			return Boolean.TRUE;
		});
	}

	private long callLimit() {
		return Math.max(this.settings.lease().toNanos(), MIN_CALL_LIMIT);
	}

	private void met() {
		if (this.election.state().contact().problem() != null) {
			logger.info("Has a session again (" + this.election + ")");
		}
		this.election.meet(new Contact(this.time.nanoTime(), true, null));
	}

}
