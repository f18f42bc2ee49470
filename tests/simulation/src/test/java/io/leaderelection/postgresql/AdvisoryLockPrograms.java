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

package io.leaderelection.postgresql;

import java.util.Collection;
import java.util.List;

import io.leaderelection.Term;
import io.leaderelection.simulation.server.Statement;
import io.leaderelection.testsupport.Mutant;
import org.jspecify.annotations.Nullable;

/**
 * The statements of {@link AdvisoryLockSql} and {@link AdvisoryLockFence} as programs for
 * a simulated server. Each method returns a new statement, which is submitted once.
 */
public class AdvisoryLockPrograms {

	public AdvisoryLockPrograms(ElectionKeys keys) {
		this(keys, Mutant.NONE);
	}

	/**
	 * Create a new {@code AdvisoryLockPrograms} instance with a seeded mistake, if it is
	 * one of the statements.
	 */
	public AdvisoryLockPrograms(ElectionKeys keys, Mutant mutant) {
	}

	/**
	 * Inspect the server, with all that {@link PostgreSqlSessions} asks before it applies
	 * settings.
	 */
	public static Statement<Inspection> inspect() {
		throw new UnsupportedOperationException();
	}

	/**
	 * Apply the settings of a session.
	 */
	public static Statement<Settings> settings(long idleMillis, long leaseMillis, long waitMillis, String token) {
		throw new UnsupportedOperationException();
	}

	public Statement<Boolean> becomeCandidate() {
		throw new UnsupportedOperationException();
	}

	public Statement<Boolean> withdraw() {
		throw new UnsupportedOperationException();
	}

	public Statement<Acquired> acquire(long waitMillis, boolean observe) {
		throw new UnsupportedOperationException();
	}

	public Statement<Boolean> holdsAny() {
		throw new UnsupportedOperationException();
	}

	public Statement<Observation> observe() {
		throw new UnsupportedOperationException();
	}

	public Statement<List<NodeRow>> describe(Collection<Integer> pids) {
		throw new UnsupportedOperationException();
	}

	public static Statement<List<SessionRow>> nameSessions(Collection<Integer> pids) {
		throw new UnsupportedOperationException();
	}

	public Statement<Boolean> requestResignation(Term term) {
		throw new UnsupportedOperationException();
	}

	public Statement<Boolean> withdrawRequest(Term term) {
		throw new UnsupportedOperationException();
	}

	public Statement<Confirmed> confirm(Term term, long number) {
		throw new UnsupportedOperationException();
	}

	public Statement<Barrier> passBarrier(long waitMillis, long leaseMillis) {
		throw new UnsupportedOperationException();
	}

	/**
	 * The result says whether a successor was observed.
	 */
	public Statement<Boolean> release(Term term, boolean clean, long idleMillis, long waitMillis) {
		throw new UnsupportedOperationException();
	}

	/**
	 * Return the programs of a rehearsal, on keys of its own.
	 * @param lockId the main key of the rehearsal, at random
	 */
	public AdvisoryLockPrograms rehearsal(long lockId) {
		throw new UnsupportedOperationException();
	}

	public Statement<Boolean> forget(long idleMillis) {
		throw new UnsupportedOperationException();
	}

	/**
	 * Pass the fence in the transaction block of the session. The result says whether the
	 * key of the term is held.
	 */
	public Statement<Boolean> fence(Term term, long leaseMillis) {
		throw new UnsupportedOperationException();
	}

	/**
	 * The server.
	 */
	public record Inspection(int pid, boolean inRecovery, long database, long systemIdentifier,
			long longestWaitMillis) {
	}

	/**
	 * The settings of the session that confirmations must find unchanged.
	 */
	public record Settings(int pid, @Nullable String token, long idleSessionMillis, long idleInTransactionMillis) {
	}

	/**
	 * The answer of the acquiring statement.
	 *
	 * @param won whether the lock was won; only then the next four have a meaning
	 * @param observation the holder and the nodes if the lock was not won and they were
	 * asked for
	 */
	public record Acquired(boolean won, long timeline, long transactionId, boolean clean, boolean clear,
			@Nullable Observation observation) {
	}

	/**
	 * The process id of the holder of the main key, or 0, and those of the nodes, in
	 * order.
	 */
	public record Observation(int holder, List<Integer> candidates, List<Integer> observers) {
	}

	/**
	 * The row of a confirmation; process ids are in order.
	 */
	public record Confirmed(int pid, boolean inRecovery, @Nullable String token, long number, long idleSessionMillis,
			long idleInTransactionMillis, int held, List<Integer> predecessors, List<Integer> fenceHolders,
			List<Integer> requests, List<Integer> candidates, List<Integer> observers) {
	}

	/**
	 * Whether the barrier was passed, and else a session that holds the fence, or 0.
	 */
	public record Barrier(boolean passed, int holder) {
	}

	/**
	 * A session with the data of its term, of which each may be missing.
	 */
	public record NodeRow(int pid, String applicationName, @Nullable Long termObject, @Nullable Long since,
			@Nullable Long notice) {
	}

	/**
	 * A session.
	 */
	public record SessionRow(int pid, String applicationName, String role) {
	}

}
