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
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;

import org.springframework.amqp.core.Queue;
import org.springframework.amqp.rabbit.annotation.RabbitListener;
import org.springframework.amqp.rabbit.core.RabbitTemplate;
import org.springframework.amqp.rabbit.listener.AbstractMessageListenerContainer;
import org.springframework.amqp.rabbit.listener.RabbitListenerEndpointRegistry;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.SmartLifecycle;

/**
 * Tests of {@code @RabbitListener}, on the RabbitMQ that is installed.
 */
@Tag("ring2")
class RabbitListenerTests extends AbstractListenerTests {

	private static RabbitMq broker;

	RabbitListenerTests() {
		super(Orders.class, "spring.rabbitmq.port=" + broker.port());
	}

	@BeforeAll
	static void start() {
		broker = RabbitMq.start();
	}

	@AfterAll
	static void stop() {
		if (broker != null) {
			broker.close();
		}
	}

	@Override
	void create(String name) {
		broker.declare(new Queue(name, false));
	}

	@Override
	void send(ConfigurableApplicationContext node, String queue, String message) {
		node.getBean(RabbitTemplate.class).convertAndSend(queue, message);
	}

	@Override
	@Nullable Object container(ConfigurableApplicationContext node) {
		return node.getBean(RabbitListenerEndpointRegistry.class).getListenerContainer("orders");
	}

	@Override
	boolean isStopping(SmartLifecycle container) {
		return !((AbstractMessageListenerContainer) container).isActive();
	}

	/** The listener. */
	static class Orders extends Listener {

		Orders(Deliveries deliveries, LeaderElector elector) {
			super(deliveries, elector);
		}

		@Override
		@LeaderOnly
		@RabbitListener(id = "orders", queues = "${orders}")
		void on(String message) {
			super.on(message);
		}

		@Override
		@RabbitListener(queues = "${orders.copy}")
		void onCopy(String message) {
			super.onCopy(message);
		}

	}

}
