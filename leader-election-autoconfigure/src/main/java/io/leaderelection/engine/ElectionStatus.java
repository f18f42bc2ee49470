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
import java.time.Instant;
import java.util.List;

import io.leaderelection.Term;
import io.leaderelection.engine.ElectionSession.Candidate;
import io.leaderelection.engine.ElectionSession.Leader;
import org.jspecify.annotations.Nullable;

/**
 * What one node can tell of one election, from memory.
 *
 * @param election the name of the election
 * @param role the role of this node
 * @param nodeId the id of this node
 * @param term the term of this node, if it leads
 * @param since when it was granted leadership, if it leads
 * @param leader the node that leads as far as this node knows
 * @param leaderSession the store's name of its session, if known
 * @param leaderTerm the term of that node, if known
 * @param leaderSince since when that node leads, if known
 * @param candidates the nodes that stand, the leader included, as far as this node knows
 * @param workInFlight how many pieces of leader work are under way
 * @param history the last changes of who leads, the latest last
 * @param lastConfirmation when the store last answered, or {@code null} if it never did
 * @param silence how long the store has not answered, counted from the start if it never
 * did
 * @param lease the length of the lease
 * @param leaseRemaining how long leadership is trusted without a further confirmation
 * @param blockedBy what a winner waits for before its grant
 * @param problem why this node has no session, or does not stand, if so
 * @param unusable whether that problem has to be mended by somebody
 */
public record ElectionStatus(String election, Role role, String nodeId, @Nullable Term term, @Nullable Instant since,
		@Nullable String leader, @Nullable String leaderSession, @Nullable Term leaderTerm,
		@Nullable Instant leaderSince, List<String> candidates, int workInFlight, List<Transition> history,
		@Nullable Instant lastConfirmation, Duration silence, Duration lease, Duration leaseRemaining,
		@Nullable String blockedBy, @Nullable String problem, boolean unusable) {

	/**
	 * The role of a node in an election.
	 */
	public enum Role {

		/**
		 * Takes no part, since the application is not running.
		 */
		STOPPED,

		/**
		 * Does not lead.
		 */
		FOLLOWER,

		/**
		 * Has won the lock and waits until nothing of an earlier term is left.
		 */
		CANDIDATE,

		/**
		 * Leads.
		 */
		LEADER,

		/**
		 * Hands leadership over: finishes leader work and starts no more.
		 */
		RESIGNING

	}

	static ElectionStatus of(Election election) {
		ElectionState state = election.state();
		long now = election.nanoTime();
		ElectionSettings settings = election.settings();
		TermLeadership leadership = state.leadership();
		long remaining = (leadership != null) ? Math.max(0, state.trustedUntil() - now) : 0;
		boolean trusted = remaining > 0;
		Role role = switch (state.phase()) {
			case STOPPED -> Role.STOPPED;
			case FOLLOWING -> Role.FOLLOWER;
			case ELECTED -> Role.CANDIDATE;
			case LEADING -> trusted ? Role.LEADER : Role.FOLLOWER;
			case DRAINING, LEAVING -> trusted ? Role.RESIGNING : Role.FOLLOWER;
		};
		Leader seen = state.view().leader();
		ElectionState.Contact contact = state.contact();
		Duration silence = Duration.ofNanos(Math.max(0, now - contact.last()));
		Instant lastContact = contact.ever() ? Instant.now().minus(silence) : null;
		Term term = (trusted && leadership != null) ? leadership.getTerm() : null;
		Instant since = (trusted && leadership != null) ? leadership.getSince() : null;
		List<String> candidates = state.view().candidates().stream().map(Candidate::nodeId).toList();
		return new ElectionStatus(settings.election(), role, settings.nodeId(), term, since,
				trusted ? settings.nodeId() : (seen != null) ? seen.nodeId() : null,
				trusted ? election.sessionName() : (seen != null) ? seen.session() : null,
				trusted ? term : (seen != null) ? seen.term() : null,
				trusted ? since : (seen != null) ? seen.since() : null, candidates, election.gate().size(),
				state.history(), lastContact, silence, settings.lease(), Duration.ofNanos(remaining), state.blockedBy(),
				problem(election, contact.problem()), contact.problem() != null && contact.problem().unusable());
	}

	private static @Nullable String problem(Election election, ElectionState.@Nullable Problem problem) {
		String session = (problem != null) ? problem.message() : null;
		if (!election.standsAside()) {
			return session;
		}
		String aside = election.isWithheld() ? "does not stand, since the application is not healthy"
				: "does not stand for now, since services could not be started";
		return (session != null) ? session + "; " + aside : aside;
	}

}
