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
import io.leaderelection.testsupport.PostgreSqlServer;
import io.leaderelection.testsupport.TcpProxy;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * The end of a primary with the lease table, and the promotion of its standby.
 */
@Tag("ring2")
class LeaseTableStandbyTests {

	private static final Duration LEASE = Duration.ofSeconds(1);

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
		String both = "jdbc:postgresql://" + address(this.standby) + "," + address(this.primary) + "/"
				+ this.primary.database();
		Cluster cluster = new Cluster(this.primary, LEASE, Duration.ZERO, "leader-election.store=table",
				"leader-election.initialize-schema=always",
				"leader-election.datasource.username=" + this.primary.username(),
				"leader-election.datasource.password=" + this.primary.password(),
				"leader-election.datasource.url=" + both)
			.withWritesTo(both + "?targetServerType=primary", this.standby);
		return cluster.start(3);
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
