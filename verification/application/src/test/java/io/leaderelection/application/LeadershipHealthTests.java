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

package io.leaderelection.application;

import java.time.Duration;
import java.util.List;

import io.leaderelection.testsupport.PostgreSqlServer;
import io.leaderelection.testsupport.TcpProxy;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * What {@code /actuator/health} and the probes report on leaders, followers and nodes
 * that do not reach the database of their election.
 */
@Tag("ring2")
class LeadershipHealthTests {

	private static final String COMPONENT = "/components/leadership";

	private static final String DETAILS = COMPONENT + "/details/elections/default";

	@AutoClose
	private final Nodes nodes = new Nodes(WebApplication.class);

	private final PostgreSqlServer server = PostgreSqlServer.shared();

	@AutoClose
	private final TcpProxy proxy = new TcpProxy(this.server);

	@Test
	void leaderAndFollowerAreBothHealthy() {
		for (Node node : this.nodes.startTwo()) {
			Http.Answer health = node.get("/actuator/health");
			assertThat(health.status()).isEqualTo(200);
			assertThat(health.text("/status")).isEqualTo("UP");
			assertThat(health.text(COMPONENT + "/status")).isEqualTo("UP");
			assertThat(health.text(DETAILS + "/role")).isEqualTo(node.id().equals("first") ? "leader" : "follower");
			assertThat(health.text(DETAILS + "/node")).isEqualTo(node.id());
			assertThat(health.text(DETAILS + "/leader")).isEqualTo("first");
			assertThat(health.texts(DETAILS + "/candidates")).containsExactlyInAnyOrder("first", "second");
			assertThat(health.text(DETAILS + "/lastConfirmation")).isNotNull();
			assertThat(health.text(DETAILS + "/lease")).isEqualTo("5000ms");
			assertThat(health.text(DETAILS + "/term")).isEqualTo(node.election().text("/term"));
			assertThat(health.text(COMPONENT + "/details/fencing/transactionManager")).isEqualTo("fenced");
			assertThat(node.get("/actuator/health/readiness").status()).isEqualTo(200);
			assertThat(node.get("/actuator/health/liveness").status()).isEqualTo(200);
		}
	}

	@Test
	void nodeThatDoesNotReachTheDatabaseForAWhileIsOutOfService() {
		Node leader = startBehindProxy("2s", "first").awaitLeader();
		Node follower = startBehindProxy("2s", "second");
		follower.awaitView(leader, leader, follower);
		this.proxy.refuse();
		this.proxy.reset();
		for (Node node : List.of(leader, follower)) {
			Awaitility.await().until(() -> node.get("/actuator/health").status() == 503);
			Http.Answer health = node.get("/actuator/health");
			assertThat(health.text("/status")).isEqualTo("OUT_OF_SERVICE");
			assertThat(health.text(COMPONENT + "/status")).isEqualTo("OUT_OF_SERVICE");
			assertThat(health.text(DETAILS + "/role")).isEqualTo("follower");
			assertThat(health.text(DETAILS + "/problem")).isNotBlank();
			assertThat(node.get("/actuator/health/readiness").status()).isEqualTo(503);
			assertThat(node.get("/actuator/health/liveness").status()).isEqualTo(200);
		}
		this.proxy.heal();
		for (Node node : List.of(leader, follower)) {
			Awaitility.await().until(() -> node.get("/actuator/health").status() == 200);
			assertThat(node.get("/actuator/health/readiness").status()).isEqualTo(200);
		}
		Awaitility.await().until(() -> List.of(leader.role(), follower.role()).contains("leader"));
	}

	@Test
	void nodeThatDoesNotReachTheDatabaseForAMomentIsHealthy() {
		Node node = startBehindProxy("1h", "only").awaitLeader();
		this.proxy.refuse();
		this.proxy.reset();
		Awaitility.await().until(() -> node.get("/actuator/health").text(DETAILS + "/problem") != null);
		Awaitility.await()
			.during(Duration.ofSeconds(1))
			.atMost(Duration.ofSeconds(10))
			.until(() -> node.get("/actuator/health").status() == 200);
		assertThat(node.role()).isEqualTo("follower");
	}

	/**
	 * Start a node whose election, and nothing else, connects through the proxy, with the
	 * recipe for readiness of the documents.
	 */
	private Node startBehindProxy(String unreachableAfter, String id) {
		return this.nodes.start(id, "leader-election.datasource.url=" + this.server.jdbcUrl(this.proxy.port()),
				"leader-election.datasource.username=" + this.server.username(),
				"leader-election.datasource.password=" + this.server.password(),
				"leader-election.health.unreachable-after=" + unreachableAfter,
				"management.endpoint.health.group.readiness.include=readinessState,leadership");
	}

}
