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
class ElectionHandOverTests {

	private final ElectionFixture fixture = new ElectionFixture();

	private final FakeStore store = this.fixture.store;

	private final FakeTime time = this.fixture.time;

	private final Election election = this.fixture.election;

	private @Nullable Work work;

	private @Nullable Job job;

	private @Nullable CompletableFuture<Boolean> resignation;

	@Test
	void gateIsShutAtOnceWhileTheTermIsTrustedUntilTheWorkHasEnded() {
		this.fixture.at(Duration.ofSeconds(1), this::enter);
		this.fixture.at(Duration.ofSeconds(2), () -> {
			Leadership leadership = this.election.leadership();
			this.resignation = this.election.resign("application");
			assertThat(this.fixture.isLeader()).isFalse();
			assertThat(this.election.state().position()).isInstanceOfSatisfying(Position.HandingOver.class,
					(handingOver) -> assertThat(handingOver.notified()).isFalse());
			assertThat(leadership).isNotNull();
			assertThat(leadership.isCurrent()).isTrue();
			assertThat(this.work.getLeadership()).isSameAs(leadership);
		});
		this.fixture.at(Duration.ofSeconds(4), () -> {
			assertThat(this.work.getLeadership().isCurrent()).isTrue();
			assertThat(this.fixture.tracedEvents()).containsExactly("granted 1");
			exit();
		});
		this.fixture.at(Duration.ofMillis(4010), () -> assertThat(this.work.getLeadership().isCurrent()).isFalse());
		this.fixture.stopAt(Duration.ofSeconds(5)).run();
	}

	@Test
	void lockIsFreedOnlyAfterTheWorkHasEndedAndThenTheListenersAreDone() {
		Deque<Runnable> deliveries = new ArrayDeque<>();
		this.fixture.relay = deliveries::add;
		this.fixture.at(Duration.ofMillis(100), () -> deliveries.remove().run());
		this.fixture.at(Duration.ofSeconds(1), this::enter);
		this.fixture.at(Duration.ofSeconds(2), this::resign);
		this.fixture.at(Duration.ofSeconds(3), () -> {
			assertThat(deliveries).isEmpty();
			exit();
		});
		this.fixture.at(Duration.ofSeconds(4), () -> {
			assertThat(this.election.state().position()).isInstanceOfSatisfying(Position.HandingOver.class,
					(handingOver) -> assertThat(handingOver.notified()).isTrue());
			deliveries.remove().run();
			this.fixture.trace.add("listeners done");
			assertThat(this.resignation).isNotDone();
		});
		this.store.next(Call.RELEASE, () -> assertThat(this.resignation).isNotDone());
		this.fixture.at(Duration.ofMillis(4100), () -> assertThat(this.resignation).isCompletedWithValue(true));
		this.fixture.stopAt(Duration.ofSeconds(5)).run();
		assertThat(this.fixture.trace).startsWith("open", "won 1", "barrier", "granted 1", "work", "resign",
				"work done", "revoked 1 RESIGNED", "listeners done", "release clean", "close");
	}

	@Test
	void resultOfAResignationDoesNotDependOnTheOrderOfThreadsDuringAStop() {
		Deque<Runnable> lastFirst = new ArrayDeque<>();
		this.fixture.at(Duration.ofSeconds(1), this::enter);
		this.fixture.at(Duration.ofSeconds(2), this::resign);
		this.fixture.at(Duration.ofSeconds(4), () -> {
			this.fixture.other = lastFirst::push;
			exit();
		});
		this.fixture.stopAt(Duration.ofSeconds(3)).run();
		lastFirst.forEach(Runnable::run);
		assertThat(this.fixture.trace).contains("release clean");
		assertThat(this.resignation).isCompletedWithValue(true);
	}

	@Test
	void trustEndsBeforeTheLockIsFreed() {
		this.fixture.at(Duration.ofSeconds(1), () -> {
			enter();
			resign();
			exit();
		});
		this.store.next(Call.RELEASE, () -> {
			assertThat(this.election.state().position()).isInstanceOf(Position.Ended.class);
			assertThat(this.work.getLeadership().isCurrent()).isFalse();
		});
		this.fixture.stopAt(Duration.ofSeconds(2)).run();
		assertThat(this.fixture.trace).contains("release clean");
	}

	@Test
	void confirmationsGoOnDuringTheDrain() {
		this.fixture.at(Duration.ofMillis(500), this::enter);
		this.fixture.at(Duration.ofMillis(1500), this::resign);
		this.fixture.at(Duration.ofMillis(10500), this::exit);
		this.fixture.stopAt(Duration.ofSeconds(11)).run();
		assertThat(this.store.confirmations).contains(Duration.ofSeconds(2), Duration.ofSeconds(5),
				Duration.ofSeconds(10));
		assertThat(this.fixture.traceFrom("work done")).startsWith("work done", "revoked 1 RESIGNED", "release clean");
	}

	@Test
	void workIsInterruptedWhenTheDrainTimeoutHasPassedAndTheLockIsFreedAfterTheGrace() {
		Duration interrupt = Duration.ofSeconds(2).plus(ElectionFixture.DRAIN_TIMEOUT);
		Duration end = interrupt.plus(ElectionSettings.GRACE);
		this.fixture.at(Duration.ofSeconds(1), this::startJob);
		this.fixture.at(Duration.ofSeconds(2), this::resign);
		this.fixture.at(interrupt.minusMillis(1), () -> assertThat(this.job.wasInterrupted()).isFalse());
		this.fixture.at(interrupt.plusMillis(10), () -> this.job.awaitInterrupt());
		this.fixture.at(end.minusMillis(1), () -> assertThat(this.fixture.trace).endsWith("revoked 1 RESIGNED"));
		this.fixture.at(end.plusMillis(10), () -> assertThat(this.resignation).isCompletedWithValue(true));
		this.fixture.at(Duration.ofSeconds(30), () -> this.job.finish());
		this.fixture.stopAt(Duration.ofSeconds(31)).run();
		assertThat(this.fixture.traceFrom("resign")).startsWith("resign", "revoked 1 RESIGNED", "release", "close");
		assertThat(this.job.leftInterrupted()).isFalse();
	}

	@Test
	void hasLeftInGoodOrderIfAllWorkEndedAfterItsInterrupt() {
		Duration interrupt = Duration.ofSeconds(2).plus(ElectionFixture.DRAIN_TIMEOUT);
		this.fixture.at(Duration.ofSeconds(1), this::startJob);
		this.fixture.at(Duration.ofSeconds(2), this::resign);
		this.fixture.at(interrupt.plusMillis(500), () -> {
			this.job.awaitInterrupt();
			this.job.finish();
		});
		this.fixture.stopAt(Duration.ofSeconds(30)).run();
		assertThat(this.fixture.traceFrom("resign")).startsWith("resign", "revoked 1 RESIGNED", "release clean");
	}

	@Test
	void nodeIsNoCandidateWhileItsOverdueWorkRuns() {
		this.fixture.at(Duration.ofSeconds(1), this::startJob);
		this.fixture.at(Duration.ofSeconds(2), this::resign);
		this.fixture.at(Duration.ofSeconds(35), () -> {
			assertThat(this.fixture.trace).endsWith("release", "close");
			this.job.finish();
		});
		this.fixture.stopAt(Duration.ofSeconds(50)).run();
		assertThat(this.fixture.traceFrom("close")).startsWith("close", "open", "won 2");
	}

	@Test
	void listenerIsInterruptedWhenTheDrainTimeoutHasPassedAndTheLockIsFreedAfterTheGrace() {
		CountDownLatch interrupted = new CountDownLatch(1);
		CountDownLatch finished = new CountDownLatch(1);
		ExecutorService relayThread = Executors.newSingleThreadExecutor();
		this.fixture.relay = relayThread;
		this.fixture.listener = (event) -> {
			if (event instanceof LeadershipRevokedEvent revoked
					&& revoked.getReason() == LeadershipRevokedEvent.Reason.RESIGNED) {
				awaitUninterruptibly(finished, interrupted);
			}
		};
		Duration interrupt = Duration.ofSeconds(2).plus(ElectionFixture.DRAIN_TIMEOUT);
		this.fixture.at(Duration.ofSeconds(1), () -> await().until(() -> this.fixture.trace.contains("granted 1")));
		this.fixture.at(Duration.ofSeconds(2), this::resign);
		this.fixture.at(interrupt.minusMillis(1), () -> {
			await().until(() -> this.fixture.trace.contains("revoked 1 RESIGNED"));
			assertThat(interrupted.getCount()).isOne();
		});
		this.fixture.at(interrupt.plusMillis(10), () -> awaitUninterruptibly(interrupted, interrupted));
		this.fixture.at(interrupt.plus(ElectionSettings.GRACE).minusMillis(1),
				() -> assertThat(this.fixture.trace).doesNotContain("release"));
		this.fixture.at(Duration.ofSeconds(25), finished::countDown);
		this.fixture.stopAt(Duration.ofSeconds(26)).run();
		relayThread.shutdown();
		assertThat(this.fixture.traceFrom("resign")).startsWith("resign", "revoked 1 RESIGNED", "release", "close");
	}

	@Test
	void storeKnowsOfAResignationButNotOfAStop() {
		this.fixture.at(Duration.ofSeconds(2), this::resign);
		this.fixture.stopAt(Duration.ofSeconds(20)).run();
		assertThat(this.fixture.tracedEvents()).contains("revoked 2 STOPPED");
		assertThat(this.store.resignations).isOne();
	}

	@Test
	void workThatWaitsForTheHandOverIsNotWaitedForButIsNotGoodOrder() {
		CompletableFuture<Boolean> joined = new CompletableFuture<>();
		this.fixture.at(Duration.ofSeconds(1), () -> {
			new Thread(() -> {
				try (Work entered = this.election.gate().enter("job")) {
					joined.complete(this.election.resign("application").join());
				}
			}).start();
			await().until(() -> !this.election.gate().isEmpty() && this.election.gate().isDrained());
		});
		this.store.next(Call.RELEASE, () -> assertThat(joined).isNotDone());
		this.fixture.stopAt(Duration.ofSeconds(3)).run();
		assertThat(joined).succeedsWithin(Duration.ofSeconds(20)).isEqualTo(true);
		assertThat(this.fixture.traceFrom("granted 1")).startsWith("granted 1", "revoked 1 RESIGNED", "release");
	}

	@Test
	void workThatWaitsWithATimeoutIsNotWaitedForEither() {
		this.fixture.at(Duration.ofSeconds(1), () -> {
			enter();
			resign();
			assertThatExceptionOfType(TimeoutException.class)
				.isThrownBy(() -> this.resignation.get(1, TimeUnit.NANOSECONDS));
		});
		this.fixture.at(Duration.ofSeconds(2), () -> {
			assertThat(this.fixture.trace).contains("release");
			exit();
		});
		this.fixture.stopAt(Duration.ofSeconds(3)).run();
	}

	@Test
	void workThatResignsWithoutWaitingIsWaitedFor() {
		this.fixture.at(Duration.ofSeconds(1), () -> {
			enter();
			resign();
		});
		this.fixture.at(Duration.ofSeconds(2), this::exit);
		this.fixture.stopAt(Duration.ofSeconds(3)).run();
		assertThat(this.fixture.traceFrom("resign")).startsWith("resign", "work done", "revoked 1 RESIGNED",
				"release clean");
	}

	@Test
	void listenerThatWaitsForTheHandOverIsNotWaitedFor() {
		ExecutorService relayThread = Executors.newSingleThreadExecutor();
		this.fixture.relay = relayThread;
		CompletableFuture<Boolean> joined = new CompletableFuture<>();
		this.fixture.listener = (event) -> {
			if (event instanceof LeadershipGrantedEvent && !joined.isDone()) {
				joined.complete(this.election.resign("application").join());
			}
		};
		this.fixture.at(Duration.ofSeconds(1), () -> await().until(() -> this.election.effects().relay().isSettled()));
		this.fixture.at(Duration.ofSeconds(2),
				() -> assertThat(joined).succeedsWithin(Duration.ofSeconds(20)).isEqualTo(true));
		this.fixture.stopAt(Duration.ofSeconds(3)).run();
		relayThread.shutdown();
		await().until(relayThread::isTerminated);
		assertThat(this.fixture.trace).containsSubsequence("granted 1", "release", "close");
		assertThat(this.fixture.tracedEvents()).startsWith("granted 1", "revoked 1 RESIGNED");
	}

	@Test
	void whatWasLeftBehindIsNotGoodOrderHoweverLongAgo() {
		this.fixture.at(Duration.ofSeconds(1), () -> this.election.leadership().recordResidue("a service", null));
		this.fixture.at(Duration.ofMinutes(1), this::resign);
		this.fixture.stopAt(Duration.ofSeconds(61)).run();
		assertThat(this.fixture.trace).contains("release").doesNotContain("release clean");
	}

	@Test
	void resignationBeforeTheGrantFreesTheLockWithoutEventsAndNotAsGoodOrder() {
		this.store.ending = Ending.UNKNOWN;
		this.fixture.at(Duration.ofMillis(50), this::resign);
		this.fixture.at(Duration.ofMillis(80), () -> assertThat(this.resignation).isCompletedWithValue(true));
		this.fixture.stopAt(Duration.ofSeconds(1)).run();
		assertThat(this.fixture.traceFrom("resign")).startsWith("resign", "release", "close", "open");
		assertThat(this.fixture.events).isEmpty();
	}

	@Test
	void thereIsNothingToResignFromWhileFollowingOrStopped() {
		this.store.leader = new Holder("node-2", "4711");
		assertThat(this.election.resign("application")).isCompletedWithValue(false);
		this.fixture.at(Duration.ofSeconds(1),
				() -> assertThat(this.election.resign("application")).isCompletedWithValue(false));
		this.fixture.stopAt(Duration.ofSeconds(2)).run();
		assertThat(this.election.resign("application")).isCompletedWithValue(false);
	}

	@Test
	void secondResignationIsTheSame() {
		this.fixture.at(Duration.ofMillis(500), this::enter);
		this.fixture.at(Duration.ofSeconds(1), this::resign);
		this.fixture.at(Duration.ofSeconds(2), () -> assertThat(this.election.resign("application")).isNotDone());
		this.fixture.at(Duration.ofSeconds(3), this::exit);
		this.fixture.stopAt(Duration.ofSeconds(4)).run();
		assertThat(this.fixture.tracedEvents()).startsWith("granted 1", "revoked 1 RESIGNED");
	}

	@Test
	void nodeThatResignedIsACandidateAgainAtOnceWhenAnotherLeads() {
		this.fixture.at(Duration.ofSeconds(1), this::resign);
		this.fixture.at(Duration.ofMillis(1550), () -> this.store.leader = new Holder("node-2", "4711"));
		this.fixture.at(Duration.ofMillis(1800), () -> assertThat(this.store.waits).hasSizeGreaterThan(1));
		this.fixture.stopAt(Duration.ofSeconds(2)).run();
		assertThat(this.store.observations).last().isEqualTo(Duration.ofMillis(1550));
		assertThat(this.store.terms).isOne();
	}

	@Test
	void nodeThatResignedIsACandidateAgainAfterALeaseWithoutASuccessor() {
		this.fixture.at(Duration.ofSeconds(1), this::resign);
		this.fixture.at(Duration.ofSeconds(1).plus(ElectionFixture.LEASE).minusMillis(100),
				() -> assertThat(this.store.terms).isOne());
		this.fixture.at(Duration.ofSeconds(1).plus(ElectionFixture.LEASE).plusMillis(300),
				() -> assertThat(this.fixture.isLeader()).isTrue());
		this.fixture.stopAt(Duration.ofSeconds(8)).run();
		assertThat(this.store.terms).isEqualTo(2);
	}

	@Test
	void sessionThatIsLostDuringTheDrainMakesItALoss() {
		this.fixture.at(Duration.ofSeconds(1), this::startJob);
		this.fixture.at(Duration.ofSeconds(2), this::resign);
		this.fixture.at(Duration.ofSeconds(3), () -> this.store.next(Call.PROBE, () -> {
			throw FakeStore.failure();
		}));
		this.fixture.at(Duration.ofMillis(3100), () -> {
			assertThat(this.resignation).isCompletedWithValue(false);
			this.job.awaitInterrupt();
			this.job.finish();
		});
		this.fixture.stopAt(Duration.ofSeconds(4)).run();
		assertThat(this.fixture.traceFrom("resign")).startsWith("resign", "revoked 1 SESSION_LOST", "abort");
		assertThat(this.fixture.tracedEvents()).hasSize(2);
	}

	@Test
	void leaseThatLapsesDuringTheDrainMakesItALoss() {
		this.fixture.at(Duration.ofMillis(500), this::startJob);
		this.fixture.at(Duration.ofMillis(600), this::resign);
		this.store.skip(Call.CONFIRM);
		this.store.skip(Call.CONFIRM);
		this.store.next(Call.CONFIRM, () -> this.fixture.hang(Duration.ofSeconds(60)));
		this.fixture.at(ElectionFixture.TRUST.plusMillis(100), () -> {
			this.job.awaitInterrupt();
			this.job.finish();
		});
		this.fixture.stopAt(Duration.ofSeconds(5)).run();
		assertThat(this.fixture.traceFrom("resign")).startsWith("resign", "revoked 1 LEASE_EXPIRED", "abort");
		assertThat(this.fixture.tracedEvents()).hasSize(2);
	}

	@Test
	void sessionThatIsLostWhileListenersRunAddsNoSecondEvent() {
		Deque<Runnable> deliveries = new ArrayDeque<>();
		this.fixture.relay = deliveries::add;
		this.fixture.at(Duration.ofSeconds(1), this::resign);
		this.fixture.at(Duration.ofSeconds(2), () -> {
			assertThat(this.election.state().position()).isInstanceOfSatisfying(Position.HandingOver.class,
					(handingOver) -> assertThat(handingOver.notified()).isTrue());
			this.store.next(Call.PROBE, () -> {
				throw FakeStore.failure();
			});
		});
		this.fixture.stopAt(Duration.ofSeconds(3)).run();
		deliveries.forEach(Runnable::run);
		assertThat(this.fixture.tracedEvents()).containsExactly("granted 1", "revoked 1 RESIGNED");
		assertThat(this.fixture.trace).contains("abort").doesNotContain("release", "release clean");
	}

	@Test
	void sessionThatIsLostAtTheReleaseAddsNoSecondEvent() {
		this.store.next(Call.RELEASE, () -> {
			throw FakeStore.failure();
		});
		this.fixture.at(Duration.ofSeconds(1), this::resign);
		this.fixture.stopAt(Duration.ofSeconds(2)).run();
		assertThat(this.resignation).isCompletedWithValue(false);
		assertThat(this.fixture.traceFrom("resign")).startsWith("resign", "revoked 1 RESIGNED", "release clean",
				"abort", "open");
	}

	@Test
	void stopHandsOverInTheSameOrder() {
		CompletableFuture<@Nullable Void> end = new CompletableFuture<>();
		this.fixture.at(Duration.ofSeconds(1), this::enter);
		this.fixture.at(Duration.ofSeconds(2), () -> {
			this.fixture.trace.add("stop");
			this.election.stop().thenRun(() -> {
				this.fixture.trace.add("stopped");
				end.complete(null);
			});
			assertThat(this.fixture.isLeader()).isFalse();
		});
		this.fixture.at(Duration.ofSeconds(3), this::exit);
		this.fixture.run();
		assertThat(end).isCompleted();
		assertThat(this.fixture.traceFrom("stop")).containsExactly("stop", "work done", "revoked 1 STOPPED",
				"release clean", "close", "stopped");
		assertThat(this.election.state().position()).isInstanceOf(Position.Stopped.class);
	}

	@Test
	void stopDuringAResignationCompletesItAndKeepsItsReason() {
		this.fixture.at(Duration.ofSeconds(1), this::enter);
		this.fixture.at(Duration.ofSeconds(2), this::resign);
		this.fixture.stopAt(Duration.ofSeconds(3));
		this.fixture.at(Duration.ofSeconds(4), this::exit);
		this.fixture.run();
		assertThat(this.resignation).isCompletedWithValue(true);
		assertThat(this.fixture.traceFrom("resign")).containsExactly("resign", "work done", "revoked 1 RESIGNED",
				"release clean", "close");
	}

	@Test
	void stopBeforeTheGrantFreesTheLockWithoutEventsAndNotAsGoodOrder() {
		this.store.ending = Ending.UNKNOWN;
		CompletableFuture<@Nullable Void> decision = this.fixture.start();
		this.fixture.stopAt(Duration.ofMillis(50)).run();
		assertThat(decision).isCompleted();
		assertThat(this.fixture.trace).containsExactly("open", "won 1", "barrier", "release", "close");
	}

	@Test
	@ExtendWith(OutputCaptureExtension.class)
	void handOverThatTakesLongNamesItsWorkOnce(CapturedOutput output) {
		String words = "waits for listeners, services or work: job";
		this.fixture.at(Duration.ofSeconds(1), this::enter);
		this.fixture.at(Duration.ofSeconds(2), this::resign);
		this.fixture.at(Duration.ofMillis(2900), () -> assertThat(output).doesNotContain(words));
		this.fixture.at(Duration.ofMillis(3100), () -> assertThat(output).contains(words));
		this.fixture.at(Duration.ofSeconds(6), this::exit);
		this.fixture.stopAt(Duration.ofSeconds(8)).run();
		assertThat(output).containsOnlyOnce(words);
	}

	private void enter() {
		this.fixture.trace.add("work");
		this.work = this.election.gate().enter("job");
		assertThat(this.work).isNotNull();
	}

	private void exit() {
		this.work.close();
		this.fixture.trace.add("work done");
	}

	private void startJob() {
		this.job = Job.start(this.election, "job");
	}

	private void resign() {
		this.fixture.trace.add("resign");
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
