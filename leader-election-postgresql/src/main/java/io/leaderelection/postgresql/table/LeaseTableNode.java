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

package io.leaderelection.postgresql.table;

import java.sql.SQLException;
import java.time.Duration;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.Lock;
import java.util.function.Predicate;
import java.util.function.Supplier;

import io.leaderelection.engine.Interruption;
import io.leaderelection.engine.Platform;
import io.leaderelection.engine.SessionException;
import io.leaderelection.engine.UnusableStoreException;
import io.leaderelection.postgresql.ElectionKeys;
import io.leaderelection.postgresql.Jdbc;
import io.leaderelection.postgresql.table.LeaseTable.Node;
import io.leaderelection.postgresql.table.LeaseTableSession.Takeover;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;

/**
 * The connection that the elections of a node share in the lease table. A round raises
 * the beat of the {@linkplain NodeSession session of the node} and reads the rows of all
 * elections. An election waits for a round that begins after its call, so what it counts
 * from its call began no earlier than that.
 * <p>
 * There is no thread: the connection has one user at a time, which is the thread of an
 * election. Of those that wait for a round, the first one that is due runs it for all.
 * Everything else is one statement between two rounds. An election that is aborted while
 * it uses the connection ends the connection, which does not end the session.
 */
final class LeaseTableNode {

	private static final Log logger = LogFactory.getLog(LeaseTableNode.class);

	/** How long a round waits for other elections to join. */
	private static final long LINGER = TimeUnit.MILLISECONDS.toNanos(2);

	/** The longest wait for a notice, which nothing else ends. */
	private static final long NOTICE_WAIT = TimeUnit.MILLISECONDS.toNanos(400);

	/**
	 * For how long after a round or a task no election waits for notices: what another
	 * one does next would wait for the end of that.
	 */
	private static final long QUIET_TIME = TimeUnit.MILLISECONDS.toNanos(20);

	/** How often a node that also leads looks for notices, for which it never waits. */
	private static final long NOTICE_INTERVAL = TimeUnit.MILLISECONDS.toNanos(50);

	/** The pause after a round that was to confirm and has failed. */
	private static final long MIN_BACKOFF = TimeUnit.MILLISECONDS.toNanos(25);

	private static final long MAX_BACKOFF = TimeUnit.MILLISECONDS.toNanos(400);

	private final LeaseTableConnector connector;

	private final Node node;

	private final Platform platform;

	private final Interruption interruption;

	private final LeaseExpiry expiry;

	private final Lock lock;

	/** Signalled after a round, and when the connection is free and somebody needs it. */
	private final Condition changed;

	private volatile @Nullable LeaseRound last;

	private volatile @Nullable LeaseTableConnection connection;

	/** Changed with the lock. */
	private volatile @Nullable LeaseTableSession user;

	/** Whether the user has been given up. */
	private volatile boolean abandoned;

	// Guarded by the lock

	private final Set<LeaseTableSession> sessions = new LinkedHashSet<>();

	private final Set<LeaseTableSession> woken = new HashSet<>();

	private final Set<Wait> waits = new LinkedHashSet<>();

	private @Nullable Attempt attempt;

	private int tasks;

	/** When the last round or task ended. */
	private long used;

	/** Whether an election waits for notices, or will do so after the quiet time. */
	private boolean listening;

	/** Rounds and tasks take turns, so that neither waits for many of the other. */
	private boolean taskIsNext;

	// Confined to the user of the connection

	private final NodeSession session;

	private int failures;

	private boolean denied;

	LeaseTableNode(LeaseTableConnector connector, Node node, Duration lease, Platform platform) {
		this.connector = connector;
		this.node = node;
		this.platform = platform;
		this.interruption = new Interruption(platform);
		this.expiry = new LeaseExpiry(lease.toMillis());
		this.session = new NodeSession(node, lease, this.expiry, platform);
		this.lock = platform.newLock();
		this.changed = this.lock.newCondition();
	}

	Platform platform() {
		return this.platform;
	}

	String id() {
		return this.node.id();
	}

	@Nullable LeaseRound last() {
		return this.last;
	}

	/**
	 * Return the time until this node may take an election over, in nanoseconds.
	 */
	long remaining(LeaseRow row) {
		return this.expiry.remaining(row, this.platform.nanoTime());
	}

	// Sessions of elections, on any thread

	/**
	 * Add the session of an election, and return after a round.
	 */
	LeaseRound join(LeaseTableSession session) throws SessionException {
		locked(() -> this.sessions.add(session));
		return await(session, 0, false);
	}

	/**
	 * Return a round that begins after this call.
	 * @param nanos when it begins at the latest
	 */
	LeaseRound read(LeaseTableSession session, long nanos) throws SessionException {
		return await(session, Math.max(nanos, LINGER), false);
	}

	/**
	 * Return a round that begins after this call and raises the beat. It is repeated
	 * until it succeeds or the election gives up.
	 * @param urgent whether it must not wait for other elections
	 */
	LeaseRound confirm(LeaseTableSession session, boolean urgent) throws SessionException {
		long pause = session.interval().toNanos();
		LeaseRound known = this.last;
		return await(session, (urgent || known == null) ? LINGER
				: Math.max(pause / 20, known.started() + pause / 2 - this.platform.nanoTime()), true);
	}

	/**
	 * Run a task between two rounds.
	 */
	<T> T run(LeaseTableSession session, Task<T> task) throws SessionException {
		this.lock.lock();
		try {
			this.tasks++;
			while (this.user != null || (!this.taskIsNext && isRoundDue())) {
				pause(session, NOTICE_WAIT);
			}
			session.checkOpen();
			this.taskIsNext = false;
			return use(session, () -> translated(() -> task.run(connect())));
		}
		finally {
			this.tasks--;
			this.used = this.platform.nanoTime();
			if (this.tasks == 0) {
				// A round may be due, and somebody has to wait for notices
				this.changed.signalAll();
			}
			unlock();
		}
	}

	/**
	 * Delete the row of a session that has expired.
	 * @return whether this node has deleted it
	 */
	boolean expire(LeaseTableSession session, UUID expired, long beat, LeaseRound round) throws SessionException {
		return run(session, (open) -> this.session.expire(open, expired, beat, round.timeline()));
	}

	/**
	 * Try to take an election over with the session of a round.
	 */
	Takeover takeOver(LeaseTableSession session, LeaseRow row, LeaseRound round, ElectionKeys keys)
			throws SessionException {
		return run(session, (open) -> this.session.takeOver(open, row, round, keys));
	}

	/**
	 * Wait for a time, unless the session is aborted.
	 */
	void sleep(LeaseTableSession session, long nanos) throws SessionException {
		long deadline = this.platform.nanoTime() + nanos;
		this.lock.lock();
		try {
			for (long left = nanos; left > 0; left = deadline - this.platform.nanoTime()) {
				pause(session, left);
			}
		}
		finally {
			this.lock.unlock();
		}
	}

	/**
	 * End the read for which sessions wait, or else their next one, with a round that
	 * begins now.
	 */
	void wake(Predicate<LeaseTableSession> which) {
		locked(() -> {
			this.sessions.stream().filter(which).forEach(this.woken::add);
			this.waits.forEach(this::hurry);
			this.changed.signalAll();
			return true;
		});
	}

	/**
	 * Remove the session of an election. With the last one, end that of the node and
	 * close the connection.
	 */
	void close(LeaseTableSession session) {
		this.lock.lock();
		try {
			remove(session);
			while (this.sessions.isEmpty() && this.user != null) {
				pause(session, NOTICE_WAIT);
			}
			if (this.sessions.isEmpty()) {
				use(session, this::leave);
			}
		}
		catch (SessionException ex) {
			logger.debug("The session ends on the server after some time", ex);
		}
		finally {
			unlock();
		}
	}

	/**
	 * Remove the session of an election at once. If it uses the connection, that ends, as
	 * it does if the use of a session that was removed before has not ended. Never
	 * blocks.
	 */
	void abort(LeaseTableSession session) {
		boolean made = locked(() -> {
			boolean interrupted = true;
			remove(session);
			LeaseTableSession current = this.user;
			// A request to resign may use the connection for a session that was removed
			if ((current != null) ? !this.sessions.contains(current) : this.sessions.isEmpty()) {
				if (this.connection != null) {
					disconnect();
				}
				else if (current != null) {
					this.connector.abort();
					// That of another election is repeated by that one
					interrupted = this.interruption.request() || current != session;
				}
			}
			this.changed.signalAll();
			return interrupted;
		});
		if (!made) {
			// Called again
			throw new OutOfMemoryError("unable to create a thread for an interrupt");
		}
	}

	/**
	 * End the connection if the session of an election uses it, which may be opening it.
	 * Without the lock.
	 */
	void abandon(LeaseTableSession session) {
		LeaseTableSession current = this.user;
		if (current != null && current == session) {
			this.abandoned = true;
			LeaseTableConnection open = this.connection;
			if (open != null) {
				Jdbc.abort(open.connection());
			}
			this.connector.abort();
		}
	}

	private void remove(LeaseTableSession session) {
		this.sessions.remove(session);
		this.woken.remove(session);
	}

	// The use of the connection, with the lock

	private LeaseRound await(LeaseTableSession session, long nanos, boolean confirms) throws SessionException {
		long called = this.platform.nanoTime();
		Wait wait = new Wait(session, called, called + nanos, confirms);
		this.lock.lock();
		try {
			this.waits.add(wait);
			hurry(wait);
			LeaseRound round = wait.outcome(this.attempt);
			while (round == null) {
				advance(wait);
				round = wait.outcome(this.attempt);
			}
			session.checkOpen();
			return round;
		}
		finally {
			this.waits.remove(wait);
			// Another one waits for notices from now on
			this.changed.signal();
			unlock();
		}
	}

	private void hurry(Wait wait) {
		if (!wait.confirms && this.woken.remove(wait.session)) {
			wait.due = wait.called;
		}
	}

	/**
	 * Run the round if it is due, or else wait: with the connection for a notice, if this
	 * node leads nothing, and nobody needs it.
	 */
	private void advance(Wait wait) throws SessionException {
		long now = this.platform.nanoTime();
		long remaining = wait.due - now;
		LeaseTableConnection open = this.connection;
		if (this.user == null && remaining <= 0 && !(this.taskIsNext && this.tasks > 0)) {
			wait.session.checkOpen();
			this.taskIsNext = true;
			use(wait.session, this::attempt);
		}
		else if (this.user == null && remaining > 0 && this.tasks == 0 && open != null && open.isListening()
				&& !this.listening && !isRoundDue() && !this.sessions.stream().allMatch(LeaseTableSession::holdsTerm)) {
			this.listening = true;
			try {
				listen(wait.session, open, remaining, now);
			}
			finally {
				this.listening = false;
			}
		}
		else {
			pause(wait.session, (remaining > 0) ? remaining : NOTICE_WAIT);
		}
	}

	private void listen(LeaseTableSession session, LeaseTableConnection open, long remaining, long now)
			throws SessionException {
		boolean leads = this.sessions.stream().anyMatch(LeaseTableSession::holdsTerm);
		long quiet = this.used - now + (leads ? NOTICE_INTERVAL : (this.sessions.size() > 1) ? QUIET_TIME : 0);
		if (quiet > 0) {
			pause(session, Math.min(quiet, remaining));
			return;
		}
		session.checkOpen();
		long next = this.waits.stream().mapToLong((other) -> other.due - now).min().orElse(remaining);
		use(session, () -> receiveNotices(open, leads ? 0 : Math.min(next, NOTICE_WAIT)));
		this.used = leads ? now : this.used;
	}

	private <T> T use(LeaseTableSession session, Use<T> action) throws SessionException {
		this.abandoned = false;
		this.user = session;
		this.interruption.begin();
		this.lock.unlock();
		try {
			return action.run();
		}
		finally {
			// The caller waits for an interrupt that is being made, and nobody else does
			this.interruption.leave();
			lockAgain();
			this.user = null;
			if (this.sessions.isEmpty()) {
				disconnect();
			}
			if (this.tasks > 0 || isRoundDue()) {
				this.changed.signalAll();
			}
		}
	}

	/**
	 * Unlock after a possible use of the connection.
	 */
	private void unlock() {
		this.lock.unlock();
		this.interruption.end();
	}

	/**
	 * Nobody else could end the use of the connection.
	 */
	private void lockAgain() {
		while (true) {
			try {
				this.lock.lock();
				return;
			}
			catch (OutOfMemoryError ex) {
				this.platform.park(this, LINGER);
			}
		}
	}

	private boolean isRoundDue() {
		long now = this.platform.nanoTime();
		return this.waits.stream().anyMatch((wait) -> wait.due - now <= 0);
	}

	private void pause(LeaseTableSession session, long nanos) throws SessionException {
		session.checkOpen();
		try {
			this.platform.await(this.changed, nanos);
		}
		catch (InterruptedException ex) {
			if (!session.isOpen()) {
				throw LeaseTableSession.aborted(ex);
			}
			logger.debug("The thread of an election was interrupted, which has no meaning", ex);
		}
	}

	private <T> T locked(Supplier<T> action) {
		this.lock.lock();
		try {
			return action.get();
		}
		finally {
			this.lock.unlock();
		}
	}

	// With the connection, without the lock

	private boolean attempt() {
		long started = this.platform.nanoTime();
		try {
			translated(() -> round(connect()));
			this.failures = 0;
		}
		catch (SessionException ex) {
			failed(started, ex);
		}
		return true;
	}

	/**
	 * Fail reads, and repeat confirmations after a pause.
	 */
	private void failed(long started, SessionException failure) {
		long retry = this.platform.nanoTime() + Math.min(MAX_BACKOFF, MIN_BACKOFF << Math.min(this.failures, 5));
		publish(new Attempt(started, null, failure));
		boolean repeated = locked(() -> {
			List<Wait> confirmations = this.waits.stream().filter((wait) -> wait.confirms).toList();
			confirmations.forEach((wait) -> wait.due = retry);
			return !confirmations.isEmpty() && !(failure instanceof UnusableStoreException);
		});
		if (repeated && this.failures++ == 0) {
			logger.warn("Leases could not be renewed, trying again until they expire: " + failure.getMessage()
					+ " (node '" + this.node.id() + "')");
		}
	}

	private <T> T translated(Action<T> action) throws SessionException {
		try {
			return action.run();
		}
		catch (SQLException ex) {
			replaceIfNecessary(ex);
			throw LeaseTableConnector.translate(ex);
		}
		catch (Throwable ex) {
			disconnect();
			throw (ex instanceof SessionException known) ? known
					: new SessionException("Unexpected failure: " + ex, ex);
		}
	}

	private void replaceIfNecessary(SQLException ex) {
		LeaseTableConnection open = this.connection;
		if (open == null || open.mustBeReplaced(ex)) {
			disconnect();
		}
	}

	/**
	 * Run what concerns other nodes. Its failure does not end the session of this one.
	 */
	private <T> T tolerate(T otherwise, Action<T> action) throws SessionException {
		try {
			return action.run();
		}
		catch (SQLException ex) {
			replaceIfNecessary(ex);
			if (Jdbc.isDenied(ex) && !this.denied) {
				this.denied = true;
				logger.warn("Candidates and elections that nobody leads cannot be maintained: " + Jdbc.summary(ex)
						+ " (node '" + this.node.id() + "')");
			}
			logger.debug("A statement beside the renewal has failed", ex);
			return otherwise;
		}
	}

	private boolean round(LeaseTableConnection open) throws SQLException, SessionException {
		Map<String, LeaseTableSession> elections = new TreeMap<>();
		boolean needed = locked(() -> {
			this.sessions.forEach((session) -> elections.put(session.key(), session));
			return this.waits.stream().anyMatch((wait) -> wait.confirms);
		});
		LeaseRound read = this.session.round(open, elections, needed);
		if (needed) {
			// A confirmation depends on nothing else
			this.last = read;
			publish(new Attempt(read.started(), read, null));
		}
		LeaseRound round = read.with(tolerate(read.candidates(), () -> this.session.candidates(open, elections, read)));
		this.last = round;
		publish(new Attempt(read.started(), round, null));
		// They would pile up on a node that never looks for them
		receiveNotices(open, 0);
		return tolerate(true, () -> {
			this.session.freeUnled(open, elections, read);
			return true;
		});
	}

	private void publish(Attempt made) {
		locked(() -> {
			this.attempt = made;
			this.used = this.platform.nanoTime();
			this.changed.signalAll();
			return true;
		});
	}

	private LeaseTableConnection connect() throws SQLException, SessionException {
		LeaseTableConnection open = this.connection;
		if (open == null || open.connection().isClosed()) {
			// An abort ends the opening of the next one from here on
			this.connection = null;
			checkUser();
			open = this.connector.connect(this::checkUser);
			this.connection = open;
			// An abort may have found neither of the two
			checkUser();
		}
		return open;
	}

	private void checkUser() throws SessionException {
		LeaseTableSession current = this.user;
		if (current != null) {
			current.checkOpen();
		}
		if (this.abandoned) {
			throw new SessionException("The connection has been given up", null);
		}
	}

	private boolean receiveNotices(LeaseTableConnection open, long nanos) {
		try {
			Set<String> notices = open.receiveNotices(nanos);
			if (!notices.isEmpty()) {
				wake((session) -> notices.contains(open.sql().notice(session.key())));
			}
		}
		catch (SQLException ex) {
			logger.debug("The connection ended while it was idle", ex);
			disconnect();
		}
		return true;
	}

	/**
	 * End the session and the connection in good order.
	 */
	private boolean leave() {
		LeaseTableConnection open = this.connection;
		if (open != null) {
			this.session.close(open);
		}
		return true;
	}

	/**
	 * End a connection that may not work any longer.
	 */
	private void disconnect() {
		LeaseTableConnection open = this.connection;
		if (open != null) {
			// Called again if there is no memory for it
			Jdbc.abort(open.connection());
		}
		this.connection = null;
	}

	/**
	 * The last attempt at a round.
	 *
	 * @param started when it began
	 * @param round the round, unless it has failed
	 * @param failure why it has failed
	 */
	private record Attempt(long started, @Nullable LeaseRound round, @Nullable SessionException failure) {
	}

	/**
	 * A session that waits for a round.
	 */
	private static final class Wait {

		private final LeaseTableSession session;

		private final long called;

		private final boolean confirms;

		private long due;

		Wait(LeaseTableSession session, long called, long due, boolean confirms) {
			this.session = session;
			this.called = called;
			this.due = due;
			this.confirms = confirms;
		}

		/**
		 * Return the round of an attempt that began after the call, or {@code null}.
		 */
		@Nullable LeaseRound outcome(@Nullable Attempt attempt) throws SessionException {
			if (attempt == null || attempt.started() - this.called < 0) {
				return null;
			}
			SessionException failure = attempt.failure();
			if (failure instanceof UnusableStoreException unusable) {
				throw new UnusableStoreException(String.valueOf(unusable.getMessage()), unusable.getAction(), unusable);
			}
			if (failure != null && !this.confirms) {
				// Several sessions may have failed for the same reason
				throw new SessionException(failure.getMessage(), failure);
			}
			LeaseRound round = attempt.round();
			return (round != null && (round.renewed() || !this.confirms)) ? round : null;
		}

	}

	/**
	 * A task on the connection: one statement.
	 *
	 * @param <T> the type of its result
	 */
	@FunctionalInterface
	interface Task<T> {

		T run(LeaseTableConnection open) throws SQLException;

	}

	@FunctionalInterface
	private interface Action<T> {

		T run() throws SQLException, SessionException;

	}

	@FunctionalInterface
	private interface Use<T> {

		T run() throws SessionException;

	}

}
