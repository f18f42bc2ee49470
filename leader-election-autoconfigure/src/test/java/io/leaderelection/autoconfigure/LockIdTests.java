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

import io.leaderelection.annotation.InvalidUsageException;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

/**
 * Tests for {@link LockId}.
 */
@Tag("ring1")
class LockIdTests {

	@ParameterizedTest
	@CsvSource({ "0, 0", "42, 42", "-1, -1", "' 7 ', 7", "9223372036854775807, 9223372036854775807",
			"9223372036854775808, -9223372036854775808", "18446744073709551615, -1",
			"-9223372036854775808, -9223372036854775808", "0x434944585F4C4452, 4848481620187694162", "0Xff, 255",
			"0xFFFFFFFFFFFFFFFF, -1", "0x0000000000000000001, 1" })
	void readsAllOfSixtyFourBits(String text, long expected) {
		assertThat(LockId.parse("lock-id", text)).isEqualTo(expected);
	}

	@ParameterizedTest
	@ValueSource(strings = { "reports", "0x", "0xG", "-0x1", "1.5", "1e3", "--1", "+1" })
	void refusesWhatIsNoNumber(String text) {
		assertThatExceptionOfType(InvalidUsageException.class)
			.isThrownBy(() -> LockId.parse("leader-election.lock-id", text))
			.satisfies((ex) -> {
				assertThat(ex.getDescription()).contains("It is not a number.");
				assertThat(ex.getAction()).contains("0x434944585F4C4452");
			});
	}

	@ParameterizedTest
	@ValueSource(strings = { "18446744073709551616", "-9223372036854775809", "0x10000000000000000" })
	void refusesMoreThanSixtyFourBits(String text) {
		assertThatExceptionOfType(InvalidUsageException.class)
			.isThrownBy(() -> LockId.parse("leader-election.lock-id", text))
			.satisfies((ex) -> assertThat(ex.getDescription()).contains("does not fit in the 64 bits"));
	}

	@Test
	void messageNamesPropertyAndValue() {
		assertThatExceptionOfType(InvalidUsageException.class)
			.isThrownBy(() -> LockId.parse("leader-election.lock-id", "x"))
			.withMessageContainingAll("Property: leader-election.lock-id", "Value: x", "Reason: It is not a number.");
	}

}
