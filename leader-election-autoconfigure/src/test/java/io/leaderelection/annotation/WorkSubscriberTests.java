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
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;
import java.util.function.LongConsumer;

import io.leaderelection.engine.DefaultLeaderElector;
import io.leaderelection.engine.DefaultLeaderElectors;
import io.leaderelection.engine.ElectionSettings;
import io.leaderelection.engine.LocalStore;
import io.leaderelection.engine.Work;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.reactivestreams.Subscription;
import reactor.core.CoreSubscriber;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Operators;
import reactor.core.scheduler.Schedulers;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for {@link WorkSubscriber}: what a subscriber receives, and when.
 */
@Timeout(60)
@Tag("ring1")
class WorkSubscriberTests {

	private static final Duration SOON = Duration.ofSeconds(10);

	private final DefaultLeaderElector elector = new DefaultLeaderElectors(List
		.of(new ElectionSettings("default", "node", Duration.ofMinutes(1), Duration.ZERO, Duration.ofMinutes(1), true)),
			(election) -> LocalStore.always(), (event) -> {
			})
		.getDefault();

	private final List<String> signals = new CopyOnWriteArrayList<>();

	private final List<Work> started = new ArrayList<>();

	private Consumer<Subscription> onSubscribe = (subscription) -> subscription.request(1);

	private LongConsumer onRequest = (count) -> {
	};

	private Runnable onCancel = () -> {
	};

	@BeforeEach
	void lead() throws InterruptedException {
		this.elector.start().join();
		assertThat(this.elector.awaitLeadership(SOON)).isTrue();
	}

	@AfterEach
	void stop() {
		this.started.forEach(Work::end);
		this.elector.stop().join();
	}

	@Test
	void failureWaitsUntilTheSubscriberHasItsSubscription() {
		WorkSubscriber inner = subscribe(false);
		this.onSubscribe = (subscription) -> {
			subscription.request(1);
			failElsewhere(inner);
		};
		inner.onSubscribe(new Publishing());
		assertThat(this.signals).containsExactly("begin", "subscribed", "cancelled", "failure");
		assertThat(this.elector.resign()).succeedsWithin(SOON).isEqualTo(true);
	}

	@Test
	void pipelineThatFailsWhileItIsSubscribedToTerminates() {
		AtomicReference<WorkSubscriber> inner = new AtomicReference<>();
		Flux<Object> guarded = new Flux<>() {

			@Override
			public void subscribe(CoreSubscriber<? super Object> subscriber) {
				inner.set(WorkSubscriberTests.this.subscribe(subscriber, false));
				Flux.never().subscribe(inner.get());
			}

		};
		CompletableFuture<List<Object>> result = guarded.doOnSubscribe((subscription) -> failElsewhere(inner.get()))
			.publishOn(Schedulers.parallel())
			.collectList()
			.toFuture();
		assertThat(result).failsWithin(SOON).withThrowableThat().withMessageContaining("failure");
	}

	@Test
	void failureBeforeThePublisherAnswersIsNotDelayed() {
		WorkSubscriber inner = subscribe(false);
		failElsewhere(inner);
		assertThat(this.signals).containsExactly("begin", "subscribed", "failure");
		inner.onSubscribe(new Publishing());
		inner.onNext("element");
		inner.onComplete();
		assertThat(this.signals).containsExactly("begin", "subscribed", "failure", "cancelled");
	}

	@Test
	void nothingIsRequestedBeforeTheSubscriberHasItsSubscription() {
		WorkSubscriber inner = subscribe(false);
		this.onSubscribe = (subscription) -> {
			subscription.request(2);
			subscription.request(3);
		};
		inner.onSubscribe(new Publishing());
		inner.request(4);
		assertThat(this.signals).containsExactly("begin", "subscribed", "requested 5", "requested 4");
	}

	@Test
	void failureDoesNotWaitForElementsThatTakeLong() {
		WorkSubscriber inner = subscribe(false);
		this.onRequest = (count) -> {
			failElsewhere(inner);
			this.signals.add("element is there");
		};
		inner.onSubscribe(new Publishing());
		assertThat(this.signals).containsExactly("begin", "subscribed", "requested 1", "cancelled", "failure",
				"element is there");
	}

	@Test
	void subscriberThatCancelsAtOnceReceivesNothingElse() {
		WorkSubscriber inner = subscribe(false);
		this.onSubscribe = (subscription) -> {
			subscription.request(1);
			subscription.cancel();
			failElsewhere(inner);
		};
		inner.onSubscribe(new Publishing());
		inner.onNext("element");
		inner.onComplete();
		assertThat(this.signals).containsExactly("begin", "subscribed", "cancelled");
	}

	@Test
	void noFailureFollowsUponTheElementOfAMono() {
		WorkSubscriber inner = subscribe(true);
		inner.onSubscribe(new Publishing());
		inner.onNext("element");
		failElsewhere(inner);
		inner.onComplete();
		assertThat(this.signals).containsExactly("begin", "subscribed", "requested 1", "element", "complete");
	}

	@Test
	void noElementAndNoEndComesBesideTheFailure() {
		WorkSubscriber inner = subscribe(true);
		this.onCancel = () -> {
			inner.onNext("element");
			inner.onComplete();
		};
		inner.onSubscribe(new Publishing());
		failElsewhere(inner);
		assertThat(this.signals).containsExactly("begin", "subscribed", "requested 1", "cancelled", "failure");
	}

	@Test
	void requestForNothingFails() {
		WorkSubscriber inner = subscribe(false);
		this.onSubscribe = (subscription) -> subscription.request(0);
		inner.onSubscribe(new Publishing());
		assertThat(this.signals).hasSize(4).startsWith("begin", "subscribed", "cancelled");
		assertThat(this.signals.get(3)).contains("3.9");
	}

	/**
	 * At any time of the failure.
	 */
	@Test
	@Tag("ring2")
	void signalsAreSerialAndEndOnce() {
		for (int i = 0; i < 5000; i++) {
			this.signals.clear();
			WorkSubscriber inner = subscribe(true);
			CompletableFuture<Void> failed = CompletableFuture.runAsync(() -> inner.fail(failure()));
			inner.onSubscribe(Operators.emptySubscription());
			inner.onNext("element");
			inner.onComplete();
			failed.join();
			assertThat(this.signals).isIn(List.of("begin", "subscribed", "element", "complete"),
					List.of("begin", "subscribed", "failure"));
		}
	}

	private WorkSubscriber subscribe(boolean single) {
		return subscribe(new Subscriber(), single);
	}

	private WorkSubscriber subscribe(CoreSubscriber<? super Object> subscriber, boolean single) {
		try (Work work = this.elector.gate().enter("job")) {
			assertThat(work).isNotNull();
			work.continueUntilEnd(work::end);
			this.started.add(work);
			return new WorkSubscriber(subscriber, work, single, "key");
		}
	}

	private static void failElsewhere(WorkSubscriber inner) {
		CompletableFuture.runAsync(() -> inner.fail(failure())).join();
	}

	private static Throwable failure() {
		return new IllegalStateException("failure");
	}

	private final class Subscriber implements CoreSubscriber<Object> {

		@Override
		public void onSubscribe(Subscription subscription) {
			WorkSubscriberTests.this.signals.add("begin");
			WorkSubscriberTests.this.onSubscribe.accept(subscription);
			WorkSubscriberTests.this.signals.add("subscribed");
		}

		@Override
		public void onNext(Object element) {
			WorkSubscriberTests.this.signals.add(element.toString());
		}

		@Override
		public void onError(Throwable failure) {
			WorkSubscriberTests.this.signals.add(failure.getMessage());
		}

		@Override
		public void onComplete() {
			WorkSubscriberTests.this.signals.add("complete");
		}

	}

	private final class Publishing implements Subscription {

		@Override
		public void request(long count) {
			WorkSubscriberTests.this.signals.add("requested " + count);
			WorkSubscriberTests.this.onRequest.accept(count);
		}

		@Override
		public void cancel() {
			WorkSubscriberTests.this.signals.add("cancelled");
			WorkSubscriberTests.this.onCancel.run();
		}

	}

}
