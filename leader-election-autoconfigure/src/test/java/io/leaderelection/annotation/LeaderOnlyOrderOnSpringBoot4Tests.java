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
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;

import io.leaderelection.LeaderElector;
import io.leaderelection.annotation.LeaderOnlyOrderTests.SpringAnnotations;
import io.leaderelection.annotation.LeaderOnlyOrderTests.Work;
import io.leaderelection.engine.DefaultLeaderElector;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.context.annotation.Configuration;
import org.springframework.resilience.annotation.EnableResilientMethods;
import org.springframework.resilience.annotation.Retryable;
import org.springframework.scheduling.annotation.Async;
import org.springframework.transaction.annotation.Transactional;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for {@link LeaderOnly @LeaderOnly} with {@link Retryable}, an annotation that
 * Spring Framework 6.2 does not have.
 */
@Tag("ring1")
class LeaderOnlyOrderOnSpringBoot4Tests {

	private final ApplicationContextRunner leader = TestElections.leader()
		.withUserConfiguration(SpringAnnotations.class, Retries.class)
		.withBean("jobs", Jobs.class);

	private final ApplicationContextRunner follower = TestElections.follower()
		.withUserConfiguration(SpringAnnotations.class, Retries.class)
		.withBean("jobs", Jobs.class);

	@Test
	void adviceIsAsyncThenRetryThenLeaderOnlyThenTransaction() {
		this.leader.run((context) -> assertThat(LeaderOnlyOrderTests.advice(context)).containsExactly(
				"AnnotationAsyncExecutionInterceptor", "RetryAnnotationInterceptor", "LeaderOnlyInterceptor",
				"TransactionInterceptor"));
	}

	@Test
	void guardIsBehindRetryAdviceOfAnyOrder() {
		TestElections.leader()
			.withUserConfiguration(SpringAnnotations.class, EarlyRetries.class)
			.withBean("jobs", Jobs.class)
			.run((context) -> assertThat(LeaderOnlyOrderTests.advice(context)).containsExactly(
					"AnnotationAsyncExecutionInterceptor", "RetryAnnotationInterceptor", "LeaderOnlyInterceptor",
					"TransactionInterceptor"));
	}

	@Test
	void eachAttemptIsCheckedAndHasItsOwnTransaction() {
		this.leader.run((context) -> {
			assertThat(context.getBean(Jobs.class).retried(TestElections.elector(context), 3, () -> {
			})).isEqualTo("attempt 3");
			assertThat(LeaderOnlyOrderTests.begun(context)).isEqualTo(3);
		});
	}

	@Test
	void attemptAfterLossOfLeadershipIsSkipped() {
		this.leader.run((context) -> {
			DefaultLeaderElector elector = TestElections.elector(context);
			assertThat(context.getBean(Jobs.class).retried(elector, 3, elector::stop)).isNull();
			assertThat(LeaderOnlyOrderTests.begun(context)).isEqualTo(1);
		});
	}

	@Test
	void skippedCallIsNotRetried() {
		this.follower.run((context) -> {
			assertThat(context.getBean(Jobs.class).retried(TestElections.elector(context), 1, () -> {
			})).isNull();
			assertThat(LeaderOnlyOrderTests.begun(context)).isZero();
		});
	}

	@Test
	void allTogether() {
		this.leader.run((context) -> {
			Work work = context.getBean(Jobs.class).all(TestElections.elector(context)).get();
			assertThat(work.thread()).startsWith("async-");
			assertThat(work.guarded()).isTrue();
			assertThat(work.inTransaction()).isTrue();
			assertThat(LeaderOnlyOrderTests.begun(context)).isEqualTo(2);
		});
		this.follower.run((context) -> {
			assertThat(context.getBean(Jobs.class).all(TestElections.elector(context)))
				.succeedsWithin(Duration.ofSeconds(5))
				.isNull();
			assertThat(LeaderOnlyOrderTests.begun(context)).isZero();
		});
	}

	static class Jobs {

		private final AtomicInteger attempts = new AtomicInteger();

		@Retryable(maxRetries = 5, delay = 1)
		@Transactional
		@LeaderOnly
		String retried(LeaderElector elector, int success, Runnable beforeFailure) {
			int attempt = this.attempts.incrementAndGet();
			assertThat(elector.getWorkLeadership()).isNotNull();
			if (attempt < success) {
				beforeFailure.run();
				throw new IllegalStateException("attempt " + attempt);
			}
			return "attempt " + attempt;
		}

		@LeaderOnly
		@Transactional
		@Retryable(maxRetries = 1, delay = 1)
		@Async
		CompletableFuture<Work> all(LeaderElector elector) {
			if (this.attempts.incrementAndGet() < 2) {
				throw new IllegalStateException("first attempt");
			}
			return CompletableFuture.completedFuture(Work.current(elector));
		}

	}

	@Configuration(proxyBeanMethods = false)
	@EnableResilientMethods
	static class Retries {

	}

	@Configuration(proxyBeanMethods = false)
	@EnableResilientMethods(order = 0)
	static class EarlyRetries {

	}

}
