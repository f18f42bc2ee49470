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
 * of its own. A statement that waits for a lock tries again.
 *
 * @param <R> the type of a row
 */
public final class SimRows<R> {

	private Map<String, R> committed = Map.of();

	private Map<String, R> durable = Map.of();

	private final List<Hold<R>> holds = new ArrayList<>();

	/**
	 * Return the rows that a statement of a session sees: the committed ones, and what
	 * its transaction has written. Does not change any more.
	 */
	public Map<String, R> snapshot(Backend backend) {
		Map<String, R> seen = this.committed;
		for (Hold<R> hold : this.holds) {
			if (hold.backend == backend && hold.written) {
				seen = with(seen, hold.key, hold.version);
			}
		}
		return seen;
	}

	/**
	 * Return the committed version of a row.
	 */
	public @Nullable R row(String key) {
		return this.committed.get(key);
	}

	/**
	 * Return the committed rows.
	 */
	public List<R> rows() {
		return List.copyOf(this.committed.values());
	}

	/**
	 * Return the sessions whose transactions hold a lock on a row, in order.
	 */
	public List<Integer> lockers(String key) {
		return holders(key).map((hold) -> hold.backend.pid()).distinct().sorted().toList();
	}

	/**
	 * Return the sessions whose transactions share a lock on a row.
	 */
	public List<Integer> sharers(String key) {
		return holders(key).filter((hold) -> hold.mode == RowLock.SHARE).map((hold) -> hold.backend.pid()).toList();
	}

	private Stream<Hold<R>> holders(String key) {
		return this.holds.stream().filter((hold) -> hold.key.equals(key));
	}

	/**
	 * Lock a row, or the key of one that is to be inserted, until the end of the
	 * transaction, unless another one has locked it.
	 */
	public boolean tryLock(Backend backend, String key, RowLock mode) {
		if (holders(key).anyMatch((hold) -> hold.backend != backend && mode.conflictsWith(hold.mode))) {
			return false;
		}
		this.holds.add(new Hold<>(backend, key, mode));
		return true;
	}

	/**
	 * Write another version of a row that is locked, or delete it, with the commit of the
	 * transaction.
	 * @param version the version, or {@code null} to delete the row
	 */
	public void write(Backend backend, String key, @Nullable R version) {
		holders(key).filter((hold) -> hold.backend == backend).forEach((hold) -> {
			hold.written = true;
			hold.version = version;
		});
	}

	/**
	 * Delete all rows that nobody has locked, in a transaction of somebody else.
	 */
	public void deleteUnlocked() {
		List.copyOf(this.committed.keySet()).forEach((key) -> {
			if (holders(key).findAny().isEmpty()) {
				this.committed = with(this.committed, key, null);
			}
		});
	}

	/**
	 * End the transaction of a session, with its locks.
	 */
	void end(Backend backend, boolean commit) {
		for (Hold<R> hold : List.copyOf(this.holds)) {
			if (hold.backend == backend) {
				this.holds.remove(hold);
				if (commit && hold.written) {
					this.committed = with(this.committed, hold.key, hold.version);
				}
			}
		}
	}

	private static <R> Map<String, R> with(Map<String, R> rows, String key, @Nullable R version) {
		Map<String, R> changed = new LinkedHashMap<>(rows);
		if (version != null) {
			changed.put(key, version);
		}
		else {
			changed.remove(key);
		}
		return changed;
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

		private final String key;

		private final RowLock mode;

		private boolean written;

		private @Nullable R version;

		Hold(Backend backend, String key, RowLock mode) {
			this.backend = backend;
			this.key = key;
			this.mode = mode;
		}

	}

}
