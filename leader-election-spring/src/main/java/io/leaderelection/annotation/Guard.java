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
import java.util.Arrays;
import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Supplier;
import java.util.stream.Collectors;

import io.leaderelection.NotLeaderException;
import io.leaderelection.annotation.LeaderOnly.NotLeaderPolicy;
import io.leaderelection.annotation.WorkAdvisor.Advice;
import io.leaderelection.engine.InvocationCounts;
import io.leaderelection.engine.Work;
import io.leaderelection.engine.WorkGate;
import io.leaderelection.engine.WorkObserver;
import io.leaderelection.lifecycle.ListenerContainer;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;

import org.springframework.beans.factory.ObjectProvider;
import org.springframework.core.GenericTypeResolver;
import org.springframework.core.log.LogMessage;
import org.springframework.util.ClassUtils;

/**
 * The effect of {@link LeaderOnly @LeaderOnly} on one method of one class, determined
 * once.
 */
final class Guard {

	private static final Log logger = LogFactory.getLog(LeaderOnly.class);

	private final String method;

	private final String label;

	private final Class<?> owner;

	private final String methodName;

	private final String electionExpression;

	private final boolean reject;

	private final boolean listener;

	private final AtomicBoolean reported = new AtomicBoolean();

	private final Class<?> resultType;

	private final @Nullable Object emptyResult;

	private final @Nullable ReactiveResult reactiveResult;

	private final GuardedElection.Resolver elections;

	private final @Nullable AdvisedAnnotation advised;

	private final @Nullable Supplier<Advice> adviceSupplier;

	/**
	 * The work that calls the method of each object, if calls exclude each other: not
	 * those whose callers wait for an outcome.
	 */
	private final @Nullable Map<Object, Work> running;

	/** The containers that call the method for messages. */
	private final List<ListenerContainer> containers;

	private @Nullable GuardedElection election;

	private @Nullable Advice advice;

	Guard(Method method, Class<?> type, LeaderOnly annotation, GuardedElection.Resolver elections,
			ObjectProvider<WorkAdvisor> advisors, List<ListenerContainer> containers) {
		this.method = describe(method, type);
		this.owner = owner(method, type);
		this.methodName = method.getName();
		this.label = ClassUtils.getShortName(this.owner) + "." + this.methodName;
		this.electionExpression = annotation.election();
		this.listener = ListenerRules.callerOf(method, type).isContainer();
		this.reject = annotation.policy() == NotLeaderPolicy.REJECT || this.listener;
		this.running = (annotation.runOnGrant() && !this.reject) ? Collections.synchronizedMap(new IdentityHashMap<>())
				: null;
		this.containers = containers;
		this.resultType = GenericTypeResolver.resolveReturnType(method, type);
		this.emptyResult = emptyResult(this.resultType);
		this.reactiveResult = ReactiveResult.of(method, this.resultType);
		this.elections = elections;
		AdvisedAnnotation found = AdvisedAnnotation.of(method);
		this.advised = found;
		this.adviceSupplier = (found != null)
				? () -> found.advisor(advisors, this.method).advise(method, type, this.method) : null;
	}

	/**
	 * Return the annotation that the advice is for, if there is advice.
	 */
	@Nullable AdvisedAnnotation advised() {
		return this.advised;
	}

	/**
	 * Return the advice around the method, if there is advice.
	 */
	@Nullable Advice advice() {
		if (this.adviceSupplier == null) {
			return null;
		}
		// A race is harmless: all threads find the same advice
		Advice advice = this.advice;
		if (advice == null) {
			advice = this.adviceSupplier.get();
			this.advice = advice;
		}
		return advice;
	}

	/**
	 * Return the reactive type that the method returns.
	 * @return the type, or {@code null} if the method does its work when it is called
	 */
	@Nullable ReactiveResult reactiveResult() {
		return this.reactiveResult;
	}

	String electionName() {
		return election().name();
	}

	WorkGate gate() {
		return election().gate();
	}

	/**
	 * Return whether the current thread does work of a term that is still trusted.
	 */
	boolean isWorking() {
		Work work = gate().current();
		return work != null && work.getLeadership().isCurrent();
	}

	/**
	 * Start work on the current thread, if this node leads.
	 * @param origin the work on another thread that caused this call, or {@code null}
	 * @return the work, to be closed when it has ended, or {@code null} if it may not run
	 */
	@Nullable Work enter(@Nullable Work origin) {
		GuardedElection asked = election();
		Work work = asked.gate().enter(this, (origin != null) ? origin : workOfContainer());
		if (work == null) {
			if (this.listener && this.containers.isEmpty() && this.reported.compareAndSet(false, true)) {
				logger.warn(this + " has been called although this node does not lead, and leadership does not know the"
						+ " container that calls it: messages may be lost. Its endpoint must be registered with the"
						+ " registry that the registrar of the listeners has");
			}
			this.containers.forEach(ListenerContainer::awaitStopping);
			asked.invocations().refused(isRejecting());
		}
		return work;
	}

	private @Nullable Work workOfContainer() {
		for (ListenerContainer container : this.containers) {
			Work work = container.work();
			if (work != null) {
				return work;
			}
		}
		return null;
	}

	/**
	 * Begin the call of the method by some work, which is counted and observed from here
	 * on.
	 * @param target the object of the call
	 * @return whether to call the method: not if it {@linkplain LeaderOnly#runOnGrant()
	 * runs on grant}, and another call of it runs in the same term
	 */
	boolean begin(Work work, Object target, WorkObserver.Context context) {
		InvocationCounts invocations = election().invocations();
		Map<Object, Work> running = this.running;
		if (running == null) {
			work.endWith(invocations);
		}
		else if (running.merge(target, work, Guard::first) == work) {
			work.endWith((interrupted) -> {
				running.remove(target, work);
				invocations.ended(interrupted);
			});
		}
		else {
			logger.debug(LogMessage.format("%s is skipped, since another call of it runs in this term", this));
			return false;
		}
		work.instrument(this.owner, this.methodName, context);
		return true;
	}

	private static Work first(Work running, Work work) {
		return (running.getLeadership() == work.getLeadership() && !running.hasEnded()) ? running : work;
	}

	/**
	 * Return the result of a call that is skipped although this node leads.
	 */
	@Nullable Object skipOnLeader() {
		election().invocations().refused(false);
		return skip();
	}

	/**
	 * Return the class and the name of the method, under which its calls are counted.
	 */
	String label() {
		return this.label;
	}

	/**
	 * Return the result of a call that may not run, or throw its exception.
	 * @return the result of the call
	 */
	@Nullable Object refuse() {
		if (!isRejecting()) {
			return skip();
		}
		NotLeaderException failure = rejection();
		if (isFuture(this.resultType)) {
			return CompletableFuture.failedFuture(failure);
		}
		throw failure;
	}

	/**
	 * Return the result of a call that is skipped.
	 */
	@Nullable Object skip() {
		return isFuture(this.resultType) ? CompletableFuture.completedFuture(null) : this.emptyResult;
	}

	boolean isRejecting() {
		return this.reject || !this.containers.isEmpty();
	}

	/**
	 * Return the exception for a call that is rejected.
	 */
	NotLeaderException rejection() {
		String election = election().name();
		return new NotLeaderException(election, this.method + " runs only on the leader of election '" + election
				+ "', and this node is not the leader");
	}

	/**
	 * Return the exception for a call of an advised method on another thread than that of
	 * its advice, which would take the run for completed as soon as its own call returns.
	 */
	InvalidUsageException moved() {
		return new InvalidUsageException(
				"%s is called by other advice on another thread than that of its run, for which %s has no claim."
					.formatted(this.method, this.advised),
				"Remove the other advice from the method, and call a method of another bean that has it.");
	}

	/**
	 * Return the exception for a subscriber whose work is cancelled.
	 */
	NotLeaderException cancellation(Work work) {
		return new NotLeaderException(work.getLeadership().getElection(),
				this.method + " has been cancelled, since the " + work.getLeadership() + " has ended");
	}

	/**
	 * Reject a publisher that is returned as {@link Object}: the work that it does on
	 * subscription would not be guarded.
	 * @param result the result of the method
	 */
	void checkResult(@Nullable Object result) {
		if (result != null && this.resultType == Object.class && ReactiveTypes.isReactive(result.getClass())) {
			throw new InvalidUsageException(
					"%s is guarded by @LeaderOnly and returned a %s, whose work runs after the method has returned."
						.formatted(this.method, result.getClass().getName()),
					"Declare the type in the signature of the method, or return a CompletionStage.");
		}
	}

	/**
	 * Fail unless the election exists.
	 */
	void checkElection() {
		election();
	}

	private GuardedElection election() {
		// A race is harmless: all threads compute the same value
		GuardedElection election = this.election;
		if (election == null) {
			election = this.elections.resolve(this.electionExpression, this.method, this.label);
			this.election = election;
		}
		return election;
	}

	@Override
	public String toString() {
		return this.method;
	}

	static boolean isFuture(Class<?> resultType) {
		return Future.class.isAssignableFrom(resultType) || CompletionStage.class.isAssignableFrom(resultType);
	}

	private static Class<?> owner(Method method, Class<?> type) {
		return (type.isSynthetic() || Proxy.isProxyClass(type)) ? method.getDeclaringClass() : type;
	}

	static String describe(Method method, Class<?> type) {
		return Arrays.stream(method.getParameterTypes())
			.map(Class::getSimpleName)
			.collect(Collectors.joining(", ", "Method '" + owner(method, type).getName() + "." + method.getName() + "(",
					")'"));
	}

	private static @Nullable Object emptyResult(Class<?> resultType) {
		if (resultType == Optional.class) {
			return Optional.empty();
		}
		if (resultType == OptionalInt.class) {
			return OptionalInt.empty();
		}
		if (resultType == OptionalLong.class) {
			return OptionalLong.empty();
		}
		return (resultType == OptionalDouble.class) ? OptionalDouble.empty() : null;
	}

}
