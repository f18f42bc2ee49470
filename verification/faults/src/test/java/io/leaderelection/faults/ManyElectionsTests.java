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

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;

import io.leaderelection.LeaderElector;
import io.leaderelection.LeadershipRevokedEvent;
import io.leaderelection.engine.DefaultLeaderElector;
import io.leaderelection.engine.DefaultLeaderElectors;
import io.leaderelection.engine.ElectionSettings;
import io.leaderelection.postgresql.ConnectionSource;
import io.leaderelection.postgresql.ElectionKeys;
import io.leaderelection.postgresql.table.LeaseTable;
import io.leaderelection.testsupport.PgBouncer;
import io.leaderelection.testsupport.PostgreSqlServer;
import io.leaderelection.testsupport.TcpProxy;
import org.awaitility.Awaitility;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * What many elections in a table cost, directly and behind a pooler in transaction mode.
 */
@Tag("ring3")
class ManyElectionsTests {

	private static final int NODES = 20;

	private static final int ELECTIONS = 50;

	private static final Duration LEASE = Duration.ofSeconds(5);

	private static final Duration PERIOD = Duration.ofSeconds(10);

	/** From the end of a node to the last grant, on a busy machine. */
	private static final Duration HAND_OVER = Duration.ofSeconds(3);

	private static final int POOL = 4;

	private final List<DefaultLeaderElectors> nodes = new ArrayList<>();

	private final List<LeadershipRevokedEvent> revoked = new CopyOnWriteArrayList<>();

	@ParameterizedTest
	@ValueSource(booleans = { false, true })
	void nodeSendsOneRequestForAllElections(boolean pooled) {
		try (PostgreSqlServer server = PostgreSqlServer.start("log_statement=all");
				PgBouncer pooler = pooled ? PgBouncer.start(server, "transaction", "default_pool_size=" + POOL)
						: null) {
			IntStream.range(0, NODES).forEach((number) -> start(server, pooler, "node-" + number));
			awaitNodes(server, pooled);
			// While a snapshot is open, as on a busy machine, dead rows may fill a page,
			// and a term may end
			int tries = 1;
			while (!costsLittle(server)) {
				assertThat(tries++).isLessThan(3);
			}
			awaitNodes(server, pooled);
			stop();
		}
		finally {
			stop();
		}
	}

	private boolean costsLittle(PostgreSqlServer server) {
		awaitLeaders();
		List<?> terms = terms();
		long updates = updatesOfIndexes(server);
		long requests = LightNodes.requests(server);
		long start = System.nanoTime();
		Awaitility.await()
			.failFast("Two nodes lead at once",
					() -> IntStream.range(0, ELECTIONS).anyMatch((election) -> leaders(election).size() > 1))
			.until(() -> System.nanoTime() - start >= PERIOD.toNanos());
		double perSecond = (LightNodes.requests(server) - requests) / ((System.nanoTime() - start) / 1e9);
		if (!terms.equals(terms()) || updatesOfIndexes(server) != updates) {
			return false;
		}
		assertThat(perSecond).isLessThan(45);
		return true;
	}

	private static long updatesOfIndexes(PostgreSqlServer server) {
		return Long.parseLong(
				server
					.query("SELECT sum(n_tup_upd - n_tup_hot_upd) FROM pg_stat_user_tables "
							+ "WHERE relname LIKE 'leader_election%'")
					.get(0));
	}

	@ParameterizedTest
	@ValueSource(booleans = { false, true })
	void nodeThatStopsHandsAllElectionsOver(boolean pooled) {
		try (PostgreSqlServer server = PostgreSqlServer.start();
				PgBouncer pooler = pooled ? PgBouncer.start(server, "transaction", "default_pool_size=" + POOL)
						: null) {
			DefaultLeaderElectors first = start(server, pooler, "node-1");
			awaitLeaders();
			DefaultLeaderElectors second = start(server, pooler, "node-2");
			Awaitility.await()
				.until(() -> second.all().stream().allMatch((elector) -> elector.status().leader() != null));
			CompletableFuture<Long> stopped = stop(List.of(first)).thenApply((none) -> System.nanoTime());
			// The second node is asked first: otherwise, the first might stop meanwhile
			Awaitility.await()
				.failFast("Two nodes lead at once",
						() -> second.all()
							.stream()
							.filter(LeaderElector::isLeader)
							.anyMatch((elector) -> first.get(elector.getElection()).isLeader()))
				.until(() -> second.all().stream().allMatch(LeaderElector::isLeader));
			// One read, which is due within a second, and one request for each election
			assertThat(Duration.ofNanos(System.nanoTime() - stopped.join())).isLessThan(HAND_OVER);
			stop();
		}
		finally {
			stop();
		}
	}

	/**
	 * The round trip is that of a distant server. The one after the expiry of the lease
	 * ends the session of the node and takes all elections over.
	 */
	@ParameterizedTest
	@CsvSource({ "50, false", "50, true", "200, false" })
	void electionsOfANodeThatDiesAreTakenOverTogether(int elections, boolean cut) throws Exception {
		try (PostgreSqlServer server = PostgreSqlServer.start();
				TcpProxy first = new TcpProxy(server);
				TcpProxy second = new TcpProxy(server)) {
			Duration half = Duration.ofMillis(5);
			first.delay(half, half);
			second.delay(half, half);
			start(elections, (settings) -> server.connect(first.port(), settings), "node-1");
			DefaultLeaderElectors dies = this.nodes.get(0);
			Awaitility.await().until(() -> dies.all().stream().allMatch(LeaderElector::isLeader));
			start(elections, (settings) -> server.connect(second.port(), settings), "node-2");
			DefaultLeaderElectors survives = this.nodes.get(1);
			Awaitility.await()
				.until(() -> survives.all().stream().allMatch((elector) -> elector.status().leader() != null));
			long start = System.nanoTime();
			if (cut) {
				first.blackHole();
			}
			else {
				first.refuse();
				first.reset();
			}
			Awaitility.await().until(() -> survives.all().stream().allMatch(LeaderElector::isLeader));
			Duration last = Duration.ofNanos(System.nanoTime() - start);
			System.out.println("The last of " + elections + " elections is led after " + last.toMillis() + " ms");
			assertThat(last).isLessThan(LEASE.plus(HAND_OVER));
			assertThat(this.revoked).allMatch((event) -> event.getLeadership().getNodeId().equals("node-1"));
			first.heal();
		}
		finally {
			stop();
		}
	}

	/**
	 * Wait until each node is a candidate in all elections and has one connection, or a
	 * share of those of the pooler.
	 */
	private void awaitNodes(PostgreSqlServer server, boolean pooled) {
		awaitLeaders();
		Awaitility.await().untilAsserted(() -> {
			assertThat(server.query("SELECT count(*) FROM leader_election_candidate WHERE candidate GROUP BY election"))
				.hasSize(ELECTIONS)
				.containsOnly(Integer.toString(NODES));
			assertThat(server.query("SELECT pid FROM pg_stat_activity WHERE application_name LIKE 'leader-election "
					+ "table%' OR query LIKE '%leader_election%' AND pid <> pg_backend_pid()"))
				.hasSizeBetween(pooled ? 1 : NODES, pooled ? POOL : NODES);
		});
	}

	private void awaitLeaders() {
		Awaitility.await()
			.until(() -> IntStream.range(0, ELECTIONS).allMatch((election) -> leaders(election).size() == 1));
	}

	private List<DefaultLeaderElector> leaders(int election) {
		return this.nodes.stream()
			.map((node) -> node.get("election-" + election))
			.filter(LeaderElector::isLeader)
			.toList();
	}

	private List<?> terms() {
		return IntStream.range(0, ELECTIONS)
			.mapToObj((election) -> leaders(election).stream().map((leader) -> leader.status().term()).toList())
			.toList();
	}

	private DefaultLeaderElectors start(PostgreSqlServer server, @Nullable PgBouncer pooler, String node) {
		int port = (pooler != null) ? pooler.port() : server.port();
		return start(ELECTIONS, (settings) -> server.connect(port, settings), node);
	}

	private DefaultLeaderElectors start(int elections, ConnectionSource source, String node) {
		LeaseTable table = new LeaseTable(source, new LeaseTable.Node(node, "host", 1), "leader_election", true, LEASE);
		List<ElectionSettings> settings = IntStream.range(0, elections)
			.mapToObj((election) -> new ElectionSettings("election-" + election, node, LEASE, Duration.ZERO,
					Duration.ofSeconds(1), true))
			.toList();
		DefaultLeaderElectors electors = new DefaultLeaderElectors(settings, (election) -> table.store(election,
				"scale:" + election.election(), ElectionKeys.derive("scale", election.election()), 0), (event) -> {
					if (event instanceof LeadershipRevokedEvent loss) {
						this.revoked.add(loss);
					}
				});
		electors.all().forEach(DefaultLeaderElector::start);
		this.nodes.add(electors);
		return electors;
	}

	private void stop() {
		stop(this.nodes).join();
		this.nodes.clear();
	}

	private static CompletableFuture<Void> stop(List<DefaultLeaderElectors> nodes) {
		return CompletableFuture
			.allOf(nodes.stream()
				.flatMap((node) -> node.all().stream())
				.map(DefaultLeaderElector::stop)
				.toArray(CompletableFuture<?>[]::new))
			.orTimeout(60, TimeUnit.SECONDS);
	}

}
