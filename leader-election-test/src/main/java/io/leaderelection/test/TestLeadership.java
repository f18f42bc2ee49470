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

package io.leaderelection.test;

import io.leaderelection.LeadershipRevokedEvent.Reason;

/**
 * Grants and revokes leadership in tests, without a database. A bean of this type exists
 * in tests with {@link AutoConfigureTestLeadership @AutoConfigureTestLeadership}.
 * <p>
 * All methods wait until the change has taken effect, the listeners have returned and the
 * leader-only services have been started or stopped. If this takes longer than
 * {@code leader-election.drain-timeout} and a short margin, they throw an
 * {@link IllegalStateException}. They also do so if leader work or a listener calls them,
 * because the caller would wait for itself.
 *
 * @since 0.1.0
 */
public interface TestLeadership {

	/**
	 * Grant leadership of the default election. Does nothing if this node leads.
	 */
	void grant();

	/**
	 * Grant leadership of an election. Does nothing if this node leads it.
	 * @param election the name of the election
	 * @throws IllegalArgumentException if there is no election of that name
	 * @throws IllegalStateException if this node may not lead or is not running
	 */
	void grant(String election);

	/**
	 * Revoke leadership of the default election with an orderly hand-over, as if this
	 * node had been asked to resign. Does nothing if this node does not lead.
	 */
	void revoke();

	/**
	 * Revoke leadership of the default election. Does nothing if this node does not lead.
	 * @param reason {@link Reason#RESIGNED} for an orderly hand-over, which waits for
	 * leader work; {@link Reason#SESSION_LOST} or {@link Reason#LEASE_EXPIRED} for a
	 * loss, which interrupts leader work
	 */
	void revoke(Reason reason);

	/**
	 * Revoke leadership of an election. Does nothing if this node does not lead it.
	 * @param election the name of the election
	 * @param reason the reason, as for {@link #revoke(Reason)}
	 * @throws IllegalArgumentException if there is no election of that name
	 */
	void revoke(String election, Reason reason);

	/**
	 * Reset every election to its initial state. Called before each test method of a
	 * class that is annotated with
	 * {@link AutoConfigureTestLeadership @AutoConfigureTestLeadership}.
	 */
	void reset();

}
