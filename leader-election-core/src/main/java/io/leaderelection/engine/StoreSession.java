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

import io.leaderelection.Leader;
import io.leaderelection.Term;
import org.jspecify.annotations.Nullable;

/**
 * A session on the store of an election: the session that holds the lock leads. Confined
 * to one thread, except for methods that any thread may call. A session has ended when
 * one of its methods has thrown an exception. The store frees its locks as soon as it
 * knows, which takes a lease if the network is cut.
 */
public interface StoreSession {

	/**
	 * Become a candidate, until {@link #withdraw()} or the end of the session. Called
	 * before the first {@link #acquire}.
	 * @return whether this session was admitted. If not, there are enough candidates, and
	 * the session is to be closed. Always {@code true} if the store cannot be
	 * {@linkplain ElectionStore#canWatch() watched}
	 * @throws SessionException if the session has ended
	 */
	default boolean becomeCandidate() throws SessionException {
		return true;
	}

	/**
	 * Withdraw the candidacy; only observe from now on, until {@link #becomeCandidate()}.
	 * @throws SessionException if the session has ended
	 */
	default void withdraw() throws SessionException {
	}

	/**
	 * Wait in the store's queue until the lock is won, for at most the given time.
	 * @param timeout the maximum time to wait; the session may choose a shorter one
	 * @return {@link Acquisition.Won}, or {@link Acquisition.Held} after the timeout
	 * @throws SessionException if the session has ended
	 */
	Acquisition acquire(Duration timeout) throws SessionException;

	/**
	 * Return whether this candidate is to notice soon that the lock is free, as of the
	 * last answer. If not, enough other candidates do so, and this one waits longer in
	 * {@link #acquire}. Makes no request to the store.
	 * @return {@code false} only if it is known that there are enough others
	 */
	default boolean isStandby() {
		return true;
	}

	/**
	 * Observe the holder of the lock without waiting for it.
	 * @return the leader and the candidates
	 * @throws SessionException if the session has ended
	 */
	View observe() throws SessionException;

	/**
	 * Confirm that this is still the session that won the lock, that it still holds the
	 * lock and that the store would still end it when this node stops responding.
	 * @param whole whether also to find out what other sessions hold. Otherwise the
	 * answer to that, and the candidates, may be some seconds old
	 * @return the confirmation
	 * @throws SessionException if one of these does not hold, or if the session has ended
	 */
	Confirmation confirm(boolean whole) throws SessionException;

	/**
	 * Return who requests the end of this term, as of the last {@link #confirm
	 * confirmation}, as far as this is known.
	 * @return the node, with the cause of its request if it has published it
	 * @throws SessionException if the session has ended
	 */
	default String requester() throws SessionException {
		return "another node";
	}

	/**
	 * Return the candidates as of the last {@link #confirm confirmation}. A separate
	 * call, since a confirmation must only depend on its own answer.
	 * @return the candidates, this node included
	 * @throws SessionException if the session has ended
	 */
	default List<Candidate> candidates() throws SessionException {
		return List.of();
	}

	/**
	 * Return the store's name of this session, as other nodes see it. May be called by
	 * any thread.
	 * @return the name, or {@code null} if it has none
	 */
	default @Nullable String name() {
		return null;
	}

	/**
	 * Return whether another node would take over fast if this node led and its process
	 * was killed, or why not. May be called by any thread.
	 * @return {@code "fast"} or a word for the reason, or {@code null} if the store has
	 * no fast takeover
	 */
	default @Nullable String takeover() {
		return null;
	}

	/**
	 * Wait until every fenced transaction of earlier terms has ended, for at most the
	 * given time. May be called repeatedly.
	 * @param timeout the maximum time to wait
	 * @return {@code null} if none is left, otherwise a description of the holder of the
	 * barrier
	 * @throws SessionException if the session has ended
	 */
	@Nullable String passBarrier(Duration timeout) throws SessionException;

	/**
	 * Check whether the session has ended, without a request to the store. An end while
	 * this call blocks is noticed at once.
	 * @param longest how long to block at most
	 * @return when to probe again
	 * @throws SessionException if the session has ended
	 */
	Duration probe(Duration longest) throws SessionException;

	/**
	 * End the {@link #acquire} that is waiting on this side, or else the next one. May be
	 * called by any thread; never blocks.
	 */
	default void wake() {
	}

	/**
	 * Free the lock, and wait briefly for a successor if there is another candidate.
	 * Returns after that wait.
	 * @param clean whether to mark the end of the term as clean, so that the next winner
	 * need not wait for the takeover delay
	 * @return whether a later term has been observed
	 * @throws SessionException if the session ended before the answer; the lock has then
	 * been freed or will be freed with the session
	 */
	boolean release(boolean clean) throws SessionException;

	/** Close the session. */
	void close();

	/**
	 * End the session at once by any means. May be called by any thread; never blocks.
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
		 * @param ending how the leadership of the predecessor ended
		 * @param clear whether the acquiring statement itself found that no session held
		 * the key of an earlier term any longer, and then passed the barrier of fenced
		 * transactions. A {@link Confirmation#predecessor() predecessor} of a later
		 * confirmation still blocks the grant
		 */
		record Won(Term term, Ending ending, boolean clear) implements Acquisition {
		}

		/**
		 * How the leadership of a predecessor ended.
		 */
		enum Ending {

			/** It marked the end of its term as clean. */
			CLEAN,

			/**
			 * The server has not ended its session: its process has died or has given the
			 * session up, or something in between has closed the connection, which it is
			 * about to notice.
			 */
			ABANDONED,

			/** The server may have ended its session, which the node notices later. */
			UNKNOWN

		}

		/**
		 * Another session holds the lock.
		 *
		 * @param view the leader and the candidates, as last observed
		 */
		record Held(View view) implements Acquisition {

			Held(@Nullable Holder leader) {
				this(new View(leader, List.of(), null));
			}

		}

	}

	/**
	 * A successful confirmation.
	 *
	 * @param predecessor a description of a session that still holds a lock of an earlier
	 * term, or {@code null}
	 * @param requested whether another node requests the end of this term
	 * @param foreign a description of a session that holds a lock of this election but is
	 * not a node of it, or {@code null}
	 */
	record Confirmation(@Nullable String predecessor, boolean requested, @Nullable String foreign) {

	}

	/**
	 * An election as one node observes it.
	 *
	 * @param leader the node that holds the lock, or {@code null} if there is none or it
	 * is not known
	 * @param candidates the candidates, the leader included
	 * @param foreign a session that is not a node of this election but holds a lock of
	 * it, or {@code null}
	 */
	record View(@Nullable Holder leader, List<Candidate> candidates, @Nullable ForeignHolder foreign) {

		/** No known nodes. */
		public static final View NONE = new View(null, List.of(), null);

	}

	/**
	 * The holder of the lock as another node sees it.
	 *
	 * @param nodeId the node id, possibly shortened by the store
	 * @param session the store's name of the session
	 * @param term its term, or {@code null} if it is not known
	 * @param since when it won the lock, by the clock of the store, or {@code null} if
	 * this is not known
	 * @param profile what it publishes about itself
	 * @param role the role with which it has logged in to the store, or {@code null} if
	 * this is not known
	 */
	record Holder(String nodeId, String session, @Nullable Term term, @Nullable Instant since, NodeProfile profile,
			@Nullable String role) {

		Holder(String nodeId, String session) {
			this(nodeId, session, null, null, NodeProfile.UNKNOWN, null);
		}

		/**
		 * Return the leader as users see it.
		 */
		Leader visible() {
			return new Leader(this.nodeId, this.term, this.since, this.profile.metadata(), this.role);
		}

		/**
		 * Return whether another observation is of the same leader, even if one of the
		 * two has fewer details.
		 */
		boolean isSame(@Nullable Holder other) {
			return other != null && this.session.equals(other.session)
					&& (this.term == null || other.term == null || this.term.equals(other.term));
		}

	}

	/**
	 * A session that holds a lock of this election and should not.
	 *
	 * @param session a description of the session
	 * @param kind what it holds
	 */
	record ForeignHolder(String session, Kind kind) {

		/**
		 * Return whether it prevents that this node leads.
		 */
		boolean isBlocking() {
			return this.kind == Kind.BLOCKING || this.kind == Kind.EARLIER_TERM;
		}

		@Override
		public String toString() {
			return this.session + this.kind.words;
		}

		/**
		 * What a session holds.
		 */
		public enum Kind {

			/** The lock that a leader holds, without being a node. */
			BLOCKING(" holds the lock of this election but is not a node of it"),

			/** Another lock, for instance that of a candidate, without being a node. */
			OTHER(" holds a lock of this election but is not a node of it"),

			/** The decision of an operator that nobody leads. */
			PAUSE(" keeps nodes from leading"),

			/** The lock of a term that has ended. */
			EARLIER_TERM(" still holds a lock of an earlier term of this election"),

			/** It leads, but has another role on the store than this node. */
			LEADER(" leads this election but has another role than this node");

			private final String words;

			Kind(String words) {
				this.words = words;
			}

		}

	}

	/**
	 * A candidate as other nodes see it.
	 *
	 * @param nodeId the node id, possibly shortened by the store
	 * @param session the store's name of the session
	 * @param profile what it publishes about itself
	 */
	record Candidate(String nodeId, String session, NodeProfile profile) {

		Candidate(String nodeId, String session) {
			this(nodeId, session, NodeProfile.UNKNOWN);
		}

	}

}
