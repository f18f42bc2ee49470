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

package io.leaderelection.autoconfigure.observation;

import java.time.Clock;
import java.time.Duration;
import java.time.Instant;
import java.time.ZoneOffset;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

import io.leaderelection.LeaderElector;
import io.leaderelection.Leadership;
import io.leaderelection.LeadershipRevokedEvent.Reason;
import io.leaderelection.annotation.GeneratedJob;
import io.leaderelection.annotation.LeaderOnly;
import io.leaderelection.autoconfigure.LeaderElectionAutoConfiguration;
import io.leaderelection.autoconfigure.schedule.DurableScheduleAutoConfiguration;
import io.leaderelection.engine.DefaultLeaderElectors;
import io.leaderelection.engine.LocalStore;
import io.leaderelection.engine.WorkObserver;
import io.leaderelection.observation.DefaultLeaderWorkObservationConvention;
import io.leaderelection.observation.LeaderWorkObservationContext;
import io.leaderelection.schedule.Claim;
import io.leaderelection.schedule.DurableSchedule;
import io.leaderelection.schedule.DurableSchedules;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.observation.DefaultMeterObservationHandler;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.micrometer.observation.Observation;
import io.micrometer.observation.ObservationHandler;
import io.micrometer.observation.ObservationRegistry;
import io.micrometer.observation.contextpropagation.ObservationThreadLocalAccessor;
import io.micrometer.observation.tck.TestObservationRegistry;
import io.micrometer.observation.tck.TestObservationRegistryAssert;
import io.micrometer.observation.tck.TestObservationRegistryAssert.TestObservationRegistryAssertReturningObservationContextAssert;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import reactor.core.Disposable;
import reactor.core.publisher.Mono;
import reactor.core.publisher.Sinks;

import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.test.context.FilteredClassLoader;
import org.springframework.boot.test.context.assertj.AssertableApplicationContext;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;
import org.springframework.scheduling.annotation.Scheduled;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.awaitility.Awaitility.await;
import static org.mockito.Mockito.mock;

/**
 * Tests for the observation of leader work.
 */
@Timeout(60)
@ExtendWith(OutputCaptureExtension.class)
@Tag("ring1")
class LeaderWorkObservationTests {

	private static final String NAME = "leader.election.work";

	private static final String PACKAGE = "io.leaderelection.autoconfigure.observation.";

	private final TestObservationRegistry registry = TestObservationRegistry.create();

	private final IllegalStateException failure = new IllegalStateException("No paper");

	private final CountDownLatch begun = new CountDownLatch(1);

	private final Sinks.One<String> sink = Sinks.one();

	private final ApplicationContextRunner off = new ApplicationContextRunner()
		.withConfiguration(AutoConfigurations.of(LeaderElectionAutoConfiguration.class,
				DurableScheduleAutoConfiguration.class, LeaderWorkObservationAutoConfiguration.class))
		.withPropertyValues("leader-election.mode=always", "leader-election.node-id=web1");

	private final ApplicationContextRunner withoutRegistry = this.off
		.withPropertyValues("leader-election.observation.enabled=true");

	private final ApplicationContextRunner contextRunner = this.withoutRegistry.withBean(Reports.class, Reports::new)
		.withBean(ObservationRegistry.class, () -> this.registry);

	@AfterEach
	void noObserverHasFailed(CapturedOutput output) {
		assertThat(output).doesNotContain("InvalidObservationException");
	}

	@Test
	void guardedMethod() {
		this.contextRunner.run((context) -> {
			assertThat(reports(context).create()).isEqualTo(NAME);
			assertThat(this.registry.getCurrentObservation()).isNull();
			Leadership leadership = context.getBean(LeaderElector.class).getLeadership();
			assertObservation().hasBeenStarted()
				.hasBeenStopped()
				.doesNotHaveError()
				.hasContextualNameEqualTo("leader work LeaderWorkObservationTests.Reports.create")
				.hasLowCardinalityKeyValue("election", "default")
				.hasLowCardinalityKeyValue("outcome", "SUCCESS")
				.hasLowCardinalityKeyValue("exception", "none")
				.hasHighCardinalityKeyValue("code.function", "create")
				.hasHighCardinalityKeyValue("code.namespace", PACKAGE + "LeaderWorkObservationTests.Reports")
				.hasHighCardinalityKeyValue("node", "web1")
				.hasHighCardinalityKeyValue("term", leadership.getTerm().toString());
		});
	}

	@Test
	void failure() {
		this.contextRunner.run((context) -> {
			assertThatIllegalStateException().isThrownBy(reports(context)::fail);
			assertFailed().hasLowCardinalityKeyValue("exception", "IllegalStateException");
		});
	}

	@Test
	void callThatIsSkipped() {
		this.contextRunner.withPropertyValues("leader-election.candidate=false").run((context) -> {
			assertThat(reports(context).create()).isNull();
			assertThat(reports(context).mono().block()).isNull();
			assertThat(context.getBean(LeaderElector.class).runIfLeader(() -> {
			})).isFalse();
			assertNone();
		});
	}

	@Test
	void futureUntilItCompletes() {
		this.contextRunner.run((context) -> {
			CompletableFuture<String> future = reports(context).future();
			assertObservation().hasBeenStarted().isNotStopped();
			assertThat(this.registry.getCurrentObservation()).isNull();
			future.complete("report");
			assertObservation().hasBeenStopped().hasLowCardinalityKeyValue("outcome", "SUCCESS");
		});
	}

	@Test
	void futureThatFails() {
		this.contextRunner.run((context) -> {
			reports(context).future().completeExceptionally(this.failure);
			assertFailed();
		});
	}

	@Test
	void publisherFromSubscriptionToCompletion() {
		this.contextRunner.run((context) -> {
			Mono<String> mono = reports(context).mono();
			assertNone();
			CompletableFuture<String> result = mono.toFuture();
			assertObservation().hasBeenStarted().isNotStopped();
			assertThat(this.registry.getCurrentObservation()).isNull();
			this.sink.tryEmitValue("report");
			assertThat(result.get(10, TimeUnit.SECONDS)).isEqualTo("report in " + NAME);
			assertObservation().hasBeenStopped().hasLowCardinalityKeyValue("outcome", "SUCCESS");
		});
	}

	@Test
	void publisherThatFails() {
		this.contextRunner.run((context) -> {
			CompletableFuture<String> result = reports(context).mono().toFuture();
			this.sink.tryEmitError(this.failure);
			assertThat(result).isCompletedExceptionally();
			assertFailed();
		});
	}

	@Test
	void publisherThatIsCancelled() {
		this.contextRunner.run((context) -> {
			Disposable subscription = reports(context).mono().subscribe();
			subscription.dispose();
			assertObservation().hasBeenStopped().doesNotHaveError().hasLowCardinalityKeyValue("outcome", "UNKNOWN");
		});
	}

	@Test
	void parentOfBlockingAndReactiveWork() {
		this.contextRunner.run((context) -> {
			Observation parent = Observation.start("parent", this.registry);
			this.registry.clear();
			parent.scoped(reports(context)::create);
			assertObservation().hasParentObservationEqualTo(parent);
			this.registry.clear();
			reports(context).mono()
				.contextWrite((values) -> values.put(ObservationThreadLocalAccessor.KEY, parent))
				.subscribe()
				.dispose();
			assertObservation().hasParentObservationEqualTo(parent);
		});
	}

	@Test
	void observationThatIsDisabledLeavesThatOfTheSubscriber() {
		this.registry.observationConfig().observationPredicate((name, context) -> !name.equals(NAME));
		this.contextRunner.run((context) -> {
			Observation parent = Observation.start("parent", this.registry);
			CompletableFuture<String> result = reports(context).mono()
				.contextWrite((values) -> values.put(ObservationThreadLocalAccessor.KEY, parent))
				.toFuture();
			this.sink.tryEmitValue("report");
			assertThat(result.get(10, TimeUnit.SECONDS)).isEqualTo("report in parent");
			parent.scoped(() -> assertThat(reports(context).create()).isEqualTo("parent"));
			TestObservationRegistryAssert.assertThat(this.registry).hasNumberOfObservationsEqualTo(1);
		});
	}

	@Test
	void workOfTheElector() {
		this.contextRunner.run((context) -> {
			LeaderElector elector = context.getBean(LeaderElector.class);
			assertThat(
					elector.runIfLeader(() -> this.registry.getCurrentObservation().highCardinalityKeyValue("a", "b")))
				.isTrue();
			assertObservation().hasBeenStopped()
				.hasHighCardinalityKeyValue("a", "b")
				.hasLowCardinalityKeyValue("outcome", "SUCCESS")
				.hasContextualNameEqualTo("leader work LeaderWorkObservationTests")
				.hasHighCardinalityKeyValue("code.function", "none")
				.hasHighCardinalityKeyValue("code.namespace", PACKAGE + "LeaderWorkObservationTests");
			this.registry.clear();
			elector.runWithLeadership((leadership) -> {
			});
			assertObservation().hasBeenStopped();
			this.registry.clear();
			assertThatIllegalStateException().isThrownBy(() -> elector.callIfLeader(() -> {
				throw this.failure;
			}));
			assertFailed();
		});
	}

	@Test
	void workThatIsInterrupted() {
		this.contextRunner.withBean(LocalStore.class, () -> LocalStore.manual(false)).run((context) -> {
			var elector = context.getBean(DefaultLeaderElectors.class).getDefault();
			LocalStore.grant(elector);
			Thread thread = new Thread(reports(context)::block);
			thread.start();
			assertThat(this.begun.await(10, TimeUnit.SECONDS)).isTrue();
			LocalStore.revoke(elector, Reason.LEASE_EXPIRED);
			thread.join(Duration.ofSeconds(10).toMillis());
			assertObservation().hasBeenStopped().hasLowCardinalityKeyValue("outcome", "INTERRUPTED");
		});
	}

	@Test
	void publisherThatIsCancelledByTheEndOfLeadership() {
		this.contextRunner.withBean(LocalStore.class, () -> LocalStore.manual(false)).run((context) -> {
			var elector = context.getBean(DefaultLeaderElectors.class).getDefault();
			LocalStore.grant(elector);
			CompletableFuture<String> result = reports(context).mono().toFuture();
			LocalStore.revoke(elector, Reason.LEASE_EXPIRED);
			await().until(result::isDone);
			assertObservation().hasBeenStopped()
				.hasLowCardinalityKeyValue("outcome", "INTERRUPTED")
				.hasLowCardinalityKeyValue("exception", "NotLeaderException");
		});
	}

	@Test
	void methodThatRunsOnGrantIsObservedOnce() {
		Class<?> warming = new GeneratedJob().doing(() -> {
			this.begun.countDown();
			return null;
		}).with(GeneratedJob.annotation(LeaderOnly.class).define("runOnGrant", true));
		this.contextRunner.withBean(warming).run((context) -> {
			assertThat(this.begun.await(10, TimeUnit.SECONDS)).isTrue();
			await().untilAsserted(() -> assertObservation().hasBeenStopped());
		});
	}

	@Test
	void durableScheduleWithAFireThatIsDue() {
		Instant fire = Instant.parse("2026-05-02T02:00:00Z");
		this.contextRunner.withBean(Nightly.class).run((context) -> {
			DurableSchedules schedules = context.getBean(DurableSchedules.class);
			schedules.begin(Clock.fixed(fire.minusSeconds(5), ZoneOffset.UTC));
			context.getBean(Nightly.class).run();
			context.getBean(Nightly.class).runReactively().block();
			assertNone();
			schedules.setClock(Clock.fixed(fire, ZoneOffset.UTC));
			context.getBean(Nightly.class).run();
			assertObservation().hasBeenStopped()
				.hasHighCardinalityKeyValue("code.function", "run")
				.hasHighCardinalityKeyValue("code.namespace", PACKAGE + "LeaderWorkObservationTests.Nightly");
			this.registry.clear();
			assertThat(context.getBean(Nightly.class).runReactively().block()).isEqualTo(NAME);
			await().untilAsserted(() -> assertObservation().hasBeenStopped());
		});
	}

	@Test
	void conventionOfTheApplication() {
		this.contextRunner.withBean(OwnConvention.class).run((context) -> {
			reports(context).create();
			TestObservationRegistryAssert.assertThat(this.registry)
				.hasSingleObservationThat()
				.hasNameEqualTo("own.work");
		});
	}

	@Test
	void handlerThatFailsDoesNotAffectTheWork(CapturedOutput output) {
		this.contextRunner.run((context) -> {
			this.registry.observationConfig().observationHandler(failingHandler("onStart", "onStop"));
			assertThat(reports(context).create()).isNotEmpty();
			assertThat(output).contains("Failed to observe leader work");
			assertThat(context.getBean(DefaultLeaderElectors.class).getDefault().status().workInFlight()).isZero();
		});
	}

	@ParameterizedTest
	@ValueSource(strings = { "onStart", "onScopeOpened", "onScopeClosed" })
	void handlerThatFailsLeavesNoObservationBehind(String step) {
		MeterRegistry meters = new SimpleMeterRegistry();
		this.contextRunner.run((context) -> {
			this.registry.observationConfig().observationHandler(new DefaultMeterObservationHandler(meters));
			this.registry.observationConfig().observationHandler(failingHandler(step));
			Observation outer = Observation.start("outer", this.registry);
			try (Observation.Scope scope = outer.openScope()) {
				reports(context).create();
				assertThat(this.registry.getCurrentObservationScope()).isSameAs(scope);
			}
			assertThat(meters.get(NAME + ".active").longTaskTimer().activeTasks()).isZero();
		});
	}

	@Test
	void isOffByDefault() {
		this.off.withBean(Reports.class, Reports::new)
			.withBean(ObservationRegistry.class, () -> this.registry)
			.run((context) -> {
				assertThat(reports(context).create()).isEqualTo("none");
				assertNone();
			});
	}

	@Test
	void needsARegistry(CapturedOutput output) {
		this.withoutRegistry.run((context) -> assertThat(context).hasNotFailed().doesNotHaveBean(WorkObserver.class));
		assertThat(output).containsOnlyOnce("Leader work is not observed although "
				+ "leader-election.observation.enabled=true, since there is no ObservationRegistry bean: add the dependency "
				+ "org.springframework.boot:spring-boot-starter-actuator");
	}

	@Test
	void doesNotWarnWithARegistryOrIfDisabled(CapturedOutput output) {
		this.contextRunner.run((context) -> assertThat(context).hasSingleBean(WorkObserver.class));
		this.off.run((context) -> assertThat(context).doesNotHaveBean(WorkObserver.class));
		assertThat(output).doesNotContain("Leader work is not observed");
	}

	@Test
	void needsMicrometer(CapturedOutput output) {
		this.withoutRegistry.withClassLoader(new FilteredClassLoader("io.micrometer"))
			.run((context) -> assertThat(context).hasNotFailed().doesNotHaveBean(WorkObserver.class));
		assertThat(output).contains("Leader work is not observed");
	}

	private void assertNone() {
		TestObservationRegistryAssert.assertThat(this.registry).doesNotHaveAnyObservation();
	}

	private TestObservationRegistryAssertReturningObservationContextAssert assertObservation() {
		return TestObservationRegistryAssert.assertThat(this.registry).hasSingleObservationThat().hasNameEqualTo(NAME);
	}

	private TestObservationRegistryAssertReturningObservationContextAssert assertFailed() {
		return assertObservation().hasBeenStopped()
			.hasError(this.failure)
			.hasLowCardinalityKeyValue("outcome", "ERROR");
	}

	private static String name(Observation observation) {
		return (observation != null) ? observation.getContextView().getName() : "none";
	}

	private static ObservationHandler<LeaderWorkObservationContext> failingHandler(String... steps) {
		return mock((call) -> {
			if (List.of(steps).contains(call.getMethod().getName())) {
				throw new IllegalStateException("No tracer");
			}
			return call.getMethod().getName().equals("supportsContext")
					? call.getArgument(0) instanceof LeaderWorkObservationContext : null;
		});
	}

	private static Reports reports(AssertableApplicationContext context) {
		return context.getBean(Reports.class);
	}

	class Reports {

		@LeaderOnly
		String create() {
			return name(LeaderWorkObservationTests.this.registry.getCurrentObservation());
		}

		@LeaderOnly
		void fail() {
			throw LeaderWorkObservationTests.this.failure;
		}

		@LeaderOnly
		void block() {
			LeaderWorkObservationTests.this.begun.countDown();
			try {
				new CountDownLatch(1).await();
			}
			catch (InterruptedException ex) {
				Thread.currentThread().interrupt();
			}
		}

		@LeaderOnly
		CompletableFuture<String> future() {
			return new CompletableFuture<>();
		}

		@LeaderOnly
		Mono<String> mono() {
			return Mono.deferContextual((context) -> LeaderWorkObservationTests.this.sink.asMono()
				.map((report) -> report + " in "
						+ name(context.getOrDefault(ObservationThreadLocalAccessor.KEY, null))));
		}

	}

	static class Nightly {

		@LeaderOnly
		@DurableSchedule(name = "nightly")
		@Scheduled(cron = "0 0 2 * * *", zone = "UTC")
		void run() {
		}

		@LeaderOnly
		@DurableSchedule(name = "reactive", claim = Claim.AFTER)
		@Scheduled(cron = "0 0 2 * * *", zone = "UTC")
		Mono<String> runReactively() {
			return Mono.deferContextual(
					(context) -> Mono.just(name(context.getOrDefault(ObservationThreadLocalAccessor.KEY, null))));
		}

	}

	static class OwnConvention extends DefaultLeaderWorkObservationConvention {

		@Override
		public String getName() {
			return "own.work";
		}

	}

}
