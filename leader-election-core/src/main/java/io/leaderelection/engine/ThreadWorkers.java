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

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.Lock;

import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;

/**
 * {@link Platform.Workers} on threads that are created when needed and end when idle.
 * With one thread, tasks run in the order in which they were added.
 */
final class ThreadWorkers implements Platform.Workers {

	private static final ElectionLog log = new ElectionLog(LogFactory.getLog(ThreadWorkers.class));

	private static final long LONGEST_IDLE = TimeUnit.SECONDS.toNanos(1);

	private final Platform platform;

	private final String name;

	private final int limit;

	private final boolean daemon;

	private final Runnable onStarvation;

	private final Lock lock;

	private final Condition changed;

	private final Deque<Runnable> tasks = new ArrayDeque<>();

	private int threads;

	private int idle;

	/** The class loader of the application, whichever thread adds the first task. */
	private final @Nullable ClassLoader contextClassLoader = Thread.currentThread().getContextClassLoader();

	private boolean retained;

	ThreadWorkers(Platform platform, String name, int limit, Runnable onStarvation) {
		this(platform, name, limit, true, onStarvation);
	}

	ThreadWorkers(Platform platform, String name, int limit, boolean daemon, Runnable onStarvation) {
		this.platform = platform;
		this.name = name;
		this.limit = limit;
		this.daemon = daemon;
		this.onStarvation = onStarvation;
		this.lock = platform.newLock();
		this.changed = this.lock.newCondition();
	}

	@Override
	public void execute(Runnable task) {
		this.lock.lock();
		try {
			this.tasks.add(task);
			this.changed.signal();
		}
		finally {
			this.lock.unlock();
		}
		reviveOrReport();
	}

	@Override
	public void retain(boolean retained) {
		this.lock.lock();
		try {
			this.retained = retained;
			this.changed.signalAll();
		}
		finally {
			this.lock.unlock();
		}
		reviveOrReport();
	}

	private void reviveOrReport() {
		if (!revive()) {
			this.onStarvation.run();
		}
	}

	@Override
	public boolean revive() {
		this.lock.lock();
		try {
			int busy = this.threads - this.idle;
			int wanted = Math.min(this.limit, Math.max(busy + this.tasks.size(), this.retained ? 1 : 0));
			while (this.threads < wanted) {
				Thread thread = this.platform.newThread(this.name, this::work);
				thread.setContextClassLoader(this.contextClassLoader);
				if (!this.daemon) {
					thread.setDaemon(false);
				}
				thread.start();
				this.threads++;
				this.idle++;
			}
			return true;
		}
		catch (Throwable ex) {
			// There is no memory for a thread, and perhaps none for a message either
			return false;
		}
		finally {
			this.lock.unlock();
		}
	}

	private void work() {
		boolean left = false;
		try {
			for (Runnable task = take(); task != null; task = take()) {
				run(task);
			}
			left = true;
		}
		finally {
			if (!left) {
				leave();
				reviveOrReport();
			}
		}
	}

	/**
	 * Wait for a task, and remove it.
	 * @return the task, or {@code null} if this thread is no longer needed
	 */
	private @Nullable Runnable take() {
		this.lock.lock();
		try {
			long deadline = this.platform.nanoTime() + LONGEST_IDLE;
			while (this.tasks.isEmpty()) {
				long remaining = deadline - this.platform.nanoTime();
				if (remaining <= 0 && !this.retained) {
					leave();
					return null;
				}
				await((remaining > 0) ? remaining : LONGEST_IDLE);
			}
			this.idle--;
			return this.tasks.remove();
		}
		finally {
			this.lock.unlock();
		}
	}

	private void await(long nanos) {
		try {
			this.platform.await(this.changed, nanos);
		}
		catch (InterruptedException ex) {
			// The wait has ended: the caller evaluates its condition
		}
	}

	private void run(Runnable task) {
		try {
			task.run();
		}
		catch (Throwable ex) {
			log.error("A task of leader election failed", ex);
		}
		finally {
			Thread.interrupted();
			this.lock.lock();
			this.idle++;
			this.lock.unlock();
		}
	}

	private void leave() {
		this.lock.lock();
		try {
			this.threads--;
			this.idle--;
		}
		finally {
			this.lock.unlock();
		}
	}

}
