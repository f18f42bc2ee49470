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

import org.jspecify.annotations.Nullable;

/**
 * What is recorded about a job.
 *
 * @param lastFire the last fire that is done, or when the job began
 * @param cron the cron expressions
 * @param zone their time zones
 * @param last the last run, if there was one
 */
record JobRecord(Instant lastFire, String cron, String zone, @Nullable Run last) {

	boolean hasSchedule(JobRecord other) {
		return this.cron.equals(other.cron) && this.zone.equals(other.zone);
	}

	JobRecord withLastFire(Instant time) {
		return new JobRecord(time, this.cron, this.zone, this.last);
	}

	JobRecord withRun(@Nullable Run run) {
		return new JobRecord(this.lastFire, this.cron, this.zone, run);
	}

	/**
	 * A run of a job.
	 *
	 * @param term the term of the leader
	 * @param node the leader
	 * @param started when it began
	 * @param finished when it ended, if it has
	 * @param outcome how it ended
	 */
	record Run(@Nullable String term, @Nullable String node, @Nullable Instant started, @Nullable Instant finished,
			@Nullable String outcome) {

	}

}
