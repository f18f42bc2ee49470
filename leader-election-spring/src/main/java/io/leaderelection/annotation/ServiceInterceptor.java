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

import java.util.concurrent.CompletionException;

import io.leaderelection.lifecycle.LeaderService;
import org.aopalliance.intercept.MethodInterceptor;
import org.aopalliance.intercept.MethodInvocation;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;

import org.springframework.aop.Advisor;
import org.springframework.aop.support.DefaultPointcutAdvisor;
import org.springframework.aop.support.NameMatchMethodPointcut;

/**
 * Prevents the container and other callers from starting a service while this node does
 * not lead. A stop request is executed in order with the starts and stops by leadership.
 * The container stops a service after the election, and therefore after leadership has
 * stopped it.
 */
final class ServiceInterceptor implements MethodInterceptor {

	private static final Log logger = LogFactory.getLog(ServiceInterceptor.class);

	/** The phase before that of the election, which is the last one. */
	private static final int LAST_PHASE = Integer.MAX_VALUE - 1;

	private final LeaderService service;

	ServiceInterceptor(LeaderService service) {
		this.service = service;
	}

	/**
	 * Return advice for the methods of a service that leadership decides on.
	 */
	static Advisor advisor(LeaderService service, String... methods) {
		NameMatchMethodPointcut pointcut = new NameMatchMethodPointcut();
		pointcut.setMappedNames(methods);
		return new DefaultPointcutAdvisor(pointcut, new ServiceInterceptor(service));
	}

	/**
	 * Return the service that leadership starts and stops.
	 */
	LeaderService service() {
		return this.service;
	}

	@Override
	public @Nullable Object invoke(MethodInvocation invocation) throws Throwable {
		String name = invocation.getMethod().getName();
		@Nullable Object[] arguments = invocation.getArguments();
		if (arguments.length == 1 && arguments[0] instanceof Runnable callback && name.equals("stop")) {
			stop(callback);
			return null;
		}
		return (arguments.length > 0) ? invocation.proceed() : switch (name) {
			case "isAutoStartup" -> false;
			case "getPhase" -> (invocation.proceed() instanceof Integer phase) ? Math.min(phase, LAST_PHASE) : null;
			case "start" -> {
				this.service.start();
				yield null;
			}
			case "stop" -> {
				this.service.stopAndWait();
				yield null;
			}
			case "destroy" -> {
				this.service.remove();
				this.service.stopAndWait();
				yield invocation.proceed();
			}
			default -> invocation.proceed();
		};
	}

	private void stop(Runnable callback) {
		this.service.stop().whenComplete((stopped, failure) -> {
			if (failure != null) {
				logger.warn("Service " + this.service + " has failed to stop",
						(failure instanceof CompletionException) ? failure.getCause() : failure);
			}
			callback.run();
		});
	}

}
