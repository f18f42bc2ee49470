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
import java.util.function.BooleanSupplier;

import io.leaderelection.engine.ElectionStore.Watch;
import org.jspecify.annotations.Nullable;

/**
 * A {@link StoreSession} whose calls, including its opening, each have a deadline that
 * the watchdog enforces: a driver may wait indefinitely for the rest of a message.
 * Confined to the election thread, except where noted.
 */
final class SupervisedSession {

	private final ElectionStore store;

	private final Election election;

	private final Watchdog watchdog;

	private final Object openingMonitor = new Object();

	private boolean opens;

	private volatile @Nullable StoreSession session;

	private volatile @Nullable Call current;

	/** Whether the session is to end, and an attempt to end it has not succeeded yet. */
	private volatile boolean ending;

	/**
	 * Create a new {@code SupervisedSession} instance, to be opened.
	 */
	SupervisedSession(ElectionStore store, Election election, Watchdog watchdog) {
		this.store = store;
		this.election = election;
		this.watchdog = watchdog;
	}

	/**
	 * Open the session, unless an observation has done so or it is no longer wanted.
	 */
	void open(BooleanSupplier unwanted) throws SessionException {
		if (this.session == null) {
			this.session = unopened(unwanted, this.store::open);
		}
	}

	/**
	 * Observe the election, unless this is no longer wanted. The store may open the
	 * session with it.
	 */
	@Nullable Watch watch(boolean candidate, BooleanSupplier unwanted) throws SessionException {
		Watch watch = this.<@Nullable Watch>unopened(unwanted, () -> this.store.watch(candidate));
		this.session = (watch != null) ? watch.session() : null;
		return watch;
	}

	private <T extends @Nullable Object> T unopened(BooleanSupplier unwanted, Request<T> request)
			throws SessionException {
		Interruption opening = this.election.effects().opening();
		opening.begin();
		synchronized (this.openingMonitor) {
			this.opens = true;
		}
		try {
			if (unwanted.getAsBoolean()) {
				throw new SessionException("The election is stopping", null);
			}
			return call(this.election.timings().openLimit(), this::interruptOpening, request);
		}
		finally {
			synchronized (this.openingMonitor) {
				this.opens = false;
			}
			opening.end();
		}
	}

	/**
	 * Stop opening the session, if that is in progress. May be called by any thread;
	 * never blocks.
	 */
	void interruptOpening() {
		synchronized (this.openingMonitor) {
			if (this.opens) {
				this.election.effects().opening().request();
				this.store.abandon();
			}
		}
	}

	boolean isOpen() {
		return this.session != null;
	}

	/**
	 * Make a request that the store answers at once.
	 */
	<T extends @Nullable Object> T ask(Question<T> question) throws SessionException {
		return ask(Duration.ZERO, question);
	}

	/**
	 * Make a request that waits in the store.
	 * @param wait for how long it waits there at most
	 */
	<T extends @Nullable Object> T ask(Duration wait, Question<T> question) throws SessionException {
		StoreSession opened = opened();
		return call(wait.plus(callLimit()), this::abort, () -> question.ask(opened));
	}

	/**
	 * Make a request without an answer.
	 */
	void run(Command command) throws SessionException {
		ask((opened) -> {
			command.run(opened);
			return true;
		});
	}

	/**
	 * Return whether this candidate is to notice soon that the lock is free.
	 */
	boolean isStandby() {
		StoreSession opened = this.session;
		return opened != null && opened.isStandby();
	}

	/**
	 * Return the store's name of the session, or {@code null} if it has none.
	 */
	@Nullable String name() {
		StoreSession opened = this.session;
		return (opened != null) ? opened.name() : null;
	}

	/**
	 * Return whether a takeover from this session is fast, or {@code null} if there is
	 * none.
	 */
	@Nullable String takeover() {
		StoreSession opened = this.session;
		return (opened != null) ? opened.takeover() : null;
	}

	/**
	 * End a wait in the store. May be called by any thread; never blocks.
	 */
	void wake() {
		StoreSession opened = this.session;
		if (opened != null) {
			opened.wake();
		}
	}

	/**
	 * Close the session, if it is open.
	 */
	void close() {
		try {
			if (this.session != null) {
				run(StoreSession::close);
				this.session = null;
			}
		}
		catch (SessionException ex) {
			throw new IllegalStateException("close() throws none", ex);
		}
	}

	/**
	 * End the session, or its opening. May be called by any thread; never blocks.
	 */
	void abort() {
		this.ending = true;
		StoreSession opened = this.session;
		if (opened != null) {
			opened.abort();
		}
		else {
			interruptOpening();
		}
		this.ending = false;
	}

	private StoreSession opened() {
		StoreSession opened = this.session;
		if (opened == null) {
			throw new IllegalStateException("The session is not open");
		}
		return opened;
	}

	/**
	 * The lease, within limits. If it is long, a node that does not lead opens another
	 * session earlier. The end of the trust of a leader always comes first.
	 */
	private Duration callLimit() {
		Duration lease = this.election.settings().lease();
		Duration longest = this.election.timings().maxCallLimit();
		if (this.election.state().granted() == null && lease.compareTo(longest) > 0) {
			return longest;
		}
		Duration shortest = this.election.timings().minCallLimit();
		return (lease.compareTo(shortest) < 0) ? shortest : lease;
	}

	private <T extends @Nullable Object> T call(Duration limit, Runnable onOverrun, Request<T> request)
			throws SessionException {
		this.current = new Call(this.election.nanoTime() + limit.toNanos(), onOverrun);
		this.watchdog.checkWithin(limit.toNanos());
		try {
			return request.make();
		}
		finally {
			this.current = null;
		}
	}

	/**
	 * End a call that has taken too long, or the session if this has failed before. May
	 * be called by any thread; never blocks.
	 * @return the time until the next check, in nanoseconds
	 */
	long check() {
		if (this.ending) {
			abort();
		}
		Call call = this.current;
		if (call == null || call.ended) {
			return Watchdog.NO_DEADLINE;
		}
		long remaining = call.deadline - this.election.nanoTime();
		if (remaining <= 0) {
			// Repeated if it fails, and while a session is opened: what it waits for then
			// may begin just after it was to end
			call.onOverrun.run();
			call.ended = this.session != null;
			return call.ended ? Watchdog.NO_DEADLINE : Platform.PAUSE_AFTER_FAILURE;
		}
		return remaining;
	}

	@FunctionalInterface
	interface Command {

		void run(StoreSession opened) throws SessionException;

	}

	@FunctionalInterface
	interface Question<T extends @Nullable Object> {

		T ask(StoreSession opened) throws SessionException;

	}

	@FunctionalInterface
	private interface Request<T extends @Nullable Object> {

		T make() throws SessionException;

	}

	/**
	 * A call in progress.
	 */
	private static final class Call {

		private final long deadline;

		private final Runnable onOverrun;

		private volatile boolean ended;

		Call(long deadline, Runnable onOverrun) {
			this.deadline = deadline;
			this.onOverrun = onOverrun;
		}

	}

}
