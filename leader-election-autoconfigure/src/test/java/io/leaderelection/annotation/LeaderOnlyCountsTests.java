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

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;

import io.leaderelection.LeadershipRevokedEvent.Reason;
import io.leaderelection.NotLeaderException;
import io.leaderelection.annotation.LeaderOnly.NotLeaderPolicy;
import io.leaderelection.engine.InvocationCounts;
import io.leaderelection.engine.InvocationCounts.Outcome;
import io.leaderelection.engine.LocalStore;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import reactor.core.publisher.Mono;
import reactor.core.publisher.Sinks;

import org.springframework.beans.factory.ObjectProvider;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.context.ApplicationContext;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.awaitility.Awaitility.await;

/**
 * Tests for the counts of {@link LeaderOnly @LeaderOnly} invocations.
 */
@Tag("ring1")
class LeaderOnlyCountsTests {

	private final CountDownLatch blocking = new CountDownLatch(1);

	private final ApplicationContextRunner contextRunner = TestElections.manual()
		.withBean(CountDownLatch.class, () -> this.blocking)
		.withBean(Jobs.class);

	@Test
	void invocationThatRunsIsCountedOnceAlsoIfItFails() {
		this.contextRunner.run((context) -> {
			Jobs jobs = context.getBean(Jobs.class);
			jobs.job();
			assertCounts(context, "job", 1, 0, 0, 0);
			assertThatIllegalStateException().isThrownBy(jobs::fail);
			assertCounts(context, "fail", 1, 0, 0, 0);
		});
	}

	@Test
	void followerCountsWhatItSkipsAndRejects() {
		TestElections.follower()
			.withBean(CountDownLatch.class, () -> this.blocking)
			.withBean(Jobs.class)
			.run((context) -> {
				Jobs jobs = context.getBean(Jobs.class);
				jobs.job();
				jobs.job();
				assertCounts(context, "job", 0, 2, 0, 0);
				assertThatExceptionOfType(NotLeaderException.class).isThrownBy(jobs::rejected);
				assertCounts(context, "rejected", 0, 0, 1, 0);
				jobs.mono(Mono.just("text")).block();
				assertCounts(context, "mono", 0, 1, 0, 0);
			});
	}

	@Test
	void innerInvocationIsCountedToo() {
		this.contextRunner.run((context) -> {
			context.getBean(Jobs.class).outer();
			assertCounts(context, "outer", 1, 0, 0, 0);
			assertCounts(context, "job", 1, 0, 0, 0);
		});
	}

	@Test
	void overloadsAreCountedTogether() {
		this.contextRunner.run((context) -> {
			context.getBean(Jobs.class).overloaded();
			context.getBean(Jobs.class).overloaded(1);
			assertCounts(context, "overloaded", 2, 0, 0, 0);
		});
	}

	@Test
	void stageIsCountedWhenItCompletes() {
		this.contextRunner.run((context) -> {
			CompletableFuture<String> stage = new CompletableFuture<>();
			context.getBean(Jobs.class).stage(stage);
			assertCounts(context, "stage", 0, 0, 0, 0);
			stage.complete("done");
			assertCounts(context, "stage", 1, 0, 0, 0);
		});
	}

	@Test
	void eachSubscriptionIsCountedWhenItEnds() {
		this.contextRunner.run((context) -> {
			Sinks.One<String> sink = Sinks.one();
			Mono<String> mono = context.getBean(Jobs.class).mono(sink.asMono());
			assertCounts(context, "mono", 0, 0, 0, 0);
			mono.subscribe();
			mono.subscribe();
			assertCounts(context, "mono", 0, 0, 0, 0);
			sink.tryEmitValue("done");
			assertCounts(context, "mono", 2, 0, 0, 0);
		});
	}

	@ParameterizedTest
	@EnumSource(names = { "RESIGNED", "SESSION_LOST" })
	void endOfLeadershipCountsAsInterrupted(Reason reason) {
		this.contextRunner.withPropertyValues("test.drain-timeout=100ms").run((context) -> {
			Jobs jobs = context.getBean(Jobs.class);
			CompletableFuture<String> stage = new CompletableFuture<>();
			jobs.stage(stage);
			jobs.mono(Mono.never()).subscribe((element) -> {
			}, (failure) -> {
			});
			Thread blocked = new Thread(jobs::block);
			blocked.start();
			this.blocking.await();
			LocalStore.revoke(TestElections.elector(context), reason);
			await().until(() -> counts(context, "stage").get(Outcome.INTERRUPTED) == 1
					&& counts(context, "mono").get(Outcome.INTERRUPTED) == 1
					&& counts(context, "block").get(Outcome.INTERRUPTED) == 1);
			assertCounts(context, "stage", 0, 0, 0, 1);
			assertCounts(context, "mono", 0, 0, 0, 1);
			assertCounts(context, "block", 0, 0, 0, 1);
			// Inside of the one that was interrupted
			assertCounts(context, "blockInside", 0, 0, 0, 1);
		});
	}

	private static void assertCounts(ApplicationContext context, String method, long run, long skipped, long rejected,
			long interrupted) {
		InvocationCounts counts = counts(context, method);
		assertThat(Outcome.values()).extracting(counts::get).containsExactly(run, skipped, rejected, interrupted);
	}

	private static InvocationCounts counts(ApplicationContext context, String method) {
		return TestElections.elector(context).statistics().invocations("LeaderOnlyCountsTests.Jobs." + method);
	}

	static class Jobs {

		private final ObjectProvider<Jobs> self;

		private final CountDownLatch blocking;

		Jobs(ObjectProvider<Jobs> self, CountDownLatch blocking) {
			this.self = self;
			this.blocking = blocking;
		}

		@LeaderOnly
		void job() {
		}

		@LeaderOnly
		void fail() {
			throw new IllegalStateException("Failed");
		}

		@LeaderOnly(policy = NotLeaderPolicy.REJECT)
		void rejected() {
		}

		@LeaderOnly
		void outer() {
			this.self.getObject().job();
		}

		@LeaderOnly
		void overloaded() {
		}

		@LeaderOnly
		void overloaded(Integer argument) {
		}

		@LeaderOnly
		CompletableFuture<String> stage(CompletableFuture<String> stage) {
			return stage;
		}

		@LeaderOnly
		Mono<String> mono(Mono<String> mono) {
			return mono;
		}

		@LeaderOnly
		void block() {
			this.self.getObject().blockInside();
		}

		@LeaderOnly
		void blockInside() {
			this.blocking.countDown();
			try {
				new CountDownLatch(1).await();
			}
			catch (InterruptedException ex) {
				Thread.currentThread().interrupt();
			}
		}

	}

}
