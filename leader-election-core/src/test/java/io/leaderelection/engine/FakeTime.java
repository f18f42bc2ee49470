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
import java.time.Instant;
import java.util.List;
import java.util.Map.Entry;
import java.util.TreeMap;
import java.util.concurrent.Executor;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Function;

/**
 * A clock that only the test moves, and an agenda of what happens when. It starts shortly
 * before {@link System#nanoTime()} would overflow.
 */
final class FakeTime implements Platform {

	private static final long ORIGIN = Long.MAX_VALUE - 1 - Duration.ofMillis(1500).toNanos();

	static final Runnable NOTHING = () -> {
	};

	private final TreeMap<Long, Runnable> agenda = new TreeMap<>();

	private Lock lock = new ReentrantLock();

	private volatile long elapsed;

	private volatile Runnable onRead = NOTHING;

	/** Run whenever the wall clock is read. */
	Runnable onNow = NOTHING;

	/** Makes threads. */
	Function<Runnable, Thread> threads = Thread::new;

	/** Runs listeners, and everything else that may block, in this order. */
	List<Executor> executors = List.of(Runnable::run, Runnable::run);

	@Override
	public long nanoTime() {
		this.onRead.run();
		return ORIGIN + this.elapsed;
	}

	@Override
	public Lock newLock() {
		this.lock = new ReentrantLock();
		return this.lock;
	}

	/**
	 * Move on to the end of the wait, or to what happens before, without the lock: like
	 * any wait for a condition it may return early.
	 */
	@Override
	public void await(Condition condition, long nanos) {
		long next = this.agenda.isEmpty() ? Long.MAX_VALUE : Math.max(0, this.agenda.firstKey() - this.elapsed);
		this.lock.unlock();
		try {
			advance(Duration.ofNanos(Math.min(nanos, next)));
		}
		finally {
			this.lock.lock();
		}
	}

	@Override
	public Thread newThread(String name, Runnable task) {
		return this.threads.apply(task);
	}

	@Override
	public Worker newWorker(String name) {
		return (task) -> this.executors.get(name.endsWith("-events") ? 0 : 1).execute(task);
	}

	/**
	 * Move on, as any park may return early.
	 */
	@Override
	public void park(Object blocker, long nanos) {
		advance(Duration.ofNanos(nanos));
	}

	@Override
	public Instant now() {
		this.onNow.run();
		return Instant.EPOCH.plusNanos(this.elapsed);
	}

	Duration elapsed() {
		return Duration.ofNanos(this.elapsed);
	}

	/**
	 * Move on, to each entry of the agenda in turn.
	 */
	void advance(Duration time) {
		long target = this.elapsed + time.toNanos();
		while (!this.agenda.isEmpty() && this.agenda.firstKey() <= target) {
			Entry<Long, Runnable> next = this.agenda.pollFirstEntry();
			this.elapsed = Math.max(this.elapsed, next.getKey());
			next.getValue().run();
		}
		this.elapsed = Math.max(this.elapsed, target);
	}

	void advanceTo(Duration moment) {
		advance(moment.minusNanos(this.elapsed));
	}

	void at(Duration moment, Runnable action) {
		this.agenda.merge(moment.toNanos(), action, (first, second) -> () -> {
			first.run();
			second.run();
		});
	}

	/**
	 * Do something whenever anybody reads the clock.
	 */
	void onRead(Runnable action) {
		this.onRead = action;
	}

}
