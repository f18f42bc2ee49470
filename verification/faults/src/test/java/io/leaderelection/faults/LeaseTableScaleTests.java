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
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;

import io.leaderelection.LeaderElector;
import io.leaderelection.Term;
import io.leaderelection.engine.DefaultLeaderElector;
import io.leaderelection.engine.DefaultLeaderElectors;
import io.leaderelection.engine.ElectionSettings;
import io.leaderelection.postgresql.ConnectionSource;
import io.leaderelection.postgresql.ElectionKeys;
import io.leaderelection.postgresql.table.LeaseTable;
import io.leaderelection.testsupport.PgBouncer;
import io.leaderelection.testsupport.PostgreSqlServer;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for many nodes and elections with {@code leader-election.store=table}, and what
 * they cost.
 */
@Tag("ring3")
class LeaseTableScaleTests {

	private static final int NODES = 20;

	private static final int ELECTIONS = 50;

	private static final Duration LEASE = Duration.ofSeconds(5);

	/** From the end of a node to the last grant, on a busy machine. */
	private static final Duration HAND_OVER = Duration.ofSeconds(3);

	private static final Duration LIMIT = Duration.ofSeconds(60);

	private static final Duration PERIOD = Duration.ofSeconds(Integer.getInteger("suite.period", 10));

	private final List<DefaultLeaderElectors> nodes = new ArrayList<>();

	@ParameterizedTest
	@ValueSource(booleans = { false, true })
	void manyNodesWithManyElections(boolean pooled) {
		try (PostgreSqlServer server = PostgreSqlServer.start("log_statement=all");
				PgBouncer pooler = pooled ? PgBouncer.start(server, "transaction", "default_pool_size=4") : null) {
			int port = (pooler != null) ? pooler.port() : server.port();
			for (int node = 0; node < NODES; node++) {
				this.nodes.add(start(server, port, "node-" + node));
			}
			awaitLeaders();
			awaitNodes(server, pooled);
			Cost cost = measure(server);
			// While a snapshot is open, as on a busy machine, dead rows may fill a page
			for (int repetition = 0; (cost.disturbed() || cost.updatesThatWereNotHot() > 0)
					&& repetition < 2; repetition++) {
				awaitLeaders();
				cost = measure(server);
			}
			System.out.printf("%d nodes, %d elections%s: %d connections, %s%n", NODES, ELECTIONS,
					pooled ? " behind PgBouncer with 4 server connections" : "", connections(server), cost);
			assertThat(cost.disturbed()).as("a term ended in each period").isFalse();
			assertThat(cost.requests()).isLessThan(45);
			assertThat(cost.updatesThatWereNotHot()).isZero();
			awaitLeaders();
			awaitNodes(server, pooled);
			stop();
		}
		finally {
			stop();
		}
	}

	private Cost measure(PostgreSqlServer server) {
		List<Term> terms = terms();
		Counts before = Counts.of(server);
		long start = System.nanoTime();
		Awaitility.await()
			.atMost(PERIOD.plus(LIMIT))
			.pollInterval(Duration.ofMillis(20))
			.failFast("Two nodes lead at once", () -> leaders().stream().anyMatch((count) -> count > 1))
			.until(() -> Duration.ofNanos(System.nanoTime() - start).compareTo(PERIOD) >= 0);
		double seconds = (System.nanoTime() - start) / 1e9;
		Counts after = Counts.of(server);
		return new Cost(!terms.equals(terms()), (after.requests() - before.requests()) / seconds,
				(after.wal() - before.wal()) / seconds, (after.updates() - before.updates()) / seconds,
				after.updatesThatWereNotHot() - before.updatesThatWereNotHot());
	}

	@ParameterizedTest
	@ValueSource(booleans = { false, true })
	void nodeThatStopsHandsAllElectionsOver(boolean pooled) {
		try (PostgreSqlServer server = PostgreSqlServer.start();
				PgBouncer pooler = pooled ? PgBouncer.start(server, "transaction", "default_pool_size=4") : null) {
			int port = (pooler != null) ? pooler.port() : server.port();
			DefaultLeaderElectors first = start(server, port, "node-1");
			this.nodes.add(first);
			awaitLeaders();
			DefaultLeaderElectors second = start(server, port, "node-2");
			this.nodes.add(second);
			Awaitility.await()
				.until(() -> second.all().stream().allMatch((elector) -> elector.status().leader() != null));
			long start = System.nanoTime();
			CompletableFuture<Long> stopped = CompletableFuture
				.allOf(first.all().stream().map(DefaultLeaderElector::stop).toArray(CompletableFuture<?>[]::new))
				.orTimeout(LIMIT.toSeconds(), TimeUnit.SECONDS)
				.thenApply((none) -> System.nanoTime());
			Awaitility.await()
				.failFast("Two nodes lead at once", () -> isLedByBoth(first, second))
				.until(() -> second.all().stream().allMatch(LeaderElector::isLeader));
			long end = System.nanoTime();
			Duration afterwards = Duration.ofNanos(end - stopped.join());
			System.out.printf("%d elections handed over%s in %d ms, %d ms after the end of the node%n", ELECTIONS,
					pooled ? " behind PgBouncer" : "", Duration.ofNanos(end - start).toMillis(), afterwards.toMillis());
			// One read, which is due within a second, and one request for each election
			assertThat(afterwards).isLessThan(HAND_OVER);
			stop();
		}
		finally {
			stop();
		}
	}

	/**
	 * Return whether a node leads an election before another one has stopped to lead it.
	 * That one is asked last: the other way round, it might stop in between.
	 */
	private static boolean isLedByBoth(DefaultLeaderElectors first, DefaultLeaderElectors second) {
		return second.all()
			.stream()
			.filter(LeaderElector::isLeader)
			.anyMatch((elector) -> first.get(elector.getElection()).isLeader());
	}

	/**
	 * Wait until each node is a candidate in all elections and has one connection, or a
	 * share of those of the pooler.
	 */
	private static void awaitNodes(PostgreSqlServer server, boolean pooled) {
		Awaitility.await().untilAsserted(() -> {
			assertThat(server.query("SELECT count(*) FROM leader_election_candidate WHERE candidate GROUP BY election"))
				.hasSize(ELECTIONS)
				.containsOnly(Integer.toString(NODES));
			assertThat(connections(server)).isBetween(pooled ? 1 : NODES, pooled ? 4 : NODES);
		});
	}

	private void awaitLeaders() {
		Awaitility.await().until(() -> leaders().stream().allMatch((count) -> count == 1));
	}

	/**
	 * Return how many nodes lead each election.
	 */
	private List<Integer> leaders() {
		return IntStream.range(0, ELECTIONS)
			.mapToObj((election) -> (int) this.nodes.stream()
				.filter((node) -> node.get("election-" + election).isLeader())
				.count())
			.toList();
	}

	private void stop() {
		CompletableFuture<?>[] stopped = this.nodes.stream()
			.flatMap((node) -> node.all().stream())
			.map(DefaultLeaderElector::stop)
			.toArray(CompletableFuture<?>[]::new);
		CompletableFuture.allOf(stopped).orTimeout(LIMIT.toSeconds(), TimeUnit.SECONDS).join();
		this.nodes.clear();
	}

	/**
	 * Return the term of each election, none if nobody leads it.
	 */
	private List<Term> terms() {
		return IntStream.range(0, ELECTIONS)
			.mapToObj((election) -> this.nodes.stream()
				.map((node) -> node.get("election-" + election))
				.filter(LeaderElector::isLeader)
				.map((elector) -> elector.getLeadership().getTerm())
				.findFirst()
				.orElse(null))
			.toList();
	}

	private static DefaultLeaderElectors start(PostgreSqlServer server, int port, String node) {
		ConnectionSource source = (driverSettings) -> server.connect(port, driverSettings);
		LeaseTable table = new LeaseTable(source, new LeaseTable.Node(node, "host", 1), "leader_election", true, LEASE);
		List<ElectionSettings> settings = IntStream.range(0, ELECTIONS)
			.mapToObj((election) -> new ElectionSettings("election-" + election, node, LEASE, Duration.ZERO,
					Duration.ofSeconds(1), true))
			.toList();
		DefaultLeaderElectors electors = new DefaultLeaderElectors(settings, (election) -> table.store(election,
				"scale:" + election.election(), ElectionKeys.derive("scale", election.election()), 0), (event) -> {
				});
		electors.all().forEach(DefaultLeaderElector::start);
		return electors;
	}

	private static int connections(PostgreSqlServer server) {
		return Integer.parseInt(server
			.query("SELECT count(*) FROM pg_stat_activity WHERE application_name LIKE 'leader-election table%' "
					+ "OR query LIKE '%leader_election%' AND pid <> pg_backend_pid()")
			.get(0));
	}

	/**
	 * What the server has counted so far.
	 *
	 * @param requests the requests of the nodes, each of which begins by setting the
	 * isolation
	 * @param wal the bytes of WAL
	 * @param updates the updates of rows
	 * @param updatesThatWereNotHot those that have written to an index
	 */
	private record Counts(long requests, long wal, long updates, long updatesThatWereNotHot) {

		static Counts of(PostgreSqlServer server) {
			long requests = server.log()
				.lines()
				.filter((line) -> line.contains("statement: SET TRANSACTION ISOLATION LEVEL"))
				.count();
			String updates = "FROM pg_stat_user_tables WHERE relname LIKE 'leader_election%'";
			return new Counts(requests, number(server, "SELECT pg_current_wal_insert_lsn() - '0/0'"),
					number(server, "SELECT sum(n_tup_upd) " + updates),
					number(server, "SELECT sum(n_tup_upd - n_tup_hot_upd) " + updates));
		}

		private static long number(PostgreSqlServer server, String sql) {
			return Long.parseLong(server.query(sql).get(0));
		}

	}

	/**
	 * What a cluster costs in a period.
	 *
	 * @param disturbed whether a term has ended
	 * @param requests requests per second
	 * @param wal bytes of WAL per second
	 * @param updates updates of rows per second
	 * @param updatesThatWereNotHot updates that have written to an index
	 */
	private record Cost(boolean disturbed, double requests, double wal, double updates, long updatesThatWereNotHot) {

		@Override
		public String toString() {
			return "%.1f requests/s, %.0f bytes of WAL/s, %.1f updates/s, %d of them not HOT".formatted(this.requests,
					this.wal, this.updates, this.updatesThatWereNotHot);
		}

	}

}
