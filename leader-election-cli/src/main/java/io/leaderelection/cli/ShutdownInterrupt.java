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

package io.leaderelection.cli;

import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/**
 * Interrupts the thread of the command when the process is asked to end, and lets it
 * close and drop what it has created, in its usual order.
 */
final class ShutdownInterrupt implements AutoCloseable {

	private static final Duration LIMIT = Duration.ofSeconds(30);

	private final Thread command = Thread.currentThread();

	private final CountDownLatch end = new CountDownLatch(1);

	private final Thread hook = new Thread(this::interrupt, "shutdown");

	private volatile boolean requested;

	ShutdownInterrupt() {
		Runtime.getRuntime().addShutdownHook(this.hook);
	}

	private void interrupt() {
		this.requested = true;
		this.command.interrupt();
		try {
			this.end.await(LIMIT.toMillis(), TimeUnit.MILLISECONDS);
		}
		catch (InterruptedException ex) {
			Thread.currentThread().interrupt();
		}
	}

	/**
	 * Return whether the process is asked to end. A failure then means nothing.
	 */
	boolean isRequested() {
		return this.requested;
	}

	@Override
	public void close() {
		this.end.countDown();
		try {
			Runtime.getRuntime().removeShutdownHook(this.hook);
		}
		catch (IllegalStateException ex) {
			// The process ends
		}
	}

}
