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

package io.leaderelection.faults;

import java.util.List;
import java.util.Optional;

/**
 * What the server says of the locks and sessions of an election.
 *
 * @param before when it was asked, on the clock of the histories
 * @param after when it had answered
 * @param locks the advisory locks of the election that are held or waited for
 * @param sessions the sessions of the election
 */
record LockSample(long before, long after, List<Lock> locks, List<Session> sessions) {

	/**
	 * The node that holds the main key, if any.
	 */
	Optional<Lock> main() {
		return this.locks.stream().filter((lock) -> lock.key() == Key.MAIN && lock.granted()).findFirst();
	}

	List<Lock> terms() {
		return this.locks.stream().filter((lock) -> lock.key() == Key.TERM && lock.granted()).toList();
	}

	/**
	 * A lock.
	 *
	 * @param node the node by the name of its session, empty for other sessions
	 * @param pid the process id of its session
	 * @param key which key
	 * @param object the low bits of the term, for {@link Key#TERM}
	 * @param granted held, or waited for
	 * @param idle whether its session waits for its client
	 */
	record Lock(String node, int pid, Key key, long object, boolean granted, boolean idle) {

		Lock(String node, int pid, Key key, long object, boolean granted) {
			this(node, pid, key, object, granted, false);
		}

	}

	/**
	 * A session.
	 *
	 * @param node the node
	 * @param pid its process id
	 * @param idle whether it waits for the next statement
	 * @param transactionSeconds the age of its transaction
	 */
	record Session(String node, int pid, boolean idle, double transactionSeconds) {
	}

	/**
	 * The keys of an election.
	 */
	enum Key {

		MAIN, TERM, CLEAN, FENCE, CANDIDATE

	}

}
