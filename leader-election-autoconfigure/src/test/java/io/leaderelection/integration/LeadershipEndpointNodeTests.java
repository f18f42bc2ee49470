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

import java.util.List;
import java.util.Map;

import io.leaderelection.autoconfigure.actuate.LeadershipEndpoint;
import io.leaderelection.autoconfigure.actuate.LeadershipEndpoint.ElectionDescriptor;
import io.leaderelection.autoconfigure.actuate.LeadershipEndpoint.LeaderDescriptor;
import io.leaderelection.autoconfigure.actuate.LeadershipEndpoint.ResignationDescriptor;
import io.leaderelection.testsupport.PostgreSqlServer;
import io.leaderelection.testsupport.TcpProxy;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Requests to {@link LeadershipEndpoint} that name a node, and those on a node that is
 * cut off.
 */
@Tag("ring2")
class LeadershipEndpointNodeTests {

	private static final String LONG_ID = "a-host-name-of-a-data-centre.with.its-domain.example.com-1234-abcd";

	@RegisterExtension
	final Nodes nodes = new Nodes();

	@Test
	void longIdIsKnownInFullAndAsOtherNodesSeeIt() {
		LocalNode leader = start(LONG_ID).awaitLeader();
		LocalNode follower = start("short");
		LeadershipEndpoint there = endpoint(leader);
		LeadershipEndpoint here = endpoint(follower);
		Awaitility.await()
			.until(() -> here.election("default").leader() != null && here.election("default").candidates().size() == 2
					&& there.election("default").candidates().size() == 2);
		String seen = here.election("default").leader().node();
		assertThat(seen).isNotEqualTo(LONG_ID).contains("~");
		assertThat(there.election("default").leader().applicationName()).endsWith(seen)
			.isEqualTo(here.election("default").leader().applicationName())
			.isIn(PostgreSqlServer.shared().query("SELECT application_name FROM pg_stat_activity"));
		String other = LONG_ID.replace("1234", "1235");
		assertThat(here.resignNode("default", other))
			.isEqualTo(new ResignationDescriptor("refused", null, seen, "node '" + other + "' does not lead"));
		assertThat(there.resignNode("default", seen).status()).isEqualTo("requested");
		follower.awaitLeader();
		// A node that has just resigned is no candidate for a moment
		follower.awaitCandidates(2);
		follower.elector().resign();
		leader.awaitLeader();
		Awaitility.await()
			.untilAsserted(() -> assertThat(here.election("default").leader()).isNotNull()
				.returns(seen, LeaderDescriptor::node));
		// Whose session it is, a follower asks after it has observed the session
		Awaitility.await().until(() -> here.resignNode("default", LONG_ID).status().equals("requested"));
		follower.awaitLeader();
	}

	@Test
	@Tag("ring3")
	void idThatOtherNodesSeeChangedIsKnownOnAllNodesByBothForms() {
		String id = "buero's\\pc $1";
		String visible = "buero_s_pc__1~1443d2q";
		LocalNode leader = start(id).awaitLeader();
		LocalNode follower = start("follower");
		for (LocalNode node : List.of(leader, follower)) {
			for (String name : List.of(id, visible)) {
				LeadershipEndpoint endpoint = endpoint(node);
				awaitBoth(endpoint, (node == leader) ? id : visible);
				for (String other : List.of("buero~", "b~", "~", "buero~1", "buero's pc")) {
					assertThat(endpoint.resignNode("default", other).reason())
						.isEqualTo("node '" + other + "' does not lead");
				}
				assertThat(endpoint.resignNode("default", name).status()).isEqualTo("requested");
				leader.awaitFollowing(follower.awaitLeader());
				follower.elector().resign();
				leader.awaitLeader();
			}
		}
	}

	private static void awaitBoth(LeadershipEndpoint endpoint, String leader) {
		Awaitility.await().until(() -> {
			ElectionDescriptor election = endpoint.election("default");
			return election.leader() != null && leader.equals(election.leader().node())
					&& election.candidates().size() == 2;
		});
	}

	@ParameterizedTest
	@ValueSource(strings = { "advisory-lock", "table" })
	void nodesWhoseIdsDifferOnlyWhereTheyAreShortenedKnowEachOther(String store) {
		String id = "orders-api-worker-%d.orders-api.production.svc.cluster.local";
		String[] properties = { "leader-election.store=" + store, "leader-election.initialize-schema=always" };
		LocalNode leader = start(id.formatted(0), properties).awaitLeader();
		LocalNode follower = start(id.formatted(1), properties);
		Awaitility.await().until(() -> follower.elector().getLeader() != null);
		assertThat(endpoint(follower).election("default").table())
			.isEqualTo(store.equals("table") ? "public.leader_election" : null);
		assertThat(endpoint(follower).election("default").database()).startsWith("jdbc:postgresql://")
			.doesNotContain("password");
		assertThat(endpoint(follower).election("default").lockId()).matches("0x[0-9a-f]{16}")
			.isEqualTo(endpoint(leader).election("default").lockId());
		Awaitility.await().until(() -> endpoint(follower).resign("default").status().equals("requested"));
		follower.awaitLeader();
	}

	@Test
	@Tag("ring3")
	void nodeThatIsCutOffRefusesAndAsksAgainWhenItIsBack() {
		LocalNode leader = start("leader").awaitLeader();
		TcpProxy proxy = this.nodes.register(new TcpProxy(PostgreSqlServer.shared()));
		LocalNode follower = this.nodes.at(proxy.port()).start("leader-election.node-id=follower");
		LeadershipEndpoint here = endpoint(follower);
		proxy.blackHole();
		// A request that comes before this node can know waits for a new session
		Awaitility.await().until(() -> here.election("default").problem() != null);
		assertThat(here.resign("default").reason()).startsWith("this node has no session: ");
		assertThat(leader.leads()).isTrue();
		proxy.heal();
		proxy.reset();
		Awaitility.await().until(() -> here.resign("default").status().equals("requested"));
		follower.awaitLeader();
	}

	private LocalNode start(String id, String... properties) {
		return this.nodes.with("leader-election.node-id=" + id).start(properties);
	}

	private static LeadershipEndpoint endpoint(LocalNode node) {
		return new LeadershipEndpoint("shop", node.electors(), Map::of, () -> null, LeadershipEndpoint.Schedules.NONE);
	}

}
