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
	static Program of(long lockMillis, Query query) {
		return new Program(lockMillis) {

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
				case 1 -> {
					begin(backend);
					yield (this.beat != 0 && isRaisable(backend.snapshot().node(this.token))) ? 2 : 3;
				}
				case 2 -> isLocked(backend) ? raise(backend) : this.waits ? 2 : 3;
				default -> goOn(step, backend);
			};
		}

		/**
		 * Called before anything else.
		 */
		void begin(Backend backend) {
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

}
