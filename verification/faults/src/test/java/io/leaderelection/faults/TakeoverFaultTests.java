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

import io.leaderelection.faults.Entry.Kind;
import io.leaderelection.faults.FaultRuns.Outcome;
import io.leaderelection.faults.FaultRuns.Step;
import io.leaderelection.testsupport.PostgreSqlServer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Faults of a node that is about to lead: at the head of the queue, between its win and
 * its grant, and just after. The takeover delay is long, so that no node that is exempted
 * from it goes unnoticed.
 */
@AdvisoryLockOnly
@Tag("ring2")
class TakeoverFaultTests {

	private static final Duration LEASE = Duration.ofMillis(1000);

	private static final Duration TAKEOVER_DELAY = Duration.ofMillis(500);

	@AutoClose
	private static FaultRuns faults;

	private static Cluster cluster;

	private final Winners winners = new Winners(cluster);

	@BeforeAll
	static void startNodes() {
		cluster = new Cluster(PostgreSqlServer.shared(), LEASE, TAKEOVER_DELAY).start(3);
		faults = new FaultRuns(cluster);
	}

	@AfterEach
	void closeWinners() throws Exception {
		this.winners.close();
	}

	@Test
	@Tag("ring3")
	void leaderAndHeadOfTheQueueKilled() {
		NodeProcess[] head = new NodeProcess[1];
		faults.run("leader and head of the queue killed", (leader) -> {
			head[0] = cluster.awaitHeadOfQueue();
			head[0].signal("KILL");
			leader.signal("KILL");
		}, (outcome) -> {
			outcome.nextWithin(TAKEOVER_DELAY);
			assertThat(outcome.next().node()).isNotEqualTo(head[0].name());
			cluster.replace(outcome.old(), head[0]);
		});
	}

	@Test
	@Tag("ring3")
	void leaderKilledAndHeadOfTheQueueFrozen() {
		NodeProcess[] head = new NodeProcess[1];
		faults.run("leader killed, head of the queue frozen, later thawed", (leader) -> {
			head[0] = cluster.awaitHeadOfQueue();
			head[0].signal("STOP");
			leader.signal("KILL");
			// Its session has won, and no thread reads that it has
			assertThat(cluster.awaitHolder(leader)).isSameAs(head[0]);
		}, (outcome) -> {
			outcome.nextWithin(LEASE.plus(TAKEOVER_DELAY));
			head[0].signal("CONT");
			head[0].await(Kind.SAMPLES, System.nanoTime());
			assertThat(head[0].find(Kind.TRUE_FROM, outcome.at())).isEmpty();
			outcome.replaceOld();
		});
	}

	@Test
	@Tag("ring3")
	void winnerKilledAtTheBarrier() {
		atTheBarrier("winner killed at the barrier", (winner) -> winner.signal("KILL"), Duration.ZERO,
				Outcome::replaceOld);
	}

	@Test
	@Tag("ring3")
	void winnerStoppedAtTheBarrier() {
		atTheBarrier("winner stopped at the barrier", (winner) -> winner.command("stop"), Duration.ZERO,
				TakeoverFaultTests::replaceStopped);
	}

	@Test
	@Tag("ring3")
	void winnerResignsAtTheBarrier() {
		atTheBarrier("winner resigns at the barrier", (winner) -> winner.command("resign"), Duration.ZERO,
				(outcome) -> assertThat(outcome.old().isAlive()).isTrue());
	}

	@Test
	@Tag("ring3")
	void winnerFrozenAtTheBarrier() {
		atTheBarrier("winner frozen at the barrier, later thawed", (winner) -> winner.signal("STOP"), LEASE,
				(outcome) -> outcome.old().signal("CONT"));
	}

	@Test
	void winnerKilledInTheTakeoverDelay() {
		inTheTakeoverDelay("winner killed in the takeover delay", (winner) -> winner.signal("KILL"), Duration.ZERO,
				Outcome::replaceOld);
	}

	@Test
	@Tag("ring3")
	void winnerStoppedInTheTakeoverDelay() {
		inTheTakeoverDelay("winner stopped in the takeover delay", (winner) -> winner.command("stop"), Duration.ZERO,
				TakeoverFaultTests::replaceStopped);
	}

	@Test
	@Tag("ring3")
	void winnerResignsInTheTakeoverDelay() {
		inTheTakeoverDelay("winner resigns in the takeover delay", (winner) -> winner.command("resign"), Duration.ZERO,
				(outcome) -> assertThat(outcome.old().isAlive()).isTrue());
	}

	@Test
	@Tag("ring3")
	void winnerFrozenInTheTakeoverDelay() {
		inTheTakeoverDelay("winner frozen in the takeover delay, later thawed", (winner) -> winner.signal("STOP"),
				LEASE, (outcome) -> outcome.old().signal("CONT"));
	}

	@Test
	@Tag("ring3")
	void successorOfACleanReleaseKilled() {
		faults.run("successor of a clean release killed when it was granted", this.winners::granted,
				(successor) -> successor.signal("KILL"), (outcome) -> {
					outcome.nextNotBeforeTakeoverDelay();
					outcome.nextWithin(TAKEOVER_DELAY);
					outcome.replaceOld();
				});
	}

	@Test
	@Tag("ring3")
	void successorOfAFrozenResignerKilled() {
		faults.run("resigner frozen behind its marker, its successor killed when it was granted",
				this.winners::grantedAfterTheResignerFroze, (successor) -> successor.signal("KILL"), (outcome) -> {
					outcome.nextNotBeforeTakeoverDelay();
					outcome.nextWithin(TAKEOVER_DELAY);
					this.winners.resigner().signal("CONT");
					outcome.replaceOld();
				});
	}

	@Test
	@Tag("ring3")
	void winnerKilledBesideTheMarkerOfAFrozenResigner() {
		faults.run("resigner frozen behind its marker, the winner killed beside it",
				this.winners::besideTheMarkerOfAFrozenResigner, (winner) -> winner.signal("KILL"), (outcome) -> {
					// No node was granted since the resignation, so none need be waited
					// for
					outcome.nextWithin(LEASE);
					assertThat(outcome.old().find(Kind.TRUE_FROM, outcome.at())).isEmpty();
					assertThat(cluster.history().samples())
						.noneMatch((sample) -> sample.before() > outcome.next().time()
								&& Winners.marks(sample, this.winners.resigner()));
					this.winners.resigner().signal("CONT");
					outcome.replaceOld();
				});
	}

	private void atTheBarrier(String fault, Step<NodeProcess> injection, Duration silence, Step<Outcome> repair) {
		faults.run(fault, this.winners::atTheBarrier, (winner) -> {
			injection.take(winner);
			cluster.awaitHolder(winner);
			this.winners.openBarrier();
		}, (outcome) -> neverGranted(outcome, silence, repair));
	}

	private void inTheTakeoverDelay(String fault, Step<NodeProcess> injection, Duration silence, Step<Outcome> repair) {
		faults.run(fault, this.winners::inTheTakeoverDelay, injection,
				(outcome) -> neverGranted(outcome, silence, repair));
	}

	/**
	 * The winner that was hit was never granted and left no marker, so that the next
	 * winner next has waited out the delay.
	 */
	private static void neverGranted(Outcome outcome, Duration silence, Step<Outcome> repair) {
		outcome.nextNotBeforeTakeoverDelay();
		outcome.nextWithin(silence.plus(TAKEOVER_DELAY));
		assertThat(outcome.old().find(Kind.TRUE_FROM, outcome.at())).isEmpty();
		assertThat(cluster.history().samples())
			.noneMatch((sample) -> sample.before() > outcome.at() && Winners.marks(sample, outcome.old()));
		repair.take(outcome);
	}

	private static void replaceStopped(Outcome outcome) {
		outcome.old().await(Kind.STOPPED, outcome.at());
		outcome.replaceOld();
	}

}
