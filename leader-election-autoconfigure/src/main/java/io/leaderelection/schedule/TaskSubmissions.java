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
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.ScheduledFuture;
import java.util.function.Supplier;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;

import org.springframework.core.task.TaskRejectedException;
import org.springframework.scheduling.SchedulingAwareRunnable;
import org.springframework.scheduling.TaskScheduler;

/**
 * Submits runs of jobs to the task scheduler of the application. Until it is known, since
 * the application has not started completely, the last run of each job waits for it.
 */
final class TaskSubmissions {

	private static final Log logger = LogFactory.getLog(DurableSchedule.class);

	private final Supplier<Instant> now;

	// Guarded by this
	private final Map<DurableJob, Submission> waiting = new LinkedHashMap<>();

	private @Nullable TaskScheduler scheduler;

	/**
	 * Create a new {@code TaskSubmissions} instance.
	 * @param now returns the time by the clock of the jobs
	 */
	TaskSubmissions(Supplier<Instant> now) {
		this.now = now;
	}

	/**
	 * Submit the runs that wait for the task scheduler.
	 */
	synchronized void begin(@Nullable TaskScheduler scheduler) {
		this.scheduler = scheduler;
		if (scheduler != null) {
			this.waiting.forEach((job, submission) -> submit(scheduler, submission, this.now.get()));
			this.waiting.clear();
		}
	}

	/**
	 * Submit a run.
	 * @param time the time by the clock of the jobs
	 * @return the run, or {@code null} if it waits or was rejected
	 */
	@Nullable ScheduledFuture<?> submit(DurableJob job, Runnable run, Instant time) {
		Submission submission = new Submission(job, run, job.definition().scheduler());
		TaskScheduler target;
		synchronized (this) {
			target = this.scheduler;
			if (target == null) {
				this.waiting.put(job, submission);
				return null;
			}
		}
		return submit(target, submission, time);
	}

	private @Nullable ScheduledFuture<?> submit(TaskScheduler target, Submission submission, Instant time) {
		Duration delay = Duration.between(this.now.get(), time);
		try {
			return target.schedule(submission,
					target.getClock().instant().plus(delay.isNegative() ? Duration.ZERO : delay));
		}
		catch (TaskRejectedException ex) {
			logger.debug(submission.job() + " could not be submitted", ex);
			return null;
		}
	}

	/**
	 * A run of a job, for the scheduler that {@code @Scheduled} names.
	 *
	 * @param job the job
	 * @param task the run
	 * @param qualifier the name of the scheduler
	 */
	private record Submission(DurableJob job, Runnable task,
			@Nullable String qualifier) implements SchedulingAwareRunnable {

		@Override
		public void run() {
			this.task.run();
		}

		@Override
		public @Nullable String getQualifier() {
			return this.qualifier;
		}

	}

}
