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
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;

import io.leaderelection.Term;
import io.leaderelection.engine.NodeProfile;
import io.leaderelection.engine.Platform;
import io.leaderelection.engine.SessionException;
import io.leaderelection.engine.SessionNames;
import io.leaderelection.engine.StoreSession;
import io.leaderelection.engine.StoreSession.ForeignHolder.Kind;
import io.leaderelection.postgresql.ConnectionFailures;
import io.leaderelection.postgresql.Jdbc;
import io.leaderelection.postgresql.Jdbc.RowMapper;
import io.leaderelection.postgresql.ServerInspection;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;
import org.postgresql.PGConnection;

/**
 * A session on PostgreSQL that uses an advisory lock for the election.
 */
final class AdvisoryLockSession implements StoreSession {

	private static final Log logger = LogFactory.getLog(AdvisoryLockSession.class);

	private static final long LONGEST_READ = 9;

	private static final Duration PROBE_INTERVAL = Duration.ofMillis(10);

	/** Longer than a standby pauses between two waits. */
	private static final long SUCCESSOR_WAIT_MILLIS = 200;

	private static final long LAST_IDLE_MILLIS = 1000;

	/**
	 * The minimum time between two readings of the locks by a standby while something is
	 * to be determined.
	 */
	private static final long RETRY_INTERVAL = TimeUnit.MILLISECONDS.toNanos(1500);

	/**
	 * The minimum time between two readings of the locks that show nothing new. One locks
	 * all partitions of the server's lock table, and copies the locks of all databases.
	 */
	private static final long READ_INTERVAL = TimeUnit.SECONDS.toNanos(30);

	/** The same for a leader, whose view of the candidates may be that old. */
	private static final long READ_INTERVAL_OF_LEADER = TimeUnit.SECONDS.toNanos(5);

	private static final long WAIT_INTERVAL_MILLIS = 100;

	private static final String QUERY_CANCELED = "57014";

	private static final String BLOCKED = "blocked ";

	private static final String ENDED = "ended";

	private static final long SHORTEST_PAUSE = TimeUnit.MILLISECONDS.toNanos(25);

	private static final long LONGEST_PAUSE = TimeUnit.MILLISECONDS.toNanos(500);

	private static final long REPORT_BLOCKED_AFTER = TimeUnit.SECONDS.toNanos(1);

	private static final int MOST_TRIES = 5;

	/** How often in succession the locks are read if this does not show all. */
	private static final int MOST_READS = 4;

	private static final int MOST_DOUBLINGS = 3;

	/** No term has this transaction id. */
	private static final Term NONE = new Term(0, 0, 0);

	private final Connection connection;

	private final PGConnection pgConnection;

	private final Platform platform;

	private final SessionIdentity identity;

	private final AdvisoryLockSql sql;

	private final SessionNames names;

	private final String name;

	private final Peers peers;

	private final int termEpoch;

	/** As of the last observation. */
	private long longestWaitMillis;

	private final long leaseMillis;

	/** Precedes each message. */
	private final String prefix;

	/**
	 * The query for a node with the other store that leads, if there is a lease table.
	 */
	private final @Nullable String leaseHolder;

	private final List<Integer> seats;

	private final Duration takeoverDelay;

	/** Why a takeover from this session is slow, or {@code null} if it is fast. */
	private final @Nullable SlowTakeover slowTakeover;

	private final NodeProfile profile;

	private boolean published;

	/** The number of the seat of this session, or 0. */
	private int seat;

	private Term term = NONE;

	private final ForeignSessions foreignSessions;

	/** A foreign session that the last confirmation has found. */
	private @Nullable Integer foreign;

	private boolean node;

	/** Whether this session has received an answer: only then, none says something. */
	private boolean answered;

	/** Since when a session keeps a key of an earlier term from this one. */
	private @Nullable Long blockedSince;

	/** When to read the locks again, although nothing has changed. */
	private long readAt;

	/** How many observations in succession have not shown all. */
	private int undecided;

	/** The second half of the key of the observed term, or 0. */
	private int observedTerm;

	private long confirmations;

	private Nodes nodes = Nodes.NONE;

	/** The session that requests the end of this term, as of the last confirmation. */
	private @Nullable Integer requester;

	AdvisoryLockSession(Connection connection, PGConnection pgConnection, SessionIdentity identity, AdvisoryLockSql sql,
			SessionNames names, String nodeId, int termEpoch, long longestWaitMillis, long leaseMillis, boolean pooled,
			Duration takeoverDelay, @Nullable SlowTakeover slowTakeover, List<Integer> seats, NodeProfile profile,
			@Nullable String leaseHolder, Platform platform) {
		this.platform = platform;
		this.connection = connection;
		this.pgConnection = pgConnection;
		this.identity = identity;
		this.sql = sql;
		this.foreignSessions = new ForeignSessions(sql, platform);
		this.names = names;
		this.name = names.of(nodeId);
		this.peers = new Peers(sql, names, termEpoch, platform);
		this.termEpoch = termEpoch;
		this.longestWaitMillis = longestWaitMillis;
		this.leaseMillis = leaseMillis;
		this.leaseHolder = leaseHolder;
		this.prefix = sql.comment() + (pooled ? AdvisoryLockSql.requireToken(identity.token()) : "");
		this.takeoverDelay = takeoverDelay;
		this.slowTakeover = slowTakeover;
		this.seats = seats;
		this.profile = profile;
		this.readAt = platform.nanoTime();
	}

	@Override
	public boolean becomeCandidate() throws SessionException {
		String publish = this.published ? "" : this.sql.publish(this.profile, this.slowTakeover == null);
		this.seat = query(() -> publish + this.sql.becomeCandidate(this.seats), (row) -> row.getInt("seat"));
		this.published = true;
		this.node = this.node || this.seat != 0;
		if (this.seat != 0) {
			checkLeaseTable();
		}
		return this.seat != 0;
	}

	/**
	 * Verify that no node with the other store leads. The candidacy comes first: a node
	 * that takes the lease over later than this finds it.
	 */
	private void checkLeaseTable() throws SessionException {
		String holder = readLeaseHolder();
		if (!holder.isEmpty()) {
			throw new SessionException("Node '" + holder + "' leads this election with leader-election.store=table. "
					+ "Nodes of one election must all use the same store: stop the others first", null);
		}
	}

	/**
	 * Read the table of the other store, which this session does not need: it may be
	 * locked or dropped, or the role may lose its privileges.
	 */
	private String readLeaseHolder() throws SessionException {
		if (this.leaseHolder == null) {
			return "";
		}
		try {
			return Jdbc.query(this.connection, this.sql.comment() + this.leaseHolder, (row) -> row.getString("holder"));
		}
		catch (SQLException ex) {
			if (Jdbc.isBroken(this.connection, ex)) {
				throw lost(ex);
			}
			logger.debug("The lease table cannot be read", ex);
			return "";
		}
	}

	@Override
	public void withdraw() throws SessionException {
		query(this.sql::withdraw, (row) -> true);
		this.seat = 0;
		this.node = true;
	}

	/**
	 * Register this session as a node of the election, so that other nodes do not treat
	 * it as a foreign session.
	 */
	private void join() throws SessionException {
		if (!this.node) {
			withdraw();
		}
	}

	@Override
	public Acquisition acquire(Duration timeout) throws SessionException {
		long wait = Math.max(1, Math.min(timeout.toMillis(), this.longestWaitMillis));
		pause();
		Predecessor predecessor = (this.slowTakeover == null) ? this.peers.predecessor(this.takeoverDelay) : null;
		boolean due = this.platform.nanoTime() - this.readAt >= 0;
		int observed = (due || !this.answered) ? 0 : this.observedTerm;
		String answer = attempt(this.sql.acquire(wait, this.seat, this.profile.priority(), predecessor, observed),
				observed != 0);
		if (!answer.contains(":")) {
			boolean ended = ENDED.equals(answer);
			this.undecided = ended ? 0 : this.undecided;
			return new Acquisition.Held(blocked(answer, (due || ended) ? observe() : this.peers.known()));
		}
		String[] parts = answer.split(":");
		this.term = new Term(this.termEpoch, Long.parseLong(parts[0]), Long.parseLong(parts[1]));
		this.seat = 0;
		return new Acquisition.Won(this.term, ending(parts), Boolean.parseBoolean(parts[3]));
	}

	private static Acquisition.Ending ending(String[] parts) {
		if (Boolean.parseBoolean(parts[2])) {
			return Acquisition.Ending.CLEAN;
		}
		return Boolean.parseBoolean(parts[4]) ? Acquisition.Ending.ABANDONED : Acquisition.Ending.UNKNOWN;
	}

	/**
	 * Try to win the lock. A statement that is cancelled directly before or after its
	 * wait has failed, but may have acquired locks. In that case the session must end.
	 * @param silent whether a missing answer says that nothing has changed
	 * @return the answer, or nothing if the statement was cancelled and has acquired no
	 * lock
	 */
	private String attempt(String text, boolean silent) throws SessionException {
		String answer;
		try {
			answer = Jdbc.answer(this.connection, this.prefix + text, AdvisoryLockSql.ANSWER);
		}
		catch (SQLException ex) {
			if (!QUERY_CANCELED.equals(ex.getSQLState())
					|| query(this.sql::holdsAny, (row) -> row.getBoolean("holds"))) {
				throw lost(ex);
			}
			return "";
		}
		if (answer == null && !silent) {
			throw new SessionException("The answer of the server is missing: a proxy or pooler in between may have "
					+ "dropped its message of level INFO", null);
		}
		this.answered = true;
		return (answer != null) ? answer : "";
	}

	/**
	 * Pause before a wait if waits are short, or if a key of an earlier term was found:
	 * the longer its session has kept it, the longer.
	 */
	private void pause() {
		Long since = this.blockedSince;
		long pause = (since != null)
				? Math.max(SHORTEST_PAUSE, Math.min(LONGEST_PAUSE, this.platform.nanoTime() - since))
				: TimeUnit.MILLISECONDS.toNanos(WAIT_INTERVAL_MILLIS - this.longestWaitMillis);
		if (pause > 0) {
			this.platform.park(this, pause);
		}
	}

	/**
	 * Return a view with the session that has kept a key of an earlier term for some time
	 * after the main key, if there is one.
	 */
	private View blocked(String answer, View view) throws SessionException {
		if (!answer.startsWith(BLOCKED)) {
			this.blockedSince = null;
			return view;
		}
		long now = this.platform.nanoTime();
		long since = (this.blockedSince != null) ? this.blockedSince : now;
		this.blockedSince = since;
		if (now - since < REPORT_BLOCKED_AFTER) {
			return view;
		}
		int pid = Integer.parseInt(answer.substring(BLOCKED.length()));
		String words = unlessCancelled(() -> this.foreignSessions.describe(this.connection, pid));
		return new View(view.leader(), view.candidates(), new ForeignHolder(words, Kind.EARLIER_TERM));
	}

	@Override
	public View observe() throws SessionException {
		join();
		Observation observation = query(this.sql::observe, Observation::of);
		this.longestWaitMillis = observation.longestWaitMillis();
		View view = unlessCancelled(() -> this.peers.view(this.connection, observation.holder(), observation.term(),
				observation.head(), observation.nodes()));
		this.undecided = this.peers.isUndecided() ? this.undecided + 1 : 0;
		this.observedTerm = (int) observation.term();
		this.readAt = this.platform.nanoTime()
				+ ((this.observedTerm != 0 && this.peers.isSettled()) ? READ_INTERVAL : retryInterval());
		return view;
	}

	/**
	 * Return the time to the next observation after some that did not show all: at first
	 * it follows at once. Without a term, no wait can answer that it has ended.
	 */
	private long retryInterval() {
		if (this.undecided == 0 || this.undecided > MOST_READS) {
			int doublings = Math.min(Math.max(this.undecided - MOST_READS, 0), MOST_DOUBLINGS);
			return RETRY_INTERVAL << ((this.observedTerm != 0) ? doublings : 0);
		}
		return 0;
	}

	@Override
	public Confirmation confirm(boolean whole) throws SessionException {
		return unlessCancelled(() -> {
			boolean due = whole || this.foreignSessions.isUndecided() || this.platform.nanoTime() - this.readAt >= 0;
			return (due || confirmOnce()) ? confirmAllOnce() : new Confirmation(null, false,
					(this.foreign != null) ? this.foreignSessions.known(this.foreign) : null);
		});
	}

	/**
	 * Confirm without reading the locks.
	 * @return whether a request has been made, or a foreign session has its key
	 */
	private boolean confirmOnce() throws SQLException {
		long number = ++this.confirmations;
		return Jdbc.query(this.connection, this.sql.comment() + this.sql.confirm(this.term, number), (row) -> {
			check(row, number);
			return row.getBoolean("requested");
		});
	}

	private void check(ResultSet row, long number) throws SQLException {
		this.identity.check(row);
		if (row.getLong("number") != number) {
			throw new SQLException("The answer belongs to another statement");
		}
		if (!row.getBoolean("held")) {
			throw new SQLException("The session no longer holds both keys of its term");
		}
	}

	private Confirmation confirmAllOnce() throws SQLException {
		long number = ++this.confirmations;
		Others others = Jdbc.query(this.connection, this.sql.comment() + this.sql.confirmAll(this.term, number),
				(row) -> {
					check(row, number);
					return new Others(Nodes.of(row), Nodes.pids(row.getString("predecessors")),
							Nodes.pids(row.getString("others")), Nodes.pids(row.getString("requests")));
				});
		this.readAt = this.platform.nanoTime() + READ_INTERVAL_OF_LEADER;
		this.nodes = others.nodes();
		List<Integer> holders = others.all();
		Set<Integer> foreign = this.foreignSessions.observe(holders, others.nodes());
		String predecessor = others.predecessors().isEmpty() ? null
				: predecessor(others.predecessors().get(0), foreign);
		this.requester = others.requests().stream().filter(others.nodes()::contains).findFirst().orElse(null);
		this.foreign = holders.stream().filter(foreign::contains).findFirst().orElse(null);
		return new Confirmation(predecessor, this.requester != null,
				(this.foreign != null) ? this.foreignSessions.known(this.foreign) : null);
	}

	@Override
	public String requester() throws SessionException {
		Integer pid = this.requester;
		if (pid == null) {
			return "another node";
		}
		return unlessCancelled(() -> {
			String requester = this.foreignSessions.read(this.connection, pid,
					(row) -> ResignationRequest.describe(row, this.names));
			return (requester != null) ? requester : this.foreignSessions.unnamed(pid);
		});
	}

	/**
	 * Return a description of the holder of the key of a term, without a round trip.
	 */
	private String predecessor(int pid, Set<Integer> foreign) {
		String words = this.foreignSessions.known(pid);
		return "the " + ((words != null) ? words : this.foreignSessions.unnamed(pid))
				+ (foreign.contains(pid) ? ", which is not, or no longer, a node of this election" : "");
	}

	/**
	 * Also determines the name of a foreign session, which the next confirmation returns.
	 */
	@Override
	public List<Candidate> candidates() throws SessionException {
		Integer unnamed = this.foreign;
		if (unnamed != null) {
			unlessCancelled(() -> this.foreignSessions.describe(this.connection, unnamed));
		}
		return unlessCancelled(() -> this.peers.view(this.connection, this.nodes)).candidates();
	}

	@Override
	public String name() {
		return this.name;
	}

	@Override
	public String takeover() {
		return SlowTakeover.word(this.slowTakeover);
	}

	/**
	 * Run a statement, and run it again if it was cancelled: its changes are idempotent,
	 * so the session is unchanged. The server signals a session and its process group, so
	 * that a cancel request may arrive twice.
	 */
	private static <T> T unlessCancelled(Question<T> question) throws SessionException {
		for (int tries = 1;; tries++) {
			try {
				return question.ask();
			}
			catch (SQLException ex) {
				if (!QUERY_CANCELED.equals(ex.getSQLState()) || tries == MOST_TRIES) {
					throw lost(ex);
				}
				logger.debug("Running the statement again, since it was cancelled", ex);
			}
		}
	}

	@Override
	public @Nullable String passBarrier(Duration timeout) throws SessionException {
		record Barrier(boolean passed, int holder) {
		}
		long wait = Math.max(1, Math.min(timeout.toMillis(), this.longestWaitMillis));
		Barrier barrier = query(() -> this.sql.passBarrier(wait, this.leaseMillis),
				(row) -> new Barrier("passed".equals(row.getString("outcome")), row.getInt("holder")));
		if (barrier.passed()) {
			return null;
		}
		return (barrier.holder() != 0)
				? "the transaction of the "
						+ unlessCancelled(() -> this.foreignSessions.describe(this.connection, barrier.holder()))
				: "a transaction that has just ended or was prepared";
	}

	/**
	 * Read for at least a millisecond, the shortest timeout that the driver supports.
	 * Another thread cannot end a read, but it can end a wait between two reads.
	 */
	@Override
	public Duration probe(Duration longest) throws SessionException {
		Duration blocked = Duration.ofMillis(Math.max(1, Math.min(longest.toMillis(), LONGEST_READ)));
		try {
			this.pgConnection.getNotifications((int) blocked.toMillis());
		}
		catch (SQLException ex) {
			throw lost(ex);
		}
		return PROBE_INTERVAL.minus(blocked);
	}

	@Override
	public boolean release(boolean clean) throws SessionException {
		long idle = Math.min(this.leaseMillis, LAST_IDLE_MILLIS);
		return query(() -> this.sql.release(this.term, clean, idle, SUCCESSOR_WAIT_MILLIS),
				(row) -> row.getBoolean("succeeded"));
	}

	@Override
	public void close() {
		try {
			this.connection.close();
		}
		catch (SQLException ex) {
			logger.debug("The session ended before it was closed", ex);
			abort();
		}
	}

	@Override
	public void abort() {
		Jdbc.abort(this.connection);
	}

	Connection connection() {
		return this.connection;
	}

	/**
	 * Run statements that may acquire or free locks, and run them again if they were
	 * cancelled. Behind a pooler, they first verify in the same transaction, during which
	 * the session cannot change, that this is the session of this node. Otherwise, with a
	 * pooler in transaction mode, two nodes could hold the same lock in one session.
	 */
	private <T> T query(Supplier<String> text, RowMapper<T> mapper) throws SessionException {
		return unlessCancelled(() -> Jdbc.query(this.connection, this.prefix + text.get(), mapper));
	}

	private static SessionException lost(SQLException ex) {
		return Jdbc.isDenied(ex) ? ConnectionFailures.translate(ex, false)
				: new SessionException("The session on the database has ended: " + Jdbc.summary(ex), ex);
	}

	/**
	 * The process id of the holder of the main key, or 0, those at the head of the queue,
	 * several of which can only be foreign, and the nodes.
	 */
	private record Observation(int holder, long term, List<Integer> head, Nodes nodes, long longestWaitMillis) {

		static Observation of(ResultSet row) throws SQLException {
			return new Observation(row.getInt("holder"), row.getLong("term"), Nodes.pids(row.getString("head")),
					Nodes.of(row), ServerInspection.longestWaitMillis(row));
		}

	}

	/**
	 * The holders of locks of the election besides this session.
	 */
	private record Others(Nodes nodes, List<Integer> predecessors, List<Integer> others, List<Integer> requests) {

		List<Integer> all() {
			List<Integer> all = new ArrayList<>(this.others);
			all.addAll(this.requests);
			all.addAll(this.predecessors);
			return all;
		}

	}

	@FunctionalInterface
	private interface Question<T> {

		T ask() throws SQLException;

	}

}
