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
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Supplier;

import io.leaderelection.Leadership;
import io.leaderelection.schedule.DueFires.Misfire;
import io.leaderelection.schedule.DurableRun.Invocation;
import io.leaderelection.schedule.ScheduleStore.Row;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;

import org.springframework.core.log.LogMessage;

/**
 * The runs of a job. A call claims what is due, whether it is the {@link NextRun}, a tick
 * of {@code @Scheduled} or made by the application. When it has ended, the next run is
 * submitted: for the first fire that is not done, or to repeat what has failed.
 */
final class JobRuns {

	private static final Log logger = LogFactory.getLog(DurableSchedule.class);

	private static final int LONGEST_DELAY = 60;

	private static final Misfire DROP_ALL = new Misfire(MisfirePolicy.SKIP, Duration.ofNanos(-1), 1);

	private final DurableSchedules schedules;

	private final DurableJob job;

	private final NextRun next;

	private final JobHistory history = new JobHistory();

	// Guarded by this
	private @Nullable Leadership running;

	private @Nullable Instant repetition;

	private @Nullable Instant failedFire;

	private int attempts;

	private int failures;

	JobRuns(DurableSchedules schedules, DurableJob job, NextRun next) {
		this.schedules = schedules;
		this.job = job;
		this.next = next;
	}

	JobHistory history() {
		return this.history;
	}

	private Misfire misfire() {
		return this.job.definition().misfire();
	}

	/**
	 * Call the method in the transaction of a claim if a fire is due.
	 */
	@Nullable Object call(Leadership leadership, Invocation invocation, Supplier<@Nullable Object> skipped) throws Throwable {
		if (!enter(leadership)) {
			return skipped.get();
		}
		try {
			AtomicReference<@Nullable Object> result = new AtomicReference<>();
			DurableRun run = claim(leadership, misfire(), (claim, row, claimed) -> {
				result.set(claimed.invoke(invocation));
				claim.save(row, claimed, this.schedules.now(), "completed");
			});
			if (run == null) {
				return skipped.get();
			}
			completed(run);
			return result.get();
		}
		finally {
			leave(leadership);
		}
	}

	/**
	 * Claim a fire in a transaction of its own.
	 * @return the run, to be ended, or {@code null} if no fire is due
	 */
	@Nullable DurableRun begin(Leadership leadership) throws Throwable {
		if (!enter(leadership)) {
			return null;
		}
		DurableRun run = null;
		try {
			run = claim(leadership, misfire(), (claim, row, claimed) -> {
				if (this.job.claim() == Claim.BEFORE) {
					claim.save(row, claimed, null, "running");
				}
			});
			return run;
		}
		finally {
			if (run == null) {
				leave(leadership);
			}
		}
	}

	private @Nullable DurableRun claim(Leadership leadership, Misfire misfire, ClaimedWork work) throws Throwable {
		FireClaim claim = new FireClaim(this.schedules, this.job, this.next, leadership, misfire);
		boolean own = this.job.claim() != Claim.IN_TRANSACTION;
		try {
			this.schedules.store().<@Nullable Object>execute(this.job, leadership, own, (row) -> {
				DurableRun run = claim.open(row);
				if (run != null) {
					work.run(claim, row, run);
				}
				return null;
			});
		}
		catch (Throwable ex) {
			if (claim.run() != null && !own) {
				failed(claim.run(), ex);
			}
			else {
				repeat(leadership, retryTime());
			}
			throw ex;
		}
		this.history.observed(leadership, claim.record());
		DueFires settled = claim.settled();
		if (settled != null) {
			succeeded();
			dropped(settled.missed());
			this.history.missed(settled.missed());
		}
		return claim.hasBegun() ? claim(leadership, misfire, work) : claim.run();
	}

	/**
	 * End a run that {@link #begin(Leadership)} has returned.
	 */
	void end(DurableRun run, @Nullable Throwable failure) throws Throwable {
		try {
			if (failure != null) {
				failed(run, failure);
				return;
			}
			if (this.job.claim() == Claim.AFTER) {
				try {
					record(run, true, "completed");
				}
				catch (Throwable ex) {
					failed(run, ex);
					throw ex;
				}
			}
			else {
				note(run, false, "completed");
			}
			completed(run);
		}
		finally {
			leave(run.leadership());
		}
	}

	/**
	 * Record the outcome of a run if possible.
	 */
	private boolean note(DurableRun run, boolean done, String outcome) {
		try {
			record(run, done, outcome);
			return true;
		}
		catch (Throwable ex) {
			logger.debug(LogMessage.format("The outcome of %s could not be recorded", this.job), ex);
			return false;
		}
	}

	private void record(DurableRun run, boolean done, String outcome) throws Throwable {
		FireClaim claim = new FireClaim(this.schedules, this.job, this.next, run.leadership(), misfire());
		this.schedules.store().<@Nullable Object>execute(this.job, run.leadership(), true, (row) -> {
			claim.end(row, run, done, outcome);
			return null;
		});
		this.history.observed(run.leadership(), claim.record());
	}

	private void completed(DurableRun run) {
		succeeded();
		this.history.completed(run);
		if (misfire().policy() == MisfirePolicy.RUN_ALL) {
			dropped(run.due().missed());
		}
		if (run.fireTime().isCatchUp()) {
			logger.info(LogMessage.format("%s has caught up the fire of %s", this.job, run.fireTime()));
		}
		this.schedules.ended(this.job, run, null);
	}

	private void dropped(int fires) {
		if (fires > 0) {
			logger.warn(LogMessage.format("%s has dropped %d fires that were too old, too many or skipped on request",
					this.job, fires));
		}
	}

	private void failed(DurableRun run, Throwable failure) {
		this.history.failed();
		if (run.leadership().isCurrent()) {
			String consequence = settle(run, failure);
			logger.warn(LogMessage.format("%s failed for the fire of %s: %s. %s.", this.job, run.fireTime(), failure,
					consequence));
		}
		this.schedules.ended(this.job, run, failure);
	}

	/**
	 * Determine when a fire is repeated whose run has failed.
	 * @return what follows, for the log
	 */
	private String settle(DurableRun run, Throwable failure) {
		String outcome = "failed: " + failure.getClass().getName();
		if (this.job.claim() == Claim.BEFORE) {
			note(run, false, outcome);
			return "The fire is not repeated (claim = BEFORE)";
		}
		String timeout = this.schedules.store().timeout(failure);
		int most = (timeout != null) ? Math.min(2, this.job.annotation().attempts()) : this.job.annotation().attempts();
		int attempt = attempt(run.due().lastFire());
		boolean drop = attempt >= most && misfire().policy() == MisfirePolicy.RUN_ALL;
		Instant retry = retryTime();
		Instant tick = this.job.times().next(this.schedules.now());
		Instant next = (tick != null) ? tick : Instant.MAX;
		repeat(run.leadership(), (attempt < most && retry.isBefore(next)) ? retry : next);
		if (note(run, drop, outcome) && drop) {
			this.history.missed(1 + run.due().missed());
			repeat(run.leadership(), null);
		}
		return ((timeout != null) ? timeout + ". " : "") + "Attempt %d of %d%s".formatted(attempt, most,
				(attempt < most) ? "" : drop ? ": the fire is dropped" : ": the next fire stands for this one");
	}

	/**
	 * Drop the fires that are due.
	 * @return whether there were any, and no run was in progress
	 */
	boolean skip(Leadership leadership) throws Throwable {
		if (!enter(leadership)) {
			return false;
		}
		try {
			claim(leadership, DROP_ALL, (claim, row, run) -> {
			});
			return true;
		}
		finally {
			leave(leadership);
		}
	}

	private synchronized int attempt(Instant fire) {
		if (!fire.equals(this.failedFire)) {
			succeeded();
			this.failedFire = fire;
		}
		return ++this.attempts;
	}

	synchronized void succeeded() {
		this.failedFire = null;
		this.attempts = 0;
		this.failures = 0;
	}

	/**
	 * Return when what has failed is repeated: later after each failure.
	 */
	private synchronized Instant retryTime() {
		return this.schedules.now().plusSeconds(Math.min(1 << Math.min(this.failures++, 6), LONGEST_DELAY));
	}

	private synchronized void repeat(Leadership leadership, @Nullable Instant time) {
		if (this.running == leadership) {
			this.repetition = time;
		}
	}

	/**
	 * Let one call at a time pass in a term, unless it is known that no fire is due. Work
	 * of an earlier term may still run, as it may on another node.
	 */
	private boolean enter(Leadership leadership) {
		this.schedules.store().checkCaller(this.job);
		synchronized (this) {
			if (this.running == leadership) {
				logger.debug(LogMessage.format("A call of %s is skipped, since it is running", this.job));
				return false;
			}
			this.running = leadership;
			this.repetition = null;
		}
		JobRecord record = this.history.record(leadership);
		Instant now = this.schedules.now();
		// A record that is ahead may have been corrected
		Instant due = (record != null && !record.isAhead(this.job.times(), now))
				? this.job.times().next(record.lastFire()) : Instant.MIN;
		if (due != null && !due.isAfter(now)) {
			return true;
		}
		logger.debug(LogMessage.format("A call of %s is skipped, since the next fire is that of %s", this.job, due));
		leave(leadership);
		return false;
	}

	private void leave(Leadership leadership) {
		Instant time;
		synchronized (this) {
			if (this.running != leadership) {
				return;
			}
			this.running = null;
			time = this.repetition;
		}
		JobRecord record = this.history.record(leadership);
		if (time == null && record != null) {
			time = this.job.times().next(record.lastFire());
		}
		if (time != null && !time.equals(Instant.MAX) && leadership.isCurrent()) {
			this.next.submit(time);
		}
	}

	/**
	 * What is done in the transaction of a claim.
	 */
	@FunctionalInterface
	private interface ClaimedWork {

		void run(FireClaim claim, Row row, DurableRun run) throws Throwable;

	}

}
