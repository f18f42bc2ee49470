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
import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.Set;

import io.leaderelection.annotation.LeaderOnlyBeanPostProcessor;
import io.leaderelection.lifecycle.LeaderServices;
import org.aopalliance.intercept.MethodInterceptor;
import org.aopalliance.intercept.MethodInvocation;
import org.jspecify.annotations.Nullable;

import org.springframework.aop.framework.ProxyFactory;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.beans.factory.config.BeanPostProcessor;
import org.springframework.context.SmartLifecycle;

/**
 * Has leadership start and stop the containers of leader-only listeners. Containers are
 * created by a registry when it registers an endpoint. The proxy of the registry replaces
 * those of leader-only listeners by proxies, which the registry can neither start nor
 * stop. All others do not change.
 *
 * @param <R> the type of the registry
 */
abstract class ListenerRegistryPostProcessor<R> implements BeanPostProcessor {

	private final Class<R> registryType;

	private final ObjectProvider<R> registry;

	private final LeaderOnlyBeanPostProcessor guard;

	private final LeaderServices services;

	private final Set<Object> proxies = Collections.synchronizedSet(Collections.newSetFromMap(new IdentityHashMap<>()));

	ListenerRegistryPostProcessor(Class<R> registryType, ObjectProvider<R> registry, LeaderOnlyBeanPostProcessor guard,
			LeaderServices services) {
		this.registryType = registryType;
		this.registry = registry;
		this.guard = guard;
		this.services = services;
	}

	/**
	 * Return what the registry uses instead of the container of an endpoint.
	 */
	abstract Object manage(Object endpoint, SmartLifecycle container);

	final Object manage(@Nullable Object bean, @Nullable Method method, SmartLifecycle container) {
		return (bean != null) ? this.guard.listening(bean, method, container, this::prepare, this.services) : container;
	}

	/**
	 * Prepare a container to be started and stopped by leadership. Its stop must wait for
	 * messages in flight, and return to the broker those that it has received in advance.
	 * @param container the container
	 * @param longestStop when a stop is given up
	 */
	boolean prepare(SmartLifecycle container, Duration longestStop) {
		return true;
	}

	@Override
	public Object postProcessAfterInitialization(Object bean, String beanName) {
		return this.registryType.isInstance(bean) ? managed(bean) : bean;
	}

	/**
	 * Return the proxy of the registry that registers annotated methods. It may be no
	 * bean, or have been created before this post-processor.
	 * @param configured the registry that the application has configured, if any
	 */
	final R registry(@Nullable R configured) {
		R registry = (configured != null) ? configured : this.registry.getObject();
		return this.proxies.contains(registry) ? registry : managed(registry);
	}

	private <T> T managed(T target) {
		T proxy = proxy(target, true, this::register);
		this.proxies.add(proxy);
		return proxy;
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
		return (endpoint != null) ? manage(endpoint, container) : container;
	}

	@SuppressWarnings("unchecked")
	private static <T> T proxy(T target, boolean targetClass, MethodInterceptor interceptor) {
		ProxyFactory proxyFactory = new ProxyFactory(target);
		proxyFactory.setProxyTargetClass(targetClass);
		proxyFactory.addAdvice(interceptor);
		return (T) proxyFactory.getProxy(target.getClass().getClassLoader());
	}

}
