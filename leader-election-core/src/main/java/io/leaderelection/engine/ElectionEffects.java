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
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

import io.leaderelection.ElectionEvent;
import io.leaderelection.Leader;
import io.leaderelection.LeaderChangedEvent;
import io.leaderelection.LeadershipGrantedEvent;
import io.leaderelection.LeadershipRevokedEvent;
import io.leaderelection.LeadershipRevokedEvent.Reason;
import io.leaderelection.Term;
import io.leaderelection.engine.ElectionState.HandOver;
import io.leaderelection.engine.Position.Draining;
import io.leaderelection.engine.Position.Following;
import io.leaderelection.engine.Position.Leading;
import io.leaderelection.engine.Position.Notified;
import io.leaderelection.engine.Position.Stopped;
import io.leaderelection.engine.SerialWorker.Task;
import io.leaderelection.engine.StoreSession.Holder;
import org.jspecify.annotations.Nullable;

/**
 * What the transitions of an election cause: events, statistics, interrupts, the end of a
 * session, and checks by the watchdog. All of it follows from the states before and
 * after. {@link #prepare} allocates it before the new state is written, and it happens
 * under the same lock, so that events are in the order of the transitions. Nothing of it
 * blocks.
 */
final class ElectionEffects {

	/** For how long a request may run, with the time to open a connection for it. */
	private static final long OVERDUE = TimeUnit.SECONDS.toNanos(10);

	private final Election election;

	private final Consumer<ElectionEvent> publisher;

	private final ElectionStatistics statistics;

	private final SessionNames names;

	private final SerialWorker relay;

	private final Interruption opening;

	/** Runs cancellations, which are code of the application. */
	private final Platform.Worker cancellers;

	private final Platform platform;

	private final Platform.Worker requests;

	private final WorkGate gate;

	/** The subject of events of other leaders. */
	private final Object others = new Object();

	private volatile Loop loop = Loop.NONE;

	/** When the request that runs has begun, or 0. */
	private volatile long requestSince;

	/** What listeners know of another leader. Guarded by the lock of the election. */
	private @Nullable Leader published;

	ElectionEffects(Election election, Platform platform, Consumer<ElectionEvent> publisher,
			ElectionStatistics statistics, Interrupter interrupter) {
		String name = election.settings().election();
		this.election = election;
		this.platform = platform;
		this.publisher = publisher;
		this.statistics = statistics;
		this.names = new SessionNames(name);
		this.relay = new SerialWorker(platform.newWorker(name + "-events"), election::wakeUp,
				new Interruption(interrupter, election.settings().longestEnd()));
		this.opening = new Interruption(interrupter, ElectionSettings.GRACE);
		this.cancellers = platform.newWorker(name + "-cancellations");
		this.requests = platform.newWorker(name + "-requests");
		this.gate = new WorkGate(election, this.cancellers, interrupter);
	}

	void runBy(Loop newLoop) {
		this.loop = newLoop;
	}

	Loop loop() {
		return this.loop;
	}

	SerialWorker relay() {
		return this.relay;
	}

	/**
	 * Return what interrupts the opening of a session.
	 */
	Interruption opening() {
		return this.opening;
	}

	WorkGate gate() {
		return this.gate;
	}

	/**
	 * Set whether the threads that a loss needs are kept: from the start to the end of a
	 * participation, so that none must be created then.
	 */
	void retainThreads(boolean retained) {
		this.relay.retain(retained);
		this.cancellers.retain(retained);
	}

	/**
	 * Prepare the effects of a transition.
	 * @return the effects, which are to run after the new state was written
	 */
	List<Runnable> prepare(ElectionState before, ElectionState after, long now) {
		List<Runnable> effects = new ArrayList<>();
		TermLeadership led = before.leadership();
		TermLeadership leads = after.leadership();
		if (before.position() instanceof Stopped) {
			effects.add(() -> this.published = null);
		}
		if (leads != null && leads != led) {
			granted(effects, leads, now);
		}
		if (led != null && isUnnotified(before) && !isUnnotified(after)) {
			revoked(effects, led, after);
		}
		if (led != null && leads == null) {
			effects.add(() -> this.statistics.ended(before, now));
			if (after.loss() != before.loss()) {
				lost(effects, led, before.position() instanceof Notified);
			}
		}
		if (after.view() != before.view() && after.position() instanceof Following) {
			followed(effects, after.view().leader());
		}
		if (after.handOver() != before.handOver()) {
			handOver(effects, before, after);
		}
		if (after.position() != before.position() || after.handOver() != before.handOver()) {
			effects.add(() -> this.loop.checkWithin(this.election.deadlineRemaining(now)));
		}
		return effects;
	}

	/**
	 * Run effects, the rest also if one fails.
	 */
	void run(List<Runnable> effects) {
		for (int i = 0; i < effects.size(); i++) {
			try {
				effects.get(i).run();
			}
			catch (Throwable ex) {
				this.loop.failed(ex);
			}
		}
	}

	private static boolean isUnnotified(ElectionState state) {
		return state.position() instanceof Leading || state.position() instanceof Draining;
	}

	private void granted(List<Runnable> effects, TermLeadership leadership, long now) {
		Task granted = delivery(leadership, new LeadershipGrantedEvent(leadership), leadership);
		effects.add(() -> {
			this.published = null;
			this.relay.interrupt(this.others);
			add(granted);
		});
		effects.add(() -> this.statistics.granted(now));
	}

	private void revoked(List<Runnable> effects, TermLeadership leadership, ElectionState after) {
		Transition last = after.lastTransition();
		Reason reason = (last != null && last.reason() != null) ? last.reason() : Reason.SESSION_LOST;
		ElectionEvent event = new LeadershipRevokedEvent(leadership, reason);
		Task revoked = delivery(event, event, leadership);
		effects.add(() -> add(revoked));
		effects.add(() -> this.statistics.revokedFor(reason));
	}

	/**
	 * The session comes before work, since its lock must not outlive the leadership for
	 * long.
	 */
	private void lost(List<Runnable> effects, TermLeadership leadership, boolean notified) {
		effects.add(this.loop::abortSession);
		effects.add(() -> this.gate.interruptAll(leadership));
		// If listeners have been notified of a hand-over, they have no time left, since
		// the hand-over has ended. Otherwise, only the listener of the grant is to end:
		// the revoked event is behind it
		effects.add(notified ? this.relay::interrupt : () -> this.relay.interrupt(leadership));
	}

	private void handOver(List<Runnable> effects, ElectionState before, ElectionState after) {
		HandOver known = before.handOver();
		HandOver handOver = after.handOver();
		if (handOver == null) {
			return;
		}
		if (known == null && !handOver.stops()) {
			effects.add(this.loop::resigned);
		}
		if (handOver.stops() && (known == null || !known.stops())) {
			effects.add(() -> this.relay.interrupt(this.others));
		}
		TermLeadership leadership = after.leadership();
		if (handOver.interrupted() && known != null && !known.interrupted() && leadership != null) {
			// The listener first: one that is notified when work ends has its own
			// deadline
			effects.add(this.relay::interrupt);
			effects.add(() -> this.gate.interruptAll(leadership));
		}
	}

	private void followed(List<Runnable> effects, @Nullable Holder leader) {
		if (leader == null || leader.term() == null || isSelf(leader)) {
			return;
		}
		Leader visible = leader.visible();
		if (!visible.equals(this.published)) {
			Task changed = delivery(new LeaderChangedEvent(this.election.settings().election(), visible));
			effects.add(() -> {
				this.published = visible;
				add(changed);
			});
		}
	}

	/**
	 * Return whether a session is one of this node: the store may keep a former session
	 * for some time.
	 */
	boolean isSelf(Holder observed) {
		return this.names.isSame(observed.nodeId(), this.election.settings().nodeId());
	}

	private void add(Task event) {
		if (!this.relay.add(event)) {
			this.loop.checkWithin(Platform.PAUSE_AFTER_FAILURE);
		}
	}

	private Task delivery(Object subject, ElectionEvent event, Object described) {
		return new Task(subject, () -> deliver(event, described));
	}

	/**
	 * An event of another leader must not delay those of this node: when it no longer
	 * follows, the event is not delivered, and its listener is interrupted.
	 */
	private Task delivery(LeaderChangedEvent event) {
		return new Task(this.others, () -> {
			ElectionState state = this.election.state();
			if (state.position() instanceof Following && !state.isStopping()) {
				deliver(event, this.election);
			}
		});
	}

	private void deliver(ElectionEvent event, Object described) {
		try {
			this.publisher.accept(event);
		}
		catch (Throwable ex) {
			this.election.log()
				.warn("A listener of " + event.getClass().getSimpleName() + " failed (" + described + ")", ex);
		}
	}

	/**
	 * Run a request to another node, after those that were made before.
	 */
	void runRequest(Runnable request) {
		this.requests.execute(() -> {
			this.requestSince = this.platform.nanoTime();
			try {
				request.run();
			}
			finally {
				this.requestSince = 0;
			}
		});
	}

	/**
	 * Return whether a request runs for longer than the database would need: further ones
	 * would have to wait for it.
	 */
	boolean isRequestOverdue() {
		long since = this.requestSince;
		return since != 0 && this.platform.nanoTime() - since > OVERDUE;
	}

	/**
	 * Complete a future on a thread of its own, since its dependent stages are code of
	 * the application.
	 */
	void complete(CompletableFuture<Boolean> future, boolean result) {
		if (future.isDone()) {
			return;
		}
		try {
			this.platform.newWorker(this.election.settings().election() + "-completion")
				.execute(() -> future.complete(result));
		}
		catch (OutOfMemoryError ex) {
			// Completed on this thread rather than never
			future.complete(result);
		}
	}

	/**
	 * The thread that runs an election, as used by its transitions. No method waits,
	 * except for {@link #requestResignation}.
	 */
	interface Loop {

		/** None. */
		Loop NONE = new Loop() {
		};

		/**
		 * Start.
		 */
		default void start() {
		}

		/** Have the thread evaluate the state again. */
		default void wake() {
		}

		/**
		 * Note that this node lets other candidates go first.
		 */
		default void resigned() {
		}

		/**
		 * Return whether a takeover from the session is fast, if there is one.
		 */
		default @Nullable String takeover() {
			return null;
		}

		/**
		 * Check the deadlines again within a time, in nanoseconds.
		 */
		default void checkWithin(long nanos) {
		}

		/**
		 * End the session at once.
		 */
		default void abortSession() {
		}

		/**
		 * Request another node to end its term, and wait until it has ended.
		 */
		default void requestResignation(Term term, String cause) {
		}

		/**
		 * Record a failure, and check again soon.
		 */
		default void failed(Throwable failure) {
		}

		/**
		 * Set whether deadlines are checked.
		 */
		default void supervise(boolean supervised) {
		}

	}

}
