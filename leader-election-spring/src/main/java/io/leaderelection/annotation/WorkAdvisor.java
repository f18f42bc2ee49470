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

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import java.lang.reflect.Method;
import java.util.Map;

import io.leaderelection.Leadership;
import io.leaderelection.engine.Work;
import org.jspecify.annotations.Nullable;

/**
 * Advises methods whose annotation is {@link AdvisedBy @AdvisedBy} it. Such a bean may be
 * created before all others, and must not depend on them. Internal.
 *
 * @since 0.1.0
 */
public interface WorkAdvisor {

	/**
	 * Check the declaration of a method. May be called before the elections exist.
	 * @param method the method
	 * @param description the method, for messages
	 * @param usage how the method is used
	 * @throws InvalidUsageException if it cannot be advised
	 */
	void check(Method method, String description, Usage usage);

	/**
	 * Return the advice of a method, always the same.
	 * @param method the most specific method
	 * @param type the class of the bean
	 * @param description the method, for messages
	 * @return the advice
	 */
	Advice advise(Method method, Class<?> type, String description);

	/**
	 * How a method is used.
	 *
	 * @param type the class of the bean
	 * @param leaderOnly whether it is annotated with {@code @LeaderOnly}
	 * @param deferred whether its work continues after it has returned
	 * @param skippable whether a skipped call has a result
	 * @param runOnGrant whether it also runs on every grant
	 * @param parameters the number of its parameters
	 */
	record Usage(Class<?> type, boolean leaderOnly, boolean deferred, boolean skippable, boolean runOnGrant,
			int parameters) {

	}

	/**
	 * The advice around a method that is leader work. It decides whether a call runs, and
	 * may run the method itself while this node leads. Internal.
	 *
	 * @since 0.1.0
	 */
	interface Advice {

		/**
		 * Use the advice for the method of a bean.
		 * @param election the name of the election
		 * @throws InvalidUsageException if the bean cannot be advised
		 */
		void register(String election);

		/**
		 * Begin a term, before the listeners of the grant are called. Does not wait.
		 * @param leadership the leadership that was granted
		 * @param run calls the method if the leadership is current
		 */
		void granted(Leadership leadership, Runnable run);

		/**
		 * Run the method if it should run, after the listeners of the grant have been
		 * called. Does not wait.
		 */
		void runOnGrant();

		/**
		 * Call the method, unless the advice skips the call.
		 * @param work the work that has been entered; the advice continues it if the
		 * method has returned a stage
		 * @param invocation the call
		 * @param skipped returns the result of a call that is skipped
		 * @return the result
		 * @throws Throwable the failure of the method or of the advice
		 */
		@Nullable Object call(Work work, Invocation invocation, Invocation skipped) throws Throwable;

		/**
		 * Begin a run of a method that returns a reactive type. May block.
		 * @param leadership the leadership of the work
		 * @return the run, to be ended, or {@code null} if the call is skipped
		 * @throws Throwable the failure of the advice
		 */
		@Nullable Run begin(Leadership leadership) throws Throwable;

		/**
		 * A run of the method, which may end on another thread than it has begun.
		 */
		interface Run {

			/**
			 * Return what the context of Reactor has during the run.
			 * @return the entries
			 */
			Map<?, ?> context();

			/**
			 * Call a part of the method.
			 * @param invocation the call
			 * @return its result
			 * @throws Throwable its failure
			 */
			@Nullable Object invoke(Invocation invocation) throws Throwable;

			/**
			 * End the run. May block.
			 * @param failure the failure, or {@code null} if it has completed
			 * @throws Throwable if the end cannot be recorded
			 */
			void end(@Nullable Throwable failure) throws Throwable;

		}

		/**
		 * A call of the method.
		 */
		@FunctionalInterface
		interface Invocation {

			/**
			 * Call the method.
			 * @return its result
			 * @throws Throwable its failure
			 */
			@Nullable Object proceed() throws Throwable;

		}

	}

	/**
	 * Marks an annotation of methods that are leader work with advice around it. The
	 * annotation must itself be annotated with {@link LeaderOnly @LeaderOnly}, and have
	 * an alias for {@link LeaderOnly#election()}. If it names no election, that of the
	 * class applies. Internal.
	 *
	 * @since 0.1.0
	 */
	@Target(ElementType.ANNOTATION_TYPE)
	@Retention(RetentionPolicy.RUNTIME)
	@interface AdvisedBy {

		/**
		 * The type of the bean that advises the methods.
		 * @return the type
		 */
		Class<? extends WorkAdvisor> value();

		/**
		 * What the methods have, for messages.
		 * @return a noun
		 */
		String description();

	}

}
