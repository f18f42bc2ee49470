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

package io.leaderelection.autoconfigure.integration;

import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;

import io.leaderelection.LeadershipEvent;
import io.leaderelection.LeadershipGrantedEvent;
import io.leaderelection.LeadershipRevokedEvent;
import io.leaderelection.engine.DefaultLeaderElector;
import io.leaderelection.lifecycle.LeadershipSequence.Participant;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;

import org.springframework.context.ApplicationContext;
import org.springframework.context.event.ContextRefreshedEvent;
import org.springframework.context.event.EventListener;
import org.springframework.integration.endpoint.AbstractEndpoint;
import org.springframework.integration.leader.event.AbstractLeaderEvent;
import org.springframework.integration.leader.event.OnGrantedEvent;
import org.springframework.integration.leader.event.OnRevokedEvent;

/**
 * Publishes the leader events of Spring Integration for the roles that follow an
 * election, so that a {@code SmartLifecycleRoleController} starts and stops the endpoints
 * of these roles.
 * <p>
 * The events of the roles are published on the thread that delivers the events of the
 * election, and their listeners have returned before an orderly hand-over frees the lock.
 * A failing listener has no effect on the election or on the listeners of its events.
 */
final class RoleEventPublisher implements Participant {

	private static final Log logger = LogFactory.getLog(RoleEventPublisher.class);

	private final Map<String, List<String>> roles;

	private final ApplicationContext context;

	/**
	 * Create a new {@code RoleEventPublisher} instance.
	 * @param roles the roles that follow an election, by its name
	 * @param context the context to publish the events in
	 */
	RoleEventPublisher(Map<String, List<String>> roles, ApplicationContext context) {
		this.roles = roles;
		this.context = context;
	}

	/**
	 * Return the roles that follow an election.
	 * @return the roles by the name of their election
	 */
	Map<String, List<String>> getRoles() {
		return this.roles;
	}

	@Override
	public void granted(DefaultLeaderElector elector, LeadershipGrantedEvent event) {
		rolesOf(event)
			.forEach((role) -> publish(new OnGrantedEvent(elector, new LeadershipContext(elector, event, role), role)));
	}

	@Override
	public void revoked(DefaultLeaderElector elector, LeadershipRevokedEvent event) {
		rolesOf(event)
			.forEach((role) -> publish(new OnRevokedEvent(elector, new LeadershipContext(elector, event, role), role)));
	}

	private List<String> rolesOf(LeadershipEvent event) {
		return this.roles.getOrDefault(event.getElection(), List.of());
	}

	private void publish(AbstractLeaderEvent event) {
		try {
			this.context.publishEvent(event);
		}
		catch (Throwable ex) {
			logger.warn("A listener of " + event.getClass().getSimpleName() + " failed (" + event.getContext() + ")",
					ex);
		}
	}

	/**
	 * Log endpoints that the container has started although they have a role that follows
	 * an election, and roles that follow none.
	 */
	@EventListener
	void refreshed(ContextRefreshedEvent event) {
		if (event.getApplicationContext() != this.context) {
			return;
		}
		Set<String> others = new TreeSet<>();
		this.context.getBeansOfType(AbstractEndpoint.class, false, false).forEach((name, endpoint) -> {
			String role = endpoint.getRole();
			if (role != null && !followsElection(role)) {
				others.add(role);
			}
			else if (role != null && endpoint.isAutoStartup()) {
				logger
					.warn("Endpoint '" + name + "' of role '" + role + "' is started on every node, whether or not the "
							+ "node leads: set autoStartup=false, so that only leadership starts it");
			}
		});
		if (!others.isEmpty()) {
			logger.info("Roles " + others + " of Spring Integration follow no election, only " + this.roles
					+ ": set leader-election.integration.roles if they should");
		}
	}

	private boolean followsElection(String role) {
		return this.roles.values().stream().anyMatch((roles) -> roles.contains(role));
	}

}
