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

package io.leaderelection.autoconfigure;

import java.util.Arrays;
import java.util.Set;
import java.util.stream.Collectors;

import io.leaderelection.LeaderElector;
import io.leaderelection.LeaderElectors;
import io.leaderelection.engine.DefaultLeaderElectors;
import org.jspecify.annotations.Nullable;

import org.springframework.beans.factory.BeanFactory;
import org.springframework.beans.factory.ListableBeanFactory;
import org.springframework.beans.factory.NoSuchBeanDefinitionException;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.diagnostics.FailureAnalysis;
import org.springframework.boot.diagnostics.FailureAnalyzer;
import org.springframework.boot.diagnostics.analyzer.AbstractInjectionFailureAnalyzer;
import org.springframework.core.annotation.Order;
import org.springframework.core.env.Environment;

/**
 * {@link FailureAnalyzer} for the injection of an election or of the control of
 * leadership in tests, if there is none. Called before the analyzer of Spring Boot for
 * any bean.
 */
@Order(0)
class MissingElectionFailureAnalyzer extends AbstractInjectionFailureAnalyzer<NoSuchBeanDefinitionException> {

	private static final Set<String> TEST_TYPES = Set.of("io.leaderelection.test.TestLeadership",
			"io.leaderelection.test.TestSchedules");

	private static final Set<String> TYPES = Set.of(LeaderElector.class.getName(), LeaderElectors.class.getName(),
			DefaultLeaderElectors.class.getName());

	private static final String ADD_ANNOTATION = "@AutoConfigureTestLeadership of the artifact leader-election-test to "
			+ "the test class.";

	private final BeanFactory beanFactory;

	private final Environment environment;

	MissingElectionFailureAnalyzer(BeanFactory beanFactory, Environment environment) {
		this.beanFactory = beanFactory;
		this.environment = environment;
	}

	@Override
	protected @Nullable FailureAnalysis analyze(Throwable rootFailure, NoSuchBeanDefinitionException cause,
			@Nullable String description) {
		Class<?> type = cause.getBeanType();
		if (type == null || cause.getNumberOfBeansFound() != 0
				|| !(TYPES.contains(type.getName()) || TEST_TYPES.contains(type.getName()))) {
			return null;
		}
		String required = "%s required a bean of type '%s' that could not be found.%n%n"
			.formatted((description != null) ? description : "A component", type.getName());
		if (!this.beanFactory.containsBean(LeaderElectionAutoConfiguration.ELECTORS_BEAN_NAME)) {
			return noElections(required, cause);
		}
		if (TEST_TYPES.contains(type.getName())) {
			return new FailureAnalysis(required + "Such a bean exists only if the test controls the elections.",
					"Add " + ADD_ANNOTATION, cause);
		}
		return new FailureAnalysis(required
				+ "There is no election with the qualifier of the injection point. The beans of elections are: "
				+ electors() + ".",
				"Correct the qualifier, or configure the election with properties 'leader-election.elections.<name>.*'.",
				cause);
	}

	private FailureAnalysis noElections(String required, NoSuchBeanDefinitionException cause) {
		if (!this.environment.getProperty(EnableAutoConfiguration.ENABLED_OVERRIDE_PROPERTY, Boolean.class, true)) {
			return new FailureAnalysis(required + "A test slice, for instance @WebMvcTest, has no leader election.",
					"Add " + ADD_ANNOTATION, cause);
		}
		return new FailureAnalysis(required
				+ "The auto-configuration of leader election is excluded, or auto-configuration is not enabled.",
				"Add @EnableAutoConfiguration to a configuration class, and do not exclude "
						+ "LeaderElectionAutoConfiguration, neither there nor by spring.autoconfigure.exclude. "
						+ "To run without elections, for instance in tests, set leader-election.mode=always. In a test, add "
						+ ADD_ANNOTATION,
				cause);
	}

	private String electors() {
		return Arrays.stream(((ListableBeanFactory) this.beanFactory).getBeanNamesForType(LeaderElector.class))
			.collect(Collectors.joining("', '", "'", "'"));
	}

}
