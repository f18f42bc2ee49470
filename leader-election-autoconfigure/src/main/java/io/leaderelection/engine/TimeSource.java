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

import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;

/**
 * The passing of time, so that tests can drive it.
 */
interface TimeSource {

	/**
	 * The time source of the JVM. On Linux, {@link System#nanoTime()} is
	 * {@code CLOCK_MONOTONIC}: it goes on while the process is stopped, and stands still
	 * while the machine is suspended.
	 */
	TimeSource SYSTEM = new TimeSource() {

		@Override
		public long nanoTime() {
			return System.nanoTime();
		}

		@Override
		public void await(Condition condition, long nanos) throws InterruptedException {
			condition.await(nanos, TimeUnit.NANOSECONDS);
		}

	};

	long nanoTime();

	/**
	 * Wait for the condition, whose lock the caller holds.
	 */
	void await(Condition condition, long nanos) throws InterruptedException;

}
