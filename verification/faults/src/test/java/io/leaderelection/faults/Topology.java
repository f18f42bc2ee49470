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
import java.util.function.Supplier;

import io.leaderelection.testsupport.PgBouncer;
import io.leaderelection.testsupport.PostgreSqlServer;
import org.junit.jupiter.api.Assumptions;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * A cluster in which faults are injected.
 */
enum Topology {

	/** On a server of its own, whose log is read. */
	LOCK(() -> {
		PostgreSqlServer server = PostgreSqlServer.start();
		return new FaultRuns(new Cluster(server, Cluster.LEASE, Cluster.DEFAULT_TAKEOVER_DELAY).withLog(), server)
			.start(3);
	}),

	SLOW_TAKEOVER(() -> locks(Cluster.LEASE, Cluster.TAKEOVER_DELAY, 3, Cluster.NO_FAST_TAKEOVER)),

	/** So long that no node can have waited for its end. */
	LONG_LEASE(() -> locks(FaultRuns.SLACK.multipliedBy(4), Cluster.TAKEOVER_DELAY, 3)),

	LONG_LEASE_SLOW_TAKEOVER(
			() -> locks(FaultRuns.SLACK.multipliedBy(4), Cluster.TAKEOVER_DELAY, 3, Cluster.NO_FAST_TAKEOVER)),

	LONG_TAKEOVER_DELAY(() -> locks(Duration.ofMillis(1000), Duration.ofMillis(500), 3)),

	ONE_STANDBY(() -> new FaultRuns(
			new Cluster(PostgreSqlServer.shared(), Cluster.LEASE, Cluster.TAKEOVER_DELAY, "leader-election.standbys=1")
				.withSessions(2))
		.start(4)),

	/** Of one node, beside which others are started. */
	APPLICATION(() -> locks(Duration.ofMillis(1200), Cluster.TAKEOVER_DELAY, 1)),

	/** In which faults of the network hit what is written, too. */
	WRITES(() -> new FaultRuns(
			new Cluster(PostgreSqlServer.shared(), Cluster.LEASE, Cluster.TAKEOVER_DELAY).withWritesThroughProxies())
		.start(3)),

	SESSION_POOLER(() -> {
		Assumptions.assumeTrue(PgBouncer.isInstalled(), "No PgBouncer");
		PostgreSqlServer server = PostgreSqlServer.start();
		PgBouncer pooler = PgBouncer.start(server, "session");
		return new FaultRuns(
				new Cluster(server, Duration.ofMillis(1500), Cluster.TAKEOVER_DELAY,
						"leader-election.allow-session-pooler=true")
					.withPooler(pooler),
				() -> verifyNothingIsKept(server), pooler, server)
			.start(3);
	}),

	TABLE(() -> {
		PostgreSqlServer server = PostgreSqlServer.start();
		return new FaultRuns(new Cluster(server, Cluster.LEASE, Duration.ZERO, Cluster.TABLE_PROPERTIES), server)
			.start(3);
	}),

	TABLE_WRITES(() -> {
		PostgreSqlServer server = PostgreSqlServer.start();
		return new FaultRuns(
				new Cluster(server, Cluster.LEASE, Duration.ZERO, Cluster.TABLE_PROPERTIES).withWritesThroughProxies(),
				server)
			.start(3);
	}),

	/** Behind a pooler in transaction mode, as are the fences. */
	TABLE_POOLER(() -> {
		Assumptions.assumeTrue(PgBouncer.isInstalled(), "No PgBouncer");
		PostgreSqlServer server = PostgreSqlServer.start();
		PgBouncer pooler = PgBouncer.start(server, "transaction", "default_pool_size=4", "server_idle_timeout=1");
		return new FaultRuns(
				new Cluster(server, Cluster.LEASE, Duration.ZERO, Cluster.TABLE_PROPERTIES).withServerFaults()
					.withPooler(pooler)
					.withSessions(0)
					.withWritesTo(server.jdbcUrl(pooler.port()) + "?prepareThreshold=0", server),
				pooler, server)
			.start(3);
	});

	private final Supplier<FaultRuns> start;

	Topology(Supplier<FaultRuns> start) {
		this.start = start;
	}

	private static FaultRuns locks(Duration lease, Duration takeoverDelay, int nodes, String... properties) {
		return new FaultRuns(new Cluster(PostgreSqlServer.shared(), lease, takeoverDelay, properties)).start(nodes);
	}

	/**
	 * Nothing is left of nodes that have stopped, while the pooler still keeps their
	 * connections.
	 */
	private static void verifyNothingIsKept(PostgreSqlServer server) {
		assertThat(server.query("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'")).containsExactly("0");
		assertThat(server.query("SELECT count(*) > 0 FROM pg_stat_activity WHERE client_port > 0 "
				+ "AND query LIKE 'DISCARD ALL%' AND state = 'idle'"))
			.containsExactly("t");
	}

	FaultRuns start() {
		return this.start.get();
	}

	/**
	 * Whether its nodes use a lease table. All faults that a table can have are in these
	 * topologies.
	 */
	boolean isTable() {
		return name().startsWith("TABLE");
	}

}
