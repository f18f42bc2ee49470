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
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.ReadWriteLock;
import java.util.concurrent.locks.ReentrantReadWriteLock;

import io.leaderelection.Leadership;
import org.jspecify.annotations.Nullable;

/**
 * Runs of a job that are submitted to the task scheduler, in addition to the ticks of its
 * schedule: on grant, and later in the same term. At most one is pending.
 */
final class CatchUp {

	private static final Duration FIRST_RETRY = Duration.ofSeconds(1);

	private static final Duration LONGEST_RETRY = Duration.ofMinutes(1);

	private static final int MOST_REPEATS = 5;

	private static final Duration LONGEST_WAIT = Duration.ofSeconds(10);

	private final DurableSchedules schedules;

	private final DurableJob job;

	/** Held for reading while a run is in progress that was submitted. */
	private final ReadWriteLock inProgress = new ReentrantReadWriteLock();

	/** Whether the next call is one of them. */
	private final AtomicBoolean submission = new AtomicBoolean();

	private volatile @Nullable Grant grant;

	// Guarded by this
	private @Nullable ScheduledFuture<?> pending;

	private Instant pendingAt = Instant.MAX;

	private Duration retry = FIRST_RETRY;

	private @Nullable Instant repeated;

	private int repeats;

	/**
	 * Create a new {@code CatchUp} instance.
	 * @param schedules the jobs of the application
	 * @param job the job
	 */
	CatchUp(DurableSchedules schedules, DurableJob job) {
		this.schedules = schedules;
		this.job = job;
	}

	/**
	 * Use a run for all that are submitted in this term.
	 */
	void granted(Leadership leadership, Runnable run) {
		this.grant = new Grant(leadership, this.schedules.now(), run);
		succeeded();
	}

	/**
	 * Return when leadership was granted.
	 * @return the time, or {@code null} if this node does not lead
	 */
	@Nullable Instant grantTime() {
		Grant last = this.grant;
		return (last != null && last.leadership().isCurrent()) ? last.time() : null;
	}

	/**
	 * Return when a new job begins: not before this node was granted leadership, and not
	 * after, although the first claim may have failed.
	 */
	Instant beginTime(Leadership leadership) {
		Instant begin = this.schedules.begin();
		Grant last = this.grant;
		Instant now = this.schedules.now();
		if (begin != null) {
			return begin;
		}
		return (last != null && last.leadership() == leadership && last.time().isBefore(now)) ? last.time() : now;
	}

	/**
	 * End the submission whose run calls the method now.
	 * @return whether there was one, and not a tick of the schedule
	 */
	boolean endSubmission() {
		return this.submission.getAndSet(false);
	}

	/**
	 * Submit a run unless one is pending that is not later.
	 */
	void submit(Instant time) {
		Grant current = this.grant;
		if (current == null || !current.leadership().isCurrent()) {
			return;
		}
		synchronized (this) {
			ScheduledFuture<?> earlier = this.pending;
			if (earlier != null && !earlier.isDone()) {
				if (!this.pendingAt.isAfter(time)) {
					return;
				}
				earlier.cancel(false);
			}
			this.pendingAt = time;
			// The grant may be another one when it runs
			this.pending = this.schedules.submit(this.job, this::run, time);
		}
	}

	/**
	 * Submit a run for the next fire if its tick may have come already, and the one after
	 * it may be a day later: the clock may have been set back while the scheduler waited.
	 * If the scheduler is in time, its tick comes first.
	 */
	void repeatEarlyTick(Instant lastFire) {
		Instant now = this.schedules.now();
		FireTimes times = this.job.definition().times();
		Instant next = times.next(now.isAfter(lastFire) ? now : lastFire);
		Instant following = (next != null) ? times.next(next) : null;
		if (next != null && following != null
				&& Duration.between(now, next).multipliedBy(2).compareTo(Duration.between(next, following)) <= 0) {
			submit(next.plus(times.tolerance(next)));
		}
	}

	private void run() {
		synchronized (this) {
			this.pending = null;
		}
		Grant current = this.grant;
		this.inProgress.readLock().lock();
		try {
			if (current != null && this.schedules.begin() == null) {
				this.submission.set(true);
				current.run().run();
			}
		}
		finally {
			this.inProgress.readLock().unlock();
		}
	}

	synchronized void cancel() {
		if (this.pending != null) {
			this.pending.cancel(false);
		}
	}

	/**
	 * Repeat a run whose database session has ended, but not for ever: the run itself may
	 * be the cause, for instance since its transaction is idle for too long.
	 */
	void repeat(Leadership leadership, Instant fire) {
		synchronized (this) {
			if (!fire.equals(this.repeated)) {
				this.repeated = fire;
				this.repeats = 0;
				this.retry = FIRST_RETRY;
			}
			this.repeats++;
			if (this.repeats > MOST_REPEATS) {
				return;
			}
		}
		retry(leadership);
	}

	/**
	 * Repeat a claim that has failed: the next tick may be a day later.
	 */
	void retry(Leadership leadership) {
		if (!leadership.isCurrent()) {
			return;
		}
		Duration delay;
		synchronized (this) {
			delay = this.retry;
			Duration twice = delay.multipliedBy(2);
			this.retry = (twice.compareTo(LONGEST_RETRY) < 0) ? twice : LONGEST_RETRY;
		}
		submit(this.schedules.now().plus(delay));
	}

	synchronized void succeeded() {
		this.retry = FIRST_RETRY;
	}

	/**
	 * Wait for runs that have been submitted, for tests.
	 */
	void awaitSubmitted() {
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
	private record Grant(Leadership leadership, Instant time, Runnable run) {

	}

}
