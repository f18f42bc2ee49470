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
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Tests for elections on real threads while no thread can be started, and for how many
 * they start.
 */
@Timeout(60)
@Tag("ring2")
class ThreadShortageTests extends TwoElectionsFixture {

	private static final Duration LEASE = Duration.ofSeconds(2);

	/** Longer than an idle thread waits for another event. */
	private static final Duration IDLE = Duration.ofMillis(1500);

	private final CountDownLatch released = new CountDownLatch(1);

	ThreadShortageTests() {
		super(LEASE);
	}

	@AfterEach
	void release() {
		this.released.countDown();
	}

	@ParameterizedTest
	@ValueSource(strings = { "loss", "resignation", "expired lease" })
	void revokedEventIsNotLost(String end) {
		leadIdle();
		this.threads.refuse();
		switch (end) {
			case "loss" -> this.store.failNext("probe", FakeStore.failure());
			case "resignation" -> this.elector.resign();
			default -> this.store.cutOff();
		}
		await().until(() -> this.threads.refusals() > 0 || this.events.kinds().size() >= 2);
		await().until(() -> !end.equals("expired lease") || this.store.aborted() > 0);
		this.threads.allow();
		this.store.heal();
		this.events.awaitGranted(2);
		assertThat(this.events.kinds()).containsExactly("granted", "revoked", "granted");
	}

	@Test
	void resignationCompletesOnceThreadsCanBeStartedAgain() {
		leadIdle();
		this.threads.refuse();
		CountDownLatch completed = new CountDownLatch(1);
		this.elector.resign().thenRun(completed::countDown);
		await().until(() -> this.threads.refusals() > 0 || completed.getCount() == 0);
		this.threads.allow();
		await().until(() -> completed.getCount() == 0);
	}

	@Test
	void manyWorksAreCancelledByAFewThreads() {
		int works = 10_000;
		AtomicInteger cancelled = new AtomicInteger();
		leadBoth();
		for (int i = 0; i < works; i++) {
			lastingWork(cancelled::incrementAndGet);
		}
		int before = this.threads.started();
		this.store.cutOff();
		this.otherStore.cutOff();
		await().atMost(LEASE.multipliedBy(3)).until(() -> this.otherStore.aborted() > 0);
		await().until(() -> this.otherEvents.kinds().size() == 2);
		await().until(() -> cancelled.get() >= works);
		assertThat(this.threads.started() - before).isLessThanOrEqualTo(20);
	}

	@Test
	void cancellationThatBlocksDoesNotBlockTheWatchdog() {
		List<String> cancellers = new CopyOnWriteArrayList<>();
		leadBoth();
		lastingWork(() -> {
			cancellers.add(Thread.currentThread().getName());
			awaitLatch(this.released);
		});
		this.threads.refuse();
		this.store.cutOff();
		await().until(() -> !this.elector.isLeader());
		this.otherStore.cutOff();
		await().until(() -> this.store.aborted() > 0 && this.otherStore.aborted() > 0);
		this.threads.allow();
		await().until(() -> this.otherEvents.kinds().size() == 2);
		await().until(() -> !cancellers.isEmpty());
		assertThat(cancellers).noneMatch((name) -> name.contains("watchdog"));
	}

	@Test
	void cancellationsThatBlockDoNotHoldThoseOfAnotherElection() {
		leadBoth();
		for (int i = 0; i < 100; i++) {
			lastingWork(() -> awaitLatch(this.released));
		}
		CountDownLatch cancelled = new CountDownLatch(1);
		try (Work work = this.other.gate().enter("job")) {
			work.continueUntilEnd(cancelled::countDown);
		}
		int before = this.threads.started();
		this.store.cutOff();
		await().until(() -> !this.elector.isLeader());
		this.otherStore.cutOff();
		await().until(() -> this.store.aborted() > 0 && this.otherStore.aborted() > 0);
		await().until(() -> cancelled.getCount() == 0);
		assertThat(this.threads.started() - before).isLessThanOrEqualTo(20);
	}

	@Test
	void noSessionIsOpenedWithoutAWatchdog() {
		this.threads.refuse("watchdog");
		try {
			this.elector.start();
		}
		catch (OutOfMemoryError ex) {
			// The caller may be notified
		}
		await().during(Duration.ofMillis(300)).until(() -> this.store.opened() == 0);
		this.threads.allow();
		this.elector.start();
		this.events.awaitGranted(1);
	}

	private void leadIdle() {
		this.elector.start();
		this.events.awaitGranted(1);
		await().pollDelay(IDLE).until(this.elector::isLeader);
	}

	/**
	 * Start work that has left its thread, and lasts for longer than the test.
	 */
	private void lastingWork(Runnable cancellation) {
		try (Work work = this.elector.gate().enter("job")) {
			work.continueUntilEnd(cancellation);
		}
	}

	private static void awaitLatch(CountDownLatch latch) {
		try {
			latch.await(60, TimeUnit.SECONDS);
		}
		catch (InterruptedException ex) {
			Thread.currentThread().interrupt();
		}
	}

}
