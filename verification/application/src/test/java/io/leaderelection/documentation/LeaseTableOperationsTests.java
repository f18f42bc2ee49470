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

package io.leaderelection.documentation;

import java.nio.file.Path;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.UUID;

import io.leaderelection.LeadershipEvent;
import io.leaderelection.LeadershipRevokedEvent.Reason;
import io.leaderelection.Term;
import io.leaderelection.testsupport.PostgreSqlServer;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.postgresql.PGConnection;

import org.springframework.jdbc.UncategorizedSQLException;
import org.springframework.jdbc.core.simple.JdbcClient;
import org.springframework.jdbc.datasource.DriverManagerDataSource;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

/**
 * Tests that the queries for operators of {@code leader-election.store=table} in
 * "Troubleshooting" show what they should, and that changes by hand have the documented
 * effects.
 */
@Tag("ring2")
class LeaseTableOperationsTests {

	private static final Markdown DOCUMENT = Markdown.of(Path.of("docs", "operations", "troubleshooting.md"));

	private final PostgreSqlServer server = PostgreSqlServer.shared();

	private final JdbcClient jdbc = JdbcClient
		.create(new DriverManagerDataSource(this.server.jdbcUrl(), this.server.username(), this.server.password()));

	private final String group = "group-" + UUID.randomUUID();

	private final List<LeaseTableNode> nodes = new ArrayList<>();

	@BeforeEach
	void startNode() {
		start().awaitLeader();
	}

	@AfterEach
	void closeNodes() {
		this.nodes.forEach(LeaseTableNode::close);
	}

	@AfterEach
	void deleteTheCopy() {
		this.jdbc.sql("DELETE FROM leader_election_node WHERE node = ?").param(copy()).update();
		for (String table : List.of("leader_election", "leader_election_candidate")) {
			this.jdbc.sql("DELETE FROM " + table + " WHERE election = ?").param(copy()).update();
		}
	}

	@Test
	void queryShowsTheOwner() throws Exception {
		LeaseTableNode leader = this.nodes.get(0);
		LeaseTableNode follower = start();
		Awaitility.await()
			.untilAsserted(() -> assertThat(lease().get("candidates").toString().split(", "))
				.containsExactlyInAnyOrder(leader.elector().getNodeId(), follower.elector().getNodeId()));
		Map<String, Object> lease = lease();
		Term term = leader.elector().getLeadership().getTerm();
		assertThat(lease).containsEntry("state", "held")
			.containsEntry("term", term.timeline() + ":" + term.transactionId())
			.containsEntry("node", leader.elector().getNodeId())
			.containsEntry("pid", ProcessHandle.current().pid());
		assertThat(leader.elector().getNodeId()).startsWith(lease.get("host") + "-" + lease.get("pid") + "-");
		assertThat(seconds("age")).isBetween(0.0, LeaseTableNode.LEASE.toMillis() / 1000.0);
		assertThat(seconds("lease")).isEqualTo(LeaseTableNode.LEASE.toSeconds());
		assertThat(lease.keySet()).containsExactlyElementsOf(documentedColumns());
	}

	private static List<String> documentedColumns() {
		return DOCUMENT.rows("column")
			.stream()
			.flatMap((row) -> Arrays.stream(row.get(0).split(", ")))
			.map((column) -> column.replace("`", ""))
			.toList();
	}

	private double seconds(String interval) {
		return this.jdbc
			.sql("SELECT extract(epoch FROM " + interval + ") FROM (" + leaseQuery() + ") AS lease "
					+ "WHERE election = ?")
			.param(election())
			.query(Double.class)
			.single();
	}

	@ParameterizedTest
	@CsvSource(delimiter = '|', value = {
			"UPDATE leader_election_node SET heartbeat = clock_timestamp() - interval '3 s' WHERE token = :token | stale",
			"DELETE FROM leader_election_node WHERE token = :token | stale",
			"UPDATE leader_election_candidate AS part SET resign_term = term FROM leader_election AS entry "
					+ "WHERE entry.election = :election AND part.election = entry.election | resigning",
			"UPDATE leader_election_candidate AS part SET resign_term = term - 1 FROM leader_election AS entry "
					+ "WHERE entry.election = :election AND part.election = entry.election | held",
			"UPDATE leader_election SET owner = NULL WHERE election = :election | free" })
	void queryShowsTheState(String change, String state) {
		UUID token = UUID.randomUUID();
		insertNode(token, copy(), 2000, 4711);
		this.jdbc
			.sql("INSERT INTO leader_election SELECT ?, term, timeline, ?, clean, since FROM leader_election "
					+ "WHERE election = ?")
			.params(copy(), token, election())
			.update();
		this.jdbc.sql("INSERT INTO leader_election_candidate (election, token, candidate) VALUES (?, ?, true)")
			.params(copy(), token)
			.update();
		assertThat(lease(copy())).containsEntry("state", "held").containsEntry("candidates", copy());
		assertThat(this.jdbc.sql(change).param("token", token).param("election", copy()).update()).isOne();
		assertThat(lease(copy())).containsEntry("state", state);
	}

	private void insertNode(UUID token, String node, int lease, int pid) {
		this.jdbc.sql(
				"INSERT INTO leader_election_node VALUES (?, ?, 'web1', ?, 1, ?, clock_timestamp(), clock_timestamp())")
			.params(token, node, pid, lease)
			.update();
	}

	@Test
	void leaseOfANodeThatHasStoppedIsFree() {
		this.nodes.get(0).close();
		assertThat(lease()).containsEntry("state", "free")
			.containsEntry("node", null)
			.containsEntry("candidates", null);
	}

	@Test
	void leaderResignsOnRequestByHand() {
		LeaseTableNode leader = this.nodes.get(0);
		LeaseTableNode follower = start();
		awaitFollower(follower);
		requestResignation();
		follower.awaitLeader();
		assertThat(leader.awaitRevocations(1)).containsExactly(Reason.RESIGNED);
		assertThat(term(follower.awaitEvent(0))).isGreaterThan(term(leader.awaitEvent(0)));
	}

	@Test
	void leaderWithoutOtherCandidatesLeadsAgain() {
		LeaseTableNode leader = this.nodes.get(0);
		requestResignation();
		assertThat(leader.awaitRevocations(1)).containsExactly(Reason.RESIGNED);
		assertThat(term(leader.awaitEvent(2))).isGreaterThan(term(leader.awaitEvent(0)));
		assertThat(lease()).containsEntry("state", "held");
	}

	@Test
	void leaseOfAProcessThatHasEndedIsFreedByHand() {
		this.nodes.get(0).close();
		UUID token = UUID.randomUUID();
		insertNode(token, "gone", 600_000, 4711);
		this.jdbc.sql("UPDATE leader_election SET owner = ? WHERE election = ?").params(token, election()).update();
		LeaseTableNode candidate = start();
		Awaitility.await().until(() -> "gone".equals(candidate.leader()));
		String statement = DOCUMENT.code("sql", "SET owner = NULL").replace("shop:default", election());
		assertThat(this.jdbc.sql(statement.replace("4711", "4712")).update()).isZero();
		assertThat(this.jdbc.sql(statement).update()).isOne();
		candidate.awaitLeader();
		this.jdbc.sql("DELETE FROM leader_election_node WHERE token = ?").param(token).update();
	}

	@Test
	void leaseDoesNotDependOnWhatIsForPeople() {
		LeaseTableNode leader = this.nodes.get(0);
		LeaseTableNode follower = start();
		awaitFollower(follower);
		this.jdbc
			.sql("UPDATE leader_election_node SET node = 'renamed', host = 'other', pid = 0, since = '-infinity', "
					+ "heartbeat = '-infinity' WHERE token = (SELECT owner FROM leader_election WHERE election = ?)")
			.param(election())
			.update();
		Awaitility.await().until(() -> "renamed".equals(follower.leader()));
		this.jdbc.sql("UPDATE leader_election SET since = NULL WHERE election = ?").param(election()).update();
		long beat = beat();
		Awaitility.await().until(() -> beat() > beat + 1);
		assertThat(leader.events()).hasSize(1);
	}

	private static void awaitFollower(LeaseTableNode follower) {
		Awaitility.await().until(() -> follower.leader() != null);
	}

	private long beat() {
		return this.jdbc
			.sql("SELECT beat FROM leader_election JOIN leader_election_node ON token = owner WHERE election = ?")
			.param(election())
			.query(Long.class)
			.single();
	}

	@Test
	void queryFindsTheSessionThatHasLockedTheRowOfANode() throws SQLException {
		try (Connection foreign = lock("SELECT FROM leader_election_node WHERE token = "
				+ "(SELECT owner FROM leader_election WHERE election = '" + election() + "') FOR UPDATE")) {
			assertThat(this.nodes.get(0).awaitRevocations(1)).containsExactly(Reason.LEASE_EXPIRED);
			Awaitility.await().until(() -> lease().get("state").equals("stale"));
			foreign.rollback();
		}
		this.nodes.get(0).awaitLeader();
	}

	@Test
	void queryFindsTheSessionThatHasLockedTheRowOfAnElection() throws SQLException {
		LeaseTableNode leader = this.nodes.get(0);
		try (Connection foreign = lock(
				"SELECT FROM leader_election WHERE election = '" + election() + "' FOR UPDATE")) {
			assertThatExceptionOfType(UncategorizedSQLException.class)
				.isThrownBy(() -> leader.runInTransaction("SELECT 1"))
				.withMessageContaining("is held by the session that has locked its row");
			long beat = beat();
			Awaitility.await().until(() -> beat() > beat + 1);
			assertThat(lease()).containsEntry("state", "held");
			assertThat(leader.events()).hasSize(1);
			foreign.rollback();
		}
		assertThat(leader.runInTransaction("SELECT 1")).isTrue();
	}

	/**
	 * Lock a row, and wait until the documented query shows the session.
	 */
	private Connection lock(String statement) throws SQLException {
		Connection foreign = this.server.connect();
		foreign.setAutoCommit(false);
		try (Statement locking = foreign.createStatement()) {
			locking.execute(statement);
		}
		int pid = foreign.unwrap(PGConnection.class).getBackendPID();
		Awaitility.await()
			.untilAsserted(() -> assertThat(this.jdbc.sql(DOCUMENT.code("sql", "xact_start")).query().listOfRows())
				.singleElement()
				.satisfies((row) -> assertThat(row).containsEntry("pid", pid)));
		return foreign;
	}

	private static Term term(LeadershipEvent event) {
		return event.getLeadership().getTerm();
	}

	private void requestResignation() {
		this.jdbc.sql(DOCUMENT.code("sql", "SET resign_term = entry.term").replace("shop:default", election()))
			.update();
	}

	private Map<String, Object> lease() {
		return lease(election());
	}

	private Map<String, Object> lease(String election) {
		return this.jdbc.sql("SELECT * FROM (" + leaseQuery() + ") AS lease WHERE election = ?")
			.param(election)
			.query()
			.singleRow();
	}

	private static String leaseQuery() {
		return DOCUMENT.code("sql", "'stale'").replace(";", "");
	}

	private String election() {
		return this.group + ":default";
	}

	private String copy() {
		return election() + "-copy";
	}

	private LeaseTableNode start() {
		LeaseTableNode node = new LeaseTableNode("leader-election.group=" + this.group,
				"leader-election.initialize-schema=always");
		this.nodes.add(node);
		return node;
	}

}
