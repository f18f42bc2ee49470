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

import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * The largest instances that were checked to their end.
 */
class Soak {

	@Test
	void fenceHoldsWithThreeNodes() {
		check("fence-3-nodes", Instance.FENCE.nodes(3).with("MaxTerm", "2"));
	}

	@Test
	void leaseHoldsWithThreeNodesAndThreeTerms() {
		Stream.of(Instance.LEASE, Instance.LEASE.with("Delay", "2").with("PromptNotice", "FALSE"))
			.map((instance) -> instance.nodes(3))
			.forEach((instance) -> check("lease-3-nodes-delay-" + instance.constants().get("Delay"), instance));
	}

	@Test
	void leaseHoldsIfTheCauseDecidesAmongThreeNodes() {
		check("cause-3-nodes", Instance.CAUSE.with("HandOver", "TRUE"));
	}

	private static void check(String name, Instance instance) {
		assertThat(ModelChecker.check(name, instance, 2)).matches(ModelChecker.Outcome::holds);
	}

}
