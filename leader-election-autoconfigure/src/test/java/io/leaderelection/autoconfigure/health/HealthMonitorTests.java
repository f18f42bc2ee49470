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
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BooleanSupplier;
import java.util.function.Predicate;

import io.leaderelection.LeaderElector;
import io.leaderelection.engine.DefaultLeaderElector;
import io.leaderelection.engine.DefaultLeaderElectors;
import io.leaderelection.engine.ElectionSettings;
import io.leaderelection.engine.ElectionStore;
import io.leaderelection.engine.LocalStore;
import io.leaderelection.engine.SessionException;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;

import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;

import static org.assertj.core.api.Assertions.assertThat;
import static org.mockito.BDDMockito.then;
import static org.mockito.BDDMockito.willAnswer;
import static org.mockito.BDDMockito.willThrow;
import static org.mockito.Mockito.CALLS_REAL_METHODS;
import static org.mockito.Mockito.atLeast;
import static org.mockito.Mockito.mock;

/**
 * Tests for {@link HealthMonitor}.
 */
@ExtendWith(OutputCaptureExtension.class)
@Timeout(60)
@Tag("ring1")
class HealthMonitorTests {

	private final ElectionStore store = mock(CALLS_REAL_METHODS);

	private final DefaultLeaderElectors electors = new DefaultLeaderElectors(
			List.of(settings("first"), settings("second")), (settings) -> this.store, (event) -> {
			});

	private final AtomicInteger probes = new AtomicInteger();

	private final AtomicInteger underWay = new AtomicInteger();

	private final AtomicInteger mostUnderWay = new AtomicInteger();

	private volatile CountDownLatch answer = new CountDownLatch(0);

	private volatile boolean healthy = true;

	private HealthMonitor watch;

	@AfterEach
	void stop() {
		this.answer.countDown();
		this.watch.stop();
		this.electors.all().forEach(DefaultLeaderElector::stop);
	}

	@Test
	void suspendsEachElectionAlthoughItsStoreFails(CapturedOutput output) throws Exception {
		willThrow(new NoClassDefFoundError("Broken")).given(this.store).resigned();
		start(this::isHealthy);
		for (int round = 0; round < 2; round++) {
			this.healthy = false;
			Awaitility.await().until(() -> all(DefaultLeaderElector::isSuspendedUntilResumed));
			this.healthy = true;
			Awaitility.await().until(() -> all((elector) -> !elector.isSuspendedUntilResumed()));
		}
		then(this.store).should(atLeast(2)).resigned();
		assertThat(output).contains("Unexpected failure in a thread of leader election");
	}

	@Test
	void healthThatCannotBeReadIsUnhealthy() throws Exception {
		start(() -> {
			if (!this.healthy) {
				throw new NoClassDefFoundError("Broken");
			}
			return true;
		});
		this.healthy = false;
		Awaitility.await().until(() -> all(DefaultLeaderElector::isSuspendedUntilResumed));
		this.healthy = true;
		Awaitility.await().until(() -> all(LeaderElector::isLeader));
	}

	@Test
	void checkThatHangsIsBadAndThereIsNoSecondOneEvenAfterARestart(CapturedOutput output) throws Exception {
		start(this::isHealthy);
		this.answer = new CountDownLatch(1);
		Awaitility.await().until(() -> all((elector) -> elector.isSuspendedUntilResumed() && !elector.isLeader()));
		assertThat(output).contains("Suspending candidacy until health of the test is healthy: it does not answer");
		int before = this.probes.get();
		// No check can suspend candidacy again before the assertion
		synchronized (this.watch) {
			this.watch.stop();
			this.watch.start();
			assertThat(all(DefaultLeaderElector::isSuspendedUntilResumed)).isFalse();
		}
		Awaitility.await().until(() -> all((elector) -> elector.isSuspendedUntilResumed() && !elector.isLeader()));
		assertThat(this.probes).hasValue(before);
		this.answer.countDown();
		Awaitility.await().until(() -> all(LeaderElector::isLeader));
		assertThat(this.mostUnderWay).hasValue(1);
	}

	@Test
	void answerOfAnEarlierRunDoesNotCount() throws Exception {
		start(this::isHealthy);
		this.answer = new CountDownLatch(1);
		Awaitility.await().until(() -> this.underWay.get() == 1);
		this.healthy = false;
		this.watch.stop();
		this.answer.countDown();
		Awaitility.await().until(() -> this.underWay.get() == 0);
		this.healthy = true;
		this.watch.start();
		int before = this.probes.get();
		Awaitility.await().until(() -> this.probes.get() > before + 2);
		assertThat(all(DefaultLeaderElector::isSuspendedUntilResumed)).isFalse();
		assertThat(all((elector) -> elector.statistics().granted() == 1)).isTrue();
	}

	@Test
	@Tag("ring2")
	void healthThatFlapsMovesLeadershipOnce(CapturedOutput output) throws Exception {
		start(() -> this.probes.incrementAndGet() % 2 != 0 || this.healthy);
		this.healthy = false;
		Awaitility.await().until(() -> all((elector) -> elector.isSuspendedUntilResumed() && !elector.isLeader()));
		int before = this.probes.get();
		Awaitility.await().until(() -> this.probes.get() > before + 15);
		assertThat(all((elector) -> elector.isSuspendedUntilResumed() && elector.statistics().granted() == 1)).isTrue();
		assertThat(output).doesNotContain("Resuming candidacy");
		this.healthy = true;
		Awaitility.await().until(() -> all(LeaderElector::isLeader));
	}

	private void start(BooleanSupplier health) throws SessionException {
		willAnswer((call) -> LocalStore.always().open()).given(this.store).open();
		this.electors.all().forEach(DefaultLeaderElector::start);
		Awaitility.await().until(() -> all(LeaderElector::isLeader));
		this.watch = new HealthMonitor(this.electors, health, "health of the test", Duration.ZERO);
		this.watch.start();
		this.watch.onApplicationEvent(mock());
	}

	private boolean isHealthy() {
		this.probes.incrementAndGet();
		this.mostUnderWay.accumulateAndGet(this.underWay.incrementAndGet(), Math::max);
		try {
			this.answer.await();
			return this.healthy;
		}
		catch (InterruptedException ex) {
			throw new IllegalStateException(ex);
		}
		finally {
			this.underWay.decrementAndGet();
		}
	}

	private boolean all(Predicate<DefaultLeaderElector> condition) {
		return this.electors.all().stream().allMatch(condition);
	}

	private static ElectionSettings settings(String election) {
		return new ElectionSettings(election, "node-1", Duration.ofSeconds(5), Duration.ZERO, Duration.ofSeconds(1),
				true);
	}

}
