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
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.UUID;

import io.leaderelection.LeadershipEvent;
import io.leaderelection.LeadershipLostException;
import io.leaderelection.LeadershipRevokedEvent.Reason;
import io.leaderelection.Term;
import io.leaderelection.testsupport.PostgreSqlServer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

import org.springframework.jdbc.core.simple.JdbcClient;
import org.springframework.jdbc.datasource.DriverManagerDataSource;
import org.springframework.transaction.PlatformTransactionManager;
import org.springframework.transaction.support.TransactionTemplate;

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

	/** What a busy machine may add to any time. */
	private static final Duration SLACK = Duration.ofSeconds(5);

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
		for (String table : List.of("leader_election", "leader_election_fence")) {
			this.jdbc.sql("DELETE FROM " + table + " WHERE election = ?").param(copy()).update();
		}
	}

	@Test
	void queryShowsTheHolder() throws Exception {
		LeaseTableNode leader = this.nodes.get(0);
		LeaseTableNode follower = start();
		LeaseTableNode.eventually()
			.untilAsserted(() -> assertThat(lease().get("candidates").toString().split(", "))
				.containsExactlyInAnyOrder(leader.elector().getNodeId(), follower.elector().getNodeId()));
		Map<String, Object> lease = lease();
		Term term = leader.elector().getLeadership().getTerm();
		assertThat(lease).containsEntry("state", "held")
			.containsEntry("term", term.timeline() + ":" + term.transactionId())
			.containsEntry("holder", leader.elector().getNodeId())
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
	@CsvSource(delimiter = '|',
			value = { "heartbeat = clock_timestamp() - interval '3 s'|stale", "term = term + 1|elected",
					"resign_term = term|resigning", "resign_term = term - 1|held", "token = NULL|free",
					"token = NULL, term = term + 1|free" })
	void queryShowsTheState(String change, String state) {
		String copy = copy();
		this.jdbc
			.sql("INSERT INTO leader_election SELECT ?, term, timeline, beat, lease, holder, token, host, "
					+ "pid, since, clock_timestamp(), resign_term FROM leader_election WHERE election = ?")
			.params(copy, election())
			.update();
		this.jdbc.sql("INSERT INTO leader_election_fence SELECT ?, term FROM leader_election WHERE election = ?")
			.params(copy, election())
			.update();
		this.jdbc.sql("UPDATE leader_election SET " + change + " WHERE election = ?").param(copy).update();
		assertThat(lease(copy)).containsEntry("state", state);
	}

	@Test
	void leaseOfANodeThatHasStoppedIsFree() {
		this.nodes.get(0).close();
		assertThat(lease()).containsEntry("state", "free")
			.containsEntry("holder", null)
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
		this.jdbc
			.sql("UPDATE leader_election SET token = gen_random_uuid(), holder = 'gone', pid = 4711, lease = 600000, "
					+ "heartbeat = clock_timestamp() WHERE election = ?")
			.param(election())
			.update();
		LeaseTableNode candidate = start();
		LeaseTableNode.eventually().until(() -> "gone".equals(candidate.leader()));
		assertThat(this.jdbc.sql(query("SET token = NULL").replace("shop:default", election())).update()).isOne();
		candidate.awaitLeader();
	}

	@ParameterizedTest
	@ValueSource(strings = { "UPDATE leader_election SET token = NULL", "DELETE FROM leader_election" })
	void changeByHandEndsTheTermWithItsNextRenewal(String change) {
		LeaseTableNode leader = this.nodes.get(0);
		this.jdbc.sql(change + " WHERE election = ?").param(election()).update();
		long start = System.nanoTime();
		assertThat(leader.awaitRevocations(1)).containsExactly(Reason.SESSION_LOST);
		assertThat(Duration.ofNanos(System.nanoTime() - start)).isLessThan(LeaseTableNode.LEASE.plus(SLACK));
		leader.awaitLeader();
		assertThat(term(leader.awaitEvent(2))).isGreaterThan(term(leader.awaitEvent(0)));
	}

	@ParameterizedTest
	@ValueSource(strings = { "UPDATE leader_election_fence SET term = term - 1", "DELETE FROM leader_election_fence" })
	void changeOfTheFenceByHandRefusesTransactionsUntilTheNextTakeover(String change) {
		LeaseTableNode leader = this.nodes.get(0);
		this.jdbc.sql(change + " WHERE election = ?").param(election()).update();
		assertThat(lease()).containsEntry("state", "elected");
		assertThatExceptionOfType(LeadershipLostException.class).isThrownBy(() -> runInTransaction(leader));
		requestResignation();
		leader.awaitRevocations(1);
		leader.awaitLeader();
		assertThat(lease()).containsEntry("state", "held");
		assertThat(runInTransaction(leader)).isTrue();
	}

	private static boolean runInTransaction(LeaseTableNode node) {
		TransactionTemplate transaction = new TransactionTemplate(node.bean(PlatformTransactionManager.class));
		JdbcClient jdbc = node.bean(JdbcClient.class);
		return node.elector()
			.runIfLeader(
					() -> transaction.executeWithoutResult((status) -> jdbc.sql("SELECT 1").query().singleValue()));
	}

	@Test
	void holderThatIsNotShownKeepsTheLease() {
		LeaseTableNode leader = this.nodes.get(0);
		LeaseTableNode follower = start();
		awaitFollower(follower);
		this.jdbc.sql("UPDATE leader_election SET holder = NULL WHERE election = ?").param(election()).update();
		LeaseTableNode.eventually().until(() -> follower.leader() == null);
		long beat = beat();
		LeaseTableNode.eventually().until(() -> beat() > beat + 1);
		assertThat(leader.events()).hasSize(1);
	}

	private static void awaitFollower(LeaseTableNode follower) {
		LeaseTableNode.eventually().until(() -> follower.leader() != null);
	}

	private long beat() {
		return this.jdbc.sql("SELECT beat FROM leader_election WHERE election = ?")
			.param(election())
			.query(Long.class)
			.single();
	}

	@Test
	void queryFindsTheSessionThatHasLockedTheRow() throws SQLException {
		String query = query("xact_start");
		try (Connection foreign = this.server.connect(); Statement statement = foreign.createStatement()) {
			foreign.setAutoCommit(false);
			statement.execute("SELECT FROM leader_election WHERE election = '" + election() + "' FOR UPDATE");
			long pid = this.jdbc
				.sql("SELECT pid FROM pg_stat_activity WHERE query LIKE ? AND state = 'idle in transaction'")
				.param("SELECT FROM leader_election WHERE election = '" + election() + "'%")
				.query(Long.class)
				.single();
			LeaseTableNode.eventually()
				.untilAsserted(() -> assertThat(this.jdbc.sql(query).query().listOfRows()).singleElement()
					.satisfies((row) -> assertThat(((Number) row.get("pid")).longValue()).isEqualTo(pid)));
			assertThat(this.nodes.get(0).awaitRevocations(1)).containsExactly(Reason.LEASE_EXPIRED);
			LeaseTableNode.eventually().until(() -> lease().get("state").equals("stale"));
			foreign.rollback();
		}
		this.nodes.get(0).awaitLeader();
	}

	private static Term term(LeadershipEvent event) {
		return event.getLeadership().getTerm();
	}

	private void requestResignation() {
		this.jdbc.sql(query("SET resign_term = term").replace("shop:default", election())).update();
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
		return query("'stale'").replace(";", "");
	}

	private static String query(String part) {
		return DOCUMENT.blocks("sql")
			.stream()
			.map(Markdown.CodeBlock::code)
			.filter((code) -> code.contains(part))
			.findFirst()
			.orElseThrow();
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
