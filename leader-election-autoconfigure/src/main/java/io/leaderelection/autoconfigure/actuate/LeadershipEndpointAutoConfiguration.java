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

package io.leaderelection.autoconfigure.actuate;

import java.util.Map;

import io.leaderelection.autoconfigure.LeaderElectionAutoConfiguration;
import io.leaderelection.autoconfigure.LeaderElectionProperties;
import io.leaderelection.autoconfigure.actuate.LeadershipEndpoint.Schedules;
import io.leaderelection.autoconfigure.schedule.DurableScheduleAutoConfiguration;
import io.leaderelection.engine.DefaultLeaderElectors;
import io.leaderelection.schedule.DurableSchedules;
import io.leaderelection.spread.ElectionSpread;
import io.leaderelection.transaction.TransactionFencing;

import org.springframework.beans.factory.ObjectProvider;
import org.springframework.boot.actuate.autoconfigure.endpoint.condition.ConditionalOnAvailableEndpoint;
import org.springframework.boot.actuate.endpoint.annotation.Endpoint;
import org.springframework.boot.actuate.endpoint.invoke.OperationInvokerAdvisor;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.autoconfigure.condition.SearchStrategy;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.core.env.Environment;

/**
 * {@link EnableAutoConfiguration Auto-configuration} for {@link LeadershipEndpoint}.
 */
@AutoConfiguration(after = { LeaderElectionAutoConfiguration.class, DurableScheduleAutoConfiguration.class })
@ConditionalOnClass({ Endpoint.class, ConditionalOnAvailableEndpoint.class })
@ConditionalOnAvailableEndpoint(LeadershipEndpoint.class)
@ConditionalOnBean(DefaultLeaderElectors.class)
public final class LeadershipEndpointAutoConfiguration {

	@Bean
	@ConditionalOnMissingBean
	LeadershipEndpoint leadershipEndpoint(DefaultLeaderElectors electors, ObjectProvider<TransactionFencing> fencing,
			ElectionSpread spread, ObjectProvider<Schedules> schedules, LeaderElectionProperties properties,
			Environment environment) {
		TransactionFencing transactions = fencing.getIfAvailable();
		return new LeadershipEndpoint(properties.group(environment), electors,
				(transactions != null) ? transactions::describe : Map::of, spread::status,
				schedules.getIfAvailable(() -> Schedules.NONE));
	}

	@Bean
	static OperationInvokerAdvisor leadershipEndpointCallerAdvisor() {
		return LeadershipEndpoint.callerAdvisor();
	}

	/** Shows durable schedules if they are on the class path. */
	@Configuration(proxyBeanMethods = false)
	@ConditionalOnClass(DurableSchedules.class)
	@ConditionalOnBean(value = DurableSchedules.class, search = SearchStrategy.CURRENT)
	static class DurableScheduleConfiguration {

		@Bean
		Schedules leadershipEndpointSchedules(DurableSchedules schedules) {
			return (election) -> EndpointSchedule.of(schedules, election);
		}

	}

}
