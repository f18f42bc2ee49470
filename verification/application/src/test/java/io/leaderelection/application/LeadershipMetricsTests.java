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

import java.io.IOException;
import java.nio.file.Files;
import java.util.List;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Stream;

import io.leaderelection.NotLeaderException;
import io.leaderelection.annotation.LeaderOnly;
import io.leaderelection.annotation.LeaderOnly.NotLeaderPolicy;
import io.leaderelection.documentation.Markdown;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

import org.springframework.context.annotation.Import;
import org.springframework.http.HttpStatus;
import org.springframework.jdbc.core.simple.JdbcClient;
import org.springframework.stereotype.Component;
import org.springframework.transaction.annotation.Transactional;
import org.springframework.web.bind.annotation.ExceptionHandler;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.ResponseStatus;
import org.springframework.web.bind.annotation.RestController;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * What Prometheus and {@code /actuator/metrics} get to see of a node that led and one
 * that leads, after each was asked to work as the leader and as a follower.
 */
@Tag("ring2")
class LeadershipMetricsTests {

	@AutoClose
	private static final Nodes nodes = new Nodes(Orders.class, "management.endpoint.leadership.access=unrestricted",
			"leader-election.spread=true");

	private static Node former;

	private static Node leader;

	@BeforeAll
	static void workAndHandOver() {
		List<Node> two = nodes.startTwo();
		former = two.get(0);
		leader = two.get(1);
		assertThat(former.post("/orders").status()).isEqualTo(200);
		assertThat(leader.post("/orders").status()).isEqualTo(409);
		leader.handOver();
		leader.awaitLeader();
		// Recorded after the lock is free
		Awaitility.await()
			.untilAsserted(() -> assertThat(value(former, "leader_election_drain_seconds_count")).isPositive());
	}

	@Test
	void everyDocumentedMetricIsThere() throws IOException {
		List<MatchResult> rows = Pattern.compile("^\\| `(leader\\.[a-z.]+)` \\| `(leader_\\w+)` \\|", Pattern.MULTILINE)
			.matcher(Files.readString(Markdown.ROOT.resolve("docs/reference/metrics-and-alerts.md")))
			.results()
			// There is no durable schedule here
			.filter((row) -> !row.group(1).startsWith("leader.election.schedule."))
			.toList();
		assertThat(rows).hasSize(17);
		for (Node node : List.of(former, leader)) {
			String scrape = node.get("/actuator/prometheus").body();
			assertThat(rows).allSatisfy((row) -> {
				assertThat(node.get("/actuator/metrics/" + row.group(1)).status()).isEqualTo(200);
				assertThat(scrape).containsPattern("(?m)^" + row.group(2) + "(_count)?[{ ]");
			});
		}
	}

	@Test
	void nodeThatLedCountsWhatItHasDone() {
		assertThat(value(former, "leader_election_leader")).isZero();
		assertThat(value(former, "leader_election_term")).isZero();
		assertThat(value(former, "leader_election_lease_remaining_seconds")).isZero();
		assertThat(value(former, "leader_election_transitions_total", "granted")).isOne();
		assertThat(value(former, "leader_election_transitions_total", "resigned", "revoked")).isOne();
		assertThat(value(former, "leader_election_transitions_total", "session_lost")).isZero();
		assertThat(value(former, "leader_election_time_seconds_total")).isPositive();
		assertThat(value(former, "leader_election_acquire_seconds_count")).isOne();
		assertThat(value(former, "leader_election_confirm_seconds_count")).isPositive();
		assertThat(value(former, "leader_election_drain_seconds_count")).isOne();
		assertThat(value(former, "leader_election_invocations_total", "LeadershipMetricsTests.Bookings.book", "run"))
			.isOne();
		assertThat(value(former, "leader_election_invocations_total", "LeadershipMetricsTests.Bookings.check", "run"))
			.isOne();
		assertThat(
				value(former, "leader_election_invocations_total", "LeadershipMetricsTests.Bookings.check", "rejected"))
			.isZero();
		assertThat(value(former, "leader_election_fence_total", "passed")).isOne();
		assertThat(value(former, "leader_election_fence_total", "refused")).isZero();
	}

	@Test
	void nodeThatLeadsCountsWhatItDidNotDoAsAFollower() {
		assertThat(value(leader, "leader_election_leader")).isOne();
		assertThat(value(leader, "leader_election_term"))
			.isEqualTo(Double.parseDouble(leader.election().text("/term").split(":")[2]));
		assertThat(value(leader, "leader_election_lease_duration_seconds")).isEqualTo(5);
		assertThat(value(leader, "leader_election_lease_remaining_seconds")).isBetween(0.0, 3.75);
		assertThat(value(leader, "leader_election_confirmation_age_seconds")).isBetween(0.0, 5.0);
		assertThat(value(leader, "leader_election_blocked")).isZero();
		assertThat(value(leader, "leader_election_transitions_total", "granted")).isOne();
		assertThat(value(leader, "leader_election_drain_seconds_count")).isZero();
		assertThat(
				value(leader, "leader_election_invocations_total", "LeadershipMetricsTests.Bookings.book", "skipped"))
			.isOne();
		assertThat(value(leader, "leader_election_invocations_total", "LeadershipMetricsTests.Bookings.book", "run"))
			.isZero();
		assertThat(
				value(leader, "leader_election_invocations_total", "LeadershipMetricsTests.Bookings.check", "rejected"))
			.isOne();
		assertThat(value(leader, "leader_election_fence_total", "passed")).isZero();
		assertThat(leader.get(
				"/actuator/metrics/leader.election.invocations?tag=method:LeadershipMetricsTests.Bookings.book&tag=outcome:skipped")
			.text("/measurements/0/value")).isEqualTo("1.0");
	}

	private static double value(Node node, String metric, String... tagValues) {
		List<String> lines = node.get("/actuator/prometheus")
			.body()
			.lines()
			.filter((line) -> line.startsWith(metric + "{"))
			.filter((line) -> line.contains("election=\"default\""))
			.filter((line) -> Stream.of(tagValues).allMatch((value) -> line.contains("=\"" + value + "\"")))
			.toList();
		assertThat(lines).as(metric).hasSize(1);
		return Double.parseDouble(lines.get(0).substring(lines.get(0).lastIndexOf(' ')));
	}

	/**
	 * Has orders booked.
	 */
	@RestController
	@Import(Bookings.class)
	static class Orders {

		private final Bookings bookings;

		Orders(Bookings bookings) {
			this.bookings = bookings;
		}

		@PostMapping("/orders")
		void book() {
			this.bookings.book();
			this.bookings.check();
		}

		@ExceptionHandler
		@ResponseStatus(HttpStatus.CONFLICT)
		void rejected(NotLeaderException ex) {
		}

	}

	/**
	 * Books orders on the leader.
	 */
	@Component
	static class Bookings {

		private final JdbcClient jdbc;

		Bookings(JdbcClient jdbc) {
			this.jdbc = jdbc;
		}

		@LeaderOnly
		@Transactional
		void book() {
			this.jdbc.sql("SELECT 1").query(Integer.class).single();
		}

		@LeaderOnly(policy = NotLeaderPolicy.REJECT)
		boolean check() {
			return true;
		}

	}

}
