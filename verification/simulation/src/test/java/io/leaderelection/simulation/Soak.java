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

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Histories on all processors for as long as {@code -Dsimulation.duration=PT2H} says, of
 * each store or of that of {@code -Dsimulation.store=table}.
 */
class Soak {

	private static final Duration DURATION = Duration.parse(System.getProperty("simulation.duration", "PT20M"));

	@ParameterizedTest
	@MethodSource("io.leaderelection.simulation.Store#chosen")
	void guaranteesHold(Store store) {
		Histories.assertGuaranteesHold(store, DURATION,
				Long.getLong("simulation.seed", System.currentTimeMillis() * 1_000_000));
	}

}
