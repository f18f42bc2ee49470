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

import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import java.util.function.Supplier;

import io.leaderelection.Term;
import io.leaderelection.engine.NodeProfile;
import io.leaderelection.engine.SessionException;
import io.leaderelection.engine.SessionNames;
import io.leaderelection.engine.StoreSession;
import io.leaderelection.engine.StoreSession.Acquisition.Ending;
import io.leaderelection.postgresql.ElectionKeys;
import io.leaderelection.postgresql.Profiles;
import io.leaderelection.postgresql.advisory.AdvisoryLockPrograms.Acquired;
import io.leaderelection.postgresql.advisory.AdvisoryLockPrograms.Barrier;
import io.leaderelection.postgresql.advisory.AdvisoryLockPrograms.Confirmed;
import io.leaderelection.postgresql.advisory.AdvisoryLockPrograms.NodeRow;
import io.leaderelection.postgresql.advisory.AdvisoryLockPrograms.Observation;
import io.leaderelection.postgresql.advisory.AdvisoryLockPrograms.Settings;
import io.leaderelection.simulation.Node;
import io.leaderelection.simulation.SimulatedConnection;
import io.leaderelection.simulation.SimulatedConnection.BrokenException;
import io.leaderelection.simulation.server.SqlError;
import io.leaderelection.simulation.server.Statement;
import io.leaderelection.testsupport.Mutant;
import org.jspecify.annotations.Nullable;

/**
 * {@link AdvisoryLockSession} on a simulated server: the same statements in the same
 * order, and the same reaction to their answers. Foreign sessions are not simulated.
 */
final class SimulatedSession implements StoreSession {

	private static final Duration PROBE_INTERVAL = Duration.ofMillis(9);

	private static final long SUCCESSOR_WAIT_MILLIS = 200;

	private static final long LAST_IDLE_MILLIS = 1000;

	private static final long OBSERVE_INTERVAL = 1_500_000_000;

	private static final int MOST_TRIES = 5;

	private static final long CANCEL_TIMEOUT = 2_000_000_000;

	private final Node node;

	private final SimulatedConnection connection;

	private final Settings identity;

	private final AdvisoryLockPrograms programs;

	private final SessionNames names;

	private final String name;

	private final long leaseMillis;

	private final long longestWaitMillis;

	private final long readTimeout;

	/**
	 * How long a leader must be known before its end is examined, or {@code null} if it
	 * never is.
	 */
	private final @Nullable Duration settled;

	private final List<Integer> seats;

	private final NodeProfile profile;

	private boolean published;

	private int seat;

	private Term term = new Term(0, 0, 0);

	private boolean joined;

	private long observeAt;

	private long confirmations;

	private @Nullable Confirmed confirmed;

	private List<Integer> knownPids = List.of();

	private View known = View.NONE;

	private int leader;

	private @Nullable Predecessor predecessor;

	private long predecessorSince;

	SimulatedSession(Node node, SimulatedConnection connection, Settings identity, AdvisoryLockPrograms programs,
			SessionNames names, long leaseMillis, long longestWaitMillis, @Nullable Duration settled,
			List<Integer> seats, NodeProfile profile) {
		this.node = node;
		this.connection = connection;
		this.identity = identity;
		this.programs = programs;
		this.names = names;
		this.name = names.of(node.name());
		this.leaseMillis = leaseMillis;
		this.longestWaitMillis = longestWaitMillis;
		this.readTimeout = Duration.ofMillis(leaseMillis + 2000).toNanos();
		this.observeAt = node.process().clock();
		this.settled = settled;
		this.seats = seats;
		this.profile = profile;
	}

	@Override
	public boolean becomeCandidate() throws SessionException {
		// Without priorities, all profiles are equal
		boolean publishes = this.node.world().hasPriorities() && !this.published;
		List<Integer> unpublished = publishes ? List.of(Profiles.key(this.profile, this.settled != null)) : List.of();
		this.seat = askAgain(() -> this.programs.becomeCandidate(this.seats, unpublished));
		this.published = true;
		this.joined = this.joined || this.seat != 0;
		return this.seat != 0;
	}

	@Override
	public void withdraw() throws SessionException {
		askAgain(this.programs::withdraw);
		this.seat = 0;
		this.joined = true;
	}

	private void join() throws SessionException {
		if (!this.joined) {
			withdraw();
		}
	}

	@Override
	public Acquisition acquire(Duration timeout) throws SessionException {
		long wait = Math.max(1, Math.min(timeout.toMillis(), this.longestWaitMillis));
		boolean unknown = this.leader == 0 || this.knownPids.isEmpty();
		boolean observe = unknown || this.node.process().clock() - this.observeAt >= 0;
		Acquired acquired = attempt(
				this.programs.acquire(wait, observe, this.seat, this.profile.priority(), settledPredecessor()));
		if (acquired == null || !acquired.won()) {
			this.node.waited(this.connection);
			Observation observation = (acquired != null) ? acquired.observation() : null;
			return new Acquisition.Held((observation != null) ? view(observation) : this.known);
		}
		this.term = new Term(0, acquired.timeline(), acquired.transactionId());
		this.seat = 0;
		Ending ending = acquired.clean() ? Ending.CLEAN : acquired.abandoned() ? Ending.ABANDONED : Ending.UNKNOWN;
		this.node.won(this.term, ending, this.connection);
		return new Acquisition.Won(this.term, ending, acquired.clear());
	}

	private @Nullable Predecessor settledPredecessor() {
		if (this.settled == null) {
			return null;
		}
		long age = this.node.process().clock() - this.predecessorSince;
		boolean recent = age < this.settled.toNanos() && this.node.world().mutant() != Mutant.RECENT_PREDECESSOR;
		return recent ? null : this.predecessor;
	}

	private @Nullable Acquired attempt(Statement<Acquired> statement) throws SessionException {
		try {
			return this.connection.request(statement, this.readTimeout);
		}
		catch (SqlError ex) {
			if (!isCancelled(ex) || askAgain(this.programs::holdsAny)) {
				throw lost(ex);
			}
			return null;
		}
		catch (BrokenException ex) {
			throw lost(ex);
		}
	}

	@Override
	public View observe() throws SessionException {
		join();
		return view(askAgain(this.programs::observe));
	}

	View view(Observation observation) throws SessionException {
		this.observeAt = this.node.process().clock() + OBSERVE_INTERVAL;
		return view(observation.holder(), observation.candidates(), observation.observers());
	}

	private View view(int holder, List<Integer> candidates, List<Integer> observers) throws SessionException {
		this.leader = (candidates.contains(holder) || observers.contains(holder) || holder == this.leader) ? holder : 0;
		List<Integer> pids = new ArrayList<>(candidates);
		pids.add(0, this.leader);
		if (pids.equals(this.knownPids)) {
			return this.known;
		}
		View view = describe(candidates);
		Holder described = view.leader();
		boolean complete = (this.leader == 0 || (described != null && described.term() != null))
				&& view.candidates().size() == candidates.size();
		this.knownPids = complete ? pids : List.of();
		this.known = view;
		return view;
	}

	private View describe(List<Integer> candidatePids) throws SessionException {
		TreeSet<Integer> pids = new TreeSet<>(candidatePids);
		pids.add(this.leader);
		Map<Integer, Holder> sessions = new HashMap<>();
		for (NodeRow row : askAgain(() -> this.programs.describe(pids))) {
			String session = row.applicationName();
			boolean examinable = !this.node.world().hasPriorities() || Profiles.isFast(row.profile());
			if (row.pid() == this.leader && row.termObject() != null && examinable) {
				precededBy(new Predecessor(row.pid(), row.termObject().intValue()));
			}
			Long since = row.since();
			sessions.put(row.pid(),
					new Holder(this.names.nodeOf(session), session, term(row),
							(since != null) ? Instant.ofEpochSecond(ElectionKeys.NOTICE_EPOCH + since) : null,
							Profiles.of(row.profile(), Map.of()), null));
		}
		List<Candidate> candidates = new ArrayList<>();
		for (Integer pid : candidatePids) {
			Holder session = sessions.get(pid);
			if (session != null) {
				candidates.add(new Candidate(session.nodeId(), session.session(), session.profile()));
			}
		}
		return new View(sessions.get(this.leader), candidates, null);
	}

	private void precededBy(Predecessor observed) {
		if (!observed.equals(this.predecessor)) {
			this.predecessor = observed;
			this.predecessorSince = this.node.process().clock();
		}
	}

	private static @Nullable Term term(NodeRow row) {
		Long object = row.termObject();
		Long notice = row.notice();
		if (object == null || notice == null) {
			return null;
		}
		long timeline = notice & ((1 << ElectionKeys.TIMELINE_BITS) - 1);
		return new Term(0, timeline,
				ElectionKeys.transactionId(timeline, object, notice >>> ElectionKeys.TIMELINE_BITS));
	}

	@Override
	public Confirmation confirm() throws SessionException {
		long[] number = new long[1];
		Confirmed row = askAgain(() -> {
			number[0] = ++this.confirmations;
			return this.programs.confirm(this.term, number[0]);
		});
		String problem = row.inRecovery() ? "The server is a standby now"
				: (row.pid() != this.identity.pid() || !String.valueOf(this.identity.token()).equals(row.token()))
						? "The connection now leads to another session"
						: (row.idleSessionMillis() != this.identity.idleSessionMillis()
								|| row.idleInTransactionMillis() != this.identity.idleInTransactionMillis())
										? "The timeouts of the session have been changed"
										: (row.number() != number[0]) ? "The answer is that to another statement"
												: (row.held() != 2)
														? "The session no longer holds both keys of its term" : null;
		if (problem != null) {
			throw new SessionException(problem, null);
		}
		this.confirmed = row;
		this.node.confirmed();
		boolean requested = row.requests()
			.stream()
			.anyMatch((pid) -> row.candidates().contains(pid) || row.observers().contains(pid));
		return new Confirmation(
				row.predecessors().isEmpty() ? null : "the session with pid " + row.predecessors().get(0), requested,
				null);
	}

	@Override
	public List<Candidate> candidates() throws SessionException {
		Confirmed row = this.confirmed;
		return (row != null) ? view(0, row.candidates(), row.observers()).candidates() : List.of();
	}

	@Override
	public String name() {
		return this.name;
	}

	@Override
	public @Nullable String passBarrier(Duration timeout) throws SessionException {
		long wait = Math.max(1, Math.min(timeout.toMillis(), this.longestWaitMillis));
		Barrier barrier = askAgain(() -> this.programs.passBarrier(wait, this.leaseMillis));
		if (barrier.passed()) {
			this.node.passedBarrier(this.connection);
		}
		return barrier.passed() ? null : "the transaction of the session with pid " + barrier.holder();
	}

	@Override
	public Duration probe(Duration longest) throws SessionException {
		this.node.process().allocate();
		this.node.step();
		if (this.connection.isBroken()) {
			throw new SessionException("The session on the database has ended: " + this.connection.brokenBy(), null);
		}
		return PROBE_INTERVAL;
	}

	@Override
	public void wake() {
		if (this.node.world().mutant() == Mutant.WAKE_UNDER_LOCK) {
			this.node.runAside("cancel request", this::requestCancellation);
		}
	}

	/**
	 * A request on a connection of its own, which may take a while to establish.
	 */
	private void requestCancellation() {
		this.node.world().scheduler().sleepUninterruptibly(this.node.random().nextLong(CANCEL_TIMEOUT));
	}

	@Override
	public boolean release(boolean clean) throws SessionException {
		long idle = Math.min(this.leaseMillis, LAST_IDLE_MILLIS);
		long wait = Math.min(SUCCESSOR_WAIT_MILLIS, this.longestWaitMillis);
		this.node.releases(clean);
		return askAgain(() -> this.programs.release(this.term, clean, idle, wait));
	}

	@Override
	public void close() {
		this.connection.close("closed");
	}

	@Override
	public void abort() {
		this.connection.abort();
	}

	private <T> T askAgain(Supplier<Statement<T>> statement) throws SessionException {
		for (int tries = 1;; tries++) {
			try {
				return this.connection.request(statement.get(), this.readTimeout);
			}
			catch (SqlError ex) {
				if (!isCancelled(ex) || tries == MOST_TRIES) {
					throw lost(ex);
				}
			}
			catch (BrokenException ex) {
				throw lost(ex);
			}
		}
	}

	private static boolean isCancelled(SqlError ex) {
		return ex.state().equals("57014");
	}

	private static SessionException lost(Exception ex) {
		return new SessionException("The session on the database has ended: " + ex.getMessage(), ex);
	}

}
