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

package io.leaderelection.simulation;

import java.util.List;

import io.leaderelection.testsupport.SourceChange;

/**
 * A mistake in the engine that was written without knowledge of the simulation, and the
 * guarantees as which the simulation finds it.
 */
enum BlindMistake {

	/** G2: the trust of a grant counts from the reply of its confirmation. */
	GRANT_ANCHORED_AT_REPLY(List.of("G2 exclusion", "G3 terms"), "LeaderPhase", "grant(granted, start)",
			"grant(granted, this.election.nanoTime())"),

	/**
	 * G6: a leader plans its first confirmation from the grant, not from the last one.
	 */
	LATE_FIRST_CONFIRMATION(List.of("G6 loss"), "LeaderPhase", "acquired(former, follower);", """
			acquired(former, follower);
			this.next = this.election.nanoTime() + this.settings.confirmNanos();
			"""),

	/** G2, G4: the lock is freed before trust in the term ends. */
	RELEASED_BEFORE_END_OF_TRUST(List.of("G2 exclusion"), "HandOverPhase", """
			if (this.election.apply(transitions::endTrust).position() instanceof Ended end && end.loss() != null) {
				throw LeaderPhase.lapsed();
			}
			boolean succeeded = this.leader.release(residue == null);
			""", """
			boolean succeeded = this.leader.release(residue == null);
			if (this.election.apply(transitions::endTrust).position() instanceof Ended end && end.loss() != null) {
				throw LeaderPhase.lapsed();
			}
			"""),

	/** G1: a winner passes the barrier while a session holds an earlier term's key. */
	BARRIER_BESIDE_EARLIER_TERM(List.of("G1 barrier", "G1 predecessors", "G1 fence"), "LeaderPhase",
			"if (!clear && blockedBy == null) {", "if (!clear) {"),

	/** G2: the takeover delay is skipped if the winner found no earlier term. */
	NO_TAKEOVER_DELAY_IF_CLEAR(List.of("G2 exclusion"), "LeaderPhase",
			"this.settings.takeoverDelay(this.won.ending()).toNanos()",
			"(this.won.clear() ? 0 : this.settings.takeoverDelay(this.won.ending()).toNanos())"),

	/** G4, G5: the state before a transition is read before the lock is taken. */
	STATE_BEFORE_LOCK(List.of("G5 events", "G4 hand-over", "G4 interrupt", "G6 liveness", "G2 trust", "G2 exclusion",
			"G2 revocation", "G6 stop"), "Election", """
					return locked(() -> {
						ElectionState before = this.state;
					""", """
					ElectionState before = this.state;
					return locked(() -> {
					"""),

	/** G5: the effects of a transition begin when the lock has been released. */
	EFFECTS_WITHOUT_LOCK(List.of("G5 events", "G4 interrupt"), "Election", """
			this.effects.run(prepared);
			this.changed.signalAll();
			""", """
			this.changed.signalAll();
			this.lock.unlock();
			try {
				this.effects.run(prepared);
			}
			finally {
				this.lock.lock();
			}
			"""),

	/** G2: a lost term is logged before its session is aborted. */
	LOG_BEFORE_ABORT(List.of("G2 revocation", "G2 exclusion", "G4 interrupt"), "ElectionEffects",
			"this.effects.add(loop()::abortSession);", """
					this.effects.add(() -> ElectionEffects.this.log.warn("Lost " + leadership));
					this.effects.add(loop()::abortSession);
					"""),

	/** G4: a listener that has waited for its own hand-over is not waited for again. */
	DETACHED_FOR_GOOD(List.of("G4 hand-over"), "SerialWorker", """
			this.running = null;
			this.detached = false;
			""", """
			this.running = null;
			"""),

	/** G2, G6: work is interrupted on the thread that finds its end. */
	INTERRUPT_ON_CALLER(List.of("G2 revocation", "G4 interrupt", "G6 stop"), "WorkGate", """
			this.interrupter.signal();
			for (Work work : this.inFlight) {
			""", """
			deliverInterrupts(this.interrupter);
			for (Work work : this.inFlight) {
			"""),

	/** G6: a request is accepted although another one never returns. */
	REQUEST_WITHOUT_DEADLINE(List.of("G6 request"), "Election", "if (this.effects.isRequestOverdue()) {",
			"if (false) {"),

	/** G6: a query for names that fails ends the session. */
	NAMES_END_SESSION(List.of("G6 loss", "G6 liveness", "G6 seats"), "postgresql/advisory", "Peers", """
			Jdbc.throwIfInterrupted(connection, ex);
			""", """
			if (true) {
				throw ex;
			}
			"""),

	/** G6: a node whose pool lends no connection does not observe the election. */
	POOL_NEEDED(List.of("G6 seats", "G6 liveness"), "postgresql/advisory", "AdvisoryLockStore",
			"(watch != null || failed) ? watch", "(watch != null || known != null) ? watch"),

	/** G2: a session does not look for a leader with the other store. */
	OTHER_STORE_IGNORED(List.of("G2 stores"), "postgresql/advisory", "AdvisoryLockSession", """
			checkLeaseTable();
			}
			return this.seat != 0;
			""", """
			}
			return this.seat != 0;
			"""),

	/** G6: a cancelled statement is taken for one that has acquired no lock. */
	CANCELLED_WAIT_LEAKS(List.of("G6 leak", "G6 liveness", "G6 seats"), "postgresql/advisory", "AdvisoryLockSession",
			"""
					if (!QUERY_CANCELED.equals(ex.getSQLState())
							|| query(this.sql::holdsAny, (row) -> row.getBoolean("holds"))) {
					""", """
					if (!QUERY_CANCELED.equals(ex.getSQLState())) {
					"""),

	/** G2: a winner misreads how its predecessor has ended. */
	ENDING_MISREAD(List.of("G2 exclusion", "G2 cause"), "postgresql/advisory", "AdvisoryLockSession",
			"Boolean.parseBoolean(parts[2])", "Boolean.parseBoolean(parts[3])"),

	/** G1: a confirmation does not look at the keys of earlier terms. */
	PREDECESSOR_IGNORED(List.of("G1 predecessors", "G1 barrier", "G1 fence"), "postgresql/advisory",
			"AdvisoryLockSession", "others.predecessors().isEmpty() ? null", "true ? null"),

	/** G4, G2: a hand-over is clean although work runs that waits for it. */
	CLEAN_DESPITE_DETACHED_WORK(List.of("G4 clean"), "HandOverPhase", """
			return !this.election.gate().isEmpty() ? "leader work" : !this.election.effects().relay().isIdle()
			""", """
			return !this.election.gate().isDrained() ? "leader work" : !this.election.effects().relay().isSettled()
			"""),

	/** G4: inner work looks for its outer work before it is counted. */
	INNER_WORK_COUNTED_LATE(List.of("G4 drain"), "WorkGate", """
			registerInner(work);
			if (!this.inFlight.contains(origin) || origin.leadership().isInterrupted()
					|| !origin.leadership().isCurrent()) {
				work.close();
				return null;
			}
			""", """
			if (!this.inFlight.contains(origin) || origin.leadership().isInterrupted()
					|| !origin.leadership().isCurrent()) {
				return null;
			}
			registerInner(work);
			"""),

	/** G4: the wait for the end of earlier work does not check its condition again. */
	PAUSE_WITHOUT_LOOP(List.of("G4 earlier work"), "Election", """
			for (long remaining = nanos; remaining > 0
					&& !enough.getAsBoolean(); remaining = deadline - this.platform.nanoTime()) {
				try {
			""", """
			for (long remaining = nanos; remaining > 0; remaining = 0) {
				try {
			"""),

	/** G6: the watchdog is told of the deadline of a call before it is written. */
	CHECK_BEFORE_DEADLINE(List.of("G6 liveness", "G6 stop"), "SupervisedSession", """
			this.current = new Call(this.election.nanoTime() + limit.toNanos(), onOverrun);
			this.watchdog.checkWithin(limit.toNanos());
			""", """
			this.watchdog.checkWithin(limit.toNanos());
			this.current = new Call(this.election.nanoTime() + limit.toNanos(), onOverrun);
			"""),

	/** G2: a late confirmation extends trust that has run out. */
	LAPSED_TRUST_EXTENDED(List.of("G2 trust"), "Transitions",
			"(granted != null && granted.trustRemaining(now.nanos()) > 0)", "(granted != null)"),

	/** G4: of several cancelled works, only the first counts as possibly running. */
	FIRST_CANCELLED_WORK_ONLY(List.of("G4 clean"), "TermLeadership", """
			Long knownUntil = (known != null) ? known.until() : null;
			if (known == null || (knownUntil != null && (until == null || until - knownUntil > 0))) {
			""", """
			if (known == null) {
			"""),

	/** G6, G2: the watchdog resets the flag of a request after its checks. */
	REQUEST_RESET_LATE(List.of(), "Watchdog", """
			this.requested = false;
			this.wakeAt = this.platform.nanoTime() + NO_DEADLINE;
			long sleep = NO_DEADLINE;
			for (Supervised each : this.supervised) {
				sleep = Math.min(sleep, check(each));
			}
			sleep = Math.min(sleep, check(this.interrupter));
			long now = this.platform.nanoTime();
			sleep = Math.min(sleep, this.wakeAt - now);
			this.wakeAt = now + sleep;
			if (!this.requested) {
				this.platform.park(this, sleep);
			}
			""", """
			this.wakeAt = this.platform.nanoTime() + NO_DEADLINE;
			long sleep = NO_DEADLINE;
			for (Supervised each : this.supervised) {
				sleep = Math.min(sleep, check(each));
			}
			sleep = Math.min(sleep, check(this.interrupter));
			long now = this.platform.nanoTime();
			sleep = Math.min(sleep, this.wakeAt - now);
			this.wakeAt = now + sleep;
			if (!this.requested) {
				this.platform.park(this, sleep);
			}
			this.requested = false;
			""");

	private final List<String> guarantees;

	private final SourceChange change;

	BlindMistake(List<String> guarantees, String type, String original, String replacement) {
		this(guarantees, "engine", type, original, replacement);
	}

	BlindMistake(List<String> guarantees, String folder, String type, String original, String replacement) {
		this.guarantees = guarantees;
		this.change = new SourceChange(folder, type, original, replacement);
	}

	/**
	 * The guarantees that it violates, whichever is noticed first.
	 */
	List<String> guarantees() {
		return this.guarantees;
	}

	SourceChange change() {
		return this.change;
	}

}
