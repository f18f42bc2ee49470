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
import java.time.ZoneId;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

import io.leaderelection.schedule.FireTimes.Cron;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;

import org.springframework.scheduling.annotation.Scheduled;
import org.springframework.scheduling.support.CronExpression;

/**
 * What is recorded about a job.
 *
 * @param lastFire the last fire that is done, or when the job began
 * @param cron the cron expressions
 * @param zone their time zones
 * @param last the last run, if there was one
 */
record JobRecord(Instant lastFire, String cron, String zone, @Nullable Run last) {

	private static final Log logger = LogFactory.getLog(DurableSchedule.class);

	/**
	 * Return whether the fires of the schedules are the same, whatever their text.
	 */
	boolean hasSchedule(JobRecord other) {
		return (this.cron.equals(other.cron) && this.zone.equals(other.zone)) || rules().equals(other.rules());
	}

	private Set<Object> rules() {
		return times().crons()
			.stream()
			.map((cron) -> List.of(cron.expression(), cron.zone().getRules()))
			.collect(Collectors.toSet());
	}

	/**
	 * Return the fires of the schedule, none if it is disabled or cannot be read.
	 */
	FireTimes times() {
		String[] crons = this.cron.split(" \\| ");
		String[] zones = this.zone.split(" \\| ");
		try {
			return new FireTimes(IntStream.range(0, crons.length)
				.filter((i) -> !crons[i].equals(Scheduled.CRON_DISABLED))
				.mapToObj((i) -> new Cron(CronExpression.parse(crons[i]), ZoneId.of(zones[i])))
				.toList());
		}
		catch (RuntimeException ex) {
			logger.debug("Not a schedule: " + this, ex);
			return new FireTimes(List.of());
		}
	}

	/**
	 * Return whether more than the next fire counts as done, as by a clock that was
	 * ahead.
	 */
	boolean isAhead(FireTimes times, Instant now) {
		Instant next = times.next(now);
		return next != null && this.lastFire.isAfter(next);
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
