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

import java.lang.management.ManagementFactory;
import java.lang.management.OperatingSystemMXBean;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.DoubleSummaryStatistics;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicBoolean;

import io.leaderelection.Term;
import io.leaderelection.faults.Entry.Kind;
import io.leaderelection.testsupport.Daemon;
import io.leaderelection.testsupport.PostgreSqlServer;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * How long a living leader takes to notice that the server has ended its session, which
 * is what the takeover delay is for. {@code -Dsuite.runs} says how many sessions are
 * terminated, {@code -Dsuite.load} how many threads use a processor meanwhile.
 * <p>
 * Times count from the beginning of the request to terminate the session. This is before
 * the lock is free, so that no time is too short. An observer that waits for the lock
 * needs a processor itself to notice that it is free.
 */
@AdvisoryLockOnly
@Tag("ring3")
class TerminatedSessionTests {

	private static final int LOAD = Integer.getInteger("suite.load", 0);

	/** So that what is recorded of a cluster remains small. */
	private static final int RUNS_PER_CLUSTER = 50;

	/** How many runs may be repeated, beside as many as are asked for. */
	private static final int SPARE_RUNS = 10;

	private static final String FAULT = "session of the leader terminated";

	private final PostgreSqlServer server = PostgreSqlServer.shared();

	private final Figures figures = new Figures();

	private final OperatingSystemMXBean system = ManagementFactory.getOperatingSystemMXBean();

	private final DoubleSummaryStatistics loads = new DoubleSummaryStatistics();

	private int done;

	private int repeated;

	@Test
	void leaderNoticesBeforeTheNextGrant() throws SQLException {
		try {
			while (this.done < FaultRuns.RUNS) {
				try (Cluster cluster = new Cluster(this.server, Cluster.LEASE, Cluster.DEFAULT_TAKEOVER_DELAY)
					.start(3)) {
					runUnderLoad(cluster, Math.min(FaultRuns.RUNS, this.done + RUNS_PER_CLUSTER));
					cluster.stopAndVerify();
				}
			}
		}
		finally {
			this.figures.writeDistribution(String.format(Locale.ROOT,
					"PostgreSQL %s, lease %d ms, takeover delay %d ms, load average %.1f to %.1f, %d runs repeated",
					this.server.query("SHOW server_version").get(0), Cluster.LEASE.toMillis(),
					Cluster.DEFAULT_TAKEOVER_DELAY.toMillis(), this.loads.getMin(), this.loads.getMax(),
					this.repeated));
		}
	}

	private void runUnderLoad(Cluster cluster, int until) throws SQLException {
		AtomicBoolean loaded = new AtomicBoolean(true);
		for (int i = 0; i < LOAD; i++) {
			Daemon.start("load", () -> {
				while (loaded.get()) {
					Thread.onSpinWait();
				}
			});
		}
		try (Connection connection = this.server.connect(); Statement administrator = connection.createStatement()) {
			run(cluster, administrator, until);
		}
		finally {
			loaded.set(false);
		}
	}

	private void run(Cluster cluster, Statement administrator, int until) throws SQLException {
		while (this.done < until) {
			if (terminate(cluster, administrator)) {
				this.done++;
			}
			else {
				this.repeated++;
				assertThat(this.repeated).as(cluster::describe).isLessThanOrEqualTo(FaultRuns.RUNS + SPARE_RUNS);
			}
		}
	}

	/**
	 * Terminate the session of the leader.
	 * @return whether it still led: without a processor, it may have lost its lease
	 * before
	 */
	private boolean terminate(Cluster cluster, Statement administrator) throws SQLException {
		NodeProcess leader = cluster.awaitSessions().awaitLeader();
		Term term = leader.last(Kind.TRUE_FROM).orElseThrow().requiredTerm();
		List<Integer> pids = cluster.pids(leader);
		this.loads.accept(this.system.getSystemLoadAverage());
		if (pids.size() != 1) {
			return false;
		}
		long at = System.nanoTime();
		try (ResultSet row = administrator.executeQuery("SELECT pg_terminate_backend(" + pids.get(0) + ")")) {
			row.next();
			if (!row.getBoolean(1)) {
				return false;
			}
		}
		Entry next = cluster.awaitNext(term);
		Entry lastTrue = leader.await(Kind.TRUE_UNTIL, term);
		Entry revoked = leader.await(Kind.REVOKED, term);
		if (lastTrue.time() < at && !revoked.details().equals("SESSION_LOST")) {
			return false;
		}
		this.figures.add(FAULT, at, Optional.of(lastTrue), Optional.of(next));
		assertThat(Duration.ofNanos(next.time() - at)).isGreaterThanOrEqualTo(Cluster.DEFAULT_TAKEOVER_DELAY);
		return true;
	}

}
