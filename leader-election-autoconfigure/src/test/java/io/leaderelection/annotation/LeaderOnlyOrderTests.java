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
import java.util.concurrent.Executor;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;

import io.leaderelection.LeaderElector;
import io.leaderelection.Leadership;
import io.leaderelection.NotLeaderException;
import io.leaderelection.annotation.LeaderOnly.NotLeaderPolicy;
import io.leaderelection.annotation.LeaderOnlyReferenceTests.Factory;
import io.leaderelection.engine.DefaultLeaderElector;
import net.bytebuddy.description.annotation.AnnotationDescription;
import org.aopalliance.intercept.MethodInterceptor;
import org.aopalliance.intercept.MethodInvocation;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import org.springframework.aop.ProxyMethodInvocation;
import org.springframework.aop.framework.Advised;
import org.springframework.aop.framework.ProxyFactory;
import org.springframework.aop.support.AopUtils;
import org.springframework.beans.factory.config.BeanPostProcessor;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.context.ApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;
import org.springframework.integration.transaction.PseudoTransactionManager;
import org.springframework.retry.annotation.Backoff;
import org.springframework.retry.annotation.RetryConfiguration;
import org.springframework.retry.annotation.Retryable;
import org.springframework.scheduling.annotation.Async;
import org.springframework.scheduling.annotation.EnableAsync;
import org.springframework.scheduling.annotation.EnableScheduling;
import org.springframework.scheduling.annotation.Scheduled;
import org.springframework.scheduling.annotation.ScheduledAnnotationBeanPostProcessor;
import org.springframework.scheduling.concurrent.ThreadPoolTaskExecutor;
import org.springframework.scheduling.config.TaskManagementConfigUtils;
import org.springframework.transaction.PlatformTransactionManager;
import org.springframework.transaction.TransactionDefinition;
import org.springframework.transaction.annotation.EnableTransactionManagement;
import org.springframework.transaction.annotation.Transactional;
import org.springframework.transaction.interceptor.TransactionInterceptor;
import org.springframework.transaction.support.TransactionSynchronizationManager;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

/**
 * Tests for {@link LeaderOnly @LeaderOnly} among the annotations of Spring.
 */
@Timeout(60)
@Tag("ring1")
class LeaderOnlyOrderTests {

	private final ApplicationContextRunner leader = withJobs(TestElections.leader());

	private final ApplicationContextRunner follower = withJobs(TestElections.follower());

	private final ApplicationContextRunner manual = withJobs(TestElections.manual());

	private static ApplicationContextRunner withJobs(ApplicationContextRunner contextRunner) {
		return contextRunner.withUserConfiguration(SpringAnnotations.class).withBean("jobs", Jobs.class);
	}

	@Test
	void adviceIsAsyncThenLeaderOnlyThenTransaction() {
		this.leader.run((context) -> assertThat(advice(context)).containsExactly("AnnotationAsyncExecutionInterceptor",
				"LeaderOnlyInterceptor", "TransactionInterceptor"));
	}

	@Test
	void checkHappensOnTheAsyncThread() {
		this.leader.run((context) -> {
			Work work = context.getBean(Jobs.class).async(TestElections.elector(context)).get();
			assertThat(work.thread()).startsWith("async-");
			assertThat(work.guarded()).isTrue();
		});
	}

	@Test
	void guardIsBehindAsyncAdviceOfAnyOrder() {
		this.leader.withUserConfiguration(EarlyAsync.class).run((context) -> {
			assertThat(advice(context)).containsExactly("AnnotationAsyncExecutionInterceptor", "LeaderOnlyInterceptor",
					"TransactionInterceptor");
			assertThat(context.getBean(Jobs.class).async(TestElections.elector(context)).get().guarded()).isTrue();
		});
	}

	@Test
	void asyncMethodThatIsWovenIsRefused() {
		this.leader.withBean(TaskManagementConfigUtils.ASYNC_EXECUTION_ASPECT_BEAN_NAME, Object.class)
			.run((context) -> assertThat(context).getFailure()
				.rootCause()
				.hasMessageContaining("Jobs.async(LeaderElector)'")
				.hasMessageContaining("mode = PROXY"));
	}

	@Test
	void workThatOtherAdviceMovesToAnotherThreadIsGuardedThere() {
		workIsGuardedBehind((invocation) -> CompletableFuture.supplyAsync(() -> proceed(invocation)).join());
		// Even if it is a kind of transaction
		workIsGuardedBehind(new TransactionInterceptor() {

			@Override
			public Object invoke(MethodInvocation invocation) {
				return CompletableFuture.supplyAsync(() -> proceed(invocation)).join();
			}

		});
	}

	private void workIsGuardedBehind(MethodInterceptor moving) {
		this.leader.withBean(AppendedAdvice.class, () -> new AppendedAdvice(moving))
			.withBean("lazy", Jobs.class, Jobs::new, (definition) -> {
				definition.setLazyInit(true);
				definition.setAutowireCandidate(false);
			})
			.run((context) -> {
				Work work = context.getBean(Jobs.class).here(TestElections.elector(context)).get();
				assertThat(work.guarded()).isTrue();
				assertThat(work.thread()).isNotEqualTo(Thread.currentThread().getName());
				// Also if the bean is created later
				assertThat(context.getBean("lazy", Jobs.class).here(TestElections.elector(context)).get().guarded())
					.isTrue();
			});
	}

	@ParameterizedTest
	@ValueSource(booleans = { true, false })
	void workOfAProxyOfTheApplicationIsGuardedOnItsThread(boolean created) {
		MethodInterceptor moving = (invocation) -> CompletableFuture.supplyAsync(() -> proceed(invocation)).join();
		ApplicationContextRunner runner = TestElections.leader().withUserConfiguration(SpringAnnotations.class);
		(created ? runner.withBean("jobs", Jobs.class, () -> {
			ProxyFactory proxyFactory = new ProxyFactory(new Jobs());
			proxyFactory.setProxyTargetClass(true);
			proxyFactory.addAdvice(moving);
			return (Jobs) proxyFactory.getProxy();
		}) : runner.withBean("jobs", Factory.class, () -> new Factory<>(Jobs.class))
			.withBean(AppendedAdvice.class, () -> new AppendedAdvice(moving)))
			.run((context) -> assertThat(
					context.getBean("jobs", Jobs.class).here(TestElections.elector(context)).get().guarded())
				.isTrue());
	}

	@Test
	void otherAdviceIsNotAppliedToSkippedCalls() {
		AtomicInteger calls = new AtomicInteger();
		MethodInterceptor counting = (invocation) -> {
			calls.incrementAndGet();
			return invocation.proceed();
		};
		this.follower.withUserConfiguration(SpringRetry.class)
			.withBean(AppendedAdvice.class, () -> new AppendedAdvice(counting))
			.run((context) -> assertThat(context.getBean(Jobs.class).retried(() -> {
			})).isNull());
		assertThat(calls).hasValue(0);
	}

	@Test
	void attemptThatOtherAdviceMakesAfterLossOfLeadershipIsSkipped() {
		MethodInterceptor repeating = (invocation) -> {
			proceed(((ProxyMethodInvocation) invocation).invocableClone());
			lose((DefaultLeaderElector) invocation.getArguments()[0]);
			return invocation.proceed();
		};
		this.manual.withBean(AppendedAdvice.class, () -> new AppendedAdvice(repeating))
			.run((context) -> assertThat(context.getBean(Jobs.class).here(TestElections.elector(context)).get())
				.isNull());
	}

	@Test
	void attemptOfSpringRetryAfterLossOfLeadershipIsSkipped() {
		attemptsOfSpringRetry(this.manual.withUserConfiguration(SpringRetry.class),
				"AnnotationAsyncExecutionInterceptor", "AnnotationAwareRetryOperationsInterceptor",
				"LeaderOnlyInterceptor", "TransactionInterceptor");
		attemptsOfSpringRetry(this.manual.withUserConfiguration(SpringRetry.class, EarlyTransactions.class),
				"AnnotationAsyncExecutionInterceptor", "LeaderOnlyInterceptor", "TransactionInterceptor",
				"AnnotationAwareRetryOperationsInterceptor", "LeaderOnlyInterceptor");
	}

	private static void attemptsOfSpringRetry(ApplicationContextRunner contextRunner, String... order) {
		contextRunner.run((context) -> {
			assertThat(advice(context)).containsExactly(order);
			assertThat(context.getBean(Jobs.class).retried(() -> lose(TestElections.elector(context)))).isNull();
			assertThat(begun(context)).isEqualTo(1);
		});
	}

	private static void lose(DefaultLeaderElector elector) {
		Leadership leadership = elector.getWorkLeadership();
		TestElections.lose(elector);
		// As work that takes its interrupt
		while (leadership.isCurrent() || !Thread.interrupted()) {
			Thread.onSpinWait();
		}
	}

	private static Object proceed(MethodInvocation invocation) {
		try {
			return invocation.proceed();
		}
		catch (Throwable ex) {
			throw new IllegalStateException(ex);
		}
	}

	@Test
	void asyncMethodIsSkippedOrRejectedThroughItsFuture() {
		this.follower.run((context) -> {
			Jobs jobs = context.getBean(Jobs.class);
			assertThat(jobs.async(TestElections.elector(context))).succeedsWithin(Duration.ofSeconds(5)).isNull();
			assertThat(jobs.asyncRejected()).failsWithin(Duration.ofSeconds(5))
				.withThrowableThat()
				.withCauseInstanceOf(NotLeaderException.class);
		});
	}

	@Test
	void leaderRunsInsideTransaction() {
		this.leader.run((context) -> {
			assertThat(context.getBean(Jobs.class).transactional()).isTrue();
			assertThat(begun(context)).isEqualTo(1);
		});
	}

	@Test
	void skippedOrRejectedCallBeginsNoTransaction() {
		this.follower.run((context) -> {
			Jobs jobs = context.getBean(Jobs.class);
			assertThat(jobs.transactional()).isNull();
			assertThatExceptionOfType(NotLeaderException.class).isThrownBy(jobs::transactionalRejected);
			assertThat(begun(context)).isZero();
		});
	}

	@Test
	void scheduledMethodGoesThroughTheGuard() {
		List<String> calls = new ArrayList<>();
		Class<?>[] jobs = {
				new GeneratedJob().doing(() -> calls.add("job"))
					.with(GeneratedJob.annotation(LeaderOnly.class), hourly()),
				new GeneratedJob().doing(() -> calls.add("heartbeat")).with(hourly()),
				new GeneratedJob().inClassWith(LeaderOnly.class).doing(() -> calls.add("class")).with(hourly()) };
		this.leader.withUserConfiguration(jobs).run(LeaderOnlyOrderTests::tick);
		assertThat(calls).containsExactlyInAnyOrder("job", "heartbeat", "class");
		calls.clear();
		this.follower.withUserConfiguration(jobs).run(LeaderOnlyOrderTests::tick);
		assertThat(calls).containsExactly("heartbeat");
	}

	static AnnotationDescription.Builder hourly() {
		return GeneratedJob.annotation(Scheduled.class)
			.define("fixedRate", 3600_000L)
			.define("initialDelay", 3600_000L);
	}

	/**
	 * Does what the scheduler would do in an hour.
	 */
	static void tick(ApplicationContext context) {
		context.getBean(ScheduledAnnotationBeanPostProcessor.class)
			.getScheduledTasks()
			.forEach((task) -> task.getTask().getRunnable().run());
	}

	/**
	 * Return the advice of the jobs, in the order of a call.
	 */
	static Stream<String> advice(ApplicationContext context) {
		return Stream.of(((Advised) context.getBean("jobs")).getAdvisors())
			.map((advisor) -> advisor.getAdvice().getClass().getSimpleName());
	}

	static int begun(ApplicationContext context) {
		return context.getBean(CountingTransactionManager.class).begun.get();
	}

	record Work(String thread, boolean guarded, boolean inTransaction) {

		static Work current(LeaderElector elector) {
			return new Work(Thread.currentThread().getName(), elector.getWorkLeadership() != null,
					TransactionSynchronizationManager.isActualTransactionActive());
		}

	}

	static class Jobs {

		@Async
		@LeaderOnly
		CompletableFuture<Work> async(LeaderElector elector) {
			return CompletableFuture.completedFuture(Work.current(elector));
		}

		@Retryable(backoff = @Backoff(delay = 1))
		@Transactional
		@LeaderOnly
		String retried(Runnable beforeFailure) {
			beforeFailure.run();
			throw new IllegalStateException("attempt");
		}

		@LeaderOnly
		CompletableFuture<Work> here(LeaderElector elector) {
			return CompletableFuture.completedFuture(Work.current(elector));
		}

		@Async
		@LeaderOnly(policy = NotLeaderPolicy.REJECT)
		CompletableFuture<String> asyncRejected() {
			return CompletableFuture.completedFuture("ran");
		}

		@Transactional
		@LeaderOnly
		Boolean transactional() {
			return TransactionSynchronizationManager.isActualTransactionActive();
		}

		@Transactional
		@LeaderOnly(policy = NotLeaderPolicy.REJECT)
		void transactionalRejected() {
		}

	}

	@Configuration(proxyBeanMethods = false)
	@EnableAsync
	@EnableScheduling
	@EnableTransactionManagement
	static class SpringAnnotations {

		@Bean
		Executor taskExecutor() {
			ThreadPoolTaskExecutor executor = new ThreadPoolTaskExecutor();
			executor.setThreadNamePrefix("async-");
			return executor;
		}

		@Bean
		PlatformTransactionManager transactionManager() {
			return new CountingTransactionManager();
		}

	}

	@Configuration(proxyBeanMethods = false)
	@Import(RetryConfiguration.class)
	static class SpringRetry {

	}

	@Configuration(proxyBeanMethods = false)
	@EnableTransactionManagement(order = 0)
	static class EarlyTransactions {

	}

	@Configuration(proxyBeanMethods = false)
	@EnableAsync(order = 0)
	static class EarlyAsync {

	}

	/** Appends advice to the proxies that all other processors have created. */
	record AppendedAdvice(MethodInterceptor advice) implements BeanPostProcessor {

		@Override
		public Object postProcessAfterInitialization(Object bean, String beanName) {
			if (bean instanceof Advised advised && AopUtils.getTargetClass(bean) == Jobs.class) {
				advised.addAdvice(this.advice);
			}
			return bean;
		}

	}

	static class CountingTransactionManager extends PseudoTransactionManager {

		private final AtomicInteger begun = new AtomicInteger();

		@Override
		protected void doBegin(Object transaction, TransactionDefinition definition) {
			this.begun.incrementAndGet();
		}

	}

}
