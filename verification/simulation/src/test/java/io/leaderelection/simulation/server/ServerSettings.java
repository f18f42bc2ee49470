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
 * The settings of a simulated server.
 *
 * @param version the major version
 * @param maxConnections how many sessions it accepts
 * @param firstPid the process id before that of the first session
 * @param walWriterDelayNanos after which time an asynchronous commit is durable
 * @param clientCheckIntervalNanos how often it looks whether the client of a running
 * statement is still connected, unless the session sets this; 0 for never
 * @param partitionSeed decides in which order the locks of a dying session are freed
 */
public record ServerSettings(int version, int maxConnections, int firstPid, long walWriterDelayNanos,
		long clientCheckIntervalNanos, int partitionSeed) {

	/** Those of PostgreSQL 18 as it comes. */
	public static final ServerSettings DEFAULTS = new ServerSettings(18, 100, 100, 200_000_000, 0, 0);

	/**
	 * Return these settings with another seed.
	 */
	public ServerSettings withPartitionSeed(int seed) {
		return new ServerSettings(this.version, this.maxConnections, this.firstPid, this.walWriterDelayNanos,
				this.clientCheckIntervalNanos, seed);
	}

	/**
	 * Return these settings with another version.
	 */
	public ServerSettings withVersion(int major) {
		return new ServerSettings(major, this.maxConnections, this.firstPid, this.walWriterDelayNanos,
				this.clientCheckIntervalNanos, this.partitionSeed);
	}

	/**
	 * A try-lock first looks for a place in the queue before waiters that must wait for
	 * the session anyway. Earlier versions refuse it as soon as there is such a waiter.
	 */
	boolean tryLockMayJumpQueue() {
		return this.version >= 17;
	}

}
