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

import io.leaderelection.simulation.Process;
import org.jspecify.annotations.Nullable;

/**
 * {@link WorkerThread} in a simulated process.
 */
final class SimulatedWorker implements Platform.Worker {

	private static final long LONGEST_IDLE = TimeUnit.SECONDS.toNanos(1);

	private final SimulatedPlatform platform;

	private final Process process;

	private final String name;

	private final Lock lock;

	private final Condition changed;

	private final Deque<Runnable> tasks = new ArrayDeque<>();

	private boolean running;

	private boolean retained;

	SimulatedWorker(SimulatedPlatform platform, Process process, String name) {
		this.platform = platform;
		this.process = process;
		this.name = name;
		this.lock = platform.newLock();
		this.changed = this.lock.newCondition();
	}

	@Override
	public void execute(Runnable task) {
		this.process.allocate();
		this.lock.lock();
		try {
			ensureRunning();
			this.tasks.add(task);
			this.changed.signal();
		}
		finally {
			this.lock.unlock();
		}
	}

	@Override
	public void retain(boolean newRetained) {
		this.lock.lock();
		try {
			this.retained = newRetained;
			if (newRetained) {
				ensureRunning();
			}
			this.changed.signal();
		}
		finally {
			this.lock.unlock();
		}
	}

	private void ensureRunning() {
		if (!this.running) {
			this.platform.newThread(this.name, this::work).start();
			this.running = true;
		}
	}

	private void work() {
		for (Runnable task = take(); task != null; task = take()) {
			try {
				task.run();
			}
			catch (Exception | OutOfMemoryError | StackOverflowError ex) {
				// Logged by the real worker
			}
			Thread.interrupted();
		}
	}

	private @Nullable Runnable take() {
		this.lock.lock();
		try {
			long deadline = this.platform.nanoTime() + LONGEST_IDLE;
			while (this.tasks.isEmpty()) {
				long remaining = deadline - this.platform.nanoTime();
				if (remaining <= 0 && !this.retained) {
					this.running = false;
					return null;
				}
				await((remaining > 0) ? remaining : LONGEST_IDLE);
			}
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

}
