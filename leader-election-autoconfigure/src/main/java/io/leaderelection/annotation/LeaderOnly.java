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

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

import io.leaderelection.LeaderElector;
import io.leaderelection.NotLeaderException;

import org.springframework.aot.hint.annotation.Reflective;
import org.springframework.core.annotation.AliasFor;

/**
 * Runs a method, or the methods of a class, on the leader only. May be used as a
 * meta-annotation, and on interfaces.
 * <p>
 * The check happens where the method runs: inside {@code @Async} and for each attempt of
 * {@code @Retryable}, before {@code @Transactional} begins a transaction. A call that
 * passes is leader work as with {@link LeaderElector#runIfLeader(Runnable)}: an orderly
 * hand-over waits for it (for the completion of a returned
 * {@link java.util.concurrent.CompletionStage} too, but not of another
 * {@link java.util.concurrent.Future}), and it is interrupted when leadership is lost.
 * <p>
 * Where the result is there to be subscribed to (Reactor, Reactive Streams,
 * {@link java.util.concurrent.Flow.Publisher}, RxJava, Mutiny, Kotlin {@code Flow}), and
 * for Kotlin {@code suspend} functions, each subscription is a call of its own: the check
 * is made then, and only then, if it is passed, is the method called. The work lasts
 * until the publisher terminates or the subscription is cancelled. When leadership is
 * lost, it is cancelled, and the subscriber gets a {@link NotLeaderException}. All of
 * these need Reactor.
 * <p>
 * On a class, the annotation guards every call to its bean: all methods, inherited ones
 * and those of subclasses included, of any visibility but private. A method's own
 * annotation goes first. Not guarded is what is no work of the application:
 * <ul>
 * <li>what the container calls to make, wire, describe, start, stop or destroy the bean:
 * the methods of {@link org.springframework.beans.factory.Aware},
 * {@link org.springframework.beans.factory.InitializingBean},
 * {@link org.springframework.beans.factory.SmartInitializingSingleton},
 * {@link org.springframework.beans.factory.DisposableBean}, {@link AutoCloseable},
 * {@link org.springframework.context.Lifecycle},
 * {@link org.springframework.context.SmartLifecycle},
 * {@link org.springframework.core.Ordered},
 * {@link org.springframework.beans.factory.FactoryBean} and the post-processors,
 * {@code @PostConstruct}, {@code @PreDestroy} and {@code @Bean} methods;</li>
 * <li>methods that are told of the end of leadership: they would never be called;</li>
 * <li>the methods of {@link Object}.</li>
 * </ul>
 * What the container calls to hand work over is work: {@code @Scheduled} and
 * {@code @EventListener} methods,
 * {@link org.springframework.context.ApplicationListener}, runners and the like are
 * guarded.
 * <p>
 * On a class that is a {@link org.springframework.context.Lifecycle}, or on the
 * {@code @Bean} method that makes one, the annotation guards no methods: leadership
 * starts the bean when it is granted, and in an orderly hand-over stops it after leader
 * work has ended and before the lock is freed; the container does not. The bean must be a
 * singleton; its class must not be final, nor the methods of the life cycle, unless the
 * {@code @Bean} method returns an interface.
 * <p>
 * As with every Spring AOP advice, calls inside the same object are not guarded. What
 * cannot be guarded as annotated keeps the application from starting, with an
 * {@link InvalidLeaderOnlyException} that says what to do: annotated methods that are
 * private, static, final, not on an interface of a bean that is proxied by its
 * interfaces, or of the kinds listed above; final classes and records; on a class, final
 * public methods and {@code @Scheduled} or {@code @EventListener} methods that no proxy
 * sees; primitive results and others of which there is no empty one with
 * {@link NotLeaderPolicy#SKIP}; elections that do not exist.
 */
@Target({ ElementType.METHOD, ElementType.TYPE })
@Retention(RetentionPolicy.RUNTIME)
@Documented
@Reflective
public @interface LeaderOnly {

	/**
	 * Alias for {@link #election()}.
	 * @return the name of the election
	 */
	@AliasFor("election")
	String value() default "";

	/**
	 * The name of the election, the default election if empty. Placeholders such as
	 * {@code ${reports.election}} are resolved.
	 * @return the name of the election
	 */
	@AliasFor("value")
	String election() default "";

	/**
	 * What a call gets on a node that does not lead.
	 * @return the policy
	 */
	NotLeaderPolicy policy() default NotLeaderPolicy.SKIP;

	/**
	 * Whether the method also runs once whenever this node is granted leadership, so that
	 * a job that runs once an hour does not lose its hour to a hand-over. For methods
	 * without parameters of singletons; a lazy one is created for it.
	 * <p>
	 * The run begins when the listeners of
	 * {@link io.leaderelection.LeadershipGrantedEvent} are done, or have failed, on a
	 * thread of its own, and is leader work as any: it is skipped if leadership has ended
	 * by then. Have a method that is also asynchronous return a future, since without one
	 * a run that waits for its thread may begin in a later term, beside the run of that.
	 * An exception is logged. The method may be called for other reasons at the same
	 * time, for instance by a scheduler; the first grant may come before the application
	 * has started completely.
	 * @return whether to run the method on grant
	 */
	boolean runOnGrant() default false;

	/**
	 * What a call gets on a node that does not lead.
	 */
	enum NotLeaderPolicy {

		/**
		 * The method is not called; the caller gets {@code null},
		 * {@link java.util.Optional#empty()}, a future completed with {@code null} or an
		 * empty publisher.
		 */
		SKIP,

		/**
		 * The caller gets a {@link NotLeaderException}; as the failure of the future or
		 * publisher where the method returns one. {@code @Retryable} tries again, unless
		 * told not to.
		 */
		REJECT

	}

}
