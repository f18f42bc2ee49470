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

import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

import io.leaderelection.LeaderElector;
import io.leaderelection.LeadershipGrantedEvent;
import io.leaderelection.LeadershipRevokedEvent.Reason;
import io.leaderelection.annotation.InvalidUsageException;
import io.leaderelection.annotation.LeaderOnly;
import io.leaderelection.autoconfigure.LeaderElectionAutoConfiguration;
import io.leaderelection.engine.ElectionSettings;
import io.leaderelection.lifecycle.Services.Blocked;
import io.leaderelection.lifecycle.Services.FailingService;
import io.leaderelection.lifecycle.Services.FailingToStop;
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
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;
import org.springframework.context.SmartLifecycle;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.event.ApplicationEventMulticaster;
import org.springframework.context.event.EventListener;
import org.springframework.context.event.SimpleApplicationEventMulticaster;
import org.springframework.context.support.AbstractApplicationContext;
import org.springframework.core.task.SimpleAsyncTaskExecutor;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Tests for {@link LeaderServices} in an application context.
 */
@ExtendWith(OutputCaptureExtension.class)
@Timeout(60)
@Tag("ring2")
class LeaderServicesTests {

	private static final String LEADER = "leader-election-test.role=leader";

	private final Log log = new Log();

	private final Service service = new Service(this.log, "service");

	private final ApplicationContextRunner contextRunner = new ApplicationContextRunner()
		.withConfiguration(AutoConfigurations.of(LeaderElectionAutoConfiguration.class,
				TestLeadershipAutoConfiguration.class, AopAutoConfiguration.class))
		.withBean(Log.class, () -> this.log)
		.withPropertyValues("leader-election.mode=always", "leader-election-test.role=follower");

	@Test
	void isStartedOnGrantAfterListenersAndStoppedOnRevokeBeforeListeners() {
		with(this.service).run((context) -> {
			TestLeadership leadership = context.getBean(TestLeadership.class);
			assertThat(this.log.entries).isEmpty();
			leadership.grant();
			assertThat(this.log.entries).containsExactly("granted", "start service");
			assertThat(context.getBean(Service.class).isRunning()).isTrue();
			leadership.revoke();
			assertThat(this.log.entries).containsExactly("granted", "start service", "stop service", "revoked");
			assertThat(context.getBean(Service.class).isRunning()).isFalse();
		});
	}

	@Test
	void contextNeverStartsIt() {
		with(this.service).withBean("plain", PlainService.class).run((context) -> {
			assertThat(context.getBean(Service.class).isAutoStartup()).isFalse();
			context.getSourceApplicationContext().start();
			context.getBean(Service.class).start();
			context.getSourceApplicationContext().pause();
			context.getSourceApplicationContext().restart();
			// What is asked for runs in order: a start would be done by now
			context.getBean(Service.class).stop();
			context.getBean(PlainService.class).stop();
			assertThat(this.log.entries).isEmpty();
			assertThat(context.getBean(PlainService.class).running).isFalse();
		});
	}

	@Test
	void methodsOfAServiceAreNotGuarded() {
		with(this.service).run((context) -> assertThat(context.getBean(Service.class).work()).isTrue());
	}

	@Test
	void annotatedMethodsOfAServiceMayRunOnGrant() {
		this.contextRunner.withBean(ServiceWithJob.class).run((context) -> {
			context.getBean(ServiceWithJob.class).job();
			assertThat(this.log.entries).isEmpty();
			context.getBean(TestLeadership.class).grant();
			await().untilAsserted(() -> assertThat(this.log.entries).containsOnlyOnce("job"));
			context.getBean(TestLeadership.class).revoke();
			context.getBean(TestLeadership.class).grant();
			await().until(() -> this.log.entries.stream().filter("job"::equals).count() == 2);
		});
	}

	@Test
	void pauseStopsAndRestartStartsWithLeadership() {
		with(this.service).run((context) -> {
			context.getBean(TestLeadership.class).grant();
			context.getSourceApplicationContext().pause();
			assertThat(this.log.entries).startsWith("granted", "start service")
				.contains("stop service", "revoked")
				.hasSize(4);
			context.getSourceApplicationContext().restart();
			await().until(() -> this.log.entries.size() == 6);
			assertThat(this.log.entries.subList(4, 6)).containsExactly("granted", "start service");
		});
	}

	@Test
	void closeStopsItBeforeBeansAreDestroyed() {
		with(this.service).withBean("needed", AutoCloseable.class, () -> () -> this.log.entries.add("destroyed"))
			.run((context) -> context.getBean(TestLeadership.class).grant());
		assertThat(this.log.entries.subList(0, 3)).containsExactly("granted", "start service", "stop service");
		assertThat(this.log.entries).endsWith("destroyed").hasSize(5);
	}

	@Test
	void startAndStopFollowTheOrderOfPhases() {
		with(new Service(this.log, "high", 10), new Service(this.log, "first", 5), new Service(this.log, "second", 5),
				new Service(this.log, "low", -5))
			.run((context) -> {
				context.getBean(TestLeadership.class).grant();
				assertThat(this.log.entries).containsExactly("granted", "start low", "start first", "start second",
						"start high");
				context.getBean(TestLeadership.class).revoke();
				assertThat(this.log.entries.subList(5, 7)).startsWith("stop high");
				// Those of one phase at the same time
				assertThat(this.log.entries.subList(6, 8)).containsExactlyInAnyOrder("stop first", "stop second");
				assertThat(this.log.entries.subList(8, 10)).containsExactly("stop low", "revoked");
			});
	}

	@Test
	void manyGrantsAndRevokesNeverOverlap() {
		with(this.service).run((context) -> {
			TestLeadership leadership = context.getBean(TestLeadership.class);
			for (int i = 0; i < 20; i++) {
				leadership.grant();
				leadership.revoke((i % 2 == 0) ? Reason.RESIGNED : Reason.LEASE_EXPIRED);
			}
			assertThat(this.log.entries).hasSize(80);
			for (int i = 0; i < 80; i += 4) {
				assertThat(this.log.entries.subList(i, i + 4)).containsExactly("granted", "start service",
						"stop service", "revoked");
			}
		});
	}

	@Test
	void handOverWaitsForTheStop() {
		SlowService service = new SlowService(this.log);
		with(service).run((context) -> {
			context.getBean(TestLeadership.class).grant();
			CompletableFuture<Boolean> resignation = context.getBean(LeaderElector.class).resign();
			assertThat(service.stopping.await(10, TimeUnit.SECONDS)).isTrue();
			assertThat(resignation).isNotDone();
			assertThat(this.log.entries).doesNotContain("revoked");
			service.mayStop.complete(null);
			assertThat(resignation.get(10, TimeUnit.SECONDS)).isTrue();
			assertThat(this.log.entries).containsSubsequence("stopping", "stop slow", "revoked");
			assertThat(service.interrupted).isFalse();
		});
	}

	@Test
	void stopIsInterruptedAfterDrainTimeout(CapturedOutput output) {
		SlowService service = new SlowService(this.log);
		with(service).withPropertyValues("leader-election.drain-timeout=200ms").run((context) -> {
			context.getBean(TestLeadership.class).grant();
			context.getBean(TestLeadership.class).revoke();
			assertThat(service.interrupted).isTrue();
			assertThat(service.running).isFalse();
			assertThat(output).doesNotContain("Services not stopped in time");
		});
	}

	@ParameterizedTest
	@EnumSource(names = { "RESIGNED", "SESSION_LOST" })
	void stopThatNeverEndsIsSaidOnceAndTheServiceIsNotStartedBesideIt(Reason reason, CapturedOutput output) {
		SlowService service = new SlowService(this.log);
		service.stubborn = true;
		with(service)
			.withPropertyValues("leader-election.drain-timeout=200ms", "leader-election.services.start-attempts=1")
			.run((context) -> {
				TestLeadership leadership = context.getBean(TestLeadership.class);
				leadership.grant();
				leadership.revoke(reason);
				assertThat(output).containsOnlyOnce("Services not stopped in time: ['slow']");
				await().untilAsserted(
						() -> assertThat(output).contains((reason == Reason.RESIGNED) ? ", not cleanly" : "Lost"));
				assertThat(this.log.entries).endsWith("stopping", "revoked");
				leadership.grant();
				await().untilAsserted(() -> assertThat(output).contains("has not stopped since an earlier term")
					.contains("resigning"));
				assertThat(this.log.entries).filteredOn((entry) -> entry.startsWith("start")).hasSize(1);
				service.mayStop.complete(null);
				await().until(() -> !service.running);
				leadership.revoke();
				leadership.grant();
				assertThat(this.log.entries).filteredOn((entry) -> entry.startsWith("start")).hasSize(2);
			});
	}

	@Test
	void startInProgressIsInterruptedByALoss() {
		SlowToStart service = new SlowToStart(this.log);
		with(service).withPropertyValues(LEADER).run((context) -> {
			assertThat(service.starting.await(10, TimeUnit.SECONDS)).isTrue();
			long lost = System.nanoTime();
			context.getBean(TestLeadership.class).revoke(Reason.LEASE_EXPIRED);
			await().untilAsserted(() -> assertThat(this.log.entries).contains("interrupted", "revoked"));
			// At once, and not after the grace
			assertThat(Duration.ofNanos(System.nanoTime() - lost)).isLessThan(ElectionSettings.GRACE);
			assertThat(this.log.entries).doesNotContain("start late");
			assertThat(service.running).isFalse();
		});
	}

	@Test
	void startInProgressIsWaitedForByAHandOverAndThenStopped() {
		SlowToStart service = new SlowToStart(this.log);
		with(service).withPropertyValues(LEADER).run((context) -> {
			assertThat(service.starting.await(10, TimeUnit.SECONDS)).isTrue();
			CompletableFuture<Boolean> resignation = context.getBean(LeaderElector.class).resign();
			service.mayStart.countDown();
			assertThat(resignation.get(10, TimeUnit.SECONDS)).isTrue();
			assertThat(this.log.entries).startsWith("granted", "start late", "stop late", "revoked")
				.doesNotContain("interrupted");
		});
	}

	@Test
	void startIsTriedAgainWhileThisNodeLeads(CapturedOutput output) {
		FailingService service = new FailingService(this.log);
		with(service).run((context) -> {
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
		FailingService service = new FailingService(this.log);
		with(new Service(this.log, "before", 1), service, new Service(this.log, "after"))
			.withPropertyValues("leader-election.services.start-attempts=2")
			.run((context) -> {
				context.getBean(TestLeadership.class).grant();
				await().untilAsserted(() -> assertThat(this.log.entries).startsWith("granted", "start before",
						"stop failing", "stop failing", "stop before", "revoked"));
				assertThat(service.attempts).isEqualTo(2);
				assertThat(output).contains("giving up after attempt 2 and resigning");
			});
	}

	@Test
	void contextIsClosedAlthoughAStartNeverEnds(CapturedOutput output) {
		Blocked service = new Blocked();
		this.contextRunner.withBean("blocked", Blocked.class, () -> service)
			.withPropertyValues(LEADER, "leader-election.drain-timeout=100ms")
			.run((context) -> assertThat(service.starting.await(10, TimeUnit.SECONDS)).isTrue());
		service.mayEnd.complete(null);
		assertThat(output).contains("Services not stopped in time: ['blocked']")
			.contains("Service 'blocked' has not stopped within 2s, no longer waiting for it");
	}

	@Test
	void startThatHangsHasFailed(CapturedOutput output) {
		SlowToStart service = new SlowToStart(this.log);
		with(service)
			.withPropertyValues("leader-election.services.start-attempts=2",
					"leader-election.services.start-timeout=100ms")
			.run((context) -> {
				context.getBean(TestLeadership.class).grant();
				await().untilAsserted(() -> assertThat(this.log.entries).endsWith("revoked")
					.filteredOn("interrupted"::equals)
					.hasSize(2));
				assertThat(service.running).isFalse();
				assertThat(output).contains("'late' has not started within 100ms")
					.contains("retrying in 500ms (attempt 1 of 2")
					.contains("giving up after attempt 2 and resigning");
			});
	}

	@Test
	void failedStopIsSaidAndMadeUpForBeforeTheNextStart(CapturedOutput output) {
		FailingToStop service = new FailingToStop(this.log);
		with(service).run((context) -> {
			TestLeadership leadership = context.getBean(TestLeadership.class);
			leadership.grant();
			leadership.revoke();
			assertThat(output).contains("Service 'service' has failed to stop").contains("Not now");
			await().untilAsserted(() -> assertThat(output).contains(", not cleanly"));
			leadership.grant();
			assertThat(this.log.entries).filteredOn("start service"::equals).hasSize(2);
			assertThat(service.stops).isEqualTo(2);
		});
	}

	@Test
	void serviceOfAnotherElectionIsLeftAlone() {
		with(new Service(this.log, "default")).withUserConfiguration(ReportsConfiguration.class)
			.withPropertyValues("leader-election.elections.reports.candidate=true", "test.election=reports")
			.run((context) -> {
				TestLeadership leadership = context.getBean(TestLeadership.class);
				leadership.grant("reports");
				assertThat(this.log.entries).containsExactly("granted", "start reports");
				leadership.grant();
				leadership.revoke("reports", Reason.SESSION_LOST);
				assertThat(this.log.entries).containsExactly("granted", "start reports", "granted", "start default",
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
		SimpleApplicationEventMulticaster multicaster = new SimpleApplicationEventMulticaster();
		multicaster.setTaskExecutor(new SimpleAsyncTaskExecutor());
		with(this.service)
			.withBean(AbstractApplicationContext.APPLICATION_EVENT_MULTICASTER_BEAN_NAME,
					ApplicationEventMulticaster.class, () -> multicaster)
			.run((context) -> {
				for (int i = 0; i < 10; i++) {
					context.getBean(TestLeadership.class).grant();
					context.getBean(TestLeadership.class).revoke();
				}
				assertThat(this.log.entries).filteredOn((entry) -> entry.endsWith("service"))
					.hasSize(20)
					.startsWith("start service", "stop service", "start service")
					.endsWith("stop service");
			});
	}

	@Test
	void listenerThatThrowsKeepsNoServiceFromStarting() {
		with(this.service).withBean("thrower", ThrowingListener.class).run((context) -> {
			context.getBean(TestLeadership.class).grant();
			assertThat(context.getBean(Service.class).isRunning()).isTrue();
		});
	}

	@Test
	void lazyServiceIsCreatedAndStarted() {
		this.contextRunner
			.withBean("plain", PlainService.class, PlainService::new, (definition) -> definition.setLazyInit(true))
			.run((context) -> {
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
		with(this.service).run((context) -> {
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
		SlowToStart service = new SlowToStart(this.log);
		with(service).withPropertyValues(LEADER).run((context) -> {
			assertThat(service.starting.await(10, TimeUnit.SECONDS)).isTrue();
			context.getBean(Service.class).start();
			service.mayStart.countDown();
			await().until(() -> service.running);
			context.getBean(TestLeadership.class).revoke();
			assertThat(this.log.entries).containsExactly("granted", "start late", "stop late", "revoked");
			assertThat(output).doesNotContain("has failed to start");
		});
	}

	@Test
	void existingInstanceIsRefused() {
		this.contextRunner.withInitializer(
				(context) -> ((ConfigurableListableBeanFactory) ((AbstractApplicationContext) context).getBeanFactory())
					.registerSingleton("finished", this.service))
			.run((context) -> assertThat(context).getFailure()
				.isInstanceOf(InvalidUsageException.class)
				.hasMessageContaining(
						"is @LeaderOnly, but exists without the proxy by which leadership starts and stops it"));
	}

	private ApplicationContextRunner with(Service... services) {
		ApplicationContextRunner runner = this.contextRunner;
		for (Service each : services) {
			runner = runner.withBean(each.name, Service.class, () -> each);
		}
		return runner;
	}

	static class ServiceWithJob extends Service {

		ServiceWithJob(Log log) {
			super(log, "service");
		}

		@LeaderOnly(runOnGrant = true)
		void job() {
			this.log.entries.add("job");
		}

	}

	@Configuration(proxyBeanMethods = false)
	static class ReportsConfiguration {

		@Bean
		@LeaderOnly("${test.election}")
		Service reports(Log log) {
			return new Service(log, "reports");
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

	static class ThrowingListener {

		@EventListener
		void granted(LeadershipGrantedEvent event) {
			throw new IllegalStateException("Bad listener");
		}

	}

}
