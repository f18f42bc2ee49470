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

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

import io.leaderelection.LeaderElector;
import io.leaderelection.Leadership;
import io.leaderelection.LeadershipEvent;
import io.leaderelection.LeadershipGrantedEvent;
import io.leaderelection.engine.EventRelay.Delivery;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;
import static org.mockito.Mockito.mock;

/**
 * Tests for {@link EventRelay}.
 */
@Timeout(60)
class EventRelayTests {

	private final List<LeadershipEvent> delivered = new CopyOnWriteArrayList<>();

	private final Deque<Runnable> tasks = new ArrayDeque<>();

	private int idle;

	@Test
	void deliversInOrderAndReportsWhenItIsIdle() {
		EventRelay relay = relay(this.delivered::add, this.tasks::add);
		LeadershipEvent first = event();
		LeadershipEvent second = event();
		assertThat(relay.isIdle()).isTrue();
		relay.enqueue(new Delivery(first));
		relay.enqueue(new Delivery(second));
		assertThat(relay.isIdle()).isFalse();
		assertThat(relay.isSettled()).isFalse();
		assertThat(this.tasks).hasSize(1);
		this.tasks.remove().run();
		assertThat(relay.isIdle()).isTrue();
		assertThat(relay.isSettled()).isTrue();
		assertThat(this.idle).isOne();
		assertThat(this.delivered).containsExactly(first, second);
	}

	@Test
	void deliversInOrderOnItsThread() {
		Executor executor = Platform.SYSTEM.newWorkers("test-events", 1, () -> {
		});
		List<Thread> threads = new CopyOnWriteArrayList<>();
		EventRelay relay = relay((event) -> {
			threads.add(Thread.currentThread());
			this.delivered.add(event);
		}, executor);
		List<LeadershipEvent> events = new ArrayList<>();
		for (int i = 0; i < 100; i++) {
			events.add(event());
			relay.enqueue(new Delivery(events.get(i)));
		}
		await().until(relay::isIdle);
		assertThat(this.delivered).containsExactlyElementsOf(events);
		assertThat(threads).containsOnly(threads.get(0));
		assertThat(threads.get(0).getName()).isEqualTo("leader-election-test-events");
		assertThat(threads.get(0).isDaemon()).isTrue();
	}

	@Test
	void goesOnAfterAListenerThatThrows() {
		EventRelay relay = relay((event) -> {
			this.delivered.add(event);
			if (this.delivered.size() == 1) {
				throw new IllegalStateException("test");
			}
			throw new StackOverflowError("test");
		}, Runnable::run);
		relay.enqueue(new Delivery(event()));
		relay.enqueue(new Delivery(event()));
		assertThat(this.delivered).hasSize(2);
		assertThat(relay.isIdle()).isTrue();
	}

	@Test
	void interruptReachesTheRunningListenerAndNoOther() {
		List<Boolean> interrupted = new CopyOnWriteArrayList<>();
		CountDownLatch running = new CountDownLatch(1);
		EventRelay relay = relay((event) -> {
			if (interrupted.isEmpty()) {
				running.countDown();
				interrupted.add(sleepUntilInterrupted());
				Thread.currentThread().interrupt();
			}
			else {
				interrupted.add(Thread.currentThread().isInterrupted());
			}
		}, Platform.SYSTEM.newWorkers("test-events", 1, () -> {
		}));
		relay.interrupt();
		relay.enqueue(new Delivery(event()));
		relay.enqueue(new Delivery(event()));
		await().until(() -> running.getCount() == 0);
		relay.interrupt();
		await().until(relay::isIdle);
		assertThat(interrupted).containsExactly(true, false);
	}

	@Test
	void interruptDoesNotOutliveItsListener() {
		EventRelay relay = relay((event) -> Thread.currentThread().interrupt(), Runnable::run);
		relay.enqueue(new Delivery(event()));
		assertThat(Thread.interrupted()).isFalse();
	}

	@Test
	void listenerThatWaitsForTheHandOverIsSettledUntilItReturns() {
		List<Boolean> settled = new ArrayList<>();
		List<EventRelay> relays = new ArrayList<>();
		EventRelay relay = relay((event) -> {
			settled.add(relays.get(0).isSettled());
			relays.get(0).detachCurrent();
			settled.add(relays.get(0).isSettled());
			assertThat(relays.get(0).isIdle()).isFalse();
		}, this.tasks::add);
		relays.add(relay);
		relay.enqueue(new Delivery(event()));
		relay.enqueue(new Delivery(event()));
		this.tasks.remove().run();
		assertThat(settled).containsExactly(false, true, false, true);
	}

	@Test
	void threadThatRunsNoListenerCannotDetachOne() {
		EventRelay relay = relay(this.delivered::add, this.tasks::add);
		relay.enqueue(new Delivery(event()));
		relay.detachCurrent();
		assertThat(relay.isSettled()).isFalse();
	}

	private EventRelay relay(Consumer<LeadershipEvent> listener, Executor executor) {
		return new EventRelay(listener, executor::execute, () -> this.idle++, () -> {
		});
	}

	private static boolean sleepUntilInterrupted() {
		try {
			new CountDownLatch(1).await(20, TimeUnit.SECONDS);
			return false;
		}
		catch (InterruptedException ex) {
			return true;
		}
	}

	private static LeadershipEvent event() {
		return new LeadershipGrantedEvent(mock(LeaderElector.class), mock(Leadership.class));
	}

}
