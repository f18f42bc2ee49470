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

package io.leaderelection.integration;

import java.time.Instant;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;

import io.leaderelection.schedule.Claim;
import io.leaderelection.schedule.FireTime;
import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.MeterRegistry;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

/**
 * Compares each counter with what has really run.
 */
@Tag("ring1")
class CountersTests extends AbstractDurableScheduleTests {

	private static final int NOMINAL_FIRES = 6;

	@ParameterizedTest
	@EnumSource(Claim.class)
	void countersOfADurableScheduleAreThoseOfItsRuns(Claim claim) {
		LocalNode node = start(job(claim)).awaitLeader();
		List<FireTime> begun = new CopyOnWriteArrayList<>();
		List<FireTime> completed = new CopyOnWriteArrayList<>();
		List<Instant> failing = new CopyOnWriteArrayList<>();
		hooks.add((fire) -> {
			begun.add(FireTime.current());
			if (failing.remove(fire)) {
				throw new IllegalStateException("as requested");
			}
			completed.add(FireTime.current());
		});
		int calls = 0;
		run(node);
		calls++;
		for (int day : new int[] { 2, 5, 6, 7 }) {
			clock.set("2026-05-0" + day + "T02:00:01Z");
			if (day == 6) {
				failing.add(Instant.parse("2026-05-06T02:00:00Z"));
				assertThatIllegalStateException().isThrownBy(() -> run(node));
				calls++;
			}
			run(node);
			run(node);
			calls += 2;
		}
		long fires = begun.stream().map(FireTime::getNominalTime).distinct().count();
		assertThat(begun).hasSize((claim == Claim.BEFORE) ? 4 : 5);
		assertThat(count(node, "invocations", "outcome", "run")).as("run").isEqualTo(begun.size());
		assertThat(count(node, "invocations", "outcome", "skipped")).as("skipped").isEqualTo(calls - begun.size());
		assertThat(count(node, "invocations", "outcome", "rejected")).isZero();
		assertThat(count(node, "invocations", "outcome", "interrupted")).isZero();
		assertThat(count(node, "schedule.runs", "outcome", "completed")).as("completed").isEqualTo(completed.size());
		assertThat(count(node, "schedule.runs", "outcome", "failed")).as("failed")
			.isEqualTo(begun.size() - completed.size());
		assertThat(count(node, "schedule.fires", "outcome", "missed")).as("missed").isEqualTo(NOMINAL_FIRES - fires);
		assertThat(count(node, "schedule.fires", "outcome", "caught_up")).as("caught up")
			.isEqualTo(completed.stream().filter(FireTime::isCatchUp).count());
	}

	private static long count(LocalNode node, String name, String tag, String value) {
		return (long) node.bean(MeterRegistry.class)
			.find("leader.election." + name)
			.tag(tag, value)
			.functionCounters()
			.stream()
			.mapToDouble(FunctionCounter::count)
			.sum();
	}

}
