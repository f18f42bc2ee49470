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

package io.leaderelection.sample;

import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;

import io.zonky.test.db.postgres.embedded.EmbeddedPostgres;
import org.awaitility.core.ConditionFactory;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

import org.springframework.boot.SpringApplication;
import org.springframework.boot.test.json.BasicJsonTester;
import org.springframework.boot.test.json.JsonContent;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.jdbc.core.simple.JdbcClient;
import org.springframework.web.client.RestClient;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Tests for {@link SampleApplication}, over HTTP, with two nodes in this JVM.
 */
@ExtendWith(OutputCaptureExtension.class)
@Tag("ring1")
class SampleApplicationTests {

	private final BasicJsonTester json = new BasicJsonTester(getClass());

	private final List<ConfigurableApplicationContext> nodes = new ArrayList<>();

	private EmbeddedPostgres postgres;

	@BeforeEach
	void startServer() throws IOException {
		this.postgres = EmbeddedPostgres.start();
	}

	@AfterEach
	void stopNodesAndServer() throws IOException {
		this.nodes.forEach(ConfigurableApplicationContext::close);
		this.postgres.close();
	}

	@Test
	void oneNodeDoesTheWorkOfTheLeaderAndAllServeQueries(CapturedOutput output) {
		String first = start();
		String second = start();
		String firstNode = nodeOf(first);
		String secondNode = nodeOf(second);
		assertThat(get(first, "/")).contains("<title>Leader election sample</title>")
			.contains("<span id=\"store\">", "\"by an advisory lock\"", "\"by a lease in a table\"");
		assertStore(first, "advisory-lock");

		eventually().untilAsserted(() -> {
			assertThat(json(first, "/status")).extractingJsonPathBooleanValue("leader").isTrue();
			assertThat(json(first, "/status")).extractingJsonPathStringValue("term").isNotBlank();
			assertThat(json(second, "/status")).extractingJsonPathBooleanValue("leader").isFalse();
			assertThat(json(second, "/status")).extractingJsonPathValue("term").isNull();
		});
		eventually()
			.untilAsserted(() -> assertThat(json(second, "/status")).extractingJsonPathArrayValue("work[*].node")
				.isNotEmpty()
				.containsOnly(firstNode));
		eventually().untilAsserted(() -> assertThat(output).contains("Data retention: 0 old entries removed"));
		assertThat(output).contains("Heartbeat: alive, leading").contains("Heartbeat: alive, not leading");

		assertThat(json(first, "/actuator/health")).extractingJsonPathStringValue("components.leadership.status")
			.isEqualTo("UP");
		assertThat(json(second, "/actuator/health")).extractingJsonPathStringValue("components.leadership.status")
			.isEqualTo("UP");
		assertThat(leaderGauge(first)).isEqualTo(1);
		assertThat(leaderGauge(second)).isZero();
		for (String gauge : List.of("leader.election.term", "leader.election.lease.remaining")) {
			assertThat(get(first, "/actuator/metrics/" + gauge)).contains("measurements");
		}
		assertThat(get(first, "/actuator/prometheus")).contains("leader_election_leader{");

		this.nodes.remove(0).close();
		assertThat(output).contains("<===== This node no longer leads: STOPPED");
		eventually()
			.untilAsserted(() -> assertThat(json(second, "/status")).extractingJsonPathStringValue("work[0].node")
				.isEqualTo(secondNode));
		assertThat(leaderGauge(second)).isEqualTo(1);
	}

	@Test
	@Tag("ring2")
	void nodesElectALeaderInATable() {
		String[] table = { "--leader-election.store=table", "--leader-election.initialize-schema=always" };
		String first = start(table);
		String second = start(table);
		eventually().untilAsserted(() -> {
			assertThat(json(first, "/status")).extractingJsonPathBooleanValue("leader").isTrue();
			assertThat(json(second, "/status")).extractingJsonPathBooleanValue("leader").isFalse();
			assertThat(json(second, "/status")).extractingJsonPathArrayValue("work").isNotEmpty();
		});
		JdbcClient jdbc = this.nodes.get(1).getBean(JdbcClient.class);
		assertThat(jdbc.sql("SELECT election, node FROM leader_election JOIN leader_election_node ON token = owner")
			.query()
			.singleRow()).containsEntry("election", "leader-election-sample:default")
			.containsEntry("node", nodeOf(first));
		assertStore(first, "table");
		assertStore(second, "table");
		this.nodes.remove(0).close();
		eventually()
			.untilAsserted(() -> assertThat(json(second, "/status")).extractingJsonPathBooleanValue("leader").isTrue());
	}

	private String start(String... arguments) {
		String[] all = Stream
			.concat(Stream.of("--spring.datasource.url=" + this.postgres.getJdbcUrl("postgres", "postgres")),
					Stream.of(arguments))
			.toArray(String[]::new);
		ConfigurableApplicationContext context = SpringApplication.run(SampleApplication.class, all);
		this.nodes.add(context);
		return "http://localhost:" + context.getEnvironment().getProperty("local.server.port");
	}

	private void assertStore(String url, String store) {
		assertThat(json(url, "/actuator/leadership")).extractingJsonPathStringValue("elections.default.store")
			.isEqualTo(store);
		assertThat(json(url, "/actuator/health"))
			.extractingJsonPathStringValue("components.leadership.details.elections.default.store")
			.isEqualTo(store);
		assertThat(get(url, "/actuator/prometheus"))
			.containsPattern("leader_election_info\\{election=\"default\",group=\"[^\"]+\",lock_id=\"0x[0-9a-f]{16}\","
					+ "protocol=\"3\",store=\"" + store + "\",version=\"");
	}

	private String nodeOf(String url) {
		return get(url, "/status").replaceAll("^.*?\"node\":\"([^\"]+)\".*$", "$1");
	}

	private double leaderGauge(String url) {
		return Double.parseDouble(
				get(url, "/actuator/metrics/leader.election.leader").replaceAll("^.*\"value\":([0-9.]+).*$", "$1"));
	}

	private JsonContent<Object> json(String url, String path) {
		return this.json.from(get(url, path));
	}

	private String get(String url, String path) {
		String body = RestClient.create(url).get().uri(path).retrieve().body(String.class);
		assertThat(body).isNotNull();
		return body;
	}

	private static ConditionFactory eventually() {
		return await().atMost(Duration.ofSeconds(60)).pollInterval(Duration.ofMillis(200));
	}

}
