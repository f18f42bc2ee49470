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

package io.leaderelection.schedule;

import java.time.Duration;
import java.time.Instant;
import java.time.LocalDateTime;
import java.time.ZoneId;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;

import io.leaderelection.schedule.DueFires.Misfire;
import io.leaderelection.schedule.FireTimes.Cron;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import org.springframework.scheduling.support.CronExpression;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for {@link FireTimes} and {@link DueFires}.
 */
@Tag("ring1")
class FireTimesTests {

	private static final ZoneId BERLIN = ZoneId.of("Europe/Berlin");

	private static final Misfire ONCE = new Misfire(MisfirePolicy.RUN_ONCE, null, 100);

	private static final Misfire ALL = new Misfire(MisfirePolicy.RUN_ALL, null, 100);

	private static final Misfire ON_TIME = new Misfire(MisfirePolicy.ON_TIME, Duration.ofMinutes(1), 100);

	private static final FireTimes NIGHTLY = times(ZoneOffset.UTC, "0 0 2 * * *");

	private static final FireTimes EVERY_SECOND = times(ZoneOffset.UTC, "* * * * * *");

	private static FireTimes times(ZoneId zone, String... crons) {
		return new FireTimes(Stream.of(crons).map((cron) -> new Cron(CronExpression.parse(cron), zone)).toList());
	}

	private static Instant utc(String time) {
		return LocalDateTime.parse(time).toInstant(ZoneOffset.UTC);
	}

	@Test
	void nothingIsDueBeforeTheNextFire() {
		DueFires due = DueFires.of(NIGHTLY, ONCE, utc("2026-05-01T02:00"), utc("2026-05-02T01:59"));
		assertThat(due.fire()).isNull();
		assertThat(due.lastFire()).isEqualTo(utc("2026-05-01T02:00"));
		assertThat(due.missed()).isZero();
	}

	@Test
	void fireIsDueFromItsTimeOnAndOnlyOnce() {
		Instant fire = utc("2026-05-02T02:00");
		assertThat(DueFires.of(NIGHTLY, ONCE, utc("2026-05-01T02:00"), fire).fire()).isEqualTo(fire);
		assertThat(DueFires.of(NIGHTLY, ONCE, fire, fire.plusSeconds(1)).fire()).isNull();
	}

	@Test
	void runOnceStandsForAllThatWereMissed() {
		DueFires due = DueFires.of(NIGHTLY, ONCE, utc("2026-05-01T02:00"), utc("2026-05-05T10:00"));
		assertThat(due).isEqualTo(new DueFires(utc("2026-05-05T02:00"), utc("2026-05-05T02:00"), 3, false));
	}

	@Test
	void runAllTakesOneAfterTheOther() {
		Instant now = utc("2026-05-05T10:00");
		Instant last = utc("2026-05-01T02:00");
		List<Instant> fires = new ArrayList<>();
		for (DueFires due = DueFires.of(NIGHTLY, ALL, last, now); due.fire() != null; due = DueFires.of(NIGHTLY, ALL,
				due.lastFire(), now)) {
			assertThat(due.missed()).isZero();
			fires.add(due.fire());
			assertThat(due.more()).isEqualTo(fires.size() < 4);
		}
		assertThat(fires).containsExactly(utc("2026-05-02T02:00"), utc("2026-05-03T02:00"), utc("2026-05-04T02:00"),
				utc("2026-05-05T02:00"));
	}

	@Test
	void runAllDropsWhatExceedsTheLimit() {
		Misfire two = new Misfire(MisfirePolicy.RUN_ALL, null, 2);
		assertThat(DueFires.of(NIGHTLY, two, utc("2026-05-01T02:00"), utc("2026-05-05T10:00")))
			.isEqualTo(new DueFires(utc("2026-05-04T02:00"), utc("2026-05-04T02:00"), 2, true));
	}

	/**
	 * There, Spring's expression yields the given time itself, and an earlier one.
	 */
	@Test
	void nextFireIsLaterWhereSpringYieldsAnEarlierOne() {
		FireTimes lordHowe = times(ZoneId.of("Australia/Lord_Howe"), "0 0 1 * * *");
		assertThat(lordHowe.next(utc("2026-04-04T14:00:00"))).isEqualTo(utc("2026-04-05T14:30:00"));
		assertThat(DueFires.of(lordHowe, ONCE, utc("2026-04-02T14:00:00"), utc("2026-04-04T15:00:05")).fire())
			.isEqualTo(utc("2026-04-04T14:00:00"));
		FireTimes chatham = times(ZoneId.of("Pacific/Chatham"), "0 0 * * * *");
		assertThat(DueFires.of(chatham, ONCE, utc("2026-04-04T12:15:00"), utc("2026-04-04T13:02:30")).fire()).isNull();
	}

	@Test
	void onTimeRunsAFireOfTheLastMinuteAndDropsOthers() {
		assertThat(DueFires.of(NIGHTLY, ON_TIME, utc("2026-05-01T02:00"), utc("2026-05-03T02:00:59")))
			.isEqualTo(new DueFires(utc("2026-05-03T02:00"), utc("2026-05-03T02:00"), 1, false));
		assertThat(DueFires.of(NIGHTLY, ON_TIME, utc("2026-05-01T02:00"), utc("2026-05-03T02:01:01")))
			.isEqualTo(new DueFires(null, utc("2026-05-03T02:00"), 2, false));
	}

	@Test
	void olderFiresAreDropped() {
		Misfire sixHours = new Misfire(MisfirePolicy.RUN_ONCE, Duration.ofHours(6), 1);
		assertThat(DueFires.of(NIGHTLY, sixHours, utc("2026-05-01T02:00"), utc("2026-05-03T08:00")).fire())
			.isEqualTo(utc("2026-05-03T02:00"));
		assertThat(DueFires.of(NIGHTLY, sixHours, utc("2026-05-01T02:00"), utc("2026-05-03T08:00:01")))
			.isEqualTo(new DueFires(null, utc("2026-05-03T02:00"), 2, false));
	}

	/**
	 * The scheduler measures delays with another clock.
	 */
	@ParameterizedTest
	@ValueSource(strings = { "0 0 2 * * *", "* * * * * *", "58,59,0 * * * * *" })
	void fireIsNotDueBeforeItsTime(String cron) {
		FireTimes times = times(ZoneOffset.UTC, cron);
		Instant fire = utc("2026-05-02T02:00");
		Instant before = fire.minusSeconds(1);
		assertThat(DueFires.of(times, ONCE, before, fire.minusNanos(1)).fire()).isNull();
		assertThat(DueFires.of(times, ONCE, before, fire).fire()).isEqualTo(fire);
	}

	@Test
	void requestedFireIsOneMore() {
		Instant requested = utc("2026-05-02T12:00");
		FireTimes times = new FireTimes(NIGHTLY.crons(), requested);
		assertThat(times.newest(utc("2026-05-01T12:00"), utc("2026-05-03T12:00"), 10))
			.containsExactly(utc("2026-05-02T02:00"), requested, utc("2026-05-03T02:00"));
		assertThat(DueFires.of(times, ON_TIME, utc("2026-05-01T02:00"), requested))
			.isEqualTo(new DueFires(requested, requested, 1, false));
		assertThat(times.expression()).isEqualTo(NIGHTLY.expression());
	}

	@Test
	void clockThatIsBehindFindsNothingDueThatWasClaimedByAClockAhead() {
		Instant claimed = utc("2026-05-02T02:00:02");
		for (int behind = 0; behind < 20; behind++) {
			assertThat(DueFires.of(EVERY_SECOND, ALL, claimed, claimed.minusMillis(behind * 100)).fire()).isNull();
		}
		assertThat(DueFires.of(EVERY_SECOND, ALL, claimed, claimed.plusSeconds(1)).fire())
			.isEqualTo(claimed.plusSeconds(1));
	}

	@Test
	void severalExpressionsAreOneSequence() {
		FireTimes times = times(ZoneOffset.UTC, "0 0 2 * * *", "0 0 14 * * SAT", "0 0 2 1 * *");
		assertThat(times.newest(utc("2026-04-30T12:00"), utc("2026-05-03T12:00"), 10)).containsExactly(
				utc("2026-05-01T02:00"), utc("2026-05-02T02:00"), utc("2026-05-02T14:00"), utc("2026-05-03T02:00"));
		assertThat(times.expression()).isEqualTo("0 0 2 * * * | 0 0 14 * * SAT | 0 0 2 1 * *");
	}

	@Test
	void disabledJobIsNeverDue() {
		FireTimes none = new FireTimes(List.of());
		assertThat(none.expression()).isEqualTo("-");
		assertThat(DueFires.of(none, ALL, Instant.EPOCH, utc("2026-05-03T12:00")).fire()).isNull();
	}

	@Test
	@Timeout(20)
	void periodWithoutALeaderMayBeLong() {
		Instant now = utc("2026-05-02T02:00");
		DueFires due = DueFires.of(EVERY_SECOND, ONCE, now.minus(Duration.ofDays(3650)), now);
		assertThat(due.fire()).isEqualTo(now);
		assertThat(due.missed()).isEqualTo(FireTimes.LONGEST_COUNT);
		FireTimes leapDay = times(ZoneOffset.UTC, "0 0 0 29 2 *");
		assertThat(DueFires.of(leapDay, ONCE, Instant.EPOCH, now))
			.isEqualTo(new DueFires(utc("2024-02-29T00:00"), utc("2024-02-29T00:00"), 13, false));
	}

	/**
	 * Spring skips a time that does not exist, and fires twice at one that exists twice.
	 */
	@Test
	void changesOfDaylightSavingTimeAreThoseOfSpring() {
		FireTimes times = times(BERLIN, "0 30 2 * * *");
		assertThat(times.newest(utc("2026-03-28T00:00"), utc("2026-03-30T12:00"), 10))
			.containsExactly(utc("2026-03-28T01:30"), utc("2026-03-30T00:30"));
		assertThat(times.newest(utc("2026-10-24T12:00"), utc("2026-10-26T12:00"), 10))
			.containsExactly(utc("2026-10-25T00:30"), utc("2026-10-25T01:30"), utc("2026-10-26T01:30"));
	}

	/**
	 * Two nodes claim alternately, each some time after the fire, whose clocks are two
	 * seconds apart.
	 */
	@ParameterizedTest
	@Timeout(60)
	@ValueSource(strings = { "0 30 2 * * *", "0 0 * * * *", "0 */15 * * * *", "0 0 9-17 * * MON-FRI" })
	void yearOfFires(String cron) {
		FireTimes times = times(BERLIN, cron);
		Instant begin = utc("2026-01-01T00:00");
		Instant end = utc("2027-01-01T00:00");
		List<Instant> expected = new ArrayList<>();
		for (Instant fire = times.next(begin); fire.isBefore(end); fire = times.next(fire)) {
			expected.add(fire);
		}
		List<Instant> claimed = new ArrayList<>();
		Instant last = begin;
		for (Instant fire : expected) {
			for (int skew : new int[] { -2000, 2, 2000 }) {
				DueFires due = DueFires.of(times, ONCE, last, fire.plusMillis(skew));
				if (due.fire() != null) {
					assertThat(due.missed()).isZero();
					claimed.add(due.fire());
				}
				last = due.lastFire();
			}
		}
		assertThat(claimed).isEqualTo(expected);
	}

	@Test
	@Timeout(60)
	void fireTimesDoNotDependOnWhereTheSearchBegins() {
		FireTimes times = times(BERLIN, "0 */20 1-3 * * *");
		List<Instant> all = times.newest(utc("2026-10-20T00:00"), utc("2026-10-30T00:00"), 1000);
		for (Instant start = utc("2026-10-24T22:00"); start
			.isBefore(utc("2026-10-25T04:00")); start = start.plusSeconds(61)) {
			Instant from = start;
			assertThat(times.next(start))
				.isEqualTo(all.stream().filter((fire) -> fire.isAfter(from)).findFirst().orElseThrow());
		}
	}

}
