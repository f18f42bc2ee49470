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

import java.util.List;

import io.leaderelection.testsupport.SourceChange;
import org.jspecify.annotations.Nullable;

/**
 * Mistakes, which tests under jcstress or scenarios of Lincheck find. There is one for
 * each: a test that no longer finds its mistake can no longer fail.
 */
public enum Mistake {

	/** The product as it is. */
	NONE,

	// In the election

	/** A hand-over looks for work before it closes the gate. */
	DRAIN_BEFORE_HAND_OVER("WorkGateStress.EntryAndDrain", "WorkGateStress.EndAndDrain"),

	/** A drain does not iterate again if inner work was registered meanwhile. */
	ONE_ITERATION("WorkGateStress.InnerEntryAndDrain"),

	/** Listeners are notified while work is in flight. */
	NOTIFIED_BEFORE_DRAIN("HandOverStress.WorkAndRelease"),

	/** A stop looks for an opening before it changes the state. */
	OPENING_BEFORE_STOP("StopStress.OpeningAndStop"),

	/** A state is put together from two reads. */
	STATE_OF_TWO_READS("StateStress.CompleteStatus"),

	/** What is read before the lock, may have changed when it is held. */
	STATE_BEFORE_LOCK,

	/** The end of an inner action under the lock lets other threads in. */
	LOCK_GIVEN_UP,

	// In the gate

	/** Inner work looks for the outer work before it is registered. */
	OUTER_BEFORE_REGISTRATION("WorkGateStress.InnerEntryAndEnd"),

	/** Work is recorded as cancelled when it has ended. */
	CANCELLED_AFTER_END("WorkGateStress.CancellationAndDrain"),

	// In interrupts

	/** Nothing waits until its interrupt has been made, which takes some time. */
	INTERRUPT_NOT_AWAITED("WorkInterruptStress.LossAndClose", "WorkInterruptStress.OverdueAndClose",
			"WorkInterruptStress.InterruptAndClose", "WorkInterruptStress.LossOfNestedElections",
			"SerialWorkerStress.InterruptAndNextTask", "SerialWorkerStress.InterruptAndIdle",
			"StopStress.InterruptOfOpening"),

	/** What waits until its interrupt has been made, clears another one. */
	OTHER_INTERRUPT_CLEARED("WorkInterruptStress.LossAndOtherInterrupt"),

	// In the relay

	/** Whether there is a thread for a task is determined before the task is added. */
	SCHEDULED_BEFORE_ADDED("SerialWorkerStress.AddAndIdle"),

	/** A task with a subject is not interrupted. */
	SUBJECT_NOT_INTERRUPTED("SerialWorkerStress.InterruptOfRunningTask"),

	// In the source, since these are the order of two accesses to memory

	/** Work checks for its interrupt before the interrupt can find its cancellation. */
	CHECK_BEFORE_CONTINUATION(
			List.of("WorkInterruptStress.LossAndContinuation", "WorkInterruptStress.OverdueAndInnerContinuation"),
			new SourceChange("Work", """
					synchronized (this.root) {
						this.cancellation = cancellation;
						late = this.interrupted;
					}
					if (this.outer != null) {
						this.gate.registerInner(this);
					}
					if (late || !this.leadership.isCurrent() || this.leadership.isInterrupted()) {
					""", """
					late = !this.leadership.isCurrent() || this.leadership.isInterrupted();
					for (int i = 0; i < 100; i++) {
						Thread.onSpinWait();
					}
					synchronized (this.root) {
						this.cancellation = cancellation;
					}
					if (this.outer != null) {
						this.gate.registerInner(this);
					}
					if (late) {
					""")),

	/** While the watchdog checks deadlines, it seems to know the next one. */
	NO_TIME_DURING_ROUND(List.of("WatchdogStress.DeadlineAndPark"),
			new SourceChange("Watchdog", "this.wakeAt = this.platform.nanoTime() + NO_DEADLINE;", ""));

	/** The system property that names the mistake of a process. */
	public static final String PROPERTY = "stress.mistake";

	private final List<String> tests;

	private final @Nullable SourceChange change;

	Mistake(String... tests) {
		this(List.of(tests), null);
	}

	Mistake(List<String> tests, @Nullable SourceChange change) {
		this.tests = tests;
		this.change = change;
	}

	/**
	 * Return the tests that find this mistake under jcstress.
	 */
	public List<String> tests() {
		return this.tests;
	}

	public @Nullable SourceChange change() {
		return this.change;
	}

}
