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

import java.util.HashSet;
import java.util.Set;
import java.util.concurrent.TimeUnit;

import io.leaderelection.engine.ElectionState.Problem;
import io.leaderelection.engine.StoreSession.Holder;
import io.leaderelection.engine.StoreSession.View;
import org.jspecify.annotations.Nullable;

/**
 * Logs problems with the store when they begin and when they end, and nodes that use
 * another protocol. A node that watches may need a connection for each observation, so
 * that a server with few free connections answers some of them only. Such a problem is
 * logged again only after some time. Confined to the election thread.
 */
final class ProblemLog {

	private static final long QUIET_TIME = TimeUnit.MINUTES.toNanos(10);

	private final Election election;

	private @Nullable Problem logged;

	private long loggedAt;

	private boolean quiet;

	private final Set<Integer> protocols = new HashSet<>();

	ProblemLog(Election election) {
		this.election = election;
	}

	void began(Problem problem, Throwable failure, boolean watching) {
		long now = this.election.nanoTime();
		this.quiet = watching && problem.equals(this.logged) && now - this.loggedAt < QUIET_TIME;
		if (!this.quiet) {
			this.election.log()
				.warn("Following without a session: " + explain(problem, failure) + " (" + this.election + ")");
			this.logged = problem;
			this.loggedAt = now;
		}
	}

	private static String explain(Problem problem, Throwable failure) {
		if (failure instanceof UnusableStoreException unusable) {
			return problem.message() + (problem.message().endsWith(".") ? " " : ". ") + unusable.getAction();
		}
		return problem.message();
	}

	/**
	 * Log once for each protocol of other nodes that this node does not use.
	 */
	void observed(View view) {
		Holder leader = view.leader();
		if (leader != null) {
			observed(leader.nodeId(), leader.profile());
		}
		view.candidates().forEach((candidate) -> observed(candidate.nodeId(), candidate.profile()));
	}

	private void observed(String node, NodeProfile profile) {
		int own = this.election.settings().profile().protocol();
		if (profile.protocol() != 0 && profile.protocol() != own && this.protocols.add(profile.protocol())) {
			this.election.log()
				.warn("Node '" + node + "' uses protocol " + profile.protocol()
						+ " of leader election, but this node uses " + own
						+ ": the notes of the newer version say whether both may run at once (" + this.election + ")");
		}
	}

	void ended(boolean inSession, boolean again) {
		if (!this.quiet) {
			String message = inSession ? (again ? "Session re-established" : "Session established")
					: (again ? "Database reachable again" : "Database reachable");
			this.election.log().info(message + " (" + this.election + ")");
		}
	}

}
