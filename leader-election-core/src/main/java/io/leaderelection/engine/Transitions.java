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
import java.util.Locale;
import java.util.concurrent.CompletableFuture;

import io.leaderelection.Leadership;
import io.leaderelection.LeadershipRevokedEvent.Reason;
import io.leaderelection.Term;
import io.leaderelection.engine.ElectionState.Contact;
import io.leaderelection.engine.ElectionState.HandOver;
import io.leaderelection.engine.ElectionState.Loss;
import io.leaderelection.engine.ElectionState.Suspension;
import io.leaderelection.engine.Position.Draining;
import io.leaderelection.engine.Position.Elected;
import io.leaderelection.engine.Position.Granted;
import io.leaderelection.engine.Position.Leading;
import io.leaderelection.engine.Position.Notified;
import io.leaderelection.engine.Position.Stopped;
import io.leaderelection.engine.StoreSession.Candidate;
import io.leaderelection.engine.StoreSession.ForeignHolder;
import io.leaderelection.engine.StoreSession.Holder;
import io.leaderelection.engine.StoreSession.View;
import io.leaderelection.engine.Transition.Kind;
import org.jspecify.annotations.Nullable;

/**
 * The transitions of an election as pure functions: from a state and a moment to the next
 * state, or to the same state if the transition is not possible. Events and everything
 * else that a transition causes follow from the states before and after. Not final, since
 * seeded mistakes extend it.
 */
class Transitions {

	private final ElectionSettings settings;

	private final ElectionTimings timings;

	Transitions(ElectionSettings settings, ElectionTimings timings) {
		this.settings = settings;
		this.timings = timings;
	}

	// Participation

	ElectionState begin(ElectionState state, Moment now) {
		return (state.position() instanceof Stopped)
				? state.following(View.NONE).with(new Contact(now.nanos(), false, null, null, false)) : state;
	}

	/**
	 * Stop participating once there is nothing left to hand over or to free.
	 */
	ElectionState stop(ElectionState state, Moment now, CompletableFuture<Boolean> completion) {
		return state.isStopping() ? state : beginHandOver(state, now, Reason.STOPPED, null, true, completion);
	}

	ElectionState end(ElectionState state) {
		return state.stopped();
	}

	// Leading

	/**
	 * The lock was won in a new term.
	 */
	ElectionState elect(ElectionState state, Term term) {
		return state.at(new Elected(term, null))
			.resumed(Suspension.SPREAD)
			.with(new View(null, state.view().candidates(), null));
	}

	/**
	 * The grant waits for something of an earlier term.
	 */
	ElectionState block(ElectionState state, @Nullable String by) {
		return (state.position() instanceof Elected elected) ? state.at(new Elected(elected.term(), by)) : state;
	}

	/**
	 * Grant leadership, unless it is no longer wanted or already outdated.
	 * @param anchor the start of the confirmation from which trust counts
	 */
	ElectionState grant(ElectionState state, Moment now, TermLeadership leadership, long anchor) {
		long until = anchor + this.settings.trustNanos();
		if (mustNotLead(state, now.nanos()) || until - now.nanos() <= 0) {
			return state;
		}
		return state.at(new Leading(leadership, until))
			.requesting(null)
			.remembering(transition(now, Kind.GRANTED, leadership, null, null));
	}

	static boolean mustNotLead(ElectionState state, long now) {
		return state.handOver() != null || state.isSuspended(now);
	}

	/**
	 * Extend trust, unless it has ended.
	 * @param anchor the start of the confirmation from which trust counts
	 */
	ElectionState extend(ElectionState state, Moment now, TermLeadership leadership, long anchor) {
		Granted granted = state.granted();
		return (granted != null && granted.leadership() == leadership && granted.trustRemaining(now.nanos()) > 0)
				? state.at(granted.trustedUntil(anchor + this.settings.trustNanos())) : state;
	}

	// Handing over

	/**
	 * Close the gate, and have the election thread hand over.
	 */
	ElectionState resign(ElectionState state, Moment now, String cause, CompletableFuture<Boolean> completion) {
		return (state.handOver() == null && state.holdsLock())
				? beginHandOver(state, now, Reason.RESIGNED, cause, false, completion) : state;
	}

	private ElectionState beginHandOver(ElectionState state, Moment now, Reason reason, @Nullable String cause,
			boolean stops, CompletableFuture<Boolean> completion) {
		HandOver known = state.handOver();
		long interruptAt = (known != null) ? known.interruptAt() : now.nanos() + this.settings.drainTimeout().toNanos();
		long deadline = stopLimit() + ((state.granted() != null) ? interruptAt : now.nanos());
		HandOver handOver = (known != null) ? known.stopping(deadline) : new HandOver(reason, cause, stops, interruptAt,
				false, deadline, state.holdsLock() ? completion : CompletableFuture.completedFuture(false));
		return state
			.at((state.position() instanceof Leading leading)
					? new Draining(leading.leadership(), leading.trustedUntil()) : state.position())
			.handingOver(handOver);
	}

	/**
	 * Return how long a stop waits for the store when there is nothing else to wait for.
	 */
	private long stopLimit() {
		return ElectionSettings.GRACE.plus(this.timings.stopMargin()).toNanos();
	}

	/**
	 * The time for work and listeners is over: interrupt what is still running.
	 */
	ElectionState interrupt(ElectionState state, Moment now) {
		HandOver handOver = state.handOver();
		return (state.granted() != null && handOver != null && !handOver.interrupted()
				&& handOver.interruptAt() - now.nanos() <= 0) ? state.handingOver(handOver.afterInterrupt()) : state;
	}

	/**
	 * Return whether a hand-over has no leader work to wait for.
	 */
	boolean isDrained(WorkGate gate) {
		return gate.isDrained();
	}

	/**
	 * Return whether a hand-over has neither leader work nor listeners to wait for.
	 */
	boolean hasEnded(WorkGate gate, SerialWorker relay) {
		// In this order: the listeners stop services, whose work counts from then on
		return relay.isSettled() && gate.isDrained();
	}

	/**
	 * All work has ended, or the time to wait for it is over: notify listeners.
	 */
	ElectionState notifyListeners(ElectionState state, Moment now, TermLeadership leadership) {
		HandOver handOver = state.handOver();
		return (state.position() instanceof Draining draining && draining.leadership() == leadership
				&& handOver != null)
						? state.at(new Notified(leadership, draining.trustedUntil()))
							.remembering(transition(now, Kind.REVOKED, leadership, handOver.reason(), handOver.cause()))
						: state;
	}

	/**
	 * Listeners have returned, or the time to wait for them is over: end trust, before
	 * the lock is freed.
	 */
	ElectionState endTrust(ElectionState state, Moment now, TermLeadership leadership) {
		HandOver handOver = state.handOver();
		if (state.leadership() != leadership || handOver == null) {
			return state;
		}
		return notifyListeners(state, now, leadership).handingOver(handOver.endingBy(now.nanos() + stopLimit()))
			.following(View.NONE);
	}

	/**
	 * The lock was freed, or was lost before: nothing is left to hand over. Only a stop
	 * remains a stop, and a node that has resigned lets other candidates go first.
	 * @param freed whether the lock was freed
	 */
	ElectionState handedOver(ElectionState state, Moment now, boolean freed) {
		ElectionState following = (state.position() instanceof Elected) ? state.following(View.NONE) : state;
		HandOver handOver = state.handOver();
		if (handOver == null) {
			return following;
		}
		if (handOver.stops()) {
			return following.handingOver(handOver.completed(freed));
		}
		Duration yields = (this.settings.lease().compareTo(this.timings.maxYield()) < 0) ? this.settings.lease()
				: this.timings.maxYield();
		return following.handingOver(null).suspended(Suspension.RESIGNED, now.nanos() + yields.toNanos());
	}

	// Losing

	/**
	 * End leadership that can no longer be handed over.
	 * @param cause the reason, or {@code null} if the session has ended or trust is over
	 */
	ElectionState lose(ElectionState state, Moment now, @Nullable Reason cause) {
		Granted granted = state.granted();
		if (granted == null) {
			return state;
		}
		TermLeadership leadership = granted.leadership();
		Reason reason = (cause != null) ? cause
				: (granted.trustedUntil() - now.nanos() > 0) ? Reason.SESSION_LOST : Reason.LEASE_EXPIRED;
		long silence = now.nanos() - (granted.trustedUntil() - this.settings.trustNanos());
		ElectionState following = state.following(View.NONE).losing(new Loss(leadership, reason, silence));
		return (granted instanceof Notified) ? following
				: following.remembering(transition(now, Kind.REVOKED, leadership, reason, null));
	}

	/**
	 * End leadership whose trust is over, or which a stop has no time left to hand over.
	 */
	ElectionState expire(ElectionState state, Moment now) {
		return (trustRemaining(state, now.nanos()) <= 0 || stopRemaining(state, now.nanos()) <= 0)
				? lose(state, now, null) : state;
	}

	/**
	 * Return the time until trust expires, in nanoseconds, or a long time if there is
	 * none.
	 */
	long trustRemaining(ElectionState state, long now) {
		Granted granted = state.granted();
		return (granted != null) ? granted.trustRemaining(now) : Watchdog.NO_DEADLINE;
	}

	/**
	 * Return the time until a stop must end the session, in nanoseconds, or a long time
	 * if there is no stop.
	 */
	long stopRemaining(ElectionState state, long now) {
		HandOver handOver = state.handOver();
		return (handOver != null && handOver.stops()) ? handOver.deadline() - now : Watchdog.NO_DEADLINE;
	}

	/**
	 * Return the time until a hand-over interrupts work and listeners, in nanoseconds, or
	 * a long time if there is none or it has done so.
	 */
	long interruptRemaining(ElectionState state, long now) {
		HandOver handOver = state.handOver();
		return (handOver != null && state.granted() != null && !handOver.interrupted()) ? handOver.interruptAt() - now
				: Watchdog.NO_DEADLINE;
	}

	// Candidacy

	/**
	 * Suspend the candidacy for some time, and hand over.
	 */
	ElectionState suspend(ElectionState state, Moment now, Suspension cause, long nanos,
			CompletableFuture<Boolean> completion) {
		return resign(state.suspended(cause, now.nanos() + nanos), now, words(cause), completion);
	}

	private static String words(Suspension cause) {
		return cause.name().toLowerCase(Locale.ROOT);
	}

	/**
	 * Hand a term over, unless it has ended, and suspend the candidacy for some time if
	 * there are other candidates.
	 */
	ElectionState suspendTerm(ElectionState state, Moment now, Suspension cause, Leadership leadership, long nanos,
			CompletableFuture<Boolean> completion) {
		if (state.leadership() != leadership) {
			return state;
		}
		boolean others = state.view().candidates().size() > 1;
		return others ? suspend(state, now, cause, nanos, completion) : resign(state, now, words(cause), completion);
	}

	/**
	 * Suspend the candidacy of a node that does not hold the lock for some time. A
	 * suspension of which half remains is not extended.
	 */
	ElectionState suspendForSpread(ElectionState state, Moment now, long nanos) {
		return (state.holdsLock() || state.isSuspended(Suspension.SPREAD, now.nanos() + nanos / 2)) ? state
				: state.suspended(Suspension.SPREAD, now.nanos() + nanos);
	}

	ElectionState resume(ElectionState state, Suspension cause) {
		return state.suspensions().containsKey(cause) ? state.resumed(cause) : state;
	}

	// Observing

	/**
	 * Record what a node has observed that does not lead.
	 */
	ElectionState follow(ElectionState state, Moment now, View view) {
		if (state.granted() != null) {
			// Leadership must not end without an event
			return state;
		}
		ElectionState followed = state.following(view);
		Holder leader = view.leader();
		return (leader == null || leader.term() == null || state.remembers(leader)) ? followed : followed
			.remembering(new Transition(now.instant(), Kind.FOLLOWED, leader.nodeId(), leader.term(), null, null));
	}

	/**
	 * Record the candidates and foreign sessions that a winner or leader has observed.
	 */
	ElectionState observe(ElectionState state, List<Candidate> candidates, @Nullable ForeignHolder foreign) {
		View view = new View(state.view().leader(), candidates, foreign);
		return view.equals(state.view()) ? state : state.with(view);
	}

	ElectionState contact(ElectionState state, Contact contact) {
		return state.with(contact);
	}

	/**
	 * Request the end of the term of another node, unless this is being done.
	 */
	ElectionState request(ElectionState state, Moment now, Holder leader, Term term, String cause) {
		return term.equals(state.request()) ? state : state.requesting(term)
			.remembering(new Transition(now.instant(), Kind.REQUESTED, leader.nodeId(), term, null, cause));
	}

	ElectionState endRequest(ElectionState state, Term term) {
		return term.equals(state.request()) ? state.requesting(null) : state;
	}

	private static Transition transition(Moment now, Kind kind, TermLeadership leadership, @Nullable Reason reason,
			@Nullable String cause) {
		return new Transition(now.instant(), kind, leadership.getNodeId(), leadership.getTerm(), reason, cause);
	}

	/**
	 * The time of a transition.
	 *
	 * @param nanos by {@link Platform#nanoTime()}
	 * @param instant by {@link Platform#now()}
	 */
	record Moment(long nanos, Instant instant) {
	}

}
