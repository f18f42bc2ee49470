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
import java.util.Locale;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.Lock;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import java.util.function.UnaryOperator;

import io.leaderelection.ElectionEvent;
import io.leaderelection.Leader;
import io.leaderelection.LeaderChangedEvent;
import io.leaderelection.Leadership;
import io.leaderelection.LeadershipGrantedEvent;
import io.leaderelection.LeadershipRevokedEvent;
import io.leaderelection.LeadershipRevokedEvent.Reason;
import io.leaderelection.Term;
import io.leaderelection.engine.ElectionState.Contact;
import io.leaderelection.engine.ElectionState.HandOver;
import io.leaderelection.engine.ElectionState.Problem;
import io.leaderelection.engine.ElectionState.Suspension;
import io.leaderelection.engine.Position.Draining;
import io.leaderelection.engine.Position.Elected;
import io.leaderelection.engine.Position.Following;
import io.leaderelection.engine.Position.Granted;
import io.leaderelection.engine.Position.Leading;
import io.leaderelection.engine.Position.Notified;
import io.leaderelection.engine.SerialWorker.Task;
import io.leaderelection.engine.StoreSession.Candidate;
import io.leaderelection.engine.StoreSession.ForeignHolder;
import io.leaderelection.engine.StoreSession.Holder;
import io.leaderelection.engine.StoreSession.View;
import io.leaderelection.engine.TermLeadership.Loss;
import io.leaderelection.engine.Transition.Kind;
import org.jspecify.annotations.Nullable;

/*
 * The election
 * ============
 *
 * The lock. The holder of the lock of the store may lead. If a session sends nothing for
 * a lease, the store ends the session and frees its lock. A node therefore trusts its
 * leadership only until the start of its last successful confirmation plus three quarters
 * of the lease. The store starts its timeout no earlier than the start of the
 * confirmation, whatever happens to the reply. Trust therefore ends before another node
 * can win the lock. Trust never counts from the reply: a reply may be read an hour after
 * it was sent.
 *
 * The state. All visible state is one immutable ElectionState in one volatile field.
 * Reads take no lock. Every transition (check, write, enqueue its event) happens under
 * one lock, on the thread that is first to make it:
 *
 *   Stopped -> Following      the election thread, at start
 *   Following -> Elected      the election thread, when it has won the lock
 *   Elected -> Leading        the election thread, when no session, lock or fenced
 *                             transaction of an earlier term is left
 *   Leading -> Draining       any thread, on resign and stop: the gate is closed from now on
 *   Draining -> Notified      the election thread, when no work is in flight: revoked event
 *   Notified -> Following     the election thread, when the listeners have returned; the
 *                             lock is freed after this transition, never before
 *   granted -> Following      the watchdog when trust has expired, or the election thread
 *                             when the session has ended: revoked event, unless enqueued
 *   any -> Stopped            the election thread, at the end of a stop
 *
 * Only trust may end before its transition, and then without the lock: if there is no
 * memory for a transition, the transition is repeated until there is. Meanwhile this node
 * does not trust the term.
 *
 * "Granted" is each of Leading, Draining and Notified. Since the event is enqueued under
 * the same lock, granted and revoked events alternate and are in order, whichever thread
 * makes the transition. An event is created before its transition is written, and is
 * linked to the queue of the relay without an allocation. A lack of memory or threads may
 * therefore delay an event, but never lose it.
 *
 * The threads. The election thread (ElectionLoop) owns the session and is the only thread
 * that calls the store. It may block in a socket, so nothing that must happen on time
 * depends on it. The watchdog (one for all elections) revokes leadership when trust has
 * expired, and aborts a session whose call takes too long. It logs nothing, runs no code
 * of the application and waits for no lock that is held for long. The relay runs
 * listeners, which may block for any time. A few other threads cancel work. Work runs on
 * the threads of the application. If a thread dies, it is started again: the election
 * thread by the watchdog, and the watchdog by the next call of an election thread.
 *
 * Before the grant. The winner waits for two conditions, in this order: no session holds a
 * lock of an earlier term (a session that ends frees its locks one by one); every fenced
 * transaction of earlier terms has ended. The store may have verified both when the lock
 * was won. The takeover delay runs beside them (if the store has ended the session of a
 * leader, that leader may need some time to notice it). Shortly before its end, the winner
 * confirms, and the trust of the grant counts from the start of that confirmation. What it
 * finds remains so while the winner holds the lock.
 *
 * The fence. A process can pause between its decision and its commit, and its trust can
 * expire meanwhile. The last step of a transaction of leader work before its commit is
 * therefore to take a shared lock on the fence, and then to verify that its own term still
 * holds its lock. The winner of every later term must hold the fence exclusively once.
 * Because of this order, either the winner waits for the end of the transaction, or the
 * transaction finds that its term has ended, and is rolled back.
 *
 * Handing over. The intent is one object, the HandOver: its reason, its deadline, who
 * waits for it, and whether the node takes part afterwards. The gate counts a call first
 * and checks leadership second, whereas this class changes the state first and counts work
 * second. A drain therefore never misses work that has just begun. Confirmations continue
 * while work drains: the work still runs under a trusted lease. The lock is freed last. If
 * the lease is lost meanwhile, there is no lock left to hand over, and the hand-over
 * becomes a loss.
 *
 * After a loss. The work of the old term is interrupted. The node is not a candidate again
 * before that work has ended or drain-timeout has passed. A late confirmation never revives
 * a term: the node must acquire the lock again, in a new term.
 *
 * Suspension. A node suspends its candidacy in three cases: its application is unhealthy,
 * leader-only services could not be started, or it has resigned and lets other candidates
 * go first. It hands over, does not wait for the lock and only observes. This ends when
 * its time is over, when the cause has ended or, after a resignation, when a successor was
 * observed or no other candidate is left.
 *
 * Requests. Any node may request that the leader resigns. Its election thread stores the
 * request between two waits for the lock. The request contains the leader's term, so that
 * it can never end a later one. The leader finds it with its next confirmation and resigns
 * as after a local call. The request is withdrawn when a later term is known.
 *
 * Watching. A store may limit the number of candidates, and may be observed without a
 * session. A node then begins without one, and opens one when it may be admitted as a
 * candidate. If it is not admitted, it closes the session and watches again. So does a
 * node whose candidacy is suspended, except after a resignation, and a node that is no
 * candidate never opens a session, except for a request, which a session of its own holds
 * as long as it may be obeyed. Admission has no effect on safety: all rules above apply
 * among the sessions that were admitted.
 *
 * Observation. The reply of the store to a wait, an observation or a confirmation also
 * says which sessions lead and are candidates. The names of their nodes are queried only
 * when these sessions have changed, and by a leader only after its trust has been
 * extended. Trust therefore never depends on that query.
 *
 * Participations. Each start() begins one, and stop() ends it. A start during an
 * unfinished stop begins another one on the same thread when the stop is complete. The
 * order of the steps is in ElectionLoop and LeadingTerm. Their effects on other threads are
 * in this class.
 */
/**
 * The engine of one election on one node: its state and all transitions. Not final, since
 * the fault tests extend it by mutants.
 */
class Election implements TermLeadership.Owner, WorkGate.Owner {

	/** A follower receives an answer of the store about every second. */
	private static final Duration LONGEST_SILENCE = Duration.ofSeconds(3);

	/** About 146 years. */
	private static final long FOREVER = Long.MAX_VALUE / 2;

	private static final int CANCELLERS = 4;

	private final ElectionSettings settings;

	private final ElectionTimings timings;

	private final Platform platform;

	private final ElectionLog log;

	private final FenceChecks fenceChecks;

	private final SessionNames names;

	/** The subject of events of other leaders. */
	private final Object others = new Object();

	private final ElectionStatistics statistics;

	private final Platform.Workers aside;

	private final WorkGate gate;

	private final Consumer<ElectionEvent> publisher;

	private final SerialWorker relay;

	private final Lock lock;

	private final Condition changed;

	private volatile ElectionState state;

	private volatile Loop loop = Loop.NONE;

	/** Ends the work and listeners of a lost leadership, until this has been done. */
	private volatile @Nullable Runnable lost;

	/** The leadership whose hand-over was last interrupted at its deadline. */
	private volatile @Nullable TermLeadership overdue;

	private boolean announced;

	/** What listeners know of another leader. */
	private @Nullable Leader published;

	private @Nullable Participation current;

	private @Nullable Participation next;

	Election(ElectionSettings settings, ElectionTimings timings, TransactionFence fence, Platform platform,
			Consumer<ElectionEvent> publisher, ElectionLog log) {
		this.settings = settings;
		this.timings = timings;
		this.platform = platform;
		this.log = log;
		this.fenceChecks = new FenceChecks(fence);
		this.statistics = new ElectionStatistics(this.fenceChecks);
		this.names = new SessionNames(settings.election());
		this.lock = platform.newLock();
		this.changed = this.lock.newCondition();
		Runnable onStarvation = () -> this.loop.checkWithin(Watchdog.PAUSE_AFTER_FAILURE);
		this.aside = platform.newWorkers(settings.election() + "-aside", CANCELLERS, onStarvation);
		this.gate = new WorkGate(this, this.aside);
		this.publisher = publisher;
		this.relay = new SerialWorker(platform.newWorkers(settings.election() + "-events", 1, onStarvation),
				this::wakeUp, onStarvation);
		this.state = ElectionState.stopped(platform.nanoTime());
	}

	/**
	 * Set the loop of this election. Called once, before the first start.
	 */
	void runBy(Loop newLoop) {
		this.loop = newLoop;
	}

	// Reads: on any thread, without the lock

	@Override
	public ElectionSettings settings() {
		return this.settings;
	}

	ElectionTimings timings() {
		return this.timings;
	}

	Platform platform() {
		return this.platform;
	}

	ElectionLog log() {
		return this.log;
	}

	WorkGate gate() {
		return this.gate;
	}

	@Override
	public FenceChecks fenceChecks() {
		return this.fenceChecks;
	}

	ElectionStatistics statistics() {
		return this.statistics;
	}

	SerialWorker relay() {
		return this.relay;
	}

	ElectionState state() {
		return this.state;
	}

	@Override
	public long nanoTime() {
		return this.platform.nanoTime();
	}

	/**
	 * Return the leadership of this node, or {@code null} if it may not start leader
	 * work.
	 */
	@Override
	public @Nullable TermLeadership leadership() {
		return (this.state.position() instanceof Leading leading && isTrusted(leading)) ? leading.leadership() : null;
	}

	/**
	 * Return the leader as this node knows it, which may be itself, or {@code null}.
	 */
	@Nullable Holder leader() {
		ElectionState known = this.state;
		Granted granted = known.granted();
		if (granted != null && isTrusted(granted)) {
			return own(granted.leadership());
		}
		Holder observed = known.view().leader();
		return (observed != null && !isSelf(observed)) ? observed : null;
	}

	/**
	 * Return this node as the leader.
	 */
	Holder own(TermLeadership leadership) {
		return new Holder(leadership.getNodeId(), String.valueOf(this.state.contact().session()), leadership.getTerm(),
				leadership.getSince(), this.settings.profile(), null);
	}

	/**
	 * Return whether a session is one of this node: the store may keep a former session
	 * for some time.
	 */
	private boolean isSelf(Holder observed) {
		return this.names.isSame(observed.nodeId(), this.settings.nodeId());
	}

	@Override
	public boolean isTrusted(TermLeadership leadership) {
		return this.state.position() instanceof Granted granted && granted.leadership() == leadership
				&& isTrusted(granted);
	}

	private boolean isTrusted(Granted granted) {
		return granted.trustRemaining(this.platform.nanoTime()) > 0;
	}

	/**
	 * Return whether a hand-over has no leader work to wait for.
	 */
	boolean isDrained() {
		return this.gate.isDrained();
	}

	/**
	 * Return whether a hand-over has neither leader work nor listeners to wait for.
	 */
	boolean hasEnded() {
		// In this order: the listeners stop services, whose work counts from then on
		return this.relay.isSettled() && this.gate.isDrained();
	}

	boolean isStopping() {
		return this.state.isStopping();
	}

	boolean isSuspended() {
		return this.state.isSuspended(this.platform.nanoTime());
	}

	long suspensionRemaining() {
		return this.state.suspensionRemaining(this.platform.nanoTime());
	}

	boolean isSuspended(Suspension cause) {
		return this.state.isSuspended(cause, this.platform.nanoTime());
	}

	/**
	 * Return whether this node must not be granted leadership.
	 */
	boolean mustNotLead() {
		return this.state.handOver() != null || isSuspended();
	}

	// Requests: on any thread

	/**
	 * Participate from now on.
	 * @return a future that completes at the first decision: this node leads, or follows
	 * for now. It fails if the store cannot hold elections, and with any
	 * {@link SessionException} that makes this node a follower for now.
	 */
	CompletableFuture<@Nullable Void> start() {
		this.lock.lock();
		try {
			Participation running = this.current;
			if (running == null) {
				running = new Participation();
				this.loop.start();
				this.current = running;
			}
			else if (isStopping()) {
				running = (this.next != null) ? this.next : new Participation();
				this.next = running;
			}
			return running.decision();
		}
		finally {
			this.lock.unlock();
		}
	}

	/**
	 * Stop participating, with an orderly hand-over. Does not wait.
	 * @return a future that completes when the lock is free and the session has ended
	 */
	CompletableFuture<@Nullable Void> stop() {
		this.lock.lock();
		try {
			Participation running = this.current;
			if (running == null) {
				return CompletableFuture.<@Nullable Void>completedFuture(null);
			}
			Participation waiting = this.next;
			if (waiting != null) {
				this.next = null;
				running.end().thenRun(waiting::complete);
			}
			if (!isStopping()) {
				beginHandOver(Reason.STOPPED, null, true);
			}
			return running.end();
		}
		finally {
			this.lock.unlock();
		}
	}

	/**
	 * Hand leadership over. Does not wait.
	 * @return a future that completes with {@code true} when the lock was freed, with
	 * {@code false} if leadership was lost before or this node did not lead
	 */
	CompletableFuture<Boolean> resign() {
		return resign("application");
	}

	CompletableFuture<Boolean> resign(String cause) {
		this.lock.lock();
		try {
			HandOver handOver = this.state.handOver();
			if (handOver == null && this.state.holdsLock()) {
				handOver = beginHandOver(Reason.RESIGNED, cause, false);
				this.loop.resigned();
			}
			return (handOver != null) ? handOver.completion().copy() : CompletableFuture.completedFuture(false);
		}
		finally {
			this.lock.unlock();
		}
	}

	/**
	 * Close the gate and have the election thread hand over. Called under the lock.
	 */
	private HandOver beginHandOver(Reason reason, @Nullable String cause, boolean stops) {
		ElectionState before = this.state;
		HandOver known = before.handOver();
		long interruptAt = (known != null) ? known.interruptAt()
				: this.platform.nanoTime() + this.settings.drainTimeout().toNanos();
		long deadline = stopLimit() + ((before.granted() != null) ? interruptAt : this.platform.nanoTime());
		HandOver handOver = new HandOver((known != null) ? known.reason() : reason,
				(known != null) ? known.cause() : cause, stops, interruptAt, deadline,
				(known != null) ? known.completion() : before.holdsLock() ? new Resignation<>(this::detachCurrent)
						: CompletableFuture.completedFuture(false));
		Position position = (before.position() instanceof Leading leading)
				? new Draining(leading.leadership(), leading.trustedUntil()) : before.position();
		this.state = before.at(position).handingOver(handOver);
		if (stops) {
			this.relay.interrupt(this.others);
		}
		wake();
		long now = this.platform.nanoTime();
		this.loop.checkWithin(Math.min(interruptAt - now, deadline - now));
		return handOver;
	}

	/**
	 * Return how long a stop waits for the store when there is nothing else to wait for.
	 */
	private long stopLimit() {
		return ElectionSettings.GRACE.plus(this.timings.stopMargin()).toNanos();
	}

	/**
	 * Hand leadership over if this node leads, and suspend the candidacy until
	 * {@link #resumeCandidacy} for the same cause. Does not wait.
	 */
	void suspendCandidacy(Suspension cause) {
		this.lock.lock();
		try {
			suspend(cause, FOREVER);
			resign(cause.name().toLowerCase(Locale.ROOT));
			wake();
		}
		finally {
			this.lock.unlock();
		}
	}

	/**
	 * Hand a term over, unless it has ended, and suspend the candidacy for some time if
	 * there are other candidates. Does not wait.
	 */
	void suspendCandidacy(Suspension cause, Leadership leadership, Duration time) {
		this.lock.lock();
		try {
			if (this.state.leadership() == leadership) {
				if (this.state.view().candidates().size() > 1) {
					suspend(cause, time.toNanos());
				}
				resign(cause.name().toLowerCase(Locale.ROOT));
			}
		}
		finally {
			this.lock.unlock();
		}
	}

	/** Called under the lock. */
	private void suspend(Suspension cause, long nanos) {
		this.state = this.state.suspended(cause, this.platform.nanoTime() + nanos);
	}

	/**
	 * Resume the candidacy if it is suspended for this cause.
	 */
	void resumeCandidacy(Suspension cause) {
		this.lock.lock();
		try {
			if (this.state.suspensions().containsKey(cause)) {
				this.state = this.state.resumed(cause);
				wake();
			}
		}
		finally {
			this.lock.unlock();
		}
	}

	/**
	 * Ask the leader to hand over, whichever node that is. Does not wait.
	 * @param only the term that should end, or {@code null} for any
	 * @param cause who or what requests it
	 */
	ResignationAnswer requestResignation(@Nullable Term only, String cause) {
		this.lock.lock();
		try {
			ElectionState state = this.state;
			Holder leader = state.view().leader();
			Term term = state.term();
			boolean following = state.position() instanceof Following;
			if (this.current == null || state.isStopping() && !state.holdsLock()) {
				return ResignationAnswer.refused("this node does not participate in the election");
			}
			if (state.handOver() != null && term != null && (only == null || only.equals(term))) {
				return ResignationAnswer.requested(term);
			}
			Problem problem = state.contact().problem();
			if (problem != null) {
				return ResignationAnswer.refused("this node has no session: " + problem.message());
			}
			if (following && this.platform.nanoTime() - state.contact().last() > longestSilence(state)) {
				return ResignationAnswer.refused("the database does not answer");
			}
			Term led = following ? ((leader != null) ? leader.term() : null) : term;
			if (led == null) {
				return ResignationAnswer.refused("no leader is known");
			}
			if (!hasSuccessor(state.view(), following)) {
				return ResignationAnswer.refused("there is no other candidate");
			}
			if (only != null && !only.equals(led)) {
				return ResignationAnswer.refused("another term has begun in the meantime");
			}
			if (!following) {
				resign(cause);
			}
			else if (leader != null && !led.equals(state.request())) {
				this.state = state.requesting(led)
					.remembering(
							new Transition(this.platform.now(), Kind.REQUESTED, leader.nodeId(), led, null, cause));
				wake();
			}
			return ResignationAnswer.requested(led);
		}
		finally {
			this.lock.unlock();
		}
	}

	private long longestSilence(ElectionState state) {
		return (state.contact().watching() ? LONGEST_SILENCE.plus(this.timings.watchInterval()) : LONGEST_SILENCE)
			.toNanos();
	}

	/**
	 * Return whether a candidate is left when the leader resigns. A leader that has ended
	 * may not be among the candidates any longer.
	 */
	private static boolean hasSuccessor(View view, boolean following) {
		Holder leader = view.leader();
		return (following && leader != null)
				? view.candidates().stream().anyMatch((candidate) -> !candidate.nodeId().equals(leader.nodeId()))
				: view.candidates().size() > 1;
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
				() -> (leads ? leadership() != null : !this.state.holdsLock()) && this.relay.isIdle());
	}

	private boolean awaitChange(Duration timeout, BooleanSupplier enough) throws InterruptedException {
		// Saturates, unlike Duration.toNanos()
		long deadline = this.platform.nanoTime() + Math.max(0, TimeUnit.NANOSECONDS.convert(timeout));
		this.lock.lockInterruptibly();
		try {
			while (!enough.getAsBoolean()) {
				long remaining = deadline - this.platform.nanoTime();
				if (remaining <= 0) {
					return false;
				}
				this.platform.await(this.changed, remaining);
			}
			return true;
		}
		finally {
			this.lock.unlock();
		}
	}

	/**
	 * Lose leadership as if the store had ended the session.
	 */
	void revoke(Reason reason) {
		TermLeadership leadership = this.state.leadership();
		if (leadership != null) {
			lose(leadership, reason, this.loop::abortSession);
		}
	}

	/**
	 * Exclude the current thread from the hand-over if it runs leader work or a listener
	 * of this election, since it is about to wait for the hand-over itself.
	 */
	void detachCurrent() {
		Work work = this.gate.current();
		if (work != null) {
			work.detach();
		}
		this.relay.detachCurrent();
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

	void wakeUp() {
		this.lock.lock();
		try {
			wake();
		}
		finally {
			this.lock.unlock();
		}
	}

	/** Called under the lock. */
	private void wake() {
		this.changed.signalAll();
		this.loop.wake();
	}

	/**
	 * Run a task that may block on another thread.
	 */
	void runAside(Runnable task) {
		this.aside.execute(task);
	}

	/**
	 * Return for how long this node has led since the start of the application.
	 */
	Duration led() {
		this.lock.lock();
		try {
			return Duration.ofNanos(this.statistics.led(this.state, this.platform.nanoTime()));
		}
		finally {
			this.lock.unlock();
		}
	}

	// Deadlines: on the watchdog

	/**
	 * Return the time until trust expires, in nanoseconds, or a long time if there is
	 * none.
	 */
	long trustRemaining() {
		Granted granted = this.state.granted();
		return (granted != null) ? granted.trustRemaining(this.platform.nanoTime()) : Watchdog.NO_DEADLINE;
	}

	/**
	 * Return the time until a stop must end the session, in nanoseconds, or a long time
	 * if there is no stop.
	 */
	long stopRemaining() {
		HandOver handOver = this.state.handOver();
		return (handOver != null && handOver.stops()) ? handOver.deadline() - this.platform.nanoTime()
				: Watchdog.NO_DEADLINE;
	}

	/**
	 * Create threads for the tasks that still have none.
	 * @return whether each task has a thread
	 */
	boolean reviveWorkers() {
		boolean relayed = this.relay.revive();
		return this.aside.revive() && relayed;
	}

	/**
	 * Restart a thread that has died, unless it has nothing left to do.
	 */
	void revive(Runnable start) {
		this.lock.lock();
		try {
			if (this.current != null) {
				start.run();
			}
		}
		finally {
			this.lock.unlock();
		}
	}

	// Transitions: called under the lock

	/**
	 * Begin to participate. Called by the election thread.
	 */
	void begin() {
		update((current) -> {
			this.published = null;
			return current.following(View.NONE).with(new Contact(this.platform.nanoTime(), false, null, null, false));
		});
	}

	/**
	 * Stop participating. Called by the election thread.
	 * @return whether another participation follows
	 */
	boolean end() {
		boolean goesOn;
		endHandOver(false);
		this.lock.lock();
		Participation ended = this.current;
		try {
			this.state = this.state.stopped();
			this.current = this.next;
			this.next = null;
			goesOn = this.current != null;
			this.changed.signalAll();
			if (!goesOn) {
				this.loop.ended();
			}
		}
		finally {
			this.lock.unlock();
			if (ended != null) {
				ended.complete();
			}
		}
		return goesOn;
	}

	/**
	 * Complete the first decision of this participation.
	 * @param failure the failure that made this node a follower for now, or {@code null}
	 */
	void decide(@Nullable SessionException failure) {
		Participation running;
		this.lock.lock();
		try {
			running = this.current;
		}
		finally {
			this.lock.unlock();
		}
		if (running != null && failure != null) {
			running.decision().completeExceptionally(failure);
		}
		else if (running != null) {
			running.decision().complete(null);
		}
	}

	void elect(Term term) {
		update((current) -> current.at(new Elected(term, null))
			.with(new View(null, current.view().candidates(), null)));
		this.relay.retain(true);
	}

	void block(@Nullable String by) {
		update((current) -> (current.position() instanceof Elected elected)
				? current.at(new Elected(elected.term(), by)) : current);
	}

	/**
	 * Grant leadership unless it is no longer wanted or already outdated.
	 */
	boolean grant(TermLeadership leadership, long anchor) {
		this.lock.lock();
		try {
			long until = anchor + this.settings.trustNanos();
			if (mustNotLead() || until - this.platform.nanoTime() <= 0) {
				return false;
			}
			Task granted = delivery(leadership, new LeadershipGrantedEvent(leadership), leadership);
			this.state = this.state.at(new Leading(leadership, until))
				.requesting(null)
				.remembering(transition(Kind.GRANTED, leadership, null, null));
			this.published = null;
			this.relay.interrupt(this.others);
			this.relay.add(granted);
			this.statistics.granted(this.platform.nanoTime());
			this.changed.signalAll();
			this.loop.checkWithin(until - this.platform.nanoTime());
			return true;
		}
		finally {
			this.lock.unlock();
		}
	}

	/**
	 * Extend trust, unless it has expired.
	 */
	boolean extend(TermLeadership leadership, long anchor) {
		this.lock.lock();
		try {
			Granted granted = this.state.granted();
			if (granted == null || !isTrusted(leadership)) {
				return false;
			}
			this.state = this.state.at(granted.trustedUntil(anchor + this.settings.trustNanos()));
			return true;
		}
		finally {
			this.lock.unlock();
		}
	}

	/**
	 * Proceed from draining: all work has ended, or the time to wait for it is over.
	 */
	void notifyListeners(TermLeadership leadership) {
		this.lock.lock();
		try {
			HandOver handOver = this.state.handOver();
			if (this.state.position() instanceof Draining draining && draining.leadership() == leadership
					&& handOver != null) {
				Task revoked = revocation(leadership, handOver.reason());
				this.state = this.state.at(new Notified(leadership, draining.trustedUntil()))
					.remembering(transition(Kind.REVOKED, leadership, handOver.reason(), handOver.cause()));
				this.statistics.revokedFor(handOver.reason());
				this.relay.add(revoked);
			}
		}
		finally {
			this.lock.unlock();
		}
	}

	/**
	 * End trust before the lock is freed.
	 * @return whether this node still had that leadership
	 */
	boolean completeHandOver(TermLeadership leadership) {
		this.lock.lock();
		try {
			if (this.state.leadership() != leadership) {
				return false;
			}
			notifyListeners(leadership);
			long now = this.platform.nanoTime();
			this.statistics.ended(this.state, now);
			HandOver handOver = this.state.handOver();
			if (handOver != null) {
				this.state = this.state.handingOver(handOver.endingBy(now + stopLimit()));
				this.loop.checkWithin(stopLimit());
			}
			this.state = this.state.following(View.NONE);
			this.changed.signalAll();
			return true;
		}
		finally {
			this.lock.unlock();
		}
	}

	/**
	 * End trust without allocating anything, before the session ends: if there is no
	 * memory, {@link #lose} may succeed only when another node already leads.
	 */
	void loseTrust() {
		TermLeadership leadership = this.state.leadership();
		if (leadership != null) {
			leadership.loseTrust();
		}
	}

	/**
	 * End leadership that can no longer be handed over, then its session, and then its
	 * work and listeners.
	 * @param abort ends the session; never blocks
	 */
	void lose(TermLeadership leadership, Reason reason, Runnable abort) {
		if (loseTerm(leadership, reason, abort)) {
			interruptLost();
		}
	}

	private boolean loseTerm(TermLeadership leadership, Reason reason, Runnable abort) {
		this.lock.lock();
		try {
			Granted granted = this.state.granted();
			if (granted == null || granted.leadership() != leadership) {
				return false;
			}
			long now = this.platform.nanoTime();
			boolean notified = granted instanceof Notified;
			long silence = now - (granted.trustedUntil() - this.settings.trustNanos());
			Loss loss = new Loss(reason, silence, notified);
			Runnable end = () -> interruptLost(leadership, loss, abort);
			Task revoked = revocation(leadership, reason);
			ElectionState following = this.state.following(View.NONE);
			if (!notified) {
				following = following.remembering(transition(Kind.REVOKED, leadership, reason, null));
				this.statistics.revokedFor(reason);
			}
			this.statistics.ended(this.state, now);
			leadership.lost(loss);
			this.lost = end;
			this.state = following;
			if (!notified) {
				this.relay.add(revoked);
			}
			this.changed.signalAll();
			return true;
		}
		finally {
			this.lock.unlock();
		}
	}

	/**
	 * End the session of a lost leadership and then its work and listeners, unless this
	 * has been done. If this fails for lack of memory, it must be called again.
	 */
	void interruptLost() {
		Runnable end = this.lost;
		if (end != null) {
			end.run();
			clearLost(end);
		}
	}

	private void interruptLost(TermLeadership leadership, Loss loss, Runnable abort) {
		try {
			abort.run();
		}
		finally {
			this.gate.interruptAll(leadership);
			if (loss.notified()) {
				// A listener of the hand-over has no time left, since the hand-over has
				// ended
				this.relay.interrupt();
			}
			else {
				// The listener of the grant: the revoked event is behind it
				this.relay.interrupt(leadership);
			}
		}
	}

	private void clearLost(Runnable ended) {
		this.lock.lock();
		try {
			if (this.lost == ended) {
				this.lost = null;
			}
		}
		finally {
			this.lock.unlock();
		}
	}

	/**
	 * Interrupt work and listeners of a hand-over whose deadline has passed. May be
	 * called by any thread, and repeatedly.
	 * @return the time until that deadline, in nanoseconds, or a long time if it has
	 * passed or there is no hand-over
	 */
	long interruptOverdue() {
		ElectionState current = this.state;
		HandOver handOver = current.handOver();
		TermLeadership leadership = current.leadership();
		if (handOver == null || leadership == null || leadership == this.overdue) {
			return Watchdog.NO_DEADLINE;
		}
		long remaining = handOver.interruptAt() - this.platform.nanoTime();
		if (remaining <= 0) {
			interruptOverdue(leadership);
		}
		return (remaining > 0) ? remaining : Watchdog.NO_DEADLINE;
	}

	// Under the lock, and the listener first: a listener that is notified at the end of
	// the last work has its own deadline
	private void interruptOverdue(TermLeadership leadership) {
		this.lock.lock();
		try {
			if (this.state.leadership() == leadership && this.overdue != leadership) {
				this.relay.interrupt();
				this.gate.interruptAll(leadership);
				this.overdue = leadership;
			}
		}
		finally {
			this.lock.unlock();
		}
	}

	/**
	 * Return to following if the lock was won but not granted, and end the hand-over
	 * unless it is a stop.
	 * @param freed whether the lock was freed
	 */
	void followAgain(boolean freed) {
		update((current) -> (current.position() instanceof Elected) ? current.following(View.NONE) : current);
		this.relay.retain(false);
		endHandOver(freed);
	}

	private void endHandOver(boolean freed) {
		HandOver handOver;
		this.lock.lock();
		try {
			handOver = this.state.handOver();
			if (handOver == null) {
				return;
			}
			long yieldUntil = this.platform.nanoTime()
					+ Math.min(this.settings.lease().toNanos(), this.timings.maxYield().toNanos());
			this.state = handOver.stops() ? this.state.handingOver(handOver.ended(freed))
					: this.state.handingOver(null).suspended(Suspension.RESIGNED, yieldUntil);
		}
		finally {
			this.lock.unlock();
		}
		if (!handOver.completion().isDone()) {
			// Dependent stages are code of the application
			completeAside(handOver.completion(), freed);
		}
	}

	private void completeAside(CompletableFuture<Boolean> future, boolean result) {
		try {
			this.aside.execute(() -> future.complete(result));
		}
		catch (OutOfMemoryError ex) {
			// Completed on this thread rather than never
			future.complete(result);
		}
	}

	private Task revocation(TermLeadership leadership, Reason reason) {
		ElectionEvent event = new LeadershipRevokedEvent(leadership, reason);
		return delivery(event, event, leadership);
	}

	private Task delivery(Object subject, ElectionEvent event, Object described) {
		return new Task(subject, () -> deliver(event, described));
	}

	/**
	 * An event of another leader must not delay those of this node: when it no longer
	 * follows, the event is not delivered, and its listener is interrupted.
	 */
	private Task delivery(LeaderChangedEvent event) {
		return new Task(this.others, () -> {
			if (this.state.position() instanceof Following && !isStopping()) {
				deliver(event, this);
			}
		});
	}

	private void deliver(ElectionEvent event, Object described) {
		try {
			this.publisher.accept(event);
		}
		catch (Throwable ex) {
			this.log.warn("A listener of " + event.getClass().getSimpleName() + " failed (" + described + ")", ex);
		}
	}

	private Transition transition(Kind kind, TermLeadership leadership, @Nullable Reason reason,
			@Nullable String cause) {
		return new Transition(this.platform.now(), kind, leadership.getNodeId(), leadership.getTerm(), reason, cause);
	}

	/**
	 * Record what a follower has observed, and publish another leader or term.
	 */
	void follow(View view) {
		this.lock.lock();
		try {
			ElectionState before = this.state;
			if (before.granted() != null) {
				// Leadership must not end without an event
				return;
			}
			Holder leader = view.leader();
			Term term = (leader != null) ? leader.term() : null;
			ElectionState followed = before.following(view);
			if (leader == null || term == null) {
				this.state = followed;
				return;
			}
			if (!term.equals(before.request())) {
				followed = followed.requesting(null);
			}
			Leader visible = leader.visible();
			Task changed = (isSelf(leader) || visible.equals(this.published)) ? null
					: delivery(new LeaderChangedEvent(this.settings.election(), visible));
			this.state = before.remembers(leader) ? followed : followed
				.remembering(new Transition(this.platform.now(), Kind.FOLLOWED, leader.nodeId(), term, null, null));
			if (changed != null) {
				this.published = visible;
				this.relay.add(changed);
			}
		}
		finally {
			this.lock.unlock();
		}
	}

	/**
	 * Give up a request, unless another one was made. Called by the election thread.
	 */
	void dropRequest(@Nullable Term term) {
		update((current) -> Objects.equals(term, current.request()) ? current.requesting(null) : current);
	}

	/**
	 * Record the candidates and foreign sessions that a winner or leader has observed.
	 */
	void observe(List<Candidate> candidates, @Nullable ForeignHolder foreign) {
		update((current) -> {
			View view = new View(current.view().leader(), candidates, foreign);
			return view.equals(current.view()) ? current : current.with(view);
		});
	}

	/**
	 * Return whether this is the first time that this node logs whether it leads. Called
	 * by the election thread.
	 */
	boolean announce() {
		boolean first = !this.announced;
		this.announced = true;
		return first;
	}

	void contact(Contact contact) {
		update((current) -> current.with(contact));
	}

	private void update(UnaryOperator<ElectionState> change) {
		this.lock.lock();
		try {
			this.state = change.apply(this.state);
		}
		finally {
			this.lock.unlock();
		}
	}

	/**
	 * Wait on the election thread for a change, for at most the given time.
	 * @param enough the condition, evaluated under the lock, so that no change is missed
	 */
	void await(long nanos, BooleanSupplier enough) {
		this.lock.lock();
		try {
			if (!enough.getAsBoolean()) {
				this.platform.await(this.changed, nanos);
			}
		}
		catch (InterruptedException ex) {
			// The election thread is only interrupted to end a call, which has ended in
			// the meantime: callers evaluate their condition again
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
	 * The thread that runs an election, as used by the election. No method waits.
	 */
	interface Loop {

		/** None. */
		Loop NONE = new Loop() {
		};

		/**
		 * Start.
		 */
		default void start() {
		}

		/** Have the thread evaluate the state again. */
		default void wake() {
		}

		/**
		 * Note that this node lets other candidates go first.
		 */
		default void resigned() {
		}

		/**
		 * Check the deadlines again within a time, in nanoseconds.
		 */
		default void checkWithin(long nanos) {
		}

		/**
		 * End the session at once.
		 */
		default void abortSession() {
		}

		/**
		 * Note that no participation follows.
		 */
		default void ended() {
		}

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
