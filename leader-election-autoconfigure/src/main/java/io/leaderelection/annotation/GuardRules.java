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

import java.io.Closeable;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;

import io.leaderelection.LeadershipEvent;
import io.leaderelection.LeadershipGrantedEvent;
import io.leaderelection.annotation.LeaderOnly.NotLeaderPolicy;
import org.jspecify.annotations.Nullable;

import org.springframework.aop.framework.Advised;
import org.springframework.aop.support.AopUtils;
import org.springframework.beans.factory.Aware;
import org.springframework.beans.factory.DisposableBean;
import org.springframework.beans.factory.FactoryBean;
import org.springframework.beans.factory.InitializingBean;
import org.springframework.beans.factory.SmartInitializingSingleton;
import org.springframework.beans.factory.config.BeanFactoryPostProcessor;
import org.springframework.beans.factory.config.BeanPostProcessor;
import org.springframework.context.ApplicationListener;
import org.springframework.context.Lifecycle;
import org.springframework.context.Phased;
import org.springframework.context.SmartLifecycle;
import org.springframework.context.annotation.Bean;
import org.springframework.context.event.EventListener;
import org.springframework.core.DecoratingProxy;
import org.springframework.core.GenericTypeResolver;
import org.springframework.core.MethodIntrospector;
import org.springframework.core.Ordered;
import org.springframework.core.annotation.AnnotatedElementUtils;
import org.springframework.core.annotation.MergedAnnotations;
import org.springframework.core.annotation.MergedAnnotations.SearchStrategy;
import org.springframework.scheduling.annotation.Scheduled;
import org.springframework.util.ReflectionUtils;
import org.springframework.util.ReflectionUtils.MethodFilter;

/**
 * Which methods {@link LeaderOnly @LeaderOnly} guards, and what it refuses to stand on. A
 * method that is annotated, or that the annotation of its class covers, is guarded or the
 * application does not start: there is no way between.
 */
final class GuardRules {

	/**
	 * Called by the container to make, wire, start, stop and describe a bean: no work of
	 * the application, and mostly called on the bean itself and not on its proxy.
	 */
	private static final Set<Class<?>> CALLBACKS = Set.of(AutoCloseable.class, BeanFactoryPostProcessor.class,
			BeanPostProcessor.class, Closeable.class, DisposableBean.class, FactoryBean.class, InitializingBean.class,
			Lifecycle.class, Ordered.class, Phased.class, SmartInitializingSingleton.class, SmartLifecycle.class);

	private static final Set<String> CALLBACK_ANNOTATIONS = Set.of("jakarta.annotation.PostConstruct",
			"jakarta.annotation.PreDestroy");

	static final String CALLBACK = "is called by the container to set the bean up, to manage it or to destroy it";

	private static final String ANNOTATE_METHODS = "annotate only the methods that are leader work, not the class.";

	private GuardRules() {
	}

	/**
	 * Return the annotation that guards a method of a class: its own, or that of the
	 * class where it covers the method.
	 * @param method the method, the most specific one
	 * @param type the class of the instance it is called on
	 * @return the annotation, or {@code null} if the method is not guarded
	 */
	static @Nullable LeaderOnly annotationOf(Method method, Class<?> type) {
		LeaderOnly annotation = annotationOf(method);
		if (annotation != null && ServiceRules.isServiceMethod(method)) {
			return null;
		}
		if (annotation == null) {
			annotation = annotationOfMethods(type);
			if (annotation != null && !isCovered(method, type)) {
				return null;
			}
		}
		return annotation;
	}

	static @Nullable LeaderOnly annotationOf(Method method) {
		return AnnotatedElementUtils.findMergedAnnotation(method, LeaderOnly.class);
	}

	static @Nullable LeaderOnly annotationOf(Class<?> type) {
		return AnnotatedElementUtils.findMergedAnnotation(type, LeaderOnly.class);
	}

	private static @Nullable LeaderOnly annotationOfMethods(Class<?> type) {
		// On a service, it says that leadership starts and stops the bean
		return Lifecycle.class.isAssignableFrom(type) ? null : annotationOf(type);
	}

	/**
	 * Return the guarded methods of a class.
	 * @param type the class
	 * @return the methods, none if instances of the class need no proxy
	 * @throws InvalidLeaderOnlyException if a method should be guarded and cannot be
	 */
	static Set<Method> guardedMethods(Class<?> type) {
		LeaderOnly ofType = annotationOfMethods(type);
		if (ofType != null && ofType.runOnGrant()) {
			throw new InvalidLeaderOnlyException(
					"Class '%s' is annotated with @LeaderOnly(runOnGrant = true): that is for single methods."
						.formatted(type.getName()),
					"Annotate the methods that are to be run when leadership is granted.");
		}
		Set<Method> guarded = new LinkedHashSet<>();
		List<String> unguardable = new ArrayList<>();
		for (Method method : MethodIntrospector.selectMethods(type, (MethodFilter) (method) -> true)) {
			LeaderOnly ofMethod = annotationOf(method);
			if (ofMethod != null && ServiceRules.isServiceMethod(method)) {
				continue;
			}
			if (ofMethod != null) {
				checkAnnotated(method, type);
				checkResult(method, type, ofMethod, "");
				checkRunOnGrant(method, type, ofMethod);
				guarded.add(method);
			}
			else if (ofType != null && isCovered(method, type)) {
				checkResult(method, type, ofType, " Or " + ANNOTATE_METHODS);
				guarded.add(method);
			}
			else if (ofType != null && isWork(method, type)) {
				unguardable.add("'%s' (%s)".formatted(method.getName(), obstacle(method, type)));
			}
		}
		if (!unguardable.isEmpty()) {
			throw new InvalidLeaderOnlyException(
					"Class '%s' is annotated with @LeaderOnly, but calls to some of its methods do not pass the proxy that guards it: %s."
						.formatted(type.getName(), String.join(", ", unguardable.stream().sorted().toList())),
					"Make them instance methods that are neither private nor final, or " + ANNOTATE_METHODS);
		}
		if (ofType != null && guarded.isEmpty()) {
			throw new InvalidLeaderOnlyException(
					"Class '%s' is annotated with @LeaderOnly, but has no method that could be guarded."
						.formatted(type.getName()),
					"Remove the annotation. Methods that the container calls to set a bean up and to destroy it are not guarded.");
		}
		return guarded;
	}

	private static boolean isCovered(Method method, Class<?> type) {
		// Whatever its visibility: the container calls package-private methods too
		return obstacle(method, type) == null && exemption(method, type) == null;
	}

	/**
	 * Return whether a method that the annotation of a class does not cover can be meant
	 * to be guarded: others call it, or the container does.
	 * @param method the method
	 * @param type the annotated class
	 * @return whether the method must not go unguarded
	 */
	private static boolean isWork(Method method, Class<?> type) {
		if (exemption(method, type) != null) {
			return false;
		}
		MergedAnnotations annotations = MergedAnnotations.from(method, SearchStrategy.TYPE_HIERARCHY);
		return annotations.isPresent(Scheduled.class) || annotations.isPresent(EventListener.class)
				|| (Modifier.isPublic(method.getModifiers()) && !Modifier.isStatic(method.getModifiers()));
	}

	private static void checkAnnotated(Method method, Class<?> type) {
		String exemption = exemption(method, type);
		if (exemption != null) {
			throw notWork(method, type, exemption);
		}
		String obstacle = obstacle(method, type);
		if (obstacle != null) {
			throw new InvalidLeaderOnlyException(
					"%s is annotated with @LeaderOnly, but is %s: calls to it do not pass the proxy that guards it."
						.formatted(Guard.describe(method, type), obstacle),
					"Make it an instance method that is neither private nor final.");
		}
	}

	static InvalidLeaderOnlyException notWork(Method method, Class<?> type, String exemption) {
		return new InvalidLeaderOnlyException(
				"%s is annotated with @LeaderOnly, but %s.".formatted(Guard.describe(method, type), exemption),
				"Move the leader work into a method of its own, and annotate that.");
	}

	private static void checkResult(Method method, Class<?> type, LeaderOnly annotation, String alternative) {
		Class<?> resultType = GenericTypeResolver.resolveReturnType(method, type);
		ReactiveResult reactive = ReactiveResult.of(method, resultType);
		if (ReactiveTypes.isSuspending(method)) {
			if (reactive == null) {
				throw new InvalidLeaderOnlyException(
						"%s is guarded by @LeaderOnly, but is a suspend function: what it does after it has returned can only be guarded with the help of Reactor."
							.formatted(Guard.describe(method, type)),
						"Add the dependencies org.jetbrains.kotlinx:kotlinx-coroutines-reactor and org.jetbrains.kotlin:kotlin-reflect."
								+ alternative);
			}
			resultType = ReactiveResult.suspendedType(method);
		}
		else if (reactive != null || ReactiveTypes.isReactive(resultType)) {
			checkReactive(method, type, resultType, reactive, annotation, alternative);
		}
		if (annotation.policy() == NotLeaderPolicy.SKIP && resultType.isPrimitive() && resultType != void.class) {
			throw new InvalidLeaderOnlyException(
					"%s is guarded by @LeaderOnly, but returns the primitive '%s': there is no result for a call that is skipped."
						.formatted(Guard.describe(method, type), resultType),
					"Return the wrapper type (null if skipped) or an Optional, or use @LeaderOnly(policy = REJECT)."
							+ alternative);
		}
		if (Guard.isFuture(resultType) && !resultType.isAssignableFrom(CompletableFuture.class)) {
			throw new InvalidLeaderOnlyException(
					"%s is guarded by @LeaderOnly, but returns %s: there is no such result for a call that is not let through."
						.formatted(Guard.describe(method, type), resultType.getName()),
					"Return Future, CompletionStage or CompletableFuture." + alternative);
		}
	}

	private static void checkReactive(Method method, Class<?> type, Class<?> resultType,
			@Nullable ReactiveResult reactive, LeaderOnly annotation, String alternative) {
		String description = Guard.describe(method, type) + " is guarded by @LeaderOnly, but returns "
				+ resultType.getName() + ": ";
		if (!ReactiveTypes.REACTOR_PRESENT) {
			throw new InvalidLeaderOnlyException(
					description
							+ "what it does when that is subscribed to can only be guarded with the help of Reactor.",
					"Add the dependency io.projectreactor:reactor-core. Or do the leader work before the method returns, or return a CompletionStage."
							+ alternative);
		}
		if (reactive == null) {
			throw new InvalidLeaderOnlyException(
					description + "Spring cannot make one of what is guarded when it is subscribed to.",
					"Return Mono, Flux, Publisher, Flow.Publisher or a type of RxJava 3 or Mutiny, and no subtype of these. Or return a CompletionStage."
							+ alternative);
		}
		if (annotation.policy() == NotLeaderPolicy.SKIP && !reactive.supportsEmpty()) {
			throw new InvalidLeaderOnlyException(description + "there is no empty one for a call that is skipped.",
					"Return a type that may be empty, or use @LeaderOnly(policy = REJECT)." + alternative);
		}
	}

	private static void checkRunOnGrant(Method method, Class<?> type, LeaderOnly annotation) {
		int parameters = method.getParameterCount() - (ReactiveTypes.isSuspending(method) ? 1 : 0);
		if (annotation.runOnGrant() && parameters > 0) {
			throw new InvalidLeaderOnlyException(
					"%s is to be run when leadership is granted (runOnGrant), but has parameters: there are no arguments to call it with."
						.formatted(Guard.describe(method, type)),
					"Move the leader work into a method without parameters, and annotate that.");
		}
	}

	/**
	 * Fail if an annotated method is out of reach behind a proxy that has the interfaces
	 * of a class only. What the annotation of a class covers may be.
	 * @param guarded the guarded methods
	 * @param type the class
	 * @param proxyType the class of the proxy
	 */
	static void checkInterfaces(Set<Method> guarded, Class<?> type, Class<?> proxyType) {
		for (Method method : guarded) {
			if (annotationOf(method) != null && !isOnInterface(method, type, proxyType)) {
				throw new InvalidLeaderOnlyException(
						"%s is annotated with @LeaderOnly, but is on none of the interfaces that the proxy of its bean has."
							.formatted(Guard.describe(method, type)),
						"Add it to an interface, or let the bean be proxied by its class (spring.aop.proxy-target-class=true, or @Proxyable(TARGET_CLASS)).");
			}
		}
	}

	private static boolean isOnInterface(Method method, Class<?> type, Class<?> proxyType) {
		return Arrays.stream(proxyType.getInterfaces())
			.flatMap((implemented) -> Arrays.stream(implemented.getMethods()))
			.filter((candidate) -> candidate.getName().equals(method.getName()))
			.anyMatch((candidate) -> candidate.equals(method)
					|| AopUtils.getMostSpecificMethod(candidate, type).equals(method));
	}

	/**
	 * Return why calls to a method do not pass the proxy, or {@code null} if they do.
	 * @param method the method
	 * @param type the class of the bean
	 * @return what the method is, or {@code null} if nothing is in the way
	 */
	private static @Nullable String obstacle(Method method, Class<?> type) {
		int modifiers = method.getModifiers();
		if (Modifier.isPrivate(modifiers)) {
			return "private";
		}
		if (Modifier.isStatic(modifiers)) {
			return "static";
		}
		if (Modifier.isFinal(modifiers)) {
			return "final";
		}
		if (!Modifier.isPublic(modifiers) && !Modifier.isProtected(modifiers)
				&& !method.getDeclaringClass().getPackageName().equals(type.getPackageName())) {
			return "package-private in the package of a superclass";
		}
		return null;
	}

	/**
	 * Return why a method is no leader work by its nature, or {@code null} if it may be.
	 * @param method the method
	 * @param type the class of the bean
	 * @return what the method does, or {@code null} if it may be leader work
	 */
	private static @Nullable String exemption(Method method, Class<?> type) {
		Class<?> declaringType = method.getDeclaringClass();
		if (isObjectMethod(method) || declaringType.isAssignableFrom(Advised.class)
				|| declaringType == DecoratingProxy.class) {
			return "is a method of every object";
		}
		if (AnnotatedElementUtils.isAnnotated(method, Bean.class)) {
			return "makes a bean that is no Lifecycle: it is the methods of the bean that can be guarded";
		}
		if (isCallback(method, type)) {
			return CALLBACK;
		}
		if (hearsOfRevocation(method)) {
			return "is told when leadership has ended: it would never be called";
		}
		return null;
	}

	private static boolean isObjectMethod(Method method) {
		return Arrays.stream(Object.class.getDeclaredMethods())
			.anyMatch((candidate) -> candidate.getName().equals(method.getName())
					&& Arrays.equals(candidate.getParameterTypes(), method.getParameterTypes()));
	}

	private static boolean isCallback(Method method, Class<?> type) {
		for (String annotation : CALLBACK_ANNOTATIONS) {
			if (MergedAnnotations.from(method).isPresent(annotation)) {
				return true;
			}
		}
		for (Class<?> current = type; current != null; current = current.getSuperclass()) {
			for (Class<?> implemented : current.getInterfaces()) {
				if (isCallbackOf(method, implemented)) {
					return true;
				}
			}
		}
		return false;
	}

	private static boolean isCallbackOf(Method method, Class<?> implemented) {
		// Listeners also have to say what they listen to
		if ((CALLBACKS.contains(implemented) || Aware.class.isAssignableFrom(implemented)
				|| (isListener(implemented) && !method.getName().equals("onApplicationEvent")))
				&& ReflectionUtils.findMethod(implemented, method.getName(), method.getParameterTypes()) != null) {
			return true;
		}
		return Arrays.stream(implemented.getInterfaces()).anyMatch((parent) -> isCallbackOf(method, parent));
	}

	private static boolean isListener(Class<?> type) {
		return ApplicationListener.class.isAssignableFrom(type) && type.getName().startsWith("org.springframework.");
	}

	private static boolean hearsOfRevocation(Method method) {
		EventListener listener = AnnotatedElementUtils.findMergedAnnotation(method, EventListener.class);
		Class<?>[] eventTypes = (listener != null && listener.classes().length > 0) ? listener.classes()
				: method.getParameterTypes();
		return Arrays.stream(eventTypes)
			.anyMatch((eventType) -> LeadershipEvent.class.isAssignableFrom(eventType)
					&& eventType != LeadershipGrantedEvent.class);
	}

}
