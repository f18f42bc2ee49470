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

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Future;

import io.leaderelection.annotation.InvalidUsageException;
import io.leaderelection.annotation.LeaderOnly;
import io.leaderelection.autoconfigure.LeaderElectionAutoConfiguration;
import io.leaderelection.autoconfigure.schedule.DurableScheduleAutoConfiguration;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import reactor.core.publisher.Mono;

import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.autoconfigure.aop.AopAutoConfiguration;
import org.springframework.boot.autoconfigure.context.PropertyPlaceholderAutoConfiguration;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.core.NestedExceptionUtils;
import org.springframework.scheduling.annotation.Scheduled;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

/**
 * Tests for uses of {@link DurableSchedule} that prevent the start.
 */
@Tag("ring1")
class DurableScheduleRejectionTests {

	private final ApplicationContextRunner contextRunner = new ApplicationContextRunner()
		.withConfiguration(
				AutoConfigurations.of(LeaderElectionAutoConfiguration.class, DurableScheduleAutoConfiguration.class,
						AopAutoConfiguration.class, PropertyPlaceholderAutoConfiguration.class))
		.withPropertyValues("spring.application.name=test", "leader-election.mode=always");

	@ParameterizedTest
	@CsvSource(delimiter = ';', textBlock = """
			NoCron; is not scheduled by cron expressions only; Use @DurableSchedule(cron
			OnInterface; is not scheduled by cron expressions only; Use @DurableSchedule(cron
			TwoElections; names its election, although @LeaderOnly does; Remove one
			Attempts; attempts = 0; at least 1
			NotScheduled; is not scheduled by cron expressions only; or @Scheduled(cron
			FixedRate; is not scheduled by cron expressions only; or @Scheduled(cron
			FixedDelay; is not scheduled by cron expressions only; or @Scheduled(cron
			CronAndDelay; is not scheduled by cron expressions only; or @Scheduled(cron
			Parameters; has parameters; FireTime.current()
			RunOnGrant; also runs on every grant; Remove runOnGrant
			Primitive; returns int; Return void
			Publisher; returns reactor.core.publisher.Mono; claim = BEFORE
			Stage; returns java.util.concurrent.CompletableFuture; claim = BEFORE
			Result; returns java.lang.Object; claim = BEFORE
			PlainFuture; returns java.util.concurrent.Future; CompletableFuture
			Limit; limit = 0; at least 1
			Within; which is not a positive duration; PT6H
			NoDuration; which is not a positive duration; PT6H
			Placeholder; cannot be resolved; Set the property
			Cron; a cron expression that is not valid; Correct the attribute
			Never; 0 0 0 30 2 *', which never fires; Correct the attribute
			Zone; a cron expression that is not valid; Correct the attribute
			""")
	void applicationDoesNotStart(String name, String description, String action) throws Exception {
		Class<?> type = Class.forName(getClass().getName() + "$" + name);
		assertRejected(this.contextRunner.withBean(type), type, description, action);
	}

	static void assertRejected(ApplicationContextRunner runner, Class<?> type, String description, String action) {
		runner.run((context) -> {
			assertThat(context).hasFailed();
			assertThat(NestedExceptionUtils.getMostSpecificCause(context.getStartupFailure()))
				.isInstanceOfSatisfying(InvalidUsageException.class, (ex) -> {
					assertThat(ex.getDescription()).startsWith("Method '" + type.getName() + ".run(")
						.contains(description);
					assertThat(ex.getAction()).contains(action);
				});
		});
	}

	@Test
	void twoJobsOfOneName() {
		this.contextRunner.withBean(Named.class)
			.withBean(AlsoNamed.class)
			.run((context) -> assertThat(NestedExceptionUtils.getMostSpecificCause(context.getStartupFailure()))
				.isInstanceOf(InvalidUsageException.class)
				.hasMessageContaining("the durable schedule 'report'")
				.hasMessageContaining("$Named.run()'")
				.hasMessageContaining("$AlsoNamed.run()'"));
	}

	@Test
	void twoBeansOfOneClass() {
		this.contextRunner.withBean("a", Named.class)
			.withBean("b", Named.class)
			.run((context) -> assertThat(NestedExceptionUtils.getMostSpecificCause(context.getStartupFailure()))
				.isInstanceOf(InvalidUsageException.class)
				.hasMessageContaining("another bean of its class"));
	}

	@Test
	void sameNameInAnotherElection() {
		this.contextRunner.withPropertyValues("leader-election.elections.reports.candidate=true")
			.withBean(Named.class)
			.withBean(NamedInReports.class)
			.run((context) -> assertThat(context).hasNotFailed());
	}

	@Test
	void firesThatCannotBeRecorded() throws Exception {
		DurableSchedules schedules = new DurableSchedules(null, null);
		DurableJob job = schedules.find(Named.class.getDeclaredMethod("run"), Named.class, "Method 'run'");
		assertThatExceptionOfType(InvalidUsageException.class).isThrownBy(() -> schedules.register(job, "default"))
			.withMessageContaining("spring-boot-starter-jdbc");
	}

	@Test
	void publisherIsAcceptedOutsideTheTransaction() {
		this.contextRunner.withBean(PublisherBefore.class).run((context) -> assertThat(context).hasNotFailed());
	}

	@Test
	void ageThatIsNotPositive() {
		this.contextRunner.withPropertyValues("leader-election.schedules.within=0s")
			.run((context) -> assertThat(NestedExceptionUtils.getMostSpecificCause(context.getStartupFailure()))
				.hasMessageContaining("leader-election.schedules.within")
				.hasMessageContaining("not positive"));
	}

	static class NoCron {

		@DurableSchedule
		void run() {
		}

	}

	interface Reports {

		@DurableSchedule(cron = "0 0 2 * * *")
		void run();

	}

	static class OnInterface implements Reports {

		@Override
		public void run() {
		}

	}

	static class TwoElections {

		@LeaderOnly
		@DurableSchedule(cron = "0 0 2 * * *", election = "reports")
		void run() {
		}

	}

	static class Attempts {

		@DurableSchedule(cron = "0 0 2 * * *", attempts = 0)
		void run() {
		}

	}

	static class NotScheduled {

		@LeaderOnly
		@DurableSchedule
		void run() {
		}

	}

	static class FixedRate {

		@LeaderOnly
		@DurableSchedule
		@Scheduled(fixedRate = 1000)
		void run() {
		}

	}

	static class FixedDelay {

		@LeaderOnly
		@DurableSchedule
		@Scheduled(fixedDelayString = "1s")
		void run() {
		}

	}

	static class CronAndDelay {

		@LeaderOnly
		@DurableSchedule
		@Scheduled(cron = "0 0 2 * * *")
		@Scheduled(fixedDelay = 1000)
		void run() {
		}

	}

	static class Parameters {

		@LeaderOnly
		@DurableSchedule
		@Scheduled(cron = "0 0 2 * * *")
		void run(String argument) {
		}

	}

	static class RunOnGrant {

		@LeaderOnly(runOnGrant = true)
		@DurableSchedule
		@Scheduled(cron = "0 0 2 * * *")
		void run() {
		}

	}

	static class Primitive {

		@LeaderOnly(policy = LeaderOnly.NotLeaderPolicy.REJECT)
		@DurableSchedule
		@Scheduled(cron = "0 0 2 * * *")
		int run() {
			return 0;
		}

	}

	static class Publisher {

		@LeaderOnly
		@DurableSchedule
		@Scheduled(cron = "0 0 2 * * *")
		Mono<Void> run() {
			return Mono.empty();
		}

	}

	static class PublisherBefore {

		@LeaderOnly
		@DurableSchedule(claim = Claim.BEFORE)
		@Scheduled(cron = "0 0 2 * * *")
		Mono<Void> run() {
			return Mono.empty();
		}

	}

	static class Stage {

		@LeaderOnly
		@DurableSchedule
		@Scheduled(cron = "0 0 2 * * *")
		CompletableFuture<Void> run() {
			return CompletableFuture.completedFuture(null);
		}

	}

	static class Result {

		@LeaderOnly
		@DurableSchedule
		@Scheduled(cron = "0 0 2 * * *")
		Object run() {
			return "";
		}

	}

	static class PlainFuture {

		@LeaderOnly
		@DurableSchedule(claim = Claim.AFTER)
		@Scheduled(cron = "0 0 2 * * *")
		Future<?> run() {
			return CompletableFuture.completedFuture(null);
		}

	}

	static class Limit {

		@LeaderOnly
		@DurableSchedule(misfire = MisfirePolicy.RUN_ALL, limit = 0)
		@Scheduled(cron = "0 0 2 * * *")
		void run() {
		}

	}

	static class Within {

		@LeaderOnly
		@DurableSchedule(within = "0s")
		@Scheduled(cron = "0 0 2 * * *")
		void run() {
		}

	}

	static class NoDuration {

		@LeaderOnly
		@DurableSchedule(within = "long")
		@Scheduled(cron = "0 0 2 * * *")
		void run() {
		}

	}

	static class Placeholder {

		@LeaderOnly
		@DurableSchedule(name = "${missing}")
		@Scheduled(cron = "0 0 2 * * *")
		void run() {
		}

	}

	static class Cron {

		@LeaderOnly
		@DurableSchedule
		@Scheduled(cron = "now and then")
		void run() {
		}

	}

	static class Never {

		@DurableSchedule(cron = "0 0 0 30 2 *")
		void run() {
		}

	}

	static class Zone {

		@LeaderOnly
		@DurableSchedule
		@Scheduled(cron = "0 0 2 * * *", zone = "Nowhere")
		void run() {
		}

	}

	static class Named {

		@LeaderOnly
		@DurableSchedule(name = "report")
		@Scheduled(cron = "0 0 2 * * *")
		void run() {
		}

	}

	static class AlsoNamed {

		@LeaderOnly
		@DurableSchedule(name = "${reports.name:report}")
		@Scheduled(cron = "0 0 2 * * *")
		void run() {
		}

	}

	static class NamedInReports {

		@LeaderOnly("reports")
		@DurableSchedule(name = "report")
		@Scheduled(cron = "0 0 2 * * *")
		void run() {
		}

	}

}
