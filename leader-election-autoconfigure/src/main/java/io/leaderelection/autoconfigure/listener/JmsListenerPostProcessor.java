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
import org.jspecify.annotations.Nullable;

import org.springframework.jms.annotation.JmsListenerConfigurer;
import org.springframework.jms.config.JmsListenerEndpointRegistrar;
import org.springframework.jms.config.JmsListenerEndpointRegistry;
import org.springframework.jms.config.MethodJmsListenerEndpoint;

/**
 * The containers of {@code @JmsListener}.
 */
class JmsListenerPostProcessor extends ListenerRegistryPostProcessor implements JmsListenerConfigurer {

	JmsListenerPostProcessor(LeaderOnlyBeanPostProcessor guard, LeaderServices services) {
		super(JmsListenerEndpointRegistry.class, guard, services);
	}

	@Override
	public void configureJmsListeners(JmsListenerEndpointRegistrar registrar) {
		JmsListenerEndpointRegistry registry = registrar.getEndpointRegistry();
		if (registry != null) {
			registrar.setEndpointRegistry(manage(registry));
		}
	}

	@Override
	@Nullable Listener listener(Object endpoint) {
		if (endpoint instanceof MethodJmsListenerEndpoint called) {
			Object bean = called.getBean();
			return (bean != null) ? new Listener(bean, called.getMethod()) : null;
		}
		return null;
	}

}
