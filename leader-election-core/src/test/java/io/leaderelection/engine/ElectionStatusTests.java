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
import java.time.Instant;

import io.leaderelection.Term;
import io.leaderelection.engine.ElectionStatus.Role;
import io.leaderelection.engine.FakeStore.Call;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for {@link ElectionStatus}.
 */
@Timeout(60)
@Tag("ring1")
class ElectionStatusTests extends ElectionFixture {

	@Test
	void showsAFollowerItsLeader() {
		letOtherLead();
		at(Duration.ofSeconds(1), () -> {
			ElectionStatus status = status();
			assertThat(status.role()).isEqualTo(Role.FOLLOWER);
			assertThat(status.leader()).isEqualTo("node-2");
			assertThat(status.leaderTerm()).isEqualTo(TERM);
			assertThat(status.leaderSince()).isEqualTo(Instant.EPOCH);
			assertThat(status.candidates()).containsExactly("node-1", "node-2");
			assertThat(status.term()).isNull();
			assertThat(status.silence()).isEqualTo(Duration.ofMillis(199));
			assertThat(status.leaseRemaining()).isZero();
		}).stopAt(Duration.ofSeconds(2)).run();
		assertThat(status().role()).isEqualTo(Role.STOPPED);
		assertThat(status().leader()).isNull();
	}

	@Test
	void showsALeaderItsTermAndTheRemainingLease() {
		at(Duration.ofMillis(1500), () -> {
			ElectionStatus status = status();
			assertThat(status.role()).isEqualTo(Role.LEADER);
			assertThat(status.leader()).isEqualTo("node-1");
			assertThat(status.term()).isEqualTo(new Term(0, 1, 1));
			assertThat(status.since()).isNotNull();
			assertThat(status.leaseRemaining()).isEqualTo(TRUST.minusMillis(500));
			assertThat(status.silence()).isEqualTo(Duration.ofMillis(500));
			assertThat(status.lastConfirmation()).isNotNull();
		}).stopAt(Duration.ofSeconds(2)).run();
	}

	@Test
	void showsNoLeaderWithAnExpiredLeaseEvenBeforeTheWatchdogHasRun() {
		this.store.skip(Call.CONFIRM, 2);
		this.store.next(Call.CONFIRM, () -> this.time.advance(Duration.ofSeconds(4)));
		at(TRUST, () -> {
			assertThat(status().role()).isEqualTo(Role.FOLLOWER);
			assertThat(status().term()).isNull();
			assertThat(status().leader()).isNull();
		}).stopAt(Duration.ofSeconds(6)).run();
	}

	@Test
	void showsAHandOver() {
		at(Duration.ofSeconds(1), () -> {
			try (Work work = this.election.gate().enter("job")) {
				this.election.resign("application");
				assertThat(status().role()).isEqualTo(Role.RESIGNING);
				assertThat(status().leader()).isEqualTo("node-1");
			}
		}).stopAt(Duration.ofSeconds(2)).run();
	}

	@Test
	void showsTheProblemAndTheSilenceSinceTheStart() {
		this.store.fail(Call.OPEN, new UnusableStoreException("PostgreSQL is too old", "Upgrade", null));
		at(Duration.ofSeconds(10), () -> {
			ElectionStatus status = status();
			assertThat(status.problem()).isEqualTo("PostgreSQL is too old");
			assertThat(status.unusable()).isTrue();
			assertThat(status.silence()).isEqualTo(Duration.ofSeconds(10));
			assertThat(status.lastConfirmation()).isNull();
		}).stopAt(Duration.ofSeconds(20)).run();
	}

}
