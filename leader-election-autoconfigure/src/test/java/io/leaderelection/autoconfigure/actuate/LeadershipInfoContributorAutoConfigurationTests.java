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

import io.leaderelection.LeaderElector;
import io.leaderelection.autoconfigure.LeaderElectionAutoConfiguration;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

import org.springframework.boot.actuate.info.InfoContributor;
import org.springframework.boot.actuate.info.InfoEndpoint;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.autoconfigure.ImportAutoConfiguration;
import org.springframework.boot.test.context.FilteredClassLoader;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.context.annotation.Configuration;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for {@link LeadershipInfoContributorAutoConfiguration}.
 */
@Tag("ring1")
class LeadershipInfoContributorAutoConfigurationTests {

	private final ApplicationContextRunner off = new ApplicationContextRunner()
		.withConfiguration(AutoConfigurations.of(LeaderElectionAutoConfiguration.class,
				LeadershipInfoContributorAutoConfiguration.class))
		.withBean(InfoEndpoint.class)
		.withPropertyValues("leader-election.mode=always", "leader-election.node-id=web1",
				"leader-election.elections.reports.candidate=false");

	private final ApplicationContextRunner contextRunner = this.off
		.withPropertyValues("management.info.leadership.enabled=true");

	@Test
	void showsTheRoleInEachElection() {
		this.contextRunner.run((context) -> {
			String term = context.getBean(LeaderElector.class).getLeadership().getTerm().toString();
			assertThat(context.getBean(InfoEndpoint.class).info()).isEqualTo(Map.of("leadership",
					Map.of("elections", Map.of("default", Map.of("role", "leader", "node", "web1", "term", term),
							"reports", Map.of("role", "follower", "node", "web1")))));
		});
	}

	@Test
	void isOffByDefault() {
		this.off.run((context) -> assertThat(context.getBean(InfoEndpoint.class).info()).isEmpty());
	}

	@Test
	void backsOffForOneOfTheApplication() {
		this.contextRunner
			.withBean("leadershipInfoContributor", InfoContributor.class,
					() -> (builder) -> builder.withDetail("a", "b"))
			.run((context) -> assertThat(context.getBean(InfoEndpoint.class).info()).isEqualTo(Map.of("a", "b")));
	}

	@Test
	void applicationWithoutActuatorStarts() {
		new ApplicationContextRunner().withUserConfiguration(OwnAutoConfigurations.class)
			.withClassLoader(new FilteredClassLoader("org.springframework.boot.actuate"))
			.withPropertyValues("leader-election.mode=always", "management.info.leadership.enabled=true")
			.run((context) -> assertThat(context).hasNotFailed().doesNotHaveBean("leadershipInfoContributor"));
	}

	@Configuration(proxyBeanMethods = false)
	@ImportAutoConfiguration({ LeaderElectionAutoConfiguration.class,
			LeadershipInfoContributorAutoConfiguration.class })
	static class OwnAutoConfigurations {

	}

}
