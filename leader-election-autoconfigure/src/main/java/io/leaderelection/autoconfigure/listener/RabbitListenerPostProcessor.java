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

import org.springframework.amqp.rabbit.annotation.RabbitListenerConfigurer;
import org.springframework.amqp.rabbit.config.RabbitListenerConfigUtils;
import org.springframework.amqp.rabbit.listener.AbstractMessageListenerContainer;
import org.springframework.amqp.rabbit.listener.MethodRabbitListenerEndpoint;
import org.springframework.amqp.rabbit.listener.RabbitListenerEndpointRegistrar;
import org.springframework.amqp.rabbit.listener.RabbitListenerEndpointRegistry;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.beans.factory.annotation.Qualifier;
import org.springframework.context.SmartLifecycle;

/**
 * The containers of {@code @RabbitListener}.
 */
class RabbitListenerPostProcessor extends ListenerRegistryPostProcessor<RabbitListenerEndpointRegistry>
		implements RabbitListenerConfigurer {

	RabbitListenerPostProcessor(
			@Qualifier(RabbitListenerConfigUtils.RABBIT_LISTENER_ENDPOINT_REGISTRY_BEAN_NAME) ObjectProvider<RabbitListenerEndpointRegistry> registry,
			LeaderOnlyBeanPostProcessor guard, LeaderServices services) {
		super(RabbitListenerEndpointRegistry.class, registry, guard, services);
	}

	@Override
	public void configureRabbitListeners(RabbitListenerEndpointRegistrar registrar) {
		registrar.setEndpointRegistry(registry(registrar.getEndpointRegistry()));
	}

	@Override
	Object manage(Object endpoint, SmartLifecycle container) {
		return (endpoint instanceof MethodRabbitListenerEndpoint called)
				? manage(called.getBean(), called.getMethod(), container) : container;
	}

	/**
	 * Have a stop wait for messages in flight for as long as a hand-over does: at its own
	 * deadline, which may be shorter, the container would return them to the queue while
	 * they are still processed.
	 */
	@Override
	boolean prepare(SmartLifecycle container, Duration longestStop) {
		if (container instanceof AbstractMessageListenerContainer stopped) {
			stopped.setShutdownTimeout(longestStop.toMillis());
			stopped.setForceStop(true);
		}
		return true;
	}

}
