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

package io.leaderelection.faults;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;

import io.leaderelection.Term;
import io.leaderelection.engine.ElectionStatus.Role;
import io.leaderelection.faults.Entry.Kind;
import io.leaderelection.faults.LockSample.Key;
import io.leaderelection.faults.LockSample.Lock;
import io.leaderelection.faults.LockSample.Session;
import io.leaderelection.postgresql.ElectionKeys;

/**
 * The guarantees as code: checks what several nodes and the server have recorded and
 * reports every violation.
 */
final class Invariants {

	private static final long MILLIS = 1_000_000;

	/**
	 * How late an event, or the work that follows a check, may be on a machine with too
	 * few cores, beside the stalls and delays that the node has recorded.
	 */
	private static final long SLACK = 500 * MILLIS;

	private static final int LONE_SAMPLES = 3;

	/**
	 * How long after a stop work may be recorded that was about to begin before it.
	 */
	private static final long AWAKE = 50 * MILLIS;

	/**
	 * How long a session of the lease table may be silent.
	 */
	private static final Duration TABLE_SILENCE = Duration.ofSeconds(30);

	private final Duration lease;

	private final Duration takeoverDelay;

	private final History history;

	private final List<Violation> violations = new ArrayList<>();

	private final List<Violation> excused = new ArrayList<>();

	private boolean locks = true;

	/**
	 * Create a new {@code Invariants} instance.
	 * @param history what was recorded
	 * @param lease the lease of the nodes
	 * @param takeoverDelay the time that a winner waits if its predecessor may be alive.
	 * A fast takeover must not be possible where a proxy resets connections
	 */
	Invariants(History history, Duration lease, Duration takeoverDelay) {
		this.history = history;
		this.lease = lease;
		this.takeoverDelay = takeoverDelay;
	}

	/**
	 * Leave out what is about the locks of the store {@code advisory-lock}.
	 */
	Invariants withoutLocks() {
		this.locks = false;
		return this;
	}

	/**
	 * Check everything that must hold in every run.
	 */
	Invariants check() {
		checkExclusion();
		checkTerms();
		this.history.nodes().forEach(this::checkEvents);
		checkWork();
		checkHandOvers();
		checkCommits();
		if (this.locks) {
			checkFence();
			checkLeaks();
			checkLoneMain();
			checkPredecessors();
		}
		checkImpact();
		return this;
	}

	List<Violation> violations() {
		return List.copyOf(this.violations);
	}

	/**
	 * Overlaps that the advisory lock leaves open: the server ended the session of a node
	 * that did not run at that moment for longer than the takeover delay. They last no
	 * longer than that, and what it takes a node to notice. A node that did not run for
	 * as long as its trust lasts must know when it wakes up. The lease table leaves none
	 * open. Also events that came late because a thread had no processor.
	 */
	List<Violation> excused() {
		return List.copyOf(this.excused);
	}

	/**
	 * G2: no node leads in an older term after another led in a newer one.
	 */
	private void checkExclusion() {
		Reign newest = null;
		List<Reign> reigns = new ArrayList<>(this.history.reigns());
		reigns.sort(Comparator.comparing(Reign::term).thenComparing(Reign::from).reversed());
		long earliest = Long.MAX_VALUE;
		for (Reign reign : reigns) {
			if (newest != null && reign.until() >= earliest) {
				Violation violation = new Violation("G2 exclusion", reign + " led until "
						+ millis(reign.until() - earliest) + " ms after " + newest + " had begun");
				((this.locks && isDoubleFault(reign, earliest)) ? this.excused : this.violations).add(violation);
			}
			if (reign.from() < earliest) {
				earliest = reign.from();
				newest = reign;
			}
		}
	}

	private boolean isDoubleFault(Reign reign, long next) {
		long delay = this.takeoverDelay.toNanos();
		long stalled = this.history.stalled(reign.node(), next - delay - SLACK, reign.until());
		long longest = this.history.longestStall(reign.node(), next - this.lease.toNanos(), reign.until());
		return this.takeoverDelay.compareTo(this.lease) < 0 && stalled >= delay / 2 && longest < trust()
				&& reign.until() - next <= stalled + delay;
	}

	/**
	 * G3: terms increase from grant to grant, and none is issued twice.
	 */
	private void checkTerms() {
		List<Reign> reigns = new ArrayList<>(this.history.reigns());
		// Some are too short for a sample
		this.history.of(Kind.GRANTED)
			.stream()
			.filter((granted) -> this.history.reigns(granted.node())
				.stream()
				.noneMatch((reign) -> reign.term().equals(granted.requiredTerm())))
			.forEach((granted) -> reigns
				.add(new Reign(granted.node(), granted.requiredTerm(), granted.time(), granted.time(), true)));
		reigns.sort(Comparator.comparingLong(Reign::from));
		for (int i = 1; i < reigns.size(); i++) {
			if (reigns.get(i).term().compareTo(reigns.get(i - 1).term()) <= 0) {
				violated("G3 terms", reigns.get(i) + " came after " + reigns.get(i - 1));
			}
		}
	}

	/**
	 * G5: granted and revoked alternate, carry the same term, one at a time, on time.
	 */
	private void checkEvents(String node) {
		List<Entry> events = this.history.of(node, Kind.GRANTED, Kind.GRANTED_ENDED, Kind.REVOKED, Kind.REVOKED_ENDED);
		Kind expected = Kind.GRANTED;
		Term term = null;
		for (Entry event : events) {
			boolean first = event.kind() == Kind.GRANTED;
			if (event.kind() != expected || (!first && !event.requiredTerm().equals(term))
					|| (first && term != null && event.requiredTerm().compareTo(term) <= 0)) {
				violated("G5 events", event + " where " + expected + " was due after term " + term);
				return;
			}
			term = event.requiredTerm();
			expected = switch (event.kind()) {
				case GRANTED -> Kind.GRANTED_ENDED;
				case GRANTED_ENDED -> Kind.REVOKED;
				case REVOKED -> Kind.REVOKED_ENDED;
				default -> Kind.GRANTED;
			};
		}
		for (Reign reign : this.history.reigns(node)) {
			checkOnTime(reign, Kind.GRANTED, reign.from());
			if (reign.ended()) {
				checkOnTime(reign, Kind.REVOKED, reign.until());
			}
		}
		events.stream().filter((event) -> event.kind() == Kind.REVOKED).forEach(this::checkNothingAfter);
	}

	/**
	 * Listeners are notified when it is over: the node no longer leads, and on an orderly
	 * leave its work has ended.
	 */
	private void checkNothingAfter(Entry revoked) {
		this.history.reigns(revoked.node())
			.stream()
			.filter((reign) -> reign.term().equals(revoked.requiredTerm()) && reign.until() > revoked.time())
			.findFirst()
			.ifPresent((reign) -> violated("G5 events", revoked + " came while " + reign + " led"));
		if (!isOrderly(revoked)) {
			return;
		}
		this.history.of(revoked.node(), Kind.WORK, Kind.WORK_ENDED, Kind.WRITE, Kind.WRITE_ENDED)
			.stream()
			.filter((work) -> work.term().equals(revoked.term()) && work.time() > revoked.time())
			.findFirst()
			.ifPresent((work) -> violated("G4 drain", work + " although listeners were notified by " + revoked));
	}

	private static boolean isOrderly(Entry revoked) {
		return revoked.details().equals("RESIGNED") || revoked.details().equals("STOPPED");
	}

	private void checkOnTime(Reign reign, Kind kind, long due) {
		List<Entry> entries = this.history.of(reign.node());
		Optional<Entry> event = entries.stream()
			.filter((entry) -> entry.kind() == kind && entry.requiredTerm().equals(reign.term()))
			.findFirst();
		// Listeners run one at a time and work is drained first: both may delay it
		long busyUntil = entries.stream()
			.filter((entry) -> entry.kind() == Kind.GRANTED_ENDED || entry.kind() == Kind.REVOKED_ENDED
					|| ((entry.kind() == Kind.WORK_ENDED || entry.kind() == Kind.WRITE_ENDED) && kind == Kind.REVOKED))
			.filter((entry) -> event.isEmpty() || entry.time() < event.get().time())
			.mapToLong(Entry::time)
			.max()
			.orElse(due);
		long end = event.map(Entry::time).orElse(this.history.lastTime(reign.node()));
		long since = Math.max(due, busyUntil);
		long late = end - since - this.history.stalled(reign.node(), since, end);
		boolean waits = event.isEmpty() || isLostWhileHandingOver(reign, event.get());
		if (late > SLACK && !(waits && this.history.isBusy(reign.node(), end))) {
			boolean delayed = end - since - this.history.delayed(reign.node(), since, end) <= SLACK;
			(delayed ? this.excused : this.violations)
				.add(new Violation("G5 events", (event.isPresent() ? kind + " came " : kind + " is missing since ")
						+ millis(late) + " ms late on " + reign));
		}
	}

	/**
	 * A node that leaves no longer leads, but keeps its session while work continues.
	 * Only then can it lose it.
	 */
	private boolean isLostWhileHandingOver(Reign reign, Entry event) {
		return event.kind() == Kind.REVOKED && !isOrderly(event)
				&& this.history.of(reign.node(), Kind.TRUE_UNTIL)
					.stream()
					.anyMatch((end) -> end.requiredTerm().equals(reign.term())
							&& end.details().equals(Role.RESIGNING.toString()));
	}

	/**
	 * G2 as work sees it: none starts in a term after the next one has begun, unless the
	 * node was stopped between the check and the work, which can be so but once in a
	 * stop.
	 */
	private void checkWork() {
		Set<Entry> stalls = new HashSet<>();
		TreeMap<Long, Reign> reigns = new TreeMap<>();
		this.history.reigns().forEach((reign) -> reigns.put(reign.from(), reign));
		for (Entry work : this.history.of(Kind.WORK, Kind.WRITE)) {
			if (work.term().isEmpty()) {
				violated("G4 work", work + " belongs to no term");
				continue;
			}
			reigns.headMap(work.time())
				.values()
				.stream()
				.filter((reign) -> reign.term().compareTo(work.requiredTerm()) > 0)
				.filter((reign) -> !isBetweenCheckAndWork(work, stalls))
				.findFirst()
				.ifPresent((reign) -> violated("G2 work", work + " began after " + reign));
		}
	}

	private boolean isBetweenCheckAndWork(Entry work, Set<Entry> excused) {
		return this.history.of(work.node(), Kind.STALL)
			.stream()
			.filter((stall) -> stall.time() <= work.time()
					&& work.time() <= stall.time() + Long.parseLong(stall.details()) + AWAKE)
			.anyMatch(excused::add);
	}

	/**
	 * G4: on an orderly leave, all work and the listeners have ended before the next
	 * grant.
	 */
	private void checkHandOvers() {
		for (Entry revoked : this.history.of(Kind.REVOKED)) {
			if (!isOrderly(revoked)) {
				continue;
			}
			Term term = revoked.requiredTerm();
			Optional<Reign> next = this.history.reigns()
				.stream()
				.filter((reign) -> reign.term().compareTo(term) > 0)
				.min(Comparator.comparingLong(Reign::from));
			next.ifPresent((reign) -> checkHandOver(revoked, reign));
		}
	}

	private void checkHandOver(Entry revoked, Reign next) {
		List<Entry> entries = this.history.of(revoked.node())
			.stream()
			.filter((entry) -> entry.term().equals(revoked.term()))
			.toList();
		Map<String, Entry> running = new HashMap<>();
		boolean listened = false;
		for (Entry entry : entries) {
			if (entry.time() >= next.from()) {
				break;
			}
			switch (entry.kind()) {
				case WORK, WRITE -> running.put(entry.details(), entry);
				case WORK_ENDED, WRITE_ENDED -> running.remove(entry.details());
				case REVOKED_ENDED -> listened = true;
				default -> {
				}
			}
		}
		// A frozen or lost node can no longer hand over, unlike one that is
		// short of processor time
		long since = Math.min(revoked.time(), next.from()) - this.lease.toNanos();
		boolean lost = this.history.longestStall(revoked.node(), since, next.from()) > this.lease.toNanos() / 2
				|| this.history.of(revoked.node(), Kind.KILLED).stream().anyMatch((kill) -> kill.time() < next.from());
		if (!lost && (!listened || !running.isEmpty())) {
			violated("G4 hand-over", next + " began before " + revoked + " was done, work " + running.values()
					+ ", listener " + (listened ? "done" : "not done"));
		}
	}

	/**
	 * G1: a writer of a term finds that all fenced transactions of earlier terms have
	 * ended, and so does who says that a term was granted.
	 */
	private void checkCommits() {
		List<TermRow> rows = new ArrayList<>(this.history.rows());
		rows.sort(Comparator.comparing(TermRow::term).thenComparing(TermRow::transaction));
		Map<Long, TermRow> earlier = new HashMap<>();
		TermRow last = null;
		List<TermRow> sameTerm = new ArrayList<>();
		for (TermRow row : rows) {
			if (!sameTerm.isEmpty() && !sameTerm.get(0).term().equals(row.term())) {
				for (TermRow fenced : sameTerm) {
					earlier.put(fenced.transaction(), fenced);
					last = (last == null || last.transaction() < fenced.transaction()) ? fenced : last;
				}
				sameTerm.clear();
			}
			TermRow late = (last != null && last.transaction() >= row.snapshot().end()) ? last
					: row.snapshot()
						.running()
						.stream()
						.map(earlier::get)
						.filter(Objects::nonNull)
						.findAny()
						.orElse(null);
			if (late != null) {
				violated("G1 fence", late + " was committed after " + row);
			}
			if (row.fenced()) {
				sameTerm.add(row);
			}
		}
	}

	/**
	 * A transaction that has passed the fence holds later grants up only as long as it is
	 * busy: when its client is silent, the server ends it after a lease.
	 */
	private void checkFence() {
		long limit = this.lease.toNanos() + 2000 * MILLIS;
		Map<Integer, Long> idleSince = new HashMap<>();
		Set<Integer> reported = new HashSet<>();
		for (LockSample sample : this.history.samples()) {
			Set<Integer> idle = new HashSet<>();
			sample.locks()
				.stream()
				.filter((lock) -> lock.key() == Key.FENCE && lock.granted() && lock.idle())
				.forEach((lock) -> idle.add(lock.pid()));
			idleSince.keySet().retainAll(idle);
			for (Integer pid : idle) {
				long since = idleSince.computeIfAbsent(pid, (key) -> sample.before());
				if (sample.before() - since > limit && !this.history.serverFaults() && reported.add(pid)) {
					violated("G6 fence", "the transaction of the session with pid " + pid + " has held the fence for "
							+ millis(sample.before() - since) + " ms, although its client is silent");
				}
			}
		}
	}

	/**
	 * No session holds the main key for longer than an election takes while its node does
	 * not lead: the server ends the session of a node that is silent, and others wait
	 * only for the end of earlier terms and of work.
	 */
	private void checkLeaks() {
		long limit = this.lease.toNanos() + this.takeoverDelay.toNanos() + 2000 * MILLIS;
		int pid = 0;
		long since = 0;
		boolean reported = false;
		for (LockSample sample : this.history.samples()) {
			Optional<Lock> holder = sample.main();
			boolean idle = holder.isPresent()
					&& !this.history.led(holder.get().node(), sample.before(), sample.after());
			if (!idle || holder.get().pid() != pid || isBlocked(holder.get(), sample)) {
				pid = idle ? holder.get().pid() : 0;
				since = sample.before();
				reported = false;
			}
			else if (!reported && sample.before() - since > limit && !this.history.serverFaults()) {
				reported = true;
				violated("G6 leak", "the session " + holder.get() + " holds the lock for "
						+ millis(sample.before() - since) + " ms, but its node does not lead");
			}
		}
	}

	private boolean isBlocked(Lock holder, LockSample sample) {
		return this.history.isBusy(holder.node(), sample.before()) || sample.locks()
			.stream()
			.anyMatch((lock) -> lock.granted() && lock.pid() != holder.pid()
					&& (lock.key() == Key.TERM || lock.key() == Key.FENCE || lock.key() == Key.CLEAN));
	}

	/**
	 * Main and term key come and go in one statement each: between statements, no session
	 * holds the main key alone.
	 */
	private void checkLoneMain() {
		int lone = 0;
		int pid = 0;
		for (LockSample sample : this.history.samples()) {
			Optional<Lock> holder = sample.main()
				.filter((main) -> isIdle(sample, main.pid())
						&& sample.terms().stream().noneMatch((term) -> term.pid() == main.pid()));
			// Locks and states of one sample are not read at the same moment
			int now = holder.map(Lock::pid).orElse(0);
			lone = (now == 0) ? 0 : (now == pid) ? lone + 1 : 1;
			pid = now;
			if (lone == LONE_SAMPLES) {
				violated("G6 leak", holder.get() + " holds the lock without a term");
			}
		}
	}

	private static boolean isIdle(LockSample sample, int pid) {
		return sample.sessions().stream().anyMatch((session) -> session.pid() == pid && session.idle());
	}

	/**
	 * While a node leads, no other session holds a key of an earlier term, and its own
	 * session is there, or was as long ago as trust lasts.
	 */
	private void checkPredecessors() {
		List<Reign> reigns = this.history.reigns();
		for (LockSample sample : this.history.samples()) {
			for (Reign reign : reigns) {
				if (reign.from() > sample.before() || reign.until() < sample.after()) {
					continue;
				}
				long own = ElectionKeys.termObject(reign.term().timeline(), reign.term().transactionId());
				for (Lock lock : sample.terms()) {
					if (lock.object() < own) {
						violated("G1 predecessors", reign + " leads beside " + lock);
					}
				}
				if (sample.terms().stream().noneMatch((lock) -> lock.object() == own)
						&& reign.until() - sample.after() > trust()) {
					violated("G2 lease", reign + " led on for " + millis(reign.until() - sample.after())
							+ " ms without its session");
				}
			}
		}
	}

	/**
	 * G7: one session per node, no old transaction. A session that is cut off may linger
	 * beside the next one until the server ends it, since it is silent.
	 */
	private void checkImpact() {
		Map<String, Long> twoSince = new HashMap<>();
		long limit = (this.locks ? this.lease : TABLE_SILENCE).toNanos() + 2000 * MILLIS;
		for (LockSample sample : this.history.samples()) {
			Map<String, Integer> counts = new HashMap<>();
			for (Session session : sample.sessions()) {
				counts.merge(session.node(), 1, Integer::sum);
				// As long as the sample takes, the server may not have run
				double age = session.transactionSeconds() - (sample.after() - sample.before()) / 1e9;
				if (age > 2 && !this.history.serverFaults()) {
					violated("G7 snapshot", "a transaction of " + session + " is old");
				}
			}
			twoSince.keySet().removeIf((node) -> counts.getOrDefault(node, 0) < 2);
			counts.forEach((node, count) -> {
				if (count > 1 && sample.before() - twoSince.computeIfAbsent(node, (key) -> sample.before()) > limit
						&& !this.history.serverFaults()) {
					violated("G7 sessions", node + " has " + count + " sessions");
				}
			});
		}
	}

	private long trust() {
		return this.lease.toNanos() / 4 * 3;
	}

	private void violated(String guarantee, String text) {
		this.violations.add(new Violation(guarantee, text));
	}

	private static long millis(long nanos) {
		return nanos / MILLIS;
	}

	/**
	 * Something that must not happen.
	 *
	 * @param guarantee what it violates
	 * @param text what has happened
	 */
	record Violation(String guarantee, String text) {
	}

	/**
	 * The time in which a node led in a term, as sampled.
	 *
	 * @param node the node
	 * @param term the term
	 * @param from the first sample
	 * @param until the last sample that is known
	 * @param ended whether the node has said itself that it was the last
	 */
	record Reign(String node, Term term, long from, long until, boolean ended) {

		@Override
		public String toString() {
			return this.node + " in term " + this.term;
		}

	}

}
