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
import java.util.EnumMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import java.util.stream.Collectors;

import io.leaderelection.benchmarks.NodeProcess.Report;
import io.leaderelection.testsupport.TcpProxy;
import org.jspecify.annotations.Nullable;

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
		List<Results> results = new ArrayList<>();
		try (BenchmarkServer server = new BenchmarkServer()) {
			for (Store store : Store.parse(get(options, "stores", "advisory-lock"))) {
				FailoverBenchmark benchmark = new FailoverBenchmark(server, store, leaseDuration, takeoverDelay);
				results.add(benchmark.measure(kinds.split(","), runs));
			}
			System.out.printf("%n%s; lease-duration %s, takeover-delay %s; milliseconds%n%n",
					Machine.describe(server.jdbc()), leaseDuration, takeoverDelay);
		}
		if (results.size() > 1) {
			printSideBySide(results);
		}
		results.forEach((result) -> {
			System.out.printf("%n%s%n%n", result.store());
			print(result.failovers(), result.loads(), takeoverDelay);
		});
	}

	private Results measure(String[] kinds, int runs) throws Exception {
		Map<Kind, List<Failover>> failovers = new EnumMap<>(Kind.class);
		Map<Kind, String> loads = new EnumMap<>(Kind.class);
		try {
			start();
			for (String name : kinds) {
				Kind kind = Kind.valueOf(name);
				if (kind != Kind.SESSION_TERMINATED || this.store == Store.ADVISORY_LOCK) {
					String load = Machine.load();
					failovers.put(kind, measure(kind, runs));
					loads.put(kind, load + " to " + Machine.load());
				}
			}
		}
		finally {
			this.nodes.forEach(NodeProcess::close);
		}
		return new Results(this.store, failovers, loads);
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
		next.await(Report.GRANTED);
		if (kind == Kind.FROZEN) {
			leader.jvm().signal("CONT");
		}
		if (kind != Kind.KILLED) {
			leader.await(Report.REVOKED);
			leader.await(Report.LAST_TRUE);
		}
		Failover failover = Failover.of(hit, leader, next);
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

	private static void printSideBySide(List<Results> results) {
		System.out.println("| until the next leader's first true | " + results.stream()
			.map((result) -> result.store() + ": median | max | both lead, max")
			.collect(Collectors.joining(" | ")) + " |");
		System.out.println("|---" + "|---|---|---".repeat(results.size()) + "|");
		for (Kind kind : Kind.values()) {
			if (results.stream().anyMatch((result) -> result.failovers().containsKey(kind))) {
				System.out.printf(Locale.ROOT, "| %s | %s |%n", kind.description,
						results.stream().map((result) -> result.cells(kind)).collect(Collectors.joining(" | ")));
			}
		}
	}

	private static void print(Map<Kind, List<Failover>> failovers, Map<Kind, String> loads, String takeoverDelay) {
		System.out.println("| failover | runs | median | p90 | max | both lead, max | takeover-delay | load |");
		System.out.println("|---|---|---|---|---|---|---|---|");
		failovers
			.forEach((kind, all) -> System.out.printf(Locale.ROOT, "| %s | %s | %.1f | %s | %s |%n", kind.description,
					summary(all, Failover::firstTrue).cells(), overlap(all), takeoverDelay, loads.get(kind)));
		System.out.println();
		System.out.println("| failover | until | runs | median | p90 | max |");
		System.out.println("|---|---|---|---|---|---|");
		failovers.forEach((kind, all) -> {
			print(kind, "the old context begins to close", summary(all, (failover) -> failover.of(Report.CLOSING)));
			print(kind, "the old leader's revoked event", summary(all, (failover) -> failover.of(Report.REVOKED)));
			print(kind, "the old leader's last true", summary(all, (failover) -> failover.of(Report.LAST_TRUE)));
			print(kind, "the next leader's first true", summary(all, Failover::firstTrue));
			print(kind, "the next leader's granted event", summary(all, Failover::granted));
		});
	}

	private static void print(Kind kind, String until, Milliseconds summary) {
		if (summary.count() > 0) {
			System.out.printf(Locale.ROOT, "| %s | %s | %s |%n", kind.description, until, summary.cells());
		}
	}

	private static double overlap(List<Failover> failovers) {
		return failovers.stream().mapToLong(Failover::overlap).max().orElse(0) / 1e6;
	}

	private static Milliseconds summary(List<Failover> failovers, Function<Failover, @Nullable Long> time) {
		List<Long> times = new ArrayList<>();
		for (Failover failover : failovers) {
			Long each = time.apply(failover);
			if (each != null) {
				times.add(each);
			}
		}
		return Milliseconds.ofNanos(times);
	}

	/**
	 * What was measured with a store.
	 *
	 * @param store the store
	 * @param failovers the failovers of each kind
	 * @param loads the load of the machine at that time
	 */
	private record Results(Store store, Map<Kind, List<Failover>> failovers, Map<Kind, String> loads) {

		List<Failover> of(Kind kind) {
			return this.failovers.getOrDefault(kind, List.of());
		}

		/**
		 * The median and the maximum, and for how long both have led at most.
		 */
		String cells(Kind kind) {
			if (of(kind).isEmpty()) {
				return "no failover | | ";
			}
			Milliseconds summary = summary(of(kind), Failover::firstTrue);
			return String.format(Locale.ROOT, "%.1f | %.1f | %.1f", summary.median(), summary.max(), overlap(of(kind)));
		}

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
