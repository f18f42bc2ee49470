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

package io.leaderelection.faults;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.Predicate;

import io.leaderelection.engine.DefaultLeaderElector;
import io.leaderelection.engine.ElectionSettings;
import io.leaderelection.engine.ElectionStore;
import io.leaderelection.faults.LightNodes.NodeOptions;
import io.leaderelection.postgresql.ConnectionSource;
import io.leaderelection.postgresql.ElectionKeys;
import io.leaderelection.postgresql.advisory.AdvisoryLockStore;
import io.leaderelection.postgresql.advisory.EarlierStore;
import io.leaderelection.testsupport.PostgreSqlServer;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Nodes of the version before seats for standbys beside nodes with seats, as during a
 * rolling upgrade.
 */
@Tag("ring3")
class TwoVersionsTests {

	private static final Duration LEASE = Duration.ofSeconds(2);

	private static final Duration TAKEOVER_DELAY = Duration.ofMillis(100);

	private static final int STANDBYS = 1;

	private static final int EARLIER = 3;

	private static final int NODES = EARLIER + 4;

	private static PostgreSqlServer server;

	@BeforeAll
	static void startServer() {
		server = PostgreSqlServer.start();
	}

	@AfterAll
	static void stopServer() {
		server.close();
	}

	@Test
	void nodesOfBothVersionsTakeOverFromEachOther() throws Exception {
		try (LightNodes nodes = nodes()) {
			nodes.awaitLeader();
			// All earlier nodes have a session, and take no seat
			Awaitility.await()
				.atMost(FaultRuns.LONGEST_WATCH.plus(FaultRuns.SLACK))
				.until(() -> nodes.electors()
					.stream()
					.filter((elector) -> isEarlier(elector) && !elector.status().watching())
					.count() == EARLIER && nodes.sessions() >= EARLIER + STANDBYS);
			for (boolean earlier : new boolean[] { true, false, true, false }) {
				DefaultLeaderElector leader = leaderOf(nodes, earlier);
				DefaultLeaderElector next = lose(nodes, leader);
				assertThat(next).isNotSameAs(leader);
			}
			nodes.verify();
		}
	}

	@Test
	void laterNodeLeadsWhenAllEarlierOnesAreKilled() throws Exception {
		try (LightNodes nodes = nodes()) {
			killAll(nodes, TwoVersionsTests::isEarlier);
		}
	}

	@Test
	void earlierNodeLeadsWhenAllLaterOnesAreKilled() throws Exception {
		try (LightNodes nodes = nodes()) {
			killAll(nodes, (elector) -> !isEarlier(elector));
		}
	}

	/**
	 * Kill all nodes of one version, one of which leads.
	 */
	private static void killAll(LightNodes nodes, Predicate<DefaultLeaderElector> version) throws Exception {
		nodes.awaitLeader();
		Awaitility.await()
			.atMost(FaultRuns.LONGEST_WATCH.plus(FaultRuns.SLACK))
			.until(() -> nodes.electors().stream().anyMatch((elector) -> elector.status().watching()));
		boolean earlier = version.test(nodes.electors().get(0));
		DefaultLeaderElector leader = leaderOf(nodes, earlier);
		List<DefaultLeaderElector> killed = nodes.electors().stream().filter(version).toList();
		assertThat(killed).contains(leader);
		nodes.verifyTakeover(killed, FaultRuns.LONGEST_WATCH.plus(TAKEOVER_DELAY).plus(FaultRuns.SLACK));
		DefaultLeaderElector next = nodes.awaitLeader();
		assertThat(killed).doesNotContain(next);
		nodes.verify();
	}

	/**
	 * Let leaders resign until one of a version leads.
	 */
	private static DefaultLeaderElector leaderOf(LightNodes nodes, boolean earlier) throws Exception {
		DefaultLeaderElector leader = nodes.awaitLeader();
		for (int i = 0; isEarlier(leader) != earlier; i++) {
			assertThat(i).as("resignations until a node of the version leads").isLessThan(10 * NODES);
			DefaultLeaderElector previous = leader;
			previous.resign().get(10, TimeUnit.SECONDS);
			leader = awaitOther(nodes, previous);
		}
		return leader;
	}

	/**
	 * Let a leader lose its session, and return the next one.
	 */
	private static DefaultLeaderElector lose(LightNodes nodes, DefaultLeaderElector leader) {
		nodes.terminateSession(leader);
		return awaitOther(nodes, leader);
	}

	private static DefaultLeaderElector awaitOther(LightNodes nodes, DefaultLeaderElector previous) {
		return Awaitility.await()
			.atMost(TAKEOVER_DELAY.plus(FaultRuns.SLACK))
			.until(nodes::awaitLeader, (elector) -> elector != previous);
	}

	private static boolean isEarlier(DefaultLeaderElector elector) {
		return isEarlier(elector.getNodeId());
	}

	private static boolean isEarlier(String node) {
		return Integer.parseInt(node.substring("node-".length())) <= EARLIER;
	}

	private static ElectionStore store(ElectionSettings settings, ElectionKeys keys, ConnectionSource source) {
		return isEarlier(settings.nodeId()) ? new EarlierStore(settings, keys, source)
				: new AdvisoryLockStore(settings, keys, 0, false, source, null);
	}

	private static LightNodes nodes() {
		return new LightNodes(server, NODES, LEASE, TAKEOVER_DELAY,
				new NodeOptions(STANDBYS, server.username(), null).withStore(TwoVersionsTests::store));
	}

}
