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

import java.util.concurrent.atomic.AtomicInteger;

import io.leaderelection.annotation.LeaderOnly.NotLeaderPolicy;
import io.leaderelection.autoconfigure.LeaderElectionAutoConfiguration;
import io.leaderelection.test.TestLeadership;
import io.leaderelection.test.TestLeadershipAutoConfiguration;
import org.junit.jupiter.api.Test;

import org.springframework.aop.framework.AopProxyUtils;
import org.springframework.aop.framework.ProxyFactory;
import org.springframework.beans.factory.config.ConfigurableBeanFactory;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.autoconfigure.aop.AopAutoConfiguration;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.context.Lifecycle;
import org.springframework.context.SmartLifecycle;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Scope;
import org.springframework.core.NestedExceptionUtils;
import org.springframework.scheduling.annotation.Scheduled;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Tests for beans that leadership cannot start and stop.
 */
class LeaderServiceRejectionTests {

	private final ApplicationContextRunner contextRunner = new ApplicationContextRunner()
		.withConfiguration(AutoConfigurations.of(LeaderElectionAutoConfiguration.class,
				TestLeadershipAutoConfiguration.class, AopAutoConfiguration.class))
		.withPropertyValues("leader-election.mode=manual");

	@Test
	void finalClass() {
		assertRejected(FinalService.class,
				"Bean 'bean' is started and stopped by leadership, but its class is final or "
						+ "sealed: the proxy that keeps the container from starting it cannot extend '"
						+ FinalService.class.getName() + "'.",
				"Create it in a @Bean method that is annotated with @LeaderOnly and returns an interface such as "
						+ "SmartLifecycle.");
	}

	@Test
	void finalLifecycleMethod() {
		assertRejected(FinalMethodConfiguration.class,
				"Bean 'container' is started and stopped by leadership, but its method 'isRunning' is final: the proxy "
						+ "that keeps the container from starting it cannot extend '" + Container.class.getName()
						+ "'.",
				"Create it in a @Bean method that is annotated with @LeaderOnly and returns an interface such as "
						+ "SmartLifecycle.");
	}

	@Test
	void finalLifecycleMethodOfABeanThatIsProxiedAlready() {
		assertRejected(ProxiedConfiguration.class,
				"Bean 'proxied' is started and stopped by leadership, but its method 'isRunning' is final: the proxy "
						+ "that keeps the container from starting it cannot extend '" + Container.class.getName()
						+ "'.",
				"Create it in a @Bean method that is annotated with @LeaderOnly and returns an interface such as "
						+ "SmartLifecycle.");
	}

	@Test
	void prototype() {
		this.contextRunner.withUserConfiguration(PrototypeConfiguration.class).run((context) -> {
			assertThat(context).hasNotFailed();
			assertThat(catchRejection(() -> context.getBean(Service.class))).isEqualTo(
					"Bean 'prototype' is annotated with @LeaderOnly, but is not a singleton: neither the container "
							+ "nor leadership can start and stop it.");
		});
	}

	@Test
	void rejectingCalls() {
		assertRejected(RejectingService.class,
				"Bean 'bean' is started and stopped by leadership, but annotated with @LeaderOnly(policy = REJECT): "
						+ "there is no call to reject.",
				"Remove 'policy'. To guard its methods, annotate them.");
	}

	@Test
	void runningOnGrant() {
		assertRejected(ServiceOnGrant.class,
				"Bean 'bean' is started and stopped by leadership, but annotated with @LeaderOnly(runOnGrant = "
						+ "true): runOnGrant is supported on methods that are leader work only.",
				"Remove 'runOnGrant', since a service is started on every grant. To run one of its methods on grant "
						+ "too, annotate that method.");
	}

	@Test
	void runningOnGrantByFactoryMethod() {
		assertRejected(ServiceOnGrantConfiguration.class,
				"Bean 'onGrant' is started and stopped by leadership, but annotated with @LeaderOnly(runOnGrant = "
						+ "true): runOnGrant is supported on methods that are leader work only.",
				"Remove 'runOnGrant', since a service is started on every grant. To run one of its methods on grant "
						+ "too, annotate that method.");
	}

	@Test
	void runningOnGrantWithParameters() {
		assertRejected(ServiceWithParameterOnGrant.class,
				"Method '" + ServiceWithParameterOnGrant.class.getName()
						+ ".run(String)' runs when leadership is granted (runOnGrant), but has parameters: a run on "
						+ "grant has no arguments.",
				"Move the leader work to a method without parameters, and annotate that method.");
	}

	@Test
	void scheduledMethodThatIsNotGuarded() {
		assertRejected(ServiceWithUnguardedJob.class,
				"Bean 'bean' is started and stopped by leadership, but its @Scheduled method 'job' runs on every node.",
				"Annotate the method with @LeaderOnly too, or move it to another bean.");
	}

	@Test
	void unknownElection() {
		assertRejected(UnknownElection.class,
				"Bean 'bean' is guarded by @LeaderOnly for the election 'nowhere', which does not exist.",
				"Use one of 'default', or configure the election with properties "
						+ "'leader-election.elections.nowhere.*'.");
	}

	@Test
	void factoryMethodOfABeanThatIsNoLifecycle() {
		assertRejected(NoLifecycleConfiguration.class,
				"Method '" + NoLifecycleConfiguration.class.getName()
						+ ".job()' is annotated with @LeaderOnly, but creates a bean that is not a Lifecycle: only the "
						+ "methods of that bean can be guarded.",
				"Move the leader work to a separate method, and annotate that method.");
	}

	@Test
	void annotatedMethodsOfAServiceAreGuarded() {
		this.contextRunner.withBean(ServiceWithJob.class).run((context) -> {
			assertThat(context.getBean(ServiceWithJob.class).job()).isNull();
			assertThat(context.getBean(ServiceWithJob.class).other()).isEqualTo("ran");
			assertThat(context.getBean(ServiceWithJob.class).isAutoStartup()).isFalse();
		});
	}

	@Test
	void methodsOfAServiceMayRunOnGrant() {
		this.contextRunner.withBean(ServiceWithJobOnGrant.class).run((context) -> {
			ServiceWithJobOnGrant service = context.getBean(ServiceWithJobOnGrant.class);
			service.job();
			assertThat(runs(service)).isZero();
			context.getBean(TestLeadership.class).grant();
			await().untilAsserted(() -> assertThat(runs(service)).isOne());
			context.getBean(TestLeadership.class).revoke();
			context.getBean(TestLeadership.class).grant();
			await().untilAsserted(() -> assertThat(runs(service)).isEqualTo(2));
		});
	}

	private static int runs(ServiceWithJobOnGrant service) {
		return ((ServiceWithJobOnGrant) AopProxyUtils.getSingletonTarget(service)).runs.get();
	}

	private void assertRejected(Class<?> type, String description, String action) {
		ApplicationContextRunner runner = type.isAnnotationPresent(Configuration.class)
				? this.contextRunner.withUserConfiguration(type) : this.contextRunner.withBean("bean", type);
		runner.run((context) -> {
			assertThat(context).hasFailed();
			InvalidLeaderOnlyException failure = (InvalidLeaderOnlyException) NestedExceptionUtils
				.getMostSpecificCause(context.getStartupFailure());
			assertThat(failure.getDescription()).isEqualTo(description);
			assertThat(failure.getAction()).isEqualTo(action);
		});
	}

	private static String catchRejection(Runnable code) {
		try {
			code.run();
			return "accepted";
		}
		catch (RuntimeException ex) {
			return ((InvalidLeaderOnlyException) NestedExceptionUtils.getMostSpecificCause(ex)).getDescription();
		}
	}

	@LeaderOnly
	static class Service implements SmartLifecycle {

		@Override
		public void start() {
		}

		@Override
		public void stop() {
		}

		@Override
		public boolean isRunning() {
			return false;
		}

	}

	static final class FinalService extends Service {

	}

	static class Container implements SmartLifecycle {

		@Override
		public void start() {
		}

		@Override
		public void stop() {
		}

		@Override
		public final boolean isRunning() {
			return false;
		}

	}

	@LeaderOnly(policy = NotLeaderPolicy.REJECT)
	static class RejectingService extends Service {

	}

	@LeaderOnly(runOnGrant = true)
	static class ServiceOnGrant extends Service {

	}

	static class ServiceWithParameterOnGrant extends Service {

		@LeaderOnly(runOnGrant = true)
		void run(String argument) {
		}

	}

	static class ServiceWithJobOnGrant extends Service {

		private final AtomicInteger runs = new AtomicInteger();

		@LeaderOnly(runOnGrant = true)
		void job() {
			this.runs.incrementAndGet();
		}

	}

	@LeaderOnly("nowhere")
	static class UnknownElection extends Service {

	}

	static class ServiceWithUnguardedJob extends Service {

		@Scheduled(fixedDelay = 1000)
		void job() {
		}

	}

	static class ServiceWithJob extends Service {

		@LeaderOnly
		@Scheduled(fixedDelay = 1000)
		String job() {
			return "ran";
		}

		String other() {
			return "ran";
		}

	}

	@Configuration(proxyBeanMethods = false)
	static class FinalMethodConfiguration {

		@Bean
		@LeaderOnly
		Container container() {
			return new Container();
		}

	}

	@Configuration(proxyBeanMethods = false)
	static class ProxiedConfiguration {

		@Bean
		@LeaderOnly
		Lifecycle proxied() {
			ProxyFactory proxyFactory = new ProxyFactory(new Container());
			proxyFactory.setProxyTargetClass(true);
			return (Lifecycle) proxyFactory.getProxy();
		}

	}

	@Configuration(proxyBeanMethods = false)
	static class PrototypeConfiguration {

		@Bean
		@Scope(ConfigurableBeanFactory.SCOPE_PROTOTYPE)
		Service prototype() {
			return new Service();
		}

	}

	@Configuration(proxyBeanMethods = false)
	static class ServiceOnGrantConfiguration {

		@Bean
		@LeaderOnly(runOnGrant = true)
		SmartLifecycle onGrant() {
			return new Container();
		}

	}

	@Configuration(proxyBeanMethods = false)
	static class NoLifecycleConfiguration {

		@Bean
		@LeaderOnly
		Runnable job() {
			return () -> {
			};
		}

	}

}
