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
import java.util.Arrays;
import java.util.List;

import io.leaderelection.Term;
import io.leaderelection.faults.Entry.Kind;
import io.leaderelection.testsupport.EmbeddedServerOnly;
import io.leaderelection.testsupport.PostgreSqlServer;
import io.leaderelection.testsupport.TcpProxy;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * The end of a primary, and the promotion of its standby, on which nobody can lead until
 * then.
 */
@EmbeddedServerOnly
@Tag("ring2")
class StandbyTests {

	private static final Duration LEASE = Duration.ofSeconds(1);

	private static final Duration TAKEOVER_DELAY = Duration.ofMillis(100);

	private PostgreSqlServer primary;

	private TcpProxy replication;

	private PostgreSqlServer standby;

	@BeforeEach
	void startServers() {
		this.primary = PostgreSqlServer.start();
		this.replication = new TcpProxy(this.primary);
		this.standby = this.primary.startStandby(this.replication.port());
	}

	@AfterEach
	void stopServers() throws Exception {
		// Some are missing if a start has failed
		for (AutoCloseable started : Arrays.asList(this.standby, this.replication, this.primary)) {
			if (started != null) {
				started.close();
			}
		}
	}

	/**
	 * With only the standby in its URL a node follows and says why, until the standby is
	 * promoted. Nodes with both find the primary, and the promoted one when that is gone.
	 */
	@AdvisoryLockOnly
	@Test
	void primaryCrashedAndStandbyPromoted() {
		try (Cluster cluster = cluster(TAKEOVER_DELAY).withServerFaults()) {
			NodeProcess follower = cluster.launch(dataSource(this.standby.jdbcUrl()));
			cluster.start(2, dataSource(both()));
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
			assertThat(Duration.ofNanos(next.time() - promoted)).isLessThan(FaultScene.BACKOFF.plus(FaultRuns.SLACK));
			Awaitility.await()
				.atMost(FaultScene.BACKOFF.plus(FaultRuns.SLACK))
				.until(() -> candidates(this.standby).size() == 3);
			Awaitility.await()
				.atMost(FaultScene.BACKOFF.plus(FaultRuns.SLACK))
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

	@Test
	@Tag("ring3")
	void promotionThatLosesNothing() {
		try (Cluster cluster = start()) {
			Entry last = awaitReplicated(cluster);
			crashAndPromote();
			verifySuccession(cluster, last);
		}
	}

	@Test
	@Tag("ring3")
	void promotionThatLosesRenewals() {
		try (Cluster cluster = start()) {
			Entry last = awaitReplicated(cluster);
			this.replication.blackHole();
			// The standby may still apply what it has received, but nothing later than
			// this
			String written = this.primary.query("SELECT pg_current_wal_insert_lsn()").get(0);
			String row = row(this.primary);
			Awaitility.await().until(() -> !row(this.primary).equals(row));
			assertThat(this.standby.query("SELECT pg_last_wal_receive_lsn() <= '" + written + "'"))
				.containsExactly("t");
			crashAndPromote();
			verifySuccession(cluster, last);
		}
	}

	/**
	 * The row of the promoted server says that the former leader leads, while the holder
	 * of the lost term trusts its lease.
	 */
	@Test
	void promotionThatLosesATakeover() {
		try (Cluster cluster = start()) {
			Entry first = awaitReplicated(cluster);
			this.replication.blackHole();
			cluster.node(first.node()).command("resign");
			Entry lost = cluster.awaitNext(first.requiredTerm());
			crashAndPromote();
			assertThat(term(this.standby)).isEqualTo(first.requiredTerm().transactionId());
			verifySuccession(cluster, lost);
		}
	}

	private Cluster start() {
		return cluster(Duration.ZERO, Cluster.TABLE_PROPERTIES).start(3, dataSource(both()));
	}

	private Cluster cluster(Duration takeoverDelay, String... properties) {
		return new Cluster(this.primary, LEASE, takeoverDelay, properties)
			.withWritesTo(both() + "?targetServerType=primary", this.standby);
	}

	private String both() {
		return "jdbc:postgresql://" + address(this.standby) + "," + address(this.primary) + "/"
				+ this.primary.database();
	}

	private String[] dataSource(String url) {
		return new String[] { "leader-election.datasource.url=" + url,
				"leader-election.datasource.username=" + this.primary.username(),
				"leader-election.datasource.password=" + this.primary.password() };
	}

	private Entry awaitReplicated(Cluster cluster) {
		Entry leading = cluster.awaitSessions().awaitLeader().last(Kind.TRUE_FROM).orElseThrow();
		Awaitility.await().until(() -> term(this.standby) == leading.requiredTerm().transactionId());
		return leading;
	}

	private void crashAndPromote() {
		this.primary.stop("immediate");
		this.standby.promote();
	}

	private void verifySuccession(Cluster cluster, Entry last) {
		Term old = last.requiredTerm();
		assertThat(cluster.node(last.node()).await(Kind.REVOKED, old).details()).isEqualTo("LEASE_EXPIRED");
		Entry next = cluster.awaitNext(old);
		assertThat(next.requiredTerm().timeline()).isEqualTo(2);
		Awaitility.await().until(() -> term(this.standby) == next.requiredTerm().transactionId());
		cluster.verify();
	}

	private static long term(PostgreSqlServer server) {
		List<String> terms = server.query("SELECT term FROM leader_election");
		return terms.isEmpty() ? 0 : Long.parseLong(terms.get(0));
	}

	private static String row(PostgreSqlServer server) {
		return String.join(",", server
			.query("SELECT term || ' ' || beat FROM leader_election JOIN leader_election_node ON token = owner"));
	}

	private static String address(PostgreSqlServer server) {
		return server.host() + ":" + server.port();
	}

}
