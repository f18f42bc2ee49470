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
import java.lang.reflect.Modifier;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.BiPredicate;

import io.leaderelection.Leadership;
import io.leaderelection.engine.DefaultLeaderElectors;
import io.leaderelection.lifecycle.LeaderServices;
import org.aopalliance.aop.Advice;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;

import org.springframework.aop.Advisor;
import org.springframework.aop.config.AopConfigUtils;
import org.springframework.aop.framework.Advised;
import org.springframework.aop.framework.AopInfrastructureBean;
import org.springframework.aop.framework.AopProxyUtils;
import org.springframework.aop.framework.ProxyFactory;
import org.springframework.aop.framework.autoproxy.AbstractBeanFactoryAwareAdvisingPostProcessor;
import org.springframework.aop.framework.autoproxy.AutoProxyUtils;
import org.springframework.aop.scope.ScopedObject;
import org.springframework.aop.scope.ScopedProxyUtils;
import org.springframework.aop.support.AopUtils;
import org.springframework.aop.target.SingletonTargetSource;
import org.springframework.beans.factory.BeanFactory;
import org.springframework.beans.factory.FactoryBean;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.beans.factory.SmartInitializingSingleton;
import org.springframework.beans.factory.config.BeanPostProcessor;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.beans.factory.config.SmartInstantiationAwareBeanPostProcessor;
import org.springframework.beans.factory.support.AbstractBeanDefinition;
import org.springframework.beans.factory.support.AbstractBeanFactory;
import org.springframework.context.ApplicationListener;
import org.springframework.context.EmbeddedValueResolverAware;
import org.springframework.context.SmartLifecycle;
import org.springframework.context.event.ContextRefreshedEvent;
import org.springframework.core.Ordered;
import org.springframework.core.log.LogMessage;
import org.springframework.util.ClassUtils;
import org.springframework.util.CollectionUtils;
import org.springframework.util.ObjectUtils;
import org.springframework.util.StringValueResolver;

/**
 * Guards the beans whose methods are {@link LeaderOnly @LeaderOnly}, and rejects those
 * that cannot be guarded.
 * <p>
 * The default order is {@code LOWEST_PRECEDENCE - 2}, and the guard is placed before
 * existing advice, so that leadership is checked before a transaction obtains a
 * connection. Retries and asynchronous calls are placed before the guard, by their
 * processors ({@code LOWEST_PRECEDENCE - 1} and {@code LOWEST_PRECEDENCE}) or, if these
 * have another order, by this one.
 *
 * @since 0.1.0
 */
@SuppressWarnings("serial")
public final class LeaderOnlyBeanPostProcessor extends AbstractBeanFactoryAwareAdvisingPostProcessor
		implements SmartInstantiationAwareBeanPostProcessor, EmbeddedValueResolverAware, SmartInitializingSingleton,
		ApplicationListener<ContextRefreshedEvent> {

	private static final Log logger = LogFactory.getLog(LeaderOnlyBeanPostProcessor.class);

	/** Registered if a test replaces beans by existing instances, for instance mocks. */
	private static final String TEST_OVERRIDES_BEAN_NAME = "org.springframework.test.context.bean.override.internalBeanOverrideRegistry";

	/** What Spring Boot 3 and SpringMockK 4 register, to be iterated over their mocks. */
	private static final List<String> MOCKS_BEAN_NAMES = List
		.of("org.springframework.boot.test.mock.mockito.MockitoBeans", "com.ninjasquad.springmockk.MockkBeans");

	private final GuardedElection.Resolver elections;

	private final LeaderOnlyPointcut pointcut;

	private final AdviceOrder order;

	private final BeanPostProcessor last = new BeanPostProcessor() {

		@Override
		public Object postProcessAfterInitialization(Object bean, String beanName) {
			if (isGuarded(bean)) {
				LeaderOnlyBeanPostProcessor.this.order.arrange((Advised) bean);
			}
			else if (LeaderOnlyBeanPostProcessor.this.namesToGuard.contains(beanName)
					|| AopProxyUtils.getSingletonTarget(bean) != null) {
				checkGuard(bean, beanName);
			}
			return bean;
		}

	};

	private final RunOnGrantInvoker runOnGrantInvoker;

	private final Set<String> namesToGuard = ConcurrentHashMap.newKeySet();

	private final Set<BeanFactory> refreshed = ConcurrentHashMap.newKeySet();

	private final Set<String> reported = ConcurrentHashMap.newKeySet();

	// Not that of the superclass, which Spring Framework 6.2 does not let subclasses read
	private @Nullable ConfigurableListableBeanFactory beanFactory;

	private volatile boolean electionsExist;

	/**
	 * Create a new {@code LeaderOnlyBeanPostProcessor} instance.
	 * @param electors provides the elections; not called before all singletons have been
	 * created
	 * @param advisors provides the advisors; not called unless a method is advised
	 */
	public LeaderOnlyBeanPostProcessor(ObjectProvider<DefaultLeaderElectors> electors,
			ObjectProvider<WorkAdvisor> advisors) {
		this.elections = new GuardedElection.Resolver(electors);
		this.pointcut = new LeaderOnlyPointcut(this.elections, advisors);
		this.runOnGrantInvoker = new RunOnGrantInvoker(this.pointcut);
		this.order = new AdviceOrder(this.pointcut);
		this.advisor = this.order.guard();
		setBeforeExistingAdvisors(true);
		setOrder(Ordered.LOWEST_PRECEDENCE - 2);
	}

	@Override
	public void setBeanFactory(BeanFactory beanFactory) {
		super.setBeanFactory(beanFactory);
		this.beanFactory = (beanFactory instanceof ConfigurableListableBeanFactory listable) ? listable : null;
		if (this.beanFactory != null && areClassesProxied(this.beanFactory)) {
			setProxyTargetClass(true);
		}
	}

	/**
	 * Return whether Spring Framework 6.2 is configured to proxy classes, as by Spring
	 * Boot. Spring Framework 7 has another bean for it, which the superclass uses.
	 */
	private static boolean areClassesProxied(ConfigurableListableBeanFactory beanFactory) {
		String name = AopConfigUtils.AUTO_PROXY_CREATOR_BEAN_NAME;
		return beanFactory.containsBeanDefinition(name)
				&& Boolean.TRUE.equals(beanFactory.getBeanDefinition(name).getPropertyValues().get("proxyTargetClass"));
	}

	@Override
	public void setEmbeddedValueResolver(StringValueResolver resolver) {
		this.elections.setValueResolver(resolver);
	}

	@Override
	protected boolean isEligible(Class<?> targetClass) {
		return !this.pointcut.guardedMethods(targetClass).isEmpty();
	}

	/**
	 * Remembers a bean whose proxy must be guarded, before any other processor can hide
	 * its class.
	 */
	@Override
	public boolean postProcessAfterInstantiation(Object bean, String beanName) {
		keepLast();
		if (!(bean instanceof FactoryBean) && isEligible(bean, beanName)) {
			this.namesToGuard.add(beanName);
		}
		else {
			this.namesToGuard.remove(beanName);
		}
		return true;
	}

	/**
	 * Move the last processor to the end again: processors that are not ordered, or that
	 * are added later, may add advice or replace a proxy.
	 */
	private void keepLast() {
		if (this.beanFactory instanceof AbstractBeanFactory factory) {
			Object[] processors = factory.getBeanPostProcessors().toArray();
			if (processors[processors.length - 1] != this.last) {
				factory.addBeanPostProcessor(this.last);
			}
		}
	}

	/**
	 * Rejects a reference to a bean whose guard does not exist yet. An early proxy would
	 * not be enough: the container then applies {@code @Scheduled} to the bean itself.
	 */
	@Override
	public Object getEarlyBeanReference(Object bean, String beanName) {
		if (this.namesToGuard.contains(beanName)) {
			throw new InvalidUsageException(
					"Bean '%s' of class '%s' has methods that are guarded by @LeaderOnly, but is part of a circular reference: calls by that reference would not be guarded."
						.formatted(beanName, bean.getClass().getName()),
					"Remove the circular reference, annotate its injection point with @Lazy, or look the bean up later.");
		}
		return bean;
	}

	/**
	 * Rejects a bean before any processor attempts to create a proxy for it.
	 */
	@Override
	public Object postProcessBeforeInitialization(Object bean, String beanName) {
		if (isEligible(bean, beanName)) {
			checkClass(bean.getClass(), beanName);
			checkInitAndDestroyMethods(bean.getClass(), beanName);
			AdviceOrder.checkNotWoven(this.pointcut.guardedMethods(bean.getClass()), bean.getClass(), this.beanFactory);
		}
		return bean;
	}

	private void checkClass(Class<?> type, String beanName) {
		boolean isFinal = Modifier.isFinal(type.getModifiers());
		if ((isFinal || type.isSealed()) && !Proxy.isProxyClass(type) && !ClassUtils.isLambdaClass(type)) {
			// Its target does not matter
			ProxyFactory proxyFactory = prepareProxyFactory(type, beanName);
			if (!proxyFactory.isProxyTargetClass() && proxyFactory.getProxiedInterfaces().length == 0) {
				evaluateProxyInterfaces(type, proxyFactory);
			}
			if (proxyFactory.isProxyTargetClass()) {
				throw new InvalidUsageException(
						"Class '%s' has methods that are guarded by @LeaderOnly, but is %s: a proxy cannot extend it."
							.formatted(type.getName(), (type.isRecord()) ? "a record" : (isFinal) ? "final" : "sealed"),
						"Make it a class that is neither final nor sealed (in Kotlin, an 'open' class).");
			}
		}
	}

	private void checkInitAndDestroyMethods(Class<?> type, String beanName) {
		// Called on the bean itself and not on its proxy, like other callbacks
		if (this.beanFactory == null || !this.beanFactory.containsBeanDefinition(beanName)
				|| !(this.beanFactory.getMergedBeanDefinition(beanName) instanceof AbstractBeanDefinition definition)) {
			return;
		}
		for (Method method : this.pointcut.guardedMethods(type)) {
			if (GuardRules.annotationOf(method) != null
					&& (ObjectUtils.containsElement(definition.getInitMethodNames(), method.getName())
							|| ObjectUtils.containsElement(definition.getDestroyMethodNames(), method.getName()))) {
				throw GuardRules.notWork(method, type, GuardRules.CALLBACK);
			}
		}
	}

	@Override
	public Object postProcessAfterInitialization(Object bean, String beanName) {
		Object result = isGuarded(bean) ? bean : guard(bean, beanName);
		if (this.namesToGuard.contains(beanName) && !isGuarded(result)) {
			throw new InvalidUsageException(
					"Bean '%s' has methods that are guarded by @LeaderOnly, but its instance of '%s' cannot be guarded: a bean post-processor has replaced it, its proxy is opaque, or it is an AopInfrastructureBean."
						.formatted(beanName, result.getClass().getName()),
					"Have the post-processor exclude this bean, or run after the guard (order greater than %d)."
						.formatted(getOrder()));
		}
		// Most beans that are created after the start are not guarded
		if (this.electionsExist && isGuarded(result) && this.beanFactory != null
				&& this.beanFactory.containsBeanDefinition(beanName) && !ScopedProxyUtils.isScopedTarget(beanName)) {
			this.runOnGrantInvoker.checkFound(beanName, AopUtils.getTargetClass(bean));
		}
		return result;
	}

	private Object guard(Object bean, String beanName) {
		if (bean instanceof AopInfrastructureBean) {
			return bean;
		}
		if (!(bean instanceof Advised) && isEligible(bean, beanName)) {
			// The product of a FactoryBean has not been checked before
			checkClass(bean.getClass(), beanName);
		}
		Object result = super.postProcessAfterInitialization(bean, beanName);
		checkProxy(AopUtils.getTargetClass(bean), result);
		return result;
	}

	private void checkProxy(Class<?> type, Object proxy) {
		if (proxy instanceof Advised advised && advised.isFrozen() && isEligible(type) && !isGuarded(proxy)) {
			throw new InvalidUsageException(
					"Class '%s' has methods that are guarded by @LeaderOnly, but the proxy of its bean is frozen, so no advice can be added."
						.formatted(type.getName()),
					"Do not freeze the proxy.");
		}
		if (Proxy.isProxyClass(proxy.getClass())) {
			GuardRules.checkInterfaces(this.pointcut.guardedMethods(type), type, proxy.getClass());
		}
	}

	/**
	 * Have leadership start and stop the container that calls a listener for messages, if
	 * the listener is leader-only.
	 * @param bean the listener
	 * @param handler the method that the container calls, or {@code null} if it is each
	 * method of the bean that handles a payload
	 * @param container the container
	 * @param preparation prepares a container to be started and stopped by leadership,
	 * with a limit for its stop, and returns whether it can be
	 * @param services the services that leadership starts and stops
	 * @return what to use instead of the container
	 */
	public Object listening(Object bean, @Nullable Method handler, SmartLifecycle container,
			BiPredicate<SmartLifecycle, Duration> preparation, LeaderServices services) {
		return this.pointcut.containers().add(bean, handler, container, preparation, services);
	}

	/**
	 * Have leadership no longer start a container that its registry has removed.
	 * @param container what is used instead of the container
	 */
	public void removed(@Nullable Object container) {
		ServiceInterceptor interceptor = advice(container, ServiceInterceptor.class);
		if (interceptor != null) {
			interceptor.service().remove();
		}
	}

	/**
	 * Begin the term of advised methods, before the listeners of the grant are called.
	 * @param leadership the leadership that was granted
	 */
	public void granted(Leadership leadership) {
		this.runOnGrantInvoker.granted(leadership);
	}

	/**
	 * Run the methods with {@link LeaderOnly#runOnGrant()}, each on a separate thread,
	 * and those advised methods that should run.
	 * @param leadership the leadership that was granted
	 */
	public void runOnGrant(Leadership leadership) {
		this.runOnGrantInvoker.start(leadership);
	}

	@Override
	public void afterSingletonsInstantiated() {
		if (!this.elections.exist()) {
			// Beans that have been created, not classes that a test has mocked
			this.pointcut.checkElections();
			return;
		}
		if (this.beanFactory != null) {
			findRunsOnGrant(this.beanFactory);
		}
		this.pointcut.checkElections();
		this.electionsExist = true;
		checkContext(this.beanFactory);
	}

	/**
	 * Checks a context that has been refreshed: this one again, since instances may have
	 * been registered, or a child that has no guard of its own.
	 */
	@Override
	public void onApplicationEvent(ContextRefreshedEvent event) {
		// A child that is refreshed earlier is checked as soon as this context has
		// started
		this.refreshed.add(event.getApplicationContext().getAutowireCapableBeanFactory());
		if (this.electionsExist) {
			this.refreshed.forEach(this::checkContext);
			this.refreshed.clear();
		}
	}

	@Override
	public boolean supportsAsyncExecution() {
		return false;
	}

	/**
	 * Fail if the beans of a context, or of parents without a guard, are not guarded.
	 */
	private void checkContext(@Nullable BeanFactory beanFactory) {
		if (beanFactory == this.beanFactory && this.beanFactory != null) {
			for (String beanName : this.beanFactory.getSingletonNames()) {
				checkSingleton(beanName, this.beanFactory);
			}
			checkContext(this.beanFactory.getParentBeanFactory());
		}
		else if (beanFactory instanceof AbstractBeanFactory factory
				&& factory.getBeanPostProcessors().stream().noneMatch(LeaderOnlyBeanPostProcessor.class::isInstance)
				&& beanFactory instanceof ConfigurableListableBeanFactory foreign) {
			for (String beanName : foreign.getBeanNamesForType(Object.class, true, false)) {
				checkForeign(beanName, foreign);
			}
			checkContext(foreign.getParentBeanFactory());
		}
	}

	private void checkSingleton(String beanName, ConfigurableListableBeanFactory beanFactory) {
		Object bean = beanFactory.getSingleton(beanName);
		if (bean == null) {
			return;
		}
		Class<?> type = AopProxyUtils.ultimateTargetClass(bean);
		checkGuard(bean, beanName);
		if (LeaderServiceBeanPostProcessor.isService(type, beanName, beanFactory)
				&& advice(bean, ServiceInterceptor.class) == null) {
			report(beanName, type, "exists without the proxy by which leadership starts and stops it", beanFactory);
		}
	}

	private void checkGuard(Object bean, String beanName) {
		Class<?> type = AopProxyUtils.ultimateTargetClass(bean);
		if (!isGuarded(bean) && isEligible(type) && this.beanFactory != null) {
			report(beanName, type, "exists without the proxy that guards its methods", this.beanFactory);
		}
	}

	private void checkForeign(String beanName, ConfigurableListableBeanFactory beanFactory) {
		try {
			Class<?> type = AutoProxyUtils.determineTargetClass(beanFactory, beanName);
			if (type != null
					&& (isEligible(type) || LeaderServiceBeanPostProcessor.isService(type, beanName, beanFactory))) {
				report(beanName, type, "is in a context without the starter", beanFactory);
			}
		}
		catch (LinkageError ex) {
			// The class of an unused bean may refer to a class that is missing
			logger.debug(LogMessage.format("Could not determine whether bean '%s' is guarded", beanName), ex);
		}
	}

	private void report(String beanName, Class<?> type, String what, ConfigurableListableBeanFactory beanFactory) {
		String description = "Bean '%s' of class '%s' is @LeaderOnly, but %s.".formatted(beanName, type.getName(),
				what);
		if (!beanFactory.containsSingleton(TEST_OVERRIDES_BEAN_NAME) && !isMock(beanName, beanFactory)) {
			throw new InvalidUsageException(description,
					"Let the container create the bean in the context that has the starter. It was registered as an existing instance, was created too early since a BeanFactoryPostProcessor depends on it, was replaced by a later bean post-processor, or is in a context without the starter. In a test, replace it by @MockitoBean or @MockitoSpyBean.");
		}
		if (this.reported.add(beanName)) {
			logger.warn(description + " A test has replaced beans, so the application starts");
		}
	}

	private static boolean isMock(String beanName, ConfigurableListableBeanFactory beanFactory) {
		// Not a bean that is being created
		Object bean = beanFactory.containsSingleton(beanName) ? beanFactory.getSingleton(beanName) : null;
		return bean != null && MOCKS_BEAN_NAMES.stream()
			.anyMatch((name) -> beanFactory.getSingleton(name) instanceof Iterable<?> mocks
					&& CollectionUtils.contains(mocks.iterator(), bean));
	}

	/**
	 * Search all beans, including those that have not been created yet: a grant may be
	 * the first to need them.
	 */
	private void findRunsOnGrant(ConfigurableListableBeanFactory beanFactory) {
		for (String beanName : beanFactory.getBeanNamesForType(Object.class, true, false)) {
			if (!ScopedProxyUtils.isScopedTarget(beanName)) {
				findRunsOnGrant(beanName, beanFactory);
			}
		}
	}

	private void findRunsOnGrant(String beanName, ConfigurableListableBeanFactory beanFactory) {
		try {
			String targetName = beanName;
			Class<?> type = AutoProxyUtils.determineTargetClass(beanFactory, beanName);
			if (type != null && ScopedObject.class.isAssignableFrom(type)) {
				targetName = ScopedProxyUtils.getTargetBeanName(beanName);
				type = AutoProxyUtils.determineTargetClass(beanFactory, targetName);
			}
			if (type != null) {
				checkDefinition(targetName, type, beanFactory);
				this.runOnGrantInvoker.add(beanName, type, beanFactory);
			}
		}
		catch (InvalidUsageException ex) {
			throw ex;
		}
		catch (RuntimeException | LinkageError ex) {
			// The class of an unused bean may refer to a class that is missing
			logger.debug(LogMessage.format("Could not determine which methods of bean '%s' run on grant", beanName),
					ex);
		}
	}

	/**
	 * Rejects a bean that would be rejected when it is created, perhaps long after the
	 * start. An interface does not tell the class that a factory method returns.
	 */
	private void checkDefinition(String beanName, Class<?> type, ConfigurableListableBeanFactory beanFactory) {
		boolean product = beanFactory.isFactoryBean(beanName);
		if (beanFactory.containsSingleton(beanName) && !product) {
			return;
		}
		if (!type.isInterface() && isEligible(type)) {
			checkClass(type, beanName);
			if (!product) {
				checkInitAndDestroyMethods(type, beanName);
				AdviceOrder.checkNotWoven(this.pointcut.guardedMethods(type), type, beanFactory);
			}
		}
		if (!product) {
			LeaderServiceBeanPostProcessor.checkDefinition(beanName, type, beanFactory);
		}
	}

	private static boolean isGuarded(Object bean) {
		return advice(bean, LeaderOnlyInterceptor.class) != null;
	}

	private static <A extends Advice> @Nullable A advice(@Nullable Object bean, Class<A> type) {
		if (!(bean instanceof Advised advised)) {
			return null;
		}
		for (Advisor candidate : advised.getAdvisors()) {
			if (type.isInstance(candidate.getAdvice())) {
				return type.cast(candidate.getAdvice());
			}
		}
		return (advised.getTargetSource() instanceof SingletonTargetSource source) ? advice(source.getTarget(), type)
				: null;
	}

}
