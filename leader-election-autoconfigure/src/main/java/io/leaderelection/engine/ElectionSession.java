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

import io.leaderelection.Term;
import org.jspecify.annotations.Nullable;

/**
 * A session on the store that elects: who holds its lock leads. Belongs to one thread,
 * except for {@link #wake()} and {@link #abort()}. A session that has thrown is over,
 * whatever it held.
 */
public interface ElectionSession {

	/**
	 * Become a candidate, until {@link #withdraw()} or the end of the session. Called
	 * before the first {@link #acquire}.
	 * @throws SessionException if the session has ended
	 */
	default void stand() throws SessionException {
	}

	/**
	 * Withdraw the candidacy; only observe from now on, until {@link #stand()}.
	 * @throws SessionException if the session has ended
	 */
	default void withdraw() throws SessionException {
	}

	/**
	 * Run once, in a form that changes nothing, what a takeover will run: the first call
	 * of a statement costs both sides many times what a later one does. Does nothing
	 * where there is nothing to gain.
	 * @throws SessionException if the session has ended
	 */
	default void rehearse() throws SessionException {
	}

	/**
	 * Wait in the store's queue until the lock is won, at most the given time.
	 * @param timeout the bound; the session may choose a shorter one
	 * @return {@link Acquisition.Won}, or {@link Acquisition.Held} after the time
	 * @throws SessionException if the session has ended
	 */
	Acquisition acquire(Duration timeout) throws SessionException;

	/**
	 * Observe who holds the lock without waiting for it.
	 * @return who leads and who are the candidates
	 * @throws SessionException if the session has ended
	 */
	View observe() throws SessionException;

	/**
	 * Ask the holder of the lock to hand over, until the session ends or
	 * {@link #withdrawRequest()}.
	 * @param term the term that is to end
	 * @throws SessionException if the session has ended
	 */
	default void requestResignation(Term term) throws SessionException {
	}

	/**
	 * Withdraw the request of {@link #requestResignation}, if there is one.
	 * @throws SessionException if the session has ended
	 */
	default void withdrawRequest() throws SessionException {
	}

	/**
	 * Confirm that this is still the session that won the lock, that it still holds it
	 * and that the store would still end it when this node falls silent.
	 * @return the confirmation
	 * @throws SessionException if not, or if the session has ended
	 */
	Confirmation confirm() throws SessionException;

	/**
	 * Return the candidates as of the last {@link #confirm() confirmation}. Apart from
	 * it, since that rests on nothing but its own answer.
	 * @return the candidates, this node included
	 * @throws SessionException if the session has ended
	 */
	default List<Candidate> candidates() throws SessionException {
		return List.of();
	}

	/**
	 * Return the store's name of this session, as others see it. Any thread.
	 * @return the name, or {@code null} if it has none
	 */
	default @Nullable String name() {
		return null;
	}

	/**
	 * Wait until every fenced transaction of earlier terms has ended, at most the given
	 * time. May be repeated.
	 * @param timeout the bound
	 * @return {@code null} if none is left, otherwise who holds the barrier
	 * @throws SessionException if the session has ended
	 */
	@Nullable String passBarrier(Duration timeout) throws SessionException;

	/**
	 * Find out whether the session has ended, without asking the store. Blocks for about
	 * a millisecond at most.
	 * @return when to probe again
	 * @throws SessionException if the session has ended
	 */
	Duration probe() throws SessionException;

	/**
	 * End an {@link #acquire} that waits for this node alone, or else the next one. Any
	 * thread; never blocks.
	 */
	default void wake() {
	}

	/**
	 * Free the lock, and wait a moment for a successor if there is another candidate. The
	 * answer comes after that wait.
	 * @param clean whether to mark that the term ended in good order, so that the next
	 * winner need not wait out the takeover delay
	 * @return whether a later term has been observed
	 * @throws SessionException if the session has ended before its answer, and the lock
	 * has been freed then or will be
	 */
	boolean release(boolean clean) throws SessionException;

	/**
	 * End the session in good order.
	 */
	void close();

	/**
	 * End the session at once by any means. Any thread; never blocks.
	 */
	void abort();

	/**
	 * The outcome of {@link #acquire}.
	 */
	sealed interface Acquisition {

		/**
		 * The lock was won in a new term.
		 *
		 * @param term the term
		 * @param clean whether the predecessor marked that its term ended in good order
		 * @param clear whether no session held the key of an earlier term any more, and
		 * the barrier of fenced transactions was passed after that, in the acquiring
		 * statement itself. A {@link Confirmation#predecessor() predecessor} of a later
		 * confirmation holds up the grant all the same
		 */
		record Won(Term term, boolean clean, boolean clear) implements Acquisition {
		}

		/**
		 * Another session holds the lock.
		 *
		 * @param view who leads and who are the candidates, as last observed
		 */
		record Held(View view) implements Acquisition {

			Held(@Nullable Leader leader) {
				this(new View(leader, List.of(), null));
			}

		}

	}

	/**
	 * A successful confirmation.
	 *
	 * @param predecessor who still holds a lock of an earlier term, or {@code null}
	 * @param resignationRequested whether another node asks this term to end
	 * @param foreign a session that holds a lock of this election although it is no node
	 * of it, in words, or {@code null}
	 */
	record Confirmation(@Nullable String predecessor, boolean resignationRequested, @Nullable String foreign) {

	}

	/**
	 * An election as one node observes it.
	 *
	 * @param leader the node that holds the lock, or {@code null} if none does or it is
	 * not known
	 * @param candidates the candidates, the leader included
	 * @param foreign the session that holds the lock although it is no node of this
	 * election, in words, or {@code null}
	 */
	record View(@Nullable Leader leader, List<Candidate> candidates, @Nullable String foreign) {

		/** Nobody known. */
		public static final View NONE = new View(null, List.of(), null);

	}

	/**
	 * The holder of the lock as another node sees it.
	 *
	 * @param nodeId the node id, possibly shortened by the store
	 * @param session the store's name of the session
	 * @param term its term, or {@code null} if it cannot be told
	 * @param since when it won the lock by the clock of the store, or {@code null} if
	 * that cannot be told
	 */
	record Leader(String nodeId, String session, @Nullable Term term, @Nullable Instant since) {

		Leader(String nodeId, String session) {
			this(nodeId, session, null, null);
		}

		/**
		 * Return whether another look at it has shown the same leader, of which more or
		 * less may be known.
		 */
		boolean isSame(@Nullable Leader other) {
			return other != null && this.session.equals(other.session)
					&& (this.term == null || other.term == null || this.term.equals(other.term));
		}

	}

	/**
	 * A node that stands, as any node sees it.
	 *
	 * @param nodeId the node id, possibly shortened by the store
	 * @param session the store's name of the session
	 */
	record Candidate(String nodeId, String session) {
	}

}
