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

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

import javax.sql.DataSource;

import io.leaderelection.engine.DaemonThreads;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;

/**
 * Lends connections of a pool, with a bound on the wait that does not depend on the pool.
 */
final class PoolLender {

	private static final Log logger = LogFactory.getLog(PoolLender.class);

	private final DataSource pool;

	/** The last loan that was not in time, until the pool has answered. */
	private volatile @Nullable CompletableFuture<Connection> late;

	/**
	 * Create a new {@code PoolLender} instance.
	 * @param pool the pool
	 */
	PoolLender(DataSource pool) {
		this.pool = pool;
	}

	/**
	 * Borrow a connection.
	 * @param timeout how long to wait for it
	 * @return the connection, or {@code null} if the pool has none, or has not answered
	 * an earlier call yet
	 * @throws InterruptedException if the current thread is interrupted
	 */
	@Nullable Connection borrow(Duration timeout) throws InterruptedException {
		if (this.late != null) {
			return null;
		}
		CompletableFuture<Connection> loan = new CompletableFuture<>();
		try {
			// On a thread of its own, since a pool may block its callers for any time
			DaemonThreads.create("borrow", () -> lend(loan)).start();
			return loan.get(timeout.toNanos(), TimeUnit.NANOSECONDS);
		}
		catch (TimeoutException ex) {
			return giveUp(loan);
		}
		catch (InterruptedException ex) {
			release(giveUp(loan));
			throw ex;
		}
		catch (ExecutionException | OutOfMemoryError ex) {
			logger.debug("The pool has not lent a connection", ex);
			return null;
		}
	}

	/**
	 * Give a loan up, or return it if it has arrived just now.
	 */
	private @Nullable Connection giveUp(CompletableFuture<Connection> loan) {
		this.late = loan;
		if (loan.cancel(false)) {
			return null;
		}
		this.late = null;
		return loan.isCompletedExceptionally() ? null : loan.getNow(null);
	}

	private void lend(CompletableFuture<Connection> loan) {
		try {
			Connection connection = this.pool.getConnection();
			try {
				// A lazy proxy fetches its connection only now
				connection.getNetworkTimeout();
			}
			catch (Throwable ex) {
				release(connection);
				throw ex;
			}
			if (!loan.complete(connection)) {
				release(connection);
			}
		}
		catch (Throwable ex) {
			loan.completeExceptionally(ex);
		}
		finally {
			if (this.late == loan) {
				this.late = null;
			}
		}
	}

	private static void release(@Nullable Connection connection) {
		try {
			if (connection != null) {
				connection.close();
			}
		}
		catch (SQLException ex) {
			logger.debug("The connection could not be returned to its pool", ex);
		}
	}

}
