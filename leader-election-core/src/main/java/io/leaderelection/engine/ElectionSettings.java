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

import io.leaderelection.engine.StoreSession.Acquisition.Ending;

/**
 * The configuration of one election on one node.
 *
 * @param election the name of the election
 * @param nodeId the id of this node
 * @param lease how long the database keeps the session of an unresponsive node
 * @param takeoverDelay how long a winner waits before the grant, if its predecessor may
 * still have to notice that its session has ended
 * @param fastTakeover whether a winner waits for a shorter time if its predecessor has
 * ended its session itself
 * @param drainTimeout how long an orderly hand-over waits for leader work and listeners
 * before it interrupts them
 * @param candidate whether this node may lead
 * @param standbys how many candidates besides the leader notice soon that the lock is
 * free. Further ones have no session, or observe less often
 * @param profile what this node publishes about itself, among it its priority
 * @param priorityHold how long another node of lower priority must have led before this
 * node requests it to hand over
 */
public record ElectionSettings(String election, String nodeId, Duration lease, Duration takeoverDelay,
		FastTakeover fastTakeover, Duration drainTimeout, boolean candidate, int standbys, NodeProfile profile,
		Duration priorityHold) {

	/** The default number of standbys. */
	public static final int STANDBYS = 3;

	/**
	 * How long work and listeners may continue after their interrupt.
	 */
	public static final Duration GRACE = Duration.ofSeconds(2);

	/** The default time before a request to a leader of lower priority. */
	public static final Duration PRIORITY_HOLD = Duration.ofMinutes(1);

	/**
	 * For a process whose connection was closed in between, and which is about to notice.
	 */
	static final Duration SHORTEST_DELAY = Duration.ofMillis(5);

	private static final Duration LONGEST_CONFIRM_INTERVAL = Duration.ofMillis(1500);

	/**
	 * Create a new {@code ElectionSettings} instance of a node without a priority.
	 * @param election the name of the election
	 * @param nodeId the id of this node
	 * @param lease how long the database keeps the session of an unresponsive node
	 * @param takeoverDelay how long a winner waits before the grant
	 * @param drainTimeout how long an orderly hand-over waits
	 * @param candidate whether this node may lead
	 * @param standbys how many candidates besides the leader notice soon that the lock is
	 * free
	 */
	public ElectionSettings(String election, String nodeId, Duration lease, Duration takeoverDelay,
			Duration drainTimeout, boolean candidate, int standbys) {
		this(election, nodeId, lease, takeoverDelay, FastTakeover.AUTO, drainTimeout, candidate, standbys,
				NodeProfile.DEFAULT, PRIORITY_HOLD);
	}

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
	 * Return whether a fast takeover shortens the delay. A delay of at least the lease is
	 * sufficient for every predecessor, and is therefore never shortened.
	 * @return whether the delay is longer than that of a fast takeover, and shorter than
	 * the lease
	 */
	public boolean isDelayShortened() {
		return this.takeoverDelay.compareTo(SHORTEST_DELAY) > 0 && this.takeoverDelay.compareTo(this.lease) < 0;
	}

	/**
	 * Return how long a winner waits before the grant.
	 */
	Duration takeoverDelay(Ending ending) {
		return switch (ending) {
			case CLEAN -> Duration.ZERO;
			case ABANDONED -> SHORTEST_DELAY;
			case UNKNOWN -> this.takeoverDelay;
		};
	}

	/**
	 * Return how long to wait for the end of work that has been interrupted.
	 */
	Duration longestEnd() {
		return (this.drainTimeout.compareTo(GRACE) > 0) ? this.drainTimeout : GRACE;
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

	/**
	 * Whether a winner waits for a shorter time if its predecessor has ended its session
	 * itself.
	 */
	public enum FastTakeover {

		/** If nothing is seen between the nodes and the server that may end sessions. */
		AUTO,

		/** Also if something is seen that translates addresses. */
		TRUE,

		/** Never. */
		FALSE

	}

}
