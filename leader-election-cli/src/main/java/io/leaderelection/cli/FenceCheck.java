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

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicLong;

import io.leaderelection.LeadershipLostException;
import org.jspecify.annotations.Nullable;

import org.springframework.transaction.TransactionSystemException;

/**
 * Checks that a transaction of leader work commits in its term, and not after it. Whether
 * a transaction has committed is what the server says of its id.
 */
final class FenceCheck {

	private final Connection connection;

	private final Report report;

	/**
	 * Create a new {@code FenceCheck} instance.
	 * @param connection a connection to the same database
	 * @param report receives the results
	 */
	FenceCheck(Connection connection, Report report) {
		this.connection = connection;
		this.report = report;
	}

	void presentTerm(Node leader) throws SQLException, VerificationException {
		AtomicLong id = new AtomicLong();
		try {
			if (!leader.write(id::set)) {
				throw VerificationException.undetermined("fence",
						"The leader lost its leadership before it could write.", null);
			}
		}
		catch (RuntimeException ex) {
			if (ex instanceof LeadershipLostException && leader.elector().isLeader()) {
				throw new VerificationException("fence", "A transaction of the present term was refused: " + ex, ex);
			}
			throw VerificationException.of("fence", ex);
		}
		String status = status(id.get());
		if (!"committed".equals(status)) {
			throw new VerificationException("fence",
					"A transaction of the present term has not committed; its status is " + status + ".", null);
		}
		this.report.ok("fence", "a transaction of the present term commits");
	}

	/**
	 * Begin a transaction that does not commit before {@link #formerTerm}.
	 */
	Late begin(Node leader, Duration limit) throws InterruptedException, VerificationException {
		Late late = new Late(new CompletableFuture<>(), new CountDownLatch(1), new CompletableFuture<>());
		Thread thread = new Thread(() -> late.run(leader), "late-transaction");
		thread.setDaemon(true);
		thread.start();
		try {
			late.id().get(limit.toMillis(), TimeUnit.MILLISECONDS);
			return late;
		}
		catch (ExecutionException | TimeoutException ex) {
			late.release().countDown();
			throw VerificationException.of("fence", ex);
		}
	}

	/**
	 * Commit a transaction whose term has ended.
	 */
	void formerTerm(Late late, Duration limit) throws SQLException, VerificationException, InterruptedException {
		late.release().countDown();
		try {
			RuntimeException failure = late.end().get(limit.toMillis(), TimeUnit.MILLISECONDS);
			String status = status(late.id().join());
			if (failure instanceof LeadershipLostException && "aborted".equals(status)) {
				this.report.ok("fence", "a transaction of the former term is refused and rolled back");
			}
			else if ("aborted".equals(status)) {
				throw VerificationException.undetermined("fence",
						"A transaction of the former term was rolled back, but not by the fence, which was not seen to refuse one: "
								+ cause(failure),
						cause(failure));
			}
			else {
				throw new VerificationException("fence",
						"A transaction of the former term was not refused; its status is " + status + ".", failure);
			}
		}
		catch (ExecutionException | TimeoutException ex) {
			throw VerificationException.of("fence", ex);
		}
	}

	/**
	 * Return what has failed before the rollback, which may have failed as well.
	 */
	private static @Nullable Throwable cause(@Nullable RuntimeException failure) {
		return (failure instanceof TransactionSystemException rollback) ? rollback.getOriginalException() : failure;
	}

	private String status(long id) throws SQLException {
		return Rows.strings(this.connection, "SELECT pg_catalog.pg_xact_status('" + id + "'::pg_catalog.xid8)").get(0);
	}

	/**
	 * A transaction on a thread of its own.
	 *
	 * @param id its id
	 * @param release lets it commit
	 * @param end completes after the commit, with its exception
	 */
	record Late(CompletableFuture<Long> id, CountDownLatch release, CompletableFuture<@Nullable RuntimeException> end) {

		private void run(Node leader) {
			try {
				leader.write((id) -> {
					this.id.complete(id);
					awaitRelease();
				});
				this.id.completeExceptionally(new IllegalStateException("The node does not lead"));
				this.end.complete(null);
			}
			catch (RuntimeException ex) {
				this.id.completeExceptionally(ex);
				this.end.complete(ex);
			}
		}

		/**
		 * The work of a leader whose term has ended is interrupted. This one continues.
		 */
		private void awaitRelease() {
			while (this.release.getCount() > 0) {
				try {
					this.release.await();
				}
				catch (InterruptedException ex) {
					// Commits nevertheless
				}
			}
		}

	}

}
