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

package io.leaderelection.postgresql;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Predicate;

import io.leaderelection.engine.DaemonThreads;
import io.leaderelection.engine.ElectionSession.Candidate;
import io.leaderelection.engine.SessionException;
import io.leaderelection.engine.UnusableStoreException;
import io.leaderelection.postgresql.LeaseTableSql.Renewal;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;

/**
 * Runs the statements of all elections of a node, on one connection and one thread, in
 * rounds: a round renews all leases of the node that are due and reads the rows of all
 * its elections. A session joins the next round to begin and waits for its answer, so
 * that what the session counts from its call began no earlier than that.
 * <p>
 * The end of a connection does not end a lease. A renewal that fails is repeated on
 * another connection until it succeeds or its session is aborted; anything else fails
 * with the session that asked for it.
 * <p>
 * A thread that waits for an answer ends a connection on which a statement takes too
 * long: the driver may wait indefinitely for the rest of a message.
 */
final class LeaseTableRounds {

	private static final Log logger = LogFactory.getLog(LeaseTableRounds.class);

	/** How long a round waits for other sessions to join. */
	private static final long LINGER = TimeUnit.MILLISECONDS.toNanos(2);

	/** How often another node learns of a new candidate, at most. */
	private static final long CANDIDATES_INTERVAL = TimeUnit.MILLISECONDS.toNanos(2500);

	private static final long CANDIDATE_EXPIRY_MILLIS = 10_000;

	private static final long NOTICE_INTERVAL = TimeUnit.MILLISECONDS.toNanos(15);

	private static final long MIN_BACKOFF = TimeUnit.MILLISECONDS.toNanos(25);

	private static final long MAX_BACKOFF = TimeUnit.MILLISECONDS.toNanos(400);

	private static final long NEVER = TimeUnit.HOURS.toNanos(1);

	private final LeaseTableConnector connector;

	private final String node;

	private final long limit;

	/** Identifies this node among the candidates. */
	private final UUID id = UUID.randomUUID();

	private final ReentrantLock lock = new ReentrantLock();

	private final Condition submitted = this.lock.newCondition();

	/** Signalled when a session has been removed, and when the thread has ended. */
	private final Condition left = this.lock.newCondition();

	// Guarded by the lock

	private final Set<LeaseTableSession> sessions = new LinkedHashSet<>();

	private final List<Request<?>> requests = new ArrayList<>();

	private final Map<String, LeaseWatch> watches = new HashMap<>();

	private Map<String, List<Candidate>> candidates = Map.of();

	private @Nullable Thread thread;

	private long lastRound = System.nanoTime() - NEVER;

	private long candidatesDue = System.nanoTime();

	private boolean broken;

	private @Nullable Long busySince;

	// Confined to the thread

	private volatile @Nullable LeaseTableConnection connection;

	private int failures;

	private boolean registered;

	LeaseTableRounds(LeaseTableConnector connector, String node) {
		this.connector = connector;
		this.node = node;
		this.limit = connector.timeout().toNanos();
	}

	// Called by sessions, on any thread

	/**
	 * Add a session, and return when the database has answered.
	 */
	void join(LeaseTableSession session) throws SessionException {
		this.lock.lock();
		try {
			this.sessions.add(session);
		}
		finally {
			this.lock.unlock();
		}
		read(session, 0);
	}

	/**
	 * Remove a session. The connection ends with the last one.
	 */
	void leave(LeaseTableSession session) {
		this.lock.lock();
		try {
			if (this.sessions.remove(session)) {
				watch(session.key()).forget(session.token().toString());
				this.candidatesDue = System.nanoTime();
				this.submitted.signalAll();
			}
			for (Request<?> request : this.requests) {
				if (request.session == session) {
					request.answered.signal();
				}
			}
			this.left.signalAll();
		}
		finally {
			this.lock.unlock();
		}
	}

	/**
	 * Remove a session and, if it was the last one, wait for the end of the connection,
	 * for at most the given time.
	 */
	void leave(LeaseTableSession session, Duration timeout) {
		leave(session);
		long remaining = timeout.toNanos();
		this.lock.lock();
		try {
			while (remaining > 0 && this.thread != null && this.sessions.isEmpty()) {
				remaining = this.left.awaitNanos(remaining);
			}
		}
		catch (InterruptedException ex) {
			Thread.currentThread().interrupt();
		}
		finally {
			this.lock.unlock();
		}
	}

	/**
	 * Wait for a time, or until a session is aborted.
	 */
	void pause(LeaseTableSession session, long nanos) throws SessionException {
		this.lock.lock();
		try {
			long remaining = nanos;
			while (remaining > 0) {
				if (session.isAborted()) {
					throw aborted(null);
				}
				remaining = this.left.awaitNanos(remaining);
			}
		}
		catch (InterruptedException ex) {
			throw aborted(ex);
		}
		finally {
			this.lock.unlock();
		}
	}

	/**
	 * Return the state of an election after a round that begins later than this call.
	 * @param nanos when the round begins at the latest
	 */
	Snapshot read(LeaseTableSession session, long nanos) throws SessionException {
		this.lock.lock();
		try {
			Long remaining = session.isCandidate() ? watch(session.key()).remaining(System.nanoTime()) : null;
			long wait = (remaining != null && remaining > 0) ? Math.min(nanos, remaining) : nanos;
			await(new Request<>(session, System.nanoTime() + Math.max(wait, LINGER), null, null,
					this.lock.newCondition()));
			return snapshot(session);
		}
		finally {
			this.lock.unlock();
		}
	}

	/**
	 * Return the state of an election as of the last round, without a round trip.
	 */
	Snapshot snapshot(LeaseTableSession session) {
		this.lock.lock();
		try {
			LeaseWatch watch = watch(session.key());
			Long remaining = watch.remaining(System.nanoTime());
			return new Snapshot(watch.row(), remaining != null && remaining <= 0,
					this.candidates.getOrDefault(session.key(), List.of()));
		}
		finally {
			this.lock.unlock();
		}
	}

	/**
	 * Renew a lease in a round that begins later than this call.
	 * @param renewal what to renew
	 * @param urgent whether the round must not wait for others
	 * @return the row, not renewed if its term has ended
	 */
	@Nullable LeaseRow renew(LeaseTableSession session, Renewal renewal, boolean urgent) throws SessionException {
		this.lock.lock();
		try {
			long now = System.nanoTime();
			long pause = session.interval().toNanos();
			long due = urgent ? now + LINGER : later(now + pause / 20, this.lastRound + pause / 2);
			return await(new Request<>(session, due, renewal, null, this.lock.newCondition())).row;
		}
		finally {
			this.lock.unlock();
		}
	}

	/**
	 * Run a task on the connection as soon as possible.
	 */
	<T> T run(LeaseTableSession session, Task<T> task) throws SessionException {
		this.lock.lock();
		try {
			T result = await(new Request<>(session, System.nanoTime(), null, task, this.lock.newCondition())).result;
			if (result == null) {
				throw new IllegalStateException("The task returned nothing");
			}
			return result;
		}
		finally {
			this.lock.unlock();
		}
	}

	/**
	 * Have the next round begin now if this session waits for it.
	 */
	void hurry(LeaseTableSession session) {
		hurry((request) -> request.session == session && request.renewal == null);
	}

	private void hurry(Predicate<Request<?>> which) {
		this.lock.lock();
		try {
			long now = System.nanoTime();
			for (Request<?> request : this.requests) {
				if (which.test(request) && request.due - now > LINGER) {
					request.due = now;
				}
			}
			this.submitted.signalAll();
		}
		finally {
			this.lock.unlock();
		}
	}

	/**
	 * Register the candidates of this node with the next round.
	 */
	void candidacyChanged() {
		this.lock.lock();
		try {
			this.candidatesDue = System.nanoTime();
		}
		finally {
			this.lock.unlock();
		}
	}

	// Called under the lock

	private LeaseWatch watch(String election) {
		return this.watches.computeIfAbsent(election, (key) -> new LeaseWatch());
	}

	private <T> Request<T> await(Request<T> request) throws SessionException {
		this.requests.add(request);
		try {
			while (!request.done) {
				ensureRunning();
				this.submitted.signalAll();
				if (request.session.isAborted()) {
					throw aborted(null);
				}
				endOverdue();
				request.answered.awaitNanos(this.limit / 4);
			}
		}
		catch (InterruptedException ex) {
			throw aborted(ex);
		}
		finally {
			this.requests.remove(request);
		}
		SessionException failure = request.failure;
		if (failure instanceof UnusableStoreException unusable) {
			throw new UnusableStoreException(String.valueOf(unusable.getMessage()), unusable.getAction(), unusable);
		}
		if (failure != null) {
			throw new SessionException(failure.getMessage(), failure);
		}
		return request;
	}

	private static SessionException aborted(@Nullable Throwable cause) {
		return new SessionException("The session has been aborted", cause);
	}

	private void ensureRunning() {
		Thread running = this.thread;
		if (running == null || !running.isAlive()) {
			Thread started = DaemonThreads.create("table", this::run);
			started.start();
			this.thread = started;
		}
	}

	private void endOverdue() {
		Long since = this.busySince;
		if (since != null && System.nanoTime() - since > 2 * this.limit) {
			this.busySince = null;
			LeaseTableConnection hanging = this.connection;
			if (hanging != null) {
				Jdbc.abort(hanging.connection());
			}
			this.connector.abandon();
		}
	}

	private static long later(long first, long second) {
		return (first - second > 0) ? first : second;
	}

	// On the thread

	private void run() {
		boolean ended = false;
		try {
			while (!ended) {
				List<Request<?>> work = next();
				if (work != null) {
					process(work);
				}
				else {
					disconnect();
					ended = end();
				}
			}
		}
		finally {
			if (!ended) {
				// Another thread opens another connection
				disconnect();
			}
		}
	}

	private boolean end() {
		this.lock.lock();
		try {
			boolean ended = this.sessions.isEmpty() && this.requests.isEmpty();
			if (ended) {
				this.thread = null;
				this.left.signalAll();
			}
			return ended;
		}
		finally {
			this.lock.unlock();
		}
	}

	/**
	 * Wait for requests that are due.
	 * @return the requests, or {@code null} if there are no sessions left
	 */
	private @Nullable List<Request<?>> next() {
		while (true) {
			this.lock.lock();
			try {
				this.busySince = null;
				if (this.sessions.isEmpty() && this.requests.isEmpty()) {
					return null;
				}
				long now = System.nanoTime();
				long wait = NEVER;
				boolean reads = false;
				for (Request<?> request : this.requests) {
					wait = Math.min(wait, request.due - now);
					reads = reads || (request.renewal == null && request.task == null);
				}
				if (wait <= 0) {
					this.busySince = now;
					return take(now);
				}
				LeaseTableConnection open = this.connection;
				boolean listening = reads && open != null && open.isListening();
				this.submitted.awaitNanos(listening ? Math.min(wait, NOTICE_INTERVAL) : wait);
				if (!listening) {
					continue;
				}
			}
			catch (InterruptedException ex) {
				logger.debug("The thread was interrupted, which has no meaning", ex);
			}
			finally {
				this.lock.unlock();
			}
			receiveNotices();
		}
	}

	private List<Request<?>> take(long now) {
		List<Request<?>> tasks = this.requests.stream()
			.filter((request) -> request.task != null && request.due - now <= 0)
			.toList();
		return !tasks.isEmpty() ? tasks : this.requests.stream().filter((request) -> request.task == null).toList();
	}

	private void receiveNotices() {
		LeaseTableConnection open = this.connection;
		try {
			if (open != null && open.receivesNotice()) {
				hurry((request) -> request.renewal == null);
			}
		}
		catch (SQLException ex) {
			logger.debug("The connection ended while it was idle", ex);
			disconnect();
		}
	}

	private void process(List<Request<?>> work) {
		try {
			LeaseTableConnection open = connect();
			if (work.get(0).task != null) {
				for (Request<?> request : work) {
					request.run(open);
					done(List.of(request));
				}
			}
			else {
				round(open, work);
			}
			if (this.broken) {
				this.broken = false;
				logger.info("Renewals continue on another connection (node '" + this.node + "')");
			}
			this.failures = 0;
		}
		catch (SQLException ex) {
			failed(work, LeaseTableConnector.translate(ex), LeaseTableConnector.endsConnection(ex));
		}
		catch (SessionException ex) {
			failed(work, ex, true);
		}
		catch (Throwable ex) {
			failed(work, new SessionException("Unexpected failure: " + ex, ex), true);
		}
	}

	private LeaseTableConnection connect() throws SQLException, SessionException {
		LeaseTableConnection open = this.connection;
		if (open == null || open.isClosed()) {
			this.registered = false;
			open = this.connector.connect();
			this.connection = open;
			candidacyChanged();
		}
		return open;
	}

	private void round(LeaseTableConnection open, List<Request<?>> work) throws SQLException, SessionException {
		Set<String> elections = new TreeSet<>();
		Set<String> own = new TreeSet<>();
		boolean candidatesAreDue;
		this.lock.lock();
		try {
			for (LeaseTableSession session : this.sessions) {
				elections.add(session.key());
				if (session.isCandidate()) {
					own.add(session.key());
				}
			}
			this.lastRound = System.nanoTime();
			candidatesAreDue = this.candidatesDue - this.lastRound <= 0;
			this.candidatesDue = candidatesAreDue ? this.lastRound + CANDIDATES_INTERVAL : this.candidatesDue;
		}
		finally {
			this.lock.unlock();
		}
		List<Renewal> renewals = new ArrayList<>();
		for (Request<?> request : work) {
			elections.add(request.session.key());
			if (request.renewal != null) {
				renewals.add(request.renewal);
			}
		}
		Map<String, LeaseRow> rows = open.round(elections, renewals);
		if (!rows.keySet().containsAll(own)) {
			// In the same order on all nodes
			Set<String> missing = new TreeSet<>(own);
			missing.removeAll(rows.keySet());
			open.insert(missing);
			rows.putAll(open.round(missing, List.of()));
		}
		long reply = System.nanoTime();
		Map<String, List<Candidate>> found = candidatesAreDue ? candidates(open, own, elections) : null;
		this.lock.lock();
		try {
			elections.forEach((election) -> watch(election).observe(rows.get(election), reply));
			this.candidates = (found != null) ? found : this.candidates;
		}
		finally {
			this.lock.unlock();
		}
		done(work.stream().filter((request) -> request.answer(rows.get(request.session.key()))).toList());
	}

	/**
	 * Nothing that leadership rests on depends on the candidates, so a failure must not
	 * end a round.
	 */
	private @Nullable Map<String, List<Candidate>> candidates(LeaseTableConnection open, Set<String> own,
			Set<String> elections) throws SQLException {
		try {
			Map<String, List<Candidate>> found = open.candidates(this.id, this.node, own, elections,
					CANDIDATE_EXPIRY_MILLIS);
			this.registered = !own.isEmpty();
			return found;
		}
		catch (SQLException ex) {
			if (LeaseTableConnector.endsConnection(ex)) {
				throw ex;
			}
			logger.debug("Could not register the candidates of this node", ex);
			return null;
		}
	}

	private void done(List<Request<?>> completed) {
		this.lock.lock();
		try {
			completed.forEach(Request::done);
			// Before this thread looks for requests again
			this.requests.removeAll(completed);
		}
		finally {
			this.lock.unlock();
		}
	}

	private void failed(List<Request<?>> work, SessionException failure, boolean disconnect) {
		if (disconnect) {
			disconnect();
		}
		long backoff = Math.min(MAX_BACKOFF, MIN_BACKOFF << Math.min(this.failures++, 5));
		boolean unusable = failure instanceof UnusableStoreException;
		boolean renews = false;
		this.lock.lock();
		try {
			for (Request<?> request : work) {
				if (request.done) {
					continue;
				}
				if (request.renewal != null && !unusable) {
					renews = true;
					request.due = System.nanoTime() + backoff;
				}
				else {
					request.failure = failure;
					request.done();
					this.requests.remove(request);
				}
			}
		}
		finally {
			this.lock.unlock();
		}
		if (renews && !this.broken) {
			this.broken = true;
			logger.warn("Leases could not be renewed, trying again until they expire: " + failure.getMessage()
					+ " (node '" + this.node + "')");
		}
	}

	private void disconnect() {
		LeaseTableConnection open = this.connection;
		this.connection = null;
		if (open != null) {
			open.close(this.registered ? this.id : null);
			this.registered = false;
		}
	}

	/**
	 * An election as of the last round.
	 *
	 * @param row its row, if there is one
	 * @param free whether this node may take over
	 * @param candidates the candidates
	 */
	record Snapshot(@Nullable LeaseRow row, boolean free, List<Candidate> candidates) {
	}

	/**
	 * A task on the connection.
	 *
	 * @param <T> the type of its result
	 */
	@FunctionalInterface
	interface Task<T> {

		T run(Connection connection, LeaseTableSql sql) throws SQLException;

	}

	/**
	 * A request of a session: a renewal, a task, or a read. Its result is published under
	 * the lock.
	 */
	private static final class Request<T> {

		private final LeaseTableSession session;

		private final @Nullable Renewal renewal;

		private final @Nullable Task<T> task;

		private final Condition answered;

		private long due;

		private boolean done;

		private @Nullable T result;

		private @Nullable LeaseRow row;

		private @Nullable SessionException failure;

		Request(LeaseTableSession session, long due, @Nullable Renewal renewal, @Nullable Task<T> task,
				Condition answered) {
			this.session = session;
			this.answered = answered;
			this.due = due;
			this.renewal = renewal;
			this.task = task;
		}

		/** Called under the lock. */
		void done() {
			this.done = true;
			this.answered.signal();
		}

		void run(LeaseTableConnection open) throws SQLException {
			if (this.task != null) {
				this.result = this.task.run(open.connection(), open.sql());
			}
		}

		/**
		 * Record the answer of a round.
		 * @return whether the request is done: a row that another session has locked has
		 * not been renewed although its term has not ended
		 */
		boolean answer(@Nullable LeaseRow answer) {
			this.row = answer;
			boolean locked = this.renewal != null && answer != null && !answer.renewed()
					&& answer.isHeldBy(this.renewal.term(), this.renewal.token())
					&& answer.beat() <= this.renewal.beat();
			if (locked) {
				this.due = System.nanoTime() + MIN_BACKOFF;
			}
			return !locked;
		}

	}

}
