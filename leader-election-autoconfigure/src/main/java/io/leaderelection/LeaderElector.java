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

package io.leaderelection;

import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;

import org.jspecify.annotations.Nullable;

/**
 * This node's part in one election. There is one bean of this type per election; the one
 * of the default election is primary, another is injected by its name, for instance
 * {@code @Qualifier("reports") LeaderElector}.
 * <p>
 * Leadership is a <em>lease</em>: a node trusts it only until a deadline that every
 * confirmation by the database moves on, and stops trusting it in time when confirmations
 * fail to come, so that of two nodes not both believe to lead while the old one is
 * frozen, crashed or cut off. This does not hold with two primary servers, on a virtual
 * machine that was suspended, or if the server itself ends the session of a leader that
 * does not notice within {@code leader-election.takeover-delay}.
 * <p>
 * Safe for use by any thread.
 */
public interface LeaderElector {

	/**
	 * Return the name of the election.
	 * @return the name of the election
	 */
	String getElection();

	/**
	 * Return the id of this node, unique per process.
	 * @return the node id
	 */
	String getNodeId();

	/**
	 * Return whether this node leads now and may start leader work. Becomes {@code false}
	 * as soon as an orderly hand-over begins, and with no help of another thread when the
	 * lease lapses. Costs no I/O, takes no lock and allocates nothing.
	 * <p>
	 * The answer may be outdated by the time the caller acts on it, by any pause of the
	 * JVM. Work that must not overlap with the next leader's belongs into
	 * {@link #runIfLeader(Runnable)} or behind
	 * {@link io.leaderelection.annotation.LeaderOnly @LeaderOnly}, which hold an orderly
	 * hand-over up until it has ended.
	 * @return whether this node leads
	 */
	boolean isLeader();

	/**
	 * Return the leadership of this node, or {@code null} if {@link #isLeader()} is
	 * {@code false}.
	 * @return this node's leadership or {@code null}
	 */
	@Nullable Leadership getLeadership();

	/**
	 * Return the leadership in whose term the guarded work on the current thread was
	 * started, whether or not it still stands.
	 * @return the leadership of the current work, or {@code null} outside guarded work
	 */
	@Nullable Leadership getWorkLeadership();

	/**
	 * Run the given work on the current thread if this node leads. The work is bound to
	 * the current term: an orderly hand-over waits for it, and it is interrupted when
	 * leadership is lost. A nested call inside guarded work of the same election runs as
	 * long as the term of that work is trusted, also while it is being handed over.
	 * @param work the work
	 * @return whether the work was run
	 */
	boolean runIfLeader(Runnable work);

	/**
	 * Run the given work on the current thread if this node leads, as
	 * {@link #runIfLeader(Runnable)}, and give it the leadership in whose term it runs:
	 * for a fencing token, or to look at {@link Leadership#isCurrent()} between steps.
	 * @param work the work
	 * @return whether the work was run
	 */
	boolean runWithLeadership(Consumer<? super Leadership> work);

	/**
	 * Call the given work on the current thread if this node leads, as
	 * {@link #runIfLeader(Runnable)}.
	 * @param <T> the type of the result
	 * @param work the work
	 * @return the result, empty if this node does not lead or the work returned
	 * {@code null}
	 * @throws Exception if the work throws
	 */
	<T> Optional<T> callIfLeader(Callable<? extends @Nullable T> work) throws Exception;

	/**
	 * Wait until this node leads.
	 * @param timeout how long to wait at most
	 * @return whether this node leads
	 * @throws InterruptedException if the current thread is interrupted
	 */
	boolean awaitLeadership(Duration timeout) throws InterruptedException;

	/**
	 * Hand leadership over: no new leader work starts, work in flight and then the
	 * listeners of {@link LeadershipRevokedEvent} are waited for (bounded by
	 * {@code leader-election.drain-timeout}), then the lock is freed. This node lets
	 * others go first until a successor was observed, for the length of the lease at most
	 * and never longer than 5 seconds. If there is no other candidate, it leads again at
	 * once.
	 * <p>
	 * Never waits itself. Leader work and listeners that call it are waited for as any
	 * other, unless they wait for the returned future, or for a stage that depends on it:
	 * then they are not waited for in this hand-over. A wait for a combination, such as
	 * {@link CompletableFuture#allOf}, cannot be told from other waits: the hand-over
	 * takes {@code leader-election.drain-timeout} then.
	 * @return a future that completes with {@code true} when the lock was freed, with
	 * {@code false} if leadership was lost before, or the session before the database had
	 * confirmed the release, or at once with {@code false} if this node neither leads nor
	 * has just been elected
	 */
	CompletableFuture<Boolean> resign();

}
