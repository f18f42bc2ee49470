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

package io.leaderelection.integration;

import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.Properties;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import java.util.stream.Stream;

import io.leaderelection.LeaderElector;
import io.leaderelection.LeadershipRevokedEvent;
import io.leaderelection.LeadershipRevokedEvent.Reason;
import io.leaderelection.engine.DefaultLeaderElector;
import io.leaderelection.engine.SessionNames;
import io.leaderelection.testsupport.Daemon;
import io.leaderelection.testsupport.PgBouncer;
import io.leaderelection.testsupport.PostgreSqlServer;
import io.leaderelection.testsupport.RoundTrips;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatException;

/**
 * Tests for nodes with {@code leader-election.store=table}.
 */
@ExtendWith(OutputCaptureExtension.class)
@Tag("ring2")
class LeaseTableNodesTests {

	private static final Duration LEASE = Duration.ofSeconds(1);

	/** So long that no node can have waited for its end. */
	private static final Duration LONG_LEASE = Duration.ofSeconds(40);

	/** From a hand-over to the next grant, on a busy machine. */
	private static final Duration HAND_OVER = Duration.ofSeconds(6);

	/** A table of its own, for tests that damage it. */
	private static final String TABLE = "lease_table_nodes";

	private final PostgreSqlServer server = PostgreSqlServer.shared();

	private final String group = "group-" + UUID.randomUUID();

	@RegisterExtension
	final Nodes nodes = new Nodes("leader-election.store=table", "leader-election.initialize-schema=always",
			"leader-election.group=" + this.group, "leader-election.lease-duration=" + LEASE);

	@AfterEach
	void dropTables() {
		this.server.execute("DROP TABLE IF EXISTS %1$s, %1$s_node, %1$s_candidate".formatted(TABLE));
	}

	@Test
	void leaseExpiresWhileTheDiskIsFull() {
		LocalNode node = this.nodes.start("leader-election.table-name=" + TABLE).awaitLeader();
		this.server.execute("CREATE FUNCTION public.disk_full() RETURNS trigger LANGUAGE plpgsql AS "
				+ "'BEGIN RAISE disk_full; END'");
		try {
			this.server.execute("CREATE TRIGGER disk_full BEFORE UPDATE ON " + TABLE + "_node"
					+ " FOR EACH ROW EXECUTE FUNCTION public.disk_full()");
			node.awaitRevocation(1, Reason.LEASE_EXPIRED);
			assertThat(node.leads()).isFalse();
		}
		finally {
			this.server.execute("DROP FUNCTION public.disk_full CASCADE");
		}
		node.awaitLeader();
	}

	@Test
	void droppedTableIsCreatedAgain(CapturedOutput output) {
		LocalNode node = this.nodes.start("leader-election.table-name=" + TABLE).awaitLeader();
		this.server.execute("DROP TABLE " + TABLE);
		node.awaitEvent(1);
		node.awaitLeader();
		assertThat(output).contains("Leases could not be renewed");
	}

	@Test
	void droppedTableIsAProblemIfItIsNotToBeCreated() {
		this.nodes.start("leader-election.table-name=" + TABLE).awaitLeader().close();
		LocalNode node = this.nodes
			.start("leader-election.table-name=" + TABLE, "leader-election.initialize-schema=never")
			.awaitLeader();
		this.server.execute("DROP TABLE " + TABLE);
		node.awaitProblem("Of the tables " + TABLE);
		assertThat(node.awaitEvent(1).event()).isInstanceOf(LeadershipRevokedEvent.class);
		assertThat(node.leads()).isFalse();
	}

	@Test
	void startFailsWithoutATable(CapturedOutput output) {
		assertStartFails(
				this.nodes.with("leader-election.table-name=nowhere", "leader-election.initialize-schema=never"),
				output, "Elections cannot be held on the configured database. Of the tables nowhere, nowhere_node",
				"Run the script io/leaderelection/postgresql/schema-postgresql.sql",
				"leader-election.initialize-schema=always");
	}

	@Test
	void electionsOfANodeHaveOneLease(CapturedOutput output) {
		assertStartFails(this.nodes.with("leader-election.elections.reports.lease-duration=3s"), output,
				"Property: leader-election.elections.reports.lease-duration", "Value: 3000ms",
				"With leader-election.store=table, a node has one lease for all its elections, that of the "
						+ "default election is 1000ms.",
				"set leader-election.lease-duration for all of them");
		this.nodes.start("leader-election.elections.reports.lease-duration=1000ms").awaitLeader();
	}

	private static void assertStartFails(Nodes nodes, CapturedOutput output, String... texts) {
		// The start waits for the first decision a second longer than that
		assertThatException().isThrownBy(() -> nodes.start("leader-election.takeover-delay=2s"));
		assertThat(output).contains("APPLICATION FAILED TO START").contains(texts);
	}

	@Test
	void presetsOfTheRoleDoNotMatter() {
		String role = this.nodes.createRole();
		String schema = "Lease 1-" + role;
		this.server.execute("CREATE SCHEMA \"" + schema + "\" AUTHORIZATION " + role);
		for (String preset : List.of("default_transaction_read_only = on",
				"default_transaction_isolation = serializable", "default_transaction_deferrable = on",
				"lock_timeout = '50ms'", "synchronous_commit = off", "standard_conforming_strings = off")) {
			this.server.execute("ALTER ROLE " + role + " SET " + preset);
		}
		Nodes preset = this.nodes.electingAs(role, "right")
			.with("leader-election.table-name=\"" + schema + "\".leader_election");
		LocalNode first = preset.start().awaitLeader();
		LocalNode second = preset.start().awaitFollowing(first).awaitCandidates(2);
		first.close();
		second.awaitLeader();
	}

	@Test
	void standbyIsNoPlaceToLead() {
		PostgreSqlServer primary = this.nodes.register(PostgreSqlServer.start());
		this.nodes.on(primary).start().awaitLeader();
		PostgreSqlServer standby = this.nodes.register(primary.startStandby());
		assertThat(this.nodes.on(standby).start().awaitProblem("standby").leads()).isFalse();
	}

	@Test
	void changeOfStoreLetsTermsRiseAndNodesDoNotLeadSideBySide(CapturedOutput output) {
		LocalNode leased = this.nodes.start().awaitLeader();
		LocalNode locked = this.nodes.start("leader-election.store=advisory-lock")
			.awaitProblem("leader-election.store=table");
		assertThat(locked.leads()).isFalse();
		assertThat(leased.leads()).isTrue();
		leased.close();
		locked.awaitLeader();
		LocalNode later = this.nodes.start().awaitProblem("leader-election.store=advisory-lock");
		assertThat(later.leads()).isFalse();
		locked.close();
		later.awaitLeader();
		assertThat(Stream.of(leased, locked, later).map((node) -> node.awaitEvent(0).term())).isSorted()
			.doesNotHaveDuplicates();
		assertThat(output).contains("Nodes of one election must all use the same store: stop the others first")
			.contains("(leader-election.store=advisory-lock; all nodes must use the same store) holds the lock");
	}

	@Test
	void nodeWithAnEarlierProtocolIsReported(CapturedOutput output) {
		LocalNode node = this.nodes.start().awaitLeader();
		String token = UUID.randomUUID().toString();
		this.server.execute("""
				INSERT INTO leader_election_node VALUES ('%1$s', 'earlier', 'host', 1, 1, 1000, now(), now());
				INSERT INTO leader_election_candidate VALUES ('%2$s:default', '%1$s', true, '1 0 ');
				""".formatted(token, this.group));
		try {
			Awaitility.await()
				.untilAsserted(() -> assertThat(output)
					.containsOnlyOnce("Node 'earlier' uses protocol 1 of leader election, but this node uses 3"));
			assertThat(node.leads()).isTrue();
		}
		finally {
			this.server.execute("DELETE FROM leader_election_node WHERE token = '" + token + "'");
		}
	}

	@ParameterizedTest
	@CsvSource({ "transaction, 2", "statement, 2", "session, 10" })
	void nodesWorkBehindAPooler(String mode, int sessions) {
		PgBouncer pooler = this.nodes.register(PgBouncer.start(this.server, mode, "default_pool_size=" + sessions));
		Nodes behind = this.nodes.at(pooler.port()).with("leader-election.lease-duration=" + LONG_LEASE);
		LocalNode first = behind.start().awaitLeader();
		behind.start().awaitFollowing(first);
		behind.start();
		first.close();
		LocalNode next = this.nodes.awaitLeader();
		assertThat(Duration.ofNanos(next.awaitEvent(0).time() - first.awaitEvent(1).time())).isLessThan(HAND_OVER);
		next.close();
		this.nodes.awaitLeader();
	}

	@ParameterizedTest
	@CsvSource({ "0, false", "1, true" })
	void leadershipOutlastsAPoolerWhoseConnectionsAreBusyOnlyIfItHasAReserve(int reserve, boolean outlasts,
			CapturedOutput output) throws Exception {
		PgBouncer pooler = this.nodes.register(PgBouncer.start(this.server, "transaction", "default_pool_size=2",
				"reserve_pool_size=" + reserve, "reserve_pool_timeout=0.2"));
		LocalNode node = this.nodes.at(pooler.port()).start("leader-election.lease-duration=2s").awaitLeader();
		assertThat(output).contains("The elections connect through a pooler as the role of the application");
		List<CompletableFuture<Void>> busy = IntStream.range(0, 2)
			.mapToObj((number) -> CompletableFuture.runAsync(() -> sleepBehind(pooler, Duration.ofSeconds(6)),
					(sleep) -> Daemon.start("busy", sleep)))
			.toList();
		for (CompletableFuture<Void> each : busy) {
			each.get(30, TimeUnit.SECONDS);
		}
		assertThat(node.events().size() == 1).isEqualTo(outlasts);
		if (!outlasts) {
			node.awaitRevocation(1, Reason.LEASE_EXPIRED);
		}
		node.awaitLeader();
	}

	private void sleepBehind(PgBouncer pooler, Duration time) {
		try (Connection connection = this.server.connect(pooler.port(), new Properties());
				Statement statement = connection.createStatement()) {
			statement.execute("SELECT pg_sleep(" + time.toSeconds() + ")");
		}
		catch (SQLException ex) {
			throw new IllegalStateException(ex);
		}
	}

	@Test
	void manyElectionsOfANodeTakeOneConnectionAndTwoRequestsPerInterval() {
		LocalNode node = this.nodes.electingAs(this.server.username(), this.server.password())
			.with(IntStream.range(1, 50)
				.mapToObj((number) -> "leader-election.elections.job" + number + ".candidate=true")
				.toArray(String[]::new))
			.start("leader-election.lease-duration=2s", "leader-election.datasource.url=" + this.server.jdbcUrl()
					+ "?socketFactory=" + RoundTrips.class.getName());
		Collection<DefaultLeaderElector> electors = node.electors().all();
		assertThat(electors).hasSize(50);
		Awaitility.await().until(() -> electors.stream().allMatch(LeaderElector::isLeader));
		long beat = beat();
		int requests = RoundTrips.count();
		Awaitility.await().until(() -> beat() >= beat + 10);
		// Beside those of the intervals, one registers the candidates every few seconds
		assertThat(RoundTrips.count() - requests).isLessThanOrEqualTo(2 * (int) (beat() - beat) + 8);
		assertThat(this.server.query("SELECT count(*) FROM pg_stat_activity WHERE application_name = '"
				+ new SessionNames("table").of(node.elector().getNodeId()) + "'"))
			.containsExactly("1");
		assertThat(electors).allMatch(LeaderElector::isLeader);
	}

	private long beat() {
		return Long.parseLong(this.server
			.query("SELECT max(beat) FROM leader_election_node JOIN leader_election ON owner = token "
					+ "WHERE election = '" + this.group + ":default'")
			.get(0));
	}

}
