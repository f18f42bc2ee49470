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

package io.leaderelection.postgresql;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import java.util.function.Consumer;

import io.leaderelection.Leadership;
import io.leaderelection.Term;
import io.leaderelection.engine.TransactionFence;
import org.jspecify.annotations.Nullable;

/**
 * The fence of an election: a transaction takes a share of the fence key, which it keeps
 * to its end, and then looks whether the key of its term is still held.
 * <p>
 * Before a later term is granted, its winner has seen that no key of an earlier term is
 * held any more, and after that has had the fence key to itself for a moment. So whoever
 * takes a share before that moment holds the grant up until it has ended, and whoever
 * takes one later finds the key of its term free.
 */
final class AdvisoryLockFence implements TransactionFence {

	private static final Duration READ_MARGIN = Duration.ofSeconds(2);

	private final ElectionKeys keys;

	private final String statement;

	private final String longestIdle;

	private final int timeoutMillis;

	private final Consumer<Leadership> joiner;

	private volatile @Nullable DatabaseIdentity home;

	AdvisoryLockFence(ElectionKeys keys, Duration lease, String statement, Consumer<Leadership> joiner) {
		this.keys = keys;
		this.statement = statement;
		this.longestIdle = lease.toMillis() + "ms";
		this.timeoutMillis = (int) lease.plus(READ_MARGIN).toMillis();
		this.joiner = joiner;
	}

	/**
	 * Remember where the election is held.
	 */
	void heldOn(DatabaseIdentity identity) {
		this.home = identity;
	}

	/**
	 * No answer can be of use once the lease is over. The bound is the socket's: the
	 * statement waits for nothing that could be cancelled, and a timer for each would
	 * cost as much as the statement.
	 */
	@Override
	public boolean pass(Connection connection, Term term) throws SQLException {
		int networkTimeout = connection.getNetworkTimeout();
		boolean bounded = networkTimeout != 0 && networkTimeout <= this.timeoutMillis;
		if (bounded) {
			return holds(connection, term);
		}
		connection.setNetworkTimeout(Runnable::run, this.timeoutMillis);
		try {
			return holds(connection, term);
		}
		finally {
			if (!connection.isClosed()) {
				connection.setNetworkTimeout(Runnable::run, networkTimeout);
			}
		}
	}

	private boolean holds(Connection connection, Term term) throws SQLException {
		try (PreparedStatement fence = connection.prepareStatement(this.statement)) {
			fence.setLong(1, this.keys.fence());
			fence.setInt(2, this.keys.termClass());
			fence.setInt(3, ElectionKeys.termObject(term.timeline(), term.transactionId()));
			fence.setString(4, this.longestIdle);
			try (ResultSet row = fence.executeQuery()) {
				return row.next() && row.getBoolean("held");
			}
		}
	}

	@Override
	public @Nullable Boolean covers(Connection connection) throws SQLException {
		DatabaseIdentity known = this.home;
		return (known != null) ? known.matches(DatabaseIdentity.of(connection)) : null;
	}

	@Override
	public void join(Leadership leadership) {
		this.joiner.accept(leadership);
	}

}
