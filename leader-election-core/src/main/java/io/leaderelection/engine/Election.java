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
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.Lock;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;

import io.leaderelection.ElectionEvent;
import io.leaderelection.Leadership;
import io.leaderelection.LeadershipRevokedEvent.Reason;
import io.leaderelection.Term;
import io.leaderelection.engine.ElectionEffects.Effects;
import io.leaderelection.engine.ElectionState.Suspension;
import io.leaderelection.engine.Position.Granted;
import io.leaderelection.engine.Position.HandOver;
import io.leaderelection.engine.Position.Leading;
import io.leaderelection.engine.StoreSession.Holder;
import io.leaderelection.engine.Transitions.Moment;
import org.jspecify.annotations.Nullable;

/**
 * One election on one node: its state, which {@link #apply} alone changes, and the
 * requests of other threads. {@link ElectionLoop} is its thread. The package comment
 * describes the whole. Not final, since seeded mistakes extend it.
 */
class Election implements ElectionEffects.Owner {

	/** About 146 years. */
	private static final long FOREVER = Long.MAX_VALUE / 2;

	private final ElectionSettings settings;

	private final ElectionTimings timings;

	private final Transitions transitions;

	private final Platform platform;

	private final ElectionLog log;

	private final FenceChecks fenceChecks;

	private final ElectionStatistics statistics;

	private final ElectionEffects effects;

	private final Lock lock;

	private final Condition changed;

	private volatile ElectionState state;

	/** Written under the lock, like {@link #next}. */
	private volatile @Nullable Participation current;

	private @Nullable Participation next;

	Election(ElectionSettings settings, ElectionTimings timings, Transitions transitions, ElectionStore store,
			Platform platform, Consumer<ElectionEvent> publisher, ElectionLog log, Watchdog watchdog) {
		this.settings = settings;
		this.timings = timings;
		this.transitions = transitions;
		this.platform = platform;
		this.log = log.of(settings);
		this.fenceChecks = new FenceChecks(store.fence());
		this.statistics = new ElectionStatistics(this.fenceChecks);
		this.lock = platform.newLock();
		this.changed = this.lock.newCondition();
		this.effects = new ElectionEffects(this, platform, publisher, this.statistics, this.log, store, watchdog);
		this.state = ElectionState.stopped(platform.nanoTime());
	}

	// Reads: on any thread, without the lock

	@Override
	public ElectionSettings settings() {
		return this.settings;
	}

	ElectionTimings timings() {
		return this.timings;
	}

	Transitions transitions() {
		return this.transitions;
	}

	Platform platform() {
		return this.platform;
	}

	ElectionLog log() {
		return this.log;
	}

	WorkGate gate() {
		return this.effects.gate();
	}

	FenceChecks fenceChecks() {
		return this.fenceChecks;
	}

	ElectionStatistics statistics() {
		return this.statistics;
	}

	ElectionEffects effects() {
		return this.effects;
	}

	ElectionEffects.Loop loop() {
		return this.effects.loop();
	}

	@Override
	public ElectionState state() {
		return this.state;
	}

	@Override
	public long nanoTime() {
		return this.platform.nanoTime();
	}

	@Override
	public @Nullable TermLeadership leading() {
		return (this.state.position() instanceof Leading leading) ? leading.leadership() : null;
	}

	@Override
	public boolean admitsWork(TermLeadership leadership) {
		return this.state.granted(leadership) instanceof Leading && isTrusted(leadership);
	}

	/**
	 * Return the leadership of this node, or {@code null} if it may not start leader
	 * work.
	 */
	@Nullable TermLeadership leadership() {
		return (this.state.position() instanceof Leading leading && isTrusted(leading.leadership()))
				? leading.leadership() : null;
	}

	/**
	 * Return the leader as this node knows it, which may be itself, or {@code null}.
	 */
	@Nullable Holder leader() {
		return leader(this.state);
	}

	@Nullable Holder leader(ElectionState known) {
		Granted granted = known.granted();
		if (granted != null && isTrusted(granted.leadership())) {
			return own(granted.leadership());
		}
		return known.view().leader();
	}

	/**
	 * Return this node as the leader.
	 */
	Holder own(TermLeadership leadership) {
		return new Holder(leadership.getNodeId(), String.valueOf(this.state.contact().session()), leadership.getTerm(),
				leadership.getSince(), this.settings.profile(), null);
	}

	boolean isTrusted(TermLeadership leadership) {
		return this.state.granted(leadership) != null && leadership.trustRemaining(this.platform.nanoTime()) > 0;
	}

	/**
	 * Create the leadership of a term that is to be granted.
	 */
	TermLeadership newLeadership(Term term) {
		return new TermLeadership(this.settings, this.fenceChecks, this::isTrusted, term, this.platform.now());
	}

	/**
	 * Return whether a hand-over has no leader work to wait for.
	 */
	boolean isDrained() {
		return this.transitions.isDrained(gate());
	}

	/**
	 * Return whether a hand-over has neither leader work nor listeners to wait for.
	 */
	boolean hasEnded() {
		return this.transitions.hasEnded(gate(), this.effects.relay());
	}

	boolean isStopping() {
		return this.state.isStopping();
	}

	boolean isSuspended() {
		return this.state.isSuspended(this.platform.nanoTime());
	}

	boolean isSuspended(Suspension cause) {
		return this.state.isSuspended(cause, this.platform.nanoTime());
	}

	/**
	 * Return whether this node must not be granted leadership.
	 */
	boolean mustNotLead() {
		return Transitions.mustNotLead(this.state, this.platform.nanoTime());
	}

	/**
	 * Return the time until the next deadline on which the watchdog acts.
	 */
	@Override
	public long deadlineRemaining(long now) {
		return Math.min(this.transitions.interruptRemaining(this.state, now), Math
			.min(this.transitions.trustRemaining(this.state, now), this.transitions.stopRemaining(this.state, now)));
	}

	/**
	 * Return for how long this node has led since the start of the application.
	 */
	Duration led() {
		return locked(() -> Duration.ofNanos(this.statistics.led(this.state.granted(), this.platform.nanoTime())));
	}

	// Changes

	/**
	 * Apply a transition. The only place where the state changes. The new state and the
	 * events of the transition are allocated before it is written, so that a lack of
	 * memory changes nothing. An interrupt of work may need memory later, and is lost
	 * without it.
	 * @return the state after the transition
	 */
	ElectionState apply(Step step) {
		return locked(() -> {
			ElectionState before = this.state;
			long now = this.platform.nanoTime();
			Effects prepared = this.effects.new Effects(now);
			ElectionState after = step.apply(before, new Moment(now, this.platform.now(), prepared));
			if (after != before) {
				this.state = after;
				this.effects.run(prepared);
				this.changed.signalAll();
			}
			return after;
		});
	}

	/**
	 * Lose leadership whose session has ended, if there is one. Trust ends first, without
	 * an allocation: if there is no memory for the transition, it may succeed only when
	 * another node already leads.
	 */
	void lose(@Nullable Reason reason) {
		TermLeadership leadership = this.state.leadership();
		if (leadership != null) {
			leadership.loseTrust();
			apply((state, now) -> this.transitions.lose(state, now, reason));
		}
	}

	/**
	 * Complete what was to be handed over or stopped.
	 * @param freed whether the lock was freed
	 */
	void handedOver(boolean freed) {
		HandOver handOver = this.<@Nullable HandOver, RuntimeException>locked(() -> {
			HandOver completed = this.state.position().handOver();
			apply(this.transitions::handedOver);
			return completed;
		});
		if (handOver != null) {
			this.effects.complete(handOver.completion(), freed);
		}
	}

	// Requests: on any thread

	/**
	 * Participate from now on.
	 * @return a future that completes at the first decision: this node leads, or follows
	 * for now. It fails if the store cannot hold elections, and with any
	 * {@link SessionException} that makes this node a follower for now.
	 */
	CompletableFuture<@Nullable Void> start() {
		return locked(() -> {
			Participation running = this.current;
			if (running == null) {
				running = new Participation();
				startThreads();
				this.current = running;
			}
			else if (isStopping()) {
				running = (this.next != null) ? this.next : new Participation();
				this.next = running;
			}
			return running.decision();
		});
	}

	private void startThreads() {
		try {
			this.effects.retainThreads(true);
			loop().start();
		}
		catch (Throwable ex) {
			this.effects.retainThreads(false);
			throw ex;
		}
	}

	/**
	 * Stop participating, with an orderly hand-over. Does not wait.
	 * @return a future that completes when the lock is free and the session has ended
	 */
	CompletableFuture<@Nullable Void> stop() {
		return locked(() -> {
			Participation running = this.current;
			if (running == null) {
				return CompletableFuture.<@Nullable Void>completedFuture(null);
			}
			Participation waiting = this.next;
			if (waiting != null) {
				this.next = null;
				running.end().thenRun(waiting::complete);
			}
			CompletableFuture<Boolean> completion = resignation();
			apply((state, now) -> this.transitions.stop(state, now, completion));
			wakeUp();
			return running.end();
		});
	}

	/**
	 * End a participation. Called by the election thread.
	 * @return whether another one follows
	 */
	boolean end() {
		handedOver(false);
		Participation ended = this.current;
		boolean goesOn = locked(() -> {
			Participation following = this.next;
			// What may fail comes first: the thread then tries again
			loop().supervise(following != null);
			this.effects.retainThreads(following != null);
			apply((state, now) -> this.transitions.end(state));
			this.current = following;
			this.next = null;
			return following != null;
		});
		try {
			if (ended != null) {
				ended.complete();
			}
		}
		catch (Throwable ex) {
			this.effects.failed(ex);
		}
		return goesOn;
	}

	/**
	 * Complete the first decision of this participation. Called by the election thread.
	 * @param failure the failure that made this node a follower for now, or {@code null}
	 */
	void decide(@Nullable SessionException failure) {
		Participation running = this.current;
		if (running != null && failure != null) {
			running.decision().completeExceptionally(failure);
		}
		else if (running != null) {
			running.decision().complete(null);
		}
	}

	/**
	 * Hand leadership over. Does not wait.
	 * @param cause who or what requests it
	 * @return a future that completes with {@code true} when the lock was freed, with
	 * {@code false} if leadership was lost before or this node did not lead
	 */
	CompletableFuture<Boolean> resign(String cause) {
		CompletableFuture<Boolean> completion = resignation();
		HandOver handOver = apply((state, now) -> this.transitions.resign(state, now, cause, completion)).position()
			.handOver();
		wakeUp();
		return (handOver != null) ? handOver.completion().copy() : CompletableFuture.completedFuture(false);
	}

	private CompletableFuture<Boolean> resignation() {
		return new Resignation<>(this::detachCurrent);
	}

	/**
	 * Hand leadership over if this node leads, and suspend the candidacy until
	 * {@link #resumeCandidacy} for the same cause. Does not wait.
	 */
	void suspendCandidacy(Suspension cause) {
		CompletableFuture<Boolean> completion = resignation();
		apply((state, now) -> this.transitions.suspend(state, now, cause, FOREVER, completion));
		wakeUp();
	}

	/**
	 * Hand a term over, unless it has ended, and suspend the candidacy for some time, at
	 * most until no other node can lead. Does not wait.
	 */
	void suspendCandidacy(Suspension cause, Leadership leadership, Duration time) {
		CompletableFuture<Boolean> completion = resignation();
		apply((state, now) -> this.transitions.suspendTerm(state, now, cause, leadership, time.toNanos(), completion));
		wakeUp();
	}

	/**
	 * Suspend the candidacy for some time, at most until {@link #resumeCandidacy}, if
	 * this node does not hold the lock. Does not wait.
	 */
	void suspendForSpread(Duration time) {
		applyAndWakeUp((state, now) -> this.transitions.suspendForSpread(state, now, time.toNanos()));
	}

	/**
	 * Resume the candidacy if it is suspended for this cause.
	 */
	void resumeCandidacy(Suspension cause) {
		applyAndWakeUp((state, now) -> this.transitions.resume(state, cause));
	}

	private void applyAndWakeUp(Step step) {
		ElectionState before = this.state;
		if (apply(step) != before) {
			wakeUp();
		}
	}

	/**
	 * Ask the leader to hand over, whichever node that is. Does not wait.
	 * @param only the term that should end, or {@code null} for any
	 * @param cause who or what requests it
	 */
	ResignationAnswer requestResignation(@Nullable Term only, String cause) {
		ElectionState known = this.state;
		ResignationAnswer answer = (this.current != null)
				? ResignationAnswer.of(known, this.platform.nanoTime(), this.timings, only)
				: ResignationAnswer.refused("this node does not participate in the election");
		Term term = answer.term();
		Holder leader = known.view().leader();
		if (term != null && known.holdsLock()) {
			CompletableFuture<Boolean> completion = resignation();
			apply((state, now) -> term.equals(state.term()) ? this.transitions.resign(state, now, cause, completion)
					: state);
			wakeUp();
		}
		else if (term != null && leader != null) {
			if (this.effects.isRequestOverdue()) {
				return ResignationAnswer.refused("an earlier request still waits for the database");
			}
			if (!term.equals(known.request())) {
				request(leader, term, cause);
			}
		}
		return answer;
	}

	private void request(Holder leader, Term term, String cause) {
		apply((state, now) -> this.transitions.request(state, now, leader, term, cause));
		try {
			this.effects.runRequest(() -> {
				try {
					loop().requestResignation(term, cause);
				}
				finally {
					apply((state, now) -> this.transitions.endRequest(state, term));
				}
			});
		}
		catch (Throwable ex) {
			apply((state, now) -> this.transitions.endRequest(state, term));
			throw ex;
		}
	}

	/**
	 * Wait until this node leads, for at most the given time.
	 */
	boolean awaitLeadership(Duration timeout) throws InterruptedException {
		return awaitChange(timeout, () -> leadership() != null);
	}

	/**
	 * Wait until this node leads or does not lead, and until its listeners have been
	 * notified, for at most the given time.
	 */
	boolean awaitNotified(boolean leads, Duration timeout) throws InterruptedException {
		return awaitChange(timeout,
				() -> (leads ? leadership() != null : !this.state.holdsLock()) && this.effects.relay().isIdle());
	}

	private boolean awaitChange(Duration timeout, BooleanSupplier enough) throws InterruptedException {
		// Saturates, unlike Duration.toNanos()
		long remaining = Math.max(0, TimeUnit.NANOSECONDS.convert(timeout));
		long deadline = this.platform.nanoTime() + remaining;
		while (!await(remaining, enough)) {
			remaining = deadline - this.platform.nanoTime();
			if (remaining <= 0) {
				return false;
			}
		}
		return true;
	}

	/**
	 * Wait on the election thread until a condition holds, for at most the given time.
	 */
	void pause(long nanos, BooleanSupplier enough) {
		long deadline = this.platform.nanoTime() + nanos;
		for (long remaining = nanos; remaining > 0
				&& !enough.getAsBoolean(); remaining = deadline - this.platform.nanoTime()) {
			try {
				await(remaining, enough);
			}
			catch (InterruptedException ex) {
				// The thread is only interrupted to end a call, which has ended meanwhile
			}
		}
	}

	/**
	 * Wait for a change, for at most the given time. May return early.
	 * @param enough the condition, evaluated under the lock, so that no change is missed
	 * @return whether the condition holds
	 */
	private boolean await(long nanos, BooleanSupplier enough) throws InterruptedException {
		return locked(() -> {
			if (nanos > 0 && !enough.getAsBoolean()) {
				this.platform.await(this.changed, nanos);
			}
			return enough.getAsBoolean();
		});
	}

	/**
	 * Exclude the current thread from the hand-over if it runs leader work or a listener
	 * of this election, since it is about to wait for the hand-over itself.
	 */
	void detachCurrent() {
		Work work = gate().current();
		if (work != null) {
			work.detach();
		}
		this.effects.relay().detachCurrent();
		wakeUp();
	}

	/**
	 * Called when work has ended. Cheap while leading, since nothing waits for it then.
	 */
	@Override
	public void workEnded() {
		if (!(this.state.position() instanceof Leading)) {
			wakeUp();
		}
	}

	/**
	 * Have the election thread evaluate the state again.
	 */
	@Override
	public void wakeUp() {
		locked(() -> {
			this.changed.signalAll();
			loop().wake();
			return true;
		});
	}

	private <T extends @Nullable Object, X extends Exception> T locked(Action<T, X> action) throws X {
		this.lock.lock();
		try {
			return action.run();
		}
		finally {
			this.lock.unlock();
		}
	}

	@Override
	public String toString() {
		return "election '" + this.settings.election() + "', node '" + this.settings.nodeId() + "'";
	}

	/**
	 * A transition, with what it needs besides the state and the time.
	 */
	@FunctionalInterface
	interface Step {

		ElectionState apply(ElectionState state, Moment now);

	}

	@FunctionalInterface
	private interface Action<T extends @Nullable Object, X extends Exception> {

		T run() throws X;

	}

	/**
	 * The time from a start to its stop.
	 *
	 * @param decision completes at the first decision
	 * @param end completes when the lock is free and the session has ended
	 */
	private record Participation(CompletableFuture<@Nullable Void> decision, CompletableFuture<@Nullable Void> end) {

		Participation() {
			this(new CompletableFuture<>(), new CompletableFuture<>());
		}

		void complete() {
			this.decision.complete(null);
			this.end.complete(null);
		}

	}

}
