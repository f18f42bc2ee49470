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

package io.leaderelection.schedule;

import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.util.stream.Stream;

import io.leaderelection.annotation.GeneratedJob;
import io.leaderelection.autoconfigure.LeaderElectionAutoConfiguration;
import io.leaderelection.autoconfigure.schedule.DurableScheduleAutoConfiguration;
import net.bytebuddy.description.annotation.AnnotationDescription;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.autoconfigure.aop.AopAutoConfiguration;
import org.springframework.boot.autoconfigure.context.PropertyPlaceholderAutoConfiguration;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.resilience.annotation.Retryable;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for uses of {@link DurableSchedule} with {@link Retryable}, an annotation that
 * Spring Framework 6.2 does not have.
 */
@Tag("ring1")
class DurableScheduleRejectionOnSpringBoot4Tests {

	private final ApplicationContextRunner contextRunner = new ApplicationContextRunner()
		.withConfiguration(
				AutoConfigurations.of(LeaderElectionAutoConfiguration.class, DurableScheduleAutoConfiguration.class,
						AopAutoConfiguration.class, PropertyPlaceholderAutoConfiguration.class))
		.withPropertyValues("spring.application.name=test", "leader-election.mode=always");

	static Stream<Class<?>> methodThatMayNotRunAgainIsNotRetryable() {
		AnnotationDescription.Builder before = DurableScheduleRejectionTests.nightly().define("claim", Claim.BEFORE);
		return Stream.of(new GeneratedJob().with(GeneratedJob.annotation(Retryable.class), before),
				new GeneratedJob().inClassWith(Retryable.class).with(before),
				new GeneratedJob().with(AtMostOnce.class));
	}

	@ParameterizedTest
	@MethodSource
	void methodThatMayNotRunAgainIsNotRetryable(Class<?> type) {
		DurableScheduleRejectionTests.assertRejected(this.contextRunner.withBean(type), type,
				"is @Retryable with claim = BEFORE", "IN_TRANSACTION or AFTER");
	}

	@Test
	void methodThatMayRunAgainIsRetryable() {
		this.contextRunner
			.withBean(new GeneratedJob().with(GeneratedJob.annotation(Retryable.class),
					DurableScheduleRejectionTests.nightly().define("claim", Claim.AFTER)))
			.run((context) -> assertThat(context).hasNotFailed());
	}

	@Retryable
	@Retention(RetentionPolicy.RUNTIME)
	@DurableSchedule(cron = "0 0 2 * * *", claim = Claim.BEFORE)
	@interface AtMostOnce {

	}

}
