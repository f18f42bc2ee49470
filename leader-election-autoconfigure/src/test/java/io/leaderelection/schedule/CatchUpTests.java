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
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ScheduledFuture;

import io.leaderelection.Leadership;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

import org.springframework.beans.factory.support.DefaultListableBeanFactory;
import org.springframework.scheduling.TaskScheduler;
import org.springframework.scheduling.annotation.Scheduled;
import org.springframework.scheduling.config.ScheduledTaskRegistrar;

import static org.assertj.core.api.Assertions.assertThat;
import static org.mockito.ArgumentMatchers.any;
import static org.mockito.BDDMockito.given;
import static org.mockito.BDDMockito.then;
import static org.mockito.Mockito.mock;

/**
 * Tests for {@link CatchUp}.
 */
@Tag("ring1")
class CatchUpTests {

	private static final Instant FIRE = Instant.parse("2026-05-02T02:00:00Z");

	private final TestClock clock = new TestClock("2026-05-02T02:00:00Z");

	private final Leadership leadership = mock();

	private final List<Runnable> tasks = new ArrayList<>();

	private final List<Duration> delays = new ArrayList<>();

	private final List<ScheduledFuture<?>> pending = new ArrayList<>();

	private final CatchUp catchUp;

	CatchUpTests() throws Exception {
		DurableSchedules schedules = DurableSchedules.inMemory(new DefaultListableBeanFactory());
		schedules.setClock(this.clock);
		TaskScheduler scheduler = mock();
		given(scheduler.getClock()).willReturn(this.clock);
		given(scheduler.schedule(any(Runnable.class), any(Instant.class))).will((call) -> {
			this.tasks.add(call.getArgument(0));
			this.delays.add(Duration.between(this.clock.instant(), call.getArgument(1)));
			ScheduledFuture<?> future = mock();
			this.pending.add(future);
			return future;
		});
		ScheduledTaskRegistrar registrar = new ScheduledTaskRegistrar();
		registrar.setTaskScheduler(scheduler);
		schedules.configureTasks(registrar);
		given(this.leadership.isCurrent()).willReturn(true);
		this.catchUp = new CatchUp(schedules,
				schedules.find(Job.class.getDeclaredMethod("run"), Job.class, "Method 'run'"));
		this.catchUp.granted(this.leadership, () -> {
		});
	}

	private void runNext() {
		this.tasks.remove(0).run();
	}

	@Test
	void runThatAlwaysEndsItsSessionIsNotRepeatedForEver() {
		for (int i = 0; i < 5; i++) {
			this.catchUp.repeat(this.leadership, FIRE);
			runNext();
		}
		assertThat(this.delays).map(Duration::toSeconds).containsExactly(1L, 2L, 4L, 8L, 16L);
		this.catchUp.repeat(this.leadership, FIRE);
		assertThat(this.tasks).isEmpty();
		this.catchUp.repeat(this.leadership, FIRE.plusSeconds(1));
		assertThat(this.tasks).as("another fire").hasSize(1);
		assertThat(this.delays).last().isEqualTo(Duration.ofSeconds(1));
	}

	@Test
	void claimIsRepeatedWithoutALimit() {
		for (int i = 0; i < 10; i++) {
			this.catchUp.retry(this.leadership);
			runNext();
		}
		assertThat(this.delays).map(Duration::toSeconds).endsWith(60L, 60L);
		this.catchUp.granted(this.leadership, () -> {
		});
		this.catchUp.retry(this.leadership);
		runNext();
		assertThat(this.delays).last().isEqualTo(Duration.ofSeconds(1));
		this.catchUp.retry(this.leadership);
		runNext();
		this.catchUp.succeeded();
		this.catchUp.retry(this.leadership);
		assertThat(this.delays).last().isEqualTo(Duration.ofSeconds(1));
	}

	@Test
	void runIsNotSubmittedIfAnEarlierOneIsPending() {
		this.catchUp.submit(FIRE.plusSeconds(3600));
		this.catchUp.submit(FIRE.plusSeconds(7200));
		assertThat(this.delays).containsExactly(Duration.ofHours(1));
		this.catchUp.submit(FIRE.plusSeconds(60));
		assertThat(this.delays).containsExactly(Duration.ofHours(1), Duration.ofMinutes(1));
		then(this.pending.get(0)).should().cancel(false);
		this.catchUp.cancel();
		then(this.pending.get(1)).should().cancel(false);
	}

	static class Job {

		@DurableSchedule
		@Scheduled(cron = "0 0 2 * * *", zone = "UTC")
		void run() {
		}

	}

}
