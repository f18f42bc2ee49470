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

import io.leaderelection.annotation.LeaderOnly;
import io.leaderelection.annotation.LeaderOnlyBeanPostProcessor;
import io.leaderelection.annotation.LeaderServiceBeanPostProcessor;
import io.leaderelection.lifecycle.LeaderServices;

import org.springframework.aot.AotDetector;
import org.springframework.beans.factory.BeanFactoryUtils;
import org.springframework.beans.factory.config.AutowireCapableBeanFactory;
import org.springframework.beans.factory.config.BeanDefinition;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.beans.factory.support.BeanDefinitionRegistry;
import org.springframework.beans.factory.support.RootBeanDefinition;
import org.springframework.boot.autoconfigure.condition.ConditionEvaluationReport;
import org.springframework.context.ApplicationContextInitializer;
import org.springframework.context.ConfigurableApplicationContext;

/**
 * {@link ApplicationContextInitializer} that adds the guard to a context to which the
 * auto-configuration does not apply, for instance that of a test slice. A bean with
 * {@link LeaderOnly @LeaderOnly} methods then uses the elections of a parent context, or
 * keeps the context from starting. Without the guard, these methods would run on every
 * node. An application that excludes the auto-configuration has no guard.
 */
class GuardContextInitializer implements ApplicationContextInitializer<ConfigurableApplicationContext> {

	private static final String GUARD_BEAN_NAME = "leaderOnlyBeanPostProcessor";

	@Override
	public void initialize(ConfigurableApplicationContext context) {
		if (!AotDetector.useGeneratedArtifacts()) {
			// Called when all bean definitions are known
			context.addBeanFactoryPostProcessor(GuardContextInitializer::addGuard);
		}
	}

	private static void addGuard(ConfigurableListableBeanFactory beanFactory) {
		if (!beanFactory.containsBeanDefinition(GUARD_BEAN_NAME) && !isExcluded(beanFactory)
				&& beanFactory instanceof BeanDefinitionRegistry registry) {
			register(registry, GUARD_BEAN_NAME, LeaderOnlyBeanPostProcessor.class);
			register(registry, "leaderServiceBeanPostProcessor", LeaderServiceBeanPostProcessor.class);
			if (BeanFactoryUtils.beanNamesForTypeIncludingAncestors(beanFactory, LeaderServices.class, true,
					false).length == 0) {
				register(registry, "leaderServices", LeaderServices.class);
			}
		}
	}

	private static boolean isExcluded(ConfigurableListableBeanFactory beanFactory) {
		ConditionEvaluationReport report = ConditionEvaluationReport.find(beanFactory);
		return (report != null && report.getExclusions().contains(LeaderElectionAutoConfiguration.class.getName()))
				|| (beanFactory.getParentBeanFactory() instanceof ConfigurableListableBeanFactory parent
						&& isExcluded(parent));
	}

	private static void register(BeanDefinitionRegistry registry, String beanName, Class<?> type) {
		RootBeanDefinition definition = new RootBeanDefinition(type, AutowireCapableBeanFactory.AUTOWIRE_CONSTRUCTOR,
				false);
		definition.setRole(BeanDefinition.ROLE_INFRASTRUCTURE);
		registry.registerBeanDefinition(beanName, definition);
	}

}
