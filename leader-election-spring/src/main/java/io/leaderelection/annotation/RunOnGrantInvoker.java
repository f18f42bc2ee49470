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

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;

import io.leaderelection.Leadership;
import io.leaderelection.NotLeaderException;
import io.leaderelection.annotation.WorkAdvisor.Advice;
import io.leaderelection.engine.DefaultLeaderElectors;
import io.leaderelection.engine.Platform;
import io.leaderelection.engine.Work;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;

import org.springframework.aop.support.AopUtils;
import org.springframework.beans.factory.BeanFactory;
import org.springframework.beans.factory.ListableBeanFactory;
import org.springframework.core.log.LogMessage;
import org.springframework.util.ReflectionUtils;

/**
 * Calls the methods that {@link LeaderOnly#runOnGrant() run on grant} as a scheduler
 * would: on the bean, so that the guard and all other advice apply. Each method runs on a
 * separate thread, since its duration is not limited. The advice of a method decides
 * itself when and where the method runs.
 */
final class RunOnGrantInvoker {

	private static final Log logger = LogFactory.getLog(LeaderOnly.class);

	private final LeaderOnlyPointcut pointcut;

	private final Set<Run> runs = ConcurrentHashMap.newKeySet();

	RunOnGrantInvoker(LeaderOnlyPointcut pointcut) {
		this.pointcut = pointcut;
	}

	/**
	 * Fail if methods of a bean run on grant that have not been found at start: its class
	 * was not known, since it had not been created, and is declared by an interface.
	 */
	void checkFound(String beanName, Class<?> type) {
		for (Method method : this.pointcut.methodsToRunOnGrant(type)) {
			if (this.runs.stream().noneMatch((run) -> run.isOf(beanName, method))) {
				throw new InvalidUsageException(
						"%s runs when leadership is granted, but the class of bean '%s' was not known at start, when such methods are searched for."
							.formatted(Guard.describe(method, type), beanName),
						"Declare the bean by its class instead of an interface, or do not make it lazy.");
			}
		}
	}

	/**
	 * Add the methods of a bean that run on grant. The bean need not exist yet.
	 * @param beanName the name of the bean
	 * @param type its class
	 * @param beanFactory the factory of the bean
	 * @throws InvalidUsageException if there are such methods, but the bean is not a
	 * singleton, or is in a context without elections
	 */
	void add(String beanName, Class<?> type, ListableBeanFactory beanFactory) {
		for (Method method : this.pointcut.methodsToRunOnGrant(type)) {
			Guard guard = this.pointcut.find(method, type);
			if (guard != null) {
				if (!beanFactory.isSingleton(beanName)) {
					throw new InvalidUsageException(
							"%s runs when leadership is granted (%s), but bean '%s' is not a singleton: there is no single instance to call."
								.formatted(guard, (guard.advised() != null) ? guard.advised() : "runOnGrant", beanName),
							"Move the method to a singleton.");
				}
				if (beanFactory.getBeanNamesForType(DefaultLeaderElectors.class, true, false).length == 0) {
					throw new InvalidUsageException(
							"%s runs when leadership is granted, but bean '%s' is in a context that has the elections of its parent: only beans of the parent are called then."
								.formatted(guard, beanName),
							"Move the method to a bean of the parent, or add @EnableAutoConfiguration to the child.");
				}
				this.runs.add(new Run(beanName, method, guard, beanFactory));
				Advice advice = guard.advice();
				if (advice != null) {
					advice.register(guard.electionName());
				}
			}
		}
	}

	/**
	 * Begin the term of the advised methods. Neither waits nor throws.
	 * @param leadership the leadership that was granted
	 */
	void granted(Leadership leadership) {
		forEach(leadership, (run) -> {
			Advice advice = run.guard().advice();
			if (advice != null) {
				advice.granted(leadership, () -> run.call(leadership));
			}
		});
	}

	/**
	 * Start the methods that run in a term that was granted. Neither waits nor throws.
	 * @param leadership the leadership
	 */
	void start(Leadership leadership) {
		forEach(leadership, (run) -> {
			Advice advice = run.guard().advice();
			if (advice != null) {
				advice.runOnGrant();
			}
			else {
				Platform.SYSTEM.newThread(leadership.getElection() + "-grant", () -> run.call(leadership)).start();
			}
		});
	}

	private void forEach(Leadership leadership, Consumer<Run> action) {
		for (Run run : this.runs) {
			try {
				if (run.guard().electionName().equals(leadership.getElection())) {
					action.accept(run);
				}
			}
			catch (Throwable ex) {
				run.failed(ex);
			}
		}
	}

	static @Nullable Object invoke(Object bean, Method method) throws Throwable {
		Method invocable = AopUtils.selectInvocableMethod(method, bean.getClass());
		ReflectionUtils.makeAccessible(invocable);
		try {
			return invocable.invoke(bean);
		}
		catch (InvocationTargetException ex) {
			throw ex.getTargetException();
		}
	}

	/**
	 * A method to be run on a bean.
	 */
	private record Run(String beanName, Method method, Guard guard, BeanFactory beanFactory) {

		boolean isOf(String name, Method other) {
			return this.beanName.equals(name) && this.method.equals(other);
		}

		void call(Leadership leadership) {
			try {
				Object bean = this.beanFactory.getBean(this.beanName);
				// The guard admits any term, and the next term has its own run
				try (Work work = this.guard.gate().enter(this.guard)) {
					if (work != null && work.getLeadership() == leadership) {
						call(bean, work);
						return;
					}
				}
				logger.debug(
						LogMessage.format("%s does not run on grant, since the %s has ended", this.guard, leadership));
			}
			catch (Throwable ex) {
				failed(ex);
			}
		}

		private void call(Object bean, Work work) throws Throwable {
			ReactiveResult reactive = this.guard.reactiveResult();
			if (reactive != null) {
				ReactiveWork.subscribe(reactive, bean, this.method, Map.of(this.guard.gate(), work), this::failed);
			}
			else if (invoke(bean, this.method) instanceof CompletionStage<?> stage) {
				// The call may be asynchronous and may not have reached the guard yet
				work.continueUntil(stage);
				stage.whenComplete((result, failure) -> {
					if (failure != null) {
						failed(failure);
					}
				});
			}
		}

		void failed(Throwable failure) {
			if (failure instanceof NotLeaderException) {
				logger.debug(LogMessage.format("%s did not complete its run", this.guard), failure);
			}
			else {
				AdvisedAnnotation advised = this.guard.advised();
				logger.warn(
						LogMessage.format("%s failed when run %s", this.guard,
								(advised != null) ? "by its " + advised.advisedBy().description() : "on grant"),
						failure);
			}
		}

	}

}
