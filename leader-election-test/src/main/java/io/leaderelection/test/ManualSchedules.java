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

import java.time.Clock;
import java.time.DateTimeException;
import java.time.Duration;
import java.time.Instant;
import java.time.ZoneOffset;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;

import io.leaderelection.schedule.DurableJob;
import io.leaderelection.schedule.DurableSchedules;

/**
 * {@link TestSchedules} on the durable schedules of an application.
 */
final class ManualSchedules implements TestSchedules {

	private final DurableSchedules schedules;

	private final Map<String, List<Instant>> fires = new ConcurrentHashMap<>();

	private volatile Clock clock = Clock.systemUTC();

	/**
	 * Create a new {@code ManualSchedules} instance.
	 * @param schedules the durable schedules
	 */
	ManualSchedules(DurableSchedules schedules) {
		this.schedules = schedules;
		schedules.onFire((event) -> {
			if (event.failure() == null) {
				fires(event.schedule()).add(event.fireTime().getNominalTime());
			}
		});
	}

	private List<Instant> fires(String job) {
		return this.fires.computeIfAbsent(job, (name) -> new CopyOnWriteArrayList<>());
	}

	@Override
	public void startAt(Instant time) {
		this.clock = Clock.fixed(time, ZoneOffset.UTC);
		this.schedules.begin(this.clock);
		this.fires.clear();
	}

	@Override
	public void setTime(Instant time) {
		this.clock = Clock.fixed(time, ZoneOffset.UTC);
		this.schedules.setClock(this.clock);
	}

	@Override
	public void advance(Duration duration) {
		try {
			setTime(this.clock.instant().plus(duration));
		}
		catch (DateTimeException | ArithmeticException ex) {
			throw new IllegalArgumentException("The clock cannot be advanced by " + duration, ex);
		}
	}

	@Override
	public List<Instant> getFires(String job) {
		if (this.schedules.jobs().stream().noneMatch((candidate) -> candidate.name().equals(job))) {
			throw new IllegalArgumentException("There is no durable schedule '" + job + "', but: "
					+ this.schedules.jobs().stream().map(DurableJob::name).sorted().toList());
		}
		return List.copyOf(fires(job));
	}

	@Override
	public void reset() {
		this.clock = Clock.systemUTC();
		this.schedules.begin(null);
		this.fires.clear();
	}

}
