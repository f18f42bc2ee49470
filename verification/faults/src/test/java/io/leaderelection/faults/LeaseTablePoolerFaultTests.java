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
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIf;

/**
 * Faults of nodes with {@code leader-election.store=table} behind a pooler in transaction
 * mode.
 */
@EnabledIf(value = "io.leaderelection.testsupport.PgBouncer#isInstalled", disabledReason = "No PgBouncer")
@Tag("ring2")
class LeaseTablePoolerFaultTests {

	private static PostgreSqlServer server;

	private static PgBouncer pooler;

	private static FaultRuns faults;

	@BeforeAll
	static void startNodes() {
		server = PostgreSqlServer.start();
		pooler = PgBouncer.start(server, "transaction", "default_pool_size=4", "server_idle_timeout=1");
		String url = server.jdbcUrl(pooler.port());
		faults = new FaultRuns(new Cluster(server, LeaseTableFaultTests.LEASE, Duration.ZERO,
				LeaseTableFaultTests.TABLE[0], LeaseTableFaultTests.TABLE[1], "leader-election.datasource.url=" + url,
				"leader-election.datasource.username=" + server.username(),
				"leader-election.datasource.password=" + server.password())
			.withServerFaults()
			// Fences, too, are behind the pooler
			.withWritesTo(url + "?prepareThreshold=0", server)
			.start(3));
	}

	@AfterAll
	static void verifyAndStop() {
		try {
			faults.close();
		}
		finally {
			pooler.close();
			server.close();
		}
	}

	@Test
	void killed() {
		run("leader killed (kill -9)", (leader) -> leader.signal("KILL"), (outcome) -> {
			outcome.tookOverWithin(LeaseTableFaultTests.TAKEOVER);
			outcome.replaceOld();
		});
	}

	@Test
	void terminated() {
		run("leader terminated (SIGTERM)", (leader) -> leader.signal("TERM"), (outcome) -> {
			outcome.handedOverWithin(LeaseTableFaultTests.HAND_OVER);
			outcome.revokedBecause("STOPPED");
			outcome.replaceOld();
		});
	}

	@Test
	void resigned() {
		run("leader resigned", (leader) -> leader.command("resign"), (outcome) -> {
			outcome.handedOverWithin(LeaseTableFaultTests.HAND_OVER);
			outcome.revokedBecause("RESIGNED");
		});
	}

	@Test
	void frozen() {
		run("leader frozen, thawed", (leader) -> leader.signal("STOP"), (outcome) -> {
			outcome.tookOverWithin(LeaseTableFaultTests.TAKEOVER);
			outcome.old().signal("CONT");
			outcome.revokedBecause("LEASE_EXPIRED");
		});
	}

	/**
	 * Statements of all nodes arrive late.
	 */
	@Test
	void poolerFrozen() {
		run("pooler frozen for two leases", (leader) -> {
			pooler.signal("STOP");
			try {
				Thread.sleep(LeaseTableFaultTests.LEASE.multipliedBy(2).toMillis());
			}
			finally {
				pooler.signal("CONT");
			}
		}, (outcome) -> outcome.revokedBecause("LEASE_EXPIRED"));
	}

	private static void run(String fault, FaultRuns.Step<NodeProcess> injection,
			FaultRuns.Step<FaultRuns.Outcome> expectation) {
		faults.run("table behind PgBouncer: " + fault, () -> faults.cluster().awaitLeader(), injection, expectation);
	}

}
