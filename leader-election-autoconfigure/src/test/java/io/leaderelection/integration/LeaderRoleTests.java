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

import java.util.Map;

import io.leaderelection.autoconfigure.actuate.LeadershipEndpoint;
import io.leaderelection.testsupport.PostgreSqlServer;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.extension.RegisterExtension;

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

	@RegisterExtension
	final Nodes nodes = new Nodes();

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
		LocalNode leader = this.nodes.as(STRANGER).start().awaitLeader();
		LocalNode follower = this.nodes.start();
		awaitRole(follower, STRANGER);
		assertThat(follower.status().problem()).contains(WORDS);
		assertThat(follower.status().unusable()).isFalse();
		LeadershipEndpoint endpoint = new LeadershipEndpoint("shop", follower.electors(), Map::of, () -> null,
				LeadershipEndpoint.Schedules.NONE);
		assertThat(endpoint.election("default").leader().databaseRole()).isEqualTo(STRANGER);
		assertThat(leader.elector().getLeader().databaseRole()).as("itself").isNull();
		follower.close();
		assertThat(output).containsOnlyOnce(WORDS);
	}

	/**
	 * A node that watches may use a connection of the pool of the application, which has
	 * another role than the election.
	 */
	@Test
	void roleOfTheElectionCountsAndNotThatOfThePool(CapturedOutput output) {
		this.nodes.as(STRANGER).start().awaitLeader();
		LocalNode follower = this.nodes.electingAs(STRANGER, "right").start("leader-election.candidate=false");
		awaitRole(follower, STRANGER);
		assertThat(follower.status().problem()).isEqualTo("is not a candidate: it is configured with candidate=false");
		follower.close();
		assertThat(output).doesNotContain("another role");
	}

	private static void awaitRole(LocalNode node, String role) {
		Awaitility.await()
			.untilAsserted(() -> assertThat(node.elector().getLeader()).isNotNull()
				.satisfies((leader) -> assertThat(leader.databaseRole()).isEqualTo(role)));
	}

}
