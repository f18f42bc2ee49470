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
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.UUID;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import java.util.stream.Stream;

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
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.awaitility.Awaitility.await;
import static org.mockito.ArgumentMatchers.any;
import static org.mockito.ArgumentMatchers.anyLong;
import static org.mockito.ArgumentMatchers.eq;
import static org.mockito.BDDMockito.willAnswer;

/**
 * What must not happen with the store {@code table}. All rules of single statements are
 * also tested by a comparison with the simulated table: {@code TableComparisonTests}, at
 * random in ring 2, with seeded mistakes in ring 3.
 */
@Tag("ring2")
class LeaseTableInterleavingTests extends LeaseTableFixture {

	private final String role = this.table + "_role";

	@AfterEach
	void dropRest() {
		this.server
			.execute("DROP FUNCTION IF EXISTS %1$s_log CASCADE; DROP TABLE IF EXISTS %1$s_log".formatted(this.table));
		this.server.execute("DROP ROLE IF EXISTS " + this.role);
	}

	// Messages

	@ParameterizedTest
	@CsvSource(delimiter = '|', quoteCharacter = '"',
			value = { "SET | SET", "'synchronous_commit', 'local' | 'synchronous_commit', 'off'",
					"ISOLATION LEVEL READ COMMITTED, READ WRITE | READ WRITE" })
	void nothingIsWrittenWithThePresetsOfTheRole(String text, String mistake) throws SessionException {
		TestNode node = node("node-a", (settings) -> {
			Properties properties = new Properties();
			properties.putAll(settings);
			properties.setProperty("options", "-c synchronous_commit=off -c default_transaction_isolation=serializable "
					+ "-c default_transaction_read_only=on");
			return this.server.connect(properties);
		}, LEASE, (sql) -> willAnswer(changed((settings) -> settings.replace(text, mistake))).given(sql).listen());
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
		leader("node-b");
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
		assertThat(settings.equals(List.of("local, read committed"))).isEqualTo(text.equals(mistake));
	}

	@Test
	void beatThatWasObservedIsNotLostInACrash() throws SessionException {
		// Nothing but a flush of its own brings it to the disk within this time
		try (PostgreSqlServer own = PostgreSqlServer.start("wal_writer_delay=10000ms")) {
			TestNode node = node("node-a", own::connect, LEASE, UNCHANGED);
			StoreSession session = leader(node);
			String query = "SELECT beat FROM " + this.table + "_node";
			String before = own.query(query).get(0);
			confirm(session);
			String observed = own.query(query).get(0);
			assertThat(observed).isNotEqualTo(before);
			own.stop("immediate");
			own.startAgain();
			assertThat(own.query(query)).contains(observed);
			session.abort();
		}
	}

	// Promotions

	/**
	 * As if it had been promoted before the first or the second of both statements.
	 */
	@ParameterizedTest
	@ValueSource(booleans = { true, false })
	void nothingIsDeletedOrTakenOnAServerThatWasPromotedSinceItWasRead(boolean first) throws SessionException {
		AtomicInteger takeovers = new AtomicInteger();
		leader("node-a");
		TestNode node = node("node-b", (sql) -> {
			if (first) {
				willAnswer((call) -> sql.expire(call.getArgument(0), 0)).given(sql).expire(any(), eq(1L));
			}
			willAnswer((call) -> {
				takeovers.incrementAndGet();
				return sql.takeOver(call.getArgument(0), 0, call.getArgument(2), call.getArgument(3));
			}).given(sql).takeOver(any(), eq(1L), any(), anyLong());
		});
		StoreSession second = follower(node);
		node.clock.advance(LEASE);
		hold(second);
		assertThat(rows("node-a", "beat").isEmpty()).isEqualTo(!first);
		assertThat(takeovers.get() > 0).isEqualTo(!first);
	}

	@Test
	void freeElectionOfAnotherTimelineIsNotTakenBeforeALease() throws SessionException {
		StoreSession first = leader("node-a");
		first.release(true);
		update("timeline = 7");
		StoreSession second = follower("node-b");
		advance(second, LEASE.minusSeconds(10));
		hold(second);
		advance(second, Duration.ofSeconds(10));
		assertThat(win(second).term().timeline()).isOne();
	}

	@Test
	void transactionOfATermOfAnotherTimelineDoesNotPass() throws Exception {
		StoreSession leader = leader("node-a");
		update("timeline = 7");
		assertThat(pass(leader, begin())).isEqualTo(Verdict.REFUSED);
	}

	// What is owned and not led

	@Test
	void electionIsNotKeptByANodeThatHasNotReadTheReplyOfItsTakeover() throws Exception {
		try (TcpProxy proxy = new TcpProxy(this.server)) {
			AtomicBoolean unheard = new AtomicBoolean();
			TestNode node = node("node-a", (settings) -> this.server.connect(proxy.port(), settings), LEASE,
					(sql) -> beforeTakeover(sql, () -> {
						if (unheard.get()) {
							proxy.hold(Direction.TO_CLIENT);
						}
					}));
			StoreSession other = node.open("other");
			Won led = lead(other);
			StoreSession session = node.open();
			this.server.execute("INSERT INTO %s VALUES ('%s', 0, 0, NULL, true)".formatted(this.table, ELECTION));
			unheard.set(true);
			Future<?> takeover = start(() -> session.acquire(NO_WAIT));
			await().until(() -> election("owner IS NOT NULL").equals("t"));
			proxy.reset();
			proxy.release();
			assertThatExceptionOfType(Exception.class).isThrownBy(() -> get(takeover))
				.withCauseInstanceOf(SessionException.class);
			session.abort();
			confirm(other);
			await().until(() -> election("owner IS NULL AND NOT clean").equals("t"));
			unheard.set(false);
			assertThat(win(node.open()).term()).isGreaterThan(led.term());
			confirm(other);
		}
	}

	@Test
	void sessionWhoseTrustHasLapsedIsNotRenewed() throws SessionException {
		TestNode node = node("node-a");
		StoreSession first = leader(node);
		List<String> before = rows("node-a", "concat(token, beat)");
		node.clock.advance(LEASE.multipliedBy(3).dividedBy(4));
		assertThatExceptionOfType(SessionException.class).isThrownBy(() -> first.confirm(true))
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
				confirm(other);
			}
		}).withMessageContaining("The session of this node has ended");
	}

	// Fenced transactions and locks

	@Test
	void overlappingTransactionsDoNotStarveATakeover() throws Exception {
		StoreSession leader = leader("node-a");
		StoreSession second = follower("node-b");
		Connection transaction = begin();
		assertThat(pass(leader, transaction)).isEqualTo(Verdict.PASSED);
		advance(second, LEASE);
		await().until(() -> {
			hold(second);
			return rows("node-a", "token").isEmpty();
		});
		assertThat(pass(leader, begin())).isEqualTo(Verdict.REFUSED);
		transaction.commit();
		awaitWon(second);
	}

	@Test
	void deleteTakeoverAndReleaseDoNotWaitForALockedRow() throws Exception {
		String id = "node-" + this.table;
		leader("node-a");
		StoreSession second = follower(id);
		advance(second, LEASE);
		Connection foreign = begin(lockOf("node-a"));
		hold(second);
		foreign.rollback();
		foreign = begin(lockOfElection());
		hold(second);
		foreign.rollback();
		awaitWon(second);
		begin(lockOfElection());
		second.release(true);
		// As of a wait that is limited
		assertThat(this.server.log().lines()).noneMatch((line) -> line.contains(id) && line.contains("ERROR"));
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
			List<Future<Boolean>> attempts = Stream.of(followsOne, followsTwo)
				.map((session) -> start(() -> attempt(session)))
				.toList();
			for (Future<Boolean> attempt : attempts) {
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

	@Test
	void sessionWhoseRowIsDeletedMeanwhileTakesNothing() throws SessionException {
		StoreSession session = node("node-a",
				(sql) -> beforeTakeover(sql, () -> this.server.execute("DELETE FROM " + this.table + "_node")))
			.open();
		assertThat(attempt(session)).isFalse();
		assertThat(election("owner IS NULL")).isEqualTo("t");
	}

	private static void beforeTakeover(LeaseTableSql sql, Runnable action) {
		willAnswer((call) -> {
			action.run();
			return call.callRealMethod();
		}).given(sql).takeOver(any(), anyLong(), any(), anyLong());
	}

	@Test
	void sessionThatIsRenewedMeanwhileIsNotDeleted() throws SessionException {
		leader("node-a");
		TestNode node = node("node-b", (sql) -> willAnswer((call) -> {
			update("node-a", "beat = beat + 1");
			return call.callRealMethod();
		}).given(sql).expire(any(), anyLong()));
		StoreSession second = follower(node);
		node.clock.advance(LEASE);
		hold(second);
		assertThat(rows("node-a", "beat")).isNotEmpty();
	}

	@Test
	void copyOfANodeDoesNotShareItsSession() throws SessionException {
		StoreSession first = leader("node-a");
		update("node-a", "beat = beat + 1000");
		assertThatExceptionOfType(SessionException.class).isThrownBy(() -> confirm(first))
			.withMessageContaining("The session of this node has ended");
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
		StoreSession first = leader("node-a");
		TestNode node = node("node-b");
		StoreSession second = follower(node);
		node.clock.advance(LEASE.minusSeconds(10));
		confirm(first);
		this.server.execute(change.formatted(this.table));
		assertThatExceptionOfType(SessionException.class).isThrownBy(() -> second.acquire(NO_WAIT))
			.withMessageContaining("its row was deleted");
		second.abort();
		StoreSession third = follower("node-c");
		StoreSession again = node.open();
		for (int i = 0; i < 2; i++) {
			hold(again);
			hold(third);
			node.clock.advance(LEASE.dividedBy(2));
			advance(third, LEASE.dividedBy(2).minusSeconds(1));
		}
		hold(third);
		assertThatExceptionOfType(SessionException.class).isThrownBy(() -> first.confirm(true));
		win(again);
	}

	@Test
	void idleSessionIsNotDeletedBeforeHalfAMinuteNorWhileItOwnsAnotherElection() throws SessionException {
		StoreSession first = leader("node-a");
		StoreSession third = follower("node-c");
		TestNode owner = node("node-d");
		StoreSession fourth = owner.open();
		hold(fourth);
		StoreSession other = owner.open("other");
		lead(other);
		// As if their nodes had crashed
		List.of(third, fourth, other).forEach(StoreSession::abort);
		StoreSession second = follower("node-b");
		// Longer than the lease
		for (int i = 0; i < 3; i++) {
			advance(second, Duration.ofSeconds(8));
			confirm(first);
			hold(second);
		}
		assertThat(rows("node-c", "token")).hasSize(1);
		advance(second, Duration.ofSeconds(7));
		confirm(first);
		hold(second);
		for (int i = 0; i < 2; i++) {
			advance(second, Duration.ofSeconds(3));
			confirm(first);
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
				ServerInspection.inspect(connection), false, 5000);
		connection.commit();
		List<String> elections = IntStream.range(1, 20).mapToObj((i) -> "e" + i).toList();
		UUID token = UUID.randomUUID();
		LeaseRow row = new LeaseRow("e1", 1, 1, token, false, null, null, null, null);
		execute(connection, "SET leader_election.beaten = '1'");
		for (String message : List.of(sql.round(token, 2, false, elections, true),
				sql.round(token, 2, true, elections, true),
				sql.takeOver(Map.of(row, ElectionKeys.derive("test", "e1")), 1, token, 2),
				sql.release(Map.of(row, true), token), sql.insert(elections))) {
			for (String statement : message.split(";\\s*")) {
				if (!statement.startsWith("SET TRANSACTION")) {
					assertThat(value(connection, "EXPLAIN (FORMAT JSON) " + statement)).as(statement)
						.doesNotContain("Seq Scan");
				}
			}
		}
	}

	@Test
	void fenceNeedsNoRightToChangeWhoLeads() throws Exception {
		StoreSession leader = leader("node-a");
		this.server.createRole(this.role);
		this.server.execute("""
				GRANT SELECT, UPDATE (since) ON %1$s TO %2$s;
				GRANT SELECT ON %1$s_node TO %2$s
				""".formatted(this.table, this.role));
		try (Connection transaction = this.server.connectAs(this.role, new Properties())) {
			transaction.setAutoCommit(false);
			assertThat(pass(leader, transaction)).isEqualTo(Verdict.PASSED);
			assertThatExceptionOfType(SQLException.class)
				.isThrownBy(() -> execute(transaction, "UPDATE " + this.table + " SET owner = NULL"))
				.withMessageContaining("permission denied");
		}
		finally {
			this.server.execute("DROP OWNED BY " + this.role);
		}
	}

}
