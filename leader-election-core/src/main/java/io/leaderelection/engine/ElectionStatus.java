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
import java.util.ArrayList;
import java.util.List;

import io.leaderelection.Term;
import io.leaderelection.engine.ElectionState.Contact;
import io.leaderelection.engine.Position.Elected;
import io.leaderelection.engine.Position.Granted;
import io.leaderelection.engine.Position.Leading;
import io.leaderelection.engine.Position.Stopped;
import io.leaderelection.engine.StoreSession.Candidate;
import io.leaderelection.engine.StoreSession.ForeignHolder;
import io.leaderelection.engine.StoreSession.Holder;
import org.jspecify.annotations.Nullable;

/**
 * The status of one election as known to one node, in memory.
 *
 * @param election the name of the election
 * @param role the role of this node
 * @param nodeId the id of this node
 * @param term the term of this node, if it leads
 * @param since when it was granted leadership, if it leads
 * @param leader the leader, as far as known to this node
 * @param leaderSession the store's name of its session, if known
 * @param leaderTerm the term of that node, if known
 * @param leaderSince since when that node leads, if known
 * @param leaderProfile what that node publishes about itself
 * @param leaderRole the role with which that node has logged in to the store, if known
 * @param candidates the candidates, the leader included, as far as known to this node
 * @param workInFlight the number of units of leader work that are running
 * @param history the last changes of the leader, the latest last
 * @param lastConfirmation when the store last answered, or {@code null} if it never did
 * @param silence for how long the store has not answered, counted from the start if it
 * never did
 * @param lease the length of the lease
 * @param leaseRemaining how long leadership is trusted without a further confirmation
 * @param takeover whether another node would take over fast if this node led and its
 * process was killed: {@code "fast"} or a word for the reason why not, or {@code null}
 * without a session or if the store has no fast takeover
 * @param watching whether this node observes the election less often than a standby, with
 * or without a session
 * @param blockedBy what a winner waits for before its grant
 * @param problem why this node has no session, is not a candidate or is disturbed by a
 * foreign session, if so
 * @param unusable whether that problem requires operator action
 */
public record ElectionStatus(String election, Role role, String nodeId, @Nullable Term term, @Nullable Instant since,
		@Nullable String leader, @Nullable String leaderSession, @Nullable Term leaderTerm,
		@Nullable Instant leaderSince, NodeProfile leaderProfile, @Nullable String leaderRole, List<String> candidates,
		int workInFlight, List<Transition> history, @Nullable Instant lastConfirmation, Duration silence,
		Duration lease, Duration leaseRemaining, @Nullable String takeover, boolean watching,
		@Nullable String blockedBy, @Nullable String problem, boolean unusable) {

	/**
	 * The role of a node in an election.
	 */
	public enum Role {

		/**
		 * Does not participate, since the application is not running.
		 */
		STOPPED,

		/**
		 * Does not lead.
		 */
		FOLLOWER,

		/**
		 * Has won the lock and waits until nothing of an earlier term is left.
		 */
		ELECTED,

		/**
		 * Leads.
		 */
		LEADER,

		/**
		 * Hands leadership over: running leader work is completed, and no new work
		 * starts.
		 */
		RESIGNING

	}

	static ElectionStatus of(Election election) {
		ElectionState state = election.state();
		long now = election.nanoTime();
		ElectionSettings settings = election.settings();
		Granted granted = state.granted();
		long remaining = (granted != null) ? granted.leadership().trustRemaining(now) : 0;
		TermLeadership leadership = (granted != null && remaining > 0) ? granted.leadership() : null;
		Role role = (state.position() instanceof Stopped) ? Role.STOPPED
				: (state.position() instanceof Elected) ? Role.ELECTED : (leadership != null)
						? (state.position() instanceof Leading) ? Role.LEADER : Role.RESIGNING : Role.FOLLOWER;
		Holder leader = (leadership != null) ? election.own(leadership) : state.view().leader();
		Contact contact = state.contact();
		Duration silence = Duration.ofNanos(Math.max(0, now - contact.last()));
		Instant lastContact = contact.ever() ? election.platform().now().minus(silence) : null;
		List<String> candidates = state.view().candidates().stream().map(Candidate::nodeId).toList();
		return new ElectionStatus(settings.election(), role, settings.nodeId(),
				(leadership != null) ? leadership.getTerm() : null, (leadership != null) ? leadership.getSince() : null,
				(leader != null) ? leader.nodeId() : null,
				(leadership != null) ? contact.session() : (leader != null) ? leader.session() : null,
				(leader != null) ? leader.term() : null, (leader != null) ? leader.since() : null,
				(leader != null) ? leader.profile() : NodeProfile.UNKNOWN, (leader != null) ? leader.role() : null,
				candidates, election.gate().size(), state.history(), lastContact, silence, settings.lease(),
				Duration.ofNanos(remaining), election.loop().takeover(), contact.watching(), blockedBy(state),
				problem(state, settings.candidate(), now), isUnusable(state));
	}

	private static @Nullable String blockedBy(ElectionState state) {
		if (state.position() instanceof Elected elected) {
			return elected.blockedBy();
		}
		ForeignHolder holder = state.blockingHolder();
		return (holder != null) ? holder.session() : null;
	}

	private static @Nullable String problem(ElectionState state, boolean configured, long now) {
		List<String> problems = new ArrayList<>();
		if (state.contact().problem() != null) {
			problems.add(state.contact().problem().message());
		}
		if (state.view().foreign() != null) {
			problems.add("the " + state.view().foreign());
		}
		String notCandidate = state.notCandidate(configured, now);
		if (!notCandidate.isEmpty()) {
			problems.add(notCandidate);
		}
		return problems.isEmpty() ? null : String.join("; ", problems);
	}

	private static boolean isUnusable(ElectionState state) {
		ForeignHolder holder = state.view().foreign();
		return (holder != null && holder.kind() == ForeignHolder.Kind.BLOCKING)
				|| (state.contact().problem() != null && state.contact().problem().unusable());
	}

}
