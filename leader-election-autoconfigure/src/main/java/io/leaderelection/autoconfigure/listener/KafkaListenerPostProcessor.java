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

import io.leaderelection.annotation.LeaderOnlyBeanPostProcessor;
import io.leaderelection.lifecycle.LeaderServices;
import org.jspecify.annotations.Nullable;

import org.springframework.context.SmartLifecycle;
import org.springframework.kafka.annotation.KafkaListenerConfigurer;
import org.springframework.kafka.config.KafkaListenerEndpointRegistrar;
import org.springframework.kafka.config.KafkaListenerEndpointRegistry;
import org.springframework.kafka.config.MethodKafkaListenerEndpoint;
import org.springframework.kafka.listener.AbstractMessageListenerContainer;

/**
 * The containers of {@code @KafkaListener}.
 */
class KafkaListenerPostProcessor extends ListenerRegistryPostProcessor implements KafkaListenerConfigurer {

	KafkaListenerPostProcessor(LeaderOnlyBeanPostProcessor guard, LeaderServices services) {
		super(KafkaListenerEndpointRegistry.class, guard, services);
	}

	@Override
	public void configureKafkaListeners(KafkaListenerEndpointRegistrar registrar) {
		KafkaListenerEndpointRegistry registry = registrar.getEndpointRegistry();
		if (registry != null) {
			registrar.setEndpointRegistry(manage(registry));
		}
	}

	@Override
	@Nullable Listener listener(Object endpoint) {
		return (endpoint instanceof MethodKafkaListenerEndpoint<?, ?> called)
				? new Listener(called.getBean(), called.getMethod()) : null;
	}

	@Override
	void prepare(SmartLifecycle container, Duration longestStop) {
		if (container instanceof AbstractMessageListenerContainer<?, ?> stopped) {
			stopped.getContainerProperties().setStopImmediate(true);
		}
	}

}
