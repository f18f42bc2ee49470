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

import org.jspecify.annotations.Nullable;

/**
 * Runs tasks one after the other in the order in which they were added. An interrupt
 * reaches the running task, and never a later one. A task waits in a queue that is linked
 * without an allocation: if a lack of memory or threads prevents its execution, it is
 * executed after one that is added later, or after {@link #schedule()}. Not final, since
 * seeded mistakes extend it.
 */
public class SerialWorker {

	private static final Runnable NOTHING = () -> {
	};

	private final Platform.Worker worker;

	private final Runnable onIdle;

	private final Interruption interruption;

	private final Runnable run = this::runAll;

	private final Object monitor = new Object();

	private @Nullable Task first;

	private @Nullable Task last;

	private boolean scheduled;

	private @Nullable Thread thread;

	private @Nullable Task running;

	private boolean detached;

	/**
	 * Create a new {@code SerialWorker} instance.
	 * @param name the name of the thread, which has the context class loader of the
	 * current thread, and is not a daemon thread: threads that a task creates inherit it
	 */
	public SerialWorker(String name) {
		this(new WorkerThread(Platform.SYSTEM, name, false), NOTHING, new Interruption(Platform.SYSTEM));
	}

	/**
	 * Create a new {@code SerialWorker} instance.
	 * @param worker its thread
	 * @param onIdle called when all tasks have ended
	 * @param interruption interrupts tasks
	 */
	SerialWorker(Platform.Worker worker, Runnable onIdle, Interruption interruption) {
		this.worker = worker;
		this.onIdle = onIdle;
		this.interruption = interruption;
	}

	void useInterrupter(Interrupter interrupter) {
		this.interruption.use(interrupter);
	}

	/**
	 * Have tasks be interrupted by a thread of their own, which is created when it is
	 * needed.
	 */
	public void useOwnInterrupter() {
		this.interruption.use(null);
	}

	/**
	 * Run a task after those that were added before.
	 * @param subject what the task is about, see {@link #interrupt(Object)}
	 * @param action the task
	 * @param whenEnded called after the task, when no interrupt reaches it any longer
	 * @return whether there is a thread; if not, the task waits until another one is
	 * added
	 */
	public boolean add(Object subject, Runnable action, Runnable whenEnded) {
		return add(new Task(subject, action, whenEnded));
	}

	boolean add(Task added) {
		synchronized (this.monitor) {
			if (this.last != null) {
				this.last.next = added;
			}
			else {
				this.first = added;
			}
			this.last = added;
		}
		return schedule();
	}

	/**
	 * Have a thread run the tasks that wait, if there are any and none does.
	 * @return whether there is a thread for them
	 */
	boolean schedule() {
		boolean runs;
		synchronized (this.monitor) {
			if (this.first == null) {
				return true;
			}
			runs = this.scheduled;
			this.scheduled = true;
		}
		try {
			if (runs) {
				this.worker.ensureThread();
			}
			else {
				this.worker.execute(this.run);
			}
			return true;
		}
		catch (Throwable ex) {
			// No memory, perhaps not even for a message: another call retries
			if (!runs) {
				unschedule();
			}
			return false;
		}
	}

	private void unschedule() {
		synchronized (this.monitor) {
			this.scheduled = false;
		}
	}

	/**
	 * Set whether the thread is kept while it is idle, and created now if there is none.
	 * @param retained whether to keep it
	 */
	public void retain(boolean retained) {
		this.worker.retain(retained);
	}

	boolean isIdle() {
		synchronized (this.monitor) {
			return this.first == null;
		}
	}

	/**
	 * Return whether a hand-over has no task to wait for.
	 */
	boolean isSettled() {
		synchronized (this.monitor) {
			return this.first == null || this.detached;
		}
	}

	/**
	 * Return whether the current thread is the one of this worker.
	 * @return whether it runs a task, or is notified of its end
	 */
	public boolean isCurrentThread() {
		synchronized (this.monitor) {
			return this.thread == Thread.currentThread();
		}
	}

	/**
	 * If the current thread runs a task, exclude this task from hand-overs, since it
	 * waits for the hand-over itself.
	 */
	void detachCurrent() {
		synchronized (this.monitor) {
			this.detached |= this.running != null && isCurrentThread();
		}
	}

	/**
	 * Interrupt the running task, if any. Does not wait.
	 */
	public void interrupt() {
		synchronized (this.monitor) {
			if (this.running != null) {
				this.interruption.request();
			}
		}
	}

	/**
	 * Interrupt the running task if it is about the given subject. Does not wait.
	 * @param subject the subject
	 */
	public void interrupt(Object subject) {
		synchronized (this.monitor) {
			if (this.running != null && this.running.subject == subject) {
				this.interruption.request();
			}
		}
	}

	private void runAll() {
		boolean ended = false;
		try {
			setTask(this.interruption);
			for (Task current = begin(); current != null; current = begin()) {
				try {
					current.action.run();
				}
				finally {
					end(current);
					current.whenEnded.run();
				}
			}
			setTask(null);
			ended = true;
		}
		finally {
			if (!ended) {
				unschedule();
				schedule();
			}
		}
	}

	private static void setTask(@Nullable Interruption interruption) {
		try {
			Work.setTask(interruption);
		}
		catch (OutOfMemoryError ex) {
			// Work inside a task may clear its interrupt, but the task must run
		}
	}

	// The task stays in the queue while it runs
	private @Nullable Task begin() {
		synchronized (this.monitor) {
			this.running = this.first;
			this.scheduled = this.running != null;
			this.thread = this.scheduled ? Thread.currentThread() : null;
			if (this.scheduled) {
				this.interruption.begin();
			}
			return this.running;
		}
	}

	private void end(Task ended) {
		boolean idle;
		synchronized (this.monitor) {
			// No later interrupt is about this task, and no hand-over is awaited by it
			this.running = null;
			this.detached = false;
		}
		this.interruption.end();
		synchronized (this.monitor) {
			this.first = ended.next;
			this.last = (this.first != null) ? this.last : null;
			idle = this.first == null;
		}
		if (idle) {
			this.onIdle.run();
		}
	}

	/**
	 * A task, which has its place in the queue in itself.
	 */
	static final class Task {

		private final Object subject;

		private final Runnable action;

		private final Runnable whenEnded;

		private @Nullable Task next;

		Task(Object subject, Runnable action) {
			this(subject, action, NOTHING);
		}

		Task(Object subject, Runnable action, Runnable whenEnded) {
			this.subject = subject;
			this.action = action;
			this.whenEnded = whenEnded;
		}

	}

}
