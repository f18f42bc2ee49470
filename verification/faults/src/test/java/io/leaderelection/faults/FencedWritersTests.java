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

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIf;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * A fenced transaction of one term never commits after a later term was granted, whatever
 * happens to its process. Several nodes write on several threads, pause at the worst
 * places and lose leadership all the time; the order of what they have committed is that
 * of the server. The same without fences must go wrong, or this would prove nothing.
 * {@code -Dsuite.fenced-commits=50000} and {@code -Dsuite.hand-overs=300} make the fenced
 * run longer.
 */
@Tag("ring2")
class FencedWritersTests {

	private static final int COMMITS = 1000;

	private static final int HAND_OVERS = 8;

	private static final Duration LIMIT = Duration.ofMinutes(30);

	@ParameterizedTest
	@Tag("ring3")
	@ValueSource(strings = { "advisory-lock", "table" })
	void commitsComeLateWithoutFences(String store) throws InterruptedException {
		try (FencedWriters writers = new FencedWriters("off", store, false)) {
			writers.run(COMMITS, HAND_OVERS, LIMIT);
			System.out.println(writers);
			assertThat(writers.order().violations()).isNotEmpty();
			assertThat(writers.refused()).isEmpty();
			verify(writers);
		}
	}

	@ParameterizedTest
	@ValueSource(strings = { "advisory-lock", "table" })
	void noCommitComesLateWithFences(String store) throws InterruptedException {
		try (FencedWriters writers = new FencedWriters("auto", store, false)) {
			runAndVerify(writers);
		}
	}

	@Test
	@Tag("ring3")
	@EnabledIf(value = "io.leaderelection.testsupport.PgBouncer#isInstalled", disabledReason = "No PgBouncer")
	void noCommitComesLateWithFencesBehindAPooler() throws InterruptedException {
		try (FencedWriters writers = new FencedWriters("auto", "table", true)) {
			runAndVerify(writers);
		}
	}

	private static void runAndVerify(FencedWriters writers) throws InterruptedException {
		writers.run(Integer.getInteger("suite.fenced-commits", COMMITS),
				Integer.getInteger("suite.hand-overs", HAND_OVERS), LIMIT);
		System.out.println(writers);
		assertThat(writers.order().violations()).isEmpty();
		// So fences have made the difference, and not luck
		assertThat(writers.refused()).isNotEmpty();
		assertThat(writers.visible()).doesNotContainAnyElementsOf(writers.refused());
		verify(writers);
	}

	private static void verify(FencedWriters writers) {
		assertThat(writers.order().written()).isGreaterThanOrEqualTo(writers.outcomes().get("committed"));
		assertThat(writers.deaths()).isEmpty();
		assertThat(writers.unfinished()).isEmpty();
	}

}
