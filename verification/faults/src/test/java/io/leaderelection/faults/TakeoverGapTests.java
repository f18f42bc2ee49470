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

import io.leaderelection.Term;
import io.leaderelection.faults.Entry.Kind;
import io.leaderelection.testsupport.PostgreSqlServer;
import io.leaderelection.testsupport.TcpProxy;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * The one gap that the guarantees name: the server ends the session of a leader that
 * cannot notice it, and so frees the lock while the leader still trusts its lease.
 */
@AdvisoryLockOnly
@Tag("ring3")
class TakeoverGapTests {

	private static final Duration LEASE = Duration.ofMillis(1500);

	private static final Duration TRUST = LEASE.multipliedBy(3).dividedBy(4);

	private static final Duration TAKEOVER_DELAY = Duration.ofMillis(100);

	/** Longer than a leader takes to confirm again, and shorter than the lease. */
	private static final Duration LONG_TAKEOVER_DELAY = LEASE.multipliedBy(2).dividedBy(3);

	private static final int MOST_TRIES = 10;

	private final PostgreSqlServer server = PostgreSqlServer.shared();

	@Test
	void backendTerminatedBehindAPartitionWithLongTakeoverDelay() {
		try (FaultRuns exact = new FaultRuns(new Cluster(this.server, LEASE, LEASE).start(2))) {
			exact.run(new Fault("backend terminated behind a partition, takeover-delay = lease", (scene) -> {
				int pid = scene.cluster().pids(scene.target()).get(0);
				scene.proxy().blackHole();
				terminate(pid);
			}, FaultTable.healed(FaultTable.proxy(TcpProxy::heal)), FaultTable.within(0),
					FaultTable.expect((scene) -> scene.steppedDownWithin(LEASE)), FaultTable.because("LEASE_EXPIRED")));
		}
	}

	@Test
	void backendTerminatedBehindAPartition() {
		try (Cluster cluster = new Cluster(this.server, LEASE, TAKEOVER_DELAY).start(2)) {
			NodeProcess old = cluster.awaitSessions().awaitLeader();
			Term term = old.last(Kind.TRUE_FROM).orElseThrow().requiredTerm();
			int pid = cluster.pids(old).get(0);
			cluster.proxy(old).blackHole();
			long at = System.nanoTime();
			terminate(pid);
			Entry next = cluster.awaitNext(term);
			Entry lastTrue = old.await(Kind.TRUE_UNTIL, term);
			assertThat(Duration.ofNanos(next.time() - at)).isLessThan(TAKEOVER_DELAY.plus(FaultRuns.SLACK));
			assertThat(Duration.ofNanos(lastTrue.time() - at)).isLessThan(TRUST);
			assertThat(Duration.ofNanos(lastTrue.time() - next.time())).isLessThan(TRUST.minus(TAKEOVER_DELAY));
			assertThat(old.await(Kind.REVOKED, term).details()).isEqualTo("LEASE_EXPIRED");
			// Two leaders are the gap; nothing else goes wrong
			assertThat(cluster.check().violations()).allMatch((violation) -> violation.guarantee().startsWith("G2"));
		}
	}

	/**
	 * The server cannot tell such a connection from one that the leader has closed.
	 */
	@Test
	void connectionThatOnlyTheServerSawReset() {
		Assumptions.assumeTrue(this.server.countsEndings(), "There is no fast takeover");
		try (Cluster cluster = new Cluster(this.server, LEASE, LONG_TAKEOVER_DELAY).start(2)) {
			int tries = 1;
			while (!leadsBesideTheNext(cluster)) {
				// Another session has ended meanwhile, or the old leader was about to
				// confirm
				assertThat(tries++).isLessThan(MOST_TRIES);
			}
			assertThat(cluster.check().violations()).isNotEmpty()
				.allMatch((violation) -> violation.guarantee().startsWith("G2"));
		}
	}

	private static boolean leadsBesideTheNext(Cluster cluster) {
		NodeProcess old = cluster.awaitExaminableLeader();
		Term term = old.last(Kind.TRUE_FROM).orElseThrow().requiredTerm();
		long at = System.nanoTime();
		cluster.proxy(old).resetServer();
		Entry next = cluster.awaitNext(term);
		Entry lastTrue = old.await(Kind.TRUE_UNTIL, term);
		assertThat(Duration.ofNanos(lastTrue.time() - at)).isLessThan(TRUST);
		assertThat(old.await(Kind.REVOKED, term).details()).isEqualTo("SESSION_LOST");
		return lastTrue.time() >= next.time();
	}

	/**
	 * What the documentation demands where there is a proxy for TCP.
	 */
	@Test
	void connectionResetWhileTheLeaderDoesNotRun() {
		try (FaultRuns slow = new FaultRuns(
				new Cluster(this.server, LEASE, LONG_TAKEOVER_DELAY, Cluster.NO_FAST_TAKEOVER).start(2))) {
			slow.run(new Fault("connection reset while the leader does not run, without fast takeover", (scene) -> {
				scene.target().signal("STOP");
				try {
					scene.proxy().reset();
					scene.cluster().awaitHolder(scene.target());
				}
				finally {
					scene.target().signal("CONT");
				}
			}, FaultTable.expect(FaultScene::nextNotBeforeTakeoverDelay), FaultTable.within(0),
					FaultTable.because("SESSION_LOST")));
		}
	}

	private void terminate(int pid) {
		assertThat(this.server.query("SELECT pg_terminate_backend(" + pid + ")")).containsExactly("t");
	}

}
