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

package io.leaderelection.autoconfigure.listener;

import java.util.Map;
import java.util.concurrent.atomic.AtomicBoolean;

import io.leaderelection.LeadershipRevokedEvent.Reason;
import io.leaderelection.NotLeaderException;
import io.leaderelection.annotation.LeaderOnly;
import io.leaderelection.autoconfigure.LeaderElectionAutoConfiguration;
import io.leaderelection.engine.DefaultLeaderElector;
import io.leaderelection.engine.DefaultLeaderElectors;
import io.leaderelection.engine.LocalStore;
import org.awaitility.Awaitility;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

import org.springframework.amqp.rabbit.annotation.EnableRabbit;
import org.springframework.amqp.rabbit.annotation.RabbitListener;
import org.springframework.amqp.rabbit.listener.RabbitListenerContainerFactory;
import org.springframework.amqp.rabbit.listener.RabbitListenerEndpointRegistry;
import org.springframework.amqp.rabbit.listener.SimpleMessageListenerContainer;
import org.springframework.aop.framework.AopProxyUtils;
import org.springframework.aop.support.AopUtils;
import org.springframework.beans.factory.DisposableBean;
import org.springframework.beans.factory.config.BeanPostProcessor;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.autoconfigure.aop.AopAutoConfiguration;
import org.springframework.boot.test.context.FilteredClassLoader;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.context.ApplicationContext;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.SmartLifecycle;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;
import org.springframework.jms.annotation.EnableJms;
import org.springframework.jms.annotation.JmsListener;
import org.springframework.jms.annotation.JmsListenerConfigurer;
import org.springframework.jms.config.JmsListenerConfigUtils;
import org.springframework.jms.config.JmsListenerContainerFactory;
import org.springframework.jms.config.JmsListenerEndpointRegistrar;
import org.springframework.jms.config.JmsListenerEndpointRegistry;
import org.springframework.jms.listener.MessageListenerContainer;
import org.springframework.kafka.annotation.EnableKafka;
import org.springframework.kafka.annotation.KafkaHandler;
import org.springframework.kafka.annotation.KafkaListener;
import org.springframework.kafka.config.ConcurrentKafkaListenerContainerFactory;
import org.springframework.kafka.config.KafkaListenerContainerFactory;
import org.springframework.kafka.config.KafkaListenerEndpointRegistry;
import org.springframework.kafka.core.DefaultKafkaConsumerFactory;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.mockito.ArgumentMatchers.any;
import static org.mockito.BDDMockito.given;
import static org.mockito.BDDMockito.willAnswer;
import static org.mockito.BDDMockito.willCallRealMethod;
import static org.mockito.Mockito.mock;
import static org.mockito.Mockito.never;
import static org.mockito.Mockito.verify;

/**
 * Tests for {@link LeaderOnlyListenerRegistrar}, without a broker.
 */
@Tag("ring1")
class LeaderOnlyListenerRegistrarTests {

	private final ApplicationContextRunner leader = new ApplicationContextRunner()
		.withConfiguration(AutoConfigurations.of(LeaderElectionAutoConfiguration.class, AopAutoConfiguration.class))
		.withPropertyValues("leader-election.mode=always");

	private final ApplicationContextRunner follower = this.leader.withPropertyValues("leader-election.candidate=false");

	private final ApplicationContextRunner manual = this.leader.withBean(LocalStore.class,
			() -> LocalStore.manual(false));

	@Test
	void containerIsStartedOnTheLeader() {
		this.leader.withUserConfiguration(Listeners.class).run((context) -> {
			JmsListenerEndpointRegistry registry = context.getBean(JmsListenerEndpointRegistry.class);
			Awaitility.await().until(() -> container(registry, "leader-only").isRunning());
			assertThat(container(registry, "other").isRunning()).isTrue();
			context.close();
			assertThat(container(registry, "leader-only").isRunning()).isFalse();
			assertThat(container(registry, "other").isRunning()).isFalse();
		});
	}

	@Test
	void containerCannotBeStartedOnAFollower() {
		this.follower.withUserConfiguration(Listeners.class).run((context) -> {
			JmsListenerEndpointRegistry registry = context.getBean(JmsListenerEndpointRegistry.class);
			assertOnlyOtherRuns(registry);
			container(registry, "leader-only").start();
			assertOnlyOtherRuns(registry);
			registry.stop();
			registry.start();
			assertOnlyOtherRuns(registry);
			ConfigurableApplicationContext restarted = context
				.getSourceApplicationContext(ConfigurableApplicationContext.class);
			restarted.stop();
			restarted.start();
			assertOnlyOtherRuns(registry);
		});
	}

	@Test
	void containersOfKafkaAreReplacedWhereTheirListenersAreLeaderOnly() {
		this.follower.withUserConfiguration(KafkaListeners.class).run((context) -> {
			KafkaListenerEndpointRegistry registry = context.getBean(KafkaListenerEndpointRegistry.class);
			assertThat(registry.getListenerContainerIds()).containsExactlyInAnyOrder("handlers", "method", "other");
			assertThat(AopUtils.isAopProxy(registry.getListenerContainer("handlers"))).isTrue();
			assertThat(AopUtils.isAopProxy(registry.getListenerContainer("method"))).isTrue();
			assertThat(AopUtils.isAopProxy(registry.getListenerContainer("other"))).isFalse();
			assertThat(registry.getListenerContainer("method").getContainerProperties().isStopImmediate()).isTrue();
			assertThat(registry.getListenerContainer("other").getContainerProperties().isStopImmediate()).isFalse();
			assertThatExceptionOfType(NotLeaderException.class)
				.isThrownBy(() -> context.getBean(Handlers.class).on("order"));
			assertThat(context.getBean(Handlers.class).other()).isNull();
		});
	}

	@Test
	void containersOfRabbitAreReplacedWhereTheirListenersAreLeaderOnly() {
		this.follower.withUserConfiguration(RabbitListeners.class).run((context) -> {
			RabbitListenerEndpointRegistry registry = context.getBean(RabbitListenerEndpointRegistry.class);
			assertThat(AopUtils.isAopProxy(registry.getListenerContainer("method"))).isTrue();
			assertThat(AopUtils.isAopProxy(registry.getListenerContainer("other"))).isFalse();
		});
	}

	@Test
	void containerThatIsNoLongerRegisteredIsNotStarted() {
		this.manual.withUserConfiguration(RabbitListeners.class).run((context) -> {
			RabbitListenerEndpointRegistry registry = context.getBean(RabbitListenerEndpointRegistry.class);
			var container = target(registry.unregisterListenerContainer("method"));
			var destroyed = target(registry.getListenerContainer("destroyed"));
			((DisposableBean) registry.getListenerContainer("destroyed")).destroy();
			var last = target(registry.getListenerContainer("last"));
			LocalStore.grant(elector(context));
			Awaitility.await().untilAsserted(() -> verify(last).start());
			verify(container, never()).start();
			verify(destroyed, never()).start();
		});
	}

	@Test
	void containerThatIsNoLongerRegisteredIsStoppedWithLeadership() {
		this.manual.withUserConfiguration(KafkaContainers.class).run((context) -> {
			KafkaListenerEndpointRegistry registry = context.getBean(KafkaListenerEndpointRegistry.class);
			LocalStore.grant(elector(context));
			Awaitility.await().until(() -> registry.getListenerContainer("method").isRunning());
			var container = registry.unregisterListenerContainer("method");
			assertThat(container).isNotNull();
			LocalStore.revoke(elector(context), Reason.RESIGNED);
			assertThat(container.isRunning()).isFalse();
		});
	}

	@Test
	void containerThatDoesNotStartAutomaticallyIsStartedByTheApplication() {
		this.manual.withUserConfiguration(Listeners.class).run((context) -> {
			JmsListenerEndpointRegistry registry = context.getBean(JmsListenerEndpointRegistry.class);
			MessageListenerContainer manual = container(registry, "manual");
			MessageListenerContainer automatic = container(registry, "leader-only");
			LocalStore.grant(elector(context));
			Awaitility.await().until(automatic::isRunning);
			assertThat(manual.isRunning()).isFalse();
			manual.start();
			Awaitility.await().until(manual::isRunning);
			LocalStore.revoke(elector(context), Reason.RESIGNED);
			assertThat(manual.isRunning()).isFalse();
			LocalStore.grant(elector(context));
			Awaitility.await().until(manual::isRunning);
			manual.stop();
			LocalStore.revoke(elector(context), Reason.RESIGNED);
			LocalStore.grant(elector(context));
			Awaitility.await().until(automatic::isRunning);
			assertThat(manual.isRunning()).isFalse();
		});
	}

	@Test
	void containerThatStartsItselfOnAFollowerIsStopped() {
		this.follower.withUserConfiguration(Listeners.class).run((context) -> {
			MessageListenerContainer container = target(
					container(context.getBean(JmsListenerEndpointRegistry.class), "leader-only"));
			container.start();
			assertThatExceptionOfType(NotLeaderException.class)
				.isThrownBy(() -> context.getBean(Listeners.class).on("order"));
			assertThat(container.isRunning()).isFalse();
		});
	}

	@Test
	void stopOfAContainerOfRabbitIsLimitedByTheDrainTimeout() {
		this.follower.withUserConfiguration(RabbitListeners.class)
			.withPropertyValues("leader-election.drain-timeout=7s")
			.run((context) -> {
				RabbitListenerEndpointRegistry registry = context.getBean(RabbitListenerEndpointRegistry.class);
				var container = (SimpleMessageListenerContainer) target(registry.getListenerContainer("method"));
				verify(container).setShutdownTimeout(11000);
				verify(container).setForceStop(true);
			});
	}

	@Test
	void containersOfARegistryThatIsNoBeanAreReplaced() {
		this.follower.withUserConfiguration(Listeners.class, OwnRegistry.class)
			.run((context) -> assertOnlyOtherRuns(context.getBean(OwnRegistry.class).start()));
	}

	@Test
	void otherRegistriesMayExist() {
		this.follower.withUserConfiguration(Listeners.class)
			.withBean("another", JmsListenerEndpointRegistry.class)
			.run((context) -> assertOnlyOtherRuns(
					context.getBean(JmsListenerConfigUtils.JMS_LISTENER_ENDPOINT_REGISTRY_BEAN_NAME,
							JmsListenerEndpointRegistry.class)));
	}

	@Test
	void containersOfARegistryThatIsCreatedEarlyAreReplaced() {
		this.follower.withUserConfiguration(Listeners.class, EarlyRegistry.class)
			.run((context) -> assertOnlyOtherRuns(context.getBean(JmsListenerEndpointRegistry.class)));
	}

	@Test
	void containersOfBrokersThatAreAbsentAreIgnored() {
		this.follower
			.withClassLoader(new FilteredClassLoader(JmsListenerEndpointRegistry.class,
					KafkaListenerEndpointRegistry.class, RabbitListenerEndpointRegistry.class))
			.run((context) -> assertThat(context).hasNotFailed().doesNotHaveBean(ListenerRegistryPostProcessor.class));
	}

	private static DefaultLeaderElector elector(ApplicationContext context) {
		return context.getBean(DefaultLeaderElectors.class).getDefault();
	}

	@SuppressWarnings("unchecked")
	private static <T> T target(@Nullable T container) {
		assertThat(container).isNotNull();
		T target = (T) AopProxyUtils.getSingletonTarget(container);
		assertThat(target).isNotNull();
		return target;
	}

	private static void assertOnlyOtherRuns(JmsListenerEndpointRegistry registry) {
		assertThat(container(registry, "leader-only").isRunning()).isFalse();
		assertThat(container(registry, "leader-only").isAutoStartup()).isFalse();
		assertThat(container(registry, "other").isRunning()).isTrue();
		assertThat(container(registry, "other")).isInstanceOf(Container.class);
	}

	private static MessageListenerContainer container(JmsListenerEndpointRegistry registry, String id) {
		MessageListenerContainer container = registry.getListenerContainer(id);
		assertThat(container).isNotNull();
		return container;
	}

	/**
	 * Return a container without a broker.
	 */
	private static <T extends SmartLifecycle> T container(Class<T> type, boolean autoStartup) {
		AtomicBoolean running = new AtomicBoolean();
		T container = mock(type);
		given(container.isAutoStartup()).willReturn(autoStartup);
		given(container.isRunning()).willAnswer((invocation) -> running.get());
		willAnswer((invocation) -> running.getAndSet(true)).given(container).start();
		willAnswer((invocation) -> running.getAndSet(false)).given(container).stop();
		willCallRealMethod().given(container).stop(any());
		return container;
	}

	@Configuration(proxyBeanMethods = false)
	@EnableJms
	static class Listeners {

		@Bean
		JmsListenerContainerFactory<Container> jmsListenerContainerFactory() {
			return (endpoint) -> container(Container.class, !endpoint.getId().equals("manual"));
		}

		@LeaderOnly
		@JmsListener(id = "leader-only", destination = "orders")
		void on(String message) {
		}

		@LeaderOnly
		@JmsListener(id = "manual", destination = "orders")
		void onManual(String message) {
		}

		@JmsListener(id = "other", destination = "orders")
		void onOther(String message) {
		}

	}

	@Configuration(proxyBeanMethods = false)
	static class OwnRegistry implements JmsListenerConfigurer {

		private final JmsListenerEndpointRegistry registry = new JmsListenerEndpointRegistry();

		@Override
		public void configureJmsListeners(JmsListenerEndpointRegistrar registrar) {
			registrar.setEndpointRegistry(this.registry);
		}

		JmsListenerEndpointRegistry start() {
			this.registry.start();
			return this.registry;
		}

	}

	@Configuration(proxyBeanMethods = false)
	static class EarlyRegistry {

		@Bean
		static BeanPostProcessor dependent(JmsListenerEndpointRegistry registry) {
			return new BeanPostProcessor() {

			};
		}

	}

	@Configuration(proxyBeanMethods = false)
	@EnableKafka
	@Import(Handlers.class)
	static class KafkaListeners {

		@Bean
		ConcurrentKafkaListenerContainerFactory<Object, Object> kafkaListenerContainerFactory() {
			ConcurrentKafkaListenerContainerFactory<Object, Object> factory = new ConcurrentKafkaListenerContainerFactory<>();
			factory.setConsumerFactory(new DefaultKafkaConsumerFactory<>(Map.of()));
			factory.setAutoStartup(false);
			return factory;
		}

		@LeaderOnly
		@KafkaListener(id = "method", topics = "orders")
		void on(String message) {
		}

		@KafkaListener(id = "other", topics = "orders")
		void onOther(String message) {
		}

	}

	/** A listener whose container needs no broker. */
	@Configuration(proxyBeanMethods = false)
	@EnableKafka
	static class KafkaContainers {

		@Bean
		@SuppressWarnings("unchecked")
		KafkaListenerContainerFactory<?> kafkaListenerContainerFactory() {
			var factory = mock(KafkaListenerContainerFactory.class);
			var container = container(org.springframework.kafka.listener.MessageListenerContainer.class, true);
			given(factory.createListenerContainer(any())).willReturn(container);
			return factory;
		}

		@LeaderOnly
		@KafkaListener(id = "method", topics = "orders")
		void on(String message) {
		}

	}

	@LeaderOnly
	@KafkaListener(id = "handlers", topics = "orders")
	static class Handlers {

		@KafkaHandler
		void on(String message) {
		}

		String other() {
			return "ran";
		}

	}

	@Configuration(proxyBeanMethods = false)
	@EnableRabbit
	static class RabbitListeners {

		@Bean
		RabbitListenerContainerFactory<?> rabbitListenerContainerFactory() {
			return (endpoint) -> {
				var container = mock(SimpleMessageListenerContainer.class);
				given(container.isAutoStartup()).willReturn(true);
				return container;
			};
		}

		@LeaderOnly
		@RabbitListener(id = "method", queues = "orders")
		void on(String message) {
		}

		@LeaderOnly
		@RabbitListener(id = "destroyed", queues = "orders")
		void onDestroyed(String message) {
		}

		@LeaderOnly
		@RabbitListener(id = "last", queues = "orders")
		void onLast(String message) {
		}

		@RabbitListener(id = "other", queues = "orders")
		void onOther(String message) {
		}

	}

	interface Container extends MessageListenerContainer {

	}

}
