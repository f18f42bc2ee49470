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

import java.util.SortedMap;
import java.util.SortedSet;

/**
 * Sessions on a server, simulated or real.
 */
interface ComparedSessions extends AutoCloseable {

	/** What a session says whose statement waits for a lock. */
	String WAITS = "waits";

	/** What a session says that has ended during its statement. */
	String ENDED = "ended";

	/**
	 * Begin an operation, and return when all sessions have done what they could.
	 * @return what each session says that was busy
	 */
	SortedMap<Integer, String> run(Operation operation) throws Exception;

	/**
	 * Return the locks that are held and awaited.
	 */
	SortedSet<String> locks() throws Exception;

	/**
	 * Return how many sessions the server has ended.
	 */
	String endings() throws Exception;

	@Override
	void close() throws Exception;

}
