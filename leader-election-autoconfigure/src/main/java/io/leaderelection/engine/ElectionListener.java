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
 * Hears how long an election took over what, and which methods it guards. Called by the
 * election thread, on which confirmations depend, and by those that call guarded methods:
 * must not block. What it throws is logged, and has no other effect.
 */
public interface ElectionListener {

	/**
	 * Called when this node was granted leadership.
	 * @param nanos the time from the reply that the lock is won to the grant
	 */
	default void acquired(long nanos) {
	}

	/**
	 * Called when the store has confirmed a winner or leader.
	 * @param nanos the time from the question to its answer
	 */
	default void confirmed(long nanos) {
	}

	/**
	 * Called when leadership was handed over.
	 * @param nanos the time from the moment in which no more work was let in to the one
	 * in which the lock was free
	 */
	default void drained(long nanos) {
	}

	/**
	 * Called once for each method that is guarded by the election, as soon as that is
	 * known.
	 * @param counts the counts of its invocations
	 */
	default void guarded(InvocationCounts counts) {
	}

}
