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
import io.leaderelection.engine.Position.Following;
import io.leaderelection.engine.Position.Granted;
import io.leaderelection.engine.SerialWorker.Task;
import io.leaderelection.engine.StoreSession.Holder;
import org.jspecify.annotations.Nullable;

/**
 * What the transitions of an election cause: events, statistics, interrupts, the end of a
 * session, and checks by the watchdog. It is {@linkplain Effects prepared}, and thereby
 * allocated, before the new state is written, and happens under the same lock, so that
 * events are in the order of the transitions. Nothing of it blocks.
 */
final class ElectionEffects {

	/** For how long a request may run, with the time to open a connection for it. */
	private static final long OVERDUE = TimeUnit.SECONDS.toNanos(10);

	private final Owner owner;

	private final ElectionSettings settings;

	private final ElectionLog log;

	private final Watchdog watchdog;

	private final ElectionStore store;

	private final Consumer<ElectionEvent> publisher;

	private final ElectionStatistics statistics;

	private final SerialWorker relay;

	private final Interruption opening;

	/** Runs cancellations, which are code of the application. */
	private final Platform.Worker cancellers;

	private final Platform platform;

	private final Platform.Worker requests;

	private final WorkGate gate;

	/** The subject of events of other leaders. */
	private final Object others = new Object();

	private final Runnable checkDeadlines;

	private volatile @Nullable Loop loop;

	/** When the request that runs has begun, or 0. */
	private volatile long requestSince;

	/** What listeners know of another leader. Guarded by the lock of the election. */
	private @Nullable Leader published;

	ElectionEffects(Owner owner, Platform platform, Consumer<ElectionEvent> publisher, ElectionStatistics statistics,
			ElectionLog log, ElectionStore store, Watchdog watchdog) {
		this.owner = owner;
		this.settings = owner.settings();
		this.log = log;
		this.store = store;
		this.watchdog = watchdog;
		this.platform = platform;
		this.publisher = publisher;
		this.statistics = statistics;
		String name = this.settings.election();
		Interrupter interrupter = watchdog.interrupter();
		this.relay = new SerialWorker(platform.newWorker(name + "-events"), owner::wakeUp,
				new Interruption(interrupter, this.settings.longestEnd()));
		this.opening = new Interruption(interrupter, ElectionSettings.GRACE);
		this.cancellers = platform.newWorker(name + "-cancellations");
		this.requests = platform.newWorker(name + "-requests");
		this.gate = new WorkGate(owner, this.cancellers, interrupter);
		this.checkDeadlines = () -> watchdog.checkWithin(owner.deadlineRemaining(platform.nanoTime()));
	}

	/**
	 * Set the thread that runs the election.
	 */
	void runBy(Loop newLoop) {
		this.loop = newLoop;
	}

	Loop loop() {
		return Objects.requireNonNull(this.loop);
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
	 * Run what a transition causes, the rest also if something fails, and have the
	 * watchdog check the deadlines of the new state.
	 */
	void run(Effects prepared) {
		for (int i = 0; i < prepared.effects.size(); i++) {
			run(prepared.effects.get(i));
		}
		run(this.checkDeadlines);
	}

	private void run(Runnable effect) {
		try {
			effect.run();
		}
		catch (Throwable ex) {
			failed(ex);
		}
	}

	/**
	 * Record a failure, and check deadlines again soon.
	 */
	void failed(Throwable failure) {
		this.watchdog.failed(failure);
		this.watchdog.checkWithin(Platform.PAUSE_AFTER_FAILURE);
	}

	private void add(Task event) {
		if (!this.relay.add(event)) {
			this.watchdog.checkWithin(Platform.PAUSE_AFTER_FAILURE);
		}
	}

	private Task delivery(Object subject, ElectionEvent event, Object described) {
		return new Task(subject, () -> deliver(event, described));
	}

	/**
	 * An event of another leader must not delay those of this node: when it no longer
	 * follows, the event is not delivered, and its listener is interrupted.
	 */
	private Task delivery(Leader leader) {
		ElectionEvent event = new LeaderChangedEvent(this.settings.election(), leader);
		return new Task(this.others, () -> {
			ElectionState state = this.owner.state();
			if (state.position() instanceof Following && !state.isStopping()) {
				deliver(event, this.owner);
			}
		});
	}

	private void deliver(ElectionEvent event, Object described) {
		try {
			this.publisher.accept(event);
		}
		catch (Throwable ex) {
			this.log.warn("A listener of " + event.getClass().getSimpleName() + " failed (" + described + ")", ex);
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
			this.platform.newWorker(this.settings.election() + "-completion").execute(() -> future.complete(result));
		}
		catch (OutOfMemoryError ex) {
			// Completed on this thread rather than never
			future.complete(result);
		}
	}

	/**
	 * What one transition causes, in order. Each method adds to it.
	 */
	final class Effects {

		private final List<Runnable> effects = new ArrayList<>();

		private final long now;

		Effects(long now) {
			this.now = now;
		}

		/**
		 * A participation has begun.
		 */
		void begun() {
			this.effects.add(() -> ElectionEffects.this.published = null);
		}

		/**
		 * Leadership was granted.
		 */
		void granted(TermLeadership leadership) {
			Task granted = delivery(leadership, new LeadershipGrantedEvent(leadership), leadership);
			this.effects.add(() -> {
				ElectionEffects.this.published = null;
				relay().interrupt(ElectionEffects.this.others);
				add(granted);
			});
			this.effects.add(() -> ElectionEffects.this.statistics.granted(this.now));
		}

		/**
		 * A hand-over has begun that is not a stop.
		 */
		void resigned() {
			this.effects.add(ElectionEffects.this.store::resigned);
		}

		/**
		 * A stop has begun.
		 */
		void stopping() {
			this.effects.add(() -> relay().interrupt(ElectionEffects.this.others));
		}

		/**
		 * Work and listeners of a term have no time left in a hand-over.
		 */
		void interrupted(TermLeadership leadership) {
			// The listener first: one that is notified when work ends has its own
			// deadline
			this.effects.add(relay()::interrupt);
			this.effects.add(() -> gate().interruptAll(leadership));
		}

		/**
		 * Listeners are to be notified of the end of a term.
		 */
		void revoked(TermLeadership leadership, Reason reason) {
			ElectionEvent event = new LeadershipRevokedEvent(leadership, reason);
			Task revoked = delivery(event, event, leadership);
			this.effects.add(() -> add(revoked));
			this.effects.add(() -> ElectionEffects.this.statistics.revokedFor(reason));
		}

		/**
		 * A term has ended.
		 * @param last its last position
		 */
		void ended(Granted last) {
			this.effects.add(() -> ElectionEffects.this.statistics.ended(last, this.now));
		}

		/**
		 * A term was lost. The session comes before work, since its lock must not outlive
		 * the leadership for long.
		 * @param last its last position
		 * @param notified whether listeners had been notified of a hand-over before
		 */
		void lost(Granted last, boolean notified) {
			TermLeadership leadership = last.leadership();
			ended(last);
			this.effects.add(loop()::abortSession);
			this.effects.add(() -> gate().interruptAll(leadership));
			// If listeners have been notified of a hand-over, they have no time left,
			// since the hand-over has ended. Otherwise, only the listener of the grant
			// is to end: the revoked event is behind it
			this.effects.add(notified ? relay()::interrupt : () -> relay().interrupt(leadership));
		}

		/**
		 * Another leader was observed.
		 */
		void followed(Holder leader) {
			Leader visible = leader.visible();
			if (!visible.equals(ElectionEffects.this.published)) {
				Task changed = delivery(visible);
				this.effects.add(() -> {
					ElectionEffects.this.published = visible;
					add(changed);
				});
			}
		}

	}

	/**
	 * The election, as its effects need it.
	 */
	interface Owner extends WorkGate.Owner {

		ElectionState state();

		/**
		 * Return the time until the next deadline on which the watchdog acts.
		 */
		long deadlineRemaining(long now);

		/**
		 * Have the election thread evaluate the state again.
		 */
		void wakeUp();

	}

	/**
	 * The thread that runs an election, as used by its transitions. No method waits,
	 * except for {@link #requestResignation}.
	 */
	interface Loop {

		/**
		 * Start.
		 */
		void start();

		/**
		 * Set whether deadlines are checked.
		 */
		void supervise(boolean supervised);

		/**
		 * Have the thread evaluate the state again.
		 */
		void wake();

		/**
		 * Return whether a takeover from the session is fast, if there is one.
		 */
		@Nullable String takeover();

		/**
		 * End the session at once.
		 */
		void abortSession();

		/**
		 * Request another node to end its term, and wait until it has ended.
		 */
		void requestResignation(Term term, String cause);

	}

}
