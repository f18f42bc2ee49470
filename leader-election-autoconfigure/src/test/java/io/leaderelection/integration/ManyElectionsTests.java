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

import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Set;
import java.util.stream.IntStream;
import java.util.stream.Stream;

import io.leaderelection.LeaderElector;
import io.leaderelection.engine.DefaultLeaderElector;
import io.leaderelection.testsupport.PostgreSqlServer;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for nodes with many elections, and what these cost.
 */
@Tag("ring3")
class ManyElectionsTests {

	@RegisterExtension
	final Nodes nodes = new Nodes();

	private final PostgreSqlServer server = this.nodes.register(PostgreSqlServer.start("max_connections=150"));

	/**
	 * Threads of contexts that other tests of this process have left in the cache.
	 */
	private final Set<Thread> threadsOfOthers = Set.copyOf(Thread.getAllStackTraces().keySet());

	@ParameterizedTest
	@ValueSource(ints = { 20, 50 })
	void nodeHoldsManyElectionsAndHandsAllOver(int elections) {
		LocalNode first = start(elections);
		assertThat(electors(first)).hasSize(elections);
		awaitLeaderOfAll(first);
		awaitThreadsAndSessions(elections, 1);
		assertThat(electors(first).stream().map((elector) -> elector.getLeadership().getTerm()))
			.doesNotHaveDuplicates();

		LocalNode second = start(elections);
		String leader = first.elector().getNodeId();
		Awaitility.await()
			.until(() -> electors(second).stream().allMatch((elector) -> leader.equals(elector.status().leader())));
		awaitThreadsAndSessions(elections, 2);
		assertThat(electors(second)).noneMatch(LeaderElector::isLeader);
		assertThat(electors(first)).allMatch(LeaderElector::isLeader);

		first.close();
		awaitLeaderOfAll(second);
		awaitThreadsAndSessions(elections, 1);
		assertThat(first.events()).hasSize(2 * elections);
		assertThat(second.events()).hasSize(elections).allMatch((event) -> event.startsWith("granted"));
	}

	private List<String> threads() {
		return Thread.getAllStackTraces()
			.keySet()
			.stream()
			.filter((thread) -> !this.threadsOfOthers.contains(thread))
			.map(Thread::getName)
			.filter((name) -> name.startsWith("leader-election-"))
			.toList();
	}

	private int sessions() {
		return Integer.parseInt(this.server
			.query("SELECT count(*) FROM pg_stat_activity WHERE application_name LIKE 'leader-election %'")
			.get(0));
	}

	private LocalNode start(int elections) {
		return this.nodes.on(this.server)
			.with("leader-election.lease-duration=3s", "leader-election.takeover-delay=0")
			.start(IntStream.range(1, elections)
				.mapToObj((number) -> "leader-election.elections.job" + number + ".candidate=true")
				.toArray(String[]::new));
	}

	private static Collection<DefaultLeaderElector> electors(LocalNode node) {
		return node.electors().all();
	}

	private static void awaitLeaderOfAll(LocalNode node) {
		Awaitility.await().until(() -> electors(node).stream().allMatch(LeaderElector::isLeader));
	}

	/**
	 * Each election has a thread, one that delivers events and one that cancels work, on
	 * every node.
	 */
	private void awaitThreadsAndSessions(int elections, int nodes) {
		List<String> names = Stream
			.concat(Stream.of("leader-election-default"),
					IntStream.range(1, elections).mapToObj((number) -> "leader-election-job" + number))
			.toList();
		List<String> expected = new ArrayList<>();
		for (int node = 0; node < nodes; node++) {
			for (String name : names) {
				expected.addAll(List.of(name, name + "-events", name + "-cancellations"));
			}
			expected.add("leader-election-watchdog");
			expected.add("leader-election-interrupts");
		}
		Awaitility.await().untilAsserted(() -> {
			assertThat(threads()).containsExactlyInAnyOrderElementsOf(expected);
			assertThat(sessions()).isEqualTo(nodes * elections);
		});
	}

}
