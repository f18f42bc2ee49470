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
import java.util.TreeMap;

import org.jspecify.annotations.Nullable;

/**
 * The table of leases on a simulated server: which version of each row is committed and
 * which one is durable, and the locks of transactions on rows. No lock is waited for,
 * since all statements skip rows that are locked.
 */
public final class SimTable {

	private Map<String, TableRow> committed = Map.of();

	private Map<String, TableRow> durable = Map.of();

	private final List<Hold> holds = new ArrayList<>();

	private final Map<String, CandidateRow> candidates = new TreeMap<>();

	/**
	 * Return the committed rows by their elections. Does not change any more.
	 */
	public Map<String, TableRow> snapshot() {
		return this.committed;
	}

	/**
	 * Return the committed version of a row.
	 */
	public @Nullable TableRow row(String election) {
		return this.committed.get(election);
	}

	/**
	 * Return the table of candidates, by their sessions. Changes to it take effect at
	 * once; it is empty after a crash and after a promotion.
	 */
	public Map<String, CandidateRow> candidates() {
		return this.candidates;
	}

	/**
	 * Return the sessions whose transactions hold a lock on a row, in order.
	 */
	public List<Integer> lockers(String election) {
		return this.holds.stream()
			.filter((hold) -> hold.election.equals(election))
			.map((hold) -> hold.backend.pid())
			.distinct()
			.sorted()
			.toList();
	}

	/**
	 * Return the sessions whose transactions share a lock on a row.
	 */
	public List<Integer> sharers(String election) {
		return this.holds.stream()
			.filter((hold) -> hold.election.equals(election) && hold.mode.compareTo(RowLock.NO_KEY_UPDATE) < 0)
			.map((hold) -> hold.backend.pid())
			.toList();
	}

	/**
	 * Insert a row, unless there is one.
	 */
	boolean insert(String election) {
		if (this.committed.containsKey(election)) {
			return false;
		}
		commit(election, TableRow.NEW);
		return true;
	}

	boolean tryLock(Backend backend, String election, RowLock mode) {
		for (Hold hold : this.holds) {
			if (hold.backend != backend && hold.election.equals(election) && mode.conflictsWith(hold.mode)) {
				return false;
			}
		}
		this.holds.add(new Hold(backend, election, mode));
		return true;
	}

	/**
	 * Write another version of a row that is locked, which is committed with the
	 * transaction.
	 */
	void update(Backend backend, String election, TableRow changed) {
		this.holds.stream()
			.filter((hold) -> hold.backend == backend && hold.election.equals(election))
			.forEach((hold) -> hold.changed = changed);
	}

	/**
	 * End the transaction of a session, with its locks.
	 */
	void end(Backend backend, boolean commit) {
		for (Hold hold : List.copyOf(this.holds)) {
			if (hold.backend == backend) {
				this.holds.remove(hold);
				TableRow changed = hold.changed;
				if (commit && changed != null) {
					commit(hold.election, (hold.mode == RowLock.UPDATE) ? changed.withNextKey() : changed);
				}
			}
		}
	}

	private void commit(String election, TableRow row) {
		Map<String, TableRow> rows = new LinkedHashMap<>(this.committed);
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
		this.candidates.clear();
	}

	/**
	 * Replay what another server has made durable.
	 */
	void replay(SimTable primary) {
		this.durable = primary.durable;
		this.committed = this.durable;
	}

	/**
	 * A lock on a row, with the version that its transaction has written.
	 */
	private static final class Hold {

		private final Backend backend;

		private final String election;

		private final RowLock mode;

		private @Nullable TableRow changed;

		Hold(Backend backend, String election, RowLock mode) {
			this.backend = backend;
			this.election = election;
			this.mode = mode;
		}

	}

	/**
	 * A row of the table of candidates.
	 *
	 * @param node the node
	 * @param elections the elections in which it is a candidate
	 * @param seen when it was last registered, by the clock of the server
	 */
	public record CandidateRow(String node, List<String> elections, long seen) {
	}

}
