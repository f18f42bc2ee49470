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

package io.leaderelection.cli;

import java.io.IOException;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

import io.leaderelection.Leadership;
import io.leaderelection.engine.ElectionStatus;
import org.jspecify.annotations.Nullable;

/**
 * Checks an election of two nodes: take-over after the abrupt end of the leader, orderly
 * hand-over, and the fence.
 */
final class ElectionCheck {

	private final Target target;

	private final Options options;

	private final Report report;

	private final boolean fast;

	/**
	 * Create a new {@code ElectionCheck} instance.
	 * @param target the database
	 * @param options how to verify it
	 * @param report receives the results
	 * @param fast whether a takeover is fast
	 */
	ElectionCheck(Target target, Options options, Report report, boolean fast) {
		this.target = target;
		this.options = options;
		this.report = report;
		this.fast = fast;
	}

	/**
	 * Run the check.
	 * @param connection a connection to the same database
	 */
	void run(Connection connection) throws VerificationException, InterruptedException {
		try (Node first = start("node-1")) {
			first.awaitLeadership(this.options.patience());
			Leadership leadership = first.elector().getLeadership();
			this.report.ok("election",
					"a node leads" + ((leadership != null) ? " in term " + leadership.getTerm() : ""));
			try (Node second = start("node-2")) {
				boolean visible = visibility(first, second);
				FenceCheck fence = new FenceCheck(connection, this.report);
				fence.presentTerm(first);
				takeOver(first, second, fence);
				handOver(second, first, visible);
			}
		}
		catch (SQLException | IOException ex) {
			throw VerificationException.of("election", ex);
		}
	}

	private Node start(String id) throws VerificationException {
		try {
			return Node.start(id, this.target, this.options, this.fast);
		}
		catch (RuntimeException ex) {
			throw VerificationException.of("election", ex);
		}
	}

	private boolean visibility(Node leader, Node follower) throws InterruptedException {
		boolean visible = awaitCandidates(leader) && leader.id().equals(follower.status().leader());
		if (visible) {
			this.report.ok("visibility", "each node sees the other one and its name");
		}
		else {
			this.report.note("visibility",
					"nodes do not see each other in pg_stat_activity: health and endpoint cannot show leader and candidates");
		}
		return visible;
	}

	/**
	 * Wait until a leader knows that there is another candidate.
	 */
	private boolean awaitCandidates(Node leader) throws InterruptedException {
		long deadline = System.nanoTime() + this.options.patience().toNanos();
		while (leader.status().candidates().size() < 2) {
			if (System.nanoTime() > deadline) {
				return false;
			}
			Thread.sleep(20);
		}
		return true;
	}

	private void takeOver(Node leader, Node follower, FenceCheck fence)
			throws VerificationException, InterruptedException, IOException, SQLException {
		Duration limit = this.options.patience();
		FenceCheck.Late late = fence.begin(leader, limit);
		try {
			long start = System.nanoTime();
			leader.network().cut();
			long end = follower.awaitLeadership(limit);
			checkSingle(leader, follower);
			takenOver(end - start);
			fence.formerTerm(late, limit);
		}
		finally {
			leader.network().restore();
			late.release().countDown();
		}
	}

	private void takenOver(long nanos) {
		this.report.ok("take-over",
				"the other node led " + Milliseconds.print(nanos) + " after the connection of the leader was reset");
		if (!this.options.isTable() && nanos > this.options.lease().toNanos() / 2) {
			this.report.note("take-over",
					"the server has not noticed the end of the connection at once, probably because of a proxy in between: a "
							+ "take-over after a crash can take as long as the lease");
		}
	}

	private void checkSingle(Node former, Node leader) throws VerificationException {
		if (former.elector().isLeader() && leader.elector().isLeader()) {
			throw new VerificationException("election",
					"Two leaders: " + leader.id() + " leads, while " + former.id()
							+ " still trusts its leadership. Do not use this database for elections, and report this.",
					null);
		}
	}

	private void handOver(Node leader, Node follower, boolean visible)
			throws VerificationException, InterruptedException {
		long restored = System.nanoTime();
		if (!follower.awaitContact(restored, this.options.patience())) {
			ElectionStatus status = follower.status();
			throw VerificationException.of("hand-over",
					"The node that was cut off is no candidate again: " + status.problem(), status);
		}
		if (visible) {
			awaitCandidates(leader);
		}
		long start = System.nanoTime();
		Boolean freed = resign(leader);
		if (!Boolean.TRUE.equals(freed)) {
			throw VerificationException.of("hand-over", "The leader could not free the lock when it resigned.",
					leader.status());
		}
		if (!visible && !follower.elector().awaitLeadership(this.options.patience())) {
			this.report.note("hand-over",
					"the node that resigned leads again: it resumes its candidacy at once, since it does not see the other one");
			return;
		}
		long end = follower.awaitLeadership(this.options.patience());
		checkSingle(leader, follower);
		this.report.ok("hand-over",
				"the other node led " + Milliseconds.print(end - start) + " after the leader resigned");
	}

	private @Nullable Boolean resign(Node leader) throws InterruptedException {
		try {
			return leader.elector().resign().get(this.options.patience().toMillis(), TimeUnit.MILLISECONDS);
		}
		catch (ExecutionException | TimeoutException ex) {
			return null;
		}
	}

}
