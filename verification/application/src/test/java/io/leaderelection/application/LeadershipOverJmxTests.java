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

import java.lang.management.ManagementFactory;
import java.util.Map;
import java.util.stream.Stream;

import javax.management.MBeanServer;
import javax.management.ObjectName;

import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * The endpoint {@code leadership} over JMX.
 */
@Tag("ring2")
class LeadershipOverJmxTests {

	private static final MBeanServer server = ManagementFactory.getPlatformMBeanServer();

	@AutoClose
	private final Nodes nodes = new Nodes(WebApplication.class, "spring.jmx.enabled=true",
			"management.endpoints.jmx.exposure.include=leadership");

	@Test
	void electionsAreReadByDefaultAndNothingElse() throws Exception {
		Node node = this.nodes.start("first", "spring.jmx.default-domain=first").awaitLeader();
		ObjectName endpoint = endpoint(node);
		assertThat(Stream.of(server.getMBeanInfo(endpoint).getOperations()).map((operation) -> operation.getName()))
			.containsExactlyInAnyOrder("leadership", "election");
		assertThat(invoke(endpoint, "election", "default")).containsEntry("role", "leader")
			.containsEntry("node", "first")
			.containsEntry("term", node.election().text("/term"));
		assertThat(invoke(endpoint, "leadership")).containsOnlyKeys("group", "elections", "fencing", "spread");
	}

	@Test
	void followerHasTheLeaderHandOverWhereWritingIsAllowed() throws Exception {
		Node leader = this.nodes.start("first", "spring.jmx.default-domain=first").awaitLeader();
		Node follower = this.nodes.start("second", "spring.jmx.default-domain=second",
				"management.endpoint.leadership.access=unrestricted");
		follower.awaitView(leader, leader, follower);
		assertThat(invoke(endpoint(follower), "resign", "default")).containsEntry("status", "requested")
			.containsEntry("leader", "first");
		follower.awaitLeader();
	}

	private static ObjectName endpoint(Node node) throws Exception {
		return server.queryNames(new ObjectName(node.id() + ":type=Endpoint,name=Leadership,*"), null)
			.iterator()
			.next();
	}

	private static Map<String, Object> invoke(ObjectName endpoint, String operation, String... arguments)
			throws Exception {
		Object result = server.invoke(endpoint, operation, arguments,
				Stream.of(arguments).map((argument) -> String.class.getName()).toArray(String[]::new));
		@SuppressWarnings("unchecked")
		Map<String, Object> map = (Map<String, Object>) result;
		return map;
	}

}
