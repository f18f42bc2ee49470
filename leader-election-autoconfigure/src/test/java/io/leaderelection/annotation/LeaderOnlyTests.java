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

import java.io.IOException;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.TimerTask;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Flow;
import java.util.function.Consumer;
import java.util.function.Supplier;
import java.util.stream.Stream;

import io.leaderelection.LeaderElector;
import io.leaderelection.Leadership;
import io.leaderelection.LeadershipRevokedEvent;
import io.leaderelection.NotLeaderException;
import io.leaderelection.annotation.LeaderOnly.NotLeaderPolicy;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.binder.MeterBinder;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import jakarta.annotation.PostConstruct;
import org.aopalliance.intercept.MethodInterceptor;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.mockito.InOrder;

import org.springframework.aop.framework.Advised;
import org.springframework.aop.framework.ProxyFactory;
import org.springframework.aop.support.AopUtils;
import org.springframework.beans.factory.DisposableBean;
import org.springframework.beans.factory.InitializingBean;
import org.springframework.boot.ApplicationRunner;
import org.springframework.boot.DefaultApplicationArguments;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.context.ApplicationContext;
import org.springframework.context.ApplicationContextAware;
import org.springframework.context.ApplicationListener;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Scope;
import org.springframework.context.annotation.ScopedProxyMode;
import org.springframework.context.event.ContextRefreshedEvent;
import org.springframework.context.event.EventListener;
import org.springframework.context.event.SmartApplicationListener;
import org.springframework.context.support.GenericApplicationContext;
import org.springframework.core.Ordered;
import org.springframework.core.annotation.AliasFor;
import org.springframework.scheduling.annotation.SchedulingConfigurer;
import org.springframework.scheduling.config.ScheduledTaskRegistrar;
import org.springframework.test.util.ReflectionTestUtils;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.mockito.ArgumentMatchers.any;
import static org.mockito.BDDMockito.given;
import static org.mockito.BDDMockito.then;
import static org.mockito.Mockito.clearInvocations;
import static org.mockito.Mockito.inOrder;
import static org.mockito.Mockito.mock;
import static org.mockito.Mockito.never;

/**
 * Tests for {@link LeaderOnly @LeaderOnly}.
 */
@Tag("ring1")
class LeaderOnlyTests {

	private final ApplicationContextRunner leader = TestElections.leader();

	private final ApplicationContextRunner follower = TestElections.follower();

	/** A follower in the default election. */
	private final ApplicationContextRunner reports = TestElections.contextRunner()
		.withPropertyValues("test.leads=reports", "app.election=reports");

	@Test
	void leaderRunsMethod() {
		this.leader.withBean(Jobs.class).run((context) -> {
			Jobs jobs = context.getBean(Jobs.class);
			CompletableFuture<String> future = new CompletableFuture<>();
			jobs.run();
			assertThat(jobs.text()).isEqualTo("text");
			assertThat(jobs.future(future)).isSameAs(future);
			assertThat(jobs.rejectedPrimitive()).isEqualTo(42);
			assertThat(jobs.calls()).containsExactly("run", "text", "future", "rejectedPrimitive");
		});
	}

	@Test
	void leaderSeesTheLeadershipOfItsWork() {
		this.leader.withBean(Jobs.class).run((context) -> {
			LeaderElector elector = TestElections.elector(context);
			Jobs jobs = context.getBean(Jobs.class);
			assertThat(jobs.workLeadership(elector)).isNotNull().isSameAs(elector.getLeadership());
			assertThat(elector.getWorkLeadership()).isNull();
		});
	}

	@Test
	void exceptionOfWorkReachesTheCaller() {
		this.leader.withBean(Jobs.class).run((context) -> {
			LeaderElector elector = TestElections.elector(context);
			assertThatExceptionOfType(IOException.class).isThrownBy(() -> context.getBean(Jobs.class).fail())
				.withMessage("failed");
			assertThat(elector.getWorkLeadership()).isNull();
			assertThat(elector.resign()).succeedsWithin(Duration.ofSeconds(5));
		});
	}

	@Test
	void skippedFuturesAreNotShared() {
		this.follower.withBean(Jobs.class).run((context) -> {
			Jobs jobs = context.getBean(Jobs.class);
			assertThat(jobs.future(null)).isNotSameAs(jobs.future(null));
		});
	}

	@Test
	void followerRejectsWithElectionAndMethod() {
		this.follower.withBean(Jobs.class).run((context) -> {
			Jobs jobs = context.getBean(Jobs.class);
			assertThatExceptionOfType(NotLeaderException.class).isThrownBy(jobs::rejected)
				.withMessage("Method '" + Jobs.class.getName() + ".rejected()' runs only on the leader of election "
						+ "'default', and this node is not the leader")
				.satisfies((ex) -> assertThat(ex.getElection()).isEqualTo("default"));
			assertThatExceptionOfType(NotLeaderException.class).isThrownBy(jobs::rejectedPrimitive);
			assertThat(jobs.calls()).isEmpty();
		});
	}

	/**
	 * On a node that leads the election 'reports' only.
	 */
	@ParameterizedTest
	@MethodSource
	void electionIsThatOfTheAnnotation(Class<?> job, String outcome) {
		this.reports.withBean("job", job).run((context) -> assertThat(run(context)).isEqualTo(outcome));
	}

	static Stream<Arguments> electionIsThatOfTheAnnotation() {
		return Stream.of(Arguments.argumentSet("none", job().with(LeaderOnly.class), "skipped"),
				Arguments.argumentSet("none, rejecting",
						job().with(GeneratedJob.leaderOnly().define("policy", NotLeaderPolicy.REJECT)),
						"rejected by default"),
				Arguments.argumentSet("by its name", job().with(GeneratedJob.leaderOnly().define("value", "reports")),
						"ran"),
				Arguments.argumentSet("property",
						job().with(GeneratedJob.leaderOnly().define("value", "${app.election}")), "ran"),
				Arguments.argumentSet("default of a property",
						job().with(GeneratedJob.leaderOnly().define("election", "${app.other:reports}")), "ran"),
				Arguments.argumentSet("empty property",
						job().with(GeneratedJob.leaderOnly().define("value", "${app.other:}")), "skipped"),
				Arguments.argumentSet("composed annotation", job().with(ReportsLeaderOnly.class), "ran"),
				Arguments.argumentSet("composed annotation with another election",
						job().with(GeneratedJob.annotation(ReportsLeaderOnly.class).define("election", "default")),
						"rejected by default"),
				Arguments.argumentSet("composed annotation of the class",
						job().inClassWith(ReportsLeaderOnly.class).with(), "ran"));
	}

	private static GeneratedJob job() {
		return new GeneratedJob().returning(String.class).doing(() -> "ran");
	}

	private static String run(ApplicationContext context) {
		try {
			String result = ReflectionTestUtils.invokeMethod(context.getBean("job"), "run");
			return (result != null) ? result : "skipped";
		}
		catch (NotLeaderException ex) {
			return "rejected by " + ex.getElection();
		}
	}

	@Test
	void annotationOfClassGuardsMethodsOfAnyVisibilityAndInheritedOnes() {
		this.follower.withBean(ClassLevel.class).run((context) -> {
			ClassLevel bean = context.getBean(ClassLevel.class);
			assertThat(bean.publicMethod()).isNull();
			assertThat(bean.protectedMethod()).isNull();
			assertThat(bean.packagePrivateMethod()).isNull();
			assertThat(bean.inheritedMethod()).isNull();
		});
		this.leader.withBean(ClassLevel.class)
			.run((context) -> assertThat(context.getBean(ClassLevel.class).publicMethod()).isEqualTo("ran"));
	}

	@Test
	void annotationOfClassGuardsSubclass() {
		this.follower.withBean("job", job().extending(ClassLevel.class).with())
			.run((context) -> assertThat(run(context)).isEqualTo("skipped"));
	}

	@Test
	void annotationOfMethodGoesBeforeThatOfClass() {
		this.reports.withBean(ClassLevel.class).run((context) -> {
			ClassLevel bean = context.getBean(ClassLevel.class);
			assertThat(bean.publicMethod()).isNull();
			assertThat(bean.reports()).isEqualTo("ran");
		});
		this.follower.withBean(ClassLevel.class)
			.run((context) -> assertThatExceptionOfType(NotLeaderException.class)
				.isThrownBy(context.getBean(ClassLevel.class)::reports));
	}

	@Test
	void annotationOfClassDoesNotGuardCallbacks() {
		CallbackBean target = mock();
		given(target.toString()).willReturn("callbacks");
		given(target.getOrder()).willReturn(7);
		given(target.work()).willReturn("ran");
		this.follower.withBean(CallbackBean.class, () -> target).run((context) -> {
			CallbackBean bean = context.getBean(CallbackBean.class);
			assertThat(bean).hasToString("callbacks").isEqualTo(bean);
			assertThat(bean.getOrder()).isEqualTo(7);
			bean.setApplicationContext(context);
			bean.afterPropertiesSet();
			bean.close();
			bean.destroy();
			bean.revoked(null);
			assertThat(bean.work()).isNull();
			InOrder order = inOrder(target);
			then(target).should(order).setApplicationContext(any());
			then(target).should(order).postConstruct();
			then(target).should(order).afterPropertiesSet();
			then(target).should(order).setApplicationContext(context);
			then(target).should(order).afterPropertiesSet();
			then(target).should(order).close();
			then(target).should(order).destroy();
			then(target).should(order).revoked(null);
		});
	}

	@Test
	void annotationOfClassDoesNotCoverConfigurationByFrameworks() {
		ConfiguringBean target = mock();
		given(target.supportsEventType(any())).willReturn(true);
		this.follower.withBean(ConfiguringBean.class, () -> target).run((context) -> {
			ConfiguringBean bean = context.getBean(ConfiguringBean.class);
			clearInvocations(target);
			bean.configureTasks(new ScheduledTaskRegistrar());
			bean.bindTo(new SimpleMeterRegistry());
			assertThat(bean.compareTo(bean)).isZero();
			assertThat(bean.scheduledExecutionTime()).isZero();
			assertThat(bean.supportsEventType(ContextRefreshedEvent.class)).isTrue();
			bean.run();
			bean.run(new DefaultApplicationArguments());
			bean.accept("consumed");
			bean.onApplicationEvent(new ContextRefreshedEvent(context));
			bean.onNext("item");
			bean.explicit();
			then(target).should().configureTasks(any());
			then(target).should().bindTo(any());
			then(target).should().compareTo(any());
			then(target).should().scheduledExecutionTime();
			then(target).should().supportsEventType(any());
			then(target).shouldHaveNoMoreInteractions();
		});
	}

	@Test
	void annotationOfMethodCoversConfigurationByFrameworks() {
		AnnotatedBinder target = mock();
		this.follower.withBean(AnnotatedBinder.class, () -> target)
			.run((context) -> context.getBean(AnnotatedBinder.class).bindTo(new SimpleMeterRegistry()));
		then(target).should(never()).bindTo(any());
	}

	@Test
	void annotationOfClassGuardsListeners() {
		ListenerBean target = mock();
		this.follower.withBean(ListenerBean.class, () -> target).run((context) -> context.publishEvent("event"));
		then(target).should(never()).on(any());
		then(target).should(never()).onApplicationEvent(any());
		this.leader.withBean(ListenerBean.class, () -> target).run((context) -> context.publishEvent("event"));
		then(target).should().on("event");
		then(target).should().onApplicationEvent(any());
	}

	@Test
	void annotationOfInterfaceMethodGuardsImplementationBehindClassProxy() {
		this.follower.withBean(AnnotatedInterfaceJob.class).run((context) -> {
			assertThat(AopUtils.isCglibProxy(context.getBean(AnnotatedInterfaceJob.class))).isTrue();
			assertThat(context.getBean(AnnotatedInterfaceJob.class).run("x")).isNull();
			assertThat(context.getBean(AnnotatedInterface.class).run("x")).isNull();
		});
	}

	@Test
	void annotationOfGenericImplementationGuardsCallsByInterface() {
		this.follower.withBean(GenericJob.class).run((context) -> {
			Handler<String> handler = context.getBean(GenericJob.class);
			assertThat(handler.handle("x")).isEmpty();
		});
	}

	@Test
	void interfaceProxyGuards() {
		new ApplicationContextRunner().withUserConfiguration(TestElections.class)
			.withBean(AnnotatedInterface.class, AnnotatedInterfaceJob::new)
			.withBean("generic", Handler.class, GenericJob::new)
			.run((context) -> {
				assertThat(AopUtils.isJdkDynamicProxy(context.getBean(AnnotatedInterface.class))).isTrue();
				assertThat(context.getBean(AnnotatedInterface.class).run("x")).isNull();
				assertThat(((Handler<?>) context.getBean("generic")).handle(null)).isEmpty();
			});
	}

	@Test
	void lambdaOfAnnotatedInterfaceIsGuarded() {
		this.follower.withBean(AnnotatedInterface.class, () -> (argument) -> "ran")
			.run((context) -> assertThat(context.getBean(AnnotatedInterface.class).run("x")).isNull());
		this.leader.withBean(AnnotatedInterface.class, () -> (argument) -> "ran")
			.run((context) -> assertThat(context.getBean(AnnotatedInterface.class).run("x")).isEqualTo("ran"));
	}

	@Test
	void proxyOfAnnotatedInterfaceWithOtherTargetIsGuarded() {
		this.follower.withBean(AnnotatedInterface.class, () -> {
			ProxyFactory factory = new ProxyFactory(new Object());
			factory.addInterface(AnnotatedInterface.class);
			factory.addAdvice((MethodInterceptor) (invocation) -> "ran");
			return (AnnotatedInterface) factory.getProxy();
		}).run((context) -> assertThat(context.getBean(AnnotatedInterface.class).run("x")).isNull());
	}

	@Test
	void methodOfConfigurationClassIsGuarded() {
		this.follower.withUserConfiguration(ConfigurationWithJob.class).run((context) -> {
			assertThat(context.getBean(ConfigurationWithJob.class).job()).isNull();
			assertThat(context.getBean("value")).isEqualTo("value");
		});
	}

	@Test
	void beanUnderTwoNamesIsGuardedOnce() {
		this.follower.withBean("jobs", Jobs.class)
			.withInitializer((context) -> ((GenericApplicationContext) context).registerBean("alias", Jobs.class,
					() -> context.getBean("jobs", Jobs.class)))
			.run((context) -> {
				assertThat(context.getBean("jobs")).isSameAs(context.getBean("alias"));
				assertThat(((Advised) context.getBean("jobs")).getAdvisorCount()).isEqualTo(1);
			});
	}

	@Test
	void targetOfScopedProxyRunsOnLeader() {
		this.leader.withUserConfiguration(ScopedConfiguration.class)
			.run((context) -> assertThat(context.getBean(Jobs.class).text()).isEqualTo("text"));
	}

	@Test
	void otherBeansAreNotProxied() {
		this.leader.withBean("plain", Object.class, Object::new)
			.run((context) -> assertThat(AopUtils.isAopProxy(context.getBean("plain"))).isFalse());
	}

	@Test
	void nestedCallRunsWhileTheTermOfTheOuterIsHandedOver() {
		this.leader.withBean(Jobs.class).run((context) -> {
			LeaderElector elector = TestElections.elector(context);
			Jobs jobs = context.getBean(Jobs.class);
			List<String> results = jobs.outer(() -> {
				String before = jobs.text();
				elector.resign();
				assertThat(elector.isLeader()).isFalse();
				return List.of(before, jobs.text());
			});
			assertThat(results).containsExactly("text", "text");
		});
	}

	@Test
	void electionsAreNotAskedForWithoutGuardedBeans() {
		new ApplicationContextRunner().withBean(LeaderOnlyBeanPostProcessor.class)
			.run((context) -> assertThat(context).hasNotFailed());
	}

	static class Jobs {

		private final List<String> calls = new ArrayList<>();

		List<String> calls() {
			return this.calls;
		}

		private <T> T called(String method, T result) {
			this.calls.add(method);
			return result;
		}

		@LeaderOnly
		void run() {
			called("run", null);
		}

		@LeaderOnly
		String text() {
			return called("text", "text");
		}

		@LeaderOnly
		CompletableFuture<String> future(@Nullable CompletableFuture<String> future) {
			return called("future", future);
		}

		@LeaderOnly
		List<String> outer(Supplier<List<String>> work) {
			return work.get();
		}

		@LeaderOnly(policy = NotLeaderPolicy.REJECT)
		void rejected() {
			called("rejected", null);
		}

		@LeaderOnly(policy = NotLeaderPolicy.REJECT)
		int rejectedPrimitive() {
			return called("rejectedPrimitive", 42);
		}

		@LeaderOnly
		Leadership workLeadership(LeaderElector elector) {
			return elector.getWorkLeadership();
		}

		@LeaderOnly
		void fail() throws IOException {
			throw new IOException("failed");
		}

	}

	@Retention(RetentionPolicy.RUNTIME)
	@LeaderOnly(policy = NotLeaderPolicy.REJECT)
	@interface ReportsLeaderOnly {

		@AliasFor(annotation = LeaderOnly.class)
		String election() default "reports";

	}

	public static class ClassLevelParent {

		public String inheritedMethod() {
			return "ran";
		}

	}

	@LeaderOnly
	public static class ClassLevel extends ClassLevelParent {

		public String publicMethod() {
			return privateMethod();
		}

		protected String protectedMethod() {
			return privateMethod();
		}

		String packagePrivateMethod() {
			return privateMethod();
		}

		@LeaderOnly(election = "reports", policy = NotLeaderPolicy.REJECT)
		public String reports() {
			return privateMethod();
		}

		private String privateMethod() {
			return staticMethod();
		}

		static String staticMethod() {
			return "ran";
		}

	}

	@LeaderOnly
	abstract static class CallbackBean
			implements ApplicationContextAware, InitializingBean, DisposableBean, AutoCloseable, Ordered {

		@PostConstruct
		final void postConstruct() {
		}

		@EventListener
		abstract void revoked(@Nullable LeadershipRevokedEvent event);

		abstract String work();

	}

	@LeaderOnly
	abstract static class ConfiguringBean extends TimerTask
			implements SchedulingConfigurer, ApplicationBinder, Comparable<ConfiguringBean>, ApplicationRunner,
			Consumer<String>, SmartApplicationListener, Flow.Subscriber<String> {

	}

	/** An interface of the application that inherits a method of a framework. */
	interface ApplicationBinder extends MeterBinder {

		void explicit();

	}

	abstract static class AnnotatedBinder implements MeterBinder {

		@Override
		@LeaderOnly
		public abstract void bindTo(MeterRegistry registry);

	}

	@LeaderOnly
	abstract static class ListenerBean implements ApplicationListener<ContextRefreshedEvent> {

		@EventListener
		abstract void on(String event);

	}

	interface AnnotatedInterface {

		@LeaderOnly
		String run(String argument);

	}

	static class AnnotatedInterfaceJob implements AnnotatedInterface {

		@Override
		public String run(String argument) {
			return "ran";
		}

	}

	interface Handler<T> {

		Optional<T> handle(T argument);

	}

	static class GenericJob implements Handler<String> {

		@Override
		@LeaderOnly
		public Optional<String> handle(String argument) {
			return Optional.of("ran");
		}

	}

	@Configuration
	static class ConfigurationWithJob {

		@Bean
		String value() {
			return "value";
		}

		@LeaderOnly
		String job() {
			return "ran";
		}

	}

	@Configuration(proxyBeanMethods = false)
	static class ScopedConfiguration {

		@Bean
		@Scope(scopeName = "prototype", proxyMode = ScopedProxyMode.TARGET_CLASS)
		Jobs jobs() {
			return new Jobs();
		}

	}

}
