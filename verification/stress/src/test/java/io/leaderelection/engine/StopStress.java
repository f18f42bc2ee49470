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
import java.util.concurrent.CompletableFuture;

import org.jspecify.annotations.Nullable;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.ZZZ_Result;
import org.openjdk.jcstress.infra.results.ZZ_Result;

/**
 * A stop or a deadline while the election thread opens a session.
 */
public final class StopStress {

	private StopStress() {
	}

	/**
	 * The election thread announces that it opens a session and then looks for the stop;
	 * a stop changes the state and then looks for who opens a session. The opening blocks
	 * until the stop has returned.
	 */
	@JCStressTest
	@Outcome(id = "false, false, true", expect = Expect.ACCEPTABLE, desc = "Stopped")
	@Outcome(id = "true, .*, .*", expect = Expect.FORBIDDEN, desc = "The opening was not interrupted")
	@Outcome(id = ".*, true, .*", expect = Expect.FORBIDDEN, desc = "The interrupt has outlived the opening")
	@Outcome(id = ".*, .*, false", expect = Expect.FORBIDDEN, desc = "The stop has not ended")
	@State
	public static class OpeningAndStop extends StressElections.InertPlatform {

		private final Election election = StressElections.create(this, this::open, StressElections.NO_LISTENER,
				Duration.ofHours(1));

		private final CompletableFuture<?> decision = this.election.start();

		private @Nullable Runnable run;

		private volatile @Nullable CompletableFuture<?> end;

		private boolean missed;

		@Actor
		public void lead(ZZZ_Result result) {
			if (this.run != null) {
				this.run.run();
			}
			result.r1 = this.missed;
			result.r2 = Thread.interrupted();
			result.r3 = this.decision.isDone();
		}

		@Actor
		public void stop() {
			this.end = this.election.stop();
		}

		private StoreSession open() throws SessionException {
			boolean stopped = false;
			while (!stopped && !Thread.currentThread().isInterrupted()) {
				stopped = this.end != null;
				Thread.onSpinWait();
			}
			this.missed = !Thread.currentThread().isInterrupted();
			throw new SessionException("Interrupted", null);
		}

		@Override
		public Thread newThread(String name, Runnable task) {
			if (!name.equals("watchdog")) {
				this.run = task;
			}
			return StressElections.NoThread.INSTANCE;
		}

	}

	/**
	 * An opening ends by itself while it is interrupted.
	 */
	@JCStressTest
	@Outcome(id = ".*, false", expect = Expect.ACCEPTABLE, desc = "The opening only")
	@Outcome(id = ".*, true", expect = Expect.FORBIDDEN, desc = "The interrupt has outlived the opening")
	@State
	public static class InterruptOfOpening implements StressElections.IdleSession {

		private final Interrupter interrupter = new StressElections.ManualInterrupter(
				new StressElections.InertPlatform());

		private final Election election = StressElections.started(this.interrupter);

		private final SupervisedSession session = new SupervisedSession(this::open, this.election,
				new Watchdog(this.election.platform()));

		private boolean interrupted;

		@Actor
		public void open(ZZ_Result result) {
			try {
				this.session.open(() -> false);
			}
			catch (SessionException ex) {
				throw new IllegalStateException(ex);
			}
			result.r1 = this.interrupted;
			StressElections.spin();
			result.r2 = Thread.interrupted();
		}

		@Actor
		public void interrupt() {
			this.session.interruptOpening();
			this.interrupter.interruptAll();
		}

		private StoreSession open() {
			StressElections.spin();
			this.interrupted = Thread.currentThread().isInterrupted();
			return this;
		}

	}

}
