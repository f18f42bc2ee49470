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

import java.time.DayOfWeek;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDateTime;
import java.time.ZoneId;
import java.time.ZoneOffset;
import java.time.zone.ZoneOffsetTransition;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.Predicate;
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

	private static final Map<String, Predicate<LocalDateTime>> MATCHING = Map.ofEntries(
			Map.entry("0 0 0 * * *", (time) -> time.getHour() == 0 && time.getMinute() == 0),
			Map.entry("0 30 0 * * *", (time) -> time.getHour() == 0 && time.getMinute() == 30),
			Map.entry("0 0 1 * * *", (time) -> time.getHour() == 1 && time.getMinute() == 0),
			Map.entry("0 0 2 * * *", (time) -> time.getHour() == 2 && time.getMinute() == 0),
			Map.entry("0 30 2 * * *", (time) -> time.getHour() == 2 && time.getMinute() == 30),
			Map.entry("0 0 12 * * *", (time) -> time.getHour() == 12 && time.getMinute() == 0),
			Map.entry("0 45 23 * * *", (time) -> time.getHour() == 23 && time.getMinute() == 45),
			Map.entry("0 0 * * * *", (time) -> time.getMinute() == 0), Map.entry("0 */15 * * * *", (time) -> true),
			Map.entry("0 0 */2 * * *", (time) -> time.getHour() % 2 == 0 && time.getMinute() == 0),
			Map.entry("0 */30 0-3 * * *", (time) -> time.getHour() <= 3 && time.getMinute() % 30 == 0),
			Map.entry("0 15 0 * * SUN",
					(time) -> time.getDayOfWeek() == DayOfWeek.SUNDAY && time.getHour() == 0 && time.getMinute() == 15),
			Map.entry("0 0 9-17 * * MON-FRI",
					(time) -> time.getDayOfWeek().getValue() <= 5 && time.getHour() >= 9 && time.getHour() <= 17
							&& time.getMinute() == 0),
			Map.entry("0 0 0 1 * *",
					(time) -> time.getDayOfMonth() == 1 && time.getHour() == 0 && time.getMinute() == 0));

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
	 * Wherever the search begins: Spring skips a day, or yields the given time itself or
	 * an earlier one.
	 */
	@ParameterizedTest
	@Timeout(60)
	@ValueSource(strings = { "Africa/Cairo", "Africa/Casablanca", "America/Havana", "America/Santiago",
			"America/Sao_Paulo", "Asia/Beirut", "Asia/Tehran", "Atlantic/Azores", "Australia/Lord_Howe",
			"Europe/Berlin", "Pacific/Apia", "Pacific/Chatham" })
	void firesAreTheTimesWhoseLocalTimeMatches(ZoneId zone) {
		Duration step = Duration.ofMinutes(15);
		for (ZoneOffsetTransition change = zone.getRules().nextTransition(utc("2010-01-01T00:00")); change != null
				&& change.getInstant()
					.isBefore(utc("2027-01-01T00:00")); change = zone.getRules().nextTransition(change.getInstant())) {
			Instant begin = change.getInstant().minus(Duration.ofHours(26));
			Instant end = change.getInstant().plus(Duration.ofHours(50));
			MATCHING.forEach((cron, matching) -> {
				FireTimes times = times(zone, cron);
				Instant expected = null;
				for (Instant time = end; time.isAfter(begin); time = time.minus(step)) {
					Instant next = times.next(time);
					if ((expected != null) ? !expected.equals(next) : next == null || !next.isAfter(end)) {
						assertThat(next).as("%s after %s", cron, time.atZone(zone)).isEqualTo(expected);
					}
					expected = matching.test(LocalDateTime.ofInstant(time, zone)) ? time : expected;
				}
			});
		}
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
		assertThat(times.zone()).isEqualTo("Z | Z | Z");
	}

	@Test
	void disabledJobIsNeverDue() {
		FireTimes none = new FireTimes(List.of());
		assertThat(none.expression()).isEqualTo("-");
		assertThat(none.zone()).isEqualTo("-");
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

}
