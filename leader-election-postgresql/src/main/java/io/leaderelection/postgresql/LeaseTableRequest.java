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
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

import io.leaderelection.engine.Platform;
import io.leaderelection.engine.SessionException;
import io.leaderelection.engine.UnusableStoreException;
import io.leaderelection.postgresql.LeaseTableSql.Renewal;
import org.jspecify.annotations.Nullable;

/**
 * A request of a session, made by the thread that waits for its answer: a renewal, a
 * task, or a read of the rows of all elections. Its times are guarded by the lock of
 * {@link LeaseTableRequests}.
 *
 * @param <T> the type of the answer
 */
final class LeaseTableRequest<T> {

	private static final long FIRST_PAUSE = TimeUnit.MILLISECONDS.toNanos(25);

	private final LeaseTableSession session;

	private final Platform platform;

	private final Thread waiter = Thread.currentThread();

	private final @Nullable Renewal renewal;

	private final @Nullable Task<T> task;

	private final CompletableFuture<@Nullable T> answer = new CompletableFuture<>();

	private long due;

	private long pause = FIRST_PAUSE;

	private LeaseTableRequest(LeaseTableSession session, long due, @Nullable Renewal renewal, @Nullable Task<T> task) {
		this.session = session;
		this.platform = session.platform();
		this.due = due;
		this.renewal = renewal;
		this.task = task;
	}

	static LeaseTableRequest<Boolean> read(LeaseTableSession session, long due) {
		return new LeaseTableRequest<>(session, due, null, null);
	}

	static LeaseTableRequest<LeaseRow> renewal(LeaseTableSession session, long due, Renewal renewal) {
		return new LeaseTableRequest<>(session, due, renewal, null);
	}

	static <T> LeaseTableRequest<T> task(LeaseTableSession session, Task<T> task) {
		return new LeaseTableRequest<>(session, session.platform().nanoTime(), null, task);
	}

	LeaseTableSession session() {
		return this.session;
	}

	@Nullable Renewal renewal() {
		return this.renewal;
	}

	boolean isTask() {
		return this.task != null;
	}

	boolean isRead() {
		return this.renewal == null && this.task == null;
	}

	boolean isDue(long now) {
		return this.due - now <= 0;
	}

	/**
	 * Return when the request is to be sent at the latest.
	 */
	long due() {
		return this.due;
	}

	void dueAt(long time) {
		this.due = time;
	}

	boolean isDone() {
		return this.answer.isDone();
	}

	/**
	 * Wait until the request is done.
	 * @return the answer, or {@code null} if there is none
	 */
	@Nullable T await(long nanos) throws SessionException, InterruptedException, TimeoutException {
		long deadline = this.platform.nanoTime() + nanos;
		while (!isDone()) {
			long remaining = deadline - this.platform.nanoTime();
			if (remaining <= 0) {
				throw new TimeoutException();
			}
			this.platform.park(this, remaining);
			if (!isDone() && Thread.interrupted()) {
				throw new InterruptedException();
			}
		}
		try {
			return this.answer.get();
		}
		catch (ExecutionException ex) {
			// Several sessions may have failed for the same reason
			Throwable cause = ex.getCause();
			if (cause instanceof UnusableStoreException unusable) {
				throw new UnusableStoreException(String.valueOf(unusable.getMessage()), unusable.getAction(), unusable);
			}
			throw new SessionException((cause != null) ? cause.getMessage() : null, cause);
		}
	}

	/**
	 * Run the task. Called by the thread that owns the connection.
	 */
	void run(LeaseTableConnection open) throws SQLException {
		if (this.task != null) {
			complete(open.run(this.task));
		}
	}

	/**
	 * Complete a read of the rows. Does nothing for another request.
	 */
	void completeRead() {
		if (isRead()) {
			complete(null);
		}
	}

	/**
	 * Complete a renewal. Does nothing for another request.
	 * <p>
	 * A row that another session has locked has not been renewed although its term has
	 * not ended: the renewal is not done, but due again after a pause, which becomes
	 * longer each time.
	 */
	@SuppressWarnings("unchecked")
	void completeRenewal(@Nullable LeaseRow row) {
		Renewal sent = this.renewal;
		if (sent == null) {
			return;
		}
		boolean locked = row != null && !row.renewed() && row.isHeldBy(sent.term(), sent.token())
				&& row.beat() <= sent.beat();
		if (locked) {
			this.due = this.platform.nanoTime() + this.pause;
			this.pause = Math.min(2 * this.pause, Math.max(FIRST_PAUSE, this.session.interval().toNanos() / 4));
		}
		else {
			complete((T) row);
		}
	}

	void fail(SessionException cause) {
		this.answer.completeExceptionally(cause);
		this.platform.unpark(this.waiter);
	}

	private void complete(@Nullable T value) {
		this.answer.complete(value);
		this.platform.unpark(this.waiter);
	}

	/**
	 * A task on the connection: one statement.
	 *
	 * @param <T> the type of its result
	 */
	@FunctionalInterface
	interface Task<T> {

		T run(Connection connection, LeaseTableSql sql) throws SQLException;

	}

}
