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

import java.util.concurrent.TimeUnit;

import org.jspecify.annotations.Nullable;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.ZZ_Result;

/**
 * The wake-up of the watchdog.
 */
public final class WatchdogStress {

	private WatchdogStress() {
	}

	/**
	 * A deadline is set while the watchdog checks the deadlines and goes to sleep. A
	 * check may also wait for a lock, and so consume the permit of the thread.
	 */
	@JCStressTest
	@Outcome(id = "true, .*", expect = Expect.ACCEPTABLE, desc = "The watchdog knows the deadline")
	@Outcome(id = "false, true", expect = Expect.ACCEPTABLE, desc = "The watchdog is woken up")
	@Outcome(id = "false, false", expect = Expect.FORBIDDEN, desc = "The watchdog sleeps beyond the deadline")
	@State
	public static class DeadlineAndPark extends StressElections.InertPlatform implements Watchdog.Supervised {

		/** Ends the loop of the watchdog where its thread would be parked. */
		private static final Error PARKED = new Error("Parked", null, false, false) {
		};

		private static final long DEADLINE = TimeUnit.SECONDS.toNanos(1);

		private final Watchdog watchdog = new Watchdog(this);

		private @Nullable Runnable task;

		private volatile boolean permit;

		private volatile boolean deadline;

		private boolean known;

		public DeadlineAndPark() {
			this.watchdog.add(this);
		}

		@Actor
		public void watch() {
			try {
				if (this.task != null) {
					this.task.run();
				}
			}
			catch (Error ex) {
				if (ex != PARKED) {
					throw ex;
				}
			}
		}

		@Actor
		public void setDeadline() {
			this.deadline = true;
			this.watchdog.checkWithin(DEADLINE);
		}

		@Arbiter
		public void look(ZZ_Result result) {
			result.r1 = this.known;
			result.r2 = this.permit;
		}

		@Override
		public long checkDeadlines() {
			this.known = this.deadline;
			this.permit = false;
			return this.known ? DEADLINE : Watchdog.NO_DEADLINE;
		}

		@Override
		public Thread newThread(String name, Runnable task) {
			this.task = task;
			return StressElections.NoThread.INSTANCE;
		}

		@Override
		public void park(Object blocker, long nanos) {
			if (!this.permit) {
				throw PARKED;
			}
			this.permit = false;
		}

		@Override
		public void unpark(Thread thread) {
			this.permit = true;
		}

	}

}
