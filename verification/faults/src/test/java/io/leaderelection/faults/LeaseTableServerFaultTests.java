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

import io.leaderelection.testsupport.PostgreSqlServer;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * What a server, its operator and other sessions do to the lease table.
 */
@Tag("ring2")
class LeaseTableServerFaultTests {

	private static final Duration LEASE = Cluster.LEASE;

	private static PostgreSqlServer server;

	private static FaultRuns faults;

	@BeforeAll
	static void startNodes() {
		server = PostgreSqlServer.start();
		faults = new FaultRuns(
				new Cluster(server, LEASE, Duration.ZERO, LeaseTableFaultTests.TABLE).withServerFaults().start(3));
	}

	@AfterAll
	static void verifyAndStop() {
		try {
			faults.close();
		}
		finally {
			server.close();
		}
	}

	@ParameterizedTest
	@ValueSource(strings = { "LOCK TABLE leader_election IN ACCESS EXCLUSIVE MODE",
			"SELECT FROM leader_election FOR UPDATE", "SELECT FROM leader_election_node FOR UPDATE" })
	void lockedForATenthOfTheLease(String lock) {
		faults.runWithoutSuccession("table: " + lock + ", for a tenth of the lease",
				(leader) -> lockFor(lock, LEASE.dividedBy(10)));
	}

	@ParameterizedTest
	@ValueSource(strings = { "LOCK TABLE leader_election IN ACCESS EXCLUSIVE MODE",
			"SELECT FROM leader_election_node FOR UPDATE" })
	void lockedForLongerThanTheLease(String lock) {
		faults.run("table: " + lock + ", for longer than the lease", (leader) -> lockFor(lock, LEASE.multipliedBy(2)),
				(outcome) -> outcome.revokedBecause("LEASE_EXPIRED"));
	}

	/**
	 * Renewals do not lock the row of an election.
	 */
	@Test
	void electionLockedForLongerThanTheLease() {
		faults.runWithoutSuccession("table: election locked for longer than the lease",
				(leader) -> lockFor("SELECT FROM leader_election FOR UPDATE", LEASE.multipliedBy(2)));
	}

	@ParameterizedTest
	@ValueSource(strings = { "VACUUM FULL leader_election", "VACUUM FULL leader_election_node",
			"CLUSTER leader_election USING leader_election_pkey",
			"ALTER TABLE leader_election ADD COLUMN remark text; ALTER TABLE leader_election DROP COLUMN remark",
			"REINDEX TABLE leader_election" })
	void maintenance(String statement) {
		faults.runWithoutSuccession("table: " + statement, (leader) -> server.execute(statement));
	}

	@Test
	void statementsCancelled() {
		faults.runWithoutSuccession("table: statements cancelled for half a lease", (leader) -> {
			long end = System.nanoTime() + LEASE.dividedBy(2).toNanos();
			while (System.nanoTime() < end) {
				server.execute("SELECT pg_cancel_backend(pid) FROM pg_stat_activity "
						+ "WHERE application_name LIKE 'leader-election table %'");
			}
		});
	}

	@Test
	void serverFrozen() {
		faults.run("table: server frozen for two leases", (leader) -> {
			server.freeze();
			try {
				Thread.sleep(LEASE.multipliedBy(2).toMillis());
			}
			finally {
				server.thaw();
			}
		}, (outcome) -> outcome.revokedBecause("LEASE_EXPIRED"));
	}

	private static void lockFor(String lock, Duration duration) throws InterruptedException, SQLException {
		try (Connection connection = server.connect(); Statement statement = connection.createStatement()) {
			connection.setAutoCommit(false);
			statement.execute(lock);
			Thread.sleep(duration.toMillis());
			connection.rollback();
		}
	}

}
