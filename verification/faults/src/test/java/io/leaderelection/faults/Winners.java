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

import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.List;
import java.util.Optional;

import io.leaderelection.Term;
import io.leaderelection.faults.Entry.Kind;
import io.leaderelection.faults.LockSample.Key;
import io.leaderelection.faults.LockSample.Lock;
import io.leaderelection.postgresql.ElectionKeys;
import org.awaitility.Awaitility;

/**
 * Brings a node of a cluster between its win and its grant, or just behind the latter.
 */
final class Winners {

	private final Cluster cluster;

	private Winners(Cluster cluster) {
		this.cluster = cluster;
	}

	/**
	 * Let the leader resign while a fenced transaction is under way. The target has won
	 * and waits for the end of that.
	 */
	static void atTheBarrier(FaultScene scene) throws SQLException {
		Cluster cluster = scene.cluster();
		Connection fencedTransaction = scene.closing(cluster.server().connect());
		try (Statement statement = fencedTransaction.createStatement()) {
			statement.execute("SELECT pg_advisory_lock_shared(%d)"
				.formatted(ElectionKeys.derive(cluster.group(), "default").fence()));
		}
		scene.target().command("resign");
		scene.target(cluster.awaitLocks((sample) -> sample.locks()
			.stream()
			.filter((lock) -> lock.key() == Key.FENCE && !lock.granted())
			.map(Lock::node)
			.findFirst()));
	}

	/**
	 * Let the server end the session of the leader. The target has won and waits out the
	 * delay.
	 */
	static void inTheTakeoverDelay(FaultScene scene) {
		scene.terminateSession();
		scene.target(scene.cluster().awaitHolder(scene.target()));
	}

	/**
	 * Let the leader resign. The target was granted after it.
	 */
	static void granted(FaultScene scene) {
		scene.target(scene.cluster().awaitSuccessor());
	}

	/**
	 * The same as {@link #besideTheMarker}, but the target was granted when the server
	 * had ended the session of the frozen node.
	 */
	static void grantedAfterTheResignerFroze(FaultScene scene) {
		besideTheMarker(scene);
		Term term = scene.other().last(Kind.TRUE_FROM).orElseThrow().requiredTerm();
		scene.target(scene.cluster().node(scene.cluster().awaitNext(term).node()));
	}

	/**
	 * Freeze the leader after its resignation, so that it does not close the session
	 * whose marker no successor has come for in time. The target has won meanwhile.
	 */
	static void besideTheMarker(FaultScene scene) {
		new Winners(scene.cluster()).freezeResigner(scene);
	}

	private void freezeResigner(FaultScene scene) {
		// The marker stands for a second, which a machine that stalls may miss
		for (int attempt = 0; attempt < 5; attempt++) {
			List<NodeProcess> followers = this.cluster.awaitSessions().followers();
			NodeProcess leader = this.cluster.awaitLeader();
			boolean marked = freezeBehindItsMarker(leader, followers);
			followers.forEach((follower) -> follower.signal("CONT"));
			if (marked) {
				NodeProcess winner = this.cluster.awaitHolder(leader);
				if (this.cluster.history().samples().stream().anyMatch((sample) -> wonBeside(sample, winner, leader))) {
					scene.other(leader);
					scene.target(winner);
					return;
				}
			}
			leader.signal("CONT");
		}
		throw new AssertionError("The marker of a frozen node was never seen beside a winner");
	}

	private boolean freezeBehindItsMarker(NodeProcess leader, List<NodeProcess> followers) {
		// Without a successor in the queue the marker remains for a while
		followers.forEach((follower) -> follower.signal("STOP"));
		this.cluster.awaitLocks(
				(sample) -> sample.locks().stream().anyMatch((lock) -> lock.key() == Key.MAIN && !lock.granted())
						? Optional.empty() : Optional.of(leader.name()));
		long at = System.nanoTime();
		leader.command("resign");
		LockSample sample = this.cluster.awaitSample();
		while (!marks(sample, leader) && System.nanoTime() - at < this.cluster.lease().toNanos()) {
			sample = this.cluster.awaitSample();
		}
		leader.signal("STOP");
		// Until then the server itself removes the marker when a successor comes
		// A node that was frozen too late has no session any longer
		Awaitility.await().atMost(this.cluster.lease()).until(() -> isIdle(leader));
		return marks(this.cluster.awaitSample(), leader);
	}

	private boolean isIdle(NodeProcess node) {
		return this.cluster.pids(node)
			.stream()
			.allMatch((pid) -> this.cluster.server()
				.query("SELECT state FROM pg_stat_activity WHERE pid = " + pid)
				.equals(List.of("idle")));
	}

	private static boolean wonBeside(LockSample sample, NodeProcess winner, NodeProcess resigner) {
		return sample.main().filter((lock) -> lock.node().equals(winner.name())).isPresent() && marks(sample, resigner);
	}

	/**
	 * Whether the marker of a clean release remains.
	 */
	static boolean marks(LockSample sample, NodeProcess node) {
		return sample.locks()
			.stream()
			.anyMatch((lock) -> lock.key() == Key.CLEAN && lock.granted() && lock.node().equals(node.name()));
	}

}
