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

import io.leaderelection.engine.DaemonThreads;
import io.leaderelection.transaction.Coverage;
import io.leaderelection.transaction.TransactionFencing;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;

import org.springframework.context.SmartLifecycle;

/**
 * Finds out at start which transactions are fenced: as soon as the elections know their
 * database, and on a thread of its own, since a pool may let its callers wait for long.
 * Only if all must be fenced does the start wait for that.
 */
final class TransactionFencingLifecycle implements SmartLifecycle {

	private static final Log logger = LogFactory.getLog(TransactionFencingLifecycle.class);

	private static final Duration LONGEST_START = Duration.ofSeconds(10);

	private static final Duration RETRY = Duration.ofSeconds(5);

	private final TransactionFencing fencing;

	private volatile boolean running;

	private volatile @Nullable Thread inspector;

	/**
	 * Create a new {@code TransactionFencingLifecycle} instance.
	 * @param fencing what is fenced
	 */
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
			checkCoverage();
			CountDownLatch inspected = startInspector();
			if (this.fencing.isRequired()) {
				await(inspected);
				try {
					checkCoverage();
				}
				catch (RuntimeException ex) {
					// The container does not stop what has not started
					stop();
					throw ex;
				}
			}
		}
		this.running = true;
	}

	private CountDownLatch startInspector() {
		CountDownLatch inspected = new CountDownLatch(1);
		Thread thread = DaemonThreads.create("fencing", () -> inspect(inspected));
		this.inspector = thread;
		thread.start();
		return inspected;
	}

	/**
	 * Look once, and again as long as something is not known: the database may be out of
	 * reach at first.
	 */
	private void inspect(CountDownLatch inspected) {
		try {
			boolean known = this.fencing.inspect();
			inspected.countDown();
			// Not only until the interrupt, which a driver or a pool may have taken
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
				logger.debug("Stopped finding out which transactions are fenced", ex);
				return;
			}
			logger.warn("Could not find out which transactions are fenced, looking again at each of them", ex);
		}
		finally {
			inspected.countDown();
		}
	}

	private static void await(CountDownLatch inspected) {
		try {
			if (!inspected.await(LONGEST_START.toMillis(), TimeUnit.MILLISECONDS)) {
				logger.warn("Could not find out within " + ElectionDefinitions.print(LONGEST_START)
						+ " which transactions are fenced, looking again at each of them");
			}
		}
		catch (InterruptedException ex) {
			Thread.currentThread().interrupt();
		}
	}

	private void checkCoverage() {
		if (!this.fencing.isRequired()) {
			return;
		}
		this.fencing.coverage().forEach((name, coverage) -> {
			if (coverage.isImpossible()) {
				throw new InvalidElectionPropertyException("leader-election.fencing", "required",
						"Transactions of the transaction manager '" + name + "' are " + coverage + ".",
						action(coverage));
			}
		});
	}

	private static String action(Coverage coverage) {
		String auto = "set leader-election.fencing=auto, to fence what can be fenced.";
		return (coverage == Coverage.OTHER_DATABASE)
				? "Hold the elections on that database (leader-election.datasource.url), or " + auto
				: "Use a DataSourceTransactionManager, JdbcTransactionManager or JpaTransactionManager, or " + auto;
	}

	@Override
	public void stop() {
		this.running = false;
		Thread thread = this.inspector;
		this.inspector = null;
		if (thread != null) {
			thread.interrupt();
		}
	}

}
