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

import io.leaderelection.Term;
import org.jspecify.annotations.Nullable;

/**
 * Prevents transactions of a term from committing after a later term was granted, if the
 * store of the election is also the database of the transactions.
 */
public interface TransactionFence {

	/**
	 * The fence of an election without a store, in which there is no later term of
	 * another node.
	 */
	TransactionFence OPEN = new TransactionFence() {

		@Override
		public Outcome pass(Connection connection, Term term) {
			return Outcome.PASSED;
		}

		@Override
		public @Nullable Boolean covers(Connection connection) {
			return null;
		}

	};

	/**
	 * Verify that a term is current and, if so, block later grants until the transaction
	 * of the connection has ended. Takes one round trip if it passes, and never waits for
	 * a lock.
	 * @param connection a connection with a transaction, of the current thread
	 * @param term the term
	 * @return the outcome
	 * @throws SQLException if this cannot be determined; the transaction must not commit
	 */
	Outcome pass(Connection connection, Term term) throws SQLException;

	/**
	 * Return whether a connection is a connection to the store of the election.
	 * @param connection the connection
	 * @return {@code null} while the store has not been reached, or if it has no database
	 * @throws SQLException if this cannot be determined, or if its role cannot run the
	 * statement of the fence, with an SQL state of class 42
	 */
	@Nullable Boolean covers(Connection connection) throws SQLException;

	/**
	 * The outcome of the check of a transaction.
	 *
	 * @param verdict whether it may commit
	 * @param holder a description of the holder of the fence, if the verdict is
	 * {@link Verdict#BLOCKED}
	 */
	record Outcome(Verdict verdict, @Nullable String holder) {

		/** The transaction may commit: no later term is granted before it has ended. */
		public static final Outcome PASSED = new Outcome(Verdict.PASSED, null);

		/** The term of the transaction has ended. */
		public static final Outcome REFUSED = new Outcome(Verdict.REFUSED, null);

		/**
		 * The transaction is not on the store of the election, so its term cannot be
		 * verified.
		 */
		public static final Outcome ELSEWHERE = new Outcome(Verdict.ELSEWHERE, null);

		/**
		 * Return the outcome for a transaction that must not commit although its term has
		 * not ended, since a session that is not a node of the election holds the fence
		 * exclusively.
		 * @param holder a description of that session
		 * @return the outcome
		 */
		public static Outcome blockedBy(String holder) {
			return new Outcome(Verdict.BLOCKED, holder);
		}

	}

	/**
	 * Whether a transaction may commit.
	 */
	enum Verdict {

		/** The transaction may commit. */
		PASSED,

		/** The term of the transaction has ended. */
		REFUSED,

		/** A foreign session holds the fence. */
		BLOCKED,

		/** The transaction is not on the store of the election. */
		ELSEWHERE

	}

}
