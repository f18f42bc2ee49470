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
class ElectionLifecycleTests extends ElectionFixture {

	@Test
	void stopWhileFollowingEndsAfterTheWait() {
		this.store.leader = new Holder("node-2", "4711");
		for (int i = 0; i < 3; i++) {
			this.store.skip(Call.ACQUIRE);
		}
		this.store.next(Call.ACQUIRE, this.election::stop);
		run();
		assertThat(this.trace).containsExactly("open", "close");
		assertThat(this.time.elapsed()).isEqualTo(Duration.ofMillis(1 + 3 * 800));
	}

	@Test
	void stopBetweenTwoWaitsBeginsNoOther() {
		this.store.leader = new Holder("node-2", "4711");
		stopAt(Duration.ofMillis(801)).run();
		assertThat(this.store.waits).hasSize(2);
		assertThat(this.trace).endsWith("close");
	}

	@Test
	void lockThatWasWonWhileStoppingIsFreed() {
		this.store.next(Call.ACQUIRE, this.election::stop);
		run();
		assertThat(this.trace).containsExactly("open", "won 1", "release", "close");
		assertThat(this.events).isEmpty();
	}

	@Test
	void stopWhileOpeningInterruptsIt() {
		CompletableFuture<@Nullable Void> decision = start();
		this.store.next(Call.OPEN, () -> {
			this.election.stop();
			assertThat(Thread.currentThread().isInterrupted()).isTrue();
			throw FakeStore.failure();
		});
		run();
		assertThat(this.trace).containsExactly("open");
		assertThat(decision).isCompleted();
		assertThat(this.election.state().position()).isInstanceOf(Position.Stopped.class);
	}

	@Test
	void sessionThatIsOpenedInSpiteOfAStopIsClosed() {
		this.store.next(Call.OPEN, this.election::stop);
		run();
		assertThat(this.trace).containsExactly("open", "close");
	}

	@Test
	void stopEndsThePauseBetweenTwoAttempts() {
		this.store.fail(Call.OPEN, new UnusableStoreException("PostgreSQL is too old", "Upgrade", null));
		stopAt(Duration.ofSeconds(1)).run();
		assertThat(this.time.elapsed()).isEqualTo(Duration.ofSeconds(1));
		assertThat(this.trace).containsExactly("open");
	}

	@Test
	void stopEndsThePauseAfterAResignation() {
		at(Duration.ofSeconds(1), () -> this.election.resign("application"));
		stopAt(Duration.ofMillis(2050)).run();
		assertThat(this.time.elapsed()).isEqualTo(Duration.ofMillis(2050));
		assertThat(this.trace).endsWith("close", "open", "close");
	}

	@Test
	void stopIsIdempotent() {
		assertThat(this.election.stop()).isCompleted();
		at(Duration.ofSeconds(1), () -> assertThat(this.election.stop()).isSameAs(this.election.stop()));
		run();
		assertThat(this.election.stop()).isCompleted();
	}

	@Test
	void startOfARunningCampaignIsTheSame() {
		CompletableFuture<@Nullable Void> decision = start();
		at(Duration.ofSeconds(1), () -> assertThat(start()).isSameAs(decision));
		stopAt(Duration.ofSeconds(2)).run();
	}

	@Test
	void startAfterAStopMakesTheNodeACandidateAgain() {
		stopAt(Duration.ofSeconds(1)).run();
		CompletableFuture<@Nullable Void> decision = start();
		at(Duration.ofSeconds(2), () -> {
			assertThat(decision).isCompleted();
			assertThat(isLeader()).isTrue();
		}).stopAt(Duration.ofSeconds(3)).run();
		assertThat(tracedEvents()).containsExactly("granted 1", "revoked 1 STOPPED", "granted 2", "revoked 2 STOPPED");
	}

	@Test
	void startDuringAnUnfinishedStopIsANewCampaignAfterTheOldOne() {
		at(Duration.ofSeconds(1), () -> {
			Work work = this.election.gate().enter("job");
			CompletableFuture<@Nullable Void> end = this.election.stop();
			CompletableFuture<@Nullable Void> decision = start();
			at(Duration.ofSeconds(2), () -> {
				assertThat(end).isNotDone();
				assertThat(decision).isNotDone();
				assertThat(isLeader()).isFalse();
				work.close();
			});
			at(Duration.ofSeconds(3), () -> {
				assertThat(decision).isCompleted();
				assertThat(isLeader()).isTrue();
			});
		}).stopAt(Duration.ofSeconds(4)).run();
		assertThat(this.trace).containsSubsequence("revoked 1 STOPPED", "release clean", "close", "open");
		assertThat(tracedEvents()).containsExactly("granted 1", "revoked 1 STOPPED", "granted 2", "revoked 2 STOPPED");
	}

	@Test
	void stopBeforeTheThreadRunsOpensNoSession() {
		start();
		this.election.stop();
		run();
		assertThat(this.trace).isEmpty();
	}

	@Test
	void stopOfACampaignThatWaitsForAnotherStopsBoth() {
		at(Duration.ofSeconds(1), () -> {
			Work work = this.election.gate().enter("job");
			this.election.stop();
			start();
			CompletableFuture<@Nullable Void> end = this.election.stop();
			at(Duration.ofSeconds(2), () -> {
				assertThat(end).isNotDone();
				work.close();
			});
		});
		run();
		assertThat(this.store.openings).containsExactly(Duration.ZERO);
		assertThat(this.election.stop()).isCompleted();
		assertThat(this.election.state().position()).isInstanceOf(Position.Stopped.class);
	}

	@Test
	void resignationDoesNotOutliveARestart() {
		at(Duration.ofSeconds(1), () -> this.election.resign("application"));
		stopAt(Duration.ofMillis(1100)).run();
		stopAt(Duration.ofSeconds(2)).run();
		assertThat(tracedEvents()).containsExactly("granted 1", "revoked 1 RESIGNED", "granted 2", "revoked 2 STOPPED");
	}

}
