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

import java.sql.Connection;
import java.sql.SQLException;
import java.sql.SQLTransientException;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.atomic.LongAdder;

import io.leaderelection.Leadership;
import io.leaderelection.LeadershipLostException;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;

/**
 * Checks transactions at the fence of one election, and counts the results.
 */
final class FenceChecks {

	private static final Log logger = LogFactory.getLog(FenceChecks.class);

	/** PostgreSQL's SQL state for a lock that is not available. */
	private static final String LOCK_NOT_AVAILABLE = "55P03";

	private final TransactionFence fence;

	private final LongAdder passed = new LongAdder();

	private final LongAdder refused = new LongAdder();

	private final AtomicReference<@Nullable Leadership> lastRefused = new AtomicReference<>();

	private final AtomicReference<@Nullable String> lastHolder = new AtomicReference<>();

	FenceChecks(TransactionFence fence) {
		this.fence = fence;
	}

	long passed() {
		return this.passed.sum();
	}

	long refused() {
		return this.refused.sum();
	}

	@Nullable Boolean covers(Connection connection) throws SQLException {
		return this.fence.covers(connection);
	}

	/**
	 * Fence the transaction of a connection, as
	 * {@link DefaultLeaderElector#fence(Leadership, Connection)} says.
	 */
	boolean check(Leadership leadership, Connection connection) throws SQLException {
		if (connection.getAutoCommit()) {
			throw new IllegalStateException(
					"The connection is in auto-commit mode, so the fence would end with its own statement. "
							+ "Call setAutoCommit(false) before the transaction");
		}
		TransactionFence.Outcome outcome = this.fence.pass(connection, leadership.getTerm());
		switch (outcome.verdict()) {
			case PASSED -> this.passed.increment();
			case REFUSED -> throw refused(leadership);
			case BLOCKED -> throw blocked(leadership, String.valueOf(outcome.holder()));
			case ELSEWHERE -> {
				return false;
			}
		}
		return true;
	}

	private LeadershipLostException refused(Leadership leadership) {
		this.refused.increment();
		if (this.lastRefused.getAndSet(leadership) != leadership) {
			logger.warn("Refused to commit a transaction of the " + leadership + ", which has ended");
		}
		return new LeadershipLostException(leadership);
	}

	/**
	 * Not a {@link LeadershipLostException}, since this node still leads.
	 */
	private SQLException blocked(Leadership leadership, String holder) {
		this.refused.increment();
		String reason = "The fence of the " + leadership + " is held by the " + holder
				+ ", which is not a node of the election";
		if (!holder.equals(this.lastHolder.getAndSet(holder))) {
			logger.warn(reason + ": no transaction of leader work can commit until it ends");
		}
		return new SQLTransientException(reason, LOCK_NOT_AVAILABLE);
	}

}
