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

import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Timestamp;
import java.time.Instant;
import java.util.Objects;
import java.util.UUID;

import org.jspecify.annotations.Nullable;

/**
 * A row of the lease table.
 *
 * @param election the key of the election
 * @param term the transaction id of the last takeover, 0 before the first one
 * @param timeline the timeline of the last takeover
 * @param serverTimeline the timeline of the server now
 * @param beat changed by every renewal
 * @param leaseMillis the length of the lease of the holder
 * @param holder the id of the node that holds the lease, or that has freed it while its
 * work was still running, or {@code null}
 * @param token the token of its session, or {@code null}
 * @param since when it took over
 * @param resignTerm the term that is asked to end, or 0
 * @param renewed whether this node has just renewed it
 */
record LeaseRow(String election, long term, long timeline, long serverTimeline, long beat, long leaseMillis,
		@Nullable String holder, @Nullable String token, @Nullable Instant since, long resignTerm, boolean renewed) {

	static LeaseRow of(ResultSet row) throws SQLException {
		Timestamp since = row.getTimestamp("since");
		return new LeaseRow(row.getString("election"), row.getLong("term"), row.getLong("timeline"),
				row.getLong("server_timeline"), row.getLong("beat"), row.getLong("lease"), row.getString("holder"),
				row.getString("token"), (since != null) ? since.toInstant() : null, row.getLong("resign_term"),
				row.getBoolean("renewed"));
	}

	boolean isHeld() {
		return this.token != null;
	}

	/**
	 * Return whether a session holds the lease in a term.
	 */
	boolean isHeldBy(long holderTerm, UUID holderToken) {
		return this.term == holderTerm && holderToken.toString().equals(this.token);
	}

	/**
	 * Return whether the server has been promoted since the last takeover, or at any time
	 * if there was none: a promotion may have lost the first one.
	 */
	boolean isOutdated() {
		return (this.term != 0) ? this.timeline != this.serverTimeline : this.serverTimeline > 1;
	}

	/**
	 * Return whether nothing has been written between two observations. After a promotion
	 * of a standby this is not known: what was written may have been lost.
	 */
	boolean isSame(LeaseRow other) {
		return this.term == other.term && this.timeline == other.timeline && this.serverTimeline == other.serverTimeline
				&& this.beat == other.beat && Objects.equals(this.token, other.token);
	}

	/**
	 * Return whether this row is of a later takeover than another one, or of the same.
	 */
	boolean isSince(LeaseRow other) {
		return (this.timeline != other.timeline) ? this.timeline > other.timeline : this.term >= other.term;
	}

}
