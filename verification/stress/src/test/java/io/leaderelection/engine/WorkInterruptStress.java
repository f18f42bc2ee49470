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
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BooleanSupplier;

import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.IZZ_Result;
import org.openjdk.jcstress.infra.results.ZZ_Result;
import org.openjdk.jcstress.infra.results.Z_Result;

/**
 * The interrupt of work whose term is lost or whose hand-over is overdue, while that work
 * begins, continues or ends.
 */
public final class WorkInterruptStress {

	private static final int REFUSED = 0;

	private static final int RUNS = 1;

	private static final int INTERRUPTED = 2;

	private static final int MISSED = 3;

	private WorkInterruptStress() {
	}

	/**
	 * Enter work, look for its interrupt once, and leave it.
	 * @param over whether all work has been interrupted
	 */
	private static void work(Election election, InvocationCounts counts, BooleanSupplier over, IZZ_Result result) {
		try (Work work = election.gate().enter("job")) {
			if (work != null) {
				work.endWith(counts);
				StressElections.spin();
				boolean late = over.getAsBoolean();
				result.r1 = Thread.currentThread().isInterrupted() ? INTERRUPTED : late ? MISSED : RUNS;
			}
			else {
				result.r1 = REFUSED;
			}
		}
		result.r2 = Thread.interrupted();
	}

	private static boolean isInterrupted(InvocationCounts counts) {
		return counts.get(InvocationCounts.Outcome.INTERRUPTED) > 0;
	}

	/**
	 * Work that begins and ends while its term is lost.
	 */
	@JCStressTest
	@Outcome(id = "0, false, false", expect = Expect.ACCEPTABLE, desc = "Refused")
	@Outcome(id = "1, false, false", expect = Expect.ACCEPTABLE, desc = "Ended before the loss")
	@Outcome(id = "1, false, true", expect = Expect.ACCEPTABLE, desc = "Interrupted between its last look and its end")
	@Outcome(id = "2, false, true", expect = Expect.ACCEPTABLE, desc = "Interrupted")
	@Outcome(id = "., true, .*", expect = Expect.FORBIDDEN,
			desc = "The interrupt has reached the thread after the work")
	@Outcome(id = "2, false, false", expect = Expect.FORBIDDEN, desc = "Interrupted, but not counted as such")
	@Outcome(id = "3, .*", expect = Expect.FORBIDDEN, desc = "Runs after the loss without an interrupt")
	@State
	public static class LossAndClose {

		private final Election election = StressElections.leading();

		private final InvocationCounts counts = new InvocationCounts("job");

		private volatile boolean lost;

		@Actor
		public void work(IZZ_Result result) {
			WorkInterruptStress.work(this.election, this.counts, () -> this.lost, result);
		}

		@Actor
		public void lose() {
			StressElections.lose(this.election);
			this.lost = true;
		}

		@Arbiter
		public void count(IZZ_Result result) {
			result.r3 = isInterrupted(this.counts);
		}

	}

	/**
	 * Work that begins and ends while the time for its hand-over runs out.
	 */
	@JCStressTest
	@Outcome(id = "0, false, false", expect = Expect.ACCEPTABLE, desc = "Refused")
	@Outcome(id = "1, false, false", expect = Expect.ACCEPTABLE, desc = "Ended before the deadline")
	@Outcome(id = "1, false, true", expect = Expect.ACCEPTABLE, desc = "Interrupted between its last look and its end")
	@Outcome(id = "2, false, true", expect = Expect.ACCEPTABLE, desc = "Interrupted")
	@Outcome(id = "., true, .*", expect = Expect.FORBIDDEN,
			desc = "The interrupt has reached the thread after the work")
	@Outcome(id = "2, false, false", expect = Expect.FORBIDDEN, desc = "Interrupted, but not counted as such")
	@Outcome(id = "3, .*", expect = Expect.FORBIDDEN, desc = "Runs after the deadline without an interrupt")
	@State
	public static class OverdueAndClose {

		private final Election election = StressElections.leading(StressElections.NO_LISTENER, Duration.ZERO);

		private final InvocationCounts counts = new InvocationCounts("job");

		private volatile boolean overdue;

		@Actor
		public void work(IZZ_Result result) {
			WorkInterruptStress.work(this.election, this.counts, () -> this.overdue, result);
		}

		@Actor
		public void handOver() {
			StressElections.handOverAtOnce(this.election);
			this.overdue = true;
		}

		@Arbiter
		public void count(IZZ_Result result) {
			result.r3 = isInterrupted(this.counts);
		}

	}

	/**
	 * Work that ends while another thread makes its interrupt.
	 */
	@JCStressTest
	@Outcome(id = "false", expect = Expect.ACCEPTABLE, desc = "No interrupt is left")
	@Outcome(id = "true", expect = Expect.FORBIDDEN, desc = "The interrupt has reached the thread after the work")
	@State
	public static class InterruptAndClose {

		private final Interrupter interrupter = new StressElections.ManualInterrupter(
				new StressElections.InertPlatform());

		private final Election election = StressElections.leading(this.interrupter);

		@Actor
		public void work(Z_Result result) {
			try (Work work = this.election.gate().enter("job")) {
				if (work != null) {
					StressElections.lose(this.election);
					StressElections.spin();
				}
			}
			result.r1 = Thread.interrupted();
		}

		@Actor
		public void interrupt() {
			StressElections.spin();
			this.interrupter.interruptAll();
		}

	}

	/**
	 * The thread of the work had been interrupted for another reason.
	 */
	@JCStressTest
	@Outcome(id = "true, true", expect = Expect.ACCEPTABLE, desc = "Remains")
	@Outcome(id = "false, .*", expect = Expect.FORBIDDEN, desc = "The entry has cleared the interrupt")
	@Outcome(id = ".*, false", expect = Expect.FORBIDDEN, desc = "The end of the work has cleared the interrupt")
	@State
	public static class LossAndOtherInterrupt {

		private final Election election = StressElections.leading();

		@Actor
		public void work(ZZ_Result result) {
			Thread.currentThread().interrupt();
			try (Work work = this.election.gate().enter("job")) {
				result.r1 = Thread.currentThread().isInterrupted();
				StressElections.spin();
			}
			result.r2 = Thread.interrupted();
		}

		@Actor
		public void lose() {
			StressElections.lose(this.election);
		}

	}

	/**
	 * Work of one election inside that of another, and both are lost.
	 */
	@JCStressTest
	@Outcome(id = "false, false", expect = Expect.ACCEPTABLE, desc = "Correct")
	@Outcome(id = "true, .*", expect = Expect.FORBIDDEN,
			desc = "The end of the inner work has cleared the interrupt of the outer work")
	@Outcome(id = ".*, true", expect = Expect.FORBIDDEN, desc = "The interrupt has reached the thread after the work")
	@State
	public static class LossOfNestedElections {

		private final Election outer = StressElections.leading();

		private final Election inner = StressElections.leading();

		private volatile boolean lost;

		@Actor
		public void work(ZZ_Result result) {
			try (Work work = this.outer.gate().enter("outer")) {
				Work nested = this.inner.gate().enter("inner");
				if (nested != null) {
					nested.close();
				}
				StressElections.spin();
				boolean late = this.lost;
				result.r1 = work != null && late && !Thread.currentThread().isInterrupted();
			}
			result.r2 = Thread.interrupted();
		}

		@Actor
		public void lose() {
			StressElections.lose(this.inner);
			StressElections.lose(this.outer);
			this.lost = true;
		}

	}

	/**
	 * Work that continues after its thread has left it, while its term is lost.
	 */
	@JCStressTest
	@Outcome(id = "true, true", expect = Expect.ACCEPTABLE, desc = "Cancelled")
	@Outcome(id = "false, false", expect = Expect.ACCEPTABLE, desc = "Refused")
	@Outcome(id = "true, false", expect = Expect.FORBIDDEN, desc = "Not cancelled")
	@State
	public static class LossAndContinuation {

		private final Election election = StressElections.leading();

		private final AtomicInteger cancellations = new AtomicInteger();

		@Actor
		public void work(ZZ_Result result) {
			try (Work work = this.election.gate().enter("job")) {
				result.r1 = work != null;
				if (work != null) {
					work.continueUntilEnd(this.cancellations::incrementAndGet);
				}
			}
		}

		@Actor
		public void lose() {
			StressElections.lose(this.election);
		}

		@Arbiter
		public void count(ZZ_Result result) {
			result.r2 = this.cancellations.get() > 0;
		}

	}

	/**
	 * Inner work that continues after its thread has left it, while the time for the
	 * hand-over runs out: this work is registered only when it continues.
	 */
	@JCStressTest
	@Outcome(id = "true, true", expect = Expect.ACCEPTABLE, desc = "Cancelled")
	@Outcome(id = "false, false", expect = Expect.ACCEPTABLE, desc = "Refused")
	@Outcome(id = "true, false", expect = Expect.FORBIDDEN, desc = "Not cancelled")
	@State
	public static class OverdueAndInnerContinuation {

		private final Election election = StressElections.leading(StressElections.NO_LISTENER, Duration.ZERO);

		private final AtomicInteger cancellations = new AtomicInteger();

		@Actor
		public void work(ZZ_Result result) {
			try (Work outer = this.election.gate().enter("outer"); Work inner = this.election.gate().enter("inner")) {
				result.r1 = outer != null && inner != null;
				if (outer != null && inner != null) {
					inner.continueUntilEnd(this.cancellations::incrementAndGet);
				}
			}
		}

		@Actor
		public void handOver() {
			StressElections.handOverAtOnce(this.election);
		}

		@Arbiter
		public void count(ZZ_Result result) {
			result.r2 = this.cancellations.get() > 0;
		}

	}

}
