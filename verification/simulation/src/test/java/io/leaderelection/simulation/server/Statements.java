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
		return new EndBlock(true, onCommit);
	}

	public static Statement<Boolean> rollback() {
		return new EndBlock(false, null);
	}

	public static Statement<Void> savepoint() {
		return run(Backend::savepoint);
	}

	/**
	 * Roll back to the innermost savepoint and remove it.
	 */
	public static Statement<Void> rollbackToSavepoint() {
		return new Single<>() {

			@Override
			Void run(Backend backend) throws SqlError {
				backend.rollbackToSavepoint();
				return null;
			}

			@Override
			protected boolean endsTransaction() {
				return true;
			}

		};
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
	 * Return a statement whose answer is a row with the result of another one.
	 */
	public static Statement<Rows> rows(Statement<?> statement) {
		return new Statement<>() {

			@Override
			protected int step(int step, Backend backend) throws SqlError {
				return next(statement.step(step, backend));
			}

			@Override
			protected int handle(int step, SqlError error, Backend backend) throws SqlError {
				return next(statement.handle(step, error, backend));
			}

			private int next(int next) {
				if (next == END) {
					answer((statement.result() instanceof Endings endings)
							? Rows.of("killed", endings.killed(), "fatal", endings.fatal())
							: Rows.of("result", statement.result()));
				}
				return next;
			}

			@Override
			protected boolean endsTransaction() {
				return statement.endsTransaction();
			}

		};
	}

	private static Statement<Void> run(Command command) {
		return new Single<>() {

			@Override
			Void run(Backend backend) throws SqlError {
				command.run(backend);
				return null;
			}

		};
	}

	private static <T> Statement<T> answer(Question<T> question) {
		return new Single<>() {

			@Override
			T run(Backend backend) throws SqlError {
				return question.ask(backend);
			}

		};
	}

	@FunctionalInterface
	private interface Command {

		void run(Backend backend) throws SqlError;

	}

	@FunctionalInterface
	private interface Question<T> {

		T ask(Backend backend) throws SqlError;

	}

	/** A statement of one step. */
	private abstract static class Single<T> extends Statement<T> {

		abstract T run(Backend backend) throws SqlError;

		@Override
		protected int step(int step, Backend backend) throws SqlError {
			answer(run(backend));
			return END;
		}

	}

	/** {@code COMMIT} or {@code ROLLBACK}; tells whether it was committed. */
	private static final class EndBlock extends Single<Boolean> {

		private final boolean commit;

		private final @Nullable Runnable onCommit;

		private EndBlock(boolean commit, @Nullable Runnable onCommit) {
			this.commit = commit;
			this.onCommit = onCommit;
		}

		@Override
		Boolean run(Backend backend) {
			return backend.endBlock(this.commit, this.onCommit);
		}

		@Override
		protected boolean endsTransaction() {
			return true;
		}

	}

}
