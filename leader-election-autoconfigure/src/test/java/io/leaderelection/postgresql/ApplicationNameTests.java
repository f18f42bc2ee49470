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

package io.leaderelection.postgresql;

import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for {@link ApplicationName}.
 */
class ApplicationNameTests {

	@Test
	void namesElectionAndNode() {
		ApplicationName name = new ApplicationName("reports", "host-4711-ab12");
		assertThat(name).hasToString("leader-election reports host-4711-ab12");
		assertThat(name.nodeOf(name.toString())).isEqualTo("host-4711-ab12");
	}

	@Test
	void longNodeIdKeepsItsEnd() {
		String host = "a-very-long-host-name.of-some.internal.domain.example.org";
		ApplicationName name = new ApplicationName("default", host + "-4711-ab12");
		assertThat(name.toString()).hasSize(63).startsWith("leader-election default a-very").endsWith("-4711-ab12");
		assertThat(name.nodeOf(name.toString())).endsWith("-4711-ab12");
	}

	@Test
	void isAsciiWithoutQuotesAndSpacesInNames() {
		assertThat(new ApplicationName("übung", "büro's pc")).hasToString("leader-election _bung b_ro_s_pc");
	}

	@Test
	void nameOfAnotherProgramIsGivenAsItIs() {
		assertThat(new ApplicationName("default", "node").nodeOf("psql")).isEqualTo("psql");
	}

}
