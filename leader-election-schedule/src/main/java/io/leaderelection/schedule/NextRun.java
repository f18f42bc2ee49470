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
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReadWriteLock;
import java.util.concurrent.locks.ReentrantReadWriteLock;

import io.leaderelection.Leadership;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;

import org.springframework.core.task.TaskRejectedException;
import org.springframework.scheduling.SchedulingAwareRunnable;
import org.springframework.scheduling.TaskScheduler;

/**
 * The next run of a job in a term, as a task for the scheduler that {@code @Scheduled}
 * names. At most one is pending: each submission replaces the one before.
 */
final class NextRun {

	private static final Log logger = LogFactory.getLog(DurableSchedule.class);

	private static final Duration LONGEST_WAIT = Duration.ofSeconds(10);

	private final DurableSchedules schedules;

	private final DurableJob job;

	/** Held for reading while a run is in progress that was submitted. */
	private final ReadWriteLock inProgress = new ReentrantReadWriteLock();

	private volatile @Nullable Grant grant;

	/** When the last run was submitted. Fires that were due by then are late. */
	private volatile Instant submitted = Instant.MIN;

	// Guarded by this
	private @Nullable ScheduledFuture<?> pending;

	private @Nullable Task task;

	/** The time of the last run that the scheduler has begun. */
	private volatile Instant reached = Instant.MIN;

	NextRun(DurableSchedules schedules, DurableJob job) {
		this.schedules = schedules;
		this.job = job;
	}

	/**
	 * Use a run for all that are submitted in this term.
	 */
	void granted(Leadership leadership, Runnable run) {
		Grant next = new Grant(leadership, this.schedules.now(), run);
		this.submitted = next.time();
		this.grant = next;
	}

	/**
	 * Return the grant of the current term.
	 * @return the grant, or {@code null} if this node does not lead
	 */
	@Nullable Grant grant() {
		Grant last = this.grant;
		return (last != null && last.leadership().isCurrent()) ? last : null;
	}

	/**
	 * Return when a new job begins: not before this node was granted leadership, and not
	 * after, although the first claim may have failed.
	 */
	Instant beginTime(Leadership leadership) {
		Instant begin = this.schedules.begin();
		Instant now = this.schedules.now();
		Grant last = this.grant;
		if (begin == null && last != null && last.leadership() == leadership && last.time().isBefore(now)) {
			return last.time();
		}
		return (begin != null) ? begin : now;
	}

	boolean isLate(Instant fire) {
		return !fire.isAfter(this.submitted);
	}

	Instant reached() {
		return this.reached;
	}

	/**
	 * Submit the next run, at once if its time has passed.
	 */
	synchronized void submit(Instant time) {
		TaskScheduler scheduler = this.schedules.scheduler();
		// A run that has been cancelled may stay in the queue of the scheduler
		boolean same = this.task != null && this.pending != null && !this.pending.isDone()
				&& time.equals(this.task.time());
		if (grant() == null || same) {
			return;
		}
		cancel();
		Task submission = new Task(this, time);
		this.task = submission;
		this.submitted = this.schedules.now();
		if (scheduler != null) {
			Duration delay = Duration.between(this.submitted, time);
			try {
				this.pending = scheduler.schedule(submission,
						scheduler.getClock().instant().plus(delay.isNegative() ? Duration.ZERO : delay));
			}
			catch (TaskRejectedException ex) {
				logger.debug(this.job + " could not be submitted", ex);
			}
			catch (RuntimeException ex) {
				logger.warn(this.job + " could not be submitted", ex);
			}
		}
	}

	/**
	 * Submit no run until the next grant. A run in progress would otherwise submit one
	 * that the scheduler waits for when it is shut down.
	 */
	synchronized void stop() {
		this.grant = null;
		cancel();
	}

	private void cancel() {
		if (this.pending != null) {
			this.pending.cancel(false);
			this.pending = null;
		}
	}

	private void run(Task begun) {
		synchronized (this) {
			// A tick may have submitted the next one meanwhile
			this.pending = (this.task == begun) ? null : this.pending;
			this.reached = begun.time();
		}
		// May be another one than at the submission
		Grant current = grant();
		this.inProgress.readLock().lock();
		try {
			if (current != null && this.schedules.begin() == null) {
				current.run().run();
			}
		}
		finally {
			this.inProgress.readLock().unlock();
		}
	}

	void begin() {
		this.submitted = Instant.MIN;
		try {
			if (this.inProgress.writeLock().tryLock(LONGEST_WAIT.toMillis(), TimeUnit.MILLISECONDS)) {
				this.inProgress.writeLock().unlock();
			}
		}
		catch (InterruptedException ex) {
			Thread.currentThread().interrupt();
		}
	}

	/**
	 * A grant of leadership.
	 *
	 * @param leadership the leadership
	 * @param time when it was received
	 * @param run calls the method
	 */
	record Grant(Leadership leadership, Instant time, Runnable run) {

	}

	/**
	 * A run that has been submitted.
	 */
	private record Task(NextRun next, Instant time) implements SchedulingAwareRunnable {

		@Override
		public void run() {
			this.next.run(this);
		}

		@Override
		public @Nullable String getQualifier() {
			return this.next.job.definition().scheduler();
		}

	}

}
