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
import java.util.Map;
import java.util.concurrent.CompletionStage;

import io.leaderelection.Leadership;
import io.leaderelection.annotation.WorkAdvisor.Advice;
import io.leaderelection.annotation.WorkAdvisor.Advice.Invocation;
import io.leaderelection.engine.Work;
import io.leaderelection.schedule.JobRecord.Run;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;

import org.springframework.core.log.LogMessage;

/**
 * A run of a job outside the transaction of its claim, to be ended on any thread.
 *
 * @param job the job
 * @param leadership the leadership of the work
 * @param after the last fire when it was claimed
 * @param due what is due
 * @param fireTime the fire
 * @param started when it began
 */
record ClaimedRun(DurableJob job, Leadership leadership, Instant after, DueFires due, FireTime fireTime,
		Instant started) implements Advice.Run {

	private static final Log logger = LogFactory.getLog(DurableSchedule.class);

	/**
	 * Call the method. If it returns a stage, the work continues until the end of the run
	 * has been recorded.
	 */
	@Nullable Object call(Work work, Invocation invocation) throws Throwable {
		Object result;
		try {
			result = invoke(invocation);
		}
		catch (Throwable ex) {
			endQuietly(ex);
			throw ex;
		}
		if (result instanceof CompletionStage<?> stage) {
			work.continueUntil(stage, this::endQuietly);
		}
		else {
			end(null);
		}
		return result;
	}

	/**
	 * Return whether it is the last run of a record, with the given outcome.
	 */
	boolean isRecorded(JobRecord record, String outcome) {
		Run last = record.last();
		return last != null && outcome.equals(last.outcome()) && this.started.equals(last.started())
				&& this.leadership.getTerm().toString().equals(last.term());
	}

	/**
	 * Return this run, which begins later than it was claimed.
	 */
	ClaimedRun late() {
		return new ClaimedRun(this.job, this.leadership, this.after, this.due,
				new FireTime(this.fireTime.getNominalTime(), true, this.fireTime.getMissed()), this.started);
	}

	@Override
	public Map<?, ?> context() {
		return Map.of(FireTime.class, this.fireTime);
	}

	/**
	 * Call a part of the method that may ask for its {@link FireTime}.
	 */
	@Override
	public @Nullable Object invoke(Invocation invocation) throws Throwable {
		FireTime previous = FireTime.bind(this.fireTime);
		try {
			return invocation.proceed();
		}
		finally {
			FireTime.bind(previous);
		}
	}

	@Override
	public void end(@Nullable Throwable failure) throws Throwable {
		this.job.end(this, failure);
	}

	private void endQuietly(@Nullable Throwable failure) {
		try {
			end(failure);
		}
		catch (Throwable ex) {
			logger.warn(LogMessage.format("The end of a run of %s could not be recorded", this.job), ex);
		}
	}

}
