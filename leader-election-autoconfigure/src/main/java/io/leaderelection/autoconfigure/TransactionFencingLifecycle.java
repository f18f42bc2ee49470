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
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

import io.leaderelection.transaction.Coverage;
import io.leaderelection.transaction.TransactionFencing;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;

import org.springframework.context.SmartLifecycle;

/**
 * Finds out at start which transactions are fenced: as soon as the elections know their
 * database, and on a thread of its own, since a pool may let its callers wait for long.
 * Only if all must be fenced does the start wait for that.
 */
final class TransactionFencingLifecycle implements SmartLifecycle {

	private static final Log logger = LogFactory.getLog(TransactionFencingLifecycle.class);

	private static final Duration LONGEST_INSPECTION = Duration.ofSeconds(10);

	private final TransactionFencing fencing;

	private final boolean required;

	private volatile boolean running;

	/**
	 * Create a new {@code TransactionFencingLifecycle} instance.
	 * @param fencing what is fenced
	 * @param required whether all transactions must be
	 */
	TransactionFencingLifecycle(TransactionFencing fencing, boolean required) {
		this.fencing = fencing;
		this.required = required;
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
		checkCoverage();
		CompletableFuture<Void> inspection = new CompletableFuture<>();
		Thread thread = new Thread(() -> inspect(inspection), "leader-election-fencing");
		thread.setDaemon(true);
		thread.start();
		if (this.required) {
			await(inspection);
			checkCoverage();
		}
		this.running = true;
	}

	private void inspect(CompletableFuture<Void> inspection) {
		try {
			this.fencing.inspect();
			inspection.complete(null);
		}
		catch (Throwable ex) {
			logger.warn("Could not find out which transactions are fenced, trying again with the first of them", ex);
			inspection.completeExceptionally(ex);
		}
	}

	private static void await(CompletableFuture<Void> inspection) {
		try {
			inspection.get(LONGEST_INSPECTION.toMillis(), TimeUnit.MILLISECONDS);
		}
		catch (InterruptedException ex) {
			Thread.currentThread().interrupt();
		}
		catch (ExecutionException ex) {
			logger.debug("The inspection has failed and has said so", ex);
		}
		catch (TimeoutException ex) {
			logger.warn("Could not find out within " + ElectionDefinitions.print(LONGEST_INSPECTION)
					+ " which transactions are fenced, trying again with the first of them");
		}
	}

	private void checkCoverage() {
		if (!this.required) {
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
	}

}
