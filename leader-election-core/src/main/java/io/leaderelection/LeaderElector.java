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
 * The participation of this node in one election. There is one bean of this type per
 * election. The bean of the default election is primary; the others are injected by the
 * name of their election, for instance {@code @Qualifier("reports") LeaderElector}.
 * <p>
 * Leadership is a <em>lease</em>: a node trusts its leadership only until a deadline,
 * which each confirmation by the database extends. Without confirmations, the deadline
 * passes before another node can be granted leadership. Two nodes therefore do not lead
 * at the same time when the old leader is frozen, has crashed or is cut off from the
 * database. This does not hold if there are two primary servers, if a virtual machine was
 * suspended, if the clock of the server was set forward, or if the server ends the
 * session of a leader and the leader does not notice this within
 * {@code leader-election.takeover-delay}.
 * <p>
 * Implementations are safe for use by multiple threads.
 *
 * @since 0.1.0
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
	 * as soon as an orderly hand-over begins, the lease expires or the end of the session
	 * is noticed. The call itself compares the lease with the clock, and depends on no
	 * other thread for this. Performs no I/O, takes no lock and allocates nothing.
	 * <p>
	 * The result may be outdated when the caller acts on it, for instance after a pause
	 * of the JVM. Use {@link #runIfLeader(Runnable)} or {@code @LeaderOnly} for work that
	 * must not overlap with the work of the next leader: an orderly hand-over waits for
	 * such work.
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
	 * Return the leader as this node knows it. If {@link #isLeader()} is {@code true},
	 * this is this node itself. Otherwise it is the node that was last observed: a node
	 * that waits for the lock observes at least every three seconds, other nodes at least
	 * every eight. Performs no I/O and takes no lock.
	 * <p>
	 * The result is for information, for instance to route a request to the leader, which
	 * must verify that it leads. Two nodes may return different leaders at the same time.
	 * @return the leader, or {@code null} if none is known: there is none, or this node
	 * has no contact with the database
	 */
	@Nullable Leader getLeader();

	/**
	 * Return the leadership in whose term the guarded work on the current thread was
	 * started, whether or not that term has ended.
	 * @return the leadership of the current work, or {@code null} outside guarded work
	 */
	@Nullable Leadership getWorkLeadership();

	/**
	 * Run the given work on the current thread if this node leads. The work is bound to
	 * the current term: an orderly hand-over waits for it, and it is interrupted when
	 * leadership is lost. A nested call inside guarded work of the same election runs as
	 * long as the term of that work is trusted, also during a hand-over.
	 * @param work the work
	 * @return whether the work was run
	 */
	boolean runIfLeader(Runnable work);

	/**
	 * Run the given work on the current thread if this node leads, as
	 * {@link #runIfLeader(Runnable)}. The work receives the leadership in whose term it
	 * runs, for instance to obtain a fencing token or to check
	 * {@link Leadership#isCurrent()} between steps.
	 * @param work the work
	 * @return whether the work was run
	 */
	boolean runWithLeadership(Consumer<? super Leadership> work);

	/**
	 * Call the given work on the current thread if this node leads, as
	 * {@link #runIfLeader(Runnable)}. If it returns a
	 * {@link java.util.concurrent.CompletionStage}, the work lasts until that completes,
	 * and is cancelled instead of interrupted. Other deferred results, such as those of
	 * reactive types, are not leader work.
	 * @param <T> the type of the result
	 * @param work the work
	 * @return the result, empty if this node does not lead or the work returned
	 * {@code null}
	 * @throws Exception if the work throws
	 */
	<T> Optional<T> callIfLeader(Callable<? extends @Nullable T> work) throws Exception;

	/**
	 * Wait until this node leads.
	 * @param timeout the maximum time to wait, however long; none if it is negative
	 * @return whether this node leads
	 * @throws InterruptedException if the current thread is interrupted
	 */
	boolean awaitLeadership(Duration timeout) throws InterruptedException;

	/**
	 * Hand leadership over. No new leader work starts. The hand-over waits for work in
	 * flight and then for the listeners of {@link LeadershipRevokedEvent}, bounded by
	 * {@code leader-election.drain-timeout}; then it frees the lock. Afterwards this node
	 * suspends its candidacy until it observes a successor, for at most the length of the
	 * lease and never longer than 5 seconds. If there is no other candidate, it leads
	 * again at once.
	 * <p>
	 * This method does not wait. If leader work or a listener calls it, the hand-over
	 * waits for that caller as for any other, unless the caller waits for the returned
	 * future or for a stage that depends on it. A wait for a combination, such as
	 * {@link CompletableFuture#allOf}, cannot be recognized: in this case the hand-over
	 * takes {@code leader-election.drain-timeout}.
	 * @return a future that completes with {@code true} when the lock has been freed. It
	 * completes with {@code false} if leadership was lost before, if the session ended
	 * before the database confirmed the release, or at once if this node is neither
	 * leader nor elected
	 */
	CompletableFuture<Boolean> resign();

}
