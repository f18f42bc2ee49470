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
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

import io.leaderelection.ElectionEvent;
import io.leaderelection.LeadershipRevokedEvent;
import io.leaderelection.LeadershipRevokedEvent.Reason;
import io.leaderelection.engine.Watchdog.Supervised;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Tests for {@link Watchdog}, with its real thread.
 */
@Timeout(60)
@Tag("ring1")
class WatchdogTests {

	private final List<Thread> threads = new CopyOnWriteArrayList<>();

	private final Watchdog watchdog = new Watchdog(new TestPlatform() {

		@Override
		public Thread newThread(String name, Runnable task) {
			Thread thread = super.newThread(name, task);
			WatchdogTests.this.threads.add(thread);
			return thread;
		}

	}, new DirectInterrupter(Platform.SYSTEM));

	@Test
	void looksAgainForAnEarlierDeadlineAndOnlyThen() {
		AtomicInteger checks = new AtomicInteger();
		Supervised election = supervised(checks);
		this.watchdog.add(election);
		await().until(() -> isAsleepAfter(checks, 1));
		this.watchdog.checkWithin(TimeUnit.HOURS.toNanos(2));
		assertThat(checks).hasValue(1);
		this.watchdog.checkWithin(TimeUnit.MINUTES.toNanos(30));
		await().until(() -> isAsleepAfter(checks, 2));
		this.watchdog.checkWithin(TimeUnit.MINUTES.toNanos(30));
		await().until(() -> isAsleepAfter(checks, 3));
		this.watchdog.remove(election);
		awaitEnd(this.threads.get(0));
	}

	@Test
	void checkThatAsksForTheNextOneDoesNotCauseItAtOnce() {
		AtomicInteger checks = new AtomicInteger();
		Supervised election = () -> {
			checks.incrementAndGet();
			this.watchdog.checkWithin(TimeUnit.MINUTES.toNanos(30));
			return Watchdog.NO_DEADLINE;
		};
		this.watchdog.add(election);
		await().until(() -> isAsleepAfter(checks, 1));
		this.watchdog.remove(election);
		awaitEnd(this.threads.get(0));
	}

	@Test
	void hasOneThreadForAllElectionsThatEndsWithTheLast() {
		AtomicInteger firstLooks = new AtomicInteger();
		AtomicInteger secondLooks = new AtomicInteger();
		Supervised first = supervised(firstLooks);
		Supervised second = supervised(secondLooks);
		this.watchdog.add(first);
		this.watchdog.add(second);
		this.watchdog.add(second);
		assertThat(this.threads).hasSize(1);
		this.watchdog.remove(first);
		await().until(() -> secondLooks.get() > 0);
		assertThat(this.threads.get(0).isAlive()).isTrue();
		this.watchdog.remove(second);
		awaitEnd(this.threads.get(0));
		this.watchdog.add(first);
		assertThat(this.threads).hasSize(2);
		this.watchdog.remove(first);
		awaitEnd(this.threads.get(1));
	}

	@Test
	void failureOfOneElectionDoesNotConcernAnother() {
		Supervised broken = () -> {
			throw new IllegalStateException("test");
		};
		AtomicInteger checks = new AtomicInteger();
		Supervised election = supervised(checks);
		this.watchdog.add(broken);
		this.watchdog.add(election);
		await().until(() -> checks.get() > 2);
		this.watchdog.remove(broken);
		this.watchdog.remove(election);
		awaitEnd(this.threads.get(0));
	}

	@Test
	void revokesAndAbortsWhileTheElectionThreadHangs() {
		ElectionSettings settings = new ElectionSettings("default", "node-1", Duration.ofSeconds(2), Duration.ZERO,
				Duration.ofSeconds(20), true);
		List<ElectionEvent> events = new CopyOnWriteArrayList<>();
		HookedStore store = new HookedStore();
		DefaultLeaderElector elector = new DefaultLeaderElector(settings, ElectionTimings.DEFAULTS, LogContext.NONE,
				store, this.watchdog, events::add);
		elector.start();
		await().until(elector::isLeader);
		store.cutOff();
		await().until(() -> events.size() == 2);
		assertThat(elector.isLeader()).isFalse();
		assertThat(events.get(1)).isInstanceOfSatisfying(LeadershipRevokedEvent.class,
				(revoked) -> assertThat(revoked.getReason()).isEqualTo(Reason.LEASE_EXPIRED));
		await().until(() -> store.aborted() == 1);
		elector.stop().join();
		awaitEnd(this.threads.get(0));
	}

	private boolean isAsleepAfter(AtomicInteger checks, int expected) {
		return checks.get() == expected && this.threads.get(0).getState() == Thread.State.TIMED_WAITING;
	}

	private static Supervised supervised(AtomicInteger checks) {
		return () -> {
			checks.incrementAndGet();
			return Watchdog.NO_DEADLINE;
		};
	}

	private static void awaitEnd(Thread thread) {
		await().until(() -> !thread.isAlive());
	}

}
