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
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import java.util.stream.Stream;

import io.leaderelection.annotation.LeaderOnlyRejectionTests.AbstractLifecycle;
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
import org.springframework.beans.BeanUtils;
import org.springframework.beans.factory.FactoryBean;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.beans.factory.annotation.Lookup;
import org.springframework.beans.factory.config.AbstractFactoryBean;
import org.springframework.beans.factory.config.BeanDefinition;
import org.springframework.beans.factory.config.BeanFactoryPostProcessor;
import org.springframework.beans.factory.config.BeanPostProcessor;
import org.springframework.beans.factory.config.InstantiationAwareBeanPostProcessor;
import org.springframework.beans.factory.support.BeanDefinitionRegistryPostProcessor;
import org.springframework.beans.factory.support.RootBeanDefinition;
import org.springframework.boot.WebApplicationType;
import org.springframework.boot.autoconfigure.ImportAutoConfiguration;
import org.springframework.boot.autoconfigure.aop.AopAutoConfiguration;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;
import org.springframework.context.ApplicationContext;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.SmartLifecycle;
import org.springframework.context.annotation.AnnotationConfigApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
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
	void guarded(Beans beans, Consumer<ApplicationContext> call) {
		try (ConfigurableApplicationContext context = application(beans).run()) {
			call.accept(context);
			assertThat(calls).hasValue(0);
		}
	}

	static Stream<Arguments> guarded() {
		return Stream.of(guarded("bean", (context) -> context.register(Plain.class)),
				guarded("lazy reference to itself",
						(context) -> context.registerBean("job", SelfJob.class, () -> new SelfJob(null) {

							@Autowired
							void setSelf(@Lazy SelfJob self) {
								this.self = self;
							}

						})),
				guarded("provider of itself",
						(context) -> context.registerBean("job", SelfJob.class,
								() -> new SelfJob(() -> context.getBeanProvider(SelfJob.class).getObject().run()))),
				guarded("lookup of itself", (context) -> context.registerBean(LookupJob.class)),
				guarded("dependency of an ordered post-processor", (context) -> {
					context.registerBean(Job.class);
					context.registerBean(PostProcessor.class, () -> new PostProcessor(context.getBean(Job.class)));
				}), guarded("dependency of a post-processor with priority", (context) -> {
					context.registerBean(Job.class);
					registerFirstPostProcessor(context);
				}), guarded("prototype of a post-processor", (context) -> {
					registerPrototype(context);
					registerFirstPostProcessor(context);
				}), guarded("product of a factory, of a post-processor", (context) -> {
					context.registerBean(Factory.class, () -> new Factory<>(Job.class));
					registerFirstPostProcessor(context);
				}),
				guarded("configuration that declares a post-processor",
						(context) -> context.register(ConfigurationThatDeclaresPostProcessor.class)),
				guarded("product of a factory", (context) -> {
					context.registerBean("job", Factory.class, () -> new Factory<>(Job.class));
					registerCaller(context);
				}), guarded("prototype", (context) -> {
					registerPrototype(context);
					registerCaller(context);
				}), guarded("scoped proxy", (context) -> {
					context.registerBean("job", ScopedJob.class);
					registerCaller(context);
				}), guarded("product of a factory of proxies", (context) -> {
					context.registerBean("job", ProxyFactoryBean.class,
							(definition) -> definition.getPropertyValues().add("target", new Job()));
					registerCaller(context);
				}), guarded("call of a bean method", (context) -> context.register(BeanMethodCall.class)),
				guarded("inner bean", (context) -> {
					RootBeanDefinition holder = new RootBeanDefinition(Holder.class);
					holder.getPropertyValues().add("job", new RootBeanDefinition(Job.class));
					context.registerBeanDefinition("caller", holder);
				}), guarded("bean that is wrapped afterwards", (context) -> {
					context.registerBean(Wrapper.class);
					registerRunnable(context);
				}), guarded("call by the name of the method", (context) -> {
					context.registerBean(Job.class);
					context.registerBean(MethodInvokingRunnable.class, () -> {
						MethodInvokingRunnable runnable = new MethodInvokingRunnable();
						runnable.setTargetObject(context.getBean(Job.class));
						runnable.setTargetMethod("run");
						return runnable;
					});
					context.registerBean(Caller.class, () -> context.getBean(MethodInvokingRunnable.class)::run);
				}), Arguments.argumentSet("bean that is created on demand", (Beans) (context) -> {
				}, (Consumer<ApplicationContext>) (
						context) -> context.getAutowireCapableBeanFactory().createBean(Job.class).run()),
				Arguments.argumentSet("target of a scoped proxy",
						(Beans) (context) -> context.registerBean("job", ScopedJob.class),
						(Consumer<ApplicationContext>) (context) -> context.getBean("scopedTarget.job", Job.class)
							.run()));
	}

	private static Arguments guarded(String name, Beans beans) {
		return Arguments.argumentSet(name, beans,
				(Consumer<ApplicationContext>) (context) -> context.getBean(Caller.class).call());
	}

	@ParameterizedTest
	@MethodSource
	void refused(Beans beans, String description) {
		assertRefused(catchThrowable(() -> {
			try (ConfigurableApplicationContext context = application(beans).run()) {
				context.getBean(Caller.class).call();
			}
		}), description);
		assertThat(calls).hasValue(0);
	}

	static Stream<Arguments> refused() {
		Beans self = (context) -> context.registerBean("job", SelfJob.class, () -> new SelfJob(null) {

			@Autowired
			void setSelf(SelfJob self) {
				this.self = self;
			}

		});
		return Stream.of(Arguments.argumentSet("itself, by its name", self, "'job' of class"),
				Arguments.argumentSet("itself", self, "circular reference"),
				Arguments.argumentSet("itself, with transactions", (Beans) (context) -> {
					registerTransactions(context);
					context.registerBean("job", SelfJob.class, () -> new SelfJob(null) {
						@Autowired
						void setSelf(SelfJob self) {
							this.self = self;
						}

						@Override
						@Transactional
						public void run() {
							super.run();
						}
					});
				}, "circular reference"),
				Arguments.argumentSet("itself by an interface, with transactions", (Beans) (context) -> {
					registerTransactions(context);
					context.registerBean("job", TransferJob.class, () -> new TransferJob() {

						@Override
						@LeaderOnly
						public void run() {
							super.run();
						}

					});
				}, "circular reference"), Arguments.argumentSet("cycle", (Beans) (context) -> {
					context.registerBean("job", Job.class, () -> new SelfJob(null) {

						@Autowired
						void setPartner(Partner partner) {
							this.self = partner.job;
						}

					});
					context.registerBean(Partner.class);
				}, "circular reference"), Arguments.argumentSet("itself on initialization",
						(Beans) (context) -> context.registerBean("job", SelfJob.class, () -> new SelfJob(null) {

							@PostConstruct
							void initialize() {
								this.self = context.getBean(SelfJob.class);
							}

						}), "circular reference"),
				Arguments.argumentSet("dependency of a post-processor of the factory", (Beans) (context) -> {
					context.registerBean("job", Job.class);
					registerFactoryPostProcessor(context, "job");
				}, "without the proxy that guards"),
				Arguments.argumentSet("dependency of a post-processor of the registry", (Beans) (context) -> {
					context.registerBean("job", Job.class);
					context.registerBean(BeanDefinitionRegistryPostProcessor.class, () -> {
						context.getBean("job");
						return (registry) -> {
						};
					});
				}, "without the proxy that guards"),
				Arguments.argumentSet("bean that was wrapped before", (Beans) (context) -> {
					context.registerBean(FirstWrapper.class);
					registerRunnable(context);
				}, "cannot be guarded"), Arguments.argumentSet("bean that was replaced before", (Beans) (context) -> {
					context.registerBean(Replacement.class);
					registerRunnable(context);
				}, "its instance of 'java.lang.Thread'"), Arguments.argumentSet("infrastructure", (Beans) (context) -> {
					context.registerBean("job", InfrastructureJob.class);
					registerCaller(context);
				}, "it is an AopInfrastructureBean"));
	}

	@Test
	void existingInstanceIsRefused() {
		assertStartRefused(application((context) -> context.getBeanFactory().registerSingleton("existing", new Job())),
				"'existing' of class");
	}

	@ParameterizedTest
	@ValueSource(strings = { "org.springframework.boot.test.mock.mockito.MockitoBeans",
			"com.ninjasquad.springmockk.MockkBeans" })
	void mockOfALibraryIsAcceptedButNoOtherInstance(String mocks) {
		Job mock = new Job();
		Beans mocked = (context) -> {
			context.getBeanFactory().registerSingleton("mock", mock);
			context.getBeanFactory().registerSingleton(mocks, List.of(mock));
		};
		application(mocked).run().close();
		assertStartRefused(application((context) -> {
			mocked.register(context);
			context.getBeanFactory().registerSingleton("existing", new Job());
		}), "'existing' of class");
	}

	@Test
	void instanceRegisteredLateIsRefused() {
		assertStartRefused(application((context) -> context.registerBean(SmartLifecycle.class, () -> new Service() {

			@Override
			public void start() {
				context.getBeanFactory().registerSingleton("late", new Job());
			}

		})), "'late' of class");
	}

	@ParameterizedTest
	@MethodSource
	void childContextWithoutGuardIsRefused(Beans beans) {
		try (ConfigurableApplicationContext parent = application((context) -> {
		}).run(); AnnotationConfigApplicationContext child = new AnnotationConfigApplicationContext()) {
			child.setParent(parent);
			beans.register(child);
			assertRefused(catchThrowable(child::refresh), "is in a context without the starter");
		}
	}

	static Stream<Arguments> childContextWithoutGuardIsRefused() {
		return Stream.of(Arguments.argumentSet("bean", (Beans) (context) -> context.register(Plain.class)), Arguments
			.argumentSet("lazy bean",
					(Beans) (context) -> context.registerBean(Job.class, (definition) -> definition.setLazyInit(true))),
				Arguments.argumentSet("service", (Beans) (context) -> context.register(ServiceOfFactoryMethod.class)));
	}

	@Test
	void parentContextWithoutGuardIsRefused() {
		try (AnnotationConfigApplicationContext parent = new AnnotationConfigApplicationContext(Plain.class)) {
			assertStartRefused(application((context) -> {
			}).parent(parent), "is in a context without the starter");
		}
	}

	@Test
	void otherBeansAreNotAffected(CapturedOutput output) {
		application((context) -> context.register(StaticFactoryBean.class)).run().close();
		assertThat(output).doesNotContain("not eligible for getting processed");
		assertThat(StaticFactoryBean.created).containsExactly("post-processor", "factory");
	}

	@ParameterizedTest
	@MethodSource
	void serviceIsNotStartedByTheContainer(Beans beans) {
		application(beans).run().close();
		assertThat(calls).hasValue(0);
	}

	static Stream<Arguments> serviceIsNotStartedByTheContainer() {
		return Stream.of(
				Arguments.argumentSet("factory method",
						(Beans) (context) -> context.register(ServiceOfFactoryMethod.class)),
				Arguments.argumentSet("dependency of a post-processor", (Beans) (context) -> {
					context.register(ServiceOfFactoryMethod.class);
					context.registerBean(FirstPostProcessor.class, () -> {
						context.getBean("service");
						return new FirstPostProcessor(null);
					});
				}), Arguments.argumentSet("bean that is wrapped afterwards", (Beans) (context) -> {
					context.registerBean(Wrapper.class);
					context.registerBean("service", SmartLifecycle.class, AnnotatedService::new);
				}));
	}

	@ParameterizedTest
	@MethodSource
	void serviceIsRefused(Beans beans) {
		assertStartRefused(application(beans), "leadership");
		assertThat(calls).hasValue(0);
	}

	static Stream<Arguments> serviceIsRefused() {
		return Stream.of(Arguments.argumentSet("itself", (Beans) (context) -> context.registerBean("service",
				AnnotatedService.class, () -> new AnnotatedService() {

					@Autowired
					void setSelf(AnnotatedService self) {
						self.start();
					}

				})), Arguments.argumentSet("bean that was wrapped before", (Beans) (context) -> {
					context.registerBean(FirstWrapper.class);
					context.registerBean("service", SmartLifecycle.class, AnnotatedService::new);
				}), Arguments.argumentSet("dependency of a post-processor of the factory", (Beans) (context) -> {
					context.register(ServiceOfFactoryMethod.class);
					registerFactoryPostProcessor(context, "service");
				}));
	}

	private static void assertStartRefused(SpringApplicationBuilder application, String description) {
		assertRefused(catchThrowable(() -> application.run().close()), description);
	}

	private static void assertRefused(@Nullable Throwable failure, String description) {
		assertThat(NestedExceptionUtils.getMostSpecificCause(Objects.requireNonNull(failure)))
			.isInstanceOf(InvalidUsageException.class)
			.hasMessageContaining(description);
	}

	private static SpringApplicationBuilder application(Beans beans) {
		return new SpringApplicationBuilder(Empty.class).web(WebApplicationType.NONE)
			.initializers((context) -> beans.register((AnnotationConfigApplicationContext) context))
			.properties("leader-election.mode=always", "leader-election.candidate=false",
					"spring.main.allow-circular-references=true", "spring.main.banner-mode=off");
	}

	private static void registerCaller(AnnotationConfigApplicationContext context) {
		context.registerBean(Caller.class, () -> context.getBean("job", Runnable.class)::run);
	}

	private static void registerRunnable(AnnotationConfigApplicationContext context) {
		context.registerBean("job", Runnable.class, Job::new);
		registerCaller(context);
	}

	private static void registerPrototype(AnnotationConfigApplicationContext context) {
		context.registerBean("job", Job.class, (definition) -> definition.setScope(BeanDefinition.SCOPE_PROTOTYPE));
	}

	private static void registerFirstPostProcessor(AnnotationConfigApplicationContext context) {
		context.registerBean(FirstPostProcessor.class, () -> new FirstPostProcessor(context.getBean(Job.class)));
	}

	private static void registerFactoryPostProcessor(AnnotationConfigApplicationContext context, String dependency) {
		context.registerBean(BeanFactoryPostProcessor.class, () -> {
			context.getBean(dependency);
			return (beanFactory) -> {
			};
		});
	}

	private static void registerTransactions(AnnotationConfigApplicationContext context) {
		context.register(Transactions.class);
		context.registerBean(PlatformTransactionManager.class, () -> mock());
	}

	/** The beans of an application. */
	interface Beans {

		void register(AnnotationConfigApplicationContext context);

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

		@Nullable Runnable self;

		SelfJob(@Nullable Runnable self) {
			this.self = self;
		}

		@Override
		public void call() {
			this.self.run();
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
	@EnableTransactionManagement
	static class Transactions {

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

	static class Partner implements Caller {

		@Autowired
		@Nullable SelfJob job;

		@Override
		public void call() {
			this.job.run();
		}

	}

	/** Goes before the guard. */
	interface First extends PriorityOrdered {

		@Override
		default int getOrder() {
			return 0;
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

	record FirstPostProcessor(@Nullable Runnable job) implements BeanPostProcessor, First, Caller {

		@Override
		public void call() {
			this.job.run();
		}

	}

	record Factory<T>(Class<T> type) implements FactoryBean<T> {

		@Override
		public T getObject() {
			return BeanUtils.instantiateClass(this.type);
		}

		@Override
		public Class<T> getObjectType() {
			return this.type;
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

	@Scope(scopeName = BeanDefinition.SCOPE_PROTOTYPE, proxyMode = ScopedProxyMode.TARGET_CLASS)
	static class ScopedJob extends Job {

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

	static class Wrapper implements BeanPostProcessor {

		@Override
		public Object postProcessAfterInitialization(Object bean, String beanName) {
			return Set.of("job", "service").contains(beanName) ? Proxy.newProxyInstance(Job.class.getClassLoader(),
					new Class<?>[] { (bean instanceof Service) ? SmartLifecycle.class : Runnable.class },
					(proxy, method, arguments) -> method.invoke(bean, arguments)) : bean;
		}

	}

	static class FirstWrapper extends Wrapper implements First {

	}

	static class Replacement implements BeanPostProcessor, First {

		@Override
		public Object postProcessBeforeInitialization(Object bean, String beanName) {
			return (bean instanceof Job job) ? new Thread(job) : bean;
		}

	}

	static class InfrastructureJob extends Job implements AopInfrastructureBean {

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

	static class Service extends AbstractLifecycle {

		@Override
		public void start() {
			calls.incrementAndGet();
		}

	}

	/** Static, so that a post-processor can depend on it. */
	@Configuration(proxyBeanMethods = false)
	static class ServiceOfFactoryMethod {

		@Bean
		@LeaderOnly
		static SmartLifecycle service() {
			return new Service();
		}

	}

	@LeaderOnly
	static class AnnotatedService extends Service {

	}

}
