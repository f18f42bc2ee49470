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

import java.util.stream.Stream;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * One leader at a time, with leases and delays.
 */
@Tag("ring2")
class LeaseModelTests {

	@Test
	void holds() {
		assertThat(ModelChecker.check("lease", Instance.LEASE)).matches(ModelChecker.Outcome::holds);
	}

	/**
	 * The takeover delay and the condition on nodes are for sessions that the server
	 * ends, and only for these.
	 */
	@Test
	void holdsWithoutDelayIfTheServerEndsSilentSessionsOnly() {
		assertThat(ModelChecker.check("silence", Instance.SILENCE)).matches(ModelChecker.Outcome::holds);
	}

	@Test
	void holdsWithoutConditionIfTheDelayIsTheLease() {
		Instance instance = Instance.LEASE.with("Delay", "2").with("PromptNotice", "FALSE");
		assertThat(ModelChecker.check("delay-of-a-lease", instance)).matches(ModelChecker.Outcome::holds);
	}

	@Test
	@Tag("ring3")
	void holdsIfTheCauseDecides() {
		assertThat(ModelChecker.check("cause", Instance.CAUSE)).matches(ModelChecker.Outcome::holds);
	}

	/**
	 * A confirmation is trusted for longer than the takeover delay here, so that it may
	 * also begin before the delay is over.
	 */
	@Test
	@Tag("ring3")
	void holdsIfTheCauseDecidesAndNodesResignAndReturn() {
		Instance instance = Instance.CAUSE.nodes(2).with("HandOver", "TRUE").with("Reopen", "TRUE").with("Trust", "2");
		assertThat(ModelChecker.check("cause-2-nodes", instance)).matches(ModelChecker.Outcome::holds);
	}

	/**
	 * Everything at once: a crash of the server, clocks and work.
	 */
	@Test
	@Tag("ring3")
	void holdsWithWorkAndCrash() {
		Instance instance = new Instance("Election", 2, Instance.LEASE.constants(),
				Stream.concat(Instance.LEASE.invariants().stream(), Instance.FENCE.invariants().stream())
					.distinct()
					.toList(),
				Instance.LEASE.property())
			.with("Work", "TRUE")
			.with("MaxCrashes", "1")
			.with("MaxTerm", "2");
		assertThat(ModelChecker.check("all", instance, 2)).matches(ModelChecker.Outcome::holds);
	}

}
