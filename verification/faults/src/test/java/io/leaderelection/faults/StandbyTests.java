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
import java.util.List;

import io.leaderelection.Term;
import io.leaderelection.faults.Entry.Kind;
import io.leaderelection.testsupport.EmbeddedServerOnly;
import io.leaderelection.testsupport.PostgreSqlServer;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * A standby beside the primary, on which nobody can lead until it is promoted.
 */
@AdvisoryLockOnly
@EmbeddedServerOnly
@Tag("ring2")
class StandbyTests {

	private static final Duration LEASE = Duration.ofSeconds(1);

	private static final Duration TAKEOVER_DELAY = Duration.ofMillis(100);

	/** The longest that a node waits before it tries to connect again. */
	private static final Duration BACKOFF = Duration.ofSeconds(5);

	private PostgreSqlServer primary;

	private PostgreSqlServer standby;

	@BeforeEach
	void startServers() {
		this.primary = PostgreSqlServer.start();
		this.standby = this.primary.startStandby();
	}

	@AfterEach
	void stopServers() {
		this.standby.close();
		this.primary.close();
	}

	/**
	 * With only the standby in its URL a node follows and says why, until the standby is
	 * promoted. Nodes with both find the primary, and the promoted one when that is gone.
	 */
	@Test
	void primaryCrashedAndStandbyPromoted() {
		String alone = url(this.standby);
		String both = "jdbc:postgresql://" + address(this.standby) + "," + address(this.primary) + "/"
				+ this.primary.database();
		try (Cluster cluster = new Cluster(this.primary, LEASE, TAKEOVER_DELAY,
				"leader-election.datasource.username=" + this.primary.username(),
				"leader-election.datasource.password=" + this.primary.password())
			.withServerFaults()
			.withWritesTo(both + "?targetServerType=primary", this.standby)) {
			NodeProcess follower = cluster.launch("leader-election.datasource.url=" + alone);
			cluster.start(2, "leader-election.datasource.url=" + both);
			follower.awaitStarted();
			NodeProcess leader = cluster.awaitLeader();
			Awaitility.await().until(() -> candidates(this.primary).size() == 2);
			assertThat(leader).isNotSameAs(follower);
			// Logged after the decision that ends its start
			Awaitility.await()
				.untilAsserted(() -> assertThat(follower.output())
					.anyMatch((line) -> line.contains("The server is a standby, on which no node can lead")));
			assertThat(follower.find(Kind.GRANTED, Long.MIN_VALUE)).isEmpty();
			Term old = leader.last(Kind.TRUE_FROM).orElseThrow().requiredTerm();
			Awaitility.await().until(() -> writesOf(cluster, old) > 0);
			assertThat(old.timeline()).isOne();
			this.primary.stop("immediate");
			assertThat(leader.await(Kind.REVOKED, old).details()).isEqualTo("SESSION_LOST");
			this.standby.promote();
			long promoted = System.nanoTime();
			Entry next = cluster.awaitNext(old);
			assertThat(next.requiredTerm()).isGreaterThan(old);
			assertThat(next.requiredTerm().timeline()).isEqualTo(2);
			assertThat(Duration.ofNanos(next.time() - promoted)).isLessThan(BACKOFF.plus(FaultRuns.SLACK));
			Awaitility.await().atMost(BACKOFF.plus(FaultRuns.SLACK)).until(() -> candidates(this.standby).size() == 3);
			Awaitility.await()
				.atMost(BACKOFF.plus(FaultRuns.SLACK))
				.until(() -> writesOf(cluster, old) > 0 && writesOf(cluster, next.requiredTerm()) > 0);
			cluster.verify();
		}
		Awaitility.await().until(() -> candidates(this.standby).isEmpty());
	}

	private static long writesOf(Cluster cluster, Term term) {
		return cluster.historyWithRows()
			.rows()
			.stream()
			.filter((row) -> row.fenced() && row.term().equals(term))
			.count();
	}

	private static List<String> candidates(PostgreSqlServer server) {
		return server.query("SELECT application_name FROM pg_stat_activity JOIN pg_locks USING (pid) "
				+ "WHERE application_name LIKE 'leader-election %' AND locktype = 'advisory' AND mode = 'ShareLock' AND objsubid = 1");
	}

	private static String url(PostgreSqlServer server) {
		return "jdbc:postgresql://" + address(server) + "/" + server.database();
	}

	private static String address(PostgreSqlServer server) {
		return server.host() + ":" + server.port();
	}

}
