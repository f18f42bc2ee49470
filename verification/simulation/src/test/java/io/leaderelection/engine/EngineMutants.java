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

import io.leaderelection.engine.Position.HandOver;
import io.leaderelection.simulation.Process;
import io.leaderelection.simulation.Scheduler;
import io.leaderelection.testsupport.Mutant;

/**
 * The seeded mistakes of the engine and of its platform.
 */
final class EngineMutants {

	private EngineMutants() {
	}

	static ObservedTransitions transitions(Mutant mutant, ElectionSettings settings, ElectionTimings timings) {
		return switch (mutant) {
			case ANCHOR_AT_REPLY -> new AnchorAtReply(settings, timings);
			case UNLOCK_BEFORE_DRAIN -> new UnlockBeforeDrain(settings, timings);
			case STOP_CUTS_RELEASE -> new StopCutsRelease(settings, timings);
			default -> new ObservedTransitions(settings, timings);
		};
	}

	static Platform platform(Mutant mutant, Scheduler scheduler, Process process, SplittableRandom random) {
		return switch (mutant) {
			case THREAD_DIES -> new MortalThread(scheduler, process, random, ElectionLoop.class);
			case WATCHDOG_DIES -> new MortalThread(scheduler, process, random, Watchdog.class);
			case EVENT_NEEDS_THREAD -> new LossyWorkers(scheduler, process, random);
			default -> new SimulatedPlatform(scheduler, process, random);
		};
	}

	/**
	 * Takes the time of the reply for the anchor.
	 */
	private static final class AnchorAtReply extends ObservedTransitions {

		AnchorAtReply(ElectionSettings settings, ElectionTimings timings) {
			super(settings, timings);
		}

		@Override
		ElectionState grant(ElectionState state, Moment now, TermLeadership leadership, long anchor) {
			return super.grant(state, now, leadership, now.nanos());
		}

		@Override
		ElectionState extend(ElectionState state, Moment now, long anchor) {
			return super.extend(state, now, now.nanos());
		}

	}

	/**
	 * Takes everything for ended.
	 */
	private static final class UnlockBeforeDrain extends ObservedTransitions {

		UnlockBeforeDrain(ElectionSettings settings, ElectionTimings timings) {
			super(settings, timings);
		}

		@Override
		boolean isDrained(WorkGate gate) {
			return true;
		}

		@Override
		boolean hasEnded(WorkGate gate, SerialWorker relay) {
			return true;
		}

	}

	/**
	 * Counts the time in which the lock must be freed from the beginning of the stop,
	 * however long work has taken to end.
	 */
	private static final class StopCutsRelease extends ObservedTransitions {

		private final long drainTimeout;

		private final long limit;

		StopCutsRelease(ElectionSettings settings, ElectionTimings timings) {
			super(settings, timings);
			this.drainTimeout = settings.drainTimeout().toNanos();
			this.limit = ElectionSettings.GRACE.plus(timings.stopMargin()).toNanos();
		}

		@Override
		long stopRemaining(ElectionState state, long now) {
			HandOver handOver = (state.granted() == null) ? state.position().handOver() : null;
			long remaining = super.stopRemaining(state, now);
			return (handOver != null && state.isStopping())
					? Math.min(remaining, handOver.interruptAt() - this.drainTimeout + this.limit - now) : remaining;
		}

	}

	/**
	 * The last guard around the loop of a thread fails like what it guards.
	 */
	private static final class MortalThread extends SimulatedPlatform {

		private final Process process;

		private final Class<?> loop;

		MortalThread(Scheduler scheduler, Process process, SplittableRandom random, Class<?> loop) {
			super(scheduler, process, random);
			this.process = process;
			this.loop = loop;
		}

		@Override
		public void park(Object blocker, long nanos) {
			if (this.loop.isInstance(blocker) && nanos == PAUSE_AFTER_FAILURE) {
				this.process.allocate();
			}
			super.park(blocker, nanos);
		}

	}

	/**
	 * Drops an event for which no thread can be created.
	 */
	private static final class LossyWorkers extends SimulatedPlatform {

		LossyWorkers(Scheduler scheduler, Process process, SplittableRandom random) {
			super(scheduler, process, random);
		}

		@Override
		public Worker newWorker(String name) {
			return name.endsWith("-events") ? (task) -> {
				try {
					newThread(name, task).start();
				}
				catch (OutOfMemoryError ex) {
					// Lost
				}
			} : super.newWorker(name);
		}

	}

}
