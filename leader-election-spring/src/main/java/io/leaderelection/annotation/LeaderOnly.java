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
 * Leadership is checked on the thread on which the method runs: inside {@code @Async},
 * for each attempt of {@code @Retryable}, and before {@code @Transactional} begins a
 * transaction. A call that passes the check is leader work, as with
 * {@link LeaderElector#runIfLeader(Runnable)}: an orderly hand-over waits for it, and it
 * is interrupted when leadership is lost. The hand-over also waits for the completion of
 * a returned {@link java.util.concurrent.CompletionStage}, but not for that of another
 * {@link java.util.concurrent.Future}.
 * <p>
 * If the method returns a reactive type (Reactor, Reactive Streams,
 * {@link java.util.concurrent.Flow.Publisher}, RxJava, Mutiny, Kotlin {@code Flow}) or is
 * a Kotlin {@code suspend} function, each subscription is a separate call: leadership is
 * checked on subscription, and the method is called only if the check passes. The work
 * lasts until the publisher terminates or the subscription is cancelled. When leadership
 * is lost, the subscription is cancelled, and the subscriber receives a
 * {@link NotLeaderException}. Reactive types and {@code suspend} functions require
 * Reactor.
 * <p>
 * On a class, the annotation guards every call to its bean: all methods except private
 * ones, including inherited methods and those of subclasses. The annotation of a method
 * takes precedence. The following are not work of the application and are not guarded:
 * <ul>
 * <li>methods that the container calls to create, configure, describe, start, stop or
 * destroy the bean: the methods of {@link org.springframework.beans.factory.Aware},
 * {@link org.springframework.beans.factory.InitializingBean},
 * {@link org.springframework.beans.factory.SmartInitializingSingleton},
 * {@link org.springframework.beans.factory.DisposableBean}, {@link AutoCloseable},
 * {@link org.springframework.context.Lifecycle},
 * {@link org.springframework.context.SmartLifecycle},
 * {@link org.springframework.core.Ordered},
 * {@link org.springframework.beans.factory.FactoryBean} and the post-processors,
 * {@code @PostConstruct}, {@code @PreDestroy} and {@code @Bean} methods;</li>
 * <li>methods that a type in {@code org.springframework}, {@code io.micrometer},
 * {@code jakarta}, {@code javax} or {@code java} declares and that are not annotated
 * themselves, since frameworks call most of them to configure something;</li>
 * <li>methods that listen for the end of leadership, which would never be called;</li>
 * <li>the methods of {@link Object}.</li>
 * </ul>
 * Methods that are called to run work of the application are guarded: {@code @Scheduled}
 * and {@code @EventListener} methods, and the methods of {@link Runnable},
 * {@link java.util.concurrent.Callable}, {@code java.util.function}, of runners, of types
 * whose names end with {@code Listener}, {@code Handler} or {@code Subscriber}, and of
 * Spring Batch, Spring Data repositories, {@code MessageSource} and
 * {@code QuartzJobBean}.
 * <p>
 * On a class that is a {@link org.springframework.context.Lifecycle}, or on the
 * {@code @Bean} method that creates one, the annotation guards no methods. Instead, the
 * bean is started when leadership is granted. In an orderly hand-over, it is stopped
 * after leader work has ended and before the lock is freed. The container does not start
 * or stop it. The bean must be a singleton. Neither its class nor its lifecycle methods
 * may be final, unless the {@code @Bean} method returns an interface.
 * <p>
 * On a method that a container calls for messages ({@code @KafkaListener},
 * {@code @RabbitListener} or {@code @JmsListener}), or on its class, the annotation means
 * that leadership starts and stops the container in the same way: a follower receives no
 * messages. The policy does not apply to such a method. Each of its calls is leader work,
 * and a call on a follower is rejected. Other listeners for messages are not supported.
 * <p>
 * As with every Spring AOP advice, calls within the same object are not guarded. If the
 * annotation is used where it cannot guard, the application does not start, and an
 * {@link InvalidUsageException} describes the required change. This applies to:
 * <ul>
 * <li>annotated methods that are private, static or final, that are not on an interface
 * of a bean that is proxied by its interfaces, or that are listed above;</li>
 * <li>final classes and records;</li>
 * <li>beans in circular references, existing instances that were registered as beans, and
 * other beans whose callers would not pass the proxy;</li>
 * <li>on a class, final public methods, and {@code @Scheduled} or {@code @EventListener}
 * methods that are called without the proxy;</li>
 * <li>with {@link NotLeaderPolicy#SKIP}, methods whose caller takes a return for success,
 * such as HTTP handlers and listeners after a transaction;</li>
 * <li>listeners for messages whose container leadership cannot start and stop;</li>
 * <li>with {@link NotLeaderPolicy#SKIP}, primitive result types and others without an
 * empty value;</li>
 * <li>elections that do not exist.</li>
 * </ul>
 *
 * @since 0.1.0
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
	 * What happens to a call on a node that does not lead.
	 * @return the policy
	 */
	NotLeaderPolicy policy() default NotLeaderPolicy.SKIP;

	/**
	 * Whether the method also runs once whenever this node is granted leadership, so
	 * that, for instance, an hourly job does not miss a run because of a hand-over.
	 * Supported for methods without parameters of singletons; a lazy singleton is created
	 * for the run.
	 * <p>
	 * The run begins on a separate thread when the listeners of
	 * {@link io.leaderelection.LeadershipGrantedEvent} have returned or failed. It is
	 * leader work: if leadership has ended by then, the run is skipped. If the method is
	 * also asynchronous, it should return a future. Otherwise a run that waits for a
	 * thread may begin in a later term, concurrently with the run of that term. An
	 * exception is logged. The first grant may occur before the application has started
	 * completely.
	 * <p>
	 * Calls of the method on one bean exclude each other within a term, however they are
	 * made: one that comes while another runs, for instance of a scheduler or of the
	 * method itself, is skipped. They do not with {@link NotLeaderPolicy#REJECT}.
	 * @return whether to run the method on grant
	 */
	boolean runOnGrant() default false;

	/** What happens to a call on a node that does not lead. */
	enum NotLeaderPolicy {

		/**
		 * The method is not called, as is right for a schedule. The caller receives
		 * {@code null}, {@link java.util.Optional#empty()}, a future completed with
		 * {@code null} or an empty publisher.
		 */
		SKIP,

		/**
		 * The caller receives a {@link NotLeaderException}. If the method returns a
		 * future or a publisher, the exception is its failure. {@code @Retryable} retries
		 * the call, unless configured otherwise.
		 */
		REJECT

	}

}
