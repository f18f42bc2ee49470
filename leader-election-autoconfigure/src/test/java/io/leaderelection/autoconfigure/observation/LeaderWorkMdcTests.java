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

package io.leaderelection.autoconfigure.observation;

import java.time.Duration;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.LoggerContext;
import ch.qos.logback.classic.PatternLayout;
import ch.qos.logback.classic.spi.LoggingEvent;
import io.leaderelection.LeaderElector;
import io.leaderelection.LeaderElectors;
import io.leaderelection.annotation.LeaderOnly;
import io.leaderelection.autoconfigure.LeaderElectionAutoConfiguration;
import io.leaderelection.engine.WorkObserver;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.slf4j.LoggerFactory;
import org.slf4j.MDC;
import reactor.core.publisher.Mono;

import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.test.context.FilteredClassLoader;
import org.springframework.boot.test.context.assertj.AssertableApplicationContext;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

/**
 * Tests for the MDC during leader work.
 */
@Timeout(60)
@Tag("ring1")
class LeaderWorkMdcTests {

	private final ApplicationContextRunner off = new ApplicationContextRunner()
		.withConfiguration(AutoConfigurations.of(LeaderElectionAutoConfiguration.class,
				LeaderWorkObservationAutoConfiguration.class))
		.withPropertyValues("leader-election.mode=always", "leader-election.node-id=web1",
				"leader-election.elections.reports.candidate=true");

	private final ApplicationContextRunner contextRunner = this.off
		.withPropertyValues("leader-election.mdc.enabled=true")
		.withBean(Reports.class);

	@AfterEach
	void clear() {
		MDC.clear();
	}

	@Test
	void guardedMethod() {
		this.contextRunner.run((context) -> {
			assertThat(reports(context).create()).isEqualTo(expected(context, "default"));
			assertThat(mdc()).isEmpty();
		});
	}

	@Test
	void isRestoredAfterAFailureAndOtherKeysAreKept() {
		this.contextRunner.run((context) -> {
			MDC.put("user", "ada");
			MDC.put("leader.term", "mine");
			assertThatIllegalStateException().isThrownBy(reports(context)::fail);
			assertThat(mdc()).containsExactlyInAnyOrderEntriesOf(Map.of("user", "ada", "leader.term", "mine"));
		});
	}

	@Test
	void nestedWorkOfAnotherElection() {
		this.contextRunner.run((context) -> {
			LeaderElector elector = context.getBean(LeaderElectors.class).getDefault();
			assertThat(elector.runIfLeader(() -> {
				assertThat(mdc()).isEqualTo(expected(context, "default"));
				assertThat(reports(context).createOther()).isEqualTo(expected(context, "reports"));
				assertThat(mdc()).isEqualTo(expected(context, "default"));
			})).isTrue();
			assertThat(mdc()).isEmpty();
		});
	}

	@Test
	void threadOfAFutureHasNoKeysAfterTheMethodHasReturned() {
		this.contextRunner.run((context) -> {
			CompletableFuture<Map<String, String>> future = reports(context).future();
			assertThat(mdc()).isEmpty();
			future.complete(Map.of());
			assertThat(mdc()).isEmpty();
		});
	}

	@Test
	void publisherHasKeysOnTheThreadOfTheSubscriptionOnly() {
		this.contextRunner.run((context) -> {
			assertThat(reports(context).mono().block()).isEqualTo(expected(context, "default"));
			assertThat(reports(context).mono()
				.delaySubscription(Duration.ofMillis(1))
				.toFuture()
				.get(10, TimeUnit.SECONDS)).isEqualTo(expected(context, "default"));
			assertThat(reports(context).hopping().block()).isEmpty();
			assertThat(mdc()).isEmpty();
		});
	}

	@Test
	void patternOfLogback() {
		LoggerContext loggers = (LoggerContext) LoggerFactory.getILoggerFactory();
		PatternLayout layout = new PatternLayout();
		layout.setContext(loggers);
		layout.setPattern("[%X{leader.election:-} %X{leader.term:-}] %msg");
		layout.start();
		Logger logger = loggers.getLogger("shop");
		this.contextRunner.run((context) -> {
			LeaderElector elector = context.getBean(LeaderElectors.class).getDefault();
			elector.runWithLeadership((leadership) -> assertThat(
					layout.doLayout(new LoggingEvent("shop", logger, Level.INFO, "sent", null, null)))
				.isEqualTo("[default " + leadership.getTerm() + "] sent"));
			assertThat(layout.doLayout(new LoggingEvent("shop", logger, Level.INFO, "sent", null, null)))
				.isEqualTo("[ ] sent");
		});
	}

	@Test
	void skippedCallHasNoEffect() {
		this.contextRunner.withPropertyValues("leader-election.candidate=false").run((context) -> {
			assertThat(reports(context).create()).isNull();
			assertThat(mdc()).isEmpty();
		});
	}

	@Test
	void isOffByDefault() {
		this.off.withBean(Reports.class).run((context) -> assertThat(reports(context).create()).isEmpty());
	}

	@Test
	void needsSlf4j() {
		this.off.withPropertyValues("leader-election.mdc.enabled=true")
			.withClassLoader(new FilteredClassLoader("org.slf4j"))
			.run((context) -> assertThat(context).hasNotFailed().doesNotHaveBean(WorkObserver.class));
	}

	private static Map<String, String> expected(AssertableApplicationContext context, String election) {
		String term = context.getBean(LeaderElectors.class).get(election).getLeadership().getTerm().toString();
		return Map.of("leader.election", election, "leader.node", "web1", "leader.term", term);
	}

	private static Reports reports(AssertableApplicationContext context) {
		return context.getBean(Reports.class);
	}

	private static Map<String, String> mdc() {
		Map<String, String> mdc = MDC.getCopyOfContextMap();
		return (mdc != null) ? new TreeMap<>(mdc) : Map.of();
	}

	static class Reports {

		@LeaderOnly
		Map<String, String> create() {
			return mdc();
		}

		@LeaderOnly("reports")
		Map<String, String> createOther() {
			return mdc();
		}

		@LeaderOnly
		void fail() {
			throw new IllegalStateException("No paper");
		}

		@LeaderOnly
		CompletableFuture<Map<String, String>> future() {
			return new CompletableFuture<>();
		}

		@LeaderOnly
		Mono<Map<String, String>> mono() {
			return Mono.fromCallable(LeaderWorkMdcTests::mdc);
		}

		@LeaderOnly
		Mono<Map<String, String>> hopping() {
			return Mono.delay(Duration.ofMillis(1)).map((tick) -> mdc());
		}

	}

}
