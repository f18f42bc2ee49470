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

import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import java.util.stream.Stream;

import io.leaderelection.autoconfigure.LeaderElectionAutoConfiguration;
import jakarta.annotation.PostConstruct;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

import org.springframework.aop.framework.AopInfrastructureBean;
import org.springframework.aop.framework.ProxyFactoryBean;
import org.springframework.beans.factory.BeanFactory;
import org.springframework.beans.factory.FactoryBean;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.beans.factory.annotation.Lookup;
import org.springframework.beans.factory.annotation.Qualifier;
import org.springframework.beans.factory.config.AbstractFactoryBean;
import org.springframework.beans.factory.config.BeanFactoryPostProcessor;
import org.springframework.beans.factory.config.BeanPostProcessor;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.beans.factory.config.InstantiationAwareBeanPostProcessor;
import org.springframework.beans.factory.support.BeanDefinitionRegistry;
import org.springframework.beans.factory.support.BeanDefinitionRegistryPostProcessor;
import org.springframework.beans.factory.support.RootBeanDefinition;
import org.springframework.boot.WebApplicationType;
import org.springframework.boot.autoconfigure.ImportAutoConfiguration;
import org.springframework.boot.autoconfigure.aop.AopAutoConfiguration;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;
import org.springframework.context.ApplicationContext;
import org.springframework.context.ApplicationContextInitializer;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.Lifecycle;
import org.springframework.context.SmartLifecycle;
import org.springframework.context.annotation.AnnotationConfigApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;
import org.springframework.context.annotation.Lazy;
import org.springframework.context.annotation.Scope;
import org.springframework.context.annotation.ScopedProxyMode;
import org.springframework.core.NestedExceptionUtils;
import org.springframework.core.Ordered;
import org.springframework.core.PriorityOrdered;
import org.springframework.scheduling.support.MethodInvokingRunnable;
import org.springframework.transaction.PlatformTransactionManager;
import org.springframework.transaction.annotation.EnableTransactionManagement;
import org.springframework.transaction.annotation.Transactional;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;
import static org.mockito.Mockito.mock;

/**
 * Tests each way in which Spring can pass a bean with guarded work to its callers. On a
 * follower, the work must not run: either calls are guarded, or the application does not
 * start.
 */
@Tag("ring1")
@ExtendWith(OutputCaptureExtension.class)
class LeaderOnlyReferenceTests {

	private static final AtomicInteger calls = new AtomicInteger();

	@BeforeEach
	void reset() {
		calls.set(0);
	}

	@ParameterizedTest
	@MethodSource
	void guarded(Class<?> application, Consumer<ApplicationContext> call) {
		try (ConfigurableApplicationContext context = run(application)) {
			call.accept(context);
			assertThat(calls).hasValue(0);
		}
	}

	static Stream<Arguments> guarded() {
		return Stream.of(way(Plain.class), way(LazySelf.class), way(ProviderOfSelf.class), way(LookedUpSelf.class),
				way(DependencyOfOrderedPostProcessor.class), way(DependencyOfPriorityOrderedPostProcessor.class),
				way(PrototypeOfPostProcessor.class), way(ProductOfPostProcessor.class),
				way(ConfigurationThatDeclaresPostProcessor.class), way(Product.class), way(Prototype.class),
				way(Scoped.class), way(ProxyFactoryProduct.class), way(BeanMethodCall.class), way(InnerBean.class),
				way(WrappedAfterwards.class), way(ByMethodName.class),
				way(Plain.class, (context) -> context.getAutowireCapableBeanFactory().createBean(Job.class).run()),
				way(Scoped.class, (context) -> context.getBean("scopedTarget.job", Job.class).run()));
	}

	private static Arguments way(Class<?> application) {
		return way(application, (context) -> context.getBean(Caller.class).call());
	}

	private static Arguments way(Class<?> application, Consumer<ApplicationContext> call) {
		return Arguments.of(application, call);
	}

	@ParameterizedTest
	@MethodSource
	void refused(Class<?> application, String description) {
		Throwable failure = catchThrowable(() -> {
			try (ConfigurableApplicationContext context = run(application)) {
				context.getBean(Caller.class).call();
			}
		});
		assertThat(calls).hasValue(0);
		assertRefused(failure, description);
	}

	static Stream<Arguments> refused() {
		return Stream.of(Arguments.of(Self.class, "'job' of class"), Arguments.of(Self.class, "circular reference"),
				Arguments.of(TransactionalSelf.class, "circular reference"),
				Arguments.of(TransactionalSelfByInterface.class, "circular reference"),
				Arguments.of(Cycle.class, "circular reference"),
				Arguments.of(SelfOnInitialization.class, "circular reference"),
				Arguments.of(DependencyOfFactoryPostProcessor.class, "without the proxy that guards"),
				Arguments.of(DependencyOfRegistryPostProcessor.class, "without the proxy that guards"),
				Arguments.of(WrappedBefore.class, "cannot be guarded"),
				Arguments.of(ReplacedBefore.class, "its instance of 'java.lang.Thread'"),
				Arguments.of(Infrastructure.class, "it is an AopInfrastructureBean"));
	}

	@Test
	void existingInstanceIsRefused() {
		assertRefused(catchThrowable(() -> application(Empty.class)
			.initializers((context) -> context.getBeanFactory().registerSingleton("existing", new Job()))
			.run()
			.close()), "'existing' of class");
	}

	@ParameterizedTest
	@ValueSource(strings = { "org.springframework.boot.test.mock.mockito.MockitoBeans",
			"com.ninjasquad.springmockk.MockkBeans" })
	void mockOfALibraryIsAcceptedButNoOtherInstance(String mocks) {
		Job mock = new Job();
		ApplicationContextInitializer<ConfigurableApplicationContext> initializer = (context) -> {
			context.getBeanFactory().registerSingleton("mock", mock);
			context.getBeanFactory().registerSingleton(mocks, List.of(mock));
		};
		application(Empty.class).initializers(initializer).run().close();
		assertRefused(catchThrowable(() -> application(Empty.class)
			.initializers(initializer, (context) -> context.getBeanFactory().registerSingleton("existing", new Job()))
			.run()
			.close()), "'existing' of class");
	}

	@Test
	void instanceRegisteredLateIsRefused() {
		assertRefused(catchThrowable(() -> run(LateInstance.class).close()), "'late' of class");
	}

	@ParameterizedTest
	@ValueSource(classes = { Plain.class, LazyJob.class, ServiceOfFactoryMethod.class })
	void childContextWithoutGuardIsRefused(Class<?> configuration) {
		try (ConfigurableApplicationContext parent = run(Empty.class);
				AnnotationConfigApplicationContext child = new AnnotationConfigApplicationContext()) {
			child.setParent(parent);
			child.register(configuration);
			assertRefused(catchThrowable(child::refresh), "is in a context without the starter");
		}
	}

	@Test
	void parentContextWithoutGuardIsRefused() {
		try (AnnotationConfigApplicationContext parent = new AnnotationConfigApplicationContext(Plain.class)) {
			assertRefused(catchThrowable(() -> application(Empty.class).parent(parent).run().close()),
					"is in a context without the starter");
		}
	}

	@Test
	void otherBeansAreNotAffected(CapturedOutput output) {
		run(StaticFactoryBean.class).close();
		assertThat(output).doesNotContain("not eligible for getting processed");
		assertThat(StaticFactoryBean.created).containsExactly("post-processor", "factory");
	}

	@ParameterizedTest
	@ValueSource(
			classes = { ServiceOfFactoryMethod.class, ServiceOfPostProcessor.class, WrappedServiceAfterwards.class })
	void serviceIsNotStartedByTheContainer(Class<?> application) {
		run(application).close();
		assertThat(calls).hasValue(0);
	}

	@ParameterizedTest
	@ValueSource(classes = { ServiceWithSelf.class, WrappedServiceBefore.class, ServiceOfFactoryPostProcessor.class })
	void serviceIsRefused(Class<?> application) {
		assertRefused(catchThrowable(() -> run(application).close()), "leadership");
		assertThat(calls).hasValue(0);
	}

	private static void assertRefused(@Nullable Throwable failure, String description) {
		assertThat(NestedExceptionUtils.getMostSpecificCause(Objects.requireNonNull(failure)))
			.isInstanceOf(InvalidUsageException.class)
			.hasMessageContaining(description);
	}

	private static ConfigurableApplicationContext run(Class<?> application) {
		return application(application).run();
	}

	private static SpringApplicationBuilder application(Class<?> application) {
		return new SpringApplicationBuilder(Empty.class, application).web(WebApplicationType.NONE)
			.properties("leader-election.mode=always", "leader-election.candidate=false",
					"spring.main.allow-circular-references=true", "spring.main.banner-mode=off");
	}

	private static Runnable wrap(Object job) {
		return (Runnable) Proxy.newProxyInstance(Job.class.getClassLoader(), new Class<?>[] { Runnable.class },
				(proxy, method, arguments) -> method.invoke(job, arguments));
	}

	interface Caller {

		void call();

	}

	static class Job implements Runnable {

		@Override
		@LeaderOnly
		public void run() {
			calls.incrementAndGet();
		}

	}

	@Configuration(proxyBeanMethods = false)
	@ImportAutoConfiguration({ AopAutoConfiguration.class, LeaderElectionAutoConfiguration.class })
	static class Empty {

	}

	@Configuration(proxyBeanMethods = false)
	static class Plain {

		@Bean
		Job job() {
			return new Job();
		}

		@Bean
		Caller caller(Job job) {
			return job::run;
		}

	}

	static class SelfJob extends Job implements Caller {

		@Nullable Job self;

		@Override
		public void call() {
			this.self.run();
		}

	}

	@Configuration(proxyBeanMethods = false)
	static class LazySelf {

		@Bean
		SelfJob job() {
			return new SelfJob() {

				@Autowired
				void setSelf(@Lazy SelfJob self) {
					this.self = self;
				}

			};
		}

	}

	@Configuration(proxyBeanMethods = false)
	static class ProviderOfSelf {

		@Bean
		SelfJob job(ObjectProvider<SelfJob> provider) {
			return new SelfJob() {

				@Override
				public void call() {
					provider.getObject().run();
				}

			};
		}

	}

	abstract static class LookupJob extends Job implements Caller {

		@Lookup
		abstract LookupJob self();

		@Override
		public void call() {
			self().run();
		}

	}

	@Configuration(proxyBeanMethods = false)
	@Import(LookupJob.class)
	static class LookedUpSelf {

	}

	@Configuration(proxyBeanMethods = false)
	static class Self {

		@Bean
		SelfJob job() {
			return new SelfJob() {

				@Autowired
				void setSelf(SelfJob self) {
					this.self = self;
				}

			};
		}

	}

	static class TransactionalSelfJob implements Caller {

		@Autowired
		@Nullable TransactionalSelfJob self;

		@Override
		public void call() {
			this.self.run();
		}

		@LeaderOnly
		@Transactional
		void run() {
			calls.incrementAndGet();
		}

	}

	@Configuration(proxyBeanMethods = false)
	@EnableTransactionManagement
	static class TransactionalSelf {

		@Bean
		TransactionalSelfJob job() {
			return new TransactionalSelfJob();
		}

		@Bean
		PlatformTransactionManager transactionManager() {
			return mock();
		}

	}

	@LeaderOnly
	interface Transfer {

		void run();

	}

	static class TransferJob implements Transfer, Caller {

		@Autowired
		@Nullable Transfer self;

		@Override
		public void call() {
			this.self.run();
		}

		@Override
		@Transactional
		public void run() {
			calls.incrementAndGet();
		}

	}

	@Configuration(proxyBeanMethods = false)
	@EnableTransactionManagement
	static class TransactionalSelfByInterface {

		@Bean
		TransferJob job() {
			return new TransferJob() {

				@Override
				@LeaderOnly
				public void run() {
					super.run();
				}

			};
		}

		@Bean
		PlatformTransactionManager transactionManager() {
			return mock();
		}

	}

	static class Partner implements Caller {

		@Autowired
		@Nullable SelfJob job;

		@Override
		public void call() {
			this.job.run();
		}

	}

	@Configuration(proxyBeanMethods = false)
	static class Cycle {

		@Bean
		Job job() {
			return new SelfJob() {

				@Autowired
				void setPartner(Partner partner) {
					this.self = partner.job;
				}

			};
		}

		@Bean
		Partner partner() {
			return new Partner();
		}

	}

	@Configuration(proxyBeanMethods = false)
	static class SelfOnInitialization {

		@Bean
		SelfJob job(BeanFactory beanFactory) {
			return new SelfJob() {

				@PostConstruct
				void initialize() {
					this.self = beanFactory.getBean(SelfJob.class);
				}

			};
		}

	}

	record PostProcessor(Runnable job) implements BeanPostProcessor, Ordered, Caller {

		@Override
		public int getOrder() {
			return 0;
		}

		@Override
		public void call() {
			this.job.run();
		}

	}

	record FirstPostProcessor(Runnable job) implements BeanPostProcessor, PriorityOrdered, Caller {

		@Override
		public int getOrder() {
			return 0;
		}

		@Override
		public void call() {
			this.job.run();
		}

	}

	/** Static, so that a post-processor can depend on it. */
	static class OneJob {

		@Bean
		static Job job() {
			return new Job();
		}

	}

	@Configuration(proxyBeanMethods = false)
	static class DependencyOfOrderedPostProcessor extends OneJob {

		@Bean
		static PostProcessor postProcessor(Job job) {
			return new PostProcessor(job);
		}

	}

	@Configuration(proxyBeanMethods = false)
	static class DependencyOfPriorityOrderedPostProcessor extends OneJob {

		@Bean
		static FirstPostProcessor postProcessor(Job job) {
			return new FirstPostProcessor(job);
		}

	}

	@Configuration(proxyBeanMethods = false)
	static class PrototypeOfPostProcessor {

		@Bean
		@Scope("prototype")
		static Job job() {
			return new Job();
		}

		@Bean
		static FirstPostProcessor postProcessor(Job job) {
			return new FirstPostProcessor(job);
		}

	}

	static class JobFactory implements FactoryBean<Job> {

		@Override
		public Job getObject() {
			return new Job();
		}

		@Override
		public Class<?> getObjectType() {
			return Job.class;
		}

	}

	@Configuration(proxyBeanMethods = false)
	static class ProductOfPostProcessor {

		@Bean
		static JobFactory job() {
			return new JobFactory();
		}

		@Bean
		static FirstPostProcessor postProcessor(Job job) {
			return new FirstPostProcessor(job);
		}

	}

	record FactoryPostProcessor(Runnable job) implements BeanFactoryPostProcessor, Caller {

		@Override
		public void postProcessBeanFactory(ConfigurableListableBeanFactory beanFactory) {
		}

		@Override
		public void call() {
			this.job.run();
		}

	}

	@Configuration(proxyBeanMethods = false)
	static class DependencyOfFactoryPostProcessor extends OneJob {

		@Bean
		static FactoryPostProcessor postProcessor(Job job) {
			return new FactoryPostProcessor(job);
		}

	}

	record RegistryPostProcessor(Runnable job) implements BeanDefinitionRegistryPostProcessor, Caller {

		@Override
		public void postProcessBeanDefinitionRegistry(BeanDefinitionRegistry registry) {
		}

		@Override
		public void call() {
			this.job.run();
		}

	}

	@Configuration(proxyBeanMethods = false)
	static class DependencyOfRegistryPostProcessor extends OneJob {

		@Bean
		static RegistryPostProcessor postProcessor(Job job) {
			return new RegistryPostProcessor(job);
		}

	}

	@Configuration
	static class ConfigurationThatDeclaresPostProcessor {

		@Bean
		InstantiationAwareBeanPostProcessor postProcessor() {
			return new InstantiationAwareBeanPostProcessor() {
			};
		}

		@Bean
		Caller caller(ObjectProvider<ConfigurationThatDeclaresPostProcessor> self) {
			return () -> self.getObject().run();
		}

		@LeaderOnly
		void run() {
			calls.incrementAndGet();
		}

	}

	@Configuration(proxyBeanMethods = false)
	static class Product {

		@Bean
		JobFactory job() {
			return new JobFactory();
		}

		@Bean
		Caller caller(Job job) {
			return job::run;
		}

	}

	@Configuration(proxyBeanMethods = false)
	static class Prototype {

		@Bean
		@Scope("prototype")
		Job job() {
			return new Job();
		}

		@Bean
		Caller caller(Job job) {
			return job::run;
		}

	}

	@Configuration(proxyBeanMethods = false)
	static class Scoped {

		@Bean
		@Scope(scopeName = "prototype", proxyMode = ScopedProxyMode.TARGET_CLASS)
		Job job() {
			return new Job();
		}

		@Bean
		Caller caller(@Qualifier("job") Job job) {
			return job::run;
		}

	}

	@Configuration(proxyBeanMethods = false)
	static class ProxyFactoryProduct {

		@Bean
		ProxyFactoryBean job() {
			ProxyFactoryBean factory = new ProxyFactoryBean();
			factory.setTarget(new Job());
			return factory;
		}

		@Bean
		Caller caller(@Qualifier("job") Object job) {
			return ((Runnable) job)::run;
		}

	}

	@Configuration
	static class BeanMethodCall {

		@Bean
		Job job() {
			return new Job();
		}

		@Bean
		Caller caller() {
			return job()::run;
		}

	}

	public static class Holder implements Caller {

		@Nullable Runnable job;

		public void setJob(Runnable job) {
			this.job = job;
		}

		@Override
		public void call() {
			this.job.run();
		}

	}

	@Configuration(proxyBeanMethods = false)
	static class InnerBean {

		@Bean
		static BeanDefinitionRegistryPostProcessor holder() {
			return new BeanDefinitionRegistryPostProcessor() {

				@Override
				public void postProcessBeanDefinitionRegistry(BeanDefinitionRegistry registry) {
					RootBeanDefinition holder = new RootBeanDefinition(Holder.class);
					holder.getPropertyValues().add("job", new RootBeanDefinition(Job.class));
					registry.registerBeanDefinition("caller", holder);
				}

			};
		}

	}

	@Configuration(proxyBeanMethods = false)
	static class WrappedAfterwards {

		@Bean
		static BeanPostProcessor wrapper() {
			return new BeanPostProcessor() {

				@Override
				public Object postProcessAfterInitialization(Object bean, String beanName) {
					return beanName.equals("job") ? wrap(bean) : bean;
				}

			};
		}

		@Bean
		Runnable job() {
			return new Job();
		}

		@Bean
		Caller caller(Runnable job) {
			return job::run;
		}

	}

	@Configuration(proxyBeanMethods = false)
	static class WrappedBefore {

		@Bean
		static FirstWrapper wrapper() {
			return new FirstWrapper();
		}

		@Bean
		Runnable job() {
			return new Job();
		}

		@Bean
		Caller caller(Runnable job) {
			return job::run;
		}

	}

	static class FirstWrapper implements BeanPostProcessor, PriorityOrdered {

		@Override
		public int getOrder() {
			return 0;
		}

		@Override
		public Object postProcessAfterInitialization(Object bean, String beanName) {
			return beanName.equals("job") ? wrap(bean) : bean;
		}

	}

	@Configuration(proxyBeanMethods = false)
	static class ReplacedBefore {

		@Bean
		static Replacement wrapper() {
			return new Replacement();
		}

		@Bean
		Runnable job() {
			return new Job();
		}

		@Bean
		Caller caller(Runnable job) {
			return job::run;
		}

	}

	static class Replacement implements BeanPostProcessor, PriorityOrdered {

		@Override
		public int getOrder() {
			return 0;
		}

		@Override
		public Object postProcessBeforeInitialization(Object bean, String beanName) {
			return (bean instanceof Job job) ? new Thread(job) : bean;
		}

	}

	static class InfrastructureJob extends Job implements AopInfrastructureBean {

	}

	@Configuration(proxyBeanMethods = false)
	static class Infrastructure {

		@Bean
		InfrastructureJob job() {
			return new InfrastructureJob();
		}

		@Bean
		Caller caller(Job job) {
			return job::run;
		}

	}

	@Configuration(proxyBeanMethods = false)
	static class ByMethodName {

		@Bean
		Job job() {
			return new Job();
		}

		@Bean
		Caller caller(Job job) throws ReflectiveOperationException {
			MethodInvokingRunnable runnable = new MethodInvokingRunnable();
			runnable.setTargetObject(job);
			runnable.setTargetMethod("run");
			runnable.afterPropertiesSet();
			return runnable::run;
		}

	}

	@Configuration(proxyBeanMethods = false)
	static class LazyJob {

		@Bean
		@Lazy
		Job job() {
			return new Job();
		}

	}

	@Configuration(proxyBeanMethods = false)
	static class LateInstance {

		@Bean
		Lifecycle registration(ConfigurableListableBeanFactory beanFactory) {
			return new Service() {

				@Override
				public void start() {
					beanFactory.registerSingleton("late", new Job());
				}

			};
		}

	}

	@Configuration(proxyBeanMethods = false)
	static class StaticFactoryBean {

		static final List<String> created = new ArrayList<>();

		@Bean
		static FactoryBean<String> text() {
			created.add("factory");
			return new AbstractFactoryBean<>() {

				@Override
				protected String createInstance() {
					return "text";
				}

				@Override
				public Class<?> getObjectType() {
					return String.class;
				}

			};
		}

		@Bean
		static FirstWrapper postProcessor() {
			created.add("post-processor");
			return new FirstWrapper();
		}

	}

	static class Service implements SmartLifecycle {

		@Override
		public void start() {
			calls.incrementAndGet();
		}

		@Override
		public void stop() {
		}

		@Override
		public boolean isRunning() {
			return false;
		}

	}

	@Configuration(proxyBeanMethods = false)
	static class ServiceOfFactoryMethod {

		@Bean
		@LeaderOnly
		SmartLifecycle service() {
			return new Service();
		}

	}

	record ServicePostProcessor(SmartLifecycle service) implements BeanPostProcessor, PriorityOrdered {

		@Override
		public int getOrder() {
			return 0;
		}

	}

	@Configuration(proxyBeanMethods = false)
	static class ServiceOfPostProcessor {

		@Bean
		@LeaderOnly
		static SmartLifecycle service() {
			return new Service();
		}

		@Bean
		static ServicePostProcessor postProcessor(SmartLifecycle service) {
			return new ServicePostProcessor(service);
		}

	}

	record ServiceFactoryPostProcessor(SmartLifecycle service) implements BeanFactoryPostProcessor {

		@Override
		public void postProcessBeanFactory(ConfigurableListableBeanFactory beanFactory) {
		}

	}

	@Configuration(proxyBeanMethods = false)
	static class ServiceOfFactoryPostProcessor {

		@Bean
		@LeaderOnly
		static SmartLifecycle service() {
			return new Service();
		}

		@Bean
		static ServiceFactoryPostProcessor postProcessor(@Qualifier("service") SmartLifecycle service) {
			return new ServiceFactoryPostProcessor(service);
		}

	}

	@LeaderOnly
	static class AnnotatedService extends Service {

	}

	static class ServiceWrapper implements BeanPostProcessor {

		@Override
		public Object postProcessAfterInitialization(Object bean, String beanName) {
			return beanName.equals("service")
					? Proxy.newProxyInstance(Service.class.getClassLoader(), new Class<?>[] { SmartLifecycle.class },
							(proxy, method, arguments) -> method.invoke(bean, arguments))
					: bean;
		}

	}

	static class FirstServiceWrapper extends ServiceWrapper implements PriorityOrdered {

		@Override
		public int getOrder() {
			return 0;
		}

	}

	@Configuration(proxyBeanMethods = false)
	static class WrappedServiceBefore {

		@Bean
		static FirstServiceWrapper wrapper() {
			return new FirstServiceWrapper();
		}

		@Bean
		SmartLifecycle service() {
			return new AnnotatedService();
		}

	}

	@Configuration(proxyBeanMethods = false)
	static class WrappedServiceAfterwards {

		@Bean
		static ServiceWrapper wrapper() {
			return new ServiceWrapper();
		}

		@Bean
		SmartLifecycle service() {
			return new AnnotatedService();
		}

	}

	@Configuration(proxyBeanMethods = false)
	static class ServiceWithSelf {

		@Bean
		AnnotatedService service() {
			return new AnnotatedService() {

				@Autowired
				void setSelf(AnnotatedService self) {
					self.start();
				}

			};
		}

	}

}
