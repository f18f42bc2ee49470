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

import io.leaderelection.faults.Fault.Trait;
import io.leaderelection.testsupport.Direction;
import io.leaderelection.testsupport.TcpProxy;
import org.awaitility.Awaitility;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Faults of the network between a node and the server.
 */
final class NetworkFaults extends FaultTable {

	NetworkFaults() {
		partitions();
		fault("connection reset", proxy(TcpProxy::reset), prompt(), expect(FaultScene::nextNotBeforeTakeoverDelay),
				lost(), inSoak(), resets(), ring(2, Topology.SLOW_TAKEOVER),
				ring(3, Topology.LONG_LEASE_SLOW_TAKEOVER));
		fault("connection reset, survived", proxy(TcpProxy::reset), survived(0), ring(2, Topology.TABLE));
		unreachable("reset, then refused", TcpProxy::refuse, Topology.SLOW_TAKEOVER, Topology.TABLE);
		unreachable("reset, then accepted without answer", TcpProxy::acceptWithoutAnswer, Topology.SLOW_TAKEOVER);
		halfMessages();
		slowLinks();
	}

	private void partitions() {
		link("partition, both ways", TcpProxy::blackHole, expires(), inSoak(), resets(), ring(1, Topology.LOCK),
				ring(2, Topology.TABLE));
		link("partition, to the server only", (proxy) -> proxy.blackHole(Direction.TO_SERVER), expires(), inSoak(),
				resets(), ring(2, Topology.SLOW_TAKEOVER, Topology.TABLE));
		// Confirmations get through: one more, or those until the connection is replaced
		link("partition, to the node only", (proxy) -> proxy.blackHole(Direction.TO_CLIENT), expires(1.2, 2), inSoak(),
				resets(), ring(2, Topology.SLOW_TAKEOVER, Topology.TABLE));
		hold("partition, late messages delivered afterwards", TcpProxy::hold, expires(), inSoak(),
				ring(2, Topology.SLOW_TAKEOVER), ring(3, Topology.TABLE));
		hold("partition, to the node only, late replies delivered afterwards",
				(proxy) -> proxy.hold(Direction.TO_CLIENT), expires(1.2, 2), inSoak(),
				ring(3, Topology.SLOW_TAKEOVER, Topology.TABLE));
		hold("partition for less than the trust lasts, no loss", TcpProxy::hold, survived(0.25),
				ring(2, Topology.SLOW_TAKEOVER), ring(3, Topology.TABLE));
		fault("reply of a confirmation read after a thaw", (scene) -> {
			scene.proxy().hold(Direction.TO_CLIENT);
			// By then a confirmation was sent, and its reply is held
			scene.pause(scene.lease(0.25));
			scene.target().signal("STOP");
			scene.proxy().release();
		}, healed(signal("CONT")), within(2), because("LEASE_EXPIRED"), inSoak(), ring(2, Topology.SLOW_TAKEOVER),
				ring(3, Topology.TABLE));
	}

	private void hold(String fault, Consumer<TcpProxy> injection, Trait... traits) {
		fault(fault, proxy(injection), healed(proxy(TcpProxy::release)), and(traits));
	}

	private void unreachable(String fault, Consumer<TcpProxy> welcome, Topology... topologies) {
		link(fault, (proxy) -> {
			welcome.accept(proxy);
			proxy.reset();
		}, prompt(), lost(), expect((scene) -> assertThat(scene.next().node()).isNotEqualTo(scene.target().name())),
				inSoak(), resets(), ring(2, topologies));
	}

	private void halfMessages() {
		halfMessages(Direction.TO_CLIENT, 1, 4, 100);
		halfMessages(Direction.TO_SERVER, 1, 100, 700, 720, 740, 760, 780, 800);
		halfMessagesWithTable(Direction.TO_CLIENT, 1, 100);
		halfMessagesWithTable(Direction.TO_SERVER, 1, 400, 900);
		// With a table, the message is often a renewal, which a hand-over waits for
		fault("half a message of a resignation", (scene) -> {
			scene.target().command("resign");
			scene.cutInMessage(Direction.TO_SERVER, 50);
		}, healed(proxy(TcpProxy::heal)), within(2), expect(FaultScene::revoked), ring(2, Topology.SLOW_TAKEOVER));
		ofFollower("half a notice, leader resigned", (scene) -> {
			otherProxy(scene).cutInMessage(Direction.TO_CLIENT, 3);
			scene.cluster().server().execute("NOTIFY leader_election, 'unknown'");
			scene.target().command("resign");
		}, handedOver("RESIGNED"), ring(2, Topology.TABLE));
		halfMessageOfWaitingFollower(Direction.TO_CLIENT, 3);
		halfMessageOfWaitingFollower(Direction.TO_SERVER, 10);
		for (int bytes : new int[] { 9, 400 }) {
			ofFollower(bytes + " bytes of a message while a session opens", (scene) -> {
				otherProxy(scene).cutInNewConnections(Direction.TO_CLIENT, bytes);
				otherProxy(scene).reset();
				// The first new connection has hung until its timeout
				scene.other().awaitStatus((status) -> !status.contains("problem=null"));
			}, survived(0), ring(3, Topology.SLOW_TAKEOVER));
		}
	}

	private void halfMessages(Direction direction, int... bytes) {
		for (int each : bytes) {
			// A soak chooses the number of bytes, so that it needs one row
			fault("half a message of a confirmation, " + direction + " " + each,
					(scene) -> scene.cutInMessage(direction, each), healed(proxy(TcpProxy::heal)), expires(1.2, 2),
					(fault) -> fault.inSoak = each == bytes[0], resets(), ring(3, Topology.SLOW_TAKEOVER));
		}
	}

	private void halfMessagesWithTable(Direction direction, int... bytes) {
		for (int each : bytes) {
			link("half a message of a renewal, " + direction + " " + each,
					(proxy) -> proxy.cutInMessage(direction, each), survived(0.25), ring(3, Topology.TABLE));
		}
	}

	private void halfMessageOfWaitingFollower(Direction direction, int bytes) {
		ofFollower("half a message of a follower that waits, " + direction, (scene) -> {
			int pid = scene.cluster().pids(scene.other()).get(0);
			otherProxy(scene).cutInMessage(direction, bytes);
			Awaitility.await()
				.atMost(scene.lease(3).plus(FaultRuns.SLACK))
				.until(() -> !scene.cluster().pids(scene.other()).contains(pid));
		}, survived(0), ring(3, Topology.SLOW_TAKEOVER));
	}

	/**
	 * A fault of a follower, the next one to lead if there is a queue.
	 */
	private void ofFollower(String fault, Step<FaultScene> injection, Trait... traits) {
		fault(fault, injection, arranged((scene) -> {
			Cluster cluster = scene.cluster().awaitSessions();
			scene.other(cluster.isTable() ? cluster.followers().get(0) : cluster.awaitHeadOfQueue());
		}), healed((scene) -> otherProxy(scene).heal()), and(traits),
				expect((scene) -> scene.cluster().awaitSessions()));
	}

	private static TcpProxy otherProxy(FaultScene scene) {
		return scene.cluster().proxy(scene.other());
	}

	private void slowLinks() {
		fault("slow link, a round trip takes a fifth of the lease", (scene) -> {
			Duration tenth = scene.some(scene.lease(0.1));
			scene.proxy().delay(tenth, tenth);
		}, survived(2), healed(proxy(NetworkFaults::hurry)), inSoak(), ring(2, Topology.SLOW_TAKEOVER),
				ring(3, Topology.TABLE));
		fault("slow link, a round trip takes longer than the lease",
				(scene) -> scene.proxy().delay(scene.lease(0.6), scene.lease(0.6)), healed(proxy(NetworkFaults::hurry)),
				within(2), because("LEASE_EXPIRED"), ring(2, Topology.SLOW_TAKEOVER), ring(3, Topology.TABLE));
	}

	private static void hurry(TcpProxy proxy) {
		proxy.delay(Duration.ZERO, Duration.ZERO);
	}

}
