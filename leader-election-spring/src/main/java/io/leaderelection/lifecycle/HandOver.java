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

import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

import io.leaderelection.engine.DefaultLeaderElector;

/**
 * The stop of an election, from its request until leadership has stopped the services.
 */
final class HandOver {

	private final DefaultLeaderElector elector;

	private final CompletableFuture<?> electionStopped;

	private final long deadline;

	private final CompletableFuture<Void> over = new CompletableFuture<>();

	HandOver(DefaultLeaderElector elector, CompletableFuture<?> electionStopped, Duration limit) {
		this.elector = elector;
		this.electionStopped = electionStopped;
		this.deadline = System.nanoTime() + limit.toNanos();
		// There may be no leadership to revoke, and then no event
		electionStopped.whenComplete((stopped, failure) -> servicesStopped());
	}

	boolean isOf(CompletableFuture<?> stopped) {
		return this.electionStopped == stopped;
	}

	/**
	 * Note that leadership has stopped all services that could be stopped.
	 */
	void servicesStopped() {
		this.over.complete(null);
	}

	/**
	 * Return whether leadership is still to stop the services.
	 */
	boolean isInProgress() {
		return !this.over.isDone() && this.deadline - System.nanoTime() > 0;
	}

	/**
	 * Wait until the hand-over has ended, unless it waits for the current thread itself,
	 * or until the current thread is interrupted.
	 */
	void await() {
		if (this.elector.getWorkLeadership() != null) {
			return;
		}
		try {
			this.over.get(Math.max(0, this.deadline - System.nanoTime()), TimeUnit.NANOSECONDS);
		}
		catch (InterruptedException ex) {
			Thread.currentThread().interrupt();
		}
		catch (ExecutionException ex) {
			throw new IllegalStateException(ex);
		}
		catch (TimeoutException ex) {
			// The container stops services that leadership has not stopped
		}
	}

}
