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

package io.leaderelection.autoconfigure.observation;

import io.leaderelection.autoconfigure.LeaderElectionAutoConfiguration;
import io.leaderelection.engine.DefaultLeaderElectors;
import io.leaderelection.engine.WorkObserver;
import io.leaderelection.observation.LeaderWorkObservationConvention;
import io.leaderelection.observation.MdcWorkObserver;
import io.leaderelection.observation.MicrometerWorkObserver;
import io.micrometer.observation.ObservationRegistry;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.slf4j.MDC;

import org.springframework.beans.factory.BeanFactory;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.beans.factory.SmartInitializingSingleton;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBooleanProperty;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.core.env.Environment;

/**
 * {@link EnableAutoConfiguration Auto-configuration} for observations of leader work and
 * its context in logs.
 */
@AutoConfiguration(after = LeaderElectionAutoConfiguration.class,
		afterName = "org.springframework.boot.micrometer.observation.autoconfigure.ObservationAutoConfiguration")
@ConditionalOnBean(DefaultLeaderElectors.class)
public final class LeaderWorkObservationAutoConfiguration {

	private static final Log logger = LogFactory.getLog(LeaderWorkObservationAutoConfiguration.class);

	private static final String OBSERVATION = "leader-election.observation.enabled";

	private static final String OBSERVER = "micrometerWorkObserver";

	/**
	 * Not a dependency of the elections, since observation handlers may depend on them.
	 */
	@Bean
	SmartInitializingSingleton leaderWorkObservation(DefaultLeaderElectors electors,
			ObjectProvider<WorkObserver> observers, Environment environment, BeanFactory beanFactory) {
		return () -> {
			if (environment.getProperty(OBSERVATION, Boolean.class, false) && !beanFactory.containsBean(OBSERVER)) {
				logger.warn("Leader work is not observed although leader-election.observation.enabled=true, "
						+ "since there is no ObservationRegistry bean: add the dependency "
						+ "org.springframework.boot:spring-boot-starter-actuator");
			}
			electors.all().forEach((elector) -> elector.gate().setObservers(observers.orderedStream().toList()));
		};
	}

	/** Observations with Micrometer. */
	@Configuration(proxyBeanMethods = false)
	@ConditionalOnClass(ObservationRegistry.class)
	@ConditionalOnBooleanProperty(OBSERVATION)
	static class ObservationConfiguration {

		@Bean(OBSERVER)
		@ConditionalOnBean(ObservationRegistry.class)
		MicrometerWorkObserver micrometerWorkObserver(ObservationRegistry registry,
				ObjectProvider<LeaderWorkObservationConvention> convention) {
			return new MicrometerWorkObserver(registry, convention.getIfAvailable());
		}

	}

	/** Context in logs. */
	@Configuration(proxyBeanMethods = false)
	@ConditionalOnClass(MDC.class)
	@ConditionalOnBooleanProperty("leader-election.mdc.enabled")
	static class MdcConfiguration {

		@Bean
		MdcWorkObserver mdcWorkObserver() {
			return new MdcWorkObserver();
		}

	}

}
