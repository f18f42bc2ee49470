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
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Consumer;
import java.util.function.Predicate;

import io.leaderelection.engine.DaemonThreads;
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
	private static final long NOTICE_INTERVAL = TimeUnit.MILLISECONDS.toNanos(20);

	private static final long NEVER = TimeUnit.HOURS.toNanos(1);

	private final LeaseTableElections elections = new LeaseTableElections();

	private final LeaseTableThread thread;

	private final long checkInterval;

	private volatile long lastRound = System.nanoTime() - NEVER;

	private volatile @Nullable Thread running;

	// Guarded by this

	private final List<LeaseTableRequest<?>> requests = new ArrayList<>();

	private long noticesDue = System.nanoTime();

	private boolean tasksAreNext;

	LeaseTableRequests(LeaseTableConnector connector, String node) {
		this.thread = new LeaseTableThread(this, this.elections, connector, node);
		this.checkInterval = connector.timeout().toNanos() / 4;
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
		synchronized (this) {
			update(this.requests.stream().filter((request) -> request.session() == session).toList(),
					(request) -> request.fail(LeaseTableSession.aborted(null)));
		}
	}

	/**
	 * If there are no sessions left, wait for the end of the connection, for at most the
	 * given time.
	 */
	void awaitEnd(Duration timeout) {
		try {
			Thread ending = this.running;
			if (ending != null && this.elections.isEmpty()) {
				ending.join(timeout.toMillis());
			}
		}
		catch (InterruptedException ex) {
			Thread.currentThread().interrupt();
		}
	}

	/**
	 * Return the state of an election after a round that begins later than this call.
	 * @param nanos when the round begins at the latest
	 */
	Snapshot read(LeaseTableSession session, long nanos) throws SessionException {
		Long remaining = session.isCandidate() ? this.elections.snapshot(session).remaining() : null;
		long wait = (remaining != null && remaining > 0) ? Math.min(nanos, remaining) : nanos;
		await(LeaseTableRequest.read(session, System.nanoTime() + Math.max(wait, LINGER)));
		return this.elections.snapshot(session);
	}

	/**
	 * Renew a lease in a round that begins later than this call.
	 * @param renewal what to renew
	 * @param urgent whether the round must not wait for others
	 * @return the row, not renewed if its term has ended
	 */
	@Nullable LeaseRow renew(LeaseTableSession session, Renewal renewal, boolean urgent) throws SessionException {
		long now = System.nanoTime();
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
	 * Have the next round begin now if one of these sessions waits for it.
	 */
	synchronized void hurry(Predicate<LeaseTableSession> which) {
		long now = System.nanoTime();
		this.requests.stream()
			.filter((request) -> request.isRead() && which.test(request.session()) && request.due() - now > LINGER)
			.forEach((request) -> request.dueAt(now));
		notifyAll();
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
			synchronized (this) {
				this.requests.remove(request);
			}
		}
	}

	private synchronized void submit(LeaseTableRequest<?> request) throws SessionException {
		if (request.session().isAborted()) {
			throw LeaseTableSession.aborted(null);
		}
		this.requests.add(request);
		ensureRunning();
		notifyAll();
	}

	private synchronized void ensureRunning() {
		Thread known = this.running;
		if (known == null || !known.isAlive()) {
			Thread started = DaemonThreads.create("table", this.thread);
			started.start();
			this.running = started;
		}
	}

	// Called by the thread

	/**
	 * Wait for requests that are due: either one task, or all renewals and reads, in turn
	 * if both are due.
	 * @param listening whether to return if it is time to look for notices
	 * @return the requests, none if it is time to look for notices, or {@code null} if
	 * there are no sessions left
	 */
	synchronized @Nullable List<LeaseTableRequest<?>> take(boolean listening) throws InterruptedException {
		while (!isUnused()) {
			long now = System.nanoTime();
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
			TimeUnit.NANOSECONDS.timedWait(this, Math.max(wait, TimeUnit.MILLISECONDS.toNanos(1)));
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
	synchronized boolean end() {
		boolean unused = isUnused();
		this.running = unused ? null : this.running;
		return unused;
	}

	/**
	 * Complete, fail or postpone requests, before the thread takes requests again.
	 */
	synchronized void update(Collection<LeaseTableRequest<?>> taken, Consumer<LeaseTableRequest<?>> action) {
		taken.forEach(action);
		this.requests.removeIf(LeaseTableRequest::isDone);
		notifyAll();
	}

}
