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

package io.leaderelection.postgresql;

import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;

import io.leaderelection.Term;
import io.leaderelection.engine.ElectionSettings;
import io.leaderelection.engine.NodeProfile;
import io.leaderelection.engine.Platform;
import io.leaderelection.engine.SessionException;
import io.leaderelection.engine.SessionNames;
import io.leaderelection.engine.StoreSession;
import io.leaderelection.engine.StoreSession.ForeignHolder;
import io.leaderelection.postgresql.LeaseTableElections.Snapshot;
import io.leaderelection.postgresql.LeaseTableSql.Identity;
import io.leaderelection.postgresql.LeaseTableSql.Renewal;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;

/**
 * A session on PostgreSQL that uses a row of the lease table for the election. It has no
 * session on the server: what makes it the leader is that the row has its term and its
 * token.
 */
final class LeaseTableSession implements StoreSession {

	private static final Log logger = LogFactory.getLog(LeaseTableSession.class);

	/** An abort is part of a transition, which ends every wait. */
	private static final Duration PROBE_INTERVAL = Duration.ofSeconds(1);

	private static final long OBSERVE_WAIT = TimeUnit.MILLISECONDS.toNanos(150);

	private static final long FIRST_RETRY = TimeUnit.MILLISECONDS.toNanos(25);

	private static final long LOCKED_RETRY = TimeUnit.MILLISECONDS.toNanos(20);

	private static final long LOCKED_LIMIT = TimeUnit.MILLISECONDS.toNanos(200);

	private static final Duration CLOSE_LIMIT = Duration.ofMillis(500);

	/** A candidate that has not taken a free lease by then is not able to. */
	private static final long PRECEDENCE = TimeUnit.SECONDS.toNanos(1);

	private static final long REQUEST_INTERVAL = TimeUnit.MILLISECONDS.toNanos(50);

	private static final String LOCK_NOT_AVAILABLE = "55P03";

	/** The names of the connections of nodes, each of which serves all elections. */
	static final SessionNames NAMES = new SessionNames("table");

	/** No term has this transaction id. */
	private static final Term NONE = new Term(0, 0, 0);

	private final LeaseTableRequests requests;

	private final LeaseTableFence fence;

	private final ElectionSettings settings;

	private final String key;

	private final ElectionKeys keys;

	private final Identity identity;

	private final int termEpoch;

	private volatile boolean candidate;

	private volatile boolean aborted;

	private Term term = NONE;

	private long beat;

	/** Whether no node with the other store has been found since the last takeover. */
	private boolean alone;

	private @Nullable ForeignHolder foreign;

	/** When to try a takeover again that has failed, or 0. */
	private long retry;

	/** The node that was last observed as holder of the lease. */
	private @Nullable String leader;

	/** Until when to leave the free lease to a candidate of higher priority. */
	private @Nullable Long leftUntil;

	/**
	 * Create a new {@code LeaseTableSession} instance.
	 * @param requests runs its statements
	 * @param fence the fence of the election
	 * @param settings the settings of the election
	 * @param key the key of its row
	 * @param keys the keys of the other store
	 * @param identity what a takeover writes
	 * @param termEpoch the epoch of its terms
	 */
	LeaseTableSession(LeaseTableRequests requests, LeaseTableFence fence, ElectionSettings settings, String key,
			ElectionKeys keys, Identity identity, int termEpoch) {
		this.requests = requests;
		this.fence = fence;
		this.settings = settings;
		this.key = key;
		this.keys = keys;
		this.identity = identity;
		this.termEpoch = termEpoch;
	}

	String key() {
		return this.key;
	}

	UUID token() {
		return this.identity.token();
	}

	NodeProfile profile() {
		return this.settings.profile();
	}

	long leaseMillis() {
		return this.identity.leaseMillis();
	}

	boolean isCandidate() {
		return this.candidate;
	}

	boolean isAborted() {
		return this.aborted;
	}

	Platform platform() {
		return this.requests.platform();
	}

	Duration interval() {
		return this.settings.confirmInterval();
	}

	@Override
	public boolean becomeCandidate() {
		this.candidate = true;
		this.requests.elections().candidacyChanged();
		return true;
	}

	@Override
	public void withdraw() {
		this.candidate = false;
		this.requests.elections().candidacyChanged();
	}

	/**
	 * Try to take over at most once, after a round unless the last one already permits
	 * it.
	 */
	@Override
	public Acquisition acquire(Duration timeout) throws SessionException {
		Snapshot snapshot = this.requests.elections().snapshot(this);
		if (!snapshot.isFree() || this.retry > 0 || this.foreign != null) {
			long wait = timeout.toNanos();
			snapshot = this.requests.read(this, (this.retry > 0) ? Math.min(wait, this.retry) : wait);
		}
		LeaseRow row = snapshot.row();
		this.leader = (row != null && row.holder() != null) ? row.holder() : this.leader;
		this.foreign = null;
		if (!snapshot.isFree() || row == null) {
			this.retry = 0;
			this.leftUntil = null;
		}
		else if (!isLeftToOthers(snapshot)) {
			Acquisition.Won won = takeOver(row);
			if (won != null) {
				return won;
			}
		}
		return new Acquisition.Held(view(snapshot));
	}

	/**
	 * Return whether to leave the free lease for now to a candidate of higher priority,
	 * which finds it free at about the same time. The former leader does not count.
	 */
	private boolean isLeftToOthers(Snapshot snapshot) {
		if (!this.requests.elections().areCandidatesKnown() || snapshot.candidates()
			.stream()
			.noneMatch((candidate) -> candidate.profile().priority() > profile().priority()
					&& !candidate.nodeId().equals(this.leader))) {
			return false;
		}
		long now = platform().nanoTime();
		long until = (this.leftUntil != null) ? this.leftUntil : now + PRECEDENCE;
		this.leftUntil = until;
		this.retry = Math.max(0, until - now);
		return this.retry > 0;
	}

	private Acquisition.@Nullable Won takeOver(LeaseRow row) throws SessionException {
		Takeover takeover = this.requests.run(this, (connection, sql) -> unlessLocked(Takeover.LOCKED, connection,
				sql.takeOver(row, this.keys, this.identity), (taken) -> Takeover.of(taken, this.termEpoch)));
		if (takeover == Takeover.LOCKED) {
			this.foreign = new ForeignHolder("session that has locked a table of the elections", true, false);
			return null;
		}
		if (takeover.otherStore() != 0) {
			this.foreign = new ForeignHolder(describeOtherStore(takeover.otherStore()), true, false);
			return null;
		}
		Term taken = takeover.term();
		if (taken == null) {
			// Another node was faster, or another session has locked the row
			this.retry = Math.max(FIRST_RETRY, Math.min(2 * this.retry, longestRetry()));
			return null;
		}
		this.retry = 0;
		this.leftUntil = null;
		this.term = taken;
		this.beat = 0;
		this.alone = false;
		this.fence.elected(taken, token());
		// The lease of another node has expired: the server ends none earlier. An own one
		// was not waited for, and may have followed a release with work still running.
		boolean expired = row.isHeld() && !this.identity.node().equals(row.holder());
		return new Acquisition.Won(taken,
				(expired || row.holder() == null) ? Acquisition.Ending.CLEAN : Acquisition.Ending.UNKNOWN,
				takeover.passed());
	}

	/**
	 * Run a statement, unless another session has locked a whole table.
	 */
	private static <T> T unlessLocked(T locked, Connection connection, String sql, Jdbc.RowMapper<T> mapper)
			throws SQLException {
		try {
			return Jdbc.query(connection, sql, mapper);
		}
		catch (SQLException ex) {
			if (LOCK_NOT_AVAILABLE.equals(ex.getSQLState())) {
				logger.debug("Another session has locked a table", ex);
				return locked;
			}
			throw ex;
		}
	}

	@Override
	public boolean isStandby() {
		return this.term != NONE
				|| (this.candidate && this.requests.elections().isStandby(this, this.settings.standbys()));
	}

	private static String describeOtherStore(int pid) {
		return "session with pid " + pid + " (leader-election.store=advisory-lock; all nodes must use the same store)";
	}

	@Override
	public View observe() throws SessionException {
		return view(this.requests.read(this, OBSERVE_WAIT));
	}

	private View view(Snapshot snapshot) {
		LeaseRow row = snapshot.row();
		// A holder whose lease has expired does not lead any longer
		String node = (row != null && row.isHeld() && !snapshot.isFree()) ? row.holder() : null;
		Holder leader = (row != null && node != null)
				? new Holder(node, NAMES.of(node), term(row), row.since(), profile(snapshot, node), null) : null;
		return new View(leader, snapshot.candidates(), this.foreign);
	}

	private static NodeProfile profile(Snapshot snapshot, String node) {
		return snapshot.candidates()
			.stream()
			.filter((candidate) -> candidate.nodeId().equals(node))
			.map(Candidate::profile)
			.findFirst()
			.orElse(NodeProfile.UNKNOWN);
	}

	private Term term(LeaseRow row) {
		return new Term(this.termEpoch, row.timeline(), row.term());
	}

	/**
	 * Request the end of a term, until it has ended as far as this node knows. Called on
	 * another thread than the one of the session.
	 */
	void requestResignation(Term term, Duration limit) throws SessionException {
		long deadline = platform().nanoTime() + limit.toNanos();
		request(term, true);
		while (isLed(term) && deadline - platform().nanoTime() > 0) {
			pause(REQUEST_INTERVAL);
		}
		if (isLed(term)) {
			request(term, false);
		}
	}

	private boolean isLed(Term led) {
		LeaseRow row = this.requests.elections().snapshot(this).row();
		return row != null && row.isHeld() && led.equals(term(row));
	}

	private void request(Term term, boolean requested) throws SessionException {
		if (!changeUnlessLocked((sql) -> sql.requestResignation(this.key, term, requested))) {
			throw new SessionException("The row of the election is locked by another session", null);
		}
	}

	/**
	 * Run a statement that skips a row which another session has locked, a few times if
	 * need be: the leader locks it for a moment with each renewal.
	 * @param statement returns whether it has changed the row, and whether there is still
	 * something to change
	 * @return whether nothing is left to change
	 */
	private boolean changeUnlessLocked(Function<LeaseTableSql, String> statement) throws SessionException {
		long deadline = platform().nanoTime() + LOCKED_LIMIT;
		while (this.requests.run(this, (connection, sql) -> Jdbc.query(connection, statement.apply(sql),
				(row) -> !row.getBoolean("changed") && row.getBoolean("held")))) {
			if (deadline - platform().nanoTime() <= 0) {
				return false;
			}
			pause(LOCKED_RETRY);
		}
		return true;
	}

	@Override
	public Confirmation confirm() throws SessionException {
		LeaseRow row = this.requests.renew(this, new Renewal(this.key, this.term.transactionId(), token(), ++this.beat),
				this.beat == 1);
		if (row == null) {
			throw new SessionException("The row of the election has been deleted", null);
		}
		if (!row.renewed() && row.isHeldBy(this.term.transactionId(), token())) {
			// Followers have not seen this renewal, so it must not extend trust
			throw new SessionException("Another session has changed the beat of the row to " + row.beat(), null);
		}
		if (!row.renewed()) {
			throw new SessionException("The term has ended: " + ((row.holder() != null)
					? "node '" + row.holder() + "' holds the lease in the term " + term(row) : "the lease is free"),
					null);
		}
		if (row.isOutdated()) {
			// A later takeover may have been lost, whose holder still trusts its lease
			throw new SessionException("The server has been promoted since the term began", null);
		}
		int otherStore = this.alone ? 0 : findOtherStore();
		this.alone = otherStore == 0;
		return new Confirmation(this.alone ? null : "the " + describeOtherStore(otherStore),
				row.resignTerm() == this.term.transactionId(), null);
	}

	/**
	 * A node with the other store that looks for a leader in this table later than this
	 * finds the takeover.
	 */
	private int findOtherStore() throws SessionException {
		return this.requests.run(this,
				(connection, sql) -> Jdbc.query(connection, sql.otherStore(this.keys), (row) -> row.getInt("pid")));
	}

	@Override
	public List<Candidate> candidates() {
		return this.requests.elections().snapshot(this).candidates();
	}

	@Override
	public String name() {
		return NAMES.of(this.identity.node());
	}

	private long longestRetry() {
		return interval().toNanos() / 4;
	}

	/**
	 * Waits on this side, since all elections share the connection.
	 */
	@Override
	public @Nullable String passBarrier(Duration timeout) throws SessionException {
		record Barrier(boolean passed, boolean held) {
		}
		long deadline = platform().nanoTime() + timeout.toNanos();
		for (long pause = TimeUnit.MILLISECONDS.toNanos(1);; pause = Math.min(2 * pause, longestRetry())) {
			Barrier barrier = this.requests.run(this,
					(connection, sql) -> unlessLocked(new Barrier(false, true), connection,
							sql.passBarrier(this.key, this.term, token()),
							(row) -> new Barrier(row.getBoolean("passed"), row.getBoolean("held"))));
			if (barrier.passed()) {
				return null;
			}
			if (!barrier.held()) {
				throw new SessionException("The term has ended before it was granted", null);
			}
			if (deadline - platform().nanoTime() <= 0) {
				return "the transaction of the " + this.requests.run(this,
						(connection, sql) -> unlessLocked("session that has locked the table", connection,
								sql.lockers(this.key, this.settings.lease().toMillis()), LeaseTableSession::describe));
			}
			pause(pause);
		}
	}

	private static String describe(ResultSet row) throws SQLException {
		return (row.getString("pid") != null) ? ForeignSessions.words(row) : "session that has locked the row";
	}

	@Override
	public Duration probe(Duration longest) throws SessionException {
		if (isAborted()) {
			throw aborted(null);
		}
		return PROBE_INTERVAL;
	}

	@Override
	public void wake() {
		this.requests.wake((session) -> session == this);
	}

	/**
	 * Nothing tells whether another node has taken over before a later round. A row that
	 * another session has locked is left to the expiry of the lease.
	 */
	@Override
	public boolean release(boolean clean) throws SessionException {
		Function<LeaseTableSql, String> release = (sql) -> sql.release(this.key, this.term, token(), clean);
		try {
			changeUnlessLocked(release);
		}
		catch (SessionException ex) {
			if (isAborted()) {
				throw ex;
			}
			// The connection may have ended before
			changeUnlessLocked(release);
		}
		announceRelease();
		return false;
	}

	private void announceRelease() {
		try {
			this.requests.run(this, (connection, sql) -> Jdbc.query(connection, sql.announce(this.key), (row) -> true));
		}
		catch (SessionException ex) {
			logger.debug("Other nodes learn of the release when they read the row", ex);
		}
	}

	private void pause(long nanos) throws SessionException {
		try {
			if (this.requests.awaitEnd(nanos, this::isAborted)) {
				throw aborted(null);
			}
		}
		catch (InterruptedException ex) {
			throw aborted(ex);
		}
	}

	static SessionException aborted(@Nullable Throwable cause) {
		return new SessionException("The session has been aborted", cause);
	}

	@Override
	public void close() {
		abort();
		this.requests.awaitEnd(CLOSE_LIMIT);
	}

	@Override
	public void abort() {
		this.aborted = true;
		this.requests.leave(this);
	}

	/**
	 * The outcome of an attempt to take over.
	 *
	 * @param term the term, or {@code null}
	 * @param passed whether no transaction that has passed the fence of an earlier term
	 * is open
	 * @param otherStore the process id of a session of the other store, or 0
	 */
	private record Takeover(@Nullable Term term, boolean passed, int otherStore) {

		static final Takeover LOCKED = new Takeover(null, false, 0);

		static Takeover of(ResultSet row, int termEpoch) throws SQLException {
			long transactionId = row.getLong("term");
			return new Takeover(
					(transactionId != 0) ? new Term(termEpoch, row.getLong("timeline"), transactionId) : null,
					row.getBoolean("passed"), row.getInt("other"));
		}

	}

}
