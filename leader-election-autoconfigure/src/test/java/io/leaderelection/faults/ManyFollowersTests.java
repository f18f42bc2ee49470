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
import java.util.concurrent.TimeUnit;

import io.leaderelection.engine.DefaultLeaderElector;
import io.leaderelection.testsupport.PostgreSqlServer;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.MethodOrderer;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestMethodOrder;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Forty followers and one leader, which changes often.
 */
@TestMethodOrder(MethodOrderer.OrderAnnotation.class)
class ManyFollowersTests {

	private static final int NODES = 41;

	private static final Duration LEASE = Duration.ofSeconds(2);

	private static final Duration TAKEOVER_DELAY = Duration.ofMillis(100);

	private static final int HAND_OVERS = 30;

	private static LightNodes nodes;

	@BeforeAll
	static void startNodes() {
		nodes = new LightNodes(PostgreSqlServer.shared(), NODES, LEASE, TAKEOVER_DELAY).awaitSessions();
		// Sessions report their transactions late, those of their opening too
		DefaultLeaderElector leader = nodes.awaitLeader();
		Awaitility.await().during(LEASE).atMost(LEASE.multipliedBy(3)).until(leader::isLeader);
	}

	@AfterAll
	static void stopNodes() throws Exception {
		nodes.close();
	}

	@Test
	@Order(1)
	void idle() {
		DefaultLeaderElector leader = nodes.awaitLeader();
		long began = nodes.transactions();
		long start = System.nanoTime();
		Awaitility.await().during(LEASE).atMost(LEASE.multipliedBy(3)).until(leader::isLeader);
		assertThat(nodes.transactions() - began).isBetween(1L, expected(start));
		nodes.verify();
	}

	@Test
	@Order(2)
	void leaderChurn() throws Exception {
		long began = nodes.transactions();
		long start = System.nanoTime();
		for (int i = 0; i < HAND_OVERS; i++) {
			DefaultLeaderElector leader = nodes.awaitLeader();
			switch (i % 3) {
				case 0 -> assertThat(leader.resign().get(10, TimeUnit.SECONDS)).isTrue();
				case 1 -> nodes.terminateSession(leader);
				default -> {
					leader.stop().get(10, TimeUnit.SECONDS);
					leader.start();
				}
			}
			Awaitility.await()
				.atMost(TAKEOVER_DELAY.plus(FaultRuns.SLACK))
				.pollInterval(Duration.ofMillis(1))
				.until(() -> nodes.awaitLeader() != leader);
		}
		nodes.awaitSessions();
		// Sessions report their transactions once a second
		DefaultLeaderElector leader = nodes.awaitLeader();
		Awaitility.await().during(LEASE).atMost(LEASE.multipliedBy(3)).until(leader::isLeader);
		long transactions = nodes.transactions() - began;
		System.out.printf("%d transactions, %d expected at most%n", transactions, expected(start));
		// No herd: were all followers woken by each hand-over, there would be 40 more for
		// each
		assertThat(transactions).isLessThan(expected(start) + 10 * HAND_OVERS);
		assertThat(nodes.history().reigns()).hasSizeBetween(HAND_OVERS + 1, HAND_OVERS + 2);
		nodes.verify();
	}

	/**
	 * What the nodes may have asked of the server since then if nothing happened.
	 */
	private static long expected(long start) {
		return (long) (2.5 * NODES * (System.nanoTime() - start) / 1e9);
	}

}
