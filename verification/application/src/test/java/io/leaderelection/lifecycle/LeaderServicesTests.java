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

package io.leaderelection.lifecycle;

import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

import io.leaderelection.LeaderElector;
import io.leaderelection.LeadershipGrantedEvent;
import io.leaderelection.LeadershipRevokedEvent.Reason;
import io.leaderelection.annotation.InvalidUsageException;
import io.leaderelection.annotation.LeaderOnly;
import io.leaderelection.autoconfigure.LeaderElectionAutoConfiguration;
import io.leaderelection.lifecycle.Services.Blocked;
import io.leaderelection.lifecycle.Services.FailingService;
import io.leaderelection.lifecycle.Services.ForeignContainer;
import io.leaderelection.lifecycle.Services.Log;
import io.leaderelection.lifecycle.Services.PlainService;
import io.leaderelection.lifecycle.Services.Service;
import io.leaderelection.lifecycle.Services.SlowService;
import io.leaderelection.lifecycle.Services.SlowToStart;
import io.leaderelection.test.TestLeadership;
import io.leaderelection.test.TestLeadershipAutoConfiguration;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.autoconfigure.aop.AopAutoConfiguration;
import org.springframework.boot.test.context.assertj.AssertableApplicationContext;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;
import org.springframework.context.SmartLifecycle;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Lazy;
import org.springframework.context.event.ApplicationEventMulticaster;
import org.springframework.context.event.EventListener;
import org.springframework.context.event.SimpleApplicationEventMulticaster;
import org.springframework.context.support.AbstractApplicationContext;
import org.springframework.core.task.SimpleAsyncTaskExecutor;
import org.springframework.test.util.AopTestUtils;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Tests for {@link LeaderServices} in an application context.
 */
@ExtendWith(OutputCaptureExtension.class)
@Timeout(60)
@Tag("ring2")
class LeaderServicesTests {

	private final ApplicationContextRunner contextRunner = new ApplicationContextRunner()
		.withConfiguration(AutoConfigurations.of(LeaderElectionAutoConfiguration.class,
				TestLeadershipAutoConfiguration.class, AopAutoConfiguration.class))
		.withBean(Log.class)
		.withPropertyValues("leader-election.mode=always", "leader-election-test.role=follower");

	@Test
	void isStartedOnGrantAfterListenersAndStoppedOnRevokeBeforeListeners() {
		this.contextRunner.withBean("service", Service.class).run((context) -> {
			TestLeadership leadership = context.getBean(TestLeadership.class);
			assertThat(log(context)).isEmpty();
			leadership.grant();
			assertThat(log(context)).containsExactly("granted", "start service");
			assertThat(context.getBean(Service.class).isRunning()).isTrue();
			leadership.revoke();
			assertThat(log(context)).containsExactly("granted", "start service", "stop service", "revoked");
			assertThat(context.getBean(Service.class).isRunning()).isFalse();
		});
	}

	@Test
	void contextNeverStartsIt() {
		this.contextRunner.withBean("service", Service.class).withBean("plain", PlainService.class).run((context) -> {
			assertThat(context.getBean(Service.class).isAutoStartup()).isFalse();
			context.getSourceApplicationContext().start();
			context.getBean(Service.class).start();
			context.getSourceApplicationContext().pause();
			context.getSourceApplicationContext().restart();
			// What is asked for runs in order: a start would be done by now
			context.getBean(Service.class).stop();
			context.getBean(PlainService.class).stop();
			assertThat(log(context)).isEmpty();
			assertThat(context.getBean(PlainService.class).running).isFalse();
		});
	}

	@Test
	void methodsOfAServiceAreNotGuarded() {
		this.contextRunner.withBean("service", Service.class)
			.run((context) -> assertThat(context.getBean(Service.class).work()).isTrue());
	}

	@Test
	void annotatedMethodsOfAServiceMayRunOnGrant() {
		this.contextRunner.withBean(ServiceWithJob.class).run((context) -> {
			context.getBean(ServiceWithJob.class).job();
			assertThat(log(context)).isEmpty();
			context.getBean(TestLeadership.class).grant();
			await().untilAsserted(() -> assertThat(log(context)).containsOnlyOnce("job"));
			context.getBean(TestLeadership.class).revoke();
			context.getBean(TestLeadership.class).grant();
			await().until(() -> log(context).stream().filter("job"::equals).count() == 2);
		});
	}

	@Test
	void pauseStopsAndRestartStartsWithLeadership() {
		this.contextRunner.withBean("service", Service.class).run((context) -> {
			context.getBean(TestLeadership.class).grant();
			context.getSourceApplicationContext().pause();
			assertThat(log(context)).startsWith("granted", "start service")
				.contains("stop service", "revoked")
				.hasSize(4);
			context.getSourceApplicationContext().restart();
			await().until(() -> log(context).size() == 6);
			assertThat(log(context).subList(4, 6)).containsExactly("granted", "start service");
		});
	}

	@Test
	void closeStopsItBeforeBeansAreDestroyed() {
		Log[] log = new Log[1];
		this.contextRunner.withBean("service", Service.class)
			.withBean("needed", AutoCloseable.class, () -> () -> log[0].entries.add("destroyed"))
			.run((context) -> {
				log[0] = context.getBean(Log.class);
				context.getBean(TestLeadership.class).grant();
			});
		assertThat(log[0].entries.subList(0, 3)).containsExactly("granted", "start service", "stop service");
		assertThat(log[0].entries).endsWith("destroyed").hasSize(5);
	}

	@Test
	void startAndStopFollowTheOrderOfPhases() {
		this.contextRunner.withUserConfiguration(PhasesConfiguration.class).run((context) -> {
			context.getBean(TestLeadership.class).grant();
			assertThat(log(context)).containsExactly("granted", "start low", "start first", "start second",
					"start high");
			context.getBean(TestLeadership.class).revoke();
			assertThat(log(context).subList(5, 7)).startsWith("stop high");
			// Those of one phase at the same time
			assertThat(log(context).subList(6, 8)).containsExactlyInAnyOrder("stop first", "stop second");
			assertThat(log(context).subList(8, 10)).containsExactly("stop low", "revoked");
		});
	}

	@Test
	void manyGrantsAndRevokesNeverOverlap() {
		this.contextRunner.withBean("service", Service.class).run((context) -> {
			TestLeadership leadership = context.getBean(TestLeadership.class);
			for (int i = 0; i < 20; i++) {
				leadership.grant();
				leadership.revoke((i % 2 == 0) ? Reason.RESIGNED : Reason.LEASE_EXPIRED);
			}
			assertThat(log(context)).hasSize(80);
			for (int i = 0; i < 80; i += 4) {
				assertThat(log(context).subList(i, i + 4)).containsExactly("granted", "start service", "stop service",
						"revoked");
			}
		});
	}

	@Test
	void handOverWaitsForTheStop() {
		this.contextRunner.withBean("slow", SlowService.class).run((context) -> {
			context.getBean(TestLeadership.class).grant();
			SlowService service = target(context, SlowService.class);
			CompletableFuture<Boolean> resignation = context.getBean(LeaderElector.class).resign();
			assertThat(service.stopping.await(10, TimeUnit.SECONDS)).isTrue();
			assertThat(resignation).isNotDone();
			assertThat(log(context)).doesNotContain("revoked");
			service.mayStop.countDown();
			assertThat(resignation.get(10, TimeUnit.SECONDS)).isTrue();
			assertThat(log(context)).containsSubsequence("stopping", "stop slow", "revoked");
			assertThat(service.interrupted).isFalse();
		});
	}

	@Test
	void stopIsInterruptedAfterDrainTimeout(CapturedOutput output) {
		this.contextRunner.withBean("slow", SlowService.class)
			.withPropertyValues("leader-election.drain-timeout=200ms")
			.run((context) -> {
				context.getBean(TestLeadership.class).grant();
				context.getBean(TestLeadership.class).revoke();
				SlowService service = target(context, SlowService.class);
				assertThat(service.interrupted).isTrue();
				assertThat(service.running).isFalse();
				assertThat(output).doesNotContain("Services not stopped in time");
			});
	}

	@ParameterizedTest
	@EnumSource(names = { "RESIGNED", "SESSION_LOST" })
	void stopThatNeverEndsIsSaidOnceAndTheServiceIsNotStartedBesideIt(Reason reason, CapturedOutput output) {
		this.contextRunner.withBean("slow", SlowService.class)
			.withPropertyValues("leader-election.drain-timeout=200ms", "leader-election.services.start-attempts=1")
			.run((context) -> {
				SlowService service = target(context, SlowService.class);
				service.stubborn = true;
				TestLeadership leadership = context.getBean(TestLeadership.class);
				leadership.grant();
				leadership.revoke(reason);
				assertThat(output).containsOnlyOnce("Services not stopped in time: ['slow']");
				await().untilAsserted(
						() -> assertThat(output).contains((reason == Reason.RESIGNED) ? ", not cleanly" : "Lost"));
				assertThat(log(context)).endsWith("stopping", "revoked");
				leadership.grant();
				await().untilAsserted(() -> assertThat(output).contains("has not stopped since an earlier term")
					.contains("resigning"));
				assertThat(log(context)).filteredOn((entry) -> entry.startsWith("start")).hasSize(1);
				service.mayStop.countDown();
				await().until(() -> !service.running);
				leadership.revoke();
				leadership.grant();
				assertThat(log(context)).filteredOn((entry) -> entry.startsWith("start")).hasSize(2);
			});
	}

	@Test
	void startInProgressIsInterruptedByALoss() {
		leader().withBean("late", SlowToStart.class).run((context) -> {
			SlowToStart service = target(context, SlowToStart.class);
			assertThat(service.starting.await(10, TimeUnit.SECONDS)).isTrue();
			context.getBean(TestLeadership.class).revoke(Reason.LEASE_EXPIRED);
			await().untilAsserted(() -> assertThat(log(context)).contains("interrupted", "revoked"));
			assertThat(log(context)).doesNotContain("start late");
			assertThat(service.running).isFalse();
		});
	}

	@Test
	void startInProgressIsWaitedForByAHandOverAndThenStopped() {
		leader().withBean("late", SlowToStart.class).run((context) -> {
			SlowToStart service = target(context, SlowToStart.class);
			assertThat(service.starting.await(10, TimeUnit.SECONDS)).isTrue();
			CompletableFuture<Boolean> resignation = context.getBean(LeaderElector.class).resign();
			service.mayStart.countDown();
			assertThat(resignation.get(10, TimeUnit.SECONDS)).isTrue();
			assertThat(log(context)).startsWith("granted", "start late", "stop late", "revoked")
				.doesNotContain("interrupted");
		});
	}

	@Test
	void startIsTriedAgainWhileThisNodeLeads(CapturedOutput output) {
		this.contextRunner.withBean("failing", FailingService.class).run((context) -> {
			FailingService service = target(context, FailingService.class);
			service.failures = 2;
			context.getBean(TestLeadership.class).grant();
			assertThat(service.attempts).isEqualTo(3);
			assertThat(service.running).isTrue();
			assertThat(context.getBean(LeaderElector.class).isLeader()).isTrue();
			assertThat(output).contains("'failing' has failed to start, retrying in 500ms (attempt 1 of 3")
				.contains("attempt 2 of 3")
				.contains("Not yet");
		});
	}

	@Test
	void nodeResignsWhenAServiceCannotBeStarted(CapturedOutput output) {
		this.contextRunner.withUserConfiguration(FailingConfiguration.class)
			.withPropertyValues("leader-election.services.start-attempts=2")
			.run((context) -> {
				FailingService service = target(context, FailingService.class);
				service.failures = 2;
				context.getBean(TestLeadership.class).grant();
				await().untilAsserted(() -> assertThat(log(context)).startsWith("granted", "start before",
						"stop failing", "stop failing", "stop before", "revoked"));
				assertThat(service.attempts).isEqualTo(2);
				assertThat(output).contains("giving up after attempt 2 and resigning");
			});
	}

	@Test
	void contextIsClosedAlthoughAStartNeverEnds(CapturedOutput output) {
		Blocked service = new Blocked();
		leader().withBean("blocked", Blocked.class, () -> service)
			.withPropertyValues("leader-election.drain-timeout=100ms")
			.run((context) -> assertThat(service.starting.await(10, TimeUnit.SECONDS)).isTrue());
		service.mayEnd.countDown();
		assertThat(output).contains("Services not stopped in time: ['blocked']")
			.contains("Service 'blocked' has not stopped within 2s, no longer waiting for it");
	}

	@Test
	void startThatHangsHasFailed(CapturedOutput output) {
		this.contextRunner.withBean("late", SlowToStart.class)
			.withPropertyValues("leader-election.services.start-attempts=2",
					"leader-election.services.start-timeout=100ms")
			.run((context) -> {
				context.getBean(TestLeadership.class).grant();
				await().untilAsserted(() -> assertThat(log(context)).endsWith("revoked")
					.filteredOn("interrupted"::equals)
					.hasSize(2));
				assertThat(target(context, SlowToStart.class).running).isFalse();
				assertThat(output).contains("'late' has not started within 100ms")
					.contains("retrying in 500ms (attempt 1 of 2")
					.contains("giving up after attempt 2 and resigning");
			});
	}

	@Test
	void failedStopIsSaidAndMadeUpForBeforeTheNextStart(CapturedOutput output) {
		this.contextRunner.withBean("service", Service.class, FailingToStop::new).run((context) -> {
			TestLeadership leadership = context.getBean(TestLeadership.class);
			leadership.grant();
			leadership.revoke();
			assertThat(output).contains("Service 'service' has failed to stop").contains("Not now");
			await().untilAsserted(() -> assertThat(output).contains(", not cleanly"));
			leadership.grant();
			assertThat(((FailingToStop) target(context, Service.class)).starts).isEqualTo(2);
			assertThat(((FailingToStop) target(context, Service.class)).stops).isEqualTo(2);
		});
	}

	@Test
	void serviceOfAnotherElectionIsLeftAlone() {
		this.contextRunner.withUserConfiguration(ElectionsConfiguration.class)
			.withPropertyValues("leader-election.elections.reports.candidate=true", "test.election=reports")
			.run((context) -> {
				TestLeadership leadership = context.getBean(TestLeadership.class);
				leadership.grant("reports");
				assertThat(log(context)).containsExactly("granted", "start reports");
				leadership.grant();
				leadership.revoke("reports", Reason.SESSION_LOST);
				assertThat(log(context)).containsExactly("granted", "start reports", "granted", "start default",
						"stop reports", "revoked");
			});
	}

	@Test
	void containerThatCannotBeExtendedIsDeclaredByItsInterface() {
		this.contextRunner.withUserConfiguration(ForeignConfiguration.class).run((context) -> {
			SmartLifecycle bean = context.getBean("foreign", SmartLifecycle.class);
			ForeignContainer container = context.getBean(ForeignConfiguration.class).container;
			context.getSourceApplicationContext().start();
			assertThat(bean.isAutoStartup()).isFalse();
			assertThat(container.starts).isZero();
			context.getBean(TestLeadership.class).grant();
			assertThat(container.running).isTrue();
			assertThat(bean.isRunning()).isTrue();
			context.getBean(TestLeadership.class).revoke(Reason.SESSION_LOST);
			assertThat(container.running).isFalse();
		});
	}

	@Test
	void asynchronousMulticasterChangesNothing() {
		this.contextRunner.withUserConfiguration(AsynchronousConfiguration.class)
			.withBean("service", Service.class)
			.run((context) -> {
				for (int i = 0; i < 10; i++) {
					context.getBean(TestLeadership.class).grant();
					context.getBean(TestLeadership.class).revoke();
				}
				assertThat(log(context)).filteredOn((entry) -> entry.endsWith("service"))
					.hasSize(20)
					.startsWith("start service", "stop service", "start service")
					.endsWith("stop service");
			});
	}

	@Test
	void listenerThatThrowsKeepsNoServiceFromStarting() {
		this.contextRunner.withBean("service", Service.class)
			.withBean("thrower", ThrowingListener.class)
			.run((context) -> {
				context.getBean(TestLeadership.class).grant();
				assertThat(context.getBean(Service.class).isRunning()).isTrue();
			});
	}

	@Test
	void lazyServiceIsCreatedAndStarted() {
		this.contextRunner.withUserConfiguration(LazyConfiguration.class).run((context) -> {
			assertThat(context.getBeanFactory().containsSingleton("plain")).isTrue();
			context.getBean(TestLeadership.class).grant();
			PlainService service = context.getBean(PlainService.class);
			await().until(service::isRunning);
			context.getBean(TestLeadership.class).revoke();
			assertThat(service.isRunning()).isFalse();
		});
	}

	@Test
	void stopByHandLastsUntilStartByHandOrTheNextGrant() {
		this.contextRunner.withBean("service", Service.class).run((context) -> {
			Service service = context.getBean(Service.class);
			context.getBean(TestLeadership.class).grant();
			service.stop();
			assertThat(service.isRunning()).isFalse();
			service.start();
			await().until(service::isRunning);
			CompletableFuture<Void> stopped = new CompletableFuture<>();
			service.stop(() -> stopped.complete(null));
			stopped.get(10, TimeUnit.SECONDS);
			assertThat(service.isRunning()).isFalse();
			context.getBean(TestLeadership.class).revoke();
			context.getBean(TestLeadership.class).grant();
			assertThat(service.isRunning()).isTrue();
		});
	}

	@Test
	void startByHandWaitsForAStartInProgress(CapturedOutput output) {
		leader().withBean("late", SlowToStart.class).run((context) -> {
			SlowToStart service = target(context, SlowToStart.class);
			assertThat(service.starting.await(10, TimeUnit.SECONDS)).isTrue();
			context.getBean(SlowToStart.class).start();
			service.mayStart.countDown();
			await().until(() -> service.running);
			context.getBean(TestLeadership.class).revoke();
			assertThat(log(context)).containsExactly("granted", "start late", "stop late", "revoked");
			assertThat(output).doesNotContain("has failed to start");
		});
	}

	@Test
	void existingInstanceIsRefused() {
		this.contextRunner.withInitializer(
				(context) -> ((ConfigurableListableBeanFactory) ((AbstractApplicationContext) context).getBeanFactory())
					.registerSingleton("finished", new Service(new Log())))
			.run((context) -> assertThat(context).getFailure()
				.isInstanceOf(InvalidUsageException.class)
				.hasMessageContaining(
						"is @LeaderOnly, but exists without the proxy by which leadership starts and stops it"));
	}

	private ApplicationContextRunner leader() {
		return this.contextRunner.withPropertyValues("leader-election-test.role=leader");
	}

	private static List<String> log(AssertableApplicationContext context) {
		return context.getBean(Log.class).entries;
	}

	private static <T> T target(AssertableApplicationContext context, Class<T> type) {
		return AopTestUtils.getUltimateTargetObject(context.getBean(type));
	}

	static class ServiceWithJob extends Service {

		ServiceWithJob(Log log) {
			super(log);
		}

		@LeaderOnly(runOnGrant = true)
		void job() {
			this.log.entries.add("job");
		}

	}

	@Configuration(proxyBeanMethods = false)
	static class PhasesConfiguration {

		@Bean
		Service high(Log log) {
			return new Service(log, "high").inPhase(10);
		}

		@Bean
		Service first(Log log) {
			return new Service(log, "first").inPhase(5);
		}

		@Bean
		Service second(Log log) {
			return new Service(log, "second").inPhase(5);
		}

		@Bean
		Service low(Log log) {
			return new Service(log, "low").inPhase(-5);
		}

	}

	@Configuration(proxyBeanMethods = false)
	static class FailingConfiguration {

		@Bean
		Service before(Log log) {
			return new Service(log, "before").inPhase(1);
		}

		@Bean
		FailingService failing(Log log) {
			return new FailingService(log);
		}

		@Bean
		@LeaderOnly
		Service after(Log log) {
			return new Service(log, "after");
		}

	}

	@Configuration(proxyBeanMethods = false)
	static class ElectionsConfiguration {

		@Bean
		@LeaderOnly("${test.election}")
		Service reports(Log log) {
			return new Service(log, "reports");
		}

		@Bean
		Service other(Log log) {
			return new Service(log, "default");
		}

	}

	@Configuration(proxyBeanMethods = false)
	static class ForeignConfiguration {

		final ForeignContainer container = new ForeignContainer();

		@Bean
		@LeaderOnly
		SmartLifecycle foreign() {
			return this.container;
		}

	}

	@Configuration(proxyBeanMethods = false)
	static class AsynchronousConfiguration {

		@Bean(AbstractApplicationContext.APPLICATION_EVENT_MULTICASTER_BEAN_NAME)
		ApplicationEventMulticaster multicaster() {
			SimpleApplicationEventMulticaster multicaster = new SimpleApplicationEventMulticaster();
			multicaster.setTaskExecutor(new SimpleAsyncTaskExecutor());
			return multicaster;
		}

	}

	@Configuration(proxyBeanMethods = false)
	static class LazyConfiguration {

		@Bean
		@Lazy
		PlainService plain() {
			return new PlainService();
		}

	}

	static class ThrowingListener {

		@EventListener
		void granted(LeadershipGrantedEvent event) {
			throw new IllegalStateException("Bad listener");
		}

	}

	static class FailingToStop extends Service {

		int starts;

		int stops;

		FailingToStop() {
			super(new Log());
		}

		@Override
		public void start() {
			this.starts++;
			super.start();
		}

		@Override
		public void stop() {
			if (this.stops++ == 0) {
				throw new IllegalStateException("Not now");
			}
			super.stop();
		}

	}

}
