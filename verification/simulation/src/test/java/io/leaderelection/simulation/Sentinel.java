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

import java.util.Set;

import io.leaderelection.testsupport.SourceChange;
import org.jspecify.annotations.Nullable;

/**
 * Mistakes, one for each check of the simulation. A check that no longer finds its
 * sentinel can no longer fail. Sentinels do not say what else is tested.
 */
public enum Sentinel {

	/** The product as it is, of which no check may find anything. */
	NONE(Check.values()),

	// In statements

	/** The fence does not lock the row of the election. */
	FENCE_WITHOUT_LOCK(Check.G1_TRANSACTIONS, Store.TABLE),

	/** The fence lets every transaction pass. */
	OPEN_FENCE(Check.G1_FENCE),

	/** A winner does not wait until no session holds a key of an earlier term. */
	NO_WAIT_FOR_EARLIER_TERMS(Check.G1_PREDECESSORS),

	/** The same, and it passes the barrier with a statement of its own. */
	BARRIER_BESIDE_EARLIER_TERM(Check.G1_BARRIER),

	/** Reads why sessions have ended before the predecessor is gone. */
	COUNTED_TOO_EARLY(Check.G2_CAUSE),

	/** Does not see that a node with the other store leads. */
	OTHER_STORE_NOT_SEEN(Check.G2_STORES),

	/** Takes a transaction id for the term without making it durable. */
	BARE_TRANSACTION_ID(Check.G3_TERMS),

	/** A release is always marked as clean. */
	RELEASED_AS_CLEAN(Check.G4_CLEAN, Store.TABLE),

	/** A takeover does not compare the term. */
	TERM_NOT_COMPARED(Check.G4_DELAY, Store.TABLE),

	/** Does not limit how long a transaction that has passed the fence may be idle. */
	NO_LIMIT_IN_FENCE(Check.G6_FENCE),

	/** Leaves the lock to a candidate of higher priority, but keeps its own. */
	YIELDS_WITHOUT_UNLOCK(Check.G6_LEAK),

	/** A winner keeps its seat. */
	SEAT_NOT_FREED(Check.G6_SEATS),

	/** Several sessions may have the same seat. */
	SEAT_SHARED(Check.G7_SEATS),

	// In transitions

	/** Counts trust from the reply of a confirmation instead of its start. */
	ANCHOR_AT_REPLY(Check.G2_EXCLUSION),

	/** Leadership outlives trust, which a late confirmation extends. */
	TRUST_REVIVED(Check.G2_TRUST),

	/** A winner is granted leadership although its candidacy is suspended. */
	SUSPENSION_IGNORED(Check.G4_CANDIDACY),

	/** Frees the lock without waiting for work and listeners. */
	UNLOCK_BEFORE_DRAIN(Check.G4_DRAIN),

	/** Frees the lock without waiting for listeners. */
	LISTENERS_NOT_AWAITED(Check.G4_HAND_OVER),

	/** A stop leaves no time for a hand-over. */
	STOP_WITHOUT_TIME(Check.G4_CUT),

	/** A hand-over does not notify listeners. */
	ENDED_WITHOUT_EVENT(Check.G5_EVENTS),

	/** Leadership ends long before trust does. */
	EXPIRES_EARLY(Check.G6_LOSS),

	/** A stop waits for work and for the store without a limit. */
	STOP_WITHOUT_LIMIT(Check.G6_STOP),

	// In what the engine runs on

	/** A session is woken by a request to its server, under the lock of the election. */
	WAKE_UNDER_LOCK(Check.G2_REVOCATION),

	/** Inner work of another election clears the interrupt of outer work. */
	INNER_WORK_CLEARS_INTERRUPT(Check.G4_INTERRUPT_LEFT),

	/** A lack of memory ends the election thread for good. */
	THREAD_DIES(Check.G6_LIVENESS),

	/** No wait for a condition lasts long. */
	BUSY_WAIT(Check.G7_LOAD),

	// In the source, since nothing there can be replaced

	/** Work is interrupted on the thread that finds its end. */
	INTERRUPT_ON_CALLER(Check.G4_INTERRUPT, Store.ADVISORY_LOCK, new SourceChange("WorkGate", """
			this.interrupter.signal();
			for (Work work : this.inFlight) {
			""", """
			deliverInterrupts(this.interrupter);
			for (Work work : this.inFlight) {
			""")),

	/** Of several cancelled works, only the first counts as possibly running. */
	FIRST_CANCELLED_WORK_ONLY(Check.G4_CLEAN, Store.ADVISORY_LOCK, new SourceChange("TermLeadership", """
			Long knownUntil = (known != null) ? known.until() : null;
			if (known == null || (knownUntil != null && (until == null || until - knownUntil > 0))) {
			""", """
			if (known == null) {
			""")),

	/** The effects of a transition begin when the lock has been released. */
	EFFECTS_WITHOUT_LOCK(Check.G5_EVENTS, Store.ADVISORY_LOCK, new SourceChange("Election", """
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
			""")),

	/** The watchdog is told of the deadline of a call before it is written. */
	CHECK_BEFORE_DEADLINE(Check.G6_LIVENESS, Store.ADVISORY_LOCK, new SourceChange("SupervisedSession", """
			this.current = new Call(this.election.nanoTime() + limit.toNanos(), onOverrun);
			this.watchdog.checkWithin(limit.toNanos());
			""", """
			this.watchdog.checkWithin(limit.toNanos());
			this.current = new Call(this.election.nanoTime() + limit.toNanos(), onOverrun);
			""")),

	/** The wait for the end of earlier work does not check its condition again. */
	PAUSE_WITHOUT_LOOP(Check.G4_EARLIER_WORK, Store.ADVISORY_LOCK, new SourceChange("Election", """
			for (long remaining = nanos; remaining > 0
					&& !enough.getAsBoolean(); remaining = deadline - this.platform.nanoTime()) {
				try {
			""", """
			for (long remaining = nanos; remaining > 0; remaining = 0) {
				try {
			""")),

	/** A request is accepted although another one never returns. */
	REQUEST_WITHOUT_DEADLINE(Check.G6_REQUEST, Store.ADVISORY_LOCK,
			new SourceChange("Election", "if (this.effects.isRequestOverdue()) {", "if (false) {"));

	private final Set<Check> checks;

	private final Store store;

	private final @Nullable SourceChange change;

	Sentinel(Check... checks) {
		this(Set.of(checks), Store.ADVISORY_LOCK, null);
	}

	Sentinel(Check check, Store store) {
		this(check, store, null);
	}

	Sentinel(Check check, Store store, @Nullable SourceChange change) {
		this(Set.of(check), store, change);
	}

	Sentinel(Set<Check> checks, Store store, @Nullable SourceChange change) {
		this.checks = checks;
		this.store = store;
		this.change = change;
	}

	/**
	 * Return what may find this sentinel.
	 */
	Set<Check> checks() {
		return this.checks;
	}

	Store store() {
		return this.store;
	}

	@Nullable SourceChange change() {
		return this.change;
	}

}
