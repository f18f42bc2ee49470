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
import java.util.Objects;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicReference;

import io.leaderelection.Term;
import io.leaderelection.engine.ElectionSettings;
import io.leaderelection.engine.ElectionStore.Sight;
import io.leaderelection.engine.ElectionStore.StandBack;
import io.leaderelection.engine.NodeProfile;
import io.leaderelection.engine.Platform;
import io.leaderelection.engine.SessionException;
import io.leaderelection.engine.StoreSession;
import io.leaderelection.engine.StoreSession.Acquisition.Ending;
import io.leaderelection.engine.StoreSession.Acquisition.Won;
import io.leaderelection.engine.StoreSession.Candidate;
import io.leaderelection.engine.StoreSession.ForeignHolder;
import io.leaderelection.engine.StoreSession.ForeignHolder.Kind;
import io.leaderelection.engine.TransactionFence.Verdict;
import io.leaderelection.postgresql.DatabaseIdentity;
import io.leaderelection.postgresql.ElectionKeys;
import io.leaderelection.postgresql.LeaseTableShape.Tables;
import io.leaderelection.postgresql.ServerInspection;
import io.leaderelection.postgresql.StoreSessionContract;
import io.leaderelection.postgresql.advisory.AdvisoryLockStore;
import io.leaderelection.postgresql.table.LeaseTableFence.Home;
import io.leaderelection.testsupport.PostgreSqlServer;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.awaitility.Awaitility.await;
import static org.mockito.ArgumentMatchers.any;
import static org.mockito.BDDMockito.willAnswer;

/**
 * Tests for the sessions of {@link LeaseTable} on a real server.
 */
@Tag("ring1")
class LeaseTableTests extends LeaseTableFixture implements StoreSessionContract {

	private final ElectionKeys keys = ElectionKeys.derive(this.table, ELECTION);

	@Test
	void newElectionIsWonWithoutWaitingForAnything() throws Exception {
		StoreSession session = node("node-a").open();
		assertThat(get(start(() -> session.acquire(NO_WAIT)))).isInstanceOfSatisfying(Won.class, (won) -> {
			assertThat(won.ending()).isEqualTo(Ending.CLEAN);
			assertThat(won.clear()).isTrue();
		});
	}

	@Test
	void rowsTellWhoLeads() throws SessionException {
		Won won = lead(node("node-a").open());
		assertThat(this.server.query("""
				SELECT concat_ws(' ', term, timeline, clean, node, host, pid, lease_ms, candidate, profile)
				FROM %1$s JOIN %1$s_node ON token = owner JOIN %1$s_candidate USING (election, token)
				WHERE heartbeat >= %1$s.since AND heartbeat > now() - interval '1 minute'
				""".formatted(this.table))).containsExactly("%d 1 f node-a host-1 4711 20000 t %d 0 0 "
			.formatted(won.term().transactionId(), NodeProfile.PROTOCOL));
	}

	@Test
	void sessionIsTakenOverNoEarlierThanItExpires() throws SessionException {
		StoreSession first = node("node-a").open();
		Won won = lead(first);
		StoreSession second = follower("node-b");
		advance(second, LEASE.minusSeconds(10));
		assertThat(hold(second).view().leader()).isNotNull();
		advance(second, Duration.ofSeconds(10));
		Won takeover = win(second);
		assertThat(takeover.term()).isGreaterThan(won.term());
		assertThat(takeover.ending()).isEqualTo(Ending.CLEAN);
		assertThat(rows("node-a", "token")).isEmpty();
		assertThatExceptionOfType(SessionException.class).isThrownBy(() -> first.confirm(true))
			.withMessageContaining("The session of this node has ended");
		second.confirm(true);
	}

	@Test
	void sessionThatIsRenewedIsNotTakenOver() throws SessionException {
		StoreSession first = leader("node-a");
		StoreSession second = node("node-b").open();
		for (int i = 0; i < 6; i++) {
			hold(second);
			confirm(first);
			advance(second, LEASE.dividedBy(2));
		}
	}

	@Test
	void nodeThatEndsASessionFreesAllThatItOwns() throws SessionException {
		TestNode owner = node("node-a");
		leader(owner);
		lead(owner.open("other"));
		StoreSession second = follower("node-b");
		StoreSession third = node("node-c").open("other");
		hold(third);
		advance(second, LEASE);
		assertThat(win(second).ending()).isEqualTo(Ending.CLEAN);
		// By its own clock, the lease has just begun
		assertThat(win(third).ending()).isEqualTo(Ending.CLEAN);
	}

	@Test
	void optionalColumnMayBeAddedAndDroppedWhileNodesRun() throws Exception {
		StoreSession first = node("node-a").open();
		Won won = lead(first);
		TestNode second = node("node-b");
		StoreSession follower = follower(second);
		alter("ADD COLUMN version varchar(255)");
		confirm(first);
		follower("node-c");
		alter("DROP COLUMN version, DROP COLUMN host, DROP COLUMN pid, DROP COLUMN since");
		this.server.execute("ALTER TABLE " + this.table + " DROP COLUMN paused_until");
		confirm(first);
		assertThat(election("term")).isEqualTo(String.valueOf(won.term().transactionId()));
		follower("node-d");
		assertThatExceptionOfType(SessionException.class).isThrownBy(() -> follower.acquire(NO_WAIT))
			.withMessageContaining("column");
		follower.abort();
		StoreSession next = follower(second);
		this.server.execute("DELETE FROM %s_node WHERE node = 'node-b'".formatted(this.table));
		assertThatExceptionOfType(SessionException.class).isThrownBy(() -> next.acquire(NO_WAIT))
			.withMessageContaining("its row was deleted");
		next.abort();
		StoreSession later = follower(second);
		advance(later, LEASE);
		win(later);
		alter("ADD COLUMN host varchar(255)");
		follower("node-e");
		assertThat(rows("node-e", "host")).containsExactly("host-1");
	}

	private void alter(String change) {
		this.server.execute("ALTER TABLE " + this.table + "_node " + change);
	}

	@Test
	void pauseEndsTheTermInGoodOrderAndKeepsAllNodesFromLeading() throws Exception {
		StoreSession first = leader("node-a");
		StoreSession second = follower("node-b");
		update("paused_until = now() + interval '1 hour', paused_by = 'operator'");
		assertThat(confirm(first).requested()).isTrue();
		assertThat(first.requester()).startsWith("pause until ").endsWith(" by operator");
		first.release(true);
		hold(first);
		advance(second, LEASE);
		assertThat(hold(second).view().foreign()).asString()
			.startsWith("pause until ")
			.endsWith(" by operator keeps nodes from leading");
		update("paused_until = now()");
		awaitWon(second);
	}

	@Test
	void electionIsReleasedOnAnotherConnectionIfTheConnectionHasEnded() throws SessionException {
		StoreSession session = leader("node-a");
		terminate("node-a");
		session.release(true);
		assertThat(election("owner IS NULL AND clean")).isEqualTo("t");
		assertThatIllegalStateException().isThrownBy(() -> session.confirm(true));
	}

	@Test
	void endedConnectionDoesNotEndTheTerm() throws SessionException {
		StoreSession session = leader("node-a");
		List<String> token = rows("node-a", "token");
		terminate("node-a");
		confirm(session);
		assertThat(rows("node-a", "token")).isEqualTo(token);
	}

	@Test
	void electionIsTakenOverAtOnceByTheNextSessionOfTheSameNode() throws SessionException {
		TestNode node = node("node-a");
		node.open("other");
		StoreSession first = leader(node);
		first.abort();
		assertThat(win(node.open()).ending()).isEqualTo(Ending.UNKNOWN);
	}

	@Test
	void closedSessionDeletesItsRowOnlyIfItOwnsNothing() throws SessionException {
		StoreSession first = leader("node-a");
		StoreSession second = follower("node-b");
		second.close();
		first.close();
		assertThat(rows("node-b", "token")).isEmpty();
		assertThat(rows("node-a", "token")).containsExactly(election("owner"));
	}

	@Test
	void onlyTheFirstCandidatesBesidesTheLeaderAreStandbys() throws SessionException {
		StoreSession leader = leader("node-b");
		List<StoreSession> followers = new ArrayList<>();
		for (String id : List.of("node-a", "node-c", "node-d", "node-e")) {
			TestNode node = node(id);
			StoreSession session = candidate(node.store(ELECTION, id.equals("node-e") ? 1 : 0, 2));
			assertThat(session.isStandby()).isTrue();
			hold(session);
			followers.add(session);
		}
		for (StoreSession session : followers) {
			// A change of the candidacy has the list read again
			session.withdraw();
			hold(session);
			session.becomeCandidate();
			hold(session);
		}
		assertThat(followers.stream().map(StoreSession::isStandby)).containsExactly(true, false, false, true);
		assertThat(leader.isStandby()).isTrue();
	}

	@Test
	void freeElectionIsLeftForAMomentToACandidateOfHigherPriority() throws SessionException {
		StoreSession first = leader("node-a");
		TestNode low = node("node-b");
		StoreSession second = low.open();
		TestNode high = node("node-c");
		StoreSession third = candidate(high.store(ELECTION, 1, 3));
		hold(third);
		// Reads the candidates again
		low.clock.advance(Duration.ofSeconds(3));
		hold(second);
		first.release(true);
		hold(second);
		low.clock.advance(Duration.ofSeconds(1));
		win(second);
		second.release(true);
		second.close();
		win(third);
		StoreSession next = follower(low);
		third.release(true);
		// It does not count as the former leader
		win(next);
	}

	@ParameterizedTest
	@ValueSource(booleans = { true, false })
	void freeElectionIsLeftForAMomentToAnotherCandidateByNodeThatStandsBack(boolean other) throws SessionException {
		StoreSession first = leader("node-a");
		TestNode node = node("node-b");
		StoreSession second = follower(node);
		if (other) {
			follower("node-c");
		}
		// Reads the candidates again
		node.clock.advance(Duration.ofSeconds(3));
		hold(second);
		node.spreading().standBack(StandBack.WHEN_FREE);
		first.release(true);
		if (other) {
			hold(second);
			node.clock.advance(Duration.ofMillis(500));
		}
		win(second);
	}

	@Test
	void nodeThatIsUnlistedIsNoCandidateForOthers() throws SessionException {
		TestNode other = node("node-a");
		StoreSession leader = other.open();
		win(leader);
		TestNode node = node("node-b");
		StoreSession session = follower(node);
		assertThat(candidates(other, leader)).containsExactly("node-a", "node-b");
		node.spreading().standBack(StandBack.UNLISTED);
		hold(session);
		assertThat(candidates(other, leader)).containsExactly("node-a");
		node.spreading().standBack(StandBack.NOT);
		hold(session);
		assertThat(candidates(other, leader)).containsExactly("node-a", "node-b");
	}

	private List<String> candidates(TestNode node, StoreSession leader) throws SessionException {
		node.clock.advance(Duration.ofSeconds(3));
		confirm(leader);
		return sight(node).view().candidates().stream().map(Candidate::nodeId).toList();
	}

	private static Sight sight(TestNode node) {
		return Objects.requireNonNull(node.spreading().sight());
	}

	@Test
	void candidateIsAliveWhileItsBeatChanges() throws SessionException {
		TestNode node = node("node-a");
		assertThat(node.spreading().sight()).isNull();
		StoreSession leader = node.open();
		win(leader);
		TestNode other = node("node-b");
		StoreSession silent = follower(other);
		for (int reading = 0; reading < 3; reading++) {
			assertThat(candidates(node, leader)).containsExactly("node-a", "node-b");
			assertThat(sight(node).alive()).hasSize((reading < 2) ? 2 : 1);
		}
		assertThat(sight(node).age()).isLessThan(Duration.ofSeconds(3));
		node.clock.advance(Duration.ofSeconds(3));
		assertThat(sight(node).age()).isGreaterThan(Duration.ofSeconds(3));
		other.clock.advance(Duration.ofSeconds(3));
		hold(silent);
		candidates(node, leader);
		assertThat(sight(node).alive()).hasSize(2);
	}

	@Test
	void wakeEndsTheWaitOrElseTheNextOne() throws Exception {
		StoreSession leader = leader("node-a");
		StoreSession session = node("node-b").open();
		Future<?> waiting = start(() -> session.acquire(Duration.ofMinutes(1)));
		awaitStill(() -> !waiting.isDone());
		session.wake();
		get(waiting);
		session.wake();
		session.acquire(Duration.ofMinutes(1));
		Future<?> next = start(() -> session.acquire(Duration.ofMinutes(1)));
		awaitStill(() -> !next.isDone());
	}

	@ParameterizedTest
	@CsvSource({ "DELETE FROM %s, The row of the election has been deleted",
			"'UPDATE %s SET term = term + 1, owner = (SELECT token FROM %<s_node WHERE node = ''node-b'')', "
					+ "The term has ended: node 'node-b' leads in the term .*",
			"UPDATE %s SET owner = NULL, The term has ended: the election is free",
			"DELETE FROM %s_node, The session of this node has ended: .*" })
	void changeByHandEndsTheTerm(String change, String message) throws Exception {
		StoreSession first = leader("node-a");
		follower("node-b");
		this.server.execute(change.formatted(this.table));
		assertThat(pass(first, begin())).isEqualTo(Verdict.REFUSED);
		assertThatExceptionOfType(SessionException.class).isThrownBy(() -> first.confirm(true))
			.withMessageMatching(message);
	}

	@Test
	void takeoverWaitsForTransactionsThatHavePassedTheFence() throws Exception {
		StoreSession first = leader("node-a");
		Connection transaction = begin();
		assertThat(pass(first, transaction)).isEqualTo(Verdict.PASSED);
		// Renewals pass
		confirm(first);
		StoreSession second = follower("node-b");
		advance(second, LEASE);
		String locker = "pid " + PostgreSqlServer.pid(transaction) + " ";
		await().until(() -> String.valueOf(hold(second).view().foreign()).contains(locker));
		transaction.commit();
		awaitWon(second);
		assertThat(second.observe().foreign()).isNull();
		assertThat(pass(first, transaction)).isEqualTo(Verdict.REFUSED);
	}

	@ParameterizedTest
	@ValueSource(ints = { Connection.TRANSACTION_READ_COMMITTED, Connection.TRANSACTION_REPEATABLE_READ,
			Connection.TRANSACTION_SERIALIZABLE })
	void transactionThatBeganBeforeATakeoverPassesBeforeItAndIsRefusedAfterIt(int isolation) throws Exception {
		StoreSession first = leader("node-a");
		Connection before = begin(isolation);
		Connection after = begin(isolation);
		for (Connection transaction : List.of(before, after)) {
			execute(transaction, "SELECT count(*) FROM " + this.table);
		}
		confirm(first);
		assertThat(pass(first, before)).isEqualTo(Verdict.PASSED);
		before.commit();
		// As by a node that is frozen, whose release does not end its own fence
		update("owner = NULL, clean = true");
		win(node("node-b").open());
		assertThat(pass(first, after)).isEqualTo(Verdict.REFUSED);
	}

	@Test
	void noTransactionPassesOnThisNodeFromTheReleaseOn() throws Exception {
		StoreSession first = leader("node-a");
		Connection transaction = begin();
		assertThat(pass(first, transaction)).isEqualTo(Verdict.PASSED);
		// Skipped, since the row is locked
		first.release(true);
		assertThat(election("owner IS NOT NULL")).isEqualTo("t");
		assertThat(pass(first, begin())).isEqualTo(Verdict.REFUSED);
	}

	@Test
	void serializationFailureBetweenOtherTransactionsIsNotMistakenForALostTerm() throws Exception {
		StoreSession leader = leader("node-a");
		String doctor = this.table + "_doctor";
		this.server.execute("CREATE TABLE " + doctor + " (name text)");
		try {
			Connection transaction = begin(Connection.TRANSACTION_SERIALIZABLE);
			Connection other = begin(Connection.TRANSACTION_SERIALIZABLE);
			for (Connection each : List.of(transaction, other)) {
				execute(each, "SELECT count(*) FROM " + doctor);
			}
			for (Connection each : List.of(transaction, other)) {
				execute(each, "INSERT INTO " + doctor + " VALUES ('alice')");
			}
			other.commit();
			assertThatExceptionOfType(SQLException.class).isThrownBy(() -> pass(leader, transaction))
				.extracting(SQLException::getSQLState)
				.isEqualTo("40001");
			transaction.rollback();
			assertThat(pass(leader, transaction)).isEqualTo(Verdict.PASSED);
			transaction.rollback();
		}
		finally {
			this.server.execute("DROP TABLE " + doctor);
		}
	}

	@Test
	void fenceLimitsHowLongItsTransactionMayBeIdle() throws Exception {
		StoreSession leader = leader("node-a");
		Connection transaction = begin();
		String setting = "SHOW idle_in_transaction_session_timeout";
		assertThat(pass(leader, transaction)).isEqualTo(Verdict.PASSED);
		assertThat(value(transaction, setting)).isEqualTo("20s");
		transaction.commit();
		assertThat(value(transaction, setting)).isEqualTo("0");
		execute(transaction, "SET idle_in_transaction_session_timeout = '7s'");
		assertThat(pass(leader, transaction)).isEqualTo(Verdict.PASSED);
		assertThat(value(transaction, setting)).isEqualTo("7s");
	}

	@Test
	void fenceIsBlockedWhileAForeignSessionHasLockedTheRow() throws Exception {
		StoreSession leader = leader("node-a");
		begin(lockOfElection());
		assertThat(pass(leader, begin())).isEqualTo(Verdict.BLOCKED);
	}

	@Test
	void fenceCoversTheDatabaseToWhichTheElectionsMove() throws Exception {
		TestNode node = node("node-a");
		leader(node);
		Connection transaction = begin();
		LeaseTableSql sql = new LeaseTableSql(Tables.named(this.table), ServerInspection.inspect(transaction), false,
				1000);
		DatabaseIdentity present = DatabaseIdentity.of(transaction);
		DatabaseIdentity former = new DatabaseIdentity(present.database() + 1, present.cluster());
		AtomicReference<Home> home = new AtomicReference<>(new Home(former, sql));
		LeaseTableFence fence = new LeaseTableFence(ELECTION, LEASE, home::get, Platform.SYSTEM);
		assertThat(fence.covers(transaction)).isFalse();
		home.set(new Home(present, sql));
		assertThat(fence.covers(transaction)).isTrue();
		home.set(new Home(former, sql));
		assertThat(fence.covers(transaction)).isFalse();
	}

	@ParameterizedTest
	@ValueSource(strings = { "SELECT FROM %s WHERE true FOR UPDATE", "UPDATE %s SET since = since", "DELETE FROM %s",
			"SELECT FROM %s WHERE true FOR KEY SHARE; UPDATE %<s SET since = since" })
	void followerNamesTheSessionThatHasLockedAFreeElection(String change) throws Exception {
		StoreSession first = leader("node-a");
		first.release(true);
		StoreSession second = node("node-b").open();
		Connection foreign = begin(change.formatted(this.table));
		ForeignHolder holder = blocker(second);
		assertThat(holder).isNotNull();
		assertThat(holder.kind()).isEqualTo(Kind.BLOCKING);
		assertThat(holder.session()).startsWith("session with pid " + PostgreSqlServer.pid(foreign) + " (");
		foreign.rollback();
		awaitWon(second);
	}

	@Test
	void followerNamesThePreparedTransactionThatHasLockedAFreeElection() throws Exception {
		StoreSession first = leader("node-a");
		first.release(true);
		StoreSession second = node("node-b").open();
		execute(begin(lockOfElection()), "PREPARE TRANSACTION '" + this.table + "'");
		try {
			assertThat(blocker(second))
				.isEqualTo(new ForeignHolder("prepared transaction '" + this.table + "'", Kind.BLOCKING));
		}
		finally {
			this.server.execute("ROLLBACK PREPARED '" + this.table + "'");
		}
		awaitWon(second);
	}

	@Test
	void followerNamesTheSessionThatHasLockedTheRowOfANodeThatHasExpired() throws Exception {
		StoreSession first = leader("node-a");
		StoreSession second = follower("node-b");
		Connection foreign = begin(lockOf("node-a"));
		advance(second, LEASE);
		assertThat(String.valueOf(blocker(second))).contains("pid " + PostgreSqlServer.pid(foreign) + " ");
		foreign.rollback();
		awaitWon(second);
	}

	/**
	 * Return what blocks a takeover, which is searched when it has failed twice.
	 */
	private static @Nullable ForeignHolder blocker(StoreSession session) throws SessionException {
		hold(session);
		return hold(session).view().foreign();
	}

	@Test
	void lockOfACandidatesRowDoesNotDelayATakeover() throws Exception {
		leader("node-a");
		StoreSession second = follower("node-b");
		begin("SELECT FROM %s_candidate FOR UPDATE".formatted(this.table));
		advance(second, LEASE);
		assertThat(win(second).term()).isNotNull();
	}

	@Test
	void remainsOfCrashedNodesAreDeletedAfterADayUnlessAnElectionNeedsThem() throws SessionException {
		leader("owner");
		follower("crashed");
		follower("present");
		List.of("owner", "crashed").forEach((id) -> update(id, "heartbeat = now() - interval '25 hours'"));
		this.server.execute(
				"INSERT INTO %s_candidate VALUES ('%s', gen_random_uuid(), false)".formatted(this.table, ELECTION));
		follower("later");
		assertThat(this.server.query("SELECT node FROM %s_node ORDER BY node".formatted(this.table)))
			.containsExactly("later", "owner", "present");
		assertThat(this.server.query(("SELECT node FROM %1$s_candidate LEFT JOIN %1$s_node USING (token) ORDER BY node")
			.formatted(this.table))).containsExactly("later", "owner", "present");
	}

	@ParameterizedTest
	@ValueSource(strings = { "", "_node", "_candidate" })
	void lockedTableFailsReadsAndDelaysConfirmations(String name) throws Exception {
		StoreSession first = leader(node("node-a", this.server::connect, Duration.ofSeconds(3), UNCHANGED));
		StoreSession second = node("node-b", this.server::connect, Duration.ofSeconds(3), UNCHANGED).open();
		Connection foreign = begin("LOCK TABLE " + this.table + name);
		assertThatExceptionOfType(SessionException.class).isThrownBy(() -> second.acquire(NO_WAIT))
			.withMessageContaining("The lease table is locked by another session");
		Future<?> confirmation = start(() -> first.confirm(true));
		awaitStill(() -> !confirmation.isDone());
		foreign.rollback();
		get(confirmation);
	}

	@Test
	void termsIncreaseAcrossAChangeOfStoreInBothDirections() throws SessionException {
		List<Term> terms = new ArrayList<>();
		for (int i = 0; i < 3; i++) {
			StoreSession leased = node("node-a").open();
			terms.add(lead(leased).term());
			leased.release(true);
			leased.close();
			StoreSession locked = candidate(
					new AdvisoryLockStore(new ElectionSettings(ELECTION, "node", LEASE, Duration.ZERO, LIMIT, true),
							this.keys, 0, false, this.server::connect, null));
			terms.add(win(locked).term());
			locked.release(true);
			locked.close();
		}
		assertThat(terms).isSorted().doesNotHaveDuplicates();
	}

	@ParameterizedTest
	@CsvSource({ "main, true", "candidate, true", "fence, true", "term, true", "marker, true", "request, false",
			"observer, false", "notice, false" })
	void keyOfTheOtherStoreKeepsNodesFromTakingOver(String name, boolean keeps) throws Exception {
		Connection foreign = connect("SELECT pg_advisory_lock_shared(" + key(name) + ")");
		StoreSession session = node("node-a").open();
		if (keeps) {
			assertThat(hold(session).view().foreign()).asString()
				.startsWith("session with pid " + PostgreSqlServer.pid(foreign)
						+ " (leader-election.store=advisory-lock; all nodes must use the same store)");
			execute(foreign, "SELECT pg_advisory_unlock_all()");
		}
		win(session);
	}

	private String key(String name) {
		return switch (name) {
			case "main" -> String.valueOf(this.keys.main());
			case "candidate" -> String.valueOf(this.keys.candidate());
			case "fence" -> String.valueOf(this.keys.fence());
			case "term" -> this.keys.termClass() + ", 1";
			case "marker" -> this.keys.termClass() + ", " + ElectionKeys.CLEAN;
			case "request" -> this.keys.requestClass() + ", 1";
			case "observer" -> this.keys.observerClass() + ", " + ElectionKeys.OBSERVER;
			case "notice" -> this.keys.noticeClass() + ", 1";
			default -> throw new IllegalArgumentException(name);
		};
	}

	@Test
	void keyOfTheOtherStoreDelaysAGrantButDoesNotEndLeadership() throws Exception {
		Connection foreign = connect("SELECT 1");
		StoreSession session = node("node-a", (sql) -> willAnswer((call) -> {
			execute(foreign, "SELECT pg_advisory_lock_shared(" + this.keys.candidate() + ")");
			return call.callRealMethod();
		}).willCallRealMethod().given(sql).otherStore(any())).open();
		win(session);
		assertThat(session.confirm(true).predecessor()).contains("leader-election.store=advisory-lock");
		execute(foreign, "SELECT pg_advisory_unlock_all()");
		assertThat(confirm(session).predecessor()).isNull();
		execute(foreign, "SELECT pg_advisory_lock_shared(" + this.keys.candidate() + ")");
		assertThat(confirm(session).predecessor()).isNull();
	}

}
