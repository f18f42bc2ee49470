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
import java.util.concurrent.Future;
import java.util.regex.Pattern;

import org.aopalliance.aop.Advice;
import org.jspecify.annotations.Nullable;

import org.springframework.aop.Advisor;
import org.springframework.aop.aspectj.AbstractAspectJAdvice;
import org.springframework.aop.framework.Advised;
import org.springframework.aop.interceptor.ExposeInvocationInterceptor;
import org.springframework.aop.support.DefaultPointcutAdvisor;
import org.springframework.aop.target.SingletonTargetSource;
import org.springframework.beans.factory.BeanFactory;
import org.springframework.core.annotation.AnnotatedElementUtils;
import org.springframework.scheduling.annotation.Async;
import org.springframework.scheduling.config.TaskManagementConfigUtils;

/**
 * The order of the guard among the other advice of a proxy.
 * <p>
 * Asynchronous calls and retries are moved before the guard, whatever their order is:
 * leadership is checked on the thread that does the work, and for each attempt. Other
 * advice remains behind the guard, so that it is not applied to skipped calls. It may
 * also call the method again or on another thread, for instance an aspect of the
 * application, so leadership is checked once more directly before the method.
 */
final class AdviceOrder {

	private static final Set<String> REPEATING = Set.of("org.springframework.aop.interceptor.AsyncExecutionInterceptor",
			"org.springframework.resilience.retry.AbstractRetryInterceptor",
			"org.springframework.retry.annotation.AnnotationAwareRetryOperationsInterceptor",
			"org.springframework.retry.interceptor.RetryOperationsInterceptor",
			"org.springframework.retry.interceptor.StatefulRetryOperationsInterceptor");

	private static final Pattern REPEATING_ASPECT = Pattern.compile("io\\.github\\.resilience4j\\..+\\.RetryAspect");

	private static final String TRANSACTION = "org.springframework.transaction.interceptor.TransactionInterceptor";

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
	 * Arrange the advice of a proxy before other threads can call it, and that of proxies
	 * within it. One of them has the guard.
	 */
	void arrange(Advised proxy) {
		boolean guarded = false;
		boolean unknown = false;
		Advised last = proxy;
		for (Advised next = proxy; next != null; next = within(next)) {
			// No advice can be added to a frozen one
			last = next.isFrozen() ? last : next;
			int place = next.indexOf(this.guard);
			if (place >= 0) {
				moveRepeating(next, place);
				guarded = true;
			}
			unknown = unknown || (guarded
					&& Arrays.stream(next.getAdvisors()).skip(next.indexOf(this.guard) + 1).anyMatch(this::isUnknown));
		}
		// Not again, since it may be in use
		if (unknown && last.indexOf(this.innermost) != last.getAdvisorCount() - 1) {
			move(last, this.innermost, last.getAdvisorCount());
		}
	}

	private static @Nullable Advised within(Advised proxy) {
		return (proxy.getTargetSource() instanceof SingletonTargetSource source
				&& source.getTarget() instanceof Advised target) ? target : null;
	}

	private void moveRepeating(Advised proxy, int guard) {
		int place = guard;
		Advisor[] advisors = proxy.getAdvisors();
		// Not out of a transaction
		for (int i = place + 1; i < advisors.length && !isTransaction(advisors[i]); i++) {
			if (isRepeating(advisors[i])) {
				if (proxy.indexOf(ExposeInvocationInterceptor.ADVISOR) > place) {
					// An aspect may need it
					place = move(proxy, ExposeInvocationInterceptor.ADVISOR, place);
				}
				place = move(proxy, advisors[i], place);
			}
		}
	}

	private static int move(Advised proxy, Advisor advisor, int place) {
		proxy.removeAdvisor(advisor);
		proxy.addAdvisor(Math.min(place, proxy.getAdvisorCount()), advisor);
		return place + 1;
	}

	private boolean isUnknown(Advisor advisor) {
		return advisor != this.innermost && !isTransaction(advisor);
	}

	private static boolean isTransaction(Advisor advisor) {
		// A subclass may also call the method elsewhere
		return advisor.getAdvice().getClass().getName().equals(TRANSACTION);
	}

	private static boolean isRepeating(Advisor advisor) {
		Advice advice = advisor.getAdvice();
		return ReactiveTypes.isA(advice.getClass(), REPEATING) || (advice instanceof AbstractAspectJAdvice aspect
				&& REPEATING_ASPECT.matcher(aspect.getAspectJAdviceMethod().getDeclaringClass().getName()).matches());
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
			// Others of an annotated class are not asynchronous
			if ((method.getReturnType() == void.class || Future.class.isAssignableFrom(method.getReturnType()))
					&& (AnnotatedElementUtils.hasAnnotation(method, Async.class)
							|| AnnotatedElementUtils.hasAnnotation(type, Async.class))) {
				throw new InvalidUsageException(
						"%s is guarded by @LeaderOnly and is @Async with @EnableAsync(mode = ASPECTJ): leadership would be checked on the thread of its caller."
							.formatted(Guard.describe(method, type)),
						"Use @EnableAsync(mode = PROXY), or call an @Async method from another bean that calls this one.");
			}
		}
	}

}
