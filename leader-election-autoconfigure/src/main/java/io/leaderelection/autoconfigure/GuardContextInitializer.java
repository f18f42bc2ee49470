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

import java.util.List;
import java.util.Objects;

import io.leaderelection.annotation.LeaderOnly;
import io.leaderelection.annotation.LeaderOnlyBeanPostProcessor;
import io.leaderelection.annotation.LeaderServiceBeanPostProcessor;
import io.leaderelection.autoconfigure.listener.LeaderOnlyListenerRegistrar;
import io.leaderelection.lifecycle.LeaderServices;
import io.leaderelection.transaction.TransactionFencing;
import org.jspecify.annotations.Nullable;

import org.springframework.aot.AotDetector;
import org.springframework.beans.factory.BeanFactoryUtils;
import org.springframework.beans.factory.aot.BeanRegistrationAotProcessor;
import org.springframework.beans.factory.config.BeanDefinition;
import org.springframework.beans.factory.config.BeanFactoryPostProcessor;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.beans.factory.config.SmartInstantiationAwareBeanPostProcessor;
import org.springframework.beans.factory.support.AbstractBeanFactory;
import org.springframework.beans.factory.support.BeanDefinitionRegistry;
import org.springframework.beans.factory.support.RootBeanDefinition;
import org.springframework.boot.SpringBootVersion;
import org.springframework.context.ApplicationContextInitializer;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.util.ClassUtils;

/**
 * {@link ApplicationContextInitializer} that adds the guard to a context before other
 * bean post-processors and the beans that they depend on are created, so that these beans
 * are guarded too. It also adds the guard to a context to which the auto-configuration
 * does not apply, for instance that of a test slice, or that excludes it. A bean with
 * {@link LeaderOnly @LeaderOnly} methods then uses the elections of a parent context, or
 * keeps the context from starting. Without the guard, these methods would run on every
 * node.
 */
class GuardContextInitializer implements ApplicationContextInitializer<ConfigurableApplicationContext> {

	private static final String GUARD_BEAN_NAME = "leaderOnlyBeanPostProcessor";

	private static final String SERVICES_BEAN_NAME = "leaderServiceBeanPostProcessor";

	private static final String FENCING_BEAN_NAME = "transactionFencing";

	private static final String SCHEDULE_ADVISOR = "io.leaderelection.schedule.DurableScheduleAdvisor";

	private static final String EARLY_GUARD_BEAN_NAME = "leaderOnlyEarlyGuard";

	@Override
	public void initialize(ConfigurableApplicationContext context) {
		SpringBootLine.check(SpringBootVersion.getVersion());
		// Called when all bean definitions are known
		context.addBeanFactoryPostProcessor((beanFactory) -> {
			addGuard(beanFactory);
			if (beanFactory.containsBean(FENCING_BEAN_NAME) && !beanFactory.containsLocalBean(FENCING_BEAN_NAME)) {
				// Before the event of its refresh reaches the context of the elections
				beanFactory.addBeanPostProcessor(beanFactory.getBean(FENCING_BEAN_NAME, TransactionFencing.class)
					.ofChild(String.valueOf(context.getId())));
			}
		});
	}

	private static void addGuard(ConfigurableListableBeanFactory beanFactory) {
		if (!(beanFactory instanceof BeanDefinitionRegistry registry)) {
			return;
		}
		if (!AotDetector.useGeneratedArtifacts() && !beanFactory.containsBeanDefinition(GUARD_BEAN_NAME)) {
			LeaderOnlyListenerRegistrar.register(registry, GUARD_BEAN_NAME, LeaderOnlyBeanPostProcessor.class);
			LeaderOnlyListenerRegistrar.register(registry, SERVICES_BEAN_NAME, LeaderServiceBeanPostProcessor.class);
			if (ClassUtils.isPresent(SCHEDULE_ADVISOR, beanFactory.getBeanClassLoader())) {
				LeaderOnlyListenerRegistrar.register(registry, "durableScheduleAdvisor",
						ClassUtils.resolveClassName(SCHEDULE_ADVISOR, beanFactory.getBeanClassLoader()));
			}
			if (BeanFactoryUtils.beanNamesForTypeIncludingAncestors(beanFactory, LeaderServices.class, true,
					false).length == 0) {
				LeaderOnlyListenerRegistrar.register(registry, "leaderServices", LeaderServices.class);
			}
			LeaderOnlyListenerRegistrar.register(registry, beanFactory.getBeanClassLoader());
		}
		if (beanFactory.containsBeanDefinition(GUARD_BEAN_NAME)
				&& !beanFactory.containsBeanDefinition(EARLY_GUARD_BEAN_NAME)) {
			// Called after the processors that configure how proxies are created
			RootBeanDefinition early = new RootBeanDefinition(BeanFactoryPostProcessor.class,
					() -> GuardContextInitializer::addEarlyGuard);
			early.setRole(BeanDefinition.ROLE_INFRASTRUCTURE);
			early.setAttribute(BeanRegistrationAotProcessor.IGNORE_REGISTRATION_ATTRIBUTE, true);
			registry.registerBeanDefinition(EARLY_GUARD_BEAN_NAME, early);
		}
	}

	private static void addEarlyGuard(ConfigurableListableBeanFactory beanFactory) {
		if (beanFactory instanceof AbstractBeanFactory factory) {
			factory.addBeanPostProcessor(
					new EarlyGuard(factory, factory.getBean(GUARD_BEAN_NAME, LeaderOnlyBeanPostProcessor.class),
							factory.getBean(SERVICES_BEAN_NAME, LeaderServiceBeanPostProcessor.class)));
		}
	}

	/**
	 * Guards beans while the guard itself is not among the post-processors yet. The
	 * container counts those that it has registered, so the guard is not added early.
	 */
	private static final class EarlyGuard implements SmartInstantiationAwareBeanPostProcessor {

		private final AbstractBeanFactory beanFactory;

		private final List<SmartInstantiationAwareBeanPostProcessor> processors;

		private volatile boolean ended;

		EarlyGuard(AbstractBeanFactory beanFactory, SmartInstantiationAwareBeanPostProcessor... processors) {
			this.beanFactory = beanFactory;
			this.processors = List.of(processors);
		}

		private List<SmartInstantiationAwareBeanPostProcessor> processors() {
			this.ended = this.ended || this.beanFactory.getBeanPostProcessors().containsAll(this.processors);
			return this.ended ? List.of() : this.processors;
		}

		@Override
		public boolean postProcessAfterInstantiation(Object bean, String beanName) {
			processors().forEach((processor) -> processor.postProcessAfterInstantiation(bean, beanName));
			return true;
		}

		@Override
		public Object getEarlyBeanReference(Object bean, String beanName) {
			processors().forEach((processor) -> processor.getEarlyBeanReference(bean, beanName));
			return bean;
		}

		@Override
		public @Nullable Object postProcessBeforeInitialization(Object bean, String beanName) {
			processors().forEach((processor) -> processor.postProcessBeforeInitialization(bean, beanName));
			return bean;
		}

		@Override
		public @Nullable Object postProcessAfterInitialization(Object bean, String beanName) {
			Object result = bean;
			for (SmartInstantiationAwareBeanPostProcessor processor : processors()) {
				result = Objects.requireNonNull(processor.postProcessAfterInitialization(result, beanName));
			}
			return result;
		}

	}

}
