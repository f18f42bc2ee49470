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

package io.leaderelection.engine;

import java.time.Duration;
import java.util.concurrent.CompletableFuture;

import io.leaderelection.engine.FakeStore.Call;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for how long an {@link Election} waits for a store that does not answer, and for
 * the result of a resignation when leadership is lost meanwhile.
 */
@Timeout(60)
@Tag("ring1")
class ElectionLimitsTests extends ElectionFixture {

	private Work work;

	private CompletableFuture<Boolean> resignation;

	@Test
	void releaseAfterALongDrainIsNotCut() {
		stopWithWorkUntil(Duration.ofSeconds(6));
		this.store.next(Call.RELEASE, () -> {
			checkDeadlines();
			assertThat(this.trace).doesNotContain("abort");
			this.time.advance(Duration.ofSeconds(1));
			checkDeadlines();
			assertThat(this.trace).doesNotContain("abort");
		});
		run();
		assertThat(this.trace).contains("release clean").doesNotContain("abort");
	}

	@Test
	void releaseAfterALongDrainIsCutWhenItHangs() {
		stopWithWorkUntil(Duration.ofSeconds(6));
		this.store.next(Call.RELEASE, () -> hang(Duration.ofSeconds(60)));
		run();
		assertThat(this.trace).contains("abort");
		assertThat(this.time.elapsed()).isBetween(Duration.ofSeconds(7), Duration.ofSeconds(10));
	}

	private void stopWithWorkUntil(Duration end) {
		at(Duration.ofSeconds(1), () -> {
			this.work = this.election.gate().enter("job");
			this.election.stop();
		});
		at(end, () -> this.work.close());
	}

	@ParameterizedTest
	@CsvSource({ "CONFIRM", "RELEASE" })
	void stopOnASilentStoreTakesNoLongerThanDrainAndGrace(Call call) {
		ElectionFixture slow = new ElectionFixture(new ElectionSettings("default", "node-1", Duration.ofSeconds(30),
				Duration.ZERO, Duration.ofSeconds(1), true));
		if (call == Call.RELEASE) {
			slow.stopAt(Duration.ofSeconds(2));
		}
		else {
			slow.store.skip(call);
			slow.store.skip(call);
		}
		Duration[] start = new Duration[1];
		slow.store.next(call, () -> {
			start[0] = slow.time.elapsed();
			slow.election.stop();
			slow.hang(Duration.ofSeconds(60));
		});
		slow.run();
		assertThat(slow.time.elapsed().minus(start[0])).isLessThanOrEqualTo(Duration.ofSeconds(4));
		assertThat(slow.tracedEvents()).hasSize(2);
	}

	@Test
	void resignationOfALeaderThatIsCutOffIsFalse() {
		this.store.skip(Call.CONFIRM, 2);
		this.store.next(Call.CONFIRM, () -> {
			this.resignation = this.election.resign("application");
			hang(LEASE);
			assertThat(this.resignation).isNotDone();
		});
		stopAt(Duration.ofSeconds(10)).run();
		assertThat(this.resignation).isCompletedWithValue(false);
	}

	@ParameterizedTest
	@CsvSource({ "ACQUIRE, true", "OBSERVE, false", "BARRIER, true" })
	void callsOfANodeThatDoesNotLeadAreNotBoundedByALongLease(Call call, boolean candidate) {
		ElectionFixture patient = new ElectionFixture(new ElectionSettings("default", "node-1", Duration.ofHours(1),
				Duration.ZERO, Duration.ofSeconds(20), candidate));
		patient.store.leader = (call == Call.BARRIER) ? null : OTHER;
		patient.store.candidates = BOTH;
		patient.store.next(call, () -> {
			Duration start = patient.time.elapsed();
			patient.hang(Duration.ofMinutes(5));
			assertThat(patient.time.elapsed().minus(start)).isLessThanOrEqualTo(Duration.ofSeconds(13));
		});
		patient.stopAt(Duration.ofSeconds(30)).run();
		assertThat(patient.store.openings).hasSize(2);
	}

}
