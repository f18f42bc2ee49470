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

import java.util.List;

import io.leaderelection.LeadershipRevokedEvent.Reason;
import io.leaderelection.engine.ElectionStatus.Role;
import org.jspecify.annotations.Nullable;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.II_Result;

/**
 * Reads of the state without the lock, while another thread changes it.
 */
public final class StateStress {

	private static final int BEFORE = 0;

	private static final int LEADS = 1;

	private static final int AFTER = 2;

	private static final int INCOMPLETE = 3;

	private StateStress() {
	}

	/**
	 * What the status has of one state is of the same state as the rest, and it is not
	 * older than a leadership that was seen before.
	 */
	@JCStressTest
	@Outcome(id = { "0, 0", "0, 1", "0, 2", "1, 1", "1, 2", "2, 2" }, expect = Expect.ACCEPTABLE, desc = "In order")
	@Outcome(expect = Expect.FORBIDDEN, desc = "An incomplete state, or states out of order")
	@State
	public static class CompleteStatus {

		private final Election election = StressElections.elected(StressElections.NO_LISTENER);

		@Actor
		public void grantAndLose() {
			StressElections.grant(this.election);
			this.election.lose(Reason.SESSION_LOST);
		}

		@Actor
		public void read(II_Result result) {
			result.r1 = look();
			result.r2 = look();
		}

		private int look() {
			TermLeadership leadership = this.election.leadership();
			ElectionStatus status = ElectionStatus.of(this.election);
			Transition.Kind last = last(status.history());
			if (status.role() == Role.LEADER) {
				boolean complete = StressElections.term().equals(status.term()) && status.since() != null
						&& status.nodeId().equals(status.leader()) && status.leaseRemaining().toNanos() > 0;
				return (complete && last == Transition.Kind.GRANTED) ? LEADS : INCOMPLETE;
			}
			if (status.term() != null || status.leader() != null || status.leaseRemaining().toNanos() > 0) {
				return INCOMPLETE;
			}
			if (status.role() == Role.ELECTED && last == null) {
				return (leadership != null) ? INCOMPLETE : BEFORE;
			}
			// Trust ends before its transition
			return (status.role() == Role.FOLLOWER && last != null) ? AFTER : INCOMPLETE;
		}

		private static Transition.@Nullable Kind last(List<Transition> history) {
			return history.isEmpty() ? null : history.get(history.size() - 1).kind();
		}

	}

}
