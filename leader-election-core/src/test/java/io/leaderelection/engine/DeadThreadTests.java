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
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.Condition;

import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Tests for threads that die although everything that can be caught is caught.
 */
@Timeout(60)
@Tag("ring1")
class DeadThreadTests {

	private final List<Thread> threads = new CopyOnWriteArrayList<>();

	/** How often waits and parks of a thread are yet to fail, by a part of its name. */
	private volatile String mortal = "";

	private final AtomicInteger failures = new AtomicInteger();

	private final Platform platform = new TestPlatform() {

		@Override
		public Thread newThread(String name, Runnable task) {
			Thread thread = super.newThread(name, task);
			DeadThreadTests.this.threads.add(thread);
			return thread;
		}

		@Override
		public void park(Object blocker, long nanos) {
			fail();
			super.park(blocker, nanos);
		}

		@Override
		public void await(Condition condition, long nanos) throws InterruptedException {
			fail();
			super.await(condition, nanos);
		}

	};

	private final HookedStore store = new HookedStore();

	private final RecordedEvents events = new RecordedEvents();

	private final Watchdog watchdog = new Watchdog(this.platform);

	private final DefaultLeaderElector elector = new DefaultLeaderElector(
			new ElectionSettings("mortal", "node-1", Duration.ofSeconds(2), Duration.ZERO, Duration.ofSeconds(1), true),
			ElectionTimings.DEFAULTS, this.store, this.watchdog, this.platform, this.events, ElectionLog.NONE,
			Election::new);

	private void fail() {
		if (Thread.currentThread().getName().equals("leader-election-" + this.mortal)
				&& this.failures.getAndDecrement() > 0) {
			throw new StackOverflowError("test");
		}
	}

	@BeforeEach
	void leaveUncaughtErrorsToTheirThreads() {
		// JUnit would take some errors for its own
		Awaitility.doNotCatchUncaughtExceptionsByDefault();
	}

	@AfterEach
	void stop() {
		Awaitility.reset();
		this.elector.stop();
	}

	@Test
	void electionThreadThatDiesIsStartedAgain() {
		this.elector.start();
		this.events.awaitGranted(1);
		this.failures.set(2);
		this.mortal = "mortal";
		// The pause after this failure fails, and so does the one after that
		this.store.beforeNext("confirm", () -> {
			throw new SessionException("The connection broke", null);
		});
		this.events.awaitGranted(2);
		assertThat(this.events.kinds()).containsExactly("granted", "revoked", "granted");
		assertThat(named("mortal")).hasSize(2);
		// It is replaced shortly before it ends
		await().until(() -> !named("mortal").get(0).isAlive());
		assertThat(this.elector.stop()).succeedsWithin(Duration.ofSeconds(10));
	}

	@Test
	void watchdogThatDiesIsStartedAgain() {
		this.elector.start();
		this.events.awaitGranted(1);
		this.failures.set(2);
		this.mortal = "watchdog";
		await().until(() -> named("watchdog").size() == 2);
		assertThat(named("watchdog").get(0).isAlive()).isFalse();
		this.store.cutOff();
		await().until(() -> this.store.aborted() > 0);
		this.store.heal();
		this.events.awaitGranted(2);
	}

	private List<Thread> named(String name) {
		return this.threads.stream().filter((thread) -> thread.getName().equals("leader-election-" + name)).toList();
	}

}
