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

import org.jspecify.annotations.Nullable;

/**
 * Published as an application event when a run of a
 * {@link DurableSchedule @DurableSchedule} method has ended and its outcome is known, on
 * the thread on which it ended. A listener that fails does not affect the job.
 *
 * @param election the name of the election
 * @param schedule the name of the job
 * @param fireTime the fire
 * @param failure why the run or its commit failed, or {@code null} if it has completed
 * @since 0.1.0
 */
public record FireEndedEvent(String election, String schedule, FireTime fireTime, @Nullable Throwable failure) {

}
