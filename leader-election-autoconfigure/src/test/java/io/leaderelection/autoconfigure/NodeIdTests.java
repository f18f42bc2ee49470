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

package io.leaderelection.autoconfigure;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

import org.springframework.mock.env.MockEnvironment;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for {@link NodeId}.
 */
@Tag("ring1")
class NodeIdTests {

	private final long pid = ProcessHandle.current().pid();

	@Test
	void isMadeOfHostNameProcessAndSuffix() {
		assertThat(NodeId.create(new MockEnvironment().withProperty("HOSTNAME", "web-1")))
			.matches("web-1-" + this.pid + "-[0-9a-z]{4}");
	}

	@Test
	void findsHostNameOfTheMachine() {
		assertThat(NodeId.create(new MockEnvironment())).matches(".+-" + this.pid + "-[0-9a-z]{4}");
	}

	@Test
	void differsBetweenTwoOfTheSameProcess() {
		MockEnvironment environment = new MockEnvironment();
		assertThat(NodeId.create(environment)).isNotEqualTo(NodeId.create(environment));
	}

}
