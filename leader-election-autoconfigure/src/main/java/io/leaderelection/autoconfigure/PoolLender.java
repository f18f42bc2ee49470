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
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

import javax.sql.DataSource;

import io.leaderelection.engine.Platform;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;

/**
 * Lends connections of a pool, with a bound on the wait that does not depend on the pool.
 * Only one call at a time waits in the queue of the pool, until the pool has answered:
 * without free connections, it has one waiter more at most, whose connection is returned
 * at once.
 */
final class PoolLender {

	private static final Log logger = LogFactory.getLog(PoolLender.class);

	private final DataSource pool;

	/** Held while the pool is asked for a connection, even after the caller gave up. */
	private final Semaphore turn = new Semaphore(1);

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
	 * @return the connection, or {@code null} if the pool has none, has not answered an
	 * earlier call yet, or would be started for this, with all its connections
	 * @throws InterruptedException if the current thread is interrupted
	 */
	@Nullable Connection borrow(Duration timeout) throws InterruptedException {
		long deadline = System.nanoTime() + timeout.toNanos();
		if (!PooledDataSources.isStarted(this.pool) || !this.turn.tryAcquire(timeout.toNanos(), TimeUnit.NANOSECONDS)) {
			return null;
		}
		CompletableFuture<Connection> loan = new CompletableFuture<>();
		try {
			// On a thread of its own, since a pool may block its callers for any time
			Platform.SYSTEM.newThread("borrow", () -> lend(loan)).start();
		}
		catch (Throwable ex) {
			this.turn.release();
			logger.debug("The pool could not be asked for a connection", ex);
			return null;
		}
		try {
			return loan.get(deadline - System.nanoTime(), TimeUnit.NANOSECONDS);
		}
		catch (TimeoutException ex) {
			loan.thenAccept(PoolLender::giveBack);
			return null;
		}
		catch (InterruptedException ex) {
			loan.thenAccept(PoolLender::giveBack);
			throw ex;
		}
		catch (ExecutionException ex) {
			logger.debug("The pool has not lent a connection: " + JdbcUrl.withoutUrls(String.valueOf(ex.getCause())));
			return null;
		}
	}

	private void lend(CompletableFuture<Connection> loan) {
		try {
			loan.complete(connection());
		}
		catch (Throwable ex) {
			loan.completeExceptionally(ex);
		}
		finally {
			this.turn.release();
		}
	}

	private Connection connection() throws SQLException {
		Connection connection = this.pool.getConnection();
		try {
			// A lazy proxy fetches its connection only now
			connection.getNetworkTimeout();
			return connection;
		}
		catch (Throwable ex) {
			giveBack(connection);
			throw ex;
		}
	}

	private static void giveBack(Connection connection) {
		try {
			connection.close();
		}
		catch (SQLException ex) {
			logger.debug("The connection could not be returned to its pool", ex);
		}
	}

}
