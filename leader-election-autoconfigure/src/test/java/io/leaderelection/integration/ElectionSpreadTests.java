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
import java.util.UUID;
import java.util.stream.IntStream;
import java.util.stream.Stream;

import io.leaderelection.LeaderElectors;
import io.leaderelection.spread.ElectionSpread;
import io.leaderelection.spread.SpreadStatus;
import io.leaderelection.testsupport.PostgreSqlServer;
import org.awaitility.Awaitility;
import org.awaitility.core.ConditionFactory;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for elections that spread over nodes, with both stores.
 */
@Tag("ring2")
class ElectionSpreadTests {

	private final PostgreSqlServer server = PostgreSqlServer.shared();

	private final String group = "group-" + UUID.randomUUID();

	private final List<LocalNode> nodes = new ArrayList<>();

	@AfterEach
	void closeNodes() {
		this.nodes.forEach(LocalNode::close);
	}

	@ParameterizedTest
	@ValueSource(strings = { "advisory-lock", "table" })
	void electionsSpreadWithTheFewestHandOvers(String store) {
		LocalNode first = start(store, "leader-election.spread=true");
		await().until(() -> led(first) == 6);
		LocalNode second = start(store, "leader-election.spread=true");
		LocalNode third = start(store, "leader-election.spread=true");
		await().until(() -> led(first) == 2 && led(second) == 2 && led(third) == 2);
		SpreadStatus even = new SpreadStatus(2, 2, null);
		await().until(() -> this.nodes.stream().allMatch((node) -> even.equals(status(node))));
		assertThat(first.events()).hasSize(6 + 4);
		assertThat(second.events()).hasSize(2);
		assertThat(third.events()).hasSize(2);
		second.close();
		await().until(() -> led(first) == 3 && led(third) == 3);
	}

	@Test
	@Tag("ring3")
	void nodeWithLimitLeadsFurtherElectionsOnlyIfNobodyElseDoes() {
		LocalNode first = start("advisory-lock", "leader-election.max-led=4");
		await().until(() -> led(first) == 6);
		LocalNode second = start("advisory-lock", "leader-election.max-led=4");
		await().until(() -> led(first) == 4 && led(second) == 2);
		first.close();
		await().until(() -> led(second) == 6);
		await().until(() -> status(second).led() == 6);
	}

	@Test
	void onlyElectionOfAnApplicationDoesNotMove() {
		List<LocalNode> both = IntStream.range(0, 2)
			.mapToObj((i) -> LocalNode.start(this.server, "leader-election.group=" + this.group,
					"leader-election.spread=true", "leader-election.priority-hold=1s"))
			.toList();
		this.nodes.addAll(both);
		SpreadStatus even = new SpreadStatus(1, 1, null);
		await().until(() -> even.equals(status(both.get(0))));
		await().during(Duration.ofSeconds(3)).until(() -> both.get(0).events().size() == 1);
	}

	@Test
	void withoutDatabaseNothingSpreads() {
		LocalNode node = start("advisory-lock", "leader-election.mode=always", "leader-election.spread=true",
				"leader-election.max-led=1");
		assertThat(led(node)).isEqualTo(6);
		await().during(Duration.ofSeconds(3)).until(() -> led(node) == 6);
	}

	private static int led(LocalNode node) {
		LeaderElectors electors = node.context().getBean(LeaderElectors.class);
		return (int) electors.getElections().stream().filter((election) -> electors.get(election).isLeader()).count();
	}

	private static SpreadStatus status(LocalNode node) {
		return node.context().getBean(ElectionSpread.class).status();
	}

	private static ConditionFactory await() {
		return Awaitility.await().atMost(Duration.ofMinutes(2));
	}

	private LocalNode start(String store, String... properties) {
		String[] all = Stream
			.concat(Stream.of("leader-election.group=" + this.group, "leader-election.store=" + store,
					"leader-election.initialize-schema=always", "leader-election.node-id=node-" + this.nodes.size(),
					"leader-election.lease-duration=3s", "leader-election.drain-timeout=5s",
					"leader-election.priority-hold=2s", "leader-election.partitions.part=5"), Stream.of(properties))
			.toArray(String[]::new);
		LocalNode node = LocalNode.start(this.server, all);
		this.nodes.add(node);
		return node;
	}

}
