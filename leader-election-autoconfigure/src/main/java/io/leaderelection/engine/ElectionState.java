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

import io.leaderelection.LeadershipRevokedEvent.Reason;
import io.leaderelection.Term;
import io.leaderelection.engine.ElectionSession.Leader;
import org.jspecify.annotations.Nullable;

/**
 * Everything there is to know of an election at one moment. Times are
 * {@link System#nanoTime()}.
 *
 * @param phase where this node stands
 * @param term the term that was won or granted; none while following
 * @param leadership the leadership that was granted; none before the grant
 * @param trustedUntil when the leadership ends unless it is confirmed before
 * @param departure why and until when leadership is being handed over, if it is
 * @param leader who leads as this node sees it while following
 * @param blockedBy what a winner waits for before its grant
 * @param contact how the store was last met
 */
record ElectionState(Phase phase, @Nullable Term term, @Nullable TermLeadership leadership, long trustedUntil,
		@Nullable Departure departure, @Nullable Leader leader, @Nullable String blockedBy, Contact contact) {

	static ElectionState stopped(long now) {
		return new ElectionState(Phase.STOPPED, null, null, 0, null, null, null, new Contact(now, false, null));
	}

	ElectionState followed(@Nullable Leader newLeader) {
		return new ElectionState(Phase.FOLLOWING, null, null, 0, null, newLeader, null, this.contact);
	}

	ElectionState ended() {
		return new ElectionState(Phase.STOPPED, null, null, 0, null, null, null, this.contact);
	}

	ElectionState elected(Term newTerm) {
		return new ElectionState(Phase.ELECTED, newTerm, null, 0, null, null, null, this.contact);
	}

	ElectionState blocked(@Nullable String by) {
		return new ElectionState(this.phase, this.term, null, 0, null, null, by, this.contact);
	}

	ElectionState granted(TermLeadership granted, long until) {
		return new ElectionState(Phase.LEADING, granted.getTerm(), granted, until, null, null, null, this.contact);
	}

	ElectionState trusted(long until) {
		return new ElectionState(this.phase, this.term, this.leadership, until, this.departure, null, null,
				this.contact);
	}

	ElectionState draining(Departure newDeparture) {
		return new ElectionState(Phase.DRAINING, this.term, this.leadership, this.trustedUntil, newDeparture, null,
				null, this.contact);
	}

	ElectionState leaving() {
		return new ElectionState(Phase.LEAVING, this.term, this.leadership, this.trustedUntil, this.departure, null,
				null, this.contact);
	}

	ElectionState met(Contact newContact) {
		return new ElectionState(this.phase, this.term, this.leadership, this.trustedUntil, this.departure, this.leader,
				this.blockedBy, newContact);
	}

	/**
	 * Where a node stands in an election.
	 */
	enum Phase {

		/**
		 * Takes no part.
		 */
		STOPPED,

		/**
		 * Stands or observes; does not hold the lock.
		 */
		FOLLOWING,

		/**
		 * Holds the lock; was not granted leadership yet.
		 */
		ELECTED,

		/**
		 * Leads.
		 */
		LEADING,

		/**
		 * Hands over: the gate is shut, work in flight is waited for.
		 */
		DRAINING,

		/**
		 * Hands over: listeners have been told and are waited for.
		 */
		LEAVING;

		boolean isGranted() {
			return this == LEADING || isDeparting();
		}

		boolean isDeparting() {
			return this == DRAINING || this == LEAVING;
		}

	}

	/**
	 * An orderly hand-over.
	 *
	 * @param reason why
	 * @param interruptAt when work and listeners that are still running are interrupted
	 */
	record Departure(Reason reason, long interruptAt) {
	}

	/**
	 * How the store was last met.
	 *
	 * @param last when it last answered, or when this node was started
	 * @param ever whether it has answered since
	 * @param problem what went wrong since, or {@code null}
	 */
	record Contact(long last, boolean ever, @Nullable Problem problem) {
	}

	/**
	 * What went wrong with the store.
	 *
	 * @param message what
	 * @param unusable whether somebody has to mend it
	 */
	record Problem(String message, boolean unusable) {
	}

}
