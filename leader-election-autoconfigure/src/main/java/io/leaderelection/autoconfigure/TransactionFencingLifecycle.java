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

package io.leaderelection.autoconfigure;

import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

import io.leaderelection.engine.Platform;
import io.leaderelection.transaction.TransactionFencing;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;

import org.springframework.context.SmartLifecycle;

/**
 * Determines at start which transactions are fenced, as soon as the identity of the
 * election database is known. This happens on a separate thread, since a pool may block
 * its callers for a long time. The start waits for the result only if all transactions
 * must be fenced.
 */
final class TransactionFencingLifecycle implements SmartLifecycle {

	private static final Log logger = LogFactory.getLog(TransactionFencingLifecycle.class);

	private static final Duration LONGEST_START = Duration.ofSeconds(10);

	private static final Duration RETRY = Duration.ofSeconds(5);

	private final TransactionFencing fencing;

	private volatile boolean running;

	private volatile @Nullable Thread inspector;

	TransactionFencingLifecycle(TransactionFencing fencing) {
		this.fencing = fencing;
	}

	@Override
	public int getPhase() {
		return Integer.MAX_VALUE;
	}

	@Override
	public boolean isRunning() {
		return this.running;
	}

	@Override
	public void start() {
		if (this.fencing.isEnabled()) {
			CountDownLatch inspected = startInspector();
			if (this.fencing.isRequired()) {
				await(inspected);
				try {
					this.fencing.checkRequired();
				}
				catch (RuntimeException ex) {
					// The container does not stop a bean that has not started
					stop();
					throw ex;
				}
			}
		}
		this.running = true;
	}

	private CountDownLatch startInspector() {
		CountDownLatch inspected = new CountDownLatch(1);
		Thread thread = Platform.SYSTEM.newThread("fencing", () -> inspect(inspected));
		this.inspector = thread;
		thread.start();
		return inspected;
	}

	/**
	 * Inspect the transaction managers until the coverage of all is known: the database
	 * may be unreachable at first.
	 */
	private void inspect(CountDownLatch inspected) {
		try {
			boolean known = this.fencing.inspect();
			inspected.countDown();
			// Not only until the interrupt, which a driver or a pool may have cleared
			while (!known && this.inspector == Thread.currentThread()) {
				Thread.sleep(RETRY.toMillis());
				known = this.fencing.inspect();
			}
		}
		catch (InterruptedException ex) {
			Thread.currentThread().interrupt();
		}
		catch (Throwable ex) {
			if (this.inspector != Thread.currentThread()) {
				logger.debug("Stopped determining which transactions are fenced", ex);
				return;
			}
			logger.warn("Could not determine which transactions are fenced; each one is checked at its commit", ex);
		}
		finally {
			inspected.countDown();
		}
	}

	private static void await(CountDownLatch inspected) {
		try {
			if (!inspected.await(LONGEST_START.toMillis(), TimeUnit.MILLISECONDS)) {
				logger.warn("Could not determine within " + ElectionDefinitions.print(LONGEST_START)
						+ " which transactions are fenced; each one is checked at its commit");
			}
		}
		catch (InterruptedException ex) {
			Thread.currentThread().interrupt();
		}
	}

	@Override
	public void stop() {
		this.running = false;
		Thread thread = this.inspector;
		this.inspector = null;
		if (thread != null) {
			// May close a channel of the application, which must not delay the stop
			Platform.SYSTEM.newThread("fencing-stop", thread::interrupt).start();
		}
	}

}
