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
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Predicate;

import io.leaderelection.Leadership;
import io.leaderelection.Term;
import org.jspecify.annotations.Nullable;

/**
 * The {@link Leadership} that an {@link Election} grants. Compared by identity.
 */
final class TermLeadership implements Leadership {

	private static final long ENDED = 1;

	private final ElectionSettings settings;

	private final FenceChecks fenceChecks;

	private final Predicate<TermLeadership> trusted;

	private final Term term;

	private final Instant since;

	private volatile @Nullable Residue residue;

	/**
	 * When trust ends unless it is confirmed before then, in even nanoseconds. With
	 * {@link #ENDED}, it has been found to have ended: what a reader has seen to end must
	 * not be extended.
	 */
	private final AtomicLong trust = new AtomicLong(ENDED);

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
	 * Trust this leadership, which is about to be granted.
	 * @param until when trust ends unless it is confirmed before then
	 */
	void trust(long until) {
		this.trust.set(until & ~ENDED);
	}

	/**
	 * Extend trust, unless it has ended.
	 * @return whether it was extended
	 */
	boolean extendTrust(long now, long until) {
		long known = this.trust.get();
		return trustRemaining(now) > 0 && this.trust.compareAndSet(known, until & ~ENDED);
	}

	/**
	 * End trust in this leadership. It cannot be restored. Allocates nothing.
	 */
	void loseTrust() {
		long until = this.trust.get();
		while (!this.trust.compareAndSet(until, until | ENDED)) {
			until = this.trust.get();
		}
	}

	/**
	 * Return for how long the leadership is trusted unless it is confirmed before then.
	 * @return the time in nanoseconds, not positive if trust has ended
	 */
	long trustRemaining(long now) {
		while (true) {
			long until = this.trust.get();
			if ((until & ENDED) != 0) {
				return 0;
			}
			if (until - now > 0) {
				return until - now;
			}
			this.trust.compareAndSet(until, until | ENDED);
		}
	}

	/**
	 * Return when trust ends or has ended, unless it was lost before.
	 */
	long trustedUntil() {
		return this.trust.get() & ~ENDED;
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
