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
 * @param barrier a part of a key
 * @param keyVersion changed by each update under {@link RowLock#UPDATE}, which counts as
 * one of the key whether or not its value changes
 * @param beat changed by every renewal
 * @param leaseMillis the length of the lease of the holder
 * @param holder the node that holds the lease
 * @param token the token of its session, or {@code null} if nobody holds the lease
 * @param resignTerm the term that is asked to end, or 0
 */
public record TableRow(long term, long timeline, long barrier, long keyVersion, long beat, long leaseMillis,
		@Nullable String holder, @Nullable String token, long resignTerm) {

	/** A row as it is inserted. */
	public static final TableRow NEW = new TableRow(0, 0, 0, 0, 0, 0, null, null, 0);

	/**
	 * Return this row after a takeover.
	 * @param newBarrier the barrier, which may be that of before
	 */
	public TableRow takenOver(long newTerm, long newTimeline, long newBarrier, long newLeaseMillis, String newHolder,
			String newToken) {
		return new TableRow(newTerm, newTimeline, newBarrier, this.keyVersion, 0, newLeaseMillis, newHolder, newToken,
				0);
	}

	/**
	 * Return this row with another beat.
	 */
	public TableRow withBeat(long newBeat) {
		return new TableRow(this.term, this.timeline, this.barrier, this.keyVersion, newBeat, this.leaseMillis,
				this.holder, this.token, this.resignTerm);
	}

	/**
	 * Return this row with another barrier.
	 */
	public TableRow withBarrier(long newBarrier) {
		return new TableRow(this.term, this.timeline, newBarrier, this.keyVersion, this.beat, this.leaseMillis,
				this.holder, this.token, this.resignTerm);
	}

	/**
	 * Return this row after an update of its key.
	 */
	TableRow withNextKey() {
		return new TableRow(this.term, this.timeline, this.barrier, this.keyVersion + 1, this.beat, this.leaseMillis,
				this.holder, this.token, this.resignTerm);
	}

	/**
	 * Return this row with a request to end a term, or with none.
	 */
	public TableRow withResignTerm(long newResignTerm) {
		return new TableRow(this.term, this.timeline, this.barrier, this.keyVersion, this.beat, this.leaseMillis,
				this.holder, this.token, newResignTerm);
	}

	/**
	 * Return this row after a release.
	 * @param newHolder the node whose work may still be running, or {@code null}
	 */
	public TableRow freed(@Nullable String newHolder) {
		return new TableRow(this.term, this.timeline, this.barrier, this.keyVersion, this.beat + 1, this.leaseMillis,
				newHolder, null, 0);
	}

}
