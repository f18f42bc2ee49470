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
import java.util.List;

import io.leaderelection.faults.Entry.Kind;
import io.leaderelection.testsupport.PgBouncer;
import io.leaderelection.testsupport.PostgreSqlServer;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * PgBouncer between the nodes and the server.
 */
@AdvisoryLockOnly
@Tag("ring2")
class PgBouncerTests {

	private static final Duration LEASE = Duration.ofMillis(1500);

	private static final Duration TAKEOVER_DELAY = Duration.ofMillis(100);

	/**
	 * A delay with which a start waits for the first decision as long as it ever does.
	 */
	private static final Duration PATIENCE = Duration.ofSeconds(2);

	/** The longest that a node waits before it tries to connect again. */
	private static final Duration BACKOFF = Duration.ofSeconds(5);

	private static final String ALLOW = "leader-election.allow-session-pooler=true";

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
	void poolersAreRefusedUnlessAllowed() {
		for (String mode : List.of("transaction", "session")) {
			try (PgBouncer pooler = PgBouncer.start(server, mode); Cluster cluster = cluster(pooler, PATIENCE)) {
				NodeProcess node = cluster.launch().awaitEnd();
				assertThat(String.join("\n", node.output())).contains("APPLICATION FAILED TO START")
					.contains("A connection pooler is between this application and PostgreSQL")
					.contains("leader-election.allow-session-pooler=true");
			}
			assertNoLocks();
		}
	}

	/**
	 * The pooler is declared to run in session mode, and it does not.
	 */
	@Test
	void transactionModeTakenForSessionMode() {
		try (PgBouncer pooler = PgBouncer.start(server, "transaction");
				Cluster cluster = cluster(pooler, TAKEOVER_DELAY, ALLOW)) {
			for (int i = 0; i < 4; i++) {
				cluster.launch();
			}
			Awaitility.await()
				.atMost(BACKOFF.multipliedBy(6))
				.until(() -> cluster.nodes().stream().allMatch(PgBouncerTests::hasDecided));
			// One node may have a connection of the pool to itself; who gets the same one
			// is refused
			Awaitility.await()
				.during(LEASE.multipliedBy(4))
				.atMost(LEASE.multipliedBy(8))
				.until(() -> cluster.nodes().stream().anyMatch(PgBouncerTests::isRefused));
			// A connection of the pool has the name of the node that used it last. So two
			// of them are no two sessions of a node, and one that holds the lock may have
			// the name of a follower
			assertThat(cluster.check().violations())
				.allMatch((violation) -> List.of("G7 sessions", "G6 leak").contains(violation.guarantee()));
		}
		Awaitility.await().atMost(LEASE.plus(BACKOFF)).untilAsserted(PgBouncerTests::assertNoLocks);
	}

	private static boolean isRefused(NodeProcess node) {
		return node.output().stream().anyMatch((line) -> line.contains("it runs in transaction mode"));
	}

	private static boolean hasDecided(NodeProcess node) {
		return !node.isAlive() || node.find(Kind.STARTED, Long.MIN_VALUE).isPresent();
	}

	private static Cluster cluster(PgBouncer pooler, Duration takeoverDelay, String... properties) {
		return new Cluster(server, LEASE, takeoverDelay, properties).withPooler(pooler);
	}

	private static void assertNoLocks() {
		assertThat(server.query("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'")).containsExactly("0");
	}

}
