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
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import java.util.function.UnaryOperator;

import io.leaderelection.LeaderElector;
import io.leaderelection.Leadership;
import io.leaderelection.LeadershipEvent;
import io.leaderelection.LeadershipGrantedEvent;
import io.leaderelection.LeadershipRevokedEvent;
import io.leaderelection.LeadershipRevokedEvent.Reason;
import io.leaderelection.Term;
import io.leaderelection.engine.ElectionSession.Candidate;
import io.leaderelection.engine.ElectionSession.Leader;
import io.leaderelection.engine.ElectionSession.View;
import io.leaderelection.engine.ElectionState.Contact;
import io.leaderelection.engine.ElectionState.Departure;
import io.leaderelection.engine.ElectionState.Phase;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;

/*
 * The election
 * ============
 *
 * The lock. Who holds the lock of the store may lead. A session that falls silent for a
 * lease is ended by the store, and its lock is free. A node therefore trusts its
 * leadership only until the start of its last successful confirmation plus three quarters
 * of the lease: whatever happened to the reply, the store began to count no earlier than
 * that start, so the node has stopped before anybody else can win. The anchor is the
 * start and never the reply: a reply may be read an hour after it was sent.
 *
 * The state. Everything others may see is one immutable ElectionState behind one volatile
 * field. Reads take no lock. Every transition (check, write, enqueue its event) happens
 * under one lock, from whichever thread gets there first:
 *
 *   STOPPED -> FOLLOWING      the election thread, at start
 *   FOLLOWING -> ELECTED      the election thread, when it won the lock
 *   ELECTED -> LEADING        the election thread, when nothing of an earlier term is left
 *   LEADING -> DRAINING       any thread, on resign and stop: the gate is shut from here
 *   DRAINING -> LEAVING       the election thread, when no work is in flight: revoked event
 *   LEAVING -> FOLLOWING      the election thread, when the listeners are done: then, and
 *                             only then, it frees the lock
 *   any granted -> FOLLOWING  the watchdog when trust has run out, or the election thread
 *                             when the session has ended: revoked event, unless enqueued
 *   any -> STOPPED            the election thread, last
 *
 * Since the event is enqueued under the same lock, granted and revoked events alternate
 * and are in order, whoever made the transitions.
 *
 * The threads. The election thread owns the session and is the only one that talks to
 * the store; it may hang in a socket, and nothing that must happen on time depends on it.
 * The watchdog (one for all elections) revokes when trust has run out and aborts a
 * session whose call takes too long. The relay runs listeners, which may block as they
 * like. Work runs on the threads of the application.
 *
 * Before the grant. The winner waits, in this order, until no session holds a lock of an
 * earlier term (a dying session frees its locks one by one), until every fenced
 * transaction of earlier terms has ended, and until the takeover delay has run out: a
 * session that the store ended leaves a leader behind who may need a moment to notice.
 * Only then comes the confirmation whose start anchors the trust of the grant.
 *
 * The fence. Trust cannot stop a process that is paused between its decision and its
 * commit. So a transaction of leader work takes, last before its commit, a share of a lock
 * that the winner of every later term must have to itself once, and then looks whether its
 * own term still holds its lock. In the order above, either the winner waits for the end
 * of the transaction, or the transaction finds its term over and is rolled back.
 *
 * Leaving. The gate counts first and checks second, this class changes the state first
 * and looks for work second; so a drain never misses a job. Confirmations go on while
 * work drains: it still runs under a trusted lease. The lock is freed last. If the lease
 * is lost meanwhile there is nothing left to hand over, and the departure becomes a loss.
 *
 * Coming back. After a loss the old term's work is interrupted, and the node does not
 * stand again before that work has ended or drain-timeout has passed. A late success
 * never revives a term: a new one needs a new acquisition.
 *
 * Being asked to go. Any node may ask the leader to resign. Its election thread, woken
 * from its wait for the lock, leaves a request in the store that names the leader's term,
 * so that it can never end a later one. The leader finds it with its next confirmation and
 * resigns as if it had been asked itself; the request is taken back when the term is over.
 * A node that is withheld, since its application is not well, stands aside: it leads no
 * more and waits for no lock, but looks on.
 *
 * Looking on. Every answer of the store to a wait, a look and a confirmation also says
 * which sessions lead and stand. Who these are is asked only when that has changed, and by
 * a leader only after its trust has moved on: nothing that trust rests on waits for it.
 *
 * Runs. Each start() makes a Campaign, with a thread of its own; stop() ends it. A start
 * during an unfinished stop makes a new campaign that waits for the old one. What happens
 * when is there, in the order in which it happens; what it means for others is here.
 */
/**
 * The engine of one election on one node: its state, and every transition of it. Not
 * final for the mutants that the fault tests seed.
 */
public class Election {

	private static final Log logger = LogFactory.getLog(Election.class);

	/** A follower hears from the store every second. */
	private static final long LONGEST_SILENCE = TimeUnit.SECONDS.toNanos(3);

	private final ElectionSettings settings;

	private final ElectionSessions sessions;

	private final Watchdog watchdog;

	private final ThreadFactory threadFactory;

	private final TimeSource time;

	private final SessionCalls calls;

	private final FenceChecks fenceChecks;

	private final ElectionStatistics statistics = new ElectionStatistics();

	private final WorkGate gate;

	private final EventRelay relay;

	private final LeaderElector elector;

	private final ReentrantLock lock = new ReentrantLock();

	private final Condition changed = this.lock.newCondition();

	private volatile ElectionState state;

	private @Nullable Campaign campaign;

	private volatile @Nullable Campaign active;

	private volatile boolean withheld;

	private volatile long abstainsUntil;

	Election(ElectionSettings settings, ElectionSessions sessions, Watchdog watchdog, ThreadFactory threadFactory,
			TimeSource time, LeaderElector elector, Consumer<LeadershipEvent> publisher, Executor relayExecutor) {
		this.settings = settings;
		this.sessions = sessions;
		this.watchdog = watchdog;
		this.threadFactory = threadFactory;
		this.time = time;
		this.calls = new SessionCalls(time, watchdog);
		this.abstainsUntil = time.nanoTime();
		this.elector = elector;
		this.fenceChecks = new FenceChecks(sessions.fence());
		this.gate = new WorkGate(this);
		this.relay = new EventRelay(publisher, relayExecutor, this::wakeUp);
		this.state = ElectionState.stopped(time.nanoTime());
	}

	// Reads: any thread, no lock

	ElectionSettings settings() {
		return this.settings;
	}

	ElectionSessions sessions() {
		return this.sessions;
	}

	WorkGate gate() {
		return this.gate;
	}

	FenceChecks fenceChecks() {
		return this.fenceChecks;
	}

	ElectionStatistics statistics() {
		return this.statistics;
	}

	EventRelay relay() {
		return this.relay;
	}

	SessionCalls calls() {
		return this.calls;
	}

	ElectionState state() {
		return this.state;
	}

	long nanoTime() {
		return this.time.nanoTime();
	}

	/**
	 * Return the leadership of this node, or {@code null} if it may not start leader
	 * work.
	 */
	@Nullable TermLeadership leadership() {
		ElectionState current = this.state;
		return (current.phase() == Phase.LEADING && isTrusted(current)) ? current.leadership() : null;
	}

	/**
	 * Return the store's name of the session of this node, or {@code null}.
	 */
	@Nullable String sessionName() {
		Campaign running = this.active;
		ElectionSession session = (running != null) ? running.session() : null;
		return (session != null) ? session.name() : null;
	}

	/**
	 * Return whether no leader work is in flight that a hand-over waits for.
	 */
	boolean isDrained() {
		return this.gate.isDrained();
	}

	/**
	 * Return whether all leader work and all listeners have ended that a hand-over waits
	 * for.
	 */
	boolean hasEnded() {
		return this.gate.isDrained() && this.relay.isSettled();
	}

	boolean isTrusted(TermLeadership leadership) {
		ElectionState current = this.state;
		return current.leadership() == leadership && isTrusted(current);
	}

	private boolean isTrusted(ElectionState current) {
		return current.trustedUntil() - this.time.nanoTime() > 0;
	}

	// Requests: any thread

	/**
	 * Start a campaign unless one is running.
	 * @return a future that completes at the first decision: this node leads, or follows
	 * for now. It fails if no election can be held on the store, and with any
	 * {@link SessionException} after which this node is a follower for now.
	 */
	CompletableFuture<@Nullable Void> start() {
		this.lock.lock();
		try {
			Campaign running = this.campaign;
			if (running != null && !running.isStopping()) {
				return running.decision();
			}
			CompletableFuture<?> predecessor = (running != null) ? running.end()
					: CompletableFuture.completedFuture(true);
			Campaign next = new Campaign(this, this.sessions, this.time, predecessor);
			this.threadFactory.newThread(next::run).start();
			this.campaign = next;
			this.watchdog.watch(this);
			return next.decision();
		}
		finally {
			this.lock.unlock();
		}
	}

	/**
	 * Leave the election in good order. Does not wait.
	 * @return a future that completes when the lock is free and the session has ended
	 */
	CompletableFuture<@Nullable Void> stop() {
		this.lock.lock();
		try {
			Campaign running = this.campaign;
			if (running == null) {
				return CompletableFuture.<@Nullable Void>completedFuture(null);
			}
			if (running.stop(this.time.nanoTime())) {
				depart(Reason.STOPPED);
				this.changed.signalAll();
				this.watchdog.lookWithin(Campaign.STOP_LIMIT);
				runAside(running::endWait);
			}
			return running.end();
		}
		finally {
			this.lock.unlock();
		}
	}

	/**
	 * Hand leadership over. Does not wait.
	 * @return a future that completes with {@code true} when the lock is free, or with
	 * {@code false} if there is none to free
	 */
	CompletableFuture<Boolean> resign() {
		this.lock.lock();
		try {
			Campaign running = this.active;
			boolean holds = this.state.phase() != Phase.STOPPED && this.state.phase() != Phase.FOLLOWING;
			CompletableFuture<Boolean> resignation = (running != null) ? running.resign(holds) : null;
			if (resignation == null) {
				return CompletableFuture.completedFuture(false);
			}
			this.sessions.resigned();
			depart(Reason.RESIGNED);
			return resignation;
		}
		finally {
			this.lock.unlock();
		}
	}

	/**
	 * Hand leadership over if there is any, and do not stand until told to. Does not
	 * wait.
	 */
	void withhold() {
		this.lock.lock();
		try {
			Campaign running = this.active;
			this.withheld = true;
			resign();
			this.changed.signalAll();
			if (running != null) {
				runAside(running::endWaitForLock);
			}
		}
		finally {
			this.lock.unlock();
		}
	}

	/**
	 * Stand again after {@link #withhold()}.
	 */
	void standAgain() {
		this.withheld = false;
		wakeUp();
	}

	boolean isWithheld() {
		return this.withheld;
	}

	/**
	 * Hand a term over, unless it has ended, and do not stand for a while if others do:
	 * this node cannot do what it leads for. Does not wait.
	 */
	void abstain(Leadership leadership, Duration time) {
		this.lock.lock();
		try {
			if (this.state.leadership() == leadership) {
				if (this.state.view().candidates().size() > 1) {
					this.abstainsUntil = this.time.nanoTime() + time.toNanos();
				}
				resign();
			}
		}
		finally {
			this.lock.unlock();
		}
	}

	/**
	 * Stand again before the time.
	 */
	void endAbstention() {
		this.abstainsUntil = this.time.nanoTime();
		wakeUp();
	}

	/**
	 * Tell that something of a term goes on although it was to end.
	 */
	void leftBehind(Leadership leadership) {
		if (leadership instanceof TermLeadership term) {
			term.leaveBehind();
		}
	}

	/**
	 * Return whether this node is not to stand for now.
	 */
	boolean standsAside() {
		return this.withheld || this.abstainsUntil - this.time.nanoTime() > 0;
	}

	/**
	 * Ask the leader to hand over, whichever node that is. Does not wait.
	 * @param only the term that is to end, or {@code null} for any
	 */
	ResignationAnswer requestResignation(@Nullable Term only) {
		this.lock.lock();
		try {
			ElectionState current = this.state;
			Campaign running = this.active;
			Term term = current.term();
			Leader leader = current.view().leader();
			if (running == null || running.isStopping()) {
				return ResignationAnswer.refused("this node takes no part in the election");
			}
			if (current.phase().isDeparting() && term != null && (only == null || only.equals(term))) {
				return ResignationAnswer.requested(term);
			}
			if (current.contact().problem() != null || (current.phase() == Phase.FOLLOWING
					&& this.time.nanoTime() - current.contact().last() > LONGEST_SILENCE)) {
				return ResignationAnswer.refused("the database is out of reach");
			}
			if (current.phase() == Phase.FOLLOWING && (leader == null || leader.term() == null)) {
				return ResignationAnswer.refused("no leader is known");
			}
			if (current.view().candidates().size() < 2) {
				return ResignationAnswer.refused("no other candidate stands");
			}
			Term led = (leader != null) ? leader.term() : term;
			if (led == null) {
				return ResignationAnswer.refused("no leader is known");
			}
			if (only != null && !only.equals(led)) {
				return ResignationAnswer.refused("leadership has passed on in the meantime");
			}
			if (leader == null) {
				resign();
			}
			else if (running.request(led)) {
				this.changed.signalAll();
				runAside(running::endWaitForLock);
			}
			return ResignationAnswer.requested(led);
		}
		finally {
			this.lock.unlock();
		}
	}

	/**
	 * Wait until this node leads, at most the given time.
	 */
	boolean awaitLeadership(Duration timeout) throws InterruptedException {
		return awaitChange(timeout, () -> leadership() != null);
	}

	/**
	 * Wait until this node leads or not, and until its listeners have been told, at most
	 * the given time.
	 */
	boolean awaitTold(boolean leads, Duration timeout) throws InterruptedException {
		return awaitChange(timeout, () -> (leads ? leadership() != null : isOut(this.state)) && this.relay.isIdle());
	}

	private static boolean isOut(ElectionState current) {
		return current.phase() == Phase.STOPPED || current.phase() == Phase.FOLLOWING;
	}

	private boolean awaitChange(Duration timeout, BooleanSupplier enough) throws InterruptedException {
		long deadline = this.time.nanoTime() + TimeUnit.NANOSECONDS.convert(timeout);
		this.lock.lockInterruptibly();
		try {
			while (!enough.getAsBoolean()) {
				long remaining = deadline - this.time.nanoTime();
				if (remaining <= 0) {
					return false;
				}
				this.time.await(this.changed, remaining);
			}
			return true;
		}
		finally {
			this.lock.unlock();
		}
	}

	/**
	 * Lose leadership as if the store had taken it.
	 */
	void revoke(Reason reason) {
		TermLeadership leadership = this.state.leadership();
		Campaign running = this.active;
		ElectionSession session = (running != null) ? running.session() : null;
		if (leadership != null && lose(leadership, reason) && running != null) {
			running.abort(session);
		}
	}

	/**
	 * Called when work has ended. Cheap while leading: nobody waits for it then.
	 */
	void workEnded() {
		if (this.state.phase() != Phase.LEADING) {
			wakeUp();
		}
	}

	/**
	 * Run what may block or is code of the application on a thread of its own.
	 */
	void runAside(Runnable task) {
		try {
			this.threadFactory.newThread(task).start();
		}
		catch (OutOfMemoryError ex) {
			logger.warn("No thread to be had, doing its task on this one", ex);
			task.run();
		}
	}

	void wakeUp() {
		this.lock.lock();
		try {
			this.changed.signalAll();
		}
		finally {
			this.lock.unlock();
		}
	}

	/**
	 * Return for how long this node has led since the start of the application.
	 */
	Duration led() {
		this.lock.lock();
		try {
			return Duration.ofNanos(this.statistics.led(this.state, this.time.nanoTime()));
		}
		finally {
			this.lock.unlock();
		}
	}

	// Deadlines: the watchdog

	/**
	 * Revoke if trust has run out, and end a call that takes too long.
	 * @return when to look again, in nanoseconds from now
	 */
	long checkDeadlines() {
		long now = this.time.nanoTime();
		long next = this.calls.check(now);
		ElectionState current = this.state;
		Campaign running = this.active;
		if (running != null) {
			next = Math.min(next, running.checkStop(now, current.departure()));
		}
		TermLeadership leadership = current.leadership();
		if (leadership == null) {
			return next;
		}
		long remaining = current.trustedUntil() - now;
		if (remaining > 0) {
			return Math.min(next, remaining);
		}
		// The session of this term, before the election thread can open another
		ElectionSession session = (running != null) ? running.session() : null;
		if (lose(leadership, Reason.LEASE_EXPIRED) && running != null) {
			running.abort(session);
		}
		return next;
	}

	// Transitions: under the lock

	/**
	 * Count the current thread out of the hand-over, if it runs leader work or a listener
	 * of this election, since it is about to wait for the hand-over.
	 */
	void detachCurrent() {
		Work work = this.gate.current();
		if (work != null) {
			work.detach();
		}
		this.relay.detachCurrent();
	}

	/**
	 * Complete what {@link #resign()} has returned, on a thread of its own: what depends
	 * on it is code of the application.
	 */
	void completeResignation(Campaign resigned) {
		Resignation<Boolean> resignation;
		this.lock.lock();
		try {
			resignation = resigned.takeResignation();
		}
		finally {
			this.lock.unlock();
		}
		if (resignation != null) {
			runAside(() -> resignation.complete(true));
		}
	}

	private void depart(Reason reason) {
		this.lock.lock();
		try {
			ElectionState current = this.state;
			if (current.phase() == Phase.LEADING) {
				long interruptAt = this.time.nanoTime() + this.settings.drainTimeout().toNanos();
				this.state = current.draining(new Departure(reason, interruptAt));
			}
		}
		finally {
			this.lock.unlock();
		}
	}

	/**
	 * Grant leadership unless it is unwanted or outdated by now.
	 */
	boolean grant(Campaign winner, TermLeadership leadership, long anchor) {
		this.lock.lock();
		try {
			long until = anchor + this.settings.trustNanos();
			if (winner.isLeaving() || until - this.time.nanoTime() <= 0) {
				return false;
			}
			ElectionState elected = this.state;
			this.state = elected.granted(leadership, until)
				.remembered(transition(Transition.Kind.GRANTED, leadership, null));
			try {
				this.relay.enqueue(new LeadershipGrantedEvent(this.elector, leadership));
			}
			catch (Throwable ex) {
				this.state = elected;
				throw ex;
			}
			this.statistics.granted(this.time.nanoTime());
			this.changed.signalAll();
			this.watchdog.lookWithin(until - this.time.nanoTime());
			return true;
		}
		finally {
			this.lock.unlock();
		}
	}

	/**
	 * Move the end of trust on, unless it has passed.
	 */
	boolean extend(TermLeadership leadership, long anchor) {
		this.lock.lock();
		try {
			if (!isTrusted(leadership)) {
				return false;
			}
			this.state = this.state.trusted(anchor + this.settings.trustNanos());
			return true;
		}
		finally {
			this.lock.unlock();
		}
	}

	/**
	 * Go on from draining: all work has ended, or may not be waited for any longer.
	 */
	void tellListeners(TermLeadership leadership) {
		this.lock.lock();
		try {
			ElectionState current = this.state;
			Departure departure = current.departure();
			if (current.leadership() == leadership && current.phase() == Phase.DRAINING && departure != null) {
				this.state = current.leaving()
					.remembered(transition(Transition.Kind.REVOKED, leadership, departure.reason()));
				this.statistics.revokedFor(departure.reason());
				this.relay.enqueue(new LeadershipRevokedEvent(this.elector, leadership, departure.reason()));
			}
		}
		finally {
			this.lock.unlock();
		}
	}

	/**
	 * End trust before the lock is freed.
	 */
	boolean relinquish(TermLeadership leadership) {
		this.lock.lock();
		try {
			ElectionState current = this.state;
			if (current.leadership() != leadership) {
				return false;
			}
			tellListeners(leadership);
			this.statistics.ended(this.state, this.time.nanoTime());
			this.state = this.state.followed(View.NONE);
			this.changed.signalAll();
			return true;
		}
		finally {
			this.lock.unlock();
		}
	}

	/**
	 * End leadership that is not there to be handed over any more.
	 */
	boolean lose(TermLeadership leadership, Reason reason) {
		boolean leaving = false;
		long silence;
		this.lock.lock();
		try {
			ElectionState current = this.state;
			if (current.leadership() != leadership) {
				return false;
			}
			long now = this.time.nanoTime();
			silence = now - (current.trustedUntil() - this.settings.trustNanos());
			this.statistics.ended(current, now);
			this.state = current.followed(View.NONE);
			this.changed.signalAll();
			leaving = current.phase() == Phase.LEAVING;
			if (!leaving) {
				this.statistics.revokedFor(reason);
				this.state = this.state.remembered(transition(Transition.Kind.REVOKED, leadership, reason));
				this.relay.enqueue(new LeadershipRevokedEvent(this.elector, leadership, reason));
			}
		}
		finally {
			this.lock.unlock();
			this.gate.interruptAll(leadership);
			if (leaving) {
				// What is told of the hand-over has no time left: there is none any more
				this.relay.interrupt();
			}
			else {
				this.relay.interruptGranted(leadership);
			}
		}
		logger.warn("Lost " + leadership + " (" + reason + ", last confirmed " + TimeUnit.NANOSECONDS.toMillis(silence)
				+ "ms ago)");
		return true;
	}

	private static Transition transition(Transition.Kind kind, TermLeadership leadership, @Nullable Reason reason) {
		return new Transition(Instant.now(), kind, leadership.getNodeId(), leadership.getTerm(), reason);
	}

	void follow(View view) {
		update((current) -> {
			Leader leader = view.leader();
			ElectionState followed = current.followed(view);
			return (leader == null || leader.term() == null || current.remembers(leader)) ? followed : followed
				.remembered(
						new Transition(Instant.now(), Transition.Kind.FOLLOWED, leader.nodeId(), leader.term(), null));
		});
	}

	void see(List<Candidate> candidates) {
		update((current) -> current.view().candidates().equals(candidates) ? current : current.saw(candidates));
	}

	void elect(Term term) {
		update((current) -> current.elected(term));
	}

	/**
	 * Give up a lock that was won without a grant.
	 */
	void abandon() {
		update((current) -> (current.phase() == Phase.ELECTED) ? current.followed(View.NONE) : current);
	}

	void block(@Nullable String by) {
		update((current) -> current.blocked(by));
	}

	void meet(Contact contact) {
		update((current) -> current.met(contact));
	}

	void begin(Campaign begun) {
		this.lock.lock();
		try {
			this.active = begun;
			this.state = this.state.followed(View.NONE).met(new Contact(this.time.nanoTime(), false, null));
		}
		finally {
			this.lock.unlock();
		}
	}

	void end(Campaign ended) {
		this.lock.lock();
		try {
			this.state = this.state.ended();
			this.active = null;
			if (this.campaign == ended) {
				this.campaign = null;
				this.watchdog.unwatch(this);
			}
			this.changed.signalAll();
		}
		finally {
			this.lock.unlock();
		}
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
	 * Wait on the election thread until something has changed, at most the given time.
	 * @param enough looked at under the lock, so that no change is missed
	 */
	void await(long nanos, BooleanSupplier enough) {
		this.lock.lock();
		try {
			if (!enough.getAsBoolean()) {
				this.time.await(this.changed, nanos);
			}
		}
		catch (InterruptedException ex) {
			// Only the end of a call interrupts the election thread, and that call has
			// ended in the meantime: callers look at their condition again
			logger.debug("Interrupted while waiting", ex);
		}
		finally {
			this.lock.unlock();
		}
	}

	@Override
	public String toString() {
		return "election '" + this.settings.election() + "', node '" + this.settings.nodeId() + "'";
	}

}
