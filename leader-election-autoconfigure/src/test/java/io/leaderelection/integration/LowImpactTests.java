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

package io.leaderelection.integration;

import java.sql.Connection;
import java.sql.Statement;
import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;

import io.leaderelection.testsupport.PostgreSqlServer;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for what elections leave of the server to others.
 */
@Tag("ring2")
class LowImpactTests {

	@RegisterExtension
	final Nodes nodes = new Nodes();

	private final PostgreSqlServer server = this.nodes
		.register(PostgreSqlServer.start("log_min_messages=warning", "log_lock_waits=on"));

	@Test
	void logOfTheServerStaysQuietInNormalOperation() {
		start(4);
		LocalNode leader = this.nodes.awaitLeader();
		awaitWaits(20);
		leader.elector().resign().join();
		this.nodes.awaitLeader();
		this.nodes.all().forEach(LocalNode::close);
		assertThat(complaints()).isEmpty();
	}

	@Test
	void faultLeavesOneLinePerSession() {
		start(3);
		Set<String> pids = Set.copyOf(sessions());
		assertThat(pids).hasSize(3);
		this.server.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
				+ "WHERE application_name LIKE 'leader-election %'");
		Awaitility.await().until(() -> sessions().size() == 3);
		this.nodes.awaitLeader();
		awaitWaits(5);
		List<String> complaints = complaints().stream()
			.filter((line) -> !line.matches(".*(STATEMENT|CONTEXT):.*"))
			.toList();
		assertThat(complaints).hasSize(3).allMatch((line) -> line.contains("FATAL"));
		assertThat(complaints.stream().map((line) -> line.split(",")[1]).collect(Collectors.toSet())).isEqualTo(pids);
	}

	@Test
	@Tag("ring3")
	void leaderAndThreeStandbysHaveOneSessionEach() {
		start(6);
		awaitWaits(6);
		Awaitility.await().during(Duration.ofSeconds(1)).until(() -> sessions().size() == 4);
	}

	@Test
	void followersDoNotHoldUpIndexesAndVacuum() throws Exception {
		start(6);
		awaitWaits(5);
		this.server.execute("CREATE TABLE bystander AS SELECT i FROM generate_series(1, 100000) AS i");
		try (Connection connection = this.server.connect(); Statement statement = connection.createStatement()) {
			statement.execute("SET statement_timeout = '20s'");
			statement.execute("CREATE INDEX CONCURRENTLY bystander_index ON bystander (i)");
			statement.execute("DELETE FROM bystander");
			Awaitility.await().until(() -> {
				statement.execute("VACUUM bystander");
				return this.server.query("SELECT pg_relation_size('bystander')").equals(List.of("0"));
			});
		}
	}

	@Test
	@Tag("ring3")
	void noSnapshotGrowsOldWhileFollowersWait() {
		start(4);
		for (int i = 0; i < 40; i++) {
			assertThat(Double.parseDouble(this.server.query("""
					SELECT coalesce(max(extract(epoch FROM clock_timestamp() - xact_start)), 0) FROM pg_stat_activity
					WHERE application_name LIKE 'leader-election %'
					""").get(0))).isLessThan(2.0);
		}
	}

	private List<String> sessions() {
		return this.server.query("SELECT pid FROM pg_stat_activity WHERE application_name LIKE 'leader-election %'");
	}

	private void start(int count) {
		for (int i = 0; i < count; i++) {
			this.nodes.on(this.server).start();
		}
	}

	/**
	 * Wait until followers have entered the queue again as often as given.
	 */
	private void awaitWaits(int count) {
		Set<String> seen = new HashSet<>();
		Awaitility.await().until(() -> {
			seen.addAll(this.server.query("""
					SELECT pid || ' ' || query_start FROM pg_stat_activity
					WHERE application_name LIKE 'leader-election %' AND wait_event = 'advisory'
					"""));
			return seen.size() >= count;
		});
	}

	private List<String> complaints() {
		return this.server.log()
			.lines()
			.filter((line) -> line.contains("leader-election"))
			.filter((line) -> line.matches(".*(WARNING|ERROR|FATAL|PANIC|LOG|STATEMENT|CONTEXT|DETAIL):.*"))
			.toList();
	}

}
