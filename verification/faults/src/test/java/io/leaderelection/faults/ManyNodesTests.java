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
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

import com.zaxxer.hikari.HikariDataSource;
import io.leaderelection.engine.DefaultLeaderElector;
import io.leaderelection.engine.ElectionSettings;
import io.leaderelection.faults.Entry.Kind;
import io.leaderelection.faults.LightNodes.NodeOptions;
import io.leaderelection.testsupport.PostgreSqlServer;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * What many nodes cost a server, and that they lead nevertheless.
 */
@Tag("ring3")
class ManyNodesTests {

	private static final Duration LEASE = Duration.ofSeconds(5);

	private static final Duration TAKEOVER_DELAY = Duration.ofMillis(100);

	private static final Duration MEASURED = Duration.ofSeconds(20);

	/** Less than the shortest pause of a watcher, so only a standby can be so fast. */
	private static final Duration BY_A_STANDBY = TAKEOVER_DELAY.plusMillis(2300);

	private static final int HAND_OVERS = 30;

	/**
	 * What the old and the new leader may send for one hand-over: release, check for a
	 * successor, open a session and become a candidate again; confirm and pass the
	 * barrier. Were all followers woken, there would be forty more.
	 */
	private static final int OF_A_HAND_OVER = 20;

	/**
	 * A server with 20 connections, of which those of this test are reserved. The nodes
	 * share a pool of two, as they would behind a pooler in transaction mode, or have
	 * none: then each observation is a login, of which two cores manage few. The rates
	 * are limits by the count of the server, with a margin for random pauses.
	 */
	@ParameterizedTest
	@CsvSource({ "3, true, 6", "20, true, 12", "200, true, 45", "100, false, 25" })
	void watchersCostLittleAndTakeOver(int count, boolean pooled, int mostPerSecond) throws Exception {
		int sessions = Math.min(count, ElectionSettings.STANDBYS + 1);
		try (PostgreSqlServer server = PostgreSqlServer.start("max_connections=20", "superuser_reserved_connections=6",
				"shared_preload_libraries=pg_stat_statements")) {
			server.execute("CREATE EXTENSION pg_stat_statements");
			server.execute("CREATE ROLE node LOGIN PASSWORD '" + server.password() + "'");
			try (HikariDataSource pool = FencedWriter.pool(server.jdbcUrl(), "node", server.password(), 2);
					LightNodes nodes = new LightNodes(server, count, LEASE, TAKEOVER_DELAY,
							new NodeOptions(ElectionSettings.STANDBYS, "node", pooled ? pool : null))) {
				awaitWatchers(nodes, count - sessions);
				long connections = nodes.connections();
				int mostSessions = verifyFewStatements(server, nodes, mostPerSecond);
				if (pooled) {
					assertThat(nodes.connections() - connections).isLessThanOrEqualTo(count - sessions);
					assertThat(mostSessions).isLessThanOrEqualTo(5);
				}
				awaitWatchers(nodes, count - sessions);
				nodes.verifyTakeover(List.of(nodes.awaitLeader()), BY_A_STANDBY);
				if (count > sessions) {
					nodes.verifyTakeover(nodes.standbys(), FaultRuns.LONGEST_WATCH.plusSeconds(1).plus(TAKEOVER_DELAY));
				}
				nodes.verify();
			}
		}
	}

	private static void awaitWatchers(LightNodes nodes, int count) {
		nodes.awaitLeader();
		Awaitility.await()
			.until(() -> nodes.watchers().stream().filter((node) -> node.status().leader() != null).count() == count);
		// At its first observation by the pool, each node verifies that this leads to the
		// election database
		Instant known = Instant.now();
		Awaitility.await()
			.until(() -> nodes.electors()
				.stream()
				.allMatch((elector) -> elector.status().lastConfirmation().isAfter(known)));
	}

	/**
	 * Return the most sessions at once meanwhile.
	 */
	private static int verifyFewStatements(PostgreSqlServer server, LightNodes nodes, int mostPerSecond)
			throws SQLException {
		DefaultLeaderElector leader = nodes.awaitLeader();
		long received = received(server);
		long statements = nodes.statements();
		long start = System.nanoTime();
		int mostSessions = mostSessionsWhile(server, leader);
		double seconds = (System.nanoTime() - start) / 1e9;
		double perSecond = (nodes.statements() - statements) / seconds;
		// Nothing else is sent, for instance by the driver
		assertThat((received(server) - received) / seconds).isLessThanOrEqualTo(mostPerSecond)
			.isBetween(perSecond / 2, perSecond + ElectionSettings.STANDBYS);
		return mostSessions;
	}

	private static int mostSessionsWhile(PostgreSqlServer server, DefaultLeaderElector leader) throws SQLException {
		AtomicInteger most = new AtomicInteger();
		try (Connection connection = server.connect();
				PreparedStatement sessions = connection.prepareStatement(
						"SELECT count(*) FROM pg_stat_activity WHERE application_name LIKE 'leader-election %'")) {
			Awaitility.await().during(MEASURED).until(() -> {
				try (ResultSet row = sessions.executeQuery()) {
					row.next();
					most.accumulateAndGet(row.getInt(1), Math::max);
				}
				return leader.isLeader();
			});
		}
		return most.get();
	}

	/**
	 * Return how many statements of nodes the server has received, those of the driver
	 * included.
	 */
	private static long received(PostgreSqlServer server) {
		return Long.parseLong(server
			.query("SELECT sum(calls)::bigint FROM pg_stat_statements " + "WHERE userid = 'node'::regrole AND toplevel")
			.get(0));
	}

	/**
	 * Forty followers and one leader, which changes often.
	 */
	@AdvisoryLockOnly
	@Test
	void followersWithASessionDoNotNoticeHandOvers() throws Exception {
		try (LightNodes nodes = new LightNodes(PostgreSqlServer.shared(), 41, Duration.ofSeconds(2), TAKEOVER_DELAY)
			.awaitSessions()) {
			verifyFewStatementsOfIdleNodes(nodes);
			long began = nodes.statements();
			long start = System.nanoTime();
			for (int i = 0; i < HAND_OVERS; i++) {
				DefaultLeaderElector leader = nodes.awaitLeader();
				switch (i % 3) {
					case 0 -> assertThat(leader.resign().get(10, TimeUnit.SECONDS)).isTrue();
					case 1 -> nodes.terminateSession(leader);
					default -> {
						leader.stop().get(10, TimeUnit.SECONDS);
						leader.start();
					}
				}
				Awaitility.await()
					.atMost(TAKEOVER_DELAY.plus(FaultRuns.SLACK))
					.until(() -> nodes.awaitLeader() != leader);
			}
			nodes.awaitSessions();
			assertThat(nodes.statements() - began).isLessThan(expected(start) + OF_A_HAND_OVER * HAND_OVERS);
			// A machine that stalls may have cost a leader its lease besides
			assertThat(nodes.history().reigns()).hasSizeGreaterThan(HAND_OVERS);
			assertThat(nodes.history().of(Kind.GRANTED)).hasSizeGreaterThan(HAND_OVERS);
			nodes.verify();
		}
	}

	private static void verifyFewStatementsOfIdleNodes(LightNodes nodes) {
		DefaultLeaderElector leader = nodes.awaitLeader();
		long began = nodes.statements();
		long start = System.nanoTime();
		Awaitility.await().during(Duration.ofSeconds(2)).until(leader::isLeader);
		// The lower bound says that they were counted at all
		assertThat(nodes.statements() - began).isBetween(expected(start) / 5, expected(start));
	}

	/**
	 * What followers may have sent since then: a wait of 800 ms each, and at most one
	 * read the name of a new leader between two waits.
	 */
	private static long expected(long start) {
		return (long) (2.5 * 41 * (System.nanoTime() - start) / 1e9);
	}

	@Test
	void nodesOfATableThatAreNoStandbysReadLessOften() throws Exception {
		assertThat(requestsPerSecond(ElectionSettings.STANDBYS)).isLessThan(requestsPerSecond(40) / 2);
	}

	private static double requestsPerSecond(int standbys) throws Exception {
		try (PostgreSqlServer server = PostgreSqlServer.start("log_statement=all");
				LightNodes nodes = table(server, 40, standbys, LEASE)) {
			Awaitility.await().until(() -> nodes.watchers().size() == Math.max(0, 40 - standbys - 1));
			DefaultLeaderElector leader = nodes.awaitLeader();
			long before = LightNodes.requests(server);
			Awaitility.await().during(MEASURED.dividedBy(2)).until(leader::isLeader);
			return (LightNodes.requests(server) - before) / (MEASURED.toMillis() / 2e3);
		}
	}

	@Test
	void watcherOfATableTakesOverIfTheLeaderAndAllStandbysAreKilled() throws Exception {
		Duration lease = Duration.ofSeconds(2);
		try (PostgreSqlServer server = PostgreSqlServer.start();
				LightNodes nodes = table(server, 6, ElectionSettings.STANDBYS, lease)) {
			nodes.awaitLeader();
			Awaitility.await().until(() -> nodes.watchers().size() == 2);
			nodes.verifyTakeover(nodes.standbys(), lease.plus(FaultRuns.LONGEST_WATCH).plusSeconds(2));
			nodes.verify();
		}
	}

	private static LightNodes table(PostgreSqlServer server, int count, int standbys, Duration lease) {
		return new LightNodes(server, count, lease, Duration.ZERO,
				new NodeOptions(standbys, server.username(), null).withStore(LightNodes.TABLE));
	}

}
