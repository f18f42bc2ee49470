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

import java.lang.ref.WeakReference;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

import io.leaderelection.LeadershipRevokedEvent.Reason;
import org.awaitility.Awaitility;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;

import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for {@link Interrupter}, with the threads of a node.
 */
@Timeout(60)
@ExtendWith(OutputCaptureExtension.class)
@Tag("ring1")
class InterrupterTests {

	private final List<Thread> threads = new CopyOnWriteArrayList<>();

	private final List<DefaultLeaderElector> electors = new ArrayList<>();

	private final Platform platform = new TestPlatform() {

		@Override
		public void park(Object blocker, long nanos) {
			if (!InterrupterTests.this.parks && Thread.currentThread() instanceof Task) {
				throw new OutOfMemoryError("Java heap space");
			}
			super.park(blocker, nanos);
		}

		@Override
		public Thread newThread(String name, Runnable task) {
			if (InterrupterTests.this.shortage > 0 && name.equals(InterrupterTests.this.scarce)) {
				InterrupterTests.this.shortage--;
				throw new OutOfMemoryError("unable to create native thread");
			}
			Thread thread = super.newThread(name, task);
			if (!name.equals("default")) {
				InterrupterTests.this.threads.add(thread);
			}
			return thread;
		}

	};

	private final Watchdog watchdog = new Watchdog(this.platform);

	private final Watchdog.Supervised supervised = () -> Watchdog.NO_DEADLINE;

	private volatile int shortage;

	private String scarce = "more-interrupts";

	private volatile boolean parks = true;

	@BeforeEach
	void start() {
		this.watchdog.add(this.supervised);
	}

	@AfterEach
	void stop() {
		this.electors.forEach((elector) -> assertThat(elector.stop()).succeedsWithin(Duration.ofSeconds(30)));
		this.watchdog.remove(this.supervised);
		Awaitility.await().until(() -> this.threads.stream().noneMatch(Thread::isAlive));
	}

	@Test
	void interruptThatHangsDelaysNoOther() throws Exception {
		Task first = new Task();
		first.interruptUntilItHangs();
		for (int i = 0; i < 3; i++) {
			Task other = new Task();
			other.endByAnInterrupt();
		}
		assertThat(this.threads).as("watchdog, two for interrupts").hasSize(3);
		first.close.countDown();
		first.awaitEnd();
	}

	@Test
	void threadsThatCannotBeHadDelayInterruptsOnly() throws Exception {
		this.shortage = 2;
		Task first = new Task();
		Task second = new Task();
		Task third = new Task();
		first.interruptUntilItHangs();
		second.interruptUntilItHangs();
		assertThat(this.shortage).isZero();
		third.close.countDown();
		third.worker.interrupt();
		first.close.countDown();
		third.awaitEnd();
		assertThat(this.threads).hasSize(3);
		second.close.countDown();
		first.awaitEnd();
		second.awaitEnd();
	}

	/**
	 * Nothing checks whether the first one hangs.
	 */
	@Test
	void interruptThatHangsDelaysNoOtherWithoutAWatchdog() throws Exception {
		this.watchdog.remove(this.supervised);
		Awaitility.await().until(() -> this.threads.stream().noneMatch(Thread::isAlive));
		Task first = new Task();
		first.interruptUntilItHangs();
		Task other = new Task();
		other.endByAnInterrupt();
		first.close.countDown();
		first.awaitEnd();
	}

	@Test
	void manyShortInterruptsAreMadeByTwoThreads() throws Exception {
		List<Task> tasks = new ArrayList<>();
		for (int i = 0; i < 5; i++) {
			Task task = new Task();
			task.duration = Duration.ofMillis(80);
			tasks.add(task);
		}
		tasks.forEach((task) -> task.worker.interrupt());
		for (Task task : tasks) {
			task.awaitEnd();
		}
		assertThat(this.threads).as("watchdog, two for interrupts").hasSize(3);
	}

	/**
	 * Without a watchdog, the thread is created by the request.
	 */
	@Test
	void requestWithoutAThreadWaitsForTheNextOne() throws Exception {
		this.scarce = "interrupts";
		this.shortage = 1;
		Task task = new Task(new Interruption(this.platform));
		task.worker.interrupt();
		assertThat(this.shortage).isZero();
		assertThat(task.closing.getCount()).isOne();
		task.endByAnInterrupt();
	}

	/**
	 * Without a watchdog either.
	 */
	@Test
	void interruptThatWasGivenUpDelaysNoOther() throws Exception {
		Interruption interruption = interruption(Duration.ofMillis(200));
		Task first = giveUp(interruption);
		Task second = new Task(interruption);
		second.endByAnInterrupt();
		first.close.countDown();
	}

	/**
	 * Two hang, one after the other, and nobody asks again.
	 */
	@Test
	void interruptWaitsOnlyUntilThatOfAnotherUseIsGivenUp() throws Exception {
		Interruption interruption = interruption(Duration.ofSeconds(1));
		Task first = giveUp(interruption);
		Task second = new Task(interruption);
		second.interruptUntilItHangs();
		first.close.countDown();
		second.leave.countDown();
		Awaitility.await().until(() -> second.getState() == Thread.State.TIMED_WAITING);
		Task third = new Task(interruption);
		third.endByAnInterrupt();
		second.close.countDown();
		second.awaitEnd();
	}

	private Interruption interruption(Duration longest) {
		return new Interruption(new Interrupter(this.platform, () -> {
		}, (ex) -> {
		}), longest);
	}

	/**
	 * Return a task that has ended although its interrupt hangs.
	 */
	private Task giveUp(Interruption interruption) throws InterruptedException {
		Task task = new Task(interruption);
		task.interruptUntilItHangs();
		task.leave.countDown();
		task.awaitEnd();
		return task;
	}

	@Test
	void endOfATaskWaitsForItsInterrupt() throws Exception {
		Task task = new Task();
		task.worker.interrupt();
		task.assertEndWaitsForTheInterrupt();
	}

	/**
	 * Without a watchdog, which may find that an interrupt takes long.
	 */
	@Test
	void endThatWaitsForItsInterruptNeedsNoFurtherThread() throws Exception {
		Task task = new Task(new Interruption(this.platform));
		task.worker.interrupt();
		task.assertEndWaitsForTheInterrupt();
		assertThat(this.threads).as("watchdog, one for its interrupts, one for others").hasSize(3);
	}

	/**
	 * Also if no thread can be created.
	 */
	@Test
	void taskIsInterruptedByTheThreadOfTheNode() throws Exception {
		Task task = new Task(new Interruption(this.platform));
		leading(Duration.ofMinutes(1));
		this.electors.get(0).interruptTasksOf(task.worker);
		this.scarce = "interrupts";
		this.shortage = 1;
		task.endByAnInterrupt();
		assertThat(this.shortage).isOne();
	}

	@Test
	void nodeDoesNotKeepATaskThatNoLongerUsesItsInterrupter() throws Exception {
		leading(Duration.ofMinutes(1));
		WeakReference<Interruption> interruption = new WeakReference<>(useInterrupterOf(this.electors.get(0)));
		Awaitility.await().until(() -> {
			System.gc();
			return interruption.get() == null;
		});
	}

	private Interruption useInterrupterOf(DefaultLeaderElector elector) {
		Interruption interruption = new Interruption(this.platform);
		SerialWorker worker = new SerialWorker(Runnable::run, () -> {
		}, interruption);
		elector.interruptTasksOf(worker);
		worker.useOwnInterrupter();
		return interruption;
	}

	@Test
	void workDoesNotClearTheInterruptOfItsTask() throws Exception {
		Election election = leading(Duration.ofMinutes(1));
		CompletableFuture<Boolean> interrupted = new CompletableFuture<>();
		CountDownLatch interrupts = new CountDownLatch(2);
		CountDownLatch running = new CountDownLatch(1);
		Interruption interruption = new Interruption(this.watchdog.interrupter(), Duration.ofMinutes(1));
		SerialWorker worker = new SerialWorker((run) -> new Thread(run, "task").start(), () -> {
		}, interruption);
		worker.add("subject", () -> {
			try (Work work = election.gate().enter("job")) {
				running.countDown();
				while (interrupts.getCount() > 0) {
					LockSupport.park();
					if (Thread.interrupted()) {
						interrupts.countDown();
					}
				}
			}
			interrupted.complete(Thread.currentThread().isInterrupted());
		}, () -> {
		});
		running.await();
		worker.interrupt();
		Awaitility.await().until(() -> interrupts.getCount() == 1);
		election.lose(Reason.SESSION_LOST);
		assertThat(interrupted).succeedsWithin(Duration.ofSeconds(30)).isEqualTo(true);
	}

	@Test
	void endOfATaskDoesNotWaitForEver(CapturedOutput output) throws Exception {
		Task task = new Task(Duration.ofMillis(100));
		task.interruptUntilItHangs();
		task.leave.countDown();
		task.awaitEnd();
		assertThat(output).contains("The interrupt of thread 'task' has not returned within 100ms")
			.contains("It is made by thread 'leader-election-interrupts'", "InterrupterTests$Task.interrupt");
		task.close.countDown();
	}

	@Test
	void endWaitsOnceForAnInterruptThatHangs(CapturedOutput output) throws Exception {
		Interruption interruption = new Interruption(this.watchdog.interrupter(), Duration.ofMillis(100));
		Task task = new Task(interruption);
		task.interruptUntilItHangs();
		task.next = () -> {
			interruption.begin();
			interruption.end();
		};
		task.leave.countDown();
		task.awaitEnd();
		assertThat(output).containsOnlyOnce("has not returned within 100ms");
		task.close.countDown();
	}

	@Test
	void taskThatWaitsForItsInterruptWaitsForNoHandOver() throws Exception {
		Task task = new Task();
		task.detaches = true;
		task.interruptUntilItHangs();
		task.leave.countDown();
		Awaitility.await().until(() -> task.getState() == Thread.State.TIMED_WAITING);
		assertThat(task.worker.isSettled()).isFalse();
		task.close.countDown();
		task.awaitEnd();
		assertThat(task.worker.isSettled()).isTrue();
	}

	@Test
	void endOfWorkWaitsForItsInterrupt() throws Exception {
		Election election = leading(Duration.ofMinutes(1));
		Task task = new Task(election);
		election.lose(Reason.SESSION_LOST);
		task.assertEndWaitsForTheInterrupt();
		assertThat(election.gate().isEmpty()).isTrue();
	}

	/**
	 * Also if the thread cannot even wait.
	 */
	@Test
	void endOfWorkDoesNotWaitForEver(CapturedOutput output) throws Exception {
		Election election = leading(Duration.ZERO);
		Task task = new Task(election);
		election.lose(Reason.SESSION_LOST);
		task.closing.await();
		this.parks = false;
		task.leave.countDown();
		task.awaitEnd();
		assertThat(election.gate().isEmpty()).isTrue();
		assertThat(output).contains("The interrupt of thread 'task' has not returned within 2000ms");
		task.close.countDown();
	}

	private Election leading(Duration drainTimeout) throws InterruptedException {
		ElectionSettings settings = new ElectionSettings("default", "node-1", ElectionFixture.LEASE, Duration.ZERO,
				drainTimeout, true);
		DefaultLeaderElector elector = new DefaultLeaderElector(settings, ElectionTimings.DEFAULTS, LocalStore.always(),
				this.watchdog, this.platform, (event) -> {
				}, ElectionLog.NONE, Transitions::new);
		elector.start();
		this.electors.add(elector);
		assertThat(elector.awaitLeadership(Duration.ofSeconds(30))).isTrue();
		return elector.election();
	}

	/**
	 * A task on a thread of its own, whose interrupt hangs as if it closed a channel.
	 */
	private final class Task extends Thread {

		private final CountDownLatch closing = new CountDownLatch(1);

		private final CountDownLatch close = new CountDownLatch(1);

		private final CountDownLatch running = new CountDownLatch(1);

		private final CountDownLatch leave = new CountDownLatch(1);

		private final CompletableFuture<Boolean> interruptedAfterwards = new CompletableFuture<>();

		private final @Nullable SerialWorker worker;

		private volatile @Nullable Runnable run;

		private volatile Runnable next = () -> {
		};

		private volatile boolean detaches;

		private volatile @Nullable Duration duration;

		Task() throws InterruptedException {
			this(Duration.ofMinutes(1));
		}

		Task(Duration longestInterrupt) throws InterruptedException {
			this(new Interruption(InterrupterTests.this.watchdog.interrupter(), longestInterrupt));
		}

		Task(Interruption interruption) throws InterruptedException {
			super("task");
			this.worker = new SerialWorker((run) -> {
				this.run = run;
				start();
			}, () -> {
			}, interruption);
			this.worker.add("subject", this::await, () -> {
				this.next.run();
				this.interruptedAfterwards.complete(Thread.currentThread().isInterrupted());
			});
			this.running.await();
		}

		Task(Election election) throws InterruptedException {
			super("task");
			this.worker = null;
			this.run = () -> {
				try (Work work = election.gate().enter(this)) {
					await();
				}
				this.interruptedAfterwards.complete(Thread.currentThread().isInterrupted());
			};
			start();
			this.running.await();
		}

		private void await() {
			this.running.countDown();
			try {
				this.leave.await();
			}
			catch (InterruptedException ex) {
				Thread.currentThread().interrupt();
			}
			if (this.detaches) {
				this.worker.detachCurrent();
			}
		}

		@Override
		public void run() {
			this.run.run();
		}

		@Override
		public void interrupt() {
			if (Thread.currentThread() != this) {
				this.closing.countDown();
				Duration limit = this.duration;
				try {
					if (limit != null) {
						TimeUnit.MILLISECONDS.sleep(limit.toMillis());
					}
					else {
						this.close.await();
					}
				}
				catch (InterruptedException ex) {
					throw new IllegalStateException(ex);
				}
			}
			super.interrupt();
		}

		void interruptUntilItHangs() throws InterruptedException {
			this.worker.interrupt();
			this.closing.await();
		}

		void endByAnInterrupt() {
			this.close.countDown();
			this.worker.interrupt();
			awaitEnd();
		}

		void assertEndWaitsForTheInterrupt() throws InterruptedException {
			this.closing.await();
			this.leave.countDown();
			Awaitility.await().until(() -> getState() == Thread.State.TIMED_WAITING);
			assertThat(this.interruptedAfterwards).isNotDone();
			this.close.countDown();
			awaitEnd();
		}

		void awaitEnd() {
			assertThat(this.interruptedAfterwards).succeedsWithin(Duration.ofSeconds(30)).isEqualTo(false);
		}

	}

}
