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

package io.leaderelection.postgresql.table;

import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import java.util.Comparator;
import java.util.List;
import java.util.Objects;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;

import io.leaderelection.Term;
import io.leaderelection.engine.ElectionSettings;
import io.leaderelection.engine.NodeProfile;
import io.leaderelection.engine.SessionException;
import io.leaderelection.engine.SessionNames;
import io.leaderelection.engine.StoreSession;
import io.leaderelection.engine.StoreSession.ForeignHolder.Kind;
import io.leaderelection.postgresql.ElectionKeys;
import io.leaderelection.postgresql.Jdbc;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;

/**
 * The session of one election in the lease table. It rests on the session of its node,
 * and leads while the row of the election has its term and the token of that session.
 */
final class LeaseTableSession implements StoreSession {

	private static final Log logger = LogFactory.getLog(LeaseTableSession.class);

	/** An abort is part of a transition, which ends every wait. */
	private static final Duration PROBE_INTERVAL = Duration.ofSeconds(1);

	private static final long OBSERVE_WAIT = TimeUnit.MILLISECONDS.toNanos(150);

	private static final long FIRST_RETRY = TimeUnit.MILLISECONDS.toNanos(25);

	private static final long LOCKED_RETRY = TimeUnit.MILLISECONDS.toNanos(20);

	private static final long LOCKED_LIMIT = TimeUnit.MILLISECONDS.toNanos(200);

	/** A candidate that has not taken a free election by then is not able to. */
	private static final long PRECEDENCE = TimeUnit.SECONDS.toNanos(1);

	private static final long REQUEST_INTERVAL = TimeUnit.MILLISECONDS.toNanos(50);

	private static final String LOCK_NOT_AVAILABLE = "55P03";

	/** The names of the connections of nodes, each of which serves all elections. */
	static final SessionNames NAMES = new SessionNames("table");

	private final LeaseTableNode node;

	private final LeaseTableFence fence;

	private final ElectionSettings settings;

	private final String key;

	private final ElectionKeys keys;

	private final int termEpoch;

	/** The session of the node, since the opening of this one. */
	private volatile @Nullable UUID token;

	private volatile boolean candidate;

	private volatile boolean aborted;

	/** What this node leads, or has won, from a takeover to its release. */
	private volatile @Nullable Taken taken;

	/** Whether a takeover was sent whose reply was not read. */
	private volatile boolean taking;

	private @Nullable ForeignHolder foreign;

	/** When to try a takeover again that has failed, or 0. */
	private long retry;

	/** The node that was last observed as owner of the election. */
	private @Nullable String leader;

	/** Until when to leave the free election to a candidate of higher priority. */
	private @Nullable Long leftUntil;

	/** Whether no node with the other store has been found since the last takeover. */
	private boolean alone;

	LeaseTableSession(LeaseTableNode node, LeaseTableFence fence, ElectionSettings settings, String key,
			ElectionKeys keys, int termEpoch) {
		this.node = node;
		this.fence = fence;
		this.settings = settings;
		this.key = key;
		this.keys = keys;
		this.termEpoch = termEpoch;
	}

	void open() throws SessionException {
		try {
			this.token = this.node.join(this).token();
		}
		catch (SessionException | RuntimeException | Error ex) {
			abort();
			throw ex;
		}
	}

	private UUID token() {
		return Objects.requireNonNull(this.token);
	}

	String key() {
		return this.key;
	}

	NodeProfile profile() {
		return this.settings.profile();
	}

	Duration interval() {
		return this.settings.confirmInterval();
	}

	boolean isCandidate() {
		return this.candidate;
	}

	boolean isOpen() {
		return this.token != null;
	}

	void checkOpen() throws SessionException {
		if (this.aborted) {
			throw aborted(null);
		}
	}

	boolean holdsTerm() {
		return this.taken != null;
	}

	/**
	 * Return whether this session holds the term of a row that its node owns, or may
	 * still read the reply of its takeover.
	 */
	boolean holds(LeaseRow row) {
		Taken held = this.taken;
		return this.taking || (held != null && held.term().equals(term(row)));
	}

	@Override
	public boolean becomeCandidate() {
		this.candidate = true;
		return true;
	}

	@Override
	public void withdraw() {
		this.candidate = false;
	}

	/**
	 * Try to take over at most once, after a round.
	 */
	@Override
	public Acquisition acquire(Duration timeout) throws SessionException {
		LeaseRound round = this.node.last();
		if (round == null || !isFree(round) || this.retry > 0 || this.foreign != null) {
			long wait = timeout.toNanos();
			LeaseRow known = (round != null) ? round.row(this.key) : null;
			long remaining = (known != null && this.candidate) ? this.node.remaining(known) : 0;
			wait = (remaining > 0) ? Math.min(wait, remaining) : wait;
			round = this.node.read(this, (this.retry > 0) ? Math.min(wait, this.retry) : wait);
		}
		check(round);
		LeaseRow row = round.row(this.key);
		if (row == null) {
			this.node.run(this, (open) -> open.query(open.sql().insert(this.key), (inserted) -> true));
			// Free, so it need not follow first
			round = this.node.read(this, 0);
			check(round);
			row = round.row(this.key);
		}
		LeaseRow.Session owner = (row != null) ? row.session() : null;
		this.leader = (owner != null) ? owner.node() : this.leader;
		this.foreign = null;
		if (row == null || !isFree(round)) {
			this.retry = 0;
			this.leftUntil = null;
		}
		else if (!isLeftToOthers(round)) {
			Acquisition.Won won = takeOver(row, round);
			if (won != null) {
				return won;
			}
		}
		return new Acquisition.Held(view(round));
	}

	private boolean isFree(LeaseRound round) {
		LeaseRow row = round.row(this.key);
		return row != null && this.node.remaining(row) <= 0;
	}

	private void check(LeaseRound round) throws SessionException {
		if (!round.token().equals(token())) {
			throw new SessionException(
					"The session of this node has ended: it could not be renewed, or its row was " + "deleted", null);
		}
	}

	/**
	 * Return whether to leave the free election for now to a candidate of higher
	 * priority, which finds it free at about the same time. The former leader does not
	 * count.
	 */
	private boolean isLeftToOthers(LeaseRound round) {
		if (round.candidates(this.key)
			.stream()
			.noneMatch((other) -> other.profile().priority() > profile().priority()
					&& !other.nodeId().equals(this.leader))) {
			return false;
		}
		long now = this.node.platform().nanoTime();
		long until = (this.leftUntil != null) ? this.leftUntil : now + PRECEDENCE;
		this.leftUntil = until;
		this.retry = Math.max(0, until - now);
		return this.retry > 0;
	}

	private Acquisition.@Nullable Won takeOver(LeaseRow row, LeaseRound round) throws SessionException {
		this.taking = true;
		try {
			return takeOverOnce(row, round);
		}
		finally {
			this.taking = false;
		}
	}

	private Acquisition.@Nullable Won takeOverOnce(LeaseRow row, LeaseRound round) throws SessionException {
		LeaseRow.Session owner = row.session();
		UUID expired = row.owner();
		if (owner != null && expired != null && !this.node.expire(this, expired, owner.beat(), round)) {
			return blocked();
		}
		Takeover takeover = this.node.takeOver(this, row, round, this.keys);
		if (takeover.otherStore() != 0) {
			this.foreign = new ForeignHolder(describeOtherStore(takeover.otherStore()), Kind.BLOCKING);
			return null;
		}
		if (takeover.term() == 0) {
			return blocked();
		}
		this.retry = 0;
		this.leftUntil = null;
		this.alone = false;
		Term term = new Term(this.termEpoch, takeover.timeline(), takeover.term());
		this.taken = new Taken(term, false);
		this.fence.elected(term, token());
		// A lease that has expired: the server ends none earlier
		boolean clean = row.owner() != null || row.clean();
		return new Acquisition.Won(term, clean ? Acquisition.Ending.CLEAN : Acquisition.Ending.UNKNOWN, true);
	}

	/**
	 * Another node was faster, or another session has locked a row.
	 */
	private Acquisition.@Nullable Won blocked() throws SessionException {
		String locker = describeLocker();
		this.foreign = (locker != null) ? new ForeignHolder(locker, Kind.BLOCKING) : null;
		this.retry = Math.max(FIRST_RETRY, Math.min(2 * this.retry, interval().toNanos() / 4));
		return null;
	}

	@Override
	public boolean isStandby() {
		LeaseRound round = this.node.last();
		return this.taken != null || (this.candidate && round != null && isStandby(round));
	}

	/**
	 * Return whether this node is one of the first candidates besides the leader, by
	 * their priorities, or may be: it may be missing from the list.
	 */
	private boolean isStandby(LeaseRound round) {
		LeaseRow row = round.row(this.key);
		String owner = (row != null && row.session() != null) ? row.session().node() : null;
		List<String> others = round.candidates(this.key)
			.stream()
			.filter((other) -> !other.nodeId().equals(owner))
			.sorted(Comparator.comparingInt((other) -> -other.profile().priority()))
			.map(Candidate::session)
			.toList();
		return others.indexOf(token().toString()) < this.settings.standbys();
	}

	private static String describeOtherStore(int pid) {
		return "session with pid " + pid + " (leader-election.store=advisory-lock; all nodes must use the same store)";
	}

	@Override
	public View observe() throws SessionException {
		return view(this.node.read(this, OBSERVE_WAIT));
	}

	private View view(LeaseRound round) {
		LeaseRow row = round.row(this.key);
		LeaseRow.Session owner = (row != null) ? row.session() : null;
		// An owner whose session has expired does not lead any longer
		Holder holder = (row != null && owner != null && !isFree(round))
				? new Holder(owner.node(), NAMES.of(owner.node()), term(row), row.since(), owner.profile(), null)
				: null;
		return new View(holder, round.candidates(this.key), this.foreign);
	}

	private Term term(LeaseRow row) {
		return new Term(this.termEpoch, row.timeline(), row.term());
	}

	/**
	 * Request the end of a term, until it has ended as far as this node knows. Called on
	 * another thread than the one of the session.
	 */
	void requestResignation(Term term, String cause, Duration limit) throws SessionException {
		long deadline = this.node.platform().nanoTime() + limit.toNanos();
		request(term.transactionId(), cause);
		try {
			while (isLed(this.node.read(this, REQUEST_INTERVAL), term)
					&& deadline - this.node.platform().nanoTime() > 0) {
				logger.trace("The leader finds the request with its next round");
			}
		}
		finally {
			request(0, cause);
		}
	}

	private boolean isLed(LeaseRound round, Term led) {
		LeaseRow row = round.row(this.key);
		return row != null && row.owner() != null && led.equals(term(row));
	}

	private void request(long term, String cause) throws SessionException {
		this.node.run(this,
				(open) -> open.query(open.sql().requestResignation(this.key, token(), term, cause), (row) -> true));
	}

	@Override
	public Confirmation confirm(boolean whole) throws SessionException {
		Taken held = this.taken;
		if (held == null) {
			throw new IllegalStateException("There is no term");
		}
		boolean first = !held.confirmed();
		LeaseRound round = this.node.confirm(this, first);
		check(round);
		LeaseRow row = round.row(this.key);
		if (row == null) {
			throw new SessionException("The row of the election has been deleted", null);
		}
		if (!row.isOwnedBy(token()) || !held.term().equals(term(row))) {
			LeaseRow.Session owner = row.session();
			throw new SessionException(
					"The term has ended: " + ((owner != null)
							? "node '" + owner.node() + "' leads in the term " + term(row) : "the election is free"),
					null);
		}
		this.taken = new Taken(held.term(), true);
		int otherStore = this.alone ? 0 : findOtherStore();
		this.alone = otherStore == 0;
		return new Confirmation(this.alone ? null : "the " + describeOtherStore(otherStore), row.request() != null,
				null);
	}

	@Override
	public String requester() {
		LeaseRound round = this.node.last();
		LeaseRow row = (round != null) ? round.row(this.key) : null;
		String request = (row != null) ? row.request() : null;
		return (request != null) ? request : "another node";
	}

	/**
	 * A node with the other store that looks for nodes in these tables later than this
	 * finds this one.
	 */
	private int findOtherStore() throws SessionException {
		return this.node.run(this, (open) -> open.query(open.sql().otherStore(this.keys), (row) -> row.getInt("pid")));
	}

	@Override
	public List<Candidate> candidates() {
		LeaseRound round = this.node.last();
		return (round != null) ? round.candidates(this.key) : List.of();
	}

	@Override
	public String name() {
		return NAMES.of(this.node.id());
	}

	/**
	 * A takeover waits for all transactions that have passed the fence.
	 */
	@Override
	public @Nullable String passBarrier(Duration timeout) {
		return null;
	}

	/**
	 * Return a description of what has locked the row of the election or of its owner, if
	 * there is such a transaction: mostly, one that has passed the fence of an earlier
	 * term.
	 */
	private @Nullable String describeLocker() throws SessionException {
		String found = this.node.run(this, (open) -> {
			try {
				return open.query(open.sql().lockers(this.key, this.settings.lease().toMillis()),
						LeaseTableSession::describe);
			}
			catch (SQLException ex) {
				if (LOCK_NOT_AVAILABLE.equals(ex.getSQLState())) {
					return "session that has locked the table";
				}
				throw ex;
			}
		});
		return found.isEmpty() ? null : found;
	}

	private static String describe(ResultSet row) throws SQLException {
		String prepared = row.getString("prepared");
		return (prepared != null) ? "prepared transaction '" + prepared + "'"
				: (row.getString("pid") != null) ? Jdbc.describeSession(row) : "";
	}

	@Override
	public Duration probe(Duration longest) throws SessionException {
		checkOpen();
		return PROBE_INTERVAL;
	}

	@Override
	public void wake() {
		this.node.wake((session) -> session == this);
	}

	/**
	 * No transaction of the term passes the fence from here on. A row that another
	 * session has locked is freed by a later round.
	 */
	@Override
	public boolean release(boolean clean) throws SessionException {
		Taken held = this.taken;
		if (held == null) {
			return false;
		}
		this.fence.ended(held.term());
		Function<LeaseTableSql, String> statement = (sql) -> sql.release(this.key, held.term(), token(), clean);
		try {
			changeUnlessLocked(statement);
		}
		catch (SessionException ex) {
			// The end of a connection does not end the session
			checkOpen();
			logger.debug("The election is released on another connection", ex);
			changeUnlessLocked(statement);
		}
		finally {
			this.taken = null;
		}
		announceRelease();
		return false;
	}

	/**
	 * Run a statement that skips a row which another session has locked, a few times if
	 * need be.
	 * @param statement returns whether it has changed the row, and whether there is still
	 * something to change
	 */
	private void changeUnlessLocked(Function<LeaseTableSql, String> statement) throws SessionException {
		long deadline = this.node.platform().nanoTime() + LOCKED_LIMIT;
		while (this.node.run(this, (open) -> open.query(statement.apply(open.sql()),
				(row) -> !row.getBoolean("changed") && row.getBoolean("held")))) {
			if (deadline - this.node.platform().nanoTime() <= 0) {
				return;
			}
			this.node.sleep(this, LOCKED_RETRY);
		}
	}

	private void announceRelease() {
		try {
			this.node.run(this, (open) -> open.query(open.sql().announce(this.key), (row) -> true));
		}
		catch (SessionException ex) {
			logger.debug("Other nodes learn of the release when they read the row", ex);
		}
	}

	static SessionException aborted(@Nullable Throwable cause) {
		return new SessionException("The session has been aborted", cause);
	}

	@Override
	public void close() {
		this.taken = null;
		this.node.close(this);
		this.aborted = true;
	}

	@Override
	public void abort() {
		Taken held = this.taken;
		this.aborted = true;
		this.taken = null;
		if (held != null) {
			this.fence.ended(held.term());
		}
		this.node.abort(this);
	}

	/**
	 * What this node has won.
	 *
	 * @param term the term
	 * @param confirmed whether a round has confirmed it
	 */
	private record Taken(Term term, boolean confirmed) {
	}

	/**
	 * The outcome of an attempt to take over.
	 *
	 * @param term the transaction id of the term, or 0
	 * @param timeline the timeline of the term
	 * @param otherStore the process id of a session of the other store, or 0
	 */
	record Takeover(long term, long timeline, int otherStore) {

		static final Takeover NONE = new Takeover(0, 0, 0);

		static Takeover of(ResultSet row) throws SQLException {
			return new Takeover(row.getLong("term"), row.getLong("timeline"), row.getInt("other"));
		}

	}

}
