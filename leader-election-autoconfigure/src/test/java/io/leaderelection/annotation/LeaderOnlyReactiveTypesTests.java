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

import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Flow;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Function;

import io.leaderelection.Leadership;
import io.leaderelection.NotLeaderException;
import io.leaderelection.annotation.LeaderOnly.NotLeaderPolicy;
import io.leaderelection.engine.DefaultLeaderElector;
import io.leaderelection.engine.DefaultLeaderElectors;
import io.reactivex.rxjava3.core.BackpressureStrategy;
import io.reactivex.rxjava3.core.Completable;
import io.reactivex.rxjava3.core.Flowable;
import io.reactivex.rxjava3.core.Maybe;
import io.reactivex.rxjava3.core.Observable;
import io.reactivex.rxjava3.core.Single;
import io.smallrye.mutiny.Multi;
import io.smallrye.mutiny.Uni;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.EnumSource.Mode;
import org.reactivestreams.FlowAdapters;
import org.reactivestreams.Publisher;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.core.publisher.Sinks;

import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.context.ApplicationContext;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.awaitility.Awaitility.await;

/**
 * Tests for {@link LeaderOnly @LeaderOnly} with each type of result that is subscribed
 * to.
 */
@Tag("ring1")
class LeaderOnlyReactiveTypesTests {

	private final StoreByHand store = new StoreByHand(true);

	private final Probe probe = new Probe();

	private final ApplicationContextRunner leader = contextRunner(this.store);

	private final ApplicationContextRunner follower = contextRunner(new StoreByHand(false));

	private ApplicationContextRunner contextRunner(StoreByHand store) {
		return TestElections.contextRunner()
			.withBean(StoreByHand.class, () -> store)
			.withBean(SkippedJobs.class, this.probe)
			.withBean(RejectedJobs.class, this.probe);
	}

	@ParameterizedTest
	@EnumSource
	void leaderRunsItAtEachSubscription(ResultType type) {
		this.leader.run((context) -> {
			Jobs jobs = context.getBean(RejectedJobs.class);
			Publisher<?> result = type.call(jobs);
			assertThat(this.probe.calls).hasValue(0);
			this.probe.finish();
			assertThat(collect(result)).succeedsWithin(Duration.ofSeconds(5)).isEqualTo(type.elements());
			assertThat(collect(result)).succeedsWithin(Duration.ofSeconds(5)).isEqualTo(type.elements());
			assertThat(this.probe.calls).hasValue(2);
			assertThat(elector(context).gate().enter("work")).isNotNull().satisfies((work) -> work.close());
			assertThat(elector(context).resign()).succeedsWithin(Duration.ofSeconds(5)).isEqualTo(true);
		});
	}

	@ParameterizedTest
	@EnumSource(mode = Mode.EXCLUDE, names = "SINGLE")
	void followerSkips(ResultType type) {
		this.follower.run((context) -> {
			Jobs jobs = context.getBean(SkippedJobs.class);
			assertThat(collect(type.call(jobs))).succeedsWithin(Duration.ofSeconds(5)).isEqualTo(List.of());
			assertThat(this.probe.calls).hasValue(0);
		});
	}

	@ParameterizedTest
	@EnumSource
	void followerRejects(ResultType type) {
		this.follower.run((context) -> {
			Jobs jobs = context.getBean(RejectedJobs.class);
			assertThat(collect(type.call(jobs))).failsWithin(Duration.ofSeconds(5))
				.withThrowableThat()
				.withCauseInstanceOf(NotLeaderException.class)
				.withMessageContaining("runs only on the leader of election 'default'");
			assertThat(this.probe.calls).hasValue(0);
		});
	}

	@ParameterizedTest
	@EnumSource
	void handOverWaitsForIt(ResultType type) {
		this.leader.run((context) -> {
			Leadership leadership = elector(context).getLeadership();
			Jobs jobs = context.getBean(RejectedJobs.class);
			CompletableFuture<List<Object>> running = collect(type.call(jobs));
			await().untilAsserted(() -> assertThat(this.probe.calls).hasValue(1));
			CompletableFuture<Boolean> handOver = elector(context).resign();
			assertThatExceptionOfType(TimeoutException.class)
				.isThrownBy(() -> handOver.get(100, TimeUnit.MILLISECONDS));
			assertThat(leadership.isCurrent()).isTrue();
			assertThat(this.probe.cancellations).hasValue(0);
			this.probe.finish();
			assertThat(handOver).succeedsWithin(Duration.ofSeconds(5)).isEqualTo(true);
			assertThat(running).succeedsWithin(Duration.ofSeconds(5)).isEqualTo(type.elements());
		});
	}

	@ParameterizedTest
	@EnumSource
	void lossCancelsIt(ResultType type) {
		this.leader.run((context) -> {
			Jobs jobs = context.getBean(RejectedJobs.class);
			CompletableFuture<List<Object>> running = collect(type.call(jobs));
			await().untilAsserted(() -> assertThat(this.probe.calls).hasValue(1));
			this.store.lose();
			assertThat(running).failsWithin(Duration.ofSeconds(5))
				.withThrowableThat()
				.withCauseInstanceOf(NotLeaderException.class)
				.withMessageContaining("has been cancelled, since the leadership of election 'default'");
			assertThat(this.probe.cancellations).hasValue(1);
		});
	}

	private static DefaultLeaderElector elector(ApplicationContext context) {
		return context.getBean(DefaultLeaderElectors.class).getDefault();
	}

	private static CompletableFuture<List<Object>> collect(Publisher<?> publisher) {
		return Flux.from(publisher).cast(Object.class).collectList().toFuture();
	}

	/**
	 * A type of result, and how to subscribe to it.
	 */
	enum ResultType {

		MONO(Jobs::mono, (result) -> (Mono<?>) result),

		FLUX(Jobs::flux, (result) -> (Flux<?>) result),

		PUBLISHER(Jobs::publisher, (result) -> (Publisher<?>) result),

		FLOW_PUBLISHER(Jobs::flowPublisher, (result) -> FlowAdapters.toPublisher((Flow.Publisher<?>) result)),

		FLOWABLE(Jobs::flowable, (result) -> (Flowable<?>) result),

		OBSERVABLE(Jobs::observable, (result) -> ((Observable<?>) result).toFlowable(BackpressureStrategy.BUFFER)),

		MAYBE(Jobs::maybe, (result) -> ((Maybe<?>) result).toFlowable()),

		SINGLE((jobs) -> ((RejectedJobs) jobs).single(), (result) -> ((Single<?>) result).toFlowable()),

		COMPLETABLE(Jobs::completable, (result) -> ((Completable) result).toFlowable()),

		UNI(Jobs::uni, (result) -> FlowAdapters.toPublisher(((Uni<?>) result).convert().toPublisher())),

		MULTI(Jobs::multi, (result) -> FlowAdapters.toPublisher((Multi<?>) result));

		private final Function<Jobs, Object> call;

		private final Function<Object, Publisher<?>> subscribe;

		ResultType(Function<Jobs, Object> call, Function<Object, Publisher<?>> subscribe) {
			this.call = call;
			this.subscribe = subscribe;
		}

		Publisher<?> call(Jobs jobs) {
			return this.subscribe.apply(this.call.apply(jobs));
		}

		List<?> elements() {
			return (this == COMPLETABLE) ? List.of() : List.of("done");
		}

	}

	static class Probe {

		private final AtomicInteger calls = new AtomicInteger();

		private final AtomicInteger cancellations = new AtomicInteger();

		private final Sinks.One<String> end = Sinks.one();

		private Mono<String> job() {
			this.calls.incrementAndGet();
			return this.end.asMono().doOnCancel(this.cancellations::incrementAndGet);
		}

		private void finish() {
			this.end.tryEmitValue("done");
		}

	}

	static class Jobs {

		private final Probe probe;

		Jobs(Probe probe) {
			this.probe = probe;
		}

		private Mono<String> job() {
			return this.probe.job();
		}

		private Flow.Publisher<String> flowJob() {
			return FlowAdapters.toFlowPublisher(job());
		}

		Mono<String> mono() {
			return job();
		}

		Flux<String> flux() {
			return job().flux();
		}

		Publisher<String> publisher() {
			return job();
		}

		Flow.Publisher<String> flowPublisher() {
			return flowJob();
		}

		Flowable<String> flowable() {
			return Flowable.fromPublisher(job());
		}

		Observable<String> observable() {
			return Observable.fromPublisher(job());
		}

		Maybe<String> maybe() {
			return Maybe.fromPublisher(job());
		}

		Completable completable() {
			return Completable.fromPublisher(job());
		}

		Uni<String> uni() {
			return Uni.createFrom().publisher(flowJob());
		}

		Multi<String> multi() {
			return Multi.createFrom().publisher(flowJob());
		}

	}

	@LeaderOnly
	static class SkippedJobs extends Jobs {

		SkippedJobs(Probe probe) {
			super(probe);
		}

	}

	@LeaderOnly(policy = NotLeaderPolicy.REJECT)
	static class RejectedJobs extends Jobs {

		RejectedJobs(Probe probe) {
			super(probe);
		}

		Single<String> single() {
			return Single.fromPublisher(mono());
		}

	}

}
