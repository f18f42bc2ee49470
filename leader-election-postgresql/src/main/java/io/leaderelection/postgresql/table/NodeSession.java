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
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;

import io.leaderelection.engine.Platform;
import io.leaderelection.engine.SessionException;
import io.leaderelection.postgresql.table.LeaseTable.Node;
import io.leaderelection.postgresql.table.LeaseTableCandidates.Listed;
import io.leaderelection.postgresql.table.LeaseTableConnection.Reply;
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
 * thread of the node.
 */
final class NodeSession {

	private static final Log logger = LogFactory.getLog(NodeSession.class);

	/** The beat of a session that leads nothing. */
	private static final long IDLE_INTERVAL = TimeUnit.MILLISECONDS.toNanos(2500);

	private final Node node;

	private final Duration lease;

	private final Platform platform;

	private final LeaseExpiry expiry;

	private final LeaseTableCandidates candidates;

	private @Nullable UUID token;

	/** Never used again, so that nobody else can have written the next one. */
	private long beat;

	/** When the last message was sent that has raised the beat. */
	private long raised;

	private OwnedElections owned;

	NodeSession(Node node, Duration lease, LeaseExpiry expiry, Platform platform) {
		this.node = node;
		this.lease = lease;
		this.expiry = expiry;
		this.platform = platform;
		this.owned = new OwnedElections(lease, expiry);
		this.candidates = new LeaseTableCandidates(platform.nanoTime());
	}

	/**
	 * Return the candidates of all elections, as last read. May be called by any thread.
	 */
	Listed listed() {
		return this.candidates.listed();
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
		boolean owns = leads || !this.owned.isEmpty();
		boolean raise = needed || owns || started - this.raised >= IDLE_INTERVAL;
		// Also what an election has taken that has no session at present
		Set<String> read = this.owned.with(elections.keySet());
		Reply reply = open.round(own, raise ? ++this.beat : 0, owns, read, this.candidates.areDue(started));
		if (!reply.joined() || (raise && !reply.raised())) {
			end();
			throw new SessionException("The session of this node has ended: "
					+ (reply.joined() ? "another node uses its token" : "its row was deleted"), null);
		}
		this.raised = raise ? started : this.raised;
		LeaseRound round = new LeaseRound(own, started, this.platform.nanoTime(), raise, reply.timeline(),
				reply.rows());
		if (this.expiry.observe(round, read)) {
			// Also what it owns may be lost, or what it has freed is its own again
			end();
			throw new SessionException("The session of this node has ended: the server has been promoted, or went back",
					null);
		}
		this.candidates.list(reply.candidates(), round);
		return round;
	}

	/**
	 * Return the time until the beat is to be raised although nobody waits for a round:
	 * what is owned may not be held. Later than the confirmations of a leader.
	 */
	long untilBeat(long now) {
		return this.raised + (this.owned.isEmpty() ? IDLE_INTERVAL : this.lease.toNanos() / 4) - now;
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
		this.owned = new OwnedElections(this.lease, this.expiry);
		this.candidates.forget();
	}

	/**
	 * Change what is not as it should be by a round. If what is owned and not held cannot
	 * be freed for a lease, this session ends.
	 * @param elections the sessions of elections by their keys
	 * @param acquiring those that want to take their elections over
	 * @param renewalIsDue whether the next renewal is due
	 */
	void settle(LeaseTableConnection open, Map<String, LeaseTableSession> elections, Set<LeaseTableSession> acquiring,
			LeaseRound round, BooleanSupplier renewalIsDue) throws SQLException {
		if (!this.owned.compare(elections, acquiring, round)) {
			end();
			return;
		}
		// In each turn, or else a slow server would end the session
		attempt(open, () -> this.owned.free(open, elections, round));
		attemptInTime(open, round, () -> this.owned.announce(open));
		attemptInTime(open, round, () -> this.owned.expire(open, round));
		attemptInTime(open, round, () -> {
			long sent = this.platform.nanoTime();
			if (this.owned.take(open, round, ++this.beat)) {
				this.raised = sent;
			}
		});
		attemptInTime(open, round, () -> this.owned.searchOthers(open, elections.values()));
		attemptInTime(open, round, () -> this.owned.searchLocker(open));
		if (this.owned.isEmpty() || !renewalIsDue.getAsBoolean()) {
			attemptInTime(open, round, () -> this.candidates.register(open, elections, round));
			attemptInTime(open, round, () -> this.candidates.expire(open, round));
		}
	}

	/**
	 * Run a step if there is time for it before the next renewal, or if none is needed.
	 */
	private void attemptInTime(LeaseTableConnection open, LeaseRound round, Step step) throws SQLException {
		if (this.owned.isEmpty() || this.platform.nanoTime() - round.started() < this.lease.toNanos() / 5) {
			attempt(open, step);
		}
	}

	/**
	 * Run a step, which is repeated by later turns if it fails.
	 */
	private static void attempt(LeaseTableConnection open, Step step) throws SQLException {
		try {
			step.run();
		}
		catch (SQLException ex) {
			if (open.mustBeReplaced(ex)) {
				throw ex;
			}
			logger.debug("A statement beside the renewal has failed", ex);
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
	 * A change beside the renewal.
	 */
	@FunctionalInterface
	private interface Step {

		void run() throws SQLException;

	}

}
