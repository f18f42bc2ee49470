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

package io.leaderelection.autoconfigure.metrics;

import io.leaderelection.autoconfigure.LeaderElectionAutoConfiguration;
import io.leaderelection.autoconfigure.LeaderElectionProperties;
import io.leaderelection.autoconfigure.schedule.DurableScheduleAutoConfiguration;
import io.leaderelection.engine.DefaultLeaderElectors;
import io.leaderelection.schedule.DurableSchedules;
import io.leaderelection.spread.ElectionSpread;
import io.micrometer.common.KeyValue;
import io.micrometer.core.instrument.Meter;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Tag;
import io.micrometer.core.instrument.config.MeterFilter;

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
 * {@link EnableAutoConfiguration Auto-configuration} for {@link LeadershipMetrics}.
 */
@AutoConfiguration(after = { LeaderElectionAutoConfiguration.class, DurableScheduleAutoConfiguration.class },
		afterName = "org.springframework.boot.micrometer.metrics.autoconfigure.CompositeMeterRegistryAutoConfiguration")
@ConditionalOnClass(MeterRegistry.class)
@ConditionalOnBean({ MeterRegistry.class, DefaultLeaderElectors.class })
public final class LeadershipMetricsAutoConfiguration {

	@Bean
	@ConditionalOnMissingBean(name = "leadershipMetrics")
	LeadershipMetrics leadershipMetrics(DefaultLeaderElectors electors, ElectionSpread spread) {
		return new LeadershipMetrics(electors, spread::status);
	}

	/**
	 * Meters of several applications differ by their group, also timers of observations.
	 */
	@Bean
	@ConditionalOnMissingBean(name = "leadershipGroupMeterFilter")
	static MeterFilter leadershipGroupMeterFilter(LeaderElectionProperties properties, Environment environment) {
		return groupFilter(properties.group(environment));
	}

	static MeterFilter groupFilter(String group) {
		Tag tag = Tag.of("group", group.isEmpty() ? KeyValue.NONE_VALUE : group);
		return new MeterFilter() {

			@Override
			public Meter.Id map(Meter.Id id) {
				return id.getName().startsWith("leader.election.") ? id.withTag(tag) : id;
			}

		};
	}

	/** Meters of durable schedules, if these are on the class path. */
	@Configuration(proxyBeanMethods = false)
	@ConditionalOnClass(DurableSchedules.class)
	@ConditionalOnBean(value = DurableSchedules.class, search = SearchStrategy.CURRENT)
	static class DurableScheduleConfiguration {

		@Bean
		@ConditionalOnMissingBean(name = "scheduleMetrics")
		ScheduleMetrics scheduleMetrics(DurableSchedules schedules) {
			return new ScheduleMetrics(schedules);
		}

	}

}
