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

import java.util.concurrent.TimeUnit;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for {@link LeaseExpiry}.
 */
@Tag("ring1")
class LeaseExpiryTests {

	private static final long LEASE_MILLIS = 1000;

	private static final long LEASE = TimeUnit.MILLISECONDS.toNanos(LEASE_MILLIS);

	/** The monotonic clock may overflow. */
	private static final long START = Long.MAX_VALUE - 10;

	private static final long LATER = START + 500;

	private final LeaseExpiry watch = new LeaseExpiry(LEASE_MILLIS);

	@Test
	void nothingIsKnownWithoutARow() {
		assertThat(this.watch.remaining(START)).isNull();
		this.watch.observe(null, START);
		assertThat(this.watch.remaining(START)).isNull();
	}

	@Test
	void newRowIsFree() {
		this.watch.observe(free(0, 0), START);
		assertThat(this.watch.remaining(START)).isZero();
	}

	@Test
	void newRowOfAPromotedServerIsNotFreeAtOnce() {
		this.watch.observe(row(0, 0, 0, 2, null), START);
		assertThat(this.watch.remaining(START)).isEqualTo(LEASE);
	}

	@Test
	void heldRowIsFreeWhenItHasNotChangedForALease() {
		this.watch.observe(held(7, 1), START);
		this.watch.observe(held(7, 1), LATER);
		assertThat(this.watch.remaining(START + LEASE - 1)).isOne();
		assertThat(this.watch.remaining(START + LEASE)).isZero();
	}

	@Test
	void renewalStartsTheTimeAgain() {
		this.watch.observe(held(7, 1), START);
		this.watch.observe(held(7, 2), LATER);
		assertThat(this.watch.remaining(LATER)).isEqualTo(LEASE);
	}

	@Test
	void beatOfAnotherTermIsAnother() {
		this.watch.observe(held(7, 1), START);
		this.watch.observe(held(8, 1), LATER);
		assertThat(this.watch.remaining(LATER)).isEqualTo(LEASE);
	}

	@Test
	void releasedRowIsFreeAtOnce() {
		this.watch.observe(held(7, 1), START);
		this.watch.observe(free(7, 2), LATER);
		assertThat(this.watch.remaining(LATER)).isZero();
	}

	@Test
	void releaseIsNoticedIfItsBeatIsThatOfALostRenewal() {
		this.watch.observe(held(7, 2), START);
		this.watch.observe(free(7, 2), LATER);
		assertThat(this.watch.remaining(LATER)).isZero();
	}

	@Test
	void releasedRowOfAPromotedServerIsNotFreeAtOnce() {
		LeaseRow outdated = row(7, 2, 1, 2, null);
		this.watch.observe(outdated, START);
		this.watch.observe(outdated, LATER);
		assertThat(this.watch.remaining(START)).isEqualTo(LEASE);
	}

	@Test
	void termThatWentBackIsNotFreeAtOnce() {
		this.watch.observe(held(8, 1), START);
		this.watch.observe(free(7, 2), LATER);
		assertThat(this.watch.remaining(LATER)).isEqualTo(LEASE);
	}

	@Test
	void newRowInPlaceOfAHeldOneIsNotFreeAtOnce() {
		this.watch.observe(held(8, 1), START);
		this.watch.observe(null, LATER);
		assertThat(this.watch.remaining(LATER)).isNull();
		this.watch.observe(free(0, 0), LATER + 100);
		assertThat(this.watch.remaining(LATER)).isEqualTo(LEASE);
	}

	@Test
	void ownFormerLeaseIsFreeAtOnce() {
		this.watch.observe(held(7, 1), START);
		this.watch.forget("token-7");
		assertThat(this.watch.remaining(START)).isZero();
		this.watch.observe(held(8, 0), LATER);
		assertThat(this.watch.remaining(LATER)).isEqualTo(LEASE);
	}

	@Test
	void unchangedRowOfAPromotedServerStartsTheTimeAgain() {
		this.watch.observe(row(7, 1, 1, 1, "token-7"), START);
		this.watch.observe(row(7, 1, 1, 2, "token-7"), LATER);
		assertThat(this.watch.remaining(LATER)).isEqualTo(LEASE);
	}

	@Test
	void ownFormerLeaseThatAPromotionBringsBackIsNotFreeAtOnce() {
		this.watch.observe(held(7, 1), START);
		this.watch.forget("token-7");
		this.watch.observe(row(7, 1, 1, 2, "token-7"), LATER);
		assertThat(this.watch.remaining(LATER)).isEqualTo(LEASE);
	}

	@Test
	void ownFormerLeaseIsForgottenOnceAnotherHolderWasSeen() {
		this.watch.observe(held(7, 1), START);
		this.watch.forget("token-7");
		this.watch.observe(held(8, 0), START);
		this.watch.observe(held(7, 1), LATER);
		assertThat(this.watch.remaining(LATER)).isEqualTo(LEASE);
	}

	@Test
	void ownFormerLeaseIsNotFreeAtOnceIfAnotherHolderWasSeenBeforeItsSessionEnded() {
		this.watch.observe(held(8, 0), START);
		this.watch.forget("token-7");
		this.watch.observe(held(7, 1), LATER);
		assertThat(this.watch.remaining(LATER)).isEqualTo(LEASE);
	}

	@Test
	void longerLeaseOfALostTakeoverCounts() {
		this.watch.observe(row(8, 1, 1, 1, "token-8", 3 * LEASE_MILLIS), START);
		this.watch.observe(row(7, 1, 1, 2, "token-7"), LATER);
		assertThat(this.watch.remaining(LATER)).isEqualTo(3 * LEASE);
		this.watch.observe(row(8, 1, 1, 2, "token-8", 3 * LEASE_MILLIS), LATER);
		this.watch.observe(row(7, 2, 1, 2, null), LATER);
		assertThat(this.watch.remaining(LATER)).isEqualTo(3 * LEASE);
	}

	private static LeaseRow held(long term, long beat) {
		return row(term, beat, 1, 1, "token-" + term);
	}

	private static LeaseRow free(long term, long beat) {
		return row(term, beat, (term != 0) ? 1 : 0, 1, null);
	}

	private static LeaseRow row(long term, long beat, long timeline, long serverTimeline, String token) {
		return row(term, beat, timeline, serverTimeline, token, (term != 0) ? LEASE_MILLIS : 0);
	}

	private static LeaseRow row(long term, long beat, long timeline, long serverTimeline, String token,
			long leaseMillis) {
		return new LeaseRow("test", term, timeline, serverTimeline, beat, leaseMillis, (token != null) ? "node" : null,
				token, null, 0, false);
	}

}
