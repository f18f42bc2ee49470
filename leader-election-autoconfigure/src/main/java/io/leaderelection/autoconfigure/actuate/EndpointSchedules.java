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

package io.leaderelection.autoconfigure.actuate;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.stream.Stream;

import io.leaderelection.autoconfigure.actuate.LeadershipEndpoint.ScheduleAction;
import io.leaderelection.autoconfigure.actuate.LeadershipEndpoint.ScheduleDescriptor;
import io.leaderelection.schedule.DurableJob;
import io.leaderelection.schedule.DurableSchedules;
import io.leaderelection.schedule.ScheduleStatus;
import org.jspecify.annotations.Nullable;

/**
 * The durable schedules as the endpoint shows them.
 *
 * @param schedules the durable schedules
 */
record EndpointSchedules(DurableSchedules schedules) implements LeadershipEndpoint.Schedules {

	@Override
	public Map<String, ScheduleDescriptor> describe(String election) {
		Map<String, ScheduleDescriptor> descriptors = new LinkedHashMap<>();
		jobs(election).forEach((job) -> descriptors.put(job.name(), describe(job.status())));
		return descriptors;
	}

	@Override
	public @Nullable String request(String election, String schedule, ScheduleAction action) throws Throwable {
		DurableJob job = jobs(election).filter((other) -> other.name().equals(schedule)).findFirst().orElseThrow();
		return job.request(action == ScheduleAction.SKIP);
	}

	private Stream<DurableJob> jobs(String election) {
		return this.schedules.jobs().stream().filter((job) -> job.election().equals(election));
	}

	private static ScheduleDescriptor describe(ScheduleStatus status) {
		return new ScheduleDescriptor(status.cron(), status.zone(), status.lastFire(), status.nextFire(),
				status.outcome(), status.lag(), status.completed(), status.failed(), status.missed(),
				status.caughtUp());
	}

}
