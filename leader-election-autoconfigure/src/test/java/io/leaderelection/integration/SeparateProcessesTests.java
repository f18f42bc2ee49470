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

package io.leaderelection.integration;

import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;

import io.leaderelection.integration.NodeProcess.Entry;
import io.leaderelection.testsupport.PostgreSqlServer;
import io.leaderelection.testsupport.TcpProxy;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Faults of nodes that are processes of their own, each behind a proxy. With
 * {@code -Dleader-election.test.runs=20} every fault is repeated, and the figures printed
 * at the end mean something.
 */
class SeparateProcessesTests {

	private static final int RUNS = Integer.getInteger("leader-election.test.runs", 1);

	private static final Duration LIMIT = Duration.ofSeconds(60);

	private final PostgreSqlServer server = PostgreSqlServer.shared();

	private final String group = "leader-election.group=" + UUID.randomUUID();

	private final Map<NodeProcess, TcpProxy> nodes = new LinkedHashMap<>();

	private int started;

	@AfterEach
	void stopNodes() {
		this.nodes.keySet().forEach(NodeProcess::close);
		this.nodes.values().forEach(TcpProxy::close);
	}

	@Test
	void killedLeaderIsSucceeded() {
		startNodes();
		Figures toGrant = new Figures("kill -9 to next leader");
		for (int run = 0; run < RUNS; run++) {
			NodeProcess leader = leader();
			long killed = System.nanoTime();
			leader.signal("KILL");
			Entry next = awaitNext(leader, killed);
			assertThat(worked(leader, next)).isZero();
			toGrant.add(killed, next.time());
			replace(leader);
		}
		toGrant.print();
		assertThat(toGrant.max()).isLessThan(Duration.ofSeconds(5));
	}

	@Test
	void stoppedLeaderHandsOverAfterItsWork() {
		startNodes();
		Figures toGrant = new Figures("orderly stop to next leader");
		Figures fromDrain = new Figures("  of it after the revoked event");
		int overlaps = 0;
		for (int run = 0; run < RUNS; run++) {
			NodeProcess leader = leader();
			long before = System.nanoTime();
			leader.command("stop");
			Entry next = awaitNext(leader, before);
			Entry revoked = leader.await("REVOKED", before);
			Entry lastTrue = leader.await("LAST_TRUE", before - LIMIT.toNanos());
			leader.await("STOPPED", before);
			assertThat(revoked.details()).endsWith("STOPPED");
			assertThat(leader.last("WORK_ENDED").orElseThrow().time()).isLessThan(revoked.time());
			assertThat(revoked.time()).isLessThan(next.time());
			overlaps += (lastTrue.time() >= next.time()) ? 1 : 0;
			toGrant.add(leader.await("COMMAND", before).time(), next.time());
			fromDrain.add(revoked.time(), next.time());
			replace(leader);
		}
		toGrant.print();
		fromDrain.print();
		assertThat(overlaps).isZero();
	}

	@Test
	void leaderThatIsCutOffStepsDownFirst() {
		startNodes();
		Figures toStepDown = new Figures("black hole to last true isLeader()");
		Figures toGrant = new Figures("black hole to next leader");
		int overlaps = 0;
		for (int run = 0; run < RUNS; run++) {
			NodeProcess leader = leader();
			TcpProxy proxy = this.nodes.get(leader);
			long cut = System.nanoTime();
			proxy.blackHole();
			Entry next = awaitNext(leader, cut);
			Entry lastTrue = leader.await("LAST_TRUE", cut - LIMIT.toNanos());
			Entry revoked = leader.await("REVOKED", cut);
			assertThat(revoked.details()).endsWith("LEASE_EXPIRED");
			assertThat(worked(leader, next)).isZero();
			overlaps += (lastTrue.time() >= next.time()) ? 1 : 0;
			toStepDown.add(cut, lastTrue.time());
			toGrant.add(cut, next.time());
			proxy.heal();
			replace(leader);
		}
		toStepDown.print();
		toGrant.print();
		assertThat(overlaps).isZero();
	}

	@Test
	void frozenLeaderIsSucceededAndDoesNothingWhenItThaws() {
		startNodes();
		Figures toGrant = new Figures("SIGSTOP to next leader");
		int overlaps = 0;
		for (int run = 0; run < RUNS; run++) {
			NodeProcess leader = leader();
			long frozen = System.nanoTime();
			leader.signal("STOP");
			Entry next = awaitNext(leader, frozen);
			leader.signal("CONT");
			Entry lastTrue = leader.await("LAST_TRUE", frozen - LIMIT.toNanos());
			leader.await("REVOKED", frozen);
			overlaps += (lastTrue.time() >= next.time()) ? 1 : 0;
			assertThat(worked(leader, next)).isZero();
			toGrant.add(frozen, next.time());
			replace(leader);
		}
		toGrant.print();
		assertThat(overlaps).isZero();
	}

	@Test
	void terminatedSessionOfTheLeaderIsSucceeded() {
		startNodes();
		Figures toStepDown = new Figures("terminated backend to last true isLeader()");
		Figures toGrant = new Figures("terminated backend to next leader");
		int overlaps = 0;
		for (int run = 0; run < RUNS; run++) {
			NodeProcess leader = leader();
			long terminated = System.nanoTime();
			assertThat(this.server.query("""
					SELECT pg_terminate_backend(pid) FROM pg_stat_activity
					WHERE application_name = 'leader-election default %s'
					""".formatted(leader.name()))).containsExactly("t");
			Entry lastTrue = leader.await("LAST_TRUE", terminated - LIMIT.toNanos());
			Entry next = awaitNext(leader, terminated);
			overlaps += (lastTrue.time() >= next.time()) ? 1 : 0;
			toStepDown.add(terminated, lastTrue.time());
			toGrant.add(terminated, next.time());
			assertThat(leader.await("REVOKED", terminated).details()).endsWith("SESSION_LOST");
			replace(leader);
		}
		toStepDown.print();
		toGrant.print();
		assertThat(overlaps).isZero();
	}

	private void startNodes() {
		for (int i = 0; i < 3; i++) {
			startNode();
		}
		leader();
		assertThat(this.nodes.keySet().stream().filter(NodeProcess::leads)).hasSize(1);
	}

	private void startNode() {
		TcpProxy proxy = new TcpProxy(this.server);
		NodeProcess node = new NodeProcess("node-" + ++this.started, this.server, proxy.port(), this.group);
		this.nodes.put(node, proxy);
		node.awaitStarted();
	}

	private void replace(NodeProcess node) {
		node.close();
		this.nodes.remove(node).close();
		startNode();
	}

	private NodeProcess leader() {
		return Awaitility.await()
			.atMost(LIMIT)
			.pollInterval(Duration.ofMillis(5))
			.until(() -> this.nodes.keySet().stream().filter(NodeProcess::leads).findFirst(), Optional::isPresent)
			.orElseThrow();
	}

	private Entry awaitNext(NodeProcess old, long after) {
		return Awaitility.await()
			.atMost(LIMIT)
			.pollInterval(Duration.ofMillis(2))
			.until(() -> this.nodes.keySet()
				.stream()
				.filter((node) -> node != old)
				.flatMap((node) -> node.find("FIRST_TRUE", after).stream())
				.findFirst(), Optional::isPresent)
			.orElseThrow();
	}

	/**
	 * How often a node started leader work after the next leader had been granted.
	 */
	private static long worked(NodeProcess old, Entry next) {
		return old.history()
			.stream()
			.filter((entry) -> entry.kind().equals("WORK") && entry.time() > next.time())
			.count();
	}

	/**
	 * Times of one kind.
	 */
	private static final class Figures {

		private final String name;

		private final List<Long> nanos = new ArrayList<>();

		Figures(String name) {
			this.name = name;
		}

		void add(long from, long to) {
			this.nanos.add(to - from);
			this.nanos.sort(null);
		}

		Duration max() {
			return Duration.ofNanos(this.nanos.get(this.nanos.size() - 1));
		}

		void print() {
			System.out.printf("%-45s runs %3d  min %9.1f ms  median %9.1f ms  max %9.1f ms%n", this.name,
					this.nanos.size(), this.nanos.get(0) / 1e6, this.nanos.get(this.nanos.size() / 2) / 1e6,
					this.nanos.get(this.nanos.size() - 1) / 1e6);
		}

	}

}
