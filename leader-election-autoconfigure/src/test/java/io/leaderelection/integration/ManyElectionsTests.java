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

import java.lang.management.ManagementFactory;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.regex.Pattern;
import java.util.stream.IntStream;
import java.util.stream.Stream;

import com.sun.management.OperatingSystemMXBean;
import io.leaderelection.LeaderElector;
import io.leaderelection.engine.DefaultLeaderElector;
import io.leaderelection.engine.DefaultLeaderElectors;
import io.leaderelection.testsupport.PostgreSqlServer;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for nodes with many elections, and what these cost.
 */
@Tag("ring3")
class ManyElectionsTests {

	private static final Duration PERIOD = Duration.ofSeconds(Integer.getInteger("suite.period", 10));

	private static final Pattern STATEMENT = Pattern.compile(",leader-election [^,]*,LOG:  (statement|execute)");

	private PostgreSqlServer server;

	private final List<LocalNode> nodes = new ArrayList<>();

	/**
	 * Threads of contexts that other tests of this process have left in the cache.
	 */
	private final Set<Thread> threadsOfOthers = Set.copyOf(Thread.getAllStackTraces().keySet());

	@BeforeEach
	void startServer() {
		this.server = PostgreSqlServer.start("max_connections=150",
				Boolean.getBoolean("suite.figures") ? "log_statement=all" : "log_statement=none");
	}

	@AfterEach
	void stopServer() {
		this.nodes.forEach(LocalNode::close);
		this.server.close();
	}

	@ParameterizedTest
	@ValueSource(ints = { 20, 50 })
	void nodeHoldsManyElectionsAndHandsAllOver(int elections) {
		LocalNode first = start(elections);
		assertThat(electors(first)).hasSize(elections);
		awaitLeaderOfAll(first);
		awaitThreadsAndSessions(elections, 1);
		assertThat(electors(first).stream().map((elector) -> elector.getLeadership().getTerm()))
			.doesNotHaveDuplicates();

		LocalNode second = start(elections);
		String leader = first.elector().getNodeId();
		Awaitility.await()
			.until(() -> electors(second).stream().allMatch((elector) -> leader.equals(elector.status().leader())));
		awaitThreadsAndSessions(elections, 2);
		assertThat(electors(second)).noneMatch(LeaderElector::isLeader);
		assertThat(electors(first)).allMatch(LeaderElector::isLeader);

		first.close();
		awaitLeaderOfAll(second);
		awaitThreadsAndSessions(elections, 1);
		assertThat(first.events()).hasSize(2 * elections);
		assertThat(second.events()).hasSize(elections).allMatch((event) -> event.startsWith("granted"));
	}

	/**
	 * Prints a row of a table. The leader's is measured while it is alone.
	 */
	@ParameterizedTest
	@ValueSource(ints = { 1, 5, 20, 50 })
	@EnabledIfSystemProperty(named = "suite.figures", matches = "true")
	void cost(int elections) throws InterruptedException {
		Load idle = measure();
		awaitLeaderOfAll(start(elections, "leader-election.lease-duration=5s"));
		awaitThreadsAndSessions(elections, 1);
		Load leader = measure();
		leader.print("leader", elections, idle);
		start(elections, "leader-election.lease-duration=5s");
		awaitThreadsAndSessions(elections, 2);
		measure().print("follower", elections, leader);
	}

	private Load measure() throws InterruptedException {
		OperatingSystemMXBean system = (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
		long statements = statements();
		long cpu = system.getProcessCpuTime();
		long start = System.nanoTime();
		Thread.sleep(PERIOD.toMillis());
		double seconds = (System.nanoTime() - start) / 1e9;
		return new Load(threads().size(), sessions(), (statements() - statements) / seconds,
				(system.getProcessCpuTime() - cpu) / 1e7 / seconds);
	}

	/**
	 * Return how many statements the elections have sent. Counted in the log, since the
	 * counters of the server leave out what touches no table.
	 */
	private long statements() {
		return this.server.log().lines().filter((line) -> STATEMENT.matcher(line).find()).count();
	}

	private List<String> threads() {
		return Thread.getAllStackTraces()
			.keySet()
			.stream()
			.filter((thread) -> !this.threadsOfOthers.contains(thread))
			.map(Thread::getName)
			.filter((name) -> name.startsWith("leader-election-"))
			.toList();
	}

	private int sessions() {
		return Integer.parseInt(this.server
			.query("SELECT count(*) FROM pg_stat_activity WHERE application_name LIKE 'leader-election %'")
			.get(0));
	}

	private LocalNode start(int elections, String... properties) {
		LocalNode node = LocalNode.start(this.server,
				Stream
					.of(Stream.of("leader-election.lease-duration=3s", "leader-election.takeover-delay=0"),
							IntStream.range(1, elections)
								.mapToObj((number) -> "leader-election.elections.job" + number + ".candidate=true"),
							Stream.of(properties))
					.flatMap((stream) -> stream)
					.toArray(String[]::new));
		this.nodes.add(node);
		return node;
	}

	private static Collection<DefaultLeaderElector> electors(LocalNode node) {
		return node.context().getBean(DefaultLeaderElectors.class).all();
	}

	private static void awaitLeaderOfAll(LocalNode node) {
		Awaitility.await().until(() -> electors(node).stream().allMatch(LeaderElector::isLeader));
	}

	/**
	 * Each election has a thread, one that delivers events and one that cancels work, on
	 * every node.
	 */
	private void awaitThreadsAndSessions(int elections, int nodes) {
		List<String> names = Stream
			.concat(Stream.of("leader-election-default"),
					IntStream.range(1, elections).mapToObj((number) -> "leader-election-job" + number))
			.toList();
		List<String> expected = new ArrayList<>();
		for (int node = 0; node < nodes; node++) {
			for (String name : names) {
				expected.addAll(List.of(name, name + "-events", name + "-cancellations"));
			}
			expected.add("leader-election-watchdog");
			expected.add("leader-election-interrupts");
		}
		Awaitility.await().untilAsserted(() -> {
			assertThat(threads()).containsExactlyInAnyOrderElementsOf(expected);
			assertThat(sessions()).isEqualTo(nodes * elections);
		});
	}

	/**
	 * What there is and happens at a time.
	 *
	 * @param threads the threads of elections
	 * @param sessions the sessions of elections
	 * @param statements statements of elections in a second
	 * @param cpu CPU time of this process in percent of one core
	 */
	private record Load(int threads, int sessions, double statements, double cpu) {

		void print(String role, int elections, Load before) {
			System.out.printf(Locale.ROOT,
					"| %d | %s | %d threads | %d connections | %.1f statements/s | %.1f %% CPU |%n", elections, role,
					this.threads - before.threads, this.sessions - before.sessions, this.statements - before.statements,
					this.cpu - before.cpu);
		}

	}

}
