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

package io.leaderelection.transaction;

import java.util.ArrayList;
import java.util.List;

import io.leaderelection.LeaderElector;
import io.leaderelection.testsupport.PostgreSqlServer;
import io.leaderelection.testsupport.RoundTrips;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

import org.springframework.boot.SpringApplication;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.jdbc.core.simple.JdbcClient;
import org.springframework.transaction.PlatformTransactionManager;
import org.springframework.transaction.support.TransactionTemplate;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for what the fence costs: round trips to the server, counted on the socket.
 */
@Tag("ring2")
class FenceCostTests {

	/**
	 * The driver prepares a statement on the server at its fifth use.
	 */
	private static final int TRANSACTIONS = 10;

	private static final PostgreSqlServer server = PostgreSqlServer.shared();

	@BeforeEach
	void createTable() {
		server.execute("DROP TABLE IF EXISTS fence_cost; CREATE TABLE fence_cost (id int)");
	}

	@Test
	void oneRoundTripPerTransactionOfLeaderWork() throws Exception {
		assertThat(roundTrips("off", false, true)).containsOnly(3);
		assertThat(roundTrips("auto", false, true)).containsOnly(4);
		assertThat(roundTrips("required", false, true)).containsOnly(4);
	}

	@Test
	void nothingForTransactionsThatOnlyReadOrAreNotOfLeaderWork() throws Exception {
		assertThat(roundTrips("auto", true, true)).isEqualTo(roundTrips("off", true, true));
		assertThat(roundTrips("auto", false, false)).containsOnly(3);
	}

	/**
	 * Return how often each of several transactions of two statements has waited for the
	 * server, its commit included.
	 */
	private static List<Integer> roundTrips(String fencing, boolean readOnly, boolean leaderWork) throws Exception {
		ConfigurableApplicationContext context = FencedApplication.start(server, FencedApplication.Application.class,
				"leader-election.fencing=" + fencing, "spring.datasource.hikari.maximum-pool-size=1",
				"leader-election.datasource.url=" + server.jdbcUrl(),
				"leader-election.datasource.username=" + server.username(),
				"leader-election.datasource.password=" + server.password(),
				"spring.datasource.hikari.data-source-properties.socketFactory=" + RoundTrips.class.getName());
		try {
			LeaderElector elector = context.getBean(LeaderElector.class);
			assertThat(elector.awaitLeadership(FencedApplication.LEASE.multipliedBy(10))).isTrue();
			// Or the first transaction might have to ask on which database it is
			TransactionFencing known = context.getBean(TransactionFencing.class);
			Awaitility.await().until(() -> !known.coverage().containsValue(Coverage.UNKNOWN));
			TransactionTemplate transaction = new TransactionTemplate(
					context.getBean(PlatformTransactionManager.class));
			transaction.setReadOnly(readOnly);
			JdbcClient jdbc = context.getBean(JdbcClient.class);
			List<Integer> counts = new ArrayList<>();
			Runnable work = () -> {
				int[] before = new int[1];
				transaction.executeWithoutResult((status) -> {
					// From here on, since the pool may have tested its connection
					before[0] = RoundTrips.count();
					String write = (readOnly) ? "SELECT :id::int" : "INSERT INTO fence_cost VALUES (:id) RETURNING id";
					jdbc.sql(write).param("id", 1).query(Integer.class).single();
					jdbc.sql("SELECT count(*) FROM fence_cost").query(Integer.class).single();
				});
				counts.add(RoundTrips.count() - before[0]);
			};
			for (int i = 0; i < TRANSACTIONS; i++) {
				if (leaderWork) {
					assertThat(elector.runIfLeader(work)).isTrue();
				}
				else {
					work.run();
				}
			}
			return counts;
		}
		finally {
			SpringApplication.exit(context);
		}
	}

}
