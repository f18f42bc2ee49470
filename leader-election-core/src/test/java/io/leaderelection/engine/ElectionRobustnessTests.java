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
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;

import io.leaderelection.Leadership;
import io.leaderelection.engine.FakeStore.Call;
import io.leaderelection.engine.Watchdog.Supervised;
import io.leaderelection.testsupport.Daemon;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

import org.springframework.test.util.ReflectionTestUtils;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Tests for {@link Election} and what it is made of when things go wrong that hardly ever
 * do. Each of these has failed once.
 */
@Timeout(60)
@Tag("ring1")
class ElectionRobustnessTests extends ElectionFixture {

	private Work work;

	private Job job;

	@Test
	void sessionWhoseAbortFailsDoesNotEndTheCampaign() {
		this.store.next(Call.ABORT, () -> {
			throw new IllegalStateException("bug");
		});
		at(Duration.ofSeconds(1), this::loseSession);
		at(Duration.ofSeconds(3), () -> assertThat(isLeader()).isTrue());
		stopAt(Duration.ofSeconds(4)).run();
	}

	@Test
	void workThatCannotBeDescribedDoesNotEndTheCampaign() {
		Object description = new Object() {
			@Override
			public String toString() {
				throw new IllegalStateException("bug of the application");
			}
		};
		at(Duration.ofSeconds(1), () -> {
			this.work = this.election.gate().enter(description);
			loseSession();
		});
		at(Duration.ofSeconds(30), () -> assertThat(isLeader()).isTrue());
		at(Duration.ofSeconds(31), () -> this.work.close());
		stopAt(Duration.ofSeconds(32)).run();
	}

	@Test
	void interruptDoesNotReachAThreadThatWasRefused() {
		this.store.skip(Call.CONFIRM, 2);
		this.store.next(Call.CONFIRM, () -> {
			AtomicInteger reads = new AtomicInteger();
			this.time.onRead(() -> {
				if (reads.incrementAndGet() == 1) {
					// Registered, not checked: now trust expires and the watchdog looks
					this.time.advance(TRUST);
					checkDeadlines();
				}
			});
			assertThat(this.election.gate().enter("job")).isNull();
			assertThat(Thread.interrupted()).isFalse();
		});
		stopAt(Duration.ofSeconds(10)).run();
	}

	@Test
	void withoutMemoryTrustEndsFirstAndTheSessionWithItsEvent() {
		at(Duration.ofSeconds(1), () -> {
			this.time.onNow = () -> outOfMemory("Java heap space");
			loseSession();
		});
		at(Duration.ofSeconds(2), () -> {
			assertThat(isLeader()).isFalse();
			assertThat(tracedEvents()).containsExactly("granted 1");
			assertThat(this.trace).doesNotContain("abort");
			this.time.onNow = FakeTime.NOTHING;
		}).stopAt(Duration.ofSeconds(4)).run();
		assertThat(tracedEvents()).startsWith("granted 1", "revoked 1 SESSION_LOST", "granted 2");
		assertThat(this.trace).containsSubsequence("revoked 1 SESSION_LOST", "abort", "granted 2");
	}

	@Test
	void abortThatIsRepeatedIsThatOfTheLostSession() {
		AtomicInteger aborts = new AtomicInteger();
		at(Duration.ofSeconds(1), () -> {
			this.time.onNow = () -> {
				this.time.onNow = FakeTime.NOTHING;
				throw new OutOfMemoryError("Java heap space");
			};
			loseSession();
		});
		for (int i = 0; i < 2; i++) {
			this.store.next(Call.ABORT, () -> outOfMemory("unable to create native thread"));
		}
		FakeStore.FakeSession[] lost = new FakeStore.FakeSession[1];
		this.store.next(Call.CONFIRM, () -> lost[0] = this.store.session);
		this.store.next(Call.ABORT, () -> {
			assertThat(this.store.session).isSameAs(lost[0]);
			aborts.incrementAndGet();
		});
		stopAt(Duration.ofSeconds(4)).run();
		assertThat(aborts).hasValue(1);
	}

	@Test
	void trustEndsBeforeAStopEndsTheSession() {
		AtomicBoolean aborted = new AtomicBoolean();
		at(Duration.ofSeconds(1), () -> {
			this.work = this.election.gate().enter("job");
			this.election.stop();
		});
		at(Duration.ofMillis(22_900), () -> {
			Leadership leadership = this.events.get(0).getLeadership();
			assertThat(leadership.isCurrent()).isTrue();
			this.store.next(Call.ABORT, () -> {
				assertThat(leadership.isCurrent()).isFalse();
				aborted.set(true);
			});
			hang(Duration.ofSeconds(2));
			this.work.close();
		});
		run();
		assertThat(aborted).isTrue();
		assertThat(tracedEvents()).containsExactly("granted 1", "revoked 1 STOPPED");
	}

	@Test
	void nodeDoesNotTrustATermWhoseSessionItHasAborted() {
		AtomicBoolean broken = new AtomicBoolean(true);
		this.relay = (task) -> {
			if (broken.getAndSet(false)) {
				throw new OutOfMemoryError("unable to create native thread");
			}
			task.run();
		};
		this.store.next(Call.ABORT, () -> assertThat(isLeader()).isFalse());
		stopAt(Duration.ofSeconds(1)).run();
	}

	@Test
	void stopWhileWaitingForTheEndOfWorkOpensNoSession() {
		at(Duration.ofSeconds(1), () -> {
			this.job = Job.start(this.election, "job");
			loseSession();
		}).stopAt(Duration.ofSeconds(2)).run();
		assertThat(this.store.openings).hasSize(1);
		this.job.finish();
	}

	@Test
	void stopJustBeforeTheOpeningEndsIt() {
		start();
		AtomicInteger reads = new AtomicInteger();
		this.time.onRead(() -> {
			if (reads.incrementAndGet() == 2) {
				this.election.stop();
			}
		});
		this.store.next(Call.OPEN, () -> {
			if (!Thread.currentThread().isInterrupted()) {
				hang(Duration.ofSeconds(60));
			}
		});
		run();
		assertThat(this.time.elapsed()).isLessThan(Duration.ofSeconds(15));
	}

	@Test
	void resignationDuringAnUnfinishedStopDoesNotFallOnTheNextCampaign() {
		at(Duration.ofSeconds(1), () -> {
			Work job = this.election.gate().enter("job");
			this.election.stop();
			start();
			CompletableFuture<Boolean> resignation = this.election.resign("application");
			at(Duration.ofSeconds(2), job::close);
			at(Duration.ofMillis(3500), () -> {
				assertThat(resignation).isCompletedWithValue(true);
				assertThat(isLeader()).isTrue();
			});
		}).stopAt(Duration.ofSeconds(4)).run();
	}

	@Test
	void watchdogAbortsTheSessionOfAStoppingCampaignAlthoughAnotherWasStarted() {
		at(Duration.ofMillis(500), () -> {
			this.job = Job.start(this.election, "job");
			this.election.stop();
			start();
		});
		this.store.skip(Call.CONFIRM, 2);
		this.store.next(Call.CONFIRM, () -> {
			hang(TRUST);
			assertThat(this.trace).contains("abort");
		});
		stopAt(Duration.ofSeconds(9)).run();
		this.job.finish();
	}

	@Test
	void pausesGrowWhileSessionsOpenButCannotBecomeCandidates() {
		for (int i = 0; i < 12; i++) {
			this.store.fail(Call.ACQUIRE, new SessionException("out of shared memory", null));
		}
		stopAt(Duration.ofSeconds(10)).run();
		assertThat(this.store.openings).hasSizeLessThan(10);
	}

	@Test
	void resignationAtTheReleaseIsTheSame() {
		this.store.next(Call.RELEASE, () -> assertThat(this.election.resign("application")).isNotDone());
		at(Duration.ofSeconds(1), () -> this.election.resign("application"));
		stopAt(Duration.ofSeconds(2)).run();
	}

	@Test
	void cancelledStageIsNotGoodOrder() {
		CompletableFuture<String> stage = new CompletableFuture<>();
		at(Duration.ofSeconds(1), () -> {
			try (Work entered = this.election.gate().enter("job")) {
				entered.continueUntil(stage);
			}
			this.election.resign("application");
		}).stopAt(Duration.ofSeconds(30)).run();
		assertThat(stage).isCancelled();
		assertThat(traceFrom("revoked 1 RESIGNED")).startsWith("revoked 1 RESIGNED", "release", "close");
	}

	@Test
	void stopIsNotMissedBetweenTheCheckAndTheWait() throws Exception {
		ReentrantLock lock = (ReentrantLock) ReflectionTestUtils.getField(this.election, "lock");
		this.store.fail(Call.OPEN, new UnusableStoreException("too old", "Upgrade", null));
		start();
		Runnable campaign = takeCampaign();
		CountDownLatch checked = new CountDownLatch(1);
		CountDownLatch locked = new CountDownLatch(1);
		Thread thread = Daemon.create("campaign", campaign);
		// pause() reads the clock once before its check; hold the thread there
		AtomicInteger reads = new AtomicInteger();
		this.time.onRead(() -> {
			if (Thread.currentThread() == thread && reads.incrementAndGet() > 0 && !this.store.openings.isEmpty()
					&& this.election.state().contact().problem() != null && !lock.isHeldByCurrentThread()) {
				checked.countDown();
				awaitLatch(locked);
			}
		});
		thread.start();
		awaitLatch(checked);
		lock.lock();
		try {
			locked.countDown();
			await().until(() -> lock.hasQueuedThread(thread));
			this.election.stop();
		}
		finally {
			lock.unlock();
		}
		thread.join(20_000);
		assertThat(this.time.elapsed()).isLessThan(Duration.ofSeconds(30));
	}

	@Test
	void requestIsNotLostWhenTheWatchdogWaitsForALock() {
		AtomicInteger checks = new AtomicInteger();
		AtomicBoolean contended = new AtomicBoolean(true);
		Watchdog watchdog = new Watchdog(Platform.SYSTEM);
		Supervised first = () -> {
			if (contended.compareAndSet(false, true)) {
				Thread other = Daemon.start("other", () -> watchdog.checkWithin(1));
				while (other.isAlive()) {
					// Any other wait could consume the permit
					Thread.onSpinWait();
				}
				// As ReentrantLock.lock() does in lose(), or an appender's in
				// logger.warn()
				LockSupport.parkNanos(TimeUnit.SECONDS.toNanos(10));
			}
			return Watchdog.NO_DEADLINE;
		};
		watchdog.add(first);
		watchdog.add(() -> {
			checks.incrementAndGet();
			return Watchdog.NO_DEADLINE;
		});
		Thread thread = (Thread) ReflectionTestUtils.getField(watchdog, "thread");
		await().until(() -> thread.getState() == Thread.State.TIMED_WAITING);
		checks.set(0);
		contended.set(false);
		watchdog.checkWithin(1);
		await().atMost(Duration.ofSeconds(5)).until(() -> checks.get() > 1);
	}

	@Test
	void callbackOfAResignationDoesNotHoldTheElectionThread() {
		DefaultLeaderElector elector = new DefaultLeaderElector(settings(Duration.ZERO, true), ElectionTimings.DEFAULTS,
				LogContext.NONE, LocalStore.always(), new Watchdog(Platform.SYSTEM), (event) -> {
				});
		elector.start().join();
		CountDownLatch mayEnd = new CountDownLatch(1);
		elector.resign().thenRun(() -> awaitLatch(mayEnd));
		assertThat(elector.stop()).succeedsWithin(Duration.ofSeconds(10));
		mayEnd.countDown();
	}

	@Test
	void listenersAreGivenTimeBehindOverdueWork() {
		Deque<Runnable> deliveries = new ArrayDeque<>();
		this.relay = deliveries::add;
		at(Duration.ofSeconds(1), () -> {
			deliveries.remove().run();
			this.job = Job.start(this.election, "job");
			this.election.resign("application");
		});
		AtomicBoolean notified = new AtomicBoolean();
		this.store.next(Call.RELEASE, () -> {
			this.job.finish();
			assertThat(notified).isTrue();
		});
		at(Duration.ofMillis(22_900), () -> {
			notified.set(!deliveries.isEmpty());
			deliveries.forEach(Runnable::run);
		}).stopAt(Duration.ofSeconds(30)).run();
	}

	@Test
	void resignationOfALeadershipThatCannotBeEndedForWantOfMemoryEndsWithIt() {
		List<CompletableFuture<Boolean>> resignations = new ArrayList<>();
		at(Duration.ofSeconds(1), () -> {
			loseSession();
			this.time.onNow = () -> outOfMemory("Java heap space");
		});
		at(Duration.ofMillis(1050), () -> {
			this.time.onNow = FakeTime.NOTHING;
			resignations.add(this.election.resign("application"));
			assertThat(resignations.get(0)).isNotDone();
			this.store.next(Call.OPEN, () -> assertThat(resignations.get(0)).isCompletedWithValue(false));
		}).stopAt(Duration.ofSeconds(8)).run();
		assertThat(resignations).hasSize(1);
		assertThat(tracedEvents()).startsWith("granted 1", "revoked 1 SESSION_LOST", "granted 2");
	}

	@Test
	void workIsInterruptedOnTimeAlthoughTheElectionThreadWaitsForTheStore() {
		ElectionFixture slow = new ElectionFixture(new ElectionSettings("default", "node-1", Duration.ofSeconds(60),
				Duration.ZERO, Duration.ofSeconds(3), true));
		slow.at(Duration.ofMillis(100), () -> {
			this.job = Job.start(slow.election, "job");
			slow.election.resign("application");
			slow.store.next(Call.CONFIRM, () -> {
				slow.hang(Duration.ofMillis(2900).minus(slow.time.elapsed().minusMillis(100)));
				assertThat(this.job.wasInterrupted()).isFalse();
				slow.hang(Duration.ofMillis(200));
				this.job.awaitInterrupt();
				this.job.finish();
			});
		});
		slow.stopAt(Duration.ofSeconds(10)).run();
		assertThat(slow.trace).contains("release clean");
	}

	@Test
	void watchdogIsAwakeWhenAHandOverHasHadItsTime() {
		TestThreads threads = new TestThreads();
		HookedStore store = new HookedStore();
		DefaultLeaderElector elector = threads.elector(new ElectionSettings("default", "node-1", Duration.ofSeconds(20),
				Duration.ZERO, Duration.ofSeconds(1), true), store, (event) -> {
				});
		elector.start();
		await().until(elector::isLeader);
		CountDownLatch interrupted = new CountDownLatch(1);
		Thread worker = new Thread(() -> elector.runIfLeader(() -> {
			try {
				new CountDownLatch(1).await();
			}
			catch (InterruptedException ex) {
				interrupted.countDown();
			}
		}));
		worker.start();
		await().until(() -> elector.gate().size() == 1);
		// The election thread hangs, and trust lasts for 15 s
		store.cutOff();
		elector.resign();
		await().atMost(Duration.ofSeconds(8)).until(() -> interrupted.getCount() == 0);
		store.heal();
		assertThat(elector.stop()).succeedsWithin(Duration.ofSeconds(30));
	}

	@Test
	void relayGoesOnAfterWhatIsCalledWhenItIsIdleHasFailed() {
		AtomicBoolean broken = new AtomicBoolean(true);
		List<Integer> ended = new ArrayList<>();
		SerialWorker relay = new SerialWorker((task) -> {
			try {
				task.run();
			}
			catch (IllegalStateException ex) {
				assertThat(ex).hasMessage("bug");
			}
		}, () -> {
			if (broken.getAndSet(false)) {
				throw new IllegalStateException("bug");
			}
		}, new Interruption(new DirectInterrupter(Platform.SYSTEM), Duration.ZERO));
		for (int i = 1; i <= 2; i++) {
			int task = i;
			relay.add(new SerialWorker.Task(task, () -> ended.add(task)));
			assertThat(ended).hasSize(i);
		}
	}

	@Test
	void stopAfterALossWaitsForTheListeners() {
		Deque<Runnable> deliveries = new ArrayDeque<>();
		this.relay = deliveries::add;
		loseSession();
		stopAt(Duration.ofMillis(1));
		at(Duration.ofSeconds(1), () -> {
			assertThat(this.election.stop()).isNotDone();
			deliveries.forEach(Runnable::run);
		});
		run();
		assertThat(this.time.elapsed()).isLessThan(Duration.ofSeconds(2));
		assertThat(this.events).hasSize(2);
	}

	@Test
	void stopAfterALossDoesNotWaitForListenersForEver() {
		this.relay = (delivery) -> {
		};
		loseSession();
		stopAt(Duration.ofMillis(1)).run();
		assertThat(this.time.elapsed()).isBetween(Duration.ofSeconds(2), Duration.ofSeconds(3));
	}

	@Test
	void workThatWaitsForADependentStageDoesNotWaitForItself() {
		at(Duration.ofSeconds(1), () -> {
			this.work = this.election.gate().enter("job");
			CompletableFuture<String> dependent = this.election.resign("application").thenApply(String::valueOf);
			try {
				dependent.get(1, TimeUnit.NANOSECONDS);
			}
			catch (Exception ex) {
				// Not yet
			}
		});
		at(Duration.ofSeconds(2), () -> {
			assertThat(this.trace).contains("release");
			this.work.close();
		}).stopAt(Duration.ofSeconds(3)).run();
	}

	private static void outOfMemory(String message) {
		throw new OutOfMemoryError(message);
	}

	private static void awaitLatch(CountDownLatch latch) {
		try {
			assertThat(latch.await(20, TimeUnit.SECONDS)).isTrue();
		}
		catch (InterruptedException ex) {
			throw new IllegalStateException(ex);
		}
	}

}
