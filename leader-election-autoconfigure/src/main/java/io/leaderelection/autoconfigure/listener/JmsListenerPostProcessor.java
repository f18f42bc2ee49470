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

import org.springframework.beans.factory.ObjectProvider;
import org.springframework.beans.factory.annotation.Qualifier;
import org.springframework.context.SmartLifecycle;
import org.springframework.jms.annotation.JmsListenerConfigurer;
import org.springframework.jms.config.JmsListenerConfigUtils;
import org.springframework.jms.config.JmsListenerEndpointRegistrar;
import org.springframework.jms.config.JmsListenerEndpointRegistry;
import org.springframework.jms.config.MethodJmsListenerEndpoint;

/**
 * The containers of {@code @JmsListener}.
 */
class JmsListenerPostProcessor extends ListenerRegistryPostProcessor<JmsListenerEndpointRegistry>
		implements JmsListenerConfigurer {

	JmsListenerPostProcessor(
			@Qualifier(JmsListenerConfigUtils.JMS_LISTENER_ENDPOINT_REGISTRY_BEAN_NAME) ObjectProvider<JmsListenerEndpointRegistry> registry,
			LeaderOnlyBeanPostProcessor guard, LeaderServices services) {
		super(JmsListenerEndpointRegistry.class, registry, guard, services);
	}

	@Override
	public void configureJmsListeners(JmsListenerEndpointRegistrar registrar) {
		registrar.setEndpointRegistry(registry(registrar.getEndpointRegistry()));
	}

	@Override
	Object manage(Object endpoint, SmartLifecycle container) {
		return (endpoint instanceof MethodJmsListenerEndpoint called)
				? manage(called.getBean(), called.getMethod(), container) : container;
	}

}
