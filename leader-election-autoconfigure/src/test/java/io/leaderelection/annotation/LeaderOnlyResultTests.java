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

import java.util.List;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Flow;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Function;

import io.leaderelection.Leadership;
import io.leaderelection.LeadershipRevokedEvent.Reason;
import io.leaderelection.NotLeaderException;
import io.leaderelection.annotation.LeaderOnly.NotLeaderPolicy;
import io.leaderelection.engine.LocalStore;
import io.leaderelection.testsupport.Daemon;
import io.reactivex.rxjava3.core.Completable;
import io.reactivex.rxjava3.core.Flowable;
import io.reactivex.rxjava3.core.Maybe;
import io.reactivex.rxjava3.core.Observable;
import io.reactivex.rxjava3.core.Single;
import io.smallrye.mutiny.Multi;
import io.smallrye.mutiny.Uni;
import net.bytebuddy.description.annotation.AnnotationDescription;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.EnumSource.Mode;
import org.reactivestreams.FlowAdapters;
import org.reactivestreams.Publisher;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.context.ApplicationContext;
import org.springframework.context.annotation.Configuration;
import org.springframework.core.ReactiveAdapter;
import org.springframework.core.ReactiveAdapterRegistry;
import org.springframework.scheduling.annotation.Async;
import org.springframework.scheduling.annotation.EnableAsync;
import org.springframework.test.util.ReflectionTestUtils;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.awaitility.Awaitility.await;

/**
 * Tests for {@link LeaderOnly @LeaderOnly} with each type of result: what is returned,
 * and when the work begins and ends.
 */
@Tag("ring1")
class LeaderOnlyResultTests {

	private final Probe probe = new Probe();

	@ParameterizedTest
	@EnumSource
	void leaderRunsItAtEachCallOrSubscription(ResultType type) {
		leader(type).run((context) -> {
			Object publisher = type.isReactive() ? run(context) : null;
			assertThat(this.probe.calls).hasValue(0);
			this.probe.finish();
			for (int i = 1; i <= 2; i++) {
				CompletableFuture<?> end = type.isReactive() ? end(publisher) : call(type, context);
				assertThat(end).succeedsWithin(10, TimeUnit.SECONDS).isEqualTo(type.expected());
				this.probe.awaitCalls(i);
			}
			assertThat(TestElections.elector(context).gate().enter("work")).isNotNull()
				.satisfies((work) -> work.close());
			assertThat(TestElections.elector(context).resign()).succeedsWithin(10, TimeUnit.SECONDS).isEqualTo(true);
		});
	}

	/**
	 * A {@link Single} cannot be empty, and the caller of an asynchronous method without
	 * a result does not learn when it would have run.
	 */
	@ParameterizedTest
	@EnumSource(mode = Mode.EXCLUDE, names = { "SINGLE", "ASYNC_VOID" })
	void followerSkipsIt(ResultType type) {
		this.probe.finish();
		contextRunner(type, NotLeaderPolicy.SKIP, false).run((context) -> {
			assertThat(call(type, context)).succeedsWithin(10, TimeUnit.SECONDS).isEqualTo(type.skipped());
			assertThat(this.probe.calls).hasValue(0);
		});
	}

	/**
	 * The caller of an asynchronous method without a result does not learn of failures.
	 */
	@ParameterizedTest
	@EnumSource(mode = Mode.EXCLUDE, names = "ASYNC_VOID")
	void followerRejectsIt(ResultType type) {
		this.probe.finish();
		contextRunner(type, NotLeaderPolicy.REJECT, false).run((context) -> {
			assertThat(call(type, context)).failsWithin(10, TimeUnit.SECONDS)
				.withThrowableThat()
				.withCauseInstanceOf(NotLeaderException.class)
				.withMessageContaining("runs only on the leader of election 'default'");
			assertThat(this.probe.calls).hasValue(0);
		});
	}

	@Test
	void annotationOfClassGuardsSubscriptions() {
		Class<?> job = new GeneratedJob().inClassWith(LeaderOnly.class)
			.returning(Mono.class)
			.doing(this.probe::mono)
			.with();
		this.probe.finish();
		TestElections.follower()
			.withBean("job", job)
			.run((context) -> assertThat(end(run(context))).succeedsWithin(10, TimeUnit.SECONDS).isEqualTo(List.of()));
		assertThat(this.probe.calls).hasValue(0);
		TestElections.leader().withBean("job", job).run((context) -> {
			Object publisher = run(context);
			assertThat(this.probe.calls).hasValue(0);
			assertThat(end(publisher)).succeedsWithin(10, TimeUnit.SECONDS).isEqualTo(List.of("done"));
		});
	}

	@ParameterizedTest
	@EnumSource
	void handOverWaitsForIt(ResultType type) {
		leader(type).run((context) -> {
			Leadership leadership = TestElections.elector(context).getLeadership();
			CompletableFuture<?> running = start(type, context);
			this.probe.awaitCalls(1);
			CompletableFuture<Boolean> handOver = TestElections.elector(context).resign();
			assertThatExceptionOfType(TimeoutException.class)
				.isThrownBy(() -> handOver.get(100, TimeUnit.MILLISECONDS));
			assertThat(leadership.isCurrent()).isTrue();
			assertThat(TestElections.elector(context).isLeader()).isFalse();
			assertThat(this.probe.cutShort).hasValue(0);
			this.probe.finish();
			assertThat(handOver).succeedsWithin(10, TimeUnit.SECONDS).isEqualTo(true);
			assertThat(leadership.isCurrent()).isFalse();
			assertThat(running).succeedsWithin(10, TimeUnit.SECONDS).isEqualTo(type.expected());
			assertThat(this.probe.cutShort).hasValue(0);
		});
	}

	@ParameterizedTest
	@EnumSource
	void lossInterruptsOrCancelsIt(ResultType type) {
		leader(type).run((context) -> {
			CompletableFuture<?> running = start(type, context);
			this.probe.awaitCalls(1);
			LocalStore.revoke(TestElections.elector(context), Reason.SESSION_LOST);
			await().untilAsserted(() -> assertThat(this.probe.cutShort).hasValue(1));
			assertThat(TestElections.elector(context).isLeader()).isFalse();
			if (type.isReactive()) {
				assertThat(running).failsWithin(10, TimeUnit.SECONDS)
					.withThrowableThat()
					.withCauseInstanceOf(NotLeaderException.class)
					.withMessageContaining("has been cancelled, since the leadership of election 'default'");
				assertThat(this.probe.cutShort).hasValue(1);
			}
		});
	}

	/**
	 * With either policy, since a leader runs its work with both.
	 */
	private ApplicationContextRunner leader(ResultType type) {
		return contextRunner(type, type.isReactive() ? NotLeaderPolicy.REJECT : NotLeaderPolicy.SKIP, true);
	}

	private ApplicationContextRunner contextRunner(ResultType type, NotLeaderPolicy policy, boolean leads) {
		AnnotationDescription.Builder leaderOnly = GeneratedJob.annotation(LeaderOnly.class).define("policy", policy);
		GeneratedJob job = new GeneratedJob().returning(type.result).doing(() -> type.work.apply(this.probe));
		Class<?> bean = (type.style == Style.ASYNC) ? job.with(leaderOnly, GeneratedJob.annotation(Async.class))
				: job.with(leaderOnly);
		return TestElections.contextRunner()
			.withUserConfiguration(AsyncMethods.class)
			.withBean(LocalStore.class, () -> LocalStore.manual(leads))
			.withBean("job", bean);
	}

	private static CompletableFuture<?> start(ResultType type, ApplicationContext context) {
		return CompletableFuture.supplyAsync(() -> call(type, context), (call) -> Daemon.start(type.name(), call))
			.thenCompose((end) -> end);
	}

	/**
	 * Call the method and, if it returns a publisher, subscribe to it. Only a method that
	 * does its work during the call may throw the exception of a follower.
	 */
	private static CompletableFuture<?> call(ResultType type, ApplicationContext context) {
		try {
			return end(run(context));
		}
		catch (NotLeaderException ex) {
			assertThat(type.style).isEqualTo(Style.DIRECT);
			return CompletableFuture.failedFuture(ex);
		}
	}

	private static @Nullable Object run(ApplicationContext context) {
		return ReflectionTestUtils.invokeMethod(context.getBean("job"), "run");
	}

	private static CompletableFuture<?> end(@Nullable Object result) {
		if (result instanceof CompletionStage<?> stage) {
			return stage.toCompletableFuture();
		}
		if (result instanceof Future<?> future) {
			return Mono.fromCallable(future::get).onErrorMap(ExecutionException.class, Throwable::getCause).toFuture();
		}
		ReactiveAdapter adapter = ReactiveAdapterRegistry.getSharedInstance().getAdapter(null, result);
		return (adapter != null) ? Flux.from(adapter.toPublisher(result)).cast(Object.class).collectList().toFuture()
				: CompletableFuture.completedFuture(result);
	}

	/**
	 * How a method does its work.
	 */
	enum Style {

		DIRECT, FUTURE, ASYNC, PUBLISHER

	}

	enum ResultType {

		VOID(Style.DIRECT, void.class, Probe::work),

		REFERENCE(Style.DIRECT, List.class, (probe) -> List.of(probe.work())),

		OPTIONAL(Style.DIRECT, Optional.class, (probe) -> Optional.of(probe.work())),

		OPTIONAL_INT(Style.DIRECT, OptionalInt.class, (probe) -> OptionalInt.of(probe.work().length())),

		OPTIONAL_LONG(Style.DIRECT, OptionalLong.class, (probe) -> OptionalLong.of(probe.work().length())),

		OPTIONAL_DOUBLE(Style.DIRECT, OptionalDouble.class, (probe) -> OptionalDouble.of(probe.work().length())),

		FUTURE_THAT_IS_DONE(Style.FUTURE, Future.class, (probe) -> CompletableFuture.completedFuture(probe.work())),

		COMPLETION_STAGE(Style.FUTURE, CompletionStage.class, Probe::stage),

		COMPLETABLE_FUTURE(Style.FUTURE, CompletableFuture.class, Probe::stage),

		ASYNC_VOID(Style.ASYNC, void.class, Probe::work),

		ASYNC_FUTURE(Style.ASYNC, Future.class, (probe) -> CompletableFuture.completedFuture(probe.work())),

		ASYNC_COMPLETABLE_FUTURE(Style.ASYNC, CompletableFuture.class,
				(probe) -> CompletableFuture.completedFuture(probe.work())),

		ASYNC_COMPLETABLE_FUTURE_THAT_COMPLETES_LATER(Style.ASYNC, CompletableFuture.class, Probe::stage),

		MONO(Style.PUBLISHER, Mono.class, Probe::mono),

		FLUX(Style.PUBLISHER, Flux.class, (probe) -> probe.mono().flux()),

		PUBLISHER(Style.PUBLISHER, Publisher.class, Probe::mono),

		FLOW_PUBLISHER(Style.PUBLISHER, Flow.Publisher.class, (probe) -> FlowAdapters.toFlowPublisher(probe.mono())),

		FLOWABLE(Style.PUBLISHER, Flowable.class, (probe) -> Flowable.fromPublisher(probe.mono())),

		OBSERVABLE(Style.PUBLISHER, Observable.class, (probe) -> Observable.fromPublisher(probe.mono())),

		MAYBE(Style.PUBLISHER, Maybe.class, (probe) -> Maybe.fromPublisher(probe.mono())),

		SINGLE(Style.PUBLISHER, Single.class, (probe) -> Single.fromPublisher(probe.mono())),

		COMPLETABLE(Style.PUBLISHER, Completable.class, (probe) -> Completable.fromPublisher(probe.mono())),

		UNI(Style.PUBLISHER, Uni.class,
				(probe) -> Uni.createFrom().publisher(FlowAdapters.toFlowPublisher(probe.mono()))),

		MULTI(Style.PUBLISHER, Multi.class,
				(probe) -> Multi.createFrom().publisher(FlowAdapters.toFlowPublisher(probe.mono())));

		private final Style style;

		private final Class<?> result;

		private final Function<Probe, Object> work;

		ResultType(Style style, Class<?> result, Function<Probe, Object> work) {
			this.style = style;
			this.result = result;
			this.work = work;
		}

		boolean isReactive() {
			return this.style == Style.PUBLISHER;
		}

		@Nullable Object expected() {
			if (this.result == void.class) {
				return null;
			}
			Probe ended = new Probe();
			ended.finish();
			return end(this.work.apply(ended)).join();
		}

		@Nullable Object skipped() {
			return switch (this) {
				case OPTIONAL -> Optional.empty();
				case OPTIONAL_INT -> OptionalInt.empty();
				case OPTIONAL_LONG -> OptionalLong.empty();
				case OPTIONAL_DOUBLE -> OptionalDouble.empty();
				default -> isReactive() ? List.of() : null;
			};
		}

	}

	/**
	 * The work of all of them.
	 */
	static class Probe {

		private final AtomicInteger calls = new AtomicInteger();

		private final AtomicInteger cutShort = new AtomicInteger();

		private final CompletableFuture<String> end = new CompletableFuture<>();

		Probe() {
			this.end.whenComplete((result, failure) -> {
				if (this.end.isCancelled()) {
					this.cutShort.incrementAndGet();
				}
			});
		}

		private String work() {
			this.calls.incrementAndGet();
			try {
				return this.end.get();
			}
			catch (InterruptedException | ExecutionException ex) {
				this.cutShort.incrementAndGet();
				return "cut short";
			}
		}

		private CompletableFuture<String> stage() {
			this.calls.incrementAndGet();
			return this.end;
		}

		private Mono<String> mono() {
			return Mono.fromFuture(stage(), true).doOnCancel(() -> {
				// Some types cancel after their element
				if (!this.end.isDone()) {
					this.cutShort.incrementAndGet();
				}
			});
		}

		private void awaitCalls(int number) {
			await().untilAsserted(() -> assertThat(this.calls).hasValue(number));
		}

		private void finish() {
			this.end.complete("done");
		}

	}

	@Configuration(proxyBeanMethods = false)
	@EnableAsync
	static class AsyncMethods {

	}

}
