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

import java.time.Duration;

/**
 * The configuration of one election on one node.
 *
 * @param election the name of the election
 * @param nodeId the id of this node
 * @param lease how long the database keeps the session of an unresponsive node
 * @param takeoverDelay how long a winner waits before the grant, unless its predecessor
 * completed an orderly hand-over
 * @param drainTimeout how long an orderly hand-over waits for leader work and listeners
 * before it interrupts them
 * @param candidate whether this node may lead
 * @param standbys how many candidates besides the leader notice soon that the lock is
 * free. Further ones have no session, or observe less often
 */
public record ElectionSettings(String election, String nodeId, Duration lease, Duration takeoverDelay,
		Duration drainTimeout, boolean candidate, int standbys) {

	/** The default number of standbys. */
	public static final int STANDBYS = 3;

	/**
	 * How long work and listeners may continue after their interrupt.
	 */
	public static final Duration GRACE = Duration.ofSeconds(2);

	private static final Duration LONGEST_CONFIRM_INTERVAL = Duration.ofMillis(1500);

	/**
	 * Create a new {@code ElectionSettings} instance with the default number of standbys.
	 * @param election the name of the election
	 * @param nodeId the id of this node
	 * @param lease how long the database keeps the session of an unresponsive node
	 * @param takeoverDelay how long a winner waits before the grant
	 * @param drainTimeout how long an orderly hand-over waits
	 * @param candidate whether this node may lead
	 */
	public ElectionSettings(String election, String nodeId, Duration lease, Duration takeoverDelay,
			Duration drainTimeout, boolean candidate) {
		this(election, nodeId, lease, takeoverDelay, drainTimeout, candidate, STANDBYS);
	}

	/**
	 * Return how long a confirmation is trusted, counted from its start: three quarters
	 * of the lease. The rest allows for clocks of node and server that run at different
	 * rates (chrony slews by up to 8.3 % on either side).
	 * @return the trust in nanoseconds
	 */
	long trustNanos() {
		return this.lease.toNanos() / 4 * 3;
	}

	/**
	 * Return the time from the start of one confirmation to the start of the next: a
	 * fifth of the lease, but short enough that this node knows the candidates and
	 * receives a request to resign in time.
	 * @return the interval
	 */
	public Duration confirmInterval() {
		Duration fifth = this.lease.dividedBy(5);
		return (fifth.compareTo(LONGEST_CONFIRM_INTERVAL) < 0) ? fifth : LONGEST_CONFIRM_INTERVAL;
	}

	long confirmNanos() {
		return confirmInterval().toNanos();
	}

}
