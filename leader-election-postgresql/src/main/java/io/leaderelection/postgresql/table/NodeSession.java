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

import java.sql.SQLException;
import java.time.Duration;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.UUID;
import java.util.concurrent.TimeUnit;

import io.leaderelection.Term;
import io.leaderelection.engine.NodeProfile;
import io.leaderelection.engine.Platform;
import io.leaderelection.engine.SessionException;
import io.leaderelection.engine.StoreSession.Candidate;
import io.leaderelection.postgresql.ElectionKeys;
import io.leaderelection.postgresql.table.LeaseTable.Node;
import io.leaderelection.postgresql.table.LeaseTableConnection.Reply;
import io.leaderelection.postgresql.table.LeaseTableSession.Takeover;
import io.leaderelection.postgresql.table.LeaseTableSql.Identity;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;

/**
 * The session of a node in the lease table: a row that each round renews. It outlives a
 * connection. It has ended, with all terms that rest on it, when its row is gone or
 * another node uses its token as well, when the server has been promoted or went back,
 * and when trust in it is over while an election still leads, since no term is renewed
 * after that. The node then begins another session, with a new token. Confined to the
 * user of the connection.
 */
final class NodeSession {

	private static final Log logger = LogFactory.getLog(NodeSession.class);

	/** The beat of a session that leads nothing, and the list of candidates. */
	private static final long IDLE_INTERVAL = TimeUnit.MILLISECONDS.toNanos(2500);

	/** After this time without a beat, a session that owns nothing has ended. */
	private static final long IDLE_EXPIRY = TimeUnit.SECONDS.toNanos(30);

	private final Node node;

	private final Duration lease;

	private final Platform platform;

	private final LeaseExpiry expiry;

	private @Nullable UUID token;

	/** Never used again, so that nobody else can have written the next one. */
	private long beat;

	/** When the last round began that has raised the beat. */
	private long raised;

	/**
	 * The elections whose takeover this session has sent. What it owns besides, another
	 * node with its token has taken.
	 */
	private final Set<String> taken = new TreeSet<>();

	/** The rounds since which it tries to free what it owns without leading. */
	private final Map<String, Long> unled = new HashMap<>();

	/** The elections in which this session is registered as a candidate. */
	private Map<String, NodeProfile> registered = Map.of();

	private Map<String, List<Candidate>> candidates = Map.of();

	private long candidatesDue;

	private final Map<UUID, Idle> idle = new LinkedHashMap<>();

	NodeSession(Node node, Duration lease, LeaseExpiry expiry, Platform platform) {
		this.node = node;
		this.lease = lease;
		this.expiry = expiry;
		this.platform = platform;
		this.candidatesDue = platform.nanoTime();
	}

	/**
	 * Run a round: raise the beat if that is needed, and read the rows of elections.
	 * @param elections the sessions of elections by their keys
	 * @param needed whether a term must be confirmed
	 */
	LeaseRound round(LeaseTableConnection open, Map<String, LeaseTableSession> elections, boolean needed)
			throws SQLException, SessionException {
		long started = this.platform.nanoTime();
		boolean leads = elections.values().stream().anyMatch(LeaseTableSession::holdsTerm);
		UUID own = begin(open, leads, started);
		boolean raise = needed || leads || !this.taken.isEmpty() || started - this.raised >= IDLE_INTERVAL;
		// Also what an election has taken that has no session at present
		Set<String> read = new TreeSet<>(this.taken);
		read.addAll(elections.keySet());
		Reply reply = open.round(own, raise ? ++this.beat : 0, read);
		if (!reply.joined() || (raise && !reply.raised())) {
			end();
			throw new SessionException("The session of this node has ended: "
					+ (reply.joined() ? "another node uses its token" : "its row was deleted"), null);
		}
		this.raised = raise ? started : this.raised;
		LeaseRound round = new LeaseRound(own, started, this.platform.nanoTime(), raise, reply.timeline(), reply.rows(),
				this.candidates);
		if (this.expiry.observe(round)) {
			// Also what it owns may be lost, or what it has freed is its own again
			end();
			throw new SessionException("The session of this node has ended: the server has been promoted, or went back",
					null);
		}
		return round;
	}

	/**
	 * Return the token, after the beginning of a session if there is none, or if trust in
	 * it is over.
	 */
	private UUID begin(LeaseTableConnection open, boolean leads, long now) throws SQLException {
		if (this.token != null && leads && now - this.raised >= this.lease.toNanos() / 4 * 3) {
			end();
		}
		UUID known = this.token;
		if (known == null) {
			known = UUID.randomUUID();
			this.beat = 0;
			this.raised = now;
			open.join(new Identity(known, this.node.id(), this.lease.toMillis(), this.node.host(), this.node.pid()));
			this.token = known;
		}
		return known;
	}

	private void end() {
		logger.debug("The session " + this.token + " has ended");
		this.token = null;
		this.taken.clear();
		this.unled.clear();
		this.registered = Map.of();
	}

	/**
	 * Delete the row of a session that has expired.
	 * @return whether this node has deleted it
	 */
	boolean expire(LeaseTableConnection open, UUID expired, long expiredBeat, long timeline) throws SQLException {
		boolean deleted = open.expire(expired, expiredBeat, timeline);
		if (deleted) {
			this.expiry.deleted(expired);
		}
		return deleted;
	}

	/**
	 * Try to take an election over with the session of a round.
	 */
	Takeover takeOver(LeaseTableConnection open, LeaseRow row, LeaseRound round, ElectionKeys keys)
			throws SQLException {
		if (!round.token().equals(this.token)) {
			return Takeover.NONE;
		}
		long sent = this.platform.nanoTime();
		this.taken.add(row.election());
		Takeover takeover = open.takeOver(row, round, keys, ++this.beat);
		if (takeover.term() != 0) {
			// It has raised the beat
			this.raised = sent;
		}
		else {
			this.taken.remove(row.election());
		}
		return takeover;
	}

	/**
	 * Free what this session owns in a term that no election of this node holds: the
	 * reply of the takeover was lost, or the term was given up. If that fails for a
	 * lease, the session ends. It also ends if it owns what it has not taken.
	 */
	void freeUnled(LeaseTableConnection open, Map<String, LeaseTableSession> elections, LeaseRound round)
			throws SQLException {
		for (LeaseRow row : round.rows().values()) {
			LeaseTableSession session = elections.get(row.election());
			boolean led = session != null && session.holds(row);
			if (led || !row.isOwnedBy(round.token())) {
				this.unled.remove(row.election());
				if (!led) {
					this.taken.remove(row.election());
				}
			}
			else if (!this.taken.contains(row.election())) {
				end();
				return;
			}
			else if (round.started()
					- this.unled.computeIfAbsent(row.election(), (key) -> round.started()) >= this.lease.toNanos()) {
				end();
				return;
			}
			else if (this.platform.nanoTime() - round.reply() < this.lease.toNanos() / 20) {
				// The others wait for the next round, which must not wait for them
				open.release(row.election(), new Term(0, row.timeline(), row.term()), round.token(), false);
			}
		}
	}

	/**
	 * Register the candidacies of this node, and read those of all nodes from time to
	 * time.
	 * @return the candidates by the keys of their elections, as last read
	 */
	Map<String, List<Candidate>> candidates(LeaseTableConnection open, Map<String, LeaseTableSession> elections,
			LeaseRound round) throws SQLException {
		Map<String, NodeProfile> candidacies = new TreeMap<>();
		elections.forEach((key, session) -> {
			if (session.isCandidate()) {
				candidacies.put(key, session.profile());
			}
		});
		// After a slow round, the next renewal comes first
		boolean slow = round.reply() - round.started() >= this.lease.toNanos() / 5;
		if (slow || (candidacies.equals(this.registered) && round.reply() - this.candidatesDue < 0)) {
			return this.candidates;
		}
		this.candidatesDue = round.reply() + IDLE_INTERVAL;
		if (!candidacies.equals(this.registered)) {
			open.register(round.token(), candidacies);
			this.registered = candidacies;
		}
		this.candidates = open.candidates(elections.keySet(), (session, idleBeat) -> this.idle.compute(session,
				(key, known) -> Idle.of(known, idleBeat, round.reply())));
		if (!candidacies.keySet().stream().allMatch((election) -> isListed(election, round.token()))) {
			// Lost in a crash or a promotion
			this.registered = Map.of();
		}
		expireIdle(open, round);
		return this.candidates;
	}

	private boolean isListed(String election, UUID own) {
		return this.candidates.getOrDefault(election, List.of())
			.stream()
			.anyMatch((candidate) -> candidate.session().equals(own.toString()));
	}

	/**
	 * Delete the row of a candidate that has expired and owns nothing, one at a time.
	 */
	private void expireIdle(LeaseTableConnection open, LeaseRound round) throws SQLException {
		this.idle.values().removeIf((session) -> round.reply() - session.last() > IDLE_INTERVAL);
		for (Map.Entry<UUID, Idle> session : this.idle.entrySet()) {
			if (round.reply() - session.getValue().first() >= IDLE_EXPIRY) {
				open.query(open.sql().leave(session.getKey(), session.getValue().beat()), (row) -> true);
				return;
			}
		}
	}

	/**
	 * End the session if it owns nothing, and close the connection.
	 */
	void close(LeaseTableConnection open) {
		open.close(this.token, this.beat);
		end();
	}

	/**
	 * A candidate that may own nothing.
	 *
	 * @param beat its beat
	 * @param first when this beat was first observed
	 * @param last when it was last observed
	 */
	private record Idle(long beat, long first, long last) {

		static Idle of(@Nullable Idle known, long beat, long now) {
			return new Idle(beat, (known != null && known.beat == beat) ? known.first : now, now);
		}

	}

}
