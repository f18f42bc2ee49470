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

package io.leaderelection.observation;

import java.util.Map;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.slf4j.MDC;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

/**
 * Tests for {@link MdcLogContext}.
 */
@Tag("ring1")
class MdcLogContextTests {

	private final MdcLogContext context = new MdcLogContext("shop");

	@AfterEach
	void clear() {
		MDC.clear();
	}

	@Test
	void valuesAreThereForTheMessageOnly() {
		this.context.log(Map.of("leader.term", "0:1:756"),
				() -> assertThat(MDC.getCopyOfContextMap()).isEqualTo(Map.of("leader.term", "0:1:756")));
		assertThat(MDC.get("leader.term")).isNull();
	}

	@Test
	void valuesOfTheCallerAreRestoredAlsoAfterAFailure() {
		MDC.put("user", "ada");
		MDC.put("leader.term", "mine");
		assertThatIllegalStateException()
			.isThrownBy(() -> this.context.log(Map.of("leader.term", "0:1:756", "leader.node", "web1"), () -> {
				assertThat(MDC.get("user")).isEqualTo("ada");
				throw new IllegalStateException(MDC.get("leader.term"));
			}))
			.withMessage("0:1:756");
		assertThat(MDC.getCopyOfContextMap()).isEqualTo(Map.of("user", "ada", "leader.term", "mine"));
	}

	@Test
	void valuesOfTheCallerAreNotThereForAMessageOfAnotherElection() {
		MDC.put("leader.election", "default");
		MDC.put("leader.term", "0:1:756");
		this.context.log(Map.of("leader.election", "reports"),
				() -> assertThat(MDC.getCopyOfContextMap()).isEqualTo(Map.of("leader.election", "reports")));
		assertThat(MDC.getCopyOfContextMap()).isEqualTo(Map.of("leader.election", "default", "leader.term", "0:1:756"));
	}

}
