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
import java.util.concurrent.atomic.LongAdder;

import io.leaderelection.Leadership;
import io.leaderelection.schedule.DurableJob.Status;
import io.leaderelection.schedule.JobRecord.Run;
import org.jspecify.annotations.Nullable;

/**
 * What this node knows about the runs of a job.
 */
final class JobHistory {

	private final LongAdder completed = new LongAdder();

	private final LongAdder failed = new LongAdder();

	private final LongAdder missed = new LongAdder();

	private final LongAdder caughtUp = new LongAdder();

	private volatile @Nullable Observed observed;

	void observed(Leadership leadership, @Nullable JobRecord record) {
		if (record != null && leadership.isCurrent()) {
			this.observed = new Observed(leadership, record);
		}
	}

	/**
	 * Return the record as it was at last.
	 * @param leadership the current term
	 * @return the record, or {@code null} if it is not known in this term
	 */
	@Nullable JobRecord record(Leadership leadership) {
		Observed last = this.observed;
		return (last != null && last.leadership() == leadership) ? last.record() : null;
	}

	void forget() {
		this.observed = null;
	}

	void completed(ClaimedRun run) {
		this.completed.increment();
		missed(run.due().missed());
		if (run.fireTime().isCatchUp()) {
			this.caughtUp.increment();
		}
	}

	void failed() {
		this.failed.increment();
	}

	void missed(int fires) {
		this.missed.add(fires);
	}

	/**
	 * Return the status of the job.
	 * @param times its fires
	 * @param now the current time
	 * @param granted when leadership was granted, if this node leads
	 */
	Status status(FireTimes times, Instant now, @Nullable Instant granted) {
		Observed last = this.observed;
		JobRecord record = (last != null && last.leadership().isCurrent()) ? last.record() : null;
		Run run = (record != null) ? record.last() : null;
		Instant lastFire = (record != null) ? record.lastFire() : null;
		return new Status(times.expression(), times.zone(), lastFire,
				times.next((lastFire != null && lastFire.isAfter(now)) ? lastFire : now),
				(run != null) ? run.outcome() : null,
				(record != null && record.isAhead(times, now)) ? Duration.between(record.lastFire(), now)
						: lag(times, (lastFire != null) ? lastFire : granted, now),
				this.completed.sum(), this.failed.sum(), this.missed.sum(), this.caughtUp.sum());
	}

	private static @Nullable Duration lag(FireTimes times, @Nullable Instant since, Instant now) {
		if (since == null) {
			return null;
		}
		Instant due = times.next(since);
		return (due != null && due.isBefore(now)) ? Duration.between(due, now) : Duration.ZERO;
	}

	/**
	 * The record as it was in a term of this node.
	 */
	private record Observed(Leadership leadership, JobRecord record) {

	}

}
