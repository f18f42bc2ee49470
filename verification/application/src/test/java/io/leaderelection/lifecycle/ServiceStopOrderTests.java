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
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.stream.Stream;

import io.leaderelection.LeaderElector;
import io.leaderelection.annotation.LeaderOnly;
import io.leaderelection.autoconfigure.LeaderElectionAutoConfiguration;
import io.leaderelection.engine.DefaultLeaderElector;
import io.leaderelection.engine.DefaultLeaderElectors;
import io.leaderelection.lifecycle.Services.FailingToStop;
import io.leaderelection.lifecycle.Services.ForeignContainer;
import io.leaderelection.lifecycle.Services.Log;
import io.leaderelection.lifecycle.Services.PlainService;
import io.leaderelection.lifecycle.Services.Service;
import io.leaderelection.test.TestLeadership;
import io.leaderelection.test.TestLeadershipAutoConfiguration;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

import org.springframework.beans.factory.config.BeanDefinitionCustomizer;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.Lifecycle;
import org.springframework.context.Phased;
import org.springframework.context.SmartLifecycle;
import org.springframework.test.util.AopTestUtils;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Tests for the order in which leader work and services end, for every cause.
 */
@Timeout(60)
@Tag("ring3")
class ServiceStopOrderTests {

	private static final long MOMENT = 300;

	private final ApplicationContextRunner contextRunner = new ApplicationContextRunner()
		.withConfiguration(
				AutoConfigurations.of(LeaderElectionAutoConfiguration.class, TestLeadershipAutoConfiguration.class))
		.withBean(Log.class)
		.withPropertyValues("leader-election.mode=always", "leader-election-test.role=leader");

	@ParameterizedTest(name = "{0}, {1}")
	@MethodSource("endsAndPhases")
	void workEndsBeforeASmartLifecycleIsStopped(String name, int phase, Consumer<ConfigurableApplicationContext> end) {
		this.contextRunner.withBean("service", Service.class, () -> new Service(new Log(), "service", phase))
			.run((context) -> assertOrder(context.getSourceApplicationContext(), end));
	}

	@ParameterizedTest(name = "{0}, {1}")
	@MethodSource("endsAndPhases")
	void workEndsBeforeAPlainLifecycleIsStopped(String name, int phase, Consumer<ConfigurableApplicationContext> end) {
		this.contextRunner.withBean("service", Plain.class, () -> new Plain(phase))
			.run((context) -> assertOrder(context.getSourceApplicationContext(), end));
	}

	@Test
	void workEndsBeforeServicesAreStoppedWithWhatTheyDependOn() {
		BeanDefinitionCustomizer dependent = (service) -> service.setDependsOn("needed");
		ApplicationContextRunner runner = this.contextRunner.withBean("needed", ForeignContainer.class);
		for (ApplicationContextRunner each : List.of(
				runner.withBean("service", Service.class, () -> new Service(new Log(), "service"), dependent),
				runner.withBean("service", Plain.class, () -> new Plain(0), dependent))) {
			each.run((context) -> assertOrder(context.getSourceApplicationContext(),
					ConfigurableApplicationContext::close));
		}
	}

	@Test
	void containerStopsWhatLeadershipHasFailedToStop() {
		FailingToStop service = new FailingToStop(new Log());
		this.contextRunner.withBean("service", Service.class, () -> service).run((context) -> awaitStart(service));
		assertThat(service.stops).isEqualTo(2);
		assertThat(service.running).isFalse();
	}

	@Test
	void servicesAreLeftToLeadershipForABoundedTime() {
		CompletableFuture<Void> never = new CompletableFuture<>();
		Service target = new Service(new Log(), "service");
		this.contextRunner.withBean("service", Service.class, () -> target)
			.withBean("plain", PlainService.class)
			.run((context) -> {
				Service service = context.getBean(Service.class);
				PlainService plain = context.getBean(PlainService.class);
				awaitStart(service);
				awaitStart(plain);
				DefaultLeaderElector elector = context.getBean(DefaultLeaderElectors.class).getDefault();
				context.getBean(LeaderServices.class).handingOver(elector, never, Duration.ofMillis(MOMENT));
				CompletableFuture<Void> stopped = new CompletableFuture<>();
				service.stop(() -> stopped.complete(null));
				assertThat(service.isRunning()).isTrue();
				stopped.get(30, TimeUnit.SECONDS);
				assertThat(service.isRunning()).isFalse();
				plain.stop();
				assertThat(AopTestUtils.<PlainService>getTargetObject(plain).running).isFalse();
			});
	}

	@Test
	void leaderWorkThatStopsAServiceDoesNotWaitForTheHandOver() {
		CompletableFuture<Void> never = new CompletableFuture<>();
		this.contextRunner.withBean("plain", PlainService.class).run((context) -> {
			PlainService plain = context.getBean(PlainService.class);
			awaitStart(plain);
			DefaultLeaderElector elector = context.getBean(DefaultLeaderElectors.class).getDefault();
			context.getBean(LeaderServices.class).handingOver(elector, never, Duration.ofDays(1));
			assertThat(elector.runIfLeader(plain::stop)).isTrue();
			assertThat(plain.isRunning()).isFalse();
		});
	}

	@Test
	void threadsHaveTheClassLoaderOfTheContextAndNothingElseOfWhoAsks() throws Exception {
		InheritableThreadLocal<String> inheritable = new InheritableThreadLocal<>();
		ClassLoader original = Thread.currentThread().getContextClassLoader();
		List<Object> inherited = new ArrayList<>();
		inheritable.set("of the test");
		try {
			Plain bean = new Plain(0) {

				@Override
				public void start() {
					inherited.add(String.valueOf(inheritable.get()));
					inherited.add(Thread.currentThread().getContextClassLoader());
					super.start();
				}

			};
			LeaderService service = new LeaderService("bean", bean);
			Thread.currentThread().setContextClassLoader(null);
			service.submitStart(() -> true).get(30, TimeUnit.SECONDS);
			assertThat(inherited).containsExactly("null", original);
		}
		finally {
			inheritable.remove();
			Thread.currentThread().setContextClassLoader(original);
		}
	}

	private static void assertOrder(ConfigurableApplicationContext context,
			Consumer<ConfigurableApplicationContext> end) throws Exception {
		LeaderElector elector = context.getBean(LeaderElector.class);
		Lifecycle service = context.getBean("service", Lifecycle.class);
		Lifecycle target = AopTestUtils.getTargetObject(service);
		awaitStart(target);
		CountDownLatch working = new CountDownLatch(1);
		CompletableFuture<Boolean> runningWhenWorkEnded = CompletableFuture.supplyAsync(() -> {
			boolean[] running = new boolean[1];
			elector.runIfLeader(() -> {
				working.countDown();
				await().until(() -> !elector.isLeader());
				// Long enough for a container that does not wait for this work
				running[0] = isRunningFor(target, Duration.ofMillis(MOMENT));
			});
			return running[0];
		});
		assertThat(working.await(30, TimeUnit.SECONDS)).isTrue();
		end.accept(context);
		assertThat(runningWhenWorkEnded.get(30, TimeUnit.SECONDS)).as("running when leader work ended").isTrue();
		await().until(() -> !target.isRunning());
	}

	private static boolean isRunningFor(Lifecycle target, Duration duration) {
		long deadline = System.nanoTime() + duration.toNanos();
		while (target.isRunning() && deadline - System.nanoTime() > 0) {
			Thread.onSpinWait();
		}
		return target.isRunning();
	}

	private static void awaitStart(Lifecycle service) {
		await().until(service::isRunning);
	}

	static Stream<Arguments> endsAndPhases() {
		return Stream.of(SmartLifecycle.DEFAULT_PHASE, SmartLifecycle.DEFAULT_PHASE - 1, 0, Integer.MIN_VALUE)
			.flatMap((phase) -> Stream.of(ending("close", phase, ConfigurableApplicationContext::close),
					ending("stop", phase, ConfigurableApplicationContext::stop),
					ending("pause", phase, ConfigurableApplicationContext::pause),
					ending("resign", phase, (context) -> context.getBean(LeaderElector.class).resign()),
					ending("revoke", phase, (context) -> context.getBean(TestLeadership.class).revoke())));
	}

	private static Arguments ending(String name, int phase, Consumer<ConfigurableApplicationContext> end) {
		return Arguments.of(name, phase, end);
	}

	/**
	 * No {@code SmartLifecycle}, but in a phase.
	 */
	@LeaderOnly
	static class Plain extends PlainService implements Phased {

		private final int phase;

		Plain(int phase) {
			this.phase = phase;
		}

		@Override
		public int getPhase() {
			return this.phase;
		}

	}

}
