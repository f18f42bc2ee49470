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

package io.leaderelection.test;

import java.time.Duration;
import java.time.Instant;
import java.util.List;

/**
 * Controls the fires of {@code @DurableSchedule} methods in tests. A bean of this type
 * exists in tests with {@link AutoConfigureTestLeadership @AutoConfigureTestLeadership}.
 * <p>
 * The clock determines which fires are due. It does not call the methods: a test calls
 * them through their beans, as the task scheduler does. The record of fires is kept in
 * memory. Before each test method of an annotated class, it is removed, and the clock is
 * that of the system again.
 *
 * @since 0.1.0
 */
public interface TestSchedules {

	/**
	 * Set the clock, and have all jobs begin at its time: no earlier fire is due. From
	 * then on, no job is submitted to the task scheduler on grant.
	 * @param time the time
	 */
	void startAt(Instant time);

	/**
	 * Set the clock.
	 * @param time the time
	 */
	void setTime(Instant time);

	/**
	 * Set the clock to a later time. The clock stops at this time.
	 * @param duration the duration to be added to its time
	 * @throws IllegalArgumentException if there is no such time
	 */
	void advance(Duration duration);

	/**
	 * Return the nominal times of the runs of a job that have completed.
	 * @param job the name of the job: that of {@code @DurableSchedule}, or the name of
	 * the class and the method ({@code com.example.Invoices.send})
	 * @return the nominal times in the order of the runs
	 * @throws IllegalArgumentException if there is no job of that name
	 */
	List<Instant> getFires(String job);

	/**
	 * Remove the record of all fires, and use the clock of the system. Called before each
	 * test method of a class that is annotated with
	 * {@link AutoConfigureTestLeadership @AutoConfigureTestLeadership}.
	 */
	void reset();

}
