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

package io.leaderelection.test;

import java.time.Duration;
import java.time.Instant;

import io.leaderelection.annotation.LeaderOnly;
import io.leaderelection.autoconfigure.LeaderElectionAutoConfiguration;
import io.leaderelection.autoconfigure.schedule.DurableScheduleAutoConfiguration;
import io.leaderelection.schedule.DurableSchedule;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.scheduling.annotation.Scheduled;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

/**
 * Tests for {@link TestSchedules}.
 */
@Timeout(60)
@Tag("ring1")
class TestSchedulesTests {

	private static final Instant FIRE = Instant.parse("2026-05-02T02:00:00Z");

	private final ApplicationContextRunner contextRunner = new ApplicationContextRunner()
		.withConfiguration(AutoConfigurations.of(LeaderElectionAutoConfiguration.class,
				DurableScheduleAutoConfiguration.class, TestLeadershipAutoConfiguration.class))
		.withPropertyValues("leader-election.mode=always", "leader-election-test.role=follower")
		.withBean(Report.class);

	@Test
	void clockDeterminesWhatIsDue() {
		this.contextRunner.run((context) -> {
			TestSchedules schedules = context.getBean(TestSchedules.class);
			Report report = context.getBean(Report.class);
			schedules.startAt(FIRE.minusSeconds(3600));
			context.getBean(TestLeadership.class).grant();
			report.create();
			assertThat(schedules.getFires("report")).isEmpty();
			schedules.advance(Duration.ofHours(1));
			report.create();
			report.create();
			assertThat(schedules.getFires("report")).containsExactly(FIRE);
			schedules.setTime(FIRE.plus(Duration.ofDays(1)));
			report.create();
			assertThat(schedules.getFires("report")).containsExactly(FIRE, FIRE.plus(Duration.ofDays(1)));
		});
	}

	@Test
	void beginsAnewAlsoWhileThisNodeLeads() {
		this.contextRunner.withPropertyValues("leader-election-test.role=leader").run((context) -> {
			TestSchedules schedules = context.getBean(TestSchedules.class);
			Report report = context.getBean(Report.class);
			for (int year = 2030; year > 2020; year--) {
				Instant fire = Instant.parse(year + "-05-02T02:00:00Z");
				schedules.startAt(fire.minusSeconds(5));
				schedules.setTime(fire);
				report.create();
				assertThat(schedules.getFires("report")).containsExactly(fire);
			}
			schedules.reset();
			report.create();
			assertThat(schedules.getFires("report")).isEmpty();
		});
	}

	@Test
	void fireThatWasMissedIsCaughtUpAfterTheGrant() {
		this.contextRunner.run((context) -> {
			TestSchedules schedules = context.getBean(TestSchedules.class);
			TestLeadership leadership = context.getBean(TestLeadership.class);
			Report report = context.getBean(Report.class);
			schedules.startAt(FIRE.minusSeconds(5));
			leadership.grant();
			report.create();
			leadership.revoke();
			schedules.setTime(FIRE);
			report.create();
			assertThat(schedules.getFires("report")).isEmpty();
			schedules.advance(Duration.ofMinutes(10));
			leadership.grant();
			report.create();
			assertThat(schedules.getFires("report")).containsExactly(FIRE);
		});
	}

	@Test
	void clockHasAnEnd() {
		this.contextRunner.run((context) -> assertThatIllegalArgumentException()
			.isThrownBy(() -> context.getBean(TestSchedules.class).advance(Duration.ofSeconds(Long.MAX_VALUE)))
			.withMessageStartingWith("The clock cannot be advanced by PT"));
	}

	@Test
	void unknownJob() {
		this.contextRunner.run((context) -> assertThatIllegalArgumentException()
			.isThrownBy(() -> context.getBean(TestSchedules.class).getFires("other"))
			.withMessageContaining("'other'"));
	}

	static class Report {

		@LeaderOnly
		@DurableSchedule(name = "report")
		@Scheduled(cron = "0 0 2 * * *", zone = "UTC")
		void create() {
		}

	}

}
