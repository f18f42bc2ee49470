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

import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.Lock;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import java.util.function.Predicate;

import io.leaderelection.engine.Platform;
import io.leaderelection.engine.SessionException;
import io.leaderelection.postgresql.LeaseTableElections.Snapshot;
import io.leaderelection.postgresql.LeaseTableRequest.Task;
import io.leaderelection.postgresql.LeaseTableSql.Renewal;
import org.jspecify.annotations.Nullable;

/**
 * The requests of all sessions of a node, which a {@link LeaseTableThread} answers in
 * rounds: a round renews all leases of the node that are due and reads the rows of all
 * its elections. A session joins the next round to begin and waits for its answer, so
 * that what the session counts from its call began no earlier than that.
 */
final class LeaseTableRequests {

	/** How long a round waits for other sessions to join. */
	private static final long LINGER = TimeUnit.MILLISECONDS.toNanos(2);

	/** How often this node looks for notices, at most. */
	private static final long NOTICE_INTERVAL = TimeUnit.MILLISECONDS.toNanos(10);

	private static final long NEVER = TimeUnit.HOURS.toNanos(1);

	private final Platform platform;

	private final LeaseTableElections elections;

	private final LeaseTableThread thread;

	private final long checkInterval;

	private final Lock lock;

	/** Signalled when there may be something to do for the thread. */
	private final Condition changed;

	/** Signalled when a session or the thread has ended. */
	private final Condition ended;

	private volatile long lastRound;

	private volatile @Nullable Thread running;

	// Guarded by the lock

	private final List<LeaseTableRequest<?>> requests = new ArrayList<>();

	/** Sessions whose next read is not to wait. */
	private final Set<LeaseTableSession> woken = new HashSet<>();

	private long noticesDue;

	private boolean tasksAreNext;

	LeaseTableRequests(LeaseTableConnector connector, String node, Platform platform) {
		this.platform = platform;
		this.elections = new LeaseTableElections(platform);
		this.thread = new LeaseTableThread(this, this.elections, connector, node);
		this.checkInterval = connector.timeout().toNanos() / 4;
		this.lock = platform.newLock();
		this.changed = this.lock.newCondition();
		this.ended = this.lock.newCondition();
		this.noticesDue = platform.nanoTime();
		this.lastRound = this.noticesDue - NEVER;
	}

	Platform platform() {
		return this.platform;
	}

	// Called by sessions, on any thread

	LeaseTableElections elections() {
		return this.elections;
	}

	/**
	 * Add a session, and return when the database has answered.
	 */
	void join(LeaseTableSession session) throws SessionException {
		this.elections.add(session);
		read(session, 0);
	}

	/**
	 * Remove a session that has ended, and end its wait. The connection ends with the
	 * last session.
	 */
	void leave(LeaseTableSession session) {
		this.elections.remove(session);
		this.lock.lock();
		try {
			this.woken.remove(session);
			update(this.requests.stream().filter((request) -> request.session() == session).toList(),
					(request) -> request.fail(LeaseTableSession.aborted(null)));
			this.ended.signalAll();
		}
		finally {
			this.lock.unlock();
		}
	}

	/**
	 * If there are no sessions left, wait for the end of the connection, for at most the
	 * given time.
	 */
	void awaitEnd(Duration timeout) {
		try {
			awaitEnd(timeout.toNanos(), () -> !isRunning() || !this.elections.isEmpty());
		}
		catch (InterruptedException ex) {
			Thread.currentThread().interrupt();
		}
	}

	/**
	 * Wait for a time, or until a condition holds that the end of a session or of the
	 * thread may bring about.
	 * @return whether it holds
	 */
	boolean awaitEnd(long nanos, BooleanSupplier condition) throws InterruptedException {
		long deadline = this.platform.nanoTime() + nanos;
		this.lock.lock();
		try {
			for (long left = nanos; left > 0 && !condition.getAsBoolean(); left = deadline - this.platform.nanoTime()) {
				this.platform.await(this.ended, left);
			}
			return condition.getAsBoolean();
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
		Long remaining = session.isCandidate() ? this.elections.snapshot(session).remaining() : null;
		long wait = (remaining != null && remaining > 0) ? Math.min(nanos, remaining) : nanos;
		await(LeaseTableRequest.read(session, this.platform.nanoTime() + Math.max(wait, LINGER)));
		return this.elections.snapshot(session);
	}

	/**
	 * Renew a lease in a round that begins later than this call.
	 * @param renewal what to renew
	 * @param urgent whether the round must not wait for others
	 * @return the row, not renewed if its term has ended
	 */
	@Nullable LeaseRow renew(LeaseTableSession session, Renewal renewal, boolean urgent) throws SessionException {
		long now = this.platform.nanoTime();
		long pause = session.interval().toNanos();
		long wait = urgent ? LINGER : Math.max(pause / 20, this.lastRound + pause / 2 - now);
		return await(LeaseTableRequest.renewal(session, now + wait, renewal));
	}

	/**
	 * Run a task on the connection as soon as possible.
	 */
	<T> T run(LeaseTableSession session, Task<T> task) throws SessionException {
		T result = await(LeaseTableRequest.task(session, task));
		if (result == null) {
			throw new IllegalStateException("The task returned nothing");
		}
		return result;
	}

	/**
	 * End the read for which each of these sessions waits, or else its next one, with a
	 * round that begins now.
	 */
	void wake(Predicate<LeaseTableSession> which) {
		this.lock.lock();
		try {
			long now = this.platform.nanoTime();
			this.woken.addAll(this.elections.sessions(which));
			for (LeaseTableRequest<?> request : this.requests) {
				if (request.isRead() && this.woken.remove(request.session()) && request.due() - now > LINGER) {
					request.dueAt(now);
				}
			}
			this.changed.signalAll();
		}
		finally {
			this.lock.unlock();
		}
	}

	private <T> @Nullable T await(LeaseTableRequest<T> request) throws SessionException {
		try {
			submit(request);
			while (true) {
				try {
					return request.await(this.checkInterval);
				}
				catch (TimeoutException ex) {
					this.thread.endOverdue();
					ensureRunning();
				}
			}
		}
		catch (InterruptedException ex) {
			throw LeaseTableSession.aborted(ex);
		}
		finally {
			this.lock.lock();
			try {
				this.requests.remove(request);
			}
			finally {
				this.lock.unlock();
			}
		}
	}

	private void submit(LeaseTableRequest<?> request) throws SessionException {
		this.lock.lock();
		try {
			if (request.session().isAborted()) {
				throw LeaseTableSession.aborted(null);
			}
			if (request.isRead() && this.woken.remove(request.session())) {
				request.dueAt(this.platform.nanoTime());
			}
			this.requests.add(request);
			ensureRunning();
			this.changed.signalAll();
		}
		finally {
			this.lock.unlock();
		}
	}

	private void ensureRunning() {
		this.lock.lock();
		try {
			if (!isRunning()) {
				Thread started = this.platform.newThread("table", this.thread);
				started.start();
				this.running = started;
			}
		}
		finally {
			this.lock.unlock();
		}
	}

	private boolean isRunning() {
		Thread known = this.running;
		return known != null && known.isAlive();
	}

	// Called by the thread

	/**
	 * Wait for requests that are due: either one task, or all renewals and reads, in turn
	 * if both are due.
	 * @param listening whether to return if it is time to look for notices
	 * @return the requests, none if it is time to look for notices, or {@code null} if
	 * there are no sessions left
	 */
	@Nullable List<LeaseTableRequest<?>> take(boolean listening) throws InterruptedException {
		this.lock.lock();
		try {
			return awaitDue(listening);
		}
		finally {
			this.lock.unlock();
		}
	}

	private @Nullable List<LeaseTableRequest<?>> awaitDue(boolean listening) throws InterruptedException {
		while (!isUnused()) {
			long now = this.platform.nanoTime();
			long wait = this.requests.stream().mapToLong((request) -> request.due() - now).min().orElse(NEVER);
			if (wait <= 0) {
				return takeDue(now);
			}
			if (listening && this.requests.stream().anyMatch((read) -> read.isRead() && read.session().isCandidate())) {
				if (this.noticesDue - now <= 0) {
					this.noticesDue = now + NOTICE_INTERVAL;
					return List.of();
				}
				wait = Math.min(wait, this.noticesDue - now);
			}
			this.platform.await(this.changed, Math.max(wait, TimeUnit.MILLISECONDS.toNanos(1)));
		}
		return null;
	}

	private boolean isUnused() {
		return this.requests.isEmpty() && this.elections.isEmpty();
	}

	private List<LeaseTableRequest<?>> takeDue(long now) {
		List<LeaseTableRequest<?>> due = this.requests.stream().filter((request) -> request.isDue(now)).toList();
		List<LeaseTableRequest<?>> tasks = due.stream().filter(LeaseTableRequest::isTask).toList();
		if (!tasks.isEmpty() && (this.tasksAreNext || tasks.size() == due.size())) {
			this.tasksAreNext = false;
			return tasks.subList(0, 1);
		}
		this.tasksAreNext = true;
		this.lastRound = now;
		return this.requests.stream().filter((request) -> !request.isTask()).toList();
	}

	/**
	 * Return whether the thread ends now: there are no sessions left.
	 */
	boolean end() {
		this.lock.lock();
		try {
			boolean unused = isUnused();
			this.running = unused ? null : this.running;
			this.ended.signalAll();
			return unused;
		}
		finally {
			this.lock.unlock();
		}
	}

	/**
	 * Complete, fail or postpone requests, before the thread takes requests again.
	 */
	void update(Collection<LeaseTableRequest<?>> taken, Consumer<LeaseTableRequest<?>> action) {
		this.lock.lock();
		try {
			taken.forEach(action);
			this.requests.removeIf(LeaseTableRequest::isDone);
			this.changed.signalAll();
		}
		finally {
			this.lock.unlock();
		}
	}

}
