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

package io.leaderelection.postgresql.advisory;

import java.time.Duration;
import java.util.Map;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;

import io.leaderelection.engine.NodeProfile;
import io.leaderelection.engine.SessionException;
import io.leaderelection.engine.StoreSession;
import io.leaderelection.engine.StoreSession.Acquisition;
import io.leaderelection.engine.StoreSession.Acquisition.Held;
import io.leaderelection.engine.StoreSession.Acquisition.Won;
import io.leaderelection.postgresql.StoreFixture;
import io.leaderelection.testsupport.PostgreSqlServer;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Tests for sessions of different priorities in the lock queue, and for what they
 * publish.
 */
@Tag("ring1")
class PrioritySessionTests extends AdvisoryLockFixture {

	private static final Duration WAIT = Duration.ofSeconds(30);

	PrioritySessionTests() {
		this.lease = WAIT;
	}

	@Test
	void sessionAtTheHeadOfTheQueueLeavesTheLockToAHigherPriority() throws Exception {
		release(0, 5, 10, (first, second) -> {
			assertThat(first.get()).isInstanceOfSatisfying(Held.class,
					(held) -> assertThat(held.view().leader()).satisfiesAnyOf((none) -> assertThat(none).isNull(),
							(other) -> assertThat(other.nodeId()).isNotEqualTo("first")));
			assertThat(second.get()).isInstanceOf(Won.class);
			assertThat(second.session.confirm(true).predecessor()).isNull();
			assertThat(first.session.acquire(Duration.ZERO)).isInstanceOf(Held.class);
		});
	}

	@Test
	void equalPrioritiesKeepTheOrderOfTheQueue() throws Exception {
		release(20, 10, 10, (first, second) -> {
			assertThat(first.get()).isInstanceOf(Won.class);
			assertThat(second.get()).isInstanceOf(Held.class);
			close(first.session);
			await().until(() -> second.session.acquire(WAIT) instanceof Won);
		});
	}

	/**
	 * Let a leader release the lock while two candidates wait. Repeated if one of their
	 * waits has ended meanwhile: none is longer than 0.8 s.
	 */
	private void release(int leaderPriority, int firstPriority, int secondPriority, Check check) throws Exception {
		boolean decided = false;
		for (int tries = 0; !decided; tries++) {
			assertThat(tries).as("a wait has ended each time").isLessThan(20);
			AtomicInteger waits = new AtomicInteger();
			StoreSession leader = open("leader", leaderPriority);
			Candidate first = new Candidate(open("first", firstPriority), waits);
			Candidate second = new Candidate(open("second", secondPriority), waits);
			assertThat(leader.acquire(WAIT)).isInstanceOf(Won.class);
			first.acquire();
			await().until(() -> waiting() == 1);
			second.acquire();
			await().until(() -> waiting() == 2);
			int before = waits.get();
			leader.release(true);
			first.get();
			second.get();
			decided = waits.get() == before;
			if (decided) {
				check.run(first, second);
			}
			close(leader, first.session, second.session);
		}
	}

	@Test
	void profileIsSeenByOthersAndGoneWithItsSession() throws Exception {
		StoreSession session = open("node", 7);
		StoreSession other = open("other", 0);
		NodeProfile profile = new NodeProfile(NodeProfile.PROTOCOL, 7, Map.of());
		await().untilAsserted(() -> assertThat(other.observe().candidates()).filteredOn("nodeId", "node")
			.extracting("profile")
			.containsExactly(profile));
		assertThat(session.acquire(WAIT)).isInstanceOf(Won.class);
		await().untilAsserted(() -> {
			session.confirm(true);
			assertThat(other.observe().leader()).extracting("profile")
				.isEqualTo(new NodeProfile(NodeProfile.PROTOCOL, 7, Map.of("url", "http://node")));
		});
		close(session, other);
		await().until(() -> this.server.advisoryLocks(PostgreSqlServer.keys(this.keys.observerClass())).isEmpty());
	}

	private int waiting() {
		return this.server
			.advisoryLocks(
					"NOT granted AND (%s OR %s)".formatted(main(), PostgreSqlServer.keys(this.keys.requestClass())))
			.size();
	}

	private static void close(StoreSession... sessions) {
		for (StoreSession session : sessions) {
			session.close();
		}
	}

	private StoreSession open(String node, int priority) throws SessionException {
		StoreSession session = open(
				store(node, new NodeProfile(NodeProfile.PROTOCOL, priority, Map.of("url", "http://" + node))));
		assertThat(session.becomeCandidate()).isTrue();
		return session;
	}

	/**
	 * A candidate that waits until another node than the leader leads.
	 */
	private static final class Candidate {

		private final StoreSession session;

		private final AtomicInteger waits;

		private Future<Acquisition> result;

		Candidate(StoreSession session, AtomicInteger waits) {
			this.session = session;
			this.waits = waits;
		}

		void acquire() {
			this.result = start(() -> {
				Acquisition acquisition;
				do {
					this.waits.incrementAndGet();
					acquisition = this.session.acquire(WAIT);
				}
				while (acquisition instanceof Held held && held.view().leader() != null
						&& held.view().leader().nodeId().equals("leader"));
				return acquisition;
			});
		}

		Acquisition get() throws Exception {
			return StoreFixture.get(this.result);
		}

	}

	private interface Check {

		void run(Candidate first, Candidate second) throws Exception;

	}

}
