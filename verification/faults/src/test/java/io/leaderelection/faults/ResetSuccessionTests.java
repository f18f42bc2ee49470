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
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * A connection that is reset on both sides, which the server and the node notice at once.
 * The lease is so long that no node can have waited for its end.
 */
@AdvisoryLockOnly
@Tag("ring3")
class ResetSuccessionTests {

	private static final Duration LEASE = FaultRuns.SLACK.multipliedBy(4);

	@Test
	void reset() {
		try (FaultRuns faults = new FaultRuns(
				new Cluster(PostgreSqlServer.shared(), LEASE, Cluster.TAKEOVER_DELAY, Cluster.NO_FAST_TAKEOVER)
					.start(3))) {
			faults.run("connection reset, long lease", (leader) -> faults.cluster().proxy(leader).reset(),
					(outcome) -> {
						outcome.nextNotBeforeTakeoverDelay();
						outcome.nextWithin(faults.takeoverDelay());
						outcome.steppedDownWithin(FaultRuns.SLACK);
						outcome.revokedBecause("SESSION_LOST");
					});
		}
	}

}
