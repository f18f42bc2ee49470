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

import io.leaderelection.Leadership;
import io.leaderelection.annotation.WorkAdvisor.Advice;
import io.leaderelection.engine.Work;
import io.leaderelection.schedule.NextRun.Grant;
import org.jspecify.annotations.Nullable;

import org.springframework.util.Assert;

/**
 * A method with {@link DurableSchedule @DurableSchedule}: claims its fires and runs it.
 * Internal.
 */
public final class DurableJob implements Advice {

	private final DurableSchedules schedules;

	private final Method method;

	private final Class<?> type;

	private final String description;

	private final DurableSchedule annotation;

	private final NextRun next;

	private final JobCalls calls;

	private volatile @Nullable JobDefinition definition;

	private volatile @Nullable String election;

	private volatile @Nullable Instant requested;

	DurableJob(DurableSchedules schedules, Method method, Class<?> type, String description,
			DurableSchedule annotation) {
		this.schedules = schedules;
		this.method = method;
		this.type = type;
		this.description = description;
		this.annotation = annotation;
		this.next = new NextRun(schedules, this);
		this.calls = new JobCalls(schedules, this, this.next);
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

	Claim claim() {
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

	@Override
	public void register(String election) {
		this.schedules.register(this, election);
	}

	void registered(String election) {
		this.election = election;
	}

	JobDefinition definition() {
		// A race is harmless: all threads compute the same value
		JobDefinition definition = this.definition;
		if (definition == null) {
			definition = JobDefinition.of(this, this.schedules);
			this.definition = definition;
		}
		return definition;
	}

	/**
	 * Return its fires, with one that was requested.
	 */
	FireTimes times() {
		return new FireTimes(definition().times().crons(), this.requested);
	}

	/**
	 * Begin a term, in which ticks claim fires and runs can be submitted to the task
	 * scheduler of the application.
	 */
	@Override
	public void granted(Leadership leadership, Runnable run) {
		reset();
		this.next.granted(leadership, run);
	}

	@Override
	public void runOnGrant() {
		submit();
	}

	/**
	 * Submit a run for the fires that are due.
	 */
	void submit() {
		this.next.submit(this.schedules.now());
	}

	/**
	 * Have a fire now in addition to those of the schedule, or drop the fires that are
	 * due.
	 * @param skip whether to drop them
	 * @return why it is refused, or {@code null}
	 * @throws Throwable if the fires cannot be claimed
	 */
	public @Nullable String request(boolean skip) throws Throwable {
		Grant grant = this.next.grant();
		if (grant == null) {
			return "this node does not lead";
		}
		if (skip) {
			return this.calls.skip(grant.leadership()) ? null : "no fire is due, or the job is running";
		}
		if (this.schedules.scheduler() == null) {
			return "nothing runs @Scheduled methods (@EnableScheduling is missing)";
		}
		String refusal = this.calls.refusal(grant.leadership());
		if (refusal == null) {
			reset();
			this.requested = this.schedules.now();
			submit();
		}
		return refusal;
	}

	/**
	 * Forget what was known, after the runs that were submitted have ended.
	 */
	void begin() {
		this.next.begin();
		this.calls.history().forget();
		reset();
	}

	private void reset() {
		this.requested = null;
		this.calls.reset();
	}

	void stop() {
		this.next.stop();
	}

	/**
	 * Call the method if a fire is due.
	 * @throws Throwable the failure of the method, of the claim or of the commit
	 */
	@Override
	public @Nullable Object call(Work work, Invocation invocation, Invocation skipped) throws Throwable {
		Leadership leadership = work.getLeadership();
		if (claim() != Claim.IN_TRANSACTION) {
			ClaimedRun run = begin(leadership);
			return (run != null) ? run.call(work, invocation) : skipped.proceed();
		}
		return this.calls.call(leadership, invocation, skipped);
	}

	/**
	 * Claim a fire with {@link Claim#BEFORE} or {@link Claim#AFTER}.
	 * @return the run, to be ended, or {@code null} if no fire is due
	 */
	@Override
	public @Nullable ClaimedRun begin(Leadership leadership) throws Throwable {
		return this.calls.begin(leadership);
	}

	/**
	 * End a run that {@link #begin(Leadership)} has returned.
	 */
	void end(ClaimedRun run, @Nullable Throwable failure) throws Throwable {
		this.calls.end(run, failure);
	}

	/**
	 * Return the status of the job as this node knows it.
	 * @return the status
	 */
	public Status status() {
		Grant grant = this.next.grant();
		return this.calls.history().status(times(), this.schedules.now(), (grant != null) ? grant.time() : null);
	}

	@Override
	public String toString() {
		return this.description;
	}

	/**
	 * A durable job as a node knows it. Internal.
	 *
	 * @param cron the cron expressions
	 * @param zone their time zones
	 * @param lastFire the last fire that is done, if this node leads
	 * @param nextFire the next nominal fire
	 * @param outcome the outcome of the last run, if this node leads
	 * @param lag how long the oldest fire has been due, or negative if the last fire is
	 * further ahead than the next one, if this node leads
	 * @param completed the number of runs of this node that completed
	 * @param failed the number of runs of this node that failed
	 * @param missed the number of fires that did not run
	 * @param caughtUp the number of runs that caught up
	 */
	public record Status(String cron, String zone, @Nullable Instant lastFire, @Nullable Instant nextFire,
			@Nullable String outcome, @Nullable Duration lag, long completed, long failed, long missed, long caughtUp) {

	}

}
