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

package io.leaderelection.benchmarks;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;

import io.leaderelection.benchmarks.NodeProcess.Report;
import io.leaderelection.testsupport.TcpProxy;

import org.springframework.core.env.SimpleCommandLinePropertySource;

/**
 * How long no node leads when the leader of three nodes fails, in JVMs that have started
 * a few seconds ago and have never led: a failover is always cold. Every node that was
 * hit is replaced by a new process. Run it from the root of the project:
 *
 * <pre>
 * mvn -q -Pbenchmarks -pl verification/benchmarks -am compile exec:exec -Dbenchmark=FailoverBenchmark
 * </pre>
 *
 * Options go into {@code -Dbenchmark.args="…"}: {@code --runs=20} for each kind,
 * {@code --kinds=KILLED,STOPPED,SESSION_TERMINATED}, also {@code FROZEN} and {@code CUT},
 * {@code --stores=advisory-lock}, also {@code table} or both with a comma,
 * {@code --lease-duration=5s} and {@code --takeover-delay=250ms}.
 */
public final class FailoverBenchmark {

	private static final int NODES = 3;

	private static final long SETTLED = TimeUnit.SECONDS.toNanos(2);

	private final BenchmarkServer server;

	private final Store store;

	private final List<String> arguments;

	private final List<NodeProcess> nodes = new ArrayList<>();

	private int started;

	private boolean networked;

	private FailoverBenchmark(BenchmarkServer server, Store store, String leaseDuration, String takeoverDelay) {
		this.server = server;
		this.store = store;
		this.arguments = List.of("--spring.application.name=failover-" + store, "--leader-election.store=" + store,
				"--leader-election.initialize-schema=always", "--spring.datasource.hikari.maximum-pool-size=2",
				"--logging.level.root=INFO", "--leader-election.lease-duration=" + leaseDuration,
				"--leader-election.takeover-delay=" + takeoverDelay);
	}

	public static void main(String[] args) throws Exception {
		SimpleCommandLinePropertySource options = new SimpleCommandLinePropertySource(args);
		int runs = Integer.parseInt(get(options, "runs", "20"));
		String takeoverDelay = get(options, "takeover-delay", "250ms");
		String leaseDuration = get(options, "lease-duration", "5s");
		String kinds = get(options, "kinds", "KILLED,STOPPED,SESSION_TERMINATED");
		List<String> rows = new ArrayList<>();
		try (BenchmarkServer server = new BenchmarkServer()) {
			for (Store store : Store.parse(get(options, "stores", "advisory-lock"))) {
				FailoverBenchmark benchmark = new FailoverBenchmark(server, store, leaseDuration, takeoverDelay);
				rows.addAll(benchmark.measure(kinds.split(","), runs));
			}
			System.out.printf("%n%s; lease-duration %s, takeover-delay %s; milliseconds%n%n",
					Machine.describe(server.jdbc()), leaseDuration, takeoverDelay);
		}
		System.out.println("| store | failover | runs | median | p90 | max | both lead, max | load |");
		System.out.println("|---|---|---|---|---|---|---|---|");
		rows.forEach(System.out::println);
	}

	private List<String> measure(String[] kinds, int runs) throws Exception {
		List<String> rows = new ArrayList<>();
		try {
			start();
			for (String name : kinds) {
				Kind kind = Kind.valueOf(name);
				if (kind != Kind.SESSION_TERMINATED || this.store == Store.ADVISORY_LOCK) {
					String load = Machine.load();
					List<Failover> all = measure(kind, runs);
					Milliseconds times = Milliseconds.ofNanos(all.stream().map(Failover::firstTrue).toList());
					long overlap = all.stream().mapToLong(Failover::overlap).max().orElse(0);
					rows.add(String.format(Locale.ROOT, "| %s | %s | %s | %.1f | %s to %s |", this.store,
							kind.description, times.cells(), overlap / 1e6, load, Machine.load()));
				}
			}
		}
		finally {
			this.nodes.forEach(NodeProcess::close);
		}
		return rows;
	}

	private static String get(SimpleCommandLinePropertySource options, String name, String otherwise) {
		return Objects.requireNonNullElse(options.getProperty(name), otherwise);
	}

	private void start() throws Exception {
		// What ends a session is not to load classes when it is timed
		this.server.terminate(0);
		while (this.nodes.size() < NODES) {
			this.started++;
			TcpProxy network = new TcpProxy("localhost", this.server.port());
			String name = this.store + "-" + this.started;
			List<String> arguments = new ArrayList<>(this.arguments);
			arguments.add("--leader-election.node-id=" + name);
			// Only what is cut off is to have anything between it and the server
			arguments.add("--spring.datasource.url="
					+ (this.networked ? this.server.url("postgres", network.port()) : this.server.url()));
			this.nodes.add(new NodeProcess(name, network, arguments));
		}
		for (NodeProcess node : this.nodes) {
			node.await(Report.STARTED);
		}
	}

	private List<Failover> measure(Kind kind, int runs) throws Exception {
		if (this.networked != (kind == Kind.CUT)) {
			this.networked = kind == Kind.CUT;
			this.nodes.forEach(NodeProcess::close);
			this.nodes.clear();
			start();
		}
		List<Failover> failovers = new ArrayList<>();
		for (int run = 1; run <= runs; run++) {
			Failover failover = failOver(kind);
			failovers.add(failover);
			System.out.printf(Locale.ROOT, "%s %s %d: %.1f ms%n", this.store, kind, run, failover.firstTrue() / 1e6);
			start();
		}
		return failovers;
	}

	private Failover failOver(Kind kind) throws Exception {
		NodeProcess leader = awaitLeader(this.nodes);
		List<NodeProcess> followers = this.nodes.stream().filter((node) -> node != leader).toList();
		int session = awaitSettled();
		long hit = System.nanoTime();
		switch (kind) {
			case KILLED -> leader.jvm().kill();
			case STOPPED -> leader.jvm().terminate();
			case FROZEN -> leader.jvm().signal("STOP");
			case CUT -> leader.cutOff();
			case SESSION_TERMINATED -> this.server.terminate(session);
		}
		NodeProcess next = awaitLeader(followers);
		if (kind == Kind.FROZEN) {
			leader.jvm().signal("CONT");
		}
		long firstTrue = next.await(Report.FIRST_TRUE);
		long lastTrue = (kind != Kind.KILLED) ? leader.await(Report.LAST_TRUE) : hit;
		Failover failover = new Failover(firstTrue - hit, Math.max(0, lastTrue - firstTrue));
		leader.close();
		this.nodes.remove(leader);
		return failover;
	}

	private static NodeProcess awaitLeader(List<NodeProcess> nodes) throws Exception {
		List<CompletableFuture<NodeProcess>> leaders = nodes.stream()
			.map((node) -> node.when(Report.FIRST_TRUE))
			.toList();
		CompletableFuture.anyOf(leaders.toArray(CompletableFuture<?>[]::new)).get(60, TimeUnit.SECONDS);
		return nodes.stream().filter((node) -> node.has(Report.FIRST_TRUE)).findFirst().orElseThrow();
	}

	/**
	 * Waits until all nodes are candidates and the youngest node has settled, and then
	 * until a random moment between two confirmations.
	 * @return the process of the session that holds the lock, 0 with the table
	 */
	private int awaitSettled() throws Exception {
		int session = awaitCandidates();
		long youngest = Long.MIN_VALUE;
		for (NodeProcess node : this.nodes) {
			youngest = Math.max(youngest, node.await(Report.STARTED));
		}
		long settled = Math.max(0, SETTLED - (System.nanoTime() - youngest));
		TimeUnit.NANOSECONDS.sleep(settled + ThreadLocalRandom.current().nextLong(TimeUnit.SECONDS.toNanos(1)));
		return session;
	}

	private int awaitCandidates() {
		if (this.store == Store.TABLE) {
			this.server.awaitCandidates(this.nodes.stream().map(NodeProcess::toString).toList());
			return 0;
		}
		return this.server.awaitCandidates(NODES - 1);
	}

	/**
	 * One failover.
	 *
	 * @param firstTrue after how many nanoseconds {@code isLeader()} was {@code true} on
	 * the next leader
	 * @param overlap for how many both have led at once
	 */
	private record Failover(long firstTrue, long overlap) {

	}

	/**
	 * How the leader fails.
	 */
	enum Kind {

		KILLED("kill -9"), STOPPED("orderly stop (SIGTERM)"), FROZEN("frozen (SIGSTOP)"),

		CUT("cut off from the database"), SESSION_TERMINATED("session terminated by the server");

		private final String description;

		Kind(String description) {
			this.description = description;
		}

	}

}
