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

package io.leaderelection.autoconfigure.health;

import java.util.function.BooleanSupplier;

import io.leaderelection.annotation.InvalidUsageException;
import io.leaderelection.autoconfigure.LeaderElectionAutoConfiguration;
import io.leaderelection.autoconfigure.LeaderElectionProperties;
import io.leaderelection.autoconfigure.LeaderElectionProperties.Mode;
import io.leaderelection.engine.DefaultLeaderElectors;
import io.leaderelection.engine.LocalStore;
import org.jspecify.annotations.Nullable;

import org.springframework.beans.factory.ObjectProvider;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionOutcome;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.boot.autoconfigure.condition.SpringBootCondition;
import org.springframework.boot.availability.ApplicationAvailability;
import org.springframework.boot.availability.ReadinessState;
import org.springframework.boot.health.actuate.endpoint.HealthEndpoint;
import org.springframework.boot.health.actuate.endpoint.HealthEndpointGroups;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.ConditionContext;
import org.springframework.context.annotation.Conditional;
import org.springframework.context.annotation.Configuration;
import org.springframework.core.type.AnnotatedTypeMetadata;
import org.springframework.util.StringUtils;

/**
 * {@link EnableAutoConfiguration Auto-configuration} for {@link HealthMonitor}.
 */
@AutoConfiguration(after = LeaderElectionAutoConfiguration.class,
		afterName = { "org.springframework.boot.autoconfigure.availability.ApplicationAvailabilityAutoConfiguration",
				"org.springframework.boot.health.autoconfigure.actuate.endpoint.HealthEndpointAutoConfiguration" })
@ConditionalOnBean(DefaultLeaderElectors.class)
@ConditionalOnProperty("leader-election.resign-when-unhealthy.group")
@Conditional(ResignWhenUnhealthyAutoConfiguration.OnHealthGroupCondition.class)
public final class ResignWhenUnhealthyAutoConfiguration {

	private static final String PREFIX = "leader-election.resign-when-unhealthy.";

	private static final String READINESS = "readiness";

	@Bean
	HealthMonitor leadershipHealthMonitor(DefaultLeaderElectors electors, LeaderElectionProperties properties,
			ObjectProvider<GroupHealth> groups, ObjectProvider<ApplicationAvailability> availability,
			ObjectProvider<LocalStore> manual) {
		String group = String.valueOf(properties.resignWhenUnhealthy().group());
		BooleanSupplier healthCheck = healthCheck(group, groups.getIfAvailable(), availability.getIfAvailable());
		// A test that grants and revokes leadership would be disturbed
		boolean isManual = properties.mode() != Mode.POSTGRESQL && manual.getIfAvailable() != null;
		return new HealthMonitor(electors, isManual ? () -> true : healthCheck, "health group '" + group + "'",
				properties.resignWhenUnhealthy().after());
	}

	private static BooleanSupplier healthCheck(String group, @Nullable GroupHealth health,
			@Nullable ApplicationAvailability availability) {
		BooleanSupplier check = (health != null) ? health.check(group) : null;
		if (check != null) {
			return check;
		}
		if (group.equals(READINESS) && availability != null) {
			return () -> availability.getReadinessState() == ReadinessState.ACCEPTING_TRAFFIC;
		}
		throw new InvalidUsageException(PREFIX + "group", group,
				"There is no health group with this name, so this node would never resign.",
				"Define it by management.endpoint.health.group." + group
						+ ".include (this needs Actuator and its health endpoint), or set readiness.");
	}

	/**
	 * Treats an empty name as not set, like the other properties.
	 */
	static class OnHealthGroupCondition extends SpringBootCondition {

		@Override
		public ConditionOutcome getMatchOutcome(ConditionContext context, AnnotatedTypeMetadata metadata) {
			return new ConditionOutcome(StringUtils.hasText(context.getEnvironment().getProperty(PREFIX + "group")),
					PREFIX + "group must have a value");
		}

	}

	/**
	 * Health groups, if the health endpoint is available.
	 */
	@Configuration(proxyBeanMethods = false)
	@ConditionalOnClass(HealthEndpoint.class)
	static class GroupHealthConfiguration {

		@Bean
		@ConditionalOnBean({ HealthEndpoint.class, HealthEndpointGroups.class })
		GroupHealth leadershipGroupHealth(HealthEndpoint endpoint, HealthEndpointGroups groups) {
			return new GroupHealth(endpoint, groups);
		}

	}

}
