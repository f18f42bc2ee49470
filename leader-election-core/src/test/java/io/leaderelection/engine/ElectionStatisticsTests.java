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
import java.util.List;

import io.leaderelection.LeadershipRevokedEvent.Reason;
import io.leaderelection.engine.ElectionStatistics.Listener;
import io.leaderelection.engine.FakeStore.Call;
import io.leaderelection.engine.StoreSession.Holder;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.mockito.ArgumentCaptor;

import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;

import static org.assertj.core.api.Assertions.assertThat;
import static org.mockito.ArgumentMatchers.anyLong;
import static org.mockito.BDDMockito.then;
import static org.mockito.BDDMockito.willThrow;
import static org.mockito.Mockito.atLeastOnce;
import static org.mockito.Mockito.mock;
import static org.mockito.Mockito.never;
import static org.mockito.Mockito.times;

/**
 * Tests for {@link ElectionStatistics}.
 */
@ExtendWith(OutputCaptureExtension.class)
@Timeout(60)
@Tag("ring1")
class ElectionStatisticsTests extends ElectionFixture {

	private final ElectionStatistics statistics = this.election.statistics();

	private final Listener timed = mock();

	private final ArgumentCaptor<Long> nanos = ArgumentCaptor.captor();

	@BeforeEach
	void listen() {
		this.statistics.addListener(this.timed);
	}

	@Test
	void countTransitionsByReason() {
		at(Duration.ofSeconds(1), () -> this.election.resign("application"));
		at(Duration.ofSeconds(20), () -> this.store.fail(Call.CONFIRM));
		stopAt(Duration.ofSeconds(40)).run();
		assertThat(this.statistics.granted()).isEqualTo(3);
		assertThat(this.statistics.revoked(Reason.RESIGNED)).isOne();
		assertThat(this.statistics.revoked(Reason.STOPPED)).isOne();
		assertThat(this.statistics.revoked(Reason.LEASE_EXPIRED)).isZero();
		assertThat(this.statistics.revoked(Reason.SESSION_LOST)).isOne();
	}

	@Test
	void countNoTransitionOfAFollower() {
		this.store.leader = new Holder("node-2", "4711");
		stopAt(Duration.ofSeconds(3)).run();
		assertThat(this.statistics.granted()).isZero();
		for (Reason reason : Reason.values()) {
			assertThat(this.statistics.revoked(reason)).isZero();
		}
		assertThat(this.election.led()).isZero();
		then(this.timed).shouldHaveNoInteractions();
	}

	@Test
	void countTheTimeLedWhileItLasts() {
		at(Duration.ofSeconds(3), () -> assertThat(this.election.led()).isEqualTo(Duration.ofSeconds(3)));
		stopAt(Duration.ofSeconds(5)).run();
		assertThat(this.election.led()).isEqualTo(Duration.ofSeconds(5));
		this.time.advance(Duration.ofSeconds(5));
		assertThat(this.election.led()).isEqualTo(Duration.ofSeconds(5));
	}

	@Test
	void countNoTimeAfterTheLeaseHasExpiredEvenBeforeTheWatchdogHasRun() {
		this.store.skip(Call.CONFIRM, 2);
		this.store.next(Call.CONFIRM, () -> {
			this.time.advance(Duration.ofSeconds(8));
			// Trusted from the start of the confirmation before the grant
			assertThat(this.election.led()).isEqualTo(TRUST);
			this.store.leader = new Holder("node-2", "4711");
		});
		stopAt(Duration.ofSeconds(20)).run();
		assertThat(this.election.led()).isEqualTo(TRUST);
		assertThat(this.statistics.revoked(Reason.LEASE_EXPIRED)).isOne();
	}

	@Test
	void timeAcquisitionFromTheReplyToTheGrant() {
		this.store.predecessor = "backend 7";
		at(Duration.ofSeconds(2), () -> this.store.predecessor = null);
		stopAt(Duration.ofSeconds(4)).run();
		then(this.timed).should().acquired(this.nanos.capture());
		assertThat(Duration.ofNanos(this.nanos.getValue())).isBetween(Duration.ofSeconds(2), Duration.ofMillis(2100));
	}

	@Test
	void timeConfirmations() {
		this.store.skip(Call.CONFIRM, 2);
		this.store.next(Call.CONFIRM, () -> this.time.advance(Duration.ofMillis(700)));
		stopAt(Duration.ofMillis(2500)).run();
		then(this.timed).should(times(4)).confirmed(this.nanos.capture());
		assertThat(this.nanos.getAllValues()).containsExactly(0L, 0L, Duration.ofMillis(700).toNanos(), 0L);
	}

	@Test
	void timeADrainFromTheShutGateToTheFreeLock() {
		Work[] work = new Work[1];
		at(Duration.ofSeconds(1), () -> work[0] = this.election.gate().enter("job"));
		at(Duration.ofSeconds(2), () -> this.election.resign("application"));
		at(Duration.ofSeconds(5), () -> work[0].close());
		this.store.next(Call.RELEASE, () -> this.time.advance(Duration.ofSeconds(1)));
		stopAt(Duration.ofSeconds(7)).run();
		then(this.timed).should(atLeastOnce()).drained(this.nanos.capture());
		assertThat(Duration.ofNanos(this.nanos.getAllValues().get(0))).isBetween(Duration.ofSeconds(4),
				Duration.ofMillis(4100));
	}

	@Test
	void timeNoDrainThatBecameALoss() {
		at(Duration.ofSeconds(1), () -> {
			this.store.fail(Call.RELEASE);
			this.election.resign("application");
		}).stopAt(Duration.ofSeconds(2)).run();
		then(this.timed).should(never()).drained(anyLong());
	}

	@Test
	void survivesAListenerThatFails() {
		willThrow(new IllegalStateException("Broken")).given(this.timed).confirmed(anyLong());
		stopAt(Duration.ofSeconds(2)).run();
		assertThat(tracedEvents()).containsExactly("granted 1", "revoked 1 STOPPED");
		assertThat(this.statistics.revoked(Reason.STOPPED)).isOne();
	}

	@Test
	void survivesAListenerOfEventsThatFailsAndLogsThat(CapturedOutput output) {
		this.listener = (event) -> {
			throw new NoClassDefFoundError("Broken");
		};
		stopAt(Duration.ofSeconds(2)).run();
		assertThat(tracedEvents()).containsExactly("granted 1", "revoked 1 STOPPED");
		assertThat(output).contains("A listener of LeadershipGrantedEvent failed")
			.contains("A listener of LeadershipRevokedEvent failed");
	}

	@Test
	void survivesListenersThatDoNotLinkAndLogsThatOnce(CapturedOutput output) {
		willThrow(new NoClassDefFoundError("Broken")).given(this.timed).acquired(anyLong());
		willThrow(new NoClassDefFoundError("Broken")).given(this.timed).confirmed(anyLong());
		stopAt(Duration.ofSeconds(5)).run();
		assertThat(tracedEvents()).containsExactly("granted 1", "revoked 1 STOPPED");
		assertThat(this.statistics.revoked(Reason.SESSION_LOST)).isZero();
		assertThat(output.getAll().split("Election listener failed", -1)).hasSize(2);
	}

	@Test
	void tellEachListenerOfEachMethodOnce() {
		InvocationCounts first = this.statistics.invocations("Jobs.first");
		Listener later = mock();
		this.statistics.addListener(later);
		InvocationCounts second = this.statistics.invocations("Jobs.second");
		assertThat(this.statistics.invocations("Jobs.second")).isSameAs(second);
		for (Listener listener : List.of(this.timed, later)) {
			then(listener).should().guarded(first);
			then(listener).should().guarded(second);
		}
	}

}
