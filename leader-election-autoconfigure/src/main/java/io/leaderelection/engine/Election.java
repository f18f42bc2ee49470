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
import java.util.concurrent.Executor;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Consumer;
import java.util.function.UnaryOperator;

import io.leaderelection.LeaderElector;
import io.leaderelection.LeadershipEvent;
import io.leaderelection.LeadershipGrantedEvent;
import io.leaderelection.LeadershipRevokedEvent;
import io.leaderelection.LeadershipRevokedEvent.Reason;
import io.leaderelection.engine.ElectionSession.Acquisition;
import io.leaderelection.engine.ElectionSession.Confirmation;
import io.leaderelection.engine.ElectionSession.Leader;
import io.leaderelection.engine.ElectionState.Contact;
import io.leaderelection.engine.ElectionState.Departure;
import io.leaderelection.engine.ElectionState.Phase;
import io.leaderelection.engine.ElectionState.Problem;
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
 * Leaving. The gate counts first and checks second, this class changes the state first
 * and looks for work second; so a drain never misses a job. Confirmations go on while
 * work drains: it still runs under a trusted lease. The lock is freed last. If the lease
 * is lost meanwhile there is nothing left to hand over, and the departure becomes a loss.
 *
 * Coming back. After a loss the old term's work is interrupted, and the node does not
 * stand again before that work has ended or drain-timeout has passed. A late success
 * never revives a term: a new one needs a new acquisition.
 *
 * Runs. Each start() makes a Campaign, with a thread of its own; stop() ends it. A start
 * during an unfinished stop makes a new campaign that waits for the old one.
 */
/**
 * The engine of one election on one node.
 */
public final class Election {

	private static final Log logger = LogFactory.getLog(Election.class);

	private static final Duration FIRST_TRY = Duration.ofMillis(1);

	private static final Duration WAIT = Duration.ofMillis(800);

	private static final Duration OBSERVE_INTERVAL = Duration.ofSeconds(5);

	private static final Duration UNUSABLE_RETRY = Duration.ofSeconds(30);

	private static final long MIN_BACKOFF = TimeUnit.MILLISECONDS.toNanos(100);

	private static final long MAX_BACKOFF = TimeUnit.SECONDS.toNanos(5);

	private static final long SLICE = TimeUnit.MILLISECONDS.toNanos(25);

	private static final long SHORT_SLICE = TimeUnit.MILLISECONDS.toNanos(5);

	private static final long REPORT_BLOCKED_AFTER = TimeUnit.SECONDS.toNanos(1);

	private static final long OPEN_LIMIT = TimeUnit.SECONDS.toNanos(15);

	private static final long MIN_CALL_LIMIT = TimeUnit.SECONDS.toNanos(2);

	private static final long NO_DEADLINE = TimeUnit.HOURS.toNanos(1);

	private final ElectionSettings settings;

	private final ElectionSessions sessions;

	private final Watchdog watchdog;

	private final ThreadFactory threadFactory;

	private final TimeSource time;

	private final WorkGate gate;

	private final EventRelay relay;

	private final LeaderElector elector;

	private final ReentrantLock lock = new ReentrantLock();

	private final Condition changed = this.lock.newCondition();

	private volatile ElectionState state;

	private volatile @Nullable Call call;

	private volatile @Nullable Campaign campaign;

	Election(ElectionSettings settings, ElectionSessions sessions, Watchdog watchdog, ThreadFactory threadFactory,
			TimeSource time, LeaderElector elector, Consumer<LeadershipEvent> publisher, Executor relayExecutor) {
		this.settings = settings;
		this.sessions = sessions;
		this.watchdog = watchdog;
		this.threadFactory = threadFactory;
		this.time = time;
		this.elector = elector;
		this.gate = new WorkGate(this, threadFactory);
		this.relay = new EventRelay(publisher, relayExecutor, this::wakeUp);
		this.state = ElectionState.stopped(time.nanoTime());
	}

	// Reads: any thread, no lock

	ElectionSettings settings() {
		return this.settings;
	}

	WorkGate gate() {
		return this.gate;
	}

	EventRelay relay() {
		return this.relay;
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
			if (running != null && !running.stopping) {
				return running.decision;
			}
			CompletableFuture<@Nullable Void> predecessor = (running != null) ? running.end
					: CompletableFuture.<@Nullable Void>completedFuture(null);
			Campaign next = new Campaign(predecessor, this.time.nanoTime());
			this.campaign = next;
			this.watchdog.watch(this);
			this.threadFactory.newThread(() -> run(next)).start();
			return next.decision;
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
		Campaign running;
		this.lock.lock();
		try {
			running = this.campaign;
			if (running == null) {
				return CompletableFuture.<@Nullable Void>completedFuture(null);
			}
			if (running.stopping) {
				return running.end;
			}
			running.stopping = true;
			depart(Reason.STOPPED);
			this.changed.signalAll();
		}
		finally {
			this.lock.unlock();
		}
		ElectionSession waiting = running.waiting;
		if (waiting != null) {
			this.threadFactory.newThread(waiting::cancel).start();
		}
		Call opening = this.call;
		if (opening != null && opening.opening) {
			opening.end();
		}
		return running.end;
	}

	/**
	 * Hand leadership over. Does not wait.
	 * @return a future that completes with {@code true} when the lock is free, or with
	 * {@code false} if there is none to free
	 */
	CompletableFuture<Boolean> resign() {
		this.lock.lock();
		try {
			Campaign running = this.campaign;
			Phase phase = this.state.phase();
			if (running == null || phase == Phase.STOPPED || phase == Phase.FOLLOWING) {
				return CompletableFuture.completedFuture(false);
			}
			Resignation resignation = running.resignation;
			if (resignation == null) {
				resignation = new Resignation(this);
				running.resignation = resignation;
			}
			depart(Reason.RESIGNED);
			return resignation;
		}
		finally {
			this.lock.unlock();
		}
	}

	/**
	 * Wait until this node leads, at most the given time.
	 */
	boolean awaitLeadership(Duration timeout) throws InterruptedException {
		long deadline = this.time.nanoTime() + timeout.toNanos();
		this.lock.lockInterruptibly();
		try {
			while (leadership() == null) {
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
	 * Called when work has ended. Cheap while leading: nobody waits for it then.
	 */
	void workEnded() {
		if (this.state.phase() != Phase.LEADING) {
			wakeUp();
		}
	}

	private void wakeUp() {
		this.lock.lock();
		try {
			this.changed.signalAll();
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
		long next = NO_DEADLINE;
		ElectionState current = this.state;
		TermLeadership leadership = current.leadership();
		if (leadership != null) {
			long remaining = current.trustedUntil() - now;
			if (remaining <= 0) {
				expire(leadership);
			}
			else {
				next = remaining;
			}
		}
		Call running = this.call;
		if (running != null && !running.ended) {
			long remaining = running.deadline - now;
			if (remaining <= 0) {
				running.end();
			}
			else {
				next = Math.min(next, remaining);
			}
		}
		return next;
	}

	private void expire(TermLeadership leadership) {
		if (lose(leadership, Reason.LEASE_EXPIRED)) {
			Campaign running = this.campaign;
			ElectionSession session = (running != null) ? running.session : null;
			if (session != null) {
				session.abort();
			}
		}
	}

	// Transitions: under the lock

	private void depart(Reason reason) {
		this.lock.lock();
		try {
			ElectionState current = this.state;
			if (current.phase() == Phase.LEADING) {
				long interruptAt = this.time.nanoTime() + this.settings.drainTimeout().toNanos();
				this.state = current.draining(new Departure(reason, interruptAt));
				logger.info("Handing over " + current.leadership() + " (" + reason + ")");
			}
		}
		finally {
			this.lock.unlock();
		}
	}

	private boolean grant(Campaign running, TermLeadership leadership, long anchor) {
		this.lock.lock();
		try {
			long until = anchor + this.settings.trustNanos();
			if (running.isLeaving() || until - this.time.nanoTime() <= 0) {
				return false;
			}
			this.state = this.state.granted(leadership, until);
			this.relay.enqueue(new LeadershipGrantedEvent(this.elector, leadership));
			this.changed.signalAll();
			this.watchdog.lookWithin(this.settings.trustNanos());
			return true;
		}
		finally {
			this.lock.unlock();
		}
	}

	private boolean extend(TermLeadership leadership, long anchor) {
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

	private void tellListeners(TermLeadership leadership) {
		this.lock.lock();
		try {
			ElectionState current = this.state;
			Departure departure = current.departure();
			if (current.leadership() == leadership && current.phase() == Phase.DRAINING && departure != null) {
				this.state = current.leaving();
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
	private boolean relinquish(TermLeadership leadership) {
		this.lock.lock();
		try {
			ElectionState current = this.state;
			if (current.leadership() != leadership) {
				return false;
			}
			tellListeners(leadership);
			this.state = this.state.followed(null);
			return true;
		}
		finally {
			this.lock.unlock();
		}
	}

	private boolean lose(@Nullable TermLeadership leadership, Reason reason) {
		this.lock.lock();
		try {
			ElectionState current = this.state;
			if (leadership == null || current.leadership() != leadership) {
				return false;
			}
			this.state = current.followed(null);
			if (current.phase() != Phase.LEAVING) {
				this.relay.enqueue(new LeadershipRevokedEvent(this.elector, leadership, reason));
			}
			this.changed.signalAll();
		}
		finally {
			this.lock.unlock();
		}
		logger.warn("Lost " + leadership + " (" + reason + ")");
		this.gate.interruptAll();
		return true;
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

	// The election thread

	private void run(Campaign running) {
		try {
			while (!running.predecessor.isDone()) {
				await(MAX_BACKOFF);
			}
			update((current) -> current.followed(null).met(new Contact(this.time.nanoTime(), false, null)));
			while (!running.stopping) {
				awaitEndOfWork(running);
				attend(running);
			}
		}
		finally {
			end(running);
		}
	}

	private void end(Campaign running) {
		this.lock.lock();
		try {
			this.state = this.state.ended();
			if (this.campaign == running) {
				this.campaign = null;
				this.watchdog.unwatch(this);
			}
			this.changed.signalAll();
		}
		finally {
			this.lock.unlock();
		}
		running.resigned();
		running.decision.complete(null);
		running.end.complete(null);
	}

	/**
	 * One session from its opening to its end.
	 */
	private void attend(Campaign running) {
		ElectionSession session = null;
		try {
			session = open();
			running.session = session;
			met();
			running.failures = 0;
			if (this.settings.candidate()) {
				holdBack(running, session);
				stand(running, session);
			}
			else {
				observe(running, session);
			}
			session.close();
		}
		catch (Throwable ex) {
			if (session != null) {
				session.abort();
			}
			if (!running.stopping) {
				failed(running, ex);
			}
		}
		finally {
			running.session = null;
			running.resigned();
		}
	}

	private ElectionSession open() throws SessionException {
		Thread thread = Thread.currentThread();
		try {
			return call(OPEN_LIMIT, true, thread::interrupt, this.sessions::open);
		}
		finally {
			Thread.interrupted();
		}
	}

	private void failed(Campaign running, Throwable failure) {
		boolean unusable = failure instanceof UnusableStoreException;
		String message = String.valueOf(failure.getMessage());
		Problem problem = new Problem(message, unusable);
		Problem known = this.state.contact().problem();
		update((current) -> current.met(new Contact(current.contact().last(), current.contact().ever(), problem)));
		String prefix = "Election '" + this.settings.election() + "', node '" + this.settings.nodeId() + "': ";
		if (!(failure instanceof SessionException)) {
			logger.error(prefix + "unexpected failure, starting over with a new session", failure);
		}
		else if (!problem.equals(known)) {
			logger.warn(prefix + message + "; following until a session can be had");
		}
		running.decision.completeExceptionally(
				(failure instanceof SessionException) ? failure : new SessionException(message, failure));
		long base = Math.min(MAX_BACKOFF, MIN_BACKOFF << Math.min(running.failures++, 10));
		long delay = unusable ? UNUSABLE_RETRY.toNanos()
				: base / 2 + ThreadLocalRandom.current().nextLong(base / 2 + 1);
		pause(running, delay);
	}

	private void observe(Campaign running, ElectionSession session) throws SessionException {
		while (!running.stopping) {
			follow(running, this.<@Nullable Leader>call(session, session::observe));
			pause(running, OBSERVE_INTERVAL.toNanos());
		}
	}

	/**
	 * After a resignation, let others go first.
	 */
	private void holdBack(Campaign running, ElectionSession session) throws SessionException {
		long until = running.holdBackUntil;
		while (!running.stopping && until - this.time.nanoTime() > 0) {
			Leader leader = this.<@Nullable Leader>call(session, session::observe);
			if (leader != null) {
				return;
			}
			pause(running, MIN_BACKOFF);
		}
	}

	private void stand(Campaign running, ElectionSession session) throws SessionException {
		Duration timeout = FIRST_TRY;
		while (true) {
			running.waiting = session;
			if (running.stopping) {
				return;
			}
			Duration wait = timeout;
			Acquisition acquisition = call(session, () -> session.acquire(wait));
			running.waiting = null;
			if (acquisition instanceof Acquisition.Won won) {
				lead(running, session, won);
				return;
			}
			if (acquisition instanceof Acquisition.Held held) {
				follow(running, held.leader());
			}
			timeout = WAIT;
		}
	}

	private void follow(Campaign running, @Nullable Leader leader) {
		Leader known = this.state.leader();
		update((current) -> current.followed(leader));
		String who = "(election '" + this.settings.election() + "', node '" + this.settings.nodeId() + "', leader "
				+ ((leader != null) ? "'" + leader.nodeId() + "'" : "unknown") + ")";
		if (running.decision.complete(null)) {
			logger.info("Not leader, skipping scheduler startup " + who);
		}
		else if (leader != null && !leader.equals(known)) {
			logger.info("Following " + who);
		}
	}

	private void lead(Campaign running, ElectionSession session, Acquisition.Won won) throws SessionException {
		long reply = this.time.nanoTime();
		update((current) -> current.elected(won.term()));
		TermLeadership leadership = null;
		try {
			leadership = awaitGrant(running, session, won, reply);
			boolean orderly = leadership != null && serve(session, leadership);
			if (leadership != null && !relinquish(leadership)) {
				throw new SessionException("The lease lapsed", null);
			}
			callVoid(session, () -> session.release(orderly));
			if (leadership != null) {
				logger.info("Gave up " + leadership + ((orderly) ? "" : ", not in good order"));
			}
		}
		catch (Throwable ex) {
			lose(leadership,
					(leadership != null && !isTrusted(leadership)) ? Reason.LEASE_EXPIRED : Reason.SESSION_LOST);
			throw ex;
		}
		finally {
			update((current) -> (current.phase() == Phase.ELECTED) ? current.followed(null) : current);
			if (running.resignation != null) {
				running.holdBackUntil = this.time.nanoTime() + this.settings.lease().toNanos();
				running.resigned();
			}
		}
	}

	/**
	 * Wait until nothing of an earlier term is left, confirming as a leader does.
	 * @return the leadership, or {@code null} if this node is to leave
	 */
	private @Nullable TermLeadership awaitGrant(Campaign running, ElectionSession session, Acquisition.Won won,
			long reply) throws SessionException {
		long notBefore = reply + (won.clean() ? 0 : this.settings.takeoverDelay().toNanos());
		TermLeadership leadership = new TermLeadership(this, won.term(), Instant.now());
		Duration barrierWait = Duration.ofNanos(this.settings.confirmNanos());
		boolean passed = false;
		boolean clear = false;
		boolean reported = false;
		while (!running.isLeaving()) {
			long start = this.time.nanoTime();
			Confirmation confirmation = call(session, session::confirm);
			if (clear) {
				leadership = new TermLeadership(this, won.term(), Instant.now());
				if (grant(running, leadership, start)) {
					boolean first = running.decision.complete(null);
					logger.info("Acquired leadership" + (first ? ", starting schedulers" : "") + " (election '"
							+ this.settings.election() + "', node '" + this.settings.nodeId() + "', term " + won.term()
							+ ")");
					return leadership;
				}
				continue;
			}
			String blockedBy = confirmation.predecessor();
			if (blockedBy == null && !passed) {
				blockedBy = this.<@Nullable String>call(session, () -> session.passBarrier(barrierWait));
				passed = (blockedBy == null);
			}
			String blocker = blockedBy;
			update((current) -> current.blocked(blocker));
			if (blocker != null && !reported && this.time.nanoTime() - reply > REPORT_BLOCKED_AFTER) {
				reported = true;
				logger.warn("Election '" + this.settings.election() + "': won term " + won.term()
						+ " but an earlier term has not ended, waiting for " + blocker);
			}
			long remaining = notBefore - this.time.nanoTime();
			clear = passed && remaining <= 0;
			if (!clear) {
				long pause = passed ? Math.min(remaining, this.settings.confirmNanos()) : SHORT_SLICE;
				parkUntil(running, session, this.time.nanoTime() + pause);
			}
		}
		return null;
	}

	private void parkUntil(Campaign running, ElectionSession session, long deadline) throws SessionException {
		long remaining = deadline - this.time.nanoTime();
		while (remaining > 0 && !running.isLeaving()) {
			park(session, Math.min(remaining, SLICE));
			remaining = deadline - this.time.nanoTime();
		}
	}

	/**
	 * Confirm until the hand-over is complete.
	 * @return whether everything of the term has ended
	 */
	private boolean serve(ElectionSession session, TermLeadership leadership) throws SessionException {
		long next = this.time.nanoTime() + this.settings.confirmNanos();
		boolean interrupted = false;
		while (true) {
			ElectionState current = this.state;
			if (current.leadership() != leadership) {
				throw new SessionException("The lease lapsed", null);
			}
			long now = this.time.nanoTime();
			Departure departure = current.departure();
			if (departure != null) {
				if (current.phase() == Phase.DRAINING && this.gate.isDrained()) {
					tellListeners(leadership);
					continue;
				}
				if (current.phase() == Phase.LEAVING && this.gate.isDrained() && this.relay.isSettled()) {
					return this.gate.isEmpty() && this.relay.isIdle();
				}
				long overdue = now - departure.interruptAt();
				if (overdue >= 0 && !interrupted) {
					interrupted = true;
					this.gate.interruptAll();
					this.relay.interrupt();
				}
				if (overdue >= ElectionSettings.GRACE.toNanos()) {
					logger.warn("Freeing the lock although not everything of " + leadership
							+ " has ended within drain-timeout and its interrupt: " + this.gate.describe());
					return false;
				}
			}
			if (next - now > 0) {
				park(session, Math.min(next - now, (departure != null) ? SHORT_SLICE : SLICE));
			}
			else {
				call(session, session::confirm);
				if (!extend(leadership, now)) {
					throw new SessionException("The lease lapsed", null);
				}
				next = now + this.settings.confirmNanos();
			}
		}
	}

	/**
	 * Wait for the work of an earlier term, so that this node does not lead beside
	 * itself.
	 */
	private void awaitEndOfWork(Campaign running) {
		long deadline = this.time.nanoTime() + this.settings.drainTimeout().toNanos();
		while (!this.gate.isEmpty() && !running.stopping) {
			long remaining = deadline - this.time.nanoTime();
			if (remaining <= 0) {
				logger.warn("Standing again in election '" + this.settings.election()
						+ "' although work of an earlier term goes on after its interrupt: " + this.gate.describe());
				return;
			}
			await(Math.min(remaining, MAX_BACKOFF));
		}
	}

	private void pause(Campaign running, long nanos) {
		long deadline = this.time.nanoTime() + nanos;
		long remaining = nanos;
		while (remaining > 0 && !running.stopping) {
			await(remaining);
			remaining = deadline - this.time.nanoTime();
		}
	}

	private void await(long nanos) {
		this.lock.lock();
		try {
			this.time.await(this.changed, nanos);
		}
		catch (InterruptedException ex) {
			// Nobody but the watchdog interrupts this thread, and only to end a call that
			// has ended in the meantime: callers look at their condition again
			logger.debug("Interrupted while waiting", ex);
		}
		finally {
			this.lock.unlock();
		}
	}

	private void met() {
		if (this.state.contact().problem() != null) {
			logger.info("Election '" + this.settings.election() + "', node '" + this.settings.nodeId()
					+ "': has a session again");
		}
		update((current) -> current.met(new Contact(this.time.nanoTime(), true, null)));
	}

	private void park(ElectionSession session, long nanos) throws SessionException {
		call(nanos + callLimit(), false, session::abort, () -> {
			session.park(Duration.ofNanos(nanos));
			return Boolean.TRUE;
		});
	}

	private void callVoid(ElectionSession session, VoidSessionCall sessionCall) throws SessionException {
		call(session, () -> {
			sessionCall.run();
			return Boolean.TRUE;
		});
	}

	private <T extends @Nullable Object> T call(ElectionSession session, SessionCall<T> sessionCall)
			throws SessionException {
		T result = call(WAIT.toNanos() + callLimit(), false, session::abort, sessionCall);
		met();
		return result;
	}

	private long callLimit() {
		return Math.max(this.settings.lease().toNanos(), MIN_CALL_LIMIT);
	}

	/**
	 * Make a call that the watchdog ends if it takes too long.
	 */
	private <T extends @Nullable Object> T call(long limit, boolean opening, Runnable onOverrun,
			SessionCall<T> sessionCall) throws SessionException {
		this.call = new Call(this.time.nanoTime() + limit, opening, onOverrun);
		this.watchdog.lookWithin(limit);
		try {
			return sessionCall.run();
		}
		finally {
			this.call = null;
		}
	}

	@FunctionalInterface
	private interface SessionCall<T extends @Nullable Object> {

		T run() throws SessionException;

	}

	@FunctionalInterface
	private interface VoidSessionCall {

		void run() throws SessionException;

	}

	/**
	 * A call in progress on the election thread.
	 */
	private static final class Call {

		private final long deadline;

		private final boolean opening;

		private final Runnable onOverrun;

		private volatile boolean ended;

		Call(long deadline, boolean opening, Runnable onOverrun) {
			this.deadline = deadline;
			this.opening = opening;
			this.onOverrun = onOverrun;
		}

		void end() {
			if (!this.ended) {
				this.ended = true;
				this.onOverrun.run();
			}
		}

	}

	/**
	 * One run of the election thread, from start to stop.
	 */
	private static final class Campaign {

		private final CompletableFuture<@Nullable Void> predecessor;

		private final CompletableFuture<@Nullable Void> decision = new CompletableFuture<>();

		private final CompletableFuture<@Nullable Void> end = new CompletableFuture<>();

		private volatile boolean stopping;

		private volatile @Nullable Resignation resignation;

		private volatile @Nullable ElectionSession session;

		private volatile @Nullable ElectionSession waiting;

		private long holdBackUntil;

		private int failures;

		Campaign(CompletableFuture<@Nullable Void> predecessor, long now) {
			this.predecessor = predecessor;
			this.holdBackUntil = now;
		}

		boolean isLeaving() {
			return this.stopping || this.resignation != null;
		}

		void resigned() {
			Resignation current = this.resignation;
			this.resignation = null;
			if (current != null) {
				current.complete(true);
			}
		}

	}

}
