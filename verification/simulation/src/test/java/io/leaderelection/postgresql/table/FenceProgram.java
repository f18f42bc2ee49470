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

import java.util.function.Predicate;

import io.leaderelection.simulation.Sentinel;
import io.leaderelection.simulation.server.Backend;
import io.leaderelection.simulation.server.ElectionRow;
import io.leaderelection.simulation.server.RowLock;
import io.leaderelection.simulation.server.Rows;
import io.leaderelection.simulation.server.SimTable.Snapshot;
import io.leaderelection.simulation.server.SqlError;
import io.leaderelection.simulation.server.Statement;
import io.leaderelection.simulation.server.Timeout;
import org.jspecify.annotations.Nullable;

/**
 * {@link LeaseTableSql#fence()}, in a transaction of the application.
 */
final class FenceProgram extends Statement<Rows> {

	private final Sentinel sentinel;

	private final String election;

	private final long leaseMillis;

	private final Predicate<ElectionRow> own;

	private @Nullable ElectionRow seen;

	FenceProgram(Sentinel sentinel, String election, long leaseMillis, Predicate<ElectionRow> own) {
		this.sentinel = sentinel;
		this.election = election;
		this.leaseMillis = leaseMillis;
		this.own = own;
	}

	@Override
	protected int step(int step, Backend backend) throws SqlError {
		if (step == 0) {
			Snapshot snapshot = backend.snapshot();
			ElectionRow row = snapshot.elections().get(this.election);
			boolean wanted = row != null && this.own.test(row) && snapshot.node(row.owner()) != null;
			this.seen = wanted ? row : null;
			return 1;
		}
		boolean passed = (this.sentinel == Sentinel.FENCE_WITHOUT_LOCK) ? this.seen != null : isLocked(backend);
		if (passed) {
			backend.passFence();
		}
		long present = backend.setting(Timeout.IDLE_IN_TRANSACTION);
		if (present == 0 || present > this.leaseMillis) {
			backend.set(Timeout.IDLE_IN_TRANSACTION, this.leaseMillis, true);
		}
		answer(Rows.of("passed", passed, "set_config", backend.setting(Timeout.IDLE_IN_TRANSACTION) + "ms"));
		return END;
	}

	private boolean isLocked(Backend backend) throws SqlError {
		ElectionRow present = backend.server().table().elections().row(this.election);
		if (this.seen == null || present == null) {
			return false;
		}
		if (present != this.seen && backend.isRepeatableRead()) {
			throw SqlError.SERIALIZATION_FAILURE;
		}
		backend.transactionId();
		return backend.server().table().elections().tryLock(backend, this.election, RowLock.SHARE)
				&& this.own.test(present);
	}

}
