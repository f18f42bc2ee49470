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

import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

import io.leaderelection.annotation.InvalidUsageException;
import io.leaderelection.autoconfigure.LeaderElectionAutoConfiguration;
import io.leaderelection.autoconfigure.LeaderElectionProperties;
import io.leaderelection.engine.DefaultLeaderElectors;
import io.leaderelection.lifecycle.LeadershipSequence;
import org.jspecify.annotations.Nullable;

import org.springframework.beans.factory.ListableBeanFactory;
import org.springframework.beans.factory.SmartInitializingSingleton;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBooleanProperty;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.SearchStrategy;
import org.springframework.context.ApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Lazy;
import org.springframework.integration.leader.event.OnGrantedEvent;
import org.springframework.integration.support.leader.LockRegistryLeaderInitiator;

/**
 * {@link EnableAutoConfiguration Auto-configuration} for the leader events of Spring
 * Integration.
 */
@AutoConfiguration(after = LeaderElectionAutoConfiguration.class)
@ConditionalOnClass(OnGrantedEvent.class)
@ConditionalOnBean(value = DefaultLeaderElectors.class, search = SearchStrategy.CURRENT)
@ConditionalOnBooleanProperty(name = "leader-election.integration.enabled", matchIfMissing = true)
public final class LeadershipIntegrationAutoConfiguration {

	private static final String PREFIX = "leader-election.integration.roles.";

	/**
	 * Not lazy, since it must not miss an event.
	 */
	@Bean
	@Lazy(false)
	RoleEventPublisher leadershipRoleEventPublisher(DefaultLeaderElectors electors, LeaderElectionProperties properties,
			LeadershipSequence sequence, ApplicationContext context) {
		RoleEventPublisher publisher = new RoleEventPublisher(
				roles(electors.getElections(), properties.integration().roles()), context);
		sequence.add(publisher);
		return publisher;
	}

	/**
	 * Checked when all singletons have been created, so that the check creates none.
	 */
	@Bean
	SmartInitializingSingleton leadershipRoleCheck(RoleEventPublisher publisher, ListableBeanFactory beanFactory) {
		return () -> checkInitiators(publisher.getRoles(), beanFactory);
	}

	private static Map<String, List<String>> roles(Set<String> elections, Map<String, List<String>> configured) {
		configured.forEach((election, roles) -> {
			if (!elections.contains(election)) {
				throw new InvalidUsageException(PREFIX + election, roles,
						"There is no election of that name, only " + elections + ".",
						"Use the name of an election. Further elections are configured by leader-election.elections.");
			}
		});
		Map<String, List<String>> result = new LinkedHashMap<>();
		Map<String, String> owners = new HashMap<>();
		elections.forEach((election) -> {
			List<String> roles = configured.getOrDefault(election, List.of(election));
			roles.forEach((role) -> checkOwner(election, role, owners.put(role, election)));
			result.put(election, roles);
		});
		return Collections.unmodifiableMap(result);
	}

	private static void checkOwner(String election, String role, @Nullable String other) {
		if (other != null) {
			throw new InvalidUsageException(PREFIX + election, role,
					"The role also follows the election '" + other + "', so each of the two would start and stop its "
							+ "endpoints.",
					"Let each role follow one election. An election that is not listed has the role of its name.");
		}
	}

	/**
	 * A role with two elections could have a leader in each of them.
	 */
	private static void checkInitiators(Map<String, List<String>> roles, ListableBeanFactory beanFactory) {
		beanFactory.getBeansOfType(LockRegistryLeaderInitiator.class, false, false).forEach((name, initiator) -> {
			String role = initiator.getContext().getRole();
			roles.forEach((election, owned) -> {
				if (role != null && owned.contains(role)) {
					throw new InvalidUsageException(PREFIX + election, role,
							"The LockRegistryLeaderInitiator bean '" + name + "' holds an election for the same role.",
							"Remove one of the two: that bean, or the role from this property. To publish no events of "
									+ "Spring Integration, set leader-election.integration.enabled=false.");
				}
			});
		});
	}

}
