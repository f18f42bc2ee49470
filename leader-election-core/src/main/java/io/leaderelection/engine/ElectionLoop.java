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
import java.util.concurrent.TimeUnit;

import io.leaderelection.Term;
import io.leaderelection.engine.Position.Ended;
import io.leaderelection.engine.Position.Loss;
import io.leaderelection.engine.Position.Stopped;
import io.leaderelection.engine.StoreSession.Acquisition;
import org.jspecify.annotations.Nullable;

/**
 * The thread of one election, and its deadlines. Each turn has one session, in which this
 * node follows, leads and hands over.
 */
final class ElectionLoop implements ElectionEffects.Loop, Watchdog.Supervised {

	/** A leader receives a request with its next confirmation. */
	private static final Duration LONGEST_REQUEST = Duration.ofSeconds(3);

	private final Election election;

	private final Transitions transitions;

	private final ElectionLog log;

	private final ElectionStore store;

	private final Watchdog watchdog;

	private final StoreContact contact;

	private final FollowerPhase follower;

	/** The session of this turn, until it is closed or aborted. */
	private volatile @Nullable SupervisedSession session;

	// Confined to the election thread

	private boolean graceSpent;

	ElectionLoop(Election election, ElectionStore store, Watchdog watchdog) {
		this.election = election;
		this.transitions = election.transitions();
		this.log = election.log();
		this.store = store;
		this.watchdog = watchdog;
		this.contact = new StoreContact(election, watchdog);
		this.follower = new FollowerPhase(election, store, this.contact);
	}

	// Requests: on any thread

	@Override
	public void start() {
		supervise(true);
		try {
			this.election.platform().newThread(this.election.settings().election(), this::run).start();
		}
		catch (Throwable ex) {
			supervise(false);
			throw ex;
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
	public @Nullable String takeover() {
		SupervisedSession current = this.session;
		return (current != null) ? current.takeover() : null;
	}

	@Override
	public void abortSession() {
		SupervisedSession current = this.session;
		if (current != null) {
			current.abort();
		}
	}

	@Override
	public void requestResignation(Term term, String cause) {
		try {
			this.store.requestResignation(term, cause, LONGEST_REQUEST);
		}
		catch (SessionException ex) {
			this.log.of(term)
				.warn("Could not request the end of term " + term + ": " + ex.getMessage() + " (" + this.election
						+ ")");
		}
	}

	@Override
	public void supervise(boolean supervised) {
		if (supervised) {
			this.watchdog.add(this);
		}
		else {
			this.watchdog.remove(this);
		}
	}

	// Deadlines: on the watchdog

	/**
	 * End leadership whose trust has expired, a call or a stop that takes too long, and
	 * the time for work in a hand-over.
	 */
	@Override
	public long checkDeadlines() {
		long now = this.election.nanoTime();
		if (this.election.deadlineRemaining(now) <= 0) {
			this.election.apply(this.transitions::expire);
			this.election.apply(this.transitions::interrupt);
			now = this.election.nanoTime();
		}
		long next = this.election.deadlineRemaining(now);
		// Before the state: a session that is opened after a stop is not its session
		SupervisedSession current = this.session;
		boolean late = this.transitions.stopRemaining(this.election.state(), now) <= 0;
		if (late) {
			next = Platform.PAUSE_AFTER_FAILURE;
		}
		if (current != null) {
			if (late) {
				current.abort();
			}
			next = Math.min(next, current.check());
		}
		return this.election.effects().relay().schedule() ? next : Math.min(next, Platform.PAUSE_AFTER_FAILURE);
	}

	// On the election thread

	private void run() {
		boolean goesOn = true;
		while (goesOn) {
			try {
				goesOn = turn();
			}
			catch (Throwable ex) {
				// Neither allocates nor logs, since there may be no memory
				this.watchdog.failed(ex);
				this.election.platform().park(this, Platform.PAUSE_AFTER_FAILURE);
			}
		}
	}

	/**
	 * Run one session, or end a participation.
	 * @return whether there is another turn
	 */
	private boolean turn() {
		// A failure may have prevented this before
		endSession();
		if (this.election.state().position() instanceof Stopped) {
			this.election.apply(this.transitions::begin);
			this.follower.begin();
		}
		if (this.election.isStopping()) {
			awaitEndOfLostTerm();
			return this.election.end();
		}
		try {
			runSession();
		}
		catch (Throwable ex) {
			endSession();
			if (!this.election.isStopping()) {
				this.follower.failed(ex);
			}
		}
		return true;
	}

	/**
	 * Run a session from its opening to its end.
	 */
	private void runSession() throws SessionException {
		SupervisedSession opened = new SupervisedSession(this.store, this.election, this.watchdog);
		this.session = opened;
		this.graceSpent = false;
		this.follower.awaitEndOfWork();
		this.follower.watch(opened);
		if (!this.election.isStopping()) {
			opened.open(this.election::isStopping);
			Acquisition.Won won = this.follower.follow(opened);
			if (won != null) {
				lead(opened, won);
			}
		}
		opened.close();
		this.session = null;
		this.follower.closed();
	}

	private void lead(SupervisedSession opened, Acquisition.Won won) throws SessionException {
		long begun = this.election.nanoTime();
		try {
			LeaderPhase leader = new LeaderPhase(this.election, opened, won, this.contact);
			if (leader.awaitGrant(this.follower)) {
				this.graceSpent = !new HandOverPhase(this.election, leader, leader.serve()).run();
			}
			else {
				leader.released(leader.release(false));
			}
		}
		finally {
			this.follower.led(this.election.nanoTime() - begun);
		}
	}

	/**
	 * End a session that has failed, after the leadership that rests on it.
	 */
	private void endSession() {
		SupervisedSession failed = this.session;
		if (failed == null) {
			return;
		}
		this.election.lose(null);
		abort(failed);
		Loss loss = (this.election.state().position() instanceof Ended ended) ? ended.loss() : null;
		this.election.handedOver(false);
		this.session = null;
		if (loss != null) {
			this.log.of(loss.leadership().getTerm(), loss.reason())
				.warn("Lost " + loss.leadership() + " (" + loss.reason() + ", last confirmed "
						+ TimeUnit.NANOSECONDS.toMillis(loss.silence()) + "ms ago)");
		}
	}

	private void abort(SupervisedSession failed) {
		try {
			failed.abort();
		}
		catch (RuntimeException ex) {
			// The store ends it after the lease
			this.watchdog.failed(ex);
		}
	}

	/**
	 * After a loss shortly before or during a stop, give interrupted work and listeners
	 * some time before the beans that they need are stopped.
	 */
	private void awaitEndOfLostTerm() {
		if (!this.graceSpent) {
			long remaining = this.transitions.stopRemaining(this.election.state(), this.election.nanoTime());
			this.election.pause(Math.min(ElectionSettings.GRACE.toNanos(), remaining), this.election::hasEnded);
		}
	}

}
