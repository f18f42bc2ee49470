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

package io.leaderelection.autoconfigure;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;
import java.util.function.Function;

import io.leaderelection.ElectionEvent;
import io.leaderelection.LeaderElector;
import io.leaderelection.LeadershipEvent;
import io.leaderelection.LeadershipGrantedEvent;
import io.leaderelection.LeadershipRevokedEvent;
import io.leaderelection.annotation.InvalidUsageException;
import io.leaderelection.engine.DefaultLeaderElectors;
import io.leaderelection.engine.ElectionStore;
import io.leaderelection.engine.LocalStore;
import io.leaderelection.engine.SessionException;
import io.leaderelection.engine.UnusableStoreException;
import io.leaderelection.lifecycle.LeaderServices;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;

import org.springframework.boot.WebApplicationType;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.boot.context.metrics.buffering.BufferingApplicationStartup;
import org.springframework.boot.context.properties.bind.Binder;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;
import org.springframework.boot.test.util.TestPropertyValues;
import org.springframework.context.ApplicationListener;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.SmartLifecycle;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.event.ContextClosedEvent;
import org.springframework.context.event.ContextRefreshedEvent;
import org.springframework.context.event.EventListener;
import org.springframework.context.support.GenericApplicationContext;
import org.springframework.core.metrics.StartupStep;
import org.springframework.mock.env.MockEnvironment;
import org.springframework.scheduling.concurrent.ExecutorConfigurationSupport;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.tuple;
import static org.awaitility.Awaitility.await;
import static org.mockito.BDDMockito.willThrow;
import static org.mockito.Mockito.mock;

/**
 * Tests for {@link LeaderElectionLifecycle}.
 */
@ExtendWith(OutputCaptureExtension.class)
@Timeout(60)
@Tag("ring1")
class LeaderElectionLifecycleTests {

	private static final ElectionStore UNREACHABLE = () -> {
		throw new SessionException("Out of reach", null);
	};

	private final GenericApplicationContext context = new GenericApplicationContext();

	private final List<ElectionEvent> events = Collections.synchronizedList(new ArrayList<>());

	private final BufferingApplicationStartup startup = new BufferingApplicationStartup(10_000);

	private LeaderElectionLifecycle lifecycle;

	private DefaultLeaderElectors electors;

	@AfterEach
	void stop() {
		if (this.lifecycle != null) {
			this.lifecycle.destroy();
		}
	}

	@Test
	void isStartedLastAndStoppedFirst() {
		create(LocalStore.always());
		assertThat(this.lifecycle.getPhase()).isEqualTo(SmartLifecycle.DEFAULT_PHASE)
			.isGreaterThan(ExecutorConfigurationSupport.DEFAULT_PHASE);
		assertThat(this.lifecycle.isAutoStartup()).isTrue();
		this.lifecycle.start();
		assertThat(this.lifecycle.isRunning()).isTrue();
		assertThat(this.electors.getDefault().isLeader()).isTrue();
	}

	@Test
	void waitsForTheFirstDecisionsOnlyForAWhile() {
		create(silentFor(60_000), "leader-election.elections.second.candidate=true");
		long start = System.nanoTime();
		this.lifecycle.start();
		assertThat(Duration.ofNanos(System.nanoTime() - start)).isBetween(Duration.ofMillis(2900),
				Duration.ofMillis(5500));
		assertThat(this.electors.getDefault().isLeader()).isFalse();
		assertThat(this.lifecycle.isRunning()).isTrue();
	}

	@Test
	void interruptEndsTheWaitAndIsKept() {
		create(silentFor(500));
		Thread.currentThread().interrupt();
		this.lifecycle.start();
		assertThat(Thread.interrupted()).isTrue();
		assertThat(this.lifecycle.isRunning()).isTrue();
	}

	@Test
	void stopWaitsForListenersAndThenCallsBack() throws InterruptedException {
		AtomicBoolean notified = new AtomicBoolean();
		create(LocalStore.always(), (event) -> {
			if (event instanceof LeadershipRevokedEvent) {
				sleep(200);
				notified.set(true);
			}
		});
		this.lifecycle.start();
		CountDownLatch stopped = new CountDownLatch(1);
		this.lifecycle.stop(() -> {
			assertThat(notified).isTrue();
			stopped.countDown();
		});
		assertThat(this.lifecycle.isRunning()).isFalse();
		assertThat(this.electors.getDefault().isLeader()).isFalse();
		assertThat(stopped.await(10, TimeUnit.SECONDS)).isTrue();
		assertThat(notified).isTrue();
	}

	@Test
	void stopCallsBackWhenNothingWasStarted() {
		create(LocalStore.always());
		AtomicBoolean called = new AtomicBoolean();
		this.lifecycle.stop(() -> called.set(true));
		assertThat(called).isTrue();
	}

	@Test
	void mayBeStartedAgainWhileItStops() {
		create(LocalStore.always(), (event) -> sleep(100));
		for (int i = 0; i < 3; i++) {
			this.lifecycle.start();
			this.lifecycle.stop(() -> {
			});
		}
		this.lifecycle.start();
		await().until(this.electors.getDefault()::isLeader);
		this.lifecycle.stop();
		assertAlternating();
	}

	@Test
	void gateShutsWhenThisContextIsClosedButTheContainerStillStops() {
		create(LocalStore.always());
		this.lifecycle.start();
		this.lifecycle.onApplicationEvent(new ContextClosedEvent(this.context));
		assertThat(this.electors.getDefault().isLeader()).isFalse();
		assertThat(this.lifecycle.isRunning()).isTrue();
	}

	@Test
	void refusesToStartOnUnusableStoreAndStopsWhatWasStarted() {
		ElectionStore unusable = () -> {
			throw new UnusableStoreException("Version 13", "Upgrade.", null);
		};
		create((election) -> election.equals("default") ? LocalStore.always() : unusable, (event) -> {
		}, mock(), "leader-election.elections.broken.candidate=true");
		assertThatExceptionOfType(InvalidUsageException.class).isThrownBy(this.lifecycle::start)
			.withMessage("Elections cannot be held on the configured database. Version 13 Upgrade.")
			.satisfies((ex) -> assertThat(ex.getAction()).isEqualTo("Upgrade."))
			.withCauseInstanceOf(UnusableStoreException.class);
		assertThat(this.lifecycle.isRunning()).isFalse();
		assertThat(this.electors.getDefault().isLeader()).isFalse();
		assertAlternating();
		// The timeline has only steps that have ended
		assertThat(this.startup.getBufferedTimeline().getEvents()).hasSize(1);
	}

	@Test
	void startsAsFollowerWhileTheStoreIsOutOfReach() {
		create(UNREACHABLE);
		this.lifecycle.start();
		assertThat(this.lifecycle.isRunning()).isTrue();
		assertThat(this.electors.getDefault().status().problem()).isEqualTo("Out of reach");
	}

	@Test
	void refusesToStartWhileTheStoreIsOutOfReachWithFailFast() {
		create(UNREACHABLE, "leader-election.fail-fast=true");
		assertThatExceptionOfType(InvalidUsageException.class).isThrownBy(this.lifecycle::start)
			.withMessageStartingWith("Leader election could not be started, and")
			.withMessageEndingWith("leader-election.fail-fast is set: Out of reach Make the database reachable, or set "
					+ "leader-election.fail-fast=false to start as a follower that keeps trying.")
			.havingCause()
			.isExactlyInstanceOf(SessionException.class)
			.withMessage("Out of reach");
		assertThat(this.lifecycle.isRunning()).isFalse();
	}

	@Test
	void refusesToStartWhileTheStoreIsSilentWithFailFast() {
		create(silentFor(30_000), "leader-election.fail-fast=true");
		assertThatExceptionOfType(IllegalStateException.class).isThrownBy(this.lifecycle::start)
			.havingCause()
			.withMessage("The database for leader election has not answered within 3s");
	}

	@Test
	void doesNotStartWhenTheStoreCannotBeUsed() {
		ElectionStoreFactory storeFactory = mock(ElectionStoreFactory.class);
		willThrow(new InvalidUsageException("No", "Do", null)).given(storeFactory).check();
		create((election) -> LocalStore.always(), (event) -> {
		}, storeFactory);
		assertThatExceptionOfType(InvalidUsageException.class).isThrownBy(this.lifecycle::start);
		assertThat(this.lifecycle.isRunning()).isFalse();
	}

	@Test
	void eventsComeInOrderOverStartPauseRestartAndClose(CapturedOutput output) {
		ConfigurableApplicationContext application = application();
		Recorder recorder = application.getBean(Recorder.class);
		assertThat(recorder.leaderWhenRefreshed).isTrue();
		LeaderElector elector = application.getBean(LeaderElector.class);
		await().untilAsserted(() -> assertThat(recorder.log).contains("granted"));
		application.pause();
		assertThat(elector.isLeader()).isFalse();
		application.restart();
		assertThat(elector.isLeader()).isTrue();
		application.close();
		assertThat(elector.isLeader()).isFalse();
		// The hand-over begins beside other listeners of the close, but the gate is shut
		// before
		assertThat(recorder.log).contains("closed false").doesNotContain("closed true");
		assertThat(recorder.log).filteredOn((entry) -> !entry.equals("refreshed") && !entry.startsWith("closed"))
			.containsExactly("worker started", "granted", "revoked STOPPED", "worker stopped", "worker started",
					"granted", "revoked STOPPED", "worker stopped");
		assertThat(output).doesNotContain("are not called");
	}

	@Test
	void waitForTheFirstDecisionIsAStepOfTheStartup() {
		this.startup.addFilter((step) -> step.getName().startsWith("leader.election"));
		try (ConfigurableApplicationContext context = builder().applicationStartup(this.startup)
			.run("--leader-election.elections.reports.candidate=false")) {
			assertThat(this.startup.getBufferedTimeline().getEvents()).singleElement().satisfies((event) -> {
				assertThat(event.getStartupStep().getName()).isEqualTo("leader.election.first-decision");
				assertThat(event.getStartupStep().getTags())
					.extracting(StartupStep.Tag::getKey, StartupStep.Tag::getValue)
					.containsExactly(tuple("default", "leader"), tuple("reports", "follower"));
			});
		}
	}

	@Test
	void startsEvenIfBeansAreInitializedLazily() {
		try (ConfigurableApplicationContext application = application("--spring.main.lazy-initialization=true")) {
			assertThat(application.getBean(LeaderElector.class).isLeader()).isTrue();
		}
	}

	@Test
	void childContextThatCloses() {
		try (ConfigurableApplicationContext application = application()) {
			GenericApplicationContext child = new GenericApplicationContext(application);
			child.refresh();
			child.close();
			assertThat(application.getBean(LeaderElector.class).isLeader()).isTrue();
		}
	}

	@Test
	void revocationAfterACloseInsideAGrantedListenerIsKnownToTheParentAndToTheLogOnly(CapturedOutput output) {
		List<String> ofParent = Collections.synchronizedList(new ArrayList<>());
		try (GenericApplicationContext parent = new GenericApplicationContext()) {
			parent.addApplicationListener(ApplicationListener
				.<LeadershipEvent>forPayload((event) -> ofParent.add(event.getClass().getSimpleName())));
			parent.refresh();
			ConfigurableApplicationContext application = builder().parent(parent).run();
			Recorder recorder = application.getBean(Recorder.class);
			await().until(() -> ofParent.size() == 1);
			application.addApplicationListener(
					ApplicationListener.<LeadershipGrantedEvent>forPayload((event) -> application.close()));
			application.getBean(LeaderElector.class).resign();
			await().until(() -> ofParent.size() == 4);
			assertThat(ofParent).containsExactly("LeadershipGrantedEvent", "LeadershipRevokedEvent",
					"LeadershipGrantedEvent", "LeadershipRevokedEvent");
			assertThat(recorder.log).contains("worker stopped")
				.filteredOn((entry) -> entry.startsWith("revoked"))
				.containsExactly("revoked RESIGNED");
			assertThat(output).containsOnlyOnce("Listeners of LeadershipRevokedEvent are not called");
		}
	}

	private static ConfigurableApplicationContext application(String... arguments) {
		return builder().run(arguments);
	}

	private static SpringApplicationBuilder builder() {
		return new SpringApplicationBuilder(Application.class, Recorder.class).web(WebApplicationType.NONE)
			.registerShutdownHook(false)
			.properties("leader-election.mode=always");
	}

	private void assertAlternating() {
		for (int i = 0; i < this.events.size(); i++) {
			assertThat(this.events.get(i))
				.isInstanceOf((i % 2 == 0) ? LeadershipGrantedEvent.class : LeadershipRevokedEvent.class);
		}
		assertThat(this.events).hasSizeGreaterThan(1);
		assertThat(this.events.size() % 2).isZero();
	}

	private static ElectionStore silentFor(long millis) {
		return () -> {
			sleep(millis);
			throw new SessionException("Out of reach", null);
		};
	}

	private void create(ElectionStore store, String... properties) {
		create((election) -> store, (event) -> {
		}, mock(), properties);
	}

	private void create(ElectionStore store, Consumer<ElectionEvent> listener) {
		create((election) -> store, listener, mock());
	}

	private void create(Function<String, ElectionStore> stores, Consumer<ElectionEvent> listener,
			ElectionStoreFactory storeFactory, String... properties) {
		MockEnvironment environment = new MockEnvironment();
		TestPropertyValues.of(properties).applyTo(environment);
		ElectionDefinitions definitions = ElectionDefinitions
			.of(Binder.get(environment).bindOrCreate("leader-election", LeaderElectionProperties.class), environment);
		this.electors = new DefaultLeaderElectors(definitions.all().stream().map(ElectionDefinition::settings).toList(),
				(settings) -> stores.apply(settings.election()), (event) -> {
					this.events.add(event);
					listener.accept(event);
				});
		this.lifecycle = new LeaderElectionLifecycle(this.electors, definitions, storeFactory, new LeaderServices(),
				List.of(properties).contains("leader-election.fail-fast=true"), this.context, this.startup);
	}

	private static void sleep(long millis) {
		try {
			Thread.sleep(millis);
		}
		catch (InterruptedException ex) {
			Thread.currentThread().interrupt();
		}
	}

	@Configuration(proxyBeanMethods = false)
	@EnableAutoConfiguration(excludeName = "org.springframework.boot.jdbc.autoconfigure.DataSourceAutoConfiguration")
	static class Application {

	}

	/**
	 * Something that leader work needs, and that records what happens.
	 */
	static class Recorder implements SmartLifecycle {

		private final LeaderElector elector;

		private final List<String> log = Collections.synchronizedList(new ArrayList<>());

		private boolean leaderWhenRefreshed;

		private boolean running;

		Recorder(LeaderElector elector) {
			this.elector = elector;
		}

		@EventListener
		void granted(LeadershipGrantedEvent event) {
			this.log.add("granted");
		}

		@EventListener
		void revoked(LeadershipRevokedEvent event) {
			this.log.add("revoked " + event.getReason());
		}

		@EventListener
		void refreshed(ContextRefreshedEvent event) {
			this.log.add("refreshed");
			this.leaderWhenRefreshed = this.elector.isLeader();
		}

		@EventListener
		void closed(ContextClosedEvent event) {
			this.log.add("closed " + this.elector.isLeader());
		}

		@Override
		public void start() {
			this.running = true;
			this.log.add("worker started");
		}

		@Override
		public void stop() {
			this.running = false;
			this.log.add("worker stopped");
		}

		@Override
		public boolean isRunning() {
			return this.running;
		}

		@Override
		public int getPhase() {
			return ExecutorConfigurationSupport.DEFAULT_PHASE;
		}

	}

}
