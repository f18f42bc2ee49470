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

import io.leaderelection.Leadership;
import io.leaderelection.schedule.DurableRun.Invocation;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;

import org.springframework.core.log.LogMessage;

/**
 * The runs of a job, each from its claim to the record of its end.
 */
final class JobRuns {

	private static final Log logger = LogFactory.getLog(DurableSchedule.class);

	private static final String COMPLETED = "completed";

	private static final String RUNNING = "running";

	private final DurableSchedules schedules;

	private final DurableJob job;

	private final CatchUp catchUp;

	private final JobHistory history = new JobHistory();

	// Guarded by this
	private @Nullable Leadership running;

	private boolean again;

	/**
	 * Create a new {@code JobRuns} instance.
	 * @param schedules the jobs of the application
	 * @param job the job
	 * @param catchUp its runs in addition to ticks
	 */
	JobRuns(DurableSchedules schedules, DurableJob job, CatchUp catchUp) {
		this.schedules = schedules;
		this.job = job;
		this.catchUp = catchUp;
	}

	JobHistory history() {
		return this.history;
	}

	/**
	 * Call the method in the transaction of a claim if a fire is due.
	 */
	@Nullable Object call(Leadership leadership, Invocation invocation, @Nullable Object skipped) throws Throwable {
		if (!enter(leadership)) {
			return skipped;
		}
		try {
			return callInTransaction(leadership, this.catchUp.endSubmission(), invocation, skipped);
		}
		finally {
			leave(leadership);
		}
	}

	private @Nullable Object callInTransaction(Leadership leadership, boolean submitted, Invocation invocation,
			@Nullable Object skipped) throws Throwable {
		FireClaim claim = new FireClaim(this.schedules, this.job, this.catchUp, leadership, submitted);
		Object result;
		try {
			result = this.schedules.store().<@Nullable Object>execute(this.job, leadership, false, (row) -> {
				DurableRun run = claim.open(row);
				if (run == null) {
					return skipped;
				}
				Object returned = run.invoke(invocation);
				claim.save(row, run, this.schedules.now(), COMPLETED);
				return returned;
			});
		}
		catch (Throwable ex) {
			if (claim.run() != null) {
				failed(claim.run(), ex, this.schedules.store().isInterruption(ex));
			}
			else {
				this.catchUp.retry(leadership);
			}
			throw ex;
		}
		committed(claim);
		if (claim.run() != null) {
			completed(claim.run());
		}
		return claim.hasBegun() ? callInTransaction(leadership, submitted, invocation, skipped) : result;
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
			run = claimFire(leadership, this.catchUp.endSubmission());
			return run;
		}
		catch (Throwable ex) {
			this.catchUp.retry(leadership);
			throw ex;
		}
		finally {
			if (run == null) {
				leave(leadership);
			}
		}
	}

	private @Nullable DurableRun claimFire(Leadership leadership, boolean submitted) throws Throwable {
		FireClaim claim = new FireClaim(this.schedules, this.job, this.catchUp, leadership, submitted);
		this.schedules.store().<@Nullable Object>execute(this.job, leadership, true, (row) -> {
			DurableRun run = claim.open(row);
			if (run != null && this.job.claim() == Claim.BEFORE) {
				claim.save(row, run, null, RUNNING);
			}
			return null;
		});
		committed(claim);
		return claim.hasBegun() ? claimFire(leadership, submitted) : claim.run();
	}

	private void committed(FireClaim claim) {
		this.history.observed(claim.leadership(), claim.record());
		DueFires settled = claim.settled();
		if (settled == null) {
			return;
		}
		this.catchUp.succeeded();
		this.history.missed(settled.missed());
		warnOfDropped(settled.missed());
		this.catchUp.repeatEarlyTick(settled.lastFire());
	}

	/**
	 * End a run that {@link #begin(Leadership)} has returned.
	 */
	void end(DurableRun run, @Nullable Throwable failure) throws Throwable {
		try {
			if (failure != null) {
				failed(run, failure, this.schedules.store().isInterruption(failure));
				return;
			}
			if (this.job.claim() == Claim.AFTER) {
				recordOrRetry(run);
			}
			else {
				note(run, COMPLETED);
			}
			completed(run);
		}
		finally {
			leave(run.leadership());
		}
	}

	private void recordOrRetry(DurableRun run) throws Throwable {
		try {
			record(run, true, COMPLETED);
		}
		catch (Throwable ex) {
			failed(run, ex, true);
			throw ex;
		}
	}

	/**
	 * Record the outcome of a run, for information.
	 */
	private void note(DurableRun run, String outcome) {
		if (run.leadership().isCurrent()) {
			try {
				record(run, false, outcome);
			}
			catch (Throwable ex) {
				logger.debug(LogMessage.format("The outcome of %s could not be recorded", this.job), ex);
			}
		}
	}

	private void record(DurableRun run, boolean done, String outcome) throws Throwable {
		FireClaim claim = new FireClaim(this.schedules, this.job, this.catchUp, run.leadership(), false);
		this.schedules.store().<@Nullable Object>execute(this.job, run.leadership(), true, (row) -> {
			claim.end(row, run, done, outcome);
			return null;
		});
		this.history.observed(run.leadership(), claim.record());
	}

	private void completed(DurableRun run) {
		this.catchUp.succeeded();
		this.history.completed(run);
		if (this.job.annotation().misfire() == MisfirePolicy.RUN_ALL) {
			warnOfDropped(run.due().missed());
		}
		if (run.fireTime().isCatchUp()) {
			logger.info(LogMessage.format("%s has caught up the fire of %s", this.job, run.fireTime()));
		}
		this.schedules.completed(this.job, run.fireTime());
		if (run.due().more()) {
			this.catchUp.submit(this.schedules.now());
		}
	}

	private void warnOfDropped(int fires) {
		if (fires > 0) {
			logger.warn(LogMessage.format("%s has dropped %d fires that were too old or too many", this.job, fires));
		}
	}

	private void failed(DurableRun run, Throwable failure, boolean passing) {
		this.history.failed();
		note(run, "failed: " + failure.getClass().getName());
		if (this.job.claim() != Claim.BEFORE && passing) {
			this.catchUp.repeat(run.leadership(), run.due().lastFire());
		}
	}

	/**
	 * Let one call at a time pass in a term. Work of an earlier term may still run, as it
	 * may on another node.
	 */
	private boolean enter(Leadership leadership) {
		this.schedules.store().checkCaller(this.job);
		synchronized (this) {
			this.again = this.running == leadership;
			if (this.again) {
				this.catchUp.endSubmission();
				return false;
			}
			this.running = leadership;
			return true;
		}
	}

	private void leave(Leadership leadership) {
		boolean repeat;
		synchronized (this) {
			if (this.running != leadership) {
				return;
			}
			this.running = null;
			repeat = this.again;
		}
		if (repeat) {
			this.catchUp.submit(this.schedules.now());
		}
	}

}
