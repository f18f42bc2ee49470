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
import java.util.function.BooleanSupplier;

import io.leaderelection.Term;
import io.leaderelection.engine.ElectionStore.Watch;
import org.jspecify.annotations.Nullable;

/**
 * A session whose calls, including its opening, each have a deadline that the watchdog
 * enforces: a driver may wait indefinitely for the rest of a message. Confined to the
 * election thread, except where noted.
 */
final class SupervisedSession implements StoreSession {

	private final ElectionStore store;

	private final Election election;

	private final ElectionTimings timings;

	private final Platform platform;

	private final Watchdog watchdog;

	private final Runnable onObserved;

	private final Object openingMonitor = new Object();

	private @Nullable Thread opener;

	private volatile @Nullable StoreSession session;

	private volatile @Nullable Call current;

	/**
	 * Create a new {@code SupervisedSession} instance, to be opened.
	 * @param onObserved called after an observation or a confirmation
	 */
	SupervisedSession(ElectionStore store, Election election, Watchdog watchdog, Runnable onObserved) {
		this.store = store;
		this.election = election;
		this.timings = election.timings();
		this.platform = election.platform();
		this.watchdog = watchdog;
		this.onObserved = onObserved;
	}

	/**
	 * Open the session, unless it is no longer wanted.
	 */
	void open(BooleanSupplier unwanted) throws SessionException {
		this.session = unopened(unwanted, this.store::open);
	}

	/**
	 * Observe the election without opening the session, unless this is no longer wanted.
	 */
	@Nullable Watch watch(BooleanSupplier unwanted) throws SessionException {
		return this.<@Nullable Watch>unopened(unwanted, this.store::watch);
	}

	private <T extends @Nullable Object> T unopened(BooleanSupplier unwanted, Request<T> request)
			throws SessionException {
		synchronized (this.openingMonitor) {
			this.opener = Thread.currentThread();
		}
		try {
			if (unwanted.getAsBoolean()) {
				throw new SessionException("The election is stopping", null);
			}
			return call(this.timings.openLimit(), this::interruptOpening, request);
		}
		finally {
			synchronized (this.openingMonitor) {
				this.opener = null;
				Thread.interrupted();
			}
		}
	}

	/**
	 * Stop opening the session, if that is in progress. May be called by any thread;
	 * never blocks.
	 */
	void interruptOpening() {
		synchronized (this.openingMonitor) {
			if (this.opener != null) {
				this.opener.interrupt();
				this.store.abandon();
			}
		}
	}

	/**
	 * End a call that has taken too long. May be called by any thread; never blocks.
	 * @return the time until the next check, in nanoseconds
	 */
	long check() {
		Call call = this.current;
		if (call == null || call.ended) {
			return Watchdog.NO_DEADLINE;
		}
		long remaining = call.deadline - this.platform.nanoTime();
		if (remaining <= 0) {
			// Repeated if it fails
			call.onOverrun.run();
			call.ended = true;
			return Watchdog.NO_DEADLINE;
		}
		return remaining;
	}

	@Override
	public boolean becomeCandidate() throws SessionException {
		return ask(Duration.ZERO, StoreSession::becomeCandidate);
	}

	@Override
	public void withdraw() throws SessionException {
		run(StoreSession::withdraw);
	}

	@Override
	public void warmUp() throws SessionException {
		run(StoreSession::warmUp);
	}

	@Override
	public Acquisition acquire(Duration timeout) throws SessionException {
		return ask(timeout, (opened) -> opened.acquire(timeout));
	}

	@Override
	public boolean isStandby() {
		StoreSession opened = this.session;
		return opened != null && opened.isStandby();
	}

	@Override
	public View observe() throws SessionException {
		return ask(Duration.ZERO, StoreSession::observe);
	}

	@Override
	public void requestResignation(Term term) throws SessionException {
		run((opened) -> opened.requestResignation(term));
	}

	@Override
	public void withdrawRequest() throws SessionException {
		run(StoreSession::withdrawRequest);
	}

	@Override
	public Confirmation confirm() throws SessionException {
		return ask(Duration.ZERO, StoreSession::confirm);
	}

	@Override
	public List<Candidate> candidates() throws SessionException {
		return ask(Duration.ZERO, StoreSession::candidates);
	}

	boolean isOpen() {
		return this.session != null;
	}

	@Override
	public @Nullable String name() {
		StoreSession opened = this.session;
		return (opened != null) ? opened.name() : null;
	}

	@Override
	public @Nullable String passBarrier(Duration timeout) throws SessionException {
		return this.<@Nullable String>ask(timeout, (opened) -> opened.passBarrier(timeout));
	}

	@Override
	public Duration probe(Duration longest) throws SessionException {
		return call(callLimit(), this::abort, () -> opened().probe(longest));
	}

	@Override
	public void wake() {
		StoreSession opened = this.session;
		if (opened != null) {
			opened.wake();
		}
	}

	@Override
	public boolean release(boolean clean) throws SessionException {
		return ask(Duration.ZERO, (opened) -> opened.release(clean));
	}

	@Override
	public void close() {
		StoreSession opened = opened();
		try {
			call(callLimit(), this::abort, () -> {
				opened.close();
				return true;
			});
		}
		catch (SessionException ex) {
			throw new IllegalStateException("close() throws none", ex);
		}
	}

	/**
	 * End the session, or its opening. May be called by any thread; never blocks.
	 */
	@Override
	public void abort() {
		StoreSession opened = this.session;
		if (opened != null) {
			opened.abort();
		}
		else {
			interruptOpening();
		}
	}

	private void run(Command command) throws SessionException {
		ask(Duration.ZERO, (opened) -> {
			command.run(opened);
			return true;
		});
	}

	private <T extends @Nullable Object> T ask(Duration wait, Question<T> question) throws SessionException {
		StoreSession opened = opened();
		T answer = call(wait.plus(callLimit()), this::abort, () -> question.ask(opened));
		if (answer instanceof View || answer instanceof Acquisition.Held || answer instanceof Confirmation) {
			// Other requests may succeed in a store that cannot hold elections
			this.onObserved.run();
		}
		return answer;
	}

	private StoreSession opened() {
		StoreSession opened = this.session;
		if (opened == null) {
			throw new IllegalStateException("The session is not open");
		}
		return opened;
	}

	/**
	 * A leader waits for at most the lease. If the lease is long, a node that does not
	 * lead opens another session earlier.
	 */
	private Duration callLimit() {
		Duration lease = this.election.settings().lease();
		Duration longest = this.timings.maxCallLimit();
		if (this.election.state().granted() == null && lease.compareTo(longest) > 0) {
			return longest;
		}
		Duration shortest = this.timings.minCallLimit();
		return (lease.compareTo(shortest) < 0) ? shortest : lease;
	}

	private <T extends @Nullable Object> T call(Duration limit, Runnable onOverrun, Request<T> request)
			throws SessionException {
		this.current = new Call(this.platform.nanoTime() + limit.toNanos(), onOverrun);
		this.watchdog.checkWithin(limit.toNanos());
		try {
			return request.make();
		}
		finally {
			this.current = null;
		}
	}

	@FunctionalInterface
	private interface Command {

		void run(StoreSession opened) throws SessionException;

	}

	@FunctionalInterface
	private interface Question<T extends @Nullable Object> {

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
