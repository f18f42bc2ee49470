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

import java.util.LinkedHashSet;
import java.util.Map;
import java.util.Set;

import io.leaderelection.LeaderElector;
import io.leaderelection.autoconfigure.LeaderElectionProperties.Election;

import org.springframework.beans.factory.annotation.Qualifier;
import org.springframework.beans.factory.support.AutowireCandidateQualifier;
import org.springframework.beans.factory.support.BeanDefinitionRegistry;
import org.springframework.beans.factory.support.RootBeanDefinition;
import org.springframework.boot.context.properties.bind.Bindable;
import org.springframework.boot.context.properties.bind.Binder;
import org.springframework.context.annotation.ImportBeanDefinitionRegistrar;
import org.springframework.core.env.Environment;
import org.springframework.core.type.AnnotationMetadata;

/**
 * Registers a {@link LeaderElector} bean per election, each qualified by the name of its
 * election. That of the default election is primary.
 */
final class LeaderElectorRegistrar implements ImportBeanDefinitionRegistrar {

	private static final String BEAN_NAME = "leaderElector";

	private static final String BEAN_NAME_SUFFIX = "LeaderElector";

	private final Environment environment;

	LeaderElectorRegistrar(Environment environment) {
		this.environment = environment;
	}

	@Override
	public void registerBeanDefinitions(AnnotationMetadata metadata, BeanDefinitionRegistry registry) {
		Binder binder = Binder.get(this.environment);
		String defaultElection = binder.bind("leader-election.name", String.class).orElse("default");
		registry.registerBeanDefinition(BEAN_NAME, definition(defaultElection, true));
		// Elections of the same name are refused later, with a message
		Set<String> elections = new LinkedHashSet<>(
				binder.bind("leader-election.elections", Bindable.mapOf(String.class, Election.class))
					.orElse(Map.of())
					.keySet());
		binder.bind("leader-election.partitions", Bindable.mapOf(String.class, Integer.class))
			.orElse(Map.of())
			.forEach((name, number) -> elections
				.addAll(ElectionDefinitions.partitions(name, Math.min(number, ElectionDefinitions.MOST_PARTITIONS))));
		elections.forEach((election) -> registry.registerBeanDefinition(election + BEAN_NAME_SUFFIX,
				definition(election, false)));
	}

	private static RootBeanDefinition definition(String election, boolean primary) {
		RootBeanDefinition definition = new RootBeanDefinition();
		definition.setTargetType(LeaderElector.class);
		definition.setFactoryBeanName(LeaderElectionAutoConfiguration.ELECTORS_BEAN_NAME);
		definition.setFactoryMethodName("get");
		definition.getConstructorArgumentValues().addIndexedArgumentValue(0, election);
		definition.addQualifier(new AutowireCandidateQualifier(Qualifier.class, election));
		definition.setPrimary(primary);
		return definition;
	}

}
