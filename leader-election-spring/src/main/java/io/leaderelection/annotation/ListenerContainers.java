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
import java.util.function.BiPredicate;

import io.leaderelection.engine.DefaultLeaderElector;
import io.leaderelection.engine.ElectionSettings;
import io.leaderelection.lifecycle.LeaderServices;
import io.leaderelection.lifecycle.ListenerContainer;
import org.jspecify.annotations.Nullable;

import org.springframework.aop.framework.AopProxyUtils;
import org.springframework.aop.framework.ProxyFactory;
import org.springframework.aop.support.AopUtils;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.context.SmartLifecycle;
import org.springframework.core.MethodClassKey;
import org.springframework.util.ClassUtils;

/**
 * The containers that call leader-only listeners for messages, by method.
 */
final class ListenerContainers {

	private final Map<MethodClassKey, List<ListenerContainer>> containers = new ConcurrentHashMap<>();

	private final GuardedElection.Resolver elections;

	private final ObjectProvider<WorkAdvisor> advisors;

	ListenerContainers(GuardedElection.Resolver elections, ObjectProvider<WorkAdvisor> advisors) {
		this.elections = elections;
		this.advisors = advisors;
	}

	/**
	 * Return the containers that call a method. Those that are created later are added.
	 * @param method the method
	 * @param type the class of the instances it is called on
	 */
	List<ListenerContainer> of(Method method, Class<?> type) {
		return this.containers.computeIfAbsent(new MethodClassKey(method, type), (key) -> new CopyOnWriteArrayList<>());
	}

	/**
	 * Have leadership start and stop a container, if its listener is leader-only.
	 */
	Object add(Object bean, @Nullable Method handler, SmartLifecycle container,
			BiPredicate<SmartLifecycle, Duration> preparation, LeaderServices services) {
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
		if (!preparation.test(container, elector.drainTimeout().plus(ElectionSettings.GRACE.multipliedBy(2)))) {
			throw new InvalidUsageException(
					"%s is a leader-only listener, but its container (%s) gives up a message that it has not processed when it stops."
						.formatted(name, container.getClass().getName()),
					"Use a consumer group instead of a share group.");
		}
		ListenerContainer listener = new ListenerContainer(name, container, elector.gate());
		Set<Method> methods = (method != null) ? Set.of(method) : GuardRules.guardedMethods(type, this.advisors);
		methods.stream()
			.filter((called) -> called == method || ListenerRules.callerOf(called, type).isContainer())
			.map((called) -> of(called, type))
			.forEach((known) -> {
				known.removeIf((earlier) -> earlier.service().isRemoved());
				known.add(listener);
			});
		services.add(elector.getElection(), listener.service());
		ProxyFactory proxyFactory = new ProxyFactory(container);
		proxyFactory
			.addAdvisor(ServiceInterceptor.advisor(listener.service(), "start", "stop", "isAutoStartup", "destroy"));
		return proxyFactory.getProxy(container.getClass().getClassLoader());
	}

}
