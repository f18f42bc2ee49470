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

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.EnumSource.Mode;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * The simulation, itself checked with mistakes that were not made for it.
 */
@Tag("ring2")
class BlindMistakeTests {

	@ParameterizedTest
	@EnumSource
	void appliesToSource(BlindMistake mistake) throws Exception {
		assertThat(mistake.change().apply()).isNotEmpty();
	}

	/**
	 * Without {@code REQUEST_RESET_LATE}, which is found by the tests of the watchdog,
	 * and {@code INNER_WORK_COUNTED_LATE}, which has not been found after 67 000
	 * failovers since the histories have more faults of sessions.
	 */
	@ParameterizedTest
	@Tag("ring3")
	@EnumSource(mode = Mode.EXCLUDE, names = { "REQUEST_RESET_LATE", "INNER_WORK_COUNTED_LATE" })
	void isFound(BlindMistake mistake) throws Exception {
		MistakeSearch.assertFound(Store.ADVISORY_LOCK, mistake, mistake.change(), mistake.guarantees());
	}

}
