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
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Collectors;

import com.zaxxer.hikari.HikariDataSource;
import io.leaderelection.engine.DefaultLeaderElector;
import io.leaderelection.engine.ElectionSettings;
import io.leaderelection.engine.ElectionStatus;
import io.leaderelection.faults.LightNodes.NodeOptions;
import io.leaderelection.testsupport.Daemon;
import io.leaderelection.testsupport.PostgreSqlServer;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Many nodes on a server with 20 connections, six of which are reserved. The nodes share
 * a pool of two, as they would behind a pooler in transaction mode, or have none.
 */
@Tag("ring3")
class SeatScaleTests {

	private static final Duration LEASE = Duration.ofSeconds(5);

	private static final Duration TAKEOVER_DELAY = Duration.ofMillis(100);

	private static final Duration MEASURED = Duration.ofSeconds(20);

	/** Less than the shortest pause of a watcher, so only a standby can be so fast. */
	private static final Duration BY_A_STANDBY = TAKEOVER_DELAY.plusMillis(2300);

	private static PostgreSqlServer server;

	@BeforeAll
	static void startServer() {
		// Those of the test are reserved
		server = PostgreSqlServer.start("max_connections=20", "superuser_reserved_connections=6",
				"shared_preload_libraries=pg_stat_statements");
		server.execute("CREATE EXTENSION pg_stat_statements");
		server.execute("CREATE ROLE node LOGIN PASSWORD '" + server.password() + "'");
	}

	@AfterAll
	static void stopServer() {
		server.close();
	}

	@ParameterizedTest
	// The rates are limits by the count of the server, with a margin for random pauses.
	// Without a pool, each observation is a login, of which two cores manage few
	@CsvSource({ "3, true, 6", "20, true, 12", "200, true, 45", "100, false, 25" })
	void idleAndFailover(int count, boolean pooled, int mostPerSecond) throws Exception {
		try (HikariDataSource pool = pool();
				Peak peak = new Peak();
				LightNodes nodes = new LightNodes(server, count, LEASE, TAKEOVER_DELAY,
						new NodeOptions(ElectionSettings.STANDBYS, (number) -> true, "node", pooled ? pool : null))) {
			int sessions = Math.min(count, ElectionSettings.STANDBYS + 1);
			long start = System.nanoTime();
			nodes.awaitLeader();
			print(count, pooled, "first leader", start);
			Awaitility.await().until(() -> watchers(nodes) == count - sessions);
			print(count, pooled, "all others watch", start);
			System.out.printf("%d nodes, most sessions at once while starting: %d%n", count, peak.restart());
			// At its first observation by the pool, each node verifies that this leads to
			// the election database
			Instant known = Instant.now();
			Awaitility.await()
				.atMost(FaultRuns.LONGEST_WATCH.multipliedBy(4))
				.until(() -> nodes.electors()
					.stream()
					.allMatch((elector) -> elector.status().lastConfirmation().isAfter(known)));
			DefaultLeaderElector leader = nodes.awaitLeader();
			peak.restart();
			Map<String, Long> received = received();
			long statements = nodes.statements();
			long connections = nodes.connections();
			start = System.nanoTime();
			Awaitility.await().during(MEASURED).atMost(MEASURED.multipliedBy(2)).until(leader::isLeader);
			double seconds = (System.nanoTime() - start) / 1e9;
			double perSecond = (nodes.statements() - statements) / seconds;
			Map<String, Long> last = received();
			double receivedPerSecond = (sum(last) - sum(received)) / seconds;
			int most = peak.restart();
			System.out.printf(
					"%d nodes, pool %s, idle: %.1f messages/s, %.1f statements/s by the server's count, %.1f connects/s, "
							+ "most sessions %d%n",
					count, pooled, perSecond, receivedPerSecond, (nodes.connections() - connections) / seconds, most);
			assertThat(receivedPerSecond).isLessThanOrEqualTo(mostPerSecond);
			// A standby reads the election every 1.5 s in the message of a wait. Nothing
			// else is sent, for instance by the driver
			assertThat(receivedPerSecond).as(() -> difference(received, last))
				.isBetween(perSecond / 2, perSecond + ElectionSettings.STANDBYS);
			if (pooled) {
				assertThat(nodes.connections() - connections).isLessThanOrEqualTo(count - sessions);
				assertThat(most).isLessThanOrEqualTo(5);
			}
			// A node without a pool may just have met a full server
			Awaitility.await()
				.atMost(FaultRuns.LONGEST_WATCH.multipliedBy(2))
				.until(() -> watchers(nodes) == count - sessions);
			start = System.nanoTime();
			nodes.kill(leader);
			Awaitility.await()
				.atMost(BY_A_STANDBY)
				.until(() -> nodes.electors().stream().anyMatch((elector) -> elector != leader && elector.isLeader()));
			print(count, pooled, "leader killed, next leader", start);
			if (count > sessions) {
				List<DefaultLeaderElector> killed = nodes.electors()
					.stream()
					.filter((elector) -> !elector.status().watching())
					.toList();
				killed.forEach(nodes::kill);
				start = System.nanoTime();
				Awaitility.await()
					.atMost(FaultRuns.LONGEST_WATCH.plusSeconds(1).plus(TAKEOVER_DELAY))
					.until(() -> nodes.electors()
						.stream()
						.anyMatch((elector) -> !killed.contains(elector) && elector.isLeader()));
				print(count, pooled, "leader and standbys killed, next leader", start);
			}
			nodes.verify();
		}
	}

	/**
	 * Return how often the server has received each statement of the nodes, with those of
	 * the driver.
	 */
	private static Map<String, Long> received() {
		return server.query(
				"SELECT sum(calls)::bigint || ' ' || regexp_replace(query, '\\s+', ' ', 'g') FROM pg_stat_statements "
						+ "WHERE userid = 'node'::regrole AND toplevel GROUP BY query")
			.stream()
			.collect(Collectors.toMap((row) -> row.substring(row.indexOf(' ') + 1),
					(row) -> Long.parseLong(row.substring(0, row.indexOf(' '))), Long::sum));
	}

	private static long sum(Map<String, Long> received) {
		return received.values().stream().mapToLong(Long::longValue).sum();
	}

	private static String difference(Map<String, Long> earlier, Map<String, Long> later) {
		return later.entrySet()
			.stream()
			.map((entry) -> Map.entry(entry.getKey(), entry.getValue() - earlier.getOrDefault(entry.getKey(), 0L)))
			.filter((entry) -> entry.getValue() > 0)
			.map((entry) -> entry.getValue() + " " + entry.getKey())
			.collect(Collectors.joining("\n"));
	}

	private static long watchers(LightNodes nodes) {
		return nodes.electors()
			.stream()
			.map(DefaultLeaderElector::status)
			.filter((status) -> status.watching() && status.leader() != null)
			.map(ElectionStatus::nodeId)
			.count();
	}

	private static void print(int count, boolean pooled, String what, long start) {
		System.out.printf("%d nodes, pool %s, %s: %d ms%n", count, pooled, what,
				(System.nanoTime() - start) / 1_000_000);
	}

	private static HikariDataSource pool() {
		HikariDataSource pool = new HikariDataSource();
		pool.setJdbcUrl(server.jdbcUrl());
		pool.setUsername("node");
		pool.setPassword(server.password());
		pool.setMaximumPoolSize(2);
		pool.setConnectionTimeout(1000);
		return pool;
	}

	/**
	 * The most sessions at once. Read on one connection, since nodes that start together
	 * may leave none for another.
	 */
	private static final class Peak implements AutoCloseable {

		private final AtomicInteger most = new AtomicInteger();

		private final Connection connection;

		private final Thread thread;

		private volatile boolean closed;

		Peak() throws SQLException {
			this.connection = server.connect();
			this.thread = Daemon.start("peak", this::read);
		}

		private void read() {
			try (PreparedStatement statement = this.connection.prepareStatement(
					"SELECT count(*) FROM pg_stat_activity WHERE application_name LIKE 'leader-election %'")) {
				while (!this.closed) {
					try (ResultSet row = statement.executeQuery()) {
						row.next();
						this.most.accumulateAndGet(row.getInt(1), Math::max);
					}
					LockSupport.parkNanos(20_000_000);
				}
			}
			catch (SQLException ex) {
				throw new IllegalStateException(ex);
			}
		}

		int restart() {
			return this.most.getAndSet(0);
		}

		@Override
		public void close() throws Exception {
			this.closed = true;
			this.thread.join();
			this.connection.close();
		}

	}

}
