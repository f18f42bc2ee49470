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
import java.util.List;

import io.leaderelection.Term;
import io.leaderelection.engine.ElectionState.Suspension;
import io.leaderelection.engine.ElectionStatus.Role;
import io.leaderelection.engine.FakeStore.Call;
import io.leaderelection.engine.StoreSession.Candidate;
import io.leaderelection.engine.StoreSession.Holder;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for a node that observes without a session.
 */
@ExtendWith(OutputCaptureExtension.class)
@Tag("ring1")
class ElectionWatchTests extends ElectionFixture {

	@BeforeEach
	void watch() {
		watch(this.store);
	}

	private void leadAndBeSucceeded() {
		this.store.leader = null;
		this.store.open = true;
		this.store.succeeded = true;
		this.store.next(Call.RELEASE, () -> this.store.leader = OTHER);
	}

	private static void watch(FakeStore store) {
		store.canWatch = true;
		store.leader = OTHER;
		store.candidates = List.of(new Candidate("node-2", "pid 2"), new Candidate("node-3", "pid 3"));
	}

	@Test
	void nodeWatchesUntilItMayBeAdmitted() {
		at(Duration.ofSeconds(30), () -> {
			assertThat(this.store.openings).isEmpty();
			assertThat(this.election.state().contact().watching()).isTrue();
			ElectionStatus status = status();
			assertThat(status.watching()).isTrue();
			assertThat(status.role()).isEqualTo(Role.FOLLOWER);
			assertThat(status.leader()).isEqualTo("node-2");
			assertThat(status.silence()).isLessThan(Duration.ofMillis(7500));
			this.store.leader = null;
			this.store.open = true;
		});
		at(Duration.ofMillis(37_700), () -> {
			assertThat(isLeader()).isTrue();
			assertThat(status().watching()).isFalse();
		}).stopAt(Duration.ofSeconds(39)).run();
		assertThat(this.store.watches.get(0)).isLessThanOrEqualTo(Duration.ofMillis(250));
		for (int i = 1; i < this.store.watches.size(); i++) {
			assertThat(this.store.watches.get(i).minus(this.store.watches.get(i - 1))).isBetween(Duration.ofSeconds(3),
					Duration.ofMillis(7500));
		}
		assertThat(this.store.openings).hasSize(1);
	}

	@Test
	void nodeThatIsNotAdmittedClosesItsSessionAndWatches() {
		this.store.open = true;
		this.store.admits = false;
		this.store.next(Call.OPEN, () -> this.store.open = false);
		at(Duration.ofSeconds(20), () -> {
			assertThat(this.trace).containsExactly("open", "close");
			assertThat(this.store.watches).hasSizeGreaterThan(2);
		}).stopAt(Duration.ofSeconds(21)).run();
	}

	@Test
	void nodeThatLedTriesToBeAdmittedAtOnce() {
		leadAndBeSucceeded();
		at(Duration.ofSeconds(2), () -> {
			assertThat(this.store.watches).hasSize(1);
			this.election.resign("application");
		});
		at(Duration.ofMillis(2500), () -> {
			assertThat(this.store.openings).hasSize(2);
			assertThat(this.store.watches).hasSize(1);
			assertThat(status().watching()).isFalse();
		}).stopAt(Duration.ofSeconds(3)).run();
	}

	@Test
	void nodeThatIsNoCandidateNeverOpensASession() {
		ElectionFixture observer = new ElectionFixture(settings(Duration.ZERO, false));
		watch(observer.store);
		observer.store.open = true;
		observer.at(Duration.ofSeconds(30), () -> {
			assertThat(ElectionStatus.of(observer.election).leader()).isEqualTo("node-2");
			assertThat(observer.store.watches).hasSizeGreaterThan(3);
			assertThat(observer.store.openings).isEmpty();
		});
		observer.stopAt(Duration.ofSeconds(31)).run();
	}

	@Test
	void candidateThatIsSuspendedWatchesUntilItIsResumed() {
		leadAndBeSucceeded();
		at(Duration.ofSeconds(2), () -> this.election.suspendCandidacy(Suspension.UNHEALTHY));
		at(Duration.ofSeconds(12), () -> {
			assertThat(this.store.openings).hasSize(2);
			assertThat(status().watching()).isTrue();
			this.election.resumeCandidacy(Suspension.UNHEALTHY);
		});
		at(Duration.ofMillis(12_100), () -> assertThat(this.store.openings).hasSize(3));
		stopAt(Duration.ofSeconds(13)).run();
	}

	@Test
	void candidateThatWatchesObservesAtTheEndOfItsSuspension() {
		leadAndBeSucceeded();
		at(Duration.ofSeconds(2), () -> this.election.suspendCandidacy(Suspension.SERVICES_FAILED,
				this.election.state().leadership(), Duration.ofSeconds(11)));
		at(Duration.ofMillis(12_900), () -> {
			assertThat(this.store.openings).hasSize(2);
			assertThat(status().watching()).isTrue();
		});
		at(Duration.ofMillis(13_100), () -> assertThat(this.store.openings).hasSize(3));
		stopAt(Duration.ofSeconds(14)).run();
	}

	@Test
	void nodeThatWatchesRequestsWithoutASession() {
		at(Duration.ofSeconds(9), () -> assertThat(this.election.requestResignation(null, "test"))
			.isEqualTo(ResignationAnswer.requested(TERM)));
		stopAt(Duration.ofSeconds(13)).run();
		assertThat(this.trace).containsExactly("request 0:1:775 test");
	}

	@Test
	void failuresThatComeAndGoAreLoggedOnce(CapturedOutput output) {
		for (int i = 0; i < 5; i++) {
			this.store.skip(Call.WATCH);
			this.store.fail(Call.WATCH);
		}
		stopAt(Duration.ofMinutes(1)).run();
		assertThat(output).containsOnlyOnce("Following without a session: The connection broke")
			.containsOnlyOnce("Database reachable again");
	}

	@Test
	void slowStoreIsObservedOneTimeLater() {
		at(Duration.ofSeconds(10), () -> {
			this.store.leader = new Holder("node-3", "pid 3", new Term(0, 1, 780), Instant.EPOCH, NodeProfile.DEFAULT,
					null);
			this.store.open = true;
			this.store.slow = true;
			this.store.watches.clear();
		});
		at(Duration.ofSeconds(40), () -> {
			ElectionStatus status = status();
			assertThat(status.leader()).as("as observed last").isEqualTo("node-2");
			assertThat(status.problem()).isNull();
			assertThat(status.silence()).isGreaterThan(Duration.ofSeconds(30));
			assertThat(this.store.openings).isEmpty();
			assertThat(this.store.watches).hasSizeBetween(4, 10);
			this.store.slow = false;
		});
		at(Duration.ofSeconds(48), () -> assertThat(this.store.openings).hasSize(1));
		stopAt(Duration.ofSeconds(49)).run();
	}

	@Test
	void nodeDoesNotWatchBeforeItHasReachedTheStore(CapturedOutput output) {
		for (int i = 0; i < 3; i++) {
			this.store.next(Call.WATCH, () -> {
				ElectionStatus status = status();
				assertThat(status.watching()).isFalse();
				assertThat(status.lastConfirmation()).isNull();
				throw FakeStore.failure();
			});
		}
		at(Duration.ofSeconds(10), () -> assertThat(status().watching()).isTrue());
		stopAt(Duration.ofSeconds(11)).run();
		assertThat(this.store.failures).isEmpty();
		assertThat(output).containsOnlyOnce("Database reachable").doesNotContain("again", "re-established");
	}

	@Test
	void firstSessionIsNotReestablished(CapturedOutput output) {
		this.store.open = true;
		this.store.fail(Call.WATCH);
		this.store.fail(Call.OPEN);
		this.store.skip(Call.ACQUIRE);
		this.store.fail(Call.ACQUIRE);
		at(Duration.ofSeconds(3), () -> {
			assertThat(this.store.openings).hasSize(3);
			assertThat(output.getAll().indexOf("Session established")).isBetween(0,
					output.getAll().indexOf("Session re-established"));
		}).stopAt(Duration.ofSeconds(4)).run();
		assertThat(output).containsOnlyOnce("Session established")
			.containsOnlyOnce("Session re-established")
			.doesNotContain("Database reachable");
	}

	@Test
	void candidateThatIsNoStandbyWaitsLongerAsLongAsThereAreEnoughOthers() {
		this.store.canWatch = false;
		this.store.standby = false;
		at(Duration.ofSeconds(60), () -> {
			ElectionStatus status = status();
			assertThat(status.watching()).isTrue();
			assertThat(status.leader()).isEqualTo("node-2");
			assertThat(this.store.waits.subList(1, this.store.waits.size())).hasSizeGreaterThan(5)
				.doesNotHaveDuplicates()
				.allSatisfy((wait) -> assertThat(wait).isBetween(Duration.ofSeconds(3), Duration.ofMillis(7500)));
			this.store.standby = true;
			this.store.waits.clear();
		});
		at(Duration.ofSeconds(70), () -> {
			assertThat(status().watching()).isFalse();
			assertThat(this.store.waits).hasSizeGreaterThan(2).containsOnly(Duration.ofMillis(800));
		}).stopAt(Duration.ofSeconds(71)).run();
		assertThat(this.store.openings).hasSize(1);
		assertThat(this.store.watches).isEmpty();
	}

	@Test
	void candidateThatIsNoStandbyRemainsOneThatWatchesWhenItsSessionEnds() {
		this.store.canWatch = false;
		this.store.standby = false;
		this.store.skip(Call.ACQUIRE);
		this.store.next(Call.ACQUIRE, () -> {
			this.store.next(Call.OPEN, () -> {
				ElectionStatus status = status();
				assertThat(status.problem()).isEqualTo("The connection broke");
				assertThat(status.watching()).isTrue();
			});
			throw FakeStore.failure();
		});
		stopAt(Duration.ofSeconds(20)).run();
		assertThat(this.store.openings).hasSize(2);
	}

	@Test
	void nodeThatWatchesIsStoppedAtOnce() {
		stopAt(Duration.ofSeconds(3)).run();
		assertThat(this.time.elapsed()).isEqualTo(Duration.ofSeconds(3));
		assertThat(this.trace).isEmpty();
	}

}
