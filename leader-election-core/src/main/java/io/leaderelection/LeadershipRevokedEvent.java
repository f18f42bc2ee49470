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
 * Published when the leadership of this node has ended or is about to end. In an orderly
 * hand-over (reasons {@link Reason#RESIGNED} and {@link Reason#STOPPED}), the event is
 * published when all leader work has ended, and the lock is freed when the listeners have
 * returned. After {@code leader-election.drain-timeout} for both, work and listeners are
 * interrupted, and the lock is freed 2 seconds later at the latest. For the other
 * reasons, another node may already lead.
 *
 * @since 0.1.0
 */
public final class LeadershipRevokedEvent extends LeadershipEvent {

	private final Reason reason;

	/**
	 * Create a new {@code LeadershipRevokedEvent} instance.
	 * @param leadership the leadership that was revoked
	 * @param reason why it was revoked
	 */
	public LeadershipRevokedEvent(Leadership leadership, Reason reason) {
		super(leadership);
		this.reason = reason;
	}

	/**
	 * Return why leadership was revoked.
	 * @return the reason
	 */
	public Reason getReason() {
		return this.reason;
	}

	/**
	 * Why leadership was revoked.
	 */
	public enum Reason {

		/**
		 * This node was asked to hand leadership over.
		 */
		RESIGNED,

		/**
		 * The application context of this node is stopped, paused or closed.
		 */
		STOPPED,

		/**
		 * No confirmation was received within the lease: this node was paused or cut off
		 * from the database, or the database did not answer.
		 */
		LEASE_EXPIRED,

		/**
		 * The database ended the session that held the lock, or the connection broke.
		 */
		SESSION_LOST

	}

}
