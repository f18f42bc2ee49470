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

import java.util.ArrayList;
import java.util.List;
import java.util.Objects;

import io.leaderelection.LeadershipRevokedEvent.Reason;
import io.leaderelection.Term;
import io.leaderelection.engine.ElectionSession.Candidate;
import io.leaderelection.engine.ElectionSession.Leader;
import io.leaderelection.engine.ElectionSession.View;
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
 * @param view who leads and who stands as this node sees it
 * @param blockedBy what a winner waits for before its grant
 * @param contact how the store was last met
 * @param history the last transitions, the latest last
 */
record ElectionState(Phase phase, @Nullable Term term, @Nullable TermLeadership leadership, long trustedUntil,
		@Nullable Departure departure, View view, @Nullable String blockedBy, Contact contact,
		List<Transition> history) {

	private static final int LONGEST_HISTORY = 20;

	static ElectionState stopped(long now) {
		return new ElectionState(Phase.STOPPED, null, null, 0, null, View.NONE, null, new Contact(now, false, null),
				List.of());
	}

	ElectionState followed(View newView) {
		return new ElectionState(Phase.FOLLOWING, null, null, 0, null, newView, null, this.contact, this.history);
	}

	ElectionState ended() {
		return new ElectionState(Phase.STOPPED, null, null, 0, null, View.NONE, null, this.contact, this.history);
	}

	ElectionState elected(Term newTerm) {
		return new ElectionState(Phase.ELECTED, newTerm, null, 0, null, new View(null, this.view.candidates()), null,
				this.contact, this.history);
	}

	ElectionState blocked(@Nullable String by) {
		return new ElectionState(this.phase, this.term, null, 0, null, this.view, by, this.contact, this.history);
	}

	ElectionState granted(TermLeadership granted, long until) {
		return new ElectionState(Phase.LEADING, granted.getTerm(), granted, until, null, this.view, null, this.contact,
				this.history);
	}

	ElectionState trusted(long until) {
		return new ElectionState(this.phase, this.term, this.leadership, until, this.departure, this.view, null,
				this.contact, this.history);
	}

	ElectionState draining(Departure newDeparture) {
		return new ElectionState(Phase.DRAINING, this.term, this.leadership, this.trustedUntil, newDeparture, this.view,
				null, this.contact, this.history);
	}

	ElectionState leaving() {
		return new ElectionState(Phase.LEAVING, this.term, this.leadership, this.trustedUntil, this.departure,
				this.view, null, this.contact, this.history);
	}

	ElectionState met(Contact newContact) {
		return new ElectionState(this.phase, this.term, this.leadership, this.trustedUntil, this.departure, this.view,
				this.blockedBy, newContact, this.history);
	}

	ElectionState saw(List<Candidate> candidates) {
		return new ElectionState(this.phase, this.term, this.leadership, this.trustedUntil, this.departure,
				new View(this.view.leader(), candidates), this.blockedBy, this.contact, this.history);
	}

	ElectionState remembered(Transition transition) {
		List<Transition> remembered = new ArrayList<>(this.history);
		remembered.add(transition);
		int forgotten = Math.max(0, remembered.size() - LONGEST_HISTORY);
		return new ElectionState(this.phase, this.term, this.leadership, this.trustedUntil, this.departure, this.view,
				this.blockedBy, this.contact, List.copyOf(remembered.subList(forgotten, remembered.size())));
	}

	/**
	 * Return whether the last transition is that this leader was seen, whatever sessions
	 * of this node have come and gone since.
	 */
	boolean remembers(Leader leader) {
		Transition last = this.history.isEmpty() ? null : this.history.get(this.history.size() - 1);
		return last != null && last.kind() == Transition.Kind.FOLLOWED && last.node().equals(leader.nodeId())
				&& Objects.equals(last.term(), leader.term());
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
