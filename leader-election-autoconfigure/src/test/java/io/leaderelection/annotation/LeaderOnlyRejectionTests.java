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

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Flow;
import java.util.concurrent.FutureTask;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.SubmissionPublisher;
import java.util.function.UnaryOperator;
import java.util.stream.IntStream;
import java.util.stream.Stream;

import io.leaderelection.LeadershipRevokedEvent;
import io.leaderelection.annotation.LeaderOnly.NotLeaderPolicy;
import io.leaderelection.annotation.LeaderOnlyReferenceTests.Factory;
import io.leaderelection.annotation.LeaderOnlyReferenceTests.PostProcessor;
import io.leaderelection.engine.DefaultLeaderElectors;
import io.reactivex.rxjava3.core.Single;
import jakarta.annotation.PostConstruct;
import net.bytebuddy.ByteBuddy;
import net.bytebuddy.implementation.StubMethod;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import reactor.core.publisher.Mono;

import org.springframework.aop.framework.AopProxyUtils;
import org.springframework.aop.framework.ProxyFactory;
import org.springframework.beans.BeanUtils;
import org.springframework.beans.factory.BeanCreationException;
import org.springframework.beans.factory.BeanNameAware;
import org.springframework.beans.factory.DisposableBean;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.beans.factory.config.BeanDefinition;
import org.springframework.beans.factory.config.BeanDefinitionCustomizer;
import org.springframework.beans.factory.config.BeanPostProcessor;
import org.springframework.boot.test.context.assertj.AssertableApplicationContext;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;
import org.springframework.context.SmartLifecycle;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Lazy;
import org.springframework.context.annotation.Scope;
import org.springframework.context.annotation.ScopedProxyMode;
import org.springframework.context.event.EventListener;
import org.springframework.core.OverridingClassLoader;
import org.springframework.mock.env.MockEnvironment;
import org.springframework.scheduling.annotation.Scheduled;
import org.springframework.transaction.annotation.EnableTransactionManagement;
import org.springframework.transaction.annotation.Transactional;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.mockito.Mockito.mock;

/**
 * Tests for the beans and methods on which {@link LeaderOnly @LeaderOnly} is rejected.
 */
@ExtendWith(OutputCaptureExtension.class)
@Tag("ring1")
class LeaderOnlyRejectionTests {

	private static final String MAKE_GUARDABLE = "Make it an instance method that is neither private nor final.";

	private static final String MAKE_EXTENSIBLE = "Make it a class that is neither final nor sealed (in Kotlin, an 'open' class).";

	private static final String ADD_TO_INTERFACE = "Declare it in an interface, or have the bean proxied by its class "
			+ "(spring.aop.proxy-target-class=true, or @Proxyable(TARGET_CLASS)).";

	private static final String RETURN_PUBLISHER = "Return Mono, Flux, Publisher, Flow.Publisher or a type of RxJava 3 "
			+ "or Mutiny, but not a subtype of these. Or return a CompletionStage.";

	private static final String RETURN_STAGE = "Do the leader work before the method returns, or return a CompletionStage or a publisher itself.";

	private static final String MOVE_WORK = "Move the leader work to a separate method, and annotate that method.";

	private static final Class<?> FINAL_CLASS = new GeneratedJob().inFinalClass().with(LeaderOnly.class);

	private static final Class<?> UNKNOWN_ELECTION = new GeneratedJob()
		.with(GeneratedJob.annotation(LeaderOnly.class).define("value", "nightly"));

	private static final Class<?> PLACEHOLDER_ELECTION = new GeneratedJob()
		.with(GeneratedJob.annotation(LeaderOnly.class).define("value", "${app.election}"));

	private final ApplicationContextRunner contextRunner = TestElections.follower();

	static Stream<Arguments> rejections() {
		return Stream.of(
				rejected("private method",
						new GeneratedJob().modifiers(Modifier.PRIVATE).taking(String.class).with(LeaderOnly.class),
						notGuardable("run(String)", "private"), MAKE_GUARDABLE),
				rejected("static method", new GeneratedJob().modifiers(Modifier.STATIC).with(LeaderOnly.class),
						notGuardable("run()", "static"), MAKE_GUARDABLE),
				rejected("final method", new GeneratedJob().modifiers(Modifier.FINAL).with(LeaderOnly.class),
						notGuardable("run()", "final"), MAKE_GUARDABLE),
				rejected("package-private method of another package", childInAnotherPackage(),
						"Method 'io.leaderelection.another.Child.run()' is annotated with @LeaderOnly, but is package-private in the package of a superclass: calls to it do not pass the proxy that guards it.",
						MAKE_GUARDABLE),
				rejected("final class", FINAL_CLASS, notExtensible("Generated", "final"), MAKE_EXTENSIBLE),
				rejected("final class of a factory bean",
						(runner) -> runner.withBean(Factory.class, () -> new Factory<>(FINAL_CLASS)),
						notExtensible("Generated", "final"), MAKE_EXTENSIBLE),
				rejected("final class with transactions", (runner) -> runner.withUserConfiguration(Transactions.class)
					.withBean(
							new GeneratedJob().inFinalClass().inClassWith(Transactional.class).with(LeaderOnly.class)),
						notExtensible("Generated", "final"), MAKE_EXTENSIBLE),
				rejected("record", (runner) -> runner.withBean(RecordClass.class, () -> new RecordClass("x")),
						notExtensible("RecordClass", "a record"), MAKE_EXTENSIBLE),
				rejected("sealed class", SealedClass.class, notExtensible("SealedClass", "sealed"), MAKE_EXTENSIBLE),
				rejected("frozen proxy", (runner) -> runner.withBean(Job.class, LeaderOnlyRejectionTests::frozenProxy),
						"Class 'FinalJob' has methods that are guarded by @LeaderOnly, but the proxy of its bean is frozen, so no advice can be added.",
						"Do not freeze the proxy."),
				rejected("method on no interface of the proxy",
						(runner) -> interfaceProxies().withBean(NotOnInterface.class),
						"Method 'NotOnInterface.other()' is annotated with @LeaderOnly, but is not declared by any interface of the bean's proxy.",
						ADD_TO_INTERFACE),
				rejected("method on no interface of a proxy of others",
						(runner) -> interfaceProxies().withUserConfiguration(InterfaceTransactions.class)
							.withBean(NotOnInterface.class),
						"Method 'NotOnInterface.other()' is annotated with @LeaderOnly, but is not declared by any interface of the bean's proxy.",
						ADD_TO_INTERFACE),
				rejected("method that a superclass without the interface implements", Inherited.class,
						"Method 'Annotated.run()' is annotated with @LeaderOnly, but 'Inherited' inherits its implementation from 'java.lang.Thread', which does not implement this interface: the annotation does not apply to it.",
						"Annotate the class, or the method that it inherits."),
				rejected("primitive result", new GeneratedJob().returning(int.class).with(LeaderOnly.class),
						"Method 'Generated.run()' is guarded by @LeaderOnly, but returns the primitive type 'int', which has no value for a skipped call.",
						"Return the wrapper type (null if skipped) or an Optional, or use @LeaderOnly(policy = REJECT)."),
				primitiveResult("primitive result in an annotated class",
						(runner) -> runner.withBean(ClassWithPrimitiveResult.class)),
				primitiveResult("lazy bean",
						(runner) -> withBean(runner, ClassWithPrimitiveResult.class,
								(definition) -> definition.setLazyInit(true))),
				primitiveResult("prototype",
						(runner) -> withBean(runner, ClassWithPrimitiveResult.class,
								(definition) -> definition.setScope(BeanDefinition.SCOPE_PROTOTYPE))),
				primitiveResult("scope",
						(runner) -> withBean(runner, ClassWithPrimitiveResult.class,
								(definition) -> definition.setScope("request"))),
				primitiveResult("scoped proxy", (runner) -> runner.withUserConfiguration(ScopedProxy.class)),
				primitiveResult("lazy factory method",
						(runner) -> runner.withUserConfiguration(LazyFactoryMethod.class)),
				rejected("future that cannot be made",
						new GeneratedJob().returning(FutureTask.class).with(LeaderOnly.class),
						"Method 'Generated.run()' is guarded by @LeaderOnly, but returns java.util.concurrent.FutureTask: no instance of this type can be created for a call that is skipped or rejected.",
						"Return Future, CompletionStage or CompletableFuture."),
				rejected("result that is worked on later",
						new GeneratedJob().returning(Callable.class).with(LeaderOnly.class),
						deferred("java.util.concurrent.Callable"), RETURN_STAGE),
				rejected("stream", new GeneratedJob().returning(IntStream.class).with(LeaderOnly.class),
						deferred("java.util.stream.IntStream"), RETURN_STAGE),
				rejected("array of publishers", ArrayOfPublishers.class,
						deferred("reactor.core.publisher.Mono<java.lang.String>[]").replace("Generated",
								"ArrayOfPublishers"),
						RETURN_STAGE),
				rejected("wildcard of publishers", ListOfPublishers.class,
						deferred("java.util.List<? extends reactor.core.publisher.Mono<?>>").replace("Generated",
								"ListOfPublishers"),
						RETURN_STAGE),
				rejected("publisher within a result",
						new GeneratedJob().returning(Optional.class, Mono.class).with(LeaderOnly.class),
						deferred("java.util.Optional<reactor.core.publisher.Mono>"), RETURN_STAGE),
				rejected("futures within a result",
						new GeneratedJob().returning(List.class, CompletableFuture.class).with(LeaderOnly.class),
						deferred("java.util.List<java.util.concurrent.CompletableFuture>"), RETURN_STAGE),
				rejected("publisher that cannot be made",
						new GeneratedJob().returning(SubmissionPublisher.class)
							.with(GeneratedJob.annotation(LeaderOnly.class).define("policy", NotLeaderPolicy.REJECT)),
						unknownPublisher("Generated"), RETURN_PUBLISHER),
				rejected("publisher that cannot be made behind a type variable", GenericUnknownPublisher.class,
						unknownPublisher("GenericUnknownPublisher"), RETURN_PUBLISHER),
				rejected("publisher that cannot be empty",
						new GeneratedJob().returning(Single.class).with(LeaderOnly.class),
						"Method 'Generated.run()' is guarded by @LeaderOnly, but returns io.reactivex.rxjava3.core.Single: this type has no empty value for a skipped call.",
						"Return a type that may be empty, or use @LeaderOnly(policy = REJECT)."),
				rejected("suspend function", suspendFunction(),
						"Method 'Generated.run(String, Continuation)' is guarded by @LeaderOnly, but is a suspend function: the work after its first suspension can only be guarded with Reactor.",
						"Add the dependencies org.jetbrains.kotlinx:kotlinx-coroutines-reactor and org.jetbrains.kotlin:kotlin-reflect."),
				rejected("runOnGrant with parameters",
						new GeneratedJob().taking(String.class)
							.with(GeneratedJob.annotation(LeaderOnly.class).define("runOnGrant", true)),
						"Method 'Generated.run(String)' runs when leadership is granted (runOnGrant), but has parameters: a run on grant has no arguments.",
						"Move the leader work to a method without parameters, and annotate that method."),
				rejected("runOnGrant on a class",
						new GeneratedJob()
							.inClassWith(GeneratedJob.annotation(LeaderOnly.class).define("runOnGrant", true))
							.with(),
						"Class 'Generated' is annotated with @LeaderOnly(runOnGrant = true): runOnGrant is supported on methods only.",
						"Annotate the methods that should run when leadership is granted."),
				rejected("runOnGrant in a prototype",
						(runner) -> withBean(runner,
								new GeneratedJob()
									.with(GeneratedJob.annotation(LeaderOnly.class).define("runOnGrant", true)),
								(definition) -> definition.setScope(BeanDefinition.SCOPE_PROTOTYPE)),
						"Method 'Generated.run()' runs when leadership is granted (runOnGrant), but bean 'rejected' is not a singleton: there is no single instance to call.",
						"Move the method to a singleton."),
				rejected("start of a lifecycle",
						new GeneratedJob().overriding(AbstractLifecycle.class, "start").with(LeaderOnly.class),
						callback("Generated.start()"), MOVE_WORK),
				rejected("aware method",
						new GeneratedJob().overriding(BeanNameAware.class, "setBeanName").with(LeaderOnly.class),
						callback("Generated.setBeanName(String)"), MOVE_WORK),
				rejected("destroy method",
						new GeneratedJob().overriding(DisposableBean.class, "destroy").with(LeaderOnly.class),
						callback("Generated.destroy()"), MOVE_WORK),
				rejected("post-construct method", new GeneratedJob().with(LeaderOnly.class, PostConstruct.class),
						callback("Generated.run()"), MOVE_WORK),
				rejected("init method of a bean definition",
						(runner) -> withBean(runner, WithMethod.class,
								(definition) -> definition.setInitMethodName("run")),
						callback("WithMethod.run()"), MOVE_WORK),
				rejected("toString", new GeneratedJob().overriding(Object.class, "toString").with(LeaderOnly.class),
						"Method 'Generated.toString()' is annotated with @LeaderOnly, but is a method of Object.",
						MOVE_WORK),
				rejected("listener of a revocation",
						new GeneratedJob().taking(LeadershipRevokedEvent.class)
							.with(LeaderOnly.class, EventListener.class),
						"Method 'Generated.run(LeadershipRevokedEvent)' is annotated with @LeaderOnly, but listens for the end of leadership: it would never be called.",
						MOVE_WORK),
				rejected("bean method", new GeneratedJob().returning(String.class).with(LeaderOnly.class, Bean.class),
						"Method 'Generated.run()' is annotated with @LeaderOnly, but creates a bean that is not a Lifecycle: only the methods of that bean can be guarded.",
						MOVE_WORK),
				rejected("annotated class with methods that no proxy intercepts", ClassWithFinalMethods.class,
						"Class 'ClassWithFinalMethods' is annotated with @LeaderOnly, but calls to some of its methods do not pass the proxy that guards it: 'finalMethod' (final), 'finalScheduled' (final), 'privateListener' (private), 'staticScheduled' (static).",
						"Make them instance methods that are neither private nor final, or annotate only the methods that are leader work, not the class."),
				rejected("annotated class with nothing to guard",
						new GeneratedJob().inClassWith(LeaderOnly.class)
							.overriding(DisposableBean.class, "destroy")
							.with(),
						"Class 'Generated' is annotated with @LeaderOnly, but has no method that can be guarded.",
						"Annotate the methods that are leader work. The annotation of a class does not cover methods that the container calls to initialize and destroy a bean, nor those that a framework declares."),
				rejected("unknown election", UNKNOWN_ELECTION, unknownElection("nightly"),
						configureElection("nightly")),
				rejected("unknown election of a lazy bean",
						(runner) -> withBean(runner, UNKNOWN_ELECTION, (definition) -> definition.setLazyInit(true)),
						unknownElection("nightly"), configureElection("nightly")),
				rejected("unknown election after a placeholder",
						(runner) -> runner.withPropertyValues("app.election=weekly").withBean(PLACEHOLDER_ELECTION),
						unknownElection("weekly"), configureElection("weekly")),
				rejected("unresolvable placeholder", PLACEHOLDER_ELECTION,
						"Method 'Generated.run()' is guarded by @LeaderOnly for the election '${app.election}', which cannot be resolved: Could not resolve placeholder 'app.election' in value \"${app.election}\"",
						"Set the property that the placeholder names, or give the placeholder a default."));
	}

	@ParameterizedTest(name = "{0}")
	@MethodSource
	void rejections(String name, UnaryOperator<ApplicationContextRunner> setUp, String description, String action) {
		assertRejected(setUp.apply(this.contextRunner), description, action);
	}

	static void assertRejected(ApplicationContextRunner runner, String description, String action) {
		runner.run((context) -> {
			assertThat(context).hasFailed();
			InvalidUsageException failure = failure(context.getStartupFailure());
			assertThat(shortened(failure.getDescription())).isEqualTo(description);
			assertThat(failure.getAction()).isEqualTo(action);
			assertThat(failure).hasMessage(failure.getDescription() + " " + action);
		});
	}

	@Test
	void resultsThatAreNotWorkAreNotRejected() {
		this.contextRunner.withBean(CoveredByItsClass.class).run((context) -> assertThat(context).hasNotFailed());
	}

	@Test
	void beanWhoseClassIsNotDeclaredIsRejectedWhenItIsCreated() {
		this.contextRunner.withBean(Job.class, FinalJob::new, (definition) -> definition.setLazyInit(true))
			.run((context) -> assertRejectedWhenCreated(context, Job.class, notExtensible("FinalJob", "final")));
	}

	@Test
	void rejectionHasTheFullNameOfTheClass() {
		withBean(this.contextRunner, UNKNOWN_ELECTION, (definition) -> {
		}).run((context) -> assertThat(failure(context.getStartupFailure()).getDescription())
			.contains(UNKNOWN_ELECTION.getName()));
	}

	static void assertRejectedWhenCreated(AssertableApplicationContext context, Class<?> type, String description) {
		assertThat(context).hasNotFailed();
		assertThatExceptionOfType(BeanCreationException.class).isThrownBy(() -> context.getBean(type))
			.satisfies((ex) -> assertThat(shortened(failure(ex).getDescription())).isEqualTo(description));
	}

	@Test
	void methodOfTheApplicationInALifecycleIsGuarded() {
		this.contextRunner.withBean(LifecycleWithJob.class)
			.run((context) -> assertThat(context.getBean(LifecycleWithJob.class).job()).isNull());
	}

	@Test
	void publisherWithoutReactor() throws Exception {
		assertThatExceptionOfType(InvocationTargetException.class)
			.isThrownBy(() -> guardedMethodsWithoutReactor(FlowPublisher.class.getName()))
			.withCauseInstanceOf(IllegalStateException.class)
			.havingCause()
			.withMessage("Method '" + FlowPublisher.class.getName()
					+ ".run()' is guarded by @LeaderOnly, but returns java.util.concurrent.Flow$Publisher: the work "
					+ "that begins on subscription can only be guarded with Reactor. Add the dependency "
					+ "io.projectreactor:reactor-core. Alternatively, do the leader work before the method returns, "
					+ "or return a CompletionStage.");
		assertThat((Set<?>) guardedMethodsWithoutReactor(WithMethod.class.getName())).isNotEmpty();
	}

	private static Object guardedMethodsWithoutReactor(String type) throws Exception {
		ClassLoader classLoader = new OverridingClassLoader(LeaderOnlyRejectionTests.class.getClassLoader()) {

			@Override
			protected boolean isEligibleForOverriding(String className) {
				return className.startsWith("io.leaderelection.annotation.");
			}

			@Override
			protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
				if (name.startsWith("reactor.")) {
					throw new ClassNotFoundException(name);
				}
				return super.loadClass(name, resolve);
			}

		};
		Method guardedMethods = classLoader.loadClass(GuardRules.class.getName())
			.getDeclaredMethod("guardedMethods", Class.class, ObjectProvider.class);
		guardedMethods.setAccessible(true);
		return guardedMethods.invoke(null, classLoader.loadClass(type), null);
	}

	@Test
	void publisherThatHidesBehindObjectIsNotReturned() {
		TestElections.leader().withBean(HiddenPublisher.class).run((context) -> {
			HiddenPublisher bean = context.getBean(HiddenPublisher.class);
			assertThatExceptionOfType(InvalidUsageException.class).isThrownBy(() -> bean.run(true))
				.withMessageContaining("returned a java.util.concurrent.SubmissionPublisher, whose work runs after");
			assertThat(bean.run(false)).isEqualTo("ran");
		});
	}

	@Test
	void electionsAreNotAskedForWhileBeansAreCreated() {
		List<String> order = new ArrayList<>();
		new ApplicationContextRunner().withBean(LeaderOnlyBeanPostProcessor.class)
			.withBean(WithMethod.class)
			.withBean(DefaultLeaderElectors.class, () -> {
				order.add("elections");
				return new TestElections().runningElections(new MockEnvironment(), mock()).electors();
			}, (definition) -> definition.setLazyInit(true))
			.withBean("lastBean", Object.class, () -> order.add("last bean"))
			.run((context) -> assertThat(context).hasNotFailed());
		assertThat(order).containsExactly("last bean", "elections");
	}

	@Test
	void beanThatCameBeforeTheGuardIsRejected() {
		this.contextRunner.withUserConfiguration(EarlyJob.class).run(LeaderOnlyRejectionTests::lacksGuard);
		this.contextRunner
			.withInitializer((context) -> context.getBeanFactory().registerSingleton("finished", new WithMethod()))
			.run(LeaderOnlyRejectionTests::lacksGuard);
	}

	@Test
	void beanWhoseProxyIsRemovedIsRejected() {
		ApplicationContextRunner runner = this.contextRunner.withBean(Unwrapping.class);
		runner.withBean(WithMethod.class)
			.run((context) -> assertThat(failure(context.getStartupFailure()))
				.hasMessageContaining("exists without the proxy that guards its methods"));
		withBean(runner, WithMethod.class, (definition) -> definition.setScope(BeanDefinition.SCOPE_PROTOTYPE))
			.run((context) -> assertRejectedWhenCreated(context, WithMethod.class,
					"Bean 'rejected' of class 'WithMethod' is @LeaderOnly, but exists without the proxy that guards its methods."));
		// Or that hides its class behind another one
		this.contextRunner
			.withBean("rejected", Job.class,
					() -> (Job) new ProxyFactory(new ProxyFactory(new FinalJob()).getProxy()).getProxy(),
					(definition) -> definition.setScope(BeanDefinition.SCOPE_PROTOTYPE))
			.run((context) -> assertRejectedWhenCreated(context, Job.class,
					"Bean 'rejected' of class 'FinalJob' is @LeaderOnly, but exists without the proxy that guards its methods."));
	}

	private static void lacksGuard(AssertableApplicationContext context) {
		assertThat(context).getFailure()
			.isInstanceOf(InvalidUsageException.class)
			.hasMessageContaining("exists without the proxy that guards its methods");
	}

	@Test
	void guardHoldsUpNoOtherProcessor(CapturedOutput output) {
		this.contextRunner.withBean(WithMethod.class).run((context) -> assertThat(context).hasNotFailed());
		assertThat(output).doesNotContain("not eligible for getting processed");
	}

	private static Arguments primitiveResult(String name, UnaryOperator<ApplicationContextRunner> setUp) {
		return rejected(name, setUp,
				"Method 'ClassWithPrimitiveResult.size()' is guarded by @LeaderOnly, but returns the primitive type 'int', which has no value for a skipped call.",
				"Return the wrapper type (null if skipped) or an Optional, or use @LeaderOnly(policy = REJECT). Or annotate only the methods that are leader work, not the class.");
	}

	private static Arguments rejected(String name, Class<?> type, String description, String action) {
		return rejected(name, (runner) -> runner.withBean("rejected", type), description, action);
	}

	private static Arguments rejected(String name, UnaryOperator<ApplicationContextRunner> setUp, String description,
			String action) {
		return Arguments.of(name, setUp, description, action);
	}

	/**
	 * Return a runner in which beans are proxied by their interfaces, if they have any.
	 */
	private static ApplicationContextRunner interfaceProxies() {
		return new ApplicationContextRunner().withUserConfiguration(TestElections.class);
	}

	private static <T> ApplicationContextRunner withBean(ApplicationContextRunner runner, Class<T> type,
			BeanDefinitionCustomizer customizer) {
		return runner.withBean("rejected", type, () -> BeanUtils.instantiateClass(type), customizer);
	}

	private static String notGuardable(String method, String modifier) {
		return "Method 'Generated." + method + "' is annotated with @LeaderOnly, but is " + modifier
				+ ": calls to it do not pass the proxy that guards it.";
	}

	private static String notExtensible(String type, String kind) {
		return "Class '" + type + "' has methods that are guarded by @LeaderOnly, but is " + kind
				+ ": a proxy cannot extend it.";
	}

	private static String unknownPublisher(String type) {
		return "Method '" + type + ".run()' is guarded by @LeaderOnly, but returns "
				+ "java.util.concurrent.SubmissionPublisher: Spring cannot adapt a guarded publisher to this type.";
	}

	private static String deferred(String type) {
		return "Method 'Generated.run()' is guarded by @LeaderOnly, but returns " + type
				+ ", which is worked on after the method has returned.";
	}

	private static String callback(String method) {
		return "Method '" + method + "' is annotated with @LeaderOnly, but is called by the container to "
				+ "initialize, manage or destroy the bean.";
	}

	private static String unknownElection(String election) {
		return "Method 'Generated.run()' is guarded by @LeaderOnly for the election '" + election
				+ "', which does not exist.";
	}

	private static String configureElection(String election) {
		return "Use one of 'default', 'reports', or configure the election with properties "
				+ "'leader-election.elections." + election + ".*'.";
	}

	private static InvalidUsageException failure(Throwable failure) {
		assertThat(failure).isNotNull();
		Throwable cause = failure;
		while (cause != null && !(cause instanceof InvalidUsageException)) {
			cause = cause.getCause();
		}
		assertThat(cause).as(() -> "Cause of " + failure).isNotNull();
		return (InvalidUsageException) cause;
	}

	/**
	 * Return a text with the simple names of the types of a test.
	 */
	private static String shortened(String text) {
		return text.replaceAll("'io\\.leaderelection\\.annotation\\.(\\w+\\$)?", "'")
			.replaceAll("Generated\\d+\\w*", "Generated");
	}

	private static Class<?> childInAnotherPackage() {
		Class<?> parent = new ByteBuddy().subclass(Object.class)
			.name("io.leaderelection.other.Parent")
			.modifiers(Modifier.PUBLIC)
			.defineMethod("run", void.class, 0)
			.intercept(StubMethod.INSTANCE)
			.annotateMethod(GeneratedJob.annotation(LeaderOnly.class).build())
			.make()
			.load(LeaderOnlyRejectionTests.class.getClassLoader())
			.getLoaded();
		return new ByteBuddy().subclass(parent)
			.name("io.leaderelection.another.Child")
			.make()
			.load(parent.getClassLoader())
			.getLoaded();
	}

	/**
	 * Generate a method with the interface of Kotlin, which is not on the class path.
	 */
	private static Class<?> suspendFunction() {
		ClassLoader classLoader = LeaderOnlyRejectionTests.class.getClassLoader();
		Class<?> continuation = new ByteBuddy().makeInterface()
			.name("kotlin.coroutines.Continuation")
			.make()
			.load(classLoader)
			.getLoaded();
		return new ByteBuddy().subclass(Object.class)
			.name("io.leaderelection.annotation.Generated0")
			.defineMethod("run", Object.class, 0)
			.withParameters(String.class, continuation)
			.intercept(StubMethod.INSTANCE)
			.annotateMethod(GeneratedJob.annotation(LeaderOnly.class).build())
			.make()
			.load(continuation.getClassLoader())
			.getLoaded();
	}

	private static Job frozenProxy() {
		ProxyFactory proxyFactory = new ProxyFactory(new FinalJob());
		proxyFactory.setFrozen(true);
		return (Job) proxyFactory.getProxy();
	}

	static class Unwrapping implements BeanPostProcessor {

		@Override
		public @Nullable Object postProcessAfterInitialization(Object bean, String beanName) {
			Object target = AopProxyUtils.getSingletonTarget(bean);
			return (target instanceof WithMethod) ? target : bean;
		}

	}

	interface Annotated {

		@LeaderOnly
		void run();

	}

	static class ArrayOfPublishers {

		@LeaderOnly
		Mono<String> @Nullable [] run() {
			return null;
		}

	}

	@LeaderOnly
	static class CoveredByItsClass {

		@Nullable Map<String, ScheduledFuture<?>> running() {
			return null;
		}

		@LeaderOnly
		@Nullable Class<? extends Callable<?>> type() {
			return null;
		}

	}

	static class ListOfPublishers {

		@LeaderOnly
		@Nullable List<? extends Mono<?>> run() {
			return null;
		}

	}

	static class Inherited extends Thread implements Annotated {

	}

	static class WithMethod {

		@LeaderOnly
		void run() {
		}

	}

	static class ScopedProxy {

		@Bean
		@Scope(scopeName = "request", proxyMode = ScopedProxyMode.TARGET_CLASS)
		ClassWithPrimitiveResult bean() {
			return new ClassWithPrimitiveResult();
		}

	}

	static class LazyFactoryMethod {

		@Bean
		@Lazy
		static ClassWithPrimitiveResult bean() {
			return new ClassWithPrimitiveResult();
		}

	}

	record RecordClass(String value) {

		@LeaderOnly
		void run() {
		}

	}

	static sealed class SealedClass permits SealedChild {

		@LeaderOnly
		void run() {
		}

	}

	static final class SealedChild extends SealedClass {

	}

	interface Job {

		String run();

	}

	static final class FinalJob implements Job {

		@Override
		@LeaderOnly
		public String run() {
			return "ran";
		}

	}

	@Transactional
	static class NotOnInterface implements Job {

		@Override
		public String run() {
			return "ran";
		}

		@LeaderOnly
		void other() {
		}

	}

	@LeaderOnly
	static class ClassWithPrimitiveResult {

		void run() {
		}

		int size() {
			return 42;
		}

	}

	static class GenericParent<T> {

		@LeaderOnly
		T run() {
			return null;
		}

	}

	static class GenericUnknownPublisher extends GenericParent<SubmissionPublisher<String>> {

	}

	static class FlowPublisher {

		@LeaderOnly
		Flow.Publisher<String> run() {
			return new SubmissionPublisher<>();
		}

	}

	static class HiddenPublisher {

		@LeaderOnly
		Object run(boolean publisher) {
			return publisher ? new SubmissionPublisher<>() : "ran";
		}

	}

	abstract static class AbstractLifecycle implements SmartLifecycle {

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

	static class LifecycleWithJob extends AbstractLifecycle {

		@LeaderOnly
		String job() {
			return "ran";
		}

	}

	public static class ParentWithFinalMethod {

		public final void finalMethod() {
		}

		protected final void finalHelper() {
		}

	}

	@LeaderOnly
	static class ClassWithFinalMethods extends ParentWithFinalMethod {

		void run() {
		}

		@Scheduled(fixedDelay = 3600_000)
		final void finalScheduled() {
		}

		@Scheduled(fixedDelay = 3600_000)
		static void staticScheduled() {
		}

		@EventListener
		private void privateListener(String event) {
		}

		private void privateHelper() {
		}

	}

	@Configuration(proxyBeanMethods = false)
	@EnableTransactionManagement(proxyTargetClass = true)
	static class Transactions {

	}

	@Configuration(proxyBeanMethods = false)
	@EnableTransactionManagement
	static class InterfaceTransactions {

	}

	@Configuration
	static class EarlyJob {

		@Bean
		PostProcessor orderedPostProcessor() {
			return new PostProcessor(null);
		}

		@LeaderOnly
		void run() {
		}

	}

}
