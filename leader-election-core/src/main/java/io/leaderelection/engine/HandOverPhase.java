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

import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;

import io.leaderelection.engine.Position.Ended;
import io.leaderelection.engine.Position.HandOver;
import io.leaderelection.engine.Position.HandingOver;
import org.jspecify.annotations.Nullable;

/**
 * The actions of the election thread in a hand-over: it waits for work, notifies
 * listeners, waits for them, and frees the lock last.
 */
final class HandOverPhase {

	private static final long OVERDUE_INTERVAL = TimeUnit.MILLISECONDS.toNanos(10);

	private static final long REPORT_AFTER = TimeUnit.SECONDS.toNanos(1);

	private static final long GRACE = ElectionSettings.GRACE.toNanos();

	/** When listeners are notified although work continues after its interrupt. */
	private static final long LAST_CALL = GRACE / 2;

	/** When listeners that were notified that late are interrupted. */
	private static final long LAST_INTERRUPT = GRACE / 4 * 3;

	private final Election election;

	private final ElectionLog log;

	private final LeaderPhase leader;

	private final TermLeadership granted;

	private final HandOver handOver;

	private boolean waiting;

	private boolean interruptedLast;

	HandOverPhase(Election election, LeaderPhase leader, HandingOver begun) {
		this.election = election;
		this.leader = leader;
		this.granted = begun.leadership();
		this.handOver = begun.handOver();
		this.log = election.log().of(this.granted.getTerm(), this.handOver.reason());
	}

	/**
	 * Wait for work and listeners, and free the lock.
	 * @return whether everything of the term has ended
	 * @throws SessionException if the leadership is lost before
	 */
	boolean run() throws SessionException {
		this.log.info("Handing over " + this.granted + " (" + this.handOver.reason()
				+ ((this.handOver.cause() != null) ? ", requested by: " + this.handOver.cause() : "") + ")");
		// Listeners must have some time too, even if work does not end
		await(LAST_CALL, this.election::isDrained);
		Transitions transitions = this.election.transitions();
		this.election.apply(transitions::notifyListeners);
		boolean ended = await(GRACE, this.election::hasEnded);
		if (!ended) {
			this.log.warn("Freeing the lock although work or listeners of " + this.granted
					+ " are still running after drain-timeout and an interrupt: "
					+ this.election.gate().describe(Work::describe));
		}
		String residue = ended ? residue() : "leader work or a listener";
		if (this.election.apply(transitions::endTrust).position() instanceof Ended end && end.loss() != null) {
			throw LeaderPhase.lapsed();
		}
		boolean succeeded = this.leader.release(residue == null);
		this.election.statistics().drained(waited());
		this.log.info("Released " + this.granted
				+ ((residue != null) ? ", not cleanly: " + residue + " may still be running" : ""));
		this.leader.released(succeeded);
		return ended;
	}

	/**
	 * Wait for a condition, with confirmations, until some time after the deadline of
	 * work and listeners.
	 * @return whether the condition holds
	 */
	private boolean await(long overdue, BooleanSupplier condition) throws SessionException {
		long deadline = this.handOver.interruptAt() + overdue;
		while (!condition.getAsBoolean()) {
			long now = this.election.nanoTime();
			if (deadline - now <= 0) {
				return false;
			}
			this.election.apply(this.election.transitions()::interrupt);
			if (now - this.handOver.interruptAt() >= LAST_INTERRUPT && !this.interruptedLast) {
				this.interruptedLast = true;
				this.election.effects().relay().interrupt();
			}
			if (waited() >= REPORT_AFTER && !this.waiting) {
				this.waiting = true;
				this.log.info("Handing over " + this.granted + " waits for listeners, services or work: "
						+ this.election.gate().describe(Work::name).replace("\n", ", "));
			}
			this.leader.keep(now + OVERDUE_INTERVAL, Duration.ZERO, condition);
		}
		return true;
	}

	private long waited() {
		return this.election.nanoTime() - this.handOver.interruptAt()
				+ this.election.settings().drainTimeout().toNanos();
	}

	/**
	 * Return what may still be running although a hand-over does not wait for it, or
	 * {@code null} if there is nothing.
	 */
	private @Nullable String residue() {
		return !this.election.gate().isEmpty() ? "leader work" : !this.election.effects().relay().isIdle()
				? "a listener" : this.granted.residue(this.election.nanoTime());
	}

}
