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
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * Faults that the server or the node notices at once. The lease is so long that no node
 * can have waited for its end.
 */
@AdvisoryLockOnly
@Tag("ring3")
class PromptSuccessionTests {

	private static final Duration LEASE = FaultRuns.SLACK.multipliedBy(4);

	@AutoClose
	private static FaultRuns faults;

	@BeforeAll
	static void startNodes() {
		faults = new FaultRuns(new Cluster(PostgreSqlServer.shared(), LEASE, Cluster.TAKEOVER_DELAY).start(3));
	}

	@Test
	void killed() {
		faults.run("leader killed (kill -9), long lease", (leader) -> leader.signal("KILL"), (outcome) -> {
			outcome.nextWithin(faults.takeoverDelay());
			outcome.replaceOld();
		});
	}

	@Test
	void resigned() {
		faults.run("leader resigned, long lease", (leader) -> leader.command("resign"),
				(outcome) -> outcome.nextWithin(Duration.ZERO));
	}

	@Test
	void terminatedBackend() {
		faults.run("backend of the leader terminated, long lease",
				(leader) -> faults.cluster()
					.server()
					.execute("SELECT pg_terminate_backend(" + faults.cluster().pids(leader).get(0) + ")"),
				(outcome) -> {
					outcome.nextWithin(faults.takeoverDelay());
					outcome.steppedDownWithin(FaultRuns.SLACK);
					outcome.revokedBecause("SESSION_LOST");
				});
	}

}
