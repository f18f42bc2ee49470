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

package io.leaderelection.annotation;

import java.time.Duration;
import java.util.List;
import java.util.stream.Stream;

import io.leaderelection.LeadershipRevokedEvent.Reason;
import io.leaderelection.engine.DefaultLeaderElector;
import io.leaderelection.engine.DefaultLeaderElectors;
import io.leaderelection.engine.ElectionSettings;
import io.leaderelection.engine.ElectionStore;
import io.leaderelection.engine.LocalStore;
import io.leaderelection.testsupport.Daemon;
import org.jspecify.annotations.Nullable;

import org.springframework.beans.factory.ObjectProvider;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.autoconfigure.aop.AopAutoConfiguration;
import org.springframework.boot.autoconfigure.context.PropertyPlaceholderAutoConfiguration;
import org.springframework.boot.convert.DurationStyle;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.context.ApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.core.env.Environment;

/**
 * The guard and two elections, {@code default} and {@code reports}. This node leads those
 * that property {@code test.leads} lists, or those that a test grants if there is a
 * {@link LocalStore}.
 */
@Configuration(proxyBeanMethods = false)
class TestElections {

	static ApplicationContextRunner contextRunner() {
		return new ApplicationContextRunner().withUserConfiguration(TestElections.class)
			.withConfiguration(
					AutoConfigurations.of(AopAutoConfiguration.class, PropertyPlaceholderAutoConfiguration.class));
	}

	static ApplicationContextRunner leader() {
		return contextRunner().withPropertyValues("test.leads=default,reports");
	}

	static ApplicationContextRunner follower() {
		return contextRunner();
	}

	/**
	 * Return the context of a leader whose leadership a test revokes and grants again.
	 */
	static ApplicationContextRunner manual() {
		return contextRunner().withBean(LocalStore.class, () -> LocalStore.manual(true));
	}

	static DefaultLeaderElector elector(ApplicationContext context) {
		return context.getBean(DefaultLeaderElectors.class).getDefault();
	}

	/**
	 * Let the default election end its term, as a server would, and continue at once.
	 */
	static void lose(DefaultLeaderElector elector) {
		Daemon.start("loss", () -> {
			try {
				LocalStore.revoke(elector, Reason.SESSION_LOST);
			}
			catch (InterruptedException ex) {
				throw new IllegalStateException(ex);
			}
		});
	}

	@Bean
	static LeaderOnlyBeanPostProcessor leaderOnlyBeanPostProcessor(ObjectProvider<DefaultLeaderElectors> electors,
			ObjectProvider<WorkAdvisor> advisors) {
		return new LeaderOnlyBeanPostProcessor(electors, advisors);
	}

	@Bean
	RunningElections runningElections(Environment environment, ObjectProvider<LocalStore> manual) {
		List<String> leads = List.of(environment.getProperty("test.leads", String[].class, new String[0]));
		Duration drainTimeout = DurationStyle.detectAndParse(environment.getProperty("test.drain-timeout", "10s"));
		List<ElectionSettings> settings = Stream.of("default", "reports")
			.map((election) -> new ElectionSettings(election, "node", Duration.ofMinutes(1), Duration.ZERO,
					drainTimeout, true))
			.toList();
		return new RunningElections(new DefaultLeaderElectors(settings,
				(election) -> sessions(election, leads, manual.getIfAvailable()), (event) -> {
				}));
	}

	private static ElectionStore sessions(ElectionSettings election, List<String> leads, @Nullable LocalStore manual) {
		if (manual != null) {
			return manual;
		}
		return leads.contains(election.election()) ? LocalStore.always() : LocalStore.manual(false);
	}

	@Bean
	DefaultLeaderElectors leaderElectors(RunningElections elections) {
		return elections.electors();
	}

	record RunningElections(DefaultLeaderElectors electors) implements AutoCloseable {

		RunningElections {
			electors.all().forEach((elector) -> elector.start().join());
		}

		@Override
		public void close() {
			this.electors.all().stream().map(DefaultLeaderElector::stop).toList().forEach((stopped) -> stopped.join());
		}

	}

}
