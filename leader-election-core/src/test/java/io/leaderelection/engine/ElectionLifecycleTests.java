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
import io.leaderelection.engine.StoreSession.Holder;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for {@link Election}: start, stop and restart.
 */
@Timeout(60)
@Tag("ring1")
class ElectionLifecycleTests {

	private final ElectionFixture fixture = new ElectionFixture();

	private final FakeStore store = this.fixture.store;

	private final FakeTime time = this.fixture.time;

	private final Election election = this.fixture.election;

	@Test
	void stopWhileFollowingEndsAfterTheWait() {
		this.store.leader = new Holder("node-2", "4711");
		for (int i = 0; i < 3; i++) {
			this.store.skip(Call.ACQUIRE);
		}
		this.store.next(Call.ACQUIRE, this.election::stop);
		this.fixture.run();
		assertThat(this.fixture.trace).containsExactly("open", "close");
		assertThat(this.time.elapsed()).isEqualTo(Duration.ofMillis(1 + 3 * 800));
	}

	@Test
	void stopBetweenTwoWaitsBeginsNoOther() {
		this.store.leader = new Holder("node-2", "4711");
		this.fixture.stopAt(Duration.ofMillis(801)).run();
		assertThat(this.store.waits).hasSize(2);
		assertThat(this.fixture.trace).endsWith("close");
	}

	@Test
	void lockThatWasWonWhileStoppingIsFreed() {
		this.store.next(Call.ACQUIRE, this.election::stop);
		this.fixture.run();
		assertThat(this.fixture.trace).containsExactly("open", "won 1", "release", "close");
		assertThat(this.fixture.events).isEmpty();
	}

	@Test
	void stopWhileOpeningInterruptsIt() {
		CompletableFuture<@Nullable Void> decision = this.fixture.start();
		this.store.next(Call.OPEN, () -> {
			this.election.stop();
			assertThat(Thread.currentThread().isInterrupted()).isTrue();
			throw FakeStore.failure();
		});
		this.fixture.run();
		assertThat(this.fixture.trace).containsExactly("open");
		assertThat(decision).isCompleted();
		assertThat(this.election.state().position()).isInstanceOf(Position.Stopped.class);
	}

	@Test
	void sessionThatIsOpenedInSpiteOfAStopIsClosed() {
		this.store.next(Call.OPEN, this.election::stop);
		this.fixture.run();
		assertThat(this.fixture.trace).containsExactly("open", "close");
	}

	@Test
	void stopEndsThePauseBetweenTwoAttempts() {
		this.store.next(Call.OPEN, () -> {
			throw new UnusableStoreException("PostgreSQL is too old", "Upgrade", null);
		});
		this.fixture.stopAt(Duration.ofSeconds(1)).run();
		assertThat(this.time.elapsed()).isEqualTo(Duration.ofSeconds(1));
		assertThat(this.fixture.trace).containsExactly("open");
	}

	@Test
	void stopEndsThePauseAfterAResignation() {
		this.fixture.at(Duration.ofSeconds(1), () -> this.election.resign("application"));
		this.fixture.stopAt(Duration.ofMillis(2050)).run();
		assertThat(this.time.elapsed()).isEqualTo(Duration.ofMillis(2050));
		assertThat(this.fixture.trace).endsWith("close", "open", "close");
	}

	@Test
	void stopIsDoneWhenNothingWasStarted() {
		assertThat(this.election.stop()).isCompleted();
	}

	@Test
	void stopIsIdempotent() {
		this.fixture.at(Duration.ofSeconds(1), () -> assertThat(this.election.stop()).isSameAs(this.election.stop()));
		this.fixture.run();
		assertThat(this.election.stop()).isCompleted();
	}

	@Test
	void startOfARunningCampaignIsTheSame() {
		CompletableFuture<@Nullable Void> decision = this.fixture.start();
		this.fixture.at(Duration.ofSeconds(1), () -> assertThat(this.fixture.start()).isSameAs(decision));
		this.fixture.stopAt(Duration.ofSeconds(2)).run();
	}

	@Test
	void startAfterAStopMakesTheNodeACandidateAgain() {
		this.fixture.stopAt(Duration.ofSeconds(1)).run();
		CompletableFuture<@Nullable Void> decision = this.fixture.start();
		this.fixture.at(Duration.ofSeconds(2), () -> {
			assertThat(decision).isCompleted();
			assertThat(this.fixture.isLeader()).isTrue();
		});
		this.fixture.stopAt(Duration.ofSeconds(3)).run();
		assertThat(this.fixture.tracedEvents()).containsExactly("granted 1", "revoked 1 STOPPED", "granted 2",
				"revoked 2 STOPPED");
	}

	@Test
	void startDuringAnUnfinishedStopIsANewCampaignAfterTheOldOne() {
		this.fixture.at(Duration.ofSeconds(1), () -> {
			Work work = this.election.gate().enter("job");
			CompletableFuture<@Nullable Void> end = this.election.stop();
			CompletableFuture<@Nullable Void> decision = this.fixture.start();
			this.fixture.at(Duration.ofSeconds(2), () -> {
				assertThat(end).isNotDone();
				assertThat(decision).isNotDone();
				assertThat(this.fixture.isLeader()).isFalse();
				work.close();
			});
			this.fixture.at(Duration.ofSeconds(3), () -> {
				assertThat(decision).isCompleted();
				assertThat(this.fixture.isLeader()).isTrue();
			});
		});
		this.fixture.stopAt(Duration.ofSeconds(4)).run();
		assertThat(this.fixture.trace).containsSubsequence("revoked 1 STOPPED", "release clean", "close", "open");
		assertThat(this.fixture.tracedEvents()).containsExactly("granted 1", "revoked 1 STOPPED", "granted 2",
				"revoked 2 STOPPED");
	}

	@Test
	void stopBeforeTheThreadRunsOpensNoSession() {
		this.fixture.start();
		this.election.stop();
		this.fixture.run();
		assertThat(this.fixture.trace).isEmpty();
	}

	@Test
	void stopOfACampaignThatWaitsForAnotherStopsBoth() {
		this.fixture.at(Duration.ofSeconds(1), () -> {
			Work work = this.election.gate().enter("job");
			this.election.stop();
			this.fixture.start();
			CompletableFuture<@Nullable Void> end = this.election.stop();
			this.fixture.at(Duration.ofSeconds(2), () -> {
				assertThat(end).isNotDone();
				work.close();
			});
		});
		this.fixture.run();
		assertThat(this.store.openings).containsExactly(Duration.ZERO);
		assertThat(this.election.stop()).isCompleted();
		assertThat(this.election.state().position()).isInstanceOf(Position.Stopped.class);
	}

	@Test
	void resignationDoesNotOutliveARestart() {
		this.fixture.at(Duration.ofSeconds(1), () -> this.election.resign("application"));
		this.fixture.stopAt(Duration.ofMillis(1100)).run();
		this.fixture.stopAt(Duration.ofSeconds(2)).run();
		assertThat(this.fixture.tracedEvents()).containsExactly("granted 1", "revoked 1 RESIGNED", "granted 2",
				"revoked 2 STOPPED");
	}

}
