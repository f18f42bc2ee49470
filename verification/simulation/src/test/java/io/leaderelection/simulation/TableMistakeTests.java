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
 * The simulation of the table, itself checked with mistakes in the code of the table.
 */
@Tag("ring2")
class TableMistakeTests {

	@ParameterizedTest
	@EnumSource
	void appliesToSource(TableMistake mistake) throws Exception {
		assertThat(mistake.change().apply()).isNotEmpty();
	}

	/**
	 * Without those that another rule makes harmless, and one that is rarely seen.
	 */
	@ParameterizedTest
	@Tag("ring3")
	@EnumSource(names = { "LAPSED_SESSION_RENEWED", "RELEASING_PASSES", "TERM_OUTLIVES_PROMOTION" },
			mode = Mode.EXCLUDE)
	void isFound(TableMistake mistake) throws Exception {
		MistakeSearch.assertFound(Store.TABLE, mistake, mistake.change(), mistake.guarantees());
	}

}
