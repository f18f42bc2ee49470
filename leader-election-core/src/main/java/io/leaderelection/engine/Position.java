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

import io.leaderelection.Term;
import org.jspecify.annotations.Nullable;

/**
 * The position of a node in an election, with the data that exists in that position only.
 * Times are {@link Platform#nanoTime()}.
 */
sealed interface Position {

	/** Does not participate. */
	record Stopped() implements Position {
	}

	/**
	 * Is not granted leadership: does not hold the lock, or is about to free it.
	 */
	record Following() implements Position {
	}

	/**
	 * Holds the lock, and was not granted leadership yet.
	 *
	 * @param term the term that was won
	 * @param blockedBy a description of the session or transaction of an earlier term for
	 * which the grant waits, if any
	 */
	record Elected(Term term, @Nullable String blockedBy) implements Position {
	}

	/**
	 * Was granted leadership and has not freed the lock.
	 */
	sealed interface Granted extends Position {

		/**
		 * Return the leadership that was granted.
		 * @return the leadership
		 */
		TermLeadership leadership();

		/**
		 * Return when the leadership ends unless it is confirmed before then.
		 * @return the end of trust
		 */
		long trustedUntil();

		/**
		 * Return for how long the leadership is trusted unless it is confirmed before
		 * then.
		 * @param now the current time
		 * @return the time in nanoseconds, not positive if trust has ended
		 */
		default long trustRemaining(long now) {
			return leadership().hasLostTrust() ? 0 : trustedUntil() - now;
		}

		/**
		 * Return this position with another end of trust.
		 * @param until the end of trust
		 * @return the position
		 */
		Granted trustedUntil(long until);

	}

	/**
	 * Leads.
	 *
	 * @param leadership the leadership
	 * @param trustedUntil when it ends unless it is confirmed before then
	 */
	record Leading(TermLeadership leadership, long trustedUntil) implements Granted {

		@Override
		public Granted trustedUntil(long until) {
			return new Leading(this.leadership, until);
		}

	}

	/**
	 * Hands over: admits no work, and waits for work in flight.
	 *
	 * @param leadership the leadership
	 * @param trustedUntil when it ends unless it is confirmed before then
	 */
	record Draining(TermLeadership leadership, long trustedUntil) implements Granted {

		@Override
		public Granted trustedUntil(long until) {
			return new Draining(this.leadership, until);
		}

	}

	/**
	 * Hands over: has notified listeners, and waits for them.
	 *
	 * @param leadership the leadership
	 * @param trustedUntil when it ends unless it is confirmed before then
	 */
	record Notified(TermLeadership leadership, long trustedUntil) implements Granted {

		@Override
		public Granted trustedUntil(long until) {
			return new Notified(this.leadership, until);
		}

	}

}
