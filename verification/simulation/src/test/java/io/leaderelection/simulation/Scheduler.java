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

import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;

import io.leaderelection.simulation.Task.Killed;
import io.leaderelection.simulation.Timers.Timer;
import org.jspecify.annotations.Nullable;

/**
 * Runs the tasks of one history in virtual time, one at a time, in an order that depends
 * on its seed only. A task runs until its next step, and there another one may be
 * preferred: either at random, or by priorities that change at a few random steps. When
 * no task can run, the time advances to the next event.
 * <p>
 * Tasks are threads that pass on a baton. Events run on the thread that has the baton, do
 * not wait, and take no steps.
 */
public final class Scheduler {

	/** How long a step takes. */
	private static final long STEP = 200;

	private static final long LONGEST_STALL = 20_000_000;

	private final ThreadPool pool;

	private final SplittableRandom random;

	private final Timers timers = new Timers();

	private final List<Task> runnable = new ArrayList<>();

	private final List<Task> ended = new ArrayList<>();

	private final List<Process> processes = new ArrayList<>();

	private final boolean byPriority;

	private final int switchInterval;

	private final int stallInterval;

	private final Object driver = new Object();

	private boolean driverTurn;

	private @Nullable Task current;

	private @Nullable Task unwinding;

	private @Nullable Task unwinder;

	/** The task that has the baton last before its thread ends. */
	private @Nullable Task dying;

	private boolean inEvent;

	private boolean finished;

	private @Nullable Throwable failure;

	private int lowestPriority;

	private int untilChange;

	private long now;

	private long end = Long.MAX_VALUE;

	private long steps;

	private long handOvers;

	Scheduler(ThreadPool pool, SplittableRandom random) {
		this.pool = pool;
		this.random = random;
		this.byPriority = random.nextInt(3) == 0;
		this.switchInterval = 4 << (2 * random.nextInt(4));
		this.stallInterval = 500 << (2 * random.nextInt(3));
		this.untilChange = changeInterval();
	}

	public long now() {
		return this.now;
	}

	long steps() {
		return this.steps;
	}

	long handOvers() {
		return this.handOvers;
	}

	/**
	 * Return the first exception of an event or of a task that must not fail.
	 */
	@Nullable Throwable failure() {
		return this.failure;
	}

	Process newProcess(String name, long offset, double rate) {
		Process process = new Process(this, name, offset, rate);
		this.processes.add(process);
		return process;
	}

	/**
	 * Create a task. It may run after its {@link Thread#start()}.
	 */
	public Thread newTask(Process process, String description, Runnable body) {
		Task task = this.pool.take();
		task.prepare(this, process, description, body);
		return task;
	}

	void begin(Task task) {
		Process process = task.process();
		if (process.ended) {
			// Created by a task that is being ended
			this.ended.add(task);
			return;
		}
		try {
			process.createThread();
		}
		catch (OutOfMemoryError ex) {
			this.ended.add(task);
			throw ex;
		}
		task.priority = this.random.nextInt(1_000_000);
		process.tasks.add(task);
		makeRunnable(task);
	}

	/**
	 * Return whether something happens now.
	 * @param percent its probability in percent
	 */
	boolean chance(int percent) {
		return this.random.nextInt(100) < percent;
	}

	// Events

	/**
	 * Have an action run after a time.
	 */
	public Timer after(long nanos, Runnable action) {
		return this.timers.add(this.now + Math.max(0, nanos), action);
	}

	public Timer at(long time, Runnable action) {
		return this.timers.add(Math.max(this.now, time), action);
	}

	public void cancel(@Nullable Timer timer) {
		this.timers.remove(timer);
	}

	private void runDueEvents() {
		while (this.timers.next() <= this.now && !this.finished) {
			Runnable action = this.timers.removeNext();
			this.inEvent = true;
			try {
				action.run();
			}
			catch (Throwable ex) {
				fail(ex);
			}
			finally {
				this.inEvent = false;
			}
		}
	}

	/**
	 * End the history with a failure.
	 */
	public void fail(Throwable ex) {
		if (this.failure == null) {
			this.failure = ex;
		}
		this.finished = true;
	}

	/**
	 * Wait for the real end of a thread, so that whether it is alive is repeatable.
	 */
	void awaitDeath() {
		Task last = this.dying;
		if (last == null) {
			return;
		}
		this.dying = null;
		try {
			last.join();
		}
		catch (InterruptedException ex) {
			throw new IllegalStateException("A history cannot be interrupted", ex);
		}
	}

	/**
	 * End the history.
	 */
	void stop() {
		this.finished = true;
	}

	boolean isStopped() {
		return this.finished;
	}

	void died(Task task, Throwable ex) {
		task.process().died(task.description, ex);
	}

	// Running

	/**
	 * Run until a time, or until a failure. Called by the driver.
	 */
	void runUntil(long time) {
		this.end = time;
		this.current = null;
		switchFrom(null);
	}

	/**
	 * End all tasks.
	 */
	void close() {
		this.processes.forEach(this::end);
		this.ended.forEach(Task::release);
		this.ended.clear();
	}

	/**
	 * Take a step of the current task: others may run before it goes on.
	 */
	public void step() {
		Task self = this.current;
		if (self == null || this.inEvent) {
			return;
		}
		if (self.killed) {
			throw new Killed();
		}
		this.steps++;
		this.now += STEP;
		observe(self);
		if (this.timers.next() <= this.now) {
			runDueEvents();
			if (self.killed) {
				throw new Killed();
			}
		}
		if (this.finished || this.now >= this.end || self.process().frozen) {
			giveWay(self);
		}
		else if (this.random.nextInt(this.stallInterval) == 0) {
			long longest = LONGEST_STALL >> this.random.nextInt(15);
			block(this.now + this.random.nextLong(longest), false);
		}
		else if (!this.runnable.isEmpty() && isPreempted(self)) {
			giveWay(self);
		}
	}

	/**
	 * Look at the process of a task before another task can run.
	 */
	private void observe(Task task) {
		this.inEvent = true;
		try {
			task.process().observed();
		}
		finally {
			this.inEvent = false;
		}
	}

	private boolean isPreempted(Task self) {
		if (!this.byPriority) {
			return this.random.nextInt(this.switchInterval) == 0;
		}
		if (--this.untilChange <= 0) {
			this.untilChange = changeInterval();
			self.priority = --this.lowestPriority;
		}
		for (Task other : this.runnable) {
			if (other.priority > self.priority) {
				return true;
			}
		}
		return false;
	}

	private int changeInterval() {
		return 1 + this.random.nextInt(400);
	}

	private void giveWay(Task self) {
		makeRunnable(self);
		switchFrom(self);
		if (self.killed) {
			throw new Killed();
		}
	}

	/**
	 * Block the current task until it is resumed, at most until a time.
	 */
	void block(long until, boolean interruptible) {
		Task self = self();
		if (self.killed) {
			throw new Killed();
		}
		self.blocked = true;
		self.interruptible = interruptible;
		if (until != Long.MAX_VALUE) {
			self.wakeUp = at(until, () -> resume(self));
		}
		observe(self);
		switchFrom(self);
		self.interruptible = false;
		cancel(self.wakeUp);
		self.wakeUp = null;
		if (self.killed) {
			throw new Killed();
		}
	}

	/**
	 * Sleep for a true time.
	 */
	public void sleep(long nanos) throws InterruptedException {
		if (Thread.interrupted()) {
			throw new InterruptedException();
		}
		block(this.now + nanos, true);
		if (Thread.interrupted()) {
			throw new InterruptedException();
		}
	}

	/**
	 * Sleep for a true time, whether interrupted or not.
	 */
	public void sleepUninterruptibly(long nanos) {
		block(this.now + nanos, false);
	}

	public void park(Process process, long nanos) {
		step();
		Task self = self();
		if (!self.permit && !Thread.currentThread().isInterrupted()) {
			block(this.now + process.trueTime(nanos), true);
		}
		self.permit = false;
	}

	public void unpark(Thread thread) {
		Task task = (Task) thread;
		task.permit = true;
		if (task.interruptible) {
			resume(task);
		}
	}

	Task self() {
		Task self = this.current;
		if (self == null || this.inEvent) {
			throw new IllegalStateException("Not on a task");
		}
		return self;
	}

	void resume(Task task) {
		if (task.blocked && !task.process().ended) {
			task.blocked = false;
			makeRunnable(task);
		}
	}

	private void makeRunnable(Task task) {
		Process process = task.process();
		(process.frozen ? process.held : this.runnable).add(task);
	}

	private void switchFrom(@Nullable Task self) {
		Task next = next(self);
		this.current = next;
		if (next == self) {
			return;
		}
		pass(next);
		if (self != null) {
			self.awaitTurn();
		}
		else {
			awaitDriverTurn();
		}
	}

	private void pass(@Nullable Task next) {
		this.handOvers++;
		if (next != null) {
			next.passBaton();
			return;
		}
		synchronized (this.driver) {
			this.driverTurn = true;
			this.driver.notifyAll();
		}
	}

	private void awaitDriverTurn() {
		synchronized (this.driver) {
			while (!this.driverTurn) {
				try {
					this.driver.wait();
				}
				catch (InterruptedException ex) {
					throw new IllegalStateException("A history cannot be interrupted", ex);
				}
			}
			this.driverTurn = false;
		}
		awaitDeath();
	}

	/**
	 * Choose the next task, or {@code null} at the end of the history.
	 */
	private @Nullable Task next(@Nullable Task self) {
		while (!this.finished) {
			if (this.now >= this.end) {
				return null;
			}
			runDueEvents();
			if (self != null && self.killed) {
				return self;
			}
			if (this.finished) {
				return null;
			}
			if (!this.runnable.isEmpty()) {
				return remove(choose());
			}
			if (this.timers.next() > this.end) {
				this.now = this.end;
				return null;
			}
			this.now = this.timers.next();
		}
		return null;
	}

	private int choose() {
		int size = this.runnable.size();
		if (!this.byPriority) {
			return (size == 1) ? 0 : this.random.nextInt(size);
		}
		int best = 0;
		for (int i = 1; i < size; i++) {
			if (this.runnable.get(i).priority > this.runnable.get(best).priority) {
				best = i;
			}
		}
		return best;
	}

	private Task remove(int index) {
		Task last = this.runnable.remove(this.runnable.size() - 1);
		return (index == this.runnable.size()) ? last : this.runnable.set(index, last);
	}

	/**
	 * Called by a task at its end, on its thread.
	 */
	void end(Task task, boolean reusable) {
		if (task != this.unwinding) {
			observe(task);
		}
		task.ended = true;
		task.process().tasks.remove(task);
		if (reusable) {
			this.ended.add(task);
		}
		if (task == this.unwinding) {
			Task back = this.unwinder;
			this.unwinding = null;
			this.unwinder = null;
			this.current = back;
			pass(back);
			return;
		}
		Task next = next(null);
		// Not before: events may still give a turn to tasks of a process that ends
		this.dying = reusable ? null : task;
		this.current = next;
		pass(next);
	}

	// Processes

	public void freeze(Process process) {
		process.frozen = true;
		this.runnable.removeIf((task) -> task.process == process && process.held.add(task));
	}

	public void thaw(Process process) {
		process.frozen = false;
		this.runnable.addAll(process.held);
		process.held.clear();
	}

	/**
	 * End a process and all of its tasks. The current task ends when the event has ended,
	 * if it is one of them.
	 */
	public void end(Process process) {
		process.ended = true;
		process.frozen = false;
		process.held.clear();
		this.runnable.removeIf((task) -> task.process == process);
		for (Task task : List.copyOf(process.tasks)) {
			cancel(task.wakeUp);
			task.blocked = false;
			task.killed = true;
			if (task != this.current) {
				unwind(task);
			}
		}
	}

	private void unwind(Task task) {
		Task self = this.current;
		boolean event = this.inEvent;
		this.inEvent = false;
		this.unwinding = task;
		this.unwinder = self;
		this.current = task;
		task.passBaton();
		if (self != null) {
			self.awaitTurn();
		}
		else {
			awaitDriverTurn();
		}
		this.current = self;
		this.inEvent = event;
	}

}
