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
import java.lang.reflect.Proxy;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Collectors;

import org.jspecify.annotations.Nullable;

import org.springframework.aop.support.AopUtils;
import org.springframework.aop.support.StaticMethodMatcherPointcut;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.core.MethodClassKey;
import org.springframework.core.MethodIntrospector;
import org.springframework.core.annotation.AnnotationUtils;
import org.springframework.util.ClassUtils;
import org.springframework.util.ReflectionUtils.MethodFilter;

/**
 * The guards of an application by method and class. As a pointcut, it matches the methods
 * that have a guard.
 */
final class LeaderOnlyPointcut extends StaticMethodMatcherPointcut {

	private final Map<Class<?>, Set<Method>> guardedMethods = new ConcurrentHashMap<>(256);

	private final Map<MethodClassKey, Guard> guards = new ConcurrentHashMap<>();

	private final GuardedElection.Resolver elections;

	private final ObjectProvider<WorkAdvisor> advisors;

	private final ListenerContainers containers;

	private volatile boolean electionsKnown;

	LeaderOnlyPointcut(GuardedElection.Resolver elections, ObjectProvider<WorkAdvisor> advisors) {
		this.elections = elections;
		this.advisors = advisors;
		this.containers = new ListenerContainers(elections, advisors);
	}

	/**
	 * Return the containers that call guarded methods for messages.
	 */
	ListenerContainers containers() {
		return this.containers;
	}

	@Override
	public boolean matches(Method method, Class<?> targetClass) {
		return find(method, targetClass) != null;
	}

	/**
	 * Return the guard of a method that is called on an instance of the given class.
	 * @param method the method that is called
	 * @param type the class of the instance it is called on
	 * @return the guard, or {@code null} if the method is not guarded
	 */
	@Nullable Guard find(Method method, Class<?> type) {
		MethodClassKey key = new MethodClassKey(method, type);
		Guard guard = this.guards.get(key);
		if (guard != null) {
			return guard;
		}
		Class<?> userType = ClassUtils.getUserClass(type);
		Method specific = Proxy.isProxyClass(userType) ? method : AopUtils.getMostSpecificMethod(method, userType);
		LeaderOnly annotation = GuardRules.annotationOf(specific, userType);
		if (annotation == null) {
			return null;
		}
		guard = new Guard(specific, userType, annotation, this.elections, this.advisors,
				this.containers.of(specific, userType));
		Guard existing = this.guards.putIfAbsent(key, guard);
		return (existing != null) ? existing : guard;
	}

	/**
	 * Return the methods of a class that are guarded when they are called on a proxy of
	 * its instances.
	 * @param type the class
	 * @return the methods, none if instances of the class need no proxy
	 * @throws InvalidUsageException if a method should be guarded and cannot be
	 */
	Set<Method> guardedMethods(Class<?> type) {
		Set<Method> methods = this.guardedMethods.get(type);
		if (methods == null) {
			methods = inspect(type);
			this.guardedMethods.put(type, methods);
		}
		return methods;
	}

	/**
	 * Return the methods of a class that run when leadership is granted, or that are
	 * advised. A class without such methods is not checked.
	 * @param type the class
	 * @return the methods, mostly none
	 * @throws InvalidUsageException if a method should be guarded and cannot be
	 */
	Set<Method> methodsToRunOnGrant(Class<?> type) {
		Set<Method> methods = this.guardedMethods.get(type);
		if (methods == null) {
			methods = AnnotationUtils.isCandidateClass(type, LeaderOnly.class) ? MethodIntrospector.selectMethods(
					ClassUtils.getUserClass(type), (MethodFilter) LeaderOnlyPointcut::runsOnGrant) : Set.of();
			methods = methods.isEmpty() ? methods : guardedMethods(type);
		}
		return methods.stream().filter(LeaderOnlyPointcut::runsOnGrant).collect(Collectors.toSet());
	}

	private static boolean runsOnGrant(Method method) {
		LeaderOnly annotation = GuardRules.annotationOf(method);
		return annotation != null && (annotation.runOnGrant() || AdvisedAnnotation.of(method) != null);
	}

	private Set<Method> inspect(Class<?> type) {
		if (!AnnotationUtils.isCandidateClass(type, LeaderOnly.class)) {
			return Set.of();
		}
		Set<Method> methods = GuardRules.guardedMethods(ClassUtils.getUserClass(type), this.advisors);
		for (Method method : methods) {
			Guard guard = find(method, type);
			if (guard != null && this.electionsKnown) {
				guard.checkElection();
			}
		}
		return methods;
	}

	/**
	 * Fail if an existing guard is for an election that does not exist. From now on,
	 * {@link #guardedMethods} fails immediately in this case.
	 */
	void checkElections() {
		this.electionsKnown = true;
		this.guards.values().forEach(Guard::checkElection);
	}

}
