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

import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

import io.leaderelection.engine.DefaultLeaderElectors;
import io.leaderelection.lifecycle.LeaderService;
import io.leaderelection.lifecycle.LeaderServices;
import org.jspecify.annotations.Nullable;

import org.springframework.aop.Advisor;
import org.springframework.aop.SpringProxy;
import org.springframework.aop.framework.Advised;
import org.springframework.aop.framework.AopInfrastructureBean;
import org.springframework.aop.framework.AopProxyUtils;
import org.springframework.aop.framework.ProxyFactory;
import org.springframework.aop.framework.ProxyProcessorSupport;
import org.springframework.aop.framework.autoproxy.AutoProxyUtils;
import org.springframework.aop.support.AopUtils;
import org.springframework.aot.AotDetector;
import org.springframework.beans.factory.BeanFactory;
import org.springframework.beans.factory.BeanFactoryAware;
import org.springframework.beans.factory.FactoryBean;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.beans.factory.SmartInitializingSingleton;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.beans.factory.config.SmartInstantiationAwareBeanPostProcessor;
import org.springframework.beans.factory.support.RootBeanDefinition;
import org.springframework.context.EmbeddedValueResolverAware;
import org.springframework.context.Lifecycle;
import org.springframework.core.Ordered;
import org.springframework.util.ClassUtils;
import org.springframework.util.StringValueResolver;

/**
 * Has leadership start and stop {@link Lifecycle} beans that are
 * {@link LeaderOnly @LeaderOnly}, by their class or by the {@code @Bean} method that
 * creates them. The container receives a proxy that does not start with the context.
 *
 * @since 0.1.0
 */
@SuppressWarnings("serial")
public final class LeaderServiceBeanPostProcessor extends ProxyProcessorSupport
		implements SmartInstantiationAwareBeanPostProcessor, BeanFactoryAware, EmbeddedValueResolverAware,
		SmartInitializingSingleton {

	private final ObjectProvider<LeaderServices> services;

	private final GuardedElection.Resolver elections;

	private final Set<String> beanNames = ConcurrentHashMap.newKeySet();

	private final Set<String> expected = ConcurrentHashMap.newKeySet();

	private final List<Runnable> pending = new ArrayList<>();

	private @Nullable ConfigurableListableBeanFactory beanFactory;

	private volatile boolean electionsKnown;

	/**
	 * Create a new {@code LeaderServiceBeanPostProcessor} instance.
	 * @param services provides the registry of the services; not called early, as
	 * elections are not
	 * @param electors provides the elections; not called before all singletons have been
	 * created
	 */
	public LeaderServiceBeanPostProcessor(ObjectProvider<LeaderServices> services,
			ObjectProvider<DefaultLeaderElectors> electors) {
		this.services = services;
		this.elections = new GuardedElection.Resolver(electors);
		// After the processor of the guard, so that an existing proxy is reused
		setOrder(Ordered.LOWEST_PRECEDENCE - 1);
	}

	@Override
	public void setBeanFactory(BeanFactory beanFactory) {
		this.beanFactory = (beanFactory instanceof ConfigurableListableBeanFactory listable) ? listable : null;
	}

	@Override
	public void setEmbeddedValueResolver(StringValueResolver resolver) {
		this.elections.setValueResolver(resolver);
	}

	/**
	 * Return the class that the proxy will have, so that the build can create it.
	 */
	@Override
	public Class<?> determineBeanType(Class<?> beanClass, String beanName) {
		if (!Lifecycle.class.isAssignableFrom(beanClass) || SpringProxy.class.isAssignableFrom(beanClass)) {
			return beanClass;
		}
		RootBeanDefinition definition = definition(beanName, this.beanFactory);
		Method factoryMethod = factoryMethod(definition);
		if ((definition != null && isProduct(beanClass, definition))
				|| ServiceRules.annotationOf(beanClass, factoryMethod) == null) {
			return beanClass;
		}
		ProxyFactory proxyFactory = proxyFactory(beanClass, factoryMethod, "Bean '" + beanName + "'");
		proxyFactory.setTargetClass(beanClass);
		return proxyFactory.getProxyClass(getProxyClassLoader());
	}

	/**
	 * Remembers a service, before any other processor can hide its class.
	 */
	@Override
	public boolean postProcessAfterInstantiation(Object bean, String beanName) {
		if (isService(bean.getClass(), beanName, this.beanFactory)) {
			this.expected.add(beanName);
		}
		else {
			this.expected.remove(beanName);
		}
		return true;
	}

	static boolean isService(Class<?> type, String beanName, @Nullable ConfigurableListableBeanFactory beanFactory) {
		return annotationOf(type, beanName, beanFactory) != null;
	}

	static void checkDefinition(String beanName, Class<?> type, ConfigurableListableBeanFactory beanFactory) {
		LeaderOnly annotation = annotationOf(type, beanName, beanFactory);
		if (annotation != null) {
			ServiceRules.check("Bean '" + beanName + "'", type, annotation, beanFactory.isSingleton(beanName));
		}
	}

	private static @Nullable LeaderOnly annotationOf(Class<?> type, String beanName,
			@Nullable ConfigurableListableBeanFactory beanFactory) {
		return FactoryBean.class.isAssignableFrom(type) ? null
				: ServiceRules.annotationOf(type, factoryMethod(definition(beanName, beanFactory)));
	}

	/**
	 * Rejects a reference to a service whose proxy does not exist yet.
	 */
	@Override
	public Object getEarlyBeanReference(Object bean, String beanName) {
		if (this.expected.contains(beanName)) {
			throw new InvalidUsageException(
					"Bean '%s' is started and stopped by leadership, but is part of a circular reference: calls by that reference would not pass its proxy."
						.formatted(beanName),
					"Remove the circular reference, annotate its injection point with @Lazy, or look the bean up later.");
		}
		return bean;
	}

	@Override
	public Object postProcessAfterInitialization(Object bean, String beanName) {
		Object result = manage(bean, beanName);
		if (this.expected.contains(beanName) && !this.beanNames.contains(beanName)) {
			throw new InvalidUsageException(
					"Bean '%s' is started and stopped by leadership, but a bean post-processor has replaced it by an instance of '%s', which the container starts on every node."
						.formatted(beanName, result.getClass().getName()),
					"Have the post-processor exclude this bean or extend its proxy.");
		}
		return result;
	}

	private Object manage(Object bean, String beanName) {
		if (!(bean instanceof Lifecycle) || bean instanceof AopInfrastructureBean) {
			return bean;
		}
		Class<?> type = AopProxyUtils.ultimateTargetClass(bean);
		RootBeanDefinition definition = definition(beanName, this.beanFactory);
		if (definition != null && isProduct(bean.getClass(), definition)) {
			if (ServiceRules.annotationOf(type, null) != null) {
				throw new InvalidUsageException(
						"Bean '%s' of class '%s' is @LeaderOnly, but is created by a FactoryBean: nothing would start it, since the container starts and stops the factory."
							.formatted(beanName, type.getName()),
						"Create it in a @Bean method.");
			}
			return bean;
		}
		Method factoryMethod = factoryMethod(definition);
		LeaderOnly annotation = ServiceRules.annotationOf(type, factoryMethod);
		if (annotation == null) {
			return bean;
		}
		String description = "Bean '" + beanName + "'";
		ServiceRules.check(description, type, annotation, definition == null || definition.isSingleton());
		LeaderService service = new LeaderService(beanName, target(bean, description));
		Object proxy = proxy(bean, type, definition, factoryMethod, service, description);
		this.beanNames.add(beanName);
		join(service, annotation, description);
		return proxy;
	}

	private static @Nullable RootBeanDefinition definition(String beanName,
			@Nullable ConfigurableListableBeanFactory beanFactory) {
		return (beanFactory != null && beanFactory.containsBeanDefinition(beanName)
				&& beanFactory.getMergedBeanDefinition(beanName) instanceof RootBeanDefinition definition) ? definition
						: null;
	}

	private static @Nullable Method factoryMethod(@Nullable RootBeanDefinition definition) {
		return (definition != null) ? definition.getResolvedFactoryMethod() : null;
	}

	private static boolean isProduct(Class<?> beanClass, RootBeanDefinition definition) {
		Class<?> type = definition.getResolvableType().resolve(Object.class);
		return FactoryBean.class.isAssignableFrom(type) && !FactoryBean.class.isAssignableFrom(beanClass);
	}

	private static Lifecycle target(Object bean, String description) {
		Object target = bean;
		while (AopUtils.isAopProxy(target)) {
			target = AopProxyUtils.getSingletonTarget(target);
		}
		if (target instanceof Lifecycle lifecycle) {
			return lifecycle;
		}
		throw new InvalidUsageException(
				description + " is started and stopped by leadership, but has a proxy whose target can change.",
				"Annotate only its methods that are leader work.");
	}

	private Object proxy(Object bean, Class<?> type, @Nullable RootBeanDefinition definition,
			@Nullable Method factoryMethod, LeaderService service, String description) {
		Advisor advisor = ServiceInterceptor.advisor(service, "start", "stop", "isAutoStartup", "getPhase");
		if (bean instanceof Advised advised && !advised.isFrozen()) {
			if (AopUtils.isCglibProxy(bean)) {
				ServiceRules.checkClass(description, type);
			}
			advised.addAdvisor(0, advisor);
			return bean;
		}
		ProxyFactory proxyFactory = proxyFactory(bean.getClass(), factoryMethod, description);
		proxyFactory.setTarget(bean);
		if (definition != null) {
			// For code that searches for annotated methods behind a proxy
			definition.setAttribute(AutoProxyUtils.ORIGINAL_TARGET_CLASS_ATTRIBUTE, type);
		}
		proxyFactory.addAdvisor(advisor);
		return proxyFactory.getProxy(getProxyClassLoader());
	}

	private ProxyFactory proxyFactory(Class<?> type, @Nullable Method factoryMethod, String description) {
		ProxyFactory proxyFactory = new ProxyFactory();
		proxyFactory.copyFrom(this);
		if (factoryMethod != null && factoryMethod.getReturnType().isInterface()) {
			// A native image can only create proxies that are known at build time
			Class<?> known = AotDetector.useGeneratedArtifacts() ? factoryMethod.getReturnType() : type;
			proxyFactory.setInterfaces(ClassUtils.getAllInterfacesForClass(known, getProxyClassLoader()));
		}
		else {
			ServiceRules.checkClass(description, ClassUtils.getUserClass(type));
			proxyFactory.setProxyTargetClass(true);
		}
		return proxyFactory;
	}

	private void join(LeaderService service, LeaderOnly annotation, String description) {
		Runnable join = () -> this.services.getObject()
			.add(this.elections.find(annotation.election(), description).getElection(), service);
		synchronized (this.pending) {
			if (!this.electionsKnown) {
				this.pending.add(join);
				return;
			}
		}
		join.run();
	}

	@Override
	public void afterSingletonsInstantiated() {
		synchronized (this.pending) {
			this.electionsKnown = true;
		}
		this.pending.forEach(Runnable::run);
		if (this.beanFactory != null && this.elections.exist()) {
			createAll(this.beanFactory);
		}
	}

	/**
	 * Create the services that are lazy: leadership is what needs them.
	 */
	private static void createAll(ConfigurableListableBeanFactory beanFactory) {
		for (String beanName : beanFactory.getBeanNamesForType(Lifecycle.class, true, false)) {
			Class<?> type = beanFactory.getType(beanName, false);
			if (type != null && isService(type, beanName, beanFactory)) {
				beanFactory.getBean(beanName);
			}
		}
	}

}
