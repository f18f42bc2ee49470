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

import io.leaderelection.testsupport.PostgreSqlServer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * One failover of each kind, and what else happens to a process that leads.
 */
@Tag("ring1")
class LeaderFaultTests {

	@AutoClose
	private static FaultRuns faults;

	private ServerLog log;

	@BeforeAll
	static void startNodes() {
		faults = new FaultRuns(
				new Cluster(PostgreSqlServer.shared(), Cluster.LEASE, Cluster.DEFAULT_TAKEOVER_DELAY).start(3));
	}

	@BeforeEach
	void markLog() {
		this.log = new ServerLog(PostgreSqlServer.shared());
	}

	@AfterEach
	void verifyLog() {
		this.log.verifyOneLinePerDeadSession();
	}

	@Test
	void killed() {
		faults.run("leader killed (kill -9)", (leader) -> leader.signal("KILL"), (outcome) -> {
			outcome.nextWithin(faults.takeoverDelay());
			outcome.replaceOld();
		});
	}

	@Test
	void terminated() {
		faults.run("leader terminated (SIGTERM)", (leader) -> leader.signal("TERM"), (outcome) -> {
			outcome.nextWithin(Duration.ZERO);
			outcome.revokedBecause("STOPPED");
			outcome.replaceOld();
		});
		this.log.verifyQuiet();
	}

	@Test
	void partition() {
		faults.run("partition, both ways", (leader) -> faults.cluster().proxy(leader).blackHole(), (outcome) -> {
			outcome.nextWithin(faults.lease().plus(faults.takeoverDelay()));
			outcome.steppedDownWithin(faults.lease());
			outcome.revokedBecause("LEASE_EXPIRED");
			faults.cluster().proxy(outcome.old()).heal();
		});
	}

	@AdvisoryLockOnly
	@Test
	void backendTerminated() {
		faults.run("backend of the leader terminated",
				(leader) -> PostgreSqlServer.shared()
					.execute("SELECT pg_terminate_backend(" + faults.cluster().pids(leader).get(0) + ")"),
				(outcome) -> {
					outcome.nextWithin(faults.takeoverDelay());
					outcome.revokedBecause("SESSION_LOST");
					outcome.steppedDownWithin(faults.lease());
				});
	}

	@Test
	@Tag("ring2")
	void resigned() {
		faults.run("leader resigned", (leader) -> leader.command("resign"), (outcome) -> {
			outcome.nextWithin(Duration.ZERO);
			outcome.revokedBecause("RESIGNED");
		});
		this.log.verifyQuiet();
	}

	@Test
	@Tag("ring2")
	void askedToResignByAFollower() {
		faults.run("leader resigned at the request of a follower", (leader) -> {
			NodeProcess follower = faults.cluster().followers().get(0);
			// A request names the term of the leader that the follower has observed last
			follower.awaitObserved(leader);
			follower.command("request");
		}, (outcome) -> {
			outcome.nextWithin(faults.lease());
			outcome.revokedBecause("RESIGNED");
		});
	}

	@Test
	void frozenForLongerThanTheLease() {
		faults.run("leader frozen for longer than the lease, thawed", (leader) -> leader.signal("STOP"), (outcome) -> {
			outcome.nextWithin(faults.lease().plus(faults.takeoverDelay()));
			outcome.old().signal("CONT");
			outcome.revokedBecause("LEASE_EXPIRED");
		});
	}

	@Test
	@Tag("ring2")
	void frozenForLessThanItsTrust() throws Exception {
		faults.runWithoutSuccession("leader frozen for less than its trust", (leader) -> {
			leader.signal("STOP");
			Thread.sleep(faults.lease().toMillis() / 4);
			leader.signal("CONT");
		});
	}

}
