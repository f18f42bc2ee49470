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

import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Timestamp;
import java.time.Instant;
import java.util.UUID;

import io.leaderelection.engine.NodeProfile;
import io.leaderelection.postgresql.Profiles;
import org.jspecify.annotations.Nullable;

/**
 * The row of an election, with that of the session that owns it.
 *
 * @param election the key of the election
 * @param term the transaction id of the last takeover, 0 before the first one
 * @param timeline the timeline of the last takeover
 * @param owner the token of the session that owns the election, or {@code null}
 * @param clean whether work of the last term had ended when it was released, or the
 * session of its owner was ended after its lease
 * @param since when it was taken over
 * @param session the row of the owner, or {@code null} if there is none
 * @param request who requests the end of the term, or {@code null}
 * @param paused until when nobody leads, and who has decided so, or {@code null}
 */
record LeaseRow(String election, long term, long timeline, @Nullable UUID owner, boolean clean, @Nullable Instant since,
		@Nullable Session session, @Nullable String request, @Nullable String paused) {

	static LeaseRow of(ResultSet row) throws SQLException {
		Timestamp since = row.getTimestamp("since");
		return new LeaseRow(row.getString("election"), row.getLong("term"), row.getLong("timeline"),
				row.getObject("owner", UUID.class), row.getBoolean("clean"), (since != null) ? since.toInstant() : null,
				(row.getString("node") != null) ? Session.of(row) : null, row.getString("request"),
				row.getString("paused"));
	}

	/**
	 * Return the row of an election that has none, as it is inserted.
	 */
	static LeaseRow missing(String election) {
		return new LeaseRow(election, 0, 0, null, true, null, null, null, null);
	}

	/**
	 * Return who requests the end of the term, also by a pause, or {@code null}.
	 */
	@Nullable String requester() {
		return (this.request != null) ? this.request : this.paused;
	}

	boolean isOwnedBy(UUID token) {
		return token.equals(this.owner);
	}

	/**
	 * Return whether the server has been promoted since the last takeover, or at any time
	 * if there was none: a promotion may have lost the first one.
	 */
	boolean isOutdated(long serverTimeline) {
		return (this.term != 0) ? this.timeline != serverTimeline : serverTimeline > 1;
	}

	/**
	 * Return whether this row is of a later takeover than another one, or of the same.
	 */
	boolean isSince(LeaseRow other) {
		return (this.timeline != other.timeline) ? this.timeline > other.timeline : this.term >= other.term;
	}

	/**
	 * The row of a session.
	 *
	 * @param node the id of the node
	 * @param beat raised by every renewal
	 * @param leaseMillis the length of its lease
	 * @param profile the profile of the node in this election
	 */
	record Session(String node, long beat, long leaseMillis, NodeProfile profile) {

		static Session of(ResultSet row) throws SQLException {
			return new Session(row.getString("node"), row.getLong("beat"), row.getLong("lease_ms"),
					Profiles.ofText(row.getString("profile")));
		}

	}

}
