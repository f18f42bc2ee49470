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
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.UUID;
import java.util.concurrent.TimeUnit;

import io.leaderelection.engine.StoreSession.Candidate;
import io.leaderelection.postgresql.table.LeaseTableSql.Part;
import org.jspecify.annotations.Nullable;

/**
 * The candidates of the elections of a node: how its own session takes part in them, and
 * who else does. Confined to the thread of the node, but for the list.
 */
final class LeaseTableCandidates {

	/** How often the list is read. */
	private static final long INTERVAL = TimeUnit.MILLISECONDS.toNanos(2500);

	/** After this time without a beat, a session that owns nothing has ended. */
	private static final long IDLE_EXPIRY = TimeUnit.SECONDS.toNanos(30);

	/** After this time without a beat, a candidate may have ended. */
	private static final long ALIVE = TimeUnit.SECONDS.toNanos(5);

	private volatile Listed listed;

	/** How the own session is registered. */
	private Map<String, Part> registered = Map.of();

	/** When to read the list again. */
	private long due;

	private Map<UUID, Idle> idle = Map.of();

	LeaseTableCandidates(long now) {
		this.due = now;
		this.listed = new Listed(now, Map.of(), Set.of());
	}

	/**
	 * Return the list. May be called by any thread.
	 */
	Listed listed() {
		return this.listed;
	}

	/**
	 * Return whether to read the list now. It is not due again for some time then, even
	 * if that fails: the next renewal must not be slower than necessary.
	 */
	boolean areDue(long now) {
		boolean read = now - this.due >= 0;
		this.due = read ? now + INTERVAL : this.due;
		return read;
	}

	/**
	 * The own session has ended.
	 */
	void forget() {
		this.registered = Map.of();
	}

	/**
	 * Note the candidates that a round has read.
	 * @param beats the beats of the candidates of elections, or {@code null} if it has
	 * read none
	 */
	void list(@Nullable Map<String, Map<Candidate, Long>> beats, LeaseRound round) {
		if (beats == null) {
			return;
		}
		this.due = round.started() + INTERVAL;
		Map<String, List<Candidate>> read = new HashMap<>();
		Map<UUID, Idle> present = new HashMap<>();
		beats.forEach((election, candidates) -> {
			read.put(election, List.copyOf(candidates.keySet()));
			candidates.forEach((candidate, beat) -> {
				UUID token = UUID.fromString(candidate.session());
				Idle known = this.idle.get(token);
				present.put(token, (known != null && known.beat() == beat) ? known : new Idle(beat, round.reply()));
			});
		});
		Set<String> alive = new HashSet<>();
		present.forEach((token, session) -> {
			if (round.reply() - session.first() < ALIVE) {
				alive.add(token.toString());
			}
		});
		this.listed = new Listed(round.started(), read, alive);
		this.idle = present;
		this.registered.forEach((election, part) -> {
			if (part.candidate() && this.listed.of(election)
				.stream()
				.noneMatch((candidate) -> candidate.session().equals(round.token().toString()))) {
				// Lost in a crash or a promotion
				this.registered = Map.of();
			}
		});
	}

	/**
	 * Register how the own session takes part in elections, if that has changed, and read
	 * the list then.
	 * @param elections the sessions of elections by their keys
	 */
	void register(LeaseTableConnection open, Map<String, LeaseTableSession> elections, LeaseRound round)
			throws SQLException {
		Map<String, Part> parts = new TreeMap<>();
		elections.forEach((key, session) -> {
			Part part = session.part();
			if (part != null) {
				parts.put(key, part);
			}
		});
		if (!parts.equals(this.registered)) {
			Map<String, Part> changed = new TreeMap<>(parts);
			changed.entrySet().removeAll(this.registered.entrySet());
			open.register(round.token(), parts.keySet(), changed);
			this.registered = parts;
			elections.forEach((key, session) -> session.registered(parts.get(key)));
			list(open.round(round.token(), 0, false, elections.keySet(), true).candidates(), round);
		}
	}

	/**
	 * Delete the rows of candidates that have expired and own nothing.
	 */
	void expire(LeaseTableConnection open, LeaseRound round) throws SQLException {
		Map<UUID, Long> expired = new TreeMap<>();
		this.idle.forEach((token, session) -> {
			if (round.reply() - session.first() >= IDLE_EXPIRY) {
				expired.put(token, session.beat());
			}
		});
		if (!expired.isEmpty()) {
			// Those that remain are observed anew
			this.idle.keySet().removeAll(expired.keySet());
			open.leave(expired);
		}
	}

	/**
	 * A candidate that may own nothing.
	 *
	 * @param beat its beat
	 * @param first when this beat was first observed
	 */
	private record Idle(long beat, long first) {
	}

	/**
	 * The candidates of all elections.
	 *
	 * @param read when the list was read
	 * @param candidates the candidates by the key of the election
	 * @param alive the sessions of those whose beat has changed shortly before
	 */
	record Listed(long read, Map<String, List<Candidate>> candidates, Set<String> alive) {

		List<Candidate> of(String election) {
			return this.candidates.getOrDefault(election, List.of());
		}

	}

}
