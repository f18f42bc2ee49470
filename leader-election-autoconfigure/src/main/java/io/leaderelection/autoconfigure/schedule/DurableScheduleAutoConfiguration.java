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

package io.leaderelection.autoconfigure.schedule;

import io.leaderelection.annotation.WorkAdvisor;
import io.leaderelection.autoconfigure.LeaderElectionAutoConfiguration;
import io.leaderelection.autoconfigure.LeaderElectionProperties;
import io.leaderelection.autoconfigure.LeaderElectionProperties.Mode;
import io.leaderelection.autoconfigure.LeaderElectionProperties.SchemaInitialization;
import io.leaderelection.engine.DefaultLeaderElectors;
import io.leaderelection.schedule.DurableSchedules;
import io.leaderelection.schedule.ScheduleStore;
import io.leaderelection.schedule.ScheduleStore.TableSettings;
import io.leaderelection.transaction.TransactionFencing;

import org.springframework.beans.factory.ListableBeanFactory;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.beans.factory.config.BeanDefinition;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.SearchStrategy;
import org.springframework.context.ApplicationEventPublisher;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.DependsOn;
import org.springframework.context.annotation.Role;
import org.springframework.jdbc.core.JdbcTemplate;

/**
 * {@link EnableAutoConfiguration Auto-configuration} for durable schedules.
 */
@AutoConfiguration(after = LeaderElectionAutoConfiguration.class)
@ConditionalOnClass(DurableSchedules.class)
@ConditionalOnBean(value = DefaultLeaderElectors.class, search = SearchStrategy.CURRENT)
public final class DurableScheduleAutoConfiguration {

	@Bean
	@Role(BeanDefinition.ROLE_INFRASTRUCTURE)
	static WorkAdvisor durableScheduleAdvisor(ObjectProvider<DurableSchedules> schedules) {
		return DurableSchedules.advisor(schedules);
	}

	@Bean
	DurableSchedules durableSchedules(LeaderElectionProperties properties, ObjectProvider<ScheduleStore> store,
			ConfigurableListableBeanFactory beanFactory, ApplicationEventPublisher publisher) {
		DurableSchedules schedules = new DurableSchedules(
				(properties.mode() == Mode.POSTGRESQL) ? store.getIfAvailable() : ScheduleStore.inMemory(beanFactory),
				properties.schedules().within());
		schedules.onFire(publisher::publishEvent);
		return schedules;
	}

	@Bean
	@DependsOn("leaderElectionLifecycle")
	DurableSchedulesLifecycle durableSchedulesLifecycle(DurableSchedules schedules, ListableBeanFactory beanFactory) {
		return new DurableSchedulesLifecycle(schedules, beanFactory);
	}

	/** Records fires if transactions can be fenced. */
	@Configuration(proxyBeanMethods = false)
	@ConditionalOnClass(JdbcTemplate.class)
	@ConditionalOnBean(TransactionFencing.class)
	static class ScheduleStoreConfiguration {

		@Bean
		ScheduleStore scheduleStore(LeaderElectionProperties properties, TransactionFencing fencing,
				ConfigurableListableBeanFactory beanFactory, DefaultLeaderElectors electors) {
			return ScheduleStore.jdbc(
					new TableSettings(properties.tableName(),
							properties.initializeSchema() == SchemaInitialization.ALWAYS,
							properties.schedules().transactionIdleTimeout(), properties.schedules().maxClockSkew()),
					fencing, beanFactory, (election) -> electors.get(election).key());
		}

	}

}
