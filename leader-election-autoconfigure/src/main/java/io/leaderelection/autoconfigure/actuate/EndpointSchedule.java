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

import io.leaderelection.autoconfigure.actuate.LeadershipEndpoint.ScheduleAction;
import io.leaderelection.autoconfigure.actuate.LeadershipEndpoint.ScheduleDescriptor;
import io.leaderelection.schedule.DurableJob;
import io.leaderelection.schedule.DurableJob.Status;
import io.leaderelection.schedule.DurableSchedules;
import org.jspecify.annotations.Nullable;

/**
 * A durable schedule as the endpoint shows it.
 *
 * @param job the job
 */
record EndpointSchedule(DurableJob job) implements LeadershipEndpoint.Schedule {

	static Map<String, LeadershipEndpoint.Schedule> of(DurableSchedules schedules, String election) {
		Map<String, LeadershipEndpoint.Schedule> found = new LinkedHashMap<>();
		for (DurableJob job : schedules.jobs()) {
			if (job.election().equals(election)) {
				found.put(job.name(), new EndpointSchedule(job));
			}
		}
		return found;
	}

	@Override
	public ScheduleDescriptor describe() {
		Status status = this.job.status();
		return new ScheduleDescriptor(status.cron(), status.zone(), status.lastFire(), status.nextFire(),
				status.outcome(), status.lag(), status.completed(), status.failed(), status.missed(),
				status.caughtUp());
	}

	@Override
	public @Nullable String request(ScheduleAction action) throws Throwable {
		return this.job.request(action == ScheduleAction.SKIP);
	}

}
