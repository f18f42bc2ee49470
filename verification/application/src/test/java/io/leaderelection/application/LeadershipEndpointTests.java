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
import java.time.Instant;
import java.util.List;

import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * What the endpoint {@code leadership} reports on a leader and on a follower, and that it
 * can only be read unless configured otherwise.
 */
@Tag("ring2")
class LeadershipEndpointTests {

	@AutoClose
	private static final Nodes nodes = new Nodes(WebApplication.class,
			"leader-election.elections.reports.lease-duration=10s");

	private static Node leader;

	private static Node follower;

	@BeforeAll
	static void startNodes() {
		List<Node> two = nodes.startTwo();
		leader = two.get(0);
		follower = two.get(1);
	}

	@Test
	void leaderReportsItsLeadership() {
		Http.Answer election = leader.election();
		assertThat(election.status()).isEqualTo(200);
		assertThat(election.text("/role")).isEqualTo("leader");
		assertThat(election.text("/node")).isEqualTo("first");
		assertThat(election.text("/candidate")).isEqualTo("true");
		assertThat(election.text("/term")).matches("0:1:\\d+");
		assertThat(time(election, "/since")).isBetween(Instant.now().minusSeconds(60), Instant.now());
		assertThat(time(election, "/lastConfirmation")).isAfterOrEqualTo(time(election, "/since").minusMillis(1))
			.isBetween(Instant.now().minusSeconds(5), Instant.now());
		assertThat(election.text("/lease")).isEqualTo("PT5S");
		assertThat(Duration.parse(election.text("/leaseRemaining"))).isBetween(Duration.ofMillis(1),
				Duration.ofMillis(3750));
		assertThat(election.text("/workInFlight")).isEqualTo("0");
		assertThat(election.text("/leader/node")).isEqualTo("first");
		assertThat(election.text("/leader/term")).isEqualTo(election.text("/term"));
		assertThat(election.texts("/candidates")).containsExactlyInAnyOrder("first", "second");
		assertThat(election.texts("/transitions", "change")).containsExactly("granted");
		assertThat(election.text("/transitions/0/term")).isEqualTo(election.text("/term"));
	}

	@Test
	void followerReportsTheLeaderAndTheCandidates() {
		Http.Answer election = follower.election();
		assertThat(election.status()).isEqualTo(200);
		assertThat(election.text("/role")).isEqualTo("follower");
		assertThat(election.text("/node")).isEqualTo("second");
		assertThat(election.text("/candidate")).isEqualTo("true");
		assertThat(election.text("/term")).isNull();
		assertThat(election.text("/since")).isNull();
		assertThat(election.text("/leaseRemaining")).isEqualTo("PT0S");
		assertThat(election.text("/leader/node")).isEqualTo("first");
		assertThat(election.text("/leader/term")).isEqualTo(leader.election().text("/term"));
		// To the second
		assertThat(Duration.between(time(election, "/leader/since"), time(leader.election(), "/since")).abs())
			.isLessThan(Duration.ofSeconds(2));
		assertThat(election.texts("/candidates")).containsExactlyInAnyOrder("first", "second");
		assertThat(election.texts("/transitions", "change")).containsExactly("followed");
		assertThat(election.texts("/transitions", "node")).containsExactly("first");
	}

	@Test
	void allElectionsAreReportedWithTheFencing() {
		for (Node node : List.of(leader, follower)) {
			Http.Answer all = node.get("/actuator/leadership");
			assertThat(all.status()).isEqualTo(200);
			assertThat(all.at("/elections").propertyNames()).containsExactly("default", "reports");
			assertThat(all.text("/elections/default/node")).isEqualTo(node.id());
			assertThat(all.text("/elections/reports/lease")).isEqualTo("PT10S");
			assertThat(all.text("/fencing/transactionManager")).isEqualTo("fenced");
		}
		assertThat(leader.get("/actuator/leadership/reports").text("/lease")).isEqualTo("PT10S");
	}

	@Test
	void electionThatDoesNotExistIsNotFound() {
		assertThat(leader.get("/actuator/leadership/unknown").status()).isEqualTo(404);
	}

	@Test
	void nobodyMayWriteByDefault() {
		String term = leader.election().text("/term");
		assertThat(leader.resign().status()).isEqualTo(405);
		assertThat(follower.resign().status()).isEqualTo(405);
		// There is nothing to read there
		assertThat(follower.post("/actuator/leadership/default/first").status()).isEqualTo(404);
		assertThat(leader.election().text("/role")).isEqualTo("leader");
		assertThat(leader.election().text("/term")).isEqualTo(term);
	}

	private static Instant time(Http.Answer answer, String pointer) {
		return Instant.parse(answer.text(pointer));
	}

}
