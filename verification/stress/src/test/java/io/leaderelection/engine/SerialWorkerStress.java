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
import java.util.concurrent.atomic.AtomicReference;

import org.jspecify.annotations.Nullable;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.ZZZ_Result;
import org.openjdk.jcstress.infra.results.ZZ_Result;
import org.openjdk.jcstress.infra.results.Z_Result;

/**
 * The queue of listeners. The test runs what the worker would run on a thread.
 */
public final class SerialWorkerStress {

	private SerialWorkerStress() {
	}

	private static SerialWorker create(AtomicReference<@Nullable Runnable> scheduled) {
		return create(scheduled, new StressElections.ManualInterrupter(new StressElections.InertPlatform()));
	}

	private static SerialWorker create(AtomicReference<@Nullable Runnable> scheduled, Interrupter interrupter) {
		return MistakenParts.worker(scheduled::set, new Interruption(interrupter, Duration.ofHours(1)));
	}

	private static void runScheduled(AtomicReference<@Nullable Runnable> scheduled) {
		Runnable run = scheduled.getAndSet(null);
		if (run != null) {
			run.run();
		}
	}

	private static boolean isInterruptedSoon() {
		StressElections.spin();
		return Thread.currentThread().isInterrupted();
	}

	/**
	 * A task is added while the last one ends.
	 */
	@JCStressTest
	@Outcome(id = "true, true", expect = Expect.ACCEPTABLE, desc = "Runs")
	@Outcome(id = "false, .*", expect = Expect.FORBIDDEN, desc = "The task is lost")
	@Outcome(id = ".*, false", expect = Expect.FORBIDDEN, desc = "The worker is not idle")
	@State
	public static class AddAndIdle {

		private final AtomicReference<@Nullable Runnable> scheduled = new AtomicReference<>();

		private final SerialWorker worker = create(this.scheduled);

		private boolean ran;

		public AddAndIdle() {
			this.worker.add("first", StressElections.NOTHING, StressElections.NOTHING);
		}

		@Actor
		public void run() {
			runScheduled(this.scheduled);
		}

		@Actor
		public void add() {
			this.worker.add("second", () -> this.ran = true, StressElections.NOTHING);
		}

		@Arbiter
		public void runRest(ZZ_Result result) {
			runScheduled(this.scheduled);
			result.r1 = this.ran;
			result.r2 = this.worker.isIdle();
		}

	}

	/**
	 * The task with a subject is interrupted while the next one begins.
	 */
	@JCStressTest
	@Outcome(id = ".*, false, false", expect = Expect.ACCEPTABLE, desc = "The first task only")
	@Outcome(id = ".*, true, .*", expect = Expect.FORBIDDEN, desc = "The interrupt has reached the next task")
	@Outcome(id = ".*, .*, true", expect = Expect.FORBIDDEN, desc = "The interrupt has reached the thread")
	@State
	public static class InterruptAndNextTask {

		private final AtomicReference<@Nullable Runnable> scheduled = new AtomicReference<>();

		private final Interrupter interrupter = new StressElections.ManualInterrupter(
				new StressElections.InertPlatform());

		private final SerialWorker worker = create(this.scheduled, this.interrupter);

		private boolean first;

		private boolean second;

		public InterruptAndNextTask() {
			this.worker.add("first", () -> this.first = isInterruptedSoon(), StressElections.NOTHING);
			this.worker.add("second", () -> this.second = isInterruptedSoon(), StressElections.NOTHING);
		}

		@Actor
		public void run(ZZZ_Result result) {
			runScheduled(this.scheduled);
			result.r3 = Thread.interrupted();
			result.r1 = this.first;
			result.r2 = this.second;
		}

		@Actor
		public void interrupt() {
			this.worker.interrupt("first");
			this.interrupter.interruptAll();
		}

	}

	/**
	 * The task that runs is interrupted while it is the last one.
	 */
	@JCStressTest
	@Outcome(id = ".*, false", expect = Expect.ACCEPTABLE, desc = "The task only")
	@Outcome(id = ".*, true", expect = Expect.FORBIDDEN, desc = "The interrupt has reached the thread")
	@State
	public static class InterruptAndIdle {

		private final AtomicReference<@Nullable Runnable> scheduled = new AtomicReference<>();

		private final Interrupter interrupter = new StressElections.ManualInterrupter(
				new StressElections.InertPlatform());

		private final SerialWorker worker = create(this.scheduled, this.interrupter);

		private boolean task;

		public InterruptAndIdle() {
			this.worker.add("task", () -> this.task = isInterruptedSoon(), StressElections.NOTHING);
		}

		@Actor
		public void run(ZZ_Result result) {
			runScheduled(this.scheduled);
			StressElections.spin();
			result.r2 = Thread.interrupted();
			result.r1 = this.task;
		}

		@Actor
		public void interrupt() {
			this.worker.interrupt();
			this.interrupter.interruptAll();
		}

	}

	/**
	 * A task that has not ended when the interrupt has been sent has received it.
	 */
	@JCStressTest
	@Outcome(id = "true", expect = Expect.ACCEPTABLE, desc = "Interrupted")
	@Outcome(id = "false", expect = Expect.FORBIDDEN, desc = "The interrupt is lost")
	@State
	public static class InterruptOfRunningTask {

		private final AtomicReference<@Nullable Runnable> scheduled = new AtomicReference<>();

		private final Interrupter interrupter = new StressElections.ManualInterrupter(
				new StressElections.InertPlatform());

		private final SerialWorker worker = create(this.scheduled, this.interrupter);

		private volatile boolean running;

		private volatile boolean sent;

		private boolean received;

		public InterruptOfRunningTask() {
			this.worker.add("task", this::awaitInterrupt, StressElections.NOTHING);
		}

		private void awaitInterrupt() {
			this.running = true;
			while (!this.sent) {
				Thread.onSpinWait();
			}
			this.received = Thread.currentThread().isInterrupted();
		}

		@Actor
		public void run(Z_Result result) {
			runScheduled(this.scheduled);
			result.r1 = this.received;
		}

		@Actor
		public void interrupt() {
			while (!this.running) {
				Thread.onSpinWait();
			}
			this.worker.interrupt("task");
			this.interrupter.interruptAll();
			this.sent = true;
		}

	}

}
