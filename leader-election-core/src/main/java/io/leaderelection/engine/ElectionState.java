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
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.stream.Collectors;
import java.util.stream.Stream;

import io.leaderelection.Leadership;
import io.leaderelection.Term;
import io.leaderelection.engine.Position.Elected;
import io.leaderelection.engine.Position.Following;
import io.leaderelection.engine.Position.Granted;
import io.leaderelection.engine.Position.Stopped;
import io.leaderelection.engine.StoreSession.ForeignHolder;
import io.leaderelection.engine.StoreSession.Holder;
import io.leaderelection.engine.StoreSession.View;
import org.jspecify.annotations.Nullable;

/**
 * The complete state of an election on one node. Times are {@link Platform#nanoTime()}.
 *
 * @param position the position of this node
 * @param stopBy when a stop ends the session, regardless of what is still running, or
 * {@code null} if this node does not stop
 * @param suspensions the causes for which the candidacy is suspended, and when each ends
 * without further action
 * @param request the term of another node whose end this node requests now, if any
 * @param view the leader and the candidates, as observed by this node
 * @param contact when and how the store last answered
 * @param history the last transitions, the latest last
 */
record ElectionState(Position position, @Nullable Long stopBy, Map<Suspension, Long> suspensions,
		@Nullable Term request, View view, Contact contact, List<Transition> history) {

	private static final int LONGEST_HISTORY = 20;

	static ElectionState stopped(long now) {
		return new ElectionState(new Stopped(), null, Map.of(), null, View.NONE,
				new Contact(now, false, null, null, false), List.of());
	}

	// Queries

	/**
	 * Return the position of a node that was granted leadership, or {@code null}.
	 */
	@Nullable Granted granted() {
		return (this.position instanceof Granted granted) ? granted : null;
	}

	@Nullable TermLeadership leadership() {
		return (this.position instanceof Granted granted) ? granted.leadership() : null;
	}

	/**
	 * Return the position of this node in the term of a leadership, or {@code null} if
	 * that has ended. Each leadership is granted once, and therefore compared by
	 * identity.
	 */
	@Nullable Granted granted(Leadership leadership) {
		return (this.position instanceof Granted granted && granted.leadership() == leadership) ? granted : null;
	}

	/**
	 * Return the term that was won, whether granted or not.
	 */
	@Nullable Term term() {
		return (this.position instanceof Elected elected) ? elected.term()
				: (this.position instanceof Granted granted) ? granted.leadership().getTerm() : null;
	}

	boolean holdsLock() {
		return this.position instanceof Elected || this.position instanceof Granted;
	}

	/**
	 * Return the foreign session that holds the lock, as far as this node knows, or
	 * {@code null}.
	 */
	@Nullable ForeignHolder blockingHolder() {
		ForeignHolder foreign = this.view.foreign();
		return (foreign != null && foreign.isBlocking()) ? foreign : null;
	}

	boolean isStopping() {
		return this.stopBy != null;
	}

	boolean isSuspended(long now) {
		return suspensionRemaining(now) > 0;
	}

	/**
	 * Return how long the candidacy remains suspended, or 0.
	 */
	long suspensionRemaining(long now) {
		return this.suspensions.values().stream().mapToLong((until) -> until - now).reduce(0, Math::max);
	}

	/**
	 * Return why this node is not a candidate.
	 * @param configured whether it is configured as a candidate
	 * @return the reasons, or an empty text if it is a candidate
	 */
	String notCandidate(boolean configured, long now) {
		Stream<String> suspended = Stream.of(Suspension.values())
			.filter((cause) -> isSuspended(cause, now))
			.map((cause) -> cause.description);
		String reasons = Stream
			.concat(configured ? Stream.empty() : Stream.of("it is configured with candidate=false"), suspended)
			.collect(Collectors.joining(", and "));
		return reasons.isEmpty() ? "" : "is not a candidate: " + reasons;
	}

	boolean isSuspended(Suspension cause, long now) {
		Long until = this.suspensions.get(cause);
		return until != null && until - now > 0;
	}

	/**
	 * Return whether the last transition is the observation of this leader, in any
	 * session of this node, or a request to it.
	 */
	boolean remembers(Holder leader) {
		Transition last = lastTransition();
		return last != null && (last.kind() == Transition.Kind.FOLLOWED || last.kind() == Transition.Kind.REQUESTED)
				&& last.node().equals(leader.nodeId()) && Objects.equals(last.term(), leader.term());
	}

	@Nullable Transition lastTransition() {
		return this.history.isEmpty() ? null : this.history.get(this.history.size() - 1);
	}

	// Changes

	ElectionState at(Position newPosition) {
		return new ElectionState(newPosition, this.stopBy, this.suspensions, this.request, this.view, this.contact,
				this.history);
	}

	ElectionState following(View newView) {
		return at(new Following()).with(newView);
	}

	ElectionState stopped() {
		Map<Suspension, Long> lasting = resumed(Suspension.RESIGNED).resumed(Suspension.SPREAD).suspensions();
		return new ElectionState(new Stopped(), null, lasting, null, View.NONE,
				new Contact(this.contact.last(), this.contact.ever(), this.contact.problem(), null, false),
				this.history);
	}

	ElectionState with(View newView) {
		return new ElectionState(this.position, this.stopBy, this.suspensions, this.request, newView, this.contact,
				this.history);
	}

	ElectionState with(Contact newContact) {
		return new ElectionState(this.position, this.stopBy, this.suspensions, this.request, this.view, newContact,
				this.history);
	}

	ElectionState stoppingBy(long deadline) {
		return new ElectionState(this.position, deadline, this.suspensions, this.request, this.view, this.contact,
				this.history);
	}

	/**
	 * Return this state with a further suspension. Of two suspensions for the same cause,
	 * the longer one applies.
	 */
	ElectionState suspended(Suspension cause, long until) {
		Map<Suspension, Long> all = suspensionsWithout(null);
		all.merge(cause, until, (first, second) -> (first - second > 0) ? first : second);
		return with(all);
	}

	ElectionState resumed(Suspension cause) {
		return with(suspensionsWithout(cause));
	}

	private Map<Suspension, Long> suspensionsWithout(@Nullable Suspension removed) {
		Map<Suspension, Long> all = new EnumMap<>(Suspension.class);
		all.putAll(this.suspensions);
		if (removed != null) {
			all.remove(removed);
		}
		return all;
	}

	private ElectionState with(Map<Suspension, Long> newSuspensions) {
		return new ElectionState(this.position, this.stopBy, Map.copyOf(newSuspensions), this.request, this.view,
				this.contact, this.history);
	}

	ElectionState requesting(@Nullable Term term) {
		return new ElectionState(this.position, this.stopBy, this.suspensions, term, this.view, this.contact,
				this.history);
	}

	ElectionState remembering(Transition transition) {
		List<Transition> remembered = new ArrayList<>(this.history);
		remembered.add(transition);
		int forgotten = Math.max(0, remembered.size() - LONGEST_HISTORY);
		return new ElectionState(this.position, this.stopBy, this.suspensions, this.request, this.view, this.contact,
				List.copyOf(remembered.subList(forgotten, remembered.size())));
	}

	/**
	 * Why a candidacy is suspended.
	 */
	enum Suspension {

		RESIGNED("it has resigned, and lets other candidates go first"),

		SERVICES_FAILED("services could not be started"),

		UNHEALTHY("the application is unhealthy"),

		SPREAD("another candidate should lead, since this node leads other elections");

		private final String description;

		Suspension(String description) {
			this.description = description;
		}

	}

	/**
	 * The contact with the store.
	 *
	 * @param last when it last answered, or when this node was started
	 * @param ever whether it has answered since the start
	 * @param problem the problem since then, or {@code null}
	 * @param session the store's name of the session of this node, or {@code null}
	 * @param watching whether this node observes the election less often than a standby,
	 * with or without a session
	 */
	record Contact(long last, boolean ever, @Nullable Problem problem, @Nullable String session, boolean watching) {
	}

	/**
	 * A problem with the store.
	 *
	 * @param message the description
	 * @param unusable whether it requires operator action
	 */
	record Problem(String message, boolean unusable) {
	}

}
