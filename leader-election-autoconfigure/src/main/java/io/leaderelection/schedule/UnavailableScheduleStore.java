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

import java.util.Collection;

import io.leaderelection.Leadership;
import org.jspecify.annotations.Nullable;

/**
 * {@link ScheduleStore} of an application that cannot record fires. Internal.
 */
public final class UnavailableScheduleStore extends ScheduleStore {

	@Override
	void check(Collection<DurableJob> jobs) {
		throw invalid(jobs.iterator().next());
	}

	@Override
	<T extends @Nullable Object> T execute(DurableJob job, Leadership leadership, boolean own, Operation<T> operation) {
		throw invalid(job);
	}

	private static InvalidDurableScheduleException invalid(DurableJob job) {
		return new InvalidDurableScheduleException(job
				+ " has a durable schedule, but Spring's support for JDBC transactions is missing, in which fires are claimed.",
				"Add the dependency org.springframework.boot:spring-boot-starter-jdbc.");
	}

}
