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

import io.leaderelection.Leadership;
import io.leaderelection.Term;
import io.leaderelection.engine.DefaultLeaderElector;
import io.leaderelection.testsupport.PostgreSqlServer;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * Tests for hand-overs in quick succession: a node that resigned lets others go first,
 * but only until one of them has led.
 */
@AdvisoryLockOnly
@Timeout(180)
@Tag("ring2")
class ResignationPaceTests {

	private static final int TIMES = 20;

	/**
	 * Generous, for a machine that is busy: the goal is 100 ms, and a suspended candidacy
	 * lasts for 5 s.
	 */
	private static final Duration BOUND = Duration.ofSeconds(3);

	/** Longer than any bound here: no node can have waited for its end. */
	private static final Duration LEASE = Duration.ofSeconds(20);

	private final PostgreSqlServer server = PostgreSqlServer.shared();

	@Test
	void nodesThatResignInTurnHandOverWithoutAPause() throws Exception {
		try (LightNodes nodes = new LightNodes(this.server, 2, LEASE, Duration.ofMillis(100)).awaitSessions()) {
			for (int i = 0; i < TIMES; i++) {
				DefaultLeaderElector leader = nodes.awaitLeader();
				Term term = leader.getLeadership().getTerm();
				leader.resign();
				// The node itself, if the other one is not a candidate again by then
				Awaitility.await()
					.atMost(BOUND)
					.until(() -> nodes.electors().stream().anyMatch((elector) -> leadsAfter(elector, term)));
			}
		}
	}

	@Test
	void nodeThatResignedLeadsAgainAsSoonAsItsSuccessorHasStopped() throws Exception {
		try (LightNodes nodes = new LightNodes(this.server, 2, LEASE, Duration.ofMillis(100)).awaitSessions()) {
			for (int i = 0; i < 5; i++) {
				DefaultLeaderElector leader = nodes.awaitLeader();
				// Or nobody else is a candidate yet
				Awaitility.await()
					.until(() -> nodes.electors().stream().allMatch((elector) -> elector.status().leader() != null));
				leader.resign();
				DefaultLeaderElector next = Awaitility.await()
					.until(nodes::awaitLeader, (elector) -> elector != leader);
				next.stop();
				Awaitility.await().atMost(BOUND.multipliedBy(2)).until(leader::isLeader);
				next.start().get(LEASE.toSeconds(), TimeUnit.SECONDS);
				nodes.awaitSessions();
			}
		}
	}

	private static boolean leadsAfter(DefaultLeaderElector elector, Term term) {
		Leadership leadership = elector.getLeadership();
		return leadership != null && elector.isLeader() && leadership.getTerm().compareTo(term) > 0;
	}

}
