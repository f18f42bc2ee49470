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
import java.util.stream.Stream;

import io.leaderelection.annotation.GeneratedJob;
import io.leaderelection.annotation.InvalidUsageException;
import io.leaderelection.annotation.LeaderOnly.NotLeaderPolicy;
import io.leaderelection.autoconfigure.LeaderElectionAutoConfiguration;
import io.leaderelection.autoconfigure.schedule.DurableScheduleAutoConfiguration;
import net.bytebuddy.description.annotation.AnnotationDescription;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
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

	private final Class<?> named = new GeneratedJob().with(nightly().define("name", "report"));

	static Stream<Arguments> applicationDoesNotStart() {
		return Stream.of(notCron(job(durable()), "Use @DurableSchedule(cron"),
				notCron(new GeneratedJob().overriding(Reports.class, "run").with(), "Use @DurableSchedule(cron"),
				notCron(job(GeneratedJob.leaderOnly(), durable()), "or @Scheduled(cron"),
				notCron(job(durable(), scheduled().define("fixedRate", 1000L)), "or @Scheduled(cron"),
				notCron(job(durable(), scheduled().define("fixedDelayString", "1s")), "or @Scheduled(cron"),
				notCron(job(nightly(), scheduled().define("fixedDelay", 1000L)), "or @Scheduled(cron"),
				rejected(job(GeneratedJob.leaderOnly(), nightly().define("election", "reports")),
						"names its election, although @LeaderOnly does", "Remove one"),
				rejected(nightly().define("attempts", 0), "attempts = 0", "at least 1"),
				rejected(new GeneratedJob().taking(String.class).with(nightly()), "has parameters",
						"FireTime.current()"),
				rejected(job(GeneratedJob.leaderOnly().define("runOnGrant", true), nightly()),
						"also runs on every grant", "Remove runOnGrant"),
				rejected(
						new GeneratedJob().returning(int.class)
							.with(GeneratedJob.leaderOnly().define("policy", NotLeaderPolicy.REJECT), nightly()),
						"returns int", "Return void"),
				rejectedResult(Mono.class, nightly(), "claim = BEFORE"),
				rejectedResult(CompletableFuture.class, nightly(), "claim = BEFORE"),
				rejectedResult(Object.class, nightly(), "claim = BEFORE"),
				rejectedResult(Future.class, nightly().define("claim", Claim.AFTER), "CompletableFuture"),
				rejected(nightly().define("misfire", MisfirePolicy.RUN_ALL).define("limit", 0), "limit = 0",
						"at least 1"),
				rejected(nightly().define("within", "0s"), "which is not a positive duration", "PT6H"),
				rejected(nightly().define("within", "long"), "which is not a positive duration", "PT6H"),
				rejected(nightly().define("name", "${missing}"), "cannot be resolved", "Set the property"),
				rejected(durable().define("cron", "now and then"), "a cron expression that is not valid",
						"Correct the attribute"),
				rejected(durable().define("cron", "0 0 0 30 2 *"), "0 0 0 30 2 *', which never fires",
						"Correct the attribute"),
				rejected(nightly().define("zone", "Nowhere"), "a cron expression that is not valid",
						"Correct the attribute"));
	}

	@ParameterizedTest
	@MethodSource
	void applicationDoesNotStart(Class<?> type, String description, String action) {
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
		Class<?> also = new GeneratedJob().with(nightly().define("name", "${reports.name:report}"));
		this.contextRunner.withBean(this.named)
			.withBean(also)
			.run((context) -> assertThat(NestedExceptionUtils.getMostSpecificCause(context.getStartupFailure()))
				.isInstanceOf(InvalidUsageException.class)
				.hasMessageContaining("the durable schedule 'report'")
				.hasMessageContaining(this.named.getName() + ".run()'")
				.hasMessageContaining(also.getName() + ".run()'"));
	}

	@Test
	void twoBeansOfOneClass() {
		this.contextRunner.withBean("a", this.named)
			.withBean("b", this.named)
			.run((context) -> assertThat(NestedExceptionUtils.getMostSpecificCause(context.getStartupFailure()))
				.isInstanceOf(InvalidUsageException.class)
				.hasMessageContaining("another bean of its class"));
	}

	@Test
	void sameNameInAnotherElection() {
		this.contextRunner.withPropertyValues("leader-election.elections.reports.candidate=true")
			.withBean(this.named)
			.withBean(job(GeneratedJob.leaderOnly().define("value", "reports"), nightly().define("name", "report")))
			.run((context) -> assertThat(context).hasNotFailed());
	}

	@Test
	void firesThatCannotBeRecorded() throws Exception {
		DurableSchedules schedules = new DurableSchedules(null, null);
		DurableJob job = schedules.find(this.named.getDeclaredMethod("run"), this.named, "Method 'run'");
		assertThatExceptionOfType(InvalidUsageException.class).isThrownBy(() -> schedules.register(job, "default"))
			.withMessageContaining("spring-boot-starter-jdbc");
	}

	@Test
	void publisherIsAcceptedOutsideTheTransaction() {
		this.contextRunner
			.withBean(new GeneratedJob().returning(Mono.class).with(nightly().define("claim", Claim.BEFORE)))
			.run((context) -> assertThat(context).hasNotFailed());
	}

	@Test
	void ageThatIsNotPositive() {
		this.contextRunner.withPropertyValues("leader-election.schedules.within=0s")
			.run((context) -> assertThat(NestedExceptionUtils.getMostSpecificCause(context.getStartupFailure()))
				.hasMessageContaining("leader-election.schedules.within")
				.hasMessageContaining("not positive"));
	}

	static AnnotationDescription.Builder nightly() {
		return durable().define("cron", "0 0 2 * * *");
	}

	private static AnnotationDescription.Builder durable() {
		return GeneratedJob.annotation(DurableSchedule.class);
	}

	private static AnnotationDescription.Builder scheduled() {
		return GeneratedJob.annotation(Scheduled.class);
	}

	private static Class<?> job(AnnotationDescription.Builder first, AnnotationDescription.Builder... others) {
		return new GeneratedJob().with(first, others);
	}

	private static Arguments notCron(Class<?> type, String action) {
		return rejected(type, "is not scheduled by cron expressions only", action);
	}

	private static Arguments rejectedResult(Class<?> result, AnnotationDescription.Builder annotation, String action) {
		return rejected(new GeneratedJob().returning(result).with(annotation), "returns " + result.getName(), action);
	}

	private static Arguments rejected(AnnotationDescription.Builder annotation, String description, String action) {
		return rejected(job(annotation), description, action);
	}

	private static Arguments rejected(Class<?> type, String description, String action) {
		return Arguments.of(type, description, action);
	}

	public interface Reports {

		@DurableSchedule(cron = "0 0 2 * * *")
		void run();

	}

}
