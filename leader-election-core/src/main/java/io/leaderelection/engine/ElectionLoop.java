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
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;

import io.leaderelection.LeadershipRevokedEvent.Reason;
import io.leaderelection.Term;
import io.leaderelection.engine.ElectionState.Contact;
import io.leaderelection.engine.ElectionState.Problem;
import io.leaderelection.engine.ElectionState.Suspension;
import io.leaderelection.engine.ElectionStore.Watch;
import io.leaderelection.engine.StoreSession.Acquisition;
import io.leaderelection.engine.StoreSession.Holder;
import io.leaderelection.engine.StoreSession.View;
import org.jspecify.annotations.Nullable;

/**
 * The thread of one election. Opens sessions, is a candidate or observes, and runs a
 * {@link LeadingTerm} whenever it has won the lock. See the comment at the top of
 * {@link Election}.
 */
final class ElectionLoop implements Election.Loop, Watchdog.Supervised {

	private static final Duration FIRST_WAIT = Duration.ofMillis(1);

	private static final long MIN_BACKOFF = TimeUnit.MILLISECONDS.toNanos(100);

	private static final long YIELD_INTERVAL = TimeUnit.MILLISECONDS.toNanos(25);

	/** A leader receives a request with its next confirmation. */
	private static final long LONGEST_REQUEST = TimeUnit.SECONDS.toNanos(10);

	/**
	 * The time within which nodes that start together make their first observation
	 * without a session.
	 */
	private static final long LONGEST_DELAY = TimeUnit.MILLISECONDS.toNanos(250);

	private final Election election;

	private final ElectionSettings settings;

	private final ElectionTimings timings;

	private final Platform platform;

	private final ElectionLog log;

	private final ProblemLog problems;

	private final ElectionStore store;

	private final Watchdog watchdog;

	private final Runnable warmUp;

	private final Preference preference;

	private volatile @Nullable Thread thread;

	private volatile @Nullable SupervisedSession session;

	// Confined to the election thread

	private @Nullable Term requested;

	/** The term of a leader of lower priority whose end was requested. */
	private @Nullable Term preferred;

	private boolean graceSpent;

	private boolean warmedUp;

	private int failures;

	/**
	 * Whether this node observes without a session until it may be admitted as a
	 * candidate.
	 */
	private boolean watches;

	/**
	 * Create a new {@code ElectionLoop} instance.
	 * @param warmUp called once, when this node is a follower for the first time
	 */
	ElectionLoop(Election election, ElectionStore store, Watchdog watchdog, Runnable warmUp) {
		this.election = election;
		this.settings = election.settings();
		this.timings = election.timings();
		this.platform = election.platform();
		this.log = election.log();
		this.problems = new ProblemLog(election);
		this.store = store;
		this.watchdog = watchdog;
		this.warmUp = warmUp;
		this.preference = new Preference(election.settings());
		election.runBy(this);
	}

	// Requests: called under the lock of the election

	@Override
	public void start() {
		this.watchdog.add(this);
		try {
			startThread();
		}
		catch (Throwable ex) {
			this.watchdog.remove(this);
			throw ex;
		}
	}

	private void startThread() {
		Thread started = this.platform.newThread(this.settings.election(), this::run);
		this.thread = started;
		boolean running = false;
		try {
			started.start();
			running = true;
		}
		finally {
			if (!running) {
				this.thread = null;
			}
		}
	}

	@Override
	public void wake() {
		SupervisedSession current = this.session;
		if (current == null) {
			return;
		}
		try {
			current.wake();
			if (this.election.isStopping()) {
				current.interruptOpening();
			}
		}
		catch (Throwable ex) {
			// The request remains: a thread that could not be woken reaches its own
			// deadline
			this.watchdog.failed(ex);
		}
	}

	@Override
	public void resigned() {
		this.store.resigned();
	}

	@Override
	public void checkWithin(long nanos) {
		this.watchdog.checkWithin(nanos);
	}

	@Override
	public void abortSession() {
		abort(this.session);
	}

	@Override
	public void ended() {
		this.thread = null;
		this.watchdog.remove(this);
	}

	private static void abort(@Nullable SupervisedSession aborted) {
		if (aborted != null) {
			aborted.abort();
		}
	}

	// Deadlines: on the watchdog

	/**
	 * Revoke leadership if trust has expired, end a call or a stop that takes too long,
	 * and create missing threads. Actions that never wait come first.
	 */
	@Override
	public long checkDeadlines() {
		// The session of this term, before the election thread can open another one
		SupervisedSession current = this.session;
		TermLeadership leadership = this.election.state().leadership();
		long trust = this.election.trustRemaining();
		long stop = this.election.stopRemaining();
		if (leadership != null && (trust <= 0 || stop <= 0)) {
			// Trust ends before the session, also if the session is only to be ended by a
			// stop: the election thread may notice that late
			boolean expired = trust <= 0 && !leadership.hasLostTrust();
			this.election.lose(leadership, expired ? Reason.LEASE_EXPIRED : Reason.SESSION_LOST, () -> abort(current));
			trust = Watchdog.NO_DEADLINE;
		}
		if (stop <= 0) {
			abort(current);
			stop = Watchdog.PAUSE_AFTER_FAILURE;
		}
		long next = Math.min(trust, stop);
		if (current != null) {
			next = Math.min(next, current.check());
		}
		if (!this.election.reviveWorkers()) {
			next = Math.min(next, Watchdog.PAUSE_AFTER_FAILURE);
		}
		if (this.thread == null) {
			this.election.revive(this::reviveThread);
		}
		this.election.interruptLost();
		return Math.min(next, this.election.interruptOverdue());
	}

	private void reviveThread() {
		if (this.thread == null) {
			startThread();
		}
	}

	// On the election thread

	private void run() {
		boolean ended = false;
		try {
			do {
				participate();
			}
			while (this.election.end());
			ended = true;
		}
		finally {
			// Unless another thread has been created for a later start
			if (!ended && this.thread == Thread.currentThread()) {
				this.thread = null;
				this.watchdog.checkWithin(Watchdog.PAUSE_AFTER_FAILURE);
			}
		}
	}

	/**
	 * Participate until a stop is requested, regardless of exceptions.
	 */
	private void participate() {
		boolean begun = false;
		while (true) {
			try {
				loseWhatIsLeft();
				if (!begun) {
					this.election.begin();
					this.watches = this.store.canWatch();
					begun = true;
					if (this.watches) {
						pause(this.platform.random(LONGEST_DELAY), this.election::isStopping);
					}
				}
				while (!this.election.isStopping()) {
					runSession();
					loseWhatIsLeft();
				}
				if (!this.graceSpent) {
					awaitEndOfLostTerm();
				}
				return;
			}
			catch (Throwable ex) {
				// Neither allocates nor logs, since there may be no memory
				this.watchdog.failed(ex);
				this.platform.park(this, Watchdog.PAUSE_AFTER_FAILURE);
			}
		}
	}

	/**
	 * End a leadership that, for lack of memory, could not be ended with its session.
	 */
	private void loseWhatIsLeft() {
		TermLeadership left = this.election.state().leadership();
		if (left != null) {
			// Not a later session, if the abort must be repeated
			SupervisedSession lost = this.session;
			this.election.lose(left, Reason.SESSION_LOST, () -> abort(lost));
		}
		this.election.interruptLost();
	}

	/**
	 * Watch until a session is needed, and run it from its opening to its end.
	 */
	private void runSession() {
		SupervisedSession opened = new SupervisedSession(this.store, this.election, this.watchdog, this::observed);
		this.session = opened;
		this.requested = null;
		this.graceSpent = false;
		try {
			// This node may have resigned while, for lack of memory, a leadership had
			// outlived its session
			this.election.followAgain(false);
			awaitEndOfWork();
			boolean requests = this.watches && watch(opened);
			if (!this.election.isStopping()) {
				opened.open(this.election::isStopping);
				if (!requests || requestAlone(opened)) {
					participate(opened);
				}
				opened.close();
				if (this.watches) {
					// What was observed before may still say that a session is admitted
					pause(backoff(), this.election::isStopping);
				}
			}
		}
		catch (Throwable ex) {
			this.election.loseTrust();
			try {
				loseWhatIsLeft();
			}
			finally {
				abortFailed(opened);
			}
			if (!this.election.isStopping()) {
				failed(ex);
			}
		}
		finally {
			if (this.election.state().leadership() == null) {
				// Otherwise it is to end with that leadership
				this.session = null;
			}
			this.election.followAgain(false);
		}
	}

	private void abortFailed(SupervisedSession failed) {
		try {
			failed.abort();
		}
		catch (Throwable ex) {
			this.watchdog.failed(ex);
		}
	}

	private boolean isCandidate() {
		return this.settings.candidate() && !this.election.isSuspended();
	}

	private void failed(Throwable failure) {
		boolean expected = failure instanceof SessionException;
		Contact contact = this.election.state().contact();
		Problem problem = new Problem(message(failure), failure instanceof UnusableStoreException);
		dropPreference();
		this.election.follow(View.NONE);
		this.election.contact(new Contact(contact.last(), contact.ever(), problem, null,
				contact.ever() && (this.watches || contact.watching())));
		SessionException reported = (failure instanceof SessionException known) ? known
				: new SessionException(problem.message(), failure);
		this.election.decide(reported);
		if (!expected) {
			this.log.error("Unexpected failure in " + this.election + ", restarting with a new session", failure);
		}
		else if (!problem.equals(contact.problem())) {
			this.problems.began(problem, failure, this.watches);
		}
		pause(problem.unusable() ? this.timings.unusableRetry().toNanos() : backoff(), this.election::isStopping);
	}

	private static String message(Throwable failure) {
		try {
			return String.valueOf(failure.getMessage());
		}
		catch (Throwable ex) {
			return failure.getClass().getName();
		}
	}

	private void participate(SupervisedSession opened) throws SessionException {
		boolean ended = false;
		while (!ended && !this.election.isStopping()) {
			ended = isCandidate() ? runAsCandidate(opened) : observe(opened);
		}
	}

	private long backoff() {
		long longest = Math.min(this.timings.maxBackoff().toNanos(), MIN_BACKOFF << Math.min(this.failures++, 10));
		return longest / 2 + this.platform.random(longest / 2 + 1);
	}

	/**
	 * Watch until this node may be admitted as a candidate or is to request a
	 * resignation.
	 * @return whether it is to request a resignation
	 */
	private boolean watch(SupervisedSession unopened) throws SessionException {
		while (!this.election.isStopping()) {
			Watch watch = unopened.watch(this.election::isStopping);
			boolean candidate = isCandidate();
			if (candidate && watch != null && watch.open()) {
				// Any problem remains until the session is open, with its time
				Contact contact = this.election.state().contact();
				boolean healthy = contact.problem() == null;
				this.election.contact(new Contact(healthy ? this.platform.nanoTime() : contact.last(),
						healthy || contact.ever(), contact.problem(), null, true));
				return false;
			}
			if (watch != null) {
				observed();
				follow(watch.view());
			}
			long suspended = this.election.suspensionRemaining();
			long wait = watchPause();
			pause((suspended > 0) ? Math.min(wait, suspended) : wait,
					() -> this.election.isStopping() || isRequestDue() || isCandidate() != candidate);
			if (isRequestDue()) {
				return true;
			}
			this.failures = 0;
		}
		return false;
	}

	private long watchPause() {
		long longest = this.timings.watchInterval().toNanos();
		long shortest = longest / 5 * 2;
		return shortest + this.platform.random(longest - shortest + 1);
	}

	/**
	 * Request a resignation in a session that was opened for this, as long as that term
	 * lasts, but not for ever: a leader that confirms obeys soon. Ends if this session is
	 * admitted as a candidate, which requests as well.
	 * @return whether it was admitted
	 */
	private boolean requestAlone(SupervisedSession opened) throws SessionException {
		Term wanted = this.election.state().request();
		long deadline = this.platform.nanoTime() + LONGEST_REQUEST;
		do {
			if (isCandidate() && opened.becomeCandidate()) {
				return true;
			}
			follow(opened.observe());
			request(opened);
			pause(Math.min(this.timings.observeInterval().toNanos(), this.settings.confirmNanos()),
					this.election::isStopping);
		}
		while (isRequested(wanted) && !this.election.isStopping() && deadline - this.platform.nanoTime() > 0);
		if (deadline - this.platform.nanoTime() <= 0) {
			this.election.dropRequest(wanted);
		}
		return false;
	}

	/**
	 * Return whether the resignation of a leader is requested that has not ended as far
	 * as this node knows.
	 */
	private boolean isRequested(@Nullable Term term) {
		ElectionState state = this.election.state();
		Holder leader = state.view().leader();
		return term != null && term.equals(state.request()) && leader != null && term.equals(leader.term());
	}

	/**
	 * Observe until this node is a candidate, if it ever is, or watches.
	 * @return whether to close the session, which has not led
	 */
	private boolean observe(SupervisedSession opened) throws SessionException {
		opened.withdraw();
		while (!this.election.isStopping() && !isCandidate()) {
			if (watchesInstead()) {
				return true;
			}
			View view = opened.observe();
			follow(view);
			request(opened);
			boolean yields = this.election.isSuspended(Suspension.RESIGNED);
			if (yields && (view.leader() != null || view.foreign() != null || view.candidates().isEmpty())) {
				this.election.resumeCandidacy(Suspension.RESIGNED);
			}
			long interval = yields ? YIELD_INTERVAL : this.timings.observeInterval().toNanos();
			// The store ends the silent session of a candidate, also while it is
			// suspended
			pause(this.settings.candidate() ? Math.min(interval, this.settings.confirmNanos()) : interval,
					() -> this.election.isStopping() || isRequestDue() || isCandidate());
		}
		return false;
	}

	/**
	 * Return whether this node watches from now on. After a resignation, it observes in
	 * its session, in order to notice a successor at once.
	 */
	private boolean watchesInstead() {
		this.watches = this.store.canWatch() && !this.election.isSuspended(Suspension.RESIGNED);
		return this.watches;
	}

	/**
	 * Become a candidate, wait for the lock, and lead when it is won.
	 * @return whether to close the session: it has held the lock, or was not admitted
	 */
	private boolean runAsCandidate(SupervisedSession opened) throws SessionException {
		this.watches = !opened.becomeCandidate();
		if (this.watches) {
			return true;
		}
		this.preference.begin();
		Acquisition acquisition = opened.acquire(FIRST_WAIT);
		while (acquisition instanceof Acquisition.Held held) {
			follow(held.view());
			request(opened);
			warmUp(opened);
			if (this.election.isStopping() || !isCandidate()) {
				dropPreference();
				return false;
			}
			prefer(held.view().leader());
			boolean watching = this.election.state().contact().watching();
			acquisition = opened.acquire(watching ? Duration.ofNanos(watchPause()) : this.timings.lockWait());
		}
		this.failures = 0;
		long won = this.platform.nanoTime();
		LeadingTerm term = new LeadingTerm(this.election, opened, (Acquisition.Won) acquisition, this.problems);
		try {
			term.run();
		}
		finally {
			this.graceSpent = term.isGraceSpent();
			this.preference.led(this.platform.nanoTime() - won);
		}
		return true;
	}

	/**
	 * Give up the request of {@link #prefer}, which ends with the wait in which it was
	 * made.
	 */
	private void dropPreference() {
		if (this.preferred != null) {
			this.election.dropRequest(this.preferred);
			this.preferred = null;
		}
	}

	/**
	 * Request the resignation of a leader of lower priority when it is time.
	 */
	private void prefer(@Nullable Holder leader) {
		long now = this.platform.nanoTime();
		if (leader == null || isRequested(leader.term()) || !this.preference.isDue(leader, now)) {
			return;
		}
		ResignationAnswer answer = this.election.requestResignation(leader.term(), "priority");
		if (answer.isRequested()) {
			this.preferred = leader.term();
			this.preference.requested(now);
			this.log.info("Requesting leadership from node '" + leader.nodeId() + "' of lower priority ("
					+ this.election + ")");
		}
	}

	/**
	 * Run the code and the statements of a takeover in advance, but not during the start.
	 * Without this, a failover would run them for the first time in its process.
	 */
	private void warmUp(SupervisedSession opened) throws SessionException {
		if (!this.warmedUp) {
			this.warmedUp = true;
			this.warmUp.run();
			opened.warmUp();
		}
	}

	/**
	 * Request the resignation of the leader if this was requested on this node, as long
	 * as that term lasts.
	 */
	private void request(SupervisedSession opened) throws SessionException {
		Term wanted = this.election.state().request();
		if (wanted == null && this.requested != null) {
			opened.withdrawRequest();
			this.requested = null;
		}
		else if (isRequestDue() && wanted != null) {
			opened.requestResignation(wanted);
			this.requested = wanted;
		}
	}

	private boolean isRequestDue() {
		Term wanted = this.election.state().request();
		return isRequested(wanted) && !Objects.equals(wanted, this.requested);
	}

	private void follow(View view) {
		SupervisedSession current = this.session;
		if (current != null && current.isOpen()) {
			this.failures = 0;
		}
		View known = this.election.state().view();
		Holder leader = view.leader();
		this.election.follow(view);
		this.election.decide(null);
		String who = "(" + this.election + ", leader " + ((leader != null) ? "'" + leader.nodeId() + "'" : "unknown")
				+ ")";
		if (this.election.announce()) {
			this.log.info("Not leader, skipping scheduler startup " + who);
		}
		else if (leader != null && !leader.isSame(known.leader())) {
			this.log.info("Following " + who);
		}
		this.problems.observed(view);
		if (view.foreign() != null && !view.foreign().equals(known.foreign())) {
			this.log.warn("The " + view.foreign() + " (" + this.election + ")");
		}
	}

	private void observed() {
		SupervisedSession current = this.session;
		Contact contact = this.election.state().contact();
		if (contact.problem() != null) {
			this.problems.ended(current == null || current.isOpen(), contact.ever());
		}
		this.election.contact(new Contact(this.platform.nanoTime(), true, null,
				(current != null) ? current.name() : null, this.watches || (current != null && !current.isStandby())));
		this.watchdog.report();
	}

	// Waits

	/**
	 * Wait for the work of an earlier term of this node, so that it does not overlap with
	 * that of a new term.
	 */
	private void awaitEndOfWork() {
		WorkGate gate = this.election.gate();
		long limit = Math.max(this.settings.drainTimeout().toNanos(), ElectionSettings.GRACE.toNanos());
		pause(limit, () -> gate.isEmpty() || this.election.isStopping());
		if (!gate.isEmpty() && !this.election.isStopping()) {
			this.log.warn("Resuming candidacy although work of an earlier term is still running after its interrupt ("
					+ this.election + "): " + gate.describe(Work::describe));
		}
	}

	/**
	 * After a loss shortly before or during a stop, give interrupted work and listeners
	 * some time before the beans that they need are stopped.
	 */
	private void awaitEndOfLostTerm() {
		pause(Math.min(ElectionSettings.GRACE.toNanos(), this.election.stopRemaining()), this.election::hasEnded);
	}

	private void pause(long nanos, BooleanSupplier enough) {
		long deadline = this.platform.nanoTime() + nanos;
		for (long remaining = nanos; remaining > 0
				&& !enough.getAsBoolean(); remaining = deadline - this.platform.nanoTime()) {
			this.election.await(remaining, enough);
		}
	}

}
