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

import java.util.concurrent.locks.LockSupport;

import io.leaderelection.simulation.Timers.Timer;
import org.jspecify.annotations.Nullable;

/**
 * A thread of a simulated process. It runs while it has the baton. A task that has ended
 * normally leaves its thread to a task of a later history.
 */
final class Task extends Thread {

	private final ThreadPool pool;

	private volatile boolean baton;

	// Of one history; only the thread with the baton reads and writes them

	@Nullable Process process;

	private @Nullable Scheduler scheduler;

	private @Nullable Runnable body;

	String description = "";

	int priority;

	boolean blocked;

	boolean interruptible;

	boolean permit;

	boolean killed;

	boolean ended;

	private boolean interrupted;

	@Nullable Timer wakeUp;

	Task(ThreadPool pool) {
		setDaemon(true);
		this.pool = pool;
	}

	void prepare(Scheduler newScheduler, Process newProcess, String newDescription, Runnable newBody) {
		this.scheduler = newScheduler;
		this.process = newProcess;
		this.description = newDescription;
		this.body = newBody;
		this.blocked = false;
		this.interruptible = false;
		this.permit = false;
		this.killed = false;
		this.ended = false;
		this.interrupted = false;
		this.wakeUp = null;
	}

	Process process() {
		Process known = this.process;
		if (known == null) {
			throw new IllegalStateException("No task");
		}
		return known;
	}

	@Override
	public void start() {
		Scheduler known = this.scheduler;
		if (known == null) {
			throw new IllegalStateException("No task");
		}
		known.begin(this);
		if (getState() == State.NEW) {
			super.start();
		}
	}

	@Override
	public void run() {
		boolean reusable = true;
		while (reusable) {
			awaitBaton();
			Scheduler known = this.scheduler;
			Runnable current = this.body;
			if (known == null || current == null) {
				return;
			}
			reusable = false;
			known.awaitDeath();
			try {
				current.run();
				reusable = true;
			}
			catch (Killed ex) {
				reusable = true;
			}
			catch (Throwable ex) {
				known.died(this, ex);
			}
			finally {
				Thread.interrupted();
				known.end(this, reusable);
			}
		}
	}

	/**
	 * Let this thread go on. The caller then waits for its own baton, or has ended.
	 */
	void passBaton() {
		this.baton = true;
		LockSupport.unpark(this);
	}

	void awaitBaton() {
		while (!this.baton) {
			LockSupport.park(this);
		}
		this.baton = false;
	}

	/**
	 * Wait until it is this task's turn again. The interrupt of a thread that waits for
	 * its baton is kept aside, since a thread with an interrupt cannot wait.
	 */
	void awaitTurn() {
		if (Thread.interrupted()) {
			this.interrupted = true;
		}
		awaitBaton();
		Scheduler known = this.scheduler;
		if (known != null) {
			known.awaitDeath();
		}
		if (this.interrupted) {
			this.interrupted = false;
			super.interrupt();
		}
	}

	@Override
	public void interrupt() {
		if (Thread.currentThread() == this) {
			super.interrupt();
			return;
		}
		this.interrupted = true;
		Scheduler known = this.scheduler;
		if (known != null && this.interruptible) {
			known.resume(this);
		}
		if (known != null) {
			process().interrupting();
		}
	}

	@Override
	public boolean isInterrupted() {
		return (Thread.currentThread() == this) ? super.isInterrupted() : this.interrupted;
	}

	void release() {
		this.scheduler = null;
		this.process = null;
		this.body = null;
		this.pool.release(this);
	}

	/**
	 * Ends a task of a process that has ended.
	 */
	static final class Killed extends Error {

		private static final long serialVersionUID = 1L;

		Killed() {
			super("The process has ended", null, false, false);
		}

	}

}
