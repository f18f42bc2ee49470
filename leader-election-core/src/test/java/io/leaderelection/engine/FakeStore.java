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
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;

import io.leaderelection.Term;
import io.leaderelection.engine.StoreSession.Acquisition.Ending;
import io.leaderelection.engine.StoreSession.Candidate;
import io.leaderelection.engine.StoreSession.ForeignHolder;
import io.leaderelection.engine.StoreSession.ForeignHolder.Kind;
import io.leaderelection.engine.StoreSession.Holder;
import io.leaderelection.engine.StoreSession.View;
import org.jspecify.annotations.Nullable;

/**
 * A store whose lock is free unless the test says otherwise. What it does at a call can
 * be scripted: moving the clock, failing, or anything else that happens meanwhile.
 */
final class FakeStore implements ElectionStore {

	private final Map<Call, Deque<Script>> scripts = new EnumMap<>(Call.class);

	private final FakeTime time;

	private final List<String> trace;

	/**
	 * The holder of the lock, if it is another node.
	 */
	@Nullable Holder leader;

	/**
	 * How the term of the predecessor ended.
	 */
	Ending ending = Ending.CLEAN;

	/**
	 * Whether nothing of an earlier term is left when the lock is won.
	 */
	boolean clear;

	/**
	 * Whether a later term is observed when a session is closed.
	 */
	boolean succeeded;

	/**
	 * A session that is no node and holds a lock of the election.
	 */
	@Nullable String foreign;

	/**
	 * Whether that is the lock of the leader, if there is none.
	 */
	boolean foreignBlocks = true;

	/**
	 * Who still holds a lock of an earlier term.
	 */
	@Nullable String predecessor;

	/**
	 * Who holds the barrier.
	 */
	@Nullable String barrier;

	/**
	 * The candidates.
	 */
	List<Candidate> candidates = List.of(new Candidate("node-2", "pid 2"));

	/**
	 * The other node that requests this node to resign.
	 */
	@Nullable String requester;

	/**
	 * How long each wait for the lock was to last.
	 */
	final List<Duration> waits = new ArrayList<>();

	/**
	 * When each session was opened.
	 */
	final List<Duration> openings = new ArrayList<>();

	/**
	 * When each confirmation began.
	 */
	final List<Duration> confirmations = new ArrayList<>();

	final List<Duration> observations = new ArrayList<>();

	/**
	 * Whether the store can be observed without a session.
	 */
	boolean canWatch;

	/**
	 * Whether a candidate is admitted.
	 */
	boolean admits = true;

	/**
	 * Whether a candidate is a standby.
	 */
	boolean standby = true;

	/**
	 * Whether an observation without a session says that a candidate is admitted.
	 */
	boolean open;

	/**
	 * Whether the store is too slow for an observation without a session.
	 */
	boolean slow;

	/**
	 * When each observation without a session began.
	 */
	final List<Duration> watches = new ArrayList<>();

	/**
	 * Assertions that failed inside of a call, where the election takes them for failures
	 * of the store.
	 */
	final List<AssertionError> failures = new ArrayList<>();

	int terms;

	/**
	 * How often this node has begun a hand-over that is not a stop.
	 */
	int resignations;

	@Nullable FakeSession session;

	FakeStore(FakeTime time, List<String> trace) {
		this.time = time;
		this.trace = trace;
	}

	/**
	 * Run a script at the next call of a kind that has none yet.
	 */
	void next(Call call, Script script) {
		this.scripts.computeIfAbsent(call, (key) -> new ArrayDeque<>()).add(script);
	}

	void skip(Call call) {
		next(call, () -> {
		});
	}

	void skip(Call call, int times) {
		for (int i = 0; i < times; i++) {
			skip(call);
		}
	}

	void fail(Call call) {
		fail(call, failure());
	}

	void fail(Call call, int times) {
		for (int i = 0; i < times; i++) {
			fail(call);
		}
	}

	void fail(Call call, SessionException failure) {
		next(call, () -> {
			throw failure;
		});
	}

	private void play(Call call) throws SessionException {
		Deque<Script> queue = this.scripts.get(call);
		if (queue != null && !queue.isEmpty()) {
			try {
				queue.remove().run();
			}
			catch (AssertionError ex) {
				this.failures.add(ex);
				throw ex;
			}
		}
	}

	@Override
	public void resigned() {
		this.resignations++;
	}

	@Override
	public boolean canWatch() {
		return this.canWatch;
	}

	@Override
	public @Nullable Watch watch(boolean candidate) throws SessionException {
		this.watches.add(this.time.elapsed());
		play(Call.WATCH);
		return this.slow ? null : new Watch(view(), this.open);
	}

	@Override
	public StoreSession open() throws SessionException {
		this.openings.add(this.time.elapsed());
		this.trace.add("open");
		play(Call.OPEN);
		this.session = new FakeSession();
		return this.session;
	}

	@Override
	public void requestResignation(Term term, String cause, Duration limit) throws SessionException {
		this.trace.add("request " + term + " " + cause);
		play(Call.REQUEST);
	}

	private View view() {
		return new View(this.leader, this.candidates, (this.foreign != null) ? new ForeignHolder(this.foreign,
				(this.foreignBlocks && this.leader == null) ? Kind.BLOCKING : Kind.OTHER) : null);
	}

	static SessionException failure() {
		return new SessionException("The connection broke", null);
	}

	enum Call {

		OPEN, WATCH, REQUEST, ACQUIRE, OBSERVE, CONFIRM, CANDIDATES, BARRIER, PROBE, RELEASE, CLOSE, ABORT

	}

	@FunctionalInterface
	interface Script {

		void run() throws SessionException;

	}

	final class FakeSession implements StoreSession {

		private boolean aborted;

		boolean isAborted() {
			return this.aborted;
		}

		private void call(Call call) throws SessionException {
			checkNotAborted();
			play(call);
			checkNotAborted();
		}

		private void checkNotAborted() throws SessionException {
			if (this.aborted) {
				throw new SessionException("Aborted", null);
			}
		}

		@Override
		public boolean becomeCandidate() {
			return FakeStore.this.admits;
		}

		@Override
		public boolean isStandby() {
			return FakeStore.this.standby;
		}

		@Override
		public Acquisition acquire(Duration timeout) throws SessionException {
			FakeStore.this.waits.add(timeout);
			call(Call.ACQUIRE);
			if (FakeStore.this.leader != null || FakeStore.this.foreign != null) {
				FakeStore.this.time.advance(timeout);
			}
			if (FakeStore.this.leader != null || FakeStore.this.foreign != null) {
				return new Acquisition.Held(view());
			}
			int term = ++FakeStore.this.terms;
			FakeStore.this.trace.add("won " + term);
			return new Acquisition.Won(new Term(0, 1, term), FakeStore.this.ending, FakeStore.this.clear);
		}

		@Override
		public View observe() throws SessionException {
			FakeStore.this.observations.add(FakeStore.this.time.elapsed());
			call(Call.OBSERVE);
			return view();
		}

		@Override
		public Confirmation confirm(boolean whole) throws SessionException {
			FakeStore.this.confirmations.add(FakeStore.this.time.elapsed());
			String answer = FakeStore.this.predecessor;
			call(Call.CONFIRM);
			return new Confirmation(answer, FakeStore.this.requester != null, FakeStore.this.foreign);
		}

		@Override
		public String requester() {
			return String.valueOf(FakeStore.this.requester);
		}

		@Override
		public List<Candidate> candidates() throws SessionException {
			call(Call.CANDIDATES);
			return FakeStore.this.candidates;
		}

		@Override
		public @Nullable String passBarrier(Duration timeout) throws SessionException {
			FakeStore.this.trace.add("barrier");
			call(Call.BARRIER);
			if (FakeStore.this.barrier != null) {
				FakeStore.this.time.advance(timeout);
			}
			return FakeStore.this.barrier;
		}

		@Override
		public Duration probe(Duration longest) throws SessionException {
			call(Call.PROBE);
			checkNotAborted();
			return Duration.ofMillis(10);
		}

		@Override
		public boolean release(boolean orderly) throws SessionException {
			FakeStore.this.trace.add(orderly ? "release clean" : "release");
			call(Call.RELEASE);
			return FakeStore.this.succeeded;
		}

		@Override
		public void close() {
			FakeStore.this.trace.add("close");
			playUnchecked(Call.CLOSE);
		}

		@Override
		public void abort() {
			if (!this.aborted) {
				this.aborted = true;
				FakeStore.this.trace.add("abort");
			}
			playUnchecked(Call.ABORT);
		}

		private void playUnchecked(Call call) {
			try {
				play(call);
			}
			catch (SessionException ex) {
				throw new IllegalStateException(ex);
			}
		}

	}

}
