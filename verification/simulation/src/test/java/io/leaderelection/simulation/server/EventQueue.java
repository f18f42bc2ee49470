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

package io.leaderelection.simulation.server;

/**
 * The virtual time on which a simulated server runs.
 */
public interface EventQueue {

	/**
	 * Return the true time, in nanoseconds.
	 */
	long time();

	/**
	 * Run an action later, after all actions that were scheduled earlier for the same
	 * time.
	 * @param delay nanoseconds from now, not negative
	 * @param action what to run
	 * @return the event, which can be cancelled
	 */
	Event schedule(long delay, Runnable action);

	/**
	 * An action in the queue.
	 */
	@FunctionalInterface
	interface Event {

		/**
		 * Do not run the action. Does nothing once it has run.
		 */
		void cancel();

	}

}
