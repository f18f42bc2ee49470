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
import java.sql.SQLException;
import java.time.Duration;
import java.util.Collection;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicBoolean;

import io.leaderelection.Term;
import io.leaderelection.engine.ElectionStore;
import io.leaderelection.engine.SessionException;
import io.leaderelection.engine.StoreSession;
import io.leaderelection.engine.StoreSession.Acquisition.Won;
import io.leaderelection.engine.TransactionFence;
import io.leaderelection.engine.TransactionFence.Verdict;
import io.leaderelection.postgresql.LeaseTableSql.Identity;
import io.leaderelection.postgresql.LeaseTableSql.Renewal;
import io.leaderelection.postgresql.LeaseTableSql.Tables;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * What the store {@code table} rests on, with its statements as they are and with a
 * seeded mistake, after which it must not hold.
 */
@Tag("ring2")
class LeaseTableMutantTests extends LeaseTableFixture {

	private static final Duration LEASE = Duration.ofSeconds(3);

	LeaseTableMutantTests() {
		super(LEASE);
	}

	@AfterEach
	void dropTables() {
		this.server.execute("DROP TABLE IF EXISTS moved, moved_fence, moved_candidate");
	}

	@ParameterizedTest
	@EnumSource(names = { "NONE", "BEAT_NOT_COMPARED" })
	void leaseThatIsRenewedIsNotTakenOver(Mutant mutant) throws SessionException {
		StoreSession first = open(sessions(mutant, "node-a"));
		win(first);
		first.confirm();
		StoreSession second = open(sessions(mutant, "node-b"));
		boolean taken = false;
		for (long start = System.nanoTime(); !taken && System.nanoTime() - start < 2 * LEASE.toNanos();) {
			first.confirm();
			taken = second.acquire(Duration.ofMillis(50)) instanceof Won;
		}
		assertThat(taken).isEqualTo(mutant != Mutant.NONE);
	}

	@ParameterizedTest
	@EnumSource(names = { "NONE", "TERM_NOT_RAISED" })
	void everyTakeoverRaisesTheTerm(Mutant mutant) throws SessionException {
		StoreSession first = open(sessions(mutant, "node-a"));
		Won won = win(first);
		first.release(true);
		Won next = win(open(sessions(mutant, "node-b")));
		assertThat(next.term().compareTo(won.term()) > 0).isEqualTo(mutant == Mutant.NONE);
	}

	@ParameterizedTest
	@EnumSource(names = { "NONE", "FENCE_WITHOUT_TOKEN" })
	void fenceRefusesATransactionOnceTheLeaseIsFree(Mutant mutant) throws SessionException, SQLException {
		ElectionStore opened = sessions(mutant, "node-a");
		StoreSession first = open(opened);
		Won won = win(first);
		first.release(true);
		assertThat(pass(opened.fence(), won)).isEqualTo((mutant == Mutant.NONE) ? Verdict.REFUSED : Verdict.PASSED);
	}

	private Verdict pass(TransactionFence fence, Won won) throws SQLException {
		try (Connection transaction = this.server.connect()) {
			transaction.setAutoCommit(false);
			return fence.pass(transaction, won.term()).verdict();
		}
	}

	@ParameterizedTest
	@EnumSource(names = { "NONE", "FENCE_FOR_SHARE" })
	void renewalDoesNotWaitForATransactionThatHasPassedTheFence(Mutant mutant) throws Exception {
		ElectionStore opened = sessions(mutant, "node-a");
		StoreSession first = open(opened);
		Won won = win(first);
		try (Connection transaction = this.server.connect()) {
			transaction.setAutoCommit(false);
			assertThat(opened.fence().pass(transaction, won.term()).verdict()).isEqualTo(Verdict.PASSED);
			CompletableFuture<Boolean> renewal = CompletableFuture.supplyAsync(() -> confirms(first));
			assertThat(isDoneWithinALease(renewal)).isEqualTo(mutant == Mutant.NONE);
		}
	}

	/**
	 * Renewals of a row with a value that is stored elsewhere always release the lock on
	 * its page, as they do otherwise if the page is full.
	 */
	@ParameterizedTest
	@Tag("ring3")
	@EnumSource(names = { "NONE", "FENCE_ON_LEASE" })
	void fenceHoldsWhileRenewalsMoveTheLease(Mutant mutant) throws Exception {
		ElectionStore opened = sessions(mutant, "node-a", "moved");
		StoreSession session = open(opened);
		Won won = win(session);
		this.server.execute("ALTER TABLE moved ADD padding text, ALTER padding SET STORAGE EXTERNAL");
		this.server.execute("UPDATE moved SET padding = repeat('x', 9000)");
		AtomicBoolean stopped = new AtomicBoolean();
		CompletableFuture<Void> renewals = CompletableFuture.runAsync(() -> {
			try (Connection connection = this.server.connect();
					PreparedStatement renewal = connection.prepareStatement("UPDATE moved SET beat = beat + 1")) {
				while (!stopped.get()) {
					renewal.execute();
				}
			}
			catch (SQLException ex) {
				throw new IllegalStateException(ex);
			}
		});
		try (Connection transaction = this.server.connect(); Connection follower = this.server.connect()) {
			transaction.setAutoCommit(false);
			String passBarrier = passBarrier(follower, mutant, won, session);
			boolean held = true;
			// With the mistake, half of the runs end after about 100 rounds
			int rounds = (mutant == Mutant.NONE) ? 5000 : 100_000;
			for (int round = 0; held && round < rounds; round++) {
				assertThat(opened.fence().pass(transaction, won.term()).verdict()).isEqualTo(Verdict.PASSED);
				held = !Jdbc.query(follower, passBarrier, (row) -> row.getBoolean("passed"));
				transaction.rollback();
			}
			assertThat(held).isEqualTo(mutant == Mutant.NONE);
		}
		finally {
			stopped.set(true);
			renewals.get(10, TimeUnit.SECONDS);
		}
	}

	private String passBarrier(Connection connection, Mutant mutant, Won won, StoreSession session)
			throws SQLException {
		ServerInspection server = ServerInspection.inspect(connection, AdvisoryLockSql.TIMELINES);
		return new MutantSql(mutant, Tables.named("public.moved"), server, 5000).passBarrier(this.key, won.term(),
				((LeaseTableSession) session).token());
	}

	private static boolean isDoneWithinALease(CompletableFuture<Boolean> renewal) throws Exception {
		try {
			// The server ends an idle transaction that has passed the fence after a lease
			return renewal.get(LEASE.toMillis() * 3 / 4, TimeUnit.MILLISECONDS);
		}
		catch (TimeoutException ex) {
			return false;
		}
	}

	private static boolean confirms(StoreSession session) {
		try {
			session.confirm();
			return true;
		}
		catch (SessionException ex) {
			return false;
		}
	}

	private ElectionStore sessions(Mutant mutant, String node) {
		return sessions(mutant, node, LeaseTableSql.DEFAULT_TABLE);
	}

	private ElectionStore sessions(Mutant mutant, String node, String name) {
		return sessions(node, name, (tables, inspected, timeout) -> new MutantSql(mutant, tables, inspected, timeout));
	}

	/**
	 * Seeded mistakes.
	 */
	enum Mutant {

		/** The statements as they are. */
		NONE,

		/** A follower does not notice renewals. */
		BEAT_NOT_COMPARED,

		/** A takeover leaves the term as it is. */
		TERM_NOT_RAISED,

		/** The fence does not require the token of its session. */
		FENCE_WITHOUT_TOKEN,

		/** The fence locks the lease, so that renewals wait. */
		FENCE_FOR_SHARE,

		/** The fence locks the lease in a mode with which renewals do not wait. */
		FENCE_ON_LEASE

	}

	/**
	 * Statements with a mistake.
	 */
	private static final class MutantSql extends LeaseTableSql {

		private final Mutant mutant;

		MutantSql(Mutant mutant, Tables tables, ServerInspection server, long timeoutMillis) {
			super(tables, server, timeoutMillis);
			this.mutant = mutant;
		}

		@Override
		String round(Collection<String> elections, Collection<Renewal> renewals) {
			String sql = super.round(elections, renewals);
			return (this.mutant == Mutant.BEAT_NOT_COMPARED)
					? replace(sql, "AS server_timeline, beat,", "AS server_timeline, 0::bigint AS beat,") : sql;
		}

		@Override
		String takeOver(LeaseRow row, ElectionKeys keys, Identity holder) {
			String sql = super.takeOver(row, keys, holder);
			return switch (this.mutant) {
				case BEAT_NOT_COMPARED -> replace(sql, "AND beat = 0", "");
				case TERM_NOT_RAISED ->
					replace(sql, "SET term = pg_current_xact_id()::text::bigint", "SET term = greatest(entry.term, 1)");
				default -> sql;
			};
		}

		@Override
		String passBarrier(String election, Term term, UUID token) {
			String sql = super.passBarrier(election, term, token);
			return (this.mutant == Mutant.FENCE_ON_LEASE)
					? replace(sql, "FOR NO KEY UPDATE OF entry", "FOR UPDATE OF entry") : sql;
		}

		@Override
		String fence() {
			String sql = super.fence();
			return switch (this.mutant) {
				case FENCE_WITHOUT_TOKEN -> replace(sql, "AND entry.token OPERATOR(pg_catalog.=) ?::pg_catalog.uuid",
						"AND pg_catalog.length(?) OPERATOR(pg_catalog.>) 0");
				case FENCE_FOR_SHARE -> replace(sql, "FOR SHARE OF fence", "FOR SHARE OF entry");
				case FENCE_ON_LEASE -> replace(sql, "FOR SHARE OF fence", "FOR KEY SHARE OF entry");
				default -> sql;
			};
		}

		private static String replace(String sql, String text, String replacement) {
			if (!sql.contains(text)) {
				throw new IllegalStateException("'" + text + "' is not in " + sql);
			}
			return sql.replace(text, replacement);
		}

	}

}
