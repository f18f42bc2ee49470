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

import java.time.Instant;
import java.time.temporal.ChronoUnit;

import io.leaderelection.Leadership;
import io.leaderelection.schedule.DueFires.Misfire;
import io.leaderelection.schedule.JobRecord.Run;
import io.leaderelection.schedule.ScheduleStore.Row;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;

import org.springframework.util.Assert;

/**
 * What one transaction reads and changes in the record of a job. It takes effect when the
 * transaction has committed.
 */
final class FireClaim {

	private static final Log logger = LogFactory.getLog(DurableSchedule.class);

	private final DurableSchedules schedules;

	private final DurableJob job;

	private final NextRun next;

	private final Leadership leadership;

	private final Misfire misfire;

	private @Nullable JobRecord record;

	private @Nullable DurableRun run;

	private @Nullable DueFires due;

	/**
	 * Create a new {@code FireClaim} instance.
	 * @param schedules the jobs of the application
	 * @param job the job
	 * @param next its next run
	 * @param leadership the leadership of the work
	 * @param misfire what happens to missed fires
	 */
	FireClaim(DurableSchedules schedules, DurableJob job, NextRun next, Leadership leadership, Misfire misfire) {
		this.schedules = schedules;
		this.job = job;
		this.next = next;
		this.leadership = leadership;
		this.misfire = misfire;
	}

	@Nullable JobRecord record() {
		return this.record;
	}

	@Nullable DurableRun run() {
		return this.run;
	}

	/**
	 * Return what was due if the transaction has settled it without a run.
	 */
	@Nullable DueFires settled() {
		return (this.due != null && this.due.fire() == null) ? this.due : null;
	}

	/**
	 * Return whether the job has begun, and a fire is to be claimed in another
	 * transaction: if the begin was rolled back with the first run, the next leader would
	 * begin later.
	 */
	boolean hasBegun() {
		return this.due != null && this.due.fire() != null && this.run == null;
	}

	/**
	 * Lock the record and determine what is due. Changes the record if the job is new or
	 * has changed, or if fires were dropped.
	 * @param row the record
	 * @return the run, or {@code null} if no fire is due, or the job has begun
	 */
	@Nullable DurableRun open(Row row) {
		JobRecord initial = initial();
		JobRecord found = row.lock(initial);
		JobRecord present = begun(found, initial);
		Instant now = this.schedules.now();
		row.check(present, now);
		DueFires fires = DueFires.of(this.job.times(), this.misfire, present.lastFire(), now);
		this.due = fires;
		if (fires.fire() != null && found != initial && found.hasSchedule(initial)) {
			this.record = found;
			boolean late = this.next.isLate(fires.fire()) || fires.missed() > 0 || fires.more();
			FireTime fireTime = new FireTime(fires.fire(), late, fires.missed());
			this.run = new DurableRun(this.job, this.leadership, fires, fireTime, now);
			return this.run;
		}
		JobRecord replacement = (fires.fire() != null) ? present : present.withLastFire(fires.lastFire());
		this.record = replacement;
		if (!replacement.equals(found)) {
			row.save(replacement);
		}
		return null;
	}

	/**
	 * Record the fire of a run as done.
	 * @param row the record, which {@link #open(Row)} has locked
	 * @param run the run
	 * @param ended when the run has ended, or {@code null}
	 * @param outcome its outcome
	 */
	void save(Row row, DurableRun run, @Nullable Instant ended, String outcome) {
		JobRecord present = this.record;
		Assert.state(present != null, "The record has not been locked");
		save(row, present.withLastFire(run.due().lastFire()), run, ended, outcome);
	}

	/**
	 * Record the end of a run in a transaction of its own.
	 * @param row the record
	 * @param run the run
	 * @param done whether its fire is done
	 * @param outcome its outcome
	 */
	void end(Row row, DurableRun run, boolean done, String outcome) {
		JobRecord initial = initial();
		JobRecord present = begun(row.lock(initial), initial);
		this.record = present;
		// Otherwise it is done already: a commit may have succeeded although it has
		// failed here
		if (this.job.claim() == Claim.BEFORE || present.lastFire().isBefore(run.due().lastFire())) {
			save(row, done ? present.withLastFire(run.due().lastFire()) : present, run, this.schedules.now(), outcome);
		}
	}

	private void save(Row row, JobRecord replacement, DurableRun run, @Nullable Instant ended, String outcome) {
		this.record = replacement.withRun(new Run(this.leadership.getTerm().toString(), this.leadership.getNodeId(),
				run.started(), ended, outcome));
		row.save(this.record);
	}

	/**
	 * Return the record of a job that begins now.
	 */
	private JobRecord initial() {
		// Not rounded up by the database
		Instant begin = this.next.beginTime(this.leadership).truncatedTo(ChronoUnit.MILLIS);
		FireTimes times = this.job.definition().times();
		return new JobRecord(begin, times.expression(), times.zone(), null);
	}

	private JobRecord begun(JobRecord found, JobRecord initial) {
		if (found.hasSchedule(initial)) {
			return found;
		}
		// By a clock that was ahead, a later fire may already have been claimed
		Instant begin = found.lastFire().isAfter(initial.lastFire()) ? found.lastFire() : initial.lastFire();
		int dropped = found.times().count(found.lastFire(), begin.plusNanos(1));
		String message = "%s begins now, since its schedule has changed from '%s' (%s) to '%s' (%s)".formatted(this.job,
				found.cron(), found.zone(), initial.cron(), initial.zone());
		if (dropped == 0) {
			logger.info(message);
		}
		else {
			logger.warn(message + ", and drops " + dropped + " fires that were due");
		}
		return initial.withLastFire(begin).withRun(found.last());
	}

}
