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

package io.leaderelection.postgresql.table;

import java.util.UUID;
import java.util.function.Function;

import io.leaderelection.simulation.server.Backend;
import io.leaderelection.simulation.server.RowLock;
import io.leaderelection.simulation.server.Rows;
import io.leaderelection.simulation.server.SimRows;
import io.leaderelection.simulation.server.SimTable;
import io.leaderelection.simulation.server.SimTable.NodeRow;
import io.leaderelection.simulation.server.SqlError;
import io.leaderelection.simulation.server.Statement;
import org.jspecify.annotations.Nullable;

/**
 * A statement that begins with the settings of {@link LeaseTableSql#begin}, which a
 * standby refuses, and goes on with steps.
 */
abstract class Program extends Statement<Rows> {

	private static final long POLL_MILLIS = 1;

	private final long lockMillis;

	private long waitedMillis;

	/**
	 * Create a new {@code Program} instance.
	 * @param lockMillis the longest wait for a lock
	 */
	Program(long lockMillis) {
		this.lockMillis = lockMillis;
	}

	@Override
	protected final int step(int step, Backend backend) throws SqlError {
		if (step > 0) {
			return run(step, backend);
		}
		if (backend.server().isInRecovery()) {
			throw SqlError.STANDBY;
		}
		backend.readCommitted();
		return 1;
	}

	/**
	 * Run a step, of which the first one is 1.
	 * @return the next step, or {@link #END}
	 */
	abstract int run(int step, Backend backend) throws SqlError;

	final int finish(Rows rows) {
		answer(rows);
		return END;
	}

	/**
	 * Lock a row, or wait.
	 * @return whether it is locked, or else this step is to be repeated
	 */
	final boolean lock(Backend backend, SimRows<?> rows, String key) throws SqlError {
		return lock(backend, rows, key, RowLock.UPDATE);
	}

	final boolean lock(Backend backend, SimRows<?> rows, String key, RowLock mode) throws SqlError {
		if (rows.tryLock(backend, key, mode)) {
			return true;
		}
		this.waitedMillis += POLL_MILLIS;
		if (this.waitedMillis > this.lockMillis) {
			throw SqlError.LOCK_NOT_AVAILABLE;
		}
		backend.sleep(POLL_MILLIS * 1_000_000);
		return false;
	}

	static SimTable table(Backend backend) {
		return backend.server().table();
	}

	/**
	 * A statement that reads or changes everything in one step.
	 */
	static Program of(Query query) {
		return new Program(LeaseTablePrograms.SHORT_MILLIS) {

			@Override
			int run(int step, Backend backend) throws SqlError {
				Rows rows = query.run(backend, this);
				return (rows != null) ? finish(rows) : step;
			}

		};
	}

	/**
	 * The only step of a program.
	 */
	@FunctionalInterface
	interface Query {

		/**
		 * Run it.
		 * @return the answer, or {@code null} if it waits for a lock
		 */
		@Nullable Rows run(Backend backend, Program program) throws SqlError;

	}

	/**
	 * A statement that raises the beat of a session, unless it is 0, before it goes on
	 * with step 3: with another statement. It waits for the row, or skips it if it is
	 * locked.
	 */
	abstract static class Raising extends Program {

		private final UUID token;

		private final long beat;

		private final boolean waits;

		private boolean raised;

		Raising(long lockMillis, UUID token, long beat, boolean waits) {
			super(lockMillis);
			this.waits = waits;
			this.token = token;
			this.beat = beat;
		}

		@Override
		final int run(int step, Backend backend) throws SqlError {
			return switch (step) {
				case 1 -> (this.beat != 0 && isRaisable(backend.snapshot().node(this.token))) ? 2 : 3;
				case 2 -> isLocked(backend) ? raise(backend) : this.waits ? 2 : 3;
				default -> goOn(step, backend);
			};
		}

		private boolean isLocked(Backend backend) throws SqlError {
			SimRows<NodeRow> nodes = table(backend).nodes();
			String key = this.token.toString();
			return this.waits ? lock(backend, nodes, key) : nodes.tryLock(backend, key, RowLock.UPDATE);
		}

		private int raise(Backend backend) throws SqlError {
			NodeRow present = table(backend).nodes().row(this.token.toString());
			if (isRaisable(present)) {
				table(backend).nodes()
					.write(backend, this.token.toString(),
							new NodeRow(present.node(), this.beat, present.leaseMillis()));
				backend.write();
				this.raised = true;
			}
			return 3;
		}

		private boolean isRaisable(@Nullable NodeRow row) {
			return row != null && row.beat() < this.beat;
		}

		final boolean isRaised() {
			return this.raised;
		}

		abstract int goOn(int step, Backend backend) throws SqlError;

	}

	/**
	 * A statement that changes a row, unless it is locked.
	 *
	 * @param <R> the type of the row
	 */
	abstract static class Change<R> extends Program {

		private final Function<SimTable, SimRows<R>> table;

		private final String key;

		private boolean held;

		private boolean changed;

		Change(Function<SimTable, SimRows<R>> table, String key) {
			super(LeaseTablePrograms.SHORT_MILLIS);
			this.table = table;
			this.key = key;
		}

		@Override
		final int run(int step, Backend backend) throws SqlError {
			SimRows<R> rows = this.table.apply(table(backend));
			if (step == 1) {
				// As its snapshot shows it
				R seen = rows.snapshot(backend).get(this.key);
				this.held = seen != null && isWanted(seen, backend);
				return 2;
			}
			R present = rows.row(this.key);
			if (step == 2 && this.held && isPossible(backend) && present != null
					&& rows.tryLock(backend, this.key, RowLock.UPDATE) && isWanted(present, backend)) {
				rows.write(backend, this.key, change(present, backend));
				backend.write();
				this.changed = true;
			}
			return finish(outcome(this.changed, this.held));
		}

		/**
		 * Return whether to change a row, as the statement sees it and as it is at
		 * present.
		 */
		abstract boolean isWanted(R row, Backend backend);

		boolean isPossible(Backend backend) {
			return true;
		}

		/**
		 * Return the new version, or {@code null} to delete the row.
		 */
		abstract @Nullable R change(R row, Backend backend);

		Rows outcome(boolean rowChanged, boolean rowHeld) {
			return Rows.of("changed", rowChanged);
		}

	}

}
