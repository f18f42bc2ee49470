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

import java.util.Map;

import io.leaderelection.Leadership;
import io.leaderelection.engine.Work;
import org.jspecify.annotations.Nullable;

/**
 * The advice around a method that is leader work. It decides whether a call runs, and may
 * run the method itself while this node leads. Internal.
 *
 * @since 0.1.0
 */
public interface WorkAdvice {

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
	 * Run the method if it should run, after the listeners of the grant have been called.
	 * Does not wait.
	 */
	void runOnGrant();

	/**
	 * Call the method, unless the advice skips the call.
	 * @param work the work that has been entered; the advice continues it if the method
	 * has returned a stage
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
