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
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

import io.leaderelection.Term;
import io.leaderelection.engine.ElectionStore;
import io.leaderelection.engine.StoreSession;
import io.leaderelection.engine.StoreSession.Acquisition.Won;
import io.leaderelection.engine.TransactionFence;
import io.leaderelection.engine.TransactionFence.Verdict;
import io.leaderelection.postgresql.LeaseTableSql.Identity;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.postgresql.PGConnection;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Statements of the fence and of takeovers that pause between their snapshot and their
 * lock on the row of the fence, while another session changes that row.
 */
@Tag("ring1")
class LeaseTableFenceRaceTests extends LeaseTableFixture {

	private static final Duration LEASE = Duration.ofSeconds(2);

	private static final Duration LIMIT = Duration.ofSeconds(30);

	private static final String KEY = "4711";

	private static final String PAUSE = "pg_catalog.pg_advisory_lock_shared(" + KEY + ") IS NOT NULL ";

	LeaseTableFenceRaceTests() {
		super(LEASE);
	}

	/**
	 * PostgreSQL locks the row as it is now before it finds that it does not match any
	 * longer, so the time limit applies to a transaction that is refused, too.
	 */
	@Test
	void statementThatBeganBeforeATakeoverIsRefusedAndDoesNotBlockTheNextOneForEver() throws Exception {
		ElectionStore opened = sessions("node-a", PausingSql::new);
		StoreSession first = open(opened);
		Won won = win(first);
		try (Connection transaction = this.server.connect();
				Connection other = this.server.connect();
				Statement pause = other.createStatement()) {
			transaction.setAutoCommit(false);
			pause.execute("SELECT pg_advisory_lock(" + KEY + ")");
			CompletableFuture<Verdict> verdict = CompletableFuture
				.supplyAsync(() -> pass(opened.fence(), transaction, won.term()));
			awaitPause(transaction);
			first.release(true);
			StoreSession second = open(sessions("node-b", LeaseTableSql::new));
			assertThat(win(second).clear()).isTrue();
			pause.execute("SELECT pg_advisory_unlock(" + KEY + ")");
			assertThat(verdict.get(LIMIT.toSeconds(), TimeUnit.SECONDS)).isEqualTo(Verdict.REFUSED);
			second.release(true);
			StoreSession third = open(sessions("node-c", LeaseTableSql::new));
			assertThat(win(third).clear()).isFalse();
			Awaitility.await().atMost(LIMIT).until(() -> {
				third.confirm();
				return third.passBarrier(Duration.ofMillis(100)) == null;
			});
			assertThat(transaction.isValid(1)).isFalse();
		}
	}

	@Test
	void takeoverChangesTheFenceAsItIsNow() throws Exception {
		LeaseTableSql sql = sql();
		win(open(sessions("node-a", LeaseTableSql::new)));
		try (Connection connection = this.server.connect();
				Connection other = this.server.connect();
				Statement pause = other.createStatement()) {
			pause.execute("SELECT pg_advisory_lock(" + KEY + ")");
			LeaseRow row = Jdbc.rows(connection, sql.round(List.of(this.key), List.of()), LeaseRow::of).get(0);
			Identity holder = new Identity("node-b", UUID.randomUUID(), LEASE.toMillis(), "host-1", 4711);
			String takeOver = sql.takeOver(row, ElectionKeys.derive("test", this.key), holder)
				.replace("FOR NO KEY UPDATE OF fence", "WHERE " + PAUSE + "FOR NO KEY UPDATE OF fence")
				.replace("'lock_timeout', '100'", "'lock_timeout', '0'");
			CompletableFuture<String> taken = CompletableFuture.supplyAsync(() -> takeOver(connection, takeOver));
			awaitPause(connection);
			this.server.execute("UPDATE leader_election_fence SET term = term - 1 WHERE election = '" + this.key + "'");
			pause.execute("SELECT pg_advisory_unlock(" + KEY + ")");
			assertThat(taken.get(LIMIT.toSeconds(), TimeUnit.SECONDS)).isEqualTo(fenceTerm() + " passed");
		}
	}

	private static String takeOver(Connection connection, String sql) {
		try {
			return Jdbc.query(connection, sql,
					(row) -> row.getLong("term") + (row.getBoolean("passed") ? " passed" : " blocked"));
		}
		catch (SQLException ex) {
			throw new IllegalStateException(ex);
		}
	}

	private static Verdict pass(TransactionFence fence, Connection transaction, Term term) {
		try {
			return fence.pass(transaction, term).verdict();
		}
		catch (SQLException ex) {
			throw new IllegalStateException(ex);
		}
	}

	private void awaitPause(Connection connection) throws SQLException {
		int pid = connection.unwrap(PGConnection.class).getBackendPID();
		Awaitility.await()
			.atMost(LIMIT)
			.pollInterval(Duration.ofMillis(10))
			.until(() -> this.server
				.query("SELECT pid FROM pg_stat_activity WHERE wait_event = 'advisory' AND pid = " + pid)
				.size() == 1);
	}

	private String fenceTerm() {
		return this.server.query("SELECT term FROM leader_election_fence WHERE election = '" + this.key + "'").get(0);
	}

	private LeaseTableSql sql() throws SQLException {
		try (Connection connection = this.server.connect()) {
			return new LeaseTableSql(LeaseTableSql.Tables.named("public." + LeaseTableSql.DEFAULT_TABLE),
					ServerInspection.inspect(connection, AdvisoryLockSql.TIMELINES), LIMIT.toMillis());
		}
	}

	private ElectionStore sessions(String node, Statements statements) {
		return sessions(node, LeaseTableSql.DEFAULT_TABLE, statements);
	}

	/**
	 * The fence pauses before it locks its row.
	 */
	private static final class PausingSql extends LeaseTableSql {

		PausingSql(Tables tables, ServerInspection server, long timeoutMillis) {
			super(tables, server, timeoutMillis);
		}

		@Override
		String fence() {
			return super.fence().replace("FOR SHARE OF fence", "AND " + PAUSE + "FOR SHARE OF fence");
		}

	}

}
