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
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * A leader that was killed needs no takeover delay, which is so long here that nothing
 * else takes as long.
 */
@AdvisoryLockOnly
@Tag("ring2")
class FastTakeoverTests {

	private static final Duration TAKEOVER_DELAY = FaultRuns.SLACK;

	private static final Duration LEASE = TAKEOVER_DELAY.multipliedBy(4);

	private static final int MOST_TRIES = 5;

	private final PostgreSqlServer server = PostgreSqlServer.shared();

	@Test
	void killedLeaderIsSucceededWithoutTheTakeoverDelay() {
		Assumptions.assumeTrue(this.server.countsEndings(), "There is no fast takeover");
		try (Cluster cluster = new Cluster(this.server, LEASE, TAKEOVER_DELAY).start(2)) {
			int tries = 1;
			while (kill(cluster).compareTo(TAKEOVER_DELAY) >= 0) {
				// Another session has ended meanwhile, or the follower was between two
				// waits
				assertThat(tries++).as(cluster::describe).isLessThan(MOST_TRIES);
			}
			cluster.stopAndVerify();
		}
	}

	/**
	 * Kill a leader.
	 * @return the time until the next one leads
	 */
	private static Duration kill(Cluster cluster) {
		NodeProcess leader = cluster.awaitExaminableLeader();
		Term term = leader.last(Kind.TRUE_FROM).orElseThrow().requiredTerm();
		long at = System.nanoTime();
		leader.signal("KILL");
		Duration elapsed = Duration.ofNanos(cluster.awaitNext(term).time() - at);
		cluster.replace(leader);
		return elapsed;
	}

}
