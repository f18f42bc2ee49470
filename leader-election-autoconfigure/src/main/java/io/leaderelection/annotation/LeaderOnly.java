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
 * Runs a method, or every public method of a class, on the leader only. May be used as a
 * meta-annotation.
 * <p>
 * The check happens where the method runs: inside {@code @Async} and {@code @Retryable},
 * outside {@code @Transactional}. A call that passes is leader work as with
 * {@link LeaderElector#runIfLeader(Runnable)}: an orderly hand-over waits for it (for the
 * completion of a returned {@link java.util.concurrent.CompletionStage} too), and it is
 * interrupted when leadership is lost.
 * <p>
 * On a class, the annotation covers the public methods except those of {@link Object},
 * {@link org.springframework.context.Lifecycle},
 * {@link org.springframework.beans.factory.DisposableBean} and other callback interfaces
 * of the container. As with every Spring AOP advice, calls inside the same object are not
 * guarded. What cannot be guarded is rejected at start-up: private, static and final
 * methods, final classes, reactive results, and primitive results with
 * {@link NotLeaderPolicy#SKIP}.
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
	NotLeaderPolicy otherwise() default NotLeaderPolicy.SKIP;

	/**
	 * What a call gets on a node that does not lead.
	 */
	enum NotLeaderPolicy {

		/**
		 * The method is not called; the caller gets {@code null},
		 * {@link java.util.Optional#empty()} or a future completed with {@code null}.
		 */
		SKIP,

		/**
		 * The caller gets a {@link NotLeaderException}; as the failure of the future
		 * where the method returns one.
		 */
		REJECT

	}

}
