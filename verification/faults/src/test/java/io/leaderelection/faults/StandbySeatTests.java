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

package io.leaderelection.faults;

import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.sql.SQLTransientConnectionException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

import com.zaxxer.hikari.HikariDataSource;
import io.leaderelection.engine.DefaultLeaderElector;
import io.leaderelection.engine.ElectionStatus;
import io.leaderelection.engine.ElectionStatus.Role;
import io.leaderelection.engine.ElectionTimings;
import io.leaderelection.faults.LightNodes.NodeOptions;
import io.leaderelection.testsupport.EmbeddedServerOnly;
import io.leaderelection.testsupport.PgBouncer;
import io.leaderelection.testsupport.PostgreSqlServer;
import org.awaitility.Awaitility;
import org.awaitility.core.ConditionFactory;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * More nodes than seats for standbys.
 */
@ExtendWith(OutputCaptureExtension.class)
@Tag("ring2")
class StandbySeatTests {

	private static final Duration LEASE = Duration.ofSeconds(2);

	private static final Duration TAKEOVER_DELAY = Duration.ofMillis(100);

	private static final Duration CONNECT = Duration.ofSeconds(1);

	private static final int STANDBYS = 2;

	private static final int WATCHERS = 2;

	private static final int NODES = 1 + STANDBYS + WATCHERS;

	private static PostgreSqlServer server;

	@BeforeAll
	static void startServer() {
		server = PostgreSqlServer.start();
	}

	@AfterAll
	static void stopServer() {
		server.close();
	}

	@Test
	void onlyTheLeaderAndItsStandbysHaveSessions() throws Exception {
		try (LightNodes nodes = nodes(null)) {
			awaitSeats(nodes);
			DefaultLeaderElector leader = nodes.awaitLeader();
			// A node may have watched before this one led
			awaitWatch().untilAsserted(() -> assertThat(status(nodes)).allSatisfy((status) -> {
				assertThat(status.leader()).isEqualTo(leader.getNodeId());
				assertThat(status.problem()).isNull();
				// Standbys seldom read the candidates
				if (status.watching() || status.role() == Role.LEADER) {
					assertThat(status.candidates()).hasSize(STANDBYS + 1);
				}
			}));
			assertThat(nodes.watchers()).hasSize(WATCHERS);
			nodes.verify();
		}
	}

	@Test
	void standbyTakesOverAtOnceAndItsSeatIsTakenByAWatcher() throws Exception {
		try (LightNodes nodes = nodes(null)) {
			awaitSeats(nodes);
			DefaultLeaderElector leader = nodes.awaitLeader();
			nodes.verifyTakeover(List.of(leader), TAKEOVER_DELAY.plus(FaultRuns.SLACK));
			DefaultLeaderElector next = nodes.awaitLeader();
			awaitWatch().until(() -> nodes.sessions() == STANDBYS + 1);
			assertThat(next.isLeader()).isTrue();
			nodes.verify();
		}
	}

	@Test
	void watcherLeadsWhenTheLeaderAndAllStandbysDie() throws Exception {
		try (LightNodes nodes = nodes(null)) {
			awaitSeats(nodes);
			nodes.verifyTakeover(nodes.standbys(),
					FaultRuns.LONGEST_WATCH.plus(CONNECT).plus(TAKEOVER_DELAY).plus(FaultRuns.SLACK));
			nodes.verify();
		}
	}

	@Test
	void leaderThatResignsGetsTheSeatOfItsSuccessor() throws Exception {
		try (LightNodes nodes = nodes(null)) {
			awaitSeats(nodes);
			for (int i = 0; i < 5; i++) {
				DefaultLeaderElector leader = nodes.awaitLeader();
				assertThat(leader.resign().get(10, TimeUnit.SECONDS)).isTrue();
				Awaitility.await().atMost(FaultRuns.SLACK).until(() -> nodes.awaitLeader() != leader);
				awaitSeats(nodes);
			}
			nodes.verify();
		}
	}

	@Test
	void watcherRequestsTheResignationOfTheLeader() throws Exception {
		try (LightNodes nodes = nodes(null)) {
			awaitSeats(nodes);
			DefaultLeaderElector leader = nodes.awaitLeader();
			DefaultLeaderElector watcher = nodes.watchers().get(0);
			// Until it has watched again it may not know the leader
			awaitWatch().until(() -> watcher.requestResignation(null, "test").isRequested());
			Awaitility.await().atMost(FaultRuns.SLACK).until(() -> nodes.awaitLeader() != leader);
			awaitSeats(nodes);
			nodes.verify();
		}
	}

	@Test
	@Tag("ring3")
	void nodesThatAreNoCandidatesHaveNoSession() throws Exception {
		try (LightNodes nodes = new LightNodes(server, 4, LEASE, TAKEOVER_DELAY,
				new NodeOptions(STANDBYS, server.username(), null).withCandidates((number) -> number == 1))) {
			DefaultLeaderElector leader = nodes.awaitLeader();
			awaitWatch().untilAsserted(() -> assertThat(status(nodes))
				.allSatisfy((status) -> assertThat(status.leader()).isEqualTo(leader.getNodeId())));
			Awaitility.await().until(() -> nodes.sessions() == 1);
			assertThat(nodes.watchers()).hasSize(3);
		}
	}

	@Test
	@Tag("ring3")
	void watchersUseThePoolAlsoBehindAPoolerInTransactionMode() throws Exception {
		try (PgBouncer pooler = PgBouncer.start(server, "transaction", "default_pool_size=1");
				HikariDataSource pool = pool(server.jdbcUrl(pooler.port()));
				LightNodes nodes = nodes(pool)) {
			awaitSeats(nodes);
			long connections = nodes.connections();
			DefaultLeaderElector leader = nodes.awaitLeader();
			Awaitility.await()
				.during(FaultRuns.LONGEST_WATCH)
				.atMost(FaultRuns.LONGEST_WATCH.multipliedBy(2))
				.until(() -> nodes.sessions() == STANDBYS + 1);
			assertThat(nodes.connections()).isEqualTo(connections);
			assertThat(status(nodes).filter(ElectionStatus::watching))
				.allSatisfy((status) -> assertThat(status.leader()).isEqualTo(leader.getNodeId()));
		}
	}

	@Test
	void watchersOpenAShortConnectionWhileThePoolIsEmpty() throws Exception {
		try (HikariDataSource pool = pool(server.jdbcUrl()); LightNodes nodes = nodes(pool)) {
			awaitSeats(nodes);
			try (var taken = borrow(pool); var takenToo = borrow(pool)) {
				long connections = nodes.connections();
				Awaitility.await()
					.atMost(FaultRuns.LONGEST_WATCH.plus(CONNECT).multipliedBy(3))
					.until(() -> nodes.connections() > connections + 2);
				assertThat(status(nodes).map(ElectionStatus::problem)).containsOnlyNulls();
				assertThat(taken.isValid(1)).isTrue();
				assertThat(takenToo.isValid(1)).isTrue();
			}
		}
	}

	@Test
	@Tag("ring3")
	void watchersOfAServerWithoutFreeConnectionsSaySoOnce(CapturedOutput output) throws Exception {
		try (PostgreSqlServer small = PostgreSqlServer.start("max_connections=12")) {
			small.execute("CREATE ROLE node LOGIN PASSWORD '" + small.password() + "'");
			try (LightNodes nodes = new LightNodes(small, NODES, LEASE, TAKEOVER_DELAY,
					new NodeOptions(STANDBYS, "node", null))) {
				awaitSeats(nodes);
				DefaultLeaderElector leader = nodes.awaitLeader();
				List<Connection> taken = new ArrayList<>();
				for (int i = 0; i < 3; i++) {
					awaitWatch().until(() -> {
						// Again, since a watcher may have had a connection
						fill(small, taken);
						return problems(nodes) == WATCHERS;
					});
					for (Connection each : taken) {
						each.close();
					}
					taken.clear();
					awaitWatch().until(() -> problems(nodes) == 0);
				}
				assertThat(leader.isLeader()).isTrue();
				assertThat(output.getAll().lines().filter((line) -> line.contains("SQLSTATE 53300"))).hasSize(WATCHERS);
				nodes.verify();
			}
		}
	}

	@Test
	@Tag("ring3")
	void watchersWhoseRoleMayNotConnectAreOfNoEffectOnTheOthers() throws Exception {
		server.execute("CREATE ROLE guest LOGIN PASSWORD '" + server.password() + "'");
		String connect = "CONNECT ON DATABASE " + server.database();
		try (LightNodes nodes = new LightNodes(server, NODES, LEASE, TAKEOVER_DELAY,
				new NodeOptions(STANDBYS, "guest", null))) {
			awaitSeats(nodes);
			DefaultLeaderElector leader = nodes.awaitLeader();
			server.execute("REVOKE " + connect + " FROM PUBLIC");
			try {
				awaitWatch().until(() -> status(nodes).map(ElectionStatus::problem)
					.filter((problem) -> problem != null && problem.contains("permission denied"))
					.count() == WATCHERS);
				assertThat(leader.isLeader()).isTrue();
				nodes.verifyTakeover(List.of(leader), TAKEOVER_DELAY.plus(FaultRuns.SLACK));
			}
			finally {
				server.execute("GRANT " + connect + " TO PUBLIC");
			}
			Awaitility.await()
				.atMost(ElectionTimings.DEFAULTS.unusableRetry().plus(CONNECT).plus(FaultRuns.SLACK))
				.until(() -> nodes.sessions() == STANDBYS + 1 && problems(nodes) == 1);
			assertThat(leader.status().problem()).isNotNull();
			nodes.verify();
		}
		finally {
			server.execute("DROP ROLE guest");
		}
	}

	@Test
	@Tag("ring3")
	@EmbeddedServerOnly
	void watchersDoNotUseAPoolOfAReadOnlyStandby() throws Exception {
		try (PostgreSqlServer primary = PostgreSqlServer.start();
				PostgreSqlServer standby = primary.startStandby();
				HikariDataSource pool = pool(standby.jdbcUrl());
				LightNodes nodes = new LightNodes(primary, NODES, LEASE, TAKEOVER_DELAY,
						new NodeOptions(STANDBYS, primary.username(), pool))) {
			awaitSeats(nodes);
			DefaultLeaderElector leader = nodes.awaitLeader();
			long connections = nodes.connections();
			Awaitility.await()
				.atMost(FaultRuns.LONGEST_WATCH.plus(CONNECT).multipliedBy(2))
				.until(() -> nodes.connections() >= connections + 2 * WATCHERS);
			Awaitility.await()
				.atMost(FaultRuns.LONGEST_WATCH.plus(CONNECT))
				.untilAsserted(() -> assertThat(status(nodes)).allSatisfy((status) -> {
					assertThat(status.leader()).isEqualTo(leader.getNodeId());
					assertThat(status.problem()).isNull();
				}));
			nodes.verify();
		}
	}

	private static long problems(LightNodes nodes) {
		return status(nodes).filter((status) -> status.problem() != null).count();
	}

	private static void fill(PostgreSqlServer small, List<Connection> taken) {
		try {
			while (true) {
				taken.add(DriverManager.getConnection(small.jdbcUrl(), "node", small.password()));
			}
		}
		catch (SQLException ex) {
			assertThat(ex.getSQLState()).isEqualTo("53300");
		}
	}

	private static HikariDataSource pool(String url) {
		HikariDataSource pool = FencedWriter.pool(url, server.username(), server.password(), 2);
		pool.setConnectionTimeout(250);
		return pool;
	}

	/**
	 * Borrow a connection that a watcher may have at first.
	 */
	private static Connection borrow(HikariDataSource pool) {
		return Awaitility.await()
			.ignoreException(SQLTransientConnectionException.class)
			.until(pool::getConnection, Objects::nonNull);
	}

	private static LightNodes nodes(HikariDataSource pool) {
		return new LightNodes(server, NODES, LEASE, TAKEOVER_DELAY, new NodeOptions(STANDBYS, server.username(), pool));
	}

	private static void awaitSeats(LightNodes nodes) {
		nodes.awaitLeader();
		awaitWatch().until(() -> nodes.sessions() == STANDBYS + 1 && nodes.watchers().size() == WATCHERS);
	}

	private static ConditionFactory awaitWatch() {
		return Awaitility.await().atMost(FaultRuns.LONGEST_WATCH.plus(CONNECT).plus(FaultRuns.SLACK));
	}

	private static Stream<ElectionStatus> status(LightNodes nodes) {
		return nodes.electors().stream().map(DefaultLeaderElector::status);
	}

}
