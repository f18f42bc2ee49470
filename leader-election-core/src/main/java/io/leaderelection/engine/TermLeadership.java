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

package io.leaderelection.engine;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Instant;
import java.util.function.Predicate;

import io.leaderelection.Leadership;
import io.leaderelection.Term;
import org.jspecify.annotations.Nullable;

/**
 * The {@link Leadership} that an {@link Election} grants. Compared by identity.
 */
final class TermLeadership implements Leadership {

	private final ElectionSettings settings;

	private final FenceChecks fenceChecks;

	private final Predicate<TermLeadership> trusted;

	private final Term term;

	private final Instant since;

	private volatile @Nullable Residue residue;

	private volatile boolean lostTrust;

	private volatile boolean interrupted;

	/**
	 * Create a new {@code TermLeadership} instance.
	 * @param settings the settings of the election
	 * @param fenceChecks checks transactions
	 * @param trusted whether this is the leadership of the node, and is trusted
	 * @param term the term
	 * @param since when it was granted
	 */
	TermLeadership(ElectionSettings settings, FenceChecks fenceChecks, Predicate<TermLeadership> trusted, Term term,
			Instant since) {
		this.settings = settings;
		this.fenceChecks = fenceChecks;
		this.trusted = trusted;
		this.term = term;
		this.since = since;
	}

	@Override
	public String getElection() {
		return this.settings.election();
	}

	@Override
	public String getNodeId() {
		return this.settings.nodeId();
	}

	@Override
	public Term getTerm() {
		return this.term;
	}

	@Override
	public Instant getSince() {
		return this.since;
	}

	@Override
	public boolean isCurrent() {
		return this.trusted.test(this);
	}

	@Override
	public void fence(Connection connection) throws SQLException {
		if (!this.fenceChecks.check(this, connection)) {
			throw new IllegalStateException("The connection is not to the database of election '" + getElection()
					+ "': its transactions cannot be fenced. Store the term with the data instead");
		}
	}

	/**
	 * Record that something of this term may still be running after its end, so that a
	 * hand-over is not clean.
	 * @param what a description of it
	 * @param until the latest time at which it may still run, or {@code null} if that is
	 * not known
	 */
	synchronized void recordResidue(String what, @Nullable Long until) {
		Residue known = this.residue;
		Long knownUntil = (known != null) ? known.until() : null;
		if (known == null || (knownUntil != null && (until == null || until - knownUntil > 0))) {
			this.residue = new Residue(what, until);
		}
	}

	/**
	 * Return what of this term may still be running after its end.
	 * @return the description, or {@code null} if there is nothing
	 */
	@Nullable String residue(long now) {
		Residue known = this.residue;
		Long until = (known != null) ? known.until() : null;
		return (known != null && (until == null || until - now > 0)) ? known.what() : null;
	}

	/**
	 * End trust in this leadership. It cannot be restored.
	 */
	void loseTrust() {
		this.lostTrust = true;
	}

	boolean hasLostTrust() {
		return this.lostTrust;
	}

	/**
	 * Note that all work of this term is interrupted.
	 */
	void interrupt() {
		this.interrupted = true;
	}

	/**
	 * Return whether all work of this term is interrupted: no work may begin inside it on
	 * other threads, and none may continue.
	 */
	boolean isInterrupted() {
		return this.interrupted;
	}

	@Override
	public String toString() {
		return "leadership of election '" + getElection() + "' by node '" + getNodeId() + "' in term " + this.term;
	}

	private record Residue(String what, @Nullable Long until) {
	}

}
