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
import java.util.function.BooleanSupplier;

import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;

/**
 * Interrupts what a thread does between {@link #begin()} and {@link #end()}, and nothing
 * later. The interrupt is made by another thread, since it may run code of the
 * application. One thread at a time may begin.
 */
public final class Interruption implements Interrupter.Source {

	private static final ElectionLog log = new ElectionLog(LogFactory.getLog(Interruption.class));

	private final Interrupter own;

	private volatile Interrupter interrupter;

	private final Duration longest;

	// Guarded by the monitor of this object
	private @Nullable Thread thread;

	private boolean requested;

	private boolean interrupted;

	/** The interrupt that is being made, unless its thread no longer waits for it. */
	private volatile @Nullable Interrupt current;

	private final BooleanSupplier made = () -> !isOfCurrentThread(this.current);

	/**
	 * Create a new {@code Interruption} instance with a thread of its own, which is
	 * created when it is needed.
	 * @param platform creates the thread
	 */
	public Interruption(Platform platform) {
		this(new Interrupter(platform, () -> {
		}, (ex) -> log.warn("An interrupt has failed", ex)), ElectionSettings.GRACE);
	}

	/**
	 * Create a new {@code Interruption} instance.
	 * @param interrupter makes the interrupts
	 * @param longest how long the end waits for an interrupt that is being made
	 */
	Interruption(Interrupter interrupter, Duration longest) {
		this.own = interrupter;
		this.interrupter = interrupter;
		this.longest = longest;
		interrupter.add(this);
	}

	/**
	 * Have the interrupts made by another interrupter from here on.
	 * @param other the interrupter, or {@code null} for the first one
	 */
	void use(@Nullable Interrupter other) {
		Interrupter former = this.interrupter;
		Interrupter next = (other != null) ? other : this.own;
		if (next != former) {
			next.add(this);
			this.interrupter = next;
			former.remove(this);
			// A request may have found neither of the two
			next.signal();
		}
	}

	/**
	 * Have the current thread be interrupted on request from here on.
	 */
	public synchronized void begin() {
		this.requested = false;
		this.interrupted = false;
		this.thread = Thread.currentThread();
	}

	/**
	 * Interrupt what the thread does, if it has begun. Does not wait.
	 * @return whether there is a thread that makes the interrupt; if not, another request
	 * is needed
	 */
	public boolean request() {
		synchronized (this) {
			this.requested = this.thread != null;
		}
		return this.interrupter.signal();
	}

	/**
	 * Let no interrupt begin from here on. Does not wait.
	 */
	private synchronized void leave() {
		if (this.thread == Thread.currentThread()) {
			this.thread = null;
		}
	}

	/**
	 * Let no interrupt reach the current thread from here on, and clear that of before.
	 * Waits for an interrupt that is being made, but not for ever, and not a second time.
	 */
	public void end() {
		leave();
		if (!this.made.getAsBoolean()) {
			this.interrupter.await(this.made, this.longest.toNanos());
			giveUp();
		}
		Thread.interrupted();
	}

	private void giveUp() {
		synchronized (this) {
			if (!isOfCurrentThread(this.current)) {
				return;
			}
			this.current = null;
		}
		// Another one may have waited for it
		this.interrupter.hangs();
	}

	private static boolean isOfCurrentThread(@Nullable Interrupt interrupt) {
		return interrupt != null && interrupt.thread == Thread.currentThread();
	}

	@Override
	public void deliverInterrupts(Interrupter by) {
		for (Interrupt next = next(); next != null; next = next()) {
			try {
				by.interrupt(next.thread);
			}
			finally {
				made(next);
				by.interrupted(next.thread);
			}
		}
	}

	/**
	 * Return the interrupt to be made, if any. While a thread waits for one, none other
	 * begins.
	 */
	private synchronized @Nullable Interrupt next() {
		Thread next = this.thread;
		if (!this.requested || next == null || this.current != null) {
			return null;
		}
		// May fail for lack of memory
		this.current = new Interrupt(next);
		this.requested = false;
		this.interrupted = true;
		return this.current;
	}

	/**
	 * Restore the interrupt of the current thread if it was made since it has begun: work
	 * that has ended meanwhile may have cleared it.
	 */
	synchronized void restore() {
		if (this.interrupted && this.thread == Thread.currentThread()) {
			this.thread.interrupt();
		}
	}

	private synchronized void made(Interrupt interrupt) {
		if (this.current == interrupt) {
			this.current = null;
		}
	}

	/** An interrupt of a thread. */
	private static final class Interrupt {

		private final Thread thread;

		Interrupt(Thread thread) {
			this.thread = thread;
		}

	}

}
