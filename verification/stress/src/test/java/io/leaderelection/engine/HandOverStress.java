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

package io.leaderelection.engine;

import java.time.Duration;

import io.leaderelection.LeadershipRevokedEvent;
import org.jspecify.annotations.Nullable;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.IZ_Result;

/**
 * A whole term: the real loop of a leader, which resigns while work begins.
 */
public final class HandOverStress {

	private static final int REFUSED = 0;

	private static final int RUNS = 1;

	private static final int NOTIFIED = 2;

	private static final int RELEASED = 3;

	private HandOverStress() {
	}

	/**
	 * No work runs once listeners are notified, or once the lock is free.
	 */
	@JCStressTest
	@Outcome(id = "0, true", expect = Expect.ACCEPTABLE, desc = "Refused")
	@Outcome(id = "1, true", expect = Expect.ACCEPTABLE, desc = "Ended before listeners were notified")
	@Outcome(id = "2, .*", expect = Expect.FORBIDDEN, desc = "Work runs although listeners were notified")
	@Outcome(id = "3, .*", expect = Expect.FORBIDDEN, desc = "Work runs although the lock is free")
	@Outcome(id = ".*, false", expect = Expect.FORBIDDEN, desc = "The lock was not freed")
	@State
	public static class WorkAndRelease implements StressElections.IdleSession {

		private final Election election = StressElections.started((event) -> {
			if (event instanceof LeadershipRevokedEvent) {
				this.notified = true;
			}
		});

		private final SupervisedSession session = new SupervisedSession(() -> this, this.election,
				new Watchdog(this.election.platform()));

		private volatile boolean notified;

		private volatile boolean released;

		@Actor
		public void lead(IZ_Result result) {
			try {
				this.session.open(() -> false);
				StoreContact contact = new StoreContact(this.election, new Watchdog(this.election.platform()));
				LeaderPhase leader = new LeaderPhase(this.election, this.session,
						new Acquisition.Won(StressElections.term(), Acquisition.Ending.CLEAN, true), contact);
				leader.awaitGrant(new FollowerPhase(this.election, () -> this, contact));
				new HandOverPhase(this.election, leader, leader.serve()).run();
			}
			catch (SessionException ex) {
				throw new IllegalStateException(ex);
			}
			result.r2 = this.released;
		}

		@Actor
		public void work(IZ_Result result) {
			try (Work work = awaitEntry()) {
				if (work != null) {
					result.r1 = this.released ? RELEASED : this.notified ? NOTIFIED : RUNS;
				}
				else {
					result.r1 = REFUSED;
				}
			}
		}

		private @Nullable Work awaitEntry() {
			Work work = this.election.gate().enter("job");
			while (work == null && !this.notified && !this.released) {
				Thread.onSpinWait();
				work = this.election.gate().enter("job");
			}
			return work;
		}

		@Override
		public Duration probe(Duration longest) {
			this.election.resign("test");
			return Duration.ofMillis(1);
		}

		@Override
		public boolean release(boolean clean) {
			this.released = true;
			return true;
		}

	}

}
