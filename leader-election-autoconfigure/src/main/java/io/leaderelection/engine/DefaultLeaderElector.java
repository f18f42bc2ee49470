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
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;

import io.leaderelection.LeaderElector;
import io.leaderelection.Leadership;
import io.leaderelection.LeadershipEvent;
import io.leaderelection.Term;
import io.leaderelection.engine.ElectionState.Suspension;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;

/**
 * {@link LeaderElector} on an {@link Election}.
 */
public final class DefaultLeaderElector implements LeaderElector {

	private final Election election;

	private final ElectionSessions sessions;

	DefaultLeaderElector(ElectionSettings settings, ElectionTimings timings, ElectionSessions sessions,
			Watchdog watchdog, Consumer<LeadershipEvent> publisher) {
		this(settings, timings, sessions, watchdog, Platform.SYSTEM, publisher,
				new ElectionLog(LogFactory.getLog(Election.class)), Election::new);
	}

	DefaultLeaderElector(ElectionSettings settings, ElectionTimings timings, ElectionSessions sessions,
			Watchdog watchdog, Platform platform, Consumer<LeadershipEvent> publisher, ElectionLog log, Engine engine) {
		this.election = engine.create(settings, timings, sessions.fence(), platform, this, publisher, log);
		new ElectionRun(this.election, sessions, watchdog, () -> this.election.runAside(Rehearsal::run));
		this.sessions = sessions;
	}

	@Override
	public String getElection() {
		return this.election.settings().election();
	}

	@Override
	public String getNodeId() {
		return this.election.settings().nodeId();
	}

	@Override
	public boolean isLeader() {
		return this.election.leadership() != null;
	}

	@Override
	public @Nullable Leadership getLeadership() {
		return this.election.leadership();
	}

	@Override
	public @Nullable Leadership getWorkLeadership() {
		Work work = this.election.gate().current();
		return (work != null) ? work.getLeadership() : null;
	}

	@Override
	public boolean runIfLeader(Runnable work) {
		try (Work entered = this.election.gate().enter(work)) {
			if (entered == null) {
				return false;
			}
			work.run();
			return true;
		}
	}

	@Override
	public boolean runWithLeadership(Consumer<? super Leadership> work) {
		try (Work entered = this.election.gate().enter(work)) {
			if (entered == null) {
				return false;
			}
			work.accept(entered.getLeadership());
			return true;
		}
	}

	@Override
	public <T> Optional<T> callIfLeader(Callable<? extends @Nullable T> work) throws Exception {
		try (Work entered = this.election.gate().enter(work)) {
			return (entered != null) ? Optional.ofNullable(work.call()) : Optional.empty();
		}
	}

	@Override
	public boolean awaitLeadership(Duration timeout) throws InterruptedException {
		return this.election.awaitLeadership(timeout);
	}

	@Override
	public CompletableFuture<Boolean> resign() {
		return this.election.resign();
	}

	Election election() {
		return this.election;
	}

	ElectionSessions sessions() {
		return this.sessions;
	}

	/**
	 * Ask the leader of this election to hand over, whichever node that is. Does not
	 * wait.
	 * @param only the term that is to end, or {@code null} for that of the moment
	 * @return what becomes of it
	 */
	public ResignationAnswer requestResignation(@Nullable Term only) {
		return this.election.requestResignation(only);
	}

	/**
	 * Hand over, and be no candidate for a time if there are others, since this node
	 * cannot do what it leads for. Does not wait.
	 * @param leadership the leadership to hand over; nothing happens if it has ended
	 * @param time how long not to be a candidate
	 */
	public void suspendCandidacy(Leadership leadership, Duration time) {
		this.election.suspendCandidacy(Suspension.SERVICES_FAILED, leadership, time);
	}

	/**
	 * Hand leadership over if there is any, and be no candidate until
	 * {@link #resumeCandidacy()}, since the application is not healthy. Does not wait.
	 */
	public void suspendCandidacy() {
		this.election.suspendCandidacy(Suspension.UNHEALTHY);
	}

	/**
	 * Be a candidate again after {@link #suspendCandidacy()}.
	 */
	public void resumeCandidacy() {
		this.election.resumeCandidacy(Suspension.UNHEALTHY);
	}

	/**
	 * Return whether this node is no candidate until {@link #resumeCandidacy()}.
	 * @return whether it has suspended its candidacy for no fixed time
	 */
	public boolean isUntilResumed() {
		return this.election.isSuspended(Suspension.UNHEALTHY);
	}

	/**
	 * Return whether this node is no candidate for now although it may lead, for whatever
	 * cause.
	 * @return whether its candidacy is suspended
	 */
	public boolean isSuspended() {
		return this.election.isSuspended();
	}

	/**
	 * Note that a service of a term goes on although it was to stop, so that the next
	 * leader must not take the hand-over for one in good order.
	 * @param leadership the leadership
	 */
	public void serviceLeftRunning(Leadership leadership) {
		if (leadership instanceof TermLeadership term) {
			term.leaveBehind("a service", null);
		}
	}

	/**
	 * Return the gate that guards the work of this election.
	 * @return the gate
	 */
	public WorkGate gate() {
		return this.election.gate();
	}

	/**
	 * Return what fences the transactions of this election.
	 * @return the checks
	 */
	public FenceChecks fenceChecks() {
		return this.election.fenceChecks();
	}

	/**
	 * Return what this election counts.
	 * @return the statistics
	 */
	public ElectionStatistics statistics() {
		return this.election.statistics();
	}

	/**
	 * Return for how long this node has led, until the lock was free or leadership lost.
	 * @return the sum since the start of the application, that of the current term
	 * included
	 */
	public Duration led() {
		return this.election.led();
	}

	/**
	 * Return what this node can tell of the election.
	 * @return the status
	 */
	public ElectionStatus status() {
		return ElectionStatus.of(this.election);
	}

	/**
	 * Return whether this node may lead.
	 * @return whether it stands in the election
	 */
	public boolean isCandidate() {
		return this.election.settings().candidate();
	}

	/**
	 * Start to stand, unless started.
	 * @return a future that completes when this node leads or follows for now, or fails
	 * with the {@link SessionException} that left it a follower
	 */
	public CompletableFuture<@Nullable Void> start() {
		return this.election.start();
	}

	/**
	 * Hand leadership over if there is any, and end the session. Does not wait.
	 * @return a future that completes when that is done
	 */
	public CompletableFuture<@Nullable Void> stop() {
		return this.election.stop();
	}

	/**
	 * Count the current thread out of the next hand-over if it runs leader work or a
	 * listener of this election: it is about to wait for the hand-over itself.
	 */
	public void detachCurrentThread() {
		this.election.detachCurrent();
	}

	@Override
	public String toString() {
		return "LeaderElector [election=" + getElection() + ", node=" + getNodeId() + "]";
	}

	/**
	 * Creates an election; the fault tests seed mutants here.
	 */
	@FunctionalInterface
	interface Engine {

		Election create(ElectionSettings settings, ElectionTimings timings, TransactionFence fence, Platform platform,
				LeaderElector elector, Consumer<LeadershipEvent> publisher, ElectionLog log);

	}

}
