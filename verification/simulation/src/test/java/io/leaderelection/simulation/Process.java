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
import java.util.function.BiConsumer;

/**
 * A simulated process: its tasks, and a clock that advances at a rate of its own.
 */
public final class Process {

	private final Scheduler scheduler;

	private final String name;

	private final long offset;

	private final double rate;

	final List<Task> tasks = new ArrayList<>();

	/** Tasks that could run if this process were not frozen. */
	final List<Task> held = new ArrayList<>();

	boolean frozen;

	boolean ended;

	private int memoryShortage;

	private boolean threadShortage;

	private long shortageChanged;

	private long interruptTime;

	private boolean interrupting;

	private Runnable observer = () -> {
	};

	private BiConsumer<String, Throwable> onDeath = (task, failure) -> {
	};

	Process(Scheduler scheduler, String name, long offset, double rate) {
		this.scheduler = scheduler;
		this.name = name;
		this.offset = offset;
		this.rate = rate;
	}

	public String name() {
		return this.name;
	}

	public boolean isFrozen() {
		return this.frozen;
	}

	public boolean hasEnded() {
		return this.ended;
	}

	/**
	 * Return the time of this process, without a step of the current task.
	 */
	public long clock() {
		return this.offset + (long) (this.scheduler.now() * this.rate);
	}

	/**
	 * Return how long a time of the clock of this process is in true time.
	 */
	public long trueTime(long nanos) {
		return (long) (nanos / this.rate);
	}

	/**
	 * Set how likely it is that an allocation fails.
	 * @param percent the probability in percent
	 */
	void setMemoryShortage(int percent) {
		this.memoryShortage = percent;
		this.shortageChanged = this.scheduler.now();
	}

	/**
	 * Set whether no thread can be created.
	 */
	void setThreadShortage(boolean shortage) {
		this.threadShortage = shortage;
		this.shortageChanged = this.scheduler.now();
	}

	/**
	 * Set how long the next interrupt takes, as if it closed a channel. One at a time
	 * does.
	 */
	void setInterruptTime(long nanos) {
		this.interruptTime = nanos;
	}

	/**
	 * Take the time that an interrupt takes, on the task that makes it.
	 */
	void interrupting() {
		long time = this.interruptTime;
		if (time > 0 && !this.interrupting) {
			this.interruptTime = 0;
			this.interrupting = true;
			this.scheduler.sleepUninterruptibly(time);
			this.interrupting = false;
		}
	}

	boolean isShort() {
		return this.threadShortage || this.memoryShortage > 0;
	}

	/**
	 * Return whether memory or threads are short, or were until a short time ago.
	 */
	boolean wasShort(long nanos) {
		return isShort() || this.scheduler.now() - this.shortageChanged <= nanos;
	}

	/**
	 * Allocate memory, which may fail.
	 */
	public void allocate() {
		if (this.memoryShortage > 0 && this.scheduler.chance(this.memoryShortage)) {
			throw new OutOfMemoryError("Java heap space");
		}
	}

	/**
	 * Create a thread, which may fail.
	 */
	public void createThread() {
		allocate();
		if (this.threadShortage) {
			throw new OutOfMemoryError("unable to create native thread");
		}
	}

	/**
	 * Set what is called after each step of a task of this process.
	 */
	void observe(Runnable newObserver) {
		this.observer = newObserver;
	}

	void observed() {
		this.observer.run();
	}

	/**
	 * Set what is called when a task has ended with an exception.
	 */
	public void onDeath(BiConsumer<String, Throwable> listener) {
		this.onDeath = listener;
	}

	void died(String task, Throwable failure) {
		this.onDeath.accept(task, failure);
	}

	@Override
	public String toString() {
		return this.name;
	}

}
