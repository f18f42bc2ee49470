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
import org.apache.activemq.artemis.core.config.impl.ConfigurationImpl;
import org.apache.activemq.artemis.core.server.embedded.EmbeddedActiveMQ;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;

import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.jms.annotation.JmsListener;
import org.springframework.jms.config.JmsListenerEndpointRegistry;
import org.springframework.jms.core.JmsTemplate;
import org.springframework.test.util.TestSocketUtils;

/**
 * Tests of {@code @JmsListener}, on an Artemis in this JVM.
 */
@Tag("ring2")
class JmsListenerTests extends AbstractListenerTests {

	private static final String URL = "tcp://127.0.0.1:" + TestSocketUtils.findAvailableTcpPort();

	private static final EmbeddedActiveMQ broker = new EmbeddedActiveMQ();

	JmsListenerTests() {
		super(Orders.class, "spring.artemis.broker-url=" + URL);
	}

	@BeforeAll
	static void start() throws Exception {
		broker.setConfiguration(new ConfigurationImpl().setPersistenceEnabled(false)
			.setSecurityEnabled(false)
			.addAcceptorConfiguration("tcp", URL));
		broker.start();
	}

	@AfterAll
	static void stop() throws Exception {
		broker.stop();
	}

	@Override
	void send(ConfigurableApplicationContext node, String queue, String message) {
		node.getBean(JmsTemplate.class).convertAndSend(queue, message);
	}

	@Override
	@Nullable Object container(ConfigurableApplicationContext node) {
		return node.getBean(JmsListenerEndpointRegistry.class).getListenerContainer("orders");
	}

	/** The listener. */
	static class Orders extends Listener {

		Orders(Deliveries deliveries, LeaderElector elector) {
			super(deliveries, elector);
		}

		@Override
		@LeaderOnly
		@JmsListener(id = "orders", destination = "${orders}")
		void on(String message) {
			super.on(message);
		}

		@Override
		@JmsListener(destination = "${orders.copy}")
		void onCopy(String message) {
			super.onCopy(message);
		}

	}

}
