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

import java.time.Duration;
import java.util.Comparator;
import java.util.List;
import java.util.Objects;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;

import io.leaderelection.Term;
import io.leaderelection.engine.ElectionSettings;
import io.leaderelection.engine.ElectionStore.Sight;
import io.leaderelection.engine.ElectionStore.StandBack;
import io.leaderelection.engine.SessionException;
import io.leaderelection.engine.SessionNames;
import io.leaderelection.engine.StoreSession;
import io.leaderelection.engine.StoreSession.ForeignHolder.Kind;
import io.leaderelection.postgresql.ElectionKeys;
import io.leaderelection.postgresql.table.LeaseTableCandidates.Listed;
import io.leaderelection.postgresql.table.LeaseTableConnection.Takeover;
import io.leaderelection.postgresql.table.LeaseTableNode.Purpose;
import io.leaderelection.postgresql.table.LeaseTableSql.Part;
import io.leaderelection.postgresql.table.LeaseTableSql.Request;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;

/**
 * The session of one election in the lease table. It rests on the session of its node,
 * and leads while the row of the election has its term and the token of that session.
 * <p>
 * It makes no statement. It says what it wants, and waits for a turn of its node that
 * began later. What a turn has changed is told to it with the lock of the node.
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

	private static final long STAND_BACK = TimeUnit.MILLISECONDS.toNanos(500);

	/** Before these were searched. */
	private static final String UNKNOWN = "nodes with leader-election.store=advisory-lock, if there are any";

	private static final long REQUEST_INTERVAL = TimeUnit.MILLISECONDS.toNanos(50);

	/** The names of the connections of nodes, each of which serves all elections. */
	static final SessionNames NAMES = new SessionNames("table");

	private final LeaseTableNode node;

	private final LeaseTableFence fence;

	private final ElectionSettings settings;

	private final String key;

	private final ElectionKeys keys;

	private final int termEpoch;

	private final Supplier<StandBack> standBack;

	/** The session of the node, since the opening of this one. */
	private volatile @Nullable UUID token;

	private volatile boolean aborted;

	// Written by the threads of the election, read by turns

	private volatile boolean candidate;

	private volatile @Nullable Request request;

	/** The part that other nodes can read. */
	private volatile @Nullable Part registered;

	// Changed with the lock of the node

	/** What this session has won, until its release. */
	private volatile @Nullable Taken taken;

	private volatile @Nullable Release release;

	// Written by turns, read by the election

	/** The session that blocks a takeover. */
	private volatile @Nullable ForeignHolder foreign;

	/** After which time to try a takeover again that has failed, or 0. */
	private volatile long retry;

	/** How many attempts to take the election over have failed, the present one too. */
	private int attempts;

	/** The node that was last observed as owner of the election. */
	private @Nullable String leader;

	/** Until when to leave the free election to another candidate. */
	private @Nullable Long leftUntil;

	LeaseTableSession(LeaseTableNode node, LeaseTableFence fence, ElectionSettings settings, String key,
			ElectionKeys keys, int termEpoch, Supplier<StandBack> standBack) {
		this.node = node;
		this.fence = fence;
		this.settings = settings;
		this.key = key;
		this.keys = keys;
		this.termEpoch = termEpoch;
		this.standBack = standBack;
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

	ElectionKeys keys() {
		return this.keys;
	}

	Duration interval() {
		return this.settings.confirmInterval();
	}

	boolean isOpen() {
		return this.token != null;
	}

	void checkOpen() throws SessionException {
		if (this.aborted) {
			throw aborted(null);
		}
	}

	// What a turn asks and tells

	/**
	 * Return how this session takes part in the election, or {@code null} if others need
	 * not know of it.
	 */
	@Nullable Part part() {
		Request requested = this.request;
		boolean stands = this.candidate && this.standBack.get() != StandBack.UNLISTED;
		return (stands || requested != null) ? new Part(stands, this.settings.profile(), requested) : null;
	}

	void registered(@Nullable Part part) {
		this.registered = part;
	}

	boolean holdsTerm() {
		return this.taken != null;
	}

	/**
	 * Return whether this session holds the term of a row that its node owns.
	 */
	boolean holds(LeaseRow row) {
		Taken held = this.taken;
		return held != null && held.term().equals(term(row));
	}

	/**
	 * Return whether the work of a term that is to be freed has ended.
	 */
	boolean hasEnded(LeaseRow row) {
		Release ending = this.release;
		return ending != null && ending.clean() && ending.term().equals(term(row));
	}

	/**
	 * Decide whether to take the election over in this turn, and else when to look again.
	 */
	boolean takes(LeaseRow row, LeaseRound round) {
		if (this.taken != null || !round.token().equals(this.token)) {
			return false;
		}
		LeaseRow.Session owner = row.session();
		this.leader = (owner != null) ? owner.node() : this.leader;
		if (this.node.remaining(row) > 0) {
			noAttempt();
			return false;
		}
		if (row.paused() != null) {
			this.foreign = new ForeignHolder(row.paused(), Kind.PAUSE);
			this.retry = interval().toNanos();
			return false;
		}
		if (isLeftToOthers()) {
			return false;
		}
		// Unless it succeeds
		this.attempts++;
		this.retry = Math.max(FIRST_RETRY, Math.min(2 * this.retry, interval().toNanos() / 4));
		return true;
	}

	private void noAttempt() {
		this.foreign = null;
		this.retry = 0;
		this.attempts = 0;
		this.leftUntil = null;
	}

	/**
	 * Return whether to leave the free election for now to another candidate, which finds
	 * it free at about the same time: one of higher priority, or any of the same priority
	 * if this one stands back. The former leader does not count.
	 */
	private boolean isLeftToOthers() {
		int own = this.settings.profile().priority();
		int highest = candidates().stream()
			.filter((other) -> !other.session().equals(String.valueOf(this.token))
					&& !other.nodeId().equals(this.leader))
			.mapToInt((other) -> other.profile().priority())
			.max()
			.orElse(-1);
		boolean standsBack = highest == own && this.standBack.get() != StandBack.NOT;
		if (highest <= own && !standsBack) {
			return false;
		}
		long now = this.node.platform().nanoTime();
		long until = (this.leftUntil != null) ? this.leftUntil : now + (standsBack ? STAND_BACK : PRECEDENCE);
		this.leftUntil = until;
		this.retry = Math.max(0, until - now);
		return this.retry > 0;
	}

	/**
	 * The takeover has failed: another node was faster, a session has locked the row, or
	 * a node uses the other store.
	 * @param otherStore the process id of that node's session, or 0
	 */
	void missed(int otherStore) {
		if (otherStore != 0) {
			this.foreign = new ForeignHolder(describeOtherStore(otherStore), Kind.BLOCKING);
			this.retry = interval().toNanos();
			this.attempts = 0;
		}
		else if (!isBlocked()) {
			this.foreign = null;
		}
	}

	/**
	 * Return whether takeovers have failed more than once.
	 */
	boolean isBlocked() {
		return this.attempts > 1;
	}

	/**
	 * What has locked the row was searched.
	 * @param locker a description of that session, or {@code null} if there is none
	 */
	void blockedBy(@Nullable String locker) {
		this.foreign = (locker != null) ? new ForeignHolder(locker, Kind.BLOCKING) : null;
	}

	private static String describeOtherStore(int pid) {
		return "session with pid " + pid + " (leader-election.store=advisory-lock; all nodes must use the same store)";
	}

	/**
	 * The election was taken over. If this session has been removed from its node, a
	 * later turn frees it.
	 * @param row the row as it was before
	 */
	void won(LeaseRow row, Takeover takeover, UUID owner) {
		Term term = new Term(this.termEpoch, takeover.timeline(), takeover.term());
		noAttempt();
		this.node.change(this, () -> {
			// The work of the last term has ended, or its lease has expired
			this.taken = new Taken(term, row.owner() != null || row.clean(), UNKNOWN);
			this.fence.elected(term, owner);
		});
	}

	/**
	 * Return whether it is not known since the takeover that no node uses the other
	 * store. A node with that store which looks for nodes in these tables later than this
	 * one looks finds this one.
	 */
	boolean mayHaveOthers() {
		Taken held = this.taken;
		return held != null && held.others() != null;
	}

	/**
	 * Nodes with the other store were searched.
	 * @param pid the process id of a session, or 0 if there is none
	 */
	void searchedOthers(int pid) {
		this.node.change(this, () -> {
			Taken held = this.taken;
			this.taken = (held != null)
					? new Taken(held.term(), held.clean(), (pid != 0) ? describeOtherStore(pid) : null) : null;
		});
	}

	/**
	 * The node does not own the election.
	 */
	void freed() {
		this.release = null;
	}

	// The election

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
	 * Wait for a turn, which takes the election over if it is free.
	 */
	@Override
	public Acquisition acquire(Duration timeout) throws SessionException {
		LeaseRound round = this.node.read(this, Purpose.ACQUISITION,
				Math.min(timeout.toNanos(), untilAttempt(timeout)));
		check(round);
		Taken won = this.taken;
		return (won != null) ? new Acquisition.Won(won.term(),
				won.clean() ? Acquisition.Ending.CLEAN : Acquisition.Ending.UNKNOWN, true)
				: new Acquisition.Held(view(round));
	}

	private long untilAttempt(Duration longest) {
		LeaseRound known = this.node.last();
		long remaining = (known != null) ? this.node.remaining(known.rowOrMissing(this.key)) : 0;
		long pause = this.retry;
		return (remaining > 0) ? remaining : (pause > 0) ? pause : (this.foreign != null) ? longest.toNanos() : 0;
	}

	private void check(LeaseRound round) throws SessionException {
		if (!round.token().equals(token())) {
			throw new SessionException(
					"The session of this node has ended: it could not be renewed, or its row was deleted", null);
		}
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
		List<String> others = candidates().stream()
			.filter((other) -> !other.nodeId().equals(owner))
			.sorted(Comparator.comparingInt((other) -> -other.profile().priority()))
			.map(Candidate::session)
			.toList();
		return others.indexOf(token().toString()) < this.settings.standbys();
	}

	@Override
	public View observe() throws SessionException {
		return view(this.node.read(this, Purpose.ROUND, OBSERVE_WAIT));
	}

	private View view(LeaseRound round) {
		LeaseRow row = round.row(this.key);
		LeaseRow.Session owner = (row != null) ? row.session() : null;
		// An owner whose session has expired does not lead any longer
		Holder holder = (row != null && owner != null && this.node.remaining(row) > 0)
				? new Holder(owner.node(), NAMES.of(owner.node()), term(row), row.since(), owner.profile(), null)
				: null;
		return new View(holder, candidates(), this.foreign);
	}

	/**
	 * Return what this node has last read. May be called by any thread.
	 */
	@Nullable Sight sight() {
		LeaseRound round = this.node.last();
		Listed listed = this.node.listed();
		return (round != null)
				? new Sight(view(round), listed.alive(),
						Duration.ofNanos(this.node.platform().nanoTime() - Math.min(round.started(), listed.read())))
				: null;
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
		Request asked = new Request(term.transactionId(), cause);
		this.request = asked;
		try {
			LeaseRound round = this.node.read(this, Purpose.TURN, 0);
			boolean written = isRegistered(asked);
			while (isLed(round, term) && deadline - this.node.platform().nanoTime() > 0) {
				// The leader finds the request with its next round
				round = this.node.read(this, Purpose.TURN, REQUEST_INTERVAL);
				written |= isRegistered(asked);
			}
			if (!written && isLed(round, term)) {
				throw new SessionException("The request could not be written", null);
			}
		}
		finally {
			this.request = null;
			this.node.read(this, Purpose.TURN, 0);
		}
	}

	private boolean isRegistered(Request asked) {
		Part known = this.registered;
		return known != null && asked.equals(known.request());
	}

	private boolean isLed(LeaseRound round, Term led) {
		LeaseRow row = round.row(this.key);
		return row != null && row.owner() != null && led.equals(term(row));
	}

	@Override
	public Confirmation confirm(boolean whole) throws SessionException {
		Taken held = this.taken;
		if (held == null) {
			throw new IllegalStateException("There is no term");
		}
		boolean unsure = mayHaveOthers();
		// All nodes wait for the one before the grant
		LeaseRound round = this.node.confirm(this, unsure ? Purpose.WHOLE_CONFIRMATION : Purpose.CONFIRMATION,
				whole || unsure);
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
		Taken present = this.taken;
		String others = ((present != null) ? present : held).others();
		return new Confirmation((others != null) ? "the " + others : null, row.requester() != null, null);
	}

	@Override
	public String requester() {
		LeaseRound round = this.node.last();
		LeaseRow row = (round != null) ? round.row(this.key) : null;
		String requester = (row != null) ? row.requester() : null;
		return (requester != null) ? requester : "another node";
	}

	@Override
	public List<Candidate> candidates() {
		return this.node.listed().of(this.key);
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
	 * session has locked is freed by a later turn.
	 */
	@Override
	public boolean release(boolean clean) throws SessionException {
		Taken held = this.taken;
		if (held == null) {
			return false;
		}
		this.fence.ended(held.term());
		this.node.change(this, () -> {
			this.release = new Release(held.term(), clean);
			this.taken = null;
		});
		long deadline = this.node.platform().nanoTime() + LOCKED_LIMIT;
		try {
			awaitRelease(deadline);
		}
		catch (SessionException ex) {
			// The end of a connection does not end the session
			checkOpen();
			logger.debug("The election is released on another connection", ex);
			awaitRelease(deadline);
		}
		return false;
	}

	private void awaitRelease(long deadline) throws SessionException {
		this.node.read(this, Purpose.TURN, 0);
		while (this.release != null && deadline - this.node.platform().nanoTime() > 0) {
			this.node.read(this, Purpose.TURN, LOCKED_RETRY);
		}
	}

	static SessionException aborted(@Nullable Throwable cause) {
		return new SessionException("The session has been aborted", cause);
	}

	@Override
	public void close() {
		this.node.close(this);
		this.aborted = true;
	}

	@Override
	public void abort() {
		this.aborted = true;
		this.node.abort(this);
	}

	/**
	 * This session was removed from its node, which frees what it leads. With the lock of
	 * the node.
	 */
	void removed() {
		Taken held = this.taken;
		this.taken = null;
		if (held != null) {
			this.fence.ended(held.term());
		}
	}

	/**
	 * What this session has won.
	 *
	 * @param term the term
	 * @param clean whether nobody need wait for work of the term before
	 * @param others a description of nodes with the other store that there may be, or
	 * {@code null} if there is none
	 */
	private record Taken(Term term, boolean clean, @Nullable String others) {
	}

	/**
	 * The end of a term that is to be written.
	 *
	 * @param term the term
	 * @param clean whether its work has ended
	 */
	private record Release(Term term, boolean clean) {
	}

}
