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

package io.leaderelection.lifecycle;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;

import io.leaderelection.LeadershipGrantedEvent;
import io.leaderelection.LeadershipRevokedEvent;
import io.leaderelection.annotation.LeaderOnly;
import org.jspecify.annotations.Nullable;

import org.springframework.context.Lifecycle;
import org.springframework.context.SmartLifecycle;
import org.springframework.context.event.EventListener;

/**
 * Beans that leadership starts and stops, for tests. What happens to them is in the
 * {@link Log} of the context.
 */
final class Services {

	private Services() {
	}

	/**
	 * What has happened, in order.
	 */
	static class Log {

		final List<String> entries = Collections.synchronizedList(new ArrayList<>());

		@EventListener
		void granted(LeadershipGrantedEvent event) {
			this.entries.add("granted");
		}

		@EventListener
		void revoked(LeadershipRevokedEvent event) {
			this.entries.add("revoked");
		}

	}

	/**
	 * A service that is controlled by the test.
	 */
	@LeaderOnly
	static class Service implements SmartLifecycle {

		final Log log;

		final String name;

		final int phase;

		volatile boolean running;

		Service(Log log, String name) {
			this(log, name, DEFAULT_PHASE);
		}

		Service(Log log, String name, int phase) {
			this.log = log;
			this.name = name;
			this.phase = phase;
		}

		@Override
		public void start() {
			this.log.entries.add("start " + this.name);
			this.running = true;
		}

		@Override
		public void stop() {
			this.running = false;
			this.log.entries.add("stop " + this.name);
		}

		@Override
		public boolean isRunning() {
			return this.running;
		}

		@Override
		public int getPhase() {
			return this.phase;
		}

		boolean work() {
			return true;
		}

	}

	/**
	 * Fails to start twice.
	 */
	static class FailingService extends Service {

		volatile int attempts;

		FailingService(Log log) {
			super(log, "failing");
		}

		@Override
		public void start() {
			if (++this.attempts <= 2) {
				throw new IllegalStateException("Not yet");
			}
			super.start();
		}

	}

	/**
	 * Fails to stop the first time.
	 */
	static class FailingToStop extends Service {

		volatile int stops;

		FailingToStop(Log log) {
			super(log, "service");
		}

		@Override
		public void stop() {
			if (this.stops++ == 0) {
				throw new IllegalStateException("Not now");
			}
			super.stop();
		}

	}

	/**
	 * Stops when it is let.
	 */
	static class SlowService extends Service {

		final CountDownLatch stopping = new CountDownLatch(1);

		final CompletableFuture<@Nullable Void> mayStop = new CompletableFuture<>();

		volatile boolean interrupted;

		boolean stubborn;

		SlowService(Log log) {
			super(log, "slow");
		}

		@Override
		public void stop() {
			this.log.entries.add("stopping");
			this.stopping.countDown();
			try {
				if (this.stubborn) {
					this.mayStop.join();
				}
				this.mayStop.get();
			}
			catch (InterruptedException | ExecutionException ex) {
				this.interrupted = true;
			}
			super.stop();
		}

	}

	/**
	 * Starts when it is let.
	 */
	static class SlowToStart extends Service {

		final CountDownLatch starting = new CountDownLatch(1);

		final CountDownLatch mayStart = new CountDownLatch(1);

		SlowToStart(Log log) {
			super(log, "late");
		}

		@Override
		public void start() {
			this.starting.countDown();
			try {
				this.mayStart.await();
			}
			catch (InterruptedException ex) {
				this.log.entries.add("interrupted");
				throw new IllegalStateException(ex);
			}
			super.start();
		}

	}

	/**
	 * A third-party container that cannot be extended where it matters.
	 */
	static class ForeignContainer implements SmartLifecycle {

		volatile boolean running;

		volatile int starts;

		@Override
		public final void start() {
			this.starts++;
			this.running = true;
		}

		@Override
		public final void stop() {
			this.running = false;
		}

		@Override
		public final boolean isRunning() {
			return this.running;
		}

	}

	/**
	 * No {@code SmartLifecycle}.
	 */
	@LeaderOnly
	static class PlainService implements Lifecycle {

		volatile boolean running;

		@Override
		public void start() {
			this.running = true;
		}

		@Override
		public void stop() {
			this.running = false;
		}

		@Override
		public boolean isRunning() {
			return this.running;
		}

	}

	/**
	 * Occupies the thread that starts it until the test ends.
	 */
	static class Blocked extends PlainService {

		final CountDownLatch starting = new CountDownLatch(1);

		final CompletableFuture<@Nullable Void> mayEnd = new CompletableFuture<>();

		@Override
		public void start() {
			super.start();
			this.starting.countDown();
			this.mayEnd.join();
		}

	}

}
