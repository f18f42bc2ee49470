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

package io.leaderelection.listeners;

import io.leaderelection.LeaderElector;
import io.leaderelection.annotation.LeaderOnly;
import org.apache.kafka.clients.admin.NewTopic;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.kafka.annotation.KafkaListener;
import org.springframework.kafka.config.KafkaListenerEndpointRegistry;
import org.springframework.kafka.core.KafkaTemplate;
import org.springframework.kafka.test.EmbeddedKafkaKraftBroker;

/**
 * Tests of {@code @KafkaListener}, on a broker in this JVM. Topics have two partitions:
 * if both nodes took part, each would receive one of them.
 */
@Tag("ring2")
class KafkaListenerTests extends AbstractListenerTests {

	private static final EmbeddedKafkaKraftBroker broker = new EmbeddedKafkaKraftBroker(1, 2);

	KafkaListenerTests() {
		super(Orders.class, "spring.kafka.bootstrap-servers=" + broker.getBrokersAsString(),
				"spring.kafka.consumer.auto-offset-reset=earliest");
	}

	@BeforeAll
	static void start() {
		broker.afterPropertiesSet();
	}

	@AfterAll
	static void stop() {
		broker.destroy();
	}

	@Override
	void create(String name) {
		broker.addTopics(new NewTopic(name, 2, (short) 1));
	}

	@Override
	@SuppressWarnings("unchecked")
	void send(ConfigurableApplicationContext node, String queue, String message) {
		node.getBean(KafkaTemplate.class).send(queue, message, message).join();
	}

	@Override
	@Nullable Object container(ConfigurableApplicationContext node) {
		return node.getBean(KafkaListenerEndpointRegistry.class).getListenerContainer("orders");
	}

	@Test
	@Override
	void handOverWaitsForAMessageInFlight() {
		super.handOverWaitsForAMessageInFlight();
	}

	@Test
	@Override
	void messageWhileAHandOverWaitsForOtherWorkIsProcessed() {
		super.messageWhileAHandOverWaitsForOtherWorkIsProcessed();
	}

	@Test
	@Override
	void restartedFollowerDoesNotStartTheContainer() {
		super.restartedFollowerDoesNotStartTheContainer();
	}

	@Test
	@Override
	void containerThatStartsItselfOnAFollowerIsStoppedWithoutLosingAMessage() {
		super.containerThatStartsItselfOnAFollowerIsStoppedWithoutLosingAMessage();
	}

	/** The listener. */
	static class Orders extends Listener {

		Orders(Deliveries deliveries, LeaderElector elector) {
			super(deliveries, elector);
		}

		@Override
		@LeaderOnly
		@KafkaListener(id = "orders", topics = "${orders}", groupId = "${orders}")
		void on(String message) {
			super.on(message);
		}

		@Override
		@KafkaListener(topics = "${orders.copy}", groupId = "${orders.copy}")
		void onCopy(String message) {
			super.onCopy(message);
		}

	}

}
