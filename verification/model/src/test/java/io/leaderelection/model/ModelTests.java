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

import java.util.List;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

/**
 * The guarantees hold in all states of all instances. A small instance is checked again
 * if its input has changed. With {@code model.check-all}, as in ring 3, each is checked
 * and recorded.
 */
@Tag("ring2")
class ModelTests {

	private static final boolean CHECK_ALL = Boolean.getBoolean("model.check-all");

	@ParameterizedTest
	@EnumSource
	void smallInstanceHolds(SmallInstance small) throws Exception {
		String checksum = CheckedInstances.checksum(small.instance());
		List<String> checked = CheckedInstances.find(CheckedInstances.read(), small, checksum);
		assumeTrue(CHECK_ALL || checked.isEmpty(), "The input has not changed since it was found to hold: " + checked);
		ModelChecker.Outcome outcome = ModelChecker.check(small.name(), small.instance());
		assertThat(outcome).matches(ModelChecker.Outcome::holds);
		String line = CheckedInstances.line(small, outcome, checksum);
		assertThat(checked).as("Equal input has equal output, here " + line).allMatch(line::equals);
		if (CHECK_ALL) {
			CheckedInstances.write(line);
		}
	}

	@ParameterizedTest
	@EnumSource
	@Tag("ring3")
	void largeInstanceHolds(LargeInstance large) {
		assertThat(ModelChecker.check(large.name(), large.instance(), large.workers()))
			.matches(ModelChecker.Outcome::holds);
	}

}
