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

import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;

import io.leaderelection.LeaderElector;
import io.leaderelection.Leadership;
import io.leaderelection.LeadershipGrantedEvent;
import io.leaderelection.annotation.LeaderOnly.NotLeaderPolicy;
import io.leaderelection.autoconfigure.LeaderElectionAutoConfiguration;
import io.leaderelection.engine.DefaultLeaderElector;
import io.leaderelection.engine.DefaultLeaderElectors;
import org.aopalliance.intercept.MethodInterceptor;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import reactor.core.publisher.Mono;
import reactor.core.publisher.Sinks;

import org.springframework.aop.framework.Advised;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.beans.factory.config.BeanDefinition;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.autoconfigure.aop.AopAutoConfiguration;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;
import org.springframework.context.ApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Lazy;
import org.springframework.context.annotation.Scope;
import org.springframework.context.annotation.ScopedProxyMode;
import org.springframework.context.event.EventListener;
import org.springframework.scheduling.annotation.Async;
import org.springframework.scheduling.annotation.EnableAsync;
import org.springframework.scheduling.concurrent.ThreadPoolTaskExecutor;
import org.springframework.test.util.ReflectionTestUtils;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;
import static org.mockito.BDDMockito.willReturn;
import static org.mockito.Mockito.spy;

/**
 * Tests for {@link LeaderOnly#runOnGrant()}.
 */
@ExtendWith(OutputCaptureExtension.class)
@Tag("ring1")
class RunOnGrantTests {

	private static final List<String> runs = new CopyOnWriteArrayList<>();

	private final ApplicationContextRunner contextRunner = new ApplicationContextRunner()
		.withConfiguration(AutoConfigurations.of(LeaderElectionAutoConfiguration.class, AopAutoConfiguration.class))
		.withPropertyValues("spring.application.name=test", "leader-election.mode=always",
				"leader-election.elections.reports.candidate=true");

	private final CountDownLatch started = new CountDownLatch(1);

	private final CountDownLatch finish = new CountDownLatch(1);

	RunOnGrantTests() {
		runs.clear();
	}

	@Test
	void runsOncePerGrantAsLeaderWorkOnAThreadOfItsOwn() {
		this.contextRunner.withBean(Job.class).run((context) -> {
			await().until(() -> runs.size() == 1);
			leadAgain(context, "default");
			await().until(() -> runs.size() == 2);
			assertThat(runs).containsOnly("leader-election-default-grant in a term");
		});
		assertThat(runs).hasSize(2);
	}

	@Test
	void runsForGrantsOfItsElectionOnly() {
		this.contextRunner.withUserConfiguration(reportsJob(new GeneratedJob())).run((context) -> {
			await().until(() -> runs.size() == 1);
			leadAgain(context, "default");
			leadAgain(context, "reports");
			await().until(() -> runs.size() == 2);
		});
		assertThat(runs).hasSize(2);
	}

	@Test
	void doesNotRunWithoutAGrant() {
		this.contextRunner
			.withPropertyValues("leader-election.candidate=false", "leader-election.elections.reports.candidate=false")
			.withBean(Job.class)
			.run((context) -> assertThat(context).hasNotFailed());
		assertThat(runs).isEmpty();
	}

	@Test
	void runsAfterTheListeners() {
		this.contextRunner.withBean(FailingListener.class)
			.withBean(Job.class)
			.run((context) -> await().until(() -> runs.size() == 2));
		assertThat(runs).containsExactly("listener", "leader-election-default-grant in a term");
	}

	@Test
	void slowRunDelaysNeitherEventsNorOtherRuns() {
		this.contextRunner.withUserConfiguration(slowJob(), reportsJob(new GeneratedJob())).run((context) -> {
			assertThat(this.started.await(10, TimeUnit.SECONDS)).isTrue();
			await().until(() -> runs.size() == 1);
			leadAgain(context, "reports");
			await().until(() -> runs.size() == 2);
			CompletableFuture<Boolean> handOver = elector(context, "default").resign();
			assertThat(handOver).isNotDone();
			this.finish.countDown();
			assertThat(handOver).succeedsWithin(10, TimeUnit.SECONDS).isEqualTo(true);
		});
	}

	@Test
	void callsExcludeEachOther() {
		this.contextRunner.withBean("slow", slowJob()).withBean(PendingJobs.class).run((context) -> {
			Object slow = context.getBean("slow");
			assertThat(this.started.await(10, TimeUnit.SECONDS)).isTrue();
			assertThat(CompletableFuture.runAsync(() -> ReflectionTestUtils.invokeMethod(slow, "run")))
				.succeedsWithin(10, TimeUnit.SECONDS);
			this.finish.countDown();
			PendingJobs jobs = context.getBean(PendingJobs.class);
			await().until(() -> runs.size() == 2);
			assertThat(jobs.stage()).isCompleted();
			assertThat(jobs.publisher().blockOptional()).isEmpty();
			assertThat(runs).containsOnlyOnce("stage", "publisher");
			jobs.end().complete("end");
			await().untilAsserted(() -> assertThat(jobs.publisher().block()).isEqualTo("end"));
			assertThat(jobs.publisher().repeatWhen((ended) -> ended.take(2)).collectList().block()).hasSize(3);
			await().untilAsserted(() -> assertThat(jobs.stage()).isCompletedWithValue("end"));
			await().until(() -> jobs.pending().size() == 1);
			jobs.pending().remove(0).complete("granted");
			CompletableFuture<String> chained = jobs.later()
				.thenCompose((result) -> jobs.later())
				.toCompletableFuture();
			jobs.pending().remove(0).complete("first");
			jobs.pending().remove(0).complete("second");
			assertThat(chained).isCompletedWithValue("second");
		});
	}

	/**
	 * Work that is interrupted, but does not end.
	 */
	@Test
	void callOfAnEarlierTermExcludesNoRun() {
		this.contextRunner.withPropertyValues("leader-election.drain-timeout=100ms")
			.withBean(PendingJobs.class)
			.run((context) -> {
				await().until(() -> runs.size() == 2);
				leadAgain(context, "default");
				await().until(() -> runs.size() == 4);
				context.getBean(PendingJobs.class).end().complete("end");
			});
	}

	@Test
	void runGoesThroughTheProxyWithAllItsAdvice() {
		this.contextRunner.withUserConfiguration(AsyncConfiguration.class)
			.withBean(AsyncJob.class)
			.run((context) -> await().until(() -> runs.size() == 1));
		assertThat(runs).containsExactly("async-1 in a term");
	}

	@ParameterizedTest
	@MethodSource
	void runsOnceHowever(Class<?> job) {
		this.contextRunner.withUserConfiguration(job).run((context) -> await().until(() -> runs.size() == 1));
	}

	static Stream<Arguments> runsOnceHowever() {
		return Stream.of(Arguments.argumentSet("publisher that is subscribed to", reactiveJob()),
				Arguments.argumentSet("lazy bean that is created for its run",
						reportsJob(new GeneratedJob().inClassWith(Lazy.class))),
				Arguments.argumentSet("target of a scoped proxy",
						reportsJob(new GeneratedJob().inClassWith(GeneratedJob.annotation(Scope.class)
							.define("scopeName", BeanDefinition.SCOPE_PROTOTYPE)
							.define("proxyMode", ScopedProxyMode.TARGET_CLASS)))));
	}

	@Test
	void failuresAreLoggedAndEndangerNothing(CapturedOutput output) {
		IllegalStateException failure = new IllegalStateException("test");
		Class<?>[] failing = { onGrant(new GeneratedJob().doing(() -> {
			throw failure;
		})), onGrant(new GeneratedJob().returning(CompletableFuture.class)
			.doing(() -> CompletableFuture.failedFuture(failure))),
				onGrant(new GeneratedJob().returning(Mono.class).doing(() -> Mono.error(failure))) };
		this.contextRunner.withUserConfiguration(failing).withBean(Job.class).run((context) -> {
			await().until(() -> runs.size() == 1);
			for (Class<?> type : failing) {
				await().untilAsserted(() -> assertThat(output)
					.contains("Method '" + type.getName() + ".run()' failed when run on grant"));
			}
			assertThat(elector(context, "default").isLeader()).isTrue();
			assertThat(elector(context, "default").resign()).succeedsWithin(10, TimeUnit.SECONDS).isEqualTo(true);
		});
	}

	/**
	 * Also if the node leads again by then: that grant has a run of its own.
	 */
	@Test
	void runOfATermThatIsOverIsSkipped() {
		this.contextRunner.withBean(Job.class).run((context) -> {
			await().until(() -> runs.size() == 1);
			Leadership first = elector(context, "default").getLeadership();
			leadAgain(context, "default");
			await().until(() -> runs.size() == 2);
			runToItsEnd(context, first);
			assertThat(runs).hasSize(2);
			runToItsEnd(context, elector(context, "default").getLeadership());
			assertThat(runs).hasSize(3);
		});
	}

	/**
	 * Leadership that is lost and granted again while a run begins.
	 */
	@Test
	void runOfATermThatEndsAsItBeginsIsSkipped() {
		this.contextRunner.withBean(Job.class).run((context) -> {
			await().until(() -> runs.size() == 1);
			Leadership first = spy(elector(context, "default").getLeadership());
			leadAgain(context, "default");
			await().until(() -> runs.size() == 2);
			willReturn(true).given(first).isCurrent();
			runToItsEnd(context, first);
		});
		assertThat(runs).hasSize(2);
	}

	@Test
	void asynchronousRunThatHasNotBegunIsSkippedInTheNextTerm() {
		this.contextRunner.withUserConfiguration(AsyncConfiguration.class)
			.withPropertyValues("leader-election.drain-timeout=100ms")
			.withBean(AsyncJob.class)
			.run((context) -> {
				await().until(() -> runs.size() == 1);
				ThreadPoolTaskExecutor executor = context.getBean(ThreadPoolTaskExecutor.class);
				CountDownLatch busy = new CountDownLatch(1);
				executor.execute(() -> await().until(() -> busy.getCount() == 0));
				leadAgain(context, "default");
				await().until(() -> executor.getQueueSize() == 1);
				leadAgain(context, "default");
				await().until(() -> executor.getQueueSize() == 2);
				busy.countDown();
				await().until(() -> executor.getActiveCount() == 0 && executor.getQueueSize() == 0);
			});
		assertThat(runs).hasSize(2);
	}

	/**
	 * As by a retry, or another interceptor around the guard.
	 */
	@Test
	void publisherThatIsSubscribedToLateIsSkippedInTheNextTerm() {
		AtomicInteger calls = new AtomicInteger();
		Sinks.Empty<Void> go = Sinks.empty();
		this.contextRunner.withBean("job", reactiveJob()).run((context) -> {
			await().until(() -> runs.size() == 1);
			((Advised) context.getBean("job")).addAdvice(0, (MethodInterceptor) (invocation) -> {
				calls.incrementAndGet();
				return ((Mono<?>) invocation.proceed()).delaySubscription(go.asMono());
			});
			leadAgain(context, "default");
			await().until(() -> calls.get() == 1);
			leadAgain(context, "default");
			await().until(() -> calls.get() == 2);
			go.tryEmitEmpty();
			await().until(() -> runs.size() == 2);
		});
		assertThat(runs).hasSize(2);
	}

	@Test
	void runIsSkippedIfTheNodeDoesNotLeadByThen(CapturedOutput output) {
		Class<?> rejected = new GeneratedJob().doing(() -> runs.add("rejected"))
			.with(GeneratedJob.annotation(LeaderOnly.class)
				.define("policy", NotLeaderPolicy.REJECT)
				.define("runOnGrant", true));
		this.contextRunner.withBean(rejected).run((context) -> {
			await().until(() -> runs.size() == 1);
			Leadership leadership = elector(context, "default").getLeadership();
			elector(context, "default").stop().join();
			runToItsEnd(context, leadership);
		});
		assertThat(runs).hasSize(1);
		assertThat(output).doesNotContain("failed when run on grant");
	}

	private static Class<?> onGrant(GeneratedJob job) {
		return job.with(GeneratedJob.annotation(LeaderOnly.class).define("runOnGrant", true));
	}

	private static Class<?> reportsJob(GeneratedJob job) {
		return job.doing(() -> runs.add("reports"))
			.with(GeneratedJob.annotation(LeaderOnly.class).define("election", "reports").define("runOnGrant", true));
	}

	private static Class<?> reactiveJob() {
		return onGrant(
				new GeneratedJob().returning(Mono.class).doing(() -> Mono.fromCallable(() -> runs.add("reactive"))));
	}

	private Class<?> slowJob() {
		return onGrant(new GeneratedJob().doing(() -> {
			this.started.countDown();
			await().until(() -> this.finish.getCount() == 0);
			return null;
		}));
	}

	private static void leadAgain(ApplicationContext context, String election) {
		elector(context, election).stop().join();
		elector(context, election).start().join();
	}

	private static void runToItsEnd(ApplicationContext context, Leadership leadership) {
		Set<Thread> before = Thread.getAllStackTraces().keySet();
		context.getBean(LeaderOnlyBeanPostProcessor.class).runOnGrant(leadership);
		Thread.getAllStackTraces()
			.keySet()
			.stream()
			.filter((thread) -> !before.contains(thread) && thread.getName().endsWith("-grant"))
			.forEach(RunOnGrantTests::join);
	}

	private static void join(Thread thread) {
		try {
			thread.join(TimeUnit.SECONDS.toMillis(10));
		}
		catch (InterruptedException ex) {
			throw new IllegalStateException(ex);
		}
		assertThat(thread.isAlive()).isFalse();
	}

	private static DefaultLeaderElector elector(ApplicationContext context, String election) {
		return context.getBean(DefaultLeaderElectors.class).get(election);
	}

	private static void ran(LeaderElector elector) {
		runs.add(Thread.currentThread().getName()
				+ ((elector.getWorkLeadership() != null) ? " in a term" : " outside of any term"));
	}

	static class Job {

		private final ObjectProvider<LeaderElector> elector;

		Job(ObjectProvider<LeaderElector> elector) {
			this.elector = elector;
		}

		@LeaderOnly(runOnGrant = true)
		CompletableFuture<Void> run() {
			ran(this.elector.getObject());
			return CompletableFuture.completedFuture(null);
		}

		@LeaderOnly
		void other() {
			runs.add("other");
		}

	}

	static class AsyncJob extends Job {

		AsyncJob(ObjectProvider<LeaderElector> elector) {
			super(elector);
		}

		@Async
		@Override
		@LeaderOnly(runOnGrant = true)
		CompletableFuture<Void> run() {
			return super.run();
		}

	}

	static class PendingJobs {

		private final CompletableFuture<String> end = new CompletableFuture<>();

		private final List<CompletableFuture<String>> later = new CopyOnWriteArrayList<>();

		@LeaderOnly(runOnGrant = true)
		CompletionStage<String> stage() {
			runs.add("stage");
			// Cannot be cancelled
			return this.end.minimalCompletionStage();
		}

		@LeaderOnly(runOnGrant = true)
		Mono<String> publisher() {
			runs.add("publisher");
			return Mono.fromFuture(this.end, true);
		}

		@LeaderOnly(runOnGrant = true)
		CompletionStage<String> later() {
			CompletableFuture<String> result = new CompletableFuture<>();
			this.later.add(result);
			return result;
		}

		CompletableFuture<String> end() {
			return this.end;
		}

		List<CompletableFuture<String>> pending() {
			return this.later;
		}

	}

	static class FailingListener {

		@EventListener
		void granted(LeadershipGrantedEvent event) {
			if (event.getLeadership().getElection().equals("default")) {
				runs.add("listener");
				throw new IllegalStateException("test");
			}
		}

	}

	@Configuration(proxyBeanMethods = false)
	@EnableAsync
	static class AsyncConfiguration {

		@Bean
		ThreadPoolTaskExecutor taskExecutor() {
			ThreadPoolTaskExecutor executor = new ThreadPoolTaskExecutor();
			executor.setThreadNamePrefix("async-");
			return executor;
		}

	}

}
