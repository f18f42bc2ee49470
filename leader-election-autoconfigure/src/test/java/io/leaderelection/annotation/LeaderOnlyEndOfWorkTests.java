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
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Consumer;

import io.leaderelection.Leadership;
import io.leaderelection.engine.DefaultLeaderElector;
import io.leaderelection.engine.DefaultLeaderElectors;
import io.leaderelection.testsupport.Daemon;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.context.ApplicationContext;
import org.springframework.context.annotation.Configuration;
import org.springframework.scheduling.annotation.Async;
import org.springframework.scheduling.annotation.EnableAsync;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

/**
 * Tests for the end of {@link LeaderOnly @LeaderOnly} work of each type of result that is
 * not subscribed to.
 */
@Tag("ring1")
class LeaderOnlyEndOfWorkTests {

	private final StoreByHand store = new StoreByHand(true);

	private final Probe probe = new Probe();

	private final ApplicationContextRunner contextRunner = TestElections.contextRunner()
		.withUserConfiguration(AsyncMethods.class)
		.withBean(StoreByHand.class, () -> this.store)
		.withBean(Jobs.class, this.probe);

	@ParameterizedTest
	@EnumSource
	void handOverWaitsForWork(CallStyle style) {
		this.contextRunner.run((context) -> {
			Leadership leadership = elector(context).getLeadership();
			style.start(context.getBean(Jobs.class));
			await(this.probe.started);
			CompletableFuture<Boolean> handOver = elector(context).resign();
			assertThatExceptionOfType(TimeoutException.class)
				.isThrownBy(() -> handOver.get(100, TimeUnit.MILLISECONDS));
			assertThat(leadership.isCurrent()).isTrue();
			assertThat(elector(context).isLeader()).isFalse();
			this.probe.finish();
			assertThat(handOver).succeedsWithin(Duration.ofSeconds(10)).isEqualTo(true);
			assertThat(this.probe.cutShort.getCount()).isEqualTo(1);
		});
	}

	@ParameterizedTest
	@EnumSource
	void lossInterruptsOrCancelsWork(CallStyle style) {
		this.contextRunner.run((context) -> {
			style.start(context.getBean(Jobs.class));
			await(this.probe.started);
			this.store.lose();
			await(this.probe.cutShort);
			assertThat(elector(context).isLeader()).isFalse();
		});
	}

	private static void await(CountDownLatch latch) throws InterruptedException {
		assertThat(latch.await(10, TimeUnit.SECONDS)).isTrue();
	}

	private static DefaultLeaderElector elector(ApplicationContext context) {
		return context.getBean(DefaultLeaderElectors.class).getDefault();
	}

	/**
	 * How work is called and what it returns.
	 */
	enum CallStyle {

		VOID(Jobs::nothing),

		REFERENCE(Jobs::reference),

		OPTIONAL(Jobs::optional),

		FUTURE_THAT_IS_DONE(Jobs::future),

		COMPLETION_STAGE(Jobs::completionStage),

		COMPLETABLE_FUTURE(Jobs::completableFuture),

		ASYNC_VOID(Jobs::asyncNothing),

		ASYNC_FUTURE(Jobs::asyncFuture),

		ASYNC_COMPLETABLE_FUTURE(Jobs::asyncCompletableFuture),

		ASYNC_COMPLETABLE_FUTURE_THAT_COMPLETES_LATER(Jobs::asyncLater);

		private final Consumer<Jobs> call;

		CallStyle(Consumer<Jobs> call) {
			this.call = call;
		}

		void start(Jobs jobs) {
			Daemon.start(name(), () -> this.call.accept(jobs));
		}

	}

	/**
	 * What all of them do.
	 */
	static class Probe {

		private final CountDownLatch started = new CountDownLatch(1);

		private final CountDownLatch finished = new CountDownLatch(1);

		private final CountDownLatch cutShort = new CountDownLatch(1);

		private final CompletableFuture<String> stage = new CompletableFuture<>();

		Probe() {
			this.stage.whenComplete((result, failure) -> {
				if (this.stage.isCancelled()) {
					this.cutShort.countDown();
				}
			});
		}

		private String work() {
			this.started.countDown();
			try {
				this.finished.await();
			}
			catch (InterruptedException ex) {
				this.cutShort.countDown();
			}
			return "done";
		}

		private CompletableFuture<String> stage() {
			this.started.countDown();
			return this.stage;
		}

		private void finish() {
			this.finished.countDown();
			this.stage.complete("done");
		}

	}

	static class Jobs {

		private final Probe probe;

		Jobs(Probe probe) {
			this.probe = probe;
		}

		@LeaderOnly
		void nothing() {
			this.probe.work();
		}

		@LeaderOnly
		List<String> reference() {
			return List.of(this.probe.work());
		}

		@LeaderOnly
		Optional<String> optional() {
			return Optional.of(this.probe.work());
		}

		@LeaderOnly
		Future<String> future() {
			return CompletableFuture.completedFuture(this.probe.work());
		}

		@LeaderOnly
		CompletionStage<String> completionStage() {
			return this.probe.stage();
		}

		@LeaderOnly
		CompletableFuture<String> completableFuture() {
			return this.probe.stage();
		}

		@Async
		@LeaderOnly
		void asyncNothing() {
			this.probe.work();
		}

		@Async
		@LeaderOnly
		Future<String> asyncFuture() {
			return CompletableFuture.completedFuture(this.probe.work());
		}

		@Async
		@LeaderOnly
		CompletableFuture<String> asyncCompletableFuture() {
			return CompletableFuture.completedFuture(this.probe.work());
		}

		@Async
		@LeaderOnly
		CompletableFuture<String> asyncLater() {
			return this.probe.stage();
		}

	}

	@Configuration(proxyBeanMethods = false)
	@EnableAsync
	static class AsyncMethods {

	}

}
