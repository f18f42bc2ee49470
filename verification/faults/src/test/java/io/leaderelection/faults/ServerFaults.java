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
import java.sql.Statement;
import java.time.Duration;
import java.util.List;

import io.leaderelection.faults.Fault.Trait;
import io.leaderelection.testsupport.PostgreSqlServer;
import org.awaitility.Awaitility;
import org.postgresql.PGConnection;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Faults of the server, and what it, its operator and other sessions do to sessions and
 * tables.
 */
final class ServerFaults extends FaultTable {

	private static final int CANCELS = 50;

	ServerFaults() {
		fault("statements cancelled " + CANCELS + " times", ServerFaults::cancelStatements,
				arranged((scene) -> awaitQueue(scene.cluster())), survived(0), ring(2, Topology.LOCK));
		fault("statements cancelled for half a lease", (scene) -> {
			long end = System.nanoTime() + scene.lease(0.5).toNanos();
			while (System.nanoTime() < end) {
				scene.cluster()
					.server()
					.execute("SELECT pg_cancel_backend(pid) FROM pg_stat_activity "
							+ "WHERE application_name LIKE 'leader-election %'");
			}
		}, survived(0), inSoak(), ring(2, Topology.TABLE));
		locks();
		fault("session frozen", ServerFaults::freezeSession, recovers("LEASE_EXPIRED"), inSoak(),
				ring(3, Topology.LOCK));
		// Unless it is frozen within a renewal, whose lock the next one waits for
		fault("session frozen, survived", ServerFaults::freezeSession, survived(0), ring(3, Topology.TABLE));
		fault("another session crashed (kill -9)", ServerFaults::crash, recovers("SESSION_LOST"), inSoak(),
				ring(2, Topology.LOCK));
		for (String mode : List.of("fast", "immediate")) {
			fault("server restarted (" + mode + ")", (scene) -> {
				PostgreSqlServer server = scene.hitServer();
				server.stop(mode);
				scene.awaitEndOfSession();
				scene.pause(scene.cluster().isTable() ? scene.lease(1) : Duration.ZERO);
				server.startAgain();
			}, recovers("SESSION_LOST"), inSoak(), ring(2, Topology.LOCK, Topology.TABLE));
		}
		fault("server frozen for three leases", (scene) -> {
			PostgreSqlServer server = scene.hitServer();
			server.freeze();
			try {
				scene.pause(scene.lease(3));
			}
			finally {
				server.thaw();
			}
		}, recovers("LEASE_EXPIRED"), inSoak(), ring(2, Topology.LOCK, Topology.TABLE));
		fault("pooler frozen for two leases", (scene) -> {
			scene.cluster().pooler().signal("STOP");
			try {
				scene.pause(scene.lease(2));
			}
			finally {
				scene.cluster().pooler().signal("CONT");
			}
		}, because("LEASE_EXPIRED"), ring(2, Topology.TABLE_POOLER));
	}

	private static void freezeSession(FaultScene scene) throws InterruptedException {
		scene.cluster().withServerFaults();
		scene.signalSession("STOP");
		scene.pause(scene.lease(2));
		scene.signalSession("CONT");
	}

	private void locks() {
		String table = "LOCK TABLE leader_election IN ACCESS EXCLUSIVE MODE";
		String election = "SELECT FROM leader_election FOR UPDATE";
		String node = "SELECT FROM leader_election_node FOR UPDATE";
		for (String lock : List.of(table, election, node)) {
			lock(lock, 0.1, survived(0));
		}
		// Renewals do not lock the row of an election
		lock(election, 2, survived(0));
		lock(table, 2, because("LEASE_EXPIRED"));
		lock(node, 2, because("LEASE_EXPIRED"));
		for (String statement : List.of("VACUUM FULL leader_election", "VACUUM FULL leader_election_node",
				"CLUSTER leader_election USING leader_election_pkey",
				"ALTER TABLE leader_election ADD COLUMN remark text; ALTER TABLE leader_election DROP COLUMN remark",
				"REINDEX TABLE leader_election")) {
			fault(statement, (scene) -> scene.cluster().server().execute(statement), survived(0),
					ring(2, Topology.TABLE));
		}
	}

	private void lock(String lock, double leases, Trait outcome) {
		fault(lock + ", for " + leases + " of the lease", (scene) -> {
			try (Connection connection = scene.hitServer().connect();
					Statement statement = connection.createStatement()) {
				connection.setAutoCommit(false);
				statement.execute(lock);
				scene.pause(scene.lease(leases));
				connection.rollback();
			}
		}, outcome, ring(2, Topology.TABLE));
	}

	/**
	 * A node leads as soon as the server can be used again.
	 */
	private static Trait recovers(String reason) {
		return and(expect(FaultScene::nextAfterRecovery), because(reason),
				(fault) -> fault.endsSession = reason.equals("SESSION_LOST"));
	}

	private static void crash(FaultScene scene) throws SQLException {
		PostgreSqlServer server = scene.hitServer();
		try (Connection crashed = server.connect(); Connection other = server.connect()) {
			server.signalBackend(crashed.unwrap(PGConnection.class).getBackendPID(), "KILL");
			Awaitility.await().until(() -> !other.isValid(1));
		}
		// With a table, the leader may survive, and the next fault would find no server
		Awaitility.await().ignoreExceptions().until(() -> !server.query("SELECT 1").isEmpty());
	}

	private static void cancelStatements(FaultScene scene) {
		Cluster cluster = scene.cluster();
		PostgreSqlServer server = cluster.server();
		List<String> pids = sessions(server);
		int leading = cluster.pids(scene.target()).get(0);
		for (int i = 0; i < CANCELS; i++) {
			awaitQueue(cluster);
			server.execute("SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE pid = " + leading
					+ " OR (application_name LIKE 'leader-election %' AND wait_event = 'advisory')");
		}
		awaitQueue(cluster);
		assertThat(sessions(server)).isEqualTo(pids);
		// All hold the candidate key and a profile, each standby a seat, the one at the
		// head of the queue also that key while it waits, the leader main, term, requests
		// and
		// two notices, and nobody more
		Awaitility.await()
			.untilAsserted(() -> assertThat(server
				.query("SELECT count(*) FROM pg_locks JOIN pg_stat_activity USING (pid) WHERE locktype = 'advisory' "
						+ "AND granted AND application_name LIKE 'leader-election %' GROUP BY pid ORDER BY 1"))
				.containsExactly("3", "4", "7"));
		// A cancel during a confirmation leaves a line, as of any statement; one of a
		// wait does not
		assertThat(scene.log().complaints()).allMatch((complaint) -> complaint.pid() == leading
				&& complaint.message().startsWith("canceling statement due to user request"));
		scene.markLog();
	}

	private static List<String> sessions(PostgreSqlServer server) {
		return server
			.query("SELECT pid FROM pg_stat_activity WHERE application_name LIKE 'leader-election %' ORDER BY 1");
	}

	/**
	 * Wait until all nodes have a session and those that follow wait in the queue.
	 */
	private static void awaitQueue(Cluster cluster) {
		Awaitility.await()
			.atMost(FaultScene.BACKOFF.multipliedBy(4))
			.until(() -> cluster.server()
				.query("SELECT count(*) || ' ' || count(*) FILTER (WHERE wait_event = 'advisory') "
						+ "FROM pg_stat_activity WHERE application_name LIKE 'leader-election %'"),
					(counts) -> counts.equals(List.of("3 2")));
	}

}
