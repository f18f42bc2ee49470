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
import io.leaderelection.testsupport.PostgreSqlServer;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Faults of the application around the election: one node of each cluster behaves, and
 * the other one, which leads, does not.
 */
@AdvisoryLockOnly
@Tag("ring2")
class ApplicationFaultTests {

	private static final Duration LEASE = Duration.ofMillis(1200);

	private static final Duration LONGER = Duration.ofMillis(1500);

	@AutoClose
	private static FaultRuns faults;

	private static Cluster cluster;

	@BeforeAll
	static void startNodes() {
		cluster = new Cluster(PostgreSqlServer.shared(), LEASE, Cluster.TAKEOVER_DELAY).start(1);
		faults = new FaultRuns(cluster);
	}

	@Test
	@Tag("ring3")
	void grantedListenerBlocksForLongerThanTheLease() {
		NodeProcess node = awaitLeaderWith("faults.granted-listener=" + LONGER.toMillis() + "ms");
		faults.runWithoutSuccession("granted-listener blocks for longer than the lease", (leader) -> {
			assertThat(leader).isSameAs(node);
			assertThat(lasts(leader, Kind.GRANTED, Kind.GRANTED_ENDED, Long.MIN_VALUE)).isGreaterThan(LEASE);
		});
		faults.run("resigned while the granted-listener blocks for longer than the lease", () -> {
			// It gives up and leads again
			awaitSuccessor();
			return awaitSuccessor();
		}, (leader) -> leader.command("resign"), (outcome) -> {
			assertThat(outcome.old()).isSameAs(node);
			long ended = outcome.old().await(Kind.GRANTED_ENDED, outcome.at()).time();
			assertThat(outcome.old().await(Kind.REVOKED, outcome.at()).time()).isGreaterThan(ended);
			handedOver(outcome, LONGER);
		});
		retire(node);
	}

	@Test
	@Tag("ring3")
	void revokedListenerBlocksForLongerThanTheLease() {
		faults.run("resigned, revoked-listener blocks for longer than the lease",
				() -> awaitLeaderWith("faults.revoked-listener=" + LONGER.toMillis() + "ms"),
				(leader) -> leader.command("resign"), (outcome) -> {
					assertThat(lasts(outcome.old(), Kind.REVOKED, Kind.REVOKED_ENDED, outcome.at()))
						.isGreaterThan(LEASE);
					handedOver(outcome, LONGER);
					retire(outcome.old());
				});
	}

	@Test
	@Tag("ring3")
	void listenersThrow() {
		faults.run("resigned, listeners throw", () -> awaitLeaderWith("faults.listeners-throw=true"),
				(leader) -> leader.command("resign"), (outcome) -> {
					outcome.revokedBecause("RESIGNED");
					// It may lead again, and its listeners are notified again
					cluster.awaitHeadOfQueue();
					cluster.node(outcome.next().node()).command("resign");
					outcome.old().await(Kind.GRANTED_ENDED, outcome.next().time());
					assertThat(outcome.old().output())
						.anyMatch((line) -> line.contains("A listener of LeadershipGrantedEvent failed"))
						.anyMatch((line) -> line.contains("A listener of LeadershipRevokedEvent failed"));
					handedOver(outcome, Duration.ZERO);
					retire(outcome.old());
				});
	}

	@Test
	void workThatTakesLongerThanTheLeaseIsDrainedOnStop() {
		faults.run("stopped, work takes longer than the lease", () -> {
			NodeProcess node = awaitLeaderWith("faults.work=" + LONGER.toMillis() + "ms");
			node.await(Kind.WORK, Long.MIN_VALUE);
			return node;
		}, (leader) -> leader.command("stop"), (outcome) -> {
			Entry work = outcome.old().last(Kind.WORK).orElseThrow();
			Entry ended = outcome.old().await(Kind.WORK_ENDED, outcome.at());
			assertThat(ended.details()).isEqualTo(work.details());
			assertThat(Duration.ofNanos(ended.time() - work.time())).isGreaterThanOrEqualTo(LONGER);
			assertThat(outcome.next().time()).isGreaterThan(ended.time());
			outcome.revokedBecause("STOPPED");
			handedOver(outcome, LONGER);
			cluster.remove(outcome.old());
		});
	}

	@Test
	@Tag("ring3")
	void onlyThreadOfTheSchedulerIsBlocked() {
		NodeProcess node = awaitLeaderWith("faults.scheduler-blocked=true", "spring.task.scheduling.pool.size=1");
		long blocked = node.await(Kind.BLOCKED, Long.MIN_VALUE).time();
		faults.runWithoutSuccession("only thread of the scheduler blocked",
				(leader) -> assertThat(leader).isSameAs(node));
		assertThat(node.find(Kind.WORK, blocked)).isEmpty();
		faults.run("stopped, only thread of the scheduler blocked", () -> cluster.awaitSessions().awaitLeader(),
				(leader) -> leader.command("stop"), (outcome) -> {
					outcome.revokedBecause("STOPPED");
					handedOver(outcome, Duration.ZERO);
					cluster.remove(outcome.old());
				});
	}

	@Test
	@Tag("ring3")
	void contextPausedAndContinued() {
		cluster.start(1);
		for (int i = 0; i < 4; i++) {
			faults.run("context of the leader paused and continued", (leader) -> leader.command("pause"), (outcome) -> {
				outcome.nextWithin(Duration.ZERO);
				outcome.revokedBecause("STOPPED");
				outcome.old().command("continue");
			});
			NodeProcess leader = cluster.awaitLeader();
			leader.await(Kind.WORK, leader.last(Kind.TRUE_FROM).orElseThrow().time());
		}
		retire(cluster.followers().get(0));
	}

	/**
	 * Start a further node and make it lead.
	 */
	private static NodeProcess awaitLeaderWith(String... properties) {
		cluster.awaitSessions().awaitLeader();
		cluster.start(1, properties);
		NodeProcess node = cluster.nodes().get(cluster.nodes().size() - 1);
		// A machine that stalls may have made it lead already, or not yet
		while (cluster.awaitLeader() != node) {
			awaitSuccessor();
		}
		return node;
	}

	/**
	 * Let the leader resign, and return who leads next, once the other one waits for the
	 * lock again: two nodes that have both just resigned may become candidates again in
	 * any order.
	 */
	private static NodeProcess awaitSuccessor() {
		NodeProcess leader = cluster.awaitSessions().awaitLeader();
		Term term = cluster.newestTerm();
		leader.command("resign");
		NodeProcess next = cluster.node(cluster.awaitNext(term).node());
		cluster.awaitHeadOfQueue();
		return next;
	}

	/**
	 * How long something took that has begun after the given time.
	 */
	private static Duration lasts(NodeProcess node, Kind from, Kind to, long after) {
		long began = node.await(from, after).time();
		return Duration.ofNanos(node.await(to, began).time() - began);
	}

	private static void handedOver(Outcome outcome, Duration bound) {
		outcome.nextWithin(bound);
		assertThat(outcome.next().time()).isGreaterThan(outcome.old().await(Kind.REVOKED_ENDED, outcome.at()).time());
	}

	private static void retire(NodeProcess node) {
		node.command("stop");
		node.await(Kind.STOPPED, Long.MIN_VALUE);
		cluster.remove(node);
	}

}
