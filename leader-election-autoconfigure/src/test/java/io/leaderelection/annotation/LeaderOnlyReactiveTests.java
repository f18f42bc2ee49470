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
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;

import io.leaderelection.LeaderElector;
import io.leaderelection.Leadership;
import io.leaderelection.LeadershipRevokedEvent.Reason;
import io.leaderelection.NotLeaderException;
import io.leaderelection.engine.LocalStore;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.reactivestreams.Subscription;
import reactor.core.Disposable;
import reactor.core.publisher.BaseSubscriber;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.core.publisher.Sinks;
import reactor.core.scheduler.Schedulers;
import reactor.util.context.Context;

import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.context.annotation.Configuration;
import org.springframework.scheduling.annotation.EnableScheduling;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.awaitility.Awaitility.await;

/**
 * Tests for {@link LeaderOnly @LeaderOnly} on methods that return publishers.
 */
@Tag("ring1")
class LeaderOnlyReactiveTests {

	private static final Duration SOON = Duration.ofSeconds(10);

	private final ApplicationContextRunner contextRunner = TestElections.manual().withBean(Jobs.class);

	@Test
	void scheduledPublisherIsCheckedAtEachTick() {
		AtomicInteger runs = new AtomicInteger();
		Class<?> job = new GeneratedJob().returning(Mono.class)
			.doing(() -> Mono.fromCallable(runs::incrementAndGet))
			.with(GeneratedJob.annotation(LeaderOnly.class), LeaderOnlyOrderTests.hourly());
		this.contextRunner.withUserConfiguration(Scheduling.class).withBean(job).run((context) -> {
			LocalStore.revoke(TestElections.elector(context), Reason.SESSION_LOST);
			LeaderOnlyOrderTests.tick(context);
			assertThat(runs).hasValue(0);
			LocalStore.grant(TestElections.elector(context));
			LeaderOnlyOrderTests.tick(context);
			LeaderOnlyOrderTests.tick(context);
			assertThat(runs).hasValue(2);
			LocalStore.revoke(TestElections.elector(context), Reason.SESSION_LOST);
			LeaderOnlyOrderTests.tick(context);
			assertThat(runs).hasValue(2);
		});
	}

	@Test
	void methodAndSubscriptionSeeTheirLeadership() {
		this.contextRunner.run((context) -> {
			Leadership leadership = TestElections.elector(context).getLeadership();
			assertThat(
					context.getBean(Jobs.class).leaderships(TestElections.elector(context)).collectList().block(SOON))
				.containsExactly(leadership, leadership);
			assertThat(TestElections.elector(context).getWorkLeadership()).isNull();
		});
	}

	@Test
	void failureOfTheMethodAndOfThePublisherReachTheSubscriberAndEndTheWork() {
		this.contextRunner.run((context) -> {
			Jobs jobs = context.getBean(Jobs.class);
			assertThatExceptionOfType(IllegalArgumentException.class).isThrownBy(() -> jobs.fail().block(SOON))
				.withMessage("at once");
			assertThatExceptionOfType(IllegalArgumentException.class)
				.isThrownBy(() -> jobs.until(Mono.error(new IllegalArgumentException("later"))).block(SOON))
				.withMessage("later");
			assertThat(TestElections.elector(context).resign()).succeedsWithin(SOON).isEqualTo(true);
		});
	}

	@Test
	void requestsReachThePublisherAsTheyAre() {
		this.contextRunner.run((context) -> {
			List<Long> requests = new ArrayList<>();
			List<Integer> elements = new ArrayList<>();
			ByHand subscriber = new ByHand(elements);
			Flux<Integer> numbers = Flux.range(1, 100).hide().doOnRequest(requests::add);
			context.getBean(Jobs.class).elements(numbers).subscribe(subscriber);
			assertThat(elements).isEmpty();
			subscriber.request(2);
			assertThat(elements).containsExactly(1, 2);
			subscriber.request(3);
			assertThat(elements).containsExactly(1, 2, 3, 4, 5);
			assertThat(requests).containsExactly(2L, 3L);
			subscriber.cancel();
		});
	}

	@Test
	void contextOfTheSubscriberReachesThePublisher() {
		this.contextRunner.run((context) -> {
			Jobs jobs = context.getBean(Jobs.class);
			Mono<Integer> contextual = Mono.deferContextual((values) -> Mono.just(values.get("key")));
			assertThat(jobs.until(contextual.map(String::valueOf)).contextWrite(Context.of("key", 42)).block(SOON))
				.isEqualTo("42");
			assertThat(jobs.elements(contextual.flux()).contextWrite(Context.of("key", 42)).blockLast(SOON))
				.isEqualTo(42);
		});
	}

	@Test
	void cancelledSubscriptionHasEnded() {
		this.contextRunner.run((context) -> {
			Jobs jobs = context.getBean(Jobs.class);
			Disposable running = jobs.until(Mono.never()).subscribe();
			CompletableFuture<Boolean> handOver = TestElections.elector(context).resign();
			assertWaits(handOver);
			running.dispose();
			assertThat(handOver).succeedsWithin(SOON).isEqualTo(true);
		});
	}

	@Test
	void drainTimeoutCancels() {
		this.contextRunner.withPropertyValues("test.drain-timeout=100ms").run((context) -> {
			CompletableFuture<String> running = context.getBean(Jobs.class).until(Mono.never()).toFuture();
			assertThat(TestElections.elector(context).resign()).succeedsWithin(SOON).isEqualTo(true);
			assertThat(running).failsWithin(SOON)
				.withThrowableThat()
				.withCauseInstanceOf(NotLeaderException.class)
				.withMessageContaining("Method '" + Jobs.class.getName()
						+ ".until(Mono)' has been cancelled, since the leadership of election 'default'");
		});
	}

	@Test
	void elementsBeforeTheLossAreDelivered() {
		this.contextRunner.run((context) -> {
			Sinks.Many<Integer> source = Sinks.many().unicast().onBackpressureBuffer();
			List<Integer> elements = new ArrayList<>();
			AtomicReference<Throwable> failure = new AtomicReference<>();
			context.getBean(Jobs.class).elements(source.asFlux()).subscribe(elements::add, failure::set);
			source.tryEmitNext(1);
			source.tryEmitNext(2);
			LocalStore.revoke(TestElections.elector(context), Reason.SESSION_LOST);
			await().untilAsserted(() -> assertThat(failure.get()).isInstanceOf(NotLeaderException.class));
			assertThat(elements).containsExactly(1, 2);
			assertThat(source.currentSubscriberCount()).isZero();
		});
	}

	/**
	 * Also where the inner work begins on a thread that the outer work does not know.
	 */
	@Test
	void innerWorkRunsWhileTheTermOfTheOuterIsHandedOver() {
		this.contextRunner.run((context) -> {
			Jobs jobs = context.getBean(Jobs.class);
			Sinks.One<String> step = Sinks.one();
			CompletableFuture<String> running = context.getBean(Jobs.class)
				.until(step.asMono().publishOn(Schedulers.boundedElastic()).flatMap((ignored) -> jobs.text()))
				.toFuture();
			CompletableFuture<Boolean> handOver = TestElections.elector(context).resign();
			assertThat(TestElections.elector(context).isLeader()).isFalse();
			assertThat(jobs.text().block(SOON)).isNull();
			step.tryEmitValue("go on");
			assertThat(running).succeedsWithin(SOON).isEqualTo("call 1");
			assertThat(handOver).succeedsWithin(SOON).isEqualTo(true);
		});
	}

	/**
	 * What follows on the thread of the subscription while that is being made.
	 */
	@Test
	void handOverWaitsForWorkThatFollowsUponWork() {
		this.contextRunner.run((context) -> {
			Jobs jobs = context.getBean(Jobs.class);
			Sinks.One<String> end = Sinks.one();
			CompletableFuture<String> running = jobs.text().then(jobs.until(end.asMono())).toFuture();
			CompletableFuture<Boolean> handOver = TestElections.elector(context).resign();
			assertWaits(handOver);
			end.tryEmitValue("end");
			assertThat(running).succeedsWithin(SOON).isEqualTo("end");
			assertThat(handOver).succeedsWithin(SOON).isEqualTo(true);
		});
	}

	@Test
	void workHasEndedWhenTheElementOfAMonoArrives() {
		this.contextRunner.run((context) -> {
			Sinks.One<String> end = Sinks.one();
			CompletableFuture<Boolean> ended = context.getBean(Jobs.class)
				.until(end.asMono())
				.map((ignored) -> TestElections.elector(context).resign().orTimeout(10, TimeUnit.SECONDS).join())
				.toFuture();
			new Thread(() -> end.tryEmitValue("end")).start();
			assertThat(ended).succeedsWithin(SOON).isEqualTo(true);
		});
	}

	private static void assertWaits(CompletableFuture<Boolean> handOver) {
		assertThatExceptionOfType(TimeoutException.class).isThrownBy(() -> handOver.get(100, TimeUnit.MILLISECONDS));
	}

	/**
	 * Requests what the test says.
	 */
	private static final class ByHand extends BaseSubscriber<Integer> {

		private final List<Integer> elements;

		private ByHand(List<Integer> elements) {
			this.elements = elements;
		}

		@Override
		protected void hookOnSubscribe(Subscription subscription) {
		}

		@Override
		protected void hookOnNext(Integer element) {
			this.elements.add(element);
		}

	}

	@Configuration(proxyBeanMethods = false)
	@EnableScheduling
	static class Scheduling {

	}

	static class Jobs {

		private final AtomicInteger calls = new AtomicInteger();

		@LeaderOnly
		Mono<String> text() {
			return Mono.just("call " + this.calls.incrementAndGet());
		}

		@LeaderOnly
		Flux<Leadership> leaderships(LeaderElector elector) {
			return Flux.just(elector.getWorkLeadership()).concatWith(Mono.fromCallable(elector::getWorkLeadership));
		}

		@LeaderOnly
		Mono<String> fail() {
			throw new IllegalArgumentException("at once");
		}

		@LeaderOnly
		Mono<String> until(Mono<String> end) {
			return end;
		}

		@LeaderOnly
		Flux<Integer> elements(Flux<Integer> source) {
			return source;
		}

	}

}
