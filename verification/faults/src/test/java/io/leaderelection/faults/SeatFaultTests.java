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
import java.util.function.BiConsumer;

import io.leaderelection.testsupport.PostgreSqlServer;
import io.leaderelection.testsupport.TcpProxy;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Faults of the process that has the only seat, and of its network.
 */
@AdvisoryLockOnly
@Tag("ring3")
class SeatFaultTests {

	private static final Duration CONNECT = Duration.ofSeconds(1);

	private static final int SESSIONS = 2;

	@AutoClose
	private static FaultRuns faults;

	@BeforeAll
	static void startNodes() {
		faults = new FaultRuns(new Cluster(PostgreSqlServer.shared(), Cluster.LEASE, Cluster.TAKEOVER_DELAY,
				"leader-election.standbys=1")
			.start(SESSIONS + 2));
	}

	@ParameterizedTest
	@EnumSource
	void watcherTakesTheSeatAndTheLeaderStays(Fault fault) {
		Cluster cluster = faults.cluster();
		faults.runWithoutSuccession("standby " + fault, (leader) -> {
			NodeProcess standby = awaitStandby();
			fault.inject(standby);
			try {
				Awaitility.await()
					.atMost(faults.lease().plus(FaultRuns.LONGEST_WATCH).plus(CONNECT).plus(FaultRuns.SLACK))
					.until(() -> cluster.followers()
						.stream()
						.anyMatch((node) -> node != standby && cluster.pids(node).size() == 1));
				assertThat(cluster.pids(standby)).isEmpty();
			}
			finally {
				fault.repair(standby);
			}
		});
	}

	@ParameterizedTest
	@EnumSource
	void watcherLeadsWhenTheLeaderIsKilledToo(Fault fault) {
		NodeProcess[] standby = new NodeProcess[1];
		faults.run("leader killed, standby " + fault, () -> {
			standby[0] = awaitStandby();
			return faults.cluster().awaitLeader();
		}, (leader) -> {
			fault.inject(standby[0]);
			leader.signal("KILL");
		}, (outcome) -> {
			try {
				outcome.nextWithin(
						faults.lease().plus(FaultRuns.LONGEST_WATCH).plus(CONNECT).plus(faults.takeoverDelay()));
				assertThat(outcome.next().node()).isNotEqualTo(standby[0].name());
			}
			finally {
				fault.repair(standby[0]);
				faults.cluster().replace(outcome.old());
			}
		});
	}

	/**
	 * Wait until one follower has a session, and return it.
	 */
	private static NodeProcess awaitStandby() {
		Cluster cluster = faults.cluster().awaitSessions(SESSIONS);
		return cluster.followers().stream().filter((node) -> cluster.pids(node).size() == 1).findFirst().orElseThrow();
	}

	/**
	 * What happens to the standby, and how it is undone.
	 */
	enum Fault {

		FROZEN((node, proxy) -> node.signal("STOP"), (node, proxy) -> node.signal("CONT")),

		KILLED((node, proxy) -> node.signal("KILL"), (node, proxy) -> faults.cluster().replace(node)),

		CUT_OFF((node, proxy) -> proxy.blackHole(), (node, proxy) -> proxy.heal());

		private final BiConsumer<NodeProcess, TcpProxy> injection;

		private final BiConsumer<NodeProcess, TcpProxy> repair;

		Fault(BiConsumer<NodeProcess, TcpProxy> injection, BiConsumer<NodeProcess, TcpProxy> repair) {
			this.injection = injection;
			this.repair = repair;
		}

		void inject(NodeProcess node) {
			this.injection.accept(node, faults.cluster().proxy(node));
		}

		void repair(NodeProcess node) {
			this.repair.accept(node, faults.cluster().proxy(node));
		}

	}

}
