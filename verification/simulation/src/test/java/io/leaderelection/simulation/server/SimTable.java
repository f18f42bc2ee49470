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

import java.util.Map;
import java.util.UUID;

import org.jspecify.annotations.Nullable;

/**
 * The tables of the store {@code table} on a simulated server.
 */
public final class SimTable {

	private final SimRows<ElectionRow> elections = new SimRows<>();

	private final SimRows<NodeRow> nodes = new SimRows<>();

	private final SimRows<CandidateRow> candidates = new SimRows<>();

	/**
	 * Return the elections by their keys.
	 */
	public SimRows<ElectionRow> elections() {
		return this.elections;
	}

	/**
	 * Return the sessions of nodes by their tokens.
	 */
	public SimRows<NodeRow> nodes() {
		return this.nodes;
	}

	/**
	 * Return the candidates by their {@linkplain CandidateRow#key keys}.
	 */
	public SimRows<CandidateRow> candidates() {
		return this.candidates;
	}

	Snapshot snapshot(Backend backend) {
		return new Snapshot(this.elections.snapshot(backend), this.nodes.snapshot(backend),
				this.candidates.snapshot(backend));
	}

	void end(Backend backend, boolean commit) {
		this.elections.end(backend, commit);
		this.nodes.end(backend, commit);
		this.candidates.end(backend, commit);
	}

	void flush() {
		this.elections.flush();
		this.nodes.flush();
		this.candidates.flush();
	}

	void crash() {
		this.elections.crash();
		this.nodes.crash();
		this.candidates.crash();
	}

	void replay(SimTable primary) {
		this.elections.replay(primary.elections);
		this.nodes.replay(primary.nodes);
		this.candidates.replay(primary.candidates);
	}

	/**
	 * What a statement sees: what is committed, and what its own transaction has written.
	 *
	 * @param elections the elections by their keys
	 * @param nodes the sessions of nodes by their tokens
	 * @param candidates the candidates by their keys
	 */
	public record Snapshot(Map<String, ElectionRow> elections, Map<String, NodeRow> nodes,
			Map<String, CandidateRow> candidates) {

		/**
		 * Return the session with a token, if it has a row.
		 */
		public @Nullable NodeRow node(@Nullable UUID token) {
			return (token != null) ? this.nodes.get(token.toString()) : null;
		}

	}

	/**
	 * A version of a row of the table of nodes.
	 *
	 * @param node the id of the node
	 * @param beat raised by every round
	 * @param leaseMillis the length of its lease
	 */
	public record NodeRow(String node, long beat, long leaseMillis) {
	}

	/**
	 * A version of a row of the table of candidates.
	 *
	 * @param election the key of the election
	 * @param token the session of the node
	 * @param profile the profile of the node, or {@code null} if it is no candidate
	 * @param resignTerm the term whose end it requests, or 0
	 * @param resignCause why
	 */
	public record CandidateRow(String election, UUID token, @Nullable String profile, long resignTerm,
			@Nullable String resignCause) {

		/**
		 * Return the primary key.
		 */
		public static String key(String election, UUID token) {
			return election + " " + token;
		}

	}

}
