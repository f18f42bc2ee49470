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

package io.leaderelection.postgresql.advisory;

import java.util.Map;

import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.NullSource;
import org.junit.jupiter.params.provider.ValueSource;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for {@link SessionComment}.
 */
@Tag("ring1")
class SessionCommentTests {

	@Test
	void formIsAContractBetweenVersions() {
		assertThat(SessionComment.of(Map.of("zone", "a", "url", "http://10.0.0.7:8080/x")))
			.isEqualTo("/* leader-election url=http%3A%2F%2F10.0.0.7%3A8080%2Fx&zone=a */ ");
		assertThat(SessionComment.of(Map.of())).isEmpty();
	}

	@Test
	void everyValueIsReadAsItWasWritten() {
		Map<String, String> values = Map.of("a", "*/ SELECT 1 /*", "b c", "'\"\\?$1 ä&=+%", "d", "");
		String comment = SessionComment.of(values);
		assertThat(comment.indexOf("*/")).isEqualTo(comment.length() - 3);
		assertThat(comment.indexOf("/*", 1)).isNegative();
		assertThat(comment).matches("[\\x20-\\x7e]*").doesNotContain("'", "\"", "\\", "?", "$");
		assertThat(SessionComment.values(comment + "SELECT 1")).isEqualTo(values);
	}

	@ParameterizedTest
	@NullSource
	@ValueSource(strings = { "", "SELECT 1", "<insufficient privilege>", "SELECT 1 /* leader-election a=b */ ",
			"/* leader-election a=b", "/* another a=b */ SELECT 1", "/* leader-election a */ " })
	void messageWithoutACommentHasNoValues(@Nullable String message) {
		assertThat(SessionComment.values(message)).isEmpty();
	}

	@Test
	void commentOfAnotherProgramIsNoFailure() {
		assertThat(SessionComment.values("/* leader-election a=%zz&b=%0A */ ")).containsEntry("a", "%zz")
			.containsEntry("b", "?");
	}

}
