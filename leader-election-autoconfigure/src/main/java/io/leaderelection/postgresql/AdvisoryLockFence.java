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

	private final ElectionKeys keys;

	private final String statement;

	private final String longestIdle;

	private final int timeoutSeconds;

	private final Consumer<Leadership> joiner;

	private volatile @Nullable DatabaseIdentity home;

	AdvisoryLockFence(ElectionKeys keys, Duration lease, String statement, Consumer<Leadership> joiner) {
		this.keys = keys;
		this.statement = statement;
		this.longestIdle = lease.toMillis() + "ms";
		this.timeoutSeconds = (int) lease.plusMillis(999).toSeconds();
		this.joiner = joiner;
	}

	/**
	 * Remember where the election is held.
	 */
	void heldOn(DatabaseIdentity identity) {
		this.home = identity;
	}

	@Override
	public boolean pass(Connection connection, Term term) throws SQLException {
		try (PreparedStatement fence = connection.prepareStatement(this.statement)) {
			fence.setQueryTimeout(this.timeoutSeconds);
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
