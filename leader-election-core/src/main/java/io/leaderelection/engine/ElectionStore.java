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
import java.util.Set;

import io.leaderelection.Term;
import io.leaderelection.engine.StoreSession.View;
import org.jspecify.annotations.Nullable;

/**
 * Opens the sessions of one election on its store, the database that holds the lock.
 */
@FunctionalInterface
public interface ElectionStore {

	/**
	 * Open a session. The implementation bounds the time; in addition, the calling thread
	 * may be interrupted if the call takes too long.
	 * @return an open session with all settings applied
	 * @throws UnusableStoreException if the store cannot hold elections without operator
	 * action
	 * @throws SessionException if the store cannot be reached
	 */
	StoreSession open() throws SessionException;

	/**
	 * Return whether the election can be observed without a session. If so, a node opens
	 * a session only to be a candidate.
	 * @return whether {@link #watch()} is supported
	 */
	default boolean canWatch() {
		return false;
	}

	/**
	 * Observe the election without a session. The time is bounded as that of
	 * {@link #open()}.
	 * @param candidate whether this node wants to be a candidate: the store may then open
	 * a session with the observation
	 * @return the observation, or {@code null} if the store was slow: the last one
	 * remains until the next
	 * @throws UnusableStoreException if the store cannot hold elections without operator
	 * action
	 * @throws SessionException if the store cannot be reached
	 */
	default @Nullable Watch watch(boolean candidate) throws SessionException {
		throw new UnsupportedOperationException();
	}

	/**
	 * End an {@link #open()} or {@link #watch()} in progress by any means. May be called
	 * by any thread; never blocks.
	 */
	default void abandon() {
	}

	/**
	 * Called when this node lets other candidates go first. May be called by any thread;
	 * never blocks.
	 */
	default void resigned() {
	}

	/**
	 * Request the leader to hand over, until its term has ended or the limit has passed.
	 * Waits for this, on a thread of its own.
	 * @param term the term that should end
	 * @param cause who or what requests this
	 * @param limit how long to wait
	 * @throws SessionException if the request could not be made
	 */
	default void requestResignation(Term term, String cause, Duration limit) throws SessionException {
		throw new UnsupportedOperationException();
	}

	/**
	 * Describe the election on this store, in memory.
	 * @return the description, by default that of no store
	 */
	default Description describe() {
		return Description.NONE;
	}

	/**
	 * Return the fence for transactions of this election.
	 * @return the fence, by default one that lets all transactions pass
	 */
	default TransactionFence fence() {
		return TransactionFence.OPEN;
	}

	/**
	 * Return how elections of this store spread over nodes.
	 * @return {@code null} if they do not, since nodes do not observe each other
	 */
	default @Nullable Spreading spreading() {
		return null;
	}

	/**
	 * What a store contributes to elections that spread over nodes. Its methods may be
	 * called by any thread, never block, and make no request.
	 */
	interface Spreading {

		/**
		 * Return what this node has last read.
		 * @return the sight, or {@code null} if it has read nothing yet
		 */
		@Nullable Sight sight();

		/**
		 * Leave this election to other candidates when it is free, until this is called
		 * again: for at most half a second after each term, and if there is another one.
		 * @param standBack how
		 */
		void standBack(StandBack standBack);

	}

	/**
	 * What an election is on a store. Nodes of one election have the same key, or the
	 * same lock id.
	 *
	 * @param store the name of the store, as users see it
	 * @param key what identifies the election in tables, or {@code null} if the store has
	 * none
	 * @param lockId the id from which the keys of its locks are derived, if it has any
	 * @param table the qualified name of the table that holds the election, or
	 * {@code null} if there is none or it is not known yet
	 * @param database the database, without credentials, as far as it is known
	 */
	record Description(String store, @Nullable String key, @Nullable String lockId, @Nullable String table,
			@Nullable String database) {

		/** Elections in this process only. */
		public static final Description NONE = new Description("none", null, null, null, null);

	}

	/**
	 * An election and its candidates as read at some time.
	 *
	 * @param view the leader and the candidates
	 * @param alive the sessions of the candidates that have shown themselves within 5 s
	 * before they were last read
	 * @param age the time since the older of the two readings
	 */
	record Sight(View view, Set<String> alive, Duration age) {
	}

	/**
	 * How a candidate treats an election that is free.
	 */
	enum StandBack {

		/** It wins it as soon as it can. */
		NOT,

		/** It lets others go first. */
		WHEN_FREE,

		/** It lets others go first, and is not listed as a candidate. */
		UNLISTED

	}

	/**
	 * An election as a node without a session observes it.
	 *
	 * @param view the leader and the candidates
	 * @param open whether a session that is opened now may be admitted as a candidate
	 * @param session such a session, if the store has opened one with the connection of
	 * the observation
	 */
	record Watch(View view, boolean open, @Nullable StoreSession session) {

		public Watch(View view, boolean open) {
			this(view, open, null);
		}

	}

}
