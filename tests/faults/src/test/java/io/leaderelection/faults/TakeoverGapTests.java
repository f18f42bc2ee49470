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
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * The one gap that the guarantees name: the server ends the session of a leader that
 * cannot be determined, and so frees the lock while the leader still trusts its lease.
 */
@AdvisoryLockOnly
@Tag("faults")
class TakeoverGapTests {

	private static final Duration LEASE = Duration.ofMillis(1500);

	private static final Duration TRUST = LEASE.multipliedBy(3).dividedBy(4);

	private static final Duration TAKEOVER_DELAY = Duration.ofMillis(100);

	private final PostgreSqlServer server = PostgreSqlServer.shared();

	@Test
	void backendTerminatedBehindAPartitionWithLongTakeoverDelay() {
		try (FaultRuns exact = new FaultRuns(new Cluster(this.server, LEASE, LEASE).start(2))) {
			exact.run("backend terminated behind a partition, takeover-delay = lease", (leader) -> {
				int pid = exact.cluster().pids(leader).get(0);
				exact.cluster().proxy(leader).blackHole();
				terminate(pid);
			}, (outcome) -> {
				outcome.nextWithin(LEASE);
				outcome.steppedDownWithin(LEASE);
				outcome.revokedBecause("LEASE_EXPIRED");
				exact.cluster().proxy(outcome.old()).heal();
			});
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

	private void terminate(int pid) {
		assertThat(this.server.query("SELECT pg_terminate_backend(" + pid + ")")).containsExactly("t");
	}

}
