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

import io.leaderelection.LeaderElector;
import io.leaderelection.autoconfigure.LeaderElectionAutoConfiguration;
import io.leaderelection.autoconfigure.schedule.DurableScheduleAutoConfiguration;
import io.micrometer.core.instrument.Meter;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Tags;
import io.micrometer.core.instrument.binder.MeterBinder;
import io.micrometer.core.instrument.config.MeterFilter;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.test.context.FilteredClassLoader;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.context.annotation.Configuration;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for {@link LeadershipMetricsAutoConfiguration}.
 */
@Tag("ring1")
class LeadershipMetricsAutoConfigurationTests {

	private final ApplicationContextRunner contextRunner = new ApplicationContextRunner()
		.withConfiguration(
				AutoConfigurations.of(LeaderElectionAutoConfiguration.class, LeadershipMetricsAutoConfiguration.class))
		.withPropertyValues("leader-election.mode=always");

	@Test
	void isOnWithAMeterRegistry() {
		this.contextRunner.withBean(SimpleMeterRegistry.class)
			.run((context) -> assertThat(context).hasSingleBean(LeadershipMetrics.class));
	}

	@Test
	void isOffWithoutAMeterRegistry() {
		this.contextRunner
			.run((context) -> assertThat(context).hasNotFailed().doesNotHaveBean(LeadershipMetrics.class));
	}

	@Test
	void isOffWithoutMicrometer() {
		this.contextRunner.withClassLoader(new FilteredClassLoader("io.micrometer"))
			.run((context) -> assertThat(context).hasNotFailed().hasSingleBean(LeaderElector.class));
	}

	@Test
	void backsOffForOneOfTheApplication() {
		MeterBinder own = (registry) -> {
		};
		this.contextRunner.withBean(SimpleMeterRegistry.class)
			.withBean("leadershipMetrics", MeterBinder.class, () -> own)
			.run((context) -> assertThat(context).getBean(MeterBinder.class).isSameAs(own));
	}

	@Test
	void metersOfSchedulesNeedTheirArtifact() {
		ApplicationContextRunner runner = this.contextRunner
			.withConfiguration(AutoConfigurations.of(DurableScheduleAutoConfiguration.class))
			.withBean(SimpleMeterRegistry.class);
		runner.run((context) -> assertThat(context).hasBean("scheduleMetrics"));
		runner.withClassLoader(new FilteredClassLoader("io.leaderelection.schedule"))
			.run((context) -> assertThat(context).hasBean("leadershipMetrics").doesNotHaveBean("scheduleMetrics"));
	}

	@Test
	void gaugesAreBoundToTheRegistryOfTheApplication() {
		new ApplicationContextRunner().withUserConfiguration(Application.class)
			.withPropertyValues("leader-election.mode=always", "spring.application.name=shop",
					"spring.autoconfigure.exclude=org.springframework.boot.jdbc.autoconfigure.DataSourceAutoConfiguration")
			.run((context) -> assertThat(context.getBean(MeterRegistry.class)
				.get("leader.election.leader")
				.tags("group", "shop", "election", "default")
				.gauge()
				.value()).isOne());
	}

	@Test
	void onlyMetersOfElectionsHaveAGroup() {
		MeterFilter filter = LeadershipMetricsAutoConfiguration.groupFilter("shop");
		assertThat(filter.map(id("leader.election.work")).getTag("group")).isEqualTo("shop");
		assertThat(filter.map(id("leader.elections")).getTag("group")).isNull();
		assertThat(LeadershipMetricsAutoConfiguration.groupFilter("").map(id("leader.election.led")))
			.extracting((id) -> id.getTag("group"))
			.isEqualTo("none");
	}

	private static Meter.Id id(String name) {
		return new Meter.Id(name, Tags.empty(), null, null, Meter.Type.GAUGE);
	}

	@Configuration(proxyBeanMethods = false)
	@EnableAutoConfiguration
	static class Application {

	}

}
