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

package io.leaderelection.demo;

import java.time.Duration;
import java.time.Instant;

import org.jspecify.annotations.Nullable;

/**
 * A term of a node, by what that node reports. Used under the lock of {@link Terms}, but
 * for what is final.
 */
final class ObservedTerm {

	final String term;

	final String node;

	final long pid;

	final Instant from;

	private @Nullable Instant to;

	private @Nullable Instant noticed;

	private @Nullable String reason;

	/** The last time at which the node reported that it leads. */
	private Instant lastReported;

	private Instant trustedUntil;

	/** Whether the end is that of the node's own trust, not when it noticed. */
	private boolean settled;

	private boolean lost;

	ObservedTerm(String term, String node, long pid, Instant from) {
		this.term = term;
		this.node = node;
		this.pid = pid;
		this.from = from;
		this.lastReported = from;
		this.trustedUntil = from;
	}

	void reported(NodeObservation observation) {
		this.lastReported = observation.asked();
		this.trustedUntil = observation.trustedUntil();
	}

	/**
	 * Record that the node has noticed that it no longer leads.
	 */
	void revoked(Instant noticed, String reason) {
		if (this.noticed == null) {
			this.noticed = noticed;
			this.to = noticed;
			this.reason = reason;
		}
	}

	/**
	 * Record until when the node considered itself the leader.
	 */
	void settle(Instant end) {
		if (this.to == null || end.isBefore(this.to)) {
			this.to = end;
		}
		this.settled = true;
	}

	/**
	 * Record that the process has ended. If it ran after its trust had expired, it was
	 * thawed, and until when it considered itself the leader can no longer be determined.
	 */
	void ended(Instant lastRan, boolean frozen, @Nullable ObservedTerm next) {
		this.lost = lastRan.isAfter(this.trustedUntil) || (next != null && lastRan.isAfter(next.from));
		if (this.lost) {
			this.reason = "process ended before it could report";
			this.to = this.trustedUntil;
		}
		else {
			this.reason = frozen ? "killed while frozen" : "process ended";
			settle(lastRan);
		}
	}

	/**
	 * Whether it is no longer known whether its node leads: by its last report, its trust
	 * has expired.
	 */
	boolean isSilent(Instant now) {
		return this.trustedUntil.isBefore(now);
	}

	boolean hasReportedSince(Instant time) {
		return this.lastReported.isAfter(time);
	}

	boolean isOver() {
		return this.to != null;
	}

	/**
	 * Whether all is known that can be known of its end.
	 */
	boolean isClosed() {
		return this.settled || this.lost;
	}

	@Nullable Instant noticed() {
		return this.noticed;
	}

	/**
	 * For how long it was between two instants.
	 */
	Duration within(Instant begin, Instant end) {
		Instant first = this.from.isAfter(begin) ? this.from : begin;
		Instant last = (this.to != null && this.to.isBefore(end)) ? this.to : end;
		return last.isAfter(first) ? Duration.between(first, last) : Duration.ZERO;
	}

	/**
	 * For how long this node and the next one led at once: a lower bound until the end is
	 * known, {@code null} while nothing is known.
	 */
	@Nullable Duration overlap(ObservedTerm next) {
		Instant end = (this.settled && this.to != null) ? this.to : this.lastReported;
		if (end.isAfter(next.from)) {
			return Duration.between(next.from, end);
		}
		return this.settled ? Duration.ZERO : null;
	}

	/**
	 * What the page shows of it.
	 * @param next the next one, if there is one
	 */
	DemoState.Span span(@Nullable ObservedTerm next, Instant now) {
		boolean overlaps = next != null && this.lastReported.isAfter(next.from);
		boolean silent = (next != null) ? !overlaps : isSilent(now);
		boolean provisional = !this.settled && (this.to != null || silent) && !(this.lost && overlaps);
		Instant to = provisional ? this.trustedUntil : (this.lost && overlaps) ? this.lastReported : this.to;
		return new DemoState.Span(this.term, this.node, this.from.toEpochMilli(), millis(to, next), this.reason,
				provisional);
	}

	// Rounded up where an overlap would disappear
	private static @Nullable Long millis(@Nullable Instant to, @Nullable ObservedTerm next) {
		if (to == null) {
			return null;
		}
		return (next != null && to.isAfter(next.from)) ? to.plusNanos(999_999).toEpochMilli() : to.toEpochMilli();
	}

}
