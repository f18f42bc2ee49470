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
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.awaitility.Awaitility.await;

/**
 * Tests for {@link SerialWorker}.
 */
@Timeout(60)
@Tag("ring1")
class SerialWorkerTests {

	private final List<Object> ended = new CopyOnWriteArrayList<>();

	private final Deque<Runnable> scheduled = new ArrayDeque<>();

	private int idle;

	private int starvations;

	@Test
	void runsTasksInOrderAndReportsWhenItIsIdle() {
		SerialWorker worker = worker(this.scheduled::add);
		assertThat(worker.isIdle()).isTrue();
		add(worker, 1);
		add(worker, 2);
		assertThat(worker.isIdle()).isFalse();
		assertThat(worker.isSettled()).isFalse();
		assertThat(this.scheduled).hasSize(1);
		this.scheduled.remove().run();
		assertThat(worker.isIdle()).isTrue();
		assertThat(worker.isSettled()).isTrue();
		assertThat(this.idle).isOne();
		assertThat(this.ended).containsExactly(1, 2);
	}

	@Test
	void runsTasksInOrderOnItsThread() {
		SerialWorker worker = new SerialWorker("test");
		List<Thread> threads = new CopyOnWriteArrayList<>();
		IntStream.range(0, 100).forEach((i) -> add(worker, i, () -> {
			threads.add(Thread.currentThread());
			this.ended.add(i);
		}));
		await().until(worker::isIdle);
		assertThat(this.ended).containsExactlyElementsOf(IntStream.range(0, 100).boxed().toList());
		assertThat(threads).containsOnly(threads.get(0));
		assertThat(threads.get(0).getName()).isEqualTo("leader-election-test");
		assertThat(threads.get(0).isDaemon()).as("inherited by the threads of a service").isFalse();
	}

	@Test
	void goesOnAfterATaskThatThrows() {
		SerialWorker worker = new SerialWorker("test");
		add(worker, "first", () -> {
			throw new IllegalStateException("test");
		});
		add(worker, "second", () -> {
			throw new StackOverflowError("test");
		});
		add(worker, "third");
		await().until(worker::isIdle);
		assertThat(this.ended).containsExactly("third");
	}

	@Test
	void tasksBehindOneThatThrowsAreScheduledAgain() {
		SerialWorker worker = worker(this.scheduled::add);
		add(worker, "first", () -> {
			throw new IllegalStateException("test");
		});
		add(worker, "second");
		assertThatIllegalStateException().isThrownBy(this.scheduled.remove()::run);
		this.scheduled.remove().run();
		assertThat(this.ended).containsExactly("second");
	}

	@Test
	void interruptReachesTheRunningTaskAndNoOther() {
		List<Boolean> interrupted = new CopyOnWriteArrayList<>();
		CountDownLatch running = new CountDownLatch(1);
		SerialWorker worker = new SerialWorker("test");
		worker.interrupt();
		add(worker, "first", () -> {
			running.countDown();
			interrupted.add(sleepUntilInterrupted());
			Thread.currentThread().interrupt();
		});
		add(worker, "second", () -> interrupted.add(Thread.currentThread().isInterrupted()));
		await().until(() -> running.getCount() == 0);
		worker.interrupt();
		await().until(worker::isIdle);
		assertThat(interrupted).containsExactly(true, false);
	}

	@Test
	void interruptForASubjectReachesOnlyTheTaskAboutIt() {
		SerialWorker worker = worker(this.scheduled::add);
		add(worker, "first", () -> {
			worker.interrupt("second");
			this.ended.add(Thread.interrupted());
			worker.interrupt("first");
			this.ended.add(Thread.interrupted());
		});
		add(worker, "second", () -> this.ended.add(Thread.interrupted()));
		worker.interrupt("first");
		this.scheduled.remove().run();
		assertThat(this.ended).containsExactly(false, true, false);
	}

	@Test
	void interruptDoesNotOutliveItsTask() {
		SerialWorker worker = worker(Runnable::run);
		add(worker, "task", () -> Thread.currentThread().interrupt());
		assertThat(Thread.interrupted()).isFalse();
	}

	@Test
	void interruptAfterATaskHasEndedReachesNone() {
		SerialWorker[] worker = new SerialWorker[1];
		worker[0] = new SerialWorker(Runnable::run, () -> {
			worker[0].interrupt();
			this.ended.add(Thread.interrupted());
		}, new Interruption(new DirectInterrupter(Platform.SYSTEM), Duration.ZERO));
		add(worker[0], "task", () -> {
		});
		assertThat(this.ended).containsExactly(false);
	}

	@Test
	void taskThatWaitsForTheHandOverIsSettledUntilItReturns() {
		SerialWorker worker = worker(this.scheduled::add);
		Runnable waiting = () -> {
			this.ended.add(worker.isSettled());
			worker.detachCurrent();
			this.ended.add(worker.isSettled());
			assertThat(worker.isIdle()).isFalse();
		};
		add(worker, "first", waiting);
		add(worker, "second", waiting);
		this.scheduled.remove().run();
		assertThat(this.ended).containsExactly(false, true, false, true);
	}

	@Test
	void threadThatRunsNoTaskCannotDetachOne() {
		SerialWorker worker = worker(this.scheduled::add);
		add(worker, "task");
		worker.detachCurrent();
		assertThat(worker.isCurrentThread()).isFalse();
		assertThat(worker.isSettled()).isFalse();
	}

	@Test
	void taskWithoutAThreadWaitsUntilThereIsOne() {
		SerialWorker worker = worker((run) -> {
			if (this.starvations++ == 0) {
				throw new OutOfMemoryError("unable to create native thread");
			}
			run.run();
		});
		assertThat(add(worker, 1, () -> this.ended.add(1))).isFalse();
		assertThat(this.ended).isEmpty();
		assertThat(add(worker, 2, () -> this.ended.add(2))).isTrue();
		assertThat(this.ended).containsExactly(1, 2);
	}

	private void add(SerialWorker worker, Object task) {
		assertThat(add(worker, task, () -> this.ended.add(task))).isTrue();
	}

	private SerialWorker worker(Executor executor) {
		return new SerialWorker(executor::execute, () -> this.idle++,
				new Interruption(new DirectInterrupter(Platform.SYSTEM), Duration.ZERO));
	}

	private static boolean sleepUntilInterrupted() {
		try {
			new CountDownLatch(1).await(20, TimeUnit.SECONDS);
			return false;
		}
		catch (InterruptedException ex) {
			return true;
		}
	}

	private static boolean add(SerialWorker worker, Object subject, Runnable action) {
		return worker.add(subject, action, () -> {
		});
	}

}
