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

package io.leaderelection.postgresql;

import java.sql.DriverManager;
import java.time.Duration;
import java.util.Map;
import java.util.Properties;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;

import io.leaderelection.engine.ElectionSettings;
import io.leaderelection.engine.NodeProfile;
import io.leaderelection.engine.SessionException;
import io.leaderelection.engine.StoreSession;
import io.leaderelection.engine.StoreSession.Acquisition;
import io.leaderelection.engine.StoreSession.Acquisition.Held;
import io.leaderelection.engine.StoreSession.Acquisition.Won;
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
class PrioritySessionTests {

	private static final Duration WAIT = Duration.ofSeconds(30);

	private final PostgreSqlServer server = PostgreSqlServer.shared();

	private final String election = "election-" + UUID.randomUUID();

	private final ElectionKeys keys = ElectionKeys.derive("test", this.election);

	@Test
	void sessionAtTheHeadOfTheQueueLeavesTheLockToAHigherPriority() throws Exception {
		StoreSession leader = open("leader", 0);
		StoreSession low = open("low", 5);
		StoreSession high = open("high", 10);
		assertThat(leader.acquire(WAIT)).isInstanceOf(Won.class);
		CompletableFuture<Acquisition> first = acquire(low);
		await().until(() -> waiting() == 1);
		CompletableFuture<Acquisition> second = acquire(high);
		await().until(() -> waiting() == 2);
		leader.release(true);
		Acquisition left = first.join();
		assertThat(left).isInstanceOfSatisfying(Held.class,
				(held) -> assertThat(held.view().leader()).satisfiesAnyOf((none) -> assertThat(none).isNull(),
						(other) -> assertThat(other.nodeId()).isNotEqualTo("low")));
		assertThat(second.join()).isInstanceOf(Won.class);
		assertThat(high.confirm().predecessor()).isNull();
		assertThat(low.acquire(Duration.ZERO)).isInstanceOf(Held.class);
		close(leader, low, high);
	}

	@Test
	void equalPrioritiesKeepTheOrderOfTheQueue() throws Exception {
		StoreSession leader = open("leader", 20);
		StoreSession first = open("first", 10);
		StoreSession second = open("second", 10);
		assertThat(leader.acquire(WAIT)).isInstanceOf(Won.class);
		CompletableFuture<Acquisition> head = acquire(first);
		await().until(() -> waiting() == 1);
		CompletableFuture<Acquisition> next = acquire(second);
		await().until(() -> waiting() == 2);
		leader.release(true);
		assertThat(head.join()).isInstanceOf(Won.class);
		close(leader, first);
		assertThat(next.join()).isInstanceOf(Won.class);
		close(second);
	}

	@Test
	void profileIsSeenByOthersAndGoneWithItsSession() throws Exception {
		StoreSession session = open("node", 7);
		StoreSession other = open("other", 0);
		await().untilAsserted(() -> assertThat(other.observe().candidates()).filteredOn("nodeId", "node")
			.extracting("profile")
			.containsExactly(new NodeProfile(NodeProfile.PROTOCOL, 7, Map.of("url", "http://node"))));
		close(session, other);
		await().until(
				() -> this.server
					.query("SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND classid = "
							+ Integer.toUnsignedString(this.keys.observerClass()))
					.isEmpty());
	}

	private static CompletableFuture<Acquisition> acquire(StoreSession session) {
		return CompletableFuture.supplyAsync(() -> {
			try {
				Acquisition acquisition;
				do {
					acquisition = session.acquire(WAIT);
				}
				while (acquisition instanceof Held held && held.view().leader() != null
						&& held.view().leader().nodeId().equals("leader"));
				return acquisition;
			}
			catch (SessionException ex) {
				throw new IllegalStateException(ex);
			}
		});
	}

	private int waiting() {
		return this.server
			.query("SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND NOT granted AND (objid = "
					+ (this.keys.main() & 0xFFFFFFFFL) + " OR classid = "
					+ Integer.toUnsignedString(this.keys.requestClass()) + ")")
			.size();
	}

	private static void close(StoreSession... sessions) {
		for (StoreSession session : sessions) {
			session.close();
		}
	}

	private StoreSession open(String node, int priority) throws SessionException {
		ElectionSettings settings = new ElectionSettings(this.election, node, WAIT, Duration.ZERO, true,
				Duration.ofSeconds(1), true, ElectionSettings.STANDBYS,
				new NodeProfile(NodeProfile.PROTOCOL, priority, Map.of("url", "http://" + node)),
				ElectionSettings.PRIORITY_HOLD);
		StoreSession session = new AdvisoryLockStore(settings, this.keys, 0, false, (driverSettings) -> {
			Properties properties = new Properties();
			properties.putAll(driverSettings);
			properties.setProperty("user", this.server.username());
			properties.setProperty("password", this.server.password());
			return DriverManager.getConnection(this.server.jdbcUrl(), properties);
		}, null).open();
		assertThat(session.becomeCandidate()).isTrue();
		return session;
	}

}
