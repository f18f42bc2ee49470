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
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Tests for the threads of elections: they outlive what was created with them, so they
 * hold nothing of the thread that happened to create them.
 */
@Timeout(60)
@Tag("ring1")
class ElectionThreadsTests {

	private final InheritableThreadLocal<String> inheritable = new InheritableThreadLocal<>();

	/**
	 * What each thread had, by what it was seen to do.
	 */
	private final Map<String, String> inherited = new ConcurrentHashMap<>();

	private final HookedStore store = new HookedStore();

	@AfterEach
	void clear() {
		this.inheritable.remove();
	}

	@Test
	void threadsInheritNothing() {
		this.inheritable.set("request of a user");
		ElectionSettings settings = new ElectionSettings("default", "node-1", Duration.ofSeconds(1), Duration.ZERO,
				Duration.ofSeconds(1), true);
		DefaultLeaderElector elector = new DefaultLeaderElectors(List.of(settings), (any) -> this.store,
				(event) -> record("listener"))
			.getDefault();
		this.store.before("acquire", () -> record("election"));
		elector.start();
		await().until(elector::isLeader);
		CountDownLatch observed = new CountDownLatch(1);
		this.store.beforeNext("release", observed::await);
		elector.resign().thenRun(() -> record("resignation"));
		observed.countDown();
		await().until(() -> this.inherited.containsKey("resignation"));
		await().until(elector::isLeader);
		try (Work work = elector.gate().enter("job")) {
			work.continueUntilEnd(() -> {
				record("cancellation");
				work.end();
			});
		}
		this.store.before("abort", () -> record("watchdog"));
		this.store.cutOff();
		await().until(() -> this.inherited.keySet()
			.containsAll(List.of("election", "listener", "resignation", "cancellation", "watchdog")));
		elector.stop();
		assertThat(this.inherited.values()).containsOnly("nothing");
	}

	private void record(String what) {
		String value = this.inheritable.get();
		this.inherited.merge(what, (value != null) ? value : "nothing",
				(first, second) -> first.equals("nothing") ? second : first);
	}

}
