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

import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.TimeUnit;

import io.leaderelection.postgresql.table.LeaseRow.Session;
import org.jspecify.annotations.Nullable;

/**
 * From when on a node may end the sessions of others, and take over their elections. A
 * session has expired when this node has observed for the length of its lease, on its own
 * monotonic clock, that its beat has not changed. The time counts from the answer that
 * first showed the beat, which is later than the start of the round that wrote it, from
 * which its node counts. No two clocks are compared. Thread-safe.
 */
final class LeaseExpiry {

	private final long ownLease;

	private final Map<UUID, Sight> sights = new HashMap<>();

	/** Sessions whose rows this node has deleted. */
	private final Set<UUID> ended = new HashSet<>();

	/** As last read. */
	private final Map<String, LeaseRow> rows = new HashMap<>();

	private long timeline;

	/** The answer that first showed the timeline of the server. */
	private long since;

	private long longestLease;

	private boolean begun;

	/**
	 * Create a new {@code LeaseExpiry} instance.
	 * @param leaseMillis the length of the lease of this node, as that of an owner whose
	 * takeover was lost is not known
	 */
	LeaseExpiry(long leaseMillis) {
		this.ownLease = nanos(leaseMillis);
		this.longestLease = this.ownLease;
	}

	/**
	 * Record a round. A new timeline, a beat or a term that goes back, or a row that
	 * returns restarts all observations: what was written since may have been lost. What
	 * was observed of a session is kept until another owner of its elections has been
	 * read.
	 * @param read the elections that it has read
	 * @return whether the observations were restarted, which ends the session of this
	 * node
	 */
	synchronized boolean observe(LeaseRound round, Set<String> read) {
		boolean restart = this.begun && (round.timeline() != this.timeline || wentBack(round));
		if (!this.begun || restart) {
			this.begun = true;
			this.timeline = round.timeline();
			this.since = round.reply();
			this.rows.clear();
			this.sights.clear();
			this.ended.clear();
		}
		round.rows().values().forEach((row) -> {
			if (row.owner() != null) {
				observe(row.owner(), row.session(), round.reply());
			}
		});
		this.rows.keySet().removeAll(read);
		this.rows.putAll(round.rows());
		this.sights.keySet().retainAll(this.rows.values().stream().map(LeaseRow::owner).toList());
		return restart;
	}

	private boolean wentBack(LeaseRound round) {
		return round.rows().values().stream().anyMatch((row) -> {
			LeaseRow known = this.rows.get(row.election());
			UUID owner = row.owner();
			Session session = row.session();
			Sight sight = (owner != null) ? this.sights.get(owner) : null;
			return (known != null && !row.isSince(known)) || (owner != null && session != null
					&& (this.ended.contains(owner) || (sight != null && (sight.gone || session.beat() < sight.beat))));
		});
	}

	private void observe(UUID owner, @Nullable Session session, long reply) {
		Sight known = this.sights.get(owner);
		if (session != null) {
			long lease = nanos(session.leaseMillis());
			this.longestLease = Math.max(this.longestLease, lease);
			if (known == null || known.beat != session.beat()) {
				this.sights.put(owner, new Sight(session.beat(), reply, lease, false));
			}
		}
		else if (known == null) {
			// Deleted by another node, or by hand: its node may not know it yet
			this.sights.put(owner, new Sight(0, reply, this.ownLease, true));
		}
		else if (!known.gone) {
			// From now on, since its beat may have been raised before the row was deleted
			this.sights.put(owner, new Sight(known.beat, reply, known.lease, true));
		}
	}

	/**
	 * Note that this node has deleted the row of a session.
	 */
	synchronized void deleted(UUID token) {
		this.ended.add(token);
	}

	/**
	 * Return the time until this node may take an election over, in nanoseconds, not
	 * positive if it may do so now. If its owner has a row then, that is to be deleted
	 * before.
	 */
	synchronized long remaining(LeaseRow row, long now) {
		long left = (row.clean() && row.session() == null) ? 0 : remaining(row.owner(), now);
		return row.isOutdated(this.timeline) ? Math.max(left, this.since + this.longestLease - now) : left;
	}

	/**
	 * The session of an owner may go on, and may lead other elections.
	 */
	private long remaining(@Nullable UUID owner, long now) {
		if (owner == null || this.ended.contains(owner)) {
			return 0;
		}
		Sight sight = this.sights.get(owner);
		return ((sight != null) ? sight.first + sight.lease : now + this.ownLease) - now;
	}

	private static long nanos(long millis) {
		return TimeUnit.MILLISECONDS.toNanos(millis);
	}

	/**
	 * What was observed of a session that owns an election.
	 *
	 * @param beat its beat
	 * @param first the answer that first showed this beat, or that the row is gone
	 * @param lease the length of its lease
	 * @param gone whether the row is gone
	 */
	private record Sight(long beat, long first, long lease, boolean gone) {
	}

}
