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
import io.leaderelection.Term;
import org.jspecify.annotations.Nullable;

/**
 * The {@link Leadership} that an {@link Election} grants. Compared by identity.
 */
final class TermLeadership implements Leadership {

	private final Election election;

	private final Term term;

	private final Instant since;

	private volatile @Nullable Long lastWorkCancelled;

	private volatile boolean leftBehind;

	TermLeadership(Election election, Term term, Instant since) {
		this.election = election;
		this.term = term;
		this.since = since;
	}

	@Override
	public String getElection() {
		return this.election.settings().election();
	}

	@Override
	public String getNodeId() {
		return this.election.settings().nodeId();
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
		return this.election.isTrusted(this);
	}

	@Override
	public void fence(Connection connection) throws SQLException {
		if (!this.election.fenceChecks().check(this, connection)) {
			throw new IllegalStateException("The connection leads to another database than the one on which election '"
					+ getElection() + "' is held: its transactions cannot be fenced. Store the term beside the data "
					+ "instead");
		}
	}

	/**
	 * Remember when work of this term was last cancelled.
	 */
	void workCancelled(long nanoTime) {
		this.lastWorkCancelled = nanoTime;
	}

	@Nullable Long lastWorkCancelled() {
		return this.lastWorkCancelled;
	}

	/**
	 * Remember that something of this term goes on although it was to end.
	 */
	void leaveBehind() {
		this.leftBehind = true;
	}

	boolean hasLeftBehind() {
		return this.leftBehind;
	}

	@Override
	public String toString() {
		return "leadership of election '" + getElection() + "' by node '" + getNodeId() + "' in term " + this.term;
	}

}
