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

import io.leaderelection.engine.ElectionState.Problem;
import io.leaderelection.engine.ElectionState.Suspension;
import io.leaderelection.engine.ElectionStore.Watch;
import io.leaderelection.engine.StoreSession.Acquisition;
import io.leaderelection.engine.StoreSession.Holder;
import io.leaderelection.engine.StoreSession.View;
import org.jspecify.annotations.Nullable;

/**
 * The actions of the election thread until the lock is won: it watches without a session,
 * observes in a session, or is a candidate.
 */
final class FollowerPhase {

	private static final Duration FIRST_WAIT = Duration.ofMillis(1);

	private static final long MIN_BACKOFF = TimeUnit.MILLISECONDS.toNanos(100);

	private static final long YIELD_INTERVAL = TimeUnit.MILLISECONDS.toNanos(25);

	/**
	 * The time within which nodes that start together make their first observation
	 * without a session.
	 */
	private static final long LONGEST_DELAY = TimeUnit.MILLISECONDS.toNanos(100);

	private final Election election;

	private final ElectionSettings settings;

	private final ElectionTimings timings;

	private final Platform platform;

	private final ElectionLog log;

	private final ElectionStore store;

	private final StoreContact contact;

	private final SessionNames names;

	private final Preference preference;

	private boolean announced;

	private int failures;

	/** The observation of a leader, and when that was last observed. */
	private @Nullable Transition seen;

	private long seenAt;

	/**
	 * Whether this node observes without a session until it may be admitted as a
	 * candidate.
	 */
	private boolean watches;

	FollowerPhase(Election election, ElectionStore store, StoreContact contact) {
		this.election = election;
		this.settings = election.settings();
		this.timings = election.timings();
		this.platform = election.platform();
		this.log = election.log();
		this.store = store;
		this.contact = contact;
		this.names = new SessionNames(this.settings.election());
		this.preference = new Preference(election.settings());
	}

	/**
	 * Begin to participate.
	 */
	void begin() {
		this.watches = this.store.canWatch();
		if (this.watches) {
			this.election.pause(this.platform.random(LONGEST_DELAY), this.election::isStopping);
		}
	}

	/**
	 * Watch until this node may be admitted as a candidate.
	 */
	void watch(SupervisedSession unopened) throws SessionException {
		while (this.watches && !this.election.isStopping()) {
			boolean candidate = isCandidate();
			Watch watch = unopened.watch(candidate, this.election::isStopping);
			if (candidate && watch != null && watch.open()) {
				this.contact.opening();
				return;
			}
			unopened.close();
			if (watch != null) {
				follow(unopened, watch.view());
			}
			long suspended = this.election.state().suspensionRemaining(this.platform.nanoTime());
			long wait = watchPause();
			this.election.pause((suspended > 0) ? Math.min(wait, suspended) : wait,
					() -> this.election.isStopping() || isCandidate() != candidate);
			this.failures = 0;
		}
	}

	private long watchPause() {
		long longest = this.timings.watchInterval().toNanos();
		long shortest = longest / 5 * 2;
		return shortest + this.platform.random(longest - shortest + 1);
	}

	/**
	 * Follow in a session until the lock is won.
	 * @return what was won, or {@code null} if the session is to be closed
	 */
	Acquisition.@Nullable Won follow(SupervisedSession opened) throws SessionException {
		while (!this.election.isStopping()) {
			if (isCandidate()) {
				this.watches = !opened.ask(StoreSession::becomeCandidate);
				Acquisition.Won won = this.watches ? null : acquire(opened);
				if (won != null || this.watches) {
					return won;
				}
			}
			else if (!observe(opened)) {
				return null;
			}
		}
		return null;
	}

	private boolean isCandidate() {
		return this.settings.candidate() && !this.election.isSuspended();
	}

	/**
	 * Wait for the lock.
	 * @return what was won, or {@code null} if this node is no candidate any longer
	 */
	private Acquisition.@Nullable Won acquire(SupervisedSession opened) throws SessionException {
		this.preference.begin();
		Duration wait = FIRST_WAIT;
		while (true) {
			Duration longest = wait;
			Acquisition acquisition = opened.ask(longest, (session) -> session.acquire(longest));
			if (acquisition instanceof Acquisition.Won won) {
				this.failures = 0;
				return won;
			}
			View view = follow(opened, ((Acquisition.Held) acquisition).view());
			if (this.election.isStopping() || !isCandidate()) {
				return null;
			}
			prefer(view.leader());
			wait = opened.isStandby() ? this.timings.lockWait() : Duration.ofNanos(watchPause());
		}
	}

	/**
	 * Record for how long this node has held the lock.
	 */
	void led(long nanos) {
		this.preference.led(nanos);
	}

	/**
	 * Request the resignation of a leader of lower priority when it is time.
	 */
	private void prefer(@Nullable Holder leader) {
		long now = this.platform.nanoTime();
		if (leader == null || leader.term() == null || leader.term().equals(this.election.state().request())
				|| !this.preference.isDue(leader, now)) {
			return;
		}
		if (this.election.requestResignation(leader.term(), "priority").isRequested()
				&& this.preference.requested(now)) {
			logOf(leader).info("Requesting leadership from node '" + leader.nodeId() + "' of lower priority ("
					+ this.election + ")");
		}
	}

	/**
	 * Observe until this node is a candidate, if it ever is, or watches.
	 * @return whether the session stays open
	 */
	private boolean observe(SupervisedSession opened) throws SessionException {
		opened.run(StoreSession::withdraw);
		while (!this.election.isStopping() && !isCandidate()) {
			boolean yields = this.election.isSuspended(Suspension.RESIGNED);
			// After a resignation, a session notices a successor at once
			this.watches = this.store.canWatch() && !yields;
			if (this.watches) {
				return false;
			}
			follow(opened, opened.ask(StoreSession::observe));
			long interval = yields ? YIELD_INTERVAL : this.timings.observeInterval().toNanos();
			// The store ends the silent session of a candidate, also while it is
			// suspended
			this.election.pause(this.settings.candidate() ? Math.min(interval, this.settings.confirmNanos()) : interval,
					() -> this.election.isStopping() || isCandidate());
		}
		return true;
	}

	/**
	 * Record what was observed.
	 * @return what was observed of other nodes
	 */
	private View follow(SupervisedSession session, View observed) {
		View view = isSelf(observed.leader()) ? new View(null, observed.candidates(), observed.foreign()) : observed;
		if (session.isOpen()) {
			this.failures = 0;
		}
		this.contact.answered(session, this.watches || !session.isStandby());
		Holder leader = view.leader();
		View known = this.election.state().view();
		ElectionState state = this.election
			.apply((current, now) -> this.election.transitions().follow(current, now, view));
		if (leader != null && state.remembers(leader)) {
			this.seen = state.lastTransition();
			this.seenAt = this.platform.nanoTime();
		}
		this.election.decide(null);
		String who = "(" + this.election + ", leader " + ((leader != null) ? "'" + leader.nodeId() + "'" : "unknown")
				+ ")";
		if (isFirst()) {
			String reason = state.notCandidate(this.settings.candidate(), this.platform.nanoTime());
			logOf(leader).info("Not leader, skipping scheduler startup " + who
					+ (reason.isEmpty() ? "" : ". This node " + reason));
		}
		else if (leader != null && !leader.isSame(known.leader())) {
			logOf(leader).info("Following " + who);
		}
		this.contact.observed(view, known.foreign());
		resume(view);
		return view;
	}

	/**
	 * Resume a candidacy that was suspended so that another node leads, if one does or
	 * none can.
	 */
	private void resume(View view) {
		boolean alone = view.leader() == null && view.candidates().isEmpty();
		if (this.election.isSuspended(Suspension.RESIGNED)
				&& (alone || view.leader() != null || view.foreign() != null)) {
			this.election.resumeCandidacy(Suspension.RESIGNED);
		}
		if (this.election.isSuspended(Suspension.SERVICES_FAILED) && alone) {
			this.election.resumeCandidacy(Suspension.SERVICES_FAILED);
		}
	}

	/**
	 * Return whether a leader is a former session of this node, which the store may keep
	 * for some time.
	 */
	private boolean isSelf(@Nullable Holder leader) {
		return leader != null && this.names.isSame(leader.nodeId(), this.settings.nodeId());
	}

	private ElectionLog logOf(@Nullable Holder leader) {
		return (leader != null) ? this.log.of(leader.nodeId(), leader.term()) : this.log;
	}

	/**
	 * Return whether this is the first time that this node logs whether it leads.
	 */
	boolean isFirst() {
		boolean first = !this.announced;
		this.announced = true;
		return first;
	}

	/**
	 * Return for how long the session of the leader of the last transition has not been
	 * observed.
	 */
	Duration unseen(Transition last) {
		return (last == this.seen) ? Duration.ofNanos(this.platform.nanoTime() - this.seenAt)
				: Duration.between(last.time(), this.platform.now());
	}

	/**
	 * Pause after a session has ended in good order.
	 */
	void closed() {
		if (this.watches) {
			// What was observed before may still say that a session is admitted
			this.election.pause(backoff(), this.election::isStopping);
		}
	}

	/**
	 * Follow without a session, for now.
	 */
	void failed(Throwable failure) {
		this.election.apply((state, now) -> this.election.transitions().follow(state, now, View.NONE));
		Problem problem = this.contact.failed(failure, this.watches);
		this.election.decide(
				(failure instanceof SessionException known) ? known : new SessionException(problem.message(), failure));
		this.election.pause(problem.unusable() ? this.timings.unusableRetry().toNanos() : backoff(),
				this.election::isStopping);
	}

	private long backoff() {
		long longest = Math.min(this.timings.maxBackoff().toNanos(), MIN_BACKOFF << Math.min(this.failures++, 10));
		return longest / 2 + this.platform.random(longest / 2 + 1);
	}

	/**
	 * Wait for the work of an earlier term of this node, so that it does not overlap with
	 * that of a new term.
	 */
	void awaitEndOfWork() {
		WorkGate gate = this.election.gate();
		long limit = this.settings.longestEnd().toNanos();
		this.election.pause(limit, () -> gate.isEmpty() || this.election.isStopping());
		if (!gate.isEmpty() && !this.election.isStopping()) {
			this.log.warn("Resuming candidacy although work of an earlier term is still running after its interrupt ("
					+ this.election + "): " + gate.describe(Work::describe));
		}
	}

}
