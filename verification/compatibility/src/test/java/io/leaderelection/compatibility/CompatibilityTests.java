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

package io.leaderelection.compatibility;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

import io.leaderelection.compatibility.Combination.Application;
import io.leaderelection.compatibility.Combination.Threads;
import io.leaderelection.testsupport.EmbeddedServerOnly;
import io.leaderelection.testsupport.Jdk;
import io.leaderelection.testsupport.PostgreSqlServer;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * The application, compiled once, with each combination of versions. What has run is
 * written to {@code target/compatibility.md}.
 */
@EmbeddedServerOnly
@Tag("ring2")
class CompatibilityTests {

	private static final Log logger = LogFactory.getLog(CompatibilityTests.class);

	private static final CompatibilityTable results = new CompatibilityTable();

	private static final Map<Integer, PostgreSqlServer> servers = new HashMap<>();

	@TempDir
	private Path directory;

	@AfterAll
	static void writeResults() throws IOException {
		servers.values().forEach(PostgreSqlServer::close);
		results.write();
	}

	@ParameterizedTest
	@MethodSource
	void newestAndOldest(Combination combination) {
		run(combination);
	}

	static List<Combination> newestAndOldest() {
		return Combination.NEWEST_AND_OLDEST;
	}

	@ParameterizedTest
	@Tag("ring3")
	@MethodSource
	void inBetween(Combination combination) {
		run(combination);
	}

	static List<Combination> inBetween() {
		return Combination.ALL.stream()
			.filter((combination) -> !Combination.NEWEST_AND_OLDEST.contains(combination))
			.toList();
	}

	private void run(Combination combination) {
		Optional<Jdk> jdk = Jdk.find(combination.java());
		if (jdk.isEmpty()) {
			String reason = "no Java " + combination.java() + " was found";
			results.add(combination, Integer.toString(combination.java()), "skipped: " + reason);
			logger.warn("Skipped: " + combination + ", since " + reason);
			assertThat(Boolean.getBoolean("compatibility.required")).as(reason + ", but it is required").isFalse();
			Assumptions.abort(reason);
		}
		results.add(combination, jdk.get().version(), "failed");
		PostgreSqlServer server = servers.computeIfAbsent(combination.postgresql(),
				(major) -> PostgreSqlServer.start(Versions.binaries(major)));
		assertThat(server.query("SHOW server_version").get(0))
			.startsWith(Versions.postgresql(combination.postgresql()));
		try (OrdersCluster cluster = new OrdersCluster(server, this.directory)) {
			cluster.run(() -> run(cluster, combination, jdk.get()));
		}
		results.add(combination, jdk.get().version(), "passed");
	}

	private static void run(OrdersCluster cluster, Combination combination, Jdk jdk) {
		cluster.start(combination, jdk);
		OrdersNode leader = cluster.awaitLeader();
		List<OrdersNode> leaders = new ArrayList<>(List.of(leader));
		cluster.awaitWorkOf(leader);
		if (combination.application() == Application.WEB) {
			verifyManagement(leader, cluster.other(leader));
			OrdersNode resigned = leader;
			leader = cluster.resign(resigned);
			leaders.add(leader);
			assertThat(cluster.transitions(resigned)).containsExactly("granted", "feed started", "feed stopped",
					"revoked RESIGNED");
		}
		OrdersNode killed = leader;
		killed.end("KILL");
		OrdersNode last = cluster.other(killed);
		leaders.add(last);
		cluster.awaitWorkOf(last);
		assertThat(last.end("TERM")).isEqualTo(OrdersNode.TERMINATED);
		assertThat(cluster.transitions(last)).endsWith("granted", "feed started", "feed stopped", "revoked STOPPED");
		cluster.verifyTerms(leaders);
		cluster.verifyFires();
		cluster.verifyNoSessions();
		boolean virtual = combination.threads() == Threads.VIRTUAL;
		assertThat(cluster.threads()).isNotEmpty().allMatch((thread) -> thread.startsWith("VirtualThread") == virtual);
		for (OrdersNode node : cluster.nodes()) {
			assertThat(node.output()).contains("(v" + Versions.springBoot(combination.springBoot()) + ")")
				.contains("using Java " + jdk.version())
				.doesNotContain(" ERROR ", "Exception");
		}
	}

	private static void verifyManagement(OrdersNode leader, OrdersNode follower) {
		for (OrdersNode node : List.of(leader, follower)) {
			// A follower does not know the leader, nor what is fenced, from its first
			// moment
			Awaitility.await()
				.atMost(OrdersNode.LIMIT)
				.ignoreExceptions()
				.untilAsserted(() -> verifyNode(node, leader));
		}
		assertThat(leader.get("/actuator/prometheus", ""))
			.containsPattern("leader_election_fence_total\\{[^}]*result=\"passed\"[^}]*} [1-9]");
	}

	private static void verifyNode(OrdersNode node, OrdersNode leader) {
		boolean leads = node == leader;
		String role = leads ? "leader" : "follower";
		assertThat(node.get("/leads", "")).isEqualTo(Boolean.toString(leads));
		assertThat(node.get("/actuator/health", "$.status")).isEqualTo("UP");
		String health = "/actuator/health/leadership";
		assertThat(node.get(health, "$.status")).isEqualTo("UP");
		assertThat(node.get(health, "$.details.elections.default.role")).isEqualTo(role);
		assertThat(node.get(health, "$.details.elections.default.leader")).isEqualTo(leader.name());
		assertThat(node.get(health, "$.details.fencing.transactionManager")).isEqualTo("fenced");
		assertThat(node.get("/actuator/leadership/default", "$.role")).isEqualTo(role);
		assertThat(node.get("/actuator/leadership/default", "$.leader.node")).isEqualTo(leader.name());
		assertThat(node.get("/actuator/prometheus", ""))
			.containsPattern("leader_election_leader\\{[^}]*} " + (leads ? 1 : 0) + "\\.0");
	}

}
