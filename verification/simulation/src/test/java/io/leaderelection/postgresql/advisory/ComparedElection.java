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

package io.leaderelection.postgresql.advisory;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.SortedMap;
import java.util.SortedSet;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

import io.leaderelection.Term;
import io.leaderelection.engine.ElectionSettings;
import io.leaderelection.engine.ElectionSettings.FastTakeover;
import io.leaderelection.engine.ElectionStore.Watch;
import io.leaderelection.engine.NodeProfile;
import io.leaderelection.engine.SessionException;
import io.leaderelection.engine.StoreSession.Acquisition.Ending;
import io.leaderelection.engine.StoreSession.Acquisition.Won;
import io.leaderelection.engine.StoreSession.Confirmation;
import io.leaderelection.engine.StoreSession.View;
import io.leaderelection.engine.TransactionFence;
import io.leaderelection.postgresql.ElectionKeys;
import org.jspecify.annotations.Nullable;
import org.postgresql.PGConnection;

/**
 * The sessions of the library in an election, each on a thread, on a server that is
 * simulated or real.
 */
abstract class ComparedElection implements AutoCloseable {

	static final String WAITS = "waits";

	static final String LOST = "lost";

	/** The client of the predecessor has ended its session. */
	static final String ABANDONED = " abandoned";

	/** No key of an earlier term is left. */
	static final String CLEAR = " clear";

	static final long LEASE_MILLIS = 60_000;

	static final int FIRST_WRITER = 10;

	private static final long WAIT_MILLIS = 800;

	private static final long LIMIT_NANOS = 30_000_000_000L;

	/** Just long enough for a session to examine how its predecessor has ended. */
	private static final Duration TAKEOVER_DELAY = Duration.ofMillis(6);

	private static final Pattern PID = Pattern.compile(".*\\bpid (\\d+).*");

	private final ElectionKeys keys;

	private final int standbys;

	private final int[] priorities;

	private final ExecutorService threads = Executors.newCachedThreadPool();

	private final Map<Integer, Session> sessions = new HashMap<>();

	private final Map<Integer, Integer> numbers = new ConcurrentHashMap<>();

	private final Set<Integer> ended = new HashSet<>();

	/** The terms that were won, in order. */
	private final List<Term> terms = new ArrayList<>();

	private @Nullable TransactionFence fence;

	private long base;

	private int latestPid;

	private boolean pidsInOrder = true;

	ComparedElection(ElectionKeys keys, int standbys, int[] priorities) {
		this.keys = keys;
		this.standbys = standbys;
		this.priorities = priorities;
	}

	/**
	 * Begin an operation, and return when all sessions have done what they could.
	 * @return what each session says that was busy
	 */
	final SortedMap<Integer, String> run(ElectionOperation operation) throws Exception {
		int number = operation.session();
		Session session = this.sessions.computeIfAbsent(number, (unknown) -> new Session(number));
		switch (operation.kind()) {
			case CLOSE -> {
				session.answer = null;
				this.ended.add(session.pid);
				session.connection.abort(Runnable::run);
			}
			case TERMINATE -> {
				this.ended.add(session.pid);
				terminate(session.pid);
			}
			case EXPIRE -> {
				this.ended.add(session.pid);
				expire(session.connection);
			}
			case RESET_STATISTICS -> resetStatistics();
			case CANCEL -> {
				session.patient = false;
				cancel(session.pid);
			}
			default -> {
				session.patient = operation.mayWait();
				session.answer = this.threads.submit(() -> session.run(operation));
			}
		}
		awaitRest();
		TreeMap<Integer, String> answers = new TreeMap<>();
		for (Session each : this.sessions.values()) {
			Future<String> answer = each.answer;
			if (answer != null) {
				answers.put(each.number, answer.isDone() ? answer.get() : WAITS);
				each.answer = answer.isDone() ? null : answer;
			}
		}
		return answers;
	}

	private void awaitRest() throws Exception {
		long limit = System.nanoTime() + LIMIT_NANOS;
		while (!isAtRest()) {
			if (System.nanoTime() > limit) {
				throw new AssertionError("The sessions do not come to rest");
			}
			proceed((int) this.sessions.values()
				.stream()
				.filter((session) -> session.answer != null && !session.answer.isDone())
				.count());
		}
	}

	/**
	 * What is busy is read first: whatever has finished by then has its effect on what is
	 * read next.
	 */
	private boolean isAtRest() throws Exception {
		Set<Integer> busy = new HashSet<>(this.ended);
		Set<Integer> patient = new HashSet<>();
		for (Session session : this.sessions.values()) {
			if (session.answer != null && !session.answer.isDone()) {
				busy.add(session.pid);
				if (session.patient) {
					patient.add(session.pid);
				}
			}
		}
		patient.removeAll(this.ended);
		if (busy.isEmpty() || (patient.containsAll(busy) && waiting().containsAll(busy))) {
			return true;
		}
		this.ended.retainAll(present());
		return false;
	}

	@Override
	public final void close() throws Exception {
		for (Session session : this.sessions.values()) {
			if (session.connection != null) {
				session.answer = null;
				session.connection.abort(Runnable::run);
				terminate(session.pid);
				this.ended.add(session.pid);
			}
		}
		awaitRest();
		this.threads.shutdown();
		end();
	}

	// The server

	abstract AdvisoryLockStore store(ElectionSettings settings);

	/**
	 * Open a connection for transactions.
	 */
	abstract Connection connect() throws SQLException;

	abstract void terminate(int pid) throws SQLException;

	abstract void cancel(int pid) throws SQLException;

	/**
	 * Have the server end a session, since its client is silent.
	 */
	abstract void expire(Connection connection) throws SQLException;

	abstract void resetStatistics() throws SQLException;

	/**
	 * Let some time pass.
	 * @param busy how many threads have not yet answered
	 */
	abstract void proceed(int busy);

	/**
	 * Return the sessions that wait for a lock.
	 */
	abstract Set<Integer> waiting() throws SQLException;

	/**
	 * Return the sessions that exist.
	 */
	abstract Set<Integer> present() throws SQLException;

	/**
	 * Return the locks that are held and awaited.
	 */
	abstract SortedSet<String> locks() throws SQLException;

	abstract void end() throws SQLException;

	/**
	 * Set the transaction id from which those of terms are counted.
	 */
	final void countFrom(long transactionId) {
		this.base = transactionId;
	}

	/**
	 * Return whether each session has a higher process id than those before it. Of
	 * several holders the lowest is named, and an operating system begins again at its
	 * limit.
	 */
	final boolean pidsAreInOrder() {
		return this.pidsInOrder;
	}

	// Words, in which nothing depends on the server

	private String won(Won won) {
		synchronized (this.terms) {
			this.terms.add(won.term());
		}
		return "won " + words(won.term())
				+ ((won.ending() == Ending.UNKNOWN) ? "" : " " + won.ending().name().toLowerCase(Locale.ROOT))
				+ (won.clear() ? CLEAR : "");
	}

	private String words(View view) {
		return ((view.leader() != null) ? view.leader().nodeId() + " " + words(view.leader().term()) : "nobody") + " "
				+ view.candidates().stream().map((candidate) -> candidate.nodeId()).sorted().toList()
				+ ((view.foreign() != null) ? " foreign " + number(view.foreign().session()) : "");
	}

	private String words(@Nullable Term term) {
		return (term != null) ? "term " + term.timeline() + ":" + (term.transactionId() - this.base) : "no term";
	}

	private @Nullable Integer number(@Nullable String words) {
		Matcher matcher = PID.matcher(String.valueOf(words));
		return matcher.matches() ? this.numbers.get(Integer.valueOf(matcher.group(1))) : null;
	}

	final String describe(int pid, int parts, int high, int low, boolean shared, boolean granted) {
		return "session " + this.numbers.get(pid) + (granted ? " holds " : " awaits ") + (shared ? "share of " : "")
				+ name(parts, high, low);
	}

	private String name(int parts, int high, int low) {
		if (parts == 1) {
			long key = ((long) high << 32) | Integer.toUnsignedLong(low);
			return (key == this.keys.main()) ? "main" : (key == this.keys.fence()) ? "fence"
					: (key == this.keys.candidate()) ? "candidate" : Long.toString(key);
		}
		if (high == this.keys.termClass()) {
			return (low == ElectionKeys.CLEAN) ? "marker" : "term " + (low - this.base);
		}
		if (high == this.keys.requestClass() && low == ElectionKeys.HEAD) {
			return "head";
		}
		return (high == this.keys.requestClass()) ? "request " + (low - this.base)
				: (high == this.keys.noticeClass()) ? "notice"
						: (high == this.keys.observerClass())
								? (low == ElectionKeys.OBSERVER) ? "observer" : (low < 0) ? "profile" : "seat " + low
								: high + ":" + low;
	}

	/**
	 * A session of a node, or of a transaction of a leader.
	 */
	private final class Session {

		private final int number;

		private final @Nullable AdvisoryLockStore store;

		private volatile @Nullable AdvisoryLockSession session;

		private volatile @Nullable Connection connection;

		private volatile int pid;

		private boolean patient;

		private @Nullable Future<String> answer;

		Session(int number) {
			ComparedElection compared = ComparedElection.this;
			this.number = number;
			this.store = (number < FIRST_WRITER) ? compared.store(new ElectionSettings("comparison", "node-" + number,
					Duration.ofMillis(LEASE_MILLIS), TAKEOVER_DELAY, FastTakeover.TRUE, Duration.ZERO, true,
					compared.standbys, new NodeProfile(NodeProfile.PROTOCOL, compared.priorities[number], Map.of()),
					ElectionSettings.PRIORITY_HOLD)) : null;
		}

		private String run(ElectionOperation operation) throws Exception {
			Duration wait = operation.patient() ? Duration.ofMillis(WAIT_MILLIS) : Duration.ZERO;
			return switch (operation.kind()) {
				case OPEN -> {
					open();
					yield "opened";
				}
				case WATCH -> {
					Watch watch = this.store.watch(false);
					yield words(watch.view()) + (watch.open() ? ", a seat is free" : ", no seat is free");
				}
				case BECOME_CANDIDATE -> attempt(() -> "admitted " + this.session.becomeCandidate());
				case WITHDRAW -> attempt(() -> {
					this.session.withdraw();
					return "done";
				});
				case ACQUIRE -> attempt(() -> (this.session.acquire(wait) instanceof Won won) ? won(won) : "held");
				case OBSERVE -> attempt(() -> words(this.session.observe()));
				case REQUEST -> attempt(() -> "requested " + request(term(operation.term())));
				case CONFIRM -> attempt(() -> describe(this.session.confirm()));
				case PASS_BARRIER -> attempt(() -> {
					String blocker = this.session.passBarrier(wait);
					return (blocker != null) ? "blocked by " + number(blocker) : "passed";
				});
				case RELEASE -> attempt(() -> "succeeded " + this.session.release(operation.patient()));
				case FENCE -> pass(term(operation.term()));
				case COMMIT -> {
					this.connection.commit();
					yield "done";
				}
				case ROLLBACK -> {
					this.connection.rollback();
					yield "done";
				}
				default -> throw new IllegalStateException(operation.toString());
			};
		}

		private void open() throws Exception {
			ComparedElection compared = ComparedElection.this;
			if (this.store != null) {
				this.session = (AdvisoryLockSession) this.store.open();
				compared.fence = this.store.fence();
			}
			Connection opened = (this.session != null) ? this.session.connection() : compared.connect();
			this.connection = opened;
			this.pid = opened.unwrap(PGConnection.class).getBackendPID();
			compared.numbers.put(this.pid, this.number);
			compared.pidsInOrder &= this.pid > compared.latestPid;
			compared.latestPid = this.pid;
		}

		private Term term(int index) {
			synchronized (ComparedElection.this.terms) {
				return ComparedElection.this.terms.get(index);
			}
		}

		private String attempt(Callable<String> call) throws Exception {
			try {
				return call.call();
			}
			catch (SessionException ex) {
				return LOST;
			}
		}

		private boolean request(Term term) throws SessionException {
			try {
				return this.store.newRequest(this.connection, term, "test").share();
			}
			catch (SQLException ex) {
				throw new SessionException("The session has ended", ex);
			}
		}

		private String describe(Confirmation confirmation) {
			return "predecessor " + number(confirmation.predecessor()) + (confirmation.requested() ? " requested" : "");
		}

		private String pass(Term term) throws SQLException {
			TransactionFence.Outcome outcome = ComparedElection.this.fence.pass(this.connection, term);
			return (outcome == TransactionFence.Outcome.PASSED) ? "passed" : "refused";
		}

	}

}
