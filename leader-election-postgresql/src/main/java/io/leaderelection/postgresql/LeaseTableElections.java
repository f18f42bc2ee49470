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

import java.time.Duration;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import java.util.function.Predicate;
import java.util.stream.Collectors;

import io.leaderelection.engine.NodeProfile;
import io.leaderelection.engine.Platform;
import io.leaderelection.engine.StoreSession.Candidate;
import org.jspecify.annotations.Nullable;

/**
 * The elections of a node in the lease table: its sessions, and what answers have shown
 * of their rows and candidates. Thread-safe.
 */
final class LeaseTableElections {

	/** How often another node learns of a new candidate, at most. */
	private static final long CANDIDATES_INTERVAL = TimeUnit.MILLISECONDS.toNanos(2500);

	/** After this time without being registered again, a candidate is removed. */
	static final Duration CANDIDATE_EXPIRY = Duration.ofSeconds(10);

	private final Platform platform;

	private final Set<LeaseTableSession> sessions = new LinkedHashSet<>();

	private final Map<String, LeaseExpiry> expiries = new HashMap<>();

	/** Identifies this node among the candidates. */
	private final UUID id = UUID.randomUUID();

	private Map<String, List<Candidate>> candidates = Map.of();

	private long candidatesKnownUntil;

	private boolean candidacyChanged = true;

	private long candidatesDue;

	LeaseTableElections(Platform platform) {
		this.platform = platform;
		this.candidatesKnownUntil = platform.nanoTime();
	}

	UUID id() {
		return this.id;
	}

	synchronized void add(LeaseTableSession session) {
		this.sessions.add(session);
		this.expiries.computeIfAbsent(session.key(), (key) -> new LeaseExpiry(session.leaseMillis()));
	}

	synchronized void remove(LeaseTableSession session) {
		if (this.sessions.remove(session)) {
			expiry(session.key()).forget(session.token().toString());
			candidacyChanged();
		}
	}

	synchronized boolean isEmpty() {
		return this.sessions.isEmpty();
	}

	synchronized List<LeaseTableSession> sessions(Predicate<LeaseTableSession> which) {
		return this.sessions.stream().filter(which).toList();
	}

	/**
	 * Return the keys of all elections.
	 */
	synchronized Set<String> all() {
		return this.sessions.stream().map(LeaseTableSession::key).collect(Collectors.toCollection(TreeSet::new));
	}

	/**
	 * Return the elections in which this node is a candidate, in the same order on all
	 * nodes, with its profile in each.
	 */
	synchronized Map<String, NodeProfile> own() {
		Map<String, NodeProfile> own = new TreeMap<>();
		this.sessions.stream()
			.filter(LeaseTableSession::isCandidate)
			.forEach((session) -> own.put(session.key(), session.profile()));
		return own;
	}

	private LeaseExpiry expiry(String election) {
		return Objects.requireNonNull(this.expiries.get(election));
	}

	/**
	 * Return an election as the last answer has shown it.
	 */
	Snapshot snapshot(LeaseTableSession session) {
		return snapshot(session, this.platform.nanoTime());
	}

	private synchronized Snapshot snapshot(LeaseTableSession session, long now) {
		LeaseExpiry expiry = expiry(session.key());
		return new Snapshot(expiry.row(), expiry.remaining(now),
				this.candidates.getOrDefault(session.key(), List.of()));
	}

	/**
	 * Record the rows of elections.
	 * @param reply when the answer was read
	 */
	synchronized void observe(Collection<String> elections, Map<String, LeaseRow> rows, long reply) {
		elections.forEach((election) -> expiry(election).observe(rows.get(election), reply));
	}

	/**
	 * Record the candidates.
	 * @param reply when the answer was read
	 */
	synchronized void observe(Map<String, List<Candidate>> found, long reply) {
		this.candidates = found;
		this.candidatesKnownUntil = reply + CANDIDATE_EXPIRY.toNanos();
	}

	/**
	 * Return whether this node is one of the first candidates besides the leader, by
	 * their priorities. Also returns {@code true} if this is not known: the list may be
	 * outdated since candidates could not be registered, or this node may be missing from
	 * it.
	 * @param standbys the number of the first candidates
	 */
	boolean isStandby(LeaseTableSession session, int standbys) {
		return isStandby(session, standbys, this.platform.nanoTime());
	}

	private synchronized boolean isStandby(LeaseTableSession session, int standbys, long now) {
		LeaseRow row = expiry(session.key()).row();
		String leader = (row != null && row.isHeld()) ? row.holder() : null;
		List<String> waiting = this.candidates.getOrDefault(session.key(), List.of())
			.stream()
			.filter((candidate) -> !candidate.nodeId().equals(leader))
			.sorted(Comparator.comparingInt((candidate) -> -candidate.profile().priority()))
			.map(Candidate::session)
			.toList();
		return !areCandidatesKnown(now) || waiting.indexOf(this.id.toString()) < standbys;
	}

	/**
	 * Return whether the candidates were read lately.
	 */
	boolean areCandidatesKnown() {
		return areCandidatesKnown(this.platform.nanoTime());
	}

	private synchronized boolean areCandidatesKnown(long now) {
		return this.candidatesKnownUntil - now > 0;
	}

	/**
	 * Register the candidates of this node with the next round.
	 */
	synchronized void candidacyChanged() {
		this.candidacyChanged = true;
	}

	/**
	 * Return whether to register the candidates of this node now.
	 */
	boolean areCandidatesDue() {
		return areCandidatesDue(this.platform.nanoTime());
	}

	private synchronized boolean areCandidatesDue(long now) {
		boolean due = this.candidacyChanged || this.candidatesDue - now <= 0;
		this.candidacyChanged = false;
		this.candidatesDue = due ? now + CANDIDATES_INTERVAL : this.candidatesDue;
		return due;
	}

	/**
	 * An election as the last answer has shown it.
	 *
	 * @param row its row, if there is one
	 * @param remaining the time until this node may take over, in nanoseconds, not
	 * positive if it may do so now, or {@code null} if there is no row
	 * @param candidates the candidates
	 */
	record Snapshot(@Nullable LeaseRow row, @Nullable Long remaining, List<Candidate> candidates) {

		boolean isFree() {
			return this.remaining != null && this.remaining <= 0;
		}

	}

}
