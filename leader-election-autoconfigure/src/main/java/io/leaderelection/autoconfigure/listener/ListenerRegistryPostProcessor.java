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

package io.leaderelection.autoconfigure.listener;

import java.lang.reflect.Method;
import java.time.Duration;

import io.leaderelection.annotation.LeaderOnlyBeanPostProcessor;
import io.leaderelection.lifecycle.LeaderServices;
import org.aopalliance.intercept.MethodInterceptor;
import org.aopalliance.intercept.MethodInvocation;
import org.jspecify.annotations.Nullable;

import org.springframework.aop.framework.ProxyFactory;
import org.springframework.aop.support.AopUtils;
import org.springframework.beans.factory.BeanFactory;
import org.springframework.beans.factory.BeanFactoryAware;
import org.springframework.beans.factory.ListableBeanFactory;
import org.springframework.beans.factory.SmartInitializingSingleton;
import org.springframework.beans.factory.config.BeanPostProcessor;
import org.springframework.context.SmartLifecycle;

/**
 * Has leadership start and stop the containers of leader-only listeners. Containers are
 * created by a registry when it registers an endpoint. The proxy of the registry replaces
 * those of leader-only listeners by proxies, which the registry can neither start nor
 * stop. All others do not change.
 */
abstract class ListenerRegistryPostProcessor
		implements BeanPostProcessor, BeanFactoryAware, SmartInitializingSingleton {

	private final Class<?> registryType;

	private final LeaderOnlyBeanPostProcessor guard;

	private final LeaderServices services;

	private @Nullable ListableBeanFactory beanFactory;

	/**
	 * Create a new {@code ListenerRegistryPostProcessor} instance.
	 * @param registryType the type of the registry
	 * @param guard knows which listeners are leader-only
	 * @param services the services that leadership starts and stops
	 */
	ListenerRegistryPostProcessor(Class<?> registryType, LeaderOnlyBeanPostProcessor guard, LeaderServices services) {
		this.registryType = registryType;
		this.guard = guard;
		this.services = services;
	}

	@Override
	public void setBeanFactory(BeanFactory beanFactory) {
		this.beanFactory = (beanFactory instanceof ListableBeanFactory listable) ? listable : null;
	}

	@Override
	public void afterSingletonsInstantiated() {
		if (this.beanFactory != null) {
			this.beanFactory.getBeansOfType(this.registryType, false, false).forEach((name, registry) -> {
				if (!AopUtils.isAopProxy(registry)) {
					this.guard.notListening(name);
				}
			});
		}
	}

	/**
	 * Return the listener of an endpoint.
	 * @param endpoint the endpoint
	 * @return the listener, or {@code null} if it is not a method of a bean
	 */
	abstract @Nullable Listener listener(Object endpoint);

	/**
	 * Prepare a container to be started and stopped by leadership. Its stop must wait for
	 * messages in flight, and return to the broker those that it has received in advance.
	 * @param container the container
	 * @param longestStop when a stop is given up
	 */
	void prepare(SmartLifecycle container, Duration longestStop) {
	}

	@Override
	public Object postProcessAfterInitialization(Object bean, String beanName) {
		return this.registryType.isInstance(bean) ? proxy(bean, true, this::register) : bean;
	}

	/**
	 * Return a proxy of a registry that may be no bean.
	 */
	final <T> T manage(T registry) {
		return AopUtils.isAopProxy(registry) ? registry : proxy(registry, true, this::register);
	}

	private @Nullable Object register(MethodInvocation invocation) throws Throwable {
		String method = invocation.getMethod().getName();
		@Nullable Object[] arguments = invocation.getArguments();
		if (method.equals("registerListenerContainer") && arguments.length > 1 && arguments[1] != null) {
			arguments[1] = proxy(arguments[1], false, this::create);
		}
		Object result = invocation.proceed();
		if (method.equals("unregisterListenerContainer")) {
			this.guard.removed(result);
		}
		return result;
	}

	private @Nullable Object create(MethodInvocation invocation) throws Throwable {
		Object result = invocation.proceed();
		if (!(result instanceof SmartLifecycle container)
				|| !invocation.getMethod().getName().equals("createListenerContainer")) {
			return result;
		}
		Object endpoint = invocation.getArguments()[0];
		Listener listener = (endpoint != null) ? listener(endpoint) : null;
		return (listener != null)
				? this.guard.listening(listener.bean(), listener.method(), container, this::prepare, this.services)
				: container;
	}

	@SuppressWarnings("unchecked")
	private static <T> T proxy(T target, boolean targetClass, MethodInterceptor interceptor) {
		ProxyFactory proxyFactory = new ProxyFactory(target);
		proxyFactory.setProxyTargetClass(targetClass);
		proxyFactory.addAdvice(interceptor);
		return (T) proxyFactory.getProxy(target.getClass().getClassLoader());
	}

	/**
	 * A listener for messages.
	 *
	 * @param bean the bean
	 * @param method the method, or {@code null} if each method of the bean that handles a
	 * payload is called
	 */
	record Listener(Object bean, @Nullable Method method) {
	}

}
