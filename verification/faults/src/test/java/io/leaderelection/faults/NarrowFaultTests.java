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
import java.util.ArrayList;
import java.util.List;

import io.leaderelection.Term;
import io.leaderelection.faults.Entry.Kind;
import io.leaderelection.faults.FencedWriter.Place;
import io.leaderelection.faults.Invariants.Violation;
import io.leaderelection.testsupport.Direction;
import io.leaderelection.testsupport.PostgreSqlServer;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Faults that meet a moment in which two things must happen at once. Each also with a
 * {@link Mistake}, which the checker of the fault tests must find.
 */
@AdvisoryLockOnly
@Tag("ring3")
class NarrowFaultTests {

	private static final Duration LEASE = Cluster.LEASE.multipliedBy(3).dividedBy(2);

	private static final Duration SHORT_WORK = Duration.ofMillis(5);

	private static final int RUNS = 3;

	/** What no other statement of a session has in its text. */
	private static final String CONFIRMATION = "query LIKE '%AS idle_in_transaction,%'";

	@ParameterizedTest
	@EnumSource(value = Mistake.class, names = { "NONE", "ANCHOR_AT_REPLY" })
	void partitionAfterALateReply(Mistake mistake) {
		PostgreSqlServer server = PostgreSqlServer.shared();
		check(mistake, "G2 exclusion", SHORT_WORK, (cluster) -> {
			NodeProcess leader = cluster.awaitSessions().awaitLeader();
			int pid = cluster.pids(leader).get(0);
			// No question who the candidates are has followed the last confirmation:
			// the answer to that would be late as well
			awaitTrue(server, onSession(
					"state = 'idle' AND " + CONFIRMATION + " AND clock_timestamp() - query_start > '100ms'", pid));
			cluster.proxy(leader).delay(Duration.ZERO, cluster.lease().multipliedBy(9).dividedBy(20));
			String since = server.query("SELECT clock_timestamp()").get(0);
			// A confirmation, and not the question after it who the candidates are
			awaitTrue(server, onSession("query_start > '" + since + "' AND " + CONFIRMATION, pid));
			cluster.proxy(leader).blackHole(Direction.TO_SERVER);
			Term term = termOf(leader);
			cluster.awaitNext(term);
			leader.await(Kind.TRUE_UNTIL, term);
		}, "G2 work");
	}

	@ParameterizedTest
	@EnumSource(value = Mistake.class, names = { "NONE", "UNLOCK_BEFORE_DRAIN" })
	void resignationWithWorkInFlight(Mistake mistake) {
		check(mistake, "G4 hand-over", Duration.ofMillis(1500), (cluster) -> {
			NodeProcess leader = cluster.awaitSessions().awaitLeader();
			Term term = termOf(leader);
			// Work that has just begun outlasts the next grant by far
			leader.await(Kind.WORK, System.nanoTime());
			leader.command("resign");
			cluster.awaitNext(term);
			leader.await(Kind.REVOKED_ENDED, term);
			leader.await(Kind.WORK_ENDED, term);
		}, "G4 drain");
	}

	@ParameterizedTest
	@EnumSource(value = Mistake.class, names = { "NONE", "OPEN_FENCE" })
	void commitAfterTheNextGrant(Mistake mistake) {
		check(mistake, "G1 fence", SHORT_WORK, (cluster) -> {
			NodeProcess leader = cluster.awaitSessions().awaitLeader();
			Entry held = cluster.hold(leader, Place.BEFORE_FENCE);
			cluster.terminateSession(leader);
			NodeProcess next = cluster.node(cluster.awaitNext(held.requiredTerm()).node());
			cluster.hold(next, Place.AFTER_FENCE);
			next.command("release");
			next.await(Kind.HELD_ENDED, held.time());
			leader.command("release");
			leader.await(Kind.HELD_ENDED, held.requiredTerm());
			assertThat(cluster.isCommitted(held)).isEqualTo(mistake != Mistake.NONE);
		});
	}

	/**
	 * Run a scenario in which two events must coincide, which a machine that is slow may
	 * miss: a mistake has three chances to show, also if only a consequence of it has
	 * shown before. Nothing else must show, or it might be a false alarm that lets the
	 * mistake pass for caught. The lease is long enough for an overlap that no hiccup of
	 * the machine explains.
	 */
	private static void check(Mistake mistake, String guarantee, Duration work, Step<Cluster> scenario,
			String... consequences) {
		List<Violation> violations = new ArrayList<>();
		for (int run = 0; run < RUNS && !shows(violations, guarantee); run++) {
			try (Cluster cluster = new Cluster(PostgreSqlServer.shared(), LEASE, Cluster.TAKEOVER_DELAY)) {
				scenario.take(cluster.startWithMistake(mistake, work, guarantee.endsWith(" fence"), 2));
				if (mistake == Mistake.NONE) {
					cluster.verify();
					return;
				}
				cluster.awaitSample();
				violations.addAll(cluster.check().violations());
			}
		}
		assertThat(violations).extracting(Violation::guarantee)
			.contains(guarantee)
			.filteredOn((found) -> !List.of(consequences).contains(found))
			.containsOnly(guarantee);
	}

	private static boolean shows(List<Violation> violations, String guarantee) {
		return violations.stream().anyMatch((violation) -> violation.guarantee().equals(guarantee));
	}

	private static Term termOf(NodeProcess leader) {
		return leader.last(Kind.TRUE_FROM).orElseThrow().requiredTerm();
	}

	private static String onSession(String condition, int pid) {
		return "SELECT " + condition + " FROM pg_stat_activity WHERE pid = " + pid;
	}

	private static void awaitTrue(PostgreSqlServer server, String sql) {
		Awaitility.await().until(() -> server.query(sql).equals(List.of("t")));
	}

}
