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

import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * The tables of the store {@code table} on a simulated server.
 */
public final class SimTable {

	private final SimRows<TableRow> leases = new SimRows<>();

	private final SimRows<FenceRow> fences = new SimRows<>();

	private final Map<String, CandidateRow> candidates = new TreeMap<>();

	public SimRows<TableRow> leases() {
		return this.leases;
	}

	public SimRows<FenceRow> fences() {
		return this.fences;
	}

	/**
	 * Return the table of candidates, by their sessions. Changes to it take effect at
	 * once; it is empty after a crash and after a promotion.
	 */
	public Map<String, CandidateRow> candidates() {
		return this.candidates;
	}

	Snapshot snapshot() {
		return new Snapshot(this.leases.snapshot(), this.fences.snapshot());
	}

	void end(Backend backend, boolean commit) {
		this.leases.end(backend, commit);
		this.fences.end(backend, commit);
	}

	void flush() {
		this.leases.flush();
		this.fences.flush();
	}

	void crash() {
		this.leases.crash();
		this.fences.crash();
		this.candidates.clear();
	}

	void replay(SimTable primary) {
		this.leases.replay(primary.leases);
		this.fences.replay(primary.fences);
	}

	/**
	 * What a statement sees.
	 *
	 * @param leases the leases by their elections
	 * @param fences the fences by their elections
	 */
	public record Snapshot(Map<String, TableRow> leases, Map<String, FenceRow> fences) {
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
