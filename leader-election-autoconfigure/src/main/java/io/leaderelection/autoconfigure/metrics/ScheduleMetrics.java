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

package io.leaderelection.autoconfigure.metrics;

import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.function.ToLongFunction;

import io.leaderelection.schedule.DurableJob;
import io.leaderelection.schedule.DurableJob.Status;
import io.leaderelection.schedule.DurableSchedules;
import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.binder.MeterBinder;

/**
 * {@link MeterBinder} for the durable schedules of this node. All meters have the tags
 * {@code election} and {@code schedule}.
 */
class ScheduleMetrics implements MeterBinder {

	private static final String PREFIX = "leader.election.schedule.";

	private final DurableSchedules schedules;

	/**
	 * Create a new {@code ScheduleMetrics} instance.
	 * @param schedules the durable schedules
	 */
	ScheduleMetrics(DurableSchedules schedules) {
		this.schedules = schedules;
	}

	@Override
	public void bindTo(MeterRegistry registry) {
		this.schedules.onJob((job) -> bind(registry, job));
	}

	private static void bind(MeterRegistry registry, DurableJob job) {
		Gauge.builder(PREFIX + "lag", job, ScheduleMetrics::lag)
			.tags("election", job.election(), "schedule", job.name())
			.baseUnit("seconds")
			.description(
					"Time for which the oldest fire has been due; NaN while this node does not lead, negative if the last fire is ahead")
			.register(registry);
		counter(registry, job, "runs", "completed", "Runs by outcome", Status::completed);
		counter(registry, job, "runs", "failed", "Runs by outcome", Status::failed);
		counter(registry, job, "fires", "missed", "Fires that did not run, and those that a later run caught up",
				Status::missed);
		counter(registry, job, "fires", "caught_up", "Fires that did not run, and those that a later run caught up",
				Status::caughtUp);
	}

	private static void counter(MeterRegistry registry, DurableJob job, String name, String outcome, String description,
			ToLongFunction<Status> value) {
		FunctionCounter.builder(PREFIX + name, job, (current) -> value.applyAsLong(current.status()))
			.tags("election", job.election(), "schedule", job.name(), "outcome", outcome)
			.description(description)
			.register(registry);
	}

	private static double lag(DurableJob job) {
		Duration lag = job.status().lag();
		return (lag != null) ? lag.toNanos() / (double) TimeUnit.SECONDS.toNanos(1) : Double.NaN;
	}

}
