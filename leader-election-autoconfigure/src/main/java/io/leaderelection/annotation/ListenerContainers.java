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
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.BiConsumer;

import io.leaderelection.engine.DefaultLeaderElector;
import io.leaderelection.engine.ElectionSettings;
import io.leaderelection.lifecycle.LeaderService;
import io.leaderelection.lifecycle.LeaderServices;
import io.leaderelection.lifecycle.ListenerContainer;
import org.jspecify.annotations.Nullable;

import org.springframework.aop.framework.AopProxyUtils;
import org.springframework.aop.framework.ProxyFactory;
import org.springframework.aop.support.AopUtils;
import org.springframework.context.SmartLifecycle;
import org.springframework.core.MethodClassKey;
import org.springframework.util.ClassUtils;

/**
 * The containers that call leader-only listeners for messages, by method.
 */
final class ListenerContainers {

	private final Map<MethodClassKey, List<ListenerContainer>> containers = new ConcurrentHashMap<>();

	private final GuardedElection.Resolver elections;

	private volatile boolean expected;

	ListenerContainers(GuardedElection.Resolver elections) {
		this.elections = elections;
	}

	/**
	 * Return the containers that call a method. Those that are created later are added.
	 * @param method the method
	 * @param type the class of the instances it is called on
	 */
	List<ListenerContainer> of(Method method, Class<?> type) {
		this.expected = this.expected || ListenerRules.isCalledByContainer(method, type);
		return this.containers.computeIfAbsent(new MethodClassKey(method, type), (key) -> new CopyOnWriteArrayList<>());
	}

	/**
	 * Return whether there is a leader-only listener that a container calls.
	 */
	boolean isExpected() {
		return this.expected;
	}

	/**
	 * Have leadership start and stop a container, if its listener is leader-only.
	 * @param bean the listener
	 * @param handler the method that the container calls, or {@code null} if it is each
	 * method that handles a payload
	 * @param container the container
	 * @param preparation prepares a container to be started and stopped by leadership,
	 * with a limit for its stop
	 * @param services the services that leadership starts and stops
	 * @return a proxy that starts and stops only with leadership, or the container
	 */
	Object add(Object bean, @Nullable Method handler, SmartLifecycle container,
			BiConsumer<SmartLifecycle, Duration> preparation, LeaderServices services) {
		Class<?> type = ClassUtils.getUserClass(AopProxyUtils.ultimateTargetClass(bean));
		Method method = (handler != null) ? AopUtils.getMostSpecificMethod(handler, type) : null;
		LeaderOnly annotation = (method != null) ? GuardRules.annotationOf(method, type)
				: GuardRules.annotationOf(type);
		if (annotation == null) {
			return container;
		}
		String name = ClassUtils.getShortName(type) + ((method != null) ? "." + method.getName() : "");
		DefaultLeaderElector elector = this.elections.find(annotation.election(),
				(method != null) ? Guard.describe(method, type) : "Class '" + type.getName() + "'");
		ListenerContainer listener = new ListenerContainer(name, container, elector.gate());
		Set<Method> methods = (method != null) ? Set.of(method) : GuardRules.guardedMethods(type);
		methods.stream()
			.filter((called) -> called == method || ListenerRules.isCalledByContainer(called, type))
			.map((called) -> of(called, type))
			.forEach((known) -> {
				known.removeIf(ListenerContainer::isRemoved);
				known.add(listener);
			});
		preparation.accept(container, elector.drainTimeout().plus(ElectionSettings.GRACE));
		services.add(elector.getElection(), listener.service());
		return proxy(container, listener.service());
	}

	private static Object proxy(SmartLifecycle container, LeaderService service) {
		ProxyFactory proxyFactory = new ProxyFactory(container);
		proxyFactory.addAdvisor(ServiceInterceptor.advisor(service, "start", "stop", "isAutoStartup", "destroy"));
		return proxyFactory.getProxy(container.getClass().getClassLoader());
	}

}
