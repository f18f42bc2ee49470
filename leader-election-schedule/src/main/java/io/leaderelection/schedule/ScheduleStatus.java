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

import org.jspecify.annotations.Nullable;

/**
 * A durable job as a node knows it. Internal.
 *
 * @param cron the cron expressions
 * @param zone their time zones
 * @param lastFire the last fire that is done, if this node leads
 * @param nextFire the next nominal fire
 * @param outcome the outcome of the last run, if this node leads
 * @param lag how long the oldest fire has been due, or negative if the last fire is
 * further ahead than the next one, if this node leads
 * @param completed the number of runs of this node that completed
 * @param failed the number of runs of this node that failed
 * @param missed the number of fires that did not run
 * @param caughtUp the number of runs that caught up
 */
public record ScheduleStatus(String cron, String zone, @Nullable Instant lastFire, @Nullable Instant nextFire,
		@Nullable String outcome, @Nullable Duration lag, long completed, long failed, long missed, long caughtUp) {

}
