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

import java.util.concurrent.TimeUnit;

import io.leaderelection.LeaderElector;
import io.leaderelection.autoconfigure.LeaderElectionAutoConfiguration;
import io.leaderelection.autoconfigure.metrics.LeadershipMetricsAutoConfiguration;
import io.leaderelection.engine.DefaultLeaderElectors;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.autoconfigure.ImportAutoConfiguration;
import org.springframework.boot.health.actuate.endpoint.HealthEndpoint;
import org.springframework.boot.health.contributor.Health;
import org.springframework.boot.health.contributor.HealthIndicator;
import org.springframework.boot.health.contributor.Status;
import org.springframework.boot.test.context.FilteredClassLoader;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Configuration;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for {@link LeadershipHealthContributorAutoConfiguration}.
 */
@Tag("ring1")
class LeadershipHealthContributorAutoConfigurationTests {

	private final ApplicationContextRunner contextRunner = new ApplicationContextRunner()
		.withConfiguration(AutoConfigurations.of(LeaderElectionAutoConfiguration.class,
				LeadershipHealthContributorAutoConfiguration.class))
		.withPropertyValues("leader-election.mode=always");

	@Test
	void isOnByDefault() {
		this.contextRunner.run((context) -> assertThat(context).hasSingleBean(LeadershipHealthIndicator.class)
			.hasBean("leadershipHealthIndicator"));
	}

	@ParameterizedTest
	@ValueSource(strings = { "leadership", "defaults" })
	void isSwitchedOffByPropertyOrWithAllOthers(String name) {
		this.contextRunner.withPropertyValues("management.health." + name + ".enabled=false")
			.run((context) -> assertThat(context).hasNotFailed()
				.hasSingleBean(LeaderElector.class)
				.doesNotHaveBean(LeadershipHealthIndicator.class));
	}

	@Test
	void backsOffForOneOfTheApplication() {
		HealthIndicator own = () -> Health.up().build();
		this.contextRunner.withBean("leadershipHealthIndicator", HealthIndicator.class, () -> own)
			.run((context) -> assertThat(context).doesNotHaveBean(LeadershipHealthIndicator.class));
	}

	@Test
	void electionThatHasStoppedByItselfIsDownOnlyWhileTheContextRuns() {
		this.contextRunner.run((context) -> {
			LeadershipHealthIndicator indicator = context.getBean(LeadershipHealthIndicator.class);
			ConfigurableApplicationContext source = context.getSourceApplicationContext();
			assertThat(indicator.health().getStatus()).isEqualTo(Status.UP);
			context.getBean(DefaultLeaderElectors.class).getDefault().stop().get(30, TimeUnit.SECONDS);
			assertThat(indicator.health().getStatus()).isEqualTo(Status.DOWN);
			source.pause();
			assertThat(indicator.health().getStatus()).isEqualTo(Status.UP);
			source.restart();
			assertThat(indicator.health().getStatus()).isEqualTo(Status.UP);
			assertThat(context.getBean(LeaderElector.class).isLeader()).isTrue();
			source.close();
			assertThat(indicator.health().getStatus()).isEqualTo(Status.UP);
		});
	}

	@Test
	void isThereInHealthEndpointAndNotInItsProbes() {
		new ApplicationContextRunner().withUserConfiguration(Application.class)
			.withPropertyValues("leader-election.mode=always", "leader-election.candidate=false",
					"management.endpoints.web.exposure.include=health",
					"spring.autoconfigure.exclude=org.springframework.boot.jdbc.autoconfigure.DataSourceAutoConfiguration")
			.run((context) -> {
				HealthEndpoint endpoint = context.getBean(HealthEndpoint.class);
				assertThat(endpoint.healthForPath("leadership").getStatus()).isEqualTo(Status.UP);
				assertThat(endpoint.healthForPath("liveness", "leadership")).isNull();
				assertThat(endpoint.healthForPath("readiness", "leadership")).isNull();
			});
	}

	@Test
	void applicationWithoutHealthOrMetricsStarts() {
		new ApplicationContextRunner().withUserConfiguration(OwnAutoConfigurations.class)
			.withClassLoader(new FilteredClassLoader("org.springframework.boot.health", "io.micrometer"))
			.withPropertyValues("leader-election.mode=always")
			.run((context) -> assertThat(context).hasNotFailed()
				.hasSingleBean(LeaderElector.class)
				.doesNotHaveBean("leadershipHealthIndicator")
				.doesNotHaveBean("leadershipMetrics"));
	}

	@Configuration(proxyBeanMethods = false)
	@ImportAutoConfiguration({ LeaderElectionAutoConfiguration.class,
			LeadershipHealthContributorAutoConfiguration.class, LeadershipMetricsAutoConfiguration.class })
	static class OwnAutoConfigurations {

	}

	@Configuration(proxyBeanMethods = false)
	@EnableAutoConfiguration
	static class Application {

	}

}
