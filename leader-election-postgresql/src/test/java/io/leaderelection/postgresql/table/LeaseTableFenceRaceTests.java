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

package io.leaderelection.postgresql.table;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;

import io.leaderelection.engine.SessionException;
import io.leaderelection.engine.StoreSession;
import io.leaderelection.engine.StoreSession.Acquisition.Won;
import io.leaderelection.engine.TransactionFence.Verdict;
import io.leaderelection.testsupport.PostgreSqlServer;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;
import static org.mockito.ArgumentMatchers.any;
import static org.mockito.ArgumentMatchers.anyLong;
import static org.mockito.BDDMockito.willAnswer;

/**
 * Transactions that pass the fence while the election is taken over.
 */
@Tag("ring1")
class LeaseTableFenceRaceTests extends LeaseTableFixture {

	/** The server ends transactions that are idle behind the fence for that long. */
	private static final Duration SHORT_LEASE = Duration.ofSeconds(2);

	/**
	 * PostgreSQL locks the row as it is now before it finds that it does not match any
	 * longer, so the time limit applies to a transaction that is refused, too.
	 */
	@Test
	void statementThatBeganBeforeATakeoverIsRefusedAndDoesNotBlockTheNextOneForEver() throws Exception {
		StoreSession first = leader(node("node-a", this.server::connect, SHORT_LEASE, this::pausing));
		Connection transaction = begin();
		Connection pause = pause();
		Future<Verdict> verdict = start(() -> pass(first, transaction));
		awaitPause(transaction);
		// As by a release of the node on a connection from before
		update("owner = NULL, clean = true");
		StoreSession second = node("node-b").open();
		win(second);
		pause.commit();
		assertThat(get(verdict)).isEqualTo(Verdict.REFUSED);
		// Skipped until then
		second.release(true);
		StoreSession third = node("node-c").open();
		await().until(() -> {
			second.observe();
			return third.acquire(NO_WAIT) instanceof Won;
		});
		assertThat(transaction.isValid(1)).isFalse();
	}

	@ParameterizedTest
	@ValueSource(strings = { "term = term + 1", "owner = gen_random_uuid()" })
	void takeoverTakesTheElectionAsItIsNow(String change) throws Exception {
		StoreSession first = leader("node-a");
		first.release(true);
		StoreSession second = node("node-b", this::pausing).open();
		Connection pause = pause();
		Future<Boolean> taken = start(() -> second.acquire(NO_WAIT) instanceof Won);
		await().until(() -> this.server.advisoryLocks("NOT granted").size() == 1);
		update(change);
		pause.commit();
		assertThat(get(taken)).isFalse();
	}

	private Connection pause() throws SQLException {
		return begin("SELECT pg_advisory_xact_lock(" + pauseKey() + ")");
	}

	private void awaitPause(Connection connection) throws SQLException {
		int pid = PostgreSqlServer.pid(connection);
		await().until(() -> this.server.advisoryLocks("NOT granted AND pid = " + pid).size() == 1);
	}

	private long pauseKey() {
		return this.table.hashCode();
	}

	/**
	 * While a transaction has passed and not ended, nobody wins a later term.
	 */
	@ParameterizedTest
	@ValueSource(booleans = { true, false })
	@Tag("ring2")
	void noTransactionThatHasPassedOutlivesItsTerm(boolean locks) throws Exception {
		Consumer<LeaseTableSql> statements = locks ? UNCHANGED : LeaseTableFenceRaceTests::open;
		Race race = new Race();
		List<Future<Boolean>> threads = new ArrayList<>();
		TestNode first = node("node-a", statements);
		first.open("other").close();
		TestNode second = node("node-b", statements);
		threads.add(start(() -> race.lead(first, second)));
		threads.add(start(() -> race.lead(second, first)));
		for (int isolation : List.of(Connection.TRANSACTION_READ_COMMITTED, Connection.TRANSACTION_REPEATABLE_READ,
				Connection.TRANSACTION_SERIALIZABLE, Connection.TRANSACTION_READ_COMMITTED)) {
			Connection connection = begin(isolation);
			threads.add(start(() -> race.work(connection)));
		}
		await().until(() -> race.passed.get() >= 100 && race.terms.get() >= 20 || race.violations.get() > 0);
		race.ended.set(true);
		for (Future<Boolean> thread : threads) {
			get(thread);
		}
		assertThat(race.violations.get() == 0).isEqualTo(locks);
	}

	/**
	 * Have the fence and takeovers pause before they lock the row of the election.
	 */
	private void pausing(LeaseTableSql sql) {
		String pause = "AND pg_catalog.pg_advisory_xact_lock_shared(" + pauseKey() + ") IS NOT NULL ";
		willAnswer(changed((fence) -> fence.replace("FOR SHARE OF entry", pause + "FOR SHARE OF entry"))).given(sql)
			.fence();
		willAnswer(changed((takeover) -> "SELECT set_config('lock_timeout', '0', true);\n"
				+ takeover.replace("\n    FOR NO KEY UPDATE", "\n    " + pause + "FOR NO KEY UPDATE")))
			.given(sql)
			.takeOver(any(), anyLong(), any(), anyLong());
	}

	/**
	 * Have the fence not lock the row.
	 */
	private static void open(LeaseTableSql sql) {
		willAnswer(changed((fence) -> fence.replace("FOR SHARE OF entry SKIP LOCKED", ""))).given(sql).fence();
	}

	/**
	 * The node that has won last.
	 */
	private record Leader(TestNode node, Won won) {
	}

	/**
	 * Nodes that lead in turn, and transactions of the present leader.
	 */
	private final class Race {

		private final AtomicReference<Leader> leader = new AtomicReference<>();

		private final AtomicBoolean ended = new AtomicBoolean();

		private final AtomicInteger terms = new AtomicInteger();

		private final AtomicInteger passed = new AtomicInteger();

		private final AtomicInteger violations = new AtomicInteger();

		/**
		 * Lead until the other node has taken over from this one, which does not notice.
		 */
		boolean lead(TestNode node, TestNode other) throws Exception {
			while (!this.ended.get()) {
				StoreSession session = open(node);
				try {
					while (!this.ended.get()) {
						if (session.acquire(Duration.ofMillis(20)) instanceof Won won) {
							lead(new Leader(node, won), other);
						}
					}
				}
				catch (SessionException ex) {
					// The other node has deleted the session of this one
					session.abort();
				}
			}
			return true;
		}

		private StoreSession open(TestNode node) throws SessionException {
			try {
				return node.open();
			}
			catch (SessionException ex) {
				// The same
				return node.open();
			}
		}

		private void lead(Leader known, TestNode other) throws InterruptedException {
			this.leader.set(known);
			this.terms.incrementAndGet();
			while (!this.ended.get() && this.leader.get() == known) {
				Thread.sleep(50);
				other.clock.advance(LEASE);
			}
		}

		boolean work(Connection connection) throws Exception {
			while (!this.ended.get()) {
				Leader known = this.leader.get();
				try {
					execute(connection, "SELECT count(*) FROM " + LeaseTableFenceRaceTests.this.table);
					if (known != null && pass(known.node(), connection, known.won()) == Verdict.PASSED) {
						execute(connection, "SELECT pg_sleep(0.1)");
						this.passed.incrementAndGet();
						if (this.leader.get() != known) {
							this.violations.incrementAndGet();
						}
					}
				}
				finally {
					connection.rollback();
				}
			}
			return true;
		}

	}

}
