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

import io.leaderelection.engine.ElectionState.Contact;
import io.leaderelection.engine.ElectionState.Problem;
import io.leaderelection.engine.StoreSession.ForeignHolder;
import io.leaderelection.engine.StoreSession.Holder;
import io.leaderelection.engine.StoreSession.View;
import org.jspecify.annotations.Nullable;

/**
 * The contact with the store: records answers and failures in the state, and logs
 * problems when they begin and when they end. A node that watches may need a connection
 * for each observation, so that a server with few free connections answers some of them
 * only. Such a problem is logged again only after some time. Confined to the election
 * thread.
 */
final class StoreContact {

	private static final long QUIET_TIME = TimeUnit.MINUTES.toNanos(10);

	private final Election election;

	private final ElectionLog log;

	private final Watchdog watchdog;

	private final Set<Integer> protocols = new HashSet<>();

	private @Nullable Problem logged;

	private long loggedAt;

	private boolean quiet;

	StoreContact(Election election, Watchdog watchdog) {
		this.election = election;
		this.log = election.log();
		this.watchdog = watchdog;
	}

	/**
	 * The store has answered.
	 * @param session the session that has received the answer, opened or not
	 * @param watching whether this node observes the election less often than a standby
	 */
	void answered(SupervisedSession session, boolean watching) {
		Contact before = this.election.state().contact();
		if (before.problem() != null && !this.quiet) {
			String message = session.isOpen() ? (before.ever() ? "Session re-established" : "Session established")
					: (before.ever() ? "Database reachable again" : "Database reachable");
			this.log.info(message + " (" + this.election + ")");
		}
		update(new Contact(this.election.nanoTime(), true, null, session.name(), watching));
		this.watchdog.report();
	}

	/**
	 * A session is to be opened: any problem remains until it is open, with its time.
	 */
	void opening() {
		Contact before = this.election.state().contact();
		boolean healthy = before.problem() == null;
		update(new Contact(healthy ? this.election.nanoTime() : before.last(), healthy || before.ever(),
				before.problem(), null, true));
	}

	/**
	 * The session has failed.
	 * @param watching whether this node observes without a session
	 * @return the problem
	 */
	Problem failed(Throwable failure, boolean watching) {
		Contact before = this.election.state().contact();
		Problem problem = new Problem(message(failure), failure instanceof UnusableStoreException);
		update(new Contact(before.last(), before.ever(), problem, null,
				before.ever() && (watching || before.watching())));
		if (!(failure instanceof SessionException)) {
			this.log.error("Unexpected failure in " + this.election + ", restarting with a new session", failure);
		}
		else if (!problem.equals(before.problem())) {
			began(problem, failure, watching);
		}
		return problem;
	}

	private void update(Contact contact) {
		this.election.apply((state, now) -> this.election.transitions().contact(state, contact));
	}

	private void began(Problem problem, Throwable failure, boolean watching) {
		long now = this.election.nanoTime();
		this.quiet = watching && problem.equals(this.logged) && now - this.loggedAt < QUIET_TIME;
		if (!this.quiet) {
			this.log.warn("Following without a session: " + explain(problem, failure) + " (" + this.election + ")");
			this.logged = problem;
			this.loggedAt = now;
		}
	}

	private static String message(Throwable failure) {
		try {
			return String.valueOf(failure.getMessage());
		}
		catch (Throwable ex) {
			return failure.getClass().getName();
		}
	}

	private static String explain(Problem problem, Throwable failure) {
		if (failure instanceof UnusableStoreException unusable) {
			return problem.message() + (problem.message().endsWith(".") ? " " : ". ") + unusable.getAction();
		}
		return problem.message();
	}

	/**
	 * Log a foreign session that was not known, and each protocol of other nodes that
	 * this node does not use, once.
	 * @param known the foreign session that was known before, or {@code null}
	 */
	void observed(View view, @Nullable ForeignHolder known) {
		ForeignHolder foreign = view.foreign();
		if (foreign != null && !foreign.equals(known)) {
			this.log.warn("The " + foreign + " (" + this.election + ")");
		}
		Holder leader = view.leader();
		if (leader != null) {
			observed(leader.nodeId(), leader.profile());
		}
		view.candidates().forEach((candidate) -> observed(candidate.nodeId(), candidate.profile()));
	}

	private void observed(String node, NodeProfile profile) {
		int own = this.election.settings().profile().protocol();
		if (profile.protocol() != 0 && profile.protocol() != own && this.protocols.add(profile.protocol())) {
			this.log.warn("Node '" + node + "' uses protocol " + profile.protocol()
					+ " of leader election, but this node uses " + own
					+ ": the notes of the newer version say whether both may run at once (" + this.election + ")");
		}
	}

}
