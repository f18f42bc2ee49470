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
import java.util.Objects;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.Lock;
import java.util.function.Predicate;
import java.util.function.Supplier;

import io.leaderelection.engine.Interruption;
import io.leaderelection.engine.Platform;
import io.leaderelection.engine.SessionException;
import io.leaderelection.engine.UnusableStoreException;
import io.leaderelection.postgresql.Jdbc;
import io.leaderelection.postgresql.table.LeaseTable.Node;
import io.leaderelection.postgresql.table.LeaseTableCandidates.Listed;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;

/**
 * A node in the lease table. Its thread owns the connection and takes turns. In a turn,
 * it renews the {@linkplain NodeSession session of the node}, reads the rows of all
 * elections, and changes those that are not as the sessions of elections want them to be:
 * with one statement for each kind of change, however many there are.
 * <p>
 * Elections wait for a turn that began after their call, so what they count from it began
 * no earlier than that. They never wait for the connection: an election that is aborted
 * leaves at once. A connection that does not answer fails after a time. The abort of an
 * election ends it if no other one is left, or if that time has not ended it. Its end
 * does not end the session.
 */
final class LeaseTableNode {

	private static final Log logger = LogFactory.getLog(LeaseTableNode.class);

	/** How long a turn waits for other elections to join. */
	private static final long LINGER = TimeUnit.MILLISECONDS.toNanos(2);

	/** The longest wait for a notice, which nothing else ends. */
	private static final long NOTICE_WAIT = TimeUnit.MILLISECONDS.toNanos(400);

	/** For how long after a turn an election may want another one soon. */
	private static final long QUIET_TIME = TimeUnit.MILLISECONDS.toNanos(20);

	/** How often a node that also leads looks for notices, for which it never waits. */
	private static final long NOTICE_INTERVAL = TimeUnit.MILLISECONDS.toNanos(50);

	/** After this time, an election looks again, although nothing has changed. */
	private static final long LONGEST_WAIT = TimeUnit.SECONDS.toNanos(1);

	/** The pause after a turn that was to confirm and has failed. */
	private static final long MIN_BACKOFF = TimeUnit.MILLISECONDS.toNanos(25);

	private static final long MAX_BACKOFF = TimeUnit.MILLISECONDS.toNanos(400);

	private final LeaseTableConnector connector;

	private final Node node;

	private final Platform platform;

	/** The attempt of the thread to connect. */
	private final Interruption connecting;

	private final LeaseExpiry expiry;

	private final Lock lock;

	/** Signalled after a turn, and when a session was removed or the thread has ended. */
	private final Condition changed;

	/** Signalled when the thread has something else to wait for. */
	private final Condition wanted;

	private volatile @Nullable LeaseRound last;

	private final AtomicReference<@Nullable LeaseTableConnection> connection = new AtomicReference<>();

	// Guarded by the lock

	private final Set<LeaseTableSession> sessions = new LinkedHashSet<>();

	private final Set<LeaseTableSession> woken = new HashSet<>();

	private final Set<Wait> waits = new LinkedHashSet<>();

	private @Nullable Thread thread;

	/** Whether the session is to be ended in good order. */
	private boolean leaving;

	/** Since when the thread may wait for the server, at most, unless it is idle. */
	private @Nullable Long busySince;

	// Confined to the thread

	private final NodeSession session;

	/** When the last turn ended, or this thread last looked for notices. */
	private long used;

	private int failures;

	LeaseTableNode(LeaseTableConnector connector, Node node, Duration lease, Platform platform) {
		this.connector = connector;
		this.node = node;
		this.platform = platform;
		this.connecting = new Interruption(platform);
		this.expiry = new LeaseExpiry(lease.toMillis());
		this.session = new NodeSession(node, lease, this.expiry, platform);
		this.lock = platform.newLock();
		this.changed = this.lock.newCondition();
		this.wanted = this.lock.newCondition();
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
	 * Return the candidates of all elections, as last read.
	 */
	Listed listed() {
		return this.session.listed();
	}

	/**
	 * Return the time until this node may take an election over, in nanoseconds.
	 */
	long remaining(LeaseRow row) {
		return this.expiry.remaining(row, this.platform.nanoTime());
	}

	// Elections, on any thread

	/**
	 * Add the session of an election, and return the round of a turn that begins after
	 * that.
	 */
	LeaseRound join(LeaseTableSession joining) throws SessionException {
		locked(() -> {
			this.sessions.add(joining);
			this.leaving = false;
			if (this.thread == null) {
				Thread started = this.platform.newThread("table", this::run);
				started.start();
				this.thread = started;
			}
		});
		return await(new Wait(joining, Purpose.ROUND, this.platform.nanoTime(), 0));
	}

	/**
	 * Return the round of a turn that begins after this call.
	 * @param purpose what to wait for
	 * @param nanos when it begins at the latest
	 */
	LeaseRound read(LeaseTableSession reading, Purpose purpose, long nanos) throws SessionException {
		return await(new Wait(reading, purpose, this.platform.nanoTime(), Math.max(nanos, LINGER)));
	}

	/**
	 * Return the round of a turn that begins after this call and raises the beat. It is
	 * repeated until it succeeds or the election gives up.
	 * @param purpose whether to wait for the rest of the turn too
	 * @param urgent whether the turn must not wait for the confirmations of other
	 * elections
	 */
	LeaseRound confirm(LeaseTableSession confirming, Purpose purpose, boolean urgent) throws SessionException {
		long now = this.platform.nanoTime();
		long pause = confirming.interval().toNanos();
		LeaseRound known = this.last;
		long nanos = (urgent || known == null) ? LINGER : Math.max(pause / 20, known.started() + pause / 2 - now);
		return await(new Wait(confirming, purpose, now, nanos));
	}

	private LeaseRound await(Wait wait) throws SessionException {
		this.lock.lock();
		try {
			this.waits.add(wait);
			hurry(wait);
			this.wanted.signal();
			while (!wait.isAnswered()) {
				pause(wait.session);
			}
			wait.session.checkOpen();
			return wait.answer();
		}
		finally {
			this.waits.remove(wait);
			this.lock.unlock();
		}
	}

	private void pause(LeaseTableSession waiting) throws SessionException {
		waiting.checkOpen();
		try {
			this.platform.await(this.changed, LONGEST_WAIT);
		}
		catch (InterruptedException ex) {
			if (!waiting.isOpen()) {
				throw LeaseTableSession.aborted(ex);
			}
			logger.debug("The thread of an election was interrupted, which has no meaning", ex);
		}
	}

	/**
	 * End the read for which sessions wait, or else their next one, with a turn that
	 * begins now.
	 */
	void wake(Predicate<LeaseTableSession> which) {
		locked(() -> {
			this.sessions.stream().filter(which).forEach(this.woken::add);
			this.waits.forEach(this::hurry);
			this.wanted.signal();
		});
	}

	private void hurry(Wait wait) {
		if (!wait.confirms() && this.woken.remove(wait.session)) {
			wait.due = wait.called;
		}
	}

	/**
	 * Remove the session of an election. With the last one, end that of the node and
	 * close the connection.
	 */
	void close(LeaseTableSession closing) {
		this.lock.lock();
		try {
			remove(closing);
			this.leaving = this.sessions.isEmpty();
			this.wanted.signal();
			while (this.sessions.isEmpty() && this.thread != null) {
				pause(closing);
			}
		}
		catch (SessionException ex) {
			logger.debug("The session ends on the server after some time", ex);
		}
		finally {
			this.lock.unlock();
		}
	}

	/**
	 * Remove the session of an election at once. With the last one, end the connection. A
	 * connection that has not answered in time is ended too, since its own time limit may
	 * have failed. Never blocks.
	 */
	void abort(LeaseTableSession aborted) {
		boolean made = locked(() -> {
			remove(aborted);
			this.changed.signalAll();
			this.wanted.signal();
			if (this.sessions.isEmpty() || isOverdue()) {
				disconnect();
				this.connector.abort();
				// It may wait for what is to open the connection
				return this.connecting.request();
			}
			return true;
		});
		if (!made) {
			// Called again
			throw new OutOfMemoryError("unable to create a thread for an interrupt");
		}
	}

	private boolean isOverdue() {
		Long since = this.busySince;
		Duration limit = (this.connection.get() != null) ? this.connector.timeout().multipliedBy(2)
				: this.connector.openingTimeout();
		return since != null && this.platform.nanoTime() - since >= limit.toNanos();
	}

	private void remove(LeaseTableSession removed) {
		this.sessions.remove(removed);
		this.woken.remove(removed);
		removed.removed();
	}

	/**
	 * Change what a session holds, unless it has been removed.
	 */
	void change(LeaseTableSession changing, Runnable change) {
		locked(() -> {
			if (this.sessions.contains(changing)) {
				change.run();
			}
		});
	}

	private void locked(Runnable action) {
		locked(() -> {
			action.run();
			return true;
		});
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

	// The thread

	private void run() {
		boolean ended = false;
		while (!ended) {
			try {
				Runnable task = next();
				ended = task == null;
				if (task != null) {
					task.run();
				}
			}
			catch (Throwable ex) {
				// Neither allocates nor logs, since there may be no memory
				this.platform.park(this, Platform.PAUSE_AFTER_FAILURE);
			}
		}
	}

	/**
	 * Wait until something is to be done.
	 * @return what is to be done, or {@code null} if the thread ends
	 */
	private @Nullable Runnable next() throws InterruptedException {
		this.lock.lock();
		try {
			this.busySince = null;
			while (!this.sessions.isEmpty()) {
				long now = this.platform.nanoTime();
				long turn = untilTurn(now);
				long notices = untilNotices(now);
				if (turn <= 0 || notices <= 0) {
					this.busySince = now;
					return (turn <= 0) ? this::turn : this::awaitNotices;
				}
				this.platform.await(this.wanted, Math.min(turn, notices));
			}
			if (this.leaving) {
				this.leaving = false;
				return this::leave;
			}
			disconnect();
			this.thread = null;
			this.changed.signalAll();
			return null;
		}
		finally {
			this.lock.unlock();
		}
	}

	private long untilTurn(long now) {
		long beat = (this.connection.get() != null)
				? Math.max(this.session.untilBeat(now), this.used + MAX_BACKOFF - now) : LONGEST_WAIT;
		return Math.min(beat, this.waits.stream().mapToLong((wait) -> wait.due - now).min().orElse(LONGEST_WAIT));
	}

	/**
	 * Return for how long not to look for notices, while an election may want a turn
	 * soon.
	 */
	private long untilNotices(long now) {
		LeaseTableConnection open = this.connection.get();
		if (open == null || !open.isListening() || this.sessions.stream().allMatch(LeaseTableSession::holdsTerm)) {
			return LONGEST_WAIT;
		}
		return this.used + (leads() ? NOTICE_INTERVAL : QUIET_TIME) - now;
	}

	private boolean leads() {
		return this.sessions.stream().anyMatch(LeaseTableSession::holdsTerm);
	}

	/**
	 * Wait for notices, unless this node leads: then what an election wants must not
	 * wait.
	 */
	private void awaitNotices() {
		long nanos = locked(() -> {
			long now = this.platform.nanoTime();
			this.used = leads() ? now : this.used;
			return leads() ? 0 : Math.min(untilTurn(now), NOTICE_WAIT);
		});
		LeaseTableConnection open = this.connection.get();
		if (open != null && nanos >= 0) {
			receiveNotices(open, nanos);
		}
	}

	private void receiveNotices(LeaseTableConnection open, long nanos) {
		try {
			Set<String> notices = open.receiveNotices(nanos);
			if (!notices.isEmpty()) {
				wake((known) -> notices.contains(open.sql().notice(known.key())));
			}
		}
		catch (SQLException ex) {
			logger.debug("The connection ended while it was idle", ex);
			disconnect();
		}
	}

	/**
	 * Confirmations and reads depend on the round only, which is published before
	 * anything is changed.
	 */
	private void turn() {
		Map<String, LeaseTableSession> elections = new TreeMap<>();
		Set<LeaseTableSession> acquiring = new HashSet<>();
		long[] begun = new long[1];
		boolean confirms = locked(() -> {
			begun[0] = this.platform.nanoTime();
			this.sessions.forEach((each) -> elections.put(each.key(), each));
			this.waits.stream()
				.filter((wait) -> wait.purpose == Purpose.ACQUISITION)
				.forEach((wait) -> acquiring.add(wait.session));
			return this.waits.stream().anyMatch(Wait::confirms);
		});
		if (elections.isEmpty()) {
			return;
		}
		long started = begun[0];
		LeaseRound round = null;
		SessionException failure = null;
		try {
			LeaseTableConnection open = connect();
			round = this.session.round(open, elections, confirms);
			this.last = round;
			this.failures = 0;
			publish(started, round, null, false);
			this.session.settle(open, elections, acquiring, round, () -> isRenewalDue(started));
			// They would pile up on a node that never looks for them
			receiveNotices(open, 0);
		}
		catch (SQLException ex) {
			LeaseTableConnection open = this.connection.get();
			if (open == null || open.mustBeReplaced(ex)) {
				disconnect();
			}
			failure = LeaseTableConnector.translate(ex);
		}
		catch (SessionException ex) {
			failure = ex;
		}
		catch (Throwable ex) {
			disconnect();
			failure = new SessionException("Unexpected failure: " + ex, ex);
		}
		if (round == null && failure != null) {
			repeat(failure);
		}
		publish(started, round, failure, true);
	}

	/**
	 * Return whether a confirmation waits for the next turn.
	 * @param started when the present one began
	 */
	private boolean isRenewalDue(long started) {
		return locked(() -> this.waits.stream()
			.anyMatch((wait) -> wait.confirms() && wait.called - started > 0
					&& wait.due - this.platform.nanoTime() <= 0));
	}

	/**
	 * Repeat confirmations after a pause.
	 */
	private void repeat(SessionException failure) {
		long retry = this.platform.nanoTime() + Math.min(MAX_BACKOFF, MIN_BACKOFF << Math.min(this.failures, 5));
		boolean repeated = locked(() -> {
			List<Wait> confirmations = this.waits.stream().filter(Wait::confirms).toList();
			confirmations.forEach((wait) -> wait.due = retry);
			return !confirmations.isEmpty() && !(failure instanceof UnusableStoreException);
		});
		if (repeated && this.failures++ == 0) {
			logger.warn("Leases could not be renewed, trying again until they expire: " + failure.getMessage()
					+ " (node '" + this.node.id() + "')");
		}
	}

	private void publish(long started, @Nullable LeaseRound round, @Nullable SessionException failure,
			boolean complete) {
		locked(() -> {
			this.waits.removeIf((wait) -> started - wait.called >= 0 && (complete || !wait.purpose.whole)
					&& wait.isAnsweredBy(round, failure));
			this.used = this.platform.nanoTime();
			this.changed.signalAll();
		});
	}

	private LeaseTableConnection connect() throws SQLException, SessionException {
		LeaseTableConnection open = this.connection.get();
		if (open == null || open.connection().isClosed()) {
			this.connecting.begin();
			try {
				checkWanted();
				open = this.connector.connect(this::checkWanted);
			}
			finally {
				this.connecting.end();
			}
			this.connection.set(open);
			// An abort may have found neither of the two
			checkWanted();
		}
		return open;
	}

	private void checkWanted() throws SessionException {
		boolean needed = locked(() -> {
			this.busySince = this.platform.nanoTime();
			return !this.sessions.isEmpty();
		});
		if (!needed) {
			throw new SessionException("No election needs the connection any longer", null);
		}
	}

	/**
	 * End the session and the connection in good order.
	 */
	private void leave() {
		LeaseTableConnection open = this.connection.get();
		if (open != null) {
			this.session.close(open);
		}
	}

	/**
	 * End a connection that may not work any longer.
	 */
	private void disconnect() {
		LeaseTableConnection open = this.connection.get();
		if (open != null) {
			// Called again if there is no memory for it
			Jdbc.abort(open.connection());
			this.connection.compareAndSet(open, null);
		}
	}

	/**
	 * What a session waits for.
	 */
	enum Purpose {

		/** A round. */
		ROUND(false),

		/** A turn, with what it changes. */
		TURN(true),

		/** A turn that takes the election over, if it is free. */
		ACQUISITION(true),

		/** A round that raises the beat, repeated until it succeeds. */
		CONFIRMATION(false),

		/** The same, and the rest of its turn. */
		WHOLE_CONFIRMATION(true);

		private final boolean whole;

		Purpose(boolean whole) {
			this.whole = whole;
		}

	}

	/**
	 * A session that waits for a turn.
	 */
	private static final class Wait {

		private final LeaseTableSession session;

		private final Purpose purpose;

		private final long called;

		private long due;

		private @Nullable LeaseRound round;

		private @Nullable SessionException failure;

		Wait(LeaseTableSession session, Purpose purpose, long called, long nanos) {
			this.session = session;
			this.purpose = purpose;
			this.called = called;
			this.due = called + nanos;
		}

		/**
		 * Return whether it is repeated until the beat is raised.
		 */
		boolean confirms() {
			return this.purpose == Purpose.CONFIRMATION || this.purpose == Purpose.WHOLE_CONFIRMATION;
		}

		/**
		 * Take the answer of a turn. A failure after its round fails what waits for a
		 * change, but nobody who has won.
		 * @return whether this is answered
		 */
		boolean isAnsweredBy(@Nullable LeaseRound read, @Nullable SessionException cause) {
			boolean failed = cause != null && ((read != null) ? !confirms() && !this.session.holdsTerm()
					: !confirms() || cause instanceof UnusableStoreException);
			if (failed) {
				this.failure = cause;
			}
			else if (read != null && (read.renewed() || !confirms())) {
				this.round = read;
			}
			return isAnswered();
		}

		boolean isAnswered() {
			return this.round != null || this.failure != null;
		}

		LeaseRound answer() throws SessionException {
			SessionException cause = this.failure;
			if (cause != null) {
				// Several sessions may have failed for the same reason
				throw (cause instanceof UnusableStoreException unusable)
						? new UnusableStoreException(String.valueOf(unusable.getMessage()), unusable.getAction(),
								unusable)
						: new SessionException(cause.getMessage(), cause);
			}
			return Objects.requireNonNull(this.round);
		}

	}

}
