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
import java.sql.Statement;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;

import io.leaderelection.Term;
import io.leaderelection.engine.Platform;
import io.leaderelection.engine.SessionNames;
import io.leaderelection.engine.StoreSession.Candidate;
import io.leaderelection.engine.StoreSession.ForeignHolder;
import io.leaderelection.engine.StoreSession.ForeignHolder.Kind;
import io.leaderelection.engine.StoreSession.Holder;
import io.leaderelection.engine.StoreSession.View;
import io.leaderelection.postgresql.ElectionKeys;
import io.leaderelection.postgresql.Jdbc;
import io.leaderelection.postgresql.Profiles;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;

/**
 * Resolves the sessions of an election to nodes. Each reading of the locks returns their
 * process ids; names and terms are queried only when these have changed.
 */
final class Peers {

	private static final Log logger = LogFactory.getLog(Peers.class);

	/**
	 * For how long names are not queried after a failure, since the server logs each
	 * failure.
	 */
	private static final long PAUSE = TimeUnit.SECONDS.toNanos(10);

	private static final int MOST_METADATA_READS = 10;

	private final AdvisoryLockSql sql;

	private final Platform platform;

	private final SessionNames names;

	private final int termEpoch;

	private final ForeignSessions foreignSessions;

	private List<Integer> knownPids = List.of();

	private int knownLeader;

	/** A session may lead again, in another term. */
	private long knownTerm;

	private View known = View.NONE;

	private int leader;

	/** The leader, if its database role is another one than that of this node. */
	private @Nullable ForeignHolder otherRole;

	private @Nullable Predecessor observedLeader;

	/** Whether the leader publishes metadata that could not be read so far. */
	private boolean metadataMissing;

	private int metadataReads;

	private @Nullable Predecessor predecessor;

	/** When {@link #predecessor} was observed first. */
	private long predecessorSince;

	/** When names may be queried again, after a failure. */
	private @Nullable Long pausedUntil;

	private boolean denied;

	Peers(AdvisoryLockSql sql, SessionNames names, int termEpoch, Platform platform) {
		this.platform = platform;
		this.sql = sql;
		this.foreignSessions = new ForeignSessions(sql, platform);
		this.names = names;
		this.termEpoch = termEpoch;
	}

	/**
	 * Return the candidates besides this session, which holds the lock.
	 * @param connection the session that runs the query
	 * @param nodes the nodes of the same observation
	 */
	View view(Connection connection, Nodes nodes) throws SQLException {
		return view(connection, 0, 0, List.of(), nodes);
	}

	/**
	 * Return the leader and the candidates.
	 * @param connection the session that runs the query
	 * @param holder the process id of the session that holds the lock, or 0
	 * @param term the second half of the key of the latest term, or 0
	 * @param others the process ids of sessions that hold other locks
	 * @param nodes the nodes of the same observation
	 */
	View view(Connection connection, int holder, long term, List<Integer> others, Nodes nodes) throws SQLException {
		List<Integer> holders = new ArrayList<>(others);
		if (holder != 0) {
			holders.add(0, holder);
		}
		Set<Integer> foreign = this.foreignSessions.observe(holders, nodes);
		boolean held = foreign.contains(holder);
		this.leader = (nodes.contains(holder) || (!held && holder == this.leader)) ? holder : 0;
		View view = view(connection, term, nodes.candidates());
		Integer first = holders.stream().filter(foreign::contains).findFirst().orElse(null);
		String words = (first != null) ? this.foreignSessions.describe(connection, first) : null;
		this.known = new View(held ? null : view.leader(), view.candidates(),
				(words != null) ? new ForeignHolder(words, held ? Kind.BLOCKING : Kind.OTHER) : this.otherRole);
		return this.known;
	}

	private View view(Connection connection, long term, List<Integer> candidates) throws SQLException {
		List<Integer> pids = new ArrayList<>(candidates);
		pids.add(0, this.leader);
		boolean sameLeader = this.leader == this.knownLeader && term == this.knownTerm;
		if (sameLeader && pids.equals(this.knownPids)) {
			return this.known;
		}
		View view = isPaused() ? null : describe(connection, this.leader, candidates);
		if (view == null) {
			this.knownPids = List.of();
			return (sameLeader && !this.denied) ? this.known : View.NONE;
		}
		// A winner may be observed before it has published its term
		boolean complete = (this.leader == 0 || (view.leader() != null && view.leader().term() != null))
				&& !isMetadataAwaited() && view.candidates().size() == candidates.size();
		this.knownPids = complete ? pids : List.of();
		this.knownLeader = this.leader;
		this.knownTerm = term;
		return view;
	}

	private boolean isPaused() {
		return this.denied || (this.pausedUntil != null && this.platform.nanoTime() - this.pausedUntil < 0);
	}

	/**
	 * Another message than one of the election, or none yet, may have been the last one
	 * of the leader. Its metadata may also be hidden from this role.
	 */
	private boolean isMetadataAwaited() {
		return this.metadataMissing && this.metadataReads < MOST_METADATA_READS;
	}

	/**
	 * Return the last result of {@link #view}.
	 */
	View known() {
		return this.known;
	}

	/**
	 * Return the term of the leader if nothing else is to be determined.
	 */
	@Nullable Term settledTerm() {
		Holder known = this.known.leader();
		return (known != null && isSettled()) ? known.term() : null;
	}

	/**
	 * Return whether nothing else is to be determined until the term or the nodes change.
	 */
	boolean isSettled() {
		return this.known.foreign() == this.otherRole && !isUndecided();
	}

	/**
	 * Return the leader, unless its term was observed first a short time ago: until then,
	 * the leader before it may live without knowing that its term has ended.
	 * @param time that time
	 */
	@Nullable Predecessor predecessor(Duration time) {
		return (this.platform.nanoTime() - this.predecessorSince >= time.toNanos()) ? this.predecessor : null;
	}

	/**
	 * Return whether the next observation may show more than the last one, although
	 * nothing has changed.
	 */
	boolean isUndecided() {
		boolean unknown = this.leader == 0 || this.knownPids.isEmpty();
		return this.foreignSessions.isUndecided() || (unknown && !isPaused() && this.known.foreign() == this.otherRole);
	}

	private @Nullable View describe(Connection connection, int holder, List<Integer> candidatePids)
			throws SQLException {
		try {
			return lookUp(connection, holder, candidatePids);
		}
		catch (SQLException ex) {
			Jdbc.throwIfInterrupted(connection, ex);
			// The names are informational: a failure must not prevent this node from
			// leading
			this.denied = Jdbc.isDenied(ex);
			this.pausedUntil = this.platform.nanoTime() + PAUSE;
			logger.warn("Could not determine the leader and the candidates: " + Jdbc.summary(ex));
			return null;
		}
	}

	private View lookUp(Connection connection, int holder, List<Integer> candidatePids) throws SQLException {
		TreeSet<Integer> pids = new TreeSet<>(candidatePids);
		pids.add(holder);
		Map<Integer, Holder> sessions = new HashMap<>();
		try (Statement statement = connection.createStatement();
				ResultSet rows = statement.executeQuery(this.sql.comment() + this.sql.describe(pids))) {
			this.otherRole = null;
			this.metadataMissing = false;
			while (rows.next()) {
				int pid = rows.getInt("pid");
				String name = rows.getString("application_name");
				String role = rows.getString("role");
				if (pid == holder && !this.sql.login().equals(role)) {
					this.otherRole = new ForeignHolder(Jdbc.describeSession(rows), Kind.LEADER);
				}
				int profile = (int) rows.getLong("profile");
				Map<String, String> metadata = Map.of();
				if (pid == holder && rows.getObject("term") != null) {
					metadata = SessionComment.values(rows.getString("query"));
					leads(new Predecessor(pid, rows.getInt("term")), profile, metadata);
				}
				sessions.put(pid, new Holder(this.names.nodeOf(name), name, term(rows), since(rows),
						Profiles.of(profile, metadata), role));
			}
		}
		List<Candidate> candidates = candidatePids.stream()
			.map(sessions::get)
			.filter((session) -> session != null)
			.map((session) -> new Candidate(session.nodeId(), session.session(), session.profile()))
			.toList();
		return new View(sessions.get(holder), candidates, null);
	}

	private void leads(Predecessor observed, int profile, Map<String, String> metadata) {
		boolean first = !observed.equals(this.observedLeader);
		this.observedLeader = observed;
		this.metadataMissing = Profiles.hasMetadata(profile) && metadata.isEmpty();
		this.metadataReads = first ? 0 : this.metadataReads + 1;
		if (Profiles.isFast(profile) && !observed.equals(this.predecessor)) {
			this.predecessor = observed;
			this.predecessorSince = this.platform.nanoTime();
		}
	}

	private @Nullable Term term(ResultSet row) throws SQLException {
		long object = row.getLong("term");
		if (row.wasNull()) {
			return null;
		}
		long notice = row.getLong("notice");
		if (row.wasNull()) {
			return null;
		}
		long timeline = notice & ((1 << ElectionKeys.TIMELINE_BITS) - 1);
		return new Term(this.termEpoch, timeline,
				ElectionKeys.transactionId(timeline, object, notice >>> ElectionKeys.TIMELINE_BITS));
	}

	private static @Nullable Instant since(ResultSet row) throws SQLException {
		long seconds = row.getLong("since");
		return row.wasNull() ? null : Instant.ofEpochSecond(ElectionKeys.NOTICE_EPOCH + seconds);
	}

}
