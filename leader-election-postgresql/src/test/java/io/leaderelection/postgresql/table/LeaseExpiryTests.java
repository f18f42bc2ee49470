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

import java.util.List;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import java.util.stream.Collectors;

import io.leaderelection.engine.NodeProfile;
import org.jspecify.annotations.Nullable;
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

	private static final UUID OWNER = UUID.randomUUID();

	private static final UUID OTHER = UUID.randomUUID();

	private final LeaseExpiry expiry = new LeaseExpiry(LEASE_MILLIS);

	@Test
	void newElectionIsFree() {
		assertThat(observe(START, 1, free(0, 0))).isFalse();
		assertRemaining(free(0, 0), START, 0);
	}

	@Test
	void newElectionOfAPromotedServerIsNotFreeAtOnce() {
		observe(START, 2, free(0, 0));
		assertRemaining(free(0, 0), START, LEASE);
		assertRemaining(free(0, 0), START + LEASE, 0);
	}

	@Test
	void ownerHasExpiredWhenItsBeatHasNotChangedForItsLease() {
		observe(START, 1, owned(7, OWNER, 1));
		observe(LATER, 1, owned(7, OWNER, 1));
		assertRemaining(owned(7, OWNER, 1), START + LEASE - 1, 1);
		assertRemaining(owned(7, OWNER, 1), START + LEASE, 0);
	}

	@Test
	void beatStartsTheTimeAgain() {
		observe(START, 1, owned(7, OWNER, 1));
		observe(LATER, 1, owned(7, OWNER, 2));
		assertRemaining(owned(7, OWNER, 2), LATER, LEASE);
	}

	@Test
	void lengthOfTheLeaseIsThatOfTheOwner() {
		observe(START, 1, owned(7, OWNER, 1, 3 * LEASE_MILLIS));
		assertRemaining(owned(7, OWNER, 1, 3 * LEASE_MILLIS), START, 3 * LEASE);
	}

	@Test
	void electionThatIsNotKnownIsNotFree() {
		observe(START, 1);
		assertRemaining(owned(7, OWNER, 1), START + 3 * LEASE, LEASE);
	}

	@Test
	void releasedElectionIsFreeAtOnce() {
		observe(START, 1, owned(7, OWNER, 1));
		observe(LATER, 1, free(7, 1));
		assertRemaining(free(7, 1), LATER, 0);
	}

	@Test
	void oneSessionHasOneTimeInAllElections() {
		observe(START, 1, owned(7, OWNER, 1));
		observe(LATER, 1, owned(7, OWNER, 1), named("second", owned(9, OWNER, 1)));
		assertRemaining(named("second", owned(9, OWNER, 1)), START + LEASE, 0);
	}

	/**
	 * The owner may have raised its beat just before its row was deleted.
	 */
	@Test
	void missingRowCountsFromTheAnswerThatFirstShowsItMissing() {
		observe(START, 1, owned(7, OWNER, 1, 2 * LEASE_MILLIS));
		observe(START + LEASE, 1, missing(7, OWNER));
		observe(START + 2 * LEASE, 1, missing(7, OWNER));
		assertRemaining(missing(7, OWNER), START + 2 * LEASE, LEASE);
		assertRemaining(missing(7, OWNER), START + 3 * LEASE, 0);
	}

	@Test
	void missingRowOfASessionThatAnotherNodeHasEndedAfterItsLeaseIsFree() {
		LeaseRow marked = new LeaseRow("first", 7, 1, OWNER, true, null, null, null, null);
		observe(START, 1, marked);
		assertRemaining(marked, START, 0);
	}

	@Test
	void missingRowThatWasNeverSeenCountsForTheOwnLease() {
		observe(START, 1, missing(7, OWNER));
		assertRemaining(missing(7, OWNER), START, LEASE);
	}

	@Test
	void deletedSessionHasEnded() {
		observe(START, 1, owned(7, OWNER, 1));
		this.expiry.deleted(OWNER);
		assertRemaining(missing(7, OWNER), START, 0);
	}

	@Test
	void rowThatReturnsRestartsAllObservations() {
		for (boolean deleted : new boolean[] { true, false }) {
			LeaseExpiry observer = new LeaseExpiry(LEASE_MILLIS);
			observe(observer, round(START, 1, owned(7, OWNER, 1)));
			if (deleted) {
				observer.deleted(OWNER);
			}
			else {
				observe(observer, round(START, 1, missing(7, OWNER)));
			}
			assertThat(observe(observer, round(LATER, 1, owned(7, OWNER, 1)))).isTrue();
			assertThat(observer.remaining(owned(7, OWNER, 1), LATER)).isEqualTo(LEASE);
		}
	}

	@Test
	void beatThatGoesBackRestartsAllObservations() {
		observe(START, 1, owned(7, OWNER, 2), named("second", owned(8, OTHER, 5)));
		assertThat(observe(LATER, 1, owned(7, OWNER, 1), named("second", owned(8, OTHER, 5)))).isTrue();
		assertRemaining(named("second", owned(8, OTHER, 5)), LATER, LEASE);
	}

	@Test
	void termThatGoesBackRestartsAllObservations() {
		observe(START, 1, owned(8, OWNER, 1), named("second", owned(9, OTHER, 1)));
		assertThat(observe(LATER, 1, owned(7, OTHER, 1), named("second", owned(9, OTHER, 1)))).isTrue();
		assertRemaining(named("second", owned(9, OTHER, 1)), LATER, LEASE);
	}

	@Test
	void termOfALaterTimelineDoesNotGoBack() {
		observe(START, 3, row(8, 2, OWNER, session(1, LEASE_MILLIS)));
		assertThat(observe(LATER, 3, row(7, 3, OWNER, session(1, LEASE_MILLIS)))).isFalse();
	}

	@Test
	void newTimelineRestartsAllObservations() {
		observe(START, 1, owned(7, OWNER, 1));
		assertThat(observe(LATER, 2, owned(7, OWNER, 1))).isTrue();
		assertRemaining(owned(7, OWNER, 1), LATER, LEASE);
	}

	@Test
	void freeElectionOfAnotherTimelineWaitsForTheLongestLeaseKnown() {
		observe(START, 1, owned(7, OWNER, 1, 3 * LEASE_MILLIS));
		observe(LATER, 2, free(6, 1));
		assertRemaining(free(6, 1), LATER, 3 * LEASE);
	}

	/**
	 * A session that goes on may lead other elections of the new primary.
	 */
	@Test
	void ownerThatGoesOnHasNotExpiredALeaseAfterAPromotion() {
		observe(START, 2, owned(7, OWNER, 1));
		observe(START + LEASE, 2, owned(7, OWNER, 2));
		assertRemaining(owned(7, OWNER, 2), START + LEASE, LEASE);
		assertRemaining(owned(7, OWNER, 2), START + 2 * LEASE, 0);
	}

	/**
	 * It is not known what followed on the former primary.
	 */
	@Test
	void deletedSessionsAreForgottenAfterAPromotion() {
		observe(START, 1, owned(7, OWNER, 1));
		this.expiry.deleted(OTHER);
		observe(LATER, 2, row(7, 2, OWNER, session(1, LEASE_MILLIS)),
				named("second", row(8, 2, OTHER, session(1, LEASE_MILLIS))));
		assertRemaining(row(7, 2, OWNER, session(1, LEASE_MILLIS)), LATER, LEASE);
		assertRemaining(row(8, 2, OTHER, session(1, LEASE_MILLIS)), LATER, LEASE);
	}

	/**
	 * The new primary may not have its last term.
	 */
	@Test
	void electionThatTheFirstRoundAfterAPromotionDoesNotReadIsForgotten() {
		LeaseRow second = named("second", owned(8, OTHER, 1));
		observe(START, 1, owned(7, OWNER, 1), second);
		assertThat(observe(LATER, 2, second)).isTrue();
		assertThat(observe(LATER + 1, 2, owned(6, OWNER, 1), second)).isFalse();
	}

	private void assertRemaining(LeaseRow row, long now, long expected) {
		assertThat(this.expiry.remaining(row, now)).isEqualTo(expected);
	}

	/**
	 * Its election has no session for a moment, whose connection has ended.
	 */
	@Test
	void roundThatDoesNotReadAnElectionForgetsNothing() {
		observe(START, 1, owned(7, OWNER, 1), named("second", owned(8, OTHER, 1)));
		observe(LATER, 1, named("second", owned(8, OTHER, 1)));
		observe(LATER + 1, 1, owned(7, OWNER, 1), named("second", owned(8, OTHER, 1)));
		assertRemaining(owned(7, OWNER, 1), START + LEASE, 0);
		assertThat(observe(LATER + 2, 1, named("second", owned(8, OTHER, 1)))).isFalse();
		assertThat(observe(LATER + 3, 1, owned(6, OWNER, 1), named("second", owned(8, OTHER, 1)))).isTrue();
	}

	private boolean observe(long reply, long timeline, LeaseRow... rows) {
		return observe(this.expiry, round(reply, timeline, rows));
	}

	private static boolean observe(LeaseExpiry observer, LeaseRound round) {
		return observer.observe(round, round.rows().keySet());
	}

	private static LeaseRound round(long reply, long timeline, LeaseRow... rows) {
		List<LeaseRow> read = List.of(rows);
		return new LeaseRound(UUID.randomUUID(), reply - 400, reply, true, timeline,
				read.stream().collect(Collectors.toMap(LeaseRow::election, Function.identity())));
	}

	private static LeaseRow free(long term, long timeline) {
		return row(term, timeline, null, null);
	}

	private static LeaseRow missing(long term, UUID owner) {
		return row(term, 1, owner, null);
	}

	private static LeaseRow owned(long term, UUID owner, long beat) {
		return owned(term, owner, beat, LEASE_MILLIS);
	}

	private static LeaseRow owned(long term, UUID owner, long beat, long leaseMillis) {
		return row(term, 1, owner, session(beat, leaseMillis));
	}

	private static LeaseRow.Session session(long beat, long leaseMillis) {
		return new LeaseRow.Session("node", beat, leaseMillis, NodeProfile.DEFAULT);
	}

	private static LeaseRow row(long term, long timeline, @Nullable UUID owner, LeaseRow.@Nullable Session session) {
		return new LeaseRow("first", term, timeline, owner, owner == null, null, session, null, null);
	}

	private static LeaseRow named(String election, LeaseRow row) {
		return new LeaseRow(election, row.term(), row.timeline(), row.owner(), row.clean(), row.since(), row.session(),
				row.request(), row.paused());
	}

}
