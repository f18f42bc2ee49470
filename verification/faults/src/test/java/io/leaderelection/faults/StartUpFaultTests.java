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

import io.leaderelection.faults.Entry.Kind;
import io.leaderelection.testsupport.PostgreSqlServer;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Faults of a process that has not started yet.
 */
@AdvisoryLockOnly
@Tag("ring3")
class StartUpFaultTests {

	private static final Duration LEASE = Duration.ofMillis(1500);

	private static final Duration LONG_DELAY = Duration.ofMillis(500);

	@ParameterizedTest
	@EnumSource
	void terminated(Moment moment) {
		try (Cluster cluster = new Cluster(PostgreSqlServer.shared(), LEASE, LONG_DELAY)) {
			NodeProcess node = cluster.launch();
			Awaitility.await().until(() -> moment.hasCome(cluster, node));
			long terminated = System.nanoTime();
			node.signal("TERM");
			node.awaitEnd();
			assertThat(Duration.ofNanos(System.nanoTime() - terminated)).isLessThan(LEASE.plus(FaultRuns.SLACK));
			// Spring finishes a start before it stops, so the node may yet be granted;
			// then
			// it shuts down cleanly
			List<Kind> events = node.history()
				.stream()
				.map(Entry::kind)
				.filter((kind) -> kind == Kind.GRANTED || kind == Kind.REVOKED_ENDED)
				.toList();
			boolean granted = node.find(Kind.TRUE_FROM, Long.MIN_VALUE).isPresent();
			assertThat(events).as(node.describe())
				.isEqualTo(granted ? List.of(Kind.GRANTED, Kind.REVOKED_ENDED) : List.of());
			// The server may be in the middle of something for a session that has gone
			Awaitility.await()
				.atMost(FaultRuns.SLACK)
				.untilAsserted(() -> assertThat(cluster.awaitSample().locks()).isEmpty());
			assertThat(cluster.pids(node)).isEmpty();
			assertThat(cluster.check().violations()).isEmpty();
		}
	}

	/**
	 * When the node is terminated.
	 */
	enum Moment {

		AT_ONCE, WITH_A_SESSION, AS_WINNER;

		boolean hasCome(Cluster cluster, NodeProcess node) {
			return switch (this) {
				case AT_ONCE -> node.isAlive();
				case WITH_A_SESSION -> !cluster.pids(node).isEmpty();
				case AS_WINNER -> cluster.awaitSample().main().isPresent();
			};
		}

	}

}
