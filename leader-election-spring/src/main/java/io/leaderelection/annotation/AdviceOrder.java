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
import java.util.Arrays;
import java.util.Set;
import java.util.regex.Pattern;

import org.aopalliance.aop.Advice;
import org.jspecify.annotations.Nullable;

import org.springframework.aop.Advisor;
import org.springframework.aop.aspectj.AbstractAspectJAdvice;
import org.springframework.aop.framework.Advised;
import org.springframework.aop.support.DefaultPointcutAdvisor;
import org.springframework.aop.target.SingletonTargetSource;
import org.springframework.beans.factory.BeanFactory;
import org.springframework.core.annotation.AnnotatedElementUtils;
import org.springframework.scheduling.annotation.Async;
import org.springframework.scheduling.config.TaskManagementConfigUtils;

/**
 * The order of the guard among the other advice of a proxy.
 * <p>
 * Advice that calls a method again, or on another thread, is applied before the guard,
 * whatever its order is: leadership is checked on the thread that does the work, and for
 * each attempt. Advice that is not known here may do the same, for instance an aspect of
 * the application. If there is such advice behind the guard, leadership is checked once
 * more directly before the method.
 */
final class AdviceOrder {

	private static final Set<String> REPEATING = Set.of("org.springframework.aop.interceptor.AsyncExecutionInterceptor",
			"org.springframework.resilience.retry.AbstractRetryInterceptor",
			"org.springframework.retry.annotation.AnnotationAwareRetryOperationsInterceptor",
			"org.springframework.retry.interceptor.RetryOperationsInterceptor",
			"org.springframework.retry.interceptor.StatefulRetryOperationsInterceptor");

	private static final Pattern REPEATING_ASPECT = Pattern
		.compile("io\\.github\\.resilience4j\\..+\\.(Retry|Bulkhead)Aspect");

	private static final Set<String> TRANSACTION = Set
		.of("org.springframework.transaction.interceptor.TransactionInterceptor");

	private final Advisor guard;

	private final Advisor innermost;

	AdviceOrder(LeaderOnlyPointcut pointcut) {
		this.guard = new DefaultPointcutAdvisor(pointcut, new LeaderOnlyInterceptor(pointcut, false));
		this.innermost = new DefaultPointcutAdvisor(pointcut, new LeaderOnlyInterceptor(pointcut, true));
	}

	/**
	 * Return the guard, which is added to proxies before their other advice.
	 */
	Advisor guard() {
		return this.guard;
	}

	/**
	 * Arrange the advice of a proxy that has the guard. Called when its bean has been
	 * created, and again after other processors may have added advice.
	 * @throws InvalidUsageException if the proxy has another proxy as its target whose
	 * advice cannot be arranged
	 */
	void arrange(Advised proxy, String beanName) {
		int present = proxy.indexOf(this.guard);
		Advised target = (proxy.getTargetSource() instanceof SingletonTargetSource source
				&& source.getTarget() instanceof Advised inner) ? inner : null;
		if (present < 0) {
			if (target != null) {
				arrange(target, beanName);
			}
			return;
		}
		if (target != null
				&& Arrays.stream(target.getAdvisors()).anyMatch((advisor) -> isRepeating(advisor.getAdvice()))) {
			throw new InvalidUsageException(
					"Bean '%s' has methods that are guarded by @LeaderOnly, but has a proxy of its own, which calls them again or on another thread, and whose advice cannot be changed."
						.formatted(beanName),
					"Do not freeze that proxy.");
		}
		place(proxy, present);
	}

	private void place(Advised proxy, int present) {
		Advisor[] advisors = proxy.getAdvisors();
		int place = present;
		// Not inside a transaction
		for (int i = present + 1; i < advisors.length && !isA(advisors[i].getAdvice(), TRANSACTION); i++) {
			place = isRepeating(advisors[i].getAdvice()) ? i : place;
		}
		if (place > present) {
			// First, since other threads may call the proxy
			proxy.addAdvisor(place + 1, this.guard);
			proxy.removeAdvisor(present);
		}
		if (Arrays.stream(proxy.getAdvisors()).skip(place + 1).anyMatch(this::isUnknown)
				&& proxy.indexOf(this.innermost) < proxy.getAdvisorCount() - 1) {
			int outdated = proxy.indexOf(this.innermost);
			proxy.addAdvisor(this.innermost);
			if (outdated >= 0) {
				proxy.removeAdvisor(outdated);
			}
		}
	}

	private boolean isUnknown(Advisor advisor) {
		return advisor != this.innermost && !isA(advisor.getAdvice(), TRANSACTION);
	}

	private static boolean isRepeating(Advice advice) {
		return isA(advice, REPEATING) || (advice instanceof AbstractAspectJAdvice aspect
				&& REPEATING_ASPECT.matcher(aspect.getAspectJAdviceMethod().getDeclaringClass().getName()).matches());
	}

	/**
	 * By name, since most of the types may be missing.
	 */
	private static boolean isA(Advice advice, Set<String> names) {
		Class<?> type = advice.getClass();
		while (type != null && !names.contains(type.getName())) {
			type = type.getSuperclass();
		}
		return type != null;
	}

	/**
	 * Reject asynchronous methods that are woven into their class: no proxy could check
	 * leadership on the thread that does the work.
	 */
	static void checkNotWoven(Set<Method> guarded, Class<?> type, @Nullable BeanFactory beanFactory) {
		if (beanFactory == null
				|| !beanFactory.containsBean(TaskManagementConfigUtils.ASYNC_EXECUTION_ASPECT_BEAN_NAME)) {
			return;
		}
		for (Method method : guarded) {
			if (AnnotatedElementUtils.hasAnnotation(method, Async.class)
					|| AnnotatedElementUtils.hasAnnotation(type, Async.class)) {
				throw new InvalidUsageException(
						"%s is guarded by @LeaderOnly and is @Async with @EnableAsync(mode = ASPECTJ): leadership would be checked on the thread of its caller."
							.formatted(Guard.describe(method, type)),
						"Use @EnableAsync(mode = PROXY), or call an @Async method from another bean that calls this one.");
			}
		}
	}

}
