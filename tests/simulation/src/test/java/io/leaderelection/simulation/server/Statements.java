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

package io.leaderelection.simulation.server;

import org.jspecify.annotations.Nullable;

/**
 * Single statements of SQL. Outside of a transaction block, each is a transaction.
 */
public final class Statements {

	private Statements() {
	}

	public static Statement<Void> begin() {
		throw new UnsupportedOperationException();
	}

	/**
	 * Commit the transaction block, or roll it back if it has failed.
	 * @param onCommit runs at the moment from which the transaction is durable, before
	 * its locks are freed and the client is told; not if it is rolled back
	 */
	public static Statement<Boolean> commit(@Nullable Runnable onCommit) {
		throw new UnsupportedOperationException();
	}

	public static Statement<Void> rollback() {
		throw new UnsupportedOperationException();
	}

	public static Statement<Void> savepoint() {
		throw new UnsupportedOperationException();
	}

	/**
	 * Roll back to the innermost savepoint and remove it.
	 */
	public static Statement<Void> rollbackToSavepoint() {
		throw new UnsupportedOperationException();
	}

	public static Statement<Void> releaseSavepoint() {
		throw new UnsupportedOperationException();
	}

	/**
	 * Wait for a lock: {@code pg_advisory_[xact_]lock[_shared]}.
	 */
	public static Statement<Void> lock(LockKey key, LockMode mode, LockScope scope) {
		throw new UnsupportedOperationException();
	}

	/**
	 * Take a lock if it is free: {@code pg_try_advisory_[xact_]lock[_shared]}.
	 */
	public static Statement<Boolean> tryLock(LockKey key, LockMode mode, LockScope scope) {
		throw new UnsupportedOperationException();
	}

	/**
	 * Free a lock of the session: {@code pg_advisory_unlock[_shared]}.
	 */
	public static Statement<Boolean> unlock(LockKey key, LockMode mode) {
		throw new UnsupportedOperationException();
	}

	public static Statement<Void> unlockAll() {
		throw new UnsupportedOperationException();
	}

	/**
	 * {@code pg_current_xact_id()}, as a write to a table has it: with a durable record.
	 * @param durable whether the transaction also writes to the log, so that its commit
	 * is durable
	 */
	public static Statement<Long> transactionId(boolean durable) {
		throw new UnsupportedOperationException();
	}

	/**
	 * Set timeouts of the session.
	 */
	public static Statement<Void> set(Timeout timeout, long millis) {
		throw new UnsupportedOperationException();
	}

	public static Statement<Void> sleep(long millis) {
		throw new UnsupportedOperationException();
	}

}
