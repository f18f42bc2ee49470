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

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.BiFunction;
import java.util.function.Consumer;
import java.util.stream.Collectors;

import io.leaderelection.ElectionEvent;
import io.leaderelection.Leader;
import io.leaderelection.LeaderElector;
import io.leaderelection.Leadership;
import io.leaderelection.LeadershipLostException;
import io.leaderelection.Term;
import io.leaderelection.engine.ElectionState.Suspension;
import io.leaderelection.engine.ElectionStore.Description;
import io.leaderelection.engine.ElectionStore.Sight;
import io.leaderelection.engine.ElectionStore.Spreading;
import io.leaderelection.engine.ElectionStore.StandBack;
import io.leaderelection.engine.StoreSession.Candidate;
import io.leaderelection.engine.StoreSession.View;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;

/**
 * {@link LeaderElector} on an {@link Election}.
 */
public final class DefaultLeaderElector implements LeaderElector {

	/** So long that later calls extend it, and that it ends without them. */
	private static final Duration SUSPENDED_FOR = Duration.ofSeconds(30);

	private final Election election;

	private final ElectionStore store;

	private final Interrupter interrupter;

	DefaultLeaderElector(ElectionSettings settings, ElectionTimings timings, LogContext logContext, ElectionStore store,
			Watchdog watchdog, Consumer<ElectionEvent> publisher) {
		this(settings, timings, store, watchdog, Platform.SYSTEM, publisher,
				new ElectionLog(LogFactory.getLog(Election.class), logContext), Transitions::new);
	}

	DefaultLeaderElector(ElectionSettings settings, ElectionTimings timings, ElectionStore store, Watchdog watchdog,
			Platform platform, Consumer<ElectionEvent> publisher, ElectionLog log,
			BiFunction<ElectionSettings, ElectionTimings, Transitions> transitions) {
		this.election = new Election(settings, timings, transitions.apply(settings, timings), store, platform,
				publisher, log, watchdog);
		this.election.effects().runBy(new ElectionLoop(this.election, store, watchdog));
		this.store = store;
		this.interrupter = watchdog.interrupter();
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
	public @Nullable Leader getLeader() {
		StoreSession.Holder leader = this.election.leader();
		return (leader != null) ? leader.visible() : null;
	}

	@Override
	public @Nullable Leadership getWorkLeadership() {
		Work work = this.election.gate().current();
		return (work != null) ? work.getLeadership() : null;
	}

	@Override
	public boolean runIfLeader(Runnable work) {
		return run(work, (leadership) -> work.run());
	}

	@Override
	public boolean runWithLeadership(Consumer<? super Leadership> work) {
		return run(work, work);
	}

	private boolean run(Object work, Consumer<? super Leadership> body) {
		try (Work entered = this.election.gate().enter(work)) {
			if (entered == null) {
				return false;
			}
			entered.instrument(work.getClass());
			try {
				body.accept(entered.getLeadership());
			}
			catch (Throwable ex) {
				entered.failed(ex);
				throw ex;
			}
			return true;
		}
	}

	@Override
	public <T> Optional<T> callIfLeader(Callable<? extends @Nullable T> work) throws Exception {
		try (Work entered = this.election.gate().enter(work)) {
			if (entered == null) {
				return Optional.empty();
			}
			entered.instrument(work.getClass());
			try {
				T result = work.call();
				if (result instanceof CompletionStage<?> stage) {
					entered.continueUntil(stage);
				}
				return Optional.ofNullable(result);
			}
			catch (Throwable ex) {
				entered.failed(ex);
				throw ex;
			}
		}
	}

	@Override
	public boolean awaitLeadership(Duration timeout) throws InterruptedException {
		return this.election.awaitLeadership(timeout);
	}

	@Override
	public CompletableFuture<Boolean> resign() {
		return this.election.resign("application");
	}

	Election election() {
		return this.election;
	}

	ElectionStore store() {
		return this.store;
	}

	/**
	 * Ask the leader of this election to hand over, whichever node that is. Does not
	 * wait.
	 * @param only the term that should end, or {@code null} for the current term
	 * @param cause who or what requests it
	 * @return whether the leader was asked
	 */
	public ResignationAnswer requestResignation(@Nullable Term only, String cause) {
		return this.election.requestResignation(only, cause);
	}

	/**
	 * Hand leadership over, and suspend the candidacy for some time if there are other
	 * candidates, since this node could not start its services. Does not wait.
	 * @param leadership the leadership to hand over; nothing happens if it has ended
	 * @param time for how long the candidacy is suspended
	 */
	public void suspendCandidacy(Leadership leadership, Duration time) {
		this.election.suspendCandidacy(Suspension.SERVICES_FAILED, leadership, time);
	}

	/**
	 * Hand leadership over if this node leads, and suspend the candidacy until
	 * {@link #resumeCandidacy()}, since the application is unhealthy. Does not wait.
	 */
	public void suspendCandidacy() {
		this.election.suspendCandidacy(Suspension.UNHEALTHY);
	}

	/**
	 * Resume the candidacy after {@link #suspendCandidacy()}.
	 */
	public void resumeCandidacy() {
		this.election.resumeCandidacy(Suspension.UNHEALTHY);
	}

	/**
	 * Let other candidates go first when this election is free, since this node leads
	 * other elections. A node that leads, or has just won, goes on. With a store without
	 * spread, {@link StandBack#UNLISTED} suspends the candidacy for some time, and is
	 * repeated before its end. Does not wait.
	 * @param standBack how
	 */
	public void standBack(StandBack standBack) {
		Spreading spreading = this.store.spreading();
		if (spreading != null) {
			spreading.standBack(standBack);
		}
		else if (standBack == StandBack.UNLISTED) {
			this.election.suspendForSpread(SUSPENDED_FOR);
		}
		else {
			this.election.resumeCandidacy(Suspension.SPREAD);
		}
	}

	/**
	 * Return whether the candidacy is suspended until {@link #resumeCandidacy()}.
	 * @return whether the candidacy is suspended without a fixed end
	 */
	public boolean isSuspendedUntilResumed() {
		return this.election.isSuspended(Suspension.UNHEALTHY);
	}

	/**
	 * Return whether the candidacy of this node is suspended, for any reason.
	 * @return whether its candidacy is suspended
	 */
	public boolean isSuspended() {
		return this.election.isSuspended();
	}

	/**
	 * Record that a service of a term is still running although it should have stopped,
	 * so that the next leader does not treat the hand-over as clean.
	 * @param leadership the leadership
	 */
	public void serviceLeftRunning(Leadership leadership) {
		if (leadership instanceof TermLeadership term) {
			term.recordResidue("a service", null);
		}
	}

	/**
	 * Have the tasks of a worker be interrupted by the thread that makes the interrupts
	 * of this node, and exists while it participates.
	 * @param worker the worker
	 */
	public void interruptTasksOf(SerialWorker worker) {
		worker.useInterrupter(this.interrupter);
	}

	/**
	 * Return the gate that guards the work of this election.
	 * @return the gate
	 */
	public WorkGate gate() {
		return this.election.gate();
	}

	/**
	 * Return whether a connection is a connection to the store of the election.
	 * @param connection the connection
	 * @return {@code null} while the store has not been reached, or if it has no database
	 * @throws SQLException if this cannot be determined
	 */
	public @Nullable Boolean covers(Connection connection) throws SQLException {
		return this.election.fenceChecks().covers(connection);
	}

	/**
	 * Fence the transaction of a connection.
	 * @param leadership the leadership of the work that the transaction is part of
	 * @param connection the connection
	 * @return whether the transaction is on the store of the election, and is therefore
	 * fenced now
	 * @throws LeadershipLostException if the term has ended
	 * @throws IllegalStateException if the connection is in auto-commit mode
	 * @throws SQLException if this cannot be determined, or with SQL state {@code 55P03}
	 * if the term has not ended but a session that is not a node of the election holds
	 * the fence. The transaction must not commit
	 */
	public boolean fence(Leadership leadership, Connection connection) throws SQLException {
		return this.election.fenceChecks().check(leadership, connection);
	}

	/**
	 * Return the statistics of this election.
	 * @return the statistics
	 */
	public ElectionStatistics statistics() {
		return this.election.statistics();
	}

	/**
	 * Return for how long this node has led. A term counts until the lock was freed or
	 * leadership was lost.
	 * @return the sum since the start of the application, including the current term
	 */
	public Duration led() {
		return this.election.led();
	}

	/**
	 * Return the status of the election as known to this node.
	 * @return the status
	 */
	public ElectionStatus status() {
		return ElectionStatus.of(this.election);
	}

	/**
	 * Return the leader, which may be this node, and the candidates, as far as they are
	 * known to this node. With a store without spread, all candidates count as alive, and
	 * the capacity of other nodes is not known.
	 * @return the sight, in memory, or {@code null} if there is none yet
	 */
	public @Nullable Sight sight() {
		Spreading spreading = this.store.spreading();
		if (spreading != null) {
			return spreading.sight();
		}
		ElectionState known = this.election.state();
		List<Candidate> candidates = known.view()
			.candidates()
			.stream()
			.map((candidate) -> candidate.nodeId().equals(getNodeId())
					? new Candidate(getNodeId(), candidate.session(), this.election.settings().profile()) : candidate)
			.toList();
		return new Sight(new View(this.election.leader(known), candidates, null),
				candidates.stream().map(Candidate::session).collect(Collectors.toSet()), Duration.ZERO);
	}

	/**
	 * Return the last transitions.
	 * @return the transitions, the latest last
	 */
	public List<Transition> history() {
		return this.election.state().history();
	}

	/**
	 * Describe this election on its store.
	 * @return the description, in memory
	 */
	public Description describeStore() {
		return this.store.describe();
	}

	/**
	 * Return what identifies this election in tables on its store, the same for all its
	 * nodes.
	 * @return the key, by default the name of the election
	 */
	public String key() {
		String key = this.store.describe().key();
		return (key != null) ? key : getElection();
	}

	/**
	 * Return whether this node may lead.
	 * @return whether it is configured as a candidate
	 */
	public boolean isCandidate() {
		return this.election.settings().candidate();
	}

	/**
	 * Return how long an orderly hand-over waits.
	 * @return the time
	 */
	public Duration drainTimeout() {
		return this.election.settings().drainTimeout();
	}

	/**
	 * Start to participate in the election, unless started.
	 * @return a future that completes when this node leads or follows for now, or fails
	 * with the {@link SessionException} that made it a follower
	 */
	public CompletableFuture<@Nullable Void> start() {
		return this.election.start();
	}

	/**
	 * Hand leadership over if this node leads, and end the session. Does not wait.
	 * @return a future that completes when the session has ended
	 */
	public CompletableFuture<@Nullable Void> stop() {
		return this.election.stop();
	}

	/**
	 * Exclude the current thread from the next hand-over if it runs leader work or a
	 * listener of this election, since it is about to wait for the hand-over itself.
	 */
	public void detachCurrentThread() {
		this.election.detachCurrent();
	}

	@Override
	public String toString() {
		return "LeaderElector [election=" + getElection() + ", node=" + getNodeId() + "]";
	}

}
