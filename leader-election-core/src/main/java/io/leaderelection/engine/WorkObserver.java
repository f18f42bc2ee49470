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

}
