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
import java.time.Duration;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;

import io.leaderelection.testsupport.PostgreSqlServer;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.postgresql.PGConnection;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Faults of the server, and what it does to sessions.
 */
@AdvisoryLockOnly
@Tag("ring2")
class ServerFaultTests {

	private static final Duration LEASE = Cluster.LEASE;

	private static final Duration TRUST = LEASE.multipliedBy(3).dividedBy(4);

	/** How long it may take until all processes of the server have their signal. */
	private static final Duration INJECTING = Duration.ofSeconds(1);

	/** The longest that a node waits before it tries to connect again. */
	private static final Duration BACKOFF = Duration.ofSeconds(5);

	private static final int CANCELS = 50;

	private static PostgreSqlServer server;

	private static FaultRuns faults;

	private ServerLog log;

	@BeforeAll
	static void startNodes() {
		server = PostgreSqlServer.start();
		faults = new FaultRuns(new Cluster(server, LEASE, Cluster.DEFAULT_TAKEOVER_DELAY).withServerFaults().start(3));
	}

	@AfterAll
	static void stopNodes() {
		try {
			faults.close();
		}
		finally {
			server.close();
		}
	}

	@BeforeEach
	void markLog() {
		faults.cluster().awaitLeader();
		awaitQueue();
		this.log = new ServerLog(server);
	}

	@AfterEach
	void verifyLog() {
		this.log.verifyOneLinePerDeadSession();
	}

	@Test
	void statementsCancelled() {
		faults.runWithoutSuccession("statements of all sessions cancelled " + CANCELS + " times", (leader) -> {
			List<String> pids = sessions();
			int leading = faults.cluster().pids(leader).get(0);
			for (int i = 0; i < CANCELS; i++) {
				awaitQueue();
				server.execute("SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE pid = " + leading
						+ " OR (application_name LIKE 'leader-election %' AND wait_event = 'advisory')");
			}
			awaitQueue();
			assertThat(sessions()).isEqualTo(pids);
			// All hold the candidate key and a profile, each standby a seat, the one at
			// the head of the queue also that key while it waits, the leader main, term
			// and two notices, and nobody more
			Awaitility.await()
				.untilAsserted(() -> assertThat(server.query(
						"SELECT count(*) FROM pg_locks JOIN pg_stat_activity USING (pid) WHERE locktype = 'advisory' "
								+ "AND granted AND application_name LIKE 'leader-election %' GROUP BY pid ORDER BY 1"))
					.containsExactly("3", "4", "6"));
			// A cancel during a confirmation leaves a line, as of any statement; one
			// of a wait does not
			assertThat(this.log.complaints()).allMatch((complaint) -> complaint.pid() == leading
					&& complaint.message().startsWith("canceling statement due to user request"));
			this.log = new ServerLog(server);
		});
	}

	@Test
	void backendCrashed() {
		run("another backend crashed (kill -9)", "SESSION_LOST", (leader) -> {
			try (Connection connection = server.connect()) {
				server.signalBackend(connection.unwrap(PGConnection.class).getBackendPID(), "KILL");
				awaitEndOfRecovery();
			}
		});
	}

	@Test
	void restartedFast() {
		run("server restarted (fast)", "SESSION_LOST", (leader) -> {
			server.stop("fast");
			server.startAgain();
		});
	}

	@Test
	void restartedImmediately() {
		run("server restarted (immediate)", "SESSION_LOST", (leader) -> {
			server.stop("immediate");
			server.startAgain();
		});
	}

	@Test
	void frozen() {
		run("server frozen for three leases", "LEASE_EXPIRED", (leader) -> {
			server.freeze();
			try {
				Thread.sleep(LEASE.multipliedBy(3).toMillis());
			}
			finally {
				server.thaw();
			}
		});
	}

	/**
	 * Run a fault after which a node leads as soon as sessions can be opened again, and
	 * which the old leader has noticed in any case when its trust had run out.
	 */
	private static void run(String fault, String reason, FaultRuns.Step<NodeProcess> injection) {
		AtomicLong end = new AtomicLong();
		faults.run(fault, (leader) -> {
			injection.take(leader);
			end.set(System.nanoTime());
		}, (outcome) -> {
			outcome.revokedBecause(reason);
			outcome.steppedDownWithin(TRUST.plus(INJECTING));
			assertThat(Duration.ofNanos(outcome.next().time() - end.get())).isLessThan(BACKOFF.plus(FaultRuns.SLACK));
		});
	}

	private void awaitEndOfRecovery() {
		Awaitility.await()
			.atMost(BACKOFF.multipliedBy(4))
			.until(() -> this.log.text().contains("database system is ready to accept connections"));
	}

	private static List<String> sessions() {
		return server
			.query("SELECT pid FROM pg_stat_activity WHERE application_name LIKE 'leader-election %' ORDER BY 1");
	}

	/**
	 * Wait until all nodes have a session and those that follow wait in the queue.
	 */
	private static void awaitQueue() {
		Awaitility.await()
			.atMost(BACKOFF.multipliedBy(4))
			.pollInterval(Duration.ofMillis(2))
			.until(() -> server.query("SELECT count(*) || ' ' || count(*) FILTER (WHERE wait_event = 'advisory') "
					+ "FROM pg_stat_activity WHERE application_name LIKE 'leader-election %'"),
					(counts) -> counts.equals(List.of("3 2")));
	}

}
