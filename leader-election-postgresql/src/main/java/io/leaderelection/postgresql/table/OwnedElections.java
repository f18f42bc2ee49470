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
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.UUID;

import io.leaderelection.postgresql.ElectionKeys;
import io.leaderelection.postgresql.table.LeaseTableConnection.Takeover;
import org.jspecify.annotations.Nullable;

/**
 * The elections that the session of a node owns. A turn compares a round with what the
 * sessions of elections hold and want, and changes what differs: it frees what is owned
 * and not held, whether it was released, the reply of its takeover was lost, or its
 * election was aborted; it ends sessions that have expired; and it takes over what is
 * free and wanted. Confined to the thread of the node.
 */
final class OwnedElections {

	private final Duration lease;

	private final LeaseExpiry expiry;

	/**
	 * The elections whose takeover this session has sent, with the start of the first
	 * round that has shown them as owned and not held. What it owns besides, another node
	 * with its token has taken.
	 */
	private final Map<String, @Nullable Long> owned = new HashMap<>();

	private int searches;

	// Of a turn

	/** What is owned and not held, and whether the work of its term has ended. */
	private final Map<LeaseRow, Boolean> unheld = new LinkedHashMap<>();

	private List<String> freed = List.of();

	/** What is free and wanted. */
	private final Map<LeaseRow, LeaseTableSession> wanted = new LinkedHashMap<>();

	/** What could not be taken over. */
	private final List<LeaseTableSession> blocked = new ArrayList<>();

	OwnedElections(Duration lease, LeaseExpiry expiry) {
		this.lease = lease;
		this.expiry = expiry;
	}

	boolean isEmpty() {
		return this.owned.isEmpty();
	}

	/**
	 * Return these elections and others.
	 */
	Set<String> with(Collection<String> others) {
		Set<String> all = new TreeSet<>(this.owned.keySet());
		all.addAll(others);
		return all;
	}

	/**
	 * Compare a round with what the sessions of elections hold and want.
	 * @param sessions these by their keys
	 * @param acquiring those that want to take their elections over
	 * @return false if something could not be freed for a lease, or is owned that was not
	 * taken
	 */
	boolean compare(Map<String, LeaseTableSession> sessions, Set<LeaseTableSession> acquiring, LeaseRound round) {
		this.unheld.clear();
		this.freed = List.of();
		this.wanted.clear();
		this.blocked.clear();
		// Rows may have been deleted by hand
		this.owned.keySet().retainAll(round.rows().keySet());
		for (LeaseRow row : round.rows().values()) {
			LeaseTableSession session = sessions.get(row.election());
			if (!row.isOwnedBy(round.token())) {
				freed(row.election(), session);
			}
			else if (session != null && session.holds(row)) {
				this.owned.put(row.election(), null);
			}
			else if (!this.owned.containsKey(row.election()) || isOverdue(row.election(), round)) {
				return false;
			}
			else {
				this.unheld.put(row, session != null && session.hasEnded(row));
			}
		}
		sessions.forEach((election, session) -> {
			LeaseRow row = round.rowOrMissing(election);
			if (acquiring.contains(session) && session.takes(row, round)) {
				this.wanted.put(row, session);
			}
		});
		return true;
	}

	private boolean isOverdue(String election, LeaseRound round) {
		Long since = this.owned.computeIfAbsent(election, (key) -> round.started());
		return since != null && round.started() - since >= this.lease.toNanos();
	}

	private void freed(String election, @Nullable LeaseTableSession session) {
		this.owned.remove(election);
		if (session != null) {
			session.freed();
		}
	}

	/**
	 * Free what is owned and not held.
	 */
	void free(LeaseTableConnection open, Map<String, LeaseTableSession> sessions, LeaseRound round)
			throws SQLException {
		if (this.unheld.isEmpty()) {
			return;
		}
		this.freed = open.release(this.unheld, round.token());
		this.freed.forEach((election) -> freed(election, sessions.get(election)));
	}

	/**
	 * Tell other nodes what was freed. They find it in any case, but later.
	 */
	void announce(LeaseTableConnection open) throws SQLException {
		if (!this.freed.isEmpty()) {
			open.announce(this.freed);
		}
	}

	/**
	 * End the sessions that own what is wanted, and have expired.
	 */
	void expire(LeaseTableConnection open, LeaseRound round) throws SQLException {
		Map<UUID, Long> beats = new LinkedHashMap<>();
		this.wanted.keySet().forEach((row) -> {
			if (row.owner() != null && row.session() != null) {
				beats.put(row.owner(), row.session().beat());
			}
		});
		if (!beats.isEmpty()) {
			List<UUID> deleted = open.expire(beats, round.timeline());
			deleted.forEach(this.expiry::deleted);
			beats.keySet().removeAll(deleted);
			this.wanted.entrySet().removeIf((election) -> {
				boolean present = beats.containsKey(election.getKey().owner());
				return present && this.blocked.add(election.getValue());
			});
		}
	}

	/**
	 * Take over what is free and wanted.
	 * @param beat the new beat of the session of the node
	 * @return whether the beat was raised
	 */
	boolean take(LeaseTableConnection open, LeaseRound round, long beat) throws SQLException {
		if (this.wanted.isEmpty()) {
			return false;
		}
		List<String> missing = this.wanted.keySet()
			.stream()
			.map(LeaseRow::election)
			.filter((election) -> round.row(election) == null)
			.toList();
		if (!missing.isEmpty()) {
			open.insert(missing);
		}
		Map<LeaseRow, ElectionKeys> keys = new LinkedHashMap<>();
		this.wanted.forEach((row, session) -> {
			this.owned.put(row.election(), null);
			keys.put(row, session.keys());
		});
		Map<String, Takeover> takeovers = open.takeOver(keys, round, beat);
		this.wanted.forEach((row, session) -> {
			Takeover takeover = takeovers.getOrDefault(row.election(), Takeover.NONE);
			if (takeover.term() != 0) {
				session.won(row, takeover, round.token());
			}
			else {
				this.owned.remove(row.election());
				session.missed(takeover.otherStore());
				this.blocked.add(session);
			}
		});
		return takeovers.values().stream().anyMatch((takeover) -> takeover.term() != 0);
	}

	/**
	 * Search for nodes with the other store, after each takeover until there is none.
	 */
	void searchOthers(LeaseTableConnection open, Collection<LeaseTableSession> sessions) throws SQLException {
		List<LeaseTableSession> unsure = sessions.stream().filter(LeaseTableSession::mayHaveOthers).toList();
		if (!unsure.isEmpty()) {
			Map<String, ElectionKeys> keys = new LinkedHashMap<>();
			unsure.forEach((session) -> keys.put(session.key(), session.keys()));
			Map<String, Integer> found = open.otherStore(keys);
			unsure.forEach((session) -> session.searchedOthers(found.getOrDefault(session.key(), 0)));
		}
	}

	/**
	 * Search for what blocks takeovers: one of them in each turn, since there is no
	 * hurry.
	 */
	void searchLocker(LeaseTableConnection open) throws SQLException {
		this.blocked.removeIf((session) -> !session.isBlocked());
		if (!this.blocked.isEmpty()) {
			LeaseTableSession next = this.blocked.get(Math.floorMod(this.searches++, this.blocked.size()));
			next.blockedBy(open.locker(next.key(), this.lease));
		}
	}

}
