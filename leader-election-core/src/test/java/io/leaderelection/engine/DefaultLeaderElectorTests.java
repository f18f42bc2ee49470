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

import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

import io.leaderelection.ElectionEvent;
import io.leaderelection.Leadership;
import io.leaderelection.LeadershipEvent;
import io.leaderelection.LeadershipRevokedEvent.Reason;
import io.leaderelection.engine.ElectionStatus.Role;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIOException;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

/**
 * Tests for {@link DefaultLeaderElector} and {@link DefaultLeaderElectors} on
 * {@link LocalStore}, with real threads.
 */
@Timeout(60)
@Tag("ring1")
class DefaultLeaderElectorTests {

	private static final Duration LONG = Duration.ofSeconds(20);

	private final List<ElectionEvent> events = new CopyOnWriteArrayList<>();

	private final List<DefaultLeaderElector> electors = new ArrayList<>();

	@AfterEach
	void stop() {
		this.electors.forEach((elector) -> assertThat(elector.stop()).succeedsWithin(LONG));
	}

	@Test
	void alwaysLeadsFromTheFirstDecisionUntilTheStop() throws Exception {
		DefaultLeaderElector elector = elector(LocalStore.always());
		assertThat(elector.status().role()).isEqualTo(Role.STOPPED);
		assertThat(elector.start()).succeedsWithin(LONG);
		assertThat(elector.isLeader()).isTrue();
		assertThat(elector.awaitLeadership(Duration.ZERO)).isTrue();
		assertThat(elector.status().role()).isEqualTo(Role.LEADER);
		assertThat(elector.status().leader()).isEqualTo("node-1");
		Leadership leadership = elector.getLeadership();
		assertThat(leadership).isNotNull();
		assertThat(leadership.isCurrent()).isTrue();
		assertThat(elector.stop()).succeedsWithin(LONG);
		assertThat(elector.isLeader()).isFalse();
		assertThat(leadership.isCurrent()).isFalse();
		assertThat(this.events).hasSize(2)
			.allSatisfy((event) -> assertThat(((LeadershipEvent) event).getLeadership()).isSameAs(leadership))
			.allSatisfy((event) -> assertThat(event.getElection()).isEqualTo("default"));
	}

	@Test
	void stageOfOneResignationDoesNotDelayAnother() throws Exception {
		DefaultLeaderElector elector = started(LocalStore.always());
		CountDownLatch second = new CountDownLatch(1);
		// The hand-over waits for it, so that the stage does not run on this thread
		Work work = Objects.requireNonNull(elector.election().gate().enter("work"));
		CompletableFuture<Boolean> first = elector.resign().thenApply((resigned) -> {
			try {
				return resigned && second.await(LONG.toSeconds(), TimeUnit.SECONDS);
			}
			catch (InterruptedException ex) {
				throw new IllegalStateException(ex);
			}
		});
		work.close();
		assertThat(elector.awaitLeadership(LONG)).isTrue();
		assertThat(elector.resign()).succeedsWithin(LONG);
		second.countDown();
		assertThat(first).succeedsWithin(LONG).isEqualTo(true);
	}

	@Test
	void neverLeads() throws Exception {
		DefaultLeaderElector elector = started(LocalStore.manual(false));
		assertThat(elector.isLeader()).isFalse();
		assertThat(elector.awaitLeadership(Duration.ZERO)).isFalse();
		assertThat(elector.status().role()).isEqualTo(Role.FOLLOWER);
		assertThat(elector.runIfLeader(() -> {
			throw new IllegalStateException("must not run");
		})).isFalse();
		assertThat(elector.runWithLeadership((leadership) -> {
			throw new IllegalStateException("must not run");
		})).isFalse();
		assertThat(elector.<String>callIfLeader(() -> "result")).isEmpty();
		assertThat(elector.stop()).succeedsWithin(LONG);
		assertThat(this.events).isEmpty();
	}

	@Test
	void awaitLeadershipReturnsAtOnceIfThereIsNoTime() throws Exception {
		DefaultLeaderElector elector = started(LocalStore.manual(false));
		assertThat(elector.awaitLeadership(Duration.ofNanos(-1))).isFalse();
		assertThat(elector.awaitLeadership(Duration.ofSeconds(Long.MIN_VALUE))).isFalse();
	}

	@ParameterizedTest
	@ValueSource(longs = { 20, Long.MAX_VALUE })
	void awaitLeadershipReturnsWhenLeadershipIsGranted(long seconds) {
		DefaultLeaderElector elector = elector(LocalStore.always());
		CompletableFuture<Boolean> leads = CompletableFuture.supplyAsync(() -> {
			try {
				return elector.awaitLeadership(Duration.ofSeconds(seconds));
			}
			catch (InterruptedException ex) {
				throw new IllegalStateException(ex);
			}
		});
		elector.start();
		assertThat(leads).succeedsWithin(LONG).isEqualTo(true);
	}

	@Test
	void runsWorkInItsTermAndLetsItsExceptionsThrough() throws Exception {
		DefaultLeaderElector elector = started(LocalStore.always());
		assertThat(elector.getWorkLeadership()).isNull();
		assertThat(elector
			.runIfLeader(() -> assertThat(elector.getWorkLeadership()).isNotNull().isSameAs(elector.getLeadership())))
			.isTrue();
		assertThat(elector.getWorkLeadership()).isNull();
		assertThat(elector.runWithLeadership(
				(leadership) -> assertThat(leadership).isSameAs(elector.getWorkLeadership()).isNotNull()))
			.isTrue();
		assertThat(elector.callIfLeader(() -> "result")).contains("result");
		assertThat(elector.callIfLeader(() -> null)).isEmpty();
		assertThatIOException().isThrownBy(() -> elector.callIfLeader(() -> {
			throw new IOException("test");
		}));
		assertThat(elector.gate().isEmpty()).isTrue();
	}

	@Test
	void workLastsUntilItsStageCompletes() throws Exception {
		DefaultLeaderElector elector = started(LocalStore.always());
		CompletableFuture<String> stage = elector.callIfLeader(CompletableFuture<String>::new).orElseThrow();
		CompletableFuture<Boolean> handOver = elector.resign();
		assertThat(elector.isLeader()).isFalse();
		assertThat(handOver).isNotDone();
		stage.complete("result");
		assertThat(handOver).succeedsWithin(LONG).isEqualTo(true);
	}

	@Test
	void workMayWaitForItsOwnHandOver() {
		DefaultLeaderElector elector = started(LocalStore.always());
		assertThat(elector.runIfLeader(() -> assertThat(elector.resign().join()).isTrue())).isTrue();
		assertThat(elector.statistics().revoked(Reason.RESIGNED)).isOne();
		assertThat(elector.stop()).succeedsWithin(LONG);
		assertThat(elector.resign()).isCompletedWithValue(false);
	}

	/**
	 * The session is probed every second only. Ten waits to the end of that would take
	 * five seconds in the mean.
	 */
	@Test
	void resignationDoesNotWaitForTheNextProbe() throws Exception {
		DefaultLeaderElector elector = started(LocalStore.always());
		long handOvers = 0;
		for (int i = 0; i < 10; i++) {
			assertThat(elector.awaitLeadership(LONG)).isTrue();
			long start = System.nanoTime();
			assertThat(elector.resign()).succeedsWithin(LONG).isEqualTo(true);
			handOvers += System.nanoTime() - start;
		}
		assertThat(Duration.ofNanos(handOvers)).isLessThan(Duration.ofMillis(2500));
	}

	@Test
	void electorsAreFoundByName() {
		DefaultLeaderElectors electors = new DefaultLeaderElectors(List.of(settings("default"), settings("reports")),
				(settings) -> LocalStore.manual(false), this.events::add);
		assertThat(electors.getElections()).containsExactly("default", "reports");
		assertThat(electors.getDefault()).isSameAs(electors.get("default"));
		assertThat(electors.get("reports").getElection()).isEqualTo("reports");
		assertThat(electors).hasSize(2);
		assertThatIllegalArgumentException().isThrownBy(() -> electors.get("other"))
			.withMessageContaining("'other'")
			.withMessageContaining("reports");
	}

	private DefaultLeaderElector started(ElectionStore store) {
		DefaultLeaderElector elector = elector(store);
		assertThat(elector.start()).succeedsWithin(LONG);
		return elector;
	}

	private DefaultLeaderElector elector(ElectionStore store) {
		DefaultLeaderElector elector = new DefaultLeaderElector(settings("default"), ElectionTimings.DEFAULTS,
				LogContext.NONE, store, new Watchdog(Platform.SYSTEM), this.events::add);
		this.electors.add(elector);
		return elector;
	}

	private static ElectionSettings settings(String election) {
		return new ElectionSettings(election, "node-1", ElectionFixture.LEASE, Duration.ZERO,
				ElectionFixture.DRAIN_TIMEOUT, true);
	}

}
