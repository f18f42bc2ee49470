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

package io.leaderelection;

import java.util.List;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

/**
 * Tests for {@link Term}.
 */
@Tag("ring1")
class TermTests {

	private static final long MAX_TRANSACTION_ID = (1L << 48) - 1;

	private static final List<Term> ASCENDING = List.of(new Term(0, 0, 0), new Term(0, 1, 7), new Term(0, 1, 8),
			new Term(0, 1, MAX_TRANSACTION_ID), new Term(0, 2, 3), new Term(0, 2047, 1), new Term(1, 0, 0),
			new Term(15, 2047, MAX_TRANSACTION_ID));

	@Test
	void comparesByEpochThenTimelineThenTransactionId() {
		for (int i = 0; i < ASCENDING.size(); i++) {
			for (int j = 0; j < ASCENDING.size(); j++) {
				assertThat(Integer.signum(ASCENDING.get(i).compareTo(ASCENDING.get(j))))
					.isEqualTo(Integer.signum(Integer.compare(i, j)));
			}
		}
	}

	@Test
	void comparesPartsThatDoNotFitInALong() {
		assertThat(new Term(16, 0, 0)).isGreaterThan(new Term(15, 4096, Long.MAX_VALUE));
		assertThat(new Term(0, 4096, 0)).isGreaterThan(new Term(0, 4095, Long.MAX_VALUE));
	}

	@Test
	void numberComparesAsTheTermDoes() {
		assertThat(ASCENDING.stream().map(Term::toLong)).isSorted().doesNotHaveDuplicates();
	}

	@Test
	void numberHasFourBitsOfEpochElevenOfTimelineAndFortyEightOfTransactionId() {
		assertThat(new Term(0, 0, 7423).toLong()).isEqualTo(7423);
		assertThat(new Term(0, 1, 0).toLong()).isEqualTo(0x0001_0000_0000_0000L);
		assertThat(new Term(1, 0, 0).toLong()).isEqualTo(0x0800_0000_0000_0000L);
		assertThat(new Term(15, 2047, MAX_TRANSACTION_ID).toLong()).isEqualTo(Long.MAX_VALUE);
	}

	@ParameterizedTest
	@CsvSource({ "16, 0, 0", "0, 2048, 0", "0, 0, 281474976710656" })
	void numberIsRefusedIfAPartDoesNotFit(int epoch, long timeline, long transactionId) {
		Term term = new Term(epoch, timeline, transactionId);
		assertThatExceptionOfType(ArithmeticException.class).isThrownBy(term::toLong)
			.withMessageContaining(term.toString());
	}

	@ParameterizedTest
	@CsvSource({ "-1, 0, 0", "0, -1, 0", "0, 0, -1" })
	void noPartMayBeNegative(int epoch, long timeline, long transactionId) {
		assertThatIllegalArgumentException().isThrownBy(() -> new Term(epoch, timeline, transactionId));
	}

	@Test
	void textShowsThePartsInOrder() {
		assertThat(new Term(0, 1, 7423)).hasToString("0:1:7423");
	}

}
