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
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Properties;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;

import io.leaderelection.engine.DefaultLeaderElector;
import io.leaderelection.engine.DefaultLeaderElectors;
import io.leaderelection.engine.ElectionSettings;
import io.leaderelection.postgresql.ElectionKeys;
import io.leaderelection.postgresql.table.LeaseTable;
import io.leaderelection.testsupport.PostgreSqlServer;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for more nodes than standbys with {@code leader-election.store=table}.
 */
@Tag("ring3")
class LeaseTableWatchTests {

	private static final Duration LIMIT = Duration.ofSeconds(60);

	private static final Duration PERIOD = Duration.ofSeconds(Integer.getInteger("suite.period", 10));

	private final List<Node> nodes = new ArrayList<>();

	@Test
	void nodesThatAreNoStandbysReadLessOften() {
		int count = 40;
		double all = measure(count, count);
		double few = measure(count, ElectionSettings.STANDBYS);
		System.out.printf("%d nodes: %.1f requests/s if all are standbys, %.1f if %d are%n", count, all, few,
				ElectionSettings.STANDBYS);
		assertThat(few).isLessThan(all / 2);
	}

	private double measure(int count, int standbys) {
		try (PostgreSqlServer server = PostgreSqlServer.start("log_statement=all")) {
			start(server, count, standbys, Duration.ofSeconds(5));
			awaitWatchers(Math.max(0, count - standbys - 1));
			long before = requests(server);
			long start = System.nanoTime();
			Awaitility.await()
				.atMost(PERIOD.plus(LIMIT))
				.until(() -> Duration.ofNanos(System.nanoTime() - start).compareTo(PERIOD) >= 0);
			double seconds = (System.nanoTime() - start) / 1e9;
			double perSecond = (requests(server) - before) / seconds;
			stop();
			return perSecond;
		}
		finally {
			stop();
		}
	}

	/**
	 * Each request begins by setting the isolation.
	 */
	private static long requests(PostgreSqlServer server) {
		return server.log()
			.lines()
			.filter((line) -> line.contains("statement: SET TRANSACTION ISOLATION LEVEL"))
			.count();
	}

	@Test
	void nodeThatIsNoStandbyTakesOverIfTheLeaderAndAllStandbysAreKilled() {
		Duration lease = Duration.ofSeconds(2);
		try (PostgreSqlServer server = PostgreSqlServer.start()) {
			start(server, 6, ElectionSettings.STANDBYS, lease);
			awaitWatchers(2);
			List<Node> killed = this.nodes.stream().filter((node) -> !node.isWatching()).toList();
			long start = System.nanoTime();
			killed.forEach(Node::kill);
			Awaitility.await()
				.atMost(lease.plus(FaultRuns.LONGEST_WATCH).plusSeconds(2))
				.pollInterval(Duration.ofMillis(5))
				.failFast("Two nodes lead at once", () -> leaders().size() > 1)
				.until(() -> leaders().stream().anyMatch((node) -> !killed.contains(node)));
			System.out.printf("leader and standbys killed, lease %s: next leader after %d ms%n", lease,
					Duration.ofNanos(System.nanoTime() - start).toMillis());
			stop();
		}
		finally {
			stop();
		}
	}

	/**
	 * Return the nodes that lead. A node that has just been asked may have stopped to
	 * lead before a later one began, so those that lead are asked again.
	 */
	private List<Node> leaders() {
		List<Node> leaders = this.nodes.stream().filter(Node::isLeader).toList();
		return leaders.stream().filter(Node::isLeader).toList();
	}

	private void awaitWatchers(int count) {
		Awaitility.await().untilAsserted(() -> {
			assertThat(this.nodes).filteredOn(Node::isLeader).hasSize(1);
			assertThat(this.nodes).filteredOn(Node::isWatching).hasSize(count);
		});
	}

	private void start(PostgreSqlServer server, int count, int standbys, Duration lease) {
		IntStream.rangeClosed(1, count)
			.forEach((number) -> this.nodes.add(new Node(server, "node-" + number, standbys, lease)));
	}

	private void stop() {
		CompletableFuture.allOf(this.nodes.stream().map(Node::stop).toArray(CompletableFuture<?>[]::new))
			.orTimeout(LIMIT.toSeconds(), TimeUnit.SECONDS)
			.join();
		this.nodes.clear();
	}

	/**
	 * A node that may be killed, as far as the server can tell.
	 */
	private static final class Node {

		private final PostgreSqlServer server;

		private final DefaultLeaderElector elector;

		private volatile boolean killed;

		Node(PostgreSqlServer server, String id, int standbys, Duration lease) {
			this.server = server;
			LeaseTable table = new LeaseTable(this::connect, new LeaseTable.Node(id, "host", 1), "leader_election",
					true, lease);
			ElectionSettings settings = new ElectionSettings("default", id, lease, Duration.ZERO, Duration.ofSeconds(1),
					true, standbys);
			this.elector = new DefaultLeaderElectors(List.of(settings),
					(election) -> table.store(election, "watch:default", ElectionKeys.derive("watch", "default"), 0),
					(event) -> {
					})
				.getDefault();
			this.elector.start();
		}

		private Connection connect(Properties driverSettings) throws SQLException {
			if (this.killed) {
				throw new SQLException("The node is dead", "08001");
			}
			return this.server.connect(this.server.port(), driverSettings);
		}

		boolean isLeader() {
			return this.elector.isLeader();
		}

		boolean isWatching() {
			return this.elector.status().watching();
		}

		/**
		 * End the connection of this node, which never connects again.
		 */
		void kill() {
			this.killed = true;
			this.server.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
					+ "WHERE application_name = 'leader-election table " + this.elector.getNodeId() + "'");
		}

		CompletableFuture<?> stop() {
			return this.elector.stop();
		}

	}

}
