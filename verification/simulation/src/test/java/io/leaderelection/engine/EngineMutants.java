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

import java.util.SplittableRandom;
import java.util.function.Consumer;

import io.leaderelection.ElectionEvent;
import io.leaderelection.LeadershipRevokedEvent.Reason;
import io.leaderelection.simulation.Process;
import io.leaderelection.simulation.Scheduler;
import io.leaderelection.testsupport.Mutant;

/**
 * The seeded mistakes of the engine and of its platform.
 */
final class EngineMutants {

	private EngineMutants() {
	}

	static DefaultLeaderElector.Engine engine(Mutant mutant) {
		return switch (mutant) {
			case ANCHOR_AT_REPLY -> AnchorAtReply::new;
			case UNLOCK_BEFORE_DRAIN -> UnlockBeforeDrain::new;
			case THREAD_DIES -> ThreadDies::new;
			case CANCEL_BEFORE_ABORT -> CancelBeforeAbort::new;
			case STOP_CUTS_RELEASE -> StopCutsRelease::new;
			case LOG_BEFORE_ABORT -> LogBeforeAbort::new;
			default -> Election::new;
		};
	}

	static Platform platform(Mutant mutant, Scheduler scheduler, Process process, SplittableRandom random) {
		return switch (mutant) {
			case THREAD_DIES -> new MortalThreads(scheduler, process, random);
			case WATCHDOG_DIES -> new MortalWatchdog(scheduler, process, random);
			case EVENT_NEEDS_THREAD -> new LossyWorkers(scheduler, process, random);
			case CANCEL_BEFORE_ABORT -> new ThreadPerTask(scheduler, process, random);
			default -> new SimulatedPlatform(scheduler, process, random);
		};
	}

	/**
	 * Takes the time of the reply for the anchor.
	 */
	private static final class AnchorAtReply extends Election {

		AnchorAtReply(ElectionSettings settings, ElectionTimings timings, TransactionFence fence, Platform platform,
				Consumer<ElectionEvent> publisher, ElectionLog log) {
			super(settings, timings, fence, platform, publisher, log);
		}

		@Override
		boolean grant(TermLeadership leadership, long anchor) {
			return super.grant(leadership, nanoTime());
		}

		@Override
		boolean extend(TermLeadership leadership, long anchor) {
			return super.extend(leadership, nanoTime());
		}

	}

	/**
	 * Takes everything for ended.
	 */
	private static final class UnlockBeforeDrain extends Election {

		UnlockBeforeDrain(ElectionSettings settings, ElectionTimings timings, TransactionFence fence, Platform platform,
				Consumer<ElectionEvent> publisher, ElectionLog log) {
			super(settings, timings, fence, platform, publisher, log);
		}

		@Override
		boolean isDrained() {
			return true;
		}

		@Override
		boolean hasEnded() {
			return true;
		}

	}

	/**
	 * Does not start an election thread again.
	 */
	private static final class ThreadDies extends Election {

		ThreadDies(ElectionSettings settings, ElectionTimings timings, TransactionFence fence, Platform platform,
				Consumer<ElectionEvent> publisher, ElectionLog log) {
			super(settings, timings, fence, platform, publisher, log);
		}

		@Override
		void revive(Runnable start) {
		}

	}

	/**
	 * The last guard around the loop of the election thread fails like what it guards.
	 */
	private static final class MortalThreads extends SimulatedPlatform {

		MortalThreads(Scheduler scheduler, Process process, SplittableRandom random) {
			super(scheduler, process, random);
		}

		@Override
		public void park(Object blocker, long nanos) {
			if (blocker instanceof ElectionLoop) {
				throw new OutOfMemoryError("Java heap space");
			}
			super.park(blocker, nanos);
		}

	}

	/**
	 * The watchdog allocates when a check has failed, and is not started again when it
	 * has died of that.
	 */
	private static final class MortalWatchdog extends SimulatedPlatform {

		private final Process process;

		private boolean dead;

		MortalWatchdog(Scheduler scheduler, Process process, SplittableRandom random) {
			super(scheduler, process, random);
			this.process = process;
		}

		@Override
		public void park(Object blocker, long nanos) {
			if (blocker instanceof Watchdog && nanos == Watchdog.PAUSE_AFTER_FAILURE) {
				this.process.allocate();
			}
			super.park(blocker, nanos);
		}

		@Override
		public Thread newThread(String name, Runnable task) {
			return super.newThread(name, name.equals("watchdog") ? () -> runOnce(task) : task);
		}

		private void runOnce(Runnable task) {
			while (this.dead) {
				super.park(this, Watchdog.NO_DEADLINE);
			}
			boolean ended = false;
			try {
				task.run();
				ended = true;
			}
			finally {
				this.dead = !ended;
			}
		}

	}

	/**
	 * Drops a task for which there is no thread.
	 */
	private static final class LossyWorkers extends SimulatedPlatform {

		LossyWorkers(Scheduler scheduler, Process process, SplittableRandom random) {
			super(scheduler, process, random);
		}

		@Override
		public Workers newWorkers(String name, int threads, Runnable onStarvation) {
			boolean events = name.endsWith("-events");
			return events ? (task) -> {
				try {
					newThread(name, task).start();
				}
				catch (OutOfMemoryError ex) {
					// Lost
				}
			} : super.newWorkers(name, threads, onStarvation);
		}

	}

	/**
	 * Runs each task on a thread of its own, and on the thread that adds it if there is
	 * no other.
	 */
	private static final class ThreadPerTask extends SimulatedPlatform {

		ThreadPerTask(Scheduler scheduler, Process process, SplittableRandom random) {
			super(scheduler, process, random);
		}

		@Override
		public Workers newWorkers(String name, int threads, Runnable onStarvation) {
			return name.endsWith("-aside") ? (task) -> {
				try {
					newThread(name, task).start();
				}
				catch (OutOfMemoryError ex) {
					task.run();
				}
			} : super.newWorkers(name, threads, onStarvation);
		}

	}

	/**
	 * Cancels work before it ends the session.
	 */
	private static final class CancelBeforeAbort extends Election {

		CancelBeforeAbort(ElectionSettings settings, ElectionTimings timings, TransactionFence fence, Platform platform,
				Consumer<ElectionEvent> publisher, ElectionLog log) {
			super(settings, timings, fence, platform, publisher, log);
		}

		@Override
		void lose(TermLeadership leadership, Reason reason, Runnable abort) {
			super.lose(leadership, reason, () -> {
				gate().interruptAll(leadership);
				abort.run();
			});
		}

	}

	/**
	 * Counts the time in which the lock must be freed from the beginning of the stop,
	 * however long work has taken to end.
	 */
	private static final class StopCutsRelease extends Election {

		StopCutsRelease(ElectionSettings settings, ElectionTimings timings, TransactionFence fence, Platform platform,
				Consumer<ElectionEvent> publisher, ElectionLog log) {
			super(settings, timings, fence, platform, publisher, log);
		}

		@Override
		long stopRemaining() {
			ElectionState.HandOver handOver = state().handOver();
			if (handOver == null || !handOver.stops() || state().granted() != null) {
				return super.stopRemaining();
			}
			long begin = handOver.interruptAt() - settings().drainTimeout().toNanos();
			long limit = ElectionSettings.GRACE.plus(timings().stopMargin()).toNanos();
			return Math.min(super.stopRemaining(), begin + limit - nanoTime());
		}

	}

	/**
	 * Logs a loss before it ends the session.
	 */
	private static final class LogBeforeAbort extends Election {

		LogBeforeAbort(ElectionSettings settings, ElectionTimings timings, TransactionFence fence, Platform platform,
				Consumer<ElectionEvent> publisher, ElectionLog log) {
			super(settings, timings, fence, platform, publisher, log);
		}

		@Override
		void lose(TermLeadership leadership, Reason reason, Runnable abort) {
			super.lose(leadership, reason, () -> {
				log().warn("Lost " + leadership);
				abort.run();
			});
		}

	}

}
