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
import java.util.Map;
import java.util.concurrent.CancellationException;
import java.util.function.Consumer;

import io.leaderelection.annotation.WorkAdvisor.Advice;
import io.leaderelection.annotation.WorkAdvisor.Advice.Run;
import io.leaderelection.engine.Work;
import org.aopalliance.intercept.MethodInvocation;
import org.jspecify.annotations.Nullable;
import org.reactivestreams.Publisher;
import org.reactivestreams.Subscriber;
import reactor.core.CoreSubscriber;
import reactor.core.Exceptions;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.core.publisher.Operators;
import reactor.core.scheduler.Schedulers;
import reactor.util.context.Context;
import reactor.util.context.ContextView;

import org.springframework.aop.ProxyMethodInvocation;
import org.springframework.core.CoroutinesUtils;
import org.springframework.core.ReactiveAdapter;
import org.springframework.util.Assert;
import org.springframework.util.ClassUtils;
import org.springframework.util.ReflectionUtils;

/**
 * Leader work of a method that returns a reactive type. Each subscription calls the
 * method; it is checked, tracked until its end and cancelled separately. Loaded only if
 * Reactor is present.
 */
final class ReactiveWork {

	private final Guard guard;

	private final ReactiveResult type;

	private final MethodInvocation invocation;

	private ReactiveWork(Guard guard, ReactiveResult type, MethodInvocation invocation) {
		this.guard = guard;
		this.type = type;
		this.invocation = invocation;
	}

	/**
	 * Return the publisher for the caller, as the type that it expects.
	 * @param guard the guard of the method
	 * @param type the type
	 * @param invocation the call, to be made on subscription
	 * @return the result of the call
	 */
	static Object of(Guard guard, ReactiveResult type, MethodInvocation invocation) {
		ReactiveWork work = new ReactiveWork(guard, type, invocation);
		Publisher<?> publisher = type.multiValue() ? Flux.from(work.new GuardedFlux())
				: Mono.from(work.new GuardedMono());
		ReactiveAdapter adapter = type.adapter();
		return (adapter != null) ? adapter.fromPublisher(publisher) : publisher;
	}

	/**
	 * Call a method without arguments of a bean, and subscribe to its result.
	 * @param type the type of the result
	 * @param bean the bean
	 * @param method the method
	 * @param context the work that this call is part of, by the key under which it is
	 * found
	 * @param failed called with a failure
	 * @throws Throwable the failure of the call
	 */
	static void subscribe(ReactiveResult type, Object bean, Method method, Map<?, ?> context,
			Consumer<Throwable> failed) throws Throwable {
		Publisher<?> publisher = (type.adapter() != null) ? type.toPublisher(RunOnGrantInvoker.invoke(bean, method))
				: invokeSuspending(bean, method);
		Flux.from(publisher).contextWrite(Context.of(context)).subscribe((element) -> {
		}, failed);
	}

	private static Publisher<?> invokeSuspending(Object bean, Method method) {
		// By reflection, since a direct call would require Kotlin at compile time
		Method invoker = ClassUtils.getMethod(CoroutinesUtils.class, "invokeSuspendingFunction", Method.class,
				Object.class, Object[].class);
		Object publisher = ReflectionUtils.invokeMethod(invoker, null, method, bean, new @Nullable Object[1]);
		Assert.state(publisher != null, "No publisher of a suspend function");
		return (Publisher<?>) publisher;
	}

	private @Nullable Work enter(CoreSubscriber<?> subscriber) {
		try {
			Object gate = this.guard.gate();
			Work work = this.guard.enter(subscriber.currentContext().getOrDefault(gate, null));
			if (work != null) {
				return work;
			}
			if (this.guard.isRejecting()) {
				Operators.error(subscriber, this.guard.rejection());
			}
			else {
				Operators.complete(subscriber);
			}
		}
		catch (Throwable ex) {
			Exceptions.throwIfFatal(ex);
			Operators.error(subscriber, ex);
		}
		return null;
	}

	private void subscribe(CoreSubscriber<? super Object> subscriber) {
		Work work = enter(subscriber);
		if (work == null) {
			return;
		}
		try (work) {
			Advice advice = this.guard.advice();
			if (advice == null && !begin(work, subscriber.currentContext())) {
				this.guard.skipOnLeader();
				Operators.complete(subscriber);
				return;
			}
			WorkSubscriber inner = new WorkSubscriber(subscriber, work, !this.type.multiValue(), this.guard.gate());
			work.continueUntilEnd(() -> inner.fail(this.guard.cancellation(work)));
			((advice != null) ? call(advice, work, inner.currentContext()) : call()).subscribe(inner);
		}
		catch (Throwable ex) {
			work.failed(ex);
			work.end();
			throw ex;
		}
	}

	private boolean begin(Work work, ContextView context) {
		Object target = this.invocation.getThis();
		return this.guard.begin(work, (target != null) ? target : work, (key) -> context.getOrDefault(key, null));
	}

	/**
	 * Call the method. The invocation is cloned, since it can proceed only once.
	 */
	private Publisher<Object> call() {
		try {
			MethodInvocation call = (this.invocation instanceof ProxyMethodInvocation repeatable)
					? repeatable.invocableClone() : this.invocation;
			return this.type.toPublisher(call.proceed());
		}
		catch (Throwable ex) {
			Exceptions.throwIfFatal(ex);
			return Mono.error(ex);
		}
	}

	/**
	 * Call the method, unless the advice skips the call. The begin and the end of the run
	 * may block; the latter, which may follow on any thread, does so on a thread for
	 * blocking calls.
	 */
	private Publisher<Object> call(Advice advice, Work work, ContextView context) {
		Run run;
		try {
			run = advice.begin(work.getLeadership());
		}
		catch (Throwable ex) {
			Exceptions.throwIfFatal(ex);
			return Mono.error(ex);
		}
		if (run == null) {
			this.guard.skipOnLeader();
			return Mono.empty();
		}
		begin(work, context);
		Publisher<Object> source = (subscriber) -> subscribe(run, subscriber);
		ContextView contextOfRun = Context.of(run.context()).putAllMap(work.context());
		return this.type.multiValue()
				? Flux
					.usingWhen(Mono.just(run), (begun) -> source, (begun) -> end(begun, null), ReactiveWork::end,
							(begun) -> end(begun, new CancellationException()))
					.contextWrite(contextOfRun)
				: Mono
					.usingWhen(Mono.just(run), (begun) -> Mono.fromDirect(source), (begun) -> end(begun, null),
							ReactiveWork::end, (begun) -> end(begun, new CancellationException()))
					.contextWrite(contextOfRun);
	}

	private void subscribe(Run run, Subscriber<? super Object> subscriber) {
		try {
			run.invoke(() -> {
				call().subscribe(subscriber);
				return null;
			});
		}
		catch (Throwable ex) {
			Exceptions.throwIfFatal(ex);
			throw Exceptions.propagate(ex);
		}
	}

	private static Publisher<Void> end(Run run, @Nullable Throwable failure) {
		return Mono.<Void>fromCallable(() -> {
			try {
				run.end(failure);
				return null;
			}
			catch (Exception | Error ex) {
				throw ex;
			}
			catch (Throwable ex) {
				throw Exceptions.propagate(ex);
			}
		}).subscribeOn(Schedulers.boundedElastic());
	}

	private final class GuardedMono extends Mono<Object> {

		@Override
		public void subscribe(CoreSubscriber<? super Object> subscriber) {
			ReactiveWork.this.subscribe(subscriber);
		}

	}

	private final class GuardedFlux extends Flux<Object> {

		@Override
		public void subscribe(CoreSubscriber<? super Object> subscriber) {
			ReactiveWork.this.subscribe(subscriber);
		}

	}

}
