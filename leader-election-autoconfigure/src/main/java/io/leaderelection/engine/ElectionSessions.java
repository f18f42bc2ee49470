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
 * The store of one election: opens its sessions.
 */
@FunctionalInterface
public interface ElectionSessions {

	/**
	 * Open a session. Bounded in time by the implementation; the calling thread may also
	 * be interrupted when it takes too long.
	 * @return an open session with all its settings made
	 * @throws UnusableStoreException if no election can be held on the store as it is
	 * @throws SessionException if the store cannot be reached
	 */
	ElectionSession open() throws SessionException;

	/**
	 * End an {@link #open()} in progress by any means. Any thread; never blocks.
	 */
	default void abandon() {
	}

	/**
	 * Told when this node is asked to let others go first. Any thread; never blocks.
	 */
	default void resigned() {
	}

	/**
	 * Return what fences transactions of this election.
	 * @return the fence, by default one that is open
	 */
	default TransactionFence fence() {
		return TransactionFence.OPEN;
	}

}
