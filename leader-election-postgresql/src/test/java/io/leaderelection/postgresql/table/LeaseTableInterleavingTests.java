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
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.Properties;
import java.util.UUID;
import java.util.concurrent.FutureTask;
import java.util.stream.IntStream;
import java.util.stream.Stream;

import io.leaderelection.Term;
import io.leaderelection.engine.SessionException;
import io.leaderelection.engine.StoreSession;
import io.leaderelection.engine.StoreSession.Acquisition.Ending;
import io.leaderelection.engine.StoreSession.Acquisition.Won;
import io.leaderelection.engine.TransactionFence.Verdict;
import io.leaderelection.postgresql.ElectionKeys;
import io.leaderelection.postgresql.LeaseTableShape.Tables;
import io.leaderelection.postgresql.ServerInspection;
import io.leaderelection.testsupport.Direction;
import io.leaderelection.testsupport.PostgreSqlServer;
import io.leaderelection.testsupport.TcpProxy;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.awaitility.Awaitility.await;

/**
 * What must not happen with the store {@code table}, with its statements as they are and,
 * where that is possible, with a seeded mistake, after which it must happen.
 */
@Tag("ring2")
class LeaseTableInterleavingTests extends LeaseTableFixture {

	private final String role = this.table + "_role";

	/** Called before a takeover is sent. */
	private volatile Runnable beforeTakeover = () -> {
	};

	@AfterEach
	void dropRest() {
		this.server
			.execute("DROP FUNCTION IF EXISTS %1$s_log CASCADE; DROP TABLE IF EXISTS %1$s_log".formatted(this.table));
		this.server.execute("DROP ROLE IF EXISTS " + this.role);
	}

	// Messages

	@ParameterizedTest
	@EnumSource(names = { "NONE", "RENEWAL_NOT_FLUSHED", "RENEWAL_WITH_ISOLATION_OF_THE_ROLE" })
	void nothingIsWrittenWithThePresetsOfTheRole(Mutant mutant) throws SessionException {
		TestNode node = node("node-a", (settings) -> {
			Properties properties = new Properties();
			properties.putAll(settings);
			properties.setProperty("options", "-c synchronous_commit=off -c default_transaction_isolation=serializable "
					+ "-c default_transaction_read_only=on");
			return this.server.connect(properties);
		}, LEASE, sql(mutant));
		node.open("other").close();
		this.server.execute(
				"""
						CREATE TABLE %1$s_log (what text, settings text);
						CREATE FUNCTION %1$s_log() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
						  INSERT INTO public.%1$s_log VALUES (TG_OP || ' ' || TG_TABLE_NAME,
						    current_setting('synchronous_commit') || ', ' || current_setting('transaction_isolation'));
						  RETURN NULL;
						END $$;
						CREATE TRIGGER log AFTER INSERT OR UPDATE OR DELETE ON %1$s FOR EACH ROW EXECUTE FUNCTION %1$s_log();
						CREATE TRIGGER log AFTER INSERT OR UPDATE OR DELETE ON %1$s_node FOR EACH ROW EXECUTE FUNCTION %1$s_log()
						"""
					.formatted(this.table));
		StoreSession first = leader("node-b");
		this.server.execute("DELETE FROM " + this.table + "_log");
		StoreSession session = follower(node);
		node.clock.advance(LEASE);
		lead(session);
		session.release(true);
		session.close();
		String distinct = "SELECT DISTINCT %s FROM " + this.table + "_log ORDER BY 1";
		assertThat(this.server.query(distinct.formatted("what"))).containsExactlyInAnyOrder(
				"INSERT " + this.table + "_node", "UPDATE " + this.table + "_node", "DELETE " + this.table + "_node",
				"UPDATE " + this.table);
		List<String> settings = this.server.query(distinct.formatted("settings"));
		assertThat(settings.equals(List.of("local, read committed"))).isEqualTo(mutant == Mutant.NONE);
	}

	@ParameterizedTest
	@EnumSource(names = { "NONE", "RENEWAL_NOT_FLUSHED" })
	void beatThatWasObservedIsNotLostInACrash(Mutant mutant) throws SessionException {
		// Nothing but a flush of its own brings it to the disk within this time
		try (PostgreSqlServer own = PostgreSqlServer.start("wal_writer_delay=10000ms")) {
			TestNode node = node("node-a", own::connect, LEASE, sql(mutant));
			StoreSession session = leader(node);
			String query = "SELECT beat FROM " + this.table + "_node";
			String before = own.query(query).get(0);
			confirm(node, session);
			String observed = own.query(query).get(0);
			assertThat(observed).isNotEqualTo(before);
			own.stop("immediate");
			own.startAgain();
			assertThat(own.query(query).contains(observed)).isEqualTo(mutant == Mutant.NONE);
			session.abort();
		}
	}

	// Promotions

	@ParameterizedTest
	@EnumSource(names = { "NONE", "DELETE_AFTER_PROMOTION", "TAKEOVER_AFTER_PROMOTION" })
	void nothingIsDeletedOrTakenOnAServerThatWasPromotedSinceItWasRead(Mutant mutant) throws SessionException {
		StoreSession first = leader("node-a");
		TestNode node = node("node-b", sql(mutant));
		StoreSession second = follower(node);
		node.clock.advance(LEASE);
		assertThat(second.acquire(NO_WAIT) instanceof Won).isEqualTo(mutant == Mutant.NONE);
		assertThat(rows("node-a", "beat").isEmpty()).isEqualTo(mutant != Mutant.DELETE_AFTER_PROMOTION);
	}

	@Test
	void freeElectionOfAnotherTimelineIsNotTakenBeforeALease() throws SessionException {
		StoreSession first = leader("node-a");
		first.release(true);
		update("timeline = 7");
		TestNode node = node("node-b");
		StoreSession second = follower(node);
		node.clock.advance(LEASE.minusSeconds(10));
		hold(second);
		node.clock.advance(Duration.ofSeconds(10));
		assertThat(win(second).term().timeline()).isOne();
	}

	@Test
	void transactionOfATermOfAnotherTimelineDoesNotPass() throws Exception {
		TestNode node = node("node-a");
		Won won = lead(node.open());
		update("timeline = 7");
		assertThat(pass(node, begin(), won)).isEqualTo(Verdict.REFUSED);
	}

	// What is owned and not led

	@Test
	void electionIsNotKeptByANodeThatHasNotReadTheReplyOfItsTakeover() throws Exception {
		try (TcpProxy proxy = new TcpProxy(this.server)) {
			TestNode node = node("node-a", (settings) -> this.server.connect(proxy.port(), settings), LEASE,
					sql(Mutant.NONE));
			StoreSession other = node.open("other");
			Won led = lead(other);
			StoreSession session = node.open();
			session.acquire(NO_WAIT);
			this.beforeTakeover = () -> proxy.hold(Direction.TO_CLIENT);
			FutureTask<?> takeover = start(() -> session.acquire(NO_WAIT));
			await().atMost(LIMIT).until(() -> election("owner IS NOT NULL").equals("t"));
			proxy.reset();
			proxy.release();
			assertThatExceptionOfType(Exception.class).isThrownBy(() -> get(takeover))
				.withCauseInstanceOf(SessionException.class);
			session.abort();
			confirm(node, other);
			assertThat(election("owner IS NULL AND NOT clean")).isEqualTo("t");
			this.beforeTakeover = () -> {
			};
			assertThat(win(node.open()).term()).isGreaterThan(led.term());
			confirm(node, other);
		}
	}

	@Test
	void sessionWhoseTrustHasLapsedIsNotRenewed() throws SessionException {
		TestNode node = node("node-a");
		StoreSession first = leader(node);
		List<String> before = rows("node-a", "concat(token, beat)");
		node.clock.advance(LEASE.multipliedBy(3).dividedBy(4));
		assertThatExceptionOfType(SessionException.class).isThrownBy(first::confirm)
			.withMessageContaining("The session of this node has ended");
		assertThat(rows("node-a", "concat(token, beat)")).containsAll(before).hasSize(2);
		first.abort();
		// A copy of this machine may go on with it
		StoreSession next = follower(node);
		node.clock.advance(LEASE);
		assertThat(awaitWon(next).ending()).isEqualTo(Ending.CLEAN);
	}

	@Test
	void electionThatCannotBeFreedForALeaseDoesNotKeepItsSession() throws Exception {
		TestNode node = node("node-a");
		StoreSession first = leader(node);
		StoreSession other = node.open("other");
		lead(other);
		begin(lockOfElection());
		first.release(true);
		assertThatExceptionOfType(SessionException.class).isThrownBy(() -> {
			for (int i = 0; i <= LEASE.toSeconds(); i++) {
				confirm(node, other);
			}
		}).withMessageContaining("The session of this node has ended");
	}

	// Fenced transactions and locks

	@ParameterizedTest
	@EnumSource(names = { "NONE", "FENCE_WITHOUT_ROW" })
	void overlappingTransactionsDoNotStarveATakeover(Mutant mutant) throws Exception {
		TestNode node = node("node-a", sql(mutant));
		Won won = lead(node.open());
		TestNode other = node("node-b");
		StoreSession second = follower(other);
		Connection transaction = begin();
		assertThat(pass(node, transaction, won)).isEqualTo(Verdict.PASSED);
		other.clock.advance(LEASE);
		await().atMost(LIMIT).until(() -> {
			hold(second);
			return rows("node-a", "token").isEmpty();
		});
		Connection next = begin();
		boolean refused = pass(node, next, won) == Verdict.REFUSED;
		transaction.commit();
		if (refused) {
			awaitWon(second);
		}
		else {
			awaitStill(() -> hold(second).view().foreign() != null);
		}
		assertThat(refused).isEqualTo(mutant == Mutant.NONE);
	}

	@ParameterizedTest
	@EnumSource(names = { "NONE", "FENCE_WITHOUT_LOCK", "FENCE_FOR_KEY_SHARE" })
	void electionIsNotTakenFromATransactionThatHasPassedTheFence(Mutant mutant) throws Exception {
		TestNode node = node("node-a", sql(mutant));
		StoreSession first = node.open();
		Won won = lead(first);
		assertThat(pass(node, begin(), won)).isEqualTo(Verdict.PASSED);
		first.release(true);
		StoreSession second = node("node-b").open();
		assertThat(second.acquire(NO_WAIT) instanceof Won).isEqualTo(mutant != Mutant.NONE);
	}

	@ParameterizedTest
	@EnumSource(names = { "NONE", "FENCE_WITHOUT_OWNER" })
	void transactionDoesNotPassOnceItsElectionIsFree(Mutant mutant) throws Exception {
		TestNode node = node("node-a", sql(mutant));
		Won won = lead(node.open());
		update("owner = NULL");
		assertThat(pass(node, begin(), won)).isEqualTo((mutant == Mutant.NONE) ? Verdict.REFUSED : Verdict.PASSED);
	}

	@ParameterizedTest
	@EnumSource(names = { "NONE", "WAIT_FOR_LOCKED_ROWS" })
	void deleteTakeoverAndReleaseDoNotWaitForALockedRow(Mutant mutant) throws Exception {
		String id = "node-" + this.table;
		TestNode node = node(id, sql(mutant));
		StoreSession first = leader("node-a");
		StoreSession second = follower(node);
		node.clock.advance(LEASE);
		Connection foreign = begin(lockOf("node-a"));
		boolean waited = waits(() -> hold(second));
		foreign.rollback();
		foreign = begin(lockOfElection());
		waited |= waits(() -> hold(second));
		foreign.rollback();
		awaitWon(second);
		foreign = begin(lockOfElection());
		waited |= waits(() -> second.release(true));
		foreign.rollback();
		assertThat(waited).isEqualTo(mutant != Mutant.NONE);
		assertThat(this.server.log().lines().anyMatch((line) -> line.contains(id) && line.contains("ERROR")))
			.isEqualTo(mutant != Mutant.NONE);
	}

	private static boolean waits(Call call) {
		try {
			call.run();
			return false;
		}
		catch (SessionException ex) {
			// The wait is limited
			return true;
		}
	}

	@Test
	void nodesThatTakeOverFromEachOtherDoNotDeadlock() throws Exception {
		String prefix = "node-" + this.table;
		for (int i = 0; i < 5; i++) {
			TestNode first = node(prefix + "-a" + i);
			TestNode second = node(prefix + "-b" + i);
			String one = "one-" + i;
			String two = "two-" + i;
			StoreSession leadsOne = first.open(one);
			lead(leadsOne);
			StoreSession leadsTwo = second.open(two);
			lead(leadsTwo);
			StoreSession followsTwo = first.open(two);
			hold(followsTwo);
			StoreSession followsOne = second.open(one);
			hold(followsOne);
			first.clock.advance(LEASE);
			second.clock.advance(LEASE);
			List<FutureTask<Boolean>> attempts = Stream.of(followsOne, followsTwo)
				.map((session) -> start(() -> attempt(session)))
				.toList();
			for (FutureTask<Boolean> attempt : attempts) {
				get(attempt);
			}
		}
		assertThat(this.server.log().lines().filter((line) -> line.contains(prefix)))
			.noneMatch((line) -> line.contains("ERROR"));
	}

	private static boolean attempt(StoreSession session) {
		try {
			return session.acquire(NO_WAIT) instanceof Won;
		}
		catch (SessionException ex) {
			// The other node was faster
			return false;
		}
	}

	// Sessions

	@ParameterizedTest
	@EnumSource(names = { "NONE", "OWN_BEAT_NOT_CHECKED" })
	void sessionWhoseRowIsDeletedMeanwhileTakesNothing(Mutant mutant) throws SessionException {
		StoreSession session = node("node-a", sql(mutant)).open();
		this.beforeTakeover = () -> this.server.execute("DELETE FROM " + this.table + "_node");
		assertThat(session.acquire(NO_WAIT) instanceof Won).isEqualTo(mutant != Mutant.NONE);
	}

	@ParameterizedTest
	@EnumSource(names = { "NONE", "BEAT_NOT_COMPARED" })
	void sessionThatIsRenewedMeanwhileIsNotDeleted(Mutant mutant) throws SessionException {
		TestNode node = node("node-a");
		StoreSession first = leader(node);
		TestNode other = node("node-b",
				(tables, inspected, timeout) -> new MutantSql(mutant, tables, inspected, timeout) {

					@Override
					String expire(UUID token, long beat, long serverTimeline) {
						update("node-a", "beat = beat + 1");
						return super.expire(token, beat, serverTimeline);
					}

				});
		StoreSession second = follower(other);
		other.clock.advance(LEASE);
		assertThat(second.acquire(NO_WAIT) instanceof Won).isEqualTo(mutant != Mutant.NONE);
	}

	@ParameterizedTest
	@EnumSource(names = { "NONE", "TERM_NOT_COMPARED", "OWNER_NOT_COMPARED" })
	void electionThatHasChangedMeanwhileIsNotTaken(Mutant mutant) throws SessionException {
		StoreSession first = leader("node-a");
		first.release(true);
		StoreSession second = node("node-b", sql(mutant)).open();
		this.beforeTakeover = () -> update(
				(mutant == Mutant.OWNER_NOT_COMPARED) ? "owner = gen_random_uuid()" : "term = term + 1");
		assertThat(second.acquire(NO_WAIT) instanceof Won).isEqualTo(mutant != Mutant.NONE);
	}

	@ParameterizedTest
	@EnumSource(names = { "NONE", "BEAT_INCREMENTED" })
	void copyOfANodeDoesNotShareItsSession(Mutant mutant) throws SessionException {
		TestNode node = node("node-a", sql(mutant));
		StoreSession first = leader(node);
		update("node-a", "beat = beat + 1000");
		boolean ended = false;
		try {
			confirm(node, first);
		}
		catch (SessionException ex) {
			ended = true;
		}
		assertThat(ended).isEqualTo(mutant == Mutant.NONE);
	}

	@Test
	void electionThatACopyHasTakenIsNotFreed() throws SessionException {
		TestNode node = node("node-a");
		StoreSession session = leader(node);
		session.release(true);
		session.observe();
		String token = rows("node-a", "token").get(0);
		update("term = term + 7, owner = '" + token + "'");
		session.observe();
		assertThatExceptionOfType(SessionException.class).isThrownBy(() -> session.acquire(NO_WAIT))
			.withMessageContaining("The session of this node has ended");
		assertThat(election("owner")).isEqualTo(token);
		session.abort();
		StoreSession next = follower(node);
		node.clock.advance(LEASE.minusSeconds(10));
		hold(next);
	}

	@ParameterizedTest
	@ValueSource(strings = { "DELETE FROM %s_node", "TRUNCATE %s_node" })
	void rowDeletedByHandLetsNobodyLeadBeforeALeaseHasPassed(String change) throws SessionException {
		TestNode leader = node("node-a");
		StoreSession first = leader(leader);
		TestNode node = node("node-b");
		StoreSession second = follower(node);
		node.clock.advance(LEASE.minusSeconds(10));
		confirm(leader, first);
		this.server.execute(change.formatted(this.table));
		assertThatExceptionOfType(SessionException.class).isThrownBy(second::observe)
			.withMessageContaining("its row was deleted");
		second.abort();
		TestNode later = node("node-c");
		StoreSession third = follower(later);
		StoreSession again = node.open();
		for (int i = 0; i < 2; i++) {
			hold(again);
			hold(third);
			node.clock.advance(LEASE.dividedBy(2));
			later.clock.advance(LEASE.dividedBy(2).minusSeconds(1));
		}
		hold(third);
		assertThatExceptionOfType(SessionException.class).isThrownBy(first::confirm);
		win(again);
	}

	@Test
	void idleSessionIsNotDeletedBeforeHalfAMinuteNorWhileItOwnsAnotherElection() throws SessionException {
		TestNode leader = node("node-a");
		StoreSession first = leader(leader);
		hold(node("node-c").open());
		TestNode owner = node("node-d");
		hold(owner.open());
		lead(owner.open("other"));
		TestNode node = node("node-b");
		StoreSession second = follower(node);
		// Longer than the lease
		for (int i = 0; i < 3; i++) {
			node.clock.advance(Duration.ofSeconds(8));
			confirm(leader, first);
			hold(second);
		}
		assertThat(rows("node-c", "token")).hasSize(1);
		node.clock.advance(Duration.ofSeconds(7));
		confirm(leader, first);
		hold(second);
		for (int i = 0; i < 2; i++) {
			node.clock.advance(Duration.ofSeconds(3));
			confirm(leader, first);
			hold(second);
		}
		assertThat(rows("node-c", "token")).isEmpty();
		assertThat(rows("node-a", "token")).hasSize(1);
		assertThat(rows("node-d", "token")).hasSize(1);
	}

	// Costs and privileges

	@Test
	void roundsAndTakeoversReadNoTableAsAWhole() throws Exception {
		node("node-a").open().close();
		this.server.execute("""
				INSERT INTO %1$s_node SELECT gen_random_uuid(), 'node', 'host', 1, 1, 1000, now(), now()
				  FROM generate_series(1, 20000);
				INSERT INTO %1$s SELECT 'e' || row_number() OVER (), 1, 1, token, false, now() FROM %1$s_node;
				INSERT INTO %1$s_candidate SELECT 'e' || row_number() OVER (), token, true FROM %1$s_node;
				ANALYZE %1$s, %1$s_node, %1$s_candidate
				""".formatted(this.table));
		Connection connection = begin();
		LeaseTableSql sql = new LeaseTableSql(Tables.named("public." + this.table),
				ServerInspection.inspect(connection), 5000);
		connection.commit();
		List<String> elections = IntStream.range(1, 20).mapToObj((i) -> "e" + i).toList();
		UUID token = UUID.randomUUID();
		LeaseRow row = new LeaseRow("e1", 1, 1, token, false, null, null, null);
		execute(connection, "SET leader_election.beaten = '1'");
		for (String message : List.of(sql.round(token, 2, elections), sql.candidates(elections),
				sql.takeOver(row, 1, ElectionKeys.derive("test", "e1"), token, 2),
				sql.release("e1", new Term(0, 1, 1), token, true), sql.insert("e1"))) {
			for (String statement : message.split(";\\s*")) {
				if (!statement.startsWith("SET TRANSACTION")) {
					assertThat(explain(connection, statement)).doesNotContain("Seq Scan on " + this.table);
				}
			}
		}
	}

	private static String explain(Connection connection, String sql) throws SQLException {
		StringBuilder plan = new StringBuilder(sql);
		try (Statement statement = connection.createStatement();
				ResultSet row = statement.executeQuery("EXPLAIN " + sql)) {
			while (row.next()) {
				plan.append('\n').append(row.getString(1));
			}
		}
		return plan.toString();
	}

	@Test
	void fenceNeedsNoRightToChangeWhoLeads() throws Exception {
		TestNode node = node("node-a");
		Won won = lead(node.open());
		this.server.execute("""
				CREATE ROLE %2$s LOGIN PASSWORD 'right';
				GRANT SELECT, UPDATE (since) ON %1$s TO %2$s;
				GRANT SELECT ON %1$s_node TO %2$s
				""".formatted(this.table, this.role));
		try (Connection transaction = DriverManager.getConnection(this.server.jdbcUrl(), this.role, "right")) {
			transaction.setAutoCommit(false);
			assertThat(pass(node, transaction, won)).isEqualTo(Verdict.PASSED);
			assertThatExceptionOfType(SQLException.class)
				.isThrownBy(() -> execute(transaction, "UPDATE " + this.table + " SET owner = NULL"))
				.withMessageContaining("permission denied");
		}
		finally {
			this.server.execute("DROP OWNED BY " + this.role);
		}
	}

	private Statements sql(Mutant mutant) {
		return (tables, inspected, timeout) -> new MutantSql(mutant, tables, inspected, timeout);
	}

	/**
	 * A call to the store.
	 */
	private interface Call {

		void run() throws SessionException;

	}

	/**
	 * Seeded mistakes.
	 */
	enum Mutant {

		/** The statements as they are. */
		NONE,

		/** A crash of the server may lose renewals. */
		RENEWAL_NOT_FLUSHED,

		/** A round has the isolation level that the role has. */
		RENEWAL_WITH_ISOLATION_OF_THE_ROLE,

		/** The server has been promoted before a delete. */
		DELETE_AFTER_PROMOTION,

		/** The server has been promoted before a takeover. */
		TAKEOVER_AFTER_PROMOTION,

		/** The fence does not look for the row of the owner. */
		FENCE_WITHOUT_ROW,

		/** The fence does not lock the row of the election. */
		FENCE_WITHOUT_LOCK,

		/** The fence locks the row in a mode in which it can be changed. */
		FENCE_FOR_KEY_SHARE,

		/** The fence does not require the owner of its term. */
		FENCE_WITHOUT_OWNER,

		/** Statements wait for rows that are locked. */
		WAIT_FOR_LOCKED_ROWS,

		/** A takeover does not require that it has raised the own beat. */
		OWN_BEAT_NOT_CHECKED,

		/** The row of a session is deleted whatever its beat is. */
		BEAT_NOT_COMPARED,

		/** A takeover does not compare the term. */
		TERM_NOT_COMPARED,

		/** A takeover does not compare the owner. */
		OWNER_NOT_COMPARED,

		/** A round adds one to the beat that it finds. */
		BEAT_INCREMENTED

	}

	/**
	 * Statements with a mistake.
	 */
	private class MutantSql extends LeaseTableSql {

		private final Mutant mutant;

		MutantSql(Mutant mutant, Tables tables, ServerInspection server, long timeoutMillis) {
			super(tables, server, timeoutMillis);
			this.mutant = mutant;
		}

		@Override
		String round(UUID token, long beat, Collection<String> elections) {
			String sql = super.round(token, beat, elections);
			if (beat == 0) {
				return sql;
			}
			return switch (this.mutant) {
				case RENEWAL_NOT_FLUSHED ->
					replace(sql, "'synchronous_commit', 'local'", "'synchronous_commit', 'off'");
				case RENEWAL_WITH_ISOLATION_OF_THE_ROLE -> replace(sql, "ISOLATION LEVEL READ COMMITTED, ", "");
				case BEAT_INCREMENTED -> replace(replace(sql, "SET beat = " + beat, "SET beat = beat + 1"),
						"AND beat < " + beat + "::bigint", "");
				default -> sql;
			};
		}

		@Override
		String expire(UUID token, long beat, long serverTimeline) {
			String sql = super.expire(token, beat,
					(this.mutant == Mutant.DELETE_AFTER_PROMOTION) ? serverTimeline - 1 : serverTimeline);
			return switch (this.mutant) {
				case BEAT_NOT_COMPARED -> replace(sql, "AND beat = " + beat, "");
				case WAIT_FOR_LOCKED_ROWS -> replace(sql, "SKIP LOCKED", "");
				default -> sql;
			};
		}

		@Override
		String takeOver(LeaseRow row, long serverTimeline, ElectionKeys keys, UUID token, long beat) {
			LeaseTableInterleavingTests.this.beforeTakeover.run();
			String sql = super.takeOver(row,
					(this.mutant == Mutant.TAKEOVER_AFTER_PROMOTION) ? serverTimeline - 1 : serverTimeline, keys, token,
					beat);
			return switch (this.mutant) {
				case OWN_BEAT_NOT_CHECKED -> replace(sql, "current_setting('leader_election.beaten') = '1'", "true");
				case TERM_NOT_COMPARED -> replace(sql, "AND term = " + row.term(), "");
				case OWNER_NOT_COMPARED -> replace(sql, "AND owner IS NOT DISTINCT FROM NULL::uuid", "");
				case WAIT_FOR_LOCKED_ROWS -> replace(sql, "SKIP LOCKED", "");
				default -> sql;
			};
		}

		@Override
		String release(String election, Term term, UUID token, boolean clean) {
			String sql = super.release(election, term, token, clean);
			return (this.mutant == Mutant.WAIT_FOR_LOCKED_ROWS) ? replace(sql, "SKIP LOCKED", "") : sql;
		}

		@Override
		String fence() {
			String sql = super.fence();
			return switch (this.mutant) {
				case FENCE_WITHOUT_ROW -> replace(sql, "AND EXISTS (SELECT FROM", "OR EXISTS (SELECT FROM");
				case FENCE_WITHOUT_LOCK -> replace(sql, "FOR SHARE OF entry SKIP LOCKED", "");
				case FENCE_FOR_KEY_SHARE -> replace(sql, "FOR SHARE OF entry", "FOR KEY SHARE OF entry");
				case FENCE_WITHOUT_OWNER -> replace(
						replace(sql, "AND entry.owner OPERATOR(pg_catalog.=) ?::pg_catalog.uuid",
								"AND pg_catalog.length(?) OPERATOR(pg_catalog.>) 0"),
						"AND EXISTS (SELECT FROM", "OR EXISTS (SELECT FROM");
				default -> sql;
			};
		}

		private static String replace(String sql, String text, String replacement) {
			assertThat(sql).contains(text);
			return sql.replace(text, replacement);
		}

	}

}
