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

import java.time.Instant;
import java.util.concurrent.Executor;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;

/**
 * The services of the platform that elections and their stores use: clocks, threads,
 * locks and randomness. Tests and simulations replace them.
 */
public interface Platform {

	/**
	 * The JVM. On Linux, {@link System#nanoTime()} is {@code CLOCK_MONOTONIC}: it
	 * advances while the process is stopped, but not while the machine is suspended.
	 */
	Platform SYSTEM = new Platform() {

		@Override
		public long nanoTime() {
			return System.nanoTime();
		}

		@Override
		public Thread newThread(String name, Runnable task) {
			// Without inheritable thread-locals, which the new thread would retain
			Thread thread = new Thread(null, task, "leader-election-" + name, 0, false);
			// Later versions of Java do not inherit the class loader either
			thread.setContextClassLoader(Thread.currentThread().getContextClassLoader());
			thread.setDaemon(true);
			return thread;
		}

	};

	/** The pause of a thread after a failure that may be one of memory. */
	long PAUSE_AFTER_FAILURE = TimeUnit.MILLISECONDS.toNanos(100);

	long nanoTime();

	default Instant now() {
		return Instant.now();
	}

	/**
	 * Return a random number from zero to the bound, exclusive.
	 * @param bound the bound
	 * @return the number
	 */
	default long random(long bound) {
		return ThreadLocalRandom.current().nextLong(bound);
	}

	default Lock newLock() {
		return new ReentrantLock();
	}

	/**
	 * Wait for a condition whose lock the current thread holds, for at most the given
	 * time. May return early.
	 * @param condition the condition
	 * @param nanos the maximum time to wait
	 * @throws InterruptedException if the current thread is interrupted
	 */
	default void await(Condition condition, long nanos) throws InterruptedException {
		condition.await(nanos, TimeUnit.NANOSECONDS);
	}

	default void park(Object blocker, long nanos) {
		LockSupport.parkNanos(blocker, nanos);
	}

	default void unpark(Thread thread) {
		LockSupport.unpark(thread);
	}

	/**
	 * Create a daemon thread, which is a platform thread: a virtual thread could be
	 * pinned, or starved by the work that it must interrupt. It has the context class
	 * loader of the current thread.
	 * @param name its name, to which a prefix is added
	 * @param task what it runs
	 * @return the thread, not started
	 */
	Thread newThread(String name, Runnable task);

	/**
	 * Create a thread for code of the application, and for other tasks that may block.
	 * @param name its name, to which a prefix is added
	 * @return the thread
	 */
	default Worker newWorker(String name) {
		return new WorkerThread(this, name, true);
	}

	/**
	 * A thread that runs tasks one after the other, in the order in which they were
	 * added, and never on the thread that adds them. It is created when needed.
	 */
	interface Worker extends Executor {

		/**
		 * Create the thread again if it has ended for lack of memory and tasks wait.
		 */
		default void ensureThread() {
		}

		/**
		 * Set whether the thread is kept while it is idle, and created now if there is
		 * none.
		 * @param retained whether to keep it
		 */
		default void retain(boolean retained) {
		}

	}

}
