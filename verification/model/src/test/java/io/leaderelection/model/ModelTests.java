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
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * The guarantees hold in all states of all instances.
 */
@Tag("ring2")
class ModelTests {

	@ParameterizedTest
	@EnumSource
	void smallInstanceHolds(SmallInstance small) {
		assertThat(ModelChecker.check(small.name(), small.instance())).matches(ModelChecker.Outcome::holds);
	}

	@ParameterizedTest
	@EnumSource
	@Tag("ring3")
	void largeInstanceHolds(LargeInstance large) {
		assertThat(ModelChecker.check(large.name(), large.instance(), large.workers()))
			.matches(ModelChecker.Outcome::holds);
	}

}
