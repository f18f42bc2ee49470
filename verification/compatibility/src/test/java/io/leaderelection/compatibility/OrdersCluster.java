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

package io.leaderelection.compatibility;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;

import io.leaderelection.compatibility.Combination.Application;
import io.leaderelection.compatibility.Combination.Threads;
import io.leaderelection.testsupport.Jdk;
import io.leaderelection.testsupport.PostgreSqlServer;
import org.awaitility.Awaitility;
import org.awaitility.core.ConditionFactory;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Nodes of the application, and what they have written to the database.
 */
final class OrdersCluster implements AutoCloseable {

	private static final List<String> LEADER_WORK = List.of("leader-only", "fenced", "elector");

	/**
	 * Refuses each transaction that has not passed the fence before its commit, whatever
	 * the nodes say about it. A fenced transaction holds a shared lock: an advisory one,
	 * or that of the row for its election, which was in a table of its own in an earlier
	 * version.
	 */
	private static final String REQUIRE_FENCE = """
			CREATE FUNCTION require_fence() RETURNS trigger LANGUAGE plpgsql AS $$
			BEGIN
			  IF NOT EXISTS (SELECT FROM pg_locks WHERE pid = pg_backend_pid() AND granted
			      AND (locktype = 'advisory' AND mode = 'ShareLock' OR locktype = 'relation'
			        AND mode = 'RowShareLock'
			        AND relation IN (to_regclass('leader_election'), to_regclass('leader_election_fence')))) THEN
			    RAISE EXCEPTION 'The transaction has not passed the fence';
			  END IF;
			  RETURN NULL;
			END $$;
			CREATE CONSTRAINT TRIGGER require_fence AFTER INSERT ON journal DEFERRABLE INITIALLY DEFERRED
			  FOR EACH ROW WHEN (NEW.work = 'fenced') EXECUTE FUNCTION require_fence();
			CREATE CONSTRAINT TRIGGER require_fence AFTER INSERT ON fires DEFERRABLE INITIALLY DEFERRED
			  FOR EACH ROW EXECUTE FUNCTION require_fence();
			""";

	private final PostgreSqlServer server;

	private final Path directory;

	private final List<OrdersNode> nodes = new ArrayList<>();

	OrdersCluster(PostgreSqlServer server, Path directory) {
		this.server = server;
		this.directory = directory;
		// Also what the previous combination has left
		server.execute("DROP SCHEMA public CASCADE");
		server.execute("CREATE SCHEMA public");
		server.execute("CREATE TABLE journal (id bigserial, node text, work text, thread text, term bigint)");
		server.execute("CREATE TABLE fires (fire timestamptz PRIMARY KEY, node text)");
		server.execute(REQUIRE_FENCE);
	}

	/**
	 * Start two nodes.
	 */
	void start(Combination combination, Jdk jdk) {
		for (String name : List.of("one", "two")) {
			start(name, jdk.java(), Versions.classPath(combination.springBoot()),
					"--spring.threads.virtual.enabled=" + (combination.threads() == Threads.VIRTUAL),
					"--spring.main.web-application-type="
							+ ((combination.application() == Application.WEB) ? "servlet" : "none"),
					"--leader-election.store=" + combination.store());
		}
	}

	OrdersNode start(String name, Path java, String classPath, String... arguments) {
		List<String> all = Stream
			.concat(Stream.of("--spring.datasource.url=" + this.server.jdbcUrl()), Stream.of(arguments))
			.toList();
		OrdersNode node = new OrdersNode(name, java, classPath, all, this.directory);
		this.nodes.add(node);
		return node;
	}

	List<OrdersNode> nodes() {
		return this.nodes;
	}

	OrdersNode other(OrdersNode node) {
		return this.nodes.stream().filter((other) -> other != node && other.isAlive()).findFirst().orElseThrow();
	}

	OrdersNode awaitLeader() {
		await("leader").failFast("A node has ended", () -> !this.nodes.stream().allMatch(OrdersNode::isAlive))
			.until(() -> !done("granted").isEmpty());
		String leader = done("granted").get(0);
		return this.nodes.stream().filter((node) -> node.name().equals(leader)).findFirst().orElseThrow();
	}

	/**
	 * Wait until work of all kinds runs on the leader, and that of all nodes on each of
	 * them, and verify that no other node runs that of the leader.
	 */
	void awaitWorkOf(OrdersNode leader) {
		await("grant").until(() -> last("granted").equals(leader.name()));
		await("service").until(() -> last("feed started").equals(leader.name()));
		await("fire").until(() -> this.server.query("SELECT node FROM fires").contains(leader.name()));
		String since = this.server.query("SELECT max(id) FROM journal").get(0);
		for (OrdersNode node : this.nodes) {
			if (node.isAlive()) {
				await("heartbeat").until(() -> done("heartbeat", since).contains(node.name()));
			}
		}
		for (String work : LEADER_WORK) {
			await(work).until(() -> !done(work, since).isEmpty());
			assertThat(done(work, since)).as(work).containsOnly(leader.name());
		}
	}

	/**
	 * Hand over by the endpoint of the follower.
	 * @return the new leader
	 */
	OrdersNode resign(OrdersNode leader) {
		OrdersNode follower = other(leader);
		await("request").until(() -> follower.post("/actuator/leadership/default", "$.status").equals("requested"));
		awaitWorkOf(follower);
		return follower;
	}

	/**
	 * Verify that these nodes have worked one after the other, each time in a term of its
	 * own, and no node at any other time. The server can execute a statement of a killed
	 * process after its end, but usually needs less time for it than a takeover.
	 */
	void verifyTerms(List<OrdersNode> leaders) {
		List<String> terms = terms();
		assertThat(terms).extracting((term) -> term.split(" ")[1])
			.containsExactlyElementsOf(leaders.stream().map(OrdersNode::name).toList());
		assertThat(terms).extracting((term) -> Long.valueOf(term.split(" ")[0])).isSorted().doesNotHaveDuplicates();
	}

	/**
	 * Return the terms in which leaders have worked, each with its node, in the order of
	 * the work. A term is returned twice if another leader has worked between.
	 */
	private List<String> terms() {
		return this.server.query("SELECT term || ' ' || node FROM (SELECT id, term, node, lag(term || ' ' || node)"
				+ " OVER (ORDER BY id) AS previous FROM journal WHERE term IS NOT NULL) AS work"
				+ " WHERE previous IS DISTINCT FROM term || ' ' || node ORDER BY id");
	}

	/**
	 * Return what a node has noted of its leadership.
	 */
	List<String> transitions(OrdersNode node) {
		return this.server.query("SELECT work FROM journal WHERE node = '" + node.name() + "' AND (work = 'granted'"
				+ " OR work LIKE 'feed %' OR work LIKE 'revoked %') ORDER BY id");
	}

	/**
	 * Return the threads that have run scheduled methods.
	 */
	List<String> threads() {
		return this.server.query("SELECT DISTINCT thread FROM journal WHERE work IN ('heartbeat', 'leader-only')");
	}

	/**
	 * Verify that each second has one fire. The primary key prevents a second one.
	 */
	void verifyFires() {
		assertThat(this.server.query("SELECT extract(epoch FROM max(fire) - min(fire))::int + 1 - count(*) FROM fires"))
			.as("missed fires")
			.containsExactly("0");
	}

	void verifyNoSessions() {
		assertThat(this.server.sessions("leader-election%")).isEmpty();
	}

	/**
	 * Run a test. If it fails, the message has all that the nodes have logged.
	 */
	void run(Runnable test) {
		try {
			test.run();
		}
		catch (AssertionError | RuntimeException ex) {
			throw new AssertionError(ex.getMessage() + "\n"
					+ this.nodes.stream().map(OrdersNode::output).collect(Collectors.joining("\n")), ex);
		}
	}

	private String last(String work) {
		return this.server.query("SELECT node FROM journal WHERE work = '" + work + "' ORDER BY id DESC LIMIT 1")
			.stream()
			.findFirst()
			.orElse("");
	}

	private List<String> done(String work) {
		return done(work, "0");
	}

	private List<String> done(String work, String since) {
		return this.server.query("SELECT node FROM journal WHERE work = '" + work + "' AND id > " + since);
	}

	private ConditionFactory await(String what) {
		return Awaitility.await(what).atMost(OrdersNode.LIMIT);
	}

	@Override
	public void close() {
		this.nodes.forEach(OrdersNode::close);
	}

}
