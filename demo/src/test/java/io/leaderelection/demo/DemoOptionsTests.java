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

package io.leaderelection.demo;

import java.time.Duration;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

/**
 * Tests for {@link DemoOptions}.
 */
@Tag("ring1")
class DemoOptionsTests {

	@Test
	void hasDefaultsForAll() {
		assertThat(DemoOptions.parse()).isEqualTo(new DemoOptions(3, 8090, Duration.ofSeconds(5), Store.ADVISORY_LOCK));
	}

	@Test
	void readsWhatIsGiven() {
		assertThat(DemoOptions.parse("--lease=1500ms", "--nodes=9", "--port=0", "--store=table"))
			.isEqualTo(new DemoOptions(9, 0, Duration.ofMillis(1500), Store.TABLE));
	}

	@ParameterizedTest
	@ValueSource(strings = { "--nodes=0", "--nodes=10", "--nodes=x", "--nodes=", "--port=-1", "--port=65536",
			"--lease=499ms", "--lease=61s", "--lease=soon", "--lease=", "--store=", "--store=TABLE", "--store=redis",
			"--leases=5s", "--lease", "5" })
	void refusesTheRestWithUsage(String arg) {
		assertThatExceptionOfType(DemoException.class).isThrownBy(() -> DemoOptions.parse(arg))
			.withMessageContaining(arg.split("=")[0])
			.withMessageContaining(DemoOptions.USAGE);
	}

}
