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

package io.leaderelection.schedule;

import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ScheduledFuture;

import io.leaderelection.Leadership;
import io.leaderelection.Term;
import io.leaderelection.annotation.WorkAdvisor.Advice;
import io.leaderelection.schedule.DurableJob.Status;
import io.leaderelection.testsupport.TestClock;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

import org.springframework.beans.factory.support.DefaultListableBeanFactory;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;
import org.springframework.scheduling.TaskScheduler;
import org.springframework.scheduling.config.ScheduledTaskRegistrar;

import static org.assertj.core.api.Assertions.assertThat;
import static org.mockito.ArgumentMatchers.any;
import static org.mockito.BDDMockito.given;
import static org.mockito.BDDMockito.then;
import static org.mockito.Mockito.mock;

/**
 * Tests for {@link JobCalls} and {@link NextRun}, without ticks of {@code @Scheduled}.
 */
@ExtendWith(OutputCaptureExtension.class)
@Tag("ring1")
class JobCallsTests {

	private final TestClock clock = new TestClock("2026-05-01T12:00:00Z");

	private final Leadership leadership = mock();

	private final TestStore store = new TestStore();

	private final DurableSchedules schedules = new DurableSchedules(this.store, null);

	/** The run that was submitted last. */
	private @Nullable Runnable task;

	private Instant time = Instant.MIN;

	private final List<ScheduledFuture<?>> submitted = new ArrayList<>();

	private final List<String> fires = new ArrayList<>();

	private final List<FireEndedEvent> events = new ArrayList<>();

	private Callable<?> work = () -> null;

	JobCallsTests() {
		this.schedules.setClock(this.clock);
		TaskScheduler scheduler = mock();
		given(scheduler.getClock()).willReturn(this.clock);
		given(scheduler.schedule(any(Runnable.class), any(Instant.class))).will((call) -> {
			this.task = call.getArgument(0);
			this.time = call.getArgument(1);
			ScheduledFuture<?> future = mock();
			this.submitted.add(future);
			return future;
		});
		ScheduledTaskRegistrar registrar = new ScheduledTaskRegistrar();
		registrar.setTaskScheduler(scheduler);
		this.schedules.configureTasks(registrar);
		this.schedules.onFire((event) -> {
			this.events.add(event);
			throw new IllegalStateException("listener");
		});
		given(this.leadership.isCurrent()).willReturn(true);
		given(this.leadership.getTerm()).willReturn(new Term(0, 1, 1));
		given(this.leadership.getNodeId()).willReturn("node");
	}

	private JobCalls begin(String method) throws Exception {
		DurableJob job = this.schedules.find(getClass().getDeclaredMethod(method), getClass(),
				"Method '" + method + "'");
		this.schedules.register(job, "default");
		NextRun next = new NextRun(this.schedules, job);
		JobCalls runs = new JobCalls(this.schedules, job, next);
		next.granted(this.leadership, () -> call(runs));
		next.submit(this.clock.instant());
		runNext();
		return runs;
	}

	private void call(JobCalls runs) {
		Advice.Invocation invocation = () -> {
			FireTime fire = FireTime.current();
			this.fires.add(fire.getNominalTime() + (fire.isCatchUp() ? " late" : ""));
			return this.work.call();
		};
		try {
			ClaimedRun run = null;
			if (this.store.claim == Claim.IN_TRANSACTION) {
				runs.call(this.leadership, invocation, () -> null);
			}
			else {
				run = runs.begin(this.leadership);
			}
			if (run != null) {
				Throwable failure = null;
				try {
					run.invoke(invocation);
				}
				catch (Throwable ex) {
					failure = ex;
				}
				runs.end(run, failure);
			}
		}
		catch (Throwable ex) {
			// Expected
		}
	}

	/**
	 * Have the time pass until the run that is pending.
	 * @return for how long it was pending
	 */
	private Duration runNext() {
		Duration delay = Duration.between(this.clock.instant(), this.time);
		this.clock.advance(delay);
		runTask();
		return delay;
	}

	private void runTask() {
		Runnable run = this.task;
		assertThat(run).as("pending").isNotNull();
		this.task = null;
		run.run();
	}

	private List<Long> delays(int runs) {
		List<Long> delays = new ArrayList<>();
		for (int i = 0; i < runs; i++) {
			delays.add(runNext().toSeconds());
		}
		return delays;
	}

	@Test
	void eachRunIsSubmittedWithoutATick() throws Exception {
		begin("nightly");
		assertThat(this.fires).isEmpty();
		assertThat(delays(2)).containsExactly(14 * 3600L, 24 * 3600L);
		assertThat(this.fires).containsExactly("2026-05-02T02:00:00Z", "2026-05-03T02:00:00Z");
		assertThat(this.events).map(FireEndedEvent::failure).containsExactly(null, null);
	}

	@Test
	void tickBeforeOrAfterItsNominalTimeDoesNotRepeatTheFire() throws Exception {
		JobCalls runs = begin("nightly");
		this.clock.set("2026-05-02T01:59:59.990Z");
		call(runs);
		assertThat(this.fires).isEmpty();
		assertThat(this.time).isEqualTo("2026-05-02T02:00:00Z");
		this.clock.set("2026-05-02T02:00:00Z");
		call(runs);
		runTask();
		this.clock.set("2026-05-02T02:00:00.010Z");
		call(runs);
		assertThat(this.fires).containsExactly("2026-05-02T02:00:00Z");
		assertThat(this.time).isEqualTo("2026-05-03T02:00:00Z");
	}

	@Test
	void runThatIsEarlySinceTheClockWasSetBackIsSubmittedAgain() throws Exception {
		begin("nightly");
		this.clock.set("2026-05-02T01:00:00Z");
		runTask();
		assertThat(this.fires).isEmpty();
		assertThat(runNext()).isEqualTo(Duration.ofHours(1));
		assertThat(this.fires).containsExactly("2026-05-02T02:00:00Z");
	}

	@Test
	void runIsSubmittedOnceForATimeAndReplacesAnother() throws Exception {
		JobCalls runs = begin("nightly");
		assertThat(this.submitted).hasSize(2);
		call(runs);
		assertThat(this.submitted).hasSize(2);
		this.clock.set("2026-05-02T02:00:00Z");
		call(runs);
		assertThat(this.submitted).hasSize(3);
		then(this.submitted.get(1)).should().cancel(false);
	}

	@Test
	void callThatIsNotDueNeedsNoRoundTrip(CapturedOutput output) throws Exception {
		JobCalls runs = begin("nightly");
		int before = this.store.operations;
		call(runs);
		assertThat(this.store.operations).isEqualTo(before);
		this.clock.set("2026-05-02T02:00:00Z");
		call(runs);
		assertThat(this.fires).hasSize(1);
	}

	@Test
	void firesOfALongRunFollowAtOnce() throws Exception {
		begin("all");
		this.work = () -> {
			this.work = () -> null;
			this.clock.set("2026-05-04T03:00:00Z");
			return null;
		};
		runNext();
		assertThat(delays(2)).containsExactly(0L, 0L);
		assertThat(this.fires).containsExactly("2026-05-02T02:00:00Z", "2026-05-03T02:00:00Z late",
				"2026-05-04T02:00:00Z late");
		assertThat(runNext()).isEqualTo(Duration.ofHours(23));
	}

	@Test
	void runThatFailsIsRepeatedAndThenWaitsForTheNextFire(CapturedOutput output) throws Exception {
		JobCalls runs = begin("nightly");
		fail(new IllegalStateException("no"));
		runNext();
		assertThat(delays(9)).containsExactly(1L, 2L, 4L, 8L, 16L, 32L, 60L, 60L, 60L);
		assertThat(this.time).isEqualTo("2026-05-03T02:00:00Z");
		assertThat(this.fires).hasSize(10).containsOnly("2026-05-02T02:00:00Z", "2026-05-02T02:00:00Z late");
		assertThat(output).contains(
				"Method 'nightly' failed for the fire of 2026-05-02T02:00:00Z: java.lang.IllegalStateException: no. "
						+ "Attempt 1 of 10.")
			.contains("Attempt 10 of 10: the next fire stands for this one.");
		runNext();
		assertThat(runNext()).as("another fire").isEqualTo(Duration.ofSeconds(1));
		assertThat(runs.history()
			.status(this.schedules.jobs().iterator().next().times(), this.clock.instant(), null)
			.failed()).isEqualTo(12);
		assertThat(this.events).hasSize(12).first().satisfies((event) -> assertThat(event.failure()).hasMessage("no"));
	}

	@Test
	void fireThatFailsAlwaysDoesNotBlockTheOthers(CapturedOutput output) throws Exception {
		begin("all");
		fail(new IllegalStateException("no"));
		this.clock.set("2026-05-03T12:00:00Z");
		runTask();
		assertThat(delays(2)).containsExactly(1L, 2L);
		assertThat(output).contains("Attempt 3 of 3: the fire is dropped.");
		this.work = () -> null;
		assertThat(runNext()).isZero();
		assertThat(this.fires).last().isEqualTo("2026-05-03T02:00:00Z late");
		assertThat(this.time).isEqualTo("2026-05-04T02:00:00Z");
	}

	@Test
	void recordThatIsDeletedInATermBeginsAtTheLastFireOfTheTerm(CapturedOutput output) throws Exception {
		begin("all");
		assertThat(delays(2)).hasSize(2);
		this.store.delegate.clear();
		runNext();
		assertThat(this.fires).containsExactly("2026-05-02T02:00:00Z", "2026-05-03T02:00:00Z", "2026-05-04T02:00:00Z");
		assertThat(output).containsOnlyOnce("Method 'all' begins anew after 2026-05-03T02:00:00Z");
	}

	@Test
	void fireThatFailsIsNotRepeatedWithBeforeAndTheOthersFollowAtOnce(CapturedOutput output) throws Exception {
		this.store.claim = Claim.BEFORE;
		begin("before");
		fail(new IllegalStateException("no"));
		this.clock.set("2026-05-03T12:00:00Z");
		runTask();
		assertThat(output).contains("Method 'before' failed for the fire of 2026-05-02T02:00:00Z")
			.contains("The fire is not repeated (claim = BEFORE).");
		assertThat(runNext()).isZero();
		assertThat(this.fires).containsExactly("2026-05-02T02:00:00Z late", "2026-05-03T02:00:00Z late");
	}

	@Test
	void runThatAnEarlierLeaderDidNotEndIsReportedByTheNextClaim(CapturedOutput output) throws Exception {
		this.store.claim = Claim.BEFORE;
		begin("before");
		this.work = () -> {
			this.store.fails = true;
			return null;
		};
		runNext();
		this.store.fails = false;
		this.work = () -> null;
		given(this.leadership.getTerm()).willReturn(new Term(0, 1, 2));
		runNext();
		String lost = "Method 'before' has not ended its run for the fire of 2026-05-02T02:00:00Z on node 'node' in "
				+ "term 0:1:1, which is not repeated (claim = BEFORE)";
		assertThat(output).containsOnlyOnce(lost);
		runNext();
		assertThat(output).containsOnlyOnce(lost);
		assertThat(this.fires).hasSize(3);
	}

	/**
	 * The next claim finds a run in progress, which is its own.
	 */
	@Test
	void fireWhoseClaimSeemedToFailBeforeTheWorkRuns() throws Exception {
		this.store.claim = Claim.BEFORE;
		begin("before");
		this.store.failsAfterCommit = true;
		runNext();
		assertThat(this.fires).isEmpty();
		assertThat(delays(2)).containsExactly(1L, 24 * 3600L - 1);
		assertThat(this.fires).containsExactly("2026-05-02T02:00:00Z late", "2026-05-03T02:00:00Z");
		assertThat(this.events).map(FireEndedEvent::failure).containsExactly(null, null);
	}

	@ParameterizedTest
	@EnumSource(names = { "IN_TRANSACTION", "AFTER" })
	void runWhoseCommitSeemedToFailHasCompleted(Claim claim, CapturedOutput output) throws Exception {
		this.store.claim = claim;
		JobCalls runs = begin((claim == Claim.AFTER) ? "after" : "nightly");
		this.work = () -> {
			this.store.failsAfterCommit = true;
			return null;
		};
		runNext();
		assertThat(this.time).isEqualTo("2026-05-03T02:00:00Z");
		assertThat(output)
			.contains("has completed for the fire of 2026-05-02T02:00:00Z, and then failed: "
					+ "java.lang.IllegalStateException: after the commit")
			.doesNotContain("Attempt");
		assertThat(runs.history().status(this.schedules.jobs().iterator().next().times(), this.clock.instant(), null))
			.extracting(Status::completed, Status::failed)
			.containsExactly(1L, 0L);
		assertThat(this.events).map(FireEndedEvent::failure).containsExactly((Throwable) null);
	}

	@Test
	void runThatIsIdleForTooLongIsRepeatedOnce(CapturedOutput output) throws Exception {
		begin("nightly");
		fail(new IdleTimeoutException());
		runNext();
		assertThat(runNext()).isEqualTo(Duration.ofSeconds(1));
		assertThat(this.time).isEqualTo("2026-05-03T02:00:00Z");
		assertThat(output).contains("transaction-idle-timeout. Attempt 2 of 2");
	}

	@Test
	void callBetweenTwoAttemptsOrAfterTheLastOneIsSkipped() throws Exception {
		JobCalls runs = begin("nightly");
		fail(new IllegalStateException("no"));
		runNext();
		call(runs);
		assertThat(this.fires).hasSize(1);
		assertThat(delays(9)).startsWith(1L, 2L, 4L);
		this.clock.advance(Duration.ofHours(1));
		call(runs);
		assertThat(this.fires).hasSize(10);
		assertThat(this.time).isEqualTo("2026-05-03T02:00:00Z");
		runs.reset();
		call(runs);
		assertThat(this.fires).as("on request").hasSize(11);
	}

	@Test
	void fireThatFailsIsSkippedOnRequest() throws Throwable {
		JobCalls runs = begin("nightly");
		fail(new IllegalStateException("no"));
		runNext();
		assertThat(runs.skip(this.leadership)).isTrue();
		assertThat(this.fires).hasSize(1);
		assertThat(this.time).isEqualTo("2026-05-03T02:00:00Z");
		assertThat(runs.skip(this.leadership)).isFalse();
	}

	@Test
	void repetitionDoesNotDependOnTheClock() throws Exception {
		begin("nightly");
		fail(new IllegalStateException("no"));
		runNext();
		this.clock.set("2026-05-02T02:00:00Z");
		runTask();
		assertThat(this.fires).hasSize(2);
	}

	@Test
	void runThatTheTickHasOvertakenRepeatsNothing() throws Exception {
		JobCalls runs = begin("nightly");
		fail(new IllegalStateException("no"));
		runNext();
		assertThat(delays(8)).hasSize(8);
		this.clock.set(this.time.toString());
		Runnable overtaken = this.task;
		call(runs);
		assertThat(this.fires).as("the last attempt").hasSize(10);
		assertThat(this.time).isEqualTo("2026-05-03T02:00:00Z");
		assertThat(overtaken).isNotNull();
		overtaken.run();
		this.clock.set("2026-05-03T01:59:58Z");
		runTask();
		assertThat(this.fires).as("clock that was set back before the next fire").hasSize(10);
		runNext();
		assertThat(this.fires).hasSize(11);
	}

	@Test
	void claimThatFailsIsRepeatedWithoutALimit() throws Exception {
		begin("nightly");
		this.store.fails = true;
		runNext();
		assertThat(delays(20)).startsWith(1L, 2L, 4L).endsWith(60L, 60L);
		this.store.fails = false;
		assertThat(runNext()).isEqualTo(Duration.ofMinutes(1));
		assertThat(this.fires).containsExactly("2026-05-02T02:00:00Z late");
		this.store.fails = true;
		runNext();
		assertThat(runNext()).isEqualTo(Duration.ofSeconds(1));
	}

	@Test
	void nothingIsSubmittedWhenTheTermHasEnded() throws Exception {
		begin("nightly");
		this.work = () -> {
			given(this.leadership.isCurrent()).willReturn(false);
			throw new IllegalStateException("no");
		};
		runNext();
		assertThat(this.task).isNull();
	}

	private void fail(RuntimeException failure) {
		this.work = () -> {
			throw failure;
		};
	}

	@DurableSchedule(cron = "0 0 2 * * *", zone = "UTC")
	void nightly() {
	}

	@DurableSchedule(cron = "0 0 2 * * *", zone = "UTC", misfire = MisfirePolicy.RUN_ALL, attempts = 3)
	void all() {
	}

	@DurableSchedule(cron = "0 0 2 * * *", zone = "UTC", misfire = MisfirePolicy.RUN_ALL, claim = Claim.BEFORE)
	void before() {
	}

	@DurableSchedule(cron = "0 0 2 * * *", zone = "UTC", claim = Claim.AFTER)
	void after() {
	}

	private static final class IdleTimeoutException extends RuntimeException {

	}

	private static final class TestStore extends ScheduleStore {

		private final MemoryScheduleStore delegate = new MemoryScheduleStore(new DefaultListableBeanFactory());

		private Claim claim = Claim.IN_TRANSACTION;

		private boolean fails;

		/** Whether the next operation fails after its commit. */
		private boolean failsAfterCommit;

		private int operations;

		@Override
		void check(Collection<DurableJob> jobs) {
		}

		@Override
		void execute(DurableJob job, Leadership leadership, boolean own, Operation operation) throws Throwable {
			this.operations++;
			if (this.fails) {
				throw new IllegalStateException("The database is not reachable");
			}
			this.delegate.execute(job, leadership, own, operation);
			if (this.failsAfterCommit) {
				this.failsAfterCommit = false;
				throw new IllegalStateException("after the commit");
			}
		}

		@Override
		@Nullable String timeout(DurableJob job, Duration lasted, Throwable failure) {
			return (failure instanceof IdleTimeoutException) ? "transaction-idle-timeout" : null;
		}

	}

}
