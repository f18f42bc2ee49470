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
import java.util.Set;
import java.util.concurrent.Flow;
import java.util.concurrent.FutureTask;
import java.util.concurrent.SubmissionPublisher;
import java.util.function.Supplier;

import io.leaderelection.LeadershipRevokedEvent;
import io.leaderelection.annotation.LeaderOnly.NotLeaderPolicy;
import io.leaderelection.engine.DefaultLeaderElectors;
import io.reactivex.rxjava3.core.Single;
import jakarta.annotation.PostConstruct;
import net.bytebuddy.ByteBuddy;
import net.bytebuddy.description.annotation.AnnotationDescription;
import net.bytebuddy.implementation.StubMethod;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

import org.springframework.aop.framework.ProxyFactory;
import org.springframework.aop.support.AopUtils;
import org.springframework.beans.factory.BeanCreationException;
import org.springframework.beans.factory.BeanNameAware;
import org.springframework.beans.factory.DisposableBean;
import org.springframework.beans.factory.FactoryBean;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.beans.factory.config.BeanDefinition;
import org.springframework.beans.factory.config.BeanPostProcessor;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;
import org.springframework.context.SmartLifecycle;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Lazy;
import org.springframework.context.annotation.ProxyType;
import org.springframework.context.annotation.Proxyable;
import org.springframework.context.event.EventListener;
import org.springframework.core.Ordered;
import org.springframework.core.OverridingClassLoader;
import org.springframework.mock.env.MockEnvironment;
import org.springframework.scheduling.annotation.Scheduled;
import org.springframework.transaction.annotation.EnableTransactionManagement;
import org.springframework.transaction.annotation.Transactional;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

/**
 * Tests for the beans and methods on which {@link LeaderOnly @LeaderOnly} is rejected.
 */
@ExtendWith(OutputCaptureExtension.class)
class LeaderOnlyRejectionTests {

	private final ApplicationContextRunner contextRunner = TestElections.follower();

	@Test
	void privateMethod() {
		assertRejected(PrivateMethod.class,
				"Method '" + name(PrivateMethod.class)
						+ ".run(String)' is annotated with @LeaderOnly, but is private: calls to it do not pass the "
						+ "proxy that guards it.",
				"Make it an instance method that is neither private nor final.");
	}

	@Test
	void staticMethod() {
		assertRejected(StaticMethod.class,
				"Method '" + name(StaticMethod.class)
						+ ".run()' is annotated with @LeaderOnly, but is static: calls to it do not pass the proxy "
						+ "that guards it.",
				"Make it an instance method that is neither private nor final.");
	}

	@Test
	void finalMethod() {
		assertRejected(FinalMethod.class,
				"Method '" + name(FinalMethod.class)
						+ ".run()' is annotated with @LeaderOnly, but is final: calls to it do not pass the proxy that "
						+ "guards it.",
				"Make it an instance method that is neither private nor final.");
	}

	@Test
	void finalClass() {
		assertRejected(FinalClass.class,
				"Class '" + name(FinalClass.class)
						+ "' has methods that are guarded by @LeaderOnly, but is final: the proxy that guards it "
						+ "cannot extend it.",
				"Make it a class that is neither final nor sealed (in Kotlin, an 'open' class).");
	}

	@Test
	void recordClass() {
		this.contextRunner.withBean(RecordClass.class, () -> new RecordClass("x"))
			.run((context) -> assertThat(failure(context.getStartupFailure()).getDescription())
				.isEqualTo("Class '" + name(RecordClass.class)
						+ "' has methods that are guarded by @LeaderOnly, but is a record: the proxy that guards it "
						+ "cannot extend it."));
	}

	@Test
	void sealedClass() {
		this.contextRunner.withBean(SealedClass.class)
			.run((context) -> assertThat(failure(context.getStartupFailure()).getDescription())
				.contains("but is sealed: the proxy that guards it cannot extend it."));
	}

	@Test
	void finalClassThatOthersWouldProxyBefore() {
		this.contextRunner.withUserConfiguration(Transactions.class)
			.withBean(FinalTransactionalClass.class)
			.run((context) -> assertThat(failure(context.getStartupFailure()).getDescription())
				.contains(FinalTransactionalClass.class.getName(), "but is final"));
	}

	@Test
	void finalClassOfFactoryBean() {
		this.contextRunner.withBean(FinalClassFactory.class)
			.run((context) -> assertThatExceptionOfType(BeanCreationException.class)
				.isThrownBy(() -> context.getBean(FinalClass.class))
				.satisfies((ex) -> assertThat(failure(ex).getDescription()).contains("but is final")));
	}

	@Test
	void frozenProxy() {
		this.contextRunner.withBean(Job.class, () -> {
			ProxyFactory proxyFactory = new ProxyFactory(new FinalJob());
			proxyFactory.setFrozen(true);
			return (Job) proxyFactory.getProxy();
		})
			.run((context) -> assertThat(failure(context.getStartupFailure()).getDescription())
				.isEqualTo("Class '" + name(FinalJob.class) + "' has methods that are guarded by @LeaderOnly, but its "
						+ "bean has a proxy that takes no further advice."));
	}

	@Test
	void finalClassIsGuardedByItsInterfaces() {
		this.contextRunner.withUserConfiguration(InterfaceProxied.class).run((context) -> {
			assertThat(AopUtils.isJdkDynamicProxy(context.getBean(Job.class))).isTrue();
			assertThat(context.getBean(Job.class).run()).isNull();
		});
	}

	@Test
	void methodThatIsNotOnAnInterfaceOfAnInterfaceProxy() {
		new ApplicationContextRunner().withUserConfiguration(TestElections.class)
			.withBean(NotOnInterface.class)
			.run((context) -> {
				InvalidLeaderOnlyException failure = failure(context.getStartupFailure());
				assertThat(failure.getDescription()).isEqualTo("Method '" + name(NotOnInterface.class)
						+ ".other()' is annotated with @LeaderOnly, but is on none of the interfaces that the proxy of "
						+ "its bean has.");
				assertThat(failure.getAction()).isEqualTo("Add it to an interface, or let the bean be proxied by its "
						+ "class (spring.aop.proxy-target-class=true, or @Proxyable(TARGET_CLASS)).");
			});
	}

	@Test
	void methodThatIsNotOnAnInterfaceOfAnInterfaceProxyOfOthers() {
		new ApplicationContextRunner().withUserConfiguration(TestElections.class, InterfaceTransactions.class)
			.withBean(NotOnInterface.class)
			.run((context) -> assertThat(failure(context.getStartupFailure()).getDescription())
				.contains(".other()' is annotated with @LeaderOnly, but is on none of the interfaces"));
	}

	@Test
	void packagePrivateMethodOfOtherPackage() throws Exception {
		Class<?> parent = new ByteBuddy().subclass(Object.class)
			.name("io.leaderelection.other.Parent")
			.modifiers(Modifier.PUBLIC)
			.defineMethod("run", void.class, 0)
			.intercept(StubMethod.INSTANCE)
			.annotateMethod(AnnotationDescription.Builder.ofType(LeaderOnly.class).build())
			.make()
			.load(getClass().getClassLoader())
			.getLoaded();
		Class<?> child = new ByteBuddy().subclass(parent)
			.name("io.leaderelection.another.Child")
			.make()
			.load(parent.getClassLoader())
			.getLoaded();
		assertRejected(child,
				"Method 'io.leaderelection.another.Child.run()' is annotated with @LeaderOnly, but is package-private "
						+ "in the package of a superclass: calls to it do not pass the proxy that guards it.",
				"Make it an instance method that is neither private nor final.");
	}

	@Test
	void primitiveResultWithSkip() {
		assertRejected(PrimitiveResult.class, "Method '" + name(PrimitiveResult.class)
				+ ".run()' is guarded by @LeaderOnly, but returns the primitive 'int': there is no result for a "
				+ "call that is skipped.",
				"Return the wrapper type (null if skipped) or an Optional, or use @LeaderOnly(policy = REJECT).");
	}

	@Test
	void primitiveResultInAnnotatedClass() {
		assertRejected(ClassWithPrimitiveResult.class,
				"Method '" + name(ClassWithPrimitiveResult.class)
						+ ".size()' is guarded by @LeaderOnly, but returns the primitive 'int': there is no result for "
						+ "a call that is skipped.",
				"Return the wrapper type (null if skipped) or an Optional, or use @LeaderOnly(policy = REJECT). Or "
						+ "annotate only the methods that are leader work, not the class.");
	}

	@Test
	void futureThatCannotBeMade() {
		assertRejected(UnknownFuture.class,
				"Method '" + name(UnknownFuture.class)
						+ ".run()' is guarded by @LeaderOnly, but returns java.util.concurrent.FutureTask: there is no "
						+ "such result for a call that is not let through.",
				"Return Future, CompletionStage or CompletableFuture.");
	}

	@Test
	void publisherThatCannotBeMade() {
		assertRejected(UnknownPublisher.class,
				"Method '" + name(UnknownPublisher.class)
						+ ".run()' is guarded by @LeaderOnly, but returns java.util.concurrent.SubmissionPublisher: "
						+ "Spring cannot make one of what is guarded when it is subscribed to.",
				"Return Mono, Flux, Publisher, Flow.Publisher or a type of RxJava 3 or Mutiny, and no subtype of these. "
						+ "Or return a CompletionStage.");
	}

	@Test
	void publisherThatCannotBeMadeBehindTypeVariable() {
		this.contextRunner.withBean(GenericUnknownPublisher.class)
			.run((context) -> assertThat(failure(context.getStartupFailure()).getDescription())
				.contains("returns java.util.concurrent.SubmissionPublisher"));
	}

	@Test
	void publisherThatCannotBeEmpty() {
		assertRejected(NeverEmpty.class, "Method '" + name(NeverEmpty.class)
				+ ".run()' is guarded by @LeaderOnly, but returns io.reactivex.rxjava3.core.Single: there is no "
				+ "empty one for a call that is skipped.",
				"Return a type that may be empty, or use @LeaderOnly(policy = REJECT).");
	}

	@Test
	void publisherWithoutReactor() throws Exception {
		assertThatExceptionOfType(InvocationTargetException.class)
			.isThrownBy(() -> guardedMethodsWithoutReactor(FlowPublisher.class.getName()))
			.withCauseInstanceOf(IllegalStateException.class)
			.havingCause()
			.withMessage("Method '" + name(FlowPublisher.class)
					+ ".run()' is guarded by @LeaderOnly, but returns java.util.concurrent.Flow$Publisher: what it does "
					+ "when that is subscribed to can only be guarded with the help of Reactor. Add the dependency "
					+ "io.projectreactor:reactor-core. Or do the leader work before the method returns, or return a "
					+ "CompletionStage.");
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
			.getDeclaredMethod("guardedMethods", Class.class);
		guardedMethods.setAccessible(true);
		return guardedMethods.invoke(null, classLoader.loadClass(type));
	}

	@Test
	void publisherThatHidesBehindObjectIsNotReturned() {
		TestElections.leader().withBean(HiddenPublisher.class).run((context) -> {
			HiddenPublisher bean = context.getBean(HiddenPublisher.class);
			assertThatExceptionOfType(InvalidLeaderOnlyException.class).isThrownBy(() -> bean.run(true))
				.withMessageContaining("returned a java.util.concurrent.SubmissionPublisher, whose work is done after");
			assertThat(bean.run(false)).isEqualTo("ran");
		});
	}

	@Test
	void suspendFunction() {
		Class<?> continuation = typeBelow("kotlin.coroutines.Continuation", "kotlin.coroutines.Other")
			.getInterfaces()[0];
		assertRejected(generated(Object.class, String.class, continuation),
				"Method 'io.leaderelection.annotation.Generated.run(String, Continuation)' is guarded by @LeaderOnly, "
						+ "but is a suspend function: what it does after it has returned can only be guarded with the help "
						+ "of Reactor.",
				"Add the dependencies org.jetbrains.kotlinx:kotlinx-coroutines-reactor and "
						+ "org.jetbrains.kotlin:kotlin-reflect.");
	}

	@Test
	void runOnGrant() {
		assertRejected(RunOnGrantWithParameters.class, "Method '" + name(RunOnGrantWithParameters.class)
				+ ".run(String)' is to be run when leadership is granted (runOnGrant), but has parameters: there "
				+ "are no arguments to call it with.",
				"Move the leader work into a method without parameters, and annotate that.");
		assertRejected(RunOnGrantClass.class,
				"Class '" + name(RunOnGrantClass.class)
						+ "' is annotated with @LeaderOnly(runOnGrant = true): that is for single methods.",
				"Annotate the methods that are to be run when leadership is granted.");
		this.contextRunner
			.withBean("job", RunOnGrant.class, RunOnGrant::new,
					(definition) -> definition.setScope(BeanDefinition.SCOPE_PROTOTYPE))
			.run((context) -> {
				InvalidLeaderOnlyException failure = failure(context.getStartupFailure());
				assertThat(failure.getDescription()).isEqualTo("Method '" + name(RunOnGrant.class)
						+ ".run()' is to be run when leadership is granted (runOnGrant), but bean 'job' is no singleton: "
						+ "there is no one bean to run it on.");
				assertThat(failure.getAction()).isEqualTo("Move the method into a singleton.");
			});
	}

	@Test
	void annotatedMethodOfLifecycleMayBeOneOfTheApplicationOnly() {
		this.contextRunner.withBean(LifecycleWithJob.class)
			.run((context) -> assertThat(context.getBean(LifecycleWithJob.class).job()).isNull());
		this.contextRunner.withBean(LifecycleWithAnnotatedStart.class)
			.run((context) -> assertThat(failure(context.getStartupFailure()).getDescription())
				.contains(".start()' is annotated with @LeaderOnly, but is called by the container"));
	}

	@Test
	void annotatedCallback() {
		String action = "Move the leader work into a method of its own, and annotate that.";
		assertRejected(AnnotatedAware.class,
				"Method '" + name(AnnotatedAware.class)
						+ ".setBeanName(String)' is annotated with @LeaderOnly, but is called by the container to set "
						+ "the bean up, to manage it or to destroy it.",
				action);
		assertRejected(AnnotatedDestroy.class, "Method '" + name(AnnotatedDestroy.class)
				+ ".destroy()' is annotated with @LeaderOnly, but is called by the container to set the bean up, "
				+ "to manage it or to destroy it.", action);
		assertRejected(AnnotatedPostConstruct.class, "Method '" + name(AnnotatedPostConstruct.class)
				+ ".init()' is annotated with @LeaderOnly, but is called by the container to set the bean up, to "
				+ "manage it or to destroy it.", action);
		assertRejected(AnnotatedToString.class, "Method '" + name(AnnotatedToString.class)
				+ ".toString()' is annotated with @LeaderOnly, but is a method of every object.", action);
		assertRejected(AnnotatedRevokedListener.class, "Method '" + name(AnnotatedRevokedListener.class)
				+ ".revoked(LeadershipRevokedEvent)' is annotated with @LeaderOnly, but is told when leadership has "
				+ "ended: it would never be called.", action);
		assertRejected(AnnotatedBeanMethod.class, "Method '" + name(AnnotatedBeanMethod.class)
				+ ".value()' is annotated with @LeaderOnly, but makes a bean that is no Lifecycle: it is the methods of the bean that can be "
				+ "guarded.", action);
	}

	@Test
	void annotatedInitMethodOfBeanDefinition() {
		this.contextRunner.withUserConfiguration(InitMethod.class)
			.run((context) -> assertThat(failure(context.getStartupFailure()).getDescription())
				.contains(".init()' is annotated with @LeaderOnly, but is called by the container"));
	}

	@Test
	void annotatedClassWithMethodsThatNoProxyIntercepts() {
		assertRejected(ClassWithFinalMethods.class, "Class '" + name(ClassWithFinalMethods.class)
				+ "' is annotated with @LeaderOnly, but calls to some of its methods do not pass the proxy that "
				+ "guards it: 'finalMethod' (final), 'finalScheduled' (final), 'privateListener' (private), "
				+ "'staticScheduled' (static).",
				"Make them instance methods that are neither private nor final, or annotate only the methods that are "
						+ "leader work, not the class.");
	}

	@Test
	void annotatedClassWithNothingToGuard() {
		assertRejected(NothingToGuard.class,
				"Class '" + name(NothingToGuard.class)
						+ "' is annotated with @LeaderOnly, but has no method that could be guarded.",
				"Remove the annotation. Methods that the container calls to set a bean up and to destroy it are not "
						+ "guarded.");
	}

	@Test
	void unknownElection() {
		assertRejected(UnknownElection.class,
				"Method '" + name(UnknownElection.class)
						+ ".run()' is guarded by @LeaderOnly for the election 'nightly', which does not exist.",
				"Use one of 'default', 'reports', or configure the election with properties "
						+ "'leader-election.elections.nightly.*'.");
	}

	@Test
	void unknownElectionAfterPlaceholder() {
		this.contextRunner.withPropertyValues("app.election=weekly")
			.withBean(PlaceholderElection.class)
			.run((context) -> assertThat(failure(context.getStartupFailure()).getDescription())
				.contains("for the election 'weekly', which does not exist"));
	}

	@Test
	void unresolvablePlaceholder() {
		assertRejected(PlaceholderElection.class, "Method '" + name(PlaceholderElection.class)
				+ ".run()' is guarded by @LeaderOnly for the election '${app.election}', which cannot be resolved: Could "
				+ "not resolve placeholder 'app.election' in value \"${app.election}\"",
				"Set the property that the placeholder names, or give the placeholder a default.");
	}

	@Test
	void unknownElectionOfLazyBeanIsRejectedWhenItIsCreated() {
		this.contextRunner.withUserConfiguration(LazyBean.class).run((context) -> {
			assertThat(context).hasNotFailed();
			assertThatExceptionOfType(BeanCreationException.class)
				.isThrownBy(() -> context.getBean(UnknownElection.class))
				.satisfies(
						(ex) -> assertThat(failure(ex).getDescription()).contains("'nightly', which does not exist"));
		});
	}

	@Test
	void electionsAreNotAskedForWhileBeansAreCreated() {
		List<String> order = new ArrayList<>();
		new ApplicationContextRunner().withUserConfiguration(LateElections.class)
			.withBean("order", List.class, () -> order)
			.run((context) -> assertThat(order).containsExactly("last bean", "elections"));
	}

	@Test
	void beanThatCameBeforeTheGuardIsReported(CapturedOutput output) {
		this.contextRunner.withUserConfiguration(EarlyJob.class).run((context) -> {
			assertThat(AopUtils.isAopProxy(context.getBean(EarlyJob.class))).isFalse();
			assertThat(output).contains("Bean 'leaderOnlyRejectionTests.EarlyJob' is not guarded");
		});
		this.contextRunner
			.withInitializer((context) -> context.getBeanFactory().registerSingleton("finished", new WithMethod()))
			.run((context) -> assertThat(output).contains("Bean 'finished' is not guarded"));
	}

	@Test
	void guardedBeansAreNotReported(CapturedOutput output) {
		this.contextRunner.withBean(WithMethod.class).run((context) -> assertThat(context).hasNotFailed());
		assertThat(output).doesNotContain("is not guarded").doesNotContain("not eligible for getting processed");
	}

	private <T> void assertRejected(Class<T> type, String description, String action) {
		this.contextRunner.withBean("rejected", type).run((context) -> {
			assertThat(context).hasFailed();
			InvalidLeaderOnlyException failure = failure(context.getStartupFailure());
			assertThat(failure.getDescription()).isEqualTo(description);
			assertThat(failure.getAction()).isEqualTo(action);
			assertThat(failure).hasMessage(description + " " + action);
		});
	}

	private static InvalidLeaderOnlyException failure(Throwable failure) {
		assertThat(failure).isNotNull();
		Throwable cause = failure;
		while (cause != null && !(cause instanceof InvalidLeaderOnlyException)) {
			cause = cause.getCause();
		}
		assertThat(cause).as(() -> "Cause of " + failure).isNotNull();
		return (InvalidLeaderOnlyException) cause;
	}

	private static String name(Class<?> type) {
		return type.getName();
	}

	/**
	 * Makes a class that is not on the class path, with a likewise interface above it.
	 */
	private static Class<?> typeBelow(String interfaceName, String className) {
		Class<?> parent = new ByteBuddy().makeInterface()
			.name(interfaceName)
			.make()
			.load(LeaderOnlyRejectionTests.class.getClassLoader())
			.getLoaded();
		return new ByteBuddy().subclass(parent)
			.name(className)
			.modifiers(Modifier.PUBLIC | Modifier.ABSTRACT)
			.make()
			.load(parent.getClassLoader())
			.getLoaded();
	}

	private static Class<?> generated(Class<?> resultType, Class<?>... parameterTypes) {
		Class<?> last = (parameterTypes.length > 0) ? parameterTypes[parameterTypes.length - 1] : resultType;
		return new ByteBuddy().subclass(Object.class)
			.name("io.leaderelection.annotation.Generated")
			.defineMethod("run", resultType, Modifier.PUBLIC)
			.withParameters(parameterTypes)
			.intercept(StubMethod.INSTANCE)
			.annotateMethod(AnnotationDescription.Builder.ofType(LeaderOnly.class).build())
			.make()
			.load(last.getClassLoader())
			.getLoaded();
	}

	static class WithMethod {

		@LeaderOnly
		void run() {
		}

	}

	static class PrivateMethod {

		@LeaderOnly
		private void run(String argument) {
		}

	}

	static class StaticMethod {

		@LeaderOnly
		static void run() {
		}

	}

	static class FinalMethod {

		@LeaderOnly
		final void run() {
		}

	}

	static final class FinalClass {

		@LeaderOnly
		void run() {
		}

	}

	static class FinalClassFactory implements FactoryBean<FinalClass> {

		@Override
		public FinalClass getObject() {
			return new FinalClass();
		}

		@Override
		public Class<?> getObjectType() {
			return FinalClass.class;
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

	@Transactional
	static final class FinalTransactionalClass {

		@LeaderOnly
		void run() {
		}

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

	static class PrimitiveResult {

		@LeaderOnly
		int run() {
			return 42;
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

	static class UnknownFuture {

		@LeaderOnly
		FutureTask<String> run() {
			return new FutureTask<>(() -> "ran");
		}

	}

	static class UnknownPublisher {

		@LeaderOnly(policy = NotLeaderPolicy.REJECT)
		SubmissionPublisher<String> run() {
			return new SubmissionPublisher<>();
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

	static class NeverEmpty {

		@LeaderOnly
		Single<String> run() {
			return Single.just("ran");
		}

	}

	static class FlowPublisher {

		@LeaderOnly
		Flow.Publisher<String> run() {
			return new SubmissionPublisher<>();
		}

	}

	static class RunOnGrantWithParameters {

		@LeaderOnly(runOnGrant = true)
		void run(String argument) {
		}

	}

	@LeaderOnly(runOnGrant = true)
	static class RunOnGrantClass {

		void run() {
		}

	}

	static class RunOnGrant {

		@LeaderOnly(runOnGrant = true)
		void run() {
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

	static class LifecycleWithAnnotatedStart extends AbstractLifecycle {

		@Override
		@LeaderOnly
		public void start() {
		}

	}

	static class AnnotatedAware implements BeanNameAware {

		@Override
		@LeaderOnly
		public void setBeanName(String name) {
		}

	}

	static class AnnotatedDestroy implements DisposableBean {

		@Override
		@LeaderOnly
		public void destroy() {
		}

	}

	static class AnnotatedPostConstruct {

		@PostConstruct
		@LeaderOnly
		void init() {
		}

	}

	static class AnnotatedToString {

		@Override
		@LeaderOnly
		public String toString() {
			return "";
		}

	}

	static class AnnotatedRevokedListener {

		@EventListener
		@LeaderOnly
		void revoked(LeadershipRevokedEvent event) {
		}

	}

	static class AnnotatedBeanMethod {

		@Bean
		@LeaderOnly
		String value() {
			return "value";
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

	@LeaderOnly
	static class NothingToGuard implements DisposableBean {

		@Override
		public void destroy() {
		}

	}

	static class UnknownElection {

		@LeaderOnly("nightly")
		void run() {
		}

	}

	static class PlaceholderElection {

		@LeaderOnly("${app.election}")
		void run() {
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

	@Configuration(proxyBeanMethods = false)
	static class InterfaceProxied {

		@Bean
		@Proxyable(ProxyType.INTERFACES)
		Job job() {
			return new FinalJob();
		}

	}

	@Configuration(proxyBeanMethods = false)
	static class InitMethod {

		@Bean(initMethod = "init")
		WithInit withInit() {
			return new WithInit();
		}

	}

	static class WithInit {

		@LeaderOnly
		void init() {
		}

	}

	@Configuration(proxyBeanMethods = false)
	static class LazyBean {

		@Bean
		@Lazy
		UnknownElection unknownElection() {
			return new UnknownElection();
		}

	}

	@Configuration(proxyBeanMethods = false)
	static class LateElections {

		@Bean
		static LeaderOnlyBeanPostProcessor leaderOnlyBeanPostProcessor(ObjectProvider<DefaultLeaderElectors> electors) {
			return new LeaderOnlyBeanPostProcessor(electors);
		}

		@Bean
		WithMethod guarded() {
			return new WithMethod();
		}

		@Bean
		@Lazy
		DefaultLeaderElectors electors(List<String> order) {
			order.add("elections");
			return new TestElections().runningElections(new MockEnvironment(), null).electors();
		}

		@Bean
		Supplier<String> lastBean(List<String> order) {
			order.add("last bean");
			return () -> "";
		}

	}

	@Configuration
	static class EarlyJob {

		@Bean
		OrderedPostProcessor orderedPostProcessor() {
			return new OrderedPostProcessor();
		}

		@LeaderOnly
		void run() {
		}

	}

	static class OrderedPostProcessor implements BeanPostProcessor, Ordered {

		@Override
		public int getOrder() {
			return 0;
		}

	}

}
