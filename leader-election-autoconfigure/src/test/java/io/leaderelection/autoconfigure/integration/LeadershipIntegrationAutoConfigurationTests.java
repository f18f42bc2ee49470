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

package io.leaderelection.autoconfigure.integration;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.stream.Stream;

import io.leaderelection.LeaderElector;
import io.leaderelection.LeaderElectors;
import io.leaderelection.LeadershipEvent;
import io.leaderelection.LeadershipGrantedEvent;
import io.leaderelection.LeadershipRevokedEvent;
import io.leaderelection.annotation.InvalidUsageException;
import io.leaderelection.autoconfigure.LeaderElectionAutoConfiguration;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import org.springframework.boot.LazyInitializationBeanFactoryPostProcessor;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.test.context.FilteredClassLoader;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;
import org.springframework.context.ApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.event.EventListener;
import org.springframework.core.NestedExceptionUtils;
import org.springframework.core.Ordered;
import org.springframework.core.annotation.Order;
import org.springframework.integration.config.EnableIntegration;
import org.springframework.integration.endpoint.AbstractEndpoint;
import org.springframework.integration.leader.Context;
import org.springframework.integration.leader.DefaultCandidate;
import org.springframework.integration.leader.event.AbstractLeaderEvent;
import org.springframework.integration.leader.event.OnRevokedEvent;
import org.springframework.integration.support.leader.LockRegistryLeaderInitiator;
import org.springframework.integration.support.locks.DefaultLockRegistry;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for {@link LeadershipIntegrationAutoConfiguration}.
 */
@ExtendWith(OutputCaptureExtension.class)
@Tag("ring1")
class LeadershipIntegrationAutoConfigurationTests {

	private static final Duration LIMIT = Duration.ofSeconds(30);

	private static final String INITIATOR = "The LockRegistryLeaderInitiator bean 'initiator' holds an election";

	private final ApplicationContextRunner plain = new ApplicationContextRunner()
		.withConfiguration(AutoConfigurations.of(LeaderElectionAutoConfiguration.class,
				LeadershipIntegrationAutoConfiguration.class))
		.withPropertyValues("leader-election.mode=always");

	private final ApplicationContextRunner contextRunner = this.plain.withUserConfiguration(Listener.class);

	@Test
	void isOffWithoutSpringIntegration() {
		this.plain.withClassLoader(new FilteredClassLoader("org.springframework.integration"))
			.run((context) -> assertThat(context).hasNotFailed().doesNotHaveBean(RoleEventPublisher.class));
	}

	@Test
	void canBeDisabled() {
		this.contextRunner.withPropertyValues("leader-election.integration.enabled=false").run((context) -> {
			assertThat(context).doesNotHaveBean(RoleEventPublisher.class);
			resign(context);
			assertThat(events(context, AbstractLeaderEvent.class)).isEmpty();
		});
	}

	@Test
	void roleHasTheNameOfTheElection() {
		this.contextRunner.withPropertyValues("leader-election.elections.reports.candidate=true").run((context) -> {
			awaitEvents(context, "OnGrantedEvent default", "OnGrantedEvent reports");
			resign(context);
			awaitEvents(context, "OnGrantedEvent default", "OnGrantedEvent reports", "OnRevokedEvent default",
					"OnGrantedEvent default");
		});
	}

	@Test
	void electionHasTheRolesOfTheProperty() {
		this.contextRunner
			.withPropertyValues("leader-election.elections.reports.candidate=true",
					"leader-election.integration.roles.default=orders, invoices",
					"leader-election.integration.roles.reports=")
			.run((context) -> {
				resign(context);
				awaitEvents(context, "OnGrantedEvent orders", "OnGrantedEvent invoices", "OnRevokedEvent orders",
						"OnRevokedEvent invoices", "OnGrantedEvent orders", "OnGrantedEvent invoices");
			});
	}

	@Test
	void endpointsAreStartedLastAndStoppedFirst() {
		this.contextRunner.run((context) -> {
			resign(context);
			awaitEvents(context, "OnGrantedEvent default", "OnRevokedEvent default", "OnGrantedEvent default");
			assertThat(context.getBean(Listener.class).events.stream().map((event) -> event.getClass().getSimpleName()))
				.startsWith("LeadershipGrantedEvent", "OnGrantedEvent", "OnRevokedEvent", "LeadershipRevokedEvent",
						"LeadershipGrantedEvent", "OnGrantedEvent");
		});
	}

	@Test
	void endpointsAreStartedWithLazyInitialization() {
		this.contextRunner
			.withInitializer(
					(context) -> context.addBeanFactoryPostProcessor(new LazyInitializationBeanFactoryPostProcessor()))
			.run((context) -> awaitEvents(context, "OnGrantedEvent default"));
	}

	@Test
	void contextIsThatOfItsTerm() {
		this.contextRunner.run((context) -> {
			awaitEvents(context, "OnGrantedEvent default");
			Context first = events(context, AbstractLeaderEvent.class).get(0).getContext();
			assertThat(first.getRole()).isEqualTo("default");
			assertThat(first.isLeader()).isTrue();
			first.yield();
			awaitEvents(context, "OnGrantedEvent default", "OnRevokedEvent default", "OnGrantedEvent default");
			Context second = events(context, AbstractLeaderEvent.class).get(2).getContext();
			assertThat(second.isLeader()).isTrue();
			assertThat(first.isLeader()).isFalse();
			first.yield();
			assertThat(second.isLeader()).isTrue();
		});
	}

	@Test
	void failingListenerAffectsNoOther(CapturedOutput output) {
		this.contextRunner.withBean(FailingListener.class, OnRevokedEvent.class).run((context) -> {
			resign(context);
			Awaitility.await()
				.untilAsserted(() -> assertThat(events(context, LeadershipGrantedEvent.class)).hasSize(2));
			assertThat(events(context, LeadershipEvent.class)).hasSize(3);
			assertThat(output).contains("A listener of OnRevokedEvent failed (LeadershipContext [role=default,")
				.contains("does not like it");
		});
	}

	@ParameterizedTest
	@ValueSource(classes = { LeadershipGrantedEvent.class, LeadershipRevokedEvent.class })
	void endpointIsStartedAndStoppedAlthoughAListenerOfTheElectionFails(Class<?> event, CapturedOutput output) {
		this.contextRunner.withBean(FailingListener.class, event)
			.withBean("led", TestEndpoint.class, "default", false)
			.run((context) -> {
				TestEndpoint led = context.getBean("led", TestEndpoint.class);
				Awaitility.await().until(led::isRunning);
				LeaderElector elector = context.getBean(LeaderElector.class);
				assertThat(elector.resign()).succeedsWithin(LIMIT).isEqualTo(true);
				assertThat(led.stops).isOne();
				assertThat(output).contains("A listener of " + event.getSimpleName() + " failed");
			});
	}

	@Test
	void endpointThatCannotBeStartedAffectsNeitherTheElectionNorOthers() {
		this.contextRunner.withBean("broken", TestEndpoint.class, "default", true)
			.withBean("sound", TestEndpoint.class, "default", false)
			.run((context) -> {
				TestEndpoint sound = context.getBean("sound", TestEndpoint.class);
				Awaitility.await().until(sound::isRunning);
				LeaderElector elector = context.getBean(LeaderElector.class);
				assertThat(elector.isLeader()).isTrue();
				assertThat(context.getBean("broken", TestEndpoint.class).isRunning()).isFalse();
				assertThat(elector.resign()).succeedsWithin(LIMIT).isEqualTo(true);
				assertThat(sound.stops).isOne();
			});
	}

	@Test
	void endpointOfAnotherRoleIsLeftAlone(CapturedOutput output) {
		this.contextRunner.withBean("led", TestEndpoint.class, "default", false)
			.withBean("other", TestEndpoint.class, "other", false)
			.run((context) -> {
				Awaitility.await().until(context.getBean("led", TestEndpoint.class)::isRunning);
				assertThat(context.getBean("other", TestEndpoint.class).isRunning()).isFalse();
				assertThat(output).contains("Roles [other] of Spring Integration follow no election, only "
						+ "{default=[default]}: set leader-election.integration.roles if they should");
			});
	}

	@Test
	void warnsOfAnEndpointThatTheContainerStarts(CapturedOutput output) {
		this.contextRunner.withPropertyValues("leader-election.candidate=false")
			.withBean("automatic", TestEndpoint.class, () -> {
				TestEndpoint endpoint = new TestEndpoint("default", false);
				endpoint.setAutoStartup(true);
				return endpoint;
			})
			.withBean("led", TestEndpoint.class, "default", false)
			.run((context) -> {
				assertThat(context.getBean("automatic", TestEndpoint.class).isRunning()).isTrue();
				assertThat(output).contains("Endpoint 'automatic' of role 'default' is started on every node")
					.doesNotContain("Endpoint 'led'");
			});
	}

	@Test
	void electionsOfAChildContextPublishOnce() {
		this.contextRunner.run((parent) -> this.contextRunner.withParent(parent).run((context) -> {
			awaitEvents(parent, "OnGrantedEvent default", "OnGrantedEvent default");
			resign(context);
			awaitEvents(context, "OnGrantedEvent default", "OnRevokedEvent default", "OnGrantedEvent default");
			Awaitility.await().untilAsserted(() -> assertThat(events(parent, LeadershipGrantedEvent.class)).hasSize(3));
			awaitEvents(parent, "OnGrantedEvent default", "OnGrantedEvent default", "OnRevokedEvent default",
					"OnGrantedEvent default");
		}));
	}

	@Test
	void unknownElectionIsRejected() {
		assertRejected(this.contextRunner.withPropertyValues("leader-election.integration.roles.report=orders"),
				"leader-election.integration.roles.report", "only [default]");
	}

	@Test
	void roleOfTwoElectionsIsRejected() {
		assertRejected(
				this.contextRunner.withPropertyValues("leader-election.elections.reports.candidate=true",
						"leader-election.integration.roles.default=reports"),
				"The role also follows the election 'default'");
	}

	@Test
	void roleOfAnotherInitiatorIsRejected() {
		ApplicationContextRunner runner = this.contextRunner.withBean("initiator", LockRegistryLeaderInitiator.class,
				() -> new LockRegistryLeaderInitiator(new DefaultLockRegistry(), new DefaultCandidate("id", "orders")));
		assertRejected(runner.withPropertyValues("leader-election.integration.roles.default=orders"), INITIATOR);
		runner.run((context) -> assertThat(context).hasNotFailed().hasSingleBean(RoleEventPublisher.class));
	}

	@Test
	void roleOfAnInitiatorThatIsBeingCreatedIsRejected() {
		assertRejected(this.contextRunner.withUserConfiguration(DependentInitiator.class), INITIATOR);
	}

	private static void assertRejected(ApplicationContextRunner runner, String... texts) {
		runner.run((context) -> assertThat(NestedExceptionUtils.getMostSpecificCause(context.getStartupFailure()))
			.isInstanceOf(InvalidUsageException.class)
			.message()
			.contains(texts));
	}

	private static void resign(ApplicationContext context) {
		LeaderElector elector = context.getBean(LeaderElectors.class).getDefault();
		Awaitility.await().until(elector::isLeader);
		assertThat(elector.resign()).succeedsWithin(LIMIT).isEqualTo(true);
	}

	private static void awaitEvents(ApplicationContext context, String... expected) {
		Awaitility.await().untilAsserted(() -> assertThat(describe(context)).containsExactlyInAnyOrder(expected));
	}

	private static Stream<String> describe(ApplicationContext context) {
		return events(context, AbstractLeaderEvent.class).stream()
			.map((event) -> event.getClass().getSimpleName() + " " + event.getRole());
	}

	private static <E> List<E> events(ApplicationContext context, Class<E> type) {
		return context.getBean(Listener.class).events.stream().filter(type::isInstance).map(type::cast).toList();
	}

	static class DependentInitiator {

		@Bean
		LockRegistryLeaderInitiator initiator(RoleEventPublisher publisher) {
			return new LockRegistryLeaderInitiator(new DefaultLockRegistry(), new DefaultCandidate("id", "default"));
		}

	}

	@EnableIntegration
	static class Listener {

		private final List<Object> events = new CopyOnWriteArrayList<>();

		@EventListener
		void on(LeadershipEvent event) {
			this.events.add(event);
		}

		@EventListener
		void on(AbstractLeaderEvent event) {
			this.events.add(event);
		}

	}

	/**
	 * Fails in listeners of each event that a test names.
	 */
	static class FailingListener {

		private final Class<?> failing;

		FailingListener(Class<?> failing) {
			this.failing = failing;
		}

		@EventListener
		@Order(Ordered.HIGHEST_PRECEDENCE)
		void on(LeadershipEvent event) {
			fail(event);
		}

		@EventListener
		@Order(Ordered.LOWEST_PRECEDENCE)
		void on(OnRevokedEvent event) {
			fail(event);
		}

		private void fail(Object event) {
			if (this.failing.isInstance(event)) {
				throw new AssertionError("does not like it");
			}
		}

	}

	static class TestEndpoint extends AbstractEndpoint {

		private final boolean broken;

		private volatile int stops;

		TestEndpoint(String role, boolean broken) {
			setRole(role);
			setAutoStartup(false);
			this.broken = broken;
		}

		@Override
		public String getComponentType() {
			return "test-endpoint";
		}

		@Override
		protected void doStart() {
			if (this.broken) {
				throw new IllegalStateException("Cannot be started");
			}
		}

		@Override
		protected void doStop() {
			this.stops++;
		}

	}

}
