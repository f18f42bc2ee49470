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

import java.util.Set;
import java.util.concurrent.CopyOnWriteArraySet;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;

import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;

/**
 * Interrupts the threads of leader work, of listeners, of services and those that open
 * sessions. An interrupt runs code of the application on the thread that makes it: it
 * closes the channel in which the other thread waits
 * ({@link java.nio.channels.InterruptibleChannel}), which may take any time. One thread
 * makes the interrupts of a node, and a second one only while the first hangs. If both
 * hang, or none can be created, interrupts wait. Only the end of what is interrupted
 * waits for them, for a limited time.
 */
class Interrupter implements Watchdog.Supervised {

	private static final ElectionLog log = new ElectionLog(LogFactory.getLog(Interrupter.class));

	/** After which time an interrupt hangs. */
	private static final long PATIENCE = TimeUnit.MILLISECONDS.toNanos(100);

	private final Platform platform;

	private final Set<Source> sources = new CopyOnWriteArraySet<>();

	private final Line first = new Line("interrupts");

	private final Line second = new Line("more-interrupts");

	private final Runnable checkSoon;

	/** Must not throw. */
	private final Consumer<Throwable> failed;

	private volatile boolean needed;

	/**
	 * Create a new {@code Interrupter} instance.
	 * @param platform creates its threads
	 * @param checkSoon has the watchdog check soon whether an interrupt hangs
	 * @param failed receives the failure of an interrupt
	 */
	Interrupter(Platform platform, Runnable checkSoon, Consumer<Throwable> failed) {
		this.platform = platform;
		this.checkSoon = checkSoon;
		this.failed = failed;
	}

	void add(Source source) {
		this.sources.add(source);
	}

	void remove(Source source) {
		this.sources.remove(source);
	}

	/**
	 * Begin to interrupt. The first thread is created now: there may be none later.
	 */
	void start() {
		this.needed = true;
		this.first.start();
	}

	/**
	 * End when all interrupts have been made.
	 */
	void stop() {
		this.needed = false;
		signal();
	}

	/**
	 * Note that sources have threads to be interrupted. Neither waits nor throws.
	 * @return whether there is a thread for it; if not, the interrupts wait for the next
	 * signal
	 */
	boolean signal() {
		this.first.wake();
		this.second.wake();
		try {
			this.first.start();
			if (!this.needed && this.first.busy) {
				// No watchdog would notice that it hangs
				this.second.start();
			}
			return true;
		}
		catch (Throwable ex) {
			// No memory, perhaps not even for a message
			return false;
		}
	}

	/**
	 * Note that an interrupt hangs, for which its thread no longer waits.
	 */
	void hangs() {
		signal();
		try {
			this.second.start();
		}
		catch (Throwable ex) {
			this.failed.accept(ex);
		}
	}

	/**
	 * Interrupt a thread, which may take any time. Called by a source.
	 */
	void interrupt(Thread thread) {
		Line line = (this.first.thread == Thread.currentThread()) ? this.first : this.second;
		try {
			if (!line.busy) {
				line.since = this.platform.nanoTime();
				line.busy = true;
				this.checkSoon.run();
			}
			thread.interrupt();
		}
		catch (Throwable ex) {
			// Of the code of the application
			this.failed.accept(ex);
		}
	}

	/**
	 * Note that the interrupt of a thread has been made, for which it may wait.
	 */
	void interrupted(Thread thread) {
		this.platform.unpark(thread);
	}

	/**
	 * Wait on the current thread until its interrupt has been made. Otherwise it could
	 * reach what the thread does next. Does not throw, also without memory.
	 * @param made whether it has been made
	 * @param limit the maximum time to wait, in nanoseconds
	 */
	void await(BooleanSupplier made, long limit) {
		long deadline = this.platform.nanoTime() + limit;
		boolean interrupted = false;
		long remaining = limit;
		while (!made.getAsBoolean() && remaining > 0) {
			// A thread with an interrupt cannot wait
			interrupted |= Thread.interrupted();
			try {
				this.platform.park(this, remaining);
			}
			catch (Throwable ex) {
				Thread.onSpinWait();
			}
			remaining = deadline - this.platform.nanoTime();
		}
		if (interrupted) {
			Thread.currentThread().interrupt();
		}
		if (!made.getAsBoolean()) {
			report(limit);
		}
	}

	private void report(long limit) {
		try {
			log.warn("The interrupt of thread '" + Thread.currentThread().getName() + "' has not returned within "
					+ TimeUnit.NANOSECONDS.toMillis(limit)
					+ "ms, and may reach what the thread does next. It is made by " + this.first + this.second);
		}
		catch (Throwable ex) {
			this.failed.accept(ex);
		}
	}

	/**
	 * Start the second thread if the first hangs.
	 */
	@Override
	public long checkDeadlines() {
		if (!this.first.busy || this.second.thread != null) {
			return Watchdog.NO_DEADLINE;
		}
		long remaining = this.first.since + PATIENCE - this.platform.nanoTime();
		if (remaining <= 0) {
			this.second.start();
		}
		return (remaining > 0) ? remaining : Watchdog.NO_DEADLINE;
	}

	void interruptAll() {
		for (Source source : this.sources) {
			source.deliverInterrupts(this);
		}
	}

	/** Has threads to be interrupted. */
	interface Source {

		/**
		 * Interrupt all threads that are to be interrupted, by
		 * {@link Interrupter#interrupt}, without a lock. May be called by several
		 * threads.
		 */
		void deliverInterrupts(Interrupter interrupter);

	}

	/** A thread that interrupts. */
	private final class Line {

		private final String name;

		private volatile @Nullable Thread thread;

		private volatile boolean requested;

		/**
		 * Whether it makes interrupts, of which many may take as long as one that hangs.
		 */
		private volatile boolean busy;

		private volatile long since;

		Line(String name) {
			this.name = name;
		}

		synchronized void start() {
			if (this.thread == null) {
				this.requested = true;
				Thread started = Interrupter.this.platform.newThread(this.name, this::run);
				this.thread = started;
				try {
					started.start();
				}
				catch (Throwable ex) {
					this.thread = null;
					throw ex;
				}
			}
		}

		void wake() {
			this.requested = true;
			Thread running = this.thread;
			if (running != null) {
				Interrupter.this.platform.unpark(running);
			}
		}

		private void run() {
			while (isNeeded()) {
				if (!this.requested) {
					Interrupter.this.platform.park(this, Watchdog.NO_DEADLINE);
				}
				this.requested = false;
				boolean failed = false;
				try {
					interruptAll();
				}
				catch (Throwable ex) {
					// Neither allocates nor logs, since there may be no memory
					failed = true;
				}
				if (this.busy) {
					this.busy = false;
					// The second one is no longer needed, unless it makes some itself
					Interrupter.this.second.wake();
				}
				if (failed) {
					this.requested = true;
					Interrupter.this.platform.park(this, Platform.PAUSE_AFTER_FAILURE);
				}
				Thread.interrupted();
			}
		}

		@Override
		public String toString() {
			Thread running = this.thread;
			StringBuilder result = new StringBuilder();
			if (running != null && this.busy) {
				result.append("thread '").append(running.getName()).append('\'');
				for (StackTraceElement element : running.getStackTrace()) {
					result.append("\n\tat ").append(element);
				}
			}
			return result.toString();
		}

		private synchronized boolean isNeeded() {
			boolean needed = this.requested
					|| ((this == Interrupter.this.first) ? Interrupter.this.needed : Interrupter.this.first.busy);
			if (!needed) {
				this.thread = null;
			}
			return needed;
		}

	}

}
