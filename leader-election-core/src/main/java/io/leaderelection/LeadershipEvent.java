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
 * A change of this node's leadership. For each election, granted and revoked events
 * strictly alternate, and a revoked event contains the same term as the granted event
 * before it.
 *
 * @since 0.1.0
 */
public abstract sealed class LeadershipEvent extends ElectionEvent
		permits LeadershipGrantedEvent, LeadershipRevokedEvent {

	private final Leadership leadership;

	LeadershipEvent(Leadership leadership) {
		super(leadership.getElection());
		this.leadership = leadership;
	}

	/**
	 * Return the leadership that was granted or revoked.
	 * @return the leadership
	 */
	public Leadership getLeadership() {
		return this.leadership;
	}

	@Override
	public String toString() {
		return getClass().getSimpleName() + " [" + this.leadership + "]";
	}

}
