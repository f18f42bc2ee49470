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

import java.time.Instant;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for {@link JobRecord}.
 */
@Tag("ring1")
class JobRecordTests {

	private static final Instant FIRE = Instant.parse("2026-05-02T02:00:00Z");

	private static JobRecord record(String cron, String zone) {
		return new JobRecord(FIRE, cron, zone, null);
	}

	@ParameterizedTest
	@CsvSource({ "0 0 2 * * *,UTC,0 0 2 * * *,Etc/UTC", "0 0 2 * * *,UTC,0 0 2 * * *,Z",
			"0 0 2 * * *,UTC,0 0 2 ? * *,UTC", "0 0 2 * * MON-FRI,UTC,0 0 2 * * 1-5,UTC", "@daily,UTC,0 0 0 * * *,UTC",
			"0 0 2 * * * | 0 0 4 * * SUN,UTC | Europe/Berlin,0 0 4 * * SUN | 0 0 2 * * *,Europe/Berlin | UTC",
			"0 0 2 * * * | 0 0 2 * * *,UTC | Etc/UTC,0 0 2 * * *,UTC", "-,-,-,-",
			"not known,Nowhere,not known,Nowhere" })
	void schedulesWithTheSameFiresAreEqual(String cron, String zone, String otherCron, String otherZone) {
		assertThat(record(cron, zone).hasSchedule(record(otherCron, otherZone))).isTrue();
		assertThat(record(otherCron, otherZone).hasSchedule(record(cron, zone))).isTrue();
	}

	@ParameterizedTest
	@CsvSource({ "0 0 2 * * *,UTC,0 0 3 * * *,UTC", "0 0 2 * * *,UTC,0 0 2 * * *,Europe/Berlin",
			"0 0 2 * * *,UTC,0 0 2 * * * | 0 0 4 * * *,UTC | UTC",
			"0 0 2 * * * | 0 0 4 * * *,UTC | Europe/Berlin,0 0 2 * * * | 0 0 4 * * *,Europe/Berlin | UTC",
			"0 0 2 * * *,UTC,-,-", "not known,UTC,0 0 2 * * *,UTC", "0 0 2 * * *,Nowhere,0 0 2 * * *,UTC",
			"0 0 2 * * * | 0 0 4 * * *,UTC,0 0 2 * * *,UTC" })
	void schedulesWithOtherFiresAreNot(String cron, String zone, String otherCron, String otherZone) {
		assertThat(record(cron, zone).hasSchedule(record(otherCron, otherZone))).isFalse();
		assertThat(record(otherCron, otherZone).hasSchedule(record(cron, zone))).isFalse();
	}

	@ParameterizedTest
	@CsvSource({ "2026-05-03T01:00:00Z,false", "2026-05-01T23:00:00Z,false", "2026-05-01T01:59:00Z,true" })
	void lastFireIsAheadIfTheNextFireIsBeforeIt(Instant now, boolean ahead) {
		JobRecord record = record("0 0 2 * * *", "UTC");
		assertThat(record.isAhead(record.times(), now)).isEqualTo(ahead);
	}

	@Test
	void disabledScheduleIsNotAhead() {
		JobRecord record = record("-", "-");
		assertThat(record.times().crons()).isEmpty();
		assertThat(record.isAhead(record.times(), FIRE.minusSeconds(3600))).isFalse();
	}

}
