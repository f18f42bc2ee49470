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

import java.util.concurrent.CompletableFuture;

import io.leaderelection.LeadershipRevokedEvent.Reason;
import io.leaderelection.Term;
import org.jspecify.annotations.Nullable;

/**
 * The position of a node in an election, with the data that exists in that position only.
 * A term of this node passes through {@link Elected}, {@link Leading},
 * {@link HandingOver} and {@link Ended}, and may leave any of them early. Times are
 * {@link Platform#nanoTime()}.
 */
sealed interface Position {

	/**
	 * Return how the term of this node is handed over.
	 * @return the hand-over, or {@code null} if there is none
	 */
	default @Nullable HandOver handOver() {
		return null;
	}

	/** Does not participate. */
	record Stopped() implements Position {
	}

	/** Does not hold the lock. */
	record Following() implements Position {
	}

	/**
	 * Holds the lock, and was not granted leadership yet.
	 *
	 * @param term the term that was won
	 * @param blockedBy a description of the session or transaction of an earlier term for
	 * which the grant waits, if any
	 * @param handOver how the term is handed over instead of being granted, if so
	 */
	record Elected(Term term, @Nullable String blockedBy, @Nullable HandOver handOver) implements Position {
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

	}

	/**
	 * Leads.
	 *
	 * @param leadership the leadership
	 */
	record Leading(TermLeadership leadership) implements Granted {
	}

	/**
	 * Hands over: admits no work, waits for work in flight, and then for listeners.
	 *
	 * @param leadership the leadership
	 * @param handOver how it is handed over
	 * @param notified whether listeners have been notified
	 */
	record HandingOver(TermLeadership leadership, HandOver handOver, boolean notified) implements Granted {

		HandingOver afterInterrupt() {
			return new HandingOver(this.leadership, this.handOver.afterInterrupt(), this.notified);
		}

		HandingOver afterNotification() {
			return new HandingOver(this.leadership, this.handOver, true);
		}

	}

	/**
	 * Was granted leadership, which has ended. The lock is being freed, or was lost.
	 *
	 * @param handOver how the term was handed over, or was to be, if so
	 * @param loss how leadership was lost, if it was
	 */
	record Ended(@Nullable HandOver handOver, @Nullable Loss loss) implements Position {
	}

	/**
	 * How a term is handed over.
	 *
	 * @param reason why
	 * @param cause who or what requested it, unless it is a stop
	 * @param interruptAt when work and listeners that are still running are interrupted
	 * @param interrupted whether they have been interrupted
	 * @param completion completes with {@code true} when the lock was freed, with
	 * {@code false} if it was lost
	 */
	record HandOver(Reason reason, @Nullable String cause, long interruptAt, boolean interrupted,
			CompletableFuture<Boolean> completion) {

		HandOver afterInterrupt() {
			return new HandOver(this.reason, this.cause, this.interruptAt, true, this.completion);
		}

	}

	/**
	 * How a leadership was lost.
	 *
	 * @param leadership the leadership
	 * @param reason the reason
	 * @param silence the time since the start of the last successful confirmation, in
	 * nanoseconds
	 */
	record Loss(TermLeadership leadership, Reason reason, long silence) {
	}

}
