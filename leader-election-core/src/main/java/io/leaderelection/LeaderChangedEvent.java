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

package io.leaderelection;

/**
 * This node, a follower, has observed that another node leads. Published when the node
 * finds a leader at its start, and whenever the leader, its term or its metadata has
 * changed. For its own leadership, a node receives a {@link LeadershipGrantedEvent}
 * instead, and no event when it knows no leader for some time.
 * <p>
 * A node that waits for the lock observes a change within three seconds, other nodes
 * within eight seconds. Terms that were shorter may not be observed.
 *
 * @since 0.1.0
 * @see LeaderElector#getLeader()
 */
public final class LeaderChangedEvent extends ElectionEvent {

	private final Leader leader;

	/**
	 * Create a new {@code LeaderChangedEvent} instance.
	 * @param election the name of the election
	 * @param leader the new leader
	 */
	public LeaderChangedEvent(String election, Leader leader) {
		super(election);
		this.leader = leader;
	}

	/**
	 * Return the new leader.
	 * @return the leader, another node than this one
	 */
	public Leader getLeader() {
		return this.leader;
	}

	@Override
	public String toString() {
		return "LeaderChangedEvent [election=" + getElection() + ", leader=" + this.leader + "]";
	}

}
