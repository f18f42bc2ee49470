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
		return begin(false);
	}

	/**
	 * Begin a transaction block.
	 * @param repeatableRead whether with {@code REPEATABLE READ} instead of
	 * {@code READ COMMITTED}
	 */
	public static Statement<Void> begin(boolean repeatableRead) {
		return run((backend) -> backend.beginBlock(repeatableRead));
	}

	/**
	 * Commit the transaction block, or roll it back if it has failed.
	 * @param onCommit runs at the moment from which the transaction is durable, before
	 * its locks are freed and the client is told; not if it is rolled back
	 */
	public static Statement<Boolean> commit(@Nullable Runnable onCommit) {
		return new Single<>(true, (backend) -> backend.endBlock(true, onCommit));
	}

	public static Statement<Boolean> rollback() {
		return new Single<>(true, (backend) -> backend.endBlock(false, null));
	}

	public static Statement<Void> savepoint() {
		return run(Backend::savepoint);
	}

	/**
	 * Roll back to the innermost savepoint and remove it.
	 */
	public static Statement<Void> rollbackToSavepoint() {
		return new Single<>(true, (backend) -> {
			backend.rollbackToSavepoint();
			return null;
		});
	}

	public static Statement<Void> releaseSavepoint() {
		return run(Backend::releaseSavepoint);
	}

	/**
	 * Wait for a lock: {@code pg_advisory_[xact_]lock[_shared]}.
	 */
	public static Statement<Void> lock(LockKey key, LockMode mode, LockScope scope) {
		return run((backend) -> backend.lock(key, mode, scope));
	}

	/**
	 * Take a lock if it is free: {@code pg_try_advisory_[xact_]lock[_shared]}.
	 */
	public static Statement<Boolean> tryLock(LockKey key, LockMode mode, LockScope scope) {
		return answer((backend) -> backend.tryLock(key, mode, scope));
	}

	/**
	 * Free a lock of the session: {@code pg_advisory_unlock[_shared]}.
	 */
	public static Statement<Boolean> unlock(LockKey key, LockMode mode) {
		return answer((backend) -> backend.unlock(key, mode));
	}

	public static Statement<Void> unlockAll() {
		return run(Backend::unlockAll);
	}

	/**
	 * {@code pg_current_xact_id()}.
	 * @param durable whether the transaction also writes to the log, as one that changes
	 * a table does, so that its commit is durable
	 */
	public static Statement<Long> transactionId(boolean durable) {
		return answer((backend) -> {
			backend.snapshot();
			if (durable) {
				backend.write();
			}
			return backend.transactionId();
		});
	}

	/**
	 * Count the sessions that the server has ended.
	 */
	public static Statement<Endings> endings() {
		return answer(Backend::endings);
	}

	public static Statement<Void> clearStatistics() {
		return run(Backend::clearStatistics);
	}

	/**
	 * Set a timeout of the session, or of the transaction.
	 */
	public static Statement<Void> set(Timeout timeout, long millis, boolean local) {
		return run((backend) -> backend.set(timeout, millis, local));
	}

	/**
	 * {@code pg_sleep}.
	 */
	public static Statement<Void> sleep(long millis) {
		return run((backend) -> backend.sleep(millis * 1_000_000));
	}

	/**
	 * Return a statement of this class whose answer is a row with the result.
	 */
	public static Statement<Rows> rows(Statement<?> statement) {
		Single<?> single = (Single<?>) statement;
		return new Single<>(single.endsTransaction, (backend) -> {
			Object result = single.question.ask(backend);
			return (result instanceof Endings endings) ? Rows.of("killed", endings.killed(), "fatal", endings.fatal())
					: Rows.of("result", result);
		});
	}

	/**
	 * Return a statement that reads or changes everything in one step.
	 */
	public static <T> Statement<T> answer(Question<T> question) {
		return new Single<>(false, question);
	}

	private static Statement<Void> run(Command command) {
		return answer((backend) -> {
			command.run(backend);
			return null;
		});
	}

	@FunctionalInterface
	private interface Command {

		void run(Backend backend) throws SqlError;

	}

	/**
	 * The only step of a statement.
	 *
	 * @param <T> the type of the result
	 */
	@FunctionalInterface
	public interface Question<T> {

		T ask(Backend backend) throws SqlError;

	}

	/** A statement of one step. */
	private static final class Single<T> extends Statement<T> {

		private final boolean endsTransaction;

		private final Question<T> question;

		private Single(boolean endsTransaction, Question<T> question) {
			this.endsTransaction = endsTransaction;
			this.question = question;
		}

		@Override
		protected int step(int step, Backend backend) throws SqlError {
			answer(this.question.ask(backend));
			return END;
		}

		@Override
		protected boolean endsTransaction() {
			return this.endsTransaction;
		}

	}

}
