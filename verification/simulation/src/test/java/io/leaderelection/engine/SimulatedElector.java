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

import java.util.SplittableRandom;
import java.util.function.Consumer;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import io.leaderelection.ElectionEvent;
import io.leaderelection.Leadership;
import io.leaderelection.LeadershipRevokedEvent.Reason;
import io.leaderelection.engine.Position.Following;
import io.leaderelection.engine.Position.Granted;
import io.leaderelection.engine.Position.HandOver;
import io.leaderelection.engine.Position.Leading;
import io.leaderelection.engine.Position.Loss;
import io.leaderelection.engine.Position.Stopped;
import io.leaderelection.simulation.Process;
import io.leaderelection.simulation.Scheduler;
import io.leaderelection.simulation.Sentinel;
import org.apache.commons.logging.Log;
import org.jspecify.annotations.Nullable;
import org.slf4j.LoggerFactory;

/**
 * The engine of a simulated node, and what an omniscient observer sees of it. Nothing
 * that is observed here takes a step.
 */
public final class SimulatedElector {

	static {
		// Real threads are not simulated
		WarmUp.run();
		// So many faults are logged that it would take most of the time
		((Logger) LoggerFactory.getLogger(SimulatedElector.class.getPackageName())).setLevel(Level.OFF);
	}

	private final Platform platform;

	private final Watchdog watchdog;

	private final DefaultLeaderElector elector;

	private final Election election;

	private final Process process;

	private final Sentinel sentinel;

	private final ObservedTransitions transitions;

	private @Nullable ElectionState seen;

	private long seenTrustedUntil;

	public SimulatedElector(Sentinel sentinel, ElectionSettings settings, ElectionTimings timings, ElectionStore store,
			Scheduler scheduler, Process process, SplittableRandom random, Consumer<ElectionEvent> publisher, Log log) {
		this(sentinel, settings, timings, store, process,
				SentinelEngines.platform(sentinel, scheduler, process, random), null, publisher, log);
	}

	/**
	 * Create the elector of another election in the same process, with the same watchdog.
	 */
	public SimulatedElector(Sentinel sentinel, ElectionSettings settings, ElectionTimings timings, ElectionStore store,
			SimulatedElector first, Consumer<ElectionEvent> publisher, Log log) {
		this(sentinel, settings, timings, store, first.process, first.platform, first.watchdog, publisher, log);
	}

	private SimulatedElector(Sentinel sentinel, ElectionSettings settings, ElectionTimings timings, ElectionStore store,
			Process process, Platform platform, @Nullable Watchdog shared, Consumer<ElectionEvent> publisher, Log log) {
		this.platform = platform;
		this.watchdog = (shared != null) ? shared : new Watchdog(platform);
		this.transitions = SentinelEngines.transitions(sentinel, settings, timings);
		this.elector = new DefaultLeaderElector(settings, timings, store, this.watchdog, platform, publisher,
				new ElectionLog(log), (ignored, alsoIgnored) -> this.transitions);
		this.election = this.elector.election();
		this.process = process;
		this.sentinel = sentinel;
	}

	public DefaultLeaderElector elector() {
		return this.elector;
	}

	/**
	 * Lose leadership as if the store had ended the session.
	 */
	public void revoke() {
		this.election.lose(Reason.SESSION_LOST);
	}

	/**
	 * Return whether the work of a term has been interrupted.
	 */
	public boolean hasInterrupted(Leadership leadership) {
		return ((TermLeadership) leadership).isInterrupted();
	}

	/**
	 * Run work of this election inside work of another one.
	 */
	public void runInside(Runnable work) {
		boolean clears = false;
		try (Work entered = this.election.gate().enter(work)) {
			if (entered != null) {
				work.run();
				clears = this.sentinel == Sentinel.INNER_WORK_CLEARS_INTERRUPT
						&& hasInterrupted(entered.getLeadership());
			}
		}
		if (clears) {
			Thread.interrupted();
		}
	}

	/**
	 * Return whether the state or the end of trust has changed since the last call.
	 */
	public boolean hasChanged() {
		ElectionState state = this.election.state();
		Granted granted = state.granted();
		long trustedUntil = (granted != null) ? granted.leadership().trustedUntil() : 0;
		boolean changed = state != this.seen || trustedUntil != this.seenTrustedUntil;
		this.seen = state;
		this.seenTrustedUntil = trustedUntil;
		return changed;
	}

	/**
	 * Return the leadership that was granted, trusted or not.
	 */
	public @Nullable GrantedTerm granted() {
		Granted granted = this.election.state().granted();
		return (granted != null)
				? new GrantedTerm(granted.leadership(), granted instanceof Leading, granted.leadership().trustedUntil())
				: null;
	}

	/**
	 * Return whether the leadership of this node is trusted at this moment.
	 */
	public boolean isTrusted() {
		Granted granted = this.election.state().granted();
		return granted != null && granted.leadership().isCurrent();
	}

	/**
	 * Return whether all events have been delivered that were added so far.
	 */
	public boolean hasDeliveredAll() {
		return this.election.effects().relay().isIdle();
	}

	public boolean isStopped() {
		return this.election.state().position() instanceof Stopped;
	}

	/**
	 * Return whether this node has the lock, granted or not.
	 */
	public boolean holdsLock() {
		return this.election.state().holdsLock();
	}

	public boolean isHandingOver() {
		return this.election.isStopping() || this.election.state().position().handOver() != null;
	}

	/**
	 * Return when work and listeners are interrupted by a hand-over, by the clock of this
	 * node, or would be if it began now.
	 */
	public long interruptAt() {
		HandOver handOver = this.election.state().position().handOver();
		return (handOver != null) ? handOver.interruptAt()
				: this.process.clock() + this.elector.drainTimeout().toNanos();
	}

	/**
	 * Return how long ago the store last answered, by the clock of this node.
	 */
	public long silence() {
		return this.process.clock() - this.election.state().contact().last();
	}

	/**
	 * Return whether this node waits for a free seat without a session.
	 */
	public boolean awaitsSeat() {
		ElectionState state = this.election.state();
		return this.election.settings().candidate() && state.position() instanceof Following && !state.isStopping()
				&& state.suspensions().isEmpty() && state.contact().watching() && state.contact().problem() == null;
	}

	public String describe() {
		ElectionState state = this.election.state();
		return state.position() + " stops by " + state.stopBy() + " contact " + state.contact() + " suspended "
				+ state.suspensions() + " view " + state.view();
	}

	/**
	 * How a leadership was lost, or {@code null} if it was not.
	 */
	public @Nullable Reason loss(Leadership leadership) {
		Loss loss = this.transitions.loss();
		return (loss != null && loss.leadership() == leadership) ? loss.reason() : null;
	}

	/**
	 * A granted leadership.
	 *
	 * @param leadership the leadership
	 * @param leading whether it admits work
	 * @param trustedUntil when trust ends
	 */
	public record GrantedTerm(Leadership leadership, boolean leading, long trustedUntil) {
	}

}
