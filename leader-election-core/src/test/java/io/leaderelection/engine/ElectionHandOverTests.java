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
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

import io.leaderelection.Leadership;
import io.leaderelection.LeadershipGrantedEvent;
import io.leaderelection.LeadershipRevokedEvent;
import io.leaderelection.engine.FakeStore.Call;
import io.leaderelection.engine.StoreSession.Acquisition.Ending;
import io.leaderelection.engine.StoreSession.Holder;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;

import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.awaitility.Awaitility.await;

/**
 * Tests for {@link Election}: resignation and stop of a leader.
 */
@Timeout(60)
@Tag("ring1")
class ElectionHandOverTests extends ElectionFixture {

	private @Nullable Work work;

	private @Nullable Job job;

	private @Nullable CompletableFuture<Boolean> resignation;

	@Test
	void gateIsShutAtOnceWhileTheTermIsTrustedUntilTheWorkHasEnded() {
		at(Duration.ofSeconds(1), this::enter);
		at(Duration.ofSeconds(2), () -> {
			Leadership leadership = this.election.leadership();
			this.resignation = this.election.resign("application");
			assertThat(isLeader()).isFalse();
			assertThat(this.election.state().position()).isInstanceOfSatisfying(Position.HandingOver.class,
					(handingOver) -> assertThat(handingOver.notified()).isFalse());
			assertThat(leadership).isNotNull();
			assertThat(leadership.isCurrent()).isTrue();
			assertThat(this.work.getLeadership()).isSameAs(leadership);
		});
		at(Duration.ofSeconds(4), () -> {
			assertThat(this.work.getLeadership().isCurrent()).isTrue();
			assertThat(tracedEvents()).containsExactly("granted 1");
			exit();
		});
		at(Duration.ofMillis(4010), () -> assertThat(this.work.getLeadership().isCurrent()).isFalse());
		stopAt(Duration.ofSeconds(5)).run();
	}

	@Test
	void lockIsFreedOnlyAfterTheWorkHasEndedAndThenTheListenersAreDone() {
		Deque<Runnable> deliveries = new ArrayDeque<>();
		this.relay = deliveries::add;
		at(Duration.ofMillis(100), () -> deliveries.remove().run());
		at(Duration.ofSeconds(1), this::enter);
		at(Duration.ofSeconds(2), this::resign);
		at(Duration.ofSeconds(3), () -> {
			assertThat(deliveries).isEmpty();
			exit();
		});
		at(Duration.ofSeconds(4), () -> {
			assertThat(this.election.state().position()).isInstanceOfSatisfying(Position.HandingOver.class,
					(handingOver) -> assertThat(handingOver.notified()).isTrue());
			deliveries.remove().run();
			this.trace.add("listeners done");
			assertThat(this.resignation).isNotDone();
		});
		this.store.next(Call.RELEASE, () -> assertThat(this.resignation).isNotDone());
		at(Duration.ofMillis(4100), () -> assertThat(this.resignation).isCompletedWithValue(true));
		stopAt(Duration.ofSeconds(5)).run();
		assertThat(this.trace).startsWith("open", "won 1", "barrier", "granted 1", "work", "resign", "work done",
				"revoked 1 RESIGNED", "listeners done", "release clean", "close");
	}

	@Test
	void resultOfAResignationDoesNotDependOnTheOrderOfThreadsDuringAStop() {
		Deque<Runnable> lastFirst = new ArrayDeque<>();
		at(Duration.ofSeconds(1), this::enter);
		at(Duration.ofSeconds(2), this::resign);
		at(Duration.ofSeconds(4), () -> {
			this.other = lastFirst::push;
			exit();
		}).stopAt(Duration.ofSeconds(3)).run();
		lastFirst.forEach(Runnable::run);
		assertThat(this.trace).contains("release clean");
		assertThat(this.resignation).isCompletedWithValue(true);
	}

	@Test
	void trustEndsBeforeTheLockIsFreed() {
		at(Duration.ofSeconds(1), () -> {
			enter();
			resign();
			exit();
		});
		this.store.next(Call.RELEASE, () -> {
			assertThat(this.election.state().position()).isInstanceOf(Position.Ended.class);
			assertThat(this.work.getLeadership().isCurrent()).isFalse();
		});
		stopAt(Duration.ofSeconds(2)).run();
		assertThat(this.trace).contains("release clean");
	}

	@Test
	void confirmationsGoOnDuringTheDrain() {
		at(Duration.ofMillis(500), this::enter);
		at(Duration.ofMillis(1500), this::resign);
		at(Duration.ofMillis(10500), this::exit);
		stopAt(Duration.ofSeconds(11)).run();
		assertThat(this.store.confirmations).contains(Duration.ofSeconds(2), Duration.ofSeconds(5),
				Duration.ofSeconds(10));
		assertThat(traceFrom("work done")).startsWith("work done", "revoked 1 RESIGNED", "release clean");
	}

	@Test
	void workIsInterruptedWhenTheDrainTimeoutHasPassedAndTheLockIsFreedAfterTheGrace() {
		Duration interrupt = Duration.ofSeconds(2).plus(DRAIN_TIMEOUT);
		Duration end = interrupt.plus(ElectionSettings.GRACE);
		at(Duration.ofSeconds(1), this::startJob);
		at(Duration.ofSeconds(2), this::resign);
		at(interrupt.minusMillis(1), () -> assertThat(this.job.wasInterrupted()).isFalse());
		at(interrupt.plusMillis(10), () -> this.job.awaitInterrupt());
		at(end.minusMillis(1), () -> assertThat(this.trace).endsWith("revoked 1 RESIGNED"));
		at(end.plusMillis(10), () -> assertThat(this.resignation).isCompletedWithValue(true));
		at(Duration.ofSeconds(30), () -> this.job.finish());
		stopAt(Duration.ofSeconds(31)).run();
		assertThat(traceFrom("resign")).startsWith("resign", "revoked 1 RESIGNED", "release", "close");
		assertThat(this.job.leftInterrupted()).isFalse();
	}

	@Test
	void hasLeftInGoodOrderIfAllWorkEndedAfterItsInterrupt() {
		Duration interrupt = Duration.ofSeconds(2).plus(DRAIN_TIMEOUT);
		at(Duration.ofSeconds(1), this::startJob);
		at(Duration.ofSeconds(2), this::resign);
		at(interrupt.plusMillis(500), () -> {
			this.job.awaitInterrupt();
			this.job.finish();
		}).stopAt(Duration.ofSeconds(30)).run();
		assertThat(traceFrom("resign")).startsWith("resign", "revoked 1 RESIGNED", "release clean");
	}

	@Test
	void nodeIsNoCandidateWhileItsOverdueWorkRuns() {
		at(Duration.ofSeconds(1), this::startJob);
		at(Duration.ofSeconds(2), this::resign);
		at(Duration.ofSeconds(35), () -> {
			assertThat(this.trace).endsWith("release", "close");
			this.job.finish();
		}).stopAt(Duration.ofSeconds(50)).run();
		assertThat(traceFrom("close")).startsWith("close", "open", "won 2");
	}

	@Test
	void listenerIsInterruptedWhenTheDrainTimeoutHasPassedAndTheLockIsFreedAfterTheGrace() {
		CountDownLatch interrupted = new CountDownLatch(1);
		CountDownLatch finished = new CountDownLatch(1);
		ExecutorService relayThread = Executors.newSingleThreadExecutor();
		this.relay = relayThread;
		this.listener = (event) -> {
			if (event instanceof LeadershipRevokedEvent revoked
					&& revoked.getReason() == LeadershipRevokedEvent.Reason.RESIGNED) {
				awaitUninterruptibly(finished, interrupted);
			}
		};
		Duration interrupt = Duration.ofSeconds(2).plus(DRAIN_TIMEOUT);
		at(Duration.ofSeconds(1), () -> await().until(() -> this.trace.contains("granted 1")));
		at(Duration.ofSeconds(2), this::resign);
		at(interrupt.minusMillis(1), () -> {
			await().until(() -> this.trace.contains("revoked 1 RESIGNED"));
			assertThat(interrupted.getCount()).isOne();
		});
		at(interrupt.plusMillis(10), () -> awaitUninterruptibly(interrupted, interrupted));
		at(interrupt.plus(ElectionSettings.GRACE).minusMillis(1),
				() -> assertThat(this.trace).doesNotContain("release"));
		at(Duration.ofSeconds(25), finished::countDown);
		stopAt(Duration.ofSeconds(26)).run();
		relayThread.shutdown();
		assertThat(traceFrom("resign")).startsWith("resign", "revoked 1 RESIGNED", "release", "close");
	}

	@Test
	void storeKnowsOfAResignationButNotOfAStop() {
		at(Duration.ofSeconds(2), this::resign);
		stopAt(Duration.ofSeconds(20)).run();
		assertThat(tracedEvents()).contains("revoked 2 STOPPED");
		assertThat(this.store.resignations).isOne();
	}

	@Test
	void workThatWaitsForTheHandOverIsNotWaitedForButIsNotGoodOrder() {
		CompletableFuture<Boolean> joined = new CompletableFuture<>();
		at(Duration.ofSeconds(1), () -> {
			new Thread(() -> {
				try (Work entered = this.election.gate().enter("job")) {
					joined.complete(this.election.resign("application").join());
				}
			}).start();
			await().until(() -> !this.election.gate().isEmpty() && this.election.gate().isDrained());
		});
		this.store.next(Call.RELEASE, () -> assertThat(joined).isNotDone());
		stopAt(Duration.ofSeconds(3)).run();
		assertThat(joined).succeedsWithin(Duration.ofSeconds(20)).isEqualTo(true);
		assertThat(traceFrom("granted 1")).startsWith("granted 1", "revoked 1 RESIGNED", "release");
	}

	@Test
	void workThatWaitsWithATimeoutIsNotWaitedForEither() {
		at(Duration.ofSeconds(1), () -> {
			enter();
			resign();
			assertThatExceptionOfType(TimeoutException.class)
				.isThrownBy(() -> this.resignation.get(1, TimeUnit.NANOSECONDS));
		});
		at(Duration.ofSeconds(2), () -> {
			assertThat(this.trace).contains("release");
			exit();
		}).stopAt(Duration.ofSeconds(3)).run();
	}

	@Test
	void workThatResignsWithoutWaitingIsWaitedFor() {
		at(Duration.ofSeconds(1), () -> {
			enter();
			resign();
		});
		at(Duration.ofSeconds(2), this::exit);
		stopAt(Duration.ofSeconds(3)).run();
		assertThat(traceFrom("resign")).startsWith("resign", "work done", "revoked 1 RESIGNED", "release clean");
	}

	@Test
	void listenerThatWaitsForTheHandOverIsNotWaitedFor() {
		ExecutorService relayThread = Executors.newSingleThreadExecutor();
		this.relay = relayThread;
		CompletableFuture<Boolean> joined = new CompletableFuture<>();
		this.listener = (event) -> {
			if (event instanceof LeadershipGrantedEvent && !joined.isDone()) {
				joined.complete(this.election.resign("application").join());
			}
		};
		at(Duration.ofSeconds(1), () -> await().until(() -> this.election.effects().relay().isSettled()));
		at(Duration.ofSeconds(2), () -> assertThat(joined).succeedsWithin(Duration.ofSeconds(20)).isEqualTo(true));
		stopAt(Duration.ofSeconds(3)).run();
		relayThread.shutdown();
		await().until(relayThread::isTerminated);
		assertThat(this.trace).containsSubsequence("granted 1", "release", "close");
		assertThat(tracedEvents()).startsWith("granted 1", "revoked 1 RESIGNED");
	}

	@Test
	void whatWasLeftBehindIsNotGoodOrderHoweverLongAgo() {
		at(Duration.ofSeconds(1), () -> this.election.leadership().recordResidue("a service", null));
		at(Duration.ofMinutes(1), this::resign);
		stopAt(Duration.ofSeconds(61)).run();
		assertThat(this.trace).contains("release").doesNotContain("release clean");
	}

	@Test
	void resignationBeforeTheGrantFreesTheLockWithoutEventsAndNotAsGoodOrder() {
		this.store.ending = Ending.UNKNOWN;
		at(Duration.ofMillis(50), this::resign);
		at(Duration.ofMillis(80), () -> assertThat(this.resignation).isCompletedWithValue(true));
		stopAt(Duration.ofSeconds(1)).run();
		assertThat(traceFrom("resign")).startsWith("resign", "release", "close", "open");
		assertThat(this.events).isEmpty();
	}

	@Test
	void thereIsNothingToResignFromWhileFollowingOrStopped() {
		this.store.leader = new Holder("node-2", "4711");
		assertThat(this.election.resign("application")).isCompletedWithValue(false);
		at(Duration.ofSeconds(1), () -> assertThat(this.election.resign("application")).isCompletedWithValue(false));
		stopAt(Duration.ofSeconds(2)).run();
		assertThat(this.election.resign("application")).isCompletedWithValue(false);
	}

	@Test
	void nodeThatResignedIsACandidateAgainAtOnceWhenAnotherLeads() {
		at(Duration.ofSeconds(1), this::resign);
		at(Duration.ofMillis(1550), () -> this.store.leader = new Holder("node-2", "4711"));
		at(Duration.ofMillis(1800), () -> assertThat(this.store.waits).hasSizeGreaterThan(1));
		stopAt(Duration.ofSeconds(2)).run();
		assertThat(this.store.observations).last().isEqualTo(Duration.ofMillis(1550));
		assertThat(this.store.terms).isOne();
	}

	@Test
	void nodeThatResignedIsACandidateAgainAfterALeaseWithoutASuccessor() {
		at(Duration.ofSeconds(1), this::resign);
		at(Duration.ofSeconds(1).plus(LEASE).minusMillis(100), () -> assertThat(this.store.terms).isOne());
		at(Duration.ofSeconds(1).plus(LEASE).plusMillis(300), () -> assertThat(isLeader()).isTrue());
		stopAt(Duration.ofSeconds(8)).run();
		assertThat(this.store.terms).isEqualTo(2);
	}

	@Test
	void sessionThatIsLostDuringTheDrainMakesItALoss() {
		at(Duration.ofSeconds(1), this::startJob);
		at(Duration.ofSeconds(2), this::resign);
		at(Duration.ofSeconds(3), () -> loseSession());
		at(Duration.ofMillis(3100), () -> {
			assertThat(this.resignation).isCompletedWithValue(false);
			this.job.awaitInterrupt();
			this.job.finish();
		}).stopAt(Duration.ofSeconds(4)).run();
		assertThat(traceFrom("resign")).startsWith("resign", "revoked 1 SESSION_LOST", "abort");
		assertThat(tracedEvents()).hasSize(2);
	}

	@Test
	void leaseThatLapsesDuringTheDrainMakesItALoss() {
		at(Duration.ofMillis(500), this::startJob);
		at(Duration.ofMillis(600), this::resign);
		this.store.skip(Call.CONFIRM, 2);
		this.store.next(Call.CONFIRM, () -> hang(Duration.ofSeconds(60)));
		at(TRUST.plusMillis(100), () -> {
			this.job.awaitInterrupt();
			this.job.finish();
		}).stopAt(Duration.ofSeconds(5)).run();
		assertThat(traceFrom("resign")).startsWith("resign", "revoked 1 LEASE_EXPIRED", "abort");
		assertThat(tracedEvents()).hasSize(2);
	}

	@Test
	void sessionThatIsLostWhileListenersRunAddsNoSecondEvent() {
		Deque<Runnable> deliveries = new ArrayDeque<>();
		this.relay = deliveries::add;
		at(Duration.ofSeconds(1), this::resign);
		at(Duration.ofSeconds(2), () -> {
			assertThat(this.election.state().position()).isInstanceOfSatisfying(Position.HandingOver.class,
					(handingOver) -> assertThat(handingOver.notified()).isTrue());
			loseSession();
		}).stopAt(Duration.ofSeconds(3)).run();
		deliveries.forEach(Runnable::run);
		assertThat(tracedEvents()).containsExactly("granted 1", "revoked 1 RESIGNED");
		assertThat(this.trace).contains("abort").doesNotContain("release", "release clean");
	}

	@Test
	void sessionThatIsLostAtTheReleaseAddsNoSecondEvent() {
		this.store.fail(Call.RELEASE);
		at(Duration.ofSeconds(1), this::resign);
		stopAt(Duration.ofSeconds(2)).run();
		assertThat(this.resignation).isCompletedWithValue(false);
		assertThat(traceFrom("resign")).startsWith("resign", "revoked 1 RESIGNED", "release clean", "abort", "open");
	}

	@Test
	void stopHandsOverInTheSameOrder() {
		CompletableFuture<@Nullable Void> end = new CompletableFuture<>();
		at(Duration.ofSeconds(1), this::enter);
		at(Duration.ofSeconds(2), () -> {
			this.trace.add("stop");
			this.election.stop().thenRun(() -> {
				this.trace.add("stopped");
				end.complete(null);
			});
			assertThat(isLeader()).isFalse();
		});
		at(Duration.ofSeconds(3), this::exit);
		run();
		assertThat(end).isCompleted();
		assertThat(traceFrom("stop")).containsExactly("stop", "work done", "revoked 1 STOPPED", "release clean",
				"close", "stopped");
		assertThat(this.election.state().position()).isInstanceOf(Position.Stopped.class);
	}

	@Test
	void stopDuringAResignationCompletesItAndKeepsItsReason() {
		at(Duration.ofSeconds(1), this::enter);
		at(Duration.ofSeconds(2), this::resign);
		stopAt(Duration.ofSeconds(3));
		at(Duration.ofSeconds(4), this::exit);
		run();
		assertThat(this.resignation).isCompletedWithValue(true);
		assertThat(traceFrom("resign")).containsExactly("resign", "work done", "revoked 1 RESIGNED", "release clean",
				"close");
	}

	@Test
	void stopBeforeTheGrantFreesTheLockWithoutEventsAndNotAsGoodOrder() {
		this.store.ending = Ending.UNKNOWN;
		CompletableFuture<@Nullable Void> decision = start();
		stopAt(Duration.ofMillis(50)).run();
		assertThat(decision).isCompleted();
		assertThat(this.trace).containsExactly("open", "won 1", "barrier", "release", "close");
	}

	@Test
	@ExtendWith(OutputCaptureExtension.class)
	void handOverThatTakesLongNamesItsWorkOnce(CapturedOutput output) {
		String words = "waits for listeners, services or work: job";
		at(Duration.ofSeconds(1), this::enter);
		at(Duration.ofSeconds(2), this::resign);
		at(Duration.ofMillis(2900), () -> assertThat(output).doesNotContain(words));
		at(Duration.ofMillis(3100), () -> assertThat(output).contains(words));
		at(Duration.ofSeconds(6), this::exit);
		stopAt(Duration.ofSeconds(8)).run();
		assertThat(output).containsOnlyOnce(words);
	}

	private void enter() {
		this.trace.add("work");
		this.work = this.election.gate().enter("job");
		assertThat(this.work).isNotNull();
	}

	private void exit() {
		this.work.close();
		this.trace.add("work done");
	}

	private void startJob() {
		this.job = Job.start(this.election, "job");
	}

	private void resign() {
		this.trace.add("resign");
		this.resignation = this.election.resign("application");
	}

	private static void awaitUninterruptibly(CountDownLatch latch, CountDownLatch interrupted) {
		while (latch.getCount() > 0) {
			try {
				assertThat(latch.await(20, TimeUnit.SECONDS)).isTrue();
			}
			catch (InterruptedException ex) {
				interrupted.countDown();
			}
		}
	}

}
