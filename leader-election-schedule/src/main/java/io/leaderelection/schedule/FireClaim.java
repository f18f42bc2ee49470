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
import java.util.Objects;

import io.leaderelection.Leadership;
import io.leaderelection.annotation.WorkAdvisor.Advice.Invocation;
import io.leaderelection.schedule.DueFires.Misfire;
import io.leaderelection.schedule.JobRecord.Run;
import io.leaderelection.schedule.ScheduleStore.Row;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;

/**
 * What one transaction reads and changes in the record of a job. It takes effect when the
 * transaction has committed.
 */
final class FireClaim {

	private static final Log logger = LogFactory.getLog(DurableSchedule.class);

	static final String COMPLETED = "completed";

	private static final String RUNNING = "running";

	private final DurableSchedules schedules;

	private final DurableJob job;

	private final NextRun next;

	private final Leadership leadership;

	private final Misfire misfire;

	/** The record as it was at last in this term. */
	private final @Nullable JobRecord known;

	/** The run of a claim that has failed, although it may have been committed. */
	private final @Nullable ClaimedRun doubtful;

	private @Nullable JobRecord record;

	private @Nullable ClaimedRun run;

	private @Nullable DueFires due;

	private @Nullable Object result;

	FireClaim(DurableSchedules schedules, DurableJob job, NextRun next, Leadership leadership, Misfire misfire,
			@Nullable JobRecord known, @Nullable ClaimedRun doubtful) {
		this.schedules = schedules;
		this.job = job;
		this.next = next;
		this.leadership = leadership;
		this.misfire = misfire;
		this.known = known;
		this.doubtful = doubtful;
	}

	@Nullable JobRecord record() {
		return this.record;
	}

	@Nullable ClaimedRun run() {
		return this.run;
	}

	DueFires due() {
		return Objects.requireNonNull(this.due);
	}

	@Nullable Object result() {
		return this.result;
	}

	/**
	 * Lock the record and claim what is due. Changes the record if the job is new or has
	 * changed, or if fires were dropped. If the job has begun, a fire is claimed in
	 * another transaction: if the begin was rolled back with the first run, the next
	 * leader would begin later.
	 * @param row the record
	 * @param invocation calls the method if it is a part of the transaction
	 * @throws Throwable the failure of the method
	 */
	void open(Row row, @Nullable Invocation invocation) throws Throwable {
		JobRecord initial = initial();
		JobRecord found = lock(row, initial);
		Instant now = this.schedules.now();
		row.check(found, now);
		ClaimedRun doubtful = this.doubtful;
		if (doubtful != null && doubtful.leadership() == this.leadership && doubtful.isRecorded(found, RUNNING)) {
			this.record = found;
			this.due = doubtful.due();
			this.run = doubtful.late();
			row.save(found);
			return;
		}
		JobRecord present = begun(found, initial);
		DueFires fires = DueFires.of(this.job.times(), this.misfire, present.lastFire(), now);
		this.due = fires;
		if (fires.fire() != null && found != initial && found.hasSchedule(initial)) {
			this.record = found;
			boolean late = !fires.fire().equals(this.job.times().requested())
					&& (this.next.isLate(fires.fire()) || fires.missed() > 0 || fires.more());
			FireTime fireTime = new FireTime(fires.fire(), late, fires.missed());
			ClaimedRun claimed = new ClaimedRun(this.job, this.leadership, found.lastFire(), fires, fireTime, now);
			this.run = claimed;
			if (invocation != null) {
				this.result = claimed.invoke(invocation);
				save(row, claimed, true, this.schedules.now(), COMPLETED);
			}
			else if (this.job.claim() == Claim.BEFORE) {
				reportLost(found);
				save(row, claimed, true, null, RUNNING);
			}
			return;
		}
		JobRecord replacement = (fires.fire() != null) ? present : present.withLastFire(fires.lastFire());
		this.record = replacement;
		if (!replacement.equals(found)) {
			row.save(replacement);
		}
	}

	/**
	 * Record the end of a run in a transaction of its own, and whether its fire is done.
	 */
	void end(Row row, ClaimedRun run, boolean done, String outcome) {
		JobRecord initial = initial();
		JobRecord present = begun(lock(row, initial), initial);
		this.record = present;
		// Otherwise it is done already, by a commit that seemed to have failed
		if (this.job.claim() == Claim.BEFORE || present.lastFire().isBefore(run.due().lastFire())) {
			// It may have been set back meanwhile, so that fires run again
			save(row, run, done && present.lastFire().equals(run.after()), this.schedules.now(), outcome);
		}
	}

	/**
	 * Report a run of an earlier term that nobody has seen end, as after a crash.
	 */
	private void reportLost(JobRecord found) {
		Run last = found.last();
		if (last != null && RUNNING.equals(last.outcome())
				&& !this.leadership.getTerm().toString().equals(last.term())) {
			logger.warn("%s has not ended its run for the fire of %s on node '%s' in term %s, which is not repeated"
				.formatted(this.job, found.lastFire(), last.node(), last.term()) + " (claim = BEFORE)");
		}
	}

	private void save(Row row, ClaimedRun run, boolean done, @Nullable Instant ended, String outcome) {
		JobRecord present = Objects.requireNonNull(this.record);
		this.record = (done ? present.withLastFire(run.due().lastFire()) : present).withRun(new Run(
				this.leadership.getTerm().toString(), this.leadership.getNodeId(), run.started(), ended, outcome));
		row.save(this.record);
	}

	private JobRecord lock(Row row, JobRecord initial) {
		JobRecord found = row.lock(initial);
		if (found == initial && this.known != null) {
			logger.warn("%s begins anew after %s, since its record has been deleted".formatted(this.job,
					initial.lastFire()));
		}
		return found;
	}

	/**
	 * Return the record of a job that begins now, or whose record has been deleted: what
	 * this term has run is not repeated.
	 */
	private JobRecord initial() {
		Instant begin = this.next.beginTime(this.leadership);
		// The known one may be ahead, which is why somebody has deleted the record
		if (this.known != null && this.known.lastFire().isAfter(begin)
				&& !this.known.lastFire().isAfter(this.schedules.now())) {
			begin = this.known.lastFire();
		}
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
