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

package io.leaderelection.simulation.server;

import org.jspecify.annotations.Nullable;

/**
 * A version of a row of the table of leases.
 *
 * @param term the transaction id of the last takeover, 0 before the first one
 * @param timeline the timeline of the server at that time
 * @param beat changed by every renewal
 * @param leaseMillis the length of the lease of the holder
 * @param holder the node that holds the lease
 * @param token the token of its session, or {@code null} if nobody holds the lease
 * @param resignTerm the term that is asked to end, or 0
 */
public record TableRow(long term, long timeline, long beat, long leaseMillis, @Nullable String holder,
		@Nullable String token, long resignTerm) {

	/** A row as it is inserted. */
	public static final TableRow NEW = new TableRow(0, 0, 0, 0, null, null, 0);

	/**
	 * Return this row with another beat.
	 */
	public TableRow withBeat(long newBeat) {
		return new TableRow(this.term, this.timeline, newBeat, this.leaseMillis, this.holder, this.token,
				this.resignTerm);
	}

	/**
	 * Return this row with a request to end a term, or with none.
	 */
	public TableRow withResignTerm(long newResignTerm) {
		return new TableRow(this.term, this.timeline, this.beat, this.leaseMillis, this.holder, this.token,
				newResignTerm);
	}

	/**
	 * Return this row after a release.
	 * @param newHolder the node whose work may still be running, or {@code null}
	 */
	public TableRow freed(@Nullable String newHolder) {
		return new TableRow(this.term, this.timeline, this.beat + 1, this.leaseMillis, newHolder, null, 0);
	}

}
