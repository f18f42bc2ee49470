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

package io.leaderelection.lifecycle;

import java.util.stream.IntStream;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for {@link StartFailures}.
 */
@Tag("ring2")
class StartFailuresTests {

	private final StartFailures failures = new StartFailures();

	@Test
	void pausesGetLongerUntilAStartSucceeds() {
		assertThat(IntStream.range(0, 6).mapToObj((i) -> this.failures.next().toSeconds())).containsExactly(5L, 10L,
				20L, 40L, 80L, 80L);
		this.failures.clear();
		assertThat(this.failures.next()).hasSeconds(5);
	}

}
