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

import io.leaderelection.Leadership;
import io.leaderelection.NotLeaderException;
import io.leaderelection.engine.DaemonThreads;
import io.leaderelection.engine.Work;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;

import org.springframework.aop.support.AopUtils;
import org.springframework.beans.factory.BeanFactory;
import org.springframework.core.log.LogMessage;
import org.springframework.util.ReflectionUtils;

/**
 * Calls the methods that {@link LeaderOnly#runOnGrant() run on grant}, as a scheduler
 * would: on the bean, so that they are guarded and whatever else they are annotated for.
 * Each on a thread of its own, since one may take as long as it likes.
 */
final class RunsOnGrant {

	private static final Log logger = LogFactory.getLog(LeaderOnly.class);

	private final LeaderOnlyPointcut pointcut;

	private final Set<Run> runs = ConcurrentHashMap.newKeySet();

	RunsOnGrant(LeaderOnlyPointcut pointcut) {
		this.pointcut = pointcut;
	}

	/**
	 * Find out what is to be run of a bean. Beans need not exist before they are needed.
	 * @param beanName the name of the bean
	 * @param type its class
	 * @param beanFactory where it is
	 * @throws InvalidLeaderOnlyException if there is something, but not one bean to call
	 */
	void add(String beanName, Class<?> type, BeanFactory beanFactory) {
		for (Method method : this.pointcut.methodsToRunOnGrant(type)) {
			Guard guard = this.pointcut.find(method, type);
			if (guard != null) {
				if (!beanFactory.isSingleton(beanName)) {
					throw new InvalidLeaderOnlyException(
							"%s is to be run when leadership is granted (runOnGrant), but bean '%s' is no singleton: there is no one bean to run it on."
								.formatted(guard, beanName),
							"Move the method into a singleton.");
				}
				this.runs.add(new Run(beanName, method, guard, beanFactory));
			}
		}
	}

	/**
	 * Start what is to be run in a term that was granted. Does not wait, and does not
	 * throw.
	 * @param leadership the leadership
	 */
	void start(Leadership leadership) {
		for (Run run : this.runs) {
			try {
				if (run.guard().electionName().equals(leadership.getElection())) {
					DaemonThreads.create(leadership.getElection() + "-grant", () -> run.call(leadership)).start();
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

		void call(Leadership leadership) {
			try {
				Object bean = this.beanFactory.getBean(this.beanName);
				// The guard lets any term in, and the next one has a run of its own
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
				// It may be asynchronous, and not have come to the guard yet
				work.lastUntil(stage);
				stage.whenComplete((result, failure) -> {
					if (failure != null) {
						failed(failure);
					}
				});
			}
		}

		void failed(Throwable failure) {
			if (failure instanceof NotLeaderException) {
				logger.debug(LogMessage.format("%s was not run to its end on grant", this.guard), failure);
			}
			else {
				logger.warn(LogMessage.format("%s failed when it was run on grant", this.guard), failure);
			}
		}

	}

}
