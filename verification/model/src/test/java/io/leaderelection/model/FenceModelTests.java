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
 * Fence, terms and hand-over, with everything at any time.
 */
@Tag("ring2")
class FenceModelTests {

	@Test
	void holds() {
		Instance instance = Instance.FENCE.with("MaxTerm", "2");
		assertThat(ModelChecker.check("fence", instance)).matches(ModelChecker.Outcome::holds);
	}

	@Test
	@Tag("ring3")
	void holdsWithThreeTerms() {
		assertThat(ModelChecker.check("fence-3-terms", Instance.FENCE, 2)).matches(ModelChecker.Outcome::holds);
	}

	@Test
	void holdsWithLateWork() {
		assertThat(ModelChecker.check("hand-over", Instance.HAND_OVER)).matches(ModelChecker.Outcome::holds);
	}

	@Test
	@Tag("ring3")
	void holdsWithLateWorkOfTwoNodes() {
		Instance instance = Instance.HAND_OVER.nodes(2).with("MaxTerm", "2");
		assertThat(ModelChecker.check("hand-over-2-nodes", instance, 2)).matches(ModelChecker.Outcome::holds);
	}

}
