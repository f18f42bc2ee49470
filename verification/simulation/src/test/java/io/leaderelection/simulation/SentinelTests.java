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

import java.util.Arrays;
import java.util.EnumSet;
import java.util.List;
import java.util.Objects;

import io.leaderelection.testsupport.SourceChange;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.EnumSource.Mode;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * The simulation, itself checked: each of its checks finds its {@link Sentinel}.
 */
@Tag("ring2")
class SentinelTests {

	@Test
	void eachCheckHasASentinel() {
		assertThat(EnumSet.complementOf(EnumSet.of(Sentinel.NONE))).flatMap(Sentinel::checks).contains(Check.values());
	}

	@Test
	void changesApplyToTheSource() throws Exception {
		List<SourceChange> changes = Arrays.stream(Sentinel.values())
			.map(Sentinel::change)
			.filter(Objects::nonNull)
			.toList();
		assertThat(changes).isNotEmpty();
		for (SourceChange change : changes) {
			assertThat(change.apply()).isNotEmpty();
		}
	}

	@ParameterizedTest
	@Tag("ring3")
	@EnumSource(mode = Mode.EXCLUDE, names = "NONE")
	void isFound(Sentinel sentinel) throws Exception {
		SentinelSearch.assertFound(sentinel);
	}

}
