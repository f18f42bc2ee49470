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
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for {@link Scheduler}.
 */
@Tag("ring2")
class SchedulerTests {

	private static final long SECOND = 1_000_000_000;

	private final List<String> events = new ArrayList<>();

	private Scheduler scheduler = newScheduler(1);

	private Process process = newProcess("a");

	private Scheduler newScheduler(long seed) {
		return new Scheduler(new ThreadPool(), new SplittableRandom(seed));
	}

	private Process newProcess(String name) {
		return this.scheduler.newProcess(name, 0, 1);
	}

	@AfterEach
	void close() {
		this.scheduler.close();
		assertThat(this.scheduler.failure()).isNull();
	}

	private void start(Process where, String name, Runnable body) {
		this.scheduler.newTask(where, name, body).start();
	}

	private void add(String event) {
		this.events.add(event + " at " + this.scheduler.now() / SECOND);
	}

	@Test
	void timeAdvancesWhenNobodyCanRun() {
		start(this.process, "first", () -> {
			this.scheduler.sleepUninterruptibly(3 * SECOND);
			add("first");
		});
		start(this.process, "second", () -> {
			this.scheduler.sleepUninterruptibly(2 * SECOND);
			add("second");
		});
		this.scheduler.runUntil(10 * SECOND);
		assertThat(this.events).containsExactly("second at 2", "first at 3");
		assertThat(this.scheduler.now()).isEqualTo(10 * SECOND);
	}

	@Test
	void orderDependsOnTheSeed() {
		List<String> orders = new ArrayList<>();
		for (int seed = 0; seed < 30; seed++) {
			this.scheduler.close();
			this.scheduler = newScheduler(seed / 2);
			this.process = newProcess("a");
			StringBuilder order = new StringBuilder();
			for (String name : List.of("a", "b", "c")) {
				start(this.process, name, () -> {
					for (int i = 0; i < 50; i++) {
						order.append(name);
						this.scheduler.step();
					}
				});
			}
			this.scheduler.runUntil(SECOND);
			assertThat(order).hasSize(150);
			orders.add(order.toString());
		}
		for (int i = 0; i < orders.size(); i += 2) {
			assertThat(orders.get(i)).isEqualTo(orders.get(i + 1));
		}
		assertThat(orders.stream().distinct()).hasSizeGreaterThan(10);
	}

	@Test
	void lockIsHeldByOneTask() {
		TaskLock lock = new TaskLock(this.scheduler, this.process);
		int[] inside = new int[2];
		for (int i = 0; i < 5; i++) {
			start(this.process, "task", () -> {
				for (int j = 0; j < 50; j++) {
					lock.lock();
					assertThat(inside[0]++).isZero();
					this.scheduler.step();
					inside[0]--;
					inside[1]++;
					lock.unlock();
				}
			});
		}
		this.scheduler.runUntil(SECOND);
		assertThat(inside[1]).isEqualTo(250);
	}

	@Test
	void waitEndsBySignalInterruptAndTimeout() {
		TaskLock lock = new TaskLock(this.scheduler, this.process);
		Condition condition = lock.newCondition();
		List<Thread> waiting = new ArrayList<>();
		for (int i = 0; i < 3; i++) {
			Thread task = this.scheduler.newTask(this.process, "waiting", () -> {
				lock.lock();
				try {
					add(condition.await(9, TimeUnit.SECONDS) ? "signal" : "timeout");
				}
				catch (InterruptedException ex) {
					add("interrupt");
				}
				finally {
					lock.unlock();
				}
			});
			waiting.add(task);
			task.start();
		}
		start(this.process, "ending", () -> {
			this.scheduler.sleepUninterruptibly(SECOND);
			waiting.get(1).interrupt();
			this.scheduler.sleepUninterruptibly(SECOND);
			lock.lock();
			condition.signal();
			lock.unlock();
		});
		this.scheduler.runUntil(20 * SECOND);
		assertThat(this.events).containsExactly("interrupt at 1", "signal at 2", "timeout at 9");
	}

	@Test
	void frozenProcessRunsWhenItThaws() {
		start(this.process, "task", () -> {
			this.scheduler.sleepUninterruptibly(SECOND);
			add("task");
		});
		start(newProcess("b"), "other", () -> {
			this.scheduler.sleepUninterruptibly(SECOND);
			add("other");
		});
		this.scheduler.after(SECOND / 2, () -> this.scheduler.freeze(this.process));
		this.scheduler.after(5 * SECOND, () -> this.scheduler.thaw(this.process));
		this.scheduler.runUntil(10 * SECOND);
		assertThat(this.events).containsExactly("other at 1", "task at 5");
	}

	@Test
	void endedProcessDoesNothingMore() {
		TaskLock lock = new TaskLock(this.scheduler, this.process);
		for (int i = 0; i < 3; i++) {
			start(this.process, "task", () -> {
				while (true) {
					lock.lock();
					try {
						this.scheduler.sleepUninterruptibly(SECOND / 10);
						add("task");
					}
					finally {
						lock.unlock();
					}
				}
			});
		}
		this.scheduler.after(SECOND / 2, () -> this.scheduler.end(this.process));
		this.scheduler.runUntil(10 * SECOND);
		assertThat(this.events).hasSizeBetween(3, 5);
		assertThat(this.process.hasEnded()).isTrue();
	}

	@Test
	void threadThatFailedIsDead() {
		List<Thread> failed = new ArrayList<>();
		this.process.onDeath((task, failure) -> this.events.add(task + " " + failure.getMessage()));
		Thread task = this.scheduler.newTask(this.process, "task", () -> {
			throw new IllegalStateException("failed");
		});
		failed.add(task);
		task.start();
		start(this.process, "other", () -> {
			this.scheduler.sleepUninterruptibly(SECOND);
			assertThat(failed.get(0).isAlive()).isFalse();
			add("other");
		});
		this.scheduler.runUntil(2 * SECOND);
		assertThat(this.events).containsExactly("task failed", "other at 1");
	}

}
