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

import java.time.DateTimeException;
import java.time.Duration;
import java.time.ZoneId;
import java.util.ArrayList;
import java.util.List;

import io.leaderelection.annotation.InvalidUsageException;
import io.leaderelection.schedule.DueFires.Misfire;
import io.leaderelection.schedule.FireTimes.Cron;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;

import org.springframework.format.datetime.standard.DurationFormatterUtils;
import org.springframework.scheduling.annotation.Scheduled;
import org.springframework.scheduling.support.CronExpression;
import org.springframework.util.StringUtils;

/**
 * The attributes of the annotations of a job, with placeholders resolved.
 *
 * @param name the name of the job
 * @param times its fires
 * @param misfire what happens to missed fires
 * @param scheduler the name of the scheduler of {@code @Scheduled}
 */
record JobDefinition(String name, FireTimes times, Misfire misfire, @Nullable String scheduler) {

	/** The length of a name that can be recorded. */
	static final int LONGEST_NAME = 255;

	/**
	 * Return the definition of a job.
	 * @throws InvalidUsageException if an attribute is not valid
	 */
	static JobDefinition of(DurableJob job, DurableSchedules schedules) {
		return new Reader(job, schedules).read();
	}

	/**
	 * Reads the attributes of a job.
	 */
	private record Reader(DurableJob job, DurableSchedules schedules) {

		private static final Log logger = LogFactory.getLog(DurableSchedule.class);

		private static final Duration ON_TIME = Duration.ofMinutes(1);

		JobDefinition read() {
			DurableSchedule annotation = this.job.annotation();
			List<Cron> crons = new ArrayList<>();
			String scheduler = "";
			for (Scheduled scheduled : DurableScheduleAdvisor.schedules(this.job.method())) {
				Cron cron = cron(scheduled);
				if (cron != null) {
					crons.add(cron);
				}
				scheduler = StringUtils.hasText(scheduled.scheduler()) ? scheduled.scheduler() : scheduler;
			}
			return new JobDefinition(name(annotation), new FireTimes(crons),
					new Misfire(annotation.misfire(), within(annotation), annotation.limit()),
					scheduler.isEmpty() ? null : resolve("scheduler", scheduler));
		}

		private String name(DurableSchedule annotation) {
			String name = resolve("name", annotation.name());
			if (name.isEmpty()) {
				name = this.job.type().getName() + "." + this.job.method().getName();
			}
			if (name.length() > LONGEST_NAME) {
				throw invalid("the name '" + name + "', which is longer than " + LONGEST_NAME + " characters",
						"Set a shorter name.");
			}
			return name;
		}

		private @Nullable Cron cron(Scheduled scheduled) {
			String expression = resolve("cron", scheduled.cron());
			if (expression.equals(Scheduled.CRON_DISABLED)) {
				return null;
			}
			String zone = resolve("zone", scheduled.zone());
			String reason = "a cron expression '" + expression + "', which never fires";
			try {
				Cron cron = new Cron(CronExpression.parse(expression), StringUtils.hasText(zone)
						? StringUtils.parseTimeZoneString(zone).toZoneId() : ZoneId.systemDefault());
				if (cron.next(this.schedules.now()) != null) {
					return cron;
				}
			}
			catch (IllegalArgumentException | DateTimeException ex) {
				reason = "a cron expression that is not valid: " + ex.getMessage();
			}
			throw invalid(reason, "Correct the attribute 'cron' or 'zone' of @Scheduled.");
		}

		private @Nullable Duration within(DurableSchedule annotation) {
			String within = resolve("within", annotation.within());
			if (within.isEmpty()) {
				return (annotation.misfire() == MisfirePolicy.ON_TIME) ? ON_TIME : this.schedules.within();
			}
			try {
				Duration duration = DurationFormatterUtils.detectAndParse(within);
				if (!duration.isZero() && !duration.isNegative()) {
					return duration;
				}
			}
			catch (IllegalArgumentException ex) {
				logger.debug("Not a duration: " + within, ex);
			}
			throw invalid("within = \"" + within + "\", which is not a positive duration",
					"Set a duration, for instance PT6H or 6h.");
		}

		private String resolve(String attribute, String value) {
			try {
				String resolved = this.schedules.resolve(value);
				return (resolved != null) ? resolved.trim() : "";
			}
			catch (RuntimeException ex) {
				throw invalid(attribute + " = \"" + value + "\", which cannot be resolved: " + ex.getMessage(),
						"Set the property that the placeholder names, or give the placeholder a default.");
			}
		}

		private InvalidUsageException invalid(String reason, String action) {
			return new InvalidUsageException(this.job + " has a durable schedule with " + reason + ".", action);
		}

	}

}
