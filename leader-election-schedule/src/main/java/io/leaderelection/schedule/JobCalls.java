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

import io.leaderelection.Leadership;
import io.leaderelection.annotation.WorkAdvisor.Advice.Invocation;
import io.leaderelection.schedule.DueFires.Misfire;
import io.leaderelection.schedule.ScheduleStore.PartlyCommittedException;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;

import org.springframework.core.log.LogMessage;

/**
 * The runs of a job. A call claims what is due, whether it is the {@link NextRun}, a tick
 * of {@code @Scheduled} or made by the application. When it has ended, the next run is
 * submitted: for the first fire that is not done, or to repeat what has failed.
 */
final class JobCalls {

	private static final Log logger = LogFactory.getLog(DurableSchedule.class);

	private static final int LONGEST_DELAY = 60;

	private static final Misfire DROP_ALL = new Misfire(MisfirePolicy.ON_TIME, Duration.ofNanos(-1), 1);

	private final DurableSchedules schedules;

	private final DurableJob job;

	private final NextRun next;

	private final JobHistory history = new JobHistory();

	/** The run of the last claim of its own, if that has failed. */
	private volatile @Nullable ClaimedRun doubtful;

	// Guarded by this
	private @Nullable Leadership running;

	private @Nullable Failure failure;

	JobCalls(DurableSchedules schedules, DurableJob job, NextRun next) {
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
	@Nullable Object call(Leadership leadership, Invocation invocation, Invocation skipped) throws Throwable {
		if (!enter(leadership, false)) {
			return skipped.proceed();
		}
		try {
			FireClaim claim = claim(leadership, misfire(), invocation);
			if (claim.run() == null) {
				return skipped.proceed();
			}
			completed(claim.run());
			return claim.result();
		}
		finally {
			leave(leadership);
		}
	}

	/**
	 * Claim a fire in a transaction of its own.
	 * @return the run, to be ended, or {@code null} if no fire is due
	 */
	@Nullable ClaimedRun begin(Leadership leadership) throws Throwable {
		if (!enter(leadership, false)) {
			return null;
		}
		ClaimedRun run = null;
		try {
			run = claim(leadership, misfire(), null).run();
			return run;
		}
		finally {
			if (run == null) {
				leave(leadership);
			}
		}
	}

	private FireClaim open(Leadership leadership, Misfire misfire) {
		return new FireClaim(this.schedules, this.job, this.next, leadership, misfire, this.history.record(leadership),
				(misfire != DROP_ALL) ? this.doubtful : null);
	}

	private FireClaim claim(Leadership leadership, Misfire misfire, @Nullable Invocation invocation) throws Throwable {
		FireClaim claim = open(leadership, misfire);
		boolean own = this.job.claim() != Claim.IN_TRANSACTION;
		try {
			this.schedules.store().execute(this.job, leadership, own, (row) -> claim.open(row, invocation));
		}
		catch (Throwable ex) {
			if (claim.run() != null && !own) {
				failed(claim.run(), ex);
			}
			else {
				this.doubtful = (claim.run() != null) ? claim.run() : this.doubtful;
				repeat(leadership, null, Integer.MAX_VALUE);
			}
			throw ex;
		}
		this.doubtful = null;
		this.history.observed(leadership, claim.record());
		if (claim.run() != null) {
			return claim;
		}
		succeeded(leadership);
		if (claim.due().fire() != null) {
			return claim(leadership, misfire, invocation);
		}
		dropped(claim.due().missed());
		this.history.missed(claim.due().missed());
		logger.debug(LogMessage.format("A call of %s is skipped, since no fire is due", this.job));
		return claim;
	}

	/**
	 * End a run that {@link #begin(Leadership)} has returned.
	 */
	void end(ClaimedRun run, @Nullable Throwable failure) throws Throwable {
		try {
			if (failure != null) {
				failed(run, failure);
				return;
			}
			if (this.job.claim() == Claim.AFTER) {
				try {
					record(run, true, FireClaim.COMPLETED);
				}
				catch (Throwable ex) {
					if (failed(run, ex)) {
						throw ex;
					}
					return;
				}
			}
			else {
				note(run, false, FireClaim.COMPLETED);
			}
			completed(run);
		}
		finally {
			leave(run.leadership());
		}
	}

	private @Nullable JobRecord note(ClaimedRun run, boolean done, String outcome) {
		try {
			return record(run, done, outcome);
		}
		catch (Throwable ex) {
			logger.debug(LogMessage.format("The outcome of %s could not be recorded", this.job), ex);
			return null;
		}
	}

	private @Nullable JobRecord record(ClaimedRun run, boolean done, String outcome) throws Throwable {
		FireClaim claim = open(run.leadership(), misfire());
		this.schedules.store().execute(this.job, run.leadership(), true, (row) -> claim.end(row, run, done, outcome));
		this.history.observed(run.leadership(), claim.record());
		return claim.record();
	}

	private void completed(ClaimedRun run) {
		succeeded(run.leadership());
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

	/**
	 * Settle a run whose work or commit has failed.
	 * @return whether the run has failed
	 */
	private boolean failed(ClaimedRun run, Throwable failure) {
		if (run.leadership().isCurrent()) {
			String consequence = settle(run, failure);
			if (consequence == null) {
				logger.warn(LogMessage.format("%s has completed for the fire of %s, and then failed: %s", this.job,
						run.fireTime(), failure));
				completed(run);
				return false;
			}
			logger.warn(LogMessage.format("%s failed for the fire of %s: %s. %s.", this.job, run.fireTime(), failure,
					consequence));
		}
		this.history.failed();
		this.schedules.ended(this.job, run, failure);
		return true;
	}

	/**
	 * Determine when a fire is repeated whose run has failed.
	 * @return what follows, for the log, or {@code null} if it has completed: what has
	 * failed is its commit, which took effect, or a callback after it
	 */
	private @Nullable String settle(ClaimedRun run, Throwable failure) {
		String outcome = "failed: " + failure.getClass().getName();
		if (this.job.claim() == Claim.BEFORE) {
			note(run, false, outcome);
			return "The fire is not repeated (claim = BEFORE)";
		}
		String timeout = this.schedules.store()
			.timeout(this.job, Duration.between(run.started(), this.schedules.now()), failure);
		int most = Math.min(this.job.annotation().attempts(),
				(failure instanceof PartlyCommittedException) ? 1 : (timeout != null) ? 2 : Integer.MAX_VALUE);
		int attempt = repeat(run.leadership(), run.due().lastFire(), most);
		boolean last = attempt >= most;
		boolean drop = last
				&& (misfire().policy() == MisfirePolicy.RUN_ALL || failure instanceof PartlyCommittedException);
		JobRecord record = note(run, drop, outcome);
		if (record != null && run.isRecorded(record, FireClaim.COMPLETED)) {
			return null;
		}
		if (record != null && drop) {
			this.history.missed(1 + run.due().missed());
			succeeded(run.leadership());
		}
		return ((timeout != null) ? timeout + ". " : "") + "Attempt %d of %d%s".formatted(attempt, most,
				!last ? "" : drop ? ": the fire is dropped" : ": the next fire stands for this one");
	}

	/**
	 * Drop the fires that are due.
	 * @return whether there were any, and no run was in progress
	 */
	boolean skip(Leadership leadership) throws Throwable {
		if (!enter(leadership, true)) {
			return false;
		}
		try {
			return claim(leadership, DROP_ALL, null).due().missed() > 0;
		}
		finally {
			leave(leadership);
		}
	}

	synchronized void reset() {
		this.failure = null;
	}

	private synchronized void succeeded(Leadership leadership) {
		if (this.running == leadership) {
			this.failure = null;
		}
	}

	synchronized @Nullable String refusal(Leadership leadership) {
		JobRecord record = this.history.record(leadership);
		if (record != null && !record.lastFire().isBefore(this.schedules.now())) {
			// It is read again
			this.history.forget();
			return "its last fire is recorded as " + record.lastFire()
					+ ", which is not before now; if that has been corrected, try again";
		}
		return (this.running == leadership) ? "the job is running" : null;
	}

	/**
	 * Determine when what has failed is repeated: later after each failure, but not after
	 * the next fire.
	 * @param fire the fire whose run has failed, or {@code null} if the claim has failed
	 * @param most how often the fire is run, after which the next fire is awaited
	 * @return how often it has been run
	 */
	private synchronized int repeat(Leadership leadership, @Nullable Instant fire, int most) {
		Instant now = this.schedules.now();
		Failure last = this.failure;
		if (last == null || (fire != null && last.fire() != null && !fire.equals(last.fire()))) {
			last = new Failure(fire, 0, 0, false, null);
		}
		int attempts = last.attempts() + ((fire != null) ? 1 : 0);
		Instant tick = this.job.times().next(now);
		// Without a task scheduler, nobody repeats it but the caller
		Instant retry = (this.schedules.scheduler() == null) ? now
				: now.plusSeconds(Math.min(1 << Math.min(last.failures(), 6), LONGEST_DELAY));
		boolean repeated = attempts < most && (tick == null || retry.isBefore(tick));
		if (this.running == leadership) {
			this.failure = new Failure((fire != null) ? fire : last.fire(), attempts, last.failures() + 1, repeated,
					repeated ? retry : tick);
		}
		return attempts;
	}

	/**
	 * Let one call at a time pass in a term, unless it is known that no run is due. Work
	 * of an earlier term may still run, as it may on another node.
	 */
	private boolean enter(Leadership leadership, boolean anyway) {
		this.schedules.store().checkCaller(this.job);
		Instant next;
		synchronized (this) {
			if (this.running == leadership) {
				logger.debug(LogMessage.format("A call of %s is skipped, since it is running", this.job));
				return false;
			}
			JobRecord record = this.history.record(leadership);
			Instant now = this.schedules.now();
			next = next(record);
			// A record that is ahead may have been corrected. The clock may have been set
			// back since the repetition was submitted
			boolean due = (this.failure != null) ? this.failure.repeated() && this.next.reached().equals(next)
					: record == null || record.isAhead(this.job.times(), now);
			if (anyway || due || (next != null && !next.isAfter(now))) {
				this.running = leadership;
				return true;
			}
		}
		submit(leadership, next);
		logger.debug(LogMessage.format("A call of %s is skipped, since the next one is due at %s", this.job, next));
		return false;
	}

	private void leave(Leadership leadership) {
		Instant next;
		synchronized (this) {
			if (this.running != leadership) {
				return;
			}
			this.running = null;
			next = next(this.history.record(leadership));
		}
		submit(leadership, next);
	}

	private @Nullable Instant next(@Nullable JobRecord record) {
		if (this.failure != null) {
			return this.failure.next();
		}
		return (record != null) ? this.job.times().next(record.lastFire()) : null;
	}

	private void submit(Leadership leadership, @Nullable Instant time) {
		if (time != null && leadership.isCurrent()) {
			this.next.submit(time);
		}
	}

	/**
	 * What has failed since the last success, and when the next run is due, if there is
	 * one: to repeat it, or for the next fire.
	 */
	private record Failure(@Nullable Instant fire, int attempts, int failures, boolean repeated,
			@Nullable Instant next) {

	}

}
