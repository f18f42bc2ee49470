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
import io.leaderelection.faults.FaultRuns.Outcome;
import io.leaderelection.faults.FaultRuns.Step;
import io.leaderelection.faults.FencedWriter.Place;
import io.leaderelection.testsupport.Direction;
import io.leaderelection.testsupport.PostgreSqlServer;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Faults of a leader in the middle of a fenced transaction. Network faults hit the
 * transaction as well as the session of the election.
 */
@Tag("ring2")
class FenceFaultTests {

	private static final PostgreSqlServer server = PostgreSqlServer.shared();

	@AutoClose
	private static FaultRuns faults;

	private Entry held;

	@BeforeAll
	static void startNodes() {
		faults = new FaultRuns(
				new Cluster(server, Cluster.LEASE, Cluster.TAKEOVER_DELAY).withWritesThroughProxies().start(3));
	}

	@Test
	void killedBetweenFenceAndCommit() {
		run("leader killed (kill -9) between fence and commit", Place.AFTER_FENCE, (leader) -> leader.signal("KILL"),
				(outcome) -> {
					outcome.nextWithin(faults.takeoverDelay());
					assertThat(faults.cluster().isCommitted(this.held)).isFalse();
					outcome.replaceOld();
				});
	}

	@Test
	void frozenBetweenFenceAndCommit() {
		run("leader frozen between fence and commit, thawed", Place.AFTER_FENCE, (leader) -> leader.signal("STOP"),
				(outcome) -> {
					outcome.nextWithin(faults.lease().plus(faults.takeoverDelay()));
					outcome.old().signal("CONT");
					assertThat(release(outcome)).doesNotEndWith(" committed");
					outcome.revokedBecause("LEASE_EXPIRED");
				});
	}

	@Test
	@Tag("ring3")
	void frozenBeforeTheFence() {
		run("leader frozen before the fence, thawed", Place.BEFORE_FENCE, (leader) -> leader.signal("STOP"),
				(outcome) -> {
					outcome.nextWithin(faults.lease().plus(faults.takeoverDelay()));
					outcome.old().signal("CONT");
					assertThat(release(outcome)).endsWith(" LeadershipLostException");
					outcome.revokedBecause("LEASE_EXPIRED");
				});
	}

	@Test
	@Tag("ring3")
	void partitionedBetweenFenceAndCommit() {
		run("leader partitioned between fence and commit", Place.AFTER_FENCE, (leader) -> {
			faults.cluster().proxy(leader).blackHole();
			leader.command("release");
		}, (outcome) -> {
			outcome.nextWithin(faults.lease().plus(faults.takeoverDelay()));
			faults.cluster().proxy(outcome.old()).heal();
			assertThat(ended(outcome)).doesNotEndWith(" committed");
			outcome.revokedBecause("LEASE_EXPIRED");
		});
	}

	@Test
	@Tag("ring3")
	void commitDeliveredAfterAPartition() {
		run("leader partitioned between fence and commit, late commit delivered afterwards", Place.AFTER_FENCE,
				(leader) -> {
					faults.cluster().proxy(leader).hold();
					leader.command("release");
				}, (outcome) -> {
					outcome.nextWithin(faults.lease().plus(faults.takeoverDelay()));
					faults.cluster().proxy(outcome.old()).release();
					assertThat(ended(outcome)).doesNotEndWith(" committed");
					outcome.revokedBecause("LEASE_EXPIRED");
				});
	}

	/**
	 * Half of the first message of a commit. Between that and the next ones no timeout of
	 * the server runs, as long as it has not all of them: then the next leader waits, and
	 * says so, until the connection ends.
	 */
	@AdvisoryLockOnly
	@ParameterizedTest
	@Tag("ring3")
	@ValueSource(ints = { 1, 12, 20, 24 })
	void halfOfACommit(int bytes) {
		run("half of a commit", Place.AFTER_FENCE, (leader) -> {
			faults.cluster().proxy(leader).cutInMessage(Direction.TO_SERVER, bytes);
			leader.command("release");
		}, (outcome) -> {
			outcome.nextWithin(faults.lease().plus(faults.takeoverDelay()));
			faults.cluster().proxy(outcome.old()).heal();
			assertThat(ended(outcome)).doesNotEndWith(" committed");
			outcome.revokedBecause("LEASE_EXPIRED");
		});
	}

	@AdvisoryLockOnly
	@Test
	@Tag("ring3")
	void backendTerminatedBeforeTheFence() {
		run("backend of the leader terminated before the fence", Place.BEFORE_FENCE,
				(leader) -> terminate(faults.cluster(), leader), (outcome) -> {
					outcome.nextWithin(faults.takeoverDelay());
					assertThat(release(outcome)).endsWith(" LeadershipLostException");
					outcome.revokedBecause("SESSION_LOST");
				});
	}

	/**
	 * A transaction that has passed the fence and is busy commits, and the next leader
	 * waits for it and says so.
	 */
	@AdvisoryLockOnly
	@Test
	@Tag("ring3")
	void busyBetweenFenceAndCommit() {
		run("backend of the leader terminated while a fenced transaction is busy", Place.BUSY_AFTER_FENCE, (leader) -> {
			Term term = this.held.requiredTerm();
			terminate(faults.cluster(), leader);
			NodeProcess winner = faults.cluster().awaitHolder(leader);
			String blocker = "the transaction of the session with pid " + this.held.details().split(" ")[1];
			Awaitility.await().atMost(FaultRuns.SLACK).until(() -> blockedBy(winner).contains(blocker));
			Awaitility.await()
				.atMost(FaultRuns.SLACK)
				.until(() -> winner.output()
					.stream()
					.anyMatch((line) -> line.contains("WARN")
							&& line.contains("but an earlier term has not ended, waiting for " + blocker)));
			assertThat(leader.find(Kind.HELD_ENDED, term)).isEmpty();
			assertThat(faults.cluster().newestTerm()).isEqualTo(term);
		}, (outcome) -> {
			Entry ended = outcome.old().await(Kind.HELD_ENDED, this.held.requiredTerm());
			assertThat(ended.details()).endsWith(" committed");
			assertThat(Duration.ofNanos(outcome.next().time() - this.held.time())).isGreaterThan(FencedWriter.BUSY);
			assertThat(faults.cluster().isCommitted(this.held)).isTrue();
			outcome.revokedBecause("SESSION_LOST");
		});
	}

	private void run(String fault, Place place, Step<NodeProcess> injection, Step<Outcome> expectation) {
		faults.run(fault, () -> {
			NodeProcess leader = faults.cluster().awaitSessions().awaitLeader();
			this.held = faults.cluster().hold(leader, place);
			return leader;
		}, injection, expectation);
	}

	/**
	 * Let the held transaction go on, and return how it ended. It has left nothing then.
	 */
	private String release(Outcome outcome) {
		outcome.old().command("release");
		return ended(outcome);
	}

	private String ended(Outcome outcome) {
		Entry ended = outcome.old().await(Kind.HELD_ENDED, this.held.requiredTerm());
		assertThat(faults.cluster().isCommitted(this.held)).isFalse();
		return ended.details();
	}

	private static String blockedBy(NodeProcess node) {
		long from = System.nanoTime();
		node.command("blocked by");
		return node.await(Kind.BLOCKED_BY, from, Duration.ofSeconds(5)).details();
	}

	private static void terminate(Cluster cluster, NodeProcess leader) {
		server.execute("SELECT pg_terminate_backend(" + cluster.pids(leader).get(0) + ")");
	}

}
