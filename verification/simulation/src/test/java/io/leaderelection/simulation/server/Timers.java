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

package io.leaderelection.simulation.server;

import java.util.Arrays;

import io.leaderelection.simulation.server.EventQueue.Event;
import org.jspecify.annotations.Nullable;

/**
 * The timers of one session, as {@code timeout.c} of PostgreSQL has them: deadlines on
 * the wall clock, and a single alarm on true time that looks which of them are due. An
 * alarm that is already set for an earlier time stays, so that after a step of the clock
 * a timer runs with whatever alarm comes next.
 */
final class Timers {

	private static final long OFF = Long.MAX_VALUE;

	private static final Timeout[] TIMEOUTS = Timeout.values();

	private final EventQueue events;

	private final ServerClock clock;

	private final Backend backend;

	private final Runnable onAlarm = this::alarm;

	private final long[] deadlines = new long[TIMEOUTS.length];

	private @Nullable Event alarm;

	private long alarmDue;

	private boolean held;

	Timers(EventQueue events, ServerClock clock, Backend backend) {
		this.events = events;
		this.clock = clock;
		this.backend = backend;
		Arrays.fill(this.deadlines, OFF);
	}

	void arm(Timeout timeout, long millis) {
		if (millis > 0) {
			this.deadlines[timeout.ordinal()] = this.clock.now() + millis * 1_000_000;
			setAlarm();
		}
	}

	void disarm(Timeout timeout) {
		this.deadlines[timeout.ordinal()] = OFF;
	}

	void disarmAll() {
		Arrays.fill(this.deadlines, OFF);
		if (this.alarm != null) {
			this.alarm.cancel();
			this.alarm = null;
		}
	}

	private void setAlarm() {
		long nearest = this.deadlines[nearest()];
		if (nearest == OFF) {
			return;
		}
		long now = this.clock.now();
		if (this.alarm != null) {
			if (now <= nearest && nearest >= this.alarmDue) {
				return;
			}
			this.alarm.cancel();
		}
		this.alarmDue = nearest;
		this.alarm = this.events.schedule(this.clock.trueDuration(Math.max(0, nearest - now)), this.onAlarm);
	}

	private int nearest() {
		int nearest = 0;
		for (int timeout = 1; timeout < this.deadlines.length; timeout++) {
			if (this.deadlines[timeout] < this.deadlines[nearest]) {
				nearest = timeout;
			}
		}
		return nearest;
	}

	private void alarm() {
		this.alarm = null;
		if (this.backend.isFrozen()) {
			this.held = true;
			return;
		}
		int next = nearest();
		while (this.deadlines[next] != OFF && this.deadlines[next] <= this.clock.now()) {
			this.deadlines[next] = OFF;
			this.backend.timedOut(TIMEOUTS[next]);
			next = nearest();
		}
		setAlarm();
	}

	/**
	 * Deliver the alarm that came while the process was stopped.
	 */
	void thaw() {
		if (this.held) {
			this.held = false;
			alarm();
		}
	}

}
