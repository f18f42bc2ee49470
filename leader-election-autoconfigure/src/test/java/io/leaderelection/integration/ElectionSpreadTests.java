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

import io.leaderelection.LeaderElector;
import io.leaderelection.spread.ElectionSpread;
import io.leaderelection.spread.ElectionSpread.SpreadStatus;
import org.awaitility.Awaitility;
import org.awaitility.core.ConditionFactory;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for elections that spread over nodes, and for limits.
 */
@Tag("ring2")
class ElectionSpreadTests {

	@RegisterExtension
	final Nodes nodes = new Nodes("leader-election.initialize-schema=always", "leader-election.lease-duration=3s",
			"leader-election.drain-timeout=5s");

	@Test
	void electionsSpreadWithTheFewestHandOvers() {
		LocalNode first = start("table", "leader-election.spread=true");
		await().until(() -> led(first) == 6);
		LocalNode second = start("table", "leader-election.spread=true");
		LocalNode third = start("table", "leader-election.spread=true");
		await().until(() -> led(first) == 2 && led(second) == 2 && led(third) == 2);
		SpreadStatus even = new SpreadStatus(2, 2, null);
		await().until(() -> this.nodes.all().stream().allMatch((node) -> even.equals(status(node))));
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
		Nodes spread = this.nodes.with("leader-election.store=table", "leader-election.spread=true");
		LocalNode first = spread.start();
		spread.start();
		SpreadStatus even = new SpreadStatus(1, 1, null);
		await().until(() -> even.equals(status(first)));
		await().during(Duration.ofSeconds(12)).until(() -> first.events().size() == 1);
	}

	@Test
	void withoutDatabaseNothingSpreads() {
		LocalNode node = start("advisory-lock", "leader-election.mode=always", "leader-election.spread=true",
				"leader-election.max-led=1");
		assertThat(led(node)).isEqualTo(6);
		await().during(Duration.ofSeconds(3)).until(() -> led(node) == 6);
	}

	private static int led(LocalNode node) {
		return (int) node.electors().all().stream().filter(LeaderElector::isLeader).count();
	}

	private static SpreadStatus status(LocalNode node) {
		return node.bean(ElectionSpread.class).status();
	}

	private static ConditionFactory await() {
		return Awaitility.await().atMost(Duration.ofMinutes(2));
	}

	private LocalNode start(String store, String... properties) {
		return this.nodes
			.with("leader-election.store=" + store, "leader-election.node-id=node-" + this.nodes.all().size(),
					"leader-election.partitions.part=5")
			.start(properties);
	}

}
