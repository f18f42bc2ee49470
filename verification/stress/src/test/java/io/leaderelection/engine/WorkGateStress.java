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

import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.ReentrantLock;

import org.jspecify.annotations.Nullable;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.ZZ_Result;

/**
 * Work that begins or ends while the election hands over.
 */
public final class WorkGateStress {

	private WorkGateStress() {
	}

	/**
	 * Have work leave its thread, which runs the next sample, but stay in flight.
	 */
	private static void leaveRunning(@Nullable Work work) {
		if (work != null) {
			work.continueUntilEnd(StressElections.NOTHING);
			work.close();
		}
	}

	/**
	 * Work is counted first and leadership is checked second; a hand-over changes the
	 * state first and looks for work second.
	 */
	@JCStressTest
	@Outcome(id = "true, true", expect = Expect.FORBIDDEN, desc = "Work was admitted that the drain has missed")
	@Outcome(id = "true, false", expect = Expect.ACCEPTABLE, desc = "The drain waits for the work")
	@Outcome(id = "false, true", expect = Expect.ACCEPTABLE, desc = "The gate was closed")
	@Outcome(id = "false, false", expect = Expect.ACCEPTABLE, desc = "The drain waits for work that is refused")
	@State
	public static class EntryAndDrain {

		private final Election election = StressElections.leading();

		@Actor
		public void enter(ZZ_Result result) {
			Work work = this.election.gate().enter("job");
			result.r1 = work != null;
			leaveRunning(work);
		}

		@Actor
		public void drain(ZZ_Result result) {
			this.election.resign("test");
			result.r2 = this.election.isDrained();
		}

	}

	/**
	 * Work begins inside other work, on another thread, just before that ends. The drain
	 * iterates over a set that changes.
	 */
	@JCStressTest
	@Outcome(id = "true, true", expect = Expect.FORBIDDEN, desc = "The drain has missed the inner work")
	@Outcome(id = "true, false", expect = Expect.ACCEPTABLE, desc = "The drain waits")
	@State
	public static class InnerEntryAndDrain {

		/** The inner work comes before the outer work in a table of 16 places. */
		private static final int PLACES = 16;

		private final Election election = StressElections.leading();

		private final Work outer;

		public InnerEntryAndDrain() {
			for (int place = 1; place < PLACES - 1; place++) {
				enter(null).close();
			}
			this.outer = enter(null);
			leaveRunning(this.outer);
			this.election.resign("test");
		}

		private Work enter(@Nullable Work origin) {
			Work work = this.election.gate().enter("job", origin);
			if (work == null) {
				throw new IllegalStateException("Refused");
			}
			return work;
		}

		@Actor
		public void enterInnerAndEndOuter(ZZ_Result result) {
			Work inner = this.election.gate().enter("inner", this.outer);
			result.r1 = inner != null;
			this.outer.end();
			leaveRunning(inner);
		}

		@Actor
		public void drain(ZZ_Result result) {
			result.r2 = this.election.isDrained();
		}

	}

	/**
	 * Work begins inside other work while that ends on another thread. The inner work is
	 * registered first, and looks for the outer work second.
	 */
	@JCStressTest
	@Outcome(id = "true, true", expect = Expect.FORBIDDEN, desc = "The drain has missed the inner work")
	@Outcome(id = "true, false", expect = Expect.ACCEPTABLE, desc = "The drain waits for the inner work")
	@Outcome(id = "false, true", expect = Expect.ACCEPTABLE, desc = "The outer work had ended")
	@Outcome(id = "false, false", expect = Expect.ACCEPTABLE, desc = "The drain waits for work that is refused")
	@State
	public static class InnerEntryAndEnd {

		private final Election election = StressElections.leading();

		private final @Nullable Work outer;

		public InnerEntryAndEnd() {
			this.outer = this.election.gate().enter("outer");
			leaveRunning(this.outer);
			this.election.resign("test");
		}

		@Actor
		public void enterInner(ZZ_Result result) {
			Work inner = this.election.gate().enter("inner", this.outer);
			result.r1 = inner != null;
			leaveRunning(inner);
		}

		@Actor
		public void endOuterAndDrain(ZZ_Result result) {
			if (this.outer != null) {
				this.outer.end();
			}
			result.r2 = this.election.isDrained();
		}

	}

	/**
	 * The last work ends while a hand-over begins to wait for it. Work is removed first
	 * and the state is read second; a hand-over changes the state first and looks for
	 * work second.
	 */
	@JCStressTest
	@Outcome(id = "true, .*", expect = Expect.ACCEPTABLE, desc = "The hand-over has not waited")
	@Outcome(id = "false, true", expect = Expect.ACCEPTABLE, desc = "The hand-over is woken up")
	@Outcome(id = "false, false", expect = Expect.FORBIDDEN, desc = "The hand-over waits for work that has ended")
	@State
	public static class EndAndDrain extends StressElections.InertPlatform {

		/** The lock of the election is taken to have the hand-over look again. */
		private final AtomicInteger locked = new AtomicInteger();

		private final Election election = StressElections.leading(this);

		private final @Nullable Work work;

		public EndAndDrain() {
			this.work = this.election.gate().enter("job");
			leaveRunning(this.work);
			this.locked.set(0);
		}

		@Override
		public Lock newLock() {
			return new ReentrantLock() {

				@Override
				public void lock() {
					EndAndDrain.this.locked.incrementAndGet();
					super.lock();
				}

			};
		}

		@Actor
		public void end() {
			if (this.work != null) {
				this.work.end();
			}
		}

		@Actor
		public void drain(ZZ_Result result) {
			this.election.resign("test");
			result.r1 = this.election.isDrained();
		}

		@Arbiter
		public void count(ZZ_Result result) {
			// The first two are the transition and the wake-up of the resignation itself
			result.r2 = this.locked.get() > 2;
		}

	}

	/**
	 * Cancelled work ends. The hand-over must not be clean, since its code may still be
	 * running.
	 */
	@JCStressTest
	@Outcome(id = "false, .*", expect = Expect.ACCEPTABLE, desc = "The hand-over waits")
	@Outcome(id = "true, true", expect = Expect.ACCEPTABLE, desc = "The hand-over is not clean")
	@Outcome(id = "true, false", expect = Expect.FORBIDDEN, desc = "The hand-over is clean")
	@State
	public static class CancellationAndDrain {

		private final Election election = StressElections.leading();

		private final @Nullable TermLeadership leadership = this.election.leadership();

		private final @Nullable Work work;

		public CancellationAndDrain() {
			this.work = this.election.gate().enter("job");
			leaveRunning(this.work);
			this.election.resign("test");
		}

		@Actor
		public void cancel() {
			if (this.work != null) {
				this.work.endCancelled();
			}
		}

		@Actor
		public void drain(ZZ_Result result) {
			result.r1 = this.election.isDrained();
			result.r2 = this.leadership != null && this.leadership.residue(this.election.nanoTime()) != null;
		}

	}

}
