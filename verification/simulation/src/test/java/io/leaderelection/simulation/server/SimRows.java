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

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

import org.jspecify.annotations.Nullable;

/**
 * The rows of a table on a simulated server: which version of each row is committed and
 * which one is durable, and the locks of transactions on rows. Each version is an object
 * of its own. No lock is waited for, since all statements skip rows that are locked.
 *
 * @param <R> the type of a row
 */
public final class SimRows<R> {

	private Map<String, R> committed = Map.of();

	private Map<String, R> durable = Map.of();

	private final List<Hold<R>> holds = new ArrayList<>();

	/**
	 * Return the committed rows by their elections. Does not change any more.
	 */
	public Map<String, R> snapshot() {
		return this.committed;
	}

	/**
	 * Return the committed version of a row.
	 */
	public @Nullable R row(String election) {
		return this.committed.get(election);
	}

	/**
	 * Return the sessions whose transactions hold a lock on a row, in order.
	 */
	public List<Integer> lockers(String election) {
		return holders(election).map((hold) -> hold.backend.pid()).distinct().sorted().toList();
	}

	/**
	 * Return the sessions whose transactions share a lock on a row.
	 */
	public List<Integer> sharers(String election) {
		return holders(election).filter((hold) -> hold.mode == RowLock.SHARE)
			.map((hold) -> hold.backend.pid())
			.toList();
	}

	private Stream<Hold<R>> holders(String election) {
		return this.holds.stream().filter((hold) -> hold.election.equals(election));
	}

	/**
	 * Insert a row, unless there is one.
	 */
	public boolean insert(String election, R row) {
		if (this.committed.containsKey(election)) {
			return false;
		}
		commit(election, row);
		return true;
	}

	/**
	 * Lock a row until the end of the transaction, unless another one has locked it.
	 */
	public boolean tryLock(Backend backend, String election, RowLock mode) {
		if (holders(election).anyMatch((hold) -> hold.backend != backend && mode.conflictsWith(hold.mode))) {
			return false;
		}
		this.holds.add(new Hold<>(backend, election, mode));
		return true;
	}

	/**
	 * Write another version of a row that is locked, which is committed with the
	 * transaction.
	 */
	public void update(Backend backend, String election, R changed) {
		holders(election).filter((hold) -> hold.backend == backend).forEach((hold) -> hold.changed = changed);
	}

	/**
	 * End the transaction of a session, with its locks.
	 */
	void end(Backend backend, boolean commit) {
		for (Hold<R> hold : List.copyOf(this.holds)) {
			if (hold.backend == backend) {
				this.holds.remove(hold);
				R changed = hold.changed;
				if (commit && changed != null) {
					commit(hold.election, changed);
				}
			}
		}
	}

	private void commit(String election, R row) {
		Map<String, R> rows = new LinkedHashMap<>(this.committed);
		rows.put(election, row);
		this.committed = rows;
	}

	/**
	 * Make everything durable that is committed.
	 */
	void flush() {
		this.durable = this.committed;
	}

	void crash() {
		this.committed = this.durable;
		this.holds.clear();
	}

	/**
	 * Replay what another server has made durable.
	 */
	void replay(SimRows<R> primary) {
		this.durable = primary.durable;
		this.committed = this.durable;
	}

	/**
	 * A lock on a row, with the version that its transaction has written.
	 */
	private static final class Hold<R> {

		private final Backend backend;

		private final String election;

		private final RowLock mode;

		private @Nullable R changed;

		Hold(Backend backend, String election, RowLock mode) {
			this.backend = backend;
			this.election = election;
			this.mode = mode;
		}

	}

}
