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
import io.leaderelection.faults.Entry.Kind;
import io.leaderelection.testsupport.PostgreSqlServer;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.MethodOrderer;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestMethodOrder;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Forty followers and one leader, which changes often.
 */
@AdvisoryLockOnly
@TestMethodOrder(MethodOrderer.OrderAnnotation.class)
@Tag("ring3")
class ManyFollowersTests {

	private static final int NODES = 41;

	private static final Duration LEASE = Duration.ofSeconds(2);

	private static final Duration TAKEOVER_DELAY = Duration.ofMillis(100);

	private static final int HAND_OVERS = 30;

	/**
	 * What the old and the new leader may send for one hand-over: release, check for a
	 * successor, open a session and become a candidate again; confirm and pass the
	 * barrier. Were all followers woken, there would be forty more.
	 */
	private static final int OF_A_HAND_OVER = 20;

	private static LightNodes nodes;

	@BeforeAll
	static void startNodes() {
		nodes = new LightNodes(PostgreSqlServer.shared(), NODES, LEASE, TAKEOVER_DELAY).awaitSessions();
	}

	@AfterAll
	static void stopNodes() throws Exception {
		nodes.close();
	}

	@Test
	@Order(1)
	void idle() {
		DefaultLeaderElector leader = nodes.awaitLeader();
		long began = nodes.statements();
		long start = System.nanoTime();
		Awaitility.await().during(LEASE).atMost(LEASE.multipliedBy(3)).until(leader::isLeader);
		long statements = nodes.statements() - began;
		System.out.printf("%d statements of %d idle nodes, %d expected at most%n", statements, NODES, expected(start));
		// The lower bound says that they were counted at all
		assertThat(statements).isBetween(expected(start) / 5, expected(start));
		nodes.verify();
	}

	@Test
	@Order(2)
	void leaderChurn() throws Exception {
		long began = nodes.statements();
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
		long statements = nodes.statements() - began;
		System.out.printf("%d statements of %d nodes, %d expected at most without hand-overs%n", statements, NODES,
				expected(start));
		assertThat(statements).isLessThan(expected(start) + OF_A_HAND_OVER * HAND_OVERS);
		// A machine that stalls may have cost a leader its lease besides
		assertThat(nodes.history().reigns()).hasSizeGreaterThan(HAND_OVERS);
		assertThat(nodes.history().of(Kind.GRANTED)).hasSizeGreaterThan(HAND_OVERS);
		nodes.verify();
	}

	/**
	 * What followers may have sent since then: a wait of 800 ms each, and at most one
	 * read the name of a new leader between two waits.
	 */
	private static long expected(long start) {
		return (long) (2.5 * NODES * (System.nanoTime() - start) / 1e9);
	}

}
