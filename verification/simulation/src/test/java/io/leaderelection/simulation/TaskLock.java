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

package io.leaderelection.simulation;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Date;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.Lock;

import io.leaderelection.simulation.Task.Killed;
import org.jspecify.annotations.Nullable;

/**
 * A reentrant lock of the tasks of one process. As with an unfair lock, the task that
 * runs first gets it.
 */
public final class TaskLock implements Lock {

	private final Scheduler scheduler;

	private final Process process;

	private final Deque<Task> waiting = new ArrayDeque<>();

	private @Nullable Task owner;

	private int holds;

	public TaskLock(Scheduler scheduler, Process process) {
		this.scheduler = scheduler;
		this.process = process;
	}

	@Override
	public void lock() {
		this.scheduler.step();
		acquire();
	}

	@Override
	public void lockInterruptibly() throws InterruptedException {
		// The locks of the engine are held for a short time
		if (Thread.interrupted()) {
			throw new InterruptedException();
		}
		lock();
	}

	private void acquire() {
		Task self = this.scheduler.self();
		while (this.owner != null && this.owner != self) {
			this.waiting.add(self);
			this.scheduler.block(Long.MAX_VALUE, false);
			// As with a lock of the JVM, the wait consumes a permit
			self.permit = false;
		}
		this.owner = self;
		this.holds++;
	}

	@Override
	public void unlock() {
		Task self = this.scheduler.self();
		if (this.owner != self) {
			if (self.killed) {
				return;
			}
			throw new IllegalMonitorStateException();
		}
		if (--this.holds == 0) {
			free();
			// What is done after this is not done under the lock
			this.scheduler.step();
		}
	}

	private void free() {
		this.owner = null;
		Task next = this.waiting.poll();
		if (next != null) {
			this.scheduler.resume(next);
		}
	}

	@Override
	public Condition newCondition() {
		return new TaskCondition();
	}

	@Override
	public boolean tryLock() {
		throw new UnsupportedOperationException();
	}

	@Override
	public boolean tryLock(long time, TimeUnit unit) {
		throw new UnsupportedOperationException();
	}

	/**
	 * A condition of this lock.
	 */
	private final class TaskCondition implements Condition {

		private final List<Task> waiters = new ArrayList<>();

		@Override
		public boolean await(long time, TimeUnit unit) throws InterruptedException {
			return awaitNanos(unit.toNanos(time)) > 0;
		}

		@Override
		public long awaitNanos(long nanos) throws InterruptedException {
			Scheduler known = TaskLock.this.scheduler;
			Task self = known.self();
			if (self.killed) {
				throw new Killed();
			}
			if (Thread.interrupted()) {
				throw new InterruptedException();
			}
			long until = known.now() + TaskLock.this.process.trueTime(Math.max(0, nanos));
			int held = TaskLock.this.holds;
			TaskLock.this.holds = 0;
			this.waiters.add(self);
			free();
			try {
				known.block(until, true);
			}
			finally {
				this.waiters.remove(self);
				if (!self.killed) {
					acquire();
					TaskLock.this.holds = held;
				}
			}
			if (Thread.interrupted()) {
				throw new InterruptedException();
			}
			return until - known.now();
		}

		@Override
		public void signal() {
			if (!this.waiters.isEmpty()) {
				TaskLock.this.scheduler.resume(this.waiters.remove(0));
			}
		}

		@Override
		public void signalAll() {
			while (!this.waiters.isEmpty()) {
				signal();
			}
		}

		@Override
		public void await() {
			throw new UnsupportedOperationException();
		}

		@Override
		public void awaitUninterruptibly() {
			throw new UnsupportedOperationException();
		}

		@Override
		public boolean awaitUntil(Date deadline) {
			throw new UnsupportedOperationException();
		}

	}

}
