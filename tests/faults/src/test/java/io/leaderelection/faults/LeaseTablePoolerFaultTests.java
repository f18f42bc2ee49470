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

import io.leaderelection.testsupport.PgBouncer;
import io.leaderelection.testsupport.PostgreSqlServer;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * Faults of nodes with {@code leader-election.store=table} behind a pooler in transaction
 * mode.
 */
@Tag("faults")
class LeaseTablePoolerFaultTests {

	@Test
	void behindPgBouncerInTransactionMode() {
		try (PostgreSqlServer server = PostgreSqlServer.start();
				PgBouncer pooler = PgBouncer.start(server, "transaction", "default_pool_size=4",
						"server_idle_timeout=1");
				FaultRuns pooled = new FaultRuns(new Cluster(server, LeaseTableFaultTests.LEASE, Duration.ZERO,
						LeaseTableFaultTests.TABLE[0], LeaseTableFaultTests.TABLE[1],
						"leader-election.datasource.url=" + server.jdbcUrl(pooler.port()),
						"leader-election.datasource.username=" + server.username(),
						"leader-election.datasource.password=" + server.password())
					.withServerFaults()
					.start(3))) {
			pooled.run("table behind PgBouncer: leader killed", () -> pooled.cluster().awaitLeader(),
					(leader) -> leader.signal("KILL"), (outcome) -> {
						LeaseTableFaultTests.nextWithin(outcome, LeaseTableFaultTests.TAKEOVER);
						outcome.replaceOld();
					});
			pooled.run("table behind PgBouncer: leader frozen, thawed", () -> pooled.cluster().awaitLeader(),
					(leader) -> leader.signal("STOP"), (outcome) -> {
						LeaseTableFaultTests.nextWithin(outcome, LeaseTableFaultTests.TAKEOVER);
						outcome.old().signal("CONT");
						outcome.revokedBecause("LEASE_EXPIRED");
					});
			pooled.run("table behind PgBouncer: leader resigned", () -> pooled.cluster().awaitLeader(),
					(leader) -> leader.command("resign"),
					(outcome) -> LeaseTableFaultTests.nextWithin(outcome, LeaseTableFaultTests.HAND_OVER));
		}
	}

}
