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

import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.function.Consumer;

import io.leaderelection.Term;
import io.leaderelection.postgresql.ElectionKeys;
import io.leaderelection.postgresql.Profiles;
import io.leaderelection.simulation.server.Activity;
import io.leaderelection.simulation.server.Backend;
import io.leaderelection.simulation.server.Endings;
import io.leaderelection.simulation.server.LockKey;
import io.leaderelection.simulation.server.LockMode;
import io.leaderelection.simulation.server.LockScope;
import io.leaderelection.simulation.server.SimServer;
import io.leaderelection.simulation.server.SqlError;
import io.leaderelection.simulation.server.Statement;
import io.leaderelection.simulation.server.Timeout;
import io.leaderelection.testsupport.Mutant;
import org.jspecify.annotations.Nullable;

/**
 * The statements of {@link AdvisoryLockSql} and {@link AdvisoryLockFence} as programs for
 * a simulated server. Each method returns a new statement, which is submitted once. A
 * change there is made here too: the tests compare both.
 */
public class AdvisoryLockPrograms {

	private static final long LONGEST_WAIT_MILLIS = 800;

	private static final int DATABASE = 5;

	private final LockKey main;

	private final LockKey fence;

	private final LockKey candidate;

	private final LockKey observer;

	private final LockKey clean;

	private final LockKey head;

	private final int termClass;

	private final int requestClass;

	private final int noticeClass;

	private final int observerClass;

	private final Mutant mutant;

	private Consumer<Backend> onHead = (backend) -> {
	};

	public AdvisoryLockPrograms(ElectionKeys keys) {
		this(keys, Mutant.NONE);
	}

	/**
	 * Create a new {@code AdvisoryLockPrograms} instance with a seeded mistake, if it is
	 * one of the statements.
	 */
	public AdvisoryLockPrograms(ElectionKeys keys, Mutant mutant) {
		this.main = LockKey.of(keys.main());
		this.fence = LockKey.of(keys.fence());
		this.candidate = LockKey.of(keys.candidate());
		this.observer = LockKey.of(keys.observerClass(), ElectionKeys.OBSERVER);
		this.clean = LockKey.of(keys.termClass(), ElectionKeys.CLEAN);
		this.head = LockKey.of(keys.requestClass(), ElectionKeys.HEAD);
		this.termClass = keys.termClass();
		this.requestClass = keys.requestClass();
		this.noticeClass = keys.noticeClass();
		this.observerClass = keys.observerClass();
		this.mutant = mutant;
	}

	/**
	 * Inspect the server, with all that {@link AdvisoryLockStore} asks before it applies
	 * settings.
	 */
	public static Statement<Inspection> inspect() {
		return new Query<>((backend) -> new Inspection(backend.pid(), backend.server().isInRecovery(), DATABASE,
				backend.server().systemIdentifier(), LONGEST_WAIT_MILLIS));
	}

	/**
	 * Apply the settings of a session.
	 */
	public static Statement<Settings> settings(long idleMillis, long leaseMillis, long waitMillis, String token) {
		return new Query<>((backend) -> {
			if (backend.token() == null) {
				backend.set(Timeout.IDLE_SESSION, idleMillis, false);
				backend.set(Timeout.IDLE_IN_TRANSACTION, leaseMillis, false);
				backend.set(Timeout.STATEMENT, leaseMillis + 2 * waitMillis, false);
				backend.set(Timeout.LOCK, waitMillis, false);
				backend.set(Timeout.CLIENT_CHECK, Math.max(100, leaseMillis / 5), false);
				backend.setToken(token);
			}
			return new Settings(backend.pid(), backend.token(), backend.setting(Timeout.IDLE_SESSION),
					backend.setting(Timeout.IDLE_IN_TRANSACTION));
		});
	}

	/**
	 * Return whether a key of the class of terms is the marker of a clean hand-over.
	 */
	public static boolean isMarker(LockKey key) {
		return key.low() == ElectionKeys.CLEAN;
	}

	/**
	 * Set what is told when a session is the first one that waits for the main key.
	 */
	public void onHead(Consumer<Backend> listener) {
		this.onHead = listener;
	}

	/**
	 * Return whether a key is that of the candidate at the head of the queue.
	 */
	public boolean isHead(LockKey key) {
		return key.equals(this.head);
	}

	/**
	 * Publish the keys of a profile, unless they are, and become a candidate. The result
	 * is the number of the seat, or 0.
	 */
	public Statement<Integer> becomeCandidate(List<Integer> seats, List<Integer> profile) {
		return new Query<>((backend) -> {
			for (int key : profile) {
				backend.tryLock(LockKey.of(this.observerClass, key), LockMode.SHARE, LockScope.SESSION);
			}
			int seat = seat(backend, seats);
			if (seat != 0) {
				becomeCandidate(backend);
			}
			return seat;
		});
	}

	private int seat(Backend backend, List<Integer> seats) throws SqlError {
		LockMode mode = seatMode();
		for (int seat : seats) {
			if (backend.holds(seatKey(seat), mode)) {
				return seat;
			}
		}
		for (int seat : seats) {
			if (backend.tryLock(seatKey(seat), mode, LockScope.SESSION)) {
				return seat;
			}
		}
		return 0;
	}

	private LockMode seatMode() {
		return (this.mutant == Mutant.SEAT_SHARED) ? LockMode.SHARE : LockMode.EXCLUSIVE;
	}

	private LockKey seatKey(int seat) {
		return LockKey.of(this.observerClass, seat);
	}

	public boolean isSeat(LockKey key) {
		return key.parts() == 2 && key.high() == this.observerClass && key.low() >= ElectionKeys.FIRST_SEAT;
	}

	private void becomeCandidate(Backend backend) throws SqlError {
		boolean observes = backend.holds(this.observer, LockMode.SHARE);
		if (backend.holds(this.candidate, LockMode.SHARE)
				|| backend.tryLock(this.candidate, LockMode.SHARE, LockScope.SESSION)) {
			if (observes) {
				backend.unlock(this.observer, LockMode.SHARE);
			}
		}
		else if (!observes) {
			backend.tryLock(this.observer, LockMode.SHARE, LockScope.SESSION);
		}
	}

	public Statement<Boolean> withdraw() {
		return new Query<>((backend) -> {
			boolean stands = backend.holds(this.candidate, LockMode.SHARE);
			boolean done = backend.holds(this.observer, LockMode.SHARE)
					|| backend.tryLock(this.observer, LockMode.SHARE, LockScope.SESSION);
			if (stands) {
				backend.unlock(this.candidate, LockMode.SHARE);
			}
			for (LockKey seat : seatsOf(backend)) {
				backend.unlock(seat, LockMode.EXCLUSIVE);
			}
			return done;
		});
	}

	private List<LockKey> seatsOf(Backend backend) {
		List<LockKey> seats = new ArrayList<>(1);
		backend.server().visitLocks((key, mode, pid, granted) -> {
			if (granted && pid == backend.pid() && mode == LockMode.EXCLUSIVE && isSeat(key)) {
				seats.add(key);
			}
		});
		return seats;
	}

	/**
	 * Observe the election without a session.
	 */
	public Statement<Watched> watch(List<Integer> seats) {
		return new Query<>((backend) -> {
			boolean[] taken = new boolean[seats.size()];
			backend.server().visitLocks((key, mode, pid, granted) -> {
				int seat = (granted && isSeat(key)) ? seats.indexOf(key.low()) : -1;
				if (seat >= 0) {
					taken[seat] = true;
				}
			});
			int count = 0;
			for (boolean each : taken) {
				count += (each || this.mutant == Mutant.NO_SEAT_FREE) ? 1 : 0;
			}
			return new Watched(backend.server().isInRecovery(), view(backend), count);
		});
	}

	/**
	 * Wait for the main key.
	 * @param priority the priority of the node
	 * @param predecessor the leader whose end is to be examined, if there is one
	 */
	public Statement<Acquired> acquire(long waitMillis, boolean observe, int seat, int priority,
			@Nullable Predecessor predecessor) {
		return new Acquire(waitMillis, observe, seat, priority, predecessor);
	}

	public Statement<Boolean> holdsAny() {
		return new Query<>((backend) -> {
			Rows own = new Rows();
			backend.server().visitLocks((key, mode, pid, granted) -> {
				if (granted && pid == backend.pid() && mode == LockMode.EXCLUSIVE && !isSeat(key)) {
					own.count++;
				}
			});
			return own.count > 0;
		});
	}

	public Statement<Observation> observe() {
		return new Query<>(this::view);
	}

	private Observation view(Backend backend) {
		Rows rows = new Rows();
		backend.server().visitLocks((key, mode, pid, granted) -> {
			if (granted) {
				rows.addNode(key, mode, pid);
				if (key.equals(this.main) && pid != backend.pid() && (rows.holder == 0 || pid < rows.holder)) {
					rows.holder = pid;
				}
			}
		});
		return new Observation(rows.holder, sorted(rows.candidates), sorted(rows.observers));
	}

	public Statement<List<NodeRow>> describe(Collection<Integer> pids) {
		return new Query<>((backend) -> backend.server()
			.activity()
			.stream()
			.filter((session) -> pids.contains(session.pid()))
			.map((session) -> describe(backend.server(), session))
			.toList());
	}

	private NodeRow describe(SimServer server, Activity session) {
		long[] least = { Long.MAX_VALUE, Long.MAX_VALUE, Long.MAX_VALUE };
		int[] profile = new int[1];
		server.visitLocks((key, mode, pid, granted) -> {
			if (!granted || pid != session.pid() || key.parts() != 2) {
				return;
			}
			long object = Integer.toUnsignedLong(key.low());
			if (key.high() == this.termClass && mode == LockMode.EXCLUSIVE && key.low() >= 0) {
				least[0] = Math.min(least[0], object);
			}
			else if (key.high() == this.noticeClass && key.low() >= 0) {
				least[1] = Math.min(least[1], object);
			}
			else if (key.high() == this.noticeClass) {
				least[2] = Math.min(least[2], 4294967295L - object);
			}
			else if (isOfProfile(key)) {
				profile[0] = key.low();
			}
		});
		return new NodeRow(session.pid(), session.applicationName(), orNull(least[0]), orNull(least[1]),
				orNull(least[2]), profile[0]);
	}

	private boolean isOfProfile(LockKey key) {
		return key.parts() == 2 && key.high() == this.observerClass && key.low() < 0;
	}

	private static @Nullable Long orNull(long value) {
		return (value != Long.MAX_VALUE) ? value : null;
	}

	public static Statement<List<SessionRow>> nameSessions(Collection<Integer> pids) {
		return new Query<>((backend) -> backend.server()
			.activity()
			.stream()
			.filter((session) -> pids.contains(session.pid()))
			.map((session) -> new SessionRow(session.pid(), session.applicationName(), session.role()))
			.toList());
	}

	public Statement<Boolean> requestResignation(Term term) {
		return new Query<>((backend) -> backend.tryLock(this.observer, LockMode.SHARE, LockScope.SESSION)
				&& backend.tryLock(requestKey(term), LockMode.SHARE, LockScope.SESSION));
	}

	public Statement<Boolean> hasEnded(Term term) {
		return new Query<>((backend) -> backend.tryLock(termKey(term), LockMode.SHARE, LockScope.TRANSACTION));
	}

	private LockKey requestKey(Term term) {
		return LockKey.of(this.requestClass, termObject(term));
	}

	private LockKey termKey(Term term) {
		return LockKey.of(this.termClass, termObject(term));
	}

	private static int termObject(Term term) {
		return ElectionKeys.termObject(term.timeline(), term.transactionId());
	}

	public Statement<Confirmed> confirm(Term term, long number) {
		return new Query<>((backend) -> confirm(backend, term, number));
	}

	private Confirmed confirm(Backend backend, Term term, long number) {
		LockKey termKey = termKey(term);
		LockKey requestKey = requestKey(term);
		boolean blind = this.mutant == Mutant.NO_WAIT_FOR_EARLIER_TERMS;
		Rows rows = new Rows();
		backend.server().visitLocks((key, mode, pid, granted) -> {
			boolean exclusive = mode == LockMode.EXCLUSIVE;
			boolean other = pid != backend.pid() && !blind;
			if (key.equals(this.fence)) {
				if (exclusive && other) {
					rows.fenceHolders.add(pid);
				}
			}
			else if (granted) {
				rows.addNode(key, mode, pid);
				if (exclusive && pid == backend.pid() && (key.equals(this.main) || key.equals(termKey))) {
					rows.count++;
				}
				if (exclusive && other && isOfTerm(key)) {
					rows.predecessors.add(pid);
				}
				if (other && key.equals(requestKey)) {
					rows.requests.add(pid);
				}
			}
		});
		return new Confirmed(backend.pid(), backend.server().isInRecovery(), backend.token(), number,
				backend.setting(Timeout.IDLE_SESSION), backend.setting(Timeout.IDLE_IN_TRANSACTION), rows.count,
				sorted(rows.predecessors), sorted(rows.fenceHolders), sorted(rows.requests), sorted(rows.candidates),
				sorted(rows.observers));
	}

	private boolean isOfTerm(LockKey key) {
		return key.parts() == 2 && key.high() == this.termClass;
	}

	public Statement<Barrier> passBarrier(long waitMillis, long leaseMillis) {
		return new PassBarrier(waitMillis, leaseMillis);
	}

	/**
	 * The result says whether a successor was observed.
	 */
	public Statement<Boolean> release(Term term, boolean clean, long idleMillis, long waitMillis) {
		return new Release(term, clean, idleMillis, waitMillis);
	}

	/**
	 * Pass the fence in the transaction block of the session. The result says whether the
	 * key of the term is held.
	 */
	public Statement<Boolean> fence(Term term, long leaseMillis) {
		return new Fence(term, leaseMillis);
	}

	private static List<Integer> sorted(List<Integer> pids) {
		if (pids.size() > 1) {
			Collections.sort(pids);
		}
		return pids;
	}

	private static boolean isCancel(SqlError error) {
		return error.state().equals(SqlError.QUERY_CANCELED.state());
	}

	/**
	 * Waits for the head of the queue and there for the main key, takes it for the
	 * session, issues the term, and then looks how the session of the predecessor has
	 * ended.
	 */
	private final class Acquire extends Statement<Acquired> {

		private static final int MOST_LOOKS = 20;

		private static final int ENTER = 0;

		private static final int WAIT_FOR_HEAD = 1;

		/** The baseline, and then whether the predecessor holds both keys. */
		private static final int BEFORE = 2;

		private static final int AFTER = 3;

		private static final int WAIT = 4;

		private static final int WAITED = 5;

		private static final int TAKE = 6;

		private static final int LOOK = 7;

		private static final int ISSUE = 8;

		private static final int TAKE_TERM = 9;

		private static final int PUBLISH = 10;

		private static final int WRITE = 11;

		private static final int TRY_FENCE = 12;

		private static final int AWAIT_END = 13;

		private static final int COMPARE = 14;

		private static final int FREE_SEAT = 15;

		private static final int WON = 16;

		/** In the handler of the inner block. */
		private static final int LOST_WITHIN = 17;

		private static final int LOST = 18;

		private static final int OBSERVE = 19;

		private final long waitMillis;

		private final boolean observe;

		private final int seat;

		private final int priority;

		private final @Nullable Predecessor predecessor;

		private long begin;

		private @Nullable Endings baseline;

		private boolean predecessorHolds;

		private int looks;

		private long term;

		private long timeline;

		private boolean clean;

		private boolean clear;

		private boolean abandoned;

		/** Whether a candidate of higher priority waits. */
		private boolean preceded;

		private Acquire(long waitMillis, boolean observe, int seat, int priority, @Nullable Predecessor predecessor) {
			this.waitMillis = waitMillis;
			this.observe = observe;
			this.seat = seat;
			this.priority = priority;
			this.predecessor = predecessor;
		}

		@Override
		protected int step(int step, Backend backend) throws SqlError {
			AdvisoryLockPrograms keys = AdvisoryLockPrograms.this;
			boolean early = keys.mutant == Mutant.SESSION_LOCK_IN_WAIT;
			switch (step) {
				case ENTER -> {
					this.begin = backend.server().clock().now();
					backend.savepoint();
					backend.savepoint();
				}
				case WAIT_FOR_HEAD -> {
					backend.set(Timeout.LOCK, this.waitMillis, true);
					if (keys.mutant != Mutant.NO_HEAD) {
						backend.lock(keys.head, LockMode.EXCLUSIVE, LockScope.TRANSACTION);
					}
				}
				case BEFORE -> {
					keys.onHead.accept(backend);
					if (keys.mutant == Mutant.BASELINE_AFTER_LOOK) {
						lookForPredecessor(backend);
					}
					else {
						readBaseline(backend);
					}
				}
				case AFTER -> {
					if (keys.mutant == Mutant.BASELINE_AFTER_LOOK) {
						readBaseline(backend);
					}
					else {
						lookForPredecessor(backend);
					}
				}
				case WAIT -> {
					long waited = Math.round((backend.server().clock().now() - this.begin) / 1e6);
					backend.set(Timeout.LOCK, Math.max(1, Math.min(this.waitMillis, this.waitMillis - waited)), true);
					backend.lock(keys.main, LockMode.EXCLUSIVE, early ? LockScope.SESSION : LockScope.TRANSACTION);
				}
				case WAITED -> {
					backend.releaseSavepoint();
					backend.releaseSavepoint();
				}
				case TAKE -> {
					if (!early) {
						backend.lock(keys.main, LockMode.EXCLUSIVE, LockScope.SESSION);
					}
				}
				case LOOK -> {
					look(backend);
					if (this.preceded && keys.mutant != Mutant.YIELDS_WITH_TERM) {
						return leaveToOther(backend);
					}
				}
				case ISSUE -> {
					this.term = backend.transactionId();
					if (backend.server().isInRecovery()) {
						throw SqlError.IN_RECOVERY;
					}
					this.timeline = backend.server().timeline();
				}
				case TAKE_TERM -> {
					LockKey key = LockKey.of(keys.termClass, ElectionKeys.termObject(this.timeline, this.term));
					if (!backend.tryLock(key, LockMode.EXCLUSIVE, LockScope.SESSION)) {
						throw new SqlError("P0001", "the key of term " + this.term + " is in use");
					}
				}
				case PUBLISH -> {
					publish(backend);
					if (this.preceded) {
						return leaveToOther(backend);
					}
				}
				case WRITE -> {
					if (keys.mutant != Mutant.BARE_TRANSACTION_ID) {
						backend.write();
					}
				}
				case TRY_FENCE ->
					this.clear = this.clear && backend.tryLock(keys.fence, LockMode.EXCLUSIVE, LockScope.TRANSACTION);
				case AWAIT_END -> {
					return awaitEnd(backend);
				}
				case COMPARE -> this.abandoned = isBaseline(backend.endings());
				case FREE_SEAT -> {
					if (this.seat != 0 && keys.mutant != Mutant.SEAT_NOT_FREED) {
						backend.unlock(seatKey(this.seat), seatMode());
					}
				}
				case WON -> {
					answer(new Acquired(true, this.timeline, this.term, this.clean, this.clear, this.abandoned, null));
					return END;
				}
				case LOST_WITHIN -> backend.releaseSavepoint();
				case LOST -> {
					return lost();
				}
				default -> {
					answer(new Acquired(false, 0, 0, false, false, false, view(backend)));
					return END;
				}
			}
			return step + 1;
		}

		private int lost() {
			answer(new Acquired(false, 0, 0, false, false, false, null));
			return this.observe ? OBSERVE : END;
		}

		/**
		 * Leave the main key to another candidate. The lock of the transaction remains to
		 * its end.
		 */
		private int leaveToOther(Backend backend) {
			AdvisoryLockPrograms keys = AdvisoryLockPrograms.this;
			if (keys.mutant != Mutant.YIELDS_WITHOUT_UNLOCK) {
				backend.unlock(keys.main, LockMode.EXCLUSIVE);
			}
			return lost();
		}

		private void readBaseline(Backend backend) {
			if (this.predecessor != null) {
				this.baseline = backend.endings();
			}
		}

		private void lookForPredecessor(Backend backend) {
			Predecessor known = this.predecessor;
			if (known == null) {
				return;
			}
			LockKey termKey = LockKey.of(AdvisoryLockPrograms.this.termClass, known.termObject());
			boolean termOnly = AdvisoryLockPrograms.this.mutant == Mutant.TERM_KEY_LOOKED_AT;
			Rows rows = new Rows();
			backend.server().visitLocks((key, mode, pid, granted) -> {
				if (granted && mode == LockMode.EXCLUSIVE && pid == known.pid()
						&& (key.equals(termKey) || (key.equals(AdvisoryLockPrograms.this.main) && !termOnly))) {
					rows.count++;
				}
			});
			this.predecessorHolds = rows.count == (termOnly ? 1 : 2);
		}

		private int awaitEnd(Backend backend) {
			if (this.predecessor == null || !this.predecessorHolds || this.clean || ++this.looks > MOST_LOOKS) {
				return FREE_SEAT;
			}
			backend.clearStatistics();
			if (AdvisoryLockPrograms.this.mutant == Mutant.COUNTED_TOO_EARLY
					|| backend.server().backend(this.predecessor.pid()) == null) {
				return COMPARE;
			}
			backend.sleep(1_000_000);
			return AWAIT_END;
		}

		private boolean isBaseline(Endings endings) {
			Endings before = this.baseline;
			Mutant mutant = AdvisoryLockPrograms.this.mutant;
			return before != null && endings.killed() == before.killed()
					&& (endings.fatal() == before.fatal() || mutant == Mutant.FATAL_IGNORED)
					&& (endings.resetTime() == before.resetTime() || mutant == Mutant.RESET_IGNORED);
		}

		private void look(Backend backend) {
			AdvisoryLockPrograms keys = AdvisoryLockPrograms.this;
			Rows rows = new Rows();
			Set<Integer> waiting = new HashSet<>();
			Set<Integer> higher = new HashSet<>();
			backend.server().visitLocks((key, mode, pid, granted) -> {
				if (pid == backend.pid()) {
					return;
				}
				if (granted && mode == LockMode.EXCLUSIVE && isOfTerm(key)) {
					if (key.equals(keys.clean)) {
						this.clean = true;
					}
					else {
						rows.count++;
					}
				}
				if (!granted && (key.equals(keys.main) || key.equals(keys.head))) {
					waiting.add(pid);
				}
				if (mode == LockMode.SHARE && isOfProfile(key) && Profiles.isKey(key.low())
						&& (key.low() >> 8 & 0xFF) > this.priority) {
					higher.add(pid);
				}
			});
			this.preceded = !Collections.disjoint(waiting, higher);
			this.clear = rows.count == 0 || keys.mutant == Mutant.NO_WAIT_FOR_EARLIER_TERMS;
		}

		private void publish(Backend backend) throws SqlError {
			int bits = ElectionKeys.TIMELINE_BITS;
			long second = Math.round(backend.server().clock().now() / 1e9) - ElectionKeys.NOTICE_EPOCH;
			publish(backend, (int) (second & Integer.MAX_VALUE));
			long high = this.term >> 31;
			if (this.timeline >> bits == 0 && high >> (31 - bits) == 0) {
				publish(backend, (int) (-1 - ((high << bits) | this.timeline)));
			}
		}

		private void publish(Backend backend, int notice) throws SqlError {
			backend.tryLock(LockKey.of(AdvisoryLockPrograms.this.noticeClass, notice), LockMode.SHARE,
					LockScope.SESSION);
		}

		@Override
		protected int handle(int step, SqlError error, Backend backend) throws SqlError {
			boolean cancelled = isCancel(error);
			if (step >= WAIT_FOR_HEAD && step <= WAITED && (cancelled || error == SqlError.LOCK_NOT_AVAILABLE)) {
				backend.rollbackToSavepoint();
				return LOST_WITHIN;
			}
			if (step == LOST_WITHIN && cancelled) {
				backend.rollbackToSavepoint();
				return LOST;
			}
			throw error;
		}

	}

	/**
	 * Waits until no session shares the fence key, and ends sessions that are stuck in
	 * the middle of a request while they do.
	 */
	private final class PassBarrier extends Statement<Barrier> {

		private static final int ENTER = 0;

		private static final int WAIT = 1;

		private static final int PASSED = 2;

		private static final int BLOCKED = 3;

		private static final int ANSWER = 4;

		private final long waitMillis;

		private final long leaseMillis;

		private boolean passed;

		private PassBarrier(long waitMillis, long leaseMillis) {
			this.waitMillis = waitMillis;
			this.leaseMillis = leaseMillis;
		}

		@Override
		protected int step(int step, Backend backend) throws SqlError {
			switch (step) {
				case ENTER -> backend.savepoint();
				case WAIT -> {
					backend.set(Timeout.LOCK, this.waitMillis, true);
					backend.lock(AdvisoryLockPrograms.this.fence, LockMode.EXCLUSIVE, LockScope.TRANSACTION);
				}
				case PASSED -> {
					backend.releaseSavepoint();
					this.passed = true;
					return ANSWER;
				}
				case BLOCKED -> endStuckSessions(backend);
				default -> {
					List<Integer> holders = holders(backend);
					answer(new Barrier(this.passed, holders.isEmpty() ? 0 : holders.get(0)));
					return END;
				}
			}
			return step + 1;
		}

		private List<Integer> holders(Backend backend) {
			List<Integer> holders = new ArrayList<>();
			backend.server().visitLocks((key, mode, pid, granted) -> {
				if (granted && pid != backend.pid() && key.equals(AdvisoryLockPrograms.this.fence)) {
					holders.add(pid);
				}
			});
			return sorted(holders);
		}

		private void endStuckSessions(Backend backend) {
			List<Integer> holders = holders(backend);
			if (holders.isEmpty()) {
				return;
			}
			long latest = backend.server().clock().now() - this.leaseMillis * 1_000_000;
			for (Activity session : backend.server().activity()) {
				if (session.receiving() && session.stateChange() < latest && holders.contains(session.pid())) {
					backend.server().terminate(session.pid());
				}
			}
		}

		@Override
		protected int handle(int step, SqlError error, Backend backend) throws SqlError {
			if ((step == WAIT || step == PASSED) && (isCancel(error) || error == SqlError.LOCK_NOT_AVAILABLE)) {
				backend.rollbackToSavepoint();
				return BLOCKED;
			}
			throw error;
		}

	}

	/**
	 * Frees the keys, waits briefly for a successor and removes the marker.
	 */
	private final class Release extends Statement<Boolean> {

		private static final int LOOK = 0;

		private static final int MARK = 1;

		private static final int FREE_TERM = 2;

		private static final int FREE_MAIN = 3;

		private static final int ENTER = 4;

		private static final int ATTEMPT = 5;

		private static final int LEAVE = 6;

		private static final int UNMARK = 7;

		private final LockKey termKey;

		private final boolean clean;

		private final long idleMillis;

		private final long waitMillis;

		private boolean mainHeld;

		private boolean termHeld;

		private boolean marked;

		private long until;

		private int attempt;

		private int successors;

		private int candidates;

		private Release(Term term, boolean clean, long idleMillis, long waitMillis) {
			this.termKey = termKey(term);
			this.clean = clean;
			this.idleMillis = idleMillis;
			this.waitMillis = waitMillis;
		}

		@Override
		protected int step(int step, Backend backend) throws SqlError {
			AdvisoryLockPrograms keys = AdvisoryLockPrograms.this;
			switch (step) {
				case LOOK -> {
					backend.set(Timeout.IDLE_SESSION, this.idleMillis, false);
					this.mainHeld = backend.holds(keys.main, LockMode.EXCLUSIVE);
					this.termHeld = backend.holds(this.termKey, LockMode.EXCLUSIVE);
					this.marked = backend.holds(keys.clean, LockMode.EXCLUSIVE);
				}
				case MARK -> this.marked = this.marked || (this.clean && this.mainHeld
						&& backend.tryLock(keys.clean, LockMode.EXCLUSIVE, LockScope.SESSION));
				case FREE_TERM -> {
					if (this.termHeld) {
						backend.unlock(this.termKey, LockMode.EXCLUSIVE);
					}
				}
				case FREE_MAIN -> {
					if (this.mainHeld) {
						backend.unlock(keys.main, LockMode.EXCLUSIVE);
					}
				}
				case ENTER -> {
					this.until = backend.server().clock().now() + this.waitMillis * 1_000_000;
					backend.savepoint();
					backend.savepoint();
				}
				case ATTEMPT -> {
					this.attempt++;
					look(backend);
					if (this.successors == 0 && this.candidates > 0 && backend.server().clock().now() < this.until
							&& this.attempt <= this.waitMillis) {
						backend.sleep((this.attempt <= 10) ? 1_000_000 : 10_000_000);
						return ATTEMPT;
					}
					backend.releaseSavepoint();
				}
				case LEAVE -> backend.releaseSavepoint();
				default -> {
					if (this.marked && (this.successors > 0 || this.candidates == 0)) {
						backend.unlock(keys.clean, LockMode.EXCLUSIVE);
					}
					answer(this.successors > 0);
					return END;
				}
			}
			return step + 1;
		}

		private void look(Backend backend) {
			AdvisoryLockPrograms keys = AdvisoryLockPrograms.this;
			Rows rows = new Rows();
			backend.server().visitLocks((key, mode, pid, granted) -> {
				if (granted && pid != backend.pid()) {
					rows.addNode(key, mode, pid);
					if (mode == LockMode.EXCLUSIVE && isOfTerm(key) && !key.equals(keys.clean)) {
						rows.count++;
					}
				}
			});
			this.successors = rows.count;
			this.candidates = rows.candidates.size();
		}

		@Override
		protected int handle(int step, SqlError error, Backend backend) throws SqlError {
			if (step == ATTEMPT) {
				backend.rollbackToSavepoint();
				return LEAVE;
			}
			if (step == LEAVE && isCancel(error)) {
				backend.rollbackToSavepoint();
				return UNMARK;
			}
			throw error;
		}

	}

	/**
	 * Takes a share of the fence key, and then checks whether the key of the term is
	 * held.
	 */
	private final class Fence extends Statement<Boolean> {

		private static final int SHARE = 0;

		private static final int LOOK = 1;

		private final LockKey termKey;

		private final long leaseMillis;

		private boolean shared;

		private Fence(Term term, long leaseMillis) {
			this.termKey = termKey(term);
			this.leaseMillis = leaseMillis;
		}

		@Override
		protected int step(int step, Backend backend) throws SqlError {
			AdvisoryLockPrograms keys = AdvisoryLockPrograms.this;
			boolean open = keys.mutant == Mutant.OPEN_FENCE;
			switch (step) {
				case SHARE -> this.shared = open || backend.tryLock(keys.fence, LockMode.SHARE, LockScope.TRANSACTION);
				case LOOK -> answer(
						open || (this.shared && !backend.tryLock(this.termKey, LockMode.SHARE, LockScope.TRANSACTION)));
				default -> {
					long present = backend.setting(Timeout.IDLE_IN_TRANSACTION);
					if (keys.mutant != Mutant.NO_LIMIT_IN_FENCE && (present == 0 || present > this.leaseMillis)) {
						backend.set(Timeout.IDLE_IN_TRANSACTION, this.leaseMillis, true);
					}
					return END;
				}
			}
			return step + 1;
		}

	}

	/**
	 * A statement that reads or changes everything in one step.
	 */
	private static final class Query<T> extends Statement<T> {

		private final Question<T> question;

		private Query(Question<T> question) {
			this.question = question;
		}

		@Override
		protected int step(int step, Backend backend) throws SqlError {
			answer(this.question.ask(backend));
			return END;
		}

	}

	@FunctionalInterface
	private interface Question<T> {

		T ask(Backend backend) throws SqlError;

	}

	/**
	 * What a statement finds in {@code pg_locks}.
	 */
	private final class Rows {

		private final List<Integer> candidates = new ArrayList<>(4);

		private final List<Integer> observers = new ArrayList<>(2);

		private final List<Integer> predecessors = new ArrayList<>(2);

		private final List<Integer> fenceHolders = new ArrayList<>(2);

		private final List<Integer> requests = new ArrayList<>(2);

		private int holder;

		private int count;

		private void addNode(LockKey key, LockMode mode, int pid) {
			if (mode != LockMode.SHARE) {
				return;
			}
			if (key.equals(AdvisoryLockPrograms.this.candidate)) {
				this.candidates.add(pid);
			}
			else if (key.equals(AdvisoryLockPrograms.this.observer)) {
				this.observers.add(pid);
			}
		}

	}

	/**
	 * The server.
	 */
	public record Inspection(int pid, boolean inRecovery, long database, long systemIdentifier,
			long longestWaitMillis) {
	}

	/**
	 * The settings of the session that confirmations must find unchanged.
	 */
	public record Settings(int pid, @Nullable String token, long idleSessionMillis, long idleInTransactionMillis) {
	}

	/**
	 * The answer of the acquiring statement.
	 *
	 * @param won whether the lock was won; only then the next five have a meaning
	 * @param abandoned whether the session of the predecessor was not ended by the server
	 * @param observation the holder and the nodes if the lock was not won and they were
	 * asked for
	 */
	public record Acquired(boolean won, long timeline, long transactionId, boolean clean, boolean clear,
			boolean abandoned, @Nullable Observation observation) {
	}

	/**
	 * The process id of the holder of the main key, or 0, and those of the nodes, in
	 * order.
	 */
	public record Observation(int holder, List<Integer> candidates, List<Integer> observers) {
	}

	/**
	 * What a node without a session reads.
	 *
	 * @param taken how many seats are taken
	 */
	public record Watched(boolean inRecovery, Observation observation, int taken) {
	}

	/**
	 * The row of a confirmation; process ids are in order.
	 */
	public record Confirmed(int pid, boolean inRecovery, @Nullable String token, long number, long idleSessionMillis,
			long idleInTransactionMillis, int held, List<Integer> predecessors, List<Integer> fenceHolders,
			List<Integer> requests, List<Integer> candidates, List<Integer> observers) {
	}

	/**
	 * Whether the barrier was passed, and else a session that holds the fence, or 0.
	 */
	public record Barrier(boolean passed, int holder) {
	}

	/**
	 * A session with the data of its term, of which each may be missing.
	 */
	public record NodeRow(int pid, String applicationName, @Nullable Long termObject, @Nullable Long since,
			@Nullable Long notice, int profile) {
	}

	/**
	 * A session.
	 */
	public record SessionRow(int pid, String applicationName, String role) {
	}

}
