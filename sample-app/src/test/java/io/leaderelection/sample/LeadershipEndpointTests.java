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

package io.leaderelection.sample;

import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;
import java.util.stream.Stream;

import javax.management.MBeanInfo;
import javax.management.MBeanServer;
import javax.management.ObjectName;

import com.jayway.jsonpath.JsonPath;
import io.leaderelection.LeaderElector;
import io.leaderelection.sample.SampleNode.Answer;
import io.zonky.test.db.postgres.embedded.EmbeddedPostgres;
import org.assertj.core.api.InstanceOfAssertFactories;
import org.awaitility.Awaitility;
import org.awaitility.core.ConditionFactory;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInfo;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * The endpoint {@code leadership} over HTTP and JMX, on nodes of the sample that share a
 * database. Each test has an election of its own.
 */
@Tag("ring1")
class LeadershipEndpointTests {

	private static final String UNRESTRICTED = "management.endpoint.leadership.access=unrestricted";

	/** Information of a node is up to 2 s old; a busy machine takes longer. */
	private static final Duration SOON = Duration.ofSeconds(10);

	private static final Duration LONGEST_WATCH = Duration.ofMillis(7500);

	private static EmbeddedPostgres postgres;

	private final List<SampleNode> nodes = new ArrayList<>();

	private String group = "test";

	@BeforeAll
	static void startServer() throws IOException {
		postgres = EmbeddedPostgres.start();
	}

	@BeforeEach
	void nameGroup(TestInfo info) {
		this.group = info.getDisplayName().replace("()", "");
	}

	@AfterEach
	void stopNodes() {
		this.nodes.forEach(SampleNode::close);
	}

	@AfterAll
	static void stopServer() throws IOException {
		postgres.close();
	}

	@Test
	void readsAllElectionsAndOneAndIsReadOnly() {
		SampleNode node = start("only", "leader-election.elections.reports.lease-duration=10s");
		Answer all = node.get("");
		assertThat(all.status()).isEqualTo(200);
		assertThat(all).extractingJsonPathMapValue("elections").containsOnlyKeys("default", "reports");
		// Examined beside the start
		eventually().untilAsserted(() -> assertThat(node.get("")).extractingJsonPathMapValue("fencing")
			.containsEntry("transactionManager", "fenced"));

		Answer one = node.get("/default");
		assertThat(one.status()).isEqualTo(200);
		assertThat(one).extractingJsonPathStringValue("role").isEqualTo("leader");
		assertThat(one).extractingJsonPathStringValue("node").isEqualTo("only");
		assertThat(one).extractingJsonPathStringValue("term").matches("0:1:\\d+");
		assertThat(one).extractingJsonPathStringValue("since").satisfies(LeadershipEndpointTests::isRecent);
		assertThat(one).extractingJsonPathStringValue("leader.node").isEqualTo("only");
		assertThat(one).extractingJsonPathArrayValue("candidates").containsExactly("only");
		assertThat(one).extractingJsonPathStringValue("lastConfirmation").satisfies(LeadershipEndpointTests::isRecent);
		assertThat(one).extractingJsonPathStringValue("lease").isEqualTo("PT5S");
		assertThat(one).extractingJsonPathStringValue("leaseRemaining").startsWith("PT");
		assertThat(one).extractingJsonPathNumberValue("workInFlight").isNotNull();
		assertThat(one).extractingJsonPathArrayValue("transitions[*].change").containsExactly("granted");
		assertThat(node.get("/reports")).extractingJsonPathStringValue("lease").isEqualTo("PT10S");

		assertThat(node.get("/unknown").status()).isEqualTo(404);
		assertThat(node.post("/default", null).status()).isEqualTo(405);
		assertThat(node.post("/default", "{}").status()).isEqualTo(405);
		assertThat(node.elector().isLeader()).isTrue();
	}

	@Test
	void isReadOverJmxToo() throws Exception {
		start("managed", "spring.jmx.enabled=true", "management.endpoints.jmx.exposure.include=leadership",
				"management.endpoints.jmx.domain=leadership.test", "spring.jmx.default-domain=leadership.test");
		MBeanServer server = ManagementFactory.getPlatformMBeanServer();
		ObjectName name = server.queryNames(new ObjectName("leadership.test:type=Endpoint,name=Leadership,*"), null)
			.iterator()
			.next();
		MBeanInfo info = server.getMBeanInfo(name);
		assertThat(Stream.of(info.getOperations()).map((operation) -> operation.getName()))
			.containsExactlyInAnyOrder("leadership", "election");
		Object election = server.invoke(name, "election", new Object[] { "default" },
				new String[] { String.class.getName() });
		assertThat(election).asInstanceOf(InstanceOfAssertFactories.MAP)
			.containsEntry("role", "leader")
			.containsEntry("node", "managed");
		assertThat(server.invoke(name, "leadership", new Object[0], new String[0])).isInstanceOf(Map.class);
	}

	@Test
	@Tag("ring2")
	void everyNodeKnowsTheLeaderAndTheCandidates() {
		SampleNode first = add(SampleNode.fork(server(), "first", properties()));
		SampleNode second = start("second");
		SampleNode observer = start("observer", "leader-election.candidate=false");
		soon("first", List.of("first", "second"), first, second, observer);
		assertThat(observer.get("/default")).extractingJsonPathBooleanValue("watching").isTrue();
		assertThat(second.get("/default")).extractingJsonPathBooleanValue("watching").isFalse();

		SampleNode third = start("third");
		soon("first", List.of("first", "second", "third"), first, second, third, observer);

		first.kill();
		Answer changed = soon(null, List.of("second", "third"), second, third, observer);
		SampleNode leader = (leaderOf(changed).equals("second")) ? second : third;
		SampleNode follower = (leader == second) ? third : second;

		leader.elector().resign();
		soon(follower.id(), List.of("second", "third"), second, third, observer);

		leader.close();
		soon(follower.id(), List.of(follower.id()), follower, observer);
		assertThat(observer.get("/default")).extractingJsonPathArrayValue("transitions[*].node")
			.containsExactly("first", leader.id(), follower.id());
		assertThat(observer.get("/default")).extractingJsonPathStringValue("leader.since")
			.satisfies(LeadershipEndpointTests::isRecent);
	}

	@Test
	@Tag("ring3")
	void followerAsksTheLeaderToResignWhichDrainsItsWorkFirst() throws Exception {
		SampleNode leader = start("leader", UNRESTRICTED);
		SampleNode follower = start("follower", UNRESTRICTED);
		soon("leader", List.of("leader", "follower"), leader, follower);
		CountDownLatch started = new CountDownLatch(1);
		CountDownLatch done = new CountDownLatch(1);
		LeaderElector elector = leader.elector();
		Thread work = new Thread(() -> elector.runIfLeader(() -> {
			started.countDown();
			awaitQuietly(done);
		}));
		work.start();
		assertThat(started.await(10, TimeUnit.SECONDS)).isTrue();
		String term = String.valueOf(elector.getLeadership().getTerm());

		Answer answer = follower.post("/default", null);
		assertThat(answer.status()).isEqualTo(200);
		assertThat(answer).extractingJsonPathStringValue("status").isEqualTo("requested");
		assertThat(answer).extractingJsonPathStringValue("term").isEqualTo(term);
		assertThat(answer).extractingJsonPathStringValue("leader").isEqualTo("leader");
		// Two confirmations of a lease of 5 s
		Awaitility.await().atMost(Duration.ofSeconds(2)).until(() -> !elector.isLeader());

		Answer draining = leader.get("/default");
		assertThat(draining).extractingJsonPathStringValue("role").isEqualTo("resigning");
		assertThat(draining).extractingJsonPathNumberValue("workInFlight").isEqualTo(1);
		assertThat(draining).extractingJsonPathStringValue("term").isEqualTo(term);
		assertThat(follower.get("/default")).extractingJsonPathStringValue("role").isEqualTo("follower");
		assertThat(follower.get("/default")).extractingJsonPathStringValue("leader.node").isEqualTo("leader");
		assertThat(follower.post("/default", null)).extractingJsonPathStringValue("status").isEqualTo("requested");

		done.countDown();
		soon("follower", List.of("leader", "follower"), leader, follower);
		assertThat(leader.get("/default")).extractingJsonPathArrayValue("transitions[*].change")
			.containsExactly("granted", "revoked", "followed");
		assertThat(leader.get("/default")).extractingJsonPathStringValue("transitions[1].reason").isEqualTo("resigned");
		// Longer than the node that resigned suspends its candidacy
		Awaitility.await()
			.during(Duration.ofSeconds(7))
			.atMost(Duration.ofSeconds(20))
			.until(() -> "follower".equals(leaderOf(leader.get("/default"))));
	}

	@Test
	@Tag("ring3")
	void leaderAndObserverAskTooAndRefusalsSayWhy() {
		SampleNode first = start("first", UNRESTRICTED);
		SampleNode observer = start("observer", UNRESTRICTED, "leader-election.candidate=false");
		soon("first", List.of("first"), first, observer);
		assertThat(first.post("/unknown", null)).extractingJsonPathStringValue("reason")
			.isEqualTo("there is no election 'unknown', only [default]");
		for (SampleNode node : List.of(first, observer)) {
			Answer refused = node.post("/default", null);
			assertThat(refused.status()).isEqualTo(200);
			assertThat(refused).extractingJsonPathStringValue("status").isEqualTo("refused");
			assertThat(refused).extractingJsonPathStringValue("reason").isEqualTo("there is no other candidate");
		}

		SampleNode second = start("second", UNRESTRICTED);
		soon("first", List.of("first", "second"), first, second, observer);
		Answer other = observer.post("/default/second", null);
		assertThat(other).extractingJsonPathStringValue("status").isEqualTo("refused");
		assertThat(other).extractingJsonPathStringValue("reason").isEqualTo("node 'second' does not lead");
		assertThat(other).extractingJsonPathStringValue("leader").isEqualTo("first");

		assertThat(observer.post("/default/first", null)).extractingJsonPathStringValue("status")
			.isEqualTo("requested");
		soon("second", List.of("first", "second"), first, second, observer);
		assertThat(second.post("/default", null)).extractingJsonPathStringValue("status").isEqualTo("requested");
		soon("first", List.of("first", "second"), first, second, observer);
	}

	@Test
	void documentShowsWhatAFollowerAnswers() throws IOException {
		SampleNode leader = start("leader", UNRESTRICTED, "leader-election.metadata.url=http://10.0.0.7:8080");
		SampleNode follower = start("follower", UNRESTRICTED);
		soon("leader", List.of("leader", "follower"), leader, follower);
		List<String> examples = Pattern.compile("```json\n(.*?)```", Pattern.DOTALL)
			.matcher(Files.readString(Path.of("../docs/reference/health-and-endpoint.md")))
			.results()
			.map((match) -> match.group(1))
			.toList();
		String example = examples.stream().filter((json) -> json.contains("\"transitions\"")).findFirst().orElseThrow();
		assertSameShape(json(example), json(follower.get("/default").body()));

		String[] answers = examples.stream()
			.filter((json) -> json.contains("\"refused\""))
			.findFirst()
			.orElseThrow()
			.split("\n");
		assertSameShape(json(answers[0]), json(follower.post("/default", null).body()));
		soon("follower", List.of("leader", "follower"), leader, follower);
		leader.close();
		soon("follower", List.of("follower"), follower);
		assertThat(json(follower.post("/default", null).body()))
			.isEqualTo(json(answers[1].replaceAll("\"leader\": \"[^\"]*\"", "\"leader\": \"follower\"")));
	}

	private static Map<String, Object> json(String text) {
		return JsonPath.parse(text).json();
	}

	private static void assertSameShape(Object expected, Object actual) {
		if (expected instanceof Map<?, ?> map) {
			assertThat(actual).asInstanceOf(InstanceOfAssertFactories.MAP).containsOnlyKeys(map.keySet().toArray());
			map.forEach((key, value) -> assertSameShape(value, ((Map<?, ?>) actual).get(key)));
		}
		else if (expected instanceof List<?> list) {
			assertThat(actual).asInstanceOf(InstanceOfAssertFactories.LIST).hasSameSizeAs(list);
			assertSameShape(list.get(0), ((List<?>) actual).get(0));
		}
		else {
			assertThat(actual).hasSameClassAs(expected);
		}
	}

	private SampleNode start(String id, String... properties) {
		return add(SampleNode.start(server(), id, properties(properties)));
	}

	private SampleNode add(SampleNode node) {
		this.nodes.add(node);
		return node;
	}

	private String[] properties(String... more) {
		return Stream.concat(Stream.of("spring.application.name=" + this.group), Stream.of(more))
			.toArray(String[]::new);
	}

	private static String server() {
		return postgres.getJdbcUrl("postgres", "postgres");
	}

	/**
	 * Wait until all nodes report the same.
	 */
	private static Answer soon(String leader, List<String> candidates, SampleNode... nodes) {
		// The first answers of a JVM take their time
		Stream.of(nodes).forEach((node) -> node.get("/default"));
		SampleNode[] withSession = Stream.of(nodes)
			.filter((node) -> !node.id().equals("observer"))
			.toArray(SampleNode[]::new);
		Answer answer = within(SOON, leader, candidates, withSession);
		return (withSession.length == nodes.length) ? answer
				: within(SOON.plus(LONGEST_WATCH), leader, candidates, nodes);
	}

	private static Answer within(Duration limit, String leader, List<String> candidates, SampleNode... nodes) {
		Answer[] answer = new Answer[1];
		Awaitility.await()
			.pollDelay(Duration.ZERO)
			.pollInterval(Duration.ofMillis(50))
			.atMost(limit)
			.untilAsserted(() -> {
				String expected = leader;
				for (SampleNode node : nodes) {
					answer[0] = node.get("/default");
					expected = (expected != null) ? expected : leaderOf(answer[0]);
					assertThat(expected).isIn(candidates);
					assertThat(answer[0]).as("leader on " + node.id())
						.extractingJsonPathStringValue("leader.node")
						.isEqualTo(expected);
					assertThat(answer[0]).as("candidates on " + node.id())
						.extractingJsonPathArrayValue("candidates")
						.containsExactlyInAnyOrderElementsOf(candidates);
				}
			});
		return answer[0];
	}

	private static String leaderOf(Answer answer) {
		return String.valueOf(answer.content().assertThat().extractingJsonPathValue("leader.node").actual());
	}

	private static void isRecent(String time) {
		assertThat(Instant.parse(time)).isBetween(Instant.now().minusSeconds(60), Instant.now().plusSeconds(1));
	}

	private static void awaitQuietly(CountDownLatch latch) {
		try {
			latch.await();
		}
		catch (InterruptedException ex) {
			Thread.currentThread().interrupt();
		}
	}

	private static ConditionFactory eventually() {
		return Awaitility.await().atMost(Duration.ofSeconds(60)).pollInterval(Duration.ofMillis(200));
	}

}
