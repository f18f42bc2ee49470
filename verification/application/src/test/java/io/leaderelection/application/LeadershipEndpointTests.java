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

package io.leaderelection.application;

import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map.Entry;
import java.util.stream.Collectors;
import java.util.stream.Stream;

import io.leaderelection.documentation.DocumentedJson;
import io.leaderelection.documentation.Markdown;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.ObjectNode;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * What the endpoint {@code leadership} reports on each node, and that it can only be read
 * unless configured otherwise.
 */
@Tag("ring2")
class LeadershipEndpointTests {

	/** Observations of a watcher are up to 7.5 s old; a busy machine takes longer. */
	private static final Duration SOON = Duration.ofMillis(17_500);

	@AutoClose
	private static final Nodes nodes = new Nodes(WebApplication.class,
			"leader-election.elections.reports.lease-duration=10s");

	private static Instant begin;

	private static Node leader;

	private static Node follower;

	@AutoClose
	private final Nodes unrestricted = new Nodes(WebApplication.class,
			"management.endpoint.leadership.access=unrestricted", "leader-election.metadata.url=http://10.0.0.7:8080");

	@BeforeAll
	static void startNodes() {
		begin = Instant.now();
		List<Node> two = nodes.startTwo();
		leader = two.get(0);
		follower = two.get(1);
	}

	@Test
	void leaderReportsItsLeadership() {
		Http.Answer election = leader.election();
		assertThat(election.status()).isEqualTo(200);
		assertThat(election.text("/role")).isEqualTo("leader");
		assertThat(election.text("/node")).isEqualTo("first");
		assertThat(election.text("/candidate")).isEqualTo("true");
		assertThat(election.text("/term")).matches("0:1:\\d+");
		assertThat(time(election, "/since")).isBetween(begin, Instant.now());
		assertThat(time(election, "/lastConfirmation")).isAfterOrEqualTo(time(election, "/since").minusMillis(1))
			.isBetween(Instant.now().minusSeconds(5), Instant.now());
		assertThat(election.text("/lease")).isEqualTo("PT5S");
		assertThat(Duration.parse(election.text("/leaseRemaining"))).isBetween(Duration.ofMillis(1),
				Duration.ofMillis(3750));
		assertThat(election.text("/workInFlight")).isEqualTo("0");
		assertThat(election.text("/leader/node")).isEqualTo("first");
		assertThat(election.text("/leader/term")).isEqualTo(election.text("/term"));
		assertThat(election.texts("/candidates")).containsExactlyInAnyOrder("first", "second");
		assertThat(election.texts("/transitions", "change")).containsExactly("granted");
		assertThat(election.text("/transitions/0/term")).isEqualTo(election.text("/term"));
	}

	@Test
	void followerReportsTheLeaderAndTheCandidates() {
		Http.Answer election = follower.election();
		assertThat(election.status()).isEqualTo(200);
		assertThat(election.text("/role")).isEqualTo("follower");
		assertThat(election.text("/node")).isEqualTo("second");
		assertThat(election.text("/candidate")).isEqualTo("true");
		assertThat(election.text("/term")).isNull();
		assertThat(election.text("/since")).isNull();
		assertThat(election.text("/leaseRemaining")).isEqualTo("PT0S");
		assertThat(election.text("/leader/node")).isEqualTo("first");
		assertThat(election.text("/leader/term")).isEqualTo(leader.election().text("/term"));
		// To the second
		assertThat(Duration.between(time(election, "/leader/since"), time(leader.election(), "/since")).abs())
			.isLessThan(Duration.ofSeconds(2));
		assertThat(election.texts("/candidates")).containsExactlyInAnyOrder("first", "second");
		assertThat(election.texts("/transitions", "change")).containsExactly("followed");
		assertThat(election.texts("/transitions", "node")).containsExactly("first");
	}

	@Test
	void allElectionsAreReportedWithTheFencing() {
		for (Node node : List.of(leader, follower)) {
			Http.Answer all = node.get("/actuator/leadership");
			assertThat(all.status()).isEqualTo(200);
			assertThat(all.at("/elections").propertyNames()).containsExactly("default", "reports");
			assertThat(all.text("/elections/default/node")).isEqualTo(node.id());
			assertThat(all.text("/elections/reports/lease")).isEqualTo("PT10S");
			assertThat(all.text("/fencing/transactionManager")).isEqualTo("fenced");
		}
		assertThat(leader.get("/actuator/leadership/reports").text("/lease")).isEqualTo("PT10S");
	}

	@Test
	void electionThatDoesNotExistIsNotFound() {
		assertThat(leader.get("/actuator/leadership/unknown").status()).isEqualTo(404);
	}

	@Test
	void nobodyMayWriteByDefault() {
		String term = leader.election().text("/term");
		assertThat(leader.resign().status()).isEqualTo(405);
		assertThat(leader.postJson("/actuator/leadership/default").status()).isEqualTo(405);
		assertThat(follower.resign().status()).isEqualTo(405);
		// There is nothing to read there
		assertThat(follower.post("/actuator/leadership/default/first").status()).isEqualTo(404);
		assertThat(leader.election().text("/role")).isEqualTo("leader");
		assertThat(leader.election().text("/term")).isEqualTo(term);
	}

	@Test
	void allNodesReportTheLeaderAndTheCandidatesAfterEachChange() throws IOException {
		Node first = this.unrestricted.startProcess("first").awaitLeader();
		Node second = this.unrestricted.start("second");
		Node observer = this.unrestricted.start("observer", "leader-election.candidate=false");
		awaitViews(observer, first, first, second);
		assertThat(observer.election().text("/watching")).isEqualTo("true");
		assertThat(second.election().text("/watching")).isEqualTo("false");
		Node third = this.unrestricted.start("third");
		// A standby that was there before seldom reads the candidates
		Stream.of(first, third, observer).forEach((node) -> node.awaitView(SOON, first, first, second, third));

		assertThat(observer.post("/actuator/leadership/default/second").text("/reason"))
			.isEqualTo("node 'second' does not lead");
		assertThat(observer.post("/actuator/leadership/unknown").text("/reason"))
			.isEqualTo("there is no election 'unknown', only [default]");
		// Kills its process
		first.close();
		Awaitility.await().until(() -> List.of(second.role(), third.role()).contains("leader"));
		Node next = second.role().equals("leader") ? second : third;
		Node last = (next == second) ? third : second;
		awaitViews(observer, next, second, third);
		assertThat(observer.post("/actuator/leadership/default/" + next.id()).text("/status")).isEqualTo("requested");
		awaitViews(observer, last, second, third);
		next.close();
		awaitViews(observer, last, last);
		assertThat(observer.resign().text("/reason")).isEqualTo("there is no other candidate");
		Http.Answer election = observer.election();
		assertThat(election.texts("/transitions", "node")).containsExactly("first", next.id(), next.id(), last.id());
		assertThat(election.texts("/transitions", "change")).containsExactly("followed", "followed", "requested",
				"followed");
		assertThat(time(election, "/leader/since")).isBetween(Instant.now().minusSeconds(60),
				Instant.now().plusSeconds(1));
	}

	@Test
	void documentShowsWhatIsAnswered() {
		Node first = this.unrestricted.start("first").awaitLeader();
		assertThat(first.resign().at("")).isEqualTo(((ObjectNode) example("reason")).put("leader", "first"));
		Node second = this.unrestricted.start("second");
		second.awaitView(first, first, second);
		assertThat(shape(second.election().at(""))).isEqualTo(shape(example("transitions")));
		assertThat(shape(second.resign().at(""))).isEqualTo(shape(example("status")));
	}

	private static void awaitViews(Node observer, Node leader, Node... candidates) {
		Stream.concat(Stream.of(candidates), Stream.of(observer))
			.forEach((node) -> node.awaitView(SOON, leader, candidates));
	}

	/**
	 * The first documented object with the given member.
	 */
	private static JsonNode example(String member) {
		return DocumentedJson.objectWith(member,
				Markdown.of(Path.of("docs/reference/health-and-endpoint.md")).blocks("json"));
	}

	private static Object shape(JsonNode node) {
		if (node.isObject()) {
			return node.propertyStream().collect(Collectors.toMap(Entry::getKey, (member) -> shape(member.getValue())));
		}
		return node.isArray() ? node.valueStream().map(LeadershipEndpointTests::shape).toList() : node.getNodeType();
	}

	private static Instant time(Http.Answer answer, String pointer) {
		return Instant.parse(answer.text(pointer));
	}

}
