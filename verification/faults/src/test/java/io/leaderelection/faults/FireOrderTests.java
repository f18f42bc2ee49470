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

package io.leaderelection.faults;

import java.time.Duration;
import java.time.Instant;
import java.util.stream.LongStream;

import io.leaderelection.faults.FireOrder.Fire;
import io.leaderelection.faults.FireOrder.Kind;
import io.leaderelection.faults.FireOrder.Violation;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.tuple;

/**
 * Tests for {@link FireOrder}, with invented fires.
 */
@Tag("ring1")
class FireOrderTests {

	private final FireOrder order = new FireOrder();

	@Test
	void nothingIsWrongIfEachSecondFollowsTheOneBefore() {
		commit(10, 11, 12);
		assertThat(this.order.violations()).isEmpty();
		assertThat(this.order.committed()).isEqualTo(3);
		assertThat(this.order.terms()).isEqualTo(1);
		assertThat(this.order.fires()).extracting(Fire::lateness).containsOnly(Duration.ofMillis(5));
	}

	@Test
	void secondWithTwoFires() {
		commit(10, 11, 12, 11, 13);
		assertThat(this.order.violations()).extracting(Violation::kind, Violation::second)
			.containsExactly(tuple(Kind.DOUBLED, 11L));
	}

	@Test
	void secondsWithoutFire() {
		commit(10, 13);
		assertThat(this.order.violations()).extracting(Violation::kind, Violation::second)
			.containsExactly(tuple(Kind.MISSED, 11L), tuple(Kind.MISSED, 12L));
	}

	@Test
	void secondAfterALaterOne() {
		commit(10, 12, 11);
		assertThat(this.order.violations()).extracting(Violation::kind, Violation::second)
			.containsExactly(tuple(Kind.OUT_OF_ORDER, 11L));
	}

	@Test
	void secondBeforeTheFirstFire() {
		commit(12, 10);
		assertThat(this.order.violations()).extracting(Violation::kind, Violation::second)
			.containsExactly(tuple(Kind.OUT_OF_ORDER, 10L), tuple(Kind.MISSED, 11L));
	}

	private void commit(long... seconds) {
		LongStream.of(seconds)
			.mapToObj((second) -> new Fire(second, "node", "term", Instant.ofEpochSecond(second).plusMillis(5)))
			.forEach(this.order::add);
	}

}
