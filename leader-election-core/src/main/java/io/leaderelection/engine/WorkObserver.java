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

package io.leaderelection.engine;

import java.util.Map;

import io.leaderelection.Leadership;
import org.jspecify.annotations.Nullable;

/**
 * Observes leader work: guarded methods, and the work that is passed to an elector.
 */
@FunctionalInterface
public interface WorkObserver {

	/**
	 * Begin to observe work that the current thread has entered. Must not block.
	 * @param leadership the leadership of the work
	 * @param type the class of a guarded method, or of the object that was passed to an
	 * elector
	 * @param method the name of the method, or {@code null}
	 * @param context the context of a subscriber, empty if the work is not that of a
	 * publisher
	 * @return receives what happens to this work
	 */
	WorkObservation begin(Leadership leadership, Class<?> type, @Nullable String method, Context context);

	/**
	 * The context of the subscriber, if the work is that of a publisher.
	 */
	@FunctionalInterface
	interface Context {

		/**
		 * Return a value of the context.
		 * @param key the key of the value
		 * @return the value, or {@code null} if there is none
		 */
		@Nullable Object get(Object key);

	}

	/**
	 * Receives what happens to one unit of leader work. None of the methods may block.
	 */
	interface WorkObservation {

		/**
		 * Return what to add to the context of the publisher that does the work.
		 * @return the values by their keys
		 */
		default Map<?, ?> context() {
			return Map.of();
		}

		/**
		 * The work has failed. Called before {@link #ended}.
		 * @param failure the failure
		 */
		default void failed(Throwable failure) {
		}

		/**
		 * The subscriber has cancelled the work. Called before {@link #ended}.
		 */
		default void cancelled() {
		}

		/**
		 * The work leaves the thread that has begun it. Called on that thread, before
		 * {@link #ended}.
		 */
		default void left() {
		}

		/**
		 * The work has ended. Called once, on any thread.
		 * @param interrupted whether it was interrupted or cancelled because leadership
		 * was lost or a hand-over could not wait any longer
		 */
		void ended(boolean interrupted);

	}

}
