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
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;

import io.leaderelection.testsupport.EmbeddedServerOnly;
import io.leaderelection.testsupport.PostgreSqlServer;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.awaitility.Awaitility;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Nodes with an earlier version of the library beside nodes with the present one.
 */
@EmbeddedServerOnly
@Tag("ring3")
class RollingUpgradeTests {

	private static final Log logger = LogFactory.getLog(RollingUpgradeTests.class);

	private static final String SPRING_BOOT = "4.1";

	private static final Path JAVA = Path.of(System.getProperty("java.home"), "bin", "java");

	private static final Path DOCUMENT = Library.ROOT.resolve("docs/operations/rolling-upgrades.md");

	private static final Pattern ADDED_COLUMN = Pattern.compile("ALTER TABLE \\S+ ADD COLUMN IF NOT EXISTS (\\S+) .*;");

	private static final Pattern TABLE = Pattern.compile("CREATE TABLE IF NOT EXISTS (\\w+)");

	private static final Pattern PROTOCOL = Pattern.compile("int PROTOCOL = (\\d+);");

	@TempDir
	private static Path builds;

	private static @Nullable PostgreSqlServer server;

	private static @Nullable Library earlier;

	@TempDir
	private Path directory;

	@BeforeAll
	static void startServer() {
		server = PostgreSqlServer.start();
	}

	@AfterAll
	static void stopServer() {
		server.close();
	}

	@ParameterizedTest
	@ValueSource(strings = { "advisory-lock", "table" })
	void versionsHandOverToEachOther(String store) throws IOException {
		String earlier = Versions.classPath(SPRING_BOOT, earlier().classes());
		assertThat(earlier).isNotEqualTo(Versions.classPath(SPRING_BOOT)).doesNotContain("leader-election-core");
		List<MatchResult> columns = store.equals("table") ? columnsToAdd() : List.of();
		List<String> tables = tables(earlier().schema());
		boolean other = store.equals("table") && !tables.equals(tables(Library.presentSchema()));
		boolean sameProtocol = protocol(earlier().profile()) == protocol(Library.presentProfile());
		try (OrdersCluster cluster = new OrdersCluster(server, this.directory)) {
			cluster.run(other ? () -> replaceTables(cluster, earlier, tables)
					: () -> handOver(cluster, store, earlier, columns, sameProtocol));
		}
	}

	/**
	 * Nodes of neither version start on the tables of the other one.
	 */
	private static void replaceTables(OrdersCluster cluster, String earlier, List<String> tables) {
		String present = Versions.classPath(SPRING_BOOT);
		OrdersNode last = start(cluster, "earlier", earlier, "table");
		cluster.awaitWorkOf(last);
		OrdersNode tooEarly = start(cluster, "too-early", present, "table");
		assertThat(tooEarly.awaitEnd()).isEqualTo(1);
		assertThat(tooEarly.output()).contains("APPLICATION FAILED TO START",
				"leader_election is that of an earlier version", "If they belong to an earlier version");
		verifyLeader(cluster, last);
		stop(cluster, last);
		server.execute("DROP TABLE " + String.join(", ", tables));
		OrdersNode next = start(cluster, "present", present, "table");
		cluster.awaitWorkOf(next);
		OrdersNode tooLate = start(cluster, "too-late", earlier, "table");
		assertThat(tooLate.awaitEnd()).isEqualTo(1);
		assertThat(tooLate.output()).contains("APPLICATION FAILED TO START", "columns are missing");
		verifyLeader(cluster, next);
		stop(cluster, next);
		cluster.verifyTerms(List.of(last, next));
		cluster.verifyNoSessions();
	}

	private static List<String> tables(String schema) {
		return TABLE.matcher(schema).results().map((table) -> table.group(1)).sorted().toList();
	}

	private static void handOver(OrdersCluster cluster, String store, String earlier, List<MatchResult> columns,
			boolean sameProtocol) {
		String present = Versions.classPath(SPRING_BOOT);
		OrdersNode firstEarlier = start(cluster, "earlier-1", earlier, store);
		cluster.awaitWorkOf(firstEarlier);
		if (!columns.isEmpty()) {
			verifyRefused(start(cluster, "refused", present, store), columns);
			columns.forEach((column) -> server.execute(column.group()));
		}
		OrdersNode firstPresent = start(cluster, "present-1", present, store);
		verifyLeader(cluster, firstEarlier);
		// By the endpoint of the other version
		cluster.resign(firstEarlier);
		verifyLeader(cluster, firstPresent);
		cluster.resign(firstPresent);
		verifyLeader(cluster, firstEarlier);
		firstEarlier.end("KILL");
		cluster.awaitWorkOf(firstPresent);
		OrdersNode secondEarlier = start(cluster, "earlier-2", earlier, store);
		verifyLeader(cluster, firstPresent);
		firstPresent.end("KILL");
		cluster.awaitWorkOf(secondEarlier);
		OrdersNode secondPresent = start(cluster, "present-2", present, store);
		verifyLeader(cluster, secondEarlier);
		stop(cluster, secondEarlier);
		cluster.awaitWorkOf(secondPresent);
		OrdersNode thirdEarlier = start(cluster, "earlier-3", earlier, store);
		verifyLeader(cluster, secondPresent);
		stop(cluster, secondPresent);
		cluster.awaitWorkOf(thirdEarlier);
		stop(cluster, thirdEarlier);
		cluster.verifyTerms(List.of(firstEarlier, firstPresent, firstEarlier, firstPresent, secondEarlier,
				secondPresent, thirdEarlier));
		cluster.verifyNoSessions();
		for (OrdersNode node : List.of(firstEarlier, firstPresent, secondEarlier, secondPresent, thirdEarlier)) {
			assertThat(node.output()).doesNotContain(" ERROR ", "Exception");
			if (sameProtocol) {
				assertThat(node.output()).doesNotContain("uses protocol");
			}
			else {
				assertThat(node.output()).containsOnlyOnce("uses protocol");
			}
		}
	}

	/**
	 * During an upgrade from Spring Boot 3.5 to 4, nodes of both are in one election.
	 */
	@ParameterizedTest
	@ValueSource(strings = { "advisory-lock", "table" })
	void linesOfSpringBootHandOverToEachOther(String store) {
		try (OrdersCluster cluster = new OrdersCluster(server, this.directory)) {
			cluster.run(() -> handOver(cluster, store, Versions.classPath("3.5"), List.of(), true));
		}
	}

	private static void stop(OrdersCluster cluster, OrdersNode leader) {
		assertThat(leader.end("TERM")).isEqualTo(OrdersNode.TERMINATED);
		assertThat(cluster.transitions(leader)).endsWith("feed stopped", "revoked STOPPED");
	}

	private static void verifyRefused(OrdersNode node, List<MatchResult> columns) {
		assertThat(node.awaitEnd()).isEqualTo(1);
		assertThat(node.output()).contains("APPLICATION FAILED TO START", "columns are missing")
			.contains(columns.stream().map((column) -> column.group(1)).toList());
	}

	/**
	 * Verify that each node that runs knows the leader and all candidates.
	 */
	private static void verifyLeader(OrdersCluster cluster, OrdersNode leader) {
		List<OrdersNode> nodes = cluster.nodes().stream().filter(OrdersNode::isAlive).toList();
		for (OrdersNode node : nodes) {
			Awaitility.await().atMost(OrdersNode.LIMIT).ignoreExceptions().untilAsserted(() -> {
				assertThat(node.get("/leads", "")).isEqualTo(Boolean.toString(node == leader));
				assertThat(node.get("/actuator/leadership/default", "$.leader.node")).isEqualTo(leader.name());
				assertThat(node.get("/actuator/leadership/default", "$.candidates"))
					.contains(nodes.stream().map(OrdersNode::name).toList());
			});
		}
		cluster.awaitWorkOf(leader);
	}

	@ParameterizedTest
	@ValueSource(strings = { "advisory-lock", "table" })
	void otherProtocolIsReportedOnceByBothNodes(String store) throws IOException {
		Path sources = this.directory.resolve("sources");
		Library.copySources(sources);
		Path profile = sources.resolve("java/io/leaderelection/engine/NodeProfile.java");
		String source = Files.readString(profile);
		int protocol = protocol(source);
		Files.writeString(profile, PROTOCOL.matcher(source).replaceFirst("int PROTOCOL = " + (protocol + 1) + ";"));
		String next = Versions.classPath(SPRING_BOOT,
				Library.build(sources, this.directory.resolve("classes")).classes());
		try (OrdersCluster cluster = new OrdersCluster(server, this.directory)) {
			cluster.run(() -> reportProtocol(cluster, store, next, protocol));
		}
	}

	private static int protocol(String source) {
		return PROTOCOL.matcher(source).results().mapToInt((found) -> Integer.parseInt(found.group(1))).sum();
	}

	private static void reportProtocol(OrdersCluster cluster, String store, String next, int protocol) {
		String message = "Node '%s' uses protocol %d of leader election, but this node uses %d";
		OrdersNode leader = start(cluster, "present", Versions.classPath(SPRING_BOOT), store);
		cluster.awaitWorkOf(leader);
		OrdersNode follower = start(cluster, "next", next, store);
		verifyLeader(cluster, leader);
		cluster.resign(leader);
		verifyLeader(cluster, follower);
		assertThat(leader.output()).containsOnlyOnce(message.formatted("next", protocol + 1, protocol))
			.containsOnlyOnce("uses protocol");
		assertThat(follower.output()).containsOnlyOnce(message.formatted("present", protocol, protocol + 1))
			.containsOnlyOnce("uses protocol");
	}

	private static OrdersNode start(OrdersCluster cluster, String name, String classPath, String store) {
		return cluster.start(name, JAVA, classPath, "--leader-election.store=" + store,
				"--leader-election.lease-duration=2s", "--leader-election.takeover-delay=500ms");
	}

	/**
	 * Return the documented statements that add what the earlier version's script lacks.
	 */
	private static List<MatchResult> columnsToAdd() throws IOException {
		String schema = earlier().schema();
		return ADDED_COLUMN.matcher(Files.readString(DOCUMENT))
			.results()
			.filter((column) -> !schema.contains("  " + column.group(1) + " "))
			.toList();
	}

	private static Library earlier() throws IOException {
		if (earlier == null) {
			EarlierRevision revision = EarlierRevision.find();
			earlier = revision.build(builds);
			logger.info("The earlier version is " + revision.name());
		}
		return earlier;
	}

}
