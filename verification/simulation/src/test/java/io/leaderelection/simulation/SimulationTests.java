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

package io.leaderelection.simulation;

import java.time.Duration;

import io.leaderelection.simulation.Simulation.Result;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Histories of the real engine in virtual time, with random faults: for half a minute, or
 * for as long as {@code -Dsimulation.duration} says, from a new seed each time, of each
 * store or of that of {@code -Dsimulation.store}. {@code -Dsimulation.seed} runs one
 * history and records it.
 */
@Tag("ring2")
class SimulationTests {

	private static final Duration DURATION = Duration.parse(System.getProperty("simulation.duration", "PT15S"));

	private static final Long SEED = Long.getLong("simulation.seed");

	@ParameterizedTest
	@MethodSource("io.leaderelection.simulation.Store#chosen")
	void sameSeedHasSameHistory(Store store) {
		Simulation simulation = new Simulation(store, Sentinel.NONE);
		for (long seed = 1; seed <= 20; seed++) {
			Result first = simulation.record(seed);
			Result second = new Simulation(store, Sentinel.NONE).record(seed);
			assertThat(second.lines()).isNotEmpty().isEqualTo(first.lines());
			assertThat(second.steps()).isEqualTo(first.steps());
			assertThat(simulation.run(seed).steps()).isEqualTo(first.steps());
		}
	}

	@ParameterizedTest
	@MethodSource("io.leaderelection.simulation.Store#chosen")
	void guaranteesHold(Store store) {
		if (SEED == null) {
			Histories.assertGuaranteesHold(store, DURATION, System.currentTimeMillis() * 1_000_000);
			return;
		}
		Result recorded = new Simulation(store, Sentinel.NONE).record(SEED);
		System.out.println(String.join("\n", recorded.lines()));
		assertThat(recorded.violation()).isNull();
	}

}
