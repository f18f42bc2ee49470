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

import io.leaderelection.faults.Entry.Kind;
import io.leaderelection.testsupport.Direction;
import io.leaderelection.testsupport.PostgreSqlServer;
import io.leaderelection.testsupport.TcpProxy;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Faults of the network between a node and the server.
 */
@Tag("ring2")
class NetworkFaultTests {

	@AutoClose
	private static FaultRuns faults;

	@BeforeAll
	static void startNodes() {
		faults = new FaultRuns(
				new Cluster(PostgreSqlServer.shared(), Cluster.LEASE, Cluster.TAKEOVER_DELAY, Cluster.NO_FAST_TAKEOVER)
					.start(3));
	}

	@Test
	void partitionToTheServer() {
		cutOff("partition, to the server only", (proxy) -> proxy.blackHole(Direction.TO_SERVER), faults.lease());
	}

	@Test
	void partitionToTheNode() {
		// One more confirmation gets through
		cutOff("partition, to the node only", (proxy) -> proxy.blackHole(Direction.TO_CLIENT),
				faults.lease().dividedBy(5).plus(faults.lease()));
	}

	@Test
	void partitionThatHealsWithoutLoss() {
		faults.run("partition, late replies delivered afterwards", (leader) -> proxy(leader).hold(), (outcome) -> {
			outcome.nextWithin(faults.lease().plus(faults.takeoverDelay()));
			outcome.steppedDownWithin(faults.lease());
			proxy(outcome.old()).release();
			outcome.revokedBecause("LEASE_EXPIRED");
		});
	}

	@Test
	void lateReplyReadAfterThaw() {
		faults.run("reply of a confirmation read after a thaw", (leader) -> {
			proxy(leader).hold(Direction.TO_CLIENT);
			// By then a confirmation was sent, and its reply is held
			leader.await(Kind.TRUE_AT, System.nanoTime() + faults.lease().dividedBy(4).toNanos());
			leader.signal("STOP");
			proxy(leader).release();
		}, (outcome) -> {
			outcome.nextWithin(faults.lease().multipliedBy(2).plus(faults.takeoverDelay()));
			outcome.old().signal("CONT");
			outcome.revokedBecause("LEASE_EXPIRED");
		});
	}

	@Test
	void shortPartition() {
		faults.runWithoutSuccession("partition for less than the trust lasts, no loss", (leader) -> {
			proxy(leader).hold();
			try {
				Thread.sleep(faults.lease().dividedBy(4).toMillis());
			}
			finally {
				proxy(leader).release();
			}
		});
	}

	@AdvisoryLockOnly
	@Test
	void reset() {
		faults.run("connection reset", (leader) -> proxy(leader).reset(), (outcome) -> {
			outcome.nextWithin(faults.takeoverDelay());
			outcome.steppedDownWithin(FaultRuns.SLACK);
			outcome.revokedBecause("SESSION_LOST");
		});
	}

	@Test
	void slowLink() {
		Duration tenth = faults.lease().dividedBy(10);
		faults.runWithoutSuccession("slow link, a round trip takes a fifth of the lease", (leader) -> {
			proxy(leader).delay(tenth, tenth);
			leader.await(Kind.TRUE_AT, System.nanoTime() + faults.lease().multipliedBy(2).toNanos());
			proxy(leader).delay(Duration.ZERO, Duration.ZERO);
		});
	}

	@Test
	void linkTooSlowToLead() {
		faults.run(
				"slow link, a round trip takes longer than the lease", (leader) -> proxy(leader)
					.delay(faults.lease().multipliedBy(6).dividedBy(10), faults.lease().multipliedBy(6).dividedBy(10)),
				(outcome) -> {
					outcome.nextWithin(faults.lease().multipliedBy(2).plus(faults.takeoverDelay()));
					outcome.revokedBecause("LEASE_EXPIRED");
					proxy(outcome.old()).delay(Duration.ZERO, Duration.ZERO);
				});
	}

	@AdvisoryLockOnly
	@ParameterizedTest
	@Tag("ring3")
	@CsvSource({ "TO_CLIENT, 1", "TO_CLIENT, 4", "TO_CLIENT, 100", "TO_SERVER, 1", "TO_SERVER, 100", "TO_SERVER, 700",
			"TO_SERVER, 720", "TO_SERVER, 740", "TO_SERVER, 760", "TO_SERVER, 780", "TO_SERVER, 800" })
	void halfMessageOfLeader(Direction direction, int bytes) {
		cutOff("half a message of a confirmation", (proxy) -> proxy.cutInMessage(direction, bytes),
				faults.lease().dividedBy(5).plus(faults.lease()));
	}

	@AdvisoryLockOnly
	@ParameterizedTest
	@Tag("ring3")
	@CsvSource({ "TO_CLIENT, 3", "TO_SERVER, 10" })
	void halfMessageOfWaitingFollower(Direction direction, int bytes) {
		NodeProcess follower = faults.cluster().awaitSessions().awaitHeadOfQueue();
		int pid = faults.cluster().pids(follower).get(0);
		proxy(follower).cutInMessage(direction, bytes);
		awaitOtherSession(follower, pid);
		proxy(follower).heal();
		faults.cluster().awaitSessions().verify();
	}

	@AdvisoryLockOnly
	@ParameterizedTest
	@Tag("ring3")
	@ValueSource(ints = { 9, 400 })
	void halfMessageWhileASessionOpens(int bytes) {
		NodeProcess follower = faults.cluster().awaitSessions().awaitHeadOfQueue();
		proxy(follower).cutInNewConnections(Direction.TO_CLIENT, bytes);
		proxy(follower).reset();
		// The first new connection has hung until its timeout
		awaitOutput(follower, "Following without a session");
		proxy(follower).heal();
		faults.cluster().awaitSessions().verify();
	}

	// With a table, the message is often a renewal, which a hand-over waits for
	@AdvisoryLockOnly
	@Test
	void halfMessageOfARelease() {
		faults.run("half a message of a resignation", (leader) -> {
			leader.command("resign");
			proxy(leader).cutInMessage(Direction.TO_SERVER, 50);
		}, (outcome) -> {
			outcome.nextWithin(faults.lease().multipliedBy(2).plus(faults.takeoverDelay()));
			outcome.revoked();
			proxy(outcome.old()).heal();
		});
	}

	@AdvisoryLockOnly
	@Test
	void acceptWithoutAnswer() {
		unreachable("reset, then accepted without answer", TcpProxy::acceptWithoutAnswer);
	}

	@AdvisoryLockOnly
	@Test
	void refused() {
		unreachable("reset, then refused", TcpProxy::refuse);
	}

	/**
	 * A fault of the leader that it does not notice by itself.
	 */
	private void cutOff(String fault, Consumer<TcpProxy> cut, Duration silence) {
		faults.run(fault, (leader) -> cut.accept(proxy(leader)), (outcome) -> {
			outcome.nextWithin(silence.plus(faults.takeoverDelay()));
			outcome.steppedDownWithin(silence);
			outcome.revokedBecause("LEASE_EXPIRED");
			proxy(outcome.old()).heal();
		});
	}

	private void unreachable(String fault, Consumer<TcpProxy> welcome) {
		faults.run(fault, (leader) -> {
			welcome.accept(proxy(leader));
			proxy(leader).reset();
		}, (outcome) -> {
			outcome.nextWithin(faults.takeoverDelay());
			outcome.revokedBecause("SESSION_LOST");
			assertThat(outcome.next().node()).isNotEqualTo(outcome.old().name());
			proxy(outcome.old()).heal();
		});
	}

	private void awaitOtherSession(NodeProcess node, int pid) {
		Awaitility.await()
			.atMost(faults.lease().multipliedBy(3).plus(FaultRuns.SLACK))
			.until(() -> !faults.cluster().pids(node).contains(pid));
	}

	private void awaitOutput(NodeProcess node, String text) {
		int seen = node.output().size();
		Awaitility.await().until(() -> node.output().stream().skip(seen).anyMatch((line) -> line.contains(text)));
	}

	private static TcpProxy proxy(NodeProcess node) {
		return faults.cluster().proxy(node);
	}

}
