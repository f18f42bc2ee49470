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
import java.lang.reflect.GenericArrayType;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.lang.reflect.ParameterizedType;
import java.lang.reflect.Type;
import java.lang.reflect.WildcardType;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;

import io.leaderelection.LeadershipEvent;
import io.leaderelection.LeadershipGrantedEvent;
import io.leaderelection.annotation.LeaderOnly.NotLeaderPolicy;
import io.leaderelection.annotation.ListenerRules.Caller;
import io.leaderelection.annotation.WorkAdvisor.Usage;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;

import org.springframework.aop.framework.Advised;
import org.springframework.aop.support.AopUtils;
import org.springframework.beans.factory.Aware;
import org.springframework.beans.factory.DisposableBean;
import org.springframework.beans.factory.FactoryBean;
import org.springframework.beans.factory.InitializingBean;
import org.springframework.beans.factory.ObjectProvider;
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
import org.springframework.core.annotation.MergedAnnotation;
import org.springframework.core.annotation.MergedAnnotationSelectors;
import org.springframework.core.annotation.MergedAnnotations;
import org.springframework.core.annotation.MergedAnnotations.SearchStrategy;
import org.springframework.core.log.LogMessage;
import org.springframework.util.ClassUtils;
import org.springframework.util.ReflectionUtils;
import org.springframework.util.ReflectionUtils.MethodFilter;

/**
 * Determines which methods {@link LeaderOnly @LeaderOnly} guards, and rejects unsupported
 * uses of it. If a method is annotated, or covered by the annotation of its class, and
 * cannot be guarded, the application does not start.
 */
final class GuardRules {

	private static final Log logger = LogFactory.getLog(GuardRules.class);

	/**
	 * Types whose methods the container calls to create, configure, start, stop and
	 * describe a bean. These are not work of the application, and most are called on the
	 * bean itself and not on its proxy.
	 */
	private static final Set<Class<?>> CALLBACKS = Set.of(AutoCloseable.class, BeanFactoryPostProcessor.class,
			BeanPostProcessor.class, Closeable.class, DisposableBean.class, FactoryBean.class, InitializingBean.class,
			Lifecycle.class, Ordered.class, Phased.class, SmartInitializingSingleton.class, SmartLifecycle.class);

	private static final Set<String> CALLBACK_ANNOTATIONS = Set.of("jakarta.annotation.PostConstruct",
			"jakarta.annotation.PreDestroy");

	static final String CALLBACK = "is called by the container to initialize, manage or destroy the bean";

	private static final String ANNOTATE_METHODS = "annotate only the methods that are leader work, not the class.";

	private GuardRules() {
	}

	/**
	 * Return the annotation that guards a method of a class: its own annotation, or the
	 * annotation of the class if it covers the method.
	 * @param method the method, the most specific one
	 * @param type the class of the instance it is called on
	 * @return the annotation, or {@code null} if the method is not guarded
	 */
	static @Nullable LeaderOnly annotationOf(Method method, Class<?> type) {
		LeaderOnly annotation = annotationOf(method);
		if (annotation != null && ServiceRules.isServiceMethod(method)) {
			return null;
		}
		if (annotation == null || (annotation.election().isEmpty() && declared(method) == null)) {
			LeaderOnly ofType = annotationOfMethods(type);
			return (ofType != null && isCovered(method, type)) ? ofType : annotation;
		}
		return annotation;
	}

	/**
	 * Return the annotation of a method: its own, or the one that an advised annotation
	 * implies.
	 */
	static @Nullable LeaderOnly annotationOf(Method method) {
		LeaderOnly any = AnnotatedElementUtils.findMergedAnnotation(method, LeaderOnly.class);
		LeaderOnly declared = (any != null) ? declared(method) : null;
		return (declared != null) ? declared : any;
	}

	private static @Nullable LeaderOnly declared(Method method) {
		return MergedAnnotations.from(method, SearchStrategy.TYPE_HIERARCHY)
			.get(LeaderOnly.class, (candidate) -> !AdvisedAnnotation.implies(candidate),
					MergedAnnotationSelectors.firstDirectlyDeclared())
			.synthesize(MergedAnnotation::isPresent)
			.orElse(null);
	}

	static @Nullable LeaderOnly annotationOf(Class<?> type) {
		return AnnotatedElementUtils.findMergedAnnotation(type, LeaderOnly.class);
	}

	private static @Nullable LeaderOnly annotationOfMethods(Class<?> type) {
		// On a service, the annotation means that leadership starts and stops the bean
		return Lifecycle.class.isAssignableFrom(type) ? null : annotationOf(type);
	}

	/**
	 * Return the guarded methods of a class.
	 * @param type the class
	 * @param advisors provides the advisors, if a method is advised
	 * @return the methods, none if instances of the class need no proxy
	 * @throws InvalidUsageException if a method should be guarded and cannot be
	 */
	static Set<Method> guardedMethods(Class<?> type, ObjectProvider<WorkAdvisor> advisors) {
		LeaderOnly ofType = annotationOfMethods(type);
		if (ofType != null && ofType.runOnGrant()) {
			throw new InvalidUsageException(
					"Class '%s' is annotated with @LeaderOnly(runOnGrant = true): runOnGrant is supported on methods only."
						.formatted(type.getName()),
					"Annotate the methods that should run when leadership is granted.");
		}
		Set<Method> guarded = new LinkedHashSet<>();
		List<String> unguardable = new ArrayList<>();
		Set<String> notCovered = new TreeSet<>();
		for (Method method : MethodIntrospector.selectMethods(type, (MethodFilter) (method) -> true)) {
			LeaderOnly ofMethod = annotationOf(method);
			if (ofMethod != null && ServiceRules.isServiceMethod(method)) {
				continue;
			}
			Caller caller = ListenerRules.callerOf(method, type);
			if (ofMethod != null) {
				checkAdvised(method, type, advisors);
				checkAnnotated(method, type);
				ListenerRules.check(method, type, caller, ofMethod, "");
				checkResult(method, type, caller, ofMethod, "");
				checkRunOnGrant(method, type, ofMethod);
				guarded.add(method);
			}
			else if (ofType != null && isCovered(method, type)) {
				ListenerRules.check(method, type, caller, ofType, " Or " + ANNOTATE_METHODS);
				checkResult(method, type, caller, ofType, " Or " + ANNOTATE_METHODS);
				guarded.add(method);
			}
			else if (ofType != null && isWork(method, type, caller)) {
				unguardable.add("'%s' (%s)".formatted(method.getName(), obstacle(method, type)));
			}
			else if (ofType != null && exemption(method, type) == null && !caller.work()) {
				notCovered.add(method.getName());
			}
		}
		checkInheritedImplementations(type, guarded);
		if (!notCovered.isEmpty()) {
			logger.debug(LogMessage.format("@LeaderOnly on '%s' does not cover methods that a framework declares: %s",
					type.getName(), notCovered));
		}
		if (!unguardable.isEmpty()) {
			throw new InvalidUsageException(
					"Class '%s' is annotated with @LeaderOnly, but calls to some of its methods do not pass the proxy that guards it: %s."
						.formatted(type.getName(), String.join(", ", unguardable.stream().sorted().toList())),
					"Make them instance methods that are neither private nor final, or " + ANNOTATE_METHODS);
		}
		if (ofType != null && guarded.isEmpty()) {
			throw new InvalidUsageException(
					"Class '%s' is annotated with @LeaderOnly, but has no method that can be guarded."
						.formatted(type.getName()),
					"Annotate the methods that are leader work. The annotation of a class does not cover methods that the container calls to initialize and destroy a bean, nor those that a framework declares.");
		}
		return guarded;
	}

	/**
	 * Fail if a method of an interface is annotated, but a superclass that does not have
	 * the interface implements it: the annotation is not on a method that it overrides.
	 */
	private static void checkInheritedImplementations(Class<?> type, Set<Method> guarded) {
		for (Class<?> implemented : ClassUtils.getAllInterfacesForClassAsSet(type)) {
			for (Method declared : implemented.getDeclaredMethods()) {
				Method method = AopUtils.getMostSpecificMethod(declared, type);
				if (annotationOf(declared) != null && annotationOf(method) == null && !guarded.contains(method)) {
					throw new InvalidUsageException(
							"%s is annotated with @LeaderOnly, but '%s' inherits its implementation from '%s', which does not implement this interface: the annotation does not apply to it."
								.formatted(Guard.describe(declared, implemented), type.getName(),
										method.getDeclaringClass().getName()),
							"Annotate the class, or the method that it inherits.");
				}
			}
		}
	}

	private static boolean isCovered(Method method, Class<?> type) {
		// Regardless of its visibility: the container calls package-private methods too
		return obstacle(method, type) == null && exemption(method, type) == null
				&& ListenerRules.callerOf(method, type).work();
	}

	/**
	 * Return whether a method that the annotation of a class cannot cover may be intended
	 * as leader work: other classes or the container can call it.
	 * @param method the method
	 * @param type the annotated class
	 * @param caller what calls the method
	 * @return whether the method must not go unguarded
	 */
	private static boolean isWork(Method method, Class<?> type, Caller caller) {
		return exemption(method, type) == null && caller.work() && (caller.isKnown()
				|| (Modifier.isPublic(method.getModifiers()) && !Modifier.isStatic(method.getModifiers())));
	}

	private static void checkAnnotated(Method method, Class<?> type) {
		String exemption = exemption(method, type);
		if (exemption != null) {
			throw notWork(method, type, exemption);
		}
		String obstacle = obstacle(method, type);
		if (obstacle != null) {
			throw new InvalidUsageException(
					"%s is annotated with @LeaderOnly, but is %s: calls to it do not pass the proxy that guards it."
						.formatted(Guard.describe(method, type), obstacle),
					"Make it an instance method that is neither private nor final.");
		}
	}

	private static void checkAdvised(Method method, Class<?> type, ObjectProvider<WorkAdvisor> advisors) {
		AdvisedAnnotation advised = AdvisedAnnotation.of(method);
		if (advised == null) {
			return;
		}
		LeaderOnly annotation = annotationOf(method, type);
		Class<?> resultType = GenericTypeResolver.resolveReturnType(method, type);
		ReactiveResult reactive = ReactiveResult.of(method, resultType);
		boolean suspending = ReactiveTypes.isSuspending(method);
		boolean deferred = suspending || ReactiveTypes.isReactive(resultType) || Guard.isFuture(resultType)
				|| resultType == Object.class;
		boolean skippable = (reactive != null) ? reactive.supportsEmpty()
				: !resultType.isPrimitive() || resultType == void.class;
		String description = Guard.describe(method, type);
		advised.advisor(advisors, description)
			.check(method, description, new Usage(type, declared(method) != null, deferred, skippable,
					annotation != null && annotation.runOnGrant(), method.getParameterCount() - (suspending ? 1 : 0)));
	}

	static InvalidUsageException notWork(Method method, Class<?> type, String exemption) {
		return new InvalidUsageException(
				"%s is annotated with @LeaderOnly, but %s.".formatted(Guard.describe(method, type), exemption),
				"Move the leader work to a separate method, and annotate that method.");
	}

	private static void checkResult(Method method, Class<?> type, Caller caller, LeaderOnly annotation,
			String alternative) {
		boolean skips = annotation.policy() == NotLeaderPolicy.SKIP && !caller.isContainer();
		Class<?> resultType = GenericTypeResolver.resolveReturnType(method, type);
		ReactiveResult reactive = ReactiveResult.of(method, resultType);
		if (ReactiveTypes.isSuspending(method)) {
			if (reactive == null) {
				throw new InvalidUsageException(
						"%s is guarded by @LeaderOnly, but is a suspend function: the work after its first suspension can only be guarded with Reactor."
							.formatted(Guard.describe(method, type)),
						"Add the dependencies org.jetbrains.kotlinx:kotlinx-coroutines-reactor and org.jetbrains.kotlin:kotlin-reflect."
								+ alternative);
			}
			resultType = ReactiveResult.suspendedType(method);
		}
		else if (reactive != null || ReactiveTypes.isReactive(resultType)) {
			checkReactive(method, type, resultType, reactive, skips, alternative);
		}
		if (skips && resultType.isPrimitive() && resultType != void.class) {
			throw new InvalidUsageException(
					"%s is guarded by @LeaderOnly, but returns the primitive type '%s', which has no value for a skipped call."
						.formatted(Guard.describe(method, type), resultType),
					"Return the wrapper type (null if skipped) or an Optional, or use @LeaderOnly(policy = REJECT)."
							+ alternative);
		}
		Type declared = GenericTypeResolver.resolveType(method.getGenericReturnType(), type);
		// Not if only the annotation of the class covers the method
		if (alternative.isEmpty() && isDeferred(declared, false)) {
			throw new InvalidUsageException(
					"%s is guarded by @LeaderOnly, but returns %s, which is worked on after the method has returned."
						.formatted(Guard.describe(method, type), declared.getTypeName()),
					"Do the leader work before the method returns, or return a CompletionStage or a publisher itself.");
		}
		if (Guard.isFuture(resultType) && !resultType.isAssignableFrom(CompletableFuture.class)) {
			throw new InvalidUsageException(
					"%s is guarded by @LeaderOnly, but returns %s: no instance of this type can be created for a call that is skipped or rejected."
						.formatted(Guard.describe(method, type), resultType.getName()),
					"Return Future, CompletionStage or CompletableFuture." + alternative);
		}
	}

	private static boolean isDeferred(Type result, boolean within) {
		if (result instanceof ParameterizedType parameterized) {
			return parameterized.getRawType() != Class.class && (isDeferred(parameterized.getRawType(), within)
					|| Arrays.stream(parameterized.getActualTypeArguments())
						.anyMatch((type) -> isDeferred(type, true)));
		}
		if (result instanceof GenericArrayType array) {
			return isDeferred(array.getGenericComponentType(), true);
		}
		if (result instanceof WildcardType wildcard) {
			return isDeferred(wildcard.getUpperBounds()[0], within);
		}
		return result instanceof Class<?> type
				&& ((type.isArray() && isDeferred(type.getComponentType(), true)) || ReactiveTypes.isDeferred(type)
						|| (within && (ReactiveTypes.isReactive(type) || Guard.isFuture(type))));
	}

	private static void checkReactive(Method method, Class<?> type, Class<?> resultType,
			@Nullable ReactiveResult reactive, boolean skips, String alternative) {
		String description = Guard.describe(method, type) + " is guarded by @LeaderOnly, but returns "
				+ resultType.getName() + ": ";
		if (!ReactiveTypes.REACTOR_PRESENT) {
			throw new InvalidUsageException(
					description + "the work that begins on subscription can only be guarded with Reactor.",
					"Add the dependency io.projectreactor:reactor-core. Alternatively, do the leader work before the method returns, or return a CompletionStage."
							+ alternative);
		}
		if (reactive == null) {
			throw new InvalidUsageException(description + "Spring cannot adapt a guarded publisher to this type.",
					"Return Mono, Flux, Publisher, Flow.Publisher or a type of RxJava 3 or Mutiny, but not a subtype of these. Or return a CompletionStage."
							+ alternative);
		}
		if (skips && !reactive.supportsEmpty()) {
			throw new InvalidUsageException(description + "this type has no empty value for a skipped call.",
					"Return a type that may be empty, or use @LeaderOnly(policy = REJECT)." + alternative);
		}
	}

	private static void checkRunOnGrant(Method method, Class<?> type, LeaderOnly annotation) {
		int parameters = method.getParameterCount() - (ReactiveTypes.isSuspending(method) ? 1 : 0);
		if (annotation.runOnGrant() && parameters > 0) {
			throw new InvalidUsageException(
					"%s runs when leadership is granted (runOnGrant), but has parameters: a run on grant has no arguments."
						.formatted(Guard.describe(method, type)),
					"Move the leader work to a method without parameters, and annotate that method.");
		}
	}

	/**
	 * Fail if an annotated method is not accessible through a proxy that implements only
	 * the interfaces of a class. Methods that are only covered by the annotation of their
	 * class need not be accessible.
	 * @param guarded the guarded methods
	 * @param type the class
	 * @param proxyType the class of the proxy
	 */
	static void checkInterfaces(Set<Method> guarded, Class<?> type, Class<?> proxyType) {
		for (Method method : guarded) {
			if (annotationOf(method) != null && !isOnInterface(method, type, proxyType)) {
				throw new InvalidUsageException(
						"%s is annotated with @LeaderOnly, but is not declared by any interface of the bean's proxy."
							.formatted(Guard.describe(method, type)),
						"Declare it in an interface, or have the bean proxied by its class (spring.aop.proxy-target-class=true, or @Proxyable(TARGET_CLASS)).");
			}
		}
	}

	private static boolean isOnInterface(Method method, Class<?> type, Class<?> proxyType) {
		return Arrays.stream(proxyType.getInterfaces())
			.flatMap((implemented) -> Arrays.stream(implemented.getMethods()))
			.anyMatch((candidate) -> ListenerRules.declares(candidate, method, type));
	}

	/**
	 * Return why calls to a method do not pass the proxy, or {@code null} if they do.
	 * @param method the method
	 * @param type the class of the bean
	 * @return a description of the obstacle, or {@code null} if there is none
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
	 * Return why a method can never be leader work, or {@code null} if it can.
	 * @param method the method
	 * @param type the class of the bean
	 * @return a description of the method, or {@code null} if it may be leader work
	 */
	private static @Nullable String exemption(Method method, Class<?> type) {
		Class<?> declaringType = method.getDeclaringClass();
		if (isObjectMethod(method) || declaringType.isAssignableFrom(Advised.class)
				|| declaringType == DecoratingProxy.class) {
			return "is a method of Object";
		}
		if (AnnotatedElementUtils.isAnnotated(method, Bean.class)) {
			return "creates a bean that is not a Lifecycle: only the methods of that bean can be guarded";
		}
		if (isCallback(method, type)) {
			return CALLBACK;
		}
		if (hearsOfRevocation(method)) {
			return "listens for the end of leadership: it would never be called";
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
		// Listeners must also declare their event type
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
