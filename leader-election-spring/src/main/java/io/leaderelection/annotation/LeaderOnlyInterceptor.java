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

import java.util.concurrent.CompletionStage;

import io.leaderelection.annotation.WorkAdvisor.Advice;
import io.leaderelection.engine.Work;
import org.aopalliance.intercept.MethodInterceptor;
import org.aopalliance.intercept.MethodInvocation;
import org.jspecify.annotations.Nullable;

/**
 * Runs a call as leader work, or applies the policy of the annotation. If the method is
 * advised, the advice goes around the call.
 */
final class LeaderOnlyInterceptor implements MethodInterceptor {

	private final LeaderOnlyPointcut pointcut;

	private final boolean innermost;

	/**
	 * Create a new {@code LeaderOnlyInterceptor} instance.
	 * @param pointcut provides the guards
	 * @param innermost whether calls have mostly passed another interceptor before
	 */
	LeaderOnlyInterceptor(LeaderOnlyPointcut pointcut, boolean innermost) {
		this.pointcut = pointcut;
		this.innermost = innermost;
	}

	@Override
	public @Nullable Object invoke(MethodInvocation invocation) throws Throwable {
		Object target = invocation.getThis();
		Class<?> type = (target != null) ? target.getClass() : invocation.getMethod().getDeclaringClass();
		Guard guard = this.pointcut.find(invocation.getMethod(), type);
		if (guard == null) {
			throw new IllegalStateException("No guard for " + invocation.getMethod());
		}
		ReactiveResult reactive = guard.reactiveResult();
		if (this.innermost && (reactive != null || guard.isWorking())) {
			return invocation.proceed();
		}
		if (reactive != null) {
			return ReactiveWork.of(guard, reactive, invocation);
		}
		Work work = guard.enter(null);
		if (work == null) {
			if (this.innermost && guard.advised() != null) {
				// Otherwise the advice would record that the method has run
				throw guard.rejection();
			}
			return guard.refuse();
		}
		try {
			if (this.innermost && guard.advised() != null) {
				throw guard.moved();
			}
			Advice advice = this.innermost ? null : guard.advice();
			Object result = (advice != null)
					? advice.call(work, () -> proceed(invocation, guard, work), guard::skipOnLeader)
					: proceed(invocation, guard, work);
			guard.checkResult(result);
			if (advice == null && result instanceof CompletionStage<?> stage) {
				work.continueUntil(stage);
			}
			return result;
		}
		catch (Throwable ex) {
			work.failed(ex);
			throw ex;
		}
		finally {
			work.close();
		}
	}

	/**
	 * Call the method, unless another call excludes it. Observed from here on: a call
	 * that the advice skips does no work.
	 */
	private @Nullable Object proceed(MethodInvocation invocation, Guard guard, Work work) throws Throwable {
		Object target = invocation.getThis();
		// The innermost call is part of one that has begun
		boolean begun = guard.begin(work, (this.innermost || target == null) ? work : target, (key) -> null);
		return begun ? invocation.proceed() : guard.skipOnLeader();
	}

}
