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
import java.sql.DriverManager;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import java.util.stream.Stream;

import io.leaderelection.LeaderElector;
import io.leaderelection.LeadershipGrantedEvent;
import io.leaderelection.LeadershipLostException;
import io.leaderelection.LeadershipRevokedEvent;
import io.leaderelection.Term;
import io.leaderelection.engine.DefaultLeaderElector;
import io.leaderelection.engine.DefaultLeaderElectors;
import io.leaderelection.engine.ElectionStatus;
import io.leaderelection.engine.SessionNames;
import io.leaderelection.testsupport.Daemon;
import io.leaderelection.testsupport.PgBouncer;
import io.leaderelection.testsupport.PostgreSqlServer;
import io.leaderelection.testsupport.RoundTrips;
import io.leaderelection.testsupport.TcpProxy;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;
import org.springframework.jdbc.core.simple.JdbcClient;
import org.springframework.transaction.PlatformTransactionManager;
import org.springframework.transaction.annotation.Isolation;
import org.springframework.transaction.support.TransactionTemplate;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatException;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

/**
 * Tests for nodes with {@code leader-election.store=table}.
 */
@ExtendWith(OutputCaptureExtension.class)
@Tag("ring2")
class LeaseTableNodesTests {

	private static final Duration LEASE = Duration.ofSeconds(1);

	/** So long that no node can have waited for its end. */
	private static final Duration LONG_LEASE = Duration.ofSeconds(40);

	private static final Duration LIMIT = Duration.ofSeconds(30);

	/** From a crash to the next grant, on a busy machine. */
	private static final Duration TAKEOVER = LEASE.plusSeconds(5);

	/** From a hand-over to the next grant, on a busy machine. */
	private static final Duration HAND_OVER = Duration.ofSeconds(6);

	/** A table of its own, for tests that damage it. */
	private static final String TABLE = "lease_table_nodes";

	private static final String ROLE = "lease_table_node";

	private final PostgreSqlServer server = PostgreSqlServer.shared();

	private final String group = "group-" + UUID.randomUUID();

	private final List<LocalNode> nodes = new ArrayList<>();

	@AfterEach
	void closeNodes() {
		this.nodes.forEach(LocalNode::close);
		this.server.execute("DROP TABLE IF EXISTS %1$s, %1$s_node, %1$s_candidate, fenced_by_lease".formatted(TABLE));
		if (!this.server.query("SELECT rolname FROM pg_roles WHERE rolname = '" + ROLE + "'").isEmpty()) {
			this.server.execute("DROP OWNED BY " + ROLE);
			this.server.execute("DROP ROLE " + ROLE);
		}
	}

	@Test
	void oneNodeLeadsAndHandsOverWhenItStops() {
		String lease = "leader-election.lease-duration=" + LONG_LEASE;
		LocalNode first = start(lease).awaitLeader();
		LocalNode second = start(lease);
		LocalNode third = start(lease);
		awaitLeaderIs(second, first);
		assertThat(List.of(second, third)).noneMatch(LocalNode::leads);
		Awaitility.await().until(() -> status(second).candidates().size() == 3);
		first.close();
		LocalNode next = awaitOneOf(second, third);
		LocalNode.Seen revoked = seen(first, 1);
		LocalNode.Seen granted = seen(next, 0);
		assertThat(granted.event().getLeadership().getTerm()).isGreaterThan(revoked.event().getLeadership().getTerm());
		assertThat(Duration.ofNanos(granted.time() - revoked.time())).isBetween(Duration.ZERO, HAND_OVER);
	}

	@Test
	void resignationIsRequestedFromAnotherNode() {
		String lease = "leader-election.lease-duration=" + LONG_LEASE;
		LocalNode first = start(lease).awaitLeader();
		LocalNode second = start(lease);
		awaitLeaderIs(second, first);
		Awaitility.await().until(() -> status(second).candidates().size() == 2);
		assertThat(elector(second).requestResignation(null, "test").isRequested()).isTrue();
		second.awaitLeader();
		assertThat(first.events()).hasSize(2);
		awaitLeaderIs(first, second);
		assertThat(first.elector().resign()).succeedsWithin(LIMIT).isEqualTo(false);
	}

	@Test
	void leaderThatIsCutOffIsReplacedAfterItHasStopped() {
		try (TcpProxy proxy = new TcpProxy(this.server)) {
			LocalNode first = startAt(this.server, proxy.port()).awaitLeader();
			LocalNode second = start();
			awaitLeaderIs(second, first);
			long cut = System.nanoTime();
			proxy.blackHole();
			second.awaitLeader();
			LocalNode.Seen revoked = seen(first, 1);
			LocalNode.Seen granted = seen(second, 0);
			assertThat(granted.time()).isGreaterThan(revoked.time());
			assertThat(Duration.ofNanos(granted.time() - cut)).isLessThan(TAKEOVER);
			proxy.heal();
			awaitLeaderIs(first, second);
		}
	}

	@Test
	void shortInterruptionDoesNotEndLeadership() {
		try (TcpProxy proxy = new TcpProxy(this.server)) {
			LocalNode node = startAt(this.server, proxy.port(), "leader-election.lease-duration=4s").awaitLeader();
			Term term = node.elector().getLeadership().getTerm();
			for (int i = 0; i < 3; i++) {
				proxy.reset();
				long before = status(node).lastConfirmation().toEpochMilli();
				Awaitility.await().until(() -> status(node).lastConfirmation().toEpochMilli() > before + 1000);
			}
			assertThat(node.elector().getLeadership().getTerm()).isEqualTo(term);
			assertThat(node.events()).hasSize(1);
		}
	}

	@Test
	void restartsOfTheServerLeaveOneLeaderWithRisingTerms() {
		try (PostgreSqlServer own = PostgreSqlServer.start()) {
			LocalNode first = startAt(own, own.port()).awaitLeader();
			LocalNode second = startAt(own, own.port());
			for (String mode : List.of("fast", "immediate")) {
				own.stop(mode);
				Awaitility.await().until(() -> !first.leads() && !second.leads());
				own.startAgain();
				awaitOneOf(first, second);
				assertThat(first.leads() && second.leads()).isFalse();
			}
			Awaitility.await()
				.untilAsserted(() -> assertThat(grants(first, second)).hasSizeGreaterThanOrEqualTo(3)
					.isSorted()
					.doesNotHaveDuplicates());
			first.close();
			second.close();
		}
	}

	/**
	 * Return the terms of all grants, in the order in which they were seen.
	 */
	private static List<Term> grants(LocalNode first, LocalNode second) {
		return Stream.of(first, second)
			.flatMap((node) -> node.seen().stream())
			.filter((seen) -> seen.event() instanceof LeadershipGrantedEvent)
			.sorted(Comparator.comparingLong(LocalNode.Seen::time))
			.map((seen) -> seen.event().getLeadership().getTerm())
			.toList();
	}

	@Test
	void lockedRowEndsTheTermWhenTheLeaseExpires() throws SQLException {
		LocalNode first = start().awaitLeader();
		LocalNode second = start();
		awaitLeaderIs(second, first);
		try (Connection foreign = this.server.connect(); Statement statement = foreign.createStatement()) {
			foreign.setAutoCommit(false);
			statement.execute(
					"SELECT FROM leader_election_node WHERE node = '" + first.elector().getNodeId() + "' FOR UPDATE");
			Awaitility.await()
				.during(LEASE.multipliedBy(2))
				.atMost(LIMIT)
				.until(() -> !first.leads() && !second.leads());
			assertExpired(Stream.of(first, second)
				.flatMap((node) -> node.seen().stream())
				.max(Comparator.comparingLong(LocalNode.Seen::time))
				.orElseThrow());
			foreign.rollback();
		}
		awaitOneOf(first, second);
	}

	private static void assertExpired(LocalNode.Seen seen) {
		assertThat(seen.event()).isInstanceOfSatisfying(LeadershipRevokedEvent.class,
				(revoked) -> assertThat(revoked.getReason()).isEqualTo(LeadershipRevokedEvent.Reason.LEASE_EXPIRED));
	}

	@Test
	void leaseExpiresWhileTheDiskIsFull() {
		LocalNode node = start("leader-election.table-name=" + TABLE).awaitLeader();
		this.server.execute("CREATE FUNCTION public.disk_full() RETURNS trigger LANGUAGE plpgsql AS "
				+ "'BEGIN RAISE disk_full; END'");
		try {
			this.server.execute("CREATE TRIGGER disk_full BEFORE UPDATE ON " + TABLE + "_node"
					+ " FOR EACH ROW EXECUTE FUNCTION public.disk_full()");
			assertExpired(seen(node, 1));
			assertThat(node.leads()).isFalse();
		}
		finally {
			this.server.execute("DROP FUNCTION public.disk_full CASCADE");
		}
		node.awaitLeader();
	}

	@Test
	void droppedTableIsCreatedAgain(CapturedOutput output) {
		LocalNode node = start("leader-election.table-name=" + TABLE).awaitLeader();
		this.server.execute("DROP TABLE " + TABLE);
		Awaitility.await().until(() -> node.events().size() >= 2);
		node.awaitLeader();
		assertThat(output).contains("Leases could not be renewed");
	}

	@Test
	void droppedTableIsAProblemIfItIsNotToBeCreated() {
		start("leader-election.table-name=" + TABLE).awaitLeader().close();
		LocalNode node = start("leader-election.table-name=" + TABLE, "leader-election.initialize-schema=never")
			.awaitLeader();
		this.server.execute("DROP TABLE " + TABLE);
		Awaitility.await().until(() -> String.valueOf(status(node).problem()).contains("Of the tables " + TABLE));
		assertThat(seen(node, 1).event()).isInstanceOf(LeadershipRevokedEvent.class);
		assertThat(node.leads()).isFalse();
	}

	@Test
	void startFailsWithoutATable(CapturedOutput output) {
		assertThatException()
			.isThrownBy(() -> start("leader-election.table-name=nowhere", "leader-election.initialize-schema=never"));
		assertThat(output).contains("APPLICATION FAILED TO START")
			.contains("Elections cannot be held on the configured database. Of the tables nowhere, nowhere_node")
			.contains("Run the script io/leaderelection/postgresql/schema-postgresql.sql")
			.contains("leader-election.initialize-schema=always");
	}

	@Test
	void startFailsWithoutPrivileges(CapturedOutput output) {
		start().close();
		this.server.execute("CREATE ROLE " + ROLE + " LOGIN PASSWORD 'right'");
		this.server.execute("GRANT SELECT ON leader_election TO " + ROLE);
		assertThatException().isThrownBy(() -> start(as(ROLE, "right")));
		assertThat(output).contains("APPLICATION FAILED TO START")
			.contains("The role \"" + ROLE
					+ "\" lacks privileges on the tables of leader election: INSERT, UPDATE on leader_election, ")
			.contains("GRANT SELECT, INSERT, UPDATE ON public.leader_election TO \"" + ROLE + "\"");
	}

	/**
	 * Nodes of that version may lead in these tables.
	 */
	@ParameterizedTest
	@ValueSource(strings = { "always", "never" })
	void startFailsWithTablesOfAnEarlierVersion(String initialization, CapturedOutput output) {
		this.server.execute("CREATE TABLE %1$s (election text, holder text); CREATE TABLE %1$s_candidate (session uuid)"
			.formatted(TABLE));
		assertThatException().isThrownBy(() -> start("leader-election.table-name=" + TABLE,
				"leader-election.initialize-schema=" + initialization));
		assertThat(output).contains("APPLICATION FAILED TO START")
			.contains("cannot hold elections: " + TABLE + " is that of an earlier version")
			.contains("If they belong to an earlier version, stop all its nodes, drop them and create those of");
		assertThat(this.server.query("SELECT relname FROM pg_class WHERE relname = '" + TABLE + "_node'")).isEmpty();
	}

	@Test
	void electionsOfANodeHaveOneLease(CapturedOutput output) {
		assertThatException().isThrownBy(() -> start("leader-election.elections.reports.lease-duration=3s"));
		assertThat(output).contains("APPLICATION FAILED TO START")
			.contains("Property: leader-election.elections.reports.lease-duration")
			.contains("Value: 3000ms")
			.contains("With leader-election.store=table, a node has one lease for all its elections, that of the "
					+ "default election is 1000ms.")
			.contains("set leader-election.lease-duration for all of them");
		start("leader-election.elections.reports.lease-duration=1000ms").awaitLeader();
	}

	@Test
	void presetsOfTheRoleDoNotMatter() {
		this.server.execute("CREATE ROLE " + ROLE + " LOGIN PASSWORD 'right'");
		this.server.execute("CREATE SCHEMA \"Lease 1-schema\" AUTHORIZATION " + ROLE);
		String[] properties = with(as(ROLE, "right"), "leader-election.table-name=\"Lease 1-schema\".leader_election",
				"leader-election.initialize-schema=always");
		for (String preset : List.of("default_transaction_read_only = on",
				"default_transaction_isolation = serializable", "default_transaction_deferrable = on",
				"lock_timeout = '50ms'", "synchronous_commit = off", "standard_conforming_strings = off")) {
			this.server.execute("ALTER ROLE " + ROLE + " SET " + preset);
		}
		LocalNode first = start(properties).awaitLeader();
		LocalNode second = start(properties);
		awaitLeaderIs(second, first);
		Awaitility.await().until(() -> status(second).candidates().size() == 2);
		first.close();
		second.awaitLeader();
	}

	@Test
	void standbyIsNoPlaceToLead() {
		try (PostgreSqlServer primary = PostgreSqlServer.start()) {
			LocalNode leader = startAt(primary, primary.port()).awaitLeader();
			try (PostgreSqlServer standby = primary.startStandby()) {
				LocalNode node = startAt(standby, standby.port());
				Awaitility.await().until(() -> String.valueOf(status(node).problem()).contains("standby"));
				assertThat(node.leads()).isFalse();
				node.close();
			}
			leader.close();
		}
	}

	@ParameterizedTest
	@EnumSource(value = Isolation.class, names = { "READ_COMMITTED", "REPEATABLE_READ", "SERIALIZABLE" })
	void transactionsOfLeaderWorkAreFenced(Isolation isolation) {
		this.server.execute("CREATE TABLE IF NOT EXISTS fenced_by_lease (id text)");
		LocalNode node = start("leader-election.lease-duration=3s").awaitLeader();
		JdbcClient jdbc = node.context().getBean(JdbcClient.class);
		TransactionTemplate transaction = new TransactionTemplate(
				node.context().getBean(PlatformTransactionManager.class));
		transaction.setIsolationLevel(isolation.value());
		assertThat(node.elector().runIfLeader(() -> transaction.executeWithoutResult((status) -> insert(jdbc, "kept"))))
			.isTrue();
		assertThat(elector(node).statistics().passedFence()).isOne();
		assertThatExceptionOfType(LeadershipLostException.class)
			.isThrownBy(() -> node.elector().runIfLeader(() -> transaction.executeWithoutResult((status) -> {
				insert(jdbc, "late");
				String election = " WHERE election = '" + this.group + ":default'";
				this.server.execute("UPDATE leader_election SET term = term + 1" + election);
			})));
		assertThat(rows("kept")).isOne();
		assertThat(rows("late")).isZero();
	}

	private void insert(JdbcClient jdbc, String what) {
		jdbc.sql("INSERT INTO fenced_by_lease VALUES (?)").param(this.group + what).update();
	}

	private int rows(String what) {
		return this.server.query("SELECT id FROM fenced_by_lease WHERE id = '" + this.group + what + "'").size();
	}

	@Test
	void changeOfStoreLetsTermsRiseAndNodesDoNotLeadSideBySide(CapturedOutput output) {
		LocalNode leased = start().awaitLeader();
		LocalNode locked = start("leader-election.store=advisory-lock");
		Awaitility.await()
			.until(() -> String.valueOf(status(locked).problem()).contains("leader-election.store=table"));
		assertThat(locked.leads()).isFalse();
		assertThat(leased.leads()).isTrue();
		leased.close();
		locked.awaitLeader();
		LocalNode later = start();
		Awaitility.await()
			.until(() -> String.valueOf(status(later).problem()).contains("leader-election.store=advisory-lock"));
		assertThat(later.leads()).isFalse();
		locked.close();
		later.awaitLeader();
		assertThat(Stream.of(leased, locked, later).map((node) -> seen(node, 0).event().getLeadership().getTerm()))
			.isSorted()
			.doesNotHaveDuplicates();
		assertThat(output).contains("Nodes of one election must all use the same store: stop the others first")
			.contains("(leader-election.store=advisory-lock; all nodes must use the same store) holds the lock");
	}

	@Test
	void nodeWithAnEarlierProtocolIsReported(CapturedOutput output) {
		LocalNode node = start().awaitLeader();
		String token = UUID.randomUUID().toString();
		this.server.execute("""
				INSERT INTO leader_election_node VALUES ('%1$s', 'earlier', 'host', 1, 1, 1000, now(), now());
				INSERT INTO leader_election_candidate VALUES ('%2$s:default', '%1$s', true, '1 0 ');
				""".formatted(token, this.group));
		try {
			Awaitility.await()
				.untilAsserted(() -> assertThat(output)
					.containsOnlyOnce("Node 'earlier' uses protocol 1 of leader election, but this node uses 2"));
			assertThat(node.leads()).isTrue();
		}
		finally {
			this.server.execute("DELETE FROM leader_election_node WHERE token = '" + token + "'");
		}
	}

	@ParameterizedTest
	@CsvSource({ "transaction, 2", "statement, 2", "session, 10" })
	void nodesWorkBehindAPooler(String mode, int sessions) {
		try (PgBouncer pooler = PgBouncer.start(this.server, mode, "default_pool_size=" + sessions)) {
			String lease = "leader-election.lease-duration=" + LONG_LEASE;
			LocalNode first = startAt(this.server, pooler.port(), lease).awaitLeader();
			LocalNode second = startAt(this.server, pooler.port(), lease);
			LocalNode third = startAt(this.server, pooler.port(), lease);
			awaitLeaderIs(second, first);
			first.close();
			LocalNode next = awaitOneOf(second, third);
			assertThat(Duration.ofNanos(seen(next, 0).time() - seen(first, 1).time())).isLessThan(HAND_OVER);
			next.close();
			((next == second) ? third : second).awaitLeader();
			this.nodes.forEach(LocalNode::close);
		}
	}

	@ParameterizedTest
	@CsvSource({ "0, false", "1, true" })
	void leadershipOutlastsAPoolerWhoseConnectionsAreBusyOnlyIfItHasAReserve(int reserve, boolean outlasts,
			CapturedOutput output) throws Exception {
		try (PgBouncer pooler = PgBouncer.start(this.server, "transaction", "default_pool_size=2",
				"reserve_pool_size=" + reserve, "reserve_pool_timeout=0.2")) {
			LocalNode node = startAt(this.server, pooler.port(), "leader-election.lease-duration=2s").awaitLeader();
			assertThat(output).contains("The elections connect through a pooler as the role of the application");
			List<CompletableFuture<Void>> busy = IntStream.range(0, 2)
				.mapToObj((number) -> CompletableFuture.runAsync(() -> sleepBehind(pooler, Duration.ofSeconds(6)),
						(sleep) -> Daemon.start("busy", sleep)))
				.toList();
			for (CompletableFuture<Void> each : busy) {
				each.get(LIMIT.toSeconds(), TimeUnit.SECONDS);
			}
			assertThat(node.events().size() == 1).isEqualTo(outlasts);
			if (!outlasts) {
				assertExpired(seen(node, 1));
			}
			node.awaitLeader();
			node.close();
		}
	}

	private void sleepBehind(PgBouncer pooler, Duration time) {
		try (Connection connection = DriverManager.getConnection(this.server.jdbcUrl(pooler.port()),
				this.server.username(), this.server.password()); Statement statement = connection.createStatement()) {
			statement.execute("SELECT pg_sleep(" + time.toSeconds() + ")");
		}
		catch (SQLException ex) {
			throw new IllegalStateException(ex);
		}
	}

	@Test
	void manyElectionsOfANodeTakeOneConnectionAndTwoRequestsPerInterval() {
		LocalNode node = start(with(
				IntStream.range(1, 50)
					.mapToObj((number) -> "leader-election.elections.job" + number + ".candidate=true")
					.toArray(String[]::new),
				with(as(this.server.username(), this.server.password()), "leader-election.lease-duration=2s",
						"leader-election.datasource.url=" + this.server.jdbcUrl() + "?socketFactory="
								+ RoundTrips.class.getName())));
		Collection<DefaultLeaderElector> electors = node.context().getBean(DefaultLeaderElectors.class).all();
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

	private static String[] with(String[] properties, String... further) {
		return Stream.of(properties, further).flatMap(Stream::of).toArray(String[]::new);
	}

	private LocalNode start(String... properties) {
		return startAt(this.server, this.server.port(), properties);
	}

	private LocalNode startAt(PostgreSqlServer at, int port, String... properties) {
		LocalNode node = LocalNode.startAt(at, port,
				with(new String[] { "leader-election.store=table", "leader-election.initialize-schema=always",
						"leader-election.group=" + this.group, "leader-election.lease-duration=" + LEASE },
						properties));
		this.nodes.add(node);
		return node;
	}

	private String[] as(String username, String password) {
		return new String[] { "leader-election.datasource.url=" + this.server.jdbcUrl(),
				"leader-election.datasource.username=" + username, "leader-election.datasource.password=" + password };
	}

	private static DefaultLeaderElector elector(LocalNode node) {
		return (DefaultLeaderElector) node.elector();
	}

	private static ElectionStatus status(LocalNode node) {
		return elector(node).status();
	}

	/**
	 * Return an event, for which a listener may not have been called yet.
	 */
	private static LocalNode.Seen seen(LocalNode node, int number) {
		Awaitility.await().until(() -> node.seen().size() > number);
		return node.seen().get(number);
	}

	private static void awaitLeaderIs(LocalNode node, LocalNode leader) {
		Awaitility.await().until(() -> leader.elector().getNodeId().equals(status(node).leader()));
	}

	private static LocalNode awaitOneOf(LocalNode first, LocalNode second) {
		Awaitility.await().until(() -> first.leads() || second.leads());
		return first.leads() ? first : second;
	}

}
