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

package io.leaderelection.annotation;

import java.lang.annotation.Annotation;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.reflect.Method;
import java.util.Collection;
import java.util.concurrent.Executor;
import java.util.stream.Stream;

import io.awspring.cloud.sqs.annotation.SqsListener;
import io.leaderelection.NotLeaderException;
import io.leaderelection.annotation.LeaderOnly.NotLeaderPolicy;
import io.leaderelection.annotation.LeaderOnlyRejectionTests.AbstractLifecycle;
import io.leaderelection.autoconfigure.LeaderElectionAutoConfiguration;
import jakarta.jms.Message;
import jakarta.jms.MessageListener;
import net.bytebuddy.description.annotation.AnnotationDescription;
import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.common.TopicPartition;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

import org.springframework.amqp.rabbit.annotation.RabbitListener;
import org.springframework.aop.support.AopUtils;
import org.springframework.boot.actuate.endpoint.annotation.ReadOperation;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.context.event.EventListener;
import org.springframework.http.HttpStatus;
import org.springframework.integration.annotation.Gateway;
import org.springframework.integration.annotation.InboundChannelAdapter;
import org.springframework.integration.annotation.ServiceActivator;
import org.springframework.integration.core.MessageSource;
import org.springframework.jms.annotation.JmsListener;
import org.springframework.jmx.export.annotation.ManagedOperation;
import org.springframework.kafka.annotation.KafkaHandler;
import org.springframework.kafka.annotation.KafkaListener;
import org.springframework.kafka.annotation.KafkaListeners;
import org.springframework.kafka.listener.ConsumerAwareRebalanceListener;
import org.springframework.kafka.listener.GenericMessageListener;
import org.springframework.messaging.MessageHandler;
import org.springframework.messaging.handler.annotation.MessageMapping;
import org.springframework.modulith.events.ApplicationModuleListener;
import org.springframework.pulsar.annotation.PulsarListener;
import org.springframework.scheduling.annotation.Scheduled;
import org.springframework.stereotype.Component;
import org.springframework.transaction.event.TransactionalEventListener;
import org.springframework.util.ErrorHandler;
import org.springframework.web.bind.annotation.ExceptionHandler;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.ResponseStatus;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.mockito.Mockito.mock;

/**
 * Tests for methods whose caller takes their return for success: skipped calls would lose
 * messages and answer requests.
 */
@Tag("ring1")
class ListenerRulesTests {

	private static final String LOST = "a message whose call is skipped counts as processed and is lost, and one whose call is rejected is repeated at once or discarded.";

	private static final String START_AND_STOP = "Remove @LeaderOnly, and have leadership start and stop what receives the messages: let it not start automatically, and call its start() and stop() from a bean that is a SmartLifecycle and @LeaderOnly.";

	private static final String REJECT = "Use @LeaderOnly(policy = REJECT): the caller receives a NotLeaderException.";

	private static final String OR_METHODS = " Or annotate only the methods that are leader work, not the class.";

	private static final AnnotationDescription.Builder REJECTING = GeneratedJob.annotation(LeaderOnly.class)
		.define("policy", NotLeaderPolicy.REJECT);

	static Stream<Arguments> rejections() {
		return Stream.of(forMessages(PulsarListener.class, START_AND_STOP),
				forMessages(SqsListener.class, START_AND_STOP),
				forMessages(InboundChannelAdapter.class,
						"Remove @LeaderOnly, and give the endpoint a role (@Role) that follows the election."),
				forMessages(MessageMapping.class,
						"Remove @LeaderOnly, call a separate method with @LeaderOnly(policy = REJECT), and answer the sender when it throws a NotLeaderException."),
				rejected(new GeneratedJob().overriding(MessageListener.class, "onMessage").with(LeaderOnly.class),
						"Method 'Generated.onMessage(Message)' is guarded by @LeaderOnly, but called for messages (MessageListener): "
								+ LOST,
						START_AND_STOP),
				rejected(KafkaInterface.class,
						"Method 'KafkaInterface.onMessage(Object)' is guarded by @LeaderOnly, but called for messages (GenericMessageListener): "
								+ LOST,
						START_AND_STOP + OR_METHODS),
				rejected(
						new GeneratedJob().inClassWith(LeaderOnly.class)
							.overriding(MessageHandler.class, "handleMessage")
							.with(),
						"Method 'Generated.handleMessage(Message)' is guarded by @LeaderOnly, but its caller (MessageHandler) takes a call that is skipped for one that has succeeded.",
						REJECT + OR_METHODS),
				forRequests(ServiceActivator.class), forRequests(GetMapping.class), forRequests(ExceptionHandler.class),
				forRequests(ReadOperation.class), forRequests(ManagedOperation.class), forRequests(Gateway.class),
				forRequests(TransactionalEventListener.class), forRequests(ApplicationModuleListener.class),
				forRequests(QueueListener.class),
				forRequests(new GeneratedJob().inClassWith(LeaderOnly.class).with(GetMapping.class), "@GetMapping",
						REJECT + OR_METHODS),
				forRequests(new GeneratedJob().inClassWith(LeaderOnly.class, QueueListener.class).with(),
						"@QueueListener", REJECT + OR_METHODS),
				forRequests(new GeneratedJob().inClassWith(QueueListener.class).with(LeaderOnly.class),
						"@QueueListener", REJECT),
				rejected(new GeneratedJob().with(REJECTING, GeneratedJob.annotation(KafkaListener.class)),
						container("@KafkaListener", "policy = REJECT"), "Remove 'policy'."),
				rejected(
						new GeneratedJob().with(GeneratedJob.annotation(LeaderOnly.class).define("runOnGrant", true),
								GeneratedJob.annotation(RabbitListener.class)),
						container("@RabbitListener", "runOnGrant = true"), "Remove 'runOnGrant'."),
				rejected(PrivateListener.class,
						"Class 'PrivateListener' is annotated with @LeaderOnly, but calls to some of its methods do not pass the proxy that guards it: 'on' (private).",
						"Make them instance methods that are neither private nor final, or annotate only the methods that are leader work, not the class."),
				rejected(new GeneratedJob().inClassWith(KafkaListener.class).with(LeaderOnly.class, KafkaHandler.class),
						"Method 'Generated.run()' is annotated with @LeaderOnly, but @KafkaHandler is only one of the methods that the container of the class calls.",
						"Annotate the class with @LeaderOnly instead. Leadership then starts and stops the container."));
	}

	@ParameterizedTest
	@MethodSource
	void rejections(Class<?> type, String description, String action) {
		LeaderOnlyRejectionTests.assertRejected(TestElections.follower().withBean(type), description, action);
	}

	@Test
	void listenerInAServiceThatRunsOnEveryNodeIsRejected() {
		LeaderOnlyRejectionTests.assertRejected(
				new ApplicationContextRunner()
					.withConfiguration(AutoConfigurations.of(LeaderElectionAutoConfiguration.class))
					.withPropertyValues("leader-election.mode=always", "leader-election.candidate=false")
					.withBean("service",
							new GeneratedJob().inClassWith(LeaderOnly.class)
								.extending(AbstractLifecycle.class)
								.with(KafkaListener.class)),
				"Bean 'service' is started and stopped by leadership, but a container calls its method 'run' for messages on every node.",
				"Annotate the method with @LeaderOnly too, or move it to another bean.");
	}

	static Stream<Class<?>> permitted() {
		return Stream.of(new GeneratedJob().with(REJECTING, GeneratedJob.annotation(ServiceActivator.class)),
				new GeneratedJob().with(REJECTING, GeneratedJob.annotation(GetMapping.class)),
				new GeneratedJob().taking(String.class)
					.with(REJECTING, GeneratedJob.annotation(TransactionalEventListener.class)),
				new GeneratedJob().taking(String.class)
					.with(REJECTING, GeneratedJob.annotation(ApplicationModuleListener.class)),
				new GeneratedJob().taking(String.class).with(LeaderOnly.class, EventListener.class), Listener.class,
				new GeneratedJob().inClassWith(LeaderOnly.class).with(RabbitListener.class),
				new GeneratedJob().inClassWith(LeaderOnly.class, KafkaListener.class).with(KafkaHandler.class),
				new GeneratedJob().returning(int.class).with(LeaderOnly.class, RabbitListener.class),
				new GeneratedJob().taking(String.class).with(LeaderOnly.class, RefreshListener.class),
				new GeneratedJob().with(LeaderOnly.class, NightlyWorker.class),
				new GeneratedJob().with(ReportWorker.class),
				new GeneratedJob().inClassWith(QueueListener.class).with(LeaderOnly.class, NightlyWorker.class),
				new GeneratedJob().inClassWith(EventHandler.class).with(LeaderOnly.class), SkippingSource.class,
				RebalancedListener.class);
	}

	@ParameterizedTest
	@MethodSource
	void permitted(Class<?> type) {
		TestElections.follower().withBean(type).run((context) -> assertThat(context).hasNotFailed());
	}

	@Test
	void handlerOfExceptionsIsNotCoveredByTheAnnotationOfItsClass() {
		TestElections.follower().withBean(RejectingControllerClass.class).run((context) -> {
			RejectingControllerClass controller = context.getBean(RejectingControllerClass.class);
			assertThatExceptionOfType(NotLeaderException.class).isThrownBy(controller::on);
			assertThat(controller.notLeader()).isEqualTo("not the leader");
		});
	}

	@Test
	void annotationOfAClassCoversWorkOnly() throws Exception {
		assertThat(isWork(ErrorHandler.class.getMethod("handleError", Throwable.class))).isFalse();
		assertThat(isWork(ConsumerRebalanceListener.class.getMethod("onPartitionsRevoked", Collection.class)))
			.isFalse();
		assertThat(isWork(Executor.class.getMethod("execute", Runnable.class))).isTrue();
	}

	private static boolean isWork(Method method) {
		Object instance = mock(method.getDeclaringClass());
		return ListenerRules.callerOf(AopUtils.getMostSpecificMethod(method, instance.getClass()), instance.getClass())
			.work();
	}

	@Test
	void callOfAListenerOnAFollowerIsRejected() {
		TestElections.follower().withBean(Listener.class).run((context) -> {
			Listener listener = context.getBean(Listener.class);
			assertThatExceptionOfType(NotLeaderException.class).isThrownBy(listener::on);
		});
		TestElections.leader()
			.withBean(Listener.class)
			.run((context) -> assertThat(context.getBean(Listener.class).on()).isEqualTo("ran"));
	}

	private static Arguments forMessages(Class<? extends Annotation> caller, String action) {
		return rejected(new GeneratedJob().with(LeaderOnly.class, caller),
				"Method 'Generated.run()' is guarded by @LeaderOnly, but called for messages (@%s): %s"
					.formatted(caller.getSimpleName(), LOST),
				action);
	}

	private static Arguments forRequests(Class<? extends Annotation> caller) {
		return forRequests(new GeneratedJob().with(LeaderOnly.class, caller), "@" + caller.getSimpleName(), REJECT);
	}

	private static Arguments forRequests(Class<?> type, String caller, String action) {
		return rejected(type,
				"Method 'Generated.run()' is guarded by @LeaderOnly, but its caller (%s) takes a call that is skipped for one that has succeeded."
					.formatted(caller),
				action);
	}

	private static String container(String caller, String attribute) {
		return "Method 'Generated.run()' is called by a container (%s) that leadership starts and stops, but annotated with @LeaderOnly(%s): the container makes no calls on a follower."
			.formatted(caller, attribute);
	}

	private static Arguments rejected(Class<?> type, String description, String action) {
		return Arguments.of(type, description, action);
	}

	@LeaderOnly
	static class PrivateListener {

		@KafkaListener(topics = "orders")
		private void on() {
		}

		void other() {
		}

	}

	@LeaderOnly
	static class SkippingSource implements MessageSource<String> {

		@Override
		public org.springframework.messaging.@Nullable Message<String> receive() {
			return null;
		}

	}

	@LeaderOnly
	static class RebalancedListener implements ConsumerAwareRebalanceListener {

		@LeaderOnly
		@KafkaListeners({ @KafkaListener(topics = "orders"), @KafkaListener(topics = "payments") })
		void on() {
		}

		@Override
		public void onPartitionsLost(Collection<TopicPartition> partitions) {
		}

		@Override
		public void onPartitionsLost(Consumer<?, ?> consumer, Collection<TopicPartition> partitions) {
		}

	}

	@LeaderOnly(policy = NotLeaderPolicy.REJECT)
	static class RejectingControllerClass {

		@GetMapping("/orders")
		void on() {
		}

		@ExceptionHandler(NotLeaderException.class)
		@ResponseStatus(HttpStatus.SERVICE_UNAVAILABLE)
		String notLeader() {
			return "not the leader";
		}

	}

	static class Listener {

		@LeaderOnly
		@JmsListener(destination = "orders")
		String on() {
			return "ran";
		}

	}

	@LeaderOnly
	static class KafkaInterface implements GenericMessageListener<Object> {

		@Override
		public void onMessage(Object data) {
		}

	}

	/** What a library might have. */
	@Retention(RetentionPolicy.RUNTIME)
	@interface QueueListener {

	}

	/** What applications compose. */
	@EventListener
	@Retention(RetentionPolicy.RUNTIME)
	@interface RefreshListener {

	}

	@Retention(RetentionPolicy.RUNTIME)
	@Scheduled(cron = "0 0 3 * * *")
	@interface NightlyWorker {

	}

	@LeaderOnly
	@Retention(RetentionPolicy.RUNTIME)
	@interface ReportWorker {

	}

	@Component
	@Retention(RetentionPolicy.RUNTIME)
	@interface EventHandler {

	}

}
