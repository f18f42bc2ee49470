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
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Consumer;
import java.util.stream.Collectors;
import java.util.stream.Stream;

import io.leaderelection.Term;
import io.leaderelection.engine.NodeProfile;
import io.leaderelection.postgresql.ElectionKeys;
import io.leaderelection.postgresql.LeaseTableShape;
import io.leaderelection.postgresql.Profiles;
import io.leaderelection.postgresql.advisory.AdvisoryLockStore.TableRow;
import io.leaderelection.simulation.Sentinel;
import io.leaderelection.simulation.Texts;
import io.leaderelection.simulation.server.Activity;
import io.leaderelection.simulation.server.Backend;
import io.leaderelection.simulation.server.Endings;
import io.leaderelection.simulation.server.LockKey;
import io.leaderelection.simulation.server.LockMode;
import io.leaderelection.simulation.server.LockScope;
import io.leaderelection.simulation.server.Rows;
import io.leaderelection.simulation.server.SimServer;
import io.leaderelection.simulation.server.SqlError;
import io.leaderelection.simulation.server.Statement;
import io.leaderelection.simulation.server.Timeout;
import org.jspecify.annotations.Nullable;

/**
 * The statements of {@link AdvisoryLockSql} and {@link AdvisoryLockFence} as programs for
 * a simulated server. Each method returns a text that stands for a new program, and is
 * used once. A change there is made here too: the tests compare both, but for foreign
 * sessions and what the README names.
 */
public final class AdvisoryLockPrograms extends AdvisoryLockSql {

	/** In seconds, as in the inspection of the server. */
	private static final int THRESHOLD = 1;

	private final ElectionKeys keys;

	private final LockKey main;

	private final LockKey fence;

	private final LockKey candidate;

	private final LockKey observer;

	private final LockKey clean;

	private final LockKey head;

	private final Texts texts;

	private final Sentinel sentinel;

	private boolean otherStore;

	private int namesFailing;

	private int names;

	private Consumer<Backend> onHead = (backend) -> {
	};

	private Consumer<Backend> onTake = (backend) -> {
	};

	/**
	 * Create a new {@code AdvisoryLockPrograms} instance with a mistake, if it is one of
	 * the statements.
	 * @param row where nodes with the other store would hold their lease, if anywhere
	 */
	AdvisoryLockPrograms(ElectionKeys keys, Sentinel sentinel, Texts texts, @Nullable TableRow row) {
		super(keys, Texts.SERVER);
		this.keys = keys;
		this.texts = texts;
		this.sentinel = sentinel;
		this.main = LockKey.of(keys.main());
		this.fence = LockKey.of(keys.fence());
		this.candidate = LockKey.of(keys.candidate());
		this.observer = LockKey.of(keys.observerClass(), ElectionKeys.OBSERVER);
		this.clean = LockKey.of(keys.termClass(), ElectionKeys.CLEAN);
		this.head = LockKey.of(keys.requestClass(), ElectionKeys.HEAD);
		texts.define(FENCE, (parameters, client) -> {
			int termObject = (Integer) parameters.get(2);
			String idle = (String) parameters.get(3);
			// Asked for if the fence is not passed
			texts.answer(foreignFenceHolder(keys, Texts.DATABASE, new Term(0, 1, termObject)),
					(backend) -> foreignFenceHolder(backend, termObject));
			return new Fence(termObject, Long.parseLong(idle.substring(0, idle.length() - 2)));
		});
		if (row != null) {
			texts.answer(LeaseTableShape.inspectBriefly(row.table()), (backend) -> Texts.tables());
			texts.answer(LeaseTableShape.activeNode(Texts.TABLES, row.key()), (backend) -> Rows.of("holder",
					(this.otherStore && sentinel != Sentinel.OTHER_STORE_NOT_SEEN) ? "other" : ""));
		}
	}

	/**
	 * Set whether a node with the other store leads.
	 */
	public void setOtherStore(boolean leads) {
		this.otherStore = leads;
	}

	/**
	 * Set how likely it is that a query for the names of sessions fails.
	 * @param percent the probability in percent
	 */
	public void setNamesFailing(int percent) {
		this.namesFailing = percent;
	}

	/**
	 * Apply the settings of a session.
	 */
	@Override
	String settings(Map<String, String> settings) {
		return this.texts.query((backend) -> {
			if (backend.token() == null) {
				for (Timeout timeout : Timeout.values()) {
					String value = settings.get(timeout.setting());
					if (value != null) {
						backend.set(timeout, Long.parseLong(value), false);
					}
				}
				backend.setToken(settings.get(TOKEN));
			}
			return Rows.of("idle_session_timeout", backend.setting(Timeout.IDLE_SESSION), "idle_in_transaction",
					backend.setting(Timeout.IDLE_IN_TRANSACTION), "lease", backend.setting(Timeout.IDLE_SESSION),
					"tcp_user_timeout", Long.valueOf(settings.get("tcp_user_timeout")), "tcp_keepalives_idle",
					Long.valueOf(settings.get("tcp_keepalives_idle")), "token", backend.token(), "pid", backend.pid());
		});
	}

	/**
	 * Return whether a key of the class of terms is the marker of a clean hand-over.
	 */
	public static boolean isMarker(LockKey key) {
		return key.low() == ElectionKeys.CLEAN;
	}

	/**
	 * Return the keys that a foreign session may lock, but for those of terms.
	 */
	public List<LockKey> foreignKeys(int seats) {
		return List.of(this.main, this.fence, this.candidate, this.head, seatKey(ElectionKeys.FIRST_SEAT + seats - 1));
	}

	/**
	 * Set what is told when a session is the first one that waits for the main key.
	 */
	public void onHead(Consumer<Backend> listener) {
		this.onHead = listener;
	}

	/**
	 * Set what is told when a session has taken the main key, before it has answered.
	 */
	public void onTake(Consumer<Backend> listener) {
		this.onTake = listener;
	}

	/**
	 * Return whether a key is that of the candidate at the head of the queue.
	 */
	public boolean isHead(LockKey key) {
		return key.equals(this.head);
	}

	/**
	 * Publish the key of a profile, which may fail.
	 */
	@Override
	String publish(NodeProfile profile, boolean fast) {
		LockKey key = LockKey.of(this.keys.observerClass(), Profiles.key(profile, fast));
		return this.texts.query((backend) -> {
			backend.tryLock(key, LockMode.SHARE, LockScope.SESSION);
			return new Rows();
		});
	}

	@Override
	String becomeCandidate(List<Integer> seats) {
		return this.texts.query((backend) -> {
			int seat = seat(backend, seats);
			if (seat != 0) {
				becomeCandidate(backend);
			}
			return Rows.of("seat", (seat != 0) ? seat : null);
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
		return (this.sentinel == Sentinel.SEAT_SHARED) ? LockMode.SHARE : LockMode.EXCLUSIVE;
	}

	private LockKey seatKey(int seat) {
		return LockKey.of(this.keys.observerClass(), seat);
	}

	public boolean isSeat(LockKey key) {
		return key.parts() == 2 && key.high() == this.keys.observerClass() && key.low() >= ElectionKeys.FIRST_SEAT;
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

	@Override
	String withdraw() {
		return this.texts.query((backend) -> {
			boolean stands = backend.holds(this.candidate, LockMode.SHARE);
			boolean done = backend.holds(this.observer, LockMode.SHARE)
					|| backend.tryLock(this.observer, LockMode.SHARE, LockScope.SESSION);
			if (stands) {
				backend.unlock(this.candidate, LockMode.SHARE);
			}
			LockKey seat = lowestSeat(backend);
			if (seat != null) {
				backend.unlock(seat, LockMode.EXCLUSIVE);
			}
			return Rows.of("done", done);
		});
	}

	private @Nullable LockKey lowestSeat(Backend backend) {
		List<LockKey> seats = new ArrayList<>(1);
		backend.server().visitLocks((key, mode, pid, granted) -> {
			if (granted && pid == backend.pid() && mode == LockMode.EXCLUSIVE && isSeat(key)) {
				seats.add(key);
			}
		});
		return seats.stream().min(Comparator.comparing(LockKey::low)).orElse(null);
	}

	/**
	 * Observe the election without a session.
	 */
	@Override
	String watch(List<Integer> seats) {
		return this.texts.query((backend) -> {
			Set<Integer> taken = new HashSet<>();
			List<Integer> holders = new ArrayList<>();
			backend.server().visitLocks((key, mode, pid, granted) -> {
				if (granted && isSeat(key) && seats.contains(key.low())) {
					taken.add(key.low());
					if (mode == LockMode.EXCLUSIVE) {
						holders.add(pid);
					}
				}
			});
			View view = view(backend, 0);
			return Rows.of("in_recovery", backend.server().isInRecovery(), "database", Texts.DATABASE, "started",
					backend.server().startedAt(), "holder", view.holder(), "term", view.term(), "candidates",
					pids(view.candidates), "observers", pids(view.observers), "seats", pids(holders), "taken",
					taken.size());
		});
	}

	@Override
	String isUnchanged(List<Integer> seats, Term term) {
		return this.texts.query((backend) -> {
			boolean open = false;
			for (int seat : seats) {
				open = open || backend.tryLock(seatKey(seat), LockMode.SHARE, LockScope.TRANSACTION);
			}
			return Rows.of("unchanged",
					!open && !backend.tryLock(termKey(term), LockMode.SHARE, LockScope.TRANSACTION));
		});
	}

	/**
	 * Wait for the main key.
	 * @param priority the priority of the node
	 * @param predecessor the leader whose end is to be examined, if there is one
	 * @param term the second half of the key of the term to observe, or 0
	 */
	@Override
	String acquire(long waitMillis, int seat, int priority, @Nullable Predecessor predecessor, int term) {
		return this.texts.add(() -> new Acquire(waitMillis, seat, priority, predecessor, term));
	}

	/**
	 * What follows the wait is part of the program.
	 */
	@Override
	Map<String, String> acquiring() {
		return Map.of();
	}

	@Override
	String holdsAny() {
		return this.texts.query((backend) -> {
			boolean[] holds = new boolean[1];
			backend.server()
				.visitLocks((key, mode, pid, granted) -> holds[0] |= granted && pid == backend.pid()
						&& mode == LockMode.EXCLUSIVE && !isSeat(key));
			return Rows.of("holds", holds[0]);
		});
	}

	@Override
	String observe() {
		return this.texts.query((backend) -> {
			View view = view(backend, backend.pid());
			return Rows.of("holder", view.holder(), "term", view.term(), "head", pids(view.head), "candidates",
					pids(view.candidates), "observers", pids(view.observers), "threshold", THRESHOLD);
		});
	}

	private View view(Backend backend, int own) {
		View view = new View();
		backend.server().visitLocks((key, mode, pid, granted) -> {
			if (granted) {
				view.addNode(key, mode, pid);
				if (key.equals(this.main) && pid != own) {
					view.holders.add(pid);
				}
				else if (key.equals(this.head)) {
					view.head.add(pid);
				}
				else if (mode == LockMode.EXCLUSIVE && isOfTerm(key) && !key.equals(this.clean)) {
					view.terms.add(key.low());
				}
			}
		});
		return view;
	}

	@Override
	String describe(Collection<Integer> pids) {
		return this.texts.query((backend) -> {
			Rows rows = new Rows();
			for (Activity session : activity(backend, pids)) {
				describe(rows, backend.server(), session);
			}
			return rows;
		});
	}

	private List<Activity> activity(Backend backend, Collection<Integer> pids) throws SqlError {
		if (this.namesFailing > 0 && ++this.names % 100 < this.namesFailing) {
			throw new SqlError("53200", "out of shared memory");
		}
		return backend.server().activity().stream().filter((session) -> pids.contains(session.pid())).toList();
	}

	private void describe(Rows rows, SimServer server, Activity session) {
		long[] least = { Long.MAX_VALUE, Long.MAX_VALUE, Long.MAX_VALUE };
		Integer[] profile = new Integer[1];
		server.visitLocks((key, mode, pid, granted) -> {
			if (!granted || pid != session.pid() || key.parts() != 2) {
				return;
			}
			long object = Integer.toUnsignedLong(key.low());
			if (key.high() == this.keys.termClass() && mode == LockMode.EXCLUSIVE && key.low() >= 0) {
				least[0] = Math.min(least[0], object);
			}
			else if (key.high() == this.keys.noticeClass() && key.low() >= 0) {
				least[1] = Math.min(least[1], object);
			}
			else if (key.high() == this.keys.noticeClass()) {
				least[2] = Math.min(least[2], 4294967295L - object);
			}
			else if (isOfProfile(key)) {
				profile[0] = key.low();
			}
		});
		rows.add("pid", session.pid(), "application_name", session.applicationName(), "query", "", "role",
				session.role(), "term", orNull(least[0]), "since", orNull(least[1]), "notice", orNull(least[2]),
				"profile", profile[0]);
	}

	private boolean isOfProfile(LockKey key) {
		return key.parts() == 2 && key.high() == this.keys.observerClass() && key.low() < 0;
	}

	private static @Nullable Long orNull(long value) {
		return (value != Long.MAX_VALUE) ? value : null;
	}

	@Override
	String nameSessions(Collection<Integer> pids) {
		return this.texts.query((backend) -> {
			Rows rows = new Rows();
			for (Activity session : activity(backend, pids)) {
				rows.add("pid", session.pid(), "application_name", session.applicationName(), "role", session.role(),
						"query", "");
			}
			return rows;
		});
	}

	String requestSettings() {
		return this.texts.query((backend) -> {
			backend.set(Timeout.IDLE_SESSION, 10_000, false);
			backend.set(Timeout.STATEMENT, 10_000, false);
			return Rows.of("in_recovery", backend.server().isInRecovery());
		});
	}

	String requestResignation(Term term) {
		return this.texts
			.query((backend) -> Rows.of("shared", backend.tryLock(this.observer, LockMode.SHARE, LockScope.SESSION)
					&& backend.tryLock(requestKey(term), LockMode.SHARE, LockScope.SESSION)));
	}

	String hasEnded(Term term) {
		return this.texts.query(
				(backend) -> Rows.of("ended", backend.tryLock(termKey(term), LockMode.SHARE, LockScope.TRANSACTION)));
	}

	private LockKey requestKey(Term term) {
		return LockKey.of(this.keys.requestClass(), termObject(term));
	}

	private LockKey termKey(Term term) {
		return termKey(termObject(term));
	}

	private LockKey termKey(int termObject) {
		return LockKey.of(this.keys.termClass(), termObject);
	}

	private static int termObject(Term term) {
		return ElectionKeys.termObject(term.timeline(), term.transactionId());
	}

	@Override
	String confirm(Term term, long number) {
		return this.texts.query((backend) -> {
			boolean held = backend.tryLock(this.main, LockMode.EXCLUSIVE, LockScope.TRANSACTION)
					&& backend.tryLock(termKey(term), LockMode.EXCLUSIVE, LockScope.TRANSACTION);
			boolean requested = !backend.tryLock(requestKey(term), LockMode.EXCLUSIVE, LockScope.TRANSACTION);
			return rows(backend, number, "held", held, "requested", requested);
		});
	}

	/**
	 * Return a row with the identity of the session first.
	 */
	private static Rows rows(Backend backend, long number, @Nullable Object... columns) {
		return Rows.of(Stream
			.concat(Stream.of("pid", backend.pid(), "in_recovery", backend.server().isInRecovery(), "token",
					backend.token(), "number", number, "idle_session_timeout", backend.setting(Timeout.IDLE_SESSION),
					"idle_in_transaction", backend.setting(Timeout.IDLE_IN_TRANSACTION)), Stream.of(columns))
			.toArray());
	}

	@Override
	String confirmAll(Term term, long number) {
		return this.texts.query((backend) -> confirmAll(backend, term, number));
	}

	private Rows confirmAll(Backend backend, Term term, long number) {
		LockKey termKey = termKey(term);
		LockKey requestKey = requestKey(term);
		boolean blind = ignoresEarlierTerms();
		View view = new View();
		List<Integer> predecessors = new ArrayList<>(2);
		List<Integer> others = new ArrayList<>(2);
		List<Integer> requests = new ArrayList<>(2);
		backend.server().visitLocks((key, mode, pid, granted) -> {
			boolean exclusive = mode == LockMode.EXCLUSIVE;
			boolean other = pid != backend.pid();
			if (exclusive && other && (key.equals(this.fence) || (granted && isSeat(key)))) {
				others.add(pid);
			}
			if (granted) {
				view.addNode(key, mode, pid);
				if (exclusive && !other && (key.equals(this.main) || key.equals(termKey))) {
					view.holders.add(pid);
				}
				if (exclusive && other && isOfTerm(key) && !blind) {
					predecessors.add(pid);
				}
				if (other && key.equals(requestKey)) {
					requests.add(pid);
				}
			}
		});
		return rows(backend, number, "held", view.holders.size() == 2, "predecessors", pids(predecessors), "others",
				pids(others), "requests", pids(requests), "candidates", pids(view.candidates), "observers",
				pids(view.observers));
	}

	private boolean ignoresEarlierTerms() {
		return this.sentinel == Sentinel.NO_WAIT_FOR_EARLIER_TERMS
				|| this.sentinel == Sentinel.BARRIER_BESIDE_EARLIER_TERM;
	}

	private boolean isOfTerm(LockKey key) {
		return key.parts() == 2 && key.high() == this.keys.termClass();
	}

	@Override
	String passBarrier(long waitMillis, long leaseMillis) {
		return this.texts.add(() -> new PassBarrier(waitMillis, leaseMillis));
	}

	@Override
	String release(Term term, boolean clean, long idleMillis, long waitMillis) {
		return this.texts.add(() -> new Release(term, clean, idleMillis, waitMillis));
	}

	/**
	 * Return the foreign session that holds the fence key exclusively or waits to do so,
	 * while the key of the term is held.
	 */
	private Rows foreignFenceHolder(Backend backend, int termObject) {
		LockKey termKey = termKey(termObject);
		View view = view(backend, 0);
		List<Integer> holders = new ArrayList<>(1);
		boolean[] held = new boolean[1];
		backend.server().visitLocks((key, mode, pid, granted) -> {
			if (mode == LockMode.EXCLUSIVE && key.equals(this.fence)) {
				holders.add(pid);
			}
			held[0] |= granted && mode == LockMode.EXCLUSIVE && key.equals(termKey);
		});
		holders.removeAll(view.candidates);
		holders.removeAll(view.observers);
		Rows rows = new Rows();
		if (held[0]) {
			backend.server()
				.activity()
				.stream()
				.filter((session) -> holders.contains(session.pid()))
				.limit(1)
				.forEach((session) -> rows.add("pid", session.pid(), "application_name", session.applicationName(),
						"role", session.role()));
		}
		return rows;
	}

	/**
	 * Return process ids as text, as the statements do.
	 */
	private static @Nullable String pids(List<Integer> pids) {
		return pids.isEmpty() ? null : pids.stream().sorted().map(String::valueOf).collect(Collectors.joining(","));
	}

	private static boolean isCancel(SqlError error) {
		return error.state().equals(SqlError.QUERY_CANCELED.state());
	}

	/**
	 * Waits for the head of the queue and there for the main key, takes it for the
	 * session, issues the term, and then looks how the session of the predecessor has
	 * ended.
	 */
	private final class Acquire extends Statement<Rows> {

		private static final int MOST_LOOKS = 20;

		private static final int ENTER = 0;

		private static final int WAIT_FOR_HEAD = 1;

		/**
		 * The baseline, and then whether the key of the term of the predecessor is held.
		 */
		private static final int BEFORE = 2;

		private static final int AFTER = 3;

		private static final int WAIT = 4;

		private static final int WAITED = 5;

		private static final int TAKE = 6;

		private static final int LOOK = 7;

		private static final int AWAIT_EARLIER = 8;

		private static final int ISSUE = 9;

		private static final int TAKE_TERM = 10;

		private static final int PUBLISH = 11;

		private static final int WRITE = 12;

		private static final int TRY_FENCE = 13;

		private static final int AWAIT_END = 14;

		private static final int COMPARE = 15;

		private static final int FREE_SEAT = 16;

		private static final int WON = 17;

		/** In the handler of the inner block. */
		private static final int LOST_WITHIN = 18;

		private static final int LOST = 19;

		private final long waitMillis;

		private final int seat;

		private final int priority;

		private final @Nullable Predecessor predecessor;

		private final int observed;

		private long begin;

		private @Nullable Endings baseline;

		private boolean predecessorHolds;

		private int looks;

		/** The sessions that hold the key of an earlier term. */
		private final Set<Integer> earlier = new HashSet<>();

		private int earlierLooks;

		private long term;

		private long timeline;

		private boolean clean;

		private boolean clear;

		private boolean abandoned;

		/** Whether a candidate of higher priority waits. */
		private boolean preceded;

		private Acquire(long waitMillis, int seat, int priority, @Nullable Predecessor predecessor, int observed) {
			this.waitMillis = waitMillis;
			this.seat = seat;
			this.priority = priority;
			this.predecessor = predecessor;
			this.observed = observed;
		}

		@Override
		protected int step(int step, Backend backend) throws SqlError {
			AdvisoryLockPrograms keys = AdvisoryLockPrograms.this;
			switch (step) {
				case ENTER -> {
					this.begin = backend.server().clock().now();
					backend.savepoint();
					backend.savepoint();
				}
				case WAIT_FOR_HEAD -> {
					backend.set(Timeout.LOCK, this.waitMillis, true);
					backend.lock(keys.head, LockMode.EXCLUSIVE, LockScope.TRANSACTION);
				}
				case BEFORE -> {
					keys.onHead.accept(backend);
					if (this.predecessor != null) {
						this.baseline = backend.endings();
					}
				}
				case AFTER -> {
					if (this.predecessor != null) {
						this.predecessorHolds = !backend.tryLock(termKey(this.predecessor.termObject()), LockMode.SHARE,
								LockScope.TRANSACTION);
					}
				}
				case WAIT -> {
					long waited = Math.round((backend.server().clock().now() - this.begin) / 1e6);
					backend.set(Timeout.LOCK, Math.max(1, Math.min(this.waitMillis, this.waitMillis - waited)), true);
					backend.lock(keys.main, LockMode.EXCLUSIVE, LockScope.TRANSACTION);
				}
				case WAITED -> {
					backend.releaseSavepoint();
					backend.releaseSavepoint();
				}
				case TAKE -> backend.lock(keys.main, LockMode.EXCLUSIVE, LockScope.SESSION);
				case LOOK -> {
					keys.onTake.accept(backend);
					look(backend);
					if (this.preceded) {
						return leaveToOther(backend, "");
					}
				}
				case AWAIT_EARLIER -> {
					if (!isClear(backend)) {
						return (this.earlierLooks <= MOST_LOOKS) ? AWAIT_EARLIER
								: leaveToOther(backend, "blocked " + Collections.min(this.earlier));
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
					Term won = new Term(0, this.timeline, this.term);
					if (!backend.tryLock(termKey(won), LockMode.EXCLUSIVE, LockScope.SESSION)) {
						throw new SqlError("P0001", "the key of term " + this.term + " is in use");
					}
				}
				case PUBLISH -> {
					backend.tryLock(requestKey(new Term(0, this.timeline, this.term)), LockMode.SHARE,
							LockScope.SESSION);
					publish(backend);
				}
				case WRITE -> {
					if (keys.sentinel != Sentinel.BARE_TRANSACTION_ID) {
						backend.write();
					}
				}
				case TRY_FENCE -> this.clear = keys.sentinel != Sentinel.BARRIER_BESIDE_EARLIER_TERM
						&& backend.tryLock(keys.fence, LockMode.EXCLUSIVE, LockScope.TRANSACTION);
				case AWAIT_END -> {
					return awaitEnd(backend);
				}
				case COMPARE -> this.abandoned = isBaseline(backend.endings());
				case FREE_SEAT -> {
					if (this.seat != 0 && keys.sentinel != Sentinel.SEAT_NOT_FREED) {
						backend.unlock(seatKey(this.seat), seatMode());
					}
				}
				case WON -> {
					return end(this.timeline + ":" + this.term + ":" + this.clean + ":" + this.clear + ":"
							+ this.abandoned);
				}
				case LOST_WITHIN -> {
					if (this.observed == 0) {
						return end("");
					}
					if (backend.tryLock(termKey(this.observed), LockMode.SHARE, LockScope.TRANSACTION)) {
						return end("ended");
					}
					answer(Rows.of());
					return END;
				}
				default -> {
					return end("");
				}
			}
			return step + 1;
		}

		private int end(String answer) {
			answer(Rows.message(ANSWER + answer));
			return END;
		}

		/**
		 * Leave the main key to another candidate. The lock of the transaction remains to
		 * its end.
		 */
		private int leaveToOther(Backend backend, String answer) {
			AdvisoryLockPrograms keys = AdvisoryLockPrograms.this;
			if (keys.sentinel != Sentinel.YIELDS_WITHOUT_UNLOCK) {
				backend.unlock(keys.main, LockMode.EXCLUSIVE);
			}
			return end(answer);
		}

		/**
		 * Return whether no session holds the key of an earlier term any longer, or else
		 * wait for a moment.
		 */
		private boolean isClear(Backend backend) {
			if (this.earlierLooks > 0) {
				lookForEarlier(backend);
			}
			boolean clear = this.earlier.isEmpty() || ignoresEarlierTerms();
			if (!clear && ++this.earlierLooks <= MOST_LOOKS) {
				backend.sleep(1_000_000);
			}
			return clear;
		}

		private void lookForEarlier(Backend backend) {
			this.earlier.clear();
			backend.server().visitLocks((key, mode, pid, granted) -> {
				if (pid != backend.pid() && granted && mode == LockMode.EXCLUSIVE && isOfTerm(key)
						&& !key.equals(AdvisoryLockPrograms.this.clean)) {
					this.earlier.add(pid);
				}
			});
		}

		private int awaitEnd(Backend backend) {
			if (this.predecessor == null || !this.predecessorHolds || this.clean || ++this.looks > MOST_LOOKS) {
				return FREE_SEAT;
			}
			backend.clearStatistics();
			if (AdvisoryLockPrograms.this.sentinel == Sentinel.COUNTED_TOO_EARLY
					|| backend.server().backend(this.predecessor.pid()) == null) {
				return COMPARE;
			}
			backend.sleep(1_000_000);
			return AWAIT_END;
		}

		private boolean isBaseline(Endings endings) {
			Endings before = this.baseline;
			return before != null && endings.killed() == before.killed() && endings.fatal() == before.fatal()
					&& endings.resetTime() == before.resetTime();
		}

		private void look(Backend backend) {
			AdvisoryLockPrograms keys = AdvisoryLockPrograms.this;
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
						this.earlier.add(pid);
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
			backend.tryLock(LockKey.of(AdvisoryLockPrograms.this.keys.noticeClass(), notice), LockMode.SHARE,
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
	private final class PassBarrier extends Statement<Rows> {

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
				case BLOCKED -> backend.server().terminateStuck(holders(backend), this.leaseMillis);
				default -> {
					List<Integer> holders = holders(backend);
					answer(Rows.of("outcome", this.passed ? "passed" : "blocked", "holder",
							holders.isEmpty() ? null : Collections.min(holders)));
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
			return holders;
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
	private final class Release extends Statement<Rows> {

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
					answer(Rows.of("succeeded", this.successors > 0));
					return END;
				}
			}
			return step + 1;
		}

		private void look(Backend backend) {
			AdvisoryLockPrograms keys = AdvisoryLockPrograms.this;
			View view = new View();
			backend.server().visitLocks((key, mode, pid, granted) -> {
				if (granted && pid != backend.pid()) {
					view.addNode(key, mode, pid);
					if (mode == LockMode.EXCLUSIVE && isOfTerm(key) && !key.equals(keys.clean)) {
						view.holders.add(pid);
					}
				}
			});
			this.successors = view.holders.size();
			this.candidates = view.candidates.size();
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
	private final class Fence extends Statement<Rows> {

		private static final int SHARE = 0;

		private static final int LOOK = 1;

		private final LockKey termKey;

		private final long leaseMillis;

		private boolean shared;

		private Fence(int termObject, long leaseMillis) {
			this.termKey = termKey(termObject);
			this.leaseMillis = leaseMillis;
		}

		@Override
		protected int step(int step, Backend backend) throws SqlError {
			AdvisoryLockPrograms keys = AdvisoryLockPrograms.this;
			boolean open = keys.sentinel == Sentinel.OPEN_FENCE;
			switch (step) {
				case SHARE -> this.shared = open || backend.tryLock(keys.fence, LockMode.SHARE, LockScope.TRANSACTION);
				case LOOK -> {
					boolean held = open
							|| (this.shared && !backend.tryLock(this.termKey, LockMode.SHARE, LockScope.TRANSACTION));
					answer(Rows.of("held", held, "database", held ? null : Texts.DATABASE));
				}
				default -> {
					long present = backend.setting(Timeout.IDLE_IN_TRANSACTION);
					if (keys.sentinel != Sentinel.NO_LIMIT_IN_FENCE && (present == 0 || present > this.leaseMillis)) {
						backend.set(Timeout.IDLE_IN_TRANSACTION, this.leaseMillis, true);
					}
					return END;
				}
			}
			return step + 1;
		}

	}

	/**
	 * What a statement finds in {@code pg_locks}.
	 */
	private final class View {

		private final List<Integer> candidates = new ArrayList<>(4);

		private final List<Integer> observers = new ArrayList<>(2);

		private final List<Integer> head = new ArrayList<>(1);

		private final List<Integer> holders = new ArrayList<>(2);

		private final List<Integer> terms = new ArrayList<>(2);

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

		private @Nullable Integer holder() {
			return this.holders.isEmpty() ? null : Collections.min(this.holders);
		}

		private @Nullable Integer term() {
			return this.terms.isEmpty() ? null : Collections.max(this.terms);
		}

	}

}
