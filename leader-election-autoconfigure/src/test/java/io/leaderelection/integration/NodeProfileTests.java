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

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.stream.Stream;

import io.leaderelection.Leader;
import io.leaderelection.LeaderChangedEvent;
import io.leaderelection.LeadershipRevokedEvent.Reason;
import io.leaderelection.engine.SessionNames;
import io.leaderelection.testsupport.PostgreSqlServer;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;
import org.springframework.context.event.EventListener;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Tests for nodes that publish metadata and priorities, with both stores.
 */
@ExtendWith(OutputCaptureExtension.class)
@Tag("ring2")
class NodeProfileTests {

	private static final Duration HOLD = Duration.ofSeconds(1);

	private static final Duration LONG_HOLD = Duration.ofSeconds(3);

	private static final String ONE_STANDBY = "leader-election.standbys=1";

	private final PostgreSqlServer server = PostgreSqlServer.shared();

	@RegisterExtension
	final Nodes nodes = new Nodes("leader-election.initialize-schema=always", "leader-election.lease-duration=3s",
			"leader-election.priority-hold=" + HOLD.toMillis() + "ms")
		.with(Routes.class);

	@ParameterizedTest
	@ValueSource(strings = { "advisory-lock", "table" })
	void followerFindsTheUrlOfTheLeader(String store) {
		LocalNode first = start(store, 0, "leader-election.metadata.url=http://first",
				"leader-election.metadata.zone=eu-1a")
			.awaitLeader();
		assertThat(first.elector().getLeader().metadata()).containsEntry("zone", "eu-1a");
		LocalNode second = start(store, 0, "leader-election.metadata.url=http://second");
		Routes routes = second.bean(Routes.class);
		await().untilAsserted(() -> assertThat(routes.leaders()).last()
			.isEqualTo(new Leader(first.elector().getNodeId(), first.elector().getLeadership().getTerm(),
					second.elector().getLeader().since(), Map.of("url", "http://first", "zone", "eu-1a"),
					store.equals("table") ? null : this.server.username())));
		assertThat(second.elector().getLeader()).isEqualTo(routes.leaders().get(routes.leaders().size() - 1));
		Routes routesOfFirst = first.bean(Routes.class);
		assertThat(routesOfFirst.leaders()).isEmpty();
		first.elector().resign();
		second.awaitLeader();
		await().untilAsserted(
				() -> assertThat(routesOfFirst.leaders()).last().extracting(Routes::uri).isEqualTo("http://second"));
	}

	@ParameterizedTest
	@ValueSource(strings = { "advisory-lock", "table" })
	void nodeOfHigherPriorityLeadsAfterTheHold(String store, CapturedOutput output) {
		LocalNode low = start(store, 0).awaitLeader();
		LocalNode other = start(store, 0);
		// Longer than other nodes take to learn of a candidate from the table
		LocalNode high = start(store, 10, "leader-election.priority-hold=4s");
		high.awaitLeader();
		low.awaitRevocation(1, Reason.RESIGNED);
		assertThat(other.events()).isEmpty();
		assertThat(output).containsOnlyOnce("Requesting leadership from node '" + low.elector().getNodeId() + "'");
		low.awaitFollowing(high);
		other.awaitFollowing(high);
	}

	/**
	 * Two nodes of low priority wait for the lock in front of it.
	 */
	@ParameterizedTest
	@ValueSource(strings = { "advisory-lock", "table" })
	void nodeOfHigherPriorityGoesFirst(String store) {
		LocalNode leader = start(store, 20).awaitLeader();
		List<LocalNode> low = List.of(start(store, 0), start(store, 5));
		LocalNode high = start(store, 10);
		Stream.concat(low.stream(), Stream.of(high)).forEach((node) -> node.awaitFollowing(leader));
		// With advisory locks, the queue shows priorities to the winner, whatever a
		// follower knows
		(store.equals("table") ? low : List.of(leader)).forEach((node) -> node.awaitCandidates(4));
		leader.close();
		high.awaitLeader();
		assertThat(low).allSatisfy((node) -> assertThat(node.events()).isEmpty());
	}

	/**
	 * Nodes of a lower priority that is not 0 have all other places.
	 */
	@Test
	void nodeOfTheHighestPriorityOfThreeLeads() {
		LocalNode leader = start("advisory-lock", 5, ONE_STANDBY).awaitLeader();
		start("advisory-lock", 0, ONE_STANDBY);
		leader.awaitCandidates(2);
		start("advisory-lock", 5, ONE_STANDBY);
		leader.awaitCandidates(3);
		LocalNode watching = start("advisory-lock", 5, ONE_STANDBY);
		LocalNode high = start("advisory-lock", 10, ONE_STANDBY);
		high.awaitLeader();
		watching.awaitFollowing(high);
		assertThat(watching.events()).isEmpty();
	}

	/**
	 * A node that starts again and again does not stay for the hold.
	 */
	@ParameterizedTest
	@ValueSource(strings = { "advisory-lock", "table" })
	@Tag("ring3")
	void nodeThatDoesNotStayNeverGetsLeadership(String store) {
		LocalNode low = start(store, 0).awaitLeader();
		String hold = "leader-election.priority-hold=" + LONG_HOLD.toMillis() + "ms";
		for (int i = 0; i < 2; i++) {
			LocalNode flapping = start(store, 10, hold).awaitFollowing(low);
			await().during(LONG_HOLD.dividedBy(3).multipliedBy(2)).until(() -> low.events().size() == 1);
			flapping.close();
		}
		start(store, 10, hold).awaitLeader();
	}

	/**
	 * A node that loses its session again and again does not wait for the hold.
	 */
	@Test
	@Tag("ring3")
	void nodeThatCannotKeepItsSessionNeverGetsLeadership() {
		LocalNode low = start("advisory-lock", 0).awaitLeader();
		LocalNode flapping = start("advisory-lock", 10, "leader-election.priority-hold=" + LONG_HOLD.toMillis() + "ms");
		flapping.awaitFollowing(low);
		String session = "pg_stat_activity WHERE application_name = '"
				+ new SessionNames("default").of(flapping.elector().getNodeId()) + "'";
		for (int i = 0; i < 3; i++) {
			await().during(LONG_HOLD.dividedBy(2)).until(() -> low.events().size() == 1);
			String pid = this.server.query("SELECT pid FROM " + session).get(0);
			this.server.execute("SELECT pg_terminate_backend(" + pid + ")");
			await().until(() -> this.server.query("SELECT count(*) FROM " + session + " AND pid <> " + pid)
				.equals(List.of("1")));
		}
		flapping.awaitLeader();
	}

	/**
	 * A node that cannot keep leadership gets it less often with each request.
	 */
	@Test
	@Tag("ring3")
	void nodeThatCannotKeepLeadershipAsksEverLessOften() {
		LocalNode low = start("advisory-lock", 0).awaitLeader();
		LocalNode high = start("advisory-lock", 10);
		List<Duration> waits = new ArrayList<>();
		long since = System.nanoTime();
		for (int i = 0; i < 3; i++) {
			high.awaitLeader();
			waits.add(Duration.ofNanos(System.nanoTime() - since));
			low.awaitFollowing(high);
			high.elector().resign();
			low.awaitLeader();
			since = System.nanoTime();
		}
		assertThat(waits.get(0)).isGreaterThanOrEqualTo(HOLD);
		assertThat(waits.get(1)).isGreaterThanOrEqualTo(HOLD.multipliedBy(2));
		assertThat(waits.get(2)).isGreaterThanOrEqualTo(HOLD.multipliedBy(4));
	}

	private LocalNode start(String store, int priority, String... properties) {
		return this.nodes
			.with("leader-election.store=" + store, "leader-election.node-id=node-" + this.nodes.all().size(),
					"leader-election.priority=" + priority)
			.start(properties);
	}

	/**
	 * Knows to which node to send requests.
	 */
	static class Routes {

		private final List<Leader> leaders = new CopyOnWriteArrayList<>();

		@EventListener
		void on(LeaderChangedEvent event) {
			this.leaders.add(event.getLeader());
		}

		List<Leader> leaders() {
			return this.leaders;
		}

		static String uri(Leader leader) {
			return leader.metadata().get("url");
		}

	}

}
