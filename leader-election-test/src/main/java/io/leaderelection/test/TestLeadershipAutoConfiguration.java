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

package io.leaderelection.test;

import io.leaderelection.autoconfigure.LeaderElectionAutoConfiguration;
import io.leaderelection.autoconfigure.schedule.DurableScheduleAutoConfiguration;
import io.leaderelection.engine.DefaultLeaderElectors;
import io.leaderelection.engine.LocalStore;
import io.leaderelection.lifecycle.LeaderServices;
import io.leaderelection.schedule.DurableSchedules;

import org.springframework.beans.factory.config.ConfigurableBeanFactory;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Scope;
import org.springframework.core.env.Environment;

/**
 * {@link EnableAutoConfiguration Auto-configuration} for {@link TestLeadership} and
 * {@link TestSchedules}.
 *
 * @since 0.1.0
 */
@AutoConfiguration(after = { LeaderElectionAutoConfiguration.class, DurableScheduleAutoConfiguration.class })
@ConditionalOnProperty(TestLeadershipAutoConfiguration.ROLE)
public final class TestLeadershipAutoConfiguration {

	/**
	 * The property with the role of this node at the beginning, {@code leader} or
	 * {@code follower}. Set by
	 * {@link AutoConfigureTestLeadership @AutoConfigureTestLeadership}.
	 */
	static final String ROLE = "leader-election-test.role";

	/** The store of one election. */
	@Bean
	@Scope(ConfigurableBeanFactory.SCOPE_PROTOTYPE)
	LocalStore manualStore(Environment environment) {
		return LocalStore.manual(isLeader(environment));
	}

	@Bean
	TestLeadership testLeadership(DefaultLeaderElectors electors, LeaderServices services, Environment environment) {
		return new ManualLeadership(electors, services, isLeader(environment));
	}

	private static boolean isLeader(Environment environment) {
		return "leader".equals(environment.getProperty(ROLE));
	}

	/** Controls durable schedules, if these are on the class path. */
	@Configuration(proxyBeanMethods = false)
	@ConditionalOnClass(DurableSchedules.class)
	@ConditionalOnBean(DurableSchedules.class)
	static class DurableScheduleConfiguration {

		@Bean
		TestSchedules testSchedules(DurableSchedules schedules) {
			return new ManualSchedules(schedules);
		}

	}

}
