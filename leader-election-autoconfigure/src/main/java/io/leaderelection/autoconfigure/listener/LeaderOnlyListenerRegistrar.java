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

import org.jspecify.annotations.Nullable;

import org.springframework.beans.factory.config.AutowireCapableBeanFactory;
import org.springframework.beans.factory.config.BeanDefinition;
import org.springframework.beans.factory.support.BeanDefinitionRegistry;
import org.springframework.beans.factory.support.RootBeanDefinition;
import org.springframework.context.annotation.ImportBeanDefinitionRegistrar;
import org.springframework.core.type.AnnotationMetadata;
import org.springframework.util.ClassUtils;

/**
 * Has leadership start and stop the containers of listeners for messages that are
 * leader-only, in each context that has the guard.
 */
public final class LeaderOnlyListenerRegistrar implements ImportBeanDefinitionRegistrar {

	private final ClassLoader classLoader;

	LeaderOnlyListenerRegistrar(ClassLoader classLoader) {
		this.classLoader = classLoader;
	}

	@Override
	public void registerBeanDefinitions(AnnotationMetadata importing, BeanDefinitionRegistry registry) {
		register(registry, this.classLoader);
	}

	/**
	 * Register the post-processors of the brokers that are on the class path.
	 * @param registry the registry of a context that has the guard
	 * @param classLoader the class loader of the context
	 */
	public static void register(BeanDefinitionRegistry registry, @Nullable ClassLoader classLoader) {
		if (ClassUtils.isPresent("org.springframework.kafka.config.KafkaListenerEndpointRegistry", classLoader)) {
			register(registry, "leaderOnlyKafkaListenerPostProcessor", KafkaListenerPostProcessor.class);
		}
		if (ClassUtils.isPresent("org.springframework.jms.config.JmsListenerEndpointRegistry", classLoader)) {
			register(registry, "leaderOnlyJmsListenerPostProcessor", JmsListenerPostProcessor.class);
		}
		if (ClassUtils.isPresent("org.springframework.amqp.rabbit.listener.RabbitListenerEndpointRegistry",
				classLoader)) {
			register(registry, "leaderOnlyRabbitListenerPostProcessor", RabbitListenerPostProcessor.class);
		}
	}

	/**
	 * Register a bean of the guard.
	 * @param registry the registry of a context
	 * @param beanName the name of the bean
	 * @param type its class
	 */
	public static void register(BeanDefinitionRegistry registry, String beanName, Class<?> type) {
		RootBeanDefinition definition = new RootBeanDefinition(type, AutowireCapableBeanFactory.AUTOWIRE_CONSTRUCTOR,
				false);
		definition.setRole(BeanDefinition.ROLE_INFRASTRUCTURE);
		registry.registerBeanDefinition(beanName, definition);
	}

}
