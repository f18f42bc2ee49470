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

import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.reflect.Method;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.Supplier;
import java.util.stream.Stream;

import io.leaderelection.Leadership;
import io.leaderelection.LeadershipGrantedEvent;
import io.leaderelection.annotation.WorkAdvisor.Advice;
import io.leaderelection.annotation.WorkAdvisor.AdvisedBy;
import io.leaderelection.autoconfigure.LeaderElectionAutoConfiguration;
import io.leaderelection.engine.Work;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import reactor.core.publisher.Mono;

import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.autoconfigure.aop.AopAutoConfiguration;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.context.event.EventListener;
import org.springframework.core.annotation.AliasFor;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Tests for methods whose annotation is {@link AdvisedBy}, with advice that only records.
 */
@Tag("ring1")
class WorkAdviceTests {

	private static final List<String> calls = new CopyOnWriteArrayList<>();

	WorkAdviceTests() {
		calls.clear();
	}

	private static ApplicationContextRunner contextRunner(boolean candidate) {
		return new ApplicationContextRunner()
			.withConfiguration(AutoConfigurations.of(LeaderElectionAutoConfiguration.class, AopAutoConfiguration.class))
			.withPropertyValues("spring.application.name=test", "leader-election.mode=always",
					"leader-election.candidate=" + candidate, "leader-election.elections.reports.candidate=true");
	}

	private static ApplicationContextRunner leader(Class<?> job) {
		return contextRunner(true).withBean(RecordingAdvisor.class).withBean(job);
	}

	private static void awaitCalls(String... expected) {
		await().untilAsserted(() -> assertThat(calls).containsExactly(expected));
		calls.clear();
	}

	@Test
	void adviceReceivesAGrantAroundTheListenersAndGoesAroundACall() {
		leader(Job.class).run((context) -> {
			awaitCalls("check run", "register default", "granted default", "listener", "run on grant");
			assertThat(context.getBean(Job.class).run()).isEqualTo("ran");
			awaitCalls("call", "method", "called");
		});
	}

	@Test
	void callThatTheAdviceSkipsHasAnEmptyResult() {
		leader(Job.class).run((context) -> {
			context.getBean(RecordingAdvisor.class).skips = true;
			assertThat(context.getBean(Job.class).run()).isNull();
			assertThat(calls).doesNotContain("method");
		});
	}

	@Test
	void adviceIsNotCalledOnAFollower() {
		contextRunner(false).withBean(RecordingAdvisor.class).withBean(Job.class).run((context) -> {
			assertThat(context.getBean(Job.class).run()).isNull();
			awaitCalls("check run", "register default");
		});
	}

	@Test
	void adviceGoesAroundASubscription() {
		leader(ReactiveJob.class).run((context) -> {
			awaitCalls("check run", "register default", "granted default", "run on grant");
			Mono<String> mono = context.getBean(ReactiveJob.class).run();
			assertThat(calls).isEmpty();
			assertThat(mono.block()).isEqualTo("value");
			awaitCalls("begin", "invoke", "method", "end null");
			context.getBean(RecordingAdvisor.class).skips = true;
			assertThat(mono.block()).isNull();
			awaitCalls("begin");
		});
	}

	/**
	 * That of the annotation, that of the class, and a declared one rather than the
	 * implied one.
	 */
	static Stream<Class<?>> electionIsTheDeclaredOne() {
		return Stream.of(new GeneratedJob().with(GeneratedJob.annotation(Recorded.class).define("election", "reports")),
				new GeneratedJob().inClassWith(Reports.class).with(Recorded.class),
				new GeneratedJob().with(Recorded.class, Reports.class),
				new GeneratedJob().with(Reports.class, Recorded.class));
	}

	@ParameterizedTest
	@MethodSource
	void electionIsTheDeclaredOne(Class<?> type) {
		leader(type).run((context) -> assertThat(calls).contains("register reports"));
	}

	@Test
	void annotationWithoutItsAdvisorIsRejected() {
		LeaderOnlyRejectionTests.assertRejected(contextRunner(true).withBean(Job.class),
				"Method 'Job.run()' is annotated with @Recorded, but there is no bean of type 'RecordingAdvisor'.",
				"Add @EnableAutoConfiguration to a configuration class without excluding what declares the bean, or declare it.");
	}

	@Retention(RetentionPolicy.RUNTIME)
	@LeaderOnly
	@AdvisedBy(value = RecordingAdvisor.class, description = "record")
	@interface Recorded {

		@AliasFor(annotation = LeaderOnly.class, attribute = "election")
		String election() default "";

	}

	@Retention(RetentionPolicy.RUNTIME)
	@LeaderOnly("reports")
	@interface Reports {

	}

	static class Job {

		@Recorded
		@Nullable String run() {
			calls.add("method");
			return "ran";
		}

		@EventListener
		void granted(LeadershipGrantedEvent event) {
			if (event.getLeadership().getElection().equals("default")) {
				calls.add("listener");
			}
		}

	}

	static class ReactiveJob {

		@Recorded
		Mono<String> run() {
			calls.add("method");
			return Mono.deferContextual((context) -> Mono.just(context.get("key")));
		}

	}

	static class RecordingAdvisor implements WorkAdvisor {

		private volatile boolean skips;

		@Override
		public void check(Method method, String description, Usage usage) {
			calls.add("check " + method.getName());
		}

		@Override
		public Advice advise(Method method, Class<?> type, String description) {
			return new RecordingAdvice(() -> this.skips);
		}

	}

	private record RecordingAdvice(Supplier<Boolean> skips) implements Advice, Advice.Run {

		@Override
		public void register(String election) {
			calls.add("register " + election);
		}

		@Override
		public void granted(Leadership leadership, Runnable run) {
			calls.add("granted " + leadership.getElection());
		}

		@Override
		public void runOnGrant() {
			calls.add("run on grant");
		}

		@Override
		public @Nullable Object call(Work work, Invocation invocation, Invocation skipped) throws Throwable {
			if (this.skips.get()) {
				return skipped.proceed();
			}
			calls.add("call");
			Object result = invocation.proceed();
			calls.add("called");
			return result;
		}

		@Override
		public @Nullable Run begin(Leadership leadership) {
			calls.add("begin");
			return this.skips.get() ? null : this;
		}

		@Override
		public Map<?, ?> context() {
			return Map.of("key", "value");
		}

		@Override
		public @Nullable Object invoke(Invocation invocation) throws Throwable {
			calls.add("invoke");
			return invocation.proceed();
		}

		@Override
		public void end(@Nullable Throwable failure) {
			calls.add("end " + failure);
		}

	}

}
