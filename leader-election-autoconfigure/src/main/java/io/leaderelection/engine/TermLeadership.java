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

import io.leaderelection.Leadership;
import io.leaderelection.LeadershipRevokedEvent.Reason;
import io.leaderelection.Term;
import org.jspecify.annotations.Nullable;

/**
 * The {@link Leadership} that an {@link Election} grants. Compared by identity.
 */
final class TermLeadership implements Leadership {

	private final Owner owner;

	private final Term term;

	private final Instant since;

	private volatile @Nullable Residue residue;

	private volatile @Nullable Loss loss;

	TermLeadership(Owner owner, Term term, Instant since) {
		this.owner = owner;
		this.term = term;
		this.since = since;
	}

	@Override
	public String getElection() {
		return this.owner.settings().election();
	}

	@Override
	public String getNodeId() {
		return this.owner.settings().nodeId();
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
		return this.owner.isTrusted(this);
	}

	@Override
	public void fence(Connection connection) throws SQLException {
		if (!this.owner.fenceChecks().check(this, connection)) {
			throw new IllegalStateException("The connection leads to another database than the one on which election '"
					+ getElection() + "' is held: its transactions cannot be fenced. Store the term beside the data "
					+ "instead");
		}
	}

	/**
	 * Remember that something of this term may go on after its end, so that a hand-over
	 * is not clean.
	 * @param what what goes on
	 * @param until until when it may, or {@code null} if that is not known
	 */
	synchronized void leaveBehind(String what, @Nullable Long until) {
		Residue known = this.residue;
		Long knownUntil = (known != null) ? known.until() : null;
		if (known == null || (knownUntil != null && (until == null || until - knownUntil > 0))) {
			this.residue = new Residue(what, until);
		}
	}

	/**
	 * Return what of this term may go on after its end.
	 * @return what goes on, or {@code null} if nothing does
	 */
	@Nullable String residue(long now) {
		Residue known = this.residue;
		Long until = (known != null) ? known.until() : null;
		return (known != null && (until == null || until - now > 0)) ? known.what() : null;
	}

	/**
	 * Remember how this leadership was lost.
	 */
	void lost(Loss newLoss) {
		this.loss = newLoss;
	}

	/**
	 * Return how this leadership was lost, or {@code null} if it was not.
	 */
	@Nullable Loss loss() {
		return this.loss;
	}

	@Override
	public String toString() {
		return "leadership of election '" + getElection() + "' by node '" + getNodeId() + "' in term " + this.term;
	}

	/**
	 * How a leadership was lost.
	 *
	 * @param reason why
	 * @param silence the time since the start of the last successful confirmation, in
	 * nanoseconds
	 * @param told whether listeners were told of a hand-over before
	 */
	record Loss(Reason reason, long silence, boolean told) {
	}

	private record Residue(String what, @Nullable Long until) {
	}

	/**
	 * Grants leaderships, and knows which of them is trusted.
	 */
	interface Owner {

		ElectionSettings settings();

		FenceChecks fenceChecks();

		boolean isTrusted(TermLeadership leadership);

	}

}
