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

package io.leaderelection.stress;

import io.leaderelection.testsupport.SourceChange;

/**
 * A mistake in the order of two steps of the engine, and the test that finds it.
 */
enum SeededMistake {

	CHECK_BEFORE_REGISTRATION("WorkGateStress.EntryAndDrain", "WorkGate", """
			register(work);
			if (!this.owner.admitsWork(leadership)) {
				work.close();
				return null;
			}
			""", """
			if (!this.owner.admitsWork(leadership)) {
				return null;
			}
			register(work);
			"""),

	CHECK_BEFORE_REGISTRATION_AT_LOSS("WorkInterruptStress.LossAndClose", CHECK_BEFORE_REGISTRATION.change),

	CHECK_BEFORE_REGISTRATION_OF_INNER_WORK("WorkGateStress.InnerEntryAndEnd", "WorkGate", """
			registerInner(work);
			if (!this.inFlight.contains(origin)""", """
			boolean missing = !this.inFlight.contains(origin);
			registerInner(work);
			if (missing"""),

	ONE_ITERATION("WorkGateStress.InnerEntryAndDrain", "WorkGate", "while (this.innerWork.get() != before);",
			"while (false);"),

	ENDED_BEFORE_REMOVAL("WorkGateStress.EndAndDrain", "WorkGate", """
			if (this.inFlight.remove(work)) {
				this.owner.workEnded();
			}
			""", """
			if (this.inFlight.contains(work)) {
				this.owner.workEnded();
				this.inFlight.remove(work);
			}
			"""),

	CANCELLED_AFTER_END("WorkGateStress.CancellationAndDrain", "Work", """
			if (early) {
				this.gate.cancelled(this.leadership);
				WorkObservation observation = observation();
				if (observation != null) {
					observation.cancelled();
				}
			}
			end();
			""", """
			end();
			if (early) {
				this.gate.cancelled(this.leadership);
			}
			"""),

	INTERRUPT_WITHOUT_LOCK("WorkInterruptStress.LossAndClose", "Work", """
			synchronized (this.root) {
				interrupted = this.thread;
			""", """
			{
				interrupted = this.thread;
			"""),

	INTERRUPT_WITHOUT_LOCK_WHEN_OVERDUE("WorkInterruptStress.OverdueAndClose", INTERRUPT_WITHOUT_LOCK.change),

	CLEARED_FOR_OTHERS("WorkInterruptStress.LossAndOtherInterrupt", "Work",
			"if (this.delivered && !this.foreignInterrupt) {", "if (this.delivered) {"),

	CLOSED_BESIDE_INTERRUPT("WorkInterruptStress.InterruptAndClose", "Work", "if (!leave(false)) {",
			"if (!leave(true)) {"),

	CLEARED_FOR_OUTER_WORK("WorkInterruptStress.LossOfNestedElections", "Work", "if (this.interrupts > 0) {",
			"if (false) {"),

	CHECK_BEFORE_CONTINUATION("WorkInterruptStress.OverdueAndInnerContinuation", "Work", """
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
			synchronized (this.root) {
				this.cancellation = cancellation;
			}
			if (this.outer != null) {
				this.gate.registerInner(this);
			}
			if (late) {
			"""),

	INNER_CONTINUED_WITHOUT_CHECK("WorkInterruptStress.OverdueAndInnerContinuation", "Work",
			" || this.leadership.isInterrupted()) {", ") {"),

	STATE_IN_TWO_STEPS("StateStress.CompleteStatus", "Election", "this.state = after;", """
			this.state = before.at(after.position());
			this.state = after;
			"""),

	STATUS_OF_TWO_STATES("StateStress.CompleteStatus", "ElectionStatus", "Granted granted = state.granted();",
			"Granted granted = election.state().granted();"),

	TASK_INTERRUPTED_LATE("SerialWorkerStress.InterruptAndNextTask", "SerialWorker", """
			synchronized (this.monitor) {
				if (this.running != null && this.running.subject == subject) {
					this.interruption.request();
				}
			}
			""", """
			boolean found;
			synchronized (this.monitor) {
				found = this.running != null && this.running.subject == subject;
			}
			if (found) {
				Thread.yield();
				this.interruption.request();
			}
			"""),

	LAST_TASK_INTERRUPTED_LATE("SerialWorkerStress.InterruptAndIdle", "Interruption",
			"if (!this.made.getAsBoolean()) {", "if (!this.made.getAsBoolean() && false) {"),

	NOT_RUNNING("SerialWorkerStress.InterruptOfRunningTask", "SerialWorker", "return this.running;", """
			Task begun = this.running;
			this.running = null;
			return begun;
			"""),

	SCHEDULED_AFTER_IDLE("SerialWorkerStress.AddAndIdle", "SerialWorker", """
			this.scheduled = this.running != null;
			this.thread = this.scheduled ? Thread.currentThread() : null;
			if (this.scheduled) {
				this.interruption.begin();
			}
			return this.running;
			}
			""", """
			if (this.running != null) {
				this.thread = Thread.currentThread();
				return this.running;
			}
			}
			unschedule();
			return null;
			"""),

	PERMIT_ALONE("WatchdogStress.DeadlineAndPark", "Watchdog", "if (!this.requested) {", "{"),

	NO_TIME_DURING_ROUND("WatchdogStress.DeadlineAndPark", "Watchdog",
			"this.wakeAt = this.platform.nanoTime() + NO_DEADLINE;", ""),

	REQUEST_FORGOTTEN("WatchdogStress.DeadlineAndPark", "Watchdog", "this.wakeAt = now + sleep;", """
			this.wakeAt = now + sleep;
			this.requested = false;
			"""),

	NOTIFIED_BEFORE_DRAIN("HandOverStress.WorkAndRelease", "HandOverPhase", """
			await(LAST_CALL, this.election::isDrained);
			Transitions transitions = this.election.transitions();
			this.election.apply(transitions::notifyListeners);
			""", """
			Transitions transitions = this.election.transitions();
			this.election.apply(transitions::notifyListeners);
			await(LAST_CALL, this.election::isDrained);
			"""),

	STOP_BEFORE_OPENER("StopStress.OpeningAndStop", "SupervisedSession", """
			opening.begin();
			synchronized (this.openingMonitor) {
				this.opens = true;
			}
			try {
				if (unwanted.getAsBoolean()) {
			""", """
			boolean stopped = unwanted.getAsBoolean();
			opening.begin();
			synchronized (this.openingMonitor) {
				this.opens = true;
			}
			try {
				if (stopped) {
			"""),

	OPENING_INTERRUPTED_LATE("StopStress.InterruptOfOpening", LAST_TASK_INTERRUPTED_LATE.change);

	/** What is read before the lock, may have changed when it is held. */
	static final SourceChange STATE_BEFORE_LOCK = new SourceChange("Election", """
			return locked(() -> {
				ElectionState before = this.state;
			""", """
			ElectionState before = this.state;
			return locked(() -> {
			""");

	private final String test;

	private final SourceChange change;

	SeededMistake(String test, String type, String original, String replacement) {
		this(test, new SourceChange(type, original, replacement));
	}

	SeededMistake(String test, SourceChange change) {
		this.test = test;
		this.change = change;
	}

	String test() {
		return this.test;
	}

	SourceChange change() {
		return this.change;
	}

}
