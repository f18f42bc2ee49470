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
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;

import io.leaderelection.faults.Entry.Kind;
import io.leaderelection.faults.Fault.Trait;
import io.leaderelection.faults.ServerLog.Complaint;
import io.leaderelection.testsupport.PostgreSqlServer;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * A server that has run out of something, or no longer lets the nodes in. The nodes have
 * an ordinary role: superusers have slots of their own.
 */
@AdvisoryLockOnly
@Tag("ring2")
class ServerLimitTests {

	private static final Duration LEASE = Duration.ofSeconds(2);

	private static final Duration TAKEOVER_DELAY = Duration.ofMillis(100);

	/** How long it waits when an operator has to change something first. */
	private static final Duration UNUSABLE_RETRY = Duration.ofSeconds(30);

	private static final String ROLE = "application";

	private static final String PASSWORD = "old";

	private static PostgreSqlServer server;

	@AutoClose
	private static FaultRuns faults;

	@BeforeAll
	static void startNodes() {
		server = PostgreSqlServer.start("max_connections=20", "superuser_reserved_connections=6",
				"max_locks_per_transaction=10");
		server.execute("CREATE ROLE " + ROLE + " LOGIN PASSWORD '" + PASSWORD + "'");
		faults = new FaultRuns(new Cluster(server, LEASE, TAKEOVER_DELAY, "leader-election.datasource.username=" + ROLE,
				"leader-election.datasource.password=" + PASSWORD)
			.start(3), server);
	}

	@Test
	void connectionsExhausted() {
		List<Connection> hogs = new ArrayList<>();
		faults.run(new Fault("leader killed (kill -9) while connections are exhausted", (scene) -> {
			takeAllConnections(hogs);
			scene.target().signal("KILL");
			// Its slot is the next to be taken
			Awaitility.await().atMost(FaultScene.BACKOFF).until(() -> takeAllConnections(hogs) > 0);
		}, withinBackoff(), FaultTable.replaced(), FaultTable.expect((scene) -> {
			NodeProcess waiting = faults.cluster().nodes().get(2);
			assertThat(faults.cluster().pids(waiting)).isEmpty();
			// Logged after the decision that ends its start
			Awaitility.await()
				.untilAsserted(() -> assertThat(waiting.output()).anyMatch(
						(line) -> line.contains("Following without a session") && line.contains("SQLSTATE 53300")));
			for (Connection hog : hogs) {
				hog.close();
			}
			Awaitility.await()
				.atMost(FaultScene.BACKOFF.plus(FaultRuns.SLACK))
				.until(() -> faults.cluster().pids(waiting).size() == 1);
		})));
	}

	@Test
	@Tag("ring3")
	void locksExhausted() throws SQLException {
		ServerLog log = new ServerLog(server);
		try (Connection hog = server.connect()) {
			faults.run(new Fault("lock table exhausted", (scene) -> takeAllLocks(hog), FaultTable.survived(1),
					FaultTable.healed((scene) -> freeAllLocks(hog))));
			faults.run(new Fault("leader killed (kill -9) while the lock table is exhausted", (scene) -> {
				takeAllLocks(hog);
				scene.target().signal("KILL");
				scene.target().awaitEnd();
				takeAllLocks(hog);
				freeAllLocks(hog);
			}, withinBackoff(), FaultTable.replaced()));
		}
		assertThat(log.complaints().stream().collect(Collectors.groupingBy(Complaint::pid)).values())
			.allMatch((ofSession) -> ofSession.size() == 1);
	}

	@Test
	@Tag("ring3")
	void passwordRotated() {
		NodeProcess leader = faults.cluster().awaitSessions().awaitLeader();
		NodeProcess follower = faults.cluster().followers().get(0);
		server.execute("ALTER ROLE " + ROLE + " PASSWORD 'new'");
		try {
			faults.run(new Fault("password rotated", (scene) -> scene.cluster().terminateSession(follower),
					FaultTable.survived(0)));
			assertThat(leader.leads()).isTrue();
			Awaitility.await()
				.atMost(FaultRuns.SLACK)
				.until(() -> follower.output()
					.stream()
					.anyMatch((line) -> line
						.contains("The database rejected the login for leader election: FATAL: password authentication "
								+ "failed for user \"" + ROLE + "\"")
							&& line.contains("Check leader-election.datasource.username and password")));
			assertThat(faults.cluster().pids(follower)).isEmpty();
		}
		finally {
			server.execute("ALTER ROLE " + ROLE + " PASSWORD '" + PASSWORD + "'");
		}
		Awaitility.await()
			.atMost(UNUSABLE_RETRY.plus(FaultRuns.SLACK))
			.until(() -> faults.cluster().pids(follower).size() == 1);
		assertThat(follower.find(Kind.STOPPED, Long.MIN_VALUE)).isEmpty();
		faults.cluster().verify();
	}

	private static Trait withinBackoff() {
		return FaultTable.expect((scene) -> scene.nextWithin(FaultScene.BACKOFF.plus(TAKEOVER_DELAY)));
	}

	private static int takeAllConnections(List<Connection> hogs) {
		int before = hogs.size();
		try {
			while (true) {
				hogs.add(DriverManager.getConnection(server.jdbcUrl(), ROLE, PASSWORD));
			}
		}
		catch (SQLException ex) {
			assertThat(ex.getMessage()).contains("connection slots");
			return hogs.size() - before;
		}
	}

	private static void takeAllLocks(Connection hog) throws SQLException {
		try (Statement statement = hog.createStatement()) {
			// What is locked stays locked when the statement fails
			statement.execute("DO 'BEGIN FOR i IN 1..1000000 LOOP PERFORM pg_advisory_lock(i); END LOOP; END'");
			throw new IllegalStateException("There are locks left");
		}
		catch (SQLException ex) {
			assertThat(ex.getMessage()).contains("out of shared memory");
		}
	}

	private static void freeAllLocks(Connection hog) throws SQLException {
		try (Statement statement = hog.createStatement()) {
			statement.execute("SELECT pg_advisory_unlock_all()");
		}
	}

}
