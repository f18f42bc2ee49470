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
import io.leaderelection.engine.ElectionEffects.Effects;
import io.leaderelection.engine.ElectionState.Contact;
import io.leaderelection.engine.ElectionState.Suspension;
import io.leaderelection.engine.Position.Elected;
import io.leaderelection.engine.Position.Ended;
import io.leaderelection.engine.Position.Following;
import io.leaderelection.engine.Position.Granted;
import io.leaderelection.engine.Position.HandOver;
import io.leaderelection.engine.Position.HandingOver;
import io.leaderelection.engine.Position.Leading;
import io.leaderelection.engine.Position.Loss;
import io.leaderelection.engine.Position.Stopped;
import io.leaderelection.engine.StoreSession.Candidate;
import io.leaderelection.engine.StoreSession.ForeignHolder;
import io.leaderelection.engine.StoreSession.Holder;
import io.leaderelection.engine.StoreSession.View;
import io.leaderelection.engine.Transition.Kind;
import org.jspecify.annotations.Nullable;

/**
 * The transitions of an election as functions: from a state and a moment to the next
 * state, or to the same state if the transition is not possible. A transition names what
 * it causes, which happens if its state is written, and has no effect otherwise. Not
 * final, since seeded mistakes extend it.
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
		if (!(state.position() instanceof Stopped)) {
			return state;
		}
		now.effects().begun();
		return state.following(View.NONE).with(new Contact(now.nanos(), false, null, null, false));
	}

	/**
	 * Stop participating once there is nothing left to hand over or to free.
	 */
	ElectionState stop(ElectionState state, Moment now, CompletableFuture<Boolean> completion) {
		if (state.isStopping()) {
			return state;
		}
		now.effects().stopping();
		ElectionState handingOver = handOver(state, now, Reason.STOPPED, null, completion);
		long begin = (handingOver.position() instanceof HandingOver position) ? position.handOver().interruptAt()
				: now.nanos();
		return handingOver.stoppingBy(begin + stopLimit());
	}

	ElectionState end(ElectionState state) {
		return state.stopped();
	}

	// Leading

	/**
	 * The lock was won in a new term.
	 */
	ElectionState elect(ElectionState state, Term term) {
		return state.at(new Elected(term, null, null))
			.resumed(Suspension.SPREAD)
			.with(new View(null, state.view().candidates(), null));
	}

	/**
	 * The grant waits for something of an earlier term.
	 */
	ElectionState block(ElectionState state, @Nullable String by) {
		return (state.position() instanceof Elected elected)
				? state.at(new Elected(elected.term(), by, elected.handOver())) : state;
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
		now.effects().granted(leadership);
		leadership.trust(until);
		return state.at(new Leading(leadership))
			.requesting(null)
			.remembering(transition(now, Kind.GRANTED, leadership, null, null));
	}

	static boolean mustNotLead(ElectionState state, long now) {
		return state.position().handOver() != null || state.isStopping() || state.isSuspended(now);
	}

	/**
	 * Extend trust, unless it has ended. Changes no state.
	 * @param anchor the start of the confirmation from which trust counts
	 * @return whether it was extended
	 */
	boolean extend(TermLeadership leadership, long now, long anchor) {
		return leadership.extendTrust(now, anchor + this.settings.trustNanos());
	}

	// Handing over

	/**
	 * Close the gate, and have the election thread hand over.
	 */
	ElectionState resign(ElectionState state, Moment now, String cause, CompletableFuture<Boolean> completion) {
		ElectionState handingOver = state.isStopping() ? state
				: handOver(state, now, Reason.RESIGNED, cause, completion);
		if (handingOver != state) {
			now.effects().resigned();
		}
		return handingOver;
	}

	private ElectionState handOver(ElectionState state, Moment now, Reason reason, @Nullable String cause,
			CompletableFuture<Boolean> completion) {
		HandOver handOver = new HandOver(reason, cause, now.nanos() + this.settings.drainTimeout().toNanos(), false,
				completion);
		if (state.position() instanceof Leading leading) {
			return state.at(new HandingOver(leading.leadership(), handOver, false));
		}
		return (state.position() instanceof Elected elected && elected.handOver() == null)
				? state.at(new Elected(elected.term(), elected.blockedBy(), handOver)) : state;
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
		if (!(state.position() instanceof HandingOver handingOver) || interruptRemaining(state, now.nanos()) > 0) {
			return state;
		}
		now.effects().interrupted(handingOver.leadership());
		return state.at(handingOver.afterInterrupt());
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
	ElectionState notifyListeners(ElectionState state, Moment now) {
		if (!(state.position() instanceof HandingOver draining) || draining.notified()) {
			return state;
		}
		HandOver handOver = draining.handOver();
		now.effects().revoked(draining.leadership(), handOver.reason());
		return state.at(draining.afterNotification())
			.remembering(transition(now, Kind.REVOKED, draining.leadership(), handOver.reason(), handOver.cause()));
	}

	/**
	 * Listeners have returned, or the time to wait for them is over: end trust, before
	 * the lock is freed.
	 */
	ElectionState endTrust(ElectionState state, Moment now) {
		if (!(state.position() instanceof HandingOver handingOver)) {
			return state;
		}
		ElectionState ended = notifyListeners(state, now).at(new Ended(handingOver.handOver(), null)).with(View.NONE);
		now.effects().ended(handingOver);
		long deadline = now.nanos() + stopLimit();
		return (state.isStopping() && stopRemaining(state, deadline) > 0) ? ended.stoppingBy(deadline) : ended;
	}

	/**
	 * The lock was freed, or was lost before: nothing is left to hand over. Only a stop
	 * remains a stop, and a node that has resigned lets other candidates go first.
	 */
	ElectionState handedOver(ElectionState state, Moment now) {
		if (!(state.position() instanceof Elected || state.position() instanceof Ended)) {
			return state;
		}
		ElectionState following = state.following(View.NONE);
		if (state.position().handOver() == null || state.isStopping()) {
			return following;
		}
		Duration yields = (this.settings.lease().compareTo(this.timings.maxYield()) < 0) ? this.settings.lease()
				: this.timings.maxYield();
		return following.suspended(Suspension.RESIGNED, now.nanos() + yields.toNanos());
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
				: (leadership.trustedUntil() - now.nanos() > 0) ? Reason.SESSION_LOST : Reason.LEASE_EXPIRED;
		long silence = now.nanos() - (leadership.trustedUntil() - this.settings.trustNanos());
		ElectionState lost = state.at(new Ended(granted.handOver(), new Loss(leadership, reason, silence)))
			.with(View.NONE);
		boolean notified = granted instanceof HandingOver handingOver && handingOver.notified();
		if (!notified) {
			now.effects().revoked(leadership, reason);
		}
		now.effects().lost(granted, notified);
		return notified ? lost : lost.remembering(transition(now, Kind.REVOKED, leadership, reason, null));
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
		return (granted != null) ? granted.leadership().trustRemaining(now) : Watchdog.NO_DEADLINE;
	}

	/**
	 * Return the time until a stop must end the session, in nanoseconds, or a long time
	 * if there is no stop.
	 */
	long stopRemaining(ElectionState state, long now) {
		Long deadline = state.stopBy();
		return (deadline != null) ? deadline - now : Watchdog.NO_DEADLINE;
	}

	/**
	 * Return the time until a hand-over interrupts work and listeners, in nanoseconds, or
	 * a long time if there is none or it has done so.
	 */
	long interruptRemaining(ElectionState state, long now) {
		return (state.position() instanceof HandingOver handingOver && !handingOver.handOver().interrupted())
				? handingOver.handOver().interruptAt() - now : Watchdog.NO_DEADLINE;
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
	 * Hand a term over, unless it has ended, and suspend the candidacy for some time.
	 */
	ElectionState suspendTerm(ElectionState state, Moment now, Suspension cause, Leadership leadership, long nanos,
			CompletableFuture<Boolean> completion) {
		return (state.granted(leadership) != null) ? suspend(state, now, cause, nanos, completion) : state;
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
		if (!(state.position() instanceof Following)) {
			// A term must not end without an event
			return state;
		}
		ElectionState followed = state.with(view);
		Holder leader = view.leader();
		if (leader == null || leader.term() == null) {
			return followed;
		}
		now.effects().followed(leader);
		return state.remembers(leader) ? followed : followed
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
	 * @param effects collects what the transition causes
	 */
	record Moment(long nanos, Instant instant, Effects effects) {
	}

}
