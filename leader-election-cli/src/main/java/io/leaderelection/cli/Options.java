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

package io.leaderelection.cli;

import java.time.Duration;
import java.util.UUID;

import io.leaderelection.autoconfigure.LeaderElectionProperties.Store;

/**
 * How to verify a database.
 *
 * @param lease the length of the lease
 * @param store what an election consists of
 * @param allowSessionPooler whether a pooler in session mode may be in between
 * @param debug whether to print what the library logs
 * @param election the name of the election, which no application uses
 */
record Options(Duration lease, Store store, boolean allowSessionPooler, boolean debug, String election) {

	Options(Duration lease, Store store, boolean allowSessionPooler, boolean debug) {
		this(lease, store, allowSessionPooler, debug, "verify_" + UUID.randomUUID().toString().substring(0, 8));
	}

	boolean isTable() {
		return this.store == Store.TABLE;
	}

	/**
	 * Return the schema for the tables of the store {@code table}.
	 */
	String schema() {
		return "leader_election_" + this.election;
	}

	String table() {
		return schema() + ".leader_election";
	}

	/**
	 * Return the longest time in which leadership is awaited.
	 */
	Duration patience() {
		return this.lease.multipliedBy(2).plusSeconds(10);
	}

	/**
	 * Return the prefix of the names of all sessions.
	 */
	String sessionNames() {
		return "leader-election " + this.election;
	}

}
