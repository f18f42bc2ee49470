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

import java.lang.reflect.Method;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.LongAdder;

import io.leaderelection.Leadership;
import io.leaderelection.engine.Work;
import io.leaderelection.schedule.DueFires.Misfire;
import io.leaderelection.schedule.JobRecord.Run;
import io.leaderelection.schedule.ScheduleStore.Row;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;

import org.springframework.core.log.LogMessage;
import org.springframework.util.Assert;

/**
 * A method with {@link DurableSchedule @DurableSchedule}: claims its fires and runs it.
 * Internal.
 */
public final class DurableJob {

	private static final Log logger = LogFactory.getLog(DurableSchedule.class);

	private static final String COMPLETED = "completed";

	private static final String RUNNING = "running";

	private final DurableSchedules schedules;

	private final Method method;

	private final Class<?> type;

	private final String description;

	private final DurableSchedule annotation;

	private final CatchUp catchUp;

	private final AtomicBoolean submitted = new AtomicBoolean();

	private final LongAdder completed = new LongAdder();

	private final LongAdder failed = new LongAdder();

	private final LongAdder missed = new LongAdder();

	private final LongAdder caughtUp = new LongAdder();

	private volatile @Nullable Definition definition;

	private volatile @Nullable String election;

	private volatile @Nullable Observed observed;

	// Guarded by this
	private @Nullable Leadership running;

	private boolean again;

	/**
	 * Create a new {@code DurableJob} instance.
	 * @param schedules the jobs of the application
	 * @param method the method
	 * @param type the class of the bean
	 * @param description the method, for messages
	 * @param annotation the annotation
	 */
	DurableJob(DurableSchedules schedules, Method method, Class<?> type, String description,
			DurableSchedule annotation) {
		this.schedules = schedules;
		this.method = method;
		this.type = type;
		this.description = description;
		this.annotation = annotation;
		this.catchUp = new CatchUp(schedules, this);
	}

	Method method() {
		return this.method;
	}

	Class<?> type() {
		return this.type;
	}

	DurableSchedule annotation() {
		return this.annotation;
	}

	/**
	 * Return the claim of the job.
	 * @return the claim
	 */
	public Claim claim() {
		return this.annotation.claim();
	}

	/**
	 * Return the name of the job.
	 * @return the name
	 */
	public String name() {
		return definition().name();
	}

	/**
	 * Return the name of its election.
	 * @return the name
	 */
	public String election() {
		String election = this.election;
		Assert.state(election != null, () -> this + " has not been registered");
		return election;
	}

	void register(String election) {
		this.election = election;
	}

	FireTimes times() {
		return definition().times();
	}

	@Nullable String scheduler() {
		return definition().scheduler();
	}

	private Definition definition() {
		// A race is harmless: all threads compute the same value
		Definition definition = this.definition;
		if (definition == null) {
			definition = this.schedules.define(this);
			this.definition = definition;
		}
		return definition;
	}

	/**
	 * Submit a run to the task scheduler of the application, and more runs in the same
	 * term when they are due.
	 * @param leadership the leadership that was granted
	 * @param run calls the method if the leadership is current
	 */
	public void granted(Leadership leadership, Runnable run) {
		this.catchUp.granted(leadership, () -> {
			this.submitted.set(true);
			run.run();
		});
	}

	/**
	 * Forget what was known, after the runs that were submitted have ended.
	 */
	void begin() {
		this.catchUp.awaitSubmitted();
		this.observed = null;
	}

	/**
	 * Remove the run that is pending, since the application stops.
	 */
	void stop() {
		this.catchUp.cancel();
	}

	/**
	 * Call the method if a fire is due.
	 * @param work the work that has been entered
	 * @param invocation the call
	 * @param skipped the result if none is due
	 * @return the result
	 * @throws Throwable the failure of the method, of the claim or of the commit
	 */
	public @Nullable Object call(Work work, Invocation invocation, @Nullable Object skipped) throws Throwable {
		Leadership leadership = work.getLeadership();
		if (claim() != Claim.IN_TRANSACTION) {
			DurableRun run = begin(leadership);
			return (run != null) ? run.call(work, invocation) : skipped;
		}
		this.schedules.store().checkCaller(this);
		if (!enter(leadership)) {
			return skipped;
		}
		try {
			return callInTransaction(leadership, invocation, skipped);
		}
		finally {
			leave(leadership);
		}
	}

	private @Nullable Object callInTransaction(Leadership leadership, Invocation invocation, @Nullable Object skipped)
			throws Throwable {
		while (true) {
			Attempt attempt = new Attempt();
			Object result;
			try {
				result = this.schedules.store()
					.<@Nullable Object>execute(this, leadership, false,
							(row) -> claimAndRun(row, leadership, invocation, skipped, attempt));
			}
			catch (Throwable ex) {
				if (attempt.run == null) {
					this.catchUp.retry(leadership);
				}
				else {
					failed(attempt.run, ex);
				}
				throw ex;
			}
			committed(leadership, attempt);
			if (attempt.run != null) {
				completed(attempt.run);
			}
			if (!attempt.begun) {
				return result;
			}
		}
	}

	private @Nullable Object claimAndRun(Row row, Leadership leadership, Invocation invocation,
			@Nullable Object skipped, Attempt attempt) throws Throwable {
		JobRecord record = read(row, leadership, attempt);
		DurableRun run = attempt.run;
		if (run == null) {
			return skipped;
		}
		Object result = run.invoke(invocation);
		attempt.save(row, record.withLastFire(run.due().lastFire()).withRun(ended(run, COMPLETED)));
		return result;
	}

	/**
	 * Claim a fire with {@link Claim#BEFORE} or {@link Claim#AFTER}.
	 * @param leadership the leadership of the work
	 * @return the run, to be ended, or {@code null} if no fire is due
	 * @throws Throwable if the claim fails
	 */
	public @Nullable DurableRun begin(Leadership leadership) throws Throwable {
		this.schedules.store().checkCaller(this);
		if (!enter(leadership)) {
			return null;
		}
		DurableRun run = null;
		try {
			Attempt attempt;
			do {
				attempt = claim(leadership);
			}
			while (attempt.begun);
			run = attempt.run;
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

	private Attempt claim(Leadership leadership) throws Throwable {
		Attempt attempt = new Attempt();
		this.schedules.store().<@Nullable Object>execute(this, leadership, true, (row) -> {
			JobRecord record = read(row, leadership, attempt);
			DurableRun run = attempt.run;
			if (run != null && claim() == Claim.BEFORE) {
				attempt.save(row, record.withLastFire(run.due().lastFire())
					.withRun(new Run(term(leadership), leadership.getNodeId(), run.started(), null, RUNNING)));
			}
			else if (run != null) {
				row.discard();
			}
			return null;
		});
		committed(leadership, attempt);
		return attempt;
	}

	/**
	 * End a run that {@link #begin} has returned.
	 */
	void end(DurableRun run, @Nullable Throwable failure) throws Throwable {
		try {
			if (failure != null) {
				failed(run, failure);
				return;
			}
			if (claim() == Claim.AFTER) {
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
			record(run, run.due().lastFire(), COMPLETED);
		}
		catch (Throwable ex) {
			failed(run, ex);
			throw ex;
		}
	}

	/**
	 * Record the outcome of a run, for information.
	 */
	private void note(DurableRun run, String outcome) {
		if (!run.leadership().isCurrent()) {
			return;
		}
		try {
			record(run, null, outcome);
		}
		catch (Throwable ex) {
			logger.debug(LogMessage.format("The outcome of %s could not be recorded", this), ex);
		}
	}

	private void record(DurableRun run, @Nullable Instant lastFire, String outcome) throws Throwable {
		JobRecord recorded = this.schedules.store().execute(this, run.leadership(), true, (row) -> {
			JobRecord initial = initial(run.leadership());
			JobRecord record = begun(row.lock(initial), initial);
			if (claim() != Claim.BEFORE && !record.lastFire().isBefore(run.due().lastFire())) {
				// The fire is done: a commit may have succeeded although it has failed
				// here
				row.discard();
				return record;
			}
			JobRecord ended = record.withLastFire((lastFire != null) ? lastFire : record.lastFire())
				.withRun(ended(run, outcome));
			row.save(ended);
			return ended;
		});
		this.observed = new Observed(run.leadership(), recorded);
	}

	private Run ended(DurableRun run, String outcome) {
		Leadership leadership = run.leadership();
		return new Run(term(leadership), leadership.getNodeId(), run.started(), this.schedules.now(), outcome);
	}

	private static String term(Leadership leadership) {
		return leadership.getTerm().toString();
	}

	/**
	 * Lock the record and determine what is due. Changes the row if the job is new or has
	 * changed, or if fires were dropped.
	 * <p>
	 * The begin of a job commits before its first run: if it was rolled back with the
	 * run, the next leader would begin later.
	 */
	private JobRecord read(Row row, Leadership leadership, Attempt attempt) {
		JobRecord initial = initial(leadership);
		JobRecord found = row.lock(initial);
		JobRecord record = begun(found, initial);
		Instant now = this.schedules.now();
		DueFires due = DueFires.of(times(), definition().misfire(), record.lastFire(), now);
		attempt.record = record;
		attempt.begun = due.fire() != null && (found == initial || !found.hasSchedule(initial));
		if (due.fire() != null && !attempt.begun) {
			boolean late = this.submitted.getAndSet(false) || due.missed() > 0 || due.more();
			FireTime fireTime = new FireTime(due.fire(), late, due.missed());
			attempt.run = new DurableRun(this, leadership, due, fireTime, now);
			return record;
		}
		JobRecord settled = attempt.begun ? record : record.withLastFire(due.lastFire());
		if (!settled.equals(found)) {
			attempt.save(row, settled);
		}
		else if (found != initial) {
			row.discard();
		}
		if (!attempt.begun) {
			this.submitted.set(false);
			attempt.dropped = due;
			repeatEarlyTick(record.lastFire(), now);
		}
		return settled;
	}

	private void committed(Leadership leadership, Attempt attempt) {
		if (attempt.record != null) {
			this.observed = new Observed(leadership, attempt.record);
		}
		if (attempt.dropped != null) {
			this.catchUp.succeeded();
			drop(attempt.dropped);
		}
	}

	private void drop(DueFires due) {
		if (due.missed() > 0) {
			this.missed.add(due.missed());
			logger.warn(LogMessage.format("%s has dropped %d fires that were too old, the last one of %s", this,
					due.missed(), due.lastFire()));
		}
	}

	/**
	 * Return the record of a job that begins now: not before this node was granted
	 * leadership, and not after, although the first claim may have failed.
	 */
	private JobRecord initial(Leadership leadership) {
		Instant begin = this.schedules.now();
		Instant begun = this.schedules.begin();
		Instant granted = this.catchUp.grantTime(leadership);
		if (granted != null && granted.isBefore(begin)) {
			begin = granted;
		}
		begin = (begun != null) ? begun : begin;
		// Not rounded up by the database
		return new JobRecord(begin.truncatedTo(ChronoUnit.MILLIS), times().expression(), times().zone(), null);
	}

	private JobRecord begun(JobRecord found, JobRecord initial) {
		if (found.hasSchedule(initial)) {
			return found;
		}
		logger.info(LogMessage.format("%s begins now, since its schedule has changed from '%s' (%s) to '%s' (%s)", this,
				found.cron(), found.zone(), initial.cron(), initial.zone()));
		// By a clock that was ahead, a later fire may already have been claimed
		Instant begin = found.lastFire().isAfter(initial.lastFire()) ? found.lastFire() : initial.lastFire();
		return initial.withLastFire(begin).withRun(found.last());
	}

	/**
	 * The clock may have been set back while the scheduler waited for the next fire. Its
	 * next tick may be a day later. If the scheduler is in time, its tick comes first.
	 */
	private void repeatEarlyTick(Instant lastFire, Instant now) {
		Instant next = times().next(now.isAfter(lastFire) ? now : lastFire);
		Instant following = (next != null) ? times().next(next) : null;
		if (next != null && following != null
				&& Duration.between(now, next).multipliedBy(2).compareTo(Duration.between(next, following)) <= 0) {
			this.catchUp.submit(next.plus(times().tolerance(next)));
		}
	}

	private synchronized boolean enter(Leadership leadership) {
		if (this.running == leadership) {
			this.again = true;
			this.submitted.set(false);
			return false;
		}
		// Work of an earlier term may still run, as it may on another node
		this.running = leadership;
		this.again = false;
		return true;
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

	private void completed(DurableRun run) {
		this.catchUp.succeeded();
		this.completed.increment();
		this.missed.add(run.due().missed());
		if (run.fireTime().isCatchUp()) {
			this.caughtUp.increment();
			logger.info(LogMessage.format("%s has caught up the fire of %s", this, run.fireTime()));
		}
		this.schedules.completed(this, run.fireTime());
		if (run.due().more()) {
			this.catchUp.submit(this.schedules.now());
		}
	}

	private void failed(DurableRun run, Throwable failure) {
		this.failed.increment();
		note(run, "failed: " + failure.getClass().getName());
		if (claim() != Claim.BEFORE && this.schedules.store().isInterruption(failure)) {
			this.catchUp.repeat(run.leadership(), run.due().lastFire());
		}
	}

	void notRecorded(Throwable failure) {
		logger.warn(LogMessage.format("The end of a run of %s could not be recorded", this), failure);
	}

	/**
	 * Return the status of the job as this node knows it.
	 * @return the status
	 */
	public ScheduleStatus status() {
		Observed last = this.observed;
		JobRecord record = (last != null && last.leadership().isCurrent()) ? last.record() : null;
		Run run = (record != null) ? record.last() : null;
		Instant now = this.schedules.now();
		return new ScheduleStatus(times().expression(), times().zone(), (record != null) ? record.lastFire() : null,
				times().next((record != null && record.lastFire().isAfter(now)) ? record.lastFire() : now),
				(run != null) ? run.outcome() : null, lag(now), this.completed.sum(), this.failed.sum(),
				this.missed.sum(), this.caughtUp.sum());
	}

	private @Nullable Duration lag(Instant now) {
		Observed last = this.observed;
		Instant since = null;
		if (last != null && last.leadership().isCurrent()) {
			since = last.record().lastFire();
		}
		else {
			since = this.catchUp.grantTime(null);
		}
		if (since == null) {
			return null;
		}
		Instant due = times().next(since);
		return (due != null && due.isBefore(now)) ? Duration.between(due, now) : Duration.ZERO;
	}

	@Override
	public String toString() {
		return this.description;
	}

	/**
	 * The attributes of the annotations, with placeholders resolved.
	 *
	 * @param name the name of the job
	 * @param times its fires
	 * @param misfire what happens to missed fires
	 * @param scheduler the name of the scheduler of {@code @Scheduled}
	 */
	record Definition(String name, FireTimes times, Misfire misfire, @Nullable String scheduler) {

	}

	/**
	 * The record as it was in a term of this node.
	 *
	 * @param leadership the leadership
	 * @param record the record
	 */
	private record Observed(Leadership leadership, JobRecord record) {

	}

	/**
	 * What has happened in a transaction that may fail.
	 */
	private static final class Attempt {

		private @Nullable JobRecord record;

		private @Nullable DurableRun run;

		private @Nullable DueFires dropped;

		private boolean begun;

		void save(Row row, JobRecord replacement) {
			row.save(replacement);
			this.record = replacement;
		}

	}

}
