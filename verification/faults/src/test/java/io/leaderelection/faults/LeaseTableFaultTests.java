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
import java.util.function.Consumer;

import io.leaderelection.testsupport.Direction;
import io.leaderelection.testsupport.PostgreSqlServer;
import io.leaderelection.testsupport.TcpProxy;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Faults of nodes, network and server with {@code leader-election.store=table}.
 */
@Tag("ring2")
class LeaseTableFaultTests {

	static final Duration LEASE = Cluster.LEASE;

	/** From a crash to the next grant. */
	static final Duration TAKEOVER = LEASE.plusMillis(1200);

	/**
	 * From the end of the listeners to the next grant. With a direct connection it takes
	 * no more than 50 milliseconds, but a busy machine does not allow to assert that:
	 * that figure belongs to the benchmarks.
	 */
	static final Duration HAND_OVER = Duration.ofMillis(1200);

	static final String[] TABLE = { "leader-election.store=table", "leader-election.initialize-schema=always" };

	private static PostgreSqlServer server;

	private static FaultRuns faults;

	@BeforeAll
	static void startNodes() {
		server = PostgreSqlServer.start();
		faults = new FaultRuns(new Cluster(server, LEASE, Duration.ZERO, TABLE).start(3));
	}

	@AfterAll
	static void verifyAndStop() {
		try {
			faults.close();
		}
		finally {
			server.close();
		}
	}

	@Test
	void killed() {
		faults.run("table: leader killed (kill -9)", (leader) -> leader.signal("KILL"), (outcome) -> {
			outcome.tookOverWithin(TAKEOVER);
			outcome.replaceOld();
		});
	}

	@Test
	void terminated() {
		faults.run("table: leader terminated (SIGTERM)", (leader) -> leader.signal("TERM"), (outcome) -> {
			outcome.handedOverWithin(HAND_OVER);
			outcome.revokedBecause("STOPPED");
			outcome.replaceOld();
		});
	}

	@Test
	void resigned() {
		faults.run("table: leader resigned", (leader) -> leader.command("resign"), (outcome) -> {
			outcome.handedOverWithin(HAND_OVER);
			outcome.revokedBecause("RESIGNED");
		});
	}

	@Test
	void frozenForLongerThanTheLease() {
		faults.run("table: leader frozen for longer than the lease, thawed", (leader) -> leader.signal("STOP"),
				(outcome) -> {
					outcome.tookOverWithin(TAKEOVER);
					outcome.old().signal("CONT");
					outcome.revokedBecause("LEASE_EXPIRED");
				});
	}

	@Test
	@Tag("ring3")
	void frozenForLessThanItsTrust() {
		faults.runWithoutSuccession("table: leader frozen for less than its trust", (leader) -> {
			leader.signal("STOP");
			Thread.sleep(LEASE.toMillis() / 4);
			leader.signal("CONT");
		});
	}

	@Test
	void partition() {
		cutOff("table: partition, both ways", TcpProxy::blackHole, Duration.ZERO);
	}

	@Test
	void partitionToTheServer() {
		cutOff("table: partition, to the server only", (proxy) -> proxy.blackHole(Direction.TO_SERVER), Duration.ZERO);
	}

	@Test
	void partitionToTheNode() {
		// Renewals get through until the connection is replaced
		cutOff("table: partition, to the node only", (proxy) -> proxy.blackHole(Direction.TO_CLIENT), LEASE);
	}

	@ParameterizedTest
	@Tag("ring3")
	@CsvSource({ "TO_CLIENT, 1", "TO_CLIENT, 100", "TO_SERVER, 1", "TO_SERVER, 400", "TO_SERVER, 900" })
	void halfMessage(Direction direction, int bytes) {
		faults.runWithoutSuccession("table: half a message of a renewal, reset", (leader) -> {
			proxy(leader).cutInMessage(direction, bytes);
			Thread.sleep(LEASE.toMillis() / 4);
			proxy(leader).heal();
		});
	}

	@Test
	void halfNotice() {
		NodeProcess follower = faults.cluster().awaitSessions().followers().get(0);
		proxy(follower).cutInMessage(Direction.TO_CLIENT, 3);
		server.execute("NOTIFY leader_election, 'unknown'");
		faults.run("table: half a notice to a follower, leader resigned", (leader) -> leader.command("resign"),
				(outcome) -> {
					proxy(follower).heal();
					outcome.handedOverWithin(HAND_OVER);
				});
		faults.cluster().awaitSessions();
	}

	@Test
	void reset() {
		faults.runWithoutSuccession("table: connection reset", (leader) -> proxy(leader).reset());
	}

	@Test
	void refused() {
		faults.run("table: reset, then refused", (leader) -> {
			proxy(leader).refuse();
			proxy(leader).reset();
		}, (outcome) -> {
			outcome.tookOverWithin(TAKEOVER);
			outcome.revokedBecause("LEASE_EXPIRED");
			proxy(outcome.old()).heal();
		});
	}

	@Test
	@Tag("ring3")
	void lateRepliesDeliveredAfterwards() {
		faults.run("table: late replies delivered afterwards", (leader) -> proxy(leader).hold(), (outcome) -> {
			outcome.tookOverWithin(TAKEOVER);
			proxy(outcome.old()).release();
			outcome.revokedBecause("LEASE_EXPIRED");
		});
	}

	@ParameterizedTest
	@ValueSource(strings = { "fast", "immediate" })
	void restartOfTheServer(String mode) {
		faults.run("table: server restarted, " + mode, (leader) -> {
			server.stop(mode);
			Thread.sleep(LEASE.toMillis());
			server.startAgain();
		}, (outcome) -> outcome.revokedBecause("LEASE_EXPIRED"));
	}

	private static void cutOff(String fault, Consumer<TcpProxy> cut, Duration further) {
		faults.run(fault, (leader) -> cut.accept(proxy(leader)), (outcome) -> {
			outcome.tookOverWithin(TAKEOVER.plus(further));
			outcome.steppedDownWithin(LEASE.plus(further));
			outcome.revokedBecause("LEASE_EXPIRED");
			proxy(outcome.old()).heal();
		});
	}

	private static TcpProxy proxy(NodeProcess node) {
		return faults.cluster().proxy(node);
	}

}
