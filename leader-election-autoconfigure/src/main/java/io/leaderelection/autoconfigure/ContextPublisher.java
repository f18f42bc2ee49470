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

package io.leaderelection.autoconfigure;

import java.util.function.Consumer;
import java.util.function.UnaryOperator;

import io.leaderelection.ElectionEvent;
import io.leaderelection.LeadershipRevokedEvent;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;

import org.springframework.context.ApplicationContext;
import org.springframework.context.ConfigurableApplicationContext;

/**
 * Publishes events to the listeners of the application context and its parents. The event
 * of a revocation may be published after the context was closed, if a listener of the
 * grant closes the context or does not return before it is closed.
 * <p>
 * This bean is not a {@link Consumer}: Spring Cloud Function would take it for a function
 * of the application.
 */
final class ContextPublisher {

	private static final Log logger = LogFactory.getLog(ContextPublisher.class);

	private final ApplicationContext context;

	private volatile Consumer<ElectionEvent> delivery = this::deliver;

	/**
	 * Create a new {@code ContextPublisher} instance.
	 * @param context the context of the listeners
	 */
	ContextPublisher(ApplicationContext context) {
		this.context = context;
	}

	/**
	 * Act around every delivery to listeners from now on.
	 * @param around returns a publisher that delivers by way of the given one
	 */
	void around(UnaryOperator<Consumer<ElectionEvent>> around) {
		this.delivery = around.apply(this.delivery);
	}

	/**
	 * Publish an event.
	 */
	void publish(ElectionEvent event) {
		this.delivery.accept(event);
	}

	private void deliver(ElectionEvent event) {
		if (event instanceof LeadershipRevokedEvent revoked
				&& this.context instanceof ConfigurableApplicationContext configurable && !configurable.isActive()) {
			logger.warn("Listeners of LeadershipRevokedEvent are not called (" + revoked.getLeadership() + ", "
					+ revoked.getReason() + "), since the context is closed: a listener of LeadershipGrantedEvent has "
					+ "closed it or has not returned in time");
		}
		// The parents of the context may still be open
		this.context.publishEvent(event);
	}

}
