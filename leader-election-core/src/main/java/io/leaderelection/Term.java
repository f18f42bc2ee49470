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

package io.leaderelection;

/**
 * The number of one grant of leadership: a <em>fencing token</em>. The term of a grant is
 * strictly greater than the term of every earlier grant of the same election on the same
 * database cluster, even after a crash of the server or the promotion of a standby. Terms
 * of different elections say nothing about each other, and may be equal. In the cases in
 * which the server may assign earlier numbers again, an operator must raise the epoch.
 * <p>
 * Terms are compared by epoch, then timeline, then transaction id.
 *
 * @param epoch the value of {@code leader-election.term-epoch}. An operator must raise it
 * after {@code pg_upgrade}, point-in-time recovery or a move to another cluster, since
 * PostgreSQL may then assign earlier transaction ids again. It must also be raised after
 * the promotion of a standby that never followed the server promoted before, since that
 * standby may choose the same timeline. It must be raised on all nodes before any of them
 * starts, since terms decrease whenever a node with a lower epoch leads
 * @param timeline the timeline of the server, raised by every promotion (PostgreSQL
 * manual, chapter "Continuous Archiving and Point-in-Time Recovery", section
 * "Timelines"); 0 on a server that does not provide it, such as Aurora PostgreSQL without
 * logical replication
 * @param transactionId the full (64-bit) id of the transaction in which the lock was
 * acquired
 * @since 0.1.0
 */
public record Term(int epoch, long timeline, long transactionId) implements Comparable<Term> {

	private static final int TIMELINE_BITS = 11;

	private static final int TRANSACTION_ID_BITS = 48;

	private static final int MAX_EPOCH = (1 << 4) - 1;

	public Term {
		if (epoch < 0 || timeline < 0 || transactionId < 0) {
			throw new IllegalArgumentException("No part of a term may be negative");
		}
	}

	@Override
	public int compareTo(Term other) {
		int result = Integer.compare(this.epoch, other.epoch);
		result = (result != 0) ? result : Long.compare(this.timeline, other.timeline);
		return (result != 0) ? result : Long.compare(this.transactionId, other.transactionId);
	}

	/**
	 * Return this term as a single non-negative number with the same order: 4 bits for
	 * the epoch, 11 bits for the timeline, 48 bits for the transaction id. Can be used as
	 * a fencing token for systems that reject writes with a smaller token.
	 * @return the term as a number
	 * @throws ArithmeticException if a part does not fit in its bits
	 */
	public long toLong() {
		if (this.epoch > MAX_EPOCH || this.timeline >= (1L << TIMELINE_BITS)
				|| this.transactionId >= (1L << TRANSACTION_ID_BITS)) {
			throw new ArithmeticException("Term " + this + " does not fit in a long");
		}
		return ((((long) this.epoch << TIMELINE_BITS) | this.timeline) << TRANSACTION_ID_BITS) | this.transactionId;
	}

	/**
	 * Return the parts separated by colons, for instance {@code 0:1:7423}.
	 */
	@Override
	public String toString() {
		return this.epoch + ":" + this.timeline + ":" + this.transactionId;
	}

}
