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

package io.leaderelection.model;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Somebody leads.
 */
@Tag("ring2")
class LivenessModelTests {

	@Test
	void holds() {
		Instance instance = Instance.LIVENESS.with("Work", "FALSE");
		assertThat(ModelChecker.check("liveness", instance)).matches(ModelChecker.Outcome::holds);
	}

	@Test
	@Tag("ring3")
	void holdsWithWork() {
		assertThat(ModelChecker.check("liveness-work", Instance.LIVENESS)).matches(ModelChecker.Outcome::holds);
	}

	@Test
	void holdsIfTheCauseDecides() {
		assertThat(ModelChecker.check("liveness-cause", Instance.LIVENESS_WITH_CAUSE))
			.matches(ModelChecker.Outcome::holds);
	}

	@Test
	void holdsWithSeats() {
		assertThat(ModelChecker.check("seats", Instance.SEATS)).matches(ModelChecker.Outcome::holds);
	}

	@Test
	@Tag("ring3")
	void holdsWithMoreFaults() {
		Instance instance = Instance.LIVENESS.with("MaxTerm", "3").with("MaxFaults", "2").with("Work", "FALSE");
		assertThat(ModelChecker.check("liveness-2-faults", instance, 2)).matches(ModelChecker.Outcome::holds);
	}

	@Test
	@Tag("ring3")
	void holdsWithMoreSeats() {
		Instance instance = Instance.SEATS.nodes(4).with("Standbys", "2").with("MaxFaults", "2");
		assertThat(ModelChecker.check("seats-4-nodes", instance, 2)).matches(ModelChecker.Outcome::holds);
	}

}
