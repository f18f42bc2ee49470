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

import java.util.stream.Stream;

import io.leaderelection.annotation.LeaderOnly.NotLeaderPolicy;
import io.leaderelection.annotation.LeaderOnlyRejectionTests.AbstractLifecycle;
import io.leaderelection.autoconfigure.LeaderElectionAutoConfiguration;
import io.leaderelection.autoconfigure.schedule.DurableScheduleAutoConfiguration;
import io.leaderelection.schedule.DurableSchedule;
import net.bytebuddy.description.annotation.AnnotationDescription;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

import org.springframework.aop.framework.ProxyFactory;
import org.springframework.beans.factory.SmartFactoryBean;
import org.springframework.beans.factory.config.BeanDefinition;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.autoconfigure.aop.AopAutoConfiguration;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.context.Lifecycle;
import org.springframework.context.SmartLifecycle;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.scheduling.annotation.Scheduled;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for beans that leadership cannot start and stop.
 */
@Tag("ring1")
class LeaderServiceRejectionTests {

	private static final String CREATE_IN_BEAN_METHOD = "Create it in a @Bean method that is annotated with "
			+ "@LeaderOnly and returns an interface such as SmartLifecycle.";

	private static final String REMOVE_RUN_ON_GRANT = "Remove 'runOnGrant', since a service is started on every "
			+ "grant. To run one of its methods on grant too, annotate that method.";

	private final ApplicationContextRunner contextRunner = new ApplicationContextRunner()
		.withConfiguration(AutoConfigurations.of(LeaderElectionAutoConfiguration.class,
				DurableScheduleAutoConfiguration.class, AopAutoConfiguration.class))
		.withPropertyValues("leader-election.mode=always", "leader-election.candidate=false");

	static Stream<Arguments> rejections() {
		return Stream.of(rejected("final class", service().inFinalClass().with(),
				"Bean 'bean' is started and stopped by leadership, but its class is final or sealed: the proxy that keeps the container from starting it cannot extend 'Generated'.",
				CREATE_IN_BEAN_METHOD),
				rejected("final lifecycle method", ContainerConfiguration.class, finalMethod("container"),
						CREATE_IN_BEAN_METHOD),
				rejected("final lifecycle method of a bean that is proxied already", ProxiedConfiguration.class,
						finalMethod("proxied"), CREATE_IN_BEAN_METHOD),
				rejected("policy REJECT", service(GeneratedJob.leaderOnly().define("policy", NotLeaderPolicy.REJECT)),
						"Bean 'bean' is started and stopped by leadership, but annotated with @LeaderOnly(policy = REJECT): there is no call to reject.",
						"Remove 'policy'. To guard its methods, annotate them."),
				rejected("runOnGrant", service(GeneratedJob.leaderOnly().define("runOnGrant", true)),
						runOnGrant("bean"), REMOVE_RUN_ON_GRANT),
				rejected("runOnGrant by a factory method", ServiceOnGrantConfiguration.class, runOnGrant("onGrant"),
						REMOVE_RUN_ON_GRANT),
				rejected("runOnGrant with parameters",
						service().taking(String.class).with(GeneratedJob.leaderOnly().define("runOnGrant", true)),
						"Method 'Generated.run(String)' runs when leadership is granted (runOnGrant), but has parameters: a run on grant has no arguments.",
						"Move the leader work to a method without parameters, and annotate that method."),
				rejected("scheduled method that is not guarded", service().with(LeaderOnlyOrderTests.hourly()),
						"Bean 'bean' is started and stopped by leadership, but its @Scheduled method 'run' runs on every node.",
						"Annotate the method with @LeaderOnly too, or move it to another bean."),
				rejected("durable schedule of another election",
						service().inClassWith(GeneratedJob.leaderOnly().define("value", "reports"))
							.with(GeneratedJob.annotation(DurableSchedule.class).define("cron", "0 0 2 * * *")),
						"Bean 'bean' is started and stopped by the election 'reports', but its method 'run' has a durable schedule that names no election.",
						"Set @DurableSchedule(election = ...)."),
				rejected("product of a factory", ServiceFactory.class,
						"Bean 'bean' of class 'Service' is @LeaderOnly, but is created by a FactoryBean: nothing would start it, since the container starts and stops the factory.",
						"Create it in a @Bean method."),
				rejected("unknown election", service(GeneratedJob.leaderOnly().define("value", "nowhere")),
						"Bean 'bean' is guarded by @LeaderOnly for the election 'nowhere', which does not exist.",
						"Use one of 'default', or configure the election with properties 'leader-election.elections.nowhere.*'."),
				rejected("factory method of a bean that is no lifecycle", NoLifecycleConfiguration.class,
						"Method 'NoLifecycleConfiguration.job()' is annotated with @LeaderOnly, but creates a bean that is not a Lifecycle: only the methods of that bean can be guarded.",
						"Move the leader work to a separate method, and annotate that method."));
	}

	private static GeneratedJob service() {
		return new GeneratedJob().extending(Service.class);
	}

	private static Class<?> service(AnnotationDescription.Builder annotation) {
		return service().inClassWith(annotation).with();
	}

	@ParameterizedTest(name = "{0}")
	@MethodSource
	void rejections(String name, Class<?> type, String description, String action) {
		LeaderOnlyRejectionTests.assertRejected(type.isAnnotationPresent(Configuration.class)
				? this.contextRunner.withUserConfiguration(type) : this.contextRunner.withBean("bean", type),
				description, action);
	}

	@Test
	void prototypeIsRejected() {
		LeaderOnlyRejectionTests.assertRejected(
				this.contextRunner.withBean("bean", Service.class, Service::new,
						(definition) -> definition.setScope(BeanDefinition.SCOPE_PROTOTYPE)),
				"Bean 'bean' is annotated with @LeaderOnly, but is not a singleton: neither the container nor leadership can start and stop it.",
				"Make it a singleton, or annotate only its methods that are leader work.");
	}

	@Test
	void annotatedMethodsOfAServiceAreGuarded() {
		this.contextRunner.withBean(ServiceWithJob.class).run((context) -> {
			ServiceWithJob service = context.getBean(ServiceWithJob.class);
			assertThat(service.job()).isNull();
			assertThat(service.other()).isEqualTo("ran");
			assertThat(service.isAutoStartup()).isFalse();
		});
	}

	private static Arguments rejected(String name, Class<?> type, String description, String action) {
		return Arguments.of(name, type, description, action);
	}

	private static String finalMethod(String bean) {
		return "Bean '" + bean + "' is started and stopped by leadership, but its method 'isRunning' is final: the "
				+ "proxy that keeps the container from starting it cannot extend 'Container'.";
	}

	private static String runOnGrant(String bean) {
		return "Bean '" + bean + "' is started and stopped by leadership, but annotated with @LeaderOnly(runOnGrant = "
				+ "true): runOnGrant is supported on methods that are leader work only.";
	}

	@LeaderOnly
	static class Service extends AbstractLifecycle {

	}

	static class Container extends AbstractLifecycle {

		@Override
		public final boolean isRunning() {
			return false;
		}

	}

	static class ServiceFactory implements SmartFactoryBean<Service> {

		@Override
		public Service getObject() {
			return new Service();
		}

		@Override
		public Class<?> getObjectType() {
			return Service.class;
		}

		@Override
		public boolean isEagerInit() {
			return true;
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
	static class ContainerConfiguration {

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
