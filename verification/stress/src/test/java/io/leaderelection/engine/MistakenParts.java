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

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;

import io.leaderelection.ElectionEvent;
import org.jspecify.annotations.Nullable;

/**
 * The parts of an election, of which one may have the mistake of this process.
 */
final class MistakenParts {

	private static final Mistake MISTAKE = Mistake.valueOf(System.getProperty(Mistake.PROPERTY, "NONE"));

	private MistakenParts() {
	}

	static Election election(Parts parts) {
		return switch (MISTAKE) {
			case DRAIN_BEFORE_HAND_OVER -> new StressElection(parts) {

				private volatile boolean drained;

				@Override
				CompletableFuture<Boolean> resign(String cause) {
					this.drained = super.isDrained();
					return super.resign(cause);
				}

				@Override
				boolean isDrained() {
					return this.drained;
				}

			};
			case ONE_ITERATION -> new StressElection(parts) {

				@Override
				boolean isDrained() {
					return gate().size() == 0;
				}

			};
			case NOTIFIED_BEFORE_DRAIN -> new StressElection(parts) {

				@Override
				boolean isDrained() {
					return true;
				}

			};
			case OPENING_BEFORE_STOP -> new StressElection(parts) {

				@Override
				CompletableFuture<@Nullable Void> stop() {
					loop().abortSession();
					return super.stop();
				}

				@Override
				public void wakeUp() {
				}

			};
			case STATE_OF_TWO_READS -> new StressElection(parts) {

				@Override
				public ElectionState state() {
					ElectionState first = super.state();
					StressElections.spin();
					return first.at(super.state().position());
				}

			};
			case STATE_BEFORE_LOCK -> new StressElection(parts) {

				@Override
				ElectionState apply(Step step) {
					ElectionState before = state();
					return super.apply((state, now) -> step.apply(before, now));
				}

			};
			case OUTER_BEFORE_REGISTRATION, CANCELLED_AFTER_END -> new StressElection(parts) {

				private final WorkGate gate = MistakenParts.gate(this, parts.watchdog().interrupter());

				@Override
				WorkGate gate() {
					return this.gate;
				}

			};
			default -> new StressElection(parts);
		};
	}

	private static WorkGate gate(Election election, Interrupter interrupter) {
		return (MISTAKE == Mistake.OUTER_BEFORE_REGISTRATION) ? new WorkGate(election, Runnable::run, interrupter) {

			@Override
			public @Nullable Work enter(Object description, @Nullable Work origin) {
				if (origin == null || !isInFlight(origin)) {
					return super.enter(description, origin);
				}
				Work work = new Work(this, origin.leadership(), description, 0);
				registerInner(work);
				work.bind();
				return work;
			}

		} : new WorkGate(election, Runnable::run, interrupter) {

			@Override
			void cancelled(TermLeadership leadership) {
			}

			@Override
			void ended(Work work) {
				super.ended(work);
				super.cancelled(work.leadership());
			}

		};
	}

	static Lock lock() {
		return (MISTAKE != Mistake.LOCK_GIVEN_UP) ? new ReentrantLock() : new ReentrantLock() {

			@Override
			public void unlock() {
				super.unlock();
				int held = getHoldCount();
				while (isHeldByCurrentThread()) {
					super.unlock();
				}
				for (int i = 0; i < held; i++) {
					lock();
				}
			}

		};
	}

	static void delayInterrupt() {
		if (MISTAKE == Mistake.INTERRUPT_NOT_AWAITED || MISTAKE == Mistake.OTHER_INTERRUPT_CLEARED) {
			StressElections.spin();
		}
	}

	static void awaitInterrupt(BooleanSupplier made, Runnable correctly) {
		if (MISTAKE == Mistake.OTHER_INTERRUPT_CLEARED) {
			while (!made.getAsBoolean()) {
				Thread.interrupted();
			}
		}
		else if (MISTAKE != Mistake.INTERRUPT_NOT_AWAITED) {
			correctly.run();
		}
	}

	static SerialWorker worker(Platform.Worker worker, Interruption interruption) {
		return switch (MISTAKE) {
			case SCHEDULED_BEFORE_ADDED -> new SerialWorker(worker, StressElections.NOTHING, interruption) {

				private boolean idle;

				@Override
				boolean add(Task added) {
					this.idle = isIdle();
					return super.add(added);
				}

				@Override
				boolean schedule() {
					return !this.idle || super.schedule();
				}

			};
			case SUBJECT_NOT_INTERRUPTED -> new SerialWorker(worker, StressElections.NOTHING, interruption) {

				@Override
				public void interrupt(Object subject) {
				}

			};
			default -> new SerialWorker(worker, StressElections.NOTHING, interruption);
		};
	}

	/**
	 * What an election is made of.
	 */
	record Parts(ElectionSettings settings, ElectionStore store, Platform platform, Consumer<ElectionEvent> listener,
			Watchdog watchdog) {
	}

	private static class StressElection extends Election {

		StressElection(Parts parts) {
			super(parts.settings(), ElectionTimings.DEFAULTS,
					new Transitions(parts.settings(), ElectionTimings.DEFAULTS), parts.store(), parts.platform(),
					parts.listener(), ElectionLog.NONE, parts.watchdog());
		}

	}

}
