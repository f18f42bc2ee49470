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
import java.time.Duration;
import java.util.List;
import java.util.function.BiConsumer;

import io.leaderelection.Term;
import io.leaderelection.faults.Entry.Kind;
import io.leaderelection.faults.Fault.Trait;
import io.leaderelection.postgresql.ElectionKeys;
import io.leaderelection.testsupport.PostgreSqlServer;
import io.leaderelection.testsupport.TcpProxy;
import org.awaitility.Awaitility;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Faults of a node that is about to lead: at the head of the queue, between its win and
 * its grant, and just after. The takeover delay is long, so that no node that is exempted
 * from it goes unnoticed. Also those of the only standby.
 */
final class TakeoverFaults extends FaultTable {

	TakeoverFaults() {
		headOfTheQueue();
		winner("killed", 2, signal("KILL"), neverGranted(0), replaced());
		winner("stopped", 3, command("stop"), neverGranted(0),
				expect((scene) -> scene.target().await(Kind.STOPPED, scene.at())), replaced());
		winner("resigns", 3, command("resign"), neverGranted(0),
				expect((scene) -> assertThat(scene.target().isAlive()).isTrue()));
		winner("frozen, later thawed", 3, signal("STOP"), healed(signal("CONT")), neverGranted(1));
		fault("successor of a clean release killed when it was granted", signal("KILL"), arranged(Winners::granted),
				within(0), expect(FaultScene::nextNotBeforeTakeoverDelay), replaced(),
				ring(3, Topology.LONG_TAKEOVER_DELAY));
		fault("resigner frozen behind its marker, its successor killed when it was granted", signal("KILL"),
				arranged(Winners::grantedAfterTheResignerFroze), thawed(), within(0),
				expect(FaultScene::nextNotBeforeTakeoverDelay), replaced(), ring(3, Topology.LONG_TAKEOVER_DELAY));
		// No node was granted since the resignation, so none need be waited for
		fault("resigner frozen behind its marker, the winner killed beside it", signal("KILL"),
				arranged(Winners::besideTheMarker), thawed(), expect((scene) -> scene.nextWithin(scene.lease(1))),
				expect((scene) -> neverGranted(scene, scene.other(), scene.next().time())), replaced(),
				ring(3, Topology.LONG_TAKEOVER_DELAY));
		granted("times out",
				(server, pid) -> awaitTrue(server, onSession("clock_timestamp() - query_start > '900ms'", pid)));
		granted("is cancelled", (server, pid) -> server.query("SELECT pg_cancel_backend(" + pid + ")"));
		fault("leader killed, an earlier term has not ended", TakeoverFaults::killBesideEarlierTerm, replaced(),
				ring(3, Topology.WRITES));
		standby("frozen", signal("STOP"), signal("CONT"));
		standby("killed", signal("KILL"), (scene) -> scene.cluster().replace(scene.target()));
		standby("cut off", proxy(TcpProxy::blackHole), proxy(TcpProxy::heal));
	}

	private void headOfTheQueue() {
		fault("leader and head of the queue killed", (scene) -> {
			scene.other(scene.cluster().awaitHeadOfQueue()).signal("KILL");
			scene.target().signal("KILL");
		}, within(0), expect((scene) -> {
			assertThat(scene.next().node()).isNotEqualTo(scene.other().name());
			scene.cluster().replace(scene.target(), scene.other());
		}), ring(3, Topology.LONG_TAKEOVER_DELAY));
		fault("leader killed, head of the queue frozen, later thawed", (scene) -> {
			scene.other(scene.cluster().awaitHeadOfQueue()).signal("STOP");
			scene.target().signal("KILL");
			// Its session has won, and no thread reads that it has
			assertThat(scene.cluster().awaitHolder(scene.target())).isSameAs(scene.other());
		}, thawed(), within(1), expect((scene) -> {
			scene.other().await(Kind.SAMPLES, System.nanoTime());
			assertThat(scene.other().find(Kind.TRUE_FROM, scene.at())).isEmpty();
		}), replaced(), ring(3, Topology.LONG_TAKEOVER_DELAY));
	}

	private static Trait thawed() {
		return healed((scene) -> scene.other().signal("CONT"));
	}

	private void winner(String fault, int ringInTheDelay, Step<FaultScene> injection, Trait... traits) {
		fault("winner " + fault + ", at the barrier", (scene) -> {
			injection.take(scene);
			scene.cluster().awaitHolder(scene.target());
			// Opens the barrier
			scene.close();
		}, arranged(Winners::atTheBarrier), and(traits), ring(3, Topology.LONG_TAKEOVER_DELAY));
		fault("winner " + fault + ", in the takeover delay", injection, arranged(Winners::inTheTakeoverDelay),
				and(traits), ring(ringInTheDelay, Topology.LONG_TAKEOVER_DELAY));
	}

	/**
	 * The winner that was hit was never granted and left no marker, so that the next
	 * winner has waited out the delay.
	 */
	private static Trait neverGranted(double leases) {
		return and(expect(FaultScene::nextNotBeforeTakeoverDelay), within(leases),
				expect((scene) -> neverGranted(scene, scene.target(), scene.at())));
	}

	private static void neverGranted(FaultScene scene, NodeProcess marker, long since) {
		assertThat(scene.target().find(Kind.TRUE_FROM, scene.at())).isEmpty();
		assertThat(scene.cluster().history().samples())
			.noneMatch((sample) -> sample.before() > since && Winners.marks(sample, marker));
	}

	/**
	 * Free the lock while the session that waits for it is stopped, so that it finds both
	 * the grant and what is to end its wait.
	 */
	private void granted(String end, BiConsumer<PostgreSqlServer, Integer> ending) {
		fault("leader killed, lock granted as the wait for it " + end, (scene) -> {
			PostgreSqlServer server = scene.cluster().server();
			NodeProcess follower = scene.other(scene.cluster().awaitHeadOfQueue());
			int pid = scene.cluster().pids(follower).get(0);
			// So that the node learns late how the wait ended
			scene.cluster().proxy(follower).delay(Duration.ZERO, Duration.ofMillis(500));
			// Young enough not to time out before a cancel
			awaitTrue(server, onSession("wait_event = 'advisory' AND clock_timestamp() - query_start < '300ms'", pid));
			server.signalBackend(pid, "STOP");
			scene.target().signal("KILL");
			awaitTrue(server, """
					SELECT count(*) > 0 FROM pg_locks
					WHERE locktype = 'advisory' AND granted AND mode = 'ExclusiveLock' AND pid = %d
					""".formatted(pid));
			ending.accept(server, pid);
			server.signalBackend(pid, "CONT");
		}, healed((scene) -> scene.cluster().proxy(scene.other()).delay(Duration.ZERO, Duration.ZERO)), replaced(),
				ring(3, Topology.WRITES));
	}

	/**
	 * A session that ends frees its locks one by one: this one is stuck on the way. Its
	 * term is later than that of the leader, who is not to blame for it.
	 */
	private static void killBesideEarlierTerm(FaultScene scene) throws SQLException {
		Cluster cluster = scene.cluster();
		NodeProcess follower = cluster.awaitHeadOfQueue();
		Term term = cluster.newestTerm();
		int termClass = ElectionKeys.derive(cluster.group(), "default").termClass();
		try (Connection dying = cluster.server().connect(); Statement statement = dying.createStatement()) {
			statement.execute("SELECT pg_advisory_lock(%d, (pg_current_xact_id()::text::bigint & 2147483647)::int)"
				.formatted(termClass));
			scene.target().signal("KILL");
			follower.awaitStatus((status) -> status.contains("blockedBy=session with pid"));
			Awaitility.await().during(Duration.ofSeconds(1)).until(() -> cluster.newestTerm().equals(term));
			cluster.awaitSample();
		}
	}

	private static String onSession(String condition, int pid) {
		return "SELECT " + condition + " FROM pg_stat_activity WHERE pid = " + pid;
	}

	private static void awaitTrue(PostgreSqlServer server, String sql) {
		Awaitility.await().until(() -> server.query(sql).equals(List.of("t")));
	}

	/**
	 * A fault of the standby: a watcher takes its seat, and leads if the leader is killed
	 * too.
	 */
	private void standby(String fault, Step<FaultScene> injection, Step<FaultScene> repair) {
		fault("standby " + fault, (scene) -> {
			Cluster cluster = scene.cluster();
			injection.take(scene);
			Awaitility.await()
				.atMost(cluster.longestWatch().plus(FaultRuns.SLACK))
				.until(() -> cluster.followers()
					.stream()
					.anyMatch((node) -> node != scene.target() && cluster.pids(node).size() == 1));
			// A session that ends frees its seat before it is gone
			Awaitility.await().until(() -> cluster.pids(scene.target()).isEmpty());
		}, arranged(TakeoverFaults::toStandby), healed(repair), survived(0), ring(3, Topology.ONE_STANDBY));
		fault("leader killed, standby " + fault, (scene) -> {
			injection.take(scene);
			scene.other().signal("KILL");
		}, arranged(TakeoverFaults::toStandby), healed(repair), expect((scene) -> {
			scene.nextWithin(scene.cluster().longestWatch().plus(scene.cluster().takeoverDelay()));
			assertThat(scene.next().node()).isNotEqualTo(scene.target().name());
			scene.cluster().replace(scene.other());
		}), ring(3, Topology.ONE_STANDBY));
	}

	/**
	 * Make the only follower with a session the target.
	 */
	private static void toStandby(FaultScene scene) {
		Cluster cluster = scene.cluster().awaitSessions();
		scene.other(scene.target());
		scene.target(cluster.followers()
			.stream()
			.filter((node) -> cluster.pids(node).size() == 1)
			.findFirst()
			.orElseThrow());
	}

}
