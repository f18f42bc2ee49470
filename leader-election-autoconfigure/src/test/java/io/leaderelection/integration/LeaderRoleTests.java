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

import java.util.Arrays;
import java.util.Map;
import java.util.UUID;
import java.util.stream.Stream;

import io.leaderelection.autoconfigure.actuate.LeadershipEndpoint;
import io.leaderelection.engine.DefaultLeaderElector;
import io.leaderelection.engine.DefaultLeaderElectors;
import io.leaderelection.testsupport.PostgreSqlServer;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for the database role of a leader, which the database has verified, unlike the
 * names and the metadata of nodes.
 */
@ExtendWith(OutputCaptureExtension.class)
@Tag("ring1")
class LeaderRoleTests {

	private static final String STRANGER = "Leader Role";

	private static final String WORDS = "role '" + STRANGER
			+ "') leads this election but has another role than this node";

	private final PostgreSqlServer server = PostgreSqlServer.shared();

	private final String group = "group-" + UUID.randomUUID();

	@BeforeEach
	void createRole() {
		this.server.execute("CREATE ROLE \"" + STRANGER + "\" LOGIN PASSWORD 'right'");
	}

	@AfterEach
	void dropRole() {
		this.server.execute("DROP ROLE \"" + STRANGER + "\"");
	}

	@Test
	void leaderOfAnotherRoleIsReportedOnce(CapturedOutput output) {
		try (LocalNode leader = start("spring.datasource.username=" + STRANGER, "spring.datasource.password=right")
			.awaitLeader(); LocalNode follower = start()) {
			awaitRole(follower, STRANGER);
			assertThat(elector(follower).status().problem()).contains(WORDS);
			assertThat(elector(follower).status().unusable()).isFalse();
			LeadershipEndpoint endpoint = new LeadershipEndpoint(
					follower.context().getBean(DefaultLeaderElectors.class), Map::of, () -> null,
					LeadershipEndpoint.Schedules.NONE);
			assertThat(endpoint.election("default").leader().databaseRole()).isEqualTo(STRANGER);
			assertThat(leader.elector().getLeader().databaseRole()).as("itself").isNull();
		}
		assertThat(output).containsOnlyOnce(WORDS);
	}

	/**
	 * A node that watches may use a connection of the pool of the application, which has
	 * another role than the election.
	 */
	@Test
	void roleOfTheElectionCountsAndNotThatOfThePool(CapturedOutput output) {
		String[] watching = { "leader-election.candidate=false",
				"leader-election.datasource.url=" + this.server.jdbcUrl(),
				"leader-election.datasource.username=" + STRANGER, "leader-election.datasource.password=right" };
		try (LocalNode leader = start("spring.datasource.username=" + STRANGER, "spring.datasource.password=right")
			.awaitLeader(); LocalNode follower = start(watching)) {
			awaitRole(follower, STRANGER);
			assertThat(elector(follower).status().problem())
				.isEqualTo("is not a candidate: it is configured with candidate=false");
		}
		assertThat(output).doesNotContain("another role");
	}

	private static void awaitRole(LocalNode node, String role) {
		Awaitility.await()
			.untilAsserted(() -> assertThat(node.elector().getLeader()).isNotNull()
				.satisfies((leader) -> assertThat(leader.databaseRole()).isEqualTo(role)));
	}

	private static DefaultLeaderElector elector(LocalNode node) {
		return node.context().getBean(DefaultLeaderElectors.class).getDefault();
	}

	private LocalNode start(String... properties) {
		String[] all = Stream.concat(Stream.of("leader-election.group=" + this.group), Arrays.stream(properties))
			.toArray(String[]::new);
		return LocalNode.start(this.server, all);
	}

}
