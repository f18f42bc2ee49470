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

import java.util.Objects;
import java.util.concurrent.TimeUnit;

import org.jspecify.annotations.Nullable;

/**
 * What a node knows about the lease of one election: its row as last read, and from when
 * on this node may take over. A lease has expired when this node has observed for its
 * length, on its own monotonic clock, that the row has not changed. The time is counted
 * from the answer that first showed the row, which is later than the start of the renewal
 * that wrote it, from which the holder counts. No two clocks are compared.
 */
final class LeaseExpiry {

	private final long ownLeaseMillis;

	private @Nullable LeaseRow row;

	private @Nullable String formerToken;

	private boolean waits;

	private long freeAt;

	/**
	 * Create a new {@code LeaseExpiry} instance.
	 * @param ownLeaseMillis the length of the lease of this node, as that of a holder
	 * whose takeover was lost is not known
	 */
	LeaseExpiry(long ownLeaseMillis) {
		this.ownLeaseMillis = ownLeaseMillis;
	}

	/**
	 * Record an answer.
	 * @param observed the row, or {@code null} if there is none
	 * @param reply when the answer was read
	 */
	void observe(@Nullable LeaseRow observed, long reply) {
		LeaseRow known = this.row;
		if (observed == null || !Objects.equals(observed.token(), this.formerToken)) {
			// A promotion may bring the former lease of this node back, while a later
			// holder trusts its own
			this.formerToken = null;
		}
		if (observed == null) {
			if (known != null && known.isHeld()) {
				// The holder may not know yet that the row was deleted
				waitFor(known, known, reply);
			}
		}
		else if (known == null || !observed.isSame(known)) {
			boolean wentBack = known != null && !observed.isSince(known);
			if (observed.isHeld() || observed.isOutdated() || wentBack) {
				// A free row, too, if a later takeover may have been lost
				waitFor(observed, known, reply);
			}
			else if (known != null && known.isHeld()) {
				this.waits = false;
			}
		}
		this.row = observed;
	}

	private void waitFor(LeaseRow observed, @Nullable LeaseRow known, long reply) {
		long leaseMillis = Math.max(observed.leaseMillis(), (known != null) ? known.leaseMillis() : 0);
		if (!observed.isHeld()) {
			leaseMillis = Math.max(leaseMillis, this.ownLeaseMillis);
		}
		this.waits = true;
		this.freeAt = reply + TimeUnit.MILLISECONDS.toNanos(leaseMillis);
	}

	/**
	 * Note that a session of this node has ended: nobody trusts its lease any longer,
	 * unless the server is promoted.
	 */
	void forget(String token) {
		LeaseRow known = this.row;
		if (known == null || !known.isHeld() || token.equals(known.token())) {
			this.formerToken = token;
		}
	}

	@Nullable LeaseRow row() {
		return this.row;
	}

	/**
	 * Return the time until this node may take over, in nanoseconds, not positive if it
	 * may do so now, or {@code null} if there is no row.
	 */
	@Nullable Long remaining(long now) {
		LeaseRow known = this.row;
		if (known == null) {
			return null;
		}
		boolean own = known.isHeld() && !known.isOutdated() && Objects.equals(known.token(), this.formerToken);
		return (this.waits && !own) ? this.freeAt - now : 0L;
	}

}
