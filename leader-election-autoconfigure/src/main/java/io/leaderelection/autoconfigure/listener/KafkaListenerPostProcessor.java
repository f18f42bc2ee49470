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

import java.time.Duration;
import java.util.Objects;
import java.util.stream.Stream;

import io.leaderelection.annotation.LeaderOnlyBeanPostProcessor;
import io.leaderelection.lifecycle.LeaderServices;

import org.springframework.beans.factory.ObjectProvider;
import org.springframework.beans.factory.annotation.Qualifier;
import org.springframework.context.SmartLifecycle;
import org.springframework.kafka.annotation.KafkaListenerConfigurer;
import org.springframework.kafka.config.KafkaListenerConfigUtils;
import org.springframework.kafka.config.KafkaListenerEndpointRegistrar;
import org.springframework.kafka.config.KafkaListenerEndpointRegistry;
import org.springframework.kafka.config.MethodKafkaListenerEndpoint;
import org.springframework.kafka.listener.AbstractMessageListenerContainer;

/**
 * The containers of {@code @KafkaListener}.
 */
class KafkaListenerPostProcessor extends ListenerRegistryPostProcessor<KafkaListenerEndpointRegistry>
		implements KafkaListenerConfigurer {

	// By its name, since Spring Boot 3 brings a version without it
	private static final String SHARE_CONTAINER = "org.springframework.kafka.listener.AbstractShareKafkaMessageListenerContainer";

	KafkaListenerPostProcessor(
			@Qualifier(KafkaListenerConfigUtils.KAFKA_LISTENER_ENDPOINT_REGISTRY_BEAN_NAME) ObjectProvider<KafkaListenerEndpointRegistry> registry,
			LeaderOnlyBeanPostProcessor guard, LeaderServices services) {
		super(KafkaListenerEndpointRegistry.class, registry, guard, services);
	}

	@Override
	public void configureKafkaListeners(KafkaListenerEndpointRegistrar registrar) {
		registrar.setEndpointRegistry(registry(registrar.getEndpointRegistry()));
	}

	@Override
	Object manage(Object endpoint, SmartLifecycle container) {
		return (endpoint instanceof MethodKafkaListenerEndpoint<?, ?> called)
				? manage(called.getBean(), called.getMethod(), container) : container;
	}

	@Override
	boolean prepare(SmartLifecycle container, Duration longestStop) {
		if (container instanceof AbstractMessageListenerContainer<?, ?> stopped) {
			stopped.getContainerProperties().setStopImmediate(true);
		}
		return Stream.<Class<?>>iterate(container.getClass(), Objects::nonNull, Class::getSuperclass)
			.noneMatch((type) -> type.getName().equals(SHARE_CONTAINER));
	}

}
