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

import io.leaderelection.annotation.LeaderOnlyBeanPostProcessor;
import io.leaderelection.lifecycle.LeaderServices;

import org.springframework.amqp.rabbit.listener.RabbitListenerEndpointRegistry;
import org.springframework.beans.factory.config.BeanDefinition;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Role;
import org.springframework.jms.config.JmsListenerEndpointRegistry;
import org.springframework.kafka.config.KafkaListenerEndpointRegistry;

/**
 * Has leadership start and stop the containers of listeners for messages that are
 * leader-only. Part of the auto-configuration of the guard, so that neither is present
 * without the other.
 */
@Configuration(proxyBeanMethods = false)
public final class LeaderOnlyListenerConfiguration {

	@Configuration(proxyBeanMethods = false)
	@ConditionalOnClass(KafkaListenerEndpointRegistry.class)
	static class KafkaConfiguration {

		@Bean
		@Role(BeanDefinition.ROLE_INFRASTRUCTURE)
		static KafkaListenerPostProcessor leaderOnlyKafkaListenerPostProcessor(LeaderOnlyBeanPostProcessor guard,
				LeaderServices services) {
			return new KafkaListenerPostProcessor(guard, services);
		}

	}

	@Configuration(proxyBeanMethods = false)
	@ConditionalOnClass(JmsListenerEndpointRegistry.class)
	static class JmsConfiguration {

		@Bean
		@Role(BeanDefinition.ROLE_INFRASTRUCTURE)
		static JmsListenerPostProcessor leaderOnlyJmsListenerPostProcessor(LeaderOnlyBeanPostProcessor guard,
				LeaderServices services) {
			return new JmsListenerPostProcessor(guard, services);
		}

	}

	@Configuration(proxyBeanMethods = false)
	@ConditionalOnClass(RabbitListenerEndpointRegistry.class)
	static class RabbitConfiguration {

		@Bean
		@Role(BeanDefinition.ROLE_INFRASTRUCTURE)
		static RabbitListenerPostProcessor leaderOnlyRabbitListenerPostProcessor(LeaderOnlyBeanPostProcessor guard,
				LeaderServices services) {
			return new RabbitListenerPostProcessor(guard, services);
		}

	}

}
