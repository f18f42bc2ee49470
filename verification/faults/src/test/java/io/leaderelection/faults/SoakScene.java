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

import java.sql.Connection;
import java.time.Duration;
import java.util.List;
import java.util.SplittableRandom;

import io.leaderelection.Term;
import io.leaderelection.faults.Entry.Kind;
import io.leaderelection.faults.FencedWriter.Place;
import io.leaderelection.testsupport.PostgreSqlServer;
import io.leaderelection.testsupport.TcpProxy;
import org.awaitility.Awaitility;

/**
 * What a fault of a soak acts on: one node and all around it.
 */
final class SoakScene {

	private static final Duration HOLDING = Duration.ofSeconds(3);

	private final Cluster cluster;

	private final SplittableRandom random;

	private final NodeProcess leader;

	private final Term term;

	private final NodeProcess target;

	SoakScene(Cluster cluster, SplittableRandom random) {
		this.cluster = cluster;
		this.random = random;
		this.leader = cluster.awaitLeader();
		this.term = this.leader.last(Kind.TRUE_FROM).orElseThrow().requiredTerm();
		List<NodeProcess> nodes = cluster.nodes();
		this.target = (random.nextInt(10) < 7) ? this.leader : nodes.get(random.nextInt(nodes.size()));
	}

	Cluster cluster() {
		return this.cluster;
	}

	PostgreSqlServer server() {
		return this.cluster.server();
	}

	SplittableRandom random() {
		return this.random;
	}

	NodeProcess leader() {
		return this.leader;
	}

	NodeProcess target() {
		return this.target;
	}

	boolean hitsLeader() {
		return this.target == this.leader;
	}

	TcpProxy proxy() {
		return this.cluster.proxy(this.target);
	}

	/**
	 * Let the fault last for up to two leases.
	 */
	void pause() throws InterruptedException {
		Thread.sleep(this.random.nextInt(2 * (int) this.cluster.lease().toMillis()));
	}

	Duration fractionOfLease() {
		return Duration.ofMillis(this.random.nextInt((int) this.cluster.lease().toMillis() / 2));
	}

	/**
	 * Hold a transaction of the leader somewhere, do something, and let the transaction
	 * go on, before that has ended or after it.
	 */
	void inTransaction(FaultRuns.Step<SoakScene> fault) {
		Place[] places = Place.values();
		long from = System.nanoTime();
		this.leader.command("hold " + places[this.random.nextInt(places.length)]);
		try {
			this.leader.await(Kind.HELD, from, HOLDING);
		}
		catch (AssertionError ex) {
			// It no longer leads, or its writer has a fault of its own: still a valid
			// test
		}
		if (this.random.nextInt(4) == 0) {
			this.leader.command("release");
		}
		fault.take(this);
		if (this.leader.isAlive()) {
			this.leader.command("release");
		}
	}

	TcpProxy leaderProxy() {
		return this.cluster.proxy(this.leader);
	}

	void eachPid(String sql) {
		this.cluster.pids(this.target).forEach((pid) -> server().query(sql.formatted(pid)));
	}

	void restart(String mode) throws InterruptedException {
		server().stop(mode);
		awaitEndOfAllSessions();
		pause();
		server().startAgain();
	}

	/**
	 * Wait until the leader has noticed that the server has ended its session, if it was
	 * hit: a further fault in that moment would be the one thing that is not guarded
	 * against.
	 */
	void awaitEndOfSession() {
		if (hitsLeader()) {
			awaitEndOfAllSessions();
		}
	}

	/**
	 * Signal sessions, but those that have ended since they were found.
	 * @return whether any received the signal
	 */
	boolean signal(List<Integer> pids, String signal) {
		boolean signalled = false;
		for (int pid : pids) {
			try {
				server().signalBackend(pid, signal);
				signalled = true;
			}
			catch (IllegalArgumentException ex) {
				System.out.println(ex.getMessage());
			}
		}
		return signalled;
	}

	/**
	 * Wait until the server has recovered. With the store {@code table}, a leader may
	 * survive a crash, and the next fault would find no server.
	 */
	void awaitServer() {
		Awaitility.await().ignoreExceptions().until(() -> {
			try (Connection connection = server().connect()) {
				return connection.isValid(1);
			}
		});
	}

	/**
	 * With the store {@code table}, the end of a session is none of leadership.
	 */
	void awaitEndOfAllSessions() {
		if (!this.cluster.isTable()) {
			this.leader.await(Kind.TRUE_UNTIL, this.term);
		}
	}

}
