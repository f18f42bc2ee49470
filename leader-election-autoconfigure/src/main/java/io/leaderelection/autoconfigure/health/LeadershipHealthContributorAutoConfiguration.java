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

import java.util.Map;

import io.leaderelection.autoconfigure.LeaderElectionAutoConfiguration;
import io.leaderelection.autoconfigure.LeaderElectionProperties;
import io.leaderelection.engine.DefaultLeaderElectors;
import io.leaderelection.spread.ElectionSpread;
import io.leaderelection.transaction.TransactionFencing;

import org.springframework.beans.factory.ObjectProvider;
import org.springframework.beans.factory.annotation.Qualifier;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.health.autoconfigure.contributor.ConditionalOnEnabledHealthIndicator;
import org.springframework.boot.health.contributor.HealthIndicator;
import org.springframework.context.ApplicationContext;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.SmartLifecycle;
import org.springframework.context.annotation.Bean;
import org.springframework.core.env.Environment;

/**
 * {@link EnableAutoConfiguration Auto-configuration} for
 * {@link LeadershipHealthIndicator}.
 */
@AutoConfiguration(after = LeaderElectionAutoConfiguration.class)
@ConditionalOnClass({ ConditionalOnEnabledHealthIndicator.class, HealthIndicator.class })
@ConditionalOnBean(DefaultLeaderElectors.class)
@ConditionalOnEnabledHealthIndicator("leadership")
public final class LeadershipHealthContributorAutoConfiguration {

	@Bean
	@ConditionalOnMissingBean(name = { "leadershipHealthIndicator", "leadershipHealthContributor" })
	LeadershipHealthIndicator leadershipHealthIndicator(DefaultLeaderElectors electors,
			@Qualifier("leaderElectionLifecycle") SmartLifecycle lifecycle, ApplicationContext context,
			ObjectProvider<TransactionFencing> fencing, ElectionSpread spread, LeaderElectionProperties properties,
			Environment environment) {
		TransactionFencing transactions = fencing.getIfAvailable();
		return new LeadershipHealthIndicator(properties.group(environment), electors,
				() -> isRunning(context) && lifecycle.isRunning(), properties.health().unreachableAfter(),
				(transactions != null) ? transactions::describe : Map::of, spread::status);
	}

	/**
	 * Return whether the context has started all that it starts, and is not about to
	 * close.
	 */
	private static boolean isRunning(ApplicationContext context) {
		return !(context instanceof ConfigurableApplicationContext configurable)
				|| (configurable.isRunning() && !configurable.isClosed());
	}

}
