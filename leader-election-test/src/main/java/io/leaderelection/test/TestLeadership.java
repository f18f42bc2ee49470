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
 * Grants and revokes leadership by hand, without a database. There is a bean of this type
 * if {@code leader-election.mode} is {@code manual}, see
 * {@link AutoConfigureTestLeadership @AutoConfigureTestLeadership}.
 * <p>
 * All methods wait until this node has taken the change, its listeners have been told and
 * its leader-only services have been started or stopped. In vain they wait only a little
 * longer than {@code leader-election.drain-timeout}, and then throw
 * {@link IllegalStateException}; so when they are called by leader work or a listener,
 * which would wait for itself.
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
	 * Revoke leadership of the default election in good order: as if this node had been
	 * asked to resign. Does nothing if this node does not lead.
	 */
	void revoke();

	/**
	 * Revoke leadership of the default election. Does nothing if this node does not lead.
	 * @param reason {@link Reason#RESIGNED} for an orderly hand-over, which waits for
	 * leader work, or {@link Reason#SESSION_LOST} or {@link Reason#LEASE_EXPIRED} for a
	 * loss, which interrupts it
	 */
	void revoke(Reason reason);

	/**
	 * Revoke leadership of an election. Does nothing if this node does not lead it.
	 * @param election the name of the election
	 * @param reason as above
	 * @throws IllegalArgumentException if there is no election of that name
	 */
	void revoke(String election, Reason reason);

	/**
	 * Grant or revoke what makes every election as it was at the start. Done before every
	 * test method of a class that is annotated with
	 * {@link AutoConfigureTestLeadership @AutoConfigureTestLeadership}.
	 */
	void reset();

}
