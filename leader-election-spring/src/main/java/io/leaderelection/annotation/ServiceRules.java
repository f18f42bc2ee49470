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
import java.util.Set;

import io.leaderelection.annotation.LeaderOnly.NotLeaderPolicy;
import org.jspecify.annotations.Nullable;

import org.springframework.context.Lifecycle;
import org.springframework.context.annotation.Bean;
import org.springframework.core.MethodIntrospector;
import org.springframework.core.annotation.AnnotatedElementUtils;
import org.springframework.core.annotation.MergedAnnotations;
import org.springframework.core.annotation.MergedAnnotations.SearchStrategy;
import org.springframework.scheduling.annotation.Scheduled;
import org.springframework.util.ReflectionUtils;
import org.springframework.util.ReflectionUtils.MethodFilter;

/**
 * Determines which beans leadership starts and stops because they are
 * {@link LeaderOnly @LeaderOnly}, and checks the requirements for that.
 */
final class ServiceRules {

	/**
	 * Methods that the container calls on the proxy. A final method would run on the
	 * proxy itself, which does not have the state of the bean.
	 */
	private static final Set<String> LIFECYCLE_METHODS = Set.of("getPhase", "isAutoStartup", "isPauseable", "isRunning",
			"start", "stop");

	private ServiceRules() {
	}

	/**
	 * Return whether a method creates a bean that leadership may start and stop.
	 * @param method the method
	 * @return whether it is a {@code @Bean} method whose bean is a {@code Lifecycle}
	 */
	static boolean isServiceMethod(Method method) {
		return Lifecycle.class.isAssignableFrom(method.getReturnType())
				&& AnnotatedElementUtils.isAnnotated(method, Bean.class);
	}

	/**
	 * Return the annotation that makes leadership start and stop a bean.
	 * @param type the class of the bean
	 * @param factoryMethod the method that created it, if any; its annotation takes
	 * precedence
	 * @return the annotation, or {@code null}
	 */
	static @Nullable LeaderOnly annotationOf(Class<?> type, @Nullable Method factoryMethod) {
		if (!Lifecycle.class.isAssignableFrom(type)) {
			return null;
		}
		LeaderOnly annotation = (factoryMethod != null && isServiceMethod(factoryMethod))
				? GuardRules.annotationOf(factoryMethod) : null;
		return (annotation != null) ? annotation : GuardRules.annotationOf(type);
	}

	/**
	 * Fail if leadership cannot start and stop a bean.
	 * @param bean the name of the bean for messages
	 * @param type its class
	 * @param annotation the annotation
	 * @param singleton whether it is a singleton
	 * @throws InvalidUsageException if leadership cannot start and stop it
	 */
	static void check(String bean, Class<?> type, LeaderOnly annotation, boolean singleton) {
		if (!singleton) {
			throw new InvalidUsageException(bean
					+ " is annotated with @LeaderOnly, but is not a singleton: neither the container nor leadership can start and stop it.",
					"Make it a singleton, or annotate only its methods that are leader work.");
		}
		if (annotation.policy() != NotLeaderPolicy.SKIP) {
			throw new InvalidUsageException(bean
					+ " is started and stopped by leadership, but annotated with @LeaderOnly(policy = REJECT): there is no call to reject.",
					"Remove 'policy'. To guard its methods, annotate them.");
		}
		if (annotation.runOnGrant()) {
			throw new InvalidUsageException(bean
					+ " is started and stopped by leadership, but annotated with @LeaderOnly(runOnGrant = true): runOnGrant is supported on methods that are leader work only.",
					"Remove 'runOnGrant', since a service is started on every grant. To run one of its methods on grant too, annotate that method.");
		}
		for (Method method : MethodIntrospector.selectMethods(type, (MethodFilter) (candidate) -> true)) {
			LeaderOnly ofMethod = GuardRules.annotationOf(method);
			if (ofMethod != null) {
				checkElection(bean, method, annotation, ofMethod);
				continue;
			}
			String call = ListenerRules.callerOf(method, type).isContainer()
					? "a container calls its method '%s' for messages"
					: MergedAnnotations.from(method, SearchStrategy.TYPE_HIERARCHY).isPresent(Scheduled.class)
							? "its @Scheduled method '%s' runs" : null;
			if (call != null) {
				throw new InvalidUsageException(
						"%s is started and stopped by leadership, but ".formatted(bean)
								+ call.formatted(method.getName()) + " on every node.",
						"Annotate the method with @LeaderOnly too, or move it to another bean.");
			}
		}
	}

	private static void checkElection(String bean, Method method, LeaderOnly ofBean, LeaderOnly ofMethod) {
		AdvisedAnnotation advised = AdvisedAnnotation.of(method);
		if (!ofBean.election().isEmpty() && ofMethod.election().isEmpty() && advised != null) {
			throw new InvalidUsageException(
					"%s is started and stopped by the election '%s', but its method '%s' has a %s that names no election."
						.formatted(bean, ofBean.election(), method.getName(), advised.advisedBy().description()),
					"Set %s(election = ...).".formatted(advised));
		}
	}

	/**
	 * Fail if a proxy cannot extend a class so that the container calls the proxy.
	 * @param bean the name of the bean for messages
	 * @param type the class
	 * @throws InvalidUsageException if a proxy cannot extend it
	 */
	static void checkClass(String bean, Class<?> type) {
		String obstacle = (Modifier.isFinal(type.getModifiers()) || type.isSealed()) ? "its class is final or sealed"
				: finalMethod(type);
		if (obstacle != null) {
			throw new InvalidUsageException(
					"%s is started and stopped by leadership, but %s: the proxy that keeps the container from starting it cannot extend '%s'."
						.formatted(bean, obstacle, type.getName()),
					"Create it in a @Bean method that is annotated with @LeaderOnly and returns an interface such as SmartLifecycle.");
		}
	}

	private static @Nullable String finalMethod(Class<?> type) {
		for (Method method : ReflectionUtils.getUniqueDeclaredMethods(type)) {
			if (LIFECYCLE_METHODS.contains(method.getName()) && Modifier.isFinal(method.getModifiers())
					&& Modifier.isPublic(method.getModifiers()) && !Modifier.isStatic(method.getModifiers())) {
				return "its method '" + method.getName() + "' is final";
			}
		}
		return null;
	}

}
