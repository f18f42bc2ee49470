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

/**
 * Receives the durations of the phases of an election, and the methods that it guards.
 * Called by the election thread, on which confirmations depend, and by callers of guarded
 * methods: must not block. Exceptions are logged and have no other effect.
 */
public interface ElectionListener {

	/**
	 * Called when this node was granted leadership.
	 * @param nanos the time from winning the lock to the grant
	 */
	default void acquired(long nanos) {
	}

	/**
	 * Called when the store has confirmed a winner or leader.
	 * @param nanos the time from the request to its answer
	 */
	default void confirmed(long nanos) {
	}

	/**
	 * Called when leadership was handed over.
	 * @param nanos the time from the start of the hand-over until the lock was free
	 */
	default void drained(long nanos) {
	}

	/**
	 * Called once for each method that is guarded by the election, as soon as the method
	 * is known.
	 * @param counts the counts of its invocations
	 */
	default void guarded(InvocationCounts counts) {
	}

}
