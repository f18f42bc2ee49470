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
import java.util.concurrent.atomic.AtomicInteger;

import io.leaderelection.NotLeaderException;
import io.leaderelection.annotation.LeaderOnly.NotLeaderPolicy;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import reactor.core.publisher.Mono;

import org.springframework.context.annotation.Configuration;
import org.springframework.resilience.annotation.EnableResilientMethods;
import org.springframework.resilience.annotation.Retryable;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Tests for {@link LeaderOnly @LeaderOnly} on methods that return publishers and are
 * {@link Retryable}, with an annotation that Spring Framework 6.2 does not have.
 */
@Tag("ring1")
class LeaderOnlyReactiveOnSpringBoot4Tests {

	private static final Duration SOON = Duration.ofSeconds(10);

	@Test
	void eachAttemptIsChecked() {
		TestElections.manual().withUserConfiguration(Retries.class).withBean(Jobs.class).run((context) -> {
			Jobs jobs = context.getBean(Jobs.class);
			assertThat(jobs.retried(() -> {
			}).block(SOON)).isEqualTo("attempt 3");
			assertThat(jobs.retried(() -> {
				TestElections.lose(TestElections.elector(context));
				await().until(() -> !TestElections.elector(context).isLeader());
			}).onErrorComplete(NotLeaderException.class).block(SOON)).isNull();
			assertThat(jobs.attempts()).isEqualTo(4);
		});
	}

	@Configuration(proxyBeanMethods = false)
	@EnableResilientMethods
	static class Retries {

	}

	static class Jobs {

		private final AtomicInteger attempts = new AtomicInteger();

		@Retryable(delay = 0, maxRetries = 2, excludes = NotLeaderException.class)
		@LeaderOnly(policy = NotLeaderPolicy.REJECT)
		Mono<String> retried(Runnable meanwhile) {
			return Mono.fromCallable(() -> {
				int attempt = this.attempts.incrementAndGet();
				if (attempt != 3) {
					meanwhile.run();
					throw new IllegalStateException("attempt " + attempt);
				}
				return "attempt " + attempt;
			});
		}

		int attempts() {
			return this.attempts.get();
		}

	}

}
