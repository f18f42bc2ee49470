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

package io.leaderelection.autoconfigure.health;

import java.time.Duration;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for {@link HealthHysteresis}.
 */
@Tag("ring1")
class HealthHysteresisTests {

	// Near the overflow, where the clock of a JVM may be
	private static final long START = Long.MAX_VALUE - 5;

	private final HealthHysteresis verdict = new HealthHysteresis(Duration.ofSeconds(30), START);

	@Test
	void standsUntilHealthHasBeenBadForAWhile() {
		assertThat(answered(this.verdict, false, 0)).isTrue();
		assertThat(answered(this.verdict, false, 29_999)).isTrue();
		assertThat(answered(this.verdict, false, 30_000)).isFalse();
		assertThat(this.verdict.isSilent()).isFalse();
	}

	@Test
	void oneGoodAnswerBeginsTheWhileAnew() {
		answered(this.verdict, false, 0);
		answered(this.verdict, true, 20_000);
		assertThat(answered(this.verdict, false, 40_000)).isTrue();
		assertThat(answered(this.verdict, false, 69_000)).isTrue();
		assertThat(answered(this.verdict, false, 70_000)).isFalse();
	}

	@Test
	void standsAgainWhenHealthHasBeenWellForAsLong() {
		suspend();
		assertThat(answered(this.verdict, true, 40_000)).isFalse();
		assertThat(answered(this.verdict, true, 69_999)).isFalse();
		assertThat(answered(this.verdict, true, 70_000)).isTrue();
	}

	@Test
	void badAnswerInBetweenPutsOffStandingAgain() {
		suspend();
		answered(this.verdict, true, 40_000);
		answered(this.verdict, false, 50_000);
		answered(this.verdict, true, 60_000);
		assertThat(answered(this.verdict, true, 89_000)).isFalse();
		assertThat(answered(this.verdict, true, 90_000)).isTrue();
	}

	@Test
	void flappingHealthSuspendsCandidacyAlsoIfTheNodeResignsAtOnce() {
		HealthHysteresis atOnce = new HealthHysteresis(Duration.ZERO, START);
		assertThat(answered(atOnce, false, 0)).isFalse();
		for (int time = 100; time < 10_000; time += 100) {
			assertThat(answered(atOnce, time % 200 != 0, time)).isFalse();
		}
		answered(atOnce, true, 10_000);
		assertThat(answered(atOnce, true, 10_800)).isFalse();
		assertThat(answered(atOnce, true, 10_900)).isTrue();
	}

	@Test
	void noAnswerIsBad() {
		answered(this.verdict, true, 0);
		assertThat(unanswered(this.verdict, 10_000, 39_999)).isTrue();
		assertThat(this.verdict.isSilent()).isFalse();
		assertThat(unanswered(this.verdict, 10_000, 40_000)).isFalse();
		assertThat(this.verdict.isSilent()).isTrue();
	}

	@Test
	void noAnswerAfterABadOneIsBadFromThatOn() {
		answered(this.verdict, false, 0);
		assertThat(unanswered(this.verdict, 5_000, 29_000)).isTrue();
		assertThat(unanswered(this.verdict, 5_000, 30_000)).isFalse();
		assertThat(this.verdict.isSilent()).isFalse();
	}

	@Test
	void lateAnswerDoesNotCoverTheTimeBefore() {
		unanswered(this.verdict, 0, 30_000);
		this.verdict.answered(true, time(0), time(100_000));
		assertThat(this.verdict.isCandidacyPermitted()).isFalse();
		assertThat(answered(this.verdict, true, 129_000)).isFalse();
		assertThat(answered(this.verdict, true, 130_000)).isTrue();
		assertThat(this.verdict.isSilent()).isFalse();
	}

	@Test
	void answerToAnEarlierQuestionDoesNotCount() {
		HealthHysteresis atOnce = new HealthHysteresis(Duration.ZERO, START);
		atOnce.answered(false, time(-1), time(10));
		assertThat(atOnce.isCandidacyPermitted()).isTrue();
		atOnce.answered(false, time(0), time(10));
		assertThat(atOnce.isCandidacyPermitted()).isFalse();
	}

	@Test
	void checkHasTimeToAnswerAlsoIfNodeResignsAtOnce() {
		HealthHysteresis atOnce = new HealthHysteresis(Duration.ZERO, START);
		assertThat(unanswered(atOnce, 0, 999)).isTrue();
		assertThat(unanswered(atOnce, 0, 1000)).isFalse();
	}

	@Test
	void looksSeveralTimesWithinAWhile() {
		assertThat(new HealthHysteresis(Duration.ZERO, START).interval()).isEqualTo(Duration.ofMillis(100).toNanos());
		assertThat(new HealthHysteresis(Duration.ofSeconds(10), START).interval())
			.isEqualTo(Duration.ofMillis(2500).toNanos());
		assertThat(new HealthHysteresis(Duration.ofDays(1), START).interval())
			.isEqualTo(Duration.ofSeconds(5).toNanos());
	}

	private void suspend() {
		answered(this.verdict, false, 0);
		assertThat(answered(this.verdict, false, 30_000)).isFalse();
	}

	private static boolean answered(HealthHysteresis verdict, boolean healthy, long millis) {
		verdict.answered(healthy, time(millis), time(millis));
		return verdict.isCandidacyPermitted();
	}

	private static boolean unanswered(HealthHysteresis verdict, long asked, long millis) {
		verdict.unanswered(time(asked), time(millis));
		return verdict.isCandidacyPermitted();
	}

	private static long time(long millis) {
		return START + Duration.ofMillis(millis).toNanos();
	}

}
