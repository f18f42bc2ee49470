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

import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.time.Clock;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Delayed;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Supplier;
import java.util.stream.Stream;

import javax.sql.DataSource;

import io.leaderelection.LeaderElector;
import io.leaderelection.LeadershipGrantedEvent;
import io.leaderelection.annotation.GeneratedJob;
import io.leaderelection.annotation.InvalidUsageException;
import io.leaderelection.annotation.LeaderOnly;
import io.leaderelection.autoconfigure.LeaderElectionAutoConfiguration;
import io.leaderelection.autoconfigure.schedule.DurableScheduleAutoConfiguration;
import io.leaderelection.engine.DefaultLeaderElector;
import io.leaderelection.engine.DefaultLeaderElectors;
import io.leaderelection.engine.InvocationCounts;
import io.leaderelection.engine.InvocationCounts.Outcome;
import io.leaderelection.schedule.DurableJob.Status;
import io.leaderelection.testsupport.TestClock;
import net.bytebuddy.description.annotation.AnnotationDescription;
import org.aopalliance.intercept.MethodInterceptor;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.mockito.Answers;
import reactor.core.publisher.Mono;

import org.springframework.aop.framework.Advised;
import org.springframework.beans.factory.BeanCreationException;
import org.springframework.beans.factory.InitializingBean;
import org.springframework.beans.factory.config.BeanPostProcessor;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.autoconfigure.aop.AopAutoConfiguration;
import org.springframework.boot.autoconfigure.context.PropertyPlaceholderAutoConfiguration;
import org.springframework.boot.autoconfigure.task.TaskSchedulingAutoConfiguration;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;
import org.springframework.context.ApplicationContext;
import org.springframework.context.ApplicationListener;
import org.springframework.context.PayloadApplicationEvent;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.event.ContextRefreshedEvent;
import org.springframework.context.event.EventListener;
import org.springframework.core.Ordered;
import org.springframework.core.annotation.Order;
import org.springframework.jdbc.support.JdbcTransactionManager;
import org.springframework.scheduling.annotation.Async;
import org.springframework.scheduling.annotation.EnableAsync;
import org.springframework.scheduling.annotation.EnableScheduling;
import org.springframework.scheduling.annotation.Scheduled;
import org.springframework.scheduling.concurrent.ThreadPoolTaskScheduler;
import org.springframework.test.util.ReflectionTestUtils;
import org.springframework.transaction.TransactionExecution;
import org.springframework.transaction.TransactionExecutionListener;
import org.springframework.transaction.support.TransactionSynchronizationManager;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatException;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.tuple;
import static org.awaitility.Awaitility.await;
import static org.mockito.Mockito.mock;

/**
 * Tests for {@link DurableSchedule} without a database.
 */
@ExtendWith(OutputCaptureExtension.class)
@Timeout(60)
@Tag("ring1")
class DurableScheduleTests {

	private static final List<String> runs = new CopyOnWriteArrayList<>();

	private static volatile boolean fails;

	private final TestClock clock = new TestClock("2026-05-01T12:00:00Z");

	/** Without a task scheduler, so that nothing but the test calls a job. */
	private final ApplicationContextRunner calledByTest = new ApplicationContextRunner()
		.withConfiguration(AutoConfigurations.of(LeaderElectionAutoConfiguration.class,
				DurableScheduleAutoConfiguration.class, AopAutoConfiguration.class,
				PropertyPlaceholderAutoConfiguration.class, TaskSchedulingAutoConfiguration.class))
		.withUserConfiguration(ClockConfiguration.class)
		.withBean(Clock.class, () -> this.clock)
		.withPropertyValues("spring.application.name=test", "leader-election.mode=always");

	private final ApplicationContextRunner scheduled = this.calledByTest
		.withUserConfiguration(SchedulingConfiguration.class);

	DurableScheduleTests() {
		runs.clear();
		fails = false;
	}

	@Test
	void runsOncePerFire(CapturedOutput output) {
		this.calledByTest.withBean(Nightly.class).run((context) -> {
			context.getBean(Nightly.class).run();
			assertThat(runs).isEmpty();
			runNightly(context, "2026-05-02T02:00:00.003Z");
			context.getBean(Nightly.class).run();
			assertThat(runs).containsExactly("2026-05-02T02:00:00Z");
			runNightly(context, "2026-05-03T02:00:00Z");
			assertThat(runs).containsExactly("2026-05-02T02:00:00Z", "2026-05-03T02:00:00Z");
			assertThat(status(context).missed()).isZero();
			assertThat(output).containsOnlyOnce("Durable schedules are kept in memory")
				.contains("add @EnableScheduling to a configuration class");
		});
	}

	@Test
	void failsBehindAdviceThatCallsItOnAnotherThread() {
		this.calledByTest.withBean(Moved.class).withBean(OtherThread.class).run((context) -> {
			this.clock.set("2026-05-02T02:00:00Z");
			assertThatException().isThrownBy(context.getBean(Moved.class)::run)
				.withRootCauseInstanceOf(InvalidUsageException.class)
				.withMessageContaining("on another thread than that of its run");
			assertThat(runs).isEmpty();
			assertThat(status(context).completed()).isZero();
		});
	}

	@Test
	void fireTimeBelongsToARun() {
		assertThatIllegalStateException().isThrownBy(FireTime::current).withMessageContaining("no run");
	}

	/**
	 * Without a limit of their age, and with the longest.
	 */
	@ParameterizedTest
	@ValueSource(strings = { "", "9223372036854775807s" })
	void runsForTheNewestOfSeveralFires(String within) {
		this.calledByTest.withPropertyValues("leader-election.schedules.within=" + within)
			.withBean(Nightly.class)
			.run((context) -> {
				context.getBean(Nightly.class).run();
				runNightly(context, "2026-05-04T09:00:00Z");
				assertThat(runs).containsExactly("2026-05-04T02:00:00Z catches up 2");
				assertThat(status(context).missed()).isEqualTo(2);
				assertThat(status(context).caughtUp()).isOne();
				assertThat(status(context).lastFire()).isEqualTo("2026-05-04T02:00:00Z");
				assertThat(status(context).nextFire()).isEqualTo("2026-05-05T02:00:00Z");
				assertThat(status(context).lag()).isZero();
			});
	}

	@Test
	void fireWithoutALeaderIsCaughtUpOnGrant() {
		this.scheduled.withBean(Nightly.class).run((context) -> {
			awaitBegin(context);
			elector(context).stop().join();
			this.clock.set("2026-05-02T02:03:00Z");
			assertThat(status(context).lag()).isNull();
			elector(context).start().join();
			await().until(() -> runs.size() == 1);
			assertThat(runs).containsExactly("2026-05-02T02:00:00Z catches up 0");
		});
	}

	@Test
	void newJobBeginsAtTheGrantAlsoWhileListenersOfTheGrantAreCalled() {
		CountDownLatch called = new CountDownLatch(1);
		CountDownLatch proceed = new CountDownLatch(1);
		this.calledByTest.withBean(Nightly.class)
			.withInitializer((context) -> context
				.addApplicationListener(ApplicationListener.<LeadershipGrantedEvent>forPayload((event) -> {
					called.countDown();
					awaitZero(proceed);
				})))
			.run((context) -> {
				awaitZero(called);
				runNightly(context, "2026-05-02T02:00:00.005Z");
				assertThat(runs).containsExactly("2026-05-02T02:00:00Z");
				proceed.countDown();
			});
	}

	private static void awaitZero(CountDownLatch latch) {
		await().until(() -> latch.getCount() == 0);
	}

	@Test
	void callInATransactionIsRefused() {
		this.calledByTest.withBean(Nightly.class).run((context) -> {
			TransactionSynchronizationManager.setActualTransactionActive(true);
			try {
				assertThatIllegalStateException().isThrownBy(context.getBean(Nightly.class)::run)
					.withMessageContaining("must not be called in a transaction");
			}
			finally {
				TransactionSynchronizationManager.setActualTransactionActive(false);
			}
		});
	}

	@Test
	void grantShortlyBeforeAFireDoesNotRunIt() {
		this.scheduled.withBean(Nightly.class).run((context) -> {
			awaitBegin(context);
			elector(context).stop().join();
			this.clock.set("2026-05-02T01:59:59.500Z");
			elector(context).start().join();
			await().until(() -> context.getBean(ThreadPoolTaskScheduler.class)
				.getScheduledThreadPoolExecutor()
				.getQueue()
				.stream()
				.anyMatch((task) -> !((Future<?>) task).isCancelled()
						&& ((Delayed) task).getDelay(TimeUnit.MILLISECONDS) <= 500));
			assertThat(runs).isEmpty();
			this.clock.set("2026-05-02T02:00:00Z");
			await().until(() -> runs.size() == 1);
			assertThat(runs).containsExactly("2026-05-02T02:00:00Z");
		});
	}

	/**
	 * The only thread of the task scheduler is busy during two grants.
	 */
	@Test
	void submissionOfAFormerTermDoesNotReplaceThatOfTheNext() {
		this.scheduled.withBean(Nightly.class).run((context) -> {
			awaitBegin(context);
			CountDownLatch proceed = new CountDownLatch(1);
			context.getBean(ThreadPoolTaskScheduler.class).submit(() -> proceed.await(10, TimeUnit.SECONDS));
			this.clock.set("2026-05-02T02:03:00Z");
			for (int i = 0; i < 2; i++) {
				elector(context).stop().join();
				elector(context).start().join();
			}
			proceed.countDown();
			await().until(() -> runs.size() == 1);
			assertThat(runs).containsExactly("2026-05-02T02:00:00Z catches up 0");
		});
	}

	@Test
	void grantWithoutADueFireRunsNothing(CapturedOutput output) {
		this.scheduled.withBean(Nightly.class).run((context) -> {
			awaitBegin(context);
			elector(context).stop().join();
			elector(context).start().join();
			awaitBegin(context);
			assertThat(runs).isEmpty();
			assertThat(status(context).lastFire()).isEqualTo("2026-05-01T12:00:00Z");
			assertThat(output).doesNotContain("@EnableScheduling");
		});
	}

	@Test
	void runAllRunsEachFireInOrder(CapturedOutput output) {
		Class<?> runAll = new GeneratedJob().doing(DurableScheduleTests::run)
			.with(nightly().define("misfire", MisfirePolicy.RUN_ALL).define("limit", 3));
		this.scheduled.withBean("job", runAll).run((context) -> {
			awaitBegin(context);
			this.clock.set("2026-05-05T02:00:00Z");
			runGenerated(context);
			await().until(() -> runs.size() == 3);
			assertThat(runs).containsExactly("2026-05-03T02:00:00Z catches up 1", "2026-05-04T02:00:00Z catches up 0",
					"2026-05-05T02:00:00Z catches up 0");
			assertThat(output).containsOnlyOnce("has dropped");
		});
	}

	@Test
	void failingFireIsDueAgain() {
		fails = true;
		this.scheduled.withBean(Nightly.class).run((context) -> {
			awaitBegin(context);
			assertThatIllegalStateException().isThrownBy(() -> runNightly(context, "2026-05-02T02:00:00Z"));
			assertThat(status(context).failed()).isOne();
			assertThat(status(context).outcome()).isEqualTo("failed: java.lang.IllegalStateException");
			this.clock.set("2026-05-02T02:01:00Z");
			assertThat(status(context).lag()).isEqualTo(Duration.ofMinutes(1));
			fails = false;
			await().until(() -> runs.size() == 2);
			assertThat(runs).containsExactly("2026-05-02T02:00:00Z", "2026-05-02T02:00:00Z catches up 0");
			await().until(() -> status(context).outcome().equals("completed"));
		});
	}

	@ParameterizedTest
	@EnumSource(Claim.class)
	void callDuringARunIsSkippedAndRepeatedAfterIt(Claim claim) {
		CountDownLatch started = new CountDownLatch(1);
		CountDownLatch proceed = new CountDownLatch(1);
		Class<?> slow = new GeneratedJob().doing(() -> {
			run();
			started.countDown();
			awaitZero(proceed);
			return null;
		}).with(nightly().define("claim", claim));
		this.scheduled.withBean("job", slow).run((context) -> {
			awaitBegin(context);
			this.clock.set("2026-05-02T02:00:00Z");
			Thread first = new Thread(() -> runGenerated(context));
			first.start();
			awaitZero(started);
			runGenerated(context);
			assertThat(runs).hasSize(1);
			this.clock.set("2026-05-03T02:00:00Z");
			runGenerated(context);
			proceed.countDown();
			first.join(10_000);
			await().until(() -> runs.size() == 2);
			assertThat(runs).containsExactly("2026-05-02T02:00:00Z", "2026-05-03T02:00:00Z catches up 0");
		});
	}

	@Test
	void severalSchedulesZonesAndPlaceholders() {
		this.calledByTest.withPropertyValues("zone=America/New_York", "off=-")
			.withBean(Several.class)
			.run((context) -> {
				Several job = context.getBean(Several.class);
				assertThat(job.run()).isEmpty();
				for (String time : new String[] { "2026-05-02T00:00:00Z", "2026-05-02T06:00:00Z",
						"2026-05-02T06:00:01Z" }) {
					this.clock.set(time);
					job.run();
				}
				assertThat(runs).containsExactly("2026-05-01T16:00:00Z", "2026-05-02T06:00:00Z");
				assertThat(status(context).cron()).isEqualTo("0 0 2 * * * | 0 0 2 * * *");
				assertThat(status(context).zone()).isEqualTo("America/New_York | Asia/Vladivostok");
			});
	}

	/**
	 * With three annotations, with one, and with another schedule.
	 */
	static Stream<Arguments> jobRunsByItselfOnTheLeader() {
		return Stream.of(Arguments.of(Nightly.class, 2),
				Arguments.of(new GeneratedJob().doing(DurableScheduleTests::run).with(nightly("${nightly}")), 2),
				Arguments.of(new GeneratedJob().doing(DurableScheduleTests::run)
					.with(nightly(),
							GeneratedJob.annotation(Scheduled.class)
								.define("cron", "0 0 14 * * *")
								.define("zone", "UTC")),
						3));
	}

	@ParameterizedTest
	@MethodSource
	void jobRunsByItselfOnTheLeader(Class<?> type, int tasks) {
		this.scheduled.withBean(type).withPropertyValues("nightly=0 0 2 * * *").run((context) -> {
			awaitBegin(context);
			assertThat(status(context).cron()).contains("0 0 2 * * *");
			// A run that has been cancelled may stay in the queue
			assertThat(context.getBean(ThreadPoolTaskScheduler.class).getScheduledThreadPoolExecutor().getQueue())
				.filteredOn((task) -> !((Future<?>) task).isCancelled())
				.as("ticks, and the run that was submitted")
				.hasSize(tasks);
			elector(context).stop().join();
			this.clock.set("2026-05-02T02:03:00Z");
			elector(context).start().join();
			await().until(() -> runs.size() == 1);
			assertThat(runs).singleElement().asString().startsWith("2026-05-02T02:00:00Z catches up");
		});
	}

	@Test
	void electionIsThatOfTheAnnotationOrOfTheClass() {
		this.calledByTest
			.withPropertyValues("leader-election.elections.reports.candidate=true",
					"leader-election.elections.other.candidate=true")
			.withUserConfiguration(
					new GeneratedJob().inClassWith(GeneratedJob.leaderOnly().define("value", "reports"))
						.with(nightly().define("name", "class")),
					new GeneratedJob().inClassWith(GeneratedJob.leaderOnly().define("value", "reports"))
						.with(nightly().define("name", "own").define("election", "other")),
					new GeneratedJob().inClassWith(GeneratedJob.leaderOnly().define("value", "reports"))
						.with(Composed.class, LeaderOnly.class))
			.run((context) -> assertThat(context.getBean(DurableSchedules.class).jobs())
				.extracting(DurableJob::name, DurableJob::election)
				.containsExactlyInAnyOrder(tuple("class", "reports"), tuple("own", "other"),
						tuple("composed", "default")));
	}

	@Test
	void ageOfAFireHasADefault() {
		this.calledByTest.withPropertyValues("leader-election.schedules.within=6h")
			.withBean(Nightly.class)
			.run((context) -> {
				context.getBean(Nightly.class).run();
				runNightly(context, "2026-05-04T09:00:00Z");
				assertThat(runs).isEmpty();
				runNightly(context, "2026-05-05T07:00:00Z");
				assertThat(runs).containsExactly("2026-05-05T02:00:00Z");
			});
	}

	@Test
	void runInMemoryWhoseTransactionFailsAfterItsCommitIsNotRepeated() {
		JdbcTransactionManager manager = new JdbcTransactionManager(mock(DataSource.class, Answers.RETURNS_DEEP_STUBS));
		this.calledByTest.withBean(Nightly.class)
			.withBean(JdbcTransactionManager.class, () -> manager)
			.run((context) -> {
				Nightly job = context.getBean(Nightly.class);
				job.run();
				manager.addListener(new TransactionExecutionListener() {

					@Override
					public void afterCommit(TransactionExecution transaction, @Nullable Throwable commitFailure) {
						throw new IllegalStateException("after the commit");
					}

				});
				this.clock.set("2026-05-02T02:00:00Z");
				assertThatIllegalStateException().isThrownBy(job::run).withMessage("after the commit");
				job.run();
				assertThat(runs).hasSize(1);
				assertThat(status(context).completed()).isOne();
			});
	}

	@Test
	void outcomeIsPublished() {
		List<FireEndedEvent> events = new CopyOnWriteArrayList<>();
		fails = true;
		this.calledByTest.withBean(Nightly.class)
			.withInitializer((context) -> context.addApplicationListener((event) -> {
				if (event instanceof PayloadApplicationEvent<?> published
						&& published.getPayload() instanceof FireEndedEvent ended) {
					events.add(ended);
					throw new IllegalStateException("listener");
				}
			}))
			.run((context) -> {
				context.getBean(Nightly.class).run();
				assertThatIllegalStateException().isThrownBy(() -> runNightly(context, "2026-05-02T02:00:00Z"))
					.withMessage("no");
				fails = false;
				context.getBean(Nightly.class).run();
				assertThat(events)
					.extracting(FireEndedEvent::election, (event) -> event.fireTime().getNominalTime(),
							(event) -> event.failure() != null)
					.containsExactly(tuple("default", Instant.parse("2026-05-02T02:00:00Z"), true),
							tuple("default", Instant.parse("2026-05-02T02:00:00Z"), false));
			});
	}

	@Test
	void callThatIsNotDueCountsAsSkipped() {
		this.calledByTest.withBean(Nightly.class).run((context) -> {
			InvocationCounts counts = elector(context).statistics().invocations("DurableScheduleTests.Nightly.run");
			context.getBean(Nightly.class).run();
			runNightly(context, "2026-05-02T02:00:00Z");
			context.getBean(Nightly.class).run();
			assertThat(counts.get(Outcome.SKIPPED)).isEqualTo(2);
			assertThat(counts.get(Outcome.RUN)).isOne();
		});
	}

	@Test
	void runIsRequestedAndFiresAreSkipped() {
		this.scheduled.withBean(Nightly.class).run((context) -> {
			awaitBegin(context);
			DurableJob job = context.getBean(DurableSchedules.class).jobs().iterator().next();
			assertThat(job.request(true)).isEqualTo("no fire is due, or the job is running");
			this.clock.set("2026-05-01T13:00:00.000000005Z");
			assertThat(job.request(false)).isNull();
			await().until(() -> status(context).completed() == 1);
			awaitBegin(context);
			assertThat(runs).containsExactly("2026-05-01T13:00:00Z");
			assertThat(status(context).caughtUp()).isZero();
			this.clock.set("2026-05-01T00:00:00Z");
			assertThat(job.request(true)).isEqualTo("no fire is due, or the job is running");
			this.clock.set("2026-04-01T00:00:00Z");
			assertThat(job.request(false)).contains("2026-05-01T13:00:00Z, which is not before now");
			this.clock.set("2026-05-04T01:00:00Z");
			assertThat(job.request(true)).isNull();
			assertThat(status(context).missed()).isEqualTo(2);
			assertThat(status(context).lastFire()).isEqualTo("2026-05-03T02:00:00Z");
			context.getBean(Nightly.class).run();
			assertThat(runs).hasSize(1);
			elector(context).stop().join();
			assertThat(job.request(false)).isEqualTo("this node does not lead");
		});
	}

	@Test
	void runIsRefusedWhereNothingWouldRunIt() {
		this.calledByTest.withBean(Nightly.class)
			.run((context) -> assertThat(
					context.getBean(DurableSchedules.class).jobs().iterator().next().request(false))
				.contains("@EnableScheduling is missing"));
	}

	@Test
	void lazyBeanWhoseClassWasNotKnownAtStartIsRefused() {
		this.calledByTest.withBean(Runnable.class, NightlyRunnable::new, (definition) -> definition.setLazyInit(true))
			.run((context) -> assertThatExceptionOfType(BeanCreationException.class)
				.isThrownBy(() -> context.getBean(Runnable.class))
				.havingRootCause()
				.withMessageContaining("NightlyRunnable.run()' runs when leadership is granted, but the class of bean")
				.withMessageContaining("Declare the bean by its class"));
		this.calledByTest
			.withBean(NightlyRunnable.class, NightlyRunnable::new, (definition) -> definition.setLazyInit(true))
			.run((context) -> context.getBean(Runnable.class).run());
	}

	@Test
	void disabledScheduleNeverFires() {
		Class<?> disabled = new GeneratedJob().doing(DurableScheduleTests::run)
			.with(GeneratedJob.annotation(DurableSchedule.class),
					GeneratedJob.annotation(Scheduled.class).define("cron", "-"));
		this.scheduled.withBean("job", disabled).run((context) -> {
			this.clock.advance(Duration.ofDays(10));
			runGenerated(context);
			assertThat(runs).isEmpty();
			assertThat(status(context).nextFire()).isNull();
		});
	}

	@Test
	void completionOfTheStageIsTheEnd() {
		Class<?> stage = new GeneratedJob().returning(CompletableFuture.class).doing(() -> {
			run();
			return new CompletableFuture<>();
		}).with(nightly().define("claim", Claim.AFTER));
		this.calledByTest.withBean("job", stage).run((context) -> {
			Supplier<CompletableFuture<String>> job = () -> runGenerated(context);
			assertThat(job.get()).isCompletedWithValue(null);
			this.clock.set("2026-05-02T02:00:00Z");
			CompletableFuture<String> first = job.get();
			assertThat(status(context).lastFire()).isEqualTo("2026-05-01T12:00:00Z");
			assertThat(job.get()).isCompletedWithValue(null);
			first.completeExceptionally(new IllegalStateException());
			CompletableFuture<String> second = job.get();
			assertThat(runs).hasSize(2);
			second.complete("done");
			assertThat(status(context).lastFire()).isEqualTo("2026-05-02T02:00:00Z");
			assertThat(job.get()).isCompletedWithValue(null);
			assertThat(runs).hasSize(2);
			assertThat(elector(context).status().workInFlight()).isZero();
		});
	}

	@Test
	void endOfThePublisherIsTheEnd() {
		AtomicReference<Mono<String>> result = new AtomicReference<>(Mono.empty());
		Class<?> publisher = new GeneratedJob().returning(Mono.class).doing(() -> {
			run();
			return result.get();
		}).with(nightly().define("claim", Claim.AFTER));
		this.calledByTest.withBean("job", publisher).run((context) -> {
			Supplier<Mono<String>> job = () -> runGenerated(context);
			assertThat(job.get().blockOptional()).isEmpty();
			this.clock.set("2026-05-02T02:00:00Z");
			result.set(Mono.error(new IllegalStateException("no")));
			assertThatIllegalStateException().isThrownBy(() -> job.get().block()).withMessage("no");
			result.set(Mono.never());
			job.get().subscribe().dispose();
			await().until(() -> status(context).failed() == 2);
			result.set(Mono.just("done"));
			Mono<String> mono = job.get();
			assertThat(mono.block()).isEqualTo("done");
			assertThat(mono.blockOptional()).isEmpty();
			assertThat(runs).containsExactly("2026-05-02T02:00:00Z", "2026-05-02T02:00:00Z catches up 0",
					"2026-05-02T02:00:00Z catches up 0");
		});
	}

	@Test
	void asynchronousMethodClaimsOnItsOwnThread() {
		Class<?> job = new GeneratedJob().inClassWith(EnableAsync.class)
			.doing(DurableScheduleTests::run)
			.with(nightly(), GeneratedJob.annotation(Async.class));
		this.scheduled.withUserConfiguration(job).run((context) -> {
			Runnable call = () -> ReflectionTestUtils.invokeMethod(context.getBean(job), "run");
			awaitBegin(context);
			this.clock.set("2026-05-02T02:00:00Z");
			call.run();
			await().until(() -> runs.size() == 1);
			InvocationCounts counts = elector(context).statistics().invocations(job.getSimpleName() + ".run");
			long skipped = counts.get(Outcome.SKIPPED);
			call.run();
			await().until(() -> counts.get(Outcome.SKIPPED) > skipped);
			assertThat(runs).containsExactly("2026-05-02T02:00:00Z");
		});
	}

	@Test
	void followerRunsNothing() {
		this.calledByTest.withPropertyValues("leader-election.mode=always", "leader-election.candidate=false")
			.withBean(Nightly.class)
			.run((context) -> {
				runNightly(context, "2026-05-02T02:00:00Z");
				assertThat(runs).isEmpty();
			});
	}

	/**
	 * Wait until the job has begun, and the run on grant has ended.
	 */
	private static void awaitBegin(ApplicationContext context) {
		await().until(() -> status(context).lastFire() != null);
		assertThat(context.getBean(ThreadPoolTaskScheduler.class).submit(() -> {
		})).succeedsWithin(Duration.ofSeconds(10));
	}

	private void runNightly(ApplicationContext context, String time) {
		this.clock.set(time);
		context.getBean(Nightly.class).run();
	}

	private static <T> @Nullable T runGenerated(ApplicationContext context) {
		return ReflectionTestUtils.invokeMethod(context.getBean("job"), "run");
	}

	private static AnnotationDescription.Builder nightly() {
		return nightly("0 0 2 * * *");
	}

	private static AnnotationDescription.Builder nightly(String cron) {
		return GeneratedJob.annotation(DurableSchedule.class).define("cron", cron).define("zone", "UTC");
	}

	private static DefaultLeaderElector elector(ApplicationContext context) {
		return context.getBean(DefaultLeaderElectors.class).getDefault();
	}

	private static Status status(ApplicationContext context) {
		return context.getBean(DurableSchedules.class).jobs().iterator().next().status();
	}

	private static @Nullable Object run() {
		FireTime fire = FireTime.current();
		runs.add(fire.getNominalTime() + (fire.isCatchUp() ? " catches up " + fire.getMissed() : ""));
		if (fails) {
			throw new IllegalStateException("no");
		}
		return null;
	}

	@Configuration(proxyBeanMethods = false)
	static class ClockConfiguration {

		private volatile boolean begun;

		@Bean
		InitializingBean clockOfSchedules(DurableSchedules schedules, Clock clock) {
			return () -> schedules.setClock(clock);
		}

		@EventListener
		@Order(Ordered.HIGHEST_PRECEDENCE)
		void granted(LeadershipGrantedEvent event) {
			this.begun = true;
		}

		/**
		 * The term begins before a test sets the clock.
		 */
		@EventListener
		void started(ContextRefreshedEvent event) {
			if (event.getApplicationContext().getBean(LeaderElector.class).isLeader()) {
				await().until(() -> this.begun);
			}
		}

	}

	@Configuration(proxyBeanMethods = false)
	@EnableScheduling
	static class SchedulingConfiguration {

	}

	static class Moved {

		@DurableSchedule(cron = "0 0 2 * * *", claim = Claim.AFTER)
		void run() {
			runs.add("guarded");
		}

	}

	static class OtherThread implements BeanPostProcessor {

		@Override
		public Object postProcessAfterInitialization(Object bean, String beanName) {
			if (bean instanceof Advised advised) {
				advised.addAdvice((MethodInterceptor) (invocation) -> CompletableFuture.supplyAsync(() -> {
					try {
						return invocation.proceed();
					}
					catch (Throwable ex) {
						throw new IllegalStateException(ex);
					}
				}).join());
			}
			return bean;
		}

	}

	static class Nightly {

		@LeaderOnly
		@DurableSchedule
		@Scheduled(cron = "0 0 2 * * *", zone = "UTC")
		void run() {
			DurableScheduleTests.run();
		}

	}

	static class NightlyRunnable implements Runnable {

		@Override
		@DurableSchedule(cron = "0 0 2 * * *")
		public void run() {
		}

	}

	@Retention(RetentionPolicy.RUNTIME)
	@DurableSchedule(name = "composed", cron = "0 0 2 * * *")
	@interface Composed {

	}

	@LeaderOnly
	static class Several {

		@DurableSchedule(name = "several")
		@Scheduled(cron = "0 0 2 * * *", zone = "${zone}")
		@Scheduled(cron = "${vladivostok:0 0 2 * * *}", zone = "Asia/Vladivostok")
		@Scheduled(cron = "${off}")
		Optional<String> run() {
			DurableScheduleTests.run();
			return Optional.of("done");
		}

	}

}
